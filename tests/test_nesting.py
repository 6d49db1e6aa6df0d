"""The nested form of a workflow visits the nodes that the workflow's graph visits."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from reference_interpreter import Document, call, compute, condition, end, sketch
from test_random_workflows import SOURCES, Maker, cases

from flowmind.run.running import run_batch
from flowmind.trace.events import Assigned, Called, Evaluated, Trace
from flowmind.workflow.document import Workflow
from flowmind.workflow.nesting import Again, Block, Do, If, Leave, Loop, Return, nested, nodes_of
from tools_registry.sandbox.environments import LocalSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


def visited(block: Block, choices: Iterator[bool], found: list[str]) -> Again | Leave | Return | None:
    """Notes the nodes that a block visits, given what its conditions turn out to be, and says how it ends."""
    for item in block:
        match item:
            case Do(node=node):
                found.append(node.id)
            case If(node=node, then=then, otherwise=otherwise):
                found.append(node.id)
                way = visited(then if next(choices) else otherwise, choices, found)
                if way is not None:
                    return way
            case Loop(body=body):
                way = visited(body, choices, found)
                while isinstance(way, Again):
                    way = visited(body, choices, found)
                if isinstance(way, Return):
                    return way
                assert isinstance(way, Leave), "the end of a loop's body was reached"
            case Again() | Leave() | Return():
                return item
    return None


def nodes_of_run(trace: Trace) -> tuple[list[str], list[bool]]:
    """The nodes that a run visited but for its start and end, and what its conditions gave; maps as one node."""
    names: list[str] = []
    choices: list[bool] = []
    for step in trace.events:
        assert isinstance(step, Called | Assigned | Evaluated)
        if "." in str(step.node):
            continue
        names.append(str(step.node))
        if isinstance(step, Evaluated):
            choices.append(step.value)
    return names, choices


def assert_same_way(workflow: Workflow, traces: list[Trace]) -> int:
    block = nested(workflow)
    if block is None:
        return 0
    for trace in traces:
        if trace.ok:
            names, choices = nodes_of_run(trace)
            found: list[str] = []
            rest = iter(choices)
            assert isinstance(visited(block, rest, found), Return)
            assert (found, list(rest)) == (names, [])
    return 1


@pytest.mark.parametrize("loops_in_forks", [False, True], ids=["plain", "with loops tested first in forked paths"])
def test_random_workflows_are_nested_and_visit_the_same_nodes(sandbox: LocalSandbox, loops_in_forks: bool) -> None:
    nestable = 0
    for seed in range(120):
        rng = Random(seed)
        workflow = Workflow.model_validate(Maker(rng, loops_in_forks).document())
        nestable += assert_same_way(workflow, run_batch(workflow, cases(rng), sandbox))
    assert nestable == 120


def shape(block: Block) -> str:
    """A block on one line: `a if(c){b}{} loop{…} again leave return`."""
    parts: list[str] = []
    for item in block:
        match item:
            case Do(node=node):
                parts.append(node.id)
            case If(node=node, then=then, otherwise=otherwise):
                parts.append(f"if({node.id}){{{shape(then)}}}{{{shape(otherwise)}}}")
            case Loop(body=body):
                parts.append(f"loop{{{shape(body)}}}")
            case Again():
                parts.append("again")
            case Leave():
                parts.append("leave")
            case Return(node=node):
                parts.append(f"return({node.id})")
    return " ".join(parts)


def test_arms_join_behind_an_if() -> None:
    document = sketch(
        [condition("c", "n > 0"), compute("a", "1", "r"), compute("b", "2", "r"), compute("d", "r + 1"), end("d")],
        "start c.true a d end", "c.false b d", n="integer",
    )  # fmt: skip
    block = nested(Workflow.model_validate(document))
    assert block is not None
    assert shape(block) == "if(c){a}{b} d return(end)"


def test_a_loop_inside_a_loop_goes_back_to_the_outer_one_directly() -> None:
    document = sketch(
        [compute("i", "0"), condition("outer", "i < n"), compute("j", "i + 1", "i"), condition("inner", "i % 3 > 0"),
         compute("k", "i + 1", "i"), end("i")],
        "start i outer.true j inner.true k inner", "inner.false outer", "outer.false end", n="integer",
    )  # fmt: skip
    block = nested(Workflow.model_validate(document))
    assert block is not None
    assert shape(block) == "i loop{if(outer){j loop{if(inner){k again}{leave}} again}{leave}} return(end)"


def test_what_two_arms_share_without_joining_there_stands_in_both() -> None:
    document = sketch(
        [condition("a", "n > 0"), condition("b", "n > 1"), compute("x", "1", "r"), compute("y", "2", "r"), end("r")],
        "start a.true b.true x end", "b.false y end", "a.false y", n="integer",
    )  # fmt: skip
    block = nested(Workflow.model_validate(document))
    assert block is not None
    assert shape(block) == "if(a){if(b){x}{y}}{y} return(end)"
    assert nodes_of(block).count("y") == 2


def test_an_answer_out_of_a_loop_is_a_return_and_the_rest_comes_behind() -> None:
    document = sketch(
        [compute("i", "0"), condition("more", "i < n"), condition("found", "i * i == n"), end("i", "hit"),
         compute("j", "i + 1", "i"), compute("none", "0 - 1"), end("none")],
        "start i more.true found.true hit", "found.false j more", "more.false none end", n="integer",
    )  # fmt: skip
    block = nested(Workflow.model_validate(document))
    assert block is not None
    assert shape(block) == "i loop{if(more){if(found){return(hit)}{j again}}{leave}} none return(end)"


def test_a_graph_beyond_the_limit_of_copies_has_no_nested_form() -> None:
    nodes: list[Document] = []
    paths = ["start c0"]
    for level in range(24):
        nodes += [condition(f"c{level}", f"n > {level}"), condition(f"d{level}", f"n < {level}")]
        paths += [f"c{level}.{arm} {low}{level + 1}" for arm, low in (("true", "c"), ("false", "d")) if level < 23]
        paths += [f"d{level}.{arm} {low}{level + 1}" for arm, low in (("true", "d"), ("false", "c")) if level < 23]
    paths += ["c23.true one", "c23.false two", "d23.true one", "d23.false two", "c0.false d1"]
    nodes = [node for node in nodes if node["id"] != "d0"]
    paths = [path for path in paths if not path.startswith("d0.")]
    document = sketch([*nodes, end({"value": 1}, "one"), end({"value": 2}, "two")], *paths, n="integer")
    assert nested(Workflow.model_validate(document)) is None


def test_the_call_of_a_tool_is_an_item() -> None:
    document = sketch([call("a", "double", n="n"), end("a")], "start a end", n="integer")
    block = nested(Workflow.model_validate(document))
    assert block is not None
    assert shape(block) == "a return(end)"

"""White-box comparison: what is spelled otherwise is the same, what is called equivalent gives the same answers."""

from __future__ import annotations

import ast
import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from long_tables import one_in
from pydantic import ValidationError
from reference_interpreter import Document, binding, call, compute, condition, each, end, sketch
from test_random_workflows import SOURCES, SPECS, Maker, break_it, cases

from flowbench_synth.mutants import mutants
from flowmind.base.errors import InputError
from flowmind.evaluation.equivalence import MAX_PATHS
from flowmind.evaluation.structure import WHOLE, StructureScore, compare
from flowmind.run.running import run_many
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import LocalSandbox
from tools_registry.specs.spec import ToolSpec

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq,
}  # fmt: skip
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


def workflow(document: Document) -> Workflow:
    return Workflow.model_validate(document)


def perfect(score: StructureScore) -> bool:
    parts = (score.nodes, score.tools, score.edges, score.branches)
    paths = score.paths
    whole = parts == (WHOLE,) * 4 and paths.coverage == 1.0 and paths.spurious == 0
    return whole and score.equivalent and score.diff == () and score.difference == ""


# Other spellings


class Respelled(ast.NodeTransformer):
    """Mirrors and negates comparisons at random."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        (op,), (right,) = node.ops, node.comparators
        left: ast.expr = node.left
        if self.rng.random() < 0.5:
            left, right, op = right, left, FLIPPED[type(op)]()
        if self.rng.random() < 0.5:
            opposite = ast.Compare(left, [OPPOSITE[type(op)]()], [right])
            return ast.UnaryOp(ast.Not(), opposite)
        return ast.Compare(left, [op], [right])


def respelled(text: str, rng: Random) -> str:
    changed = ast.unparse(ast.fix_missing_locations(Respelled(rng).visit(ast.parse(text, mode="eval"))))
    return f"not not ({changed})" if rng.random() < 0.3 else changed


def disguised(document: Document, rng: Random) -> Document:
    """The same workflow under other names, in another order, with other spellings."""
    made = copy.deepcopy(document)
    for _ in range(6):
        _swap_neighbours(made, rng)
    for node in list(made["nodes"]):
        if node["kind"] == "condition":
            node["expr"] = respelled(node["expr"], rng)
            if rng.random() < 0.5:
                node["expr"] = f"not ({node['expr']})"
                for edge in made["edges"]:
                    if edge["from"] == node["id"]:
                        edge["when"] = not edge["when"]
        if node["kind"] == "map" and "where" in node:
            node["where"] = respelled(node["where"], rng)
        if node["kind"] in ("tool", "end") and rng.random() < 0.3:
            _rename_before(made, node, rng)
        for part in node.get("args", {}).values():
            if type(part.get("value")) is int:
                part["value"] = float(part["value"])
    order = [edge["from"] for edge in made["edges"]]
    rng.shuffle(order)
    made["edges"].sort(key=lambda edge: order.index(edge["from"]))
    rng.shuffle(made["nodes"])
    return _renamed(made, rng)


def _swap_neighbours(document: Document, rng: Random) -> None:
    """Exchanges two nodes in a row of which none uses what the other sets."""
    by_id = {node["id"]: node for node in document["nodes"]}
    edges = [(edge["from"], edge["to"]) for edge in document["edges"]]
    for one, other in rng.sample(edges, len(edges)):
        first, second = by_id[one], by_id[other]
        alone = [edge for edge in edges if edge[0] == one or edge[1] == other] == [(one, other)]
        if not alone or not {first["kind"], second["kind"]} <= {"tool", "assign", "map"}:
            continue
        if second["output"] in _used(first) or first["output"] in _used(second):
            continue
        first["id"], second["id"] = other, one
        return


def _used(value: Any) -> set[str]:
    """Every name that stands in a part of a document."""
    if isinstance(value, dict):
        return set().union(*map(_used, value.values())) | {value["output"]} if "output" in value else set[str]().union(
            *map(_used, value.values())
        )  # fmt: skip
    if isinstance(value, list):
        return set[str]().union(*map(_used, value))
    if isinstance(value, str):
        names = ast.walk(ast.parse(value, mode="eval")) if value.isprintable() and value else ()
        return {node.id for node in names if isinstance(node, ast.Name)}
    return set()


def _rename_before(document: Document, node: Document, rng: Random) -> None:
    """Puts an assignment before a node that reads a variable, and lets the node read the new one."""
    places = [part for part in _bindings(node.get("args") or node.get("output")) if "var" in part]
    into = [edge for edge in document["edges"] if edge["to"] == node["id"]]
    if not places or len(into) != 1 or "bound" in into[0]:
        return
    place, name = rng.choice(places), f"copy{len(document['nodes'])}"
    source = {"expr": place["var"]} if rng.random() < 0.5 else {"value": {"var": place["var"]}}
    document["nodes"].append({"id": f"again{len(document['nodes'])}", "kind": "assign", **source, "output": name})
    document["edges"].append({"from": document["nodes"][-1]["id"], "to": node["id"]})
    into[0]["to"] = document["nodes"][-1]["id"]
    place["var"] = name


def _bindings(value: Any) -> Iterator[Document]:
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _bindings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _bindings(part)


def _renamed(document: Document, rng: Random) -> Document:
    ids = {node["id"]: f"id{index}" for index, node in enumerate(rng.sample(document["nodes"], len(document["nodes"])))}
    steps = [step for node in document["nodes"] for step in (node, *node.get("body", ()))]
    outputs = {step["output"] for step in steps if "output" in step and step["kind"] != "end"}
    outputs |= {step["item"] for step in steps if "item" in step}
    own = sorted(outputs - set(document["inputs"]["properties"]))
    names = {name: f"x{index}" for index, name in enumerate(rng.sample(own, len(own)))}

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(names.get(node.id, node.id), node.ctx)

    def change(value: Any) -> Any:
        if isinstance(value, list):
            return [change(item) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: change(part) for key, part in value.items()}
        for key in ("var", "output", "item"):
            if isinstance(made.get(key), str):
                made[key] = names.get(made[key], made[key])
        for key in ("expr", "where"):
            if key in made:
                made[key] = ast.unparse(Names().visit(ast.parse(made[key], mode="eval")))
        return made

    nodes = [change(node) | {"id": ids[node["id"]]} for node in document["nodes"]]
    edges = [edge | {"from": ids[edge["from"]], "to": ids[edge["to"]]} for edge in document["edges"]]
    return {"inputs": document["inputs"], "nodes": nodes, "edges": edges}


@pytest.mark.parametrize("chunk", one_in(2, range(4)))
def test_a_workflow_is_itself_under_any_disguise(chunk: int) -> None:
    for seed in range(14 * chunk, 14 * chunk + 14):
        rng = Random(seed)
        document = Maker(rng, False).document()
        one, other = workflow(document), workflow(disguised(document, rng))
        assert check(other, SPECS) == [], f"seed {seed}"
        assert perfect(compare(one, one)), f"seed {seed}"
        score = compare(other, one)
        assert perfect(score), f"seed {seed}: {score.difference} {score.diff}"


@pytest.mark.parametrize("chunk", one_in(3, range(3)))
def test_what_is_called_equivalent_gives_the_same_answers(sandbox: LocalSandbox, chunk: int) -> None:
    equivalent = 0
    for seed in range(2_000 + 14 * chunk, 2_014 + 14 * chunk):
        rng = Random(seed)
        document = Maker(rng, False).document()
        gold = workflow(document)
        inputs = cases(rng)
        wanted = run_many(gold, inputs, sandbox, budget=2_000)
        for _ in range(6):
            changed = copy.deepcopy(document)
            break_it(changed, rng)
            try:
                other = workflow(changed)
            except ValidationError:
                continue
            if check(other, SPECS) or not compare(other, gold).equivalent:
                continue
            equivalent += changed != document
            for one, two in zip(run_many(other, inputs, sandbox, budget=2_000), wanted, strict=True):
                if {"step_limit"} & {ran.error.type for ran in (one, two) if ran.error}:
                    continue
                assert (one.ok, json.dumps(one.answer)) == (two.ok, json.dumps(two.answer)), f"seed {seed}"
    assert equivalent > 5


# Small wrong versions

GOLD = sketch(
    [
        call("sum", "add", a="n", b="m"),
        condition("large", "sum > 10 and m > 0"),
        call("counted", "upto", n="sum"),
        each("twisted", "counted", "one", "turned", call("turned", "twist", a="one"), where="one > 1"),
        condition("more", "tries < 3"),
        call("tries_on", "add", "tries", a="tries", b=1),
        compute("tries0", "n * 0", "tries"),
        end({"object": {"sum": {"var": "sum"}, "list": {"var": "twisted"}}}, "long"),
        end("tries", "short"),
    ],
    "start sum large.true counted twisted long",
    "large.false tries0 more.true tries_on more.false short",
    n="integer",
    m="integer",
)


def test_every_mutant_is_another_workflow() -> None:
    gold = workflow(GOLD)
    assert check(gold, SPECS) == []
    found = mutants(gold, SPECS, list(SPECS))
    kinds = " ".join(mutant.what for mutant in found)
    assert all(word in kinds for word in ("becomes 2", "dropped for", "arms exchanged", "filter dropped"))
    for mutant in found:
        score = compare(mutant.workflow, gold)
        assert not score.equivalent and score.difference, mutant.what
        assert score.paths.coverage < 1.0, mutant.what


# Conditions

ANY = {"a": {}, "b": {}, "n": {"type": "integer"}, "m": {"type": "number"}, "t": {"type": "string"},
       "f": {"type": "boolean"}, "xs": {"type": "array"}}  # fmt: skip


def deciding(expr: str, yes: Any = 1, no: Any = 0) -> Workflow:
    nodes = [condition("c", expr), end({"value": yes}, "yes"), end({"value": no}, "no")]
    return workflow(sketch(nodes, "start c.true yes", "c.false no", **ANY))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "b < a"),
        ("a >= b", "b <= a"),
        ("a >= b", "not (a < b)"),
        ("not not a", "a"),
        ("bool(a)", "a"),
        ("f == True", "f"),
        ("False == f", "not f"),
        ("(a > b) == True", "b < a"),
        ("a == b", "b == a"),
        ("a != b", "not (b == a)"),
        ("a is None", "a == None"),
        ("a not in b", "not (a in b)"),
        ("a < b < n", "a < b and b < n"),
        ("n > 1 and m > 2", "2 < m and 1 < n"),
        ("f or n > 1", "not (n <= 1 and not f)"),
        ("n > 1.0", "n > 1"),
        ("n + m > 1", "m + n > 1"),
        ("a * b > 1", "b * a > 1"),
        ("(a and b) and n > 1", "a and (b and n > 1)"),
        ("a['k'] > 1", "1 < a['k']"),
        ("sum(x for x in xs) > 1", "sum([y for y in xs]) > 1"),
        ("(1 if a else 2) > n", "(2 if not a else 1) > n"),
    ],
)
def test_conditions_that_say_the_same(one: str, other: str) -> None:
    assert perfect(compare(deciding(one), deciding(other)))
    swapped = compare(deciding(f"not ({one})", 0, 1), deciding(other))
    assert perfect(swapped), swapped


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > b", "a >= b"),
        ("a > b", "a < b"),
        ("a == True", "a"),
        ("a > 1 and b > 2", "b > 2 and a > 1"),
        ("a + b > t", "b + a > t"),
        ("float(t) > n", "not (float(t) <= n)"),
        ("a.keys() > b.keys()", "not (a.keys() <= b.keys())"),
        ("a - b > 0", "a > b"),
        ("str(1) == t", "str(1.0) == t"),
        ("any(x for x in a)", "any([x for x in a])"),
        ("n", "n > 0"),
    ],
)
def test_conditions_that_may_not_say_the_same(one: str, other: str) -> None:
    assert not compare(deciding(one), deciding(other)).equivalent


# Behaviour


def test_a_nested_condition_is_a_conjunction() -> None:
    nested = sketch(
        [condition("c", "n > 1"), condition("d", "a['k'] > 2"), end({"value": 1}, "yes"), end({"value": 0}, "no")],
        "start c.true d.true yes",
        "c.false no",
        "d.false no",
        **ANY,
    )
    score = compare(workflow(nested), deciding("n > 1 and a['k'] > 2"))
    assert score.equivalent and score.paths.coverage == 1.0
    assert score.nodes.f1 < 1.0


def test_paths_of_a_fork_may_come_in_another_order() -> None:
    nodes = [
        condition("c", "n > 1"), call("p", "twist", "u", a="n"), call("q", "add", "u", a="n"),
        condition("d", "m > 1"), call("r", "twist", "v", a="m"), call("s", "add", "v", a="m"),
        compute("w", "u + v"), end("w"),
    ]  # fmt: skip
    paths = ["c.true p w end", "c.false q w", "d.true r w", "d.false s w"]
    one, other = (
        workflow(sketch(nodes, *heads, *paths, n="integer", m="integer"))
        for heads in (("start c", "start d"), ("start d", "start c"))
    )
    assert perfect(compare(one, other))


def test_a_shared_tail_may_be_written_twice() -> None:
    start = [condition("c", "n > 1"), call("p", "twist", "u", a="n"), call("q", "add", "u", a="n")]
    tail = {"object": {"u": {"var": "u"}, "r": {"var": "r"}}}
    shared = [*start, call("r", "upto", n="n"), end(tail)]
    twice = [*shared, call("s", "upto", "r", n="n"), end(tail, "end2")]
    one = workflow(sketch(shared, "start c.true p r end", "c.false q r", n="integer"))
    other = workflow(sketch(twice, "start c.true p r end", "c.false q s end2", n="integer"))
    score = compare(other, one)
    assert score.equivalent and score.paths.spurious == 0 and score.paths.coverage == 1.0
    assert (score.tools.precision, score.tools.recall) == (3 / 4, 1.0)


def counting(rounds: str = "k < n", first: int = 0, bound: str = "", step: str = "k + 1") -> Document:
    nodes = [
        {"id": "z", "kind": "assign", "value": {"value": first}, "output": "k"},
        {"id": "y", "kind": "assign", "value": {"value": 0}, "output": "s"},
        condition("c", rounds), call("p", "add", "s", a="s", b="k"), compute("q", step, "k"), end("s"),
    ]  # fmt: skip
    return sketch(nodes, f"start z y c.true p q c{bound}", "c.false end", n="integer")


def test_variables_of_a_loop_correspond_whatever_they_are_called() -> None:
    gold = workflow(counting())
    assert perfect(compare(workflow(disguised(counting(), Random(1))), gold))
    spare = counting()
    spare["nodes"].append({"id": "o", "kind": "assign", "value": {"var": "s"}, "output": "old"})
    for edge in spare["edges"]:
        if edge["from"] == "p":
            edge["to"] = "o"
    spare["edges"].append({"from": "o", "to": "q"})
    assert perfect(compare(workflow(spare), gold))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rounds": "k <= n"}, "gold tests (0 < n), the candidate tests (n < 0)"),
        ({"first": 1}, "gold tests (0 < n), the candidate tests (1 < n)"),
        ({"step": "k + 2"}, "gold tests ((0 + 1) < n), the candidate tests ((0 + 2) < n)"),
        ({"bound": ":5"}, "gold allows a loop 10000 rounds, the candidate 5"),
    ],
)
def test_a_loop_that_does_something_else_is_told(changed: dict[str, Any], words: str) -> None:
    score = compare(workflow(counting(**changed)), workflow(counting()))
    assert not score.equivalent
    assert words in score.difference


def test_variables_that_agree_once_are_not_taken_for_one() -> None:
    """In the first round s and k are both 0; later they differ."""
    other = counting()
    other["nodes"][-1]["output"] = binding("k")
    assert not compare(workflow(other), workflow(counting())).equivalent


def test_what_may_fail_is_done_by_both_or_none() -> None:
    def dividing(*path: str) -> Workflow:
        nodes = [compute("d", "1 / n"), condition("c", "n > 0"), end({"value": 1}), end({"value": 0}, "no")]
        return workflow(sketch(nodes, *path, "c.false no", n="integer"))

    early, late = dividing("start d c.true end"), dividing("start c.true d end")
    score = compare(early, late)
    assert not score.equivalent
    assert score.difference == "the candidate evaluates (1 / n), gold does not"


def test_a_path_is_a_key_of_an_object_and_an_index_only_of_what_is_surely_a_list() -> None:
    def reading(part: Document) -> Workflow:
        return workflow(sketch([{"id": "v", "kind": "assign", **part, "output": "v"}, end("v")], "start v end", **ANY))

    field, key = reading({"value": {"var": "a", "path": ["k"]}}), reading({"expr": "a['k']"})
    assert compare(field, key).equivalent
    first, sure = reading({"value": {"var": "xs", "path": [0]}}), reading({"expr": "xs[0]"})
    assert compare(first, sure).equivalent
    either, index = reading({"value": {"var": "a", "path": [0]}}), reading({"expr": "a[0]"})
    assert not compare(either, index).equivalent  # "word"[0] is a letter, a path into a text an error


def spec(name: str, effect: str = "read", **fields: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": fields, "required": [key for key in fields if key != "b"]}
    return ToolSpec.model_validate({"name": name, "parameters": parameters, "effect": effect})


def test_specs_give_defaults_and_keep_the_order_of_writes() -> None:
    short, full = (
        workflow(sketch([call("x", "add", a="n", **more), end("x")], "start x end", n="integer"))
        for more in ({}, {"b": 3})
    )
    assert not compare(short, full).equivalent
    assert perfect(compare(short, full, SPECS))
    nodes = [call("x", "put", a="n"), call("y", "get", a="n"), end("y")]
    before, after = (workflow(sketch(nodes, f"start {way} end", n="integer")) for way in ("x y", "y x"))
    assert compare(before, after).equivalent
    specs = {"put": spec("put", "write", a={}), "get": spec("get", a={})}
    score = compare(before, after, specs)
    assert not score.equivalent and "get" in score.difference
    assert perfect(compare(before, before, specs))


def test_inputs_are_part_of_the_behaviour() -> None:
    one = workflow(sketch([end({"value": 1})], "start end", n="integer"))
    other = workflow(sketch([end({"value": 1})], "start end", m="integer"))
    assert compare(one, other).difference == "gold takes the inputs m, the candidate n"


# Scores


def test_the_parts_of_a_score_are_counted_as_written() -> None:
    gold = workflow(GOLD)
    less = copy.deepcopy(GOLD)
    less["nodes"] = [node for node in less["nodes"] if node["id"] != "twisted"]
    for node in less["nodes"]:
        if node["id"] == "long":
            node["output"] = {"object": {"sum": {"var": "sum"}, "list": {"var": "counted"}}}
    less["edges"] = [edge for edge in less["edges"] if "twisted" not in (edge["from"], edge["to"])]
    less["edges"].append({"from": "counted", "to": "long"})
    score = compare(workflow(less), gold)
    # add, large, upto, more, tries + 1, tries0, short are common; map, its twist and the end are not
    assert (score.nodes.precision, score.nodes.recall) == pytest.approx((7 / 8, 7 / 10))
    assert (score.tools.precision, score.tools.recall) == (1.0, 3 / 4)
    assert score.paths.model_dump() == {"gold": 5, "candidate": 5, "covered": 4, "spurious": 1, "cut": False}
    assert score.diff == (
        "- gold only: map over upto(…)",
        "~ differs: end: gold {list: map(…), sum: add(…)}, candidate {list: upto(…), sum: add(…)}",
        "- gold only: twist(a=element(upto(…)))",
    )


def test_exchanged_arms_keep_the_nodes_and_lose_the_branches() -> None:
    nodes = [condition("c", "n > 1"), call("p", "twist", "u", a="n"), call("q", "add", "u", a="n"), end("u")]
    gold = workflow(sketch(nodes, "start c.true p end", "c.false q end", n="integer"))
    swapped = workflow(sketch(nodes, "start c.false p end", "c.true q end", n="integer"))
    score = compare(swapped, gold)
    assert score.nodes == score.tools == score.edges == WHOLE
    assert score.branches.f1 == 0.0 and not score.equivalent and score.paths.covered == 0
    assert score.difference == "when (1 < n) is true: gold calls twist(a=n), the candidate add(a=n)"
    assert score.diff == (
        "- gold only: twist(a=n) only if (1 < n) is true",
        "- gold only: add(a=n) only if (1 < n) is false",
        "+ candidate only: twist(a=n) only if (1 < n) is false",
        "+ candidate only: add(a=n) only if (1 < n) is true",
    )


def test_one_wrong_constant_costs_one_node() -> None:
    def chain(constant: int) -> Workflow:
        nodes = [call("p", "add", a="n", b=constant), call("q", "twist", a="p"), call("r", "add", a="q", b=1), end("r")]
        return workflow(sketch(nodes, "start p q r end", n="integer"))

    score = compare(chain(5), chain(2))
    assert score.nodes.f1 == 3 / 4 and score.tools == WHOLE
    assert score.edges.f1 == 2 / 3 and score.branches == WHOLE
    assert score.diff == ("~ differs: add: gold add(a=n, b=2), candidate add(a=n, b=5)",)


def test_many_paths_are_cut_and_say_so() -> None:
    names = [f"c{index}" for index in range(12)]
    nodes = [part for name in names for part in (condition(name, f"a[{name[1:]}]"), compute(f"{name}x", "1", "x"))]
    edges = [f"{one}.true {one}x {other}" for one, other in zip(names, [*names[1:], "end"], strict=True)]
    edges += [f"{one}.false {other}" for one, other in zip(names, [*names[1:], "end"], strict=True)]
    many = workflow(sketch([*nodes, end({"value": 1})], "start c0", *edges, **ANY))
    score = compare(many, many)
    assert score.paths.cut and score.paths.gold == MAX_PATHS
    assert perfect(score)


def test_a_condition_with_very_many_ways_through_it_is_compared() -> None:
    parts = [f"(a[{index}] or b[{index}])" for index in range(16)]
    conjunction = deciding(" and ".join(parts))
    assert perfect(compare(deciding(f"not not ({' and '.join(parts)})"), conjunction))
    assert not compare(deciding(" and ".join([*parts[:-1], "a[16]"])), conjunction).equivalent


def test_a_long_workflow_is_compared_in_any_order_of_its_document() -> None:
    names = [f"p{index}" for index in range(300)]
    nodes = [call(name, "add", "x", a="x" if index else "n", b=index) for index, name in enumerate(names)]
    document = sketch([*nodes, end("x")], f"start {' '.join(names)} end", n="integer")
    shuffled = copy.deepcopy(document)
    Random(3).shuffle(shuffled["nodes"])
    assert perfect(compare(workflow(shuffled), workflow(document)))


def test_a_candidate_that_is_not_sound_scores_zero_and_a_gold_one_is_refused() -> None:
    gold = workflow(counting())
    broken = counting()
    broken["edges"].pop()
    score = compare(workflow(broken), gold)
    assert score.nodes.f1 == score.tools.f1 == score.edges.f1 == score.branches.f1 == 0.0
    assert score.paths.gold == 2 and score.paths.coverage == 0.0 and not score.equivalent
    assert score.problem is not None and "exactly one edge for false" in score.problem
    with pytest.raises(InputError, match="gold workflow 'workflow' is not sound: c: "):
        compare(gold, workflow(broken))
    with pytest.raises(InputError, match="no tool 'add'"):
        compare(gold, gold, {"twist": SPECS["twist"]})


MERGED = """
import sys
from flowmind.evaluation.structure import compare
from flowmind.workflow.document import Workflow

gold, other = (Workflow.model_validate_json(line) for line in sys.stdin)
print("; ".join(compare(other, gold).diff))
"""


def test_a_difference_is_told_in_the_same_words_whatever_the_hash_seed() -> None:
    tools = ["ask", "buy", "count", "draw"]
    nodes = [
        condition("big", "n > 9"), condition("small", "n < 3"), condition("odd", "n % 2 == 1"),
        *(call(f"to_{tool}", tool, "x", value="n") for tool in tools),
        call("use", "keep", "result", value="x"), end(),
    ]  # fmt: skip
    ways = [
        "start big", "big.true to_ask use", "big.false small", "small.true to_buy use", "small.false odd",
        "odd.true to_count use", "odd.false to_draw use", "use end",
    ]  # fmt: skip
    gold = sketch(nodes, *ways, n="integer")
    other = json.loads(json.dumps(gold).replace('"keep"', '"lose"'))
    told = {
        subprocess.run(
            [sys.executable, "-c", MERGED],
            input=f"{json.dumps(gold)}\n{json.dumps(other)}\n",
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert "|" in told.pop()

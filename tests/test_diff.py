"""What changed between two workflows, as `diff` and the command tell it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from reference_interpreter import call, compute, condition, end, sketch
from test_random_workflows import Maker
from tiny import called

from flowmind.cli.diff import judge
from flowmind.workflow.difference import Change, diff
from flowmind.workflow.document import Workflow
from tools_registry.catalog import specs

Row = dict[str, Any]


def flow(nodes: list[Row], edges: str, *more: str, **inputs: Any) -> Workflow:
    return Workflow.model_validate(sketch(nodes, edges, *more, **inputs))


BASE = flow(
    [condition("big", "n > 3"), call("plus", "add", "s", first="n", second={"value": 1}), compute("zero", "0", "s"),
     end("s")],
    "start big.true plus end", "big.false zero end", n="integer",
)  # fmt: skip


def changed(**replaced: Row) -> Workflow:
    """The base with other nodes, by their ids."""
    document = BASE.dump()
    document["nodes"] = [replaced.get(node["id"], node) for node in document["nodes"]]
    return Workflow.model_validate(document)


def renamed(names: dict[str, str], variables: dict[str, str]) -> Workflow:
    """The base with other ids and variables."""
    text = json.dumps(BASE.dump())
    for old, new in (names | variables).items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return Workflow.model_validate_json(text)


def told(change: Change) -> list[tuple[str, str, str]]:
    return [(field.name, field.before, field.after) for field in change.fields]


def test_equal_workflows_are_the_same() -> None:
    difference = diff(BASE, BASE)
    assert difference.same and difference.changes == ()
    assert judge(BASE, BASE, difference, specs()).result == "same"


def test_random_workflows_equal_themselves_and_match_every_node() -> None:
    for seed in range(25):
        workflow = Workflow.model_validate(Maker(Random(seed), True).document())
        difference = diff(workflow, workflow)
        assert difference.same
        assert difference.matched == {node.id: node.id for node in workflow.nodes}


def test_renamed_nodes_and_variables_are_changed_not_replaced() -> None:
    other = renamed({"big": "q1", "plus": "q2", "zero": "q3"}, {"s": "total"})
    difference = diff(BASE, other)
    assert {change.kind for change in difference.changes} == {"changed"}
    assert {name for change in difference.changes for name, *_ in told(change)} == {"id", "output"}
    assert judge(BASE, other, difference, specs()).result == "equivalent"


def test_numbered_ids_that_move_up_are_matched_by_what_the_nodes_do() -> None:
    first = flow([call("n1", "add", "n1_out", first="n", second={"value": 1}),
                  call("n2", "add", "n2_out", first="n1_out", second={"value": 2}), end("n2_out")],
                 "start n1 n2 end", n="integer")  # fmt: skip
    second = flow([call("n1", "negate", "n1_out", number="n"),
                   call("n2", "add", "n2_out", first="n1_out", second={"value": 1}),
                   call("n3", "add", "n3_out", first="n2_out", second={"value": 2}), end("n3_out")],
                  "start n1 n2 n3 end", n="integer")  # fmt: skip
    difference = diff(first, second)
    assert (difference.matched["n1"], difference.matched["n2"]) == ("n2", "n3")
    assert [change.where for change in difference.changes if change.kind == "added" and change.part == "node"] == ["n1"]
    assert difference.count("node", "removed") == 0


def test_a_changed_argument_is_shown_before_and_after() -> None:
    other = changed(plus=call("plus", "add", "s", first="n", second={"value": 2}))
    (change,) = diff(BASE, other).changes
    assert (change.part, change.kind, change.where) == ("node", "changed", "plus")
    assert told(change) == [("second", "1", "2")]


def test_a_changed_condition_is_shown_and_its_spelling_is_not() -> None:
    other = changed(big=condition("big", "n >= 3"))
    (change,) = diff(BASE, other).changes
    assert told(change) == [("if", "n > 3", "n >= 3")]
    assert diff(BASE, changed(big=condition("big", "n  >3"))).same


def test_another_tool_in_the_same_place_is_a_change_of_the_node() -> None:
    other = changed(plus=call("plus", "multiply", "s", first="n", second={"value": 1}))
    (change,) = diff(BASE, other).changes
    assert told(change) == [("tool", "add", "multiply")]


def test_inputs_are_added_removed_and_changed() -> None:
    first = flow([end("n")], "start end", n="integer", old="string", same="string")
    second = flow([end("n")], "start end", n="number", new="string", same={"type": "string", "description": "d"})
    kinds = {(change.kind, change.where): told(change) for change in diff(first, second).changes}
    assert kinds == {
        ("changed", "n"): [("type", "integer", "number")],
        ("removed", "old"): [],
        ("added", "new"): [],
        ("changed", "same"): [("note", "", "d")],
    }
    assert not diff(first, second).same_inputs


def test_edges_are_led_elsewhere_and_bounds_are_shown() -> None:
    document = BASE.dump()
    document["edges"] = [
        {**edge, "to": "end"} if edge["from"] == "big" and not edge["when"] else edge
        for edge in [edge | {"when": edge.get("when")} for edge in document["edges"]]
    ]
    (change, *_) = [one for one in diff(BASE, Workflow.model_validate(document)).changes if one.part == "edge"]
    assert told(change) == [("to", "zero", "end")]


def written(folder: Path, name: str, workflow: Workflow) -> Path:
    path = folder / name
    path.write_text(workflow.to_json())
    return path


def test_the_command_tells_what_changed_and_how_the_behaviour_differs(tmp_path: Path) -> None:
    other = changed(plus=call("plus", "add", "s", first="n", second={"value": 2}), big=condition("big", "n > 4"))
    paths = written(tmp_path, "a.json", BASE), written(tmp_path, "b.json", other)
    done = called("diff", *paths)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "nodes\n"
        "  ~ big: if n > 4\n"
        "      if: n > 3 → n > 4\n"
        "  ~ plus: s = add(first=n, second=2)\n"
        "      second: 1 → 2\n"
        "\n"
        "different (nodes: 2 changed)\n"
        "  A tests (3 < n), B tests (4 < n)\n"
    )


def test_the_command_says_same_and_equivalent(tmp_path: Path) -> None:
    first = written(tmp_path, "a.json", BASE)
    second = written(tmp_path, "b.json", renamed({"big": "q1"}, {"s": "total"}))
    assert (called("diff", first, first).returncode, called("diff", first, first).stdout) == (0, "the same\n")
    done = called("diff", first, second)
    assert done.returncode == 0 and done.stdout.endswith("\nequivalent: same behaviour (nodes: 3 changed)\n")


def test_workflows_of_two_formats_are_compared(tmp_path: Path) -> None:
    first, second = written(tmp_path, "a.json", BASE), tmp_path / "a.mmd"
    assert called("convert", first, "--to", "mermaid", "--out", second).returncode == 0
    assert called("diff", first, second).stdout == "the same\n"


def test_json_has_the_verdict_and_the_changes(tmp_path: Path) -> None:
    paths = written(tmp_path, "a.json", BASE), written(tmp_path, "b.json", changed(big=condition("big", "n > 4")))
    done = called("diff", *paths, "--json")
    stated = json.loads(done.stdout)
    assert (done.returncode, stated["result"]) == (1, "different")
    assert stated["changes"][0]["fields"] == [{"name": "if", "before": "n > 3", "after": "n > 4"}]


def test_lines_fit_into_100_columns(tmp_path: Path) -> None:
    long = " and ".join(f"n > {number * 1_000}" for number in range(60))
    other = changed(big=condition("big", long), plus=call("plus", "add", "s", first="n", second={"value": 10**300}))
    done = called("diff", written(tmp_path, "a.json", BASE), written(tmp_path, "b.json", other))
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "n > 9000" in done.stdout


def test_tools_that_may_write_keep_their_order(tmp_path: Path) -> None:
    steps = [
        call("one", "send", "a", to="n"),
        call("two", "book", "b", to="n"),
        end({"list": [{"var": "a"}, {"var": "b"}]}),
    ]
    first, second = (flow(steps, f"start {order} end", n="string") for order in ("one two", "two one"))
    paths = written(tmp_path, "a.json", first), written(tmp_path, "b.json", second)
    assert called("diff", *paths).returncode == 1
    reading = tmp_path / "tools.py"
    mark = '@tool(effect="read")\ndef {0}(to: str) -> str:\n    """{0}."""\n    return to\n'
    reading.write_text("\n".join(["from flowmind import tool\n", mark.format("send"), mark.format("book")]))
    done = called("diff", *paths, "--tools", reading)
    assert done.returncode == 0 and "equivalent: same behaviour" in done.stdout


@pytest.mark.parametrize("unsound", ["before", "after"])
def test_a_workflow_that_is_not_sound_is_not_compared_in_behaviour(unsound: str, tmp_path: Path) -> None:
    broken = BASE.model_copy(update={"edges": BASE.edges[:-1]})
    pair = (broken, BASE) if unsound == "before" else (BASE, broken)
    done = called("diff", written(tmp_path, "a.json", pair[0]), written(tmp_path, "b.json", pair[1]))
    assert done.returncode == 1 and "the behaviour was not compared" in done.stdout and "not sound" in done.stdout

"""The critical path against longest paths worked out by hand, on documents and on runs."""

from __future__ import annotations

from typing import Any

import pytest
from reference_interpreter import Document, call, compute, condition, each, end, sketch

from flowmind.base.errors import InputError
from flowmind.evaluation.critical_path import critical_path, node_durations, tool_seconds
from flowmind.run.running import run
from flowmind.trace.events import Called, Trace, Turn
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.sandbox.functions import tool
from tools_registry.specs.spec import Observation, ToolCall


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def double(a: int) -> int:
    """Doubles."""
    return 2 * a


@tool(effect="write")
def put(a: int) -> int:
    """Writes."""
    return a


SANDBOX = FunctionEnvironment([add, double, put])


def workflow(nodes: list[Document], *paths: str, **inputs: Any) -> Workflow:
    made = Workflow.model_validate(sketch(nodes, *paths, **inputs))
    assert check(made, SANDBOX.specs) == []
    return made


DIAMOND = [
    call("p", "add", a="n"), call("q", "double", a="p"), call("r", "double", a="n"), compute("s", "q + r"),
    call("t", "add", a="s"), end("t"),
]  # fmt: skip


def test_what_reads_nothing_of_another_runs_beside_it() -> None:
    linear = workflow(DIAMOND, "start p q r s t end", n="integer")
    forked = workflow(DIAMOND, "start p q s", "start r s t end", n="integer")
    for made in (linear, forked):
        found = critical_path(made, {"p": 1, "q": 2, "r": 5, "t": 1})
        assert (found.serial_s, found.parallel_s, found.path) == (9, 6, ("r", "t"))
        assert found.speedup == 1.5
        other = critical_path(made, {"p": 4, "q": 2, "r": 5, "t": 1, "s": 0.5})
        assert (other.parallel_s, other.path) == (7.5, ("p", "q", "s", "t"))
    traced = run(linear, {"n": 3}, SANDBOX)
    assert critical_path(linear, {"p": 1, "q": 2, "r": 5, "t": 1}, traced).parallel_s == 6


def test_a_chain_gains_nothing() -> None:
    nodes = [call("p", "add", a="n"), call("q", "add", a="p"), end("q")]
    found = critical_path(workflow(nodes, "start p q end", n="integer"), {"p": 1, "q": 2})
    assert (found.serial_s, found.parallel_s, found.speedup, found.path) == (3, 3, 1.0, ("p", "q"))
    nothing = critical_path(workflow([end("n")], "start end", n="integer"), {})
    assert (nothing.serial_s, nothing.parallel_s, nothing.speedup, nothing.path) == (0, 0, 1.0, ())


BRANCH = [
    call("p", "add", a="n"), condition("c", "p > 3"), call("q", "double", "u", a="n"), call("r", "add", "u", a="n"),
    call("s", "add", a="n"), end({"list": [{"var": "u"}, {"var": "s"}]}),
]  # fmt: skip


def test_an_arm_waits_for_its_condition_and_what_follows_the_join_does_not() -> None:
    made = workflow(BRANCH, "start p c.true q s end", "c.false r s", n="integer")
    durations = {"p": 2, "q": 4, "r": 1, "s": 5}
    high = critical_path(made, durations, run(made, {"n": 9}, SANDBOX))
    assert (high.serial_s, high.parallel_s, high.path) == (11, 6, ("p", "q"))
    low = critical_path(made, durations, run(made, {"n": 0}, SANDBOX))
    assert (low.serial_s, low.parallel_s, low.path) == (8, 5, ("s",))


def test_the_rounds_of_a_loop_are_steps_of_their_own() -> None:
    nodes = [
        compute("k", "0"), condition("c", "k < n"), call("p", "double", a="k"), call("q", "add", "k", a="k"), end("k"),
    ]  # fmt: skip
    made = workflow(nodes, "start k c.true p q c", "c.false end", n="integer")
    found = critical_path(made, {"p": 10, "q": 1}, run(made, {"n": 3}, SANDBOX))
    # q three times; the last p begins with the third round, that is after two of them
    assert (found.serial_s, found.parallel_s, found.path) == (33, 12, ("q", "q", "p"))


def test_the_elements_of_a_map_run_at_once() -> None:
    body = (call("y", "double", a="x"), call("z", "add", a="y"))
    nodes = [
        call("p", "add", a="n"),
        each("m", "xs", "x", "z", *body, where="x > 0"),
        call("q", "add", a="p"),
        end("m"),
    ]
    made = workflow(nodes, "start p m q end", n="integer", xs={"type": "array", "items": {"type": "integer"}})
    durations = {"p": 1, "q": 1, "m.y": 2, "m.z": 3}
    found = critical_path(made, durations, run(made, {"n": 1, "xs": [1, 0, 2, 3]}, SANDBOX))
    assert (found.serial_s, found.parallel_s, found.path) == (17, 5, ("m.y", "m.z"))
    empty = critical_path(made, durations, run(made, {"n": 1, "xs": []}, SANDBOX))
    assert (empty.serial_s, empty.parallel_s) == (2, 2)
    static = critical_path(made, {"p": 1, "q": 1, "m": 7})
    assert (static.serial_s, static.parallel_s, static.path) == (9, 7, ("m",))
    with pytest.raises(InputError, match="no duration for 'm'"):
        critical_path(made, durations)


def test_a_tool_that_writes_keeps_its_place() -> None:
    nodes = [call("p", "add", a="n"), call("w", "put", a="n"), call("q", "double", a="n"), end("q")]
    made = workflow(nodes, "start p w q end", n="integer")
    durations = {"p": 1, "w": 1, "q": 1}
    assert critical_path(made, durations).parallel_s == 1
    assert critical_path(made, durations, specs=SANDBOX.specs).parallel_s == 3


def test_what_cannot_be_computed_is_one_clear_line() -> None:
    made = workflow(BRANCH, "start p c.true q s end", "c.false r s", n="integer")
    durations = {"p": 2.0, "q": 4.0, "r": 1.0, "s": 5.0}
    with pytest.raises(InputError, match="condition 'c' may go either way: give the trace"):
        critical_path(made, durations)
    traced = run(made, {"n": 9}, SANDBOX)
    with pytest.raises(InputError, match="no duration for 'p'"):
        critical_path(made, {}, traced)
    with pytest.raises(InputError, match="duration of 'p' is -1"):
        critical_path(made, {"p": -1}, traced)
    with pytest.raises(InputError, match="duration of 'p' is nan"):
        critical_path(made, {"p": float("nan")}, traced)
    other = workflow(DIAMOND, "start p q r s t end", n="integer")
    with pytest.raises(InputError, match="'c', which is no step of this workflow"):
        critical_path(other, durations | {"t": 1}, traced)
    with pytest.raises(InputError, match="stopped by error"):
        critical_path(made, durations, Trace(stop="error"))


def agent(*said: tuple[str, float]) -> Trace:
    steps = [
        Called(call=ToolCall(tool=name, args={}), observation=Observation(value=1), turn=index)
        for index, (name, _) in enumerate(said)
    ]
    turns = [Turn(text="", parse="clean", seconds=seconds) for _, seconds in said]
    return Trace(events=tuple(steps), stop="finish", turns=tuple(turns))


def test_an_agents_turns_give_the_durations() -> None:
    seconds = tool_seconds([agent(("add", 2.0), ("double", 3.0)), agent(("add", 4.0))])
    assert seconds == {"add": 3.0, "double": 3.0}
    made = workflow(DIAMOND, "start p q r s t end", n="integer")
    found = critical_path(made, node_durations(made, seconds))
    assert (found.serial_s, found.parallel_s, found.path) == (12.0, 9.0, ("p", "q", "t"))
    body = (call("y", "double", a="x"),)
    mapped = workflow([each("m", "xs", "x", "y", *body), end("m")], "start m end", xs="array")
    assert node_durations(mapped, seconds) == {"m.y": 3.0}
    with pytest.raises(InputError, match="no seconds for 'double', which node 'q' calls"):
        node_durations(made, {"add": 1.0})
    with pytest.raises(InputError, match="no tool call with the seconds of its turn"):
        tool_seconds([run(made, {"n": 1}, SANDBOX)])

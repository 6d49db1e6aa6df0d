"""A tool that takes its arguments by position gives what the general call gives, for whatever it is called with."""

from __future__ import annotations

import copy
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_interpreter import call, end, sketch

from flowmind.run.running import run, run_many
from flowmind.trace.events import Called
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.specs.schema import validator
from tools_registry.specs.values import CaseError, by_position, call_checked

KINDS: list[dict[str, Any]] = [
    {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}, {},
    {"type": "integer", "minimum": 0}, {"type": ["string", "null"]}, {"enum": [1, "a"]},
    {"type": "array", "items": {"type": "integer"}}, {"type": "object"}, {"type": "string", "title": "A text"},
]  # fmt: skip
VALUES: list[Any] = [0, 1, -3, 2.0, 0.5, True, False, None, "", "a", "é", [1, 2], [1, "x"], {"k": [1]}, 1 << 2000]
RESULTS: dict[int, Any] = {0: 1 << 2000, 1: float("nan"), -3: (1, 2)}


def outcome(work: Any) -> tuple[str, Any]:
    try:
        value = work()
    except CaseError as error:
        return error.type, error.message
    return type(value).__name__, value


def twice(first: Any, second: Any = 7) -> Any:
    """Changes what it is given, and fails on some of it."""
    if isinstance(first, list):
        cast(list[Any], first).append(0)
    if first == "a":
        raise ValueError("not that one")
    if first is True:
        return True
    return RESULTS[first] if isinstance(first, int) and first in RESULTS else [first, second]


@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    values=st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)),
    count=st.integers(1, 2),
    required=st.sampled_from([["first"], ["first", "second"], []]),
)
def test_by_position_a_tool_gives_what_it_gives_by_name(
    kinds: tuple[dict[str, Any], ...], values: tuple[Any, ...], count: int, required: list[str]
) -> None:
    schema = {
        "type": "object",
        "properties": {"first": kinds[0], "second": kinds[1]},
        "required": required,
        "additionalProperties": False,
    }
    check = validator(schema)
    names = ("first", "second")[:count]
    given_values = copy.deepcopy(values[:count])

    def checked(args: dict[str, Any]) -> Any:
        return call_checked(twice, check, args)

    expected = outcome(lambda: checked(dict(zip(names, copy.deepcopy(given_values), strict=True))))
    direct = by_position(twice, checked, schema, names)
    assert repr(outcome(lambda: direct(*given_values))) == repr(expected)
    assert given_values == values[:count]


def test_a_parameter_whose_name_is_no_python_name_is_passed_all_the_same() -> None:
    def gather(**named: Any) -> list[str]:
        return sorted(named)

    schema = {"type": "object", "properties": {"a b": {"type": "integer"}, "class": {"type": "integer"}}}
    check = validator(schema)
    direct = by_position(gather, lambda args: call_checked(gather, check, args), schema, ("a b", "class"))
    assert direct(1, 2) == ["a b", "class"]


STATEFUL = '''
seen = []

def note(word: str, loud: bool = False) -> int:
    """Counts its calls."""
    seen.append(word)
    return len(seen)
'''


def test_a_tool_with_a_state_keeps_it_within_a_case_and_not_beyond() -> None:
    document = sketch(
        [call("a", "note", word={"value": "x"}), call("b", "note", word={"value": "y"}, loud=True), end({"list": [
            {"var": "a"}, {"var": "b"}]})],
        "start a b end",
    )  # fmt: skip
    workflow = Workflow.model_validate(document)
    with LocalSandbox([ToolSource.parse(STATEFUL)]) as sandbox:
        assert [ran.answer for ran in run_many(workflow, [{}, {}], sandbox)] == [[1, 2], [1, 2]]
        steps = run(workflow, {}, sandbox).calls
    assert [step.call.args for step in steps] == [{"word": "x"}, {"word": "y", "loud": True}]
    assert [step.observation.value for step in steps if isinstance(step, Called)] == [1, 2]


@pytest.mark.parametrize("bad", [{"n": "x"}, {}, {"n": 1, "m": 2}])
def test_a_case_whose_inputs_do_not_fit_stands_among_those_that_do(bad: dict[str, Any]) -> None:
    workflow = Workflow.model_validate(sketch([end("n")], "start end", n="integer"))
    workflow = workflow.model_copy(update={"inputs": {**workflow.inputs, "additionalProperties": False}})
    with LocalSandbox([ToolSource.parse(STATEFUL)]) as sandbox:
        good, wrong, last = run_many(workflow, [{"n": 1}, bad, {"n": 3}], sandbox)
    assert (good.answer, last.answer, good.ok, wrong.ok) == (1, 3, True, False)
    assert wrong.error is not None and wrong.error.type == "invalid_input"
    assert (wrong.trace.stop, wrong.trace.events, good.trace.answer) == ("error", (), 1)

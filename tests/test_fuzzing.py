"""Random and damaged text to everything that reads text: a value or the documented error, and an end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowmind.agents.replies import Unreadable, read_action, read_object, read_plan
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, validate
from flowmind.formats.catalog import FORMATS
from flowmind.formats.own import from_own
from flowmind.run.compiler import compile_workflow
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import load, run_case
from tools_registry.specs.spec import ToolSource
from tools_registry.specs.values import clean

fast = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SPEC = ToolSource.parse('def half(n: int, by: int = 2) -> float:\n    """Divide."""\n    return n / by').spec
SPECS = {"half": SPEC}
DOCUMENT: dict[str, Any] = {
    "schema": "flowmind/workflow@1",
    "name": "all kinds",
    "description": "Halve what is even until nothing is left.",
    "inputs": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "integer"}}},
        "required": ["n", "list"],
    },
    "nodes": [
        {"id": "start", "kind": "start"},
        {"id": "set", "kind": "assign", "expr": "n + len(list)", "output": "left"},
        {"id": "test", "kind": "condition", "expr": "left > 0 and left % 2 == 0"},
        {"id": "call", "kind": "tool", "tool": "half", "output": "left",
         "args": {"n": {"var": "left"}, "by": {"value": 2}}},
        {"id": "each", "kind": "map", "over": {"var": "list"}, "item": "one", "where": "one != 3",
         "body": [{"id": "inner", "kind": "tool", "tool": "half", "args": {"n": {"var": "one"}}, "output": "halved"}],
         "collect": {"var": "halved"}, "output": "halves"},
        {"id": "end", "kind": "end",
         "output": {"object": {"left": {"var": "left"}, "halves": {"list": [{"var": "halves"}, {"value": None}]}}}},
    ],
    "edges": [
        {"from": "start", "to": "set"},
        {"from": "set", "to": "test"},
        {"from": "test", "to": "call", "when": True},
        {"from": "call", "to": "test", "bound": 9},
        {"from": "test", "to": "each", "when": False},
        {"from": "each", "to": "end"},
    ],
}  # fmt: skip
VALID = validate(Workflow, DOCUMENT)

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=6),
    st.sampled_from(["start", "test", "left", "n", "half", "a.b", "\ud800", "", 2**70, "len(list)", "{", "end"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["var", "value", "id"]), inner),
    max_leaves=6,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all that a JSON value holds."""
    found = [path] if path else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += places(part, (*path, key))
    return found


PLACES = places(DOCUMENT)


@st.composite
def damaged_documents(draw: st.DrawFn) -> Any:
    """The document with some of its parts taken away, replaced, doubled or moved."""
    document = json.loads(json.dumps(DOCUMENT))
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(PLACES))
        with contextlib.suppress(KeyError, IndexError, TypeError):
            holder = document
            for step in path:
                holder = holder[step]
            kind = draw(st.sampled_from(["replace", "remove", "double", "swap", "add"]))
            if kind == "replace":
                holder[last] = draw(values)
            elif kind == "remove":
                del holder[last]
            elif kind == "double" and isinstance(holder, list):
                holder.append(holder[last])
            elif kind == "swap" and isinstance(holder, list):
                holder[last], holder[0] = holder[0], holder[last]
            elif isinstance(holder, dict):
                holder[draw(st.sampled_from(["bound", "when", "where", "expr", "note"]))] = draw(values)
    return document


@settings(fast, max_examples=150)
@given(damaged_documents() | values)
def test_a_damaged_workflow_is_refused_or_has_problems_or_runs(document: Any) -> None:
    try:
        workflow = from_own(json.dumps(document))
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 1_000
        return
    assert from_own(workflow.to_json()).to_json() == workflow.to_json()
    problems = check(workflow, SPECS)
    assert all(problem.where and problem.message for problem in problems)
    if not problems:
        program = compile_workflow(workflow)
        outcome = run_case(load(program.source, program.constants), {"n": 4, "list": [1, 3]}, [lambda args: 1.5], 500)
        assert outcome.error is not None or clean(outcome.answer) == outcome.answer


EXPORTED = {name: form.exporter(VALID, SPECS).text for name, form in FORMATS.items() if form.reads}
scraps = st.text(max_size=4) | st.sampled_from(
    ["\n", "  ", "-->", "|", "{", "}", "[", "]", '"', "\\", ":", "- ", "%%", "\t", "\r\n", "\0", "&", "*", "0", "if ",
     "call ", "\ud800", "\u2028", "true", ".", "(", ")", ";", "${", "/*"]
)  # fmt: skip


@st.composite
def damaged_texts(draw: st.DrawFn, text: str) -> str:
    """A text with some of its parts cut out, doubled, moved or replaced; now and then cut off."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        middle = draw(scraps | st.just(text[start:end] * 2) | st.just(""))
        text = text[:start] + middle + text[end:]
    lines = text.split("\n")
    if draw(st.integers(0, 3)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), lines.pop(draw(st.integers(0, len(lines) - 1))))
    return "\n".join(lines[: draw(st.integers(1, len(lines)))] if draw(st.integers(0, 4)) == 0 else lines)


@pytest.mark.parametrize("name", EXPORTED)
@settings(fast, max_examples=60)
@given(data=st.data())
def test_a_damaged_export_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = data.draw(damaged_texts(EXPORTED[name]) | st.text(max_size=60))
    reader = FORMATS[name].importer
    assert reader is not None
    try:
        workflow = reader(text)
    except InputError as error:
        assert str(error)
        return
    workflow.to_json().encode()
    check(workflow, SPECS)


REPLIES = [
    '{"reasoning": "sum", "action": "add", "action_input": {"a": 1, "b": [2.5, null], "c": "it\'s {so} \\u00e9"}}',
    'I think:\n```json\n{"name": "add", "arguments": "{\\"a\\": 1}"}\n```\nDone.',
    "<think>{no}</think>{'action': 'add', 'args': {'a': True, 'b': None}}",
    '{"analysis": "two", "steps": ["add a and b", {"step": "double it"}]}',
]


@settings(fast, max_examples=200)
@given(
    st.sampled_from(REPLIES).flatmap(damaged_texts) | st.text(max_size=80) | st.text("{}[]\":,\\'1ea \n", max_size=60)
)
def test_a_damaged_reply_is_read_or_unreadable(text: str) -> None:
    with contextlib.suppress(Unreadable):
        call = read_action(text)[0].call
        assert call.tool.strip() and clean(call.args) == call.args
        json.dumps(call.args, allow_nan=False, ensure_ascii=False).encode()
    with contextlib.suppress(Unreadable):
        assert all(isinstance(step, str) for step in read_plan(text)[0].steps)
    with contextlib.suppress(Unreadable):
        assert "a" in read_object(text, "a")


TASK = {"id": "t", "query": "q", "inputs": {"type": "object"}, "examples": [{"input": {"n": 1}, "output": [1.5, "x"]}]}
TRACE = {
    "inputs": {"n": 1},
    "events": [
        {"kind": "planned", "steps": ["a"], "turn": 0},
        {"kind": "called", "call": {"tool": "f", "args": {"n": 1}}, "observation": {"value": 2}},
        {"kind": "evaluated", "node": "c", "expr": "n > 1", "value": False},
        {"kind": "failed", "node": "x", "error": {"type": "memory", "message": "no more"}},
    ],
    "stop": "error",
    "error": {"type": "memory", "message": "no more"},
    "turns": [{"text": "x", "parse": "clean"}],
}


@pytest.mark.parametrize(("kind", "record"), [(Task, TASK), (Trace, TRACE)])
@settings(fast, max_examples=80)
@given(data=st.data())
def test_a_damaged_record_is_read_or_refused_with_its_place(kind: Any, record: Any, data: st.DataObject) -> None:
    text = data.draw(damaged_texts(json.dumps(record)))
    try:
        value = parse_json(text)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        made = validate(kind, value)
    except ValueError as error:
        assert str(error) and "\n" not in str(error).replace(text, "")
        return
    assert validate(kind, parse_json(made.model_dump_json(by_alias=True))) == made


BOTTOMLESS: list[Callable[[int], str]] = [
    lambda size: "{" * size,
    lambda size: "[" * size,
    lambda size: '{"a":' * (size // 5),
    lambda size: "{'a':" * (size // 5),
    lambda size: '{"' * (size // 2),
    lambda size: "{\n" * (size // 2),
    lambda size: "{(" * (size // 2),
    lambda size: '{"a": "' + "\\" * size,
    lambda size: '{"a": ["x" ' * (size // 11),
    lambda size: "{a} " * (size // 4),
    lambda size: '{"action": "x", "action_input": ' * (size // 32),
    lambda size: "```json{" * (size // 8),
    lambda size: "<think>{" * (size // 8),
    lambda size: '{ "it"s ' * (size // 8),
    lambda size: "{1:" + "-" * size,
]


@pytest.mark.parametrize("number", range(len(BOTTOMLESS)))
def test_a_long_reply_without_sense_is_soon_given_up(number: int) -> None:
    for size in (3_000, 19_000, 99_000):
        with contextlib.suppress(Unreadable):
            read_action(BOTTOMLESS[number](size))


SIZE = 30_000
ALIASES = [f"{two}: &{two} [*{one}, *{one}, *{one}, *{one}]\n" for one, two in pairwise("abcdefghijklm")]
LONG = [
    *["[" * SIZE, "{" * SIZE, "(" * SIZE, "- " * SIZE, "\n" * SIZE, "a --> " * 5_000, '"' * SIZE, "a" * SIZE],
    *[
        "flowchart TD\n" + "a --> b\n" * 3_000,
        "flowchart TD\n a -->" + " " * SIZE + "b",
        "flowchart TD\na[" + "x" * SIZE,
    ],
    *["Node:\n1: a" + " " * SIZE + "b\nEdge:\n(START,1", "Node:\n1: a\nEdge:\n" + "( " * SIZE, "name: " + "{" * SIZE],
    *["a: &a [1, 1]\n" + "".join(ALIASES), "a: &a [*a]", "do: 2001-99-99", "do: " + "9" * 9_000],
    "!!python/object/apply:os.getcwd []",
]


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize("text", LONG, ids=lambda text: repr(text[:20]))
def test_a_long_text_without_sense_is_no_workflow(name: str, text: str) -> None:
    reader = FORMATS[name].importer
    assert reader is not None
    with pytest.raises(InputError) as caught:
        reader(text)
    assert len(str(caught.value)) < 1_000

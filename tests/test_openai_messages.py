"""Foreign conversations as traces: every form that the APIs of OpenAI have had, and what is wrong with some."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError
from flowmind.formats.openai_messages import (
    read_traces,
    specs_of_openai_tools,
    specs_of_traces,
    tool_identifier,
    trace_of_messages,
)
from flowmind.trace.events import Called, Trace
from tools_registry.specs.spec import Observation, ToolCall, spec_of

Row = dict[str, Any]
ASKED: Row = {"role": "user", "content": "How warm is it in Oslo and in Rome?"}


def call(id: str, name: str, arguments: Any) -> Row:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def asks(*calls: Row, content: Any = None) -> Row:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def says(content: Any) -> Row:
    return {"role": "assistant", "content": content}


def result(id: str, content: Any, **marks: Any) -> Row:
    return {"role": "tool", "tool_call_id": id, "content": content, **marks}


CHAT: list[Row] = [
    {"role": "system", "content": "You can look up the weather."},
    ASKED,
    asks(call("a", "weather.at", {"city": "Oslo"}), call("b", "weather.at", {"city": "Rome"}), content="I look."),
    result("b", '{"degrees": 21.5}'),
    result("a", [{"type": "text", "text": '{"degrees":'}, {"type": "text", "text": " 4}"}]),
    asks(call("c", "mean", {"numbers": [4, 21.5]}), content=[{"type": "text", "text": "Now the mean."}]),
    result("c", "12.75"),
    says('{"mean": 12.75}'),
]
STEPS = (
    Called(
        call=ToolCall(tool="weather_at", args={"city": "Oslo"}),
        observation=Observation(value={"degrees": 4}),
        reasoning="I look.",
        turn=0,
    ),
    Called(
        call=ToolCall(tool="weather_at", args={"city": "Rome"}),
        observation=Observation(value={"degrees": 21.5}),
        turn=0,
    ),
    Called(
        call=ToolCall(tool="mean", args={"numbers": [4, 21.5]}),
        observation=Observation(value=12.75),
        reasoning="Now the mean.",
        turn=1,
    ),
)
WHOLE = Trace(inputs={"cities": ["Oslo", "Rome"]}, events=STEPS, stop="finish", answer={"mean": 12.75})
ITEMS: list[Row] = [
    ASKED,
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "a", "name": "weather.at", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call", "call_id": "b", "name": "weather.at", "arguments": '{"city": "Rome"}'},
    {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": '{"degrees": 4}'}]},
    {"type": "function_call_output", "call_id": "b", "output": '{"degrees": 21.5}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Now the mean."}]},
    {"type": "function_call", "call_id": "c", "name": "mean", "arguments": '{"numbers": [4, 21.5]}'},
    {"type": "function_call_output", "call_id": "c", "output": "12.75"},
    {"type": "reasoning", "id": "rs2", "summary": [{"type": "summary_text", "text": "Done."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": '{"mean": 12.75}'}]},
]


@pytest.mark.parametrize("messages", [CHAT, ITEMS], ids=["chat completions", "responses"])
def test_a_conversation_is_a_trace(messages: list[Row]) -> None:
    assert trace_of_messages(messages, {"cities": ["Oslo", "Rome"]}) == WHOLE


def test_the_older_form_has_results_by_name() -> None:
    def older(name: str, arguments: str) -> Row:
        return {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": arguments}}

    trace = trace_of_messages(
        [
            older("double", '{"x": 2}'),
            {"role": "function", "name": "double", "content": "4"},
            older("double", '{"x": 4}'),
            {"role": "function", "name": "double", "content": "8"},
            says("It is 8."),
        ]
    )
    assert [(step.call.args, step.observation.value, step.turn) for step in trace.calls] == [
        ({"x": 2}, 4, 0),
        ({"x": 4}, 8, 1),
    ]
    assert (trace.stop, trace.answer) == ("finish", "It is 8.")


def test_several_turns_of_a_user_are_one_trace() -> None:
    first = [ASKED, asks(call("a", "now", "")), result("a", "noon"), says("Noon.")]
    second = [{"role": "user", "content": "And now?"}, asks(call("a", "now", "{}")), result("a", "1"), says(None)]
    trace = trace_of_messages([*first, *second])
    assert [(step.observation.value, step.turn) for step in trace.calls] == [("noon", 0), (1, 2)]
    assert (trace.stop, trace.answer) == ("finish", None)


def test_a_custom_tool_gets_its_input_as_text() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    item = {"type": "custom_tool_call", "call_id": "b", "name": "shell", "input": "ls"}
    output = {"type": "custom_tool_call_output", "call_id": "b", "output": "two files"}
    trace = trace_of_messages([asks(custom), result("a", "a file"), item, output])
    assert [step.call.args for step in trace.calls] == [{"input": "ls -l"}, {"input": "ls"}]
    assert [step.observation.value for step in trace.calls] == ["a file", "two files"]


def test_thoughts_beside_a_call_are_its_reasoning() -> None:
    thinking = {**asks(call("a", "now", "{}"), content="I ask."), "reasoning_content": "What time is it?"}
    assert trace_of_messages([thinking]).calls[0].reasoning == "What time is it?\nI ask."


def test_a_conversation_that_ends_with_a_call_stops_with_turns() -> None:
    trace = trace_of_messages(CHAT[:-1])
    assert (trace.stop, trace.answer) == ("turns", None)
    assert (trace_of_messages(CHAT[:-1], answer=12.75).stop, trace_of_messages(CHAT, answer=None).answer) == (
        "finish",
        None,
    )


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("00012", "00012"),
        ("NaN", "NaN"),
        ("", ""),
        ("Errors found: 0", "Errors found: 0"),
        ("Error-free", "Error-free"),
        ('{"error": null, "rows": []}', {"error": None, "rows": []}),
        ('{"error": 0.25}', {"error": 0.25}),
        ('"two words"', "two words"),
        ("1" * 5_000, "1" * 5_000),
        (None, None),
        ({"rows": 3}, {"rows": 3}),
        ([{"type": "image_url", "image_url": {"url": "x"}}], [{"type": "image_url", "image_url": {"url": "x"}}]),
    ],
)
def test_a_result_is_json_if_it_is_json_else_text(content: Any, value: Any) -> None:
    trace = trace_of_messages([asks(call("a", "get", "{}")), result("a", content)])
    assert trace.calls[0].observation == Observation(value=value)


@pytest.mark.parametrize(
    ("content", "marks", "message"),
    [
        ('{"error": "no such city"}', {}, "no such city"),
        ('{"error": {"code": 404, "message": "no such city"}}', {}, "no such city"),
        ('{"error": {"code": 404}}', {}, '{"code":404}'),
        ('{"error": true, "message": "gone"}', {}, "gone"),
        ('{"content": [], "isError": true}', {}, '{"content":[],"isError":true}'),
        ("Error: no such city\n Please fix your mistakes.", {}, "Error: no such city\n Please fix your mistakes."),
        ("Error executing tool get", {}, "Error executing tool get"),
        ("KeyError: 'Oslo'", {}, "KeyError: 'Oslo'"),
        ("An error occurred while running the tool.", {}, "An error occurred while running the tool."),
        ("no such city", {"status": "error"}, "no such city"),
        ("[1]", {"is_error": True}, "[1]"),
    ],
)
def test_a_result_that_tells_of_an_error_is_a_failed_observation(content: str, marks: Row, message: str) -> None:
    trace = trace_of_messages([asks(call("a", "get", "{}")), result("a", content, **marks)])
    assert trace.calls[0].observation == Observation.failed("tool_error", message)


def test_a_call_without_a_result_has_failed() -> None:
    error = trace_of_messages([asks(call("a", "get", "{}")), says("I cannot.")]).calls[0].observation.error
    assert error is not None and error.type == "no_result"


@pytest.mark.parametrize("written", ['{"city": "Oslo"', "[1]", '{"x": 1, "x": 2}', "NaN"])
def test_arguments_that_are_no_object_make_a_failed_call(written: str) -> None:
    step = trace_of_messages([asks(call("a", "get", written)), result("a", "4")]).calls[0]
    assert step.call == ToolCall(tool="get")
    assert step.observation == Observation.failed("bad_arguments", f"the arguments are not a JSON object: {written}")


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "no message is an assistant's"),
        ([ASKED], "no message is an assistant's"),
        ([ASKED, "hello"], "message 2: it is no object, but str"),
        ([ASKED, says(b"x")], "message 2: a value of type bytes is not JSON"),
        ([{"role": "narrator"}], "message 1: it has the role 'narrator'; read are the roles system, "),
        ([{"type": "web_search_call"}], "message 1: it has the type 'web_search_call'; read are"),
        ([{"content": "x"}], "message 1: it has no role; read are"),
        (
            [ASKED, result("z", "1")],
            "message 2: it is the result of a call 'z', and no message before it has that call",
        ),
        (
            [asks(call("a", "f", "{}")), result("a", "1"), result("a", "2")],
            "message 3: it is a second result of the call",
        ),
        ([asks(call("a", "f", "{}"), call("a", "g", "{}"))], "message 1: the id 'a' stands at two calls"),
        (
            [asks(call("a", "f", "{}")), {"role": "tool", "content": "1"}],
            "message 2: it is the result of a call, but has not an id",
        ),
        ([{"role": "function", "name": "f", "content": "1"}], "but has not an id, and no call of 'f' is open"),
        ([asks({"id": "a", "function": {"arguments": "{}"}})], "message 1: a call in it names no function"),
        ([{**asks(), "tool_calls": "x"}], "message 1: its tool_calls are string, not a list"),
        ([asks({**call("a", "f", "{}"), "id": 7})], "message 1: the id of a call is integer, not a string"),
        (
            [asks(call("a", "x.y", "{}"), call("b", "x_y", "{}"))],
            "the tools 'x.y' and 'x_y' would both be called 'x_y'",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(messages: list[Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        trace_of_messages(messages)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_inputs_and_answer_are_json() -> None:
    with pytest.raises(InputError, match="inputs and the answer of a conversation: nan is not a JSON number"):
        trace_of_messages(CHAT, answer=float("nan"))


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("mean", "mean"),
        ("calendar.search-events", "calendar_search_events"),
        ("2fa", "tool_2fa"),
        ("import", "import_"),
        ("größe", "größe"),
        ("-", "_"),
    ],
)
def test_tools_get_names_that_are_identifiers(name: str, identifier: str) -> None:
    assert tool_identifier(name) == identifier


def test_specs_are_read_off_calls() -> None:
    rows = [{"day": "mon", "warm": True, "note": None}, {"day": "tue", "warm": False, "note": "rain", "wind": 3}]
    messages = [
        asks(call("a", "rows", {"city": "Oslo"}), call("b", "rows", {"city": "Rome", "days": 2, "at": 1})),
        result("a", json.dumps(rows)),
        result("b", "[]"),
        asks(call("c", "rows", {"town": "Rome"}), call("d", "rows", "{"), call("e", "count", "{}")),
        result("c", "Error: no parameter town"),
        result("e", '{"2023-01-01": 4}'),
        asks(call("f", "count", "{}"), call("g", "rows", {"city": "Bonn", "days": 1.5})),
        result("f", '{"2023-01-02": 2.5}'),
        result("g", "[]"),
        asks(call("h", "lost", {"x": 1})),
    ]
    specs = specs_of_traces([trace_of_messages(messages)])
    text, row = {"type": "string"}, {"day": {"type": "string"}, "warm": {"type": "boolean"}}
    assert list(specs) == ["rows", "count", "lost"]
    assert specs["rows"].parameters == {
        "type": "object",
        "properties": {"city": text, "days": {"type": "number"}, "at": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    seen = {**row, "note": {"type": ["null", "string"]}, "wind": {"type": "integer"}}
    item = {"type": "object", "properties": seen, "required": ["day", "warm", "note"]}
    assert specs["rows"].returns == {"type": "array", "items": item}
    assert specs["count"].returns == {"type": "object", "additionalProperties": {"type": "number"}}, "dates are data"
    assert specs["lost"].signature() == "lost(x: integer) -> any"
    assert {spec.effect for spec in specs.values()} == {"write"}


def test_specs_of_deeply_nested_values_can_be_checked() -> None:
    value: Any = 1
    for _ in range(20):
        value = {"in": [value]}
    spec = specs_of_traces([trace_of_messages([asks(call("a", "f", {"x": value})), result("a", "1")])])["f"]
    assert spec.check({"x": value}) is None and spec.check({"x": 1}) is not None


def test_specs_of_tool_definitions_in_three_forms() -> None:
    def mean(numbers: list[float]) -> float:
        """The mean of numbers."""
        return sum(numbers) / len(numbers)

    chat = spec_of(mean).openai()
    for tool in (chat, {"type": "function", **chat["function"]}, chat["function"]):
        (spec,) = specs_of_openai_tools([tool]).values()
        assert (spec.name, spec.description, spec.parameters) == (
            "mean",
            "The mean of numbers.",
            spec_of(mean).parameters,
        )
    custom = {"type": "custom", "custom": {"name": "a.shell", "description": "Runs a command."}}
    found = specs_of_openai_tools([{"name": "now"}, custom])
    assert [spec.signature() for spec in found.values()] == ["now() -> any", "a_shell(input: string) -> any"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{"type": "web_search"}], "tool 1: the type 'web_search' is no function"),
        ([{"name": "f"}, {"type": "function", "function": {"name": ""}}], "tool 2: it has no name"),
        ([{"name": "f"}, {"name": "f"}], "tool 2: a second tool 'f'"),
        (
            [{"name": "f.g"}, {"name": "f-g"}],
            "tool 2: the tools 'f.g' and 'f-g' would both be called 'f_g'; rename one",
        ),
        ([{"name": "f", "parameters": {"pattern": "x"}}], "tool 1: the parameters of 'f': schema"),
        ([{"name": "f", "parameters": [1]}], "tool 1: the parameters of 'f': schema"),
    ],
)
def test_tool_definitions_that_cannot_be_read_are_refused(tools: list[Row], said: str) -> None:
    with pytest.raises(InputError) as raised:
        specs_of_openai_tools(tools)
    assert str(raised.value).startswith(said)


def indented(entries: list[Any]) -> str:
    return json.dumps(entries, indent=1)


def lines(entries: list[Any]) -> str:
    return "\n".join(json.dumps(entry) for entry in entries) + "\n\n"


ENTRIES: list[Any] = [
    CHAT,
    {"messages": CHAT, "inputs": {"n": 1}, "tools": [], "stop": ["\n"]},
    {"messages": CHAT[:-1], "answer": "mild"},
    WHOLE.dump(),
]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.jsonl", lines),
        ("t.log", lines),
        ("t.json", json.dumps),
        ("t.json", indented),
    ],
)
def test_a_file_of_traces_is_read(tmp_path: Path, name: str, write: Callable[[list[Any]], str]) -> None:
    path = tmp_path / name
    path.write_text(write(ENTRIES), encoding="utf-8")
    bare, with_inputs, with_answer, own = read_traces(path)
    assert bare == Trace(events=STEPS, stop="finish", answer={"mean": 12.75})
    assert with_inputs == bare.model_copy(update={"inputs": {"n": 1}})
    assert (with_answer.events, with_answer.answer, with_answer.stop) == (STEPS, "mild", "finish")
    assert own == WHOLE


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_file_of_one_entry_is_read(tmp_path: Path, entry: Any) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(entry), encoding="utf-8")
    (trace,) = read_traces(path)
    assert trace.events == STEPS


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.jsonl", "", "t.jsonl: there is no trace in it"),
        ("t.json", "[]", "t.json: there is no trace in it"),
        ("t.json", "", "t.json: Expecting value: line 1 column 1"),
        ("t.json", "[[{]]", "t.json: Expecting property name enclosed in double quotes: line 1"),
        ("t.json", '{"a": 1, "a": 2}', "t.json: key 'a' stands twice"),
        ("t.jsonl", lines([CHAT, CHAT])[:-9], "t.jsonl, line 2: "),
        (
            "t.jsonl",
            lines([CHAT, 7]),
            "t.jsonl, line 2: it is none of what can be read: a trace (events, stop), a list of",
        ),
        ("t.jsonl", lines([ASKED]), "t.jsonl, line 1: it is none of what can be read"),
        ("t.jsonl", lines([CHAT, [ASKED, 7]]), "t.jsonl, line 2: message 2: it is no object, but int"),
        ("t.json", json.dumps([CHAT, []]), "t.json, entry 2: no message is an assistant's"),
        ("t.json", '{"messages": {}}', "t.json: its messages are no list"),
        ("t.json", json.dumps({"messages": CHAT, "inputs": [1]}), "t.json: its inputs are array, not an object"),
        ("t.jsonl", '{"stop": "tired"}', "t.jsonl, line 1: stop: Input should be 'finish', "),
        ("t.jsonl", '{"steps": []}', "t.jsonl, line 1: stop: Field required"),
        (
            "t.jsonl",
            lines([[asks(call("a", name, "{}"))] for name in ("a.b", "a-b")]),
            "t.jsonl, line 2: message 1: the tools 'a.b' and 'a-b' would both be called 'a_b'",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_traces(path)
    assert str(raised.value).startswith(f"{tmp_path}/{said}") and "\n" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        read_traces(tmp_path / "none.json")

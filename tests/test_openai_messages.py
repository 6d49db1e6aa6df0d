"""Conversations as traces and back: the forms of the APIs of OpenAI and Anthropic, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from flowmind import summarize
from flowmind.base.errors import InputError
from flowmind.formats.openai_messages import messages_of_trace, read_trace, read_traces, trace_of_messages
from flowmind.formats.tool_schema import specs_of_openai_tools, specs_of_traces
from flowmind.trace.events import Called, Planned, Refused, Said, Trace
from tools_registry.sandbox.functions import spec_of
from tools_registry.specs.spec import Observation, ToolCall, tool_identifier

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
SYSTEM = Said(role="system", text="You can look up the weather.", turn=0)
ASKED_FOR = Said(role="user", text="How warm is it in Oslo and in Rome?", turn=0)
CALLS = (
    Called(
        call=ToolCall(tool="weather_at", args={"city": "Oslo"}),
        observation=Observation(value={"degrees": 4}),
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
        turn=1,
    ),
)
MEAN = Said(role="agent", text="Now the mean.", turn=1)
ANSWER = Said(role="agent", text='{"mean": 12.75}', turn=2)
STEPS = (SYSTEM, ASKED_FOR, Said(role="agent", text="I look.", turn=0), *CALLS[:2], MEAN, CALLS[2], ANSWER)
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


BLOCKS: list[Row] = [
    ASKED,
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Two cities.", "signature": "x"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "weather.at", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "b", "name": "weather.at", "input": {"city": "Rome"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no such city"}],
             "is_error": True},
            {"type": "tool_result", "tool_use_id": "a", "content": '{"degrees": 4}'},
            {"type": "text", "text": "Only Oslo, then."},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "4 degrees."}]},
]  # fmt: skip


def test_a_conversation_is_a_trace() -> None:
    assert trace_of_messages(CHAT, {"cities": ["Oslo", "Rome"]}) == WHOLE


def test_items_of_the_responses_api_are_a_trace() -> None:
    thought = CALLS[0].model_copy(update={"reasoning": "I look."})
    answer = ANSWER.model_copy(update={"reasoning": "Done."})
    trace = trace_of_messages(ITEMS, {"cities": ["Oslo", "Rome"]})
    assert trace.events == (ASKED_FOR, thought, CALLS[1], MEAN, CALLS[2], answer)
    assert (trace.stop, trace.answer, trace.inputs) == (WHOLE.stop, WHOLE.answer, WHOLE.inputs)


def test_blocks_of_anthropic_are_a_trace() -> None:
    trace = trace_of_messages(BLOCKS)
    failed = CALLS[1].model_copy(update={"observation": Observation.failed("tool_error", "no such city")})
    assert trace.events == (
        ASKED_FOR,
        Said(role="agent", text="I look.", turn=0),
        CALLS[0].model_copy(update={"reasoning": "Two cities."}),
        failed,
        Said(role="user", text="Only Oslo, then.", turn=1),
        Said(role="agent", text="4 degrees.", turn=1),
    )
    assert (trace.stop, trace.answer) == ("finish", "4 degrees.")
    assert trace_of_messages(BLOCKS[:-1]).stop == "turns"


def test_a_system_prompt_beside_the_messages_is_read() -> None:
    trace = read_trace({"system": [{"type": "text", "text": "You can look up the weather."}], "messages": BLOCKS})
    assert trace.events[0] == SYSTEM and trace.events[1:] == trace_of_messages(BLOCKS).events
    with pytest.raises(InputError, match=r"^message 1: "):
        read_trace({"system": "s", "messages": [7]})


def texts(value: Any) -> list[str]:
    """All that is said in messages of any form, in order."""
    if isinstance(value, list):
        return [text for part in cast(list[Any], value) for text in texts(part)]
    if isinstance(value, dict):
        row = cast(Row, value)
        keys = ("summary", "reasoning_content", "thinking", "text", "content")
        return [text for key in keys if key in row and row.get("role") != "tool" for text in texts(row[key])]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("messages", [CHAT, ITEMS, BLOCKS], ids=["chat completions", "responses", "anthropic"])
def test_all_that_was_said_survives_the_way_to_a_trace_and_back(messages: list[Row]) -> None:
    trace = trace_of_messages(messages)
    back = messages_of_trace(trace)
    assert trace_of_messages(back) == trace
    spoken = [text for message in messages if message.get("role") != "tool" for text in texts(message)]
    results = ["no such city", '{"degrees": 4}', '{"degrees":', " 4}"]
    assert [text for text in spoken if text not in results] == texts(back)


def test_messages_of_chat_completions_come_back_as_they_were() -> None:
    back = messages_of_trace(WHOLE)
    assert [message["role"] for message in back] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert [message["content"] for message in back] == [
        CHAT[0]["content"], ASKED["content"], "I look.", '{"degrees":4}', '{"degrees":21.5}', "Now the mean.", "12.75",
        '{"mean": 12.75}',
    ]  # fmt: skip
    ids = [call["id"] for message in back for call in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in back if message["role"] == "tool"] == ids == list(dict.fromkeys(ids))


def test_failed_refused_and_unread_calls_come_back() -> None:
    rows = [asks(call("a", "f", "{"), call("b", "g", "{}"), call("c", "h", "{}")), result("b", "Error: no")]
    trace = trace_of_messages(
        [*rows, {"role": "user", "content": "12"}, asks(call("d", "f", "{}")), result("d", '"12"')]
    )
    assert trace_of_messages(messages_of_trace(trace)) == trace
    refused = Refused(call=ToolCall(tool="pay"), by="approval", reason="too much", turn=0)
    planned = Planned(analysis="First.", steps=("pay",), turn=0)
    back = trace_of_messages(messages_of_trace(Trace(events=(planned, refused), stop="turns")))
    assert back.calls[0].observation == Observation.failed("tool_error", "too much")
    assert [event.text for event in back.events if isinstance(event, Said)] == ["First.\npay"]


def test_the_words_of_a_conversation_do_not_change_the_workflow() -> None:
    quiet = Trace(inputs=WHOLE.inputs, events=CALLS, stop="finish", answer=WHOLE.answer)
    documents = [summarize([trace], query="The mean.").document.to_json() for trace in (WHOLE, quiet)]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "a part of type 'image_url'"),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}, "a part of type 'input_image'"),
        ({"role": "user", "content": [{"type": "tool_use", "id": "a"}]}, "a part of type 'tool_use'"),
        (
            {"role": "assistant", "content": [{"type": "server_tool_use", "id": "a"}]},
            "a part of type 'server_tool_use'",
        ),
        ({"role": "assistant", "content": None, "audio": {"id": "a"}}, "its audio has no transcript"),
        ({"role": "system", "content": {"text": "x"}}, "a part of its content has no type and no text"),
        ({"role": "user", "content": 7}, "a part of its content has no type and no text"),
        ({"type": "reasoning", "summary": [{"type": "image"}]}, "its reasoning has a part without text"),
        ({"role": "model", "content": "x"}, "it has the role 'model'; known are the roles system, developer, user"),
    ],
)
def test_unknown_content_is_refused_and_never_dropped(message: Row, line: str) -> None:
    with pytest.raises(InputError) as raised:
        trace_of_messages([ASKED, message, says("Done.")])
    assert str(raised.value).startswith("message 2: ") and line in str(raised.value)


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
    said, called = trace_of_messages([thinking]).events
    assert said == Said(role="agent", text="I ask.", turn=0)
    assert isinstance(called, Called) and called.reasoning == "What time is it?"


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
        ([ASKED, "hello"], "message 2: it is not an object, but str"),
        ([ASKED, says(b"x")], "message 2: a value of type bytes is not JSON"),
        ([{"role": "narrator"}], "message 1: it has the role 'narrator'; known are the roles system, "),
        ([{"type": "web_search_call"}], "message 1: it has the type 'web_search_call'; known are"),
        ([{"content": "x"}], "message 1: it has no role; known are"),
        (
            [ASKED, result("z", "1")],
            "message 2: it is the result of a call 'z', and no message before it has that call",
        ),
        (
            [asks(call("a", "f", "{}")), result("a", "1"), result("a", "2")],
            "message 3: it is a second result of the call",
        ),
        ([asks(call("a", "f", "{}"), call("a", "g", "{}"))], "message 1: two calls have the id 'a'"),
        (
            [asks(call("a", "f", "{}")), {"role": "tool", "content": "1"}],
            "message 2: it is the result of a call and has no id",
        ),
        ([{"role": "function", "name": "f", "content": "1"}], "has no id, and no call of 'f' waits for a result"),
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
    assert {spec.effect for spec in specs.values()} == {"unknown"}


def test_specs_of_deeply_nested_values_can_be_checked() -> None:
    value: Any = 1
    for _ in range(20):
        value = {"in": [value]}
    spec = specs_of_traces([trace_of_messages([asks(call("a", "f", {"x": value})), result("a", "1")])])["f"]
    assert spec.check({"x": value}) is None and spec.check({"x": 1}) is not None


def test_specs_of_tool_definitions_in_every_form() -> None:
    def mean(numbers: list[float]) -> float:
        """The mean of numbers."""
        return sum(numbers) / len(numbers)

    chat = spec_of(mean).openai()
    about = {"name": "mean", "description": chat["function"]["description"]}
    anthropic = {**about, "input_schema": chat["function"]["parameters"]}
    mcp = {**about, "inputSchema": chat["function"]["parameters"]}
    flat = {"type": "function", **chat["function"]}
    for tool in (chat, flat, chat["function"], anthropic, {"type": "custom", **anthropic}, mcp):
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
        ([{"type": "web_search"}], "tool 1: the type 'web_search' is not function"),
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
    assert (with_answer.events, with_answer.answer, with_answer.stop) == (STEPS[:-1], "mild", "finish")
    assert own == WHOLE


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_file_of_one_entry_is_read(tmp_path: Path, entry: Any) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(entry), encoding="utf-8")
    (trace,) = read_traces(path)
    assert trace.events in (STEPS, STEPS[:-1])


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
            "t.jsonl, line 2: it is no trace and no conversation; give a trace (events, stop), a list of",
        ),
        ("t.jsonl", lines([ASKED]), "t.jsonl, line 1: it is no trace and no conversation"),
        ("t.jsonl", lines([CHAT, [ASKED, 7]]), "t.jsonl, line 2: message 2: it is not an object, but int"),
        ("t.json", json.dumps([CHAT, []]), "t.json, entry 2: no message is an assistant's"),
        ("t.json", '{"messages": {}}', "t.json: its messages are not a list"),
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

"""Recordings of other agents: every format is read as what happened, and a broken file is refused with the place."""

from __future__ import annotations

import copy
import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import ormsgpack
import pytest
from trace_samples import (
    ANTHROPIC,
    ATIF,
    CLAUDE_CODE,
    FINAL,
    IN_LINES,
    LANGCHAIN,
    MCP_LOG,
    OPENAI,
    PYDANTIC_AI,
    REQUEST,
    SAMPLES,
    checkpoints,
    recordings,
    written,
)

from flowmind import summarize
from flowmind.base.errors import InputError
from flowmind.base.secrets import MARK
from flowmind.cli.main import main
from flowmind.formats.traces import READERS, read, recognised
from flowmind.formats.traces.containers import Container, document_of
from flowmind.formats.traces.imported import Imported
from flowmind.formats.traces.parts import Lines
from flowmind.trace.events import Said, Trace
from tools_registry.specs.spec import Observation

Row = dict[str, Any]
GONE = object()
"""In place of a value: the key or the element is removed."""


def document(name: str, value: Any) -> Any:
    """A sample's document as a reader gets it."""
    if name in IN_LINES and isinstance(value, list):
        return Lines(list(enumerate(cast(list[Any], value), 1)))
    return value


def changed(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a document with another value at a place."""
    whole = copy.deepcopy(value)
    if not path:
        return new
    place = whole
    for key in path[:-1]:
        place = place[key]
    if new is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return whole


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value in a document."""
    yield path
    if isinstance(value, dict):
        for key, part in cast(Row, value).items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(cast(list[Any], value)):
            yield from places(part, (*path, number))


# What is read


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_run_is_read_from_every_format(name: str, tmp_path: Path) -> None:
    form, value = SAMPLES[name]
    (one,) = read(written(tmp_path / "runs", name, value))
    trace = one.trace
    assert trace.source is not None and trace.source.format == ("openai" if name == "flowmind" else form)
    assert [(call.call.tool, call.call.args, call.id) for call in trace.calls] == [
        ("find", {"id": "A7"}, "c1"), ("find", {"id": "A8"}, "c2"), ("refund", {"cents": 500}, "c3"),
    ]  # fmt: skip
    good, bad, last = (call.observation for call in trace.calls)
    assert (good, last) == (Observation(value={"cents": 500}), Observation(value="done"))
    assert bad.error is not None and bad.error.message.removeprefix("Error: ") == "no such order"
    first, second, third = (call.turn for call in trace.calls)
    assert first == second == 0 and third is not None and third > 0, "calls that were made at once have one turn"
    assert trace.stop == "finish"
    assert trace.answer == {"mcp-log": 500, "flowmind": 500, "tau2": None}.get(name, FINAL)
    if name not in ("mcp-log", "flowmind"):
        assert [event.text for event in trace.events if isinstance(event, Said)][-1] == FINAL
        assert trace.source.request == REQUEST
    assert Trace.model_validate(trace.dump()) == trace


def test_what_stands_beside_the_calls_is_read(tmp_path: Path) -> None:
    found = {name: read(written(tmp_path / name, name, value))[0] for name, (_, value) in SAMPLES.items()}
    stated = {name for name, one in found.items() if one.given}
    assert stated == {"flowmind", "inspect", "mcp-log"}
    assert all(one.trace.inputs == {"order": "A7"} for one in found.values() if one.given)
    assert {name: list(one.specs) for name, one in found.items() if one.specs} == {
        "openai": ["find"], "anthropic": ["find"], "mcp-log": ["find", "refund"],
    }  # fmt: skip
    assert [spec.effect for spec in found["mcp-log"].specs.values()] == ["read", "write"]
    marks = {name: one.trace.success for name, one in found.items() if one.trace.success is not None}
    assert marks == {"inspect": True, "tau2": True}
    models = {name: one.trace.source.model for name, one in found.items() if one.trace.source is not None}
    assert models["claude-code"] == "claude-x" and models["inspect"] == "mockllm/model" and models["atif"] == "gpt-5"
    assert {name: one.lost for name, one in found.items() if one.lost} == {
        "claude-code": (
            "a row of the type 'summary' (1)", "a row of a sub-agent (1)", "a row of an abandoned branch (1)",
        ),
        "inspect": ("the metadata 'nested', which are an object",),
        "atif": ("a step that repeats the context (1)",),
        "tau2": ("a call or a result of the simulated user's own tools (2)",),
    }  # fmt: skip
    assert found["mcp-log"].trace.calls[0].seconds == 0.5


def test_several_recordings_are_read_from_lines_lists_and_compressed_files(tmp_path: Path) -> None:
    for name, value in (("langchain", LANGCHAIN), ("pydantic-ai", PYDANTIC_AI), ("atif", ATIF), ("openai", OPENAI[0])):
        entries: list[Any] = [value, value]
        listed, lines, packed = tmp_path / "list", tmp_path / "lines", tmp_path / "packed"
        listed.write_text(json.dumps(entries, indent=1))
        lines.write_text("\n\n".join(map(json.dumps, entries)))
        packed.write_bytes(gzip.compress(lines.read_bytes()))
        traces = [[one.trace for one in read(path)] for path in (listed, lines, packed)]
        assert len(traces[0]) == 2 and traces[0] == traces[1] == traces[2], name


def test_at_most_one_reader_recognises_a_document(tmp_path: Path) -> None:
    documents = {name: (form, document(name, value)) for name, (form, value) in SAMPLES.items()}
    documents |= {
        "sqlite": ("langchain", Container("sqlite", b"")),
        "zip": ("inspect", Container("zip", b"")),
        "constructors": ("langchain", [constructor(row) for row in LANGCHAIN]),
        "responses": (
            "openai",
            [{"input": "Hi", "output": [{"type": "message", "role": "assistant", "content": "Ho"}]}],
        ),
    }
    for name, (form, value) in documents.items():
        assert [key for key, reader in READERS.items() if reader.recognises(value)] == [form], name
    for value in cast(list[Any], [None, 7, "x", [], {}, [[]], [{}], [None], {"a": 1}, [1, {"b": [{}]}]]):
        assert [key for key, reader in READERS.items() if reader.recognises(value)] == [], value


def constructor(message: Row) -> Row:
    """A message as LangChain's `dumpd` writes it."""
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[message["type"]]
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": message["data"]}


def test_all_forms_of_langchains_messages_are_the_same() -> None:
    forms: list[Any] = [
        LANGCHAIN,
        [constructor(row) for row in LANGCHAIN],
        [row["data"] for row in LANGCHAIN],
        {"messages": LANGCHAIN},
    ]
    traces = [[one.trace for one in READERS["langchain"].read(form)] for form in forms]
    assert all(trace == traces[0] for trace in traces)


def test_other_calls_of_langchain() -> None:
    invalid = changed(LANGCHAIN, (4, "data"), {
        "content": "", "invalid_tool_calls": [{"name": "refund", "args": '{"cents": ', "id": "c3", "error": "cut"}]
    })  # fmt: skip
    (one,) = READERS["langchain"].read(invalid)
    assert [call.observation.error.type for call in one.trace.calls if call.observation.error] == [
        "tool_error", "bad_arguments",
    ]  # fmt: skip
    older = changed(LANGCHAIN, (4, "data"), {
        "content": "",
        "additional_kwargs": {
            "tool_calls": [{"id": "c3", "function": {"name": "refund", "arguments": '{"cents": 500}'}}]
        },
    })  # fmt: skip
    (one,) = READERS["langchain"].read(older)
    assert one.trace.calls == imported("langchain").trace.calls


def test_requests_and_responses_of_apis_are_conversations() -> None:
    chat = {
        "request": {"model": "gpt-5", "messages": OPENAI[0]["messages"][:-1]},
        "response": {"choices": [{"message": {"role": "assistant", "content": FINAL}, "finish_reason": "stop"}]},
    }
    (one,) = READERS["openai"].read(chat)
    assert (one.trace.stop, one.trace.answer, len(one.trace.calls)) == ("finish", FINAL, 3)
    items: Row = {
        "input": REQUEST,
        "instructions": "Be kind.",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"id": "A7"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "500"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": FINAL}]},
        ],
    }
    (one,) = READERS["openai"].read(items)
    assert (one.trace.stop, one.trace.answer, one.trace.calls[0].observation.value) == ("finish", FINAL, 500)


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_tokens", "tokens"), ("refusal", "model_error"), ("pause_turn", "turns")]
)
def test_an_unfinished_reply_is_no_answer(reason: str, stop: str) -> None:
    (one,) = READERS["anthropic"].read(changed(ANTHROPIC, ("response", "stop_reason"), reason))
    assert (one.trace.stop, one.trace.answer) == (stop, None)


def test_calls_in_a_single_response_of_anthropic_are_read() -> None:
    response = {
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": ANTHROPIC["request"]["messages"][1]["content"],
    }
    document: Row = {"request": {"messages": [{"role": "user", "content": REQUEST}]}, "response": response}
    assert recognised(document) == "anthropic"
    (one,) = READERS["anthropic"].read(document)
    assert ([call.call.tool for call in one.trace.calls], one.trace.stop) == (["find", "find"], "turns")


def test_the_answer_of_an_output_tool_is_no_call() -> None:
    done = copy.deepcopy(PYDANTIC_AI)
    done[-1]["parts"] = [
        {"part_kind": "tool-call", "tool_name": "final_result", "args": '{"cents": 500}', "tool_call_id": "o1"},
        {"part_kind": "tool-call", "tool_name": "find", "args": {"id": "A9"}, "tool_call_id": "o2"},
    ]
    skipped = "Tool not executed - a final result was already processed."
    done.append({
        "kind": "request",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "final_result", "content": "Final result processed.",
             "tool_call_id": "o1"},
            {"part_kind": "tool-return", "tool_name": "find", "content": skipped, "tool_call_id": "o2"},
        ],
    })  # fmt: skip
    (one,) = READERS["pydantic-ai"].read(done)
    assert ([call.id for call in one.trace.calls], one.trace.answer, one.trace.stop) == (
        ["c1", "c2", "c3"], {"cents": 500}, "finish",
    )  # fmt: skip


def test_the_mcp_log_of_a_session_that_is_still_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "log", "mcp-log", MCP_LOG)
    whole = path.read_text()
    path.write_text(whole + '{"kind":"call","ses')
    assert [one.trace for one in read(path)] == [
        one.trace for one in read(written(tmp_path / "whole", "mcp-log", MCP_LOG))
    ]
    path.write_text(whole + '{"kind":"call","ses\n')
    with pytest.raises(InputError, match="line 7"):
        read(path)


def test_checkpoints_of_langgraph_are_read_without_importing_what_they_name(tmp_path: Path) -> None:
    def packed(kind: str, fields: Row) -> ormsgpack.Ext:
        parts = ("a_module_that_does_not_exist", kind, fields, "model_validate_json")
        return ormsgpack.Ext(5, ormsgpack.packb(parts))

    messages = [packed(row["type"], row["data"]) for row in LANGCHAIN]
    newest = {"channel_values": {"messages": messages, "notes": 1, "__pregel_tasks": []}}
    older = {"channel_values": {"messages": messages[:2]}}
    path = checkpoints(
        tmp_path / "saved",
        [
            ("t1", "", "1", "msgpack", ormsgpack.packb(older)),
            ("t1", "", "2", "msgpack", ormsgpack.packb(newest)),
            ("t1", "sub:1", "3", "msgpack", ormsgpack.packb({"channel_values": {"x": 1}})),
            ("t2", "", "1", "json", json.dumps({"channel_values": {"messages": LANGCHAIN}}).encode()),
        ],
    )
    first, second = read(path)
    assert first.trace.source is not None and (first.trace.source.id, first.lost) == ("t1", ("the channel 'notes'",))
    assert first.trace.calls == second.trace.calls and len(first.trace.calls) == 3
    with sqlite3.connect(path) as database:  # in use, with the newest row in the write-ahead log only
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute("DELETE FROM checkpoints WHERE thread_id = 't2'")
        database.commit()
        assert [one.trace.source.id for one in read(path) if one.trace.source] == ["t1"]
    database.close()


# What is refused


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "inspect"])
def test_every_wrong_value_is_read_or_refused_with_its_place(name: str) -> None:
    form, value = SAMPLES[name]
    refused: set[str] = set()
    for path in places(value):
        for wrong in cast(list[Any], [None, 7, True, "x", [], {}, [7], [{}], *([GONE] if path else [])]):
            broken = document(name, changed(value, path, wrong))
            for stated in (form, None):
                try:
                    list(READERS[stated or recognised(broken)].read(broken))
                except (ValueError, InputError) as error:
                    refused.add(str(error))
    assert all("\n" not in line for line in refused)
    placed = [line for line in refused if line.startswith(("line ", "entry ", "message ", "step ", "simulation "))]
    assert len(placed) >= 10


def test_every_wrong_value_of_a_log_of_inspect_is_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    value = SAMPLES["inspect"][1]
    refused: set[str] = set()
    for path in places(value):
        for wrong in (7, GONE):
            if path:
                try:
                    list(READERS["inspect"].read(changed(value, path, wrong)))
                except (ValueError, InputError) as error:
                    refused.add(str(error))
    assert all("\n" not in line for line in refused)
    assert len(refused) >= 10 and any(line.startswith("sample A7, epoch 1: message ") for line in refused)


def _message(number: int) -> tuple[str | int, ...]:
    return (0, "messages", number)


BROKEN: list[tuple[str, tuple[str | int, ...], Any, str]] = [
    ("openai", _message(1), GONE, "entry 1: message 2: it is the result of a call 'c2', and no message before it"),
    ("openai", (*_message(3), "tool_call_id"), "c2", "entry 1: message 4: it is a second result of the call 'c2'"),
    ("openai", (*_message(1), "tool_calls", 1, "id"), "c1", "entry 1: message 2: two calls have the id 'c1'"),
    ("openai", (*_message(1), "content"), [{"type": "audio_call"}], "message 2: it has a part of type 'audio_call'"),
    ("openai", (0, "inputs"), [1], "entry 1: its inputs are array, not an object"),
    ("openai", (0, "reward"), "high", "entry 1: its reward is string"),
    ("openai", _message(6), {"type": "web_search_call"}, "entry 1: message 7: it has the type 'web_search_call'"),
    ("openai", (0, "messages"), OPENAI[0]["messages"][:1], "entry 1: no message is an assistant's"),
    (
        "anthropic", ("request", "messages", 1, "content", 2, "type"), "server_tool_use",
        "message 2: it has a part of type 'server_tool_use': the provider itself ran the tool 'find'",
    ),
    (
        "anthropic", ("request", "messages", 2, "content", 0, "tool_use_id"), "c9",
        "message 3: it is the result of a call 'c9', and no message before it has that call",
    ),
    ("anthropic", ("request", "messages", 1, "content", 3, "id"), "c1", "message 2: two calls have the id 'c1'"),
    ("anthropic", ("response", "content", 0, "type"), "web_search_tool_result", "'web_search_tool_result'"),
    ("claude-code", (3, "message", "content", 0, "type"), "mcp_tool_use", "line 4: it has a part of type 'mcp_tool_us"),
    ("claude-code", (3, "uuid"), "u2", "line 4: a second row with the uuid 'u2'"),
    ("claude-code", (5, "message", "content", 0, "tool_use_id"), "c2", "line 7: it is a second result of the call"),
    ("langchain", (2, "data", "tool_call_id"), GONE, "message 3: its tool_call_id is missing"),
    ("langchain", (1, "data", "tool_calls", 1, "id"), "c1", "message 2: two calls have the id 'c1'"),
    ("langchain", (1, "data", "tool_calls", 0, "args"), "x", "message 2: the args of a call is string, not an object"),
    ("langchain", (6, "data", "content"), [{"type": "server_tool_call"}], "message 7: it has a part of type"),
    ("pydantic-ai", (1, "parts", 2, "part_kind"), "builtin-tool-call", "message 2: part 3: it has a part of type"),
    ("pydantic-ai", (1, "parts", 3, "tool_call_id"), "c1", "message 2: part 4: two calls have the id 'c1'"),
    ("pydantic-ai", (2, "parts", 1, "tool_call_id"), GONE, "message 3: part 2: its field 'tool_call_id' is missing"),
    ("atif", ("schema_version",), "ATIF-v2.0", "its schema_version is 'ATIF-v2.0'; ATIF-v1.0 to"),
    ("atif", ("steps", 1, "tool_calls", 0, "arguments"), GONE, "step 2: a call in it has no arguments"),
    ("atif", ("steps", 1, "tool_calls"), GONE, "step 2: it is the result of a call 'c2', and no message"),
    ("atif", ("steps", 5, "observation"), {"results": [{"content": "x"}]}, "step 6: it has a result, and no call"),
    ("mcp-log", (0, "schema"), "flowmind/mcp-log@2", "line 1: its schema is 'flowmind/mcp-log@2'"),
    ("mcp-log", (3, "id"), "c2", "line 4: two calls have the id 'c2'"),
    ("mcp-log", (3, "number"), 2, "line 4: a second call of the case has the number 2"),
    ("mcp-log", (3, "result"), GONE, "line 4: it has no result and no error"),
    ("mcp-log", (3, "arguments"), None, "line 4: its arguments is null, not an object"),
    ("tau2", ("simulations", 0, "messages", 2, "tool_messages", 0, "id"), "c7", "simulation 1: message 3: it is the"),
    ("tau2", ("simulations", 0, "messages", 1, "tool_calls", 0, "arguments"), "{}", "message 2: the arguments of"),
    ("inspect", ("samples", 0, "messages", 2, "tool_call_id"), "c7", "sample A7, epoch 1: message 3: it is the result"),
    ("inspect", ("samples",), [], "the log has no samples; write logs with log_samples"),
    ("flowmind", (0, "events", 2, "call"), 7, "entry 1: events.2.call"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "wrong", "line"), BROKEN)
def test_a_broken_recording_is_refused_with_its_place(
    name: str, path: tuple[str | int, ...], wrong: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form, value = SAMPLES[name]
    file = written(tmp_path / "runs", name, changed(value, path, wrong))
    for command in (["traces", "ls", str(file)], ["summarize", str(file)]):
        assert main([*command, "--from", form]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and str(file) in err and line in err


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_file_is_refused(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "runs", name, SAMPLES[name][1])
    whole = path.read_bytes()
    lines = name in IN_LINES
    path.write_bytes(whole[: len(whole) // 2] + (b"\n" if lines else b""))
    with pytest.raises(InputError, match=r"runs(, line \d+)?: .*(give valid JSON|Unterminated)"):
        read(path)
    path.write_bytes(gzip.compress(whole)[:-9])
    with pytest.raises(InputError, match="runs: the compressed data are damaged"):
        read(path)


def _table(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE other (id TEXT)")
    database.close()


def _saved(kind: str, blob: Any) -> Callable[[Path], object]:
    return lambda path: checkpoints(path, [("t1", "", "1", kind, blob)])


NO_CHANNEL = ormsgpack.packb({"channel_values": {"x": 1}})
DATABASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another database": (_table, "no tables checkpoints and writes"),
    "no checkpoint": (lambda path: checkpoints(path, []), "the database has no checkpoint"),
    "encrypted": (_saved("msgpack+aes", b"x"), "thread 't1': its checkpoint is stored as 'msgpack+aes'"),
    "damaged": (_saved("msgpack", b"\xc1"), "thread 't1': its checkpoint is damaged"),
    "no bytes": (_saved("msgpack", "text"), "thread 't1': its checkpoint is not stored as bytes"),
    "no object": (_saved("json", b"[]"), "thread 't1': its checkpoint is array"),
    "no channels": (_saved("json", b"{}"), "thread 't1': its channel_values is null"),
    "no JSON": (_saved("json", b"{"), "thread 't1': "),
    "no messages": (_saved("msgpack", NO_CHANNEL), "thread 't1': its newest checkpoint has no channel messages"),
    "no list": (_saved("json", b'{"channel_values": {"messages": 7}}'), "thread 't1': its field 'messages' is integer"),
    "no message": (_saved("json", b'{"channel_values": {"messages": [7]}}'), "thread 't1': message 1: it is integer"),
    "cut": (lambda path: path.write_bytes(b"SQLite format 3\x00" + bytes(10)), "the database cannot be read"),
}


@pytest.mark.parametrize("name", DATABASES)
def test_a_broken_database_is_refused(name: str, tmp_path: Path) -> None:
    make, line = DATABASES[name]
    make(tmp_path / "saved")
    with pytest.raises(InputError) as raised:
        read(tmp_path / "saved")
    assert str(raised.value).startswith(f"{tmp_path / 'saved'}: ") and line in str(raised.value)


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04" + bytes(30))
    with pytest.raises(InputError, match=r"log\.eval: inspect-ai cannot read the log"):
        read(path)


def test_what_is_in_no_format_is_refused_with_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('[{"spam": 1, "eggs": 2}]')
    with pytest.raises(InputError, match=r"none of the known formats, which are flowmind, openai.* 'spam', 'eggs'"):
        read(path)
    with pytest.raises(InputError, match="'opena' is no format of traces; did you mean openai"):
        read(path, "opena")


def test_calls_without_results_are_refused() -> None:
    bare = changed(ATIF, ("steps", 1, "observation"), GONE)
    bare = changed(bare, ("steps", 4), GONE)
    with pytest.raises(ValueError, match="its calls have no results; record what the tools gave back"):
        list(READERS["atif"].read(bare))
    cut = changed(ATIF, ("steps",), ATIF["steps"][:3])
    cut = changed(cut, ("steps", 1, "observation"), GONE)
    (one,) = READERS["atif"].read(cut)
    assert [call.observation.error.type for call in one.trace.calls if call.observation.error] == ["no_result"] * 2


# Secrets


def test_secrets_are_removed_before_anything_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps(OPENAI).replace("I look.", "I use sk-proj-abcdefghijklmnop1234 for Ann Lee.")
    text = text.replace('\\"id\\": \\"A7\\"', '\\"id\\": \\"A7\\", \\"password\\": \\"hunter2\\"')
    text = text.replace('"done"', '"Authorization: Bearer abcdefghijklmnopqrstuv; token page-2"')
    path, out = tmp_path / "runs.json", tmp_path / "out.jsonl"
    path.write_text(text)
    assert main(["traces", "convert", str(path), "--redact", r"Ann \w+", "--redact", "A8", "--out", str(out)]) == 0
    stored = out.read_text() + capsys.readouterr().err
    for secret in ("sk-proj", "hunter2", "abcdefghijklmnopqrstuv", "Ann", "A8"):
        assert secret not in stored
    (one,) = read(out)
    assert [call.call.args for call in one.trace.calls] == [
        {"id": "A7", "password": MARK},
        {"id": MARK},
        {"cents": 500},
    ]
    assert one.trace.calls[2].observation.value == f"Authorization: Bearer {MARK}; token page-2"
    for wrong, line in (("(", "'(' is not a regular expression"), ("x*", "'x*' matches the empty text")):
        assert main(["traces", "ls", str(path), "--redact", wrong]) == 2
        assert line in capsys.readouterr().err


# Recordings that others made


def test_conversations_of_tau_bench() -> None:
    found = read(recordings() / "gpt-4o-airline.json.gz")
    calls = [call for one in found for call in one.trace.calls]
    good = sum(call.observation.ok for call in calls)
    assert (len(found), good, len(calls) - good) == (200, 1091, 73)
    assert {one.trace.success for one in found} == {True, False}


RECORDED = {
    "atif1.json": ("atif", 0), "atif2.json": ("atif", 1), "atif3.json": ("atif", 0), "atif4.json": ("atif", 1),
    "atif5.json": ("atif", 1), "atif6.json": ("atif", 0), "claude_code_session.jsonl": ("anthropic", 2),
    "in_2025-05-12T20-27-36-04-00_browser.json": ("inspect", 4), "in_log_images_tc.json": ("inspect", 0),
    "in_log_message_deduplication.eval": ("inspect", 5), "gpt-4o-airline.json.gz": ("openai", None),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_recordings_of_others_are_read(name: str) -> None:
    form, calls = RECORDED[name]
    if form == "inspect":
        pytest.importorskip("inspect_ai")
    path = recordings() / name
    value = document_of(path)
    assert [key for key, reader in READERS.items() if reader.recognises(value)] == [form]
    found = read(path)
    assert all(one.trace.stop == "finish" for one in found if form != "openai")
    if calls is not None:
        (one,) = found
        assert len(one.trace.calls) == calls and all(call.observation.ok for call in one.trace.calls)


def test_results_without_their_calls_are_refused() -> None:
    pytest.importorskip("inspect_ai")
    with pytest.raises(InputError, match="sample 1, epoch 4: message 1: it is the result of a call 'bash_1'"):
        read(recordings() / "in_log_tool_call_error.json")


# Recordings by the libraries themselves


def test_a_log_that_inspect_writes(tmp_path: Path) -> None:
    log: Any = pytest.importorskip("inspect_ai.log")
    source = tmp_path / "source.json"
    source.write_text(json.dumps(SAMPLES["inspect"][1]))
    for name in ("log.eval", "log.json"):
        log.write_eval_log(log.read_eval_log(str(source)), str(tmp_path / name))
        (one,) = read(tmp_path / name)
        (same,) = read(source)
        assert (one.trace, one.given) == (same.trace, True)
        shutil.copy(tmp_path / name, tmp_path / "renamed")
        assert read(tmp_path / "renamed")[0].trace == one.trace, "the content decides, not the name"


def test_checkpoints_that_langgraph_writes(tmp_path: Path) -> None:
    sqlite: Any = pytest.importorskip("langgraph.checkpoint.sqlite")
    agents: Any = pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, messages_to_dict

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    def find(id: str) -> Row:
        """Find an order."""
        return {"cents": 500} if id == "A7" else {"error": "no such order"}

    def call(id: str, order: str) -> Any:
        return {"name": "find", "args": {"id": order}, "id": id, "type": "tool_call"}

    replies = [AIMessage("I look.", tool_calls=[call("c1", "A7"), call("c2", "A8")]), AIMessage(FINAL)]
    path = tmp_path / "saved.sqlite"
    with sqlite.SqliteSaver.from_conn_string(str(path)) as saver:
        agent = agents.create_agent(Model(messages=iter(replies)), [find], checkpointer=saver)
        state = agent.invoke(
            {"messages": [{"role": "user", "content": REQUEST}]}, {"configurable": {"thread_id": "one"}}
        )
        (live,) = read(path)
    (one,) = read(path)
    listed = tmp_path / "messages.json"
    listed.write_text(json.dumps(messages_to_dict(state["messages"])))
    (other,) = read(listed)
    for found in (live, one, other):
        assert [(call.id, call.turn, call.observation.ok) for call in found.trace.calls] == [
            ("c1", 0, True), ("c2", 0, False),
        ]  # fmt: skip
        assert (found.trace.stop, found.trace.answer) == ("finish", FINAL)
    assert one.trace.source is not None and one.trace.source.id == "one"


def test_summarize_takes_every_format(tmp_path: Path) -> None:
    def run(order: str, cents: int) -> Row:
        text = json.dumps({"messages": LANGCHAIN}).replace("A7", order).replace("500", str(cents))
        return json.loads(text)

    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(run(f"B{number}", 100 + number)) for number in range(4)))
    result = summarize(path)
    assert result.solved and [str(template) for template in result.templates] == ["Refund the order {id}."]
    assert any(note.startswith("answers: the results of the last calls") for note in result.notes)
    assert result.document.inputs["properties"] == {"id": {"type": "string"}}


def test_traces_without_calls_are_told_and_not_summarized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([talk]))
    assert main(["summarize", str(path)]) == 2
    assert "no trace has a tool call" in capsys.readouterr().err
    assert main(["traces", "ls", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:6] == ["1", "-", "openai", "not", "stated", "0"]


def imported(name: str) -> Imported:
    return next(iter(READERS[SAMPLES[name][0]].read(document(name, SAMPLES[name][1]))))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_is_shown_and_converted(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "runs", name, SAMPLES[name][1])
    assert main(["traces", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("trace 1: format ") and 'find({"id":"A8"})' in shown and "no such order" in shown
    for form in ("flowmind", "openai"):
        out = tmp_path / f"{form}.jsonl"
        assert main(["traces", "convert", str(path), "--to", form, "--out", str(out)]) == 0
        (again,) = read(out)
        assert [(call.call, call.observation.ok, call.id) for call in again.trace.calls] == [
            (call.call, call.observation.ok, call.id) for call in imported(name).trace.calls
        ]
    assert main(["traces", "show", str(path), "9"]) == 2
    assert "there is no trace '9'" in capsys.readouterr().err
    assert main(["traces", "ls", str(path), "--out", str(tmp_path / "x")]) == 2
    assert main(["traces", "ls", str(path), "1"]) == 2


def test_parallel_results_of_claude_code_are_kept_and_abandoned_branches_are_not() -> None:
    one = imported("claude-code")
    assert len(one.trace.calls) == 3 and all("abandoned" not in event.text for event in one.trace.events
                                             if isinstance(event, Said))  # fmt: skip
    flat = [{**row, "parentUuid": None} for row in CLAUDE_CODE if row.get("uuid") not in ("x1", "y1")]
    (other,) = READERS["anthropic"].read(Lines(list(enumerate(flat, 1))))
    assert other.trace.calls == one.trace.calls, "a file whose rows name no parent is read in its order"

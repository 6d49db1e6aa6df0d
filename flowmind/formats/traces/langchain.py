"""Messages of LangChain, and the checkpoints that LangGraph keeps in SQLite.

Checkpoints are decoded as plain data: no class that a file names is imported.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from flowmind.base.files import parse_json
from flowmind.formats.conversation import Conversation, fields_of, observation_of
from flowmind.formats.traces.containers import Container
from flowmind.formats.traces.imported import Imported, Reader, Unreadable
from flowmind.formats.traces.parts import (
    Row,
    at,
    entries,
    finished,
    has_messages,
    inputs_of,
    label,
    listed,
    messages_in,
    record,
)
from flowmind.trace.events import Source

_KINDS = {
    "human": "user", "system": "system", "ai": "assistant", "tool": "tool", "function": "tool", "developer": "system",
}  # fmt: skip
_CALL_BLOCKS = ("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "invalid_tool_call")
"""Blocks that repeat the calls in `tool_calls`."""
_NEWEST = """
    SELECT thread_id, checkpoint_ns, type, checkpoint, max(checkpoint_id) FROM checkpoints
    GROUP BY thread_id, checkpoint_ns ORDER BY thread_id, checkpoint_ns
"""
_DEPTH = 50


def _message(value: Any) -> tuple[str, Row] | None:
    """The type of a message (`human`, `ai`, …) with its fields; None if the value is no message of LangChain."""
    row = fields_of(value)
    if "role" in row or "uuid" in row or "part_kind" in row:
        return None
    if row.get("lc") == 1 and isinstance(row.get("kwargs"), dict):
        path = cast(list[Any], row["id"]) if isinstance(row.get("id"), list) else []
        fields, name = cast(Row, row["kwargs"]), str(path[-1]) if path else ""
        kind = label(fields, "type") or name.removesuffix("Chunk").removesuffix("Message").lower()
    elif isinstance(row.get("data"), dict):
        kind, fields = label(row, "type"), cast(Row, row["data"])
    elif "content" in row:
        kind, fields = label(row, "type"), row
    else:
        return None
    kind = kind.removesuffix("MessageChunk").lower()
    return (kind, fields) if kind in _KINDS else None


def _is_message(value: Any) -> bool:
    return _message(value) is not None


def _recognises(document: Any) -> bool:
    if isinstance(document, Container):
        return document.kind == "sqlite"
    return has_messages(document, _is_message)


def _read(document: Any) -> Iterator[Imported]:
    names: dict[str, str] = {}
    if isinstance(document, Container):
        for thread, messages, lost in _threads(document):
            with at(f"thread {thread!r}"):
                yield _imported(messages, {}, names, thread, lost)
        return
    for place, entry in entries(document, _is_message):
        with at(place):
            row = fields_of(entry)
            others = sorted(row.keys() - {"messages", "inputs", "answer", "success", "id"})
            lost = [f"the state's field {name!r}" for name in others]
            yield _imported(messages_in(entry), row, names, label(row, "id"), lost)


def _imported(messages: Sequence[Any], row: Row, names: dict[str, str], id: str, lost: Sequence[str]) -> Imported:
    conversation = _Messages(names, lossy=True)
    for number, message in enumerate(messages, 1):
        with at(f"message {number}"):
            conversation.message(message)
    success = row.get("success")
    if success is not None and not isinstance(success, bool):
        raise ValueError("its success is not true or false")
    source = Source(format="langchain", id=id, model=conversation.model)
    return finished(conversation, source, inputs_of(row), row.get("answer", ...), lost=lost, success=success)


class _Messages(Conversation):
    """A conversation in LangChain's messages."""

    model = ""
    _ids: frozenset[str] = frozenset()
    """The ids of the calls of the message that is read."""

    def message(self, value: Any) -> None:
        """Reads the next message."""
        found = _message(record(value, "it"))
        if found is None:
            kind = label(fields_of(value), "type", "role")
            raise ValueError(f"it has the type {kind!r}; known are {', '.join(_KINDS)}")
        kind, fields = found
        role = _KINDS[kind]
        if role == "assistant":
            self._assistant(fields)
        elif role == "tool":
            failed = fields.get("status") == "error"
            if fields.get("artifact") is not None:
                self.lost["an artifact of a result"] += 1
            id, name = fields.get("tool_call_id"), fields.get("name")
            if id is None and kind == "tool":
                raise ValueError("its tool_call_id is missing")
            self.answered(id, name, observation_of(fields.get("content"), failed))
        else:
            self.hear(role, fields.get("content"))

    def _assistant(self, fields: Row) -> None:
        self.reply(anew=True)
        about, extra = fields_of(fields.get("response_metadata")), fields_of(fields.get("additional_kwargs"))
        self.model = self.model or label(about, "model_name", "model", "ls_model_name")
        self.replied(about.get("finish_reason") or about.get("stop_reason"))
        calls = [record(call, "a call in it") for call in listed(fields, "tool_calls")]
        invalid = [record(call, "a call in it") for call in listed(fields, "invalid_tool_calls")]
        self._ids = frozenset(label(call, "id") for call in (*calls, *invalid))
        self.think(label(extra, "reasoning_content"))
        self.content("assistant", fields.get("content"))
        for call in calls:
            self.called(call.get("id"), call.get("name"), record(call.get("args"), "the args of a call"))
        for call in invalid:
            self.called(call.get("id"), call.get("name"), [call.get("args")])
        if not calls and not invalid:
            self._provider_calls(extra)

    def _provider_calls(self, extra: Row) -> None:
        """Reads calls in OpenAI's form, which versions before 0.1 of LangChain kept only."""
        for call in (record(call, "a call in it") for call in listed(extra, "tool_calls")):
            function = record(call.get("function"), "a call's function")
            self.called(call.get("id"), function.get("name"), function.get("arguments"))
        if (older := extra.get("function_call")) is not None:
            function = record(older, "its function_call")
            self.called(None, function.get("name"), function.get("arguments"))

    def block(self, role: str, block: Row) -> None:
        """Reads a content block; one that repeats a call of the message is skipped."""
        kind = block.get("type")
        ids = {label(block, "id"), label(block, "call_id")} - {""}
        if role == "assistant" and kind in ("thinking", "reasoning"):
            self.think(label(block, "thinking", "reasoning"))
        elif not (kind in _CALL_BLOCKS and (ids & self._ids or (kind == "input_json_delta" and self._ids))):
            super().block(role, block)


def _threads(file: Container) -> Iterator[tuple[str, list[Any], list[str]]]:
    """The messages in the newest checkpoint of each thread, with what else the checkpoint has.

    Raises:
        ValueError: If the database has no checkpoints, or one cannot be decoded.
    """
    rows = _newest(file)
    if not rows:
        raise Unreadable("the database has no checkpoint")
    for thread, space, kind, blob, _ in rows:
        with at(f"thread {thread!r}"):
            checkpoint = record(_decoded(kind, blob), "its checkpoint")
            channels = record(checkpoint.get("channel_values"), "its channel_values")
            if space and "messages" not in channels:
                continue  # the state of a subgraph without a conversation
            if "messages" not in channels:
                raise ValueError("its newest checkpoint has no channel messages")
            others = [
                name for name in sorted(channels) if name != "messages" and not name.startswith(("__", "branch:"))
            ]
            lost = [f"the channel {name!r}" for name in others]
            yield f"{thread}/{space}" if space else str(thread), listed(channels, "messages"), lost


def _newest(file: Container) -> list[tuple[Any, ...]]:
    """The rows of the newest checkpoints. They are read from a copy, because a reader of a database may write to it."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkpoints.sqlite"
        copy.write_bytes(file.data)
        if file.log:
            copy.with_name(f"{copy.name}-wal").write_bytes(file.log)
        try:
            with closing(sqlite3.connect(copy)) as database:
                tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if not {"checkpoints", "writes"} <= tables:
                    raise Unreadable(
                        "the database has no tables checkpoints and writes, as LangGraph's SqliteSaver has"
                    )
                return list(database.execute(_NEWEST))
        except sqlite3.Error as error:
            raise Unreadable(f"the database cannot be read: {error}") from None


def _decoded(kind: Any, blob: Any) -> Any:
    """The value of a checkpoint, with the fields of objects in place of the objects.

    Raises:
        ValueError: If it has another encoding, or is damaged.
    """
    if not isinstance(blob, bytes):
        raise ValueError("its checkpoint is not stored as bytes")
    if kind == "json":
        return parse_json(blob.decode())
    if kind != "msgpack":
        raise ValueError(f"its checkpoint is stored as {kind!r}; msgpack and json can be read")
    return _unpacked(blob, 0)


def _unpacked(data: bytes, depth: int) -> Any:
    import ormsgpack

    if depth > _DEPTH:
        raise ValueError("its checkpoint is nested too deeply")

    def plain(code: int, packed: bytes) -> Any:
        """An object as its fields: it is packed as module, class and arguments."""
        value = _unpacked(packed, depth + 1)
        parts = cast(list[Any], value) if isinstance(value, list) else [value]
        return parts[2] if len(parts) > 2 else None

    try:
        return ormsgpack.unpackb(data, ext_hook=plain, option=ormsgpack.OPT_NON_STR_KEYS)
    except ormsgpack.MsgpackDecodeError as error:
        raise ValueError(f"its checkpoint is damaged: {error}") from None


LANGCHAIN = Reader("messages of LangChain, checkpoints of LangGraph in SQLite", _recognises, _read)

"""Conversations in the formats of OpenAI: chat completions, their older form, the Responses API, and logs of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from flowmind.formats.conversation import ROLES, fields_of
from flowmind.formats.openai_messages import Entry, Messages, entry_of, is_trace
from flowmind.formats.traces import own
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import Row, at, entries, finished, label, specs_of
from flowmind.trace.events import Source

_ITEMS = {
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "message"
}  # fmt: skip
_BLOCKS = {
    "tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "thinking", "redacted_thinking"
}  # fmt: skip
"""Content blocks that only Anthropic's messages have."""


def is_message(value: Any) -> bool:
    """Whether a value is a message with a role, or an item of the Responses API."""
    row = fields_of(value)
    role, kind = row.get("role"), row.get("type")
    known = isinstance(role, str) and role in (*ROLES, "tool", "function")
    return (known or (isinstance(kind, str) and kind in _ITEMS)) and not {"messages", "simulations"} & row.keys()


def has_role(value: Any) -> bool:
    """Whether a value is a message, perhaps with a role that is not known."""
    return is_message(value) or (
        "role" in fields_of(value) and not {"messages", "simulations"} & fields_of(value).keys()
    )


def conversations(document: Any) -> list[tuple[str, Any]]:
    """The entries of a document that are conversations with roles, with their places; empty if one is none."""
    listed = list(entries(document, is_message))
    found = [entry for _, entry in listed if _has_messages(entry)]
    return listed if found else []


def _has_messages(entry: Any) -> bool:
    if {"trace_id", "traceId", "observations", "simulations"} & fields_of(entry).keys():
        return False
    try:
        parts = entry_of(entry)
    except ValueError:
        return False
    return any(map(is_message, parts.messages))


def has_blocks(document: Any) -> bool:
    """Whether a document is conversations with content blocks that only Anthropic's messages have."""
    for _, entry in conversations(document):
        try:
            messages = entry_of(entry).messages
        except ValueError:
            continue
        for message in messages:
            content = fields_of(message).get("content")
            blocks = cast(list[Any], content) if isinstance(content, list) else []
            if any(label(fields_of(block), "type") in _BLOCKS for block in blocks):
                return True
    return False


def _recognises(document: Any) -> bool:
    return bool(conversations(document)) and not has_blocks(document)


def _read(document: Any) -> Iterator[Imported]:
    yield from read_conversations(list(entries(document, has_role)), "openai")


def read_conversations(listed: Sequence[tuple[str, Any]], form: str) -> Iterator[Imported]:
    """The traces of conversations.

    Args:
        listed: The entries with their places.
        form: The name of the format.
    """
    names: dict[str, str] = {}
    for place, entry in listed:
        with at(place):
            yield own.imported(entry) if is_trace(entry) else _imported(entry_of(entry), form, names, _id(entry))


def _imported(entry: Entry, form: str, names: dict[str, str], id: str) -> Imported:
    conversation = Messages(names, lossy=True)
    conversation.read(entry.messages, entry.system)
    lost: list[str] = []
    specs = specs_of(entry.fields.get("tools", entry.fields.get("functions")), lost)
    source = Source(format=form, id=id, model=label(entry.fields, "model"))
    return finished(
        conversation, source, entry.inputs, entry.answer, specs=specs, lost=lost, success=entry.success
    )  # fmt: skip


def _id(entry: Any) -> str:
    row: Row = fields_of(entry)
    return label(row, "id", "task_id", "conversation_id") or label(fields_of(row.get("response")), "id")


OPENAI = Reader("messages of OpenAI (chat completions, Responses)", _recognises, _read)

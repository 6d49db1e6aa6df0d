"""Messages of Anthropic's API, and the session files of Claude Code.

Claude Code's files are the vendor's internal format: they are read as far as their structure is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flowmind.formats.conversation import fields_of
from flowmind.formats.openai_messages import Messages
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.openai import has_blocks, has_role, read_conversations
from flowmind.formats.traces.parts import Row, at, entries, finished, label, listed, record, rows_of
from flowmind.trace.events import Source

_SPEAKERS = ("user", "assistant")


def _is_session(document: Any) -> bool:
    rows = [fields_of(row) for _, row in rows_of(document)]
    return any("parentUuid" in row and row.get("type") in _SPEAKERS for row in rows)


def _recognises(document: Any) -> bool:
    return _is_session(document) or has_blocks(document)


def _read(document: Any) -> Iterator[Imported]:
    if _is_session(document):
        yield _session(document)
    else:
        yield from read_conversations(list(entries(document, has_role)), "anthropic")


class _Session:
    """The rows of a session file.

    Args:
        document: The rows.
    """

    def __init__(self, document: Any) -> None:
        self.rows: list[tuple[str, Row]] = []
        self.lost: dict[str, int] = {}
        by_id: dict[str, Row] = {}
        for place, value in rows_of(document):
            with at(place):
                row = record(value, "it")
                if row.get("isSidechain") is True:
                    self._lose("a row of a sub-agent")
                elif row.get("type") in _SPEAKERS:
                    record(row.get("message"), "its message")
                    self.rows.append((place, row))
                elif "uuid" not in row:
                    self._lose(f"a row of the type {row.get('type')!r}")
                if isinstance(id := row.get("uuid"), str):
                    if id in by_id:
                        raise ValueError(f"a second row with the uuid {id!r}")
                    by_id[id] = row
        self.chain = self._chain(by_id)

    def _lose(self, what: str) -> None:
        self.lost[what] = self.lost.get(what, 0) + 1

    def _chain(self, by_id: dict[str, Row]) -> set[str]:
        """The ids of the rows that lead to the last message; all ids if no row names a parent."""
        speaking = [label(row, "uuid") for _, row in self.rows]
        if not any(row.get("parentUuid") for _, row in self.rows):
            return {*speaking}
        found: set[str] = set()
        id = speaking[-1] if speaking else ""
        while id in by_id and id not in found:
            found.add(id)
            id = label(by_id[id], "parentUuid", "logicalParentUuid")
        return found

    def messages(self) -> Iterator[tuple[str, Row]]:
        """The rows on the chain, the other rows of their replies, and the results of the calls in them.

        Parallel calls are a row each, and each result follows its call, so that the chain has only one of them.
        """
        replies = {_reply(row) for _, row in self.rows if label(row, "uuid") in self.chain} - {""}
        calls = {
            label(block, "id")
            for _, row in self.rows
            if label(row, "uuid") in self.chain or _reply(row) in replies
            for block in _blocks(row, "tool_use")
        }
        for place, row in self.rows:
            results = {label(block, "tool_use_id") for block in _blocks(row, "tool_result")}
            if label(row, "uuid") in self.chain or _reply(row) in replies or results & calls:
                yield place, row
            else:
                self._lose("a row of an abandoned branch")


def _session(document: Any) -> Imported:
    session = _Session(document)
    conversation = Messages(lossy=True)
    reply, source = "", Source(format="anthropic", agent="Claude Code")
    for place, row in session.messages():
        with at(place):
            message = record(row["message"], "its message")
            if row.get("isMeta") is True:
                session.lost["a text that the program added"] = session.lost.get("a text that the program added", 0) + 1
                continue
            if row["type"] == "assistant":
                same = bool(_reply(row)) and _reply(row) == reply
                reply = _reply(row)
                conversation.message({"role": "assistant", **message, "type": "message" if same else ""})
                source = source.model_copy(update={
                    "model": label(message, "model"), "id": label(row, "sessionId"), "version": label(row, "version"),
                })  # fmt: skip
            else:
                conversation.message({"role": "user", **message})
    lost = [f"{what} ({count})" for what, count in session.lost.items()]
    return finished(conversation, source, lost=lost)


def _reply(row: Row) -> str:
    """The id of the reply that a row is part of; empty for other rows."""
    return label(fields_of(row.get("message")), "id") if row.get("type") == "assistant" else ""


def _blocks(row: Row, kind: str) -> Sequence[Row]:
    message = fields_of(row.get("message"))
    content = listed(message, "content") if isinstance(message.get("content"), list) else []
    return [fields_of(block) for block in content if fields_of(block).get("type") == kind]


ANTHROPIC = Reader("messages of Anthropic, session files of Claude Code", _recognises, _read)

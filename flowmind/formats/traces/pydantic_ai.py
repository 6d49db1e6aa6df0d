"""Messages of Pydantic AI, as `result.all_messages_json()` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.formats.conversation import Conversation, fields_of, observation_of, run_by_provider
from flowmind.formats.traces.imported import Imported, Reader
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
    text,
)
from flowmind.trace.events import Source

_KINDS = ("request", "response")
_FINAL = "Final result processed."
"""The result of the call with which an agent with an output type gives its answer."""
_SKIPPED = (
    "Tool not executed - a final result was already processed.",
    "Output tool not used - a final result was already processed.",
)
"""The results of calls that were not made, because the answer was already there."""
_SAID = {"system-prompt": "system", "user-prompt": "user", "instruction": "system", "retry-feedback": "user"}
_LOST = {
    "compaction", "file", "speech", "instruction-delta", "instruction-digest", "instruction-baseline",
    "tool-availability-delta", "capability-load-delta", "model-settings-delta",
}  # fmt: skip
_MADE_BY_PROVIDER = ("builtin-tool-call", "builtin-tool-return", "native-tool-call", "native-tool-return")


def _is_message(value: Any) -> bool:
    row = fields_of(value)
    return row.get("kind") in _KINDS and "parts" in row


def _recognises(document: Any) -> bool:
    return has_messages(document, _is_message)


def _read(document: Any) -> Iterator[Imported]:
    names: dict[str, str] = {}
    for place, entry in entries(document, _is_message):
        with at(place):
            yield _imported(messages_in(entry), fields_of(entry), names)


def _imported(messages: Sequence[Any], row: Row, names: dict[str, str]) -> Imported:
    conversation = _Messages(names, messages)
    for number, message in enumerate(messages, 1):
        with at(f"message {number}"):
            conversation.message(message)
    answer = row.get("answer", conversation.answer)
    source = Source(format="pydantic-ai", id=conversation.run, model=conversation.model)
    return finished(conversation, source, inputs_of(row), answer)


class _Messages(Conversation):
    """A conversation in the messages of Pydantic AI.

    Args:
        names: The original names of the tools by their names here.
        messages: All messages, to find the call that gives the answer.
    """

    def __init__(self, names: dict[str, str], messages: Sequence[Any]) -> None:
        super().__init__(names, lossy=True)
        self.model = self.run = ""
        self.answer: Any = ...
        """The answer, if a call of an output tool gave it."""
        results = [part for part in _parts(messages) if part.get("part_kind") == "tool-return"]
        self._final = {label(part, "tool_call_id") for part in results if part.get("content") == _FINAL}
        self._skipped = {label(part, "tool_call_id") for part in results if part.get("content") in _SKIPPED}

    def message(self, value: Any) -> None:
        """Reads the next message."""
        row = record(value, "it")
        if row.get("kind") not in _KINDS:
            raise ValueError(f"its kind is {row.get('kind')!r}, not request or response")
        if not isinstance(row.get("parts"), list):
            raise ValueError("it has no list of parts")
        self.run = self.run or label(row, "run_id")
        if row["kind"] == "response":
            self.model = self.model or label(row, "model_name")
            self.reply(anew=True)
            self.replied(row.get("finish_reason"))
        for number, part in enumerate(listed(row, "parts"), 1):
            with at(f"part {number}"):
                self._part(row["kind"], record(part, "it"))

    def _part(self, kind: str, part: Row) -> None:
        name = text(part, "part_kind")
        match kind, name:
            case _, str() if name in _MADE_BY_PROVIDER:
                raise run_by_provider(name, part.get("tool_name"))
            case "response", "text":
                self.say("assistant", text(part, "content"))
            case "response", "thinking":
                self.think(label(part, "content"))
            case "response", "tool-call":
                self._call(part)
            case "request", "tool-return":
                self._result(part, part.get("outcome", "success") != "success")
            case "request", "retry-prompt" if part.get("tool_name"):
                self._result(part, failed=True)
            case "request", "retry-prompt":
                self.hear("user", _spoken(part.get("content")))
            case "request", _ if name in _SAID:
                self.hear(_SAID[name], part.get("content"))
            case _, _ if name in _LOST:
                self.lost[f"a part {name!r}"] += 1
            case _:
                raise ValueError(f"a part of the kind {name!r} of a {kind} cannot be read")

    def _call(self, part: Row) -> None:
        id = text(part, "tool_call_id")
        if id in self._skipped:
            self.lost["a call that was not made, because the answer was given beside it"] += 1
        elif id in self._final:
            arguments = observation_of(part.get("args")).value
            fields = fields_of(arguments)
            self.answer = fields["response"] if fields.keys() == {"response"} else arguments
        else:
            self.called(id, part.get("tool_name"), part.get("args"))

    def _result(self, part: Row, failed: bool) -> None:
        id, content = text(part, "tool_call_id"), part.get("content")
        if id not in self._final | self._skipped:
            self.answered(id, part.get("tool_name"), observation_of(_spoken(content) if failed else content, failed))

    def block(self, role: str, block: Row) -> None:
        """Media in a prompt of the user are left out."""
        kind = block.get("kind")
        if isinstance(kind, str) and kind.endswith(("-url", "binary", "uploaded-file", "cache-point")):
            self.lost[f"content of the kind {kind!r}"] += 1
        elif kind == "text-content" and isinstance(block.get("content"), str):
            self.say(role, block["content"])
        else:
            super().block(role, block)


def _parts(messages: Sequence[Any]) -> Iterator[Row]:
    """The parts of all messages, as far as they are objects."""
    for message in messages:
        parts = fields_of(message).get("parts")
        yield from map(fields_of, cast(list[Any], parts) if isinstance(parts, list) else [])


def _spoken(content: Any) -> str:
    return content if isinstance(content, str) else dump_json(content)


PYDANTIC_AI = Reader("messages of Pydantic AI", _recognises, _read)

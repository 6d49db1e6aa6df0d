"""A conversation that is being read: texts, tool calls and their results become the events of a trace.

Readers of all formats of messages use it, so that the same rules decide which calls failed, what a result is and when
a conversation is over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json
from flowmind.trace.events import Called, Said, Source, StopReason, Trace
from flowmind.trace.references import with_references
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Observation, ToolCall, tool_identifier
from tools_registry.specs.values import CaseError, clean

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
"""The roles of texts, with the role in a trace."""
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_MEDIA = (
    "image", "image_url", "input_image", "output_image", "audio", "input_audio", "video", "file", "input_file", "media",
    "document", "container_upload", "search_result", "redacted_thinking", "cache_point", "data",
)  # fmt: skip
"""Kinds of content that are neither a text nor a call nor the result of one."""
_FAILED = re.compile(
    r"Error\b(?!-)|(?i:error)\s*:|[A-Z]\w*(?:Error|Exception):|An error occurred\b|Traceback \(most recent call last\)"
)
"""The start of a result that reports an error, as common agent libraries and Python's exceptions write it."""
_UNFINISHED: dict[str, StopReason] = {
    "length": "tokens", "max_tokens": "tokens", "model_length": "context", "model_context_window_exceeded": "context",
    "pause_turn": "turns", "refusal": "model_error", "content_filter": "model_error", "error": "model_error",
}  # fmt: skip
"""Why a reply ended that is no answer, in the words of several APIs."""
BAD_ARGUMENTS = "bad_arguments"
"""The error of a recorded call whose arguments are not a JSON object."""
UNREAD_NOTE = "the arguments are not a JSON object: "


@dataclass
class _Call:
    """A call that waits for its result."""

    name: str
    args: dict[str, Any] | None
    """None if they cannot be read."""
    written: str
    reasoning: str
    turn: int
    id: str
    seconds: float | None = None
    result: Observation | None = None

    def event(self, ids: bool) -> Called:
        """The call as an event of a trace."""
        if self.args is None:
            observation = Observation.failed(BAD_ARGUMENTS, f"{UNREAD_NOTE}{self.written}")
        else:
            observation = self.result or Observation.failed("no_result", "the conversation has no result of this call")
        call = ToolCall(tool=self.name, args=self.args or {})
        made = Called(call=call, observation=observation, reasoning=self.reasoning, turn=self.turn)
        return made.model_copy(update={"id": self.id, "seconds": self.seconds}) if ids else made


class Conversation:
    """The part of a conversation that has been read.

    All methods raise `ValueError` if a part cannot be read.

    Args:
        names: The original names of the tools by their names here, shared by the conversations of a file.
        lossy: Whether content that cannot be a call, such as an image, is left out and counted in `lost`, instead of
            being refused.
    """

    def __init__(self, names: dict[str, str] | None = None, lossy: bool = False) -> None:
        self.names = {} if names is None else names
        self.lost: Counter[str] = Counter()
        """What was left out, with the number of times."""
        self.stop: StopReason | None = None
        """Why the conversation ended, if the recording says that it was not finished."""
        self.turn = -1
        self._lossy = lossy
        self._events: list[Said | _Call] = []
        self._by_id: dict[str, _Call] = {}
        self._replying = False
        """Whether the last message was the model's, so that an item continues its reply."""
        self._thoughts: list[str] = []
        """Thoughts of this turn that belong to no event yet."""

    @property
    def _calls(self) -> list[_Call]:
        return [event for event in self._events if isinstance(event, _Call)]

    @property
    def waiting(self) -> list[str]:
        """The ids of the calls that have no result yet, in order."""
        return [call.id for call in self._calls if call.result is None]

    def reply(self, anew: bool) -> None:
        """Begins a turn of the model, unless it continues its reply."""
        if anew or not self._replying:
            self.end_reply()
            self.turn += 1
        self._replying = True
        self.stop = None

    def replied(self, reason: Any) -> None:
        """Notes why the reply ended, as `finish_reason` or `stop_reason` of an API says it."""
        self.stop = _UNFINISHED.get(reason) if isinstance(reason, str) else None

    def end_reply(self) -> None:
        """Ends the model's turn; thoughts that came before no call belong to the last text of the turn."""
        self._replying = False
        if not self._thoughts:
            return
        last = self._events.pop() if self._events else None
        if not (isinstance(last, Said) and last.role == "agent" and last.turn == self.turn):
            self._events += [] if last is None else [last]
            last = Said(role="agent", text="", turn=self.turn)
        self._events.append(last.model_copy(update={"reasoning": "\n".join(self._thoughts)}))
        self._thoughts = []

    def think(self, text: str) -> None:
        """Notes a thought of the model; it belongs to the next call of the turn."""
        self._thoughts += filter(None, [text])

    def say(self, role: str, text: str) -> None:
        """Notes a text."""
        if text:
            turn = self.turn + (role != "assistant")
            self._events.append(Said.model_validate({"role": ROLES[role], "text": text, "turn": turn}))

    def hear(self, role: str, content: Any) -> None:
        """Reads a message that the model did not write."""
        self.end_reply()
        self.content(role, content)

    def content(self, role: str, content: Any) -> None:
        """Reads the content of a message: a text, or parts. Texts that follow one another are one text."""
        texts: list[str] = []
        for part in cast(list[Any], content) if isinstance(content, list) else [content]:
            text = "" if part is None else part if isinstance(part, str) else part_text(part)
            if text is None:
                self.say(role, "".join(texts))
                texts = []
                self.block(role, fields_of(part))
            else:
                texts.append(text)
        self.say(role, "".join(texts))

    def block(self, role: str, block: dict[str, Any]) -> None:
        """Reads a part of a message that is no text. Formats with such parts override it."""
        kind = block.get("type")
        if self._lossy and kind in _MEDIA:
            self.lost[f"content of the type {kind!r}"] += 1
        elif isinstance(kind, str):
            raise ValueError(f"it has a part of type {kind!r}; only text, tool calls and their results can be read")
        else:
            raise ValueError("a part of its content has no type and no text")

    def called(self, id: Any, name: Any, arguments: Any, seconds: float | None = None) -> None:
        """Notes a call of the current turn.

        Args:
            id: The id that its result names; None if there are no ids.
            name: The original name of the tool.
            arguments: An object, or its JSON text. Anything else is a call with bad arguments.
            seconds: The duration of the call.
        """
        if not isinstance(name, str) or not name:
            raise ValueError("a call in it names no function")
        tool = named_tool(name, self.names)
        written = arguments if isinstance(arguments, str) else dump_json(arguments)
        known = "" if id is None else call_id(id)
        call = _Call(tool, _arguments(arguments), written, "\n".join(self._thoughts), self.turn, known, seconds)
        self._thoughts = []
        if id is not None:
            if known in self._by_id and self._by_id[known].result is None:
                raise ValueError(f"two calls have the id {id!r}")
            self._by_id[known] = call
        self._events.append(call)

    def answered(self, id: Any, name: Any, observation: Observation) -> None:
        """Notes a result; without an id it belongs to the first call of its tool that has none."""
        self.end_reply()
        if id is not None:
            call = self._by_id.get(call_id(id))
            if call is None:
                raise ValueError(f"it is the result of a call {id!r}, and no message before it has that call")
            if call.result is not None:
                raise ValueError(f"it is a second result of the call {id!r}")
        else:
            tool = tool_identifier(name) if isinstance(name, str) and name else None
            call = next((call for call in self._calls if call.result is None and call.name == tool), None)
            if call is None:
                waiting = "" if tool is None else f", and no call of {name!r} waits for a result"
                raise ValueError(f"it is the result of a call and has no id{waiting}")
        call.result = observation

    def took(self, id: str, seconds: float) -> None:
        """Notes the duration of a call, if there is a call with this id."""
        if (call := self._by_id.get(id)) is not None:
            call.seconds = seconds

    def final(self) -> bool:
        """Whether the model's last turn has no calls."""
        return self.turn >= 0 and not any(call.turn == self.turn for call in self._calls)

    def last_text(self) -> str | None:
        """The text of the model's last turn, if that turn has no calls."""
        said = [event for event in self._events if isinstance(event, Said)]
        texts = [event.text for event in said if event.role == "agent" and event.turn == self.turn and event.text]
        return "\n".join(texts) if texts and self.final() else None

    def lost_lines(self) -> Iterator[str]:
        """What was left out, a line for each kind."""
        yield from (f"{what} ({count})" for what, count in self.lost.items())

    def trace(self, inputs: Mapping[str, Any] | None = None, answer: Any = ..., source: Source | None = None) -> Trace:
        """The trace of the conversation.

        Args:
            inputs: The inputs of the case.
            answer: The final value; by default the text of the last turn, as JSON if it is JSON.
            source: The recording. With it the events have the ids and durations of calls.

        Raises:
            InputError: If no message is the assistant's, or the inputs or the answer are not JSON.
        """
        if self.turn < 0:
            raise InputError("no message is an assistant's")
        self.end_reply()
        explicit = answer is not ...
        if not explicit:
            text = self.last_text() if self.stop is None else None
            answer = None if text is None else json_or_text(text)
        stop = self.stop or ("finish" if explicit or self.final() else "turns")
        ids = source is not None
        try:
            trace = Trace(
                inputs=clean(dict(inputs or {})),
                events=tuple(event.event(ids) if isinstance(event, _Call) else event for event in self._events),
                stop="finish" if explicit else stop,
                answer=clean(answer),
                source=source,
            )
            return with_references(trace, answer=not explicit)
        except CaseError as error:
            raise InputError(f"the inputs and the answer of a conversation: {error}") from None


def named_tool(name: str, names: dict[str, str]) -> str:
    """A tool's name as an identifier.

    Raises:
        ValueError: If another tool has it.
    """
    tool = tool_identifier(name)
    if (other := names.setdefault(tool, name)) != name:
        raise ValueError(f"the tools {other!r} and {name!r} would both be called {tool!r}; rename one")
    return tool


def call_id(id: Any) -> str:
    """The id of a call.

    Raises:
        ValueError: If it is not a text.
    """
    if not isinstance(id, str):
        raise ValueError(f"the id of a call is {type_name(id)}, not a string")
    return id


def run_by_provider(kind: str, name: Any) -> ValueError:
    """The error of a call that the provider of the model made by itself."""
    return ValueError(
        f"it has a part of type {kind!r}: the provider itself ran the tool {name!r}, which a workflow cannot do; give "
        "the agent a tool of its own in its place"
    )


def _arguments(written: Any) -> dict[str, Any] | None:
    """The arguments as an object; None if they are not an object. None or an empty text means no arguments."""
    if written is None or isinstance(written, str):
        try:
            written = clean(parse_json(written)) if written and written.strip() else {}
        except (ValueError, CaseError):
            return None
    return cast(dict[str, Any], written) if isinstance(written, dict) else None


def observation_of(content: Any, failed: bool = False) -> Observation:
    """The observation of a result.

    Args:
        content: A text, parts of text, or a JSON value. A text is read as JSON if it is JSON.
        failed: Whether the recording marks the call as failed. Without a mark the result decides: see `error_in`.
    """
    text = text_of(content)
    value = content if text is None else json_or_text(text)
    error = error_in(value)
    if error is None and failed:
        error = value if isinstance(value, str) else dump_json(value)
    return Observation(value=value) if error is None else Observation.failed("tool_error", error)


def error_in(value: Any) -> str | None:
    """The error that a result reports; None if it reports none.

    A result reports an error if it is an object with `error` (a text, an object, or true) or `isError`, or a text that
    begins with `Error` or with the name of an exception.
    """
    if isinstance(value, str):
        return value if _FAILED.match(value) else None
    fields = fields_of(value)
    match fields.get("error"):
        case str(error) if error.strip():
            return error
        case dict() if error := fields_of(fields["error"]):
            message = error.get("message")
            return message if isinstance(message, str) else dump_json(error)
        case error if error is True or fields.get("isError") is True:
            message = fields.get("message")
            return message if isinstance(message, str) else dump_json(value)
        case _:
            return None


def json_or_text(text: str) -> Any:
    """The JSON value of a text, or the text if it is not JSON."""
    try:
        return clean(parse_json(text))
    except (ValueError, CaseError):
        return text


def text_of(content: Any) -> str | None:
    """Content that is text, or the text of its parts; None if a part is something else."""
    if isinstance(content, str):
        return content
    parts = cast(list[Any], content) if isinstance(content, list) else []
    texts = [part_text(part) for part in parts]
    return "".join(text or "" for text in texts) if texts and None not in texts else None


def part_text(part: Any) -> str | None:
    """The text of a part of a message; None if the part is something else."""
    kind = fields_of(part).get("type")
    text = fields_of(part).get("refusal" if kind == "refusal" else "text") if kind in _TEXTS else None
    return text if isinstance(text, str) else None


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of an object; none if the value is not an object."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}

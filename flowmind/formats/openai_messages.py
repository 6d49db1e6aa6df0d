"""Reads conversations with tool calls as traces, and writes traces as conversations.

Four forms are read, also mixed in one conversation: messages of chat completions (`tool_calls`, role `tool`), their
older form (`function_call`, role `function`), items of the Responses API (`function_call`, `function_call_output`), and
messages of Anthropic (content blocks `tool_use`, `tool_result`, `thinking`).

A tool's name must be an identifier here, so other names are changed: see `tool_identifier`. Two tools whose
names become equal are an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import RootModel

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_numbered, read_text, validate
from flowmind.trace.events import Called, Planned, Refused, Said, Trace
from flowmind.trace.references import with_references
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Observation, ToolCall, tool_identifier
from tools_registry.specs.values import CaseError, clean

_LINES = (".jsonl", ".ndjson")
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_FAILED = re.compile(
    r"Error\b(?!-)|(?i:error)\s*:|[A-Z]\w*(?:Error|Exception):|An error occurred\b|Traceback \(most recent call last\)"
)
"""The start of a result that reports an error, as common agent libraries and Python's exceptions write it."""
BAD_ARGUMENTS = "bad_arguments"
"""The error of a recorded call whose arguments are not a JSON object."""
_UNREAD_NOTE = "the arguments are not a JSON object: "


class _Entry(RootModel[Any]):
    """A line of a file of traces, not yet read."""


def trace_of_messages(
    messages: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any] | None = None, answer: Any = ...
) -> Trace:
    """The trace of a conversation: a `said` event for each text and a `called` event for each tool call, in order.

    A result is read as JSON if it is JSON, else as text. A call failed with `tool_error` if its result is an object
    with `error` (a text, an object, or true) or `isError`, a text that begins with `Error` or the name of an exception,
    or if it is marked by `"status": "error"` or `"is_error": true`. It failed with `no_result` if no result follows,
    and with `bad_arguments` if its arguments are not a JSON object.

    `turn` numbers the model's replies from 0; texts of a user or the system have the turn of the reply that follows
    them. The model's thoughts before a call are the call's `reasoning`; encrypted thoughts are left out. Several turns
    of a user are one trace. If the agent passes values by name (`$1.name`, `$var_1.result$`), the calls have the
    values; see `flowmind.trace.references`.

    Args:
        messages: Messages or items, oldest first.
        inputs: The inputs of the task; a conversation does not name them.
        answer: The final value. By default it is the text of the assistant's last turn if that turn calls no tool,
            read as JSON if it is JSON. A conversation that ends otherwise stops with `turns` and has no answer.

    Raises:
        InputError: With the message's number, from 1: a message or a part of one that cannot be read, a result without
            its call, an id of two calls, two tools whose names become equal.
    """
    return _trace(messages, inputs, answer, {})


def messages_of_trace(trace: Trace) -> list[dict[str, Any]]:
    """The conversation of a trace, as messages of chat completions; the inverse of `trace_of_messages`.

    The texts, thoughts and calls of one turn are one message. Events other than `said`, `called`, `refused` and
    `planned` are a workflow's steps and have no message.
    """
    messages: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    reply: dict[str, Any] = {}
    turn: int | None = None
    for place, event in enumerate(trace.events):
        if isinstance(event, Said) and event.role != "agent":
            messages += results
            results, reply = [], {}
            messages.append({"role": event.role, "content": event.text})
        elif isinstance(event, Said | Called | Refused | Planned):
            if not reply or event.turn != turn:
                messages += results
                results, reply, turn = [], {"role": "assistant", "content": None}, event.turn
                messages.append(reply)
            _add_event(reply, event)
            if isinstance(event, Called | Refused):
                reply.setdefault("tool_calls", []).append(_tool_call(event, f"call_{place}"))
                results += _result_message(event, f"call_{place}")
    return messages + results


def _add_event(reply: dict[str, Any], event: Said | Called | Refused | Planned) -> None:
    """Adds the text and the thoughts of an event to the message of its turn."""
    text = event.text if isinstance(event, Said) else ""
    if isinstance(event, Planned):
        text = "\n".join(filter(None, [event.analysis, *event.steps]))
    elif event.reasoning:
        reply["reasoning_content"] = "\n".join(filter(None, [reply.get("reasoning_content"), event.reasoning]))
    if text:
        reply["content"] = "\n".join(filter(None, [reply["content"], text]))


def _tool_call(event: Called | Refused, id: str) -> dict[str, Any]:
    arguments = dump_json(event.call.args)
    error = event.observation.error if isinstance(event, Called) else None
    if error is not None and error.type == BAD_ARGUMENTS:
        arguments = error.message.removeprefix(_UNREAD_NOTE)
    return {"id": id, "type": "function", "function": {"name": event.call.tool, "arguments": arguments}}


def _result_message(event: Called | Refused, id: str) -> list[dict[str, Any]]:
    """The message with the result of a call; none if the call has no result."""
    message = {"role": "tool", "tool_call_id": id}
    if isinstance(event, Refused):
        return [{**message, "content": event.reason, "status": "error"}]
    if (error := event.observation.error) is not None:
        return (
            []
            if error.type in ("no_result", BAD_ARGUMENTS)
            else [{**message, "content": error.message, "status": "error"}]
        )
    value = event.observation.value
    plain = isinstance(value, str) and _json_or_text(value) == value
    return [{**message, "content": value if plain else dump_json(value)}]


def read_traces(path: Path) -> list[Trace]:
    """The traces of a file, in JSON Lines or as one JSON document (an entry, or a list of entries).

    An entry is a trace as `Trace.dump` writes it, a list of messages, or an object with `messages` (or `traj`) and
    optionally `inputs`, `answer`, `system` (the system prompt, where it is no message) and a mark of success: `success`
    (true or false) or `reward` (a number; 1 or more is a success). `"answer": null` says that the answer is null. Other
    keys of the object are ignored.

    Raises:
        InputError: With the file, the line or the number of the entry, and what would be right.
    """
    traces: list[Trace] = []
    names: dict[str, str] = {}
    for where, value in _entries(path):
        try:
            traces.append(read_trace(value, names))
        except (InputError, ValueError) as error:
            raise InputError(f"{where}: {error}") from None
    if not traces:
        raise InputError(f"{path}: there is no trace in it")
    return traces


def read_trace(value: Any, names: dict[str, str] | None = None) -> Trace:
    """The trace of one entry; see `read_traces`.

    Args:
        value: The entry.
        names: The original names of tools by their names here, shared by the entries of a file.

    Raises:
        ValueError, InputError: If it cannot be read.
    """
    names = {} if names is None else names
    if isinstance(value, list):
        return _trace(cast(list[Any], value), None, ..., names)
    fields = _fields(value)
    if {"events", "steps", "stop"} & fields.keys() and "messages" not in fields:
        return validate(Trace, fields)
    messages, inputs = fields.get("messages", fields.get("traj")), fields.get("inputs")
    if not isinstance(messages, list | tuple):
        problem = "its messages are not a list" if "messages" in fields else "it is no trace and no conversation"
        raise ValueError(
            f"{problem}; give a trace (events, stop), a list of messages, or an object with such a list as messages"
        )
    if inputs is not None and not isinstance(inputs, dict):
        raise ValueError(f"its inputs are {type_name(inputs)}, not an object")
    trace = _trace(
        cast(Sequence[Any], messages),
        cast(dict[str, Any] | None, inputs),
        fields.get("answer", ...),
        names,
        fields.get("system"),
    )
    success = _mark(fields)
    return trace if success is None else trace.model_copy(update={"success": success})


def _mark(fields: Mapping[str, Any]) -> bool | None:
    """The mark of success of an entry; None if it has none.

    Raises:
        ValueError: If `success` is no truth value, or `reward` no number.
    """
    success, reward = fields.get("success"), fields.get("reward")
    if success is not None and not isinstance(success, bool):
        raise ValueError(f"its success is {type_name(success)}; give true or false")
    if reward is not None and not isinstance(reward, bool | int | float):
        raise ValueError(f"its reward is {type_name(reward)}; give a number: 1 or more is a success")
    return success if success is not None else None if reward is None else reward >= 1


@dataclass
class _Call:
    """A call that waits for its result."""

    name: str
    args: dict[str, Any] | None
    """None if they cannot be read."""
    written: str
    reasoning: str
    turn: int
    result: Observation | None = None

    def event(self) -> Called:
        """The call as an event of a trace."""
        if self.args is None:
            observation = Observation.failed(BAD_ARGUMENTS, f"{_UNREAD_NOTE}{self.written}")
        else:
            observation = self.result or Observation.failed("no_result", "the conversation has no result of this call")
        call = ToolCall(tool=self.name, args=self.args or {})
        return Called(call=call, observation=observation, reasoning=self.reasoning, turn=self.turn)


class _Reading:
    """The part of a conversation that has been read.

    Args:
        names: The original names of the tools, by their names here.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.events: list[Said | _Call] = []
        self.by_id: dict[str, _Call] = {}
        self.turn = -1
        self.replying = False
        """Whether the last message was the model's, so that an item continues its reply."""
        self.thoughts: list[str] = []
        """Thoughts of this turn that belong to no event yet."""

    @property
    def calls(self) -> list[_Call]:
        return [event for event in self.events if isinstance(event, _Call)]

    def message(self, message: dict[str, Any]) -> None:
        """Reads the next message or item.

        Raises:
            ValueError: If it cannot be read.
        """
        role, kind = message.get("role"), message.get("type")
        if role == "assistant":
            self.assistant(message)
        elif role in ("tool", "function"):
            name = message.get("name", message.get("tool_name"))
            self.answered(message.get("tool_call_id"), name, message.get("content"), message)
        elif role in _ROLES:
            self.end_reply()
            self.content(role, message.get("content"))
        elif kind in ("function_call", "custom_tool_call"):
            self.reply(anew=False)
            custom = kind == "custom_tool_call"
            arguments = {"input": message.get("input")} if custom else message.get("arguments")
            self.called(message.get("call_id"), message.get("name"), arguments)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self.answered(message.get("call_id"), None, message.get("output"), message)
        elif kind == "reasoning":
            self.reply(anew=False)
            self.think(_spoken(message.get("summary")) or _spoken(message.get("content")))
        else:
            unknown = f"the role {role!r}" if role is not None else "no role" if kind is None else f"the type {kind!r}"
            raise ValueError(
                f"it has {unknown}; known are the roles {', '.join(_ROLES)}, tool and function, and the types"
                " function_call, function_call_output, custom_tool_call, custom_tool_call_output and reasoning"
            )

    def reply(self, anew: bool) -> None:
        """Begins a turn of the model, unless it continues its reply."""
        if anew or not self.replying:
            self.end_reply()
            self.turn += 1
        self.replying = True

    def end_reply(self) -> None:
        """Ends the model's turn; thoughts that came before no call belong to the last text of the turn."""
        self.replying = False
        if not self.thoughts:
            return
        last = self.events.pop() if self.events else None
        if not (isinstance(last, Said) and last.role == "agent" and last.turn == self.turn):
            self.events += [] if last is None else [last]
            last = Said(role="agent", text="", turn=self.turn)
        self.events.append(last.model_copy(update={"reasoning": "\n".join(self.thoughts)}))
        self.thoughts = []

    def think(self, text: str) -> None:
        self.thoughts += filter(None, [text])

    def say(self, role: str, text: str) -> None:
        if text:
            turn = self.turn + (role != "assistant")
            self.events.append(Said.model_validate({"role": _ROLES[role], "text": text, "turn": turn}))

    def content(self, role: str, content: Any) -> None:
        """Reads the content of a message: a text, or parts. Texts that follow one another are one text.

        Raises:
            ValueError: If a part cannot be read.
        """
        texts: list[str] = []
        for part in cast(list[Any], content) if isinstance(content, list) else [content]:
            text = "" if part is None else part if isinstance(part, str) else _part(part)
            if text is None:
                self.say(role, "".join(texts))
                texts = []
                self.block(role, part)
            else:
                texts.append(text)
        self.say(role, "".join(texts))

    def block(self, role: str, part: Any) -> None:
        """Reads a part of a message that is no text: a content block of Anthropic."""
        block = _fields(part)
        match role, block.get("type"):
            case "assistant", "tool_use":
                self.called(block.get("id"), block.get("name"), block.get("input"))
            case "assistant", "thinking":
                self.think(str(block.get("thinking") or ""))
            case "assistant", "redacted_thinking":
                pass
            case "user", "tool_result":
                self.answered(block.get("tool_use_id"), None, block.get("content"), block)
            case _, str(kind):
                raise ValueError(f"it has a part of type {kind!r}; only text, tool calls and their results can be read")
            case _:
                raise ValueError("a part of its content has no type and no text")

    def assistant(self, message: dict[str, Any]) -> None:
        """Reads the thoughts, the text and the calls of a message."""
        self.reply(anew=message.get("type") != "message")
        self.think(_spoken(message.get("reasoning_content")) or _spoken(message.get("reasoning")))
        spoken = message.get("content") or message.get("refusal") or _fields(message.get("audio")).get("transcript")
        if not spoken and message.get("audio"):
            raise ValueError("its audio has no transcript")
        self.content("assistant", spoken)
        calls: Any = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise ValueError(f"its tool_calls are {type_name(calls)}, not a list")
        for call in map(_fields, cast(list[Any], calls)):
            if call.get("type") == "custom":
                custom = _fields(call.get("custom"))
                self.called(call.get("id"), custom.get("name"), {"input": custom.get("input")})
            else:
                function = _fields(call.get("function"))
                self.called(call.get("id"), function.get("name"), function.get("arguments"))
        if (older := message.get("function_call")) is not None:
            function = _fields(older)
            self.called(None, function.get("name"), function.get("arguments"))

    def called(self, id: Any, name: Any, arguments: Any) -> None:
        """Notes a call."""
        if not isinstance(name, str) or not name:
            raise ValueError("a call in it names no function")
        tool = named_tool(name, self.names)
        written = arguments if isinstance(arguments, str) else dump_json(arguments)
        call = _Call(tool, _arguments(arguments), written, "\n".join(self.thoughts), self.turn)
        self.thoughts = []
        if id is not None:
            if _id(id) in self.by_id and self.by_id[id].result is None:
                raise ValueError(f"two calls have the id {id!r}")
            self.by_id[id] = call
        self.events.append(call)

    def answered(self, id: Any, name: Any, content: Any, marks: Mapping[str, Any]) -> None:
        """Notes a result; without an id it belongs to the first call of its tool that has none."""
        self.end_reply()
        if id is not None:
            call = self.by_id.get(_id(id))
            if call is None:
                raise ValueError(f"it is the result of a call {id!r}, and no message before it has that call")
            if call.result is not None:
                raise ValueError(f"it is a second result of the call {id!r}")
        else:
            tool = tool_identifier(name) if isinstance(name, str) else None
            call = next((call for call in self.calls if call.result is None and call.name == tool), None)
            if call is None:
                waiting = "" if tool is None else f", and no call of {name!r} waits for a result"
                raise ValueError(f"it is the result of a call and has no id{waiting}")
        call.result = _observation(content, marks)

    def final(self) -> bool:
        """Whether the model's last turn has no calls."""
        return self.turn >= 0 and not any(call.turn == self.turn for call in self.calls)

    def last_text(self) -> str | None:
        """The text of the model's last turn, if that turn has no calls."""
        said = [event for event in self.events if isinstance(event, Said)]
        texts = [event.text for event in said if event.role == "agent" and event.turn == self.turn and event.text]
        return "\n".join(texts) if texts and self.final() else None


def _trace(
    messages: Iterable[Any], inputs: Mapping[str, Any] | None, answer: Any, names: dict[str, str], system: Any = None
) -> Trace:
    reading = _Reading(names)
    rows = [{"role": "system", "content": system}] if system is not None else []
    for number, message in enumerate([*rows, *messages], 1 - len(rows)):
        try:
            if not isinstance(message, Mapping):
                dumped = "; its model_dump() can be read" if hasattr(message, "model_dump") else ""
                raise ValueError(f"it is not an object, but {type(message).__name__}{dumped}")
            reading.message(clean(dict(cast(Mapping[str, Any], message))))
        except (ValueError, CaseError) as error:
            raise InputError(f"message {number}: {error}") from None
    if reading.turn < 0:
        raise InputError("no message is an assistant's")
    reading.end_reply()
    explicit = answer is not ...
    if not explicit:
        text = reading.last_text()
        answer = None if text is None else _json_or_text(text)
    try:
        trace = Trace(
            inputs=clean(dict(inputs or {})),
            events=tuple(event.event() if isinstance(event, _Call) else event for event in reading.events),
            stop="finish" if explicit or reading.final() else "turns",
            answer=clean(answer),
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


def _id(id: Any) -> str:
    if not isinstance(id, str):
        raise ValueError(f"the id of a call is {type_name(id)}, not a string")
    return id


def _arguments(written: Any) -> dict[str, Any] | None:
    """The arguments as an object; None if they are not an object. None or an empty text means no arguments."""
    if written is None or isinstance(written, str):
        try:
            written = clean(parse_json(written)) if written and written.strip() else {}
        except (ValueError, CaseError):
            return None
    return cast(dict[str, Any], written) if isinstance(written, dict) else None


def _observation(content: Any, marks: Mapping[str, Any]) -> Observation:
    text = _text(content)
    value = content if text is None else _json_or_text(text)
    marked = marks.get("status") == "error" or marks.get("is_error") is True or marks.get("isError") is True
    error = _error_in(value)
    if error is None and marked:
        error = value if isinstance(value, str) else dump_json(value)
    return Observation(value=value) if error is None else Observation.failed("tool_error", error)


def _error_in(value: Any) -> str | None:
    """The error that a result reports; None if it reports none."""
    if isinstance(value, str):
        return value if _FAILED.match(value) else None
    fields = _fields(value)
    match fields.get("error"):
        case str(error) if error.strip():
            return error
        case dict() if error := _fields(fields["error"]):
            message = error.get("message")
            return message if isinstance(message, str) else dump_json(error)
        case error if error is True or fields.get("isError") is True:
            message = fields.get("message")
            return message if isinstance(message, str) else dump_json(value)
        case _:
            return None


def _json_or_text(text: str) -> Any:
    try:
        return clean(parse_json(text))
    except (ValueError, CaseError):
        return text


def _text(content: Any) -> str | None:
    """Content that is text, or the text of its parts; None if a part is something else."""
    if isinstance(content, str):
        return content
    parts = cast(list[Any], content) if isinstance(content, list) else []
    texts = [_part(part) for part in parts]
    return "".join(text or "" for text in texts) if texts and None not in texts else None


def _spoken(content: Any) -> str:
    """The text of a model's thoughts."""
    text = _text(content) if content else ""
    if text is None:
        raise ValueError("its reasoning has a part without text")
    return text


def _part(part: Any) -> str | None:
    kind = _fields(part).get("type")
    text = _fields(part).get("refusal" if kind == "refusal" else "text") if kind in _TEXTS else None
    return text if isinstance(text, str) else None


def _fields(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """The entries of a file, each with its place."""
    if path.suffix not in _LINES:
        try:
            whole = parse_json(read_text(path))
        except ValueError as error:
            if not str(error).startswith("Extra data"):  # a second line: JSON Lines under another name
                raise InputError(f"{path}: {error}") from None
        else:
            listed = cast(list[Any], whole) if isinstance(whole, list) else []
            if isinstance(whole, list) and not _is_message(listed[:1]):
                yield from ((f"{path}, entry {number}", entry) for number, entry in enumerate(listed, 1))
            else:
                yield str(path), whole
            return
    for number, line in read_numbered(path, _Entry):
        yield f"{path}, line {number}", line.root


def _is_message(first: Sequence[Any]) -> bool:
    """Whether a list is a conversation, by its first element."""
    return any(
        isinstance(entry, dict) and not {"messages", "traj", "events", "steps", "stop"} & _fields(entry).keys()
        for entry in first
    )

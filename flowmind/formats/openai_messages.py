"""Reads conversations with tool calls as traces, and writes traces as conversations.

Four forms are read, also mixed in one conversation: messages of chat completions (`tool_calls`, role `tool`), their
older form (`function_call`, role `function`), items of the Responses API (`function_call`, `function_call_output`), and
messages of Anthropic (content blocks `tool_use`, `tool_result`, `thinking`).

A tool's name must be an identifier here, so other names are changed: see `tool_identifier`. Two tools whose
names become equal are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from pydantic import RootModel

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_numbered, read_text, validate
from flowmind.formats.conversation import (
    BAD_ARGUMENTS,
    ROLES,
    UNREAD_NOTE,
    Conversation,
    fields_of,
    json_or_text,
    observation_of,
    run_by_provider,
    text_of,
)
from flowmind.trace.events import Called, Planned, Refused, Said, Trace
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Observation
from tools_registry.specs.values import CaseError, clean

_LINES = (".jsonl", ".ndjson")


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
    used: set[str] = set()
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
                id = _recorded_id(event, used) or f"call_{place}"
                used.add(id)
                reply.setdefault("tool_calls", []).append(_tool_call(event, id))
                results += _result_message(event, id)
    return messages + results


def _recorded_id(event: Called | Refused, used: set[str]) -> str:
    """The id that a call had where it was recorded; empty if it had none, or another call has it."""
    return event.id if isinstance(event, Called) and event.id not in used else ""


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
        arguments = error.message.removeprefix(UNREAD_NOTE)
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
    plain = isinstance(value, str) and json_or_text(value) == value
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
    if is_trace(value):
        return validate(Trace, value)
    entry = entry_of(value)
    trace = _trace(entry.messages, entry.inputs, entry.answer, names, entry.system)
    return trace if entry.success is None else trace.model_copy(update={"success": entry.success})


def is_trace(value: Any) -> bool:
    """Whether an entry is a trace as `Trace.dump` writes it."""
    return bool({"events", "steps", "stop"} & fields_of(value).keys()) and "messages" not in fields_of(value)


class Entry(NamedTuple):
    """A conversation of a file, with what stands beside the messages."""

    messages: Sequence[Any]
    inputs: dict[str, Any] | None = None
    """None if the entry states none."""
    answer: Any = ...
    """`...` if the entry states none."""
    system: Any = None
    success: bool | None = None
    fields: Mapping[str, Any] = MappingProxyType({})
    """The other fields of the request, such as `tools` and `model`."""


def entry_of(value: Any) -> Entry:
    """The parts of an entry: a list of messages, or an object with `messages`, `traj`, or the body of a request.

    The reply may stand beside the request: as `response` (a response of chat completions, of the Responses API, or of
    Anthropic), as `choices`, or as `output`.

    Raises:
        ValueError: If it has no messages, or another field cannot be read.
    """
    if isinstance(value, list):
        return Entry(cast(list[Any], value))
    fields = fields_of(value)
    inputs = fields.get("inputs")
    request = fields_of(fields.get("request")) or fields
    response = fields_of(fields.get("response")) or fields
    messages = next((request[key] for key in ("messages", "traj", "input") if request.get(key) is not None), None)
    system = request.get("system", request.get("instructions"))
    if isinstance(messages, str) and isinstance(response.get("output"), list):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list | tuple):
        if fields.get("choices") or fields.get("role") == "assistant":
            problem = "it is a single reply without its conversation"
        else:
            problem = "its messages are not a list" if "messages" in fields else "it is no trace and no conversation"
        raise ValueError(
            f"{problem}; give a trace (events, stop), a list of messages, or an object with such a list as messages"
        )
    if inputs is not None and not isinstance(inputs, dict):
        raise ValueError(f"its inputs are {type_name(inputs)}, not an object")
    return Entry(
        [*cast(Sequence[Any], messages), *_reply(response)],
        cast("dict[str, Any] | None", inputs),
        fields.get("answer", ...),
        system,
        _mark(fields),
        {**response, **request},
    )


def _reply(response: Mapping[str, Any]) -> list[Any]:
    """The messages or items of a response; none if it has none.

    Raises:
        ValueError: If it has several replies.
    """
    choices, output = response.get("choices"), response.get("output")
    if isinstance(choices, list):
        if len(cast(list[Any], choices)) > 1:
            raise ValueError("its response has several choices; give the one that the conversation went on with")
        rows = [fields_of(choice) for choice in cast(list[Any], choices)]
        return [{**fields_of(row.get("message")), "finish_reason": row.get("finish_reason")} for row in rows]
    if isinstance(output, list) and "messages" not in response:
        return cast(list[Any], output)
    if response.get("role") == "assistant" and "content" in response:
        return [{key: response.get(key) for key in ("role", "content", "stop_reason")}]
    return []


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


class Messages(Conversation):
    """A conversation in messages or items of the APIs of OpenAI and Anthropic."""

    def read(self, messages: Iterable[Any], system: Any = None) -> None:
        """Reads messages, oldest first.

        Args:
            messages: The messages.
            system: The content of the system prompt, if it is no message.

        Raises:
            InputError: With the message's number, from 1.
        """
        rows = [{"role": "system", "content": system}] if system is not None else []
        for number, message in enumerate([*rows, *messages], 1 - len(rows)):
            try:
                if not isinstance(message, Mapping):
                    dumped = "; its model_dump() can be read" if hasattr(message, "model_dump") else ""
                    raise ValueError(f"it is not an object, but {type(message).__name__}{dumped}")
                self.message(clean(dict(cast(Mapping[str, Any], message))))
            except (ValueError, CaseError) as error:
                raise InputError(f"message {number}: {error}") from None

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
            self.answered(message.get("tool_call_id"), name, _observation(message.get("content"), message))
        elif isinstance(role, str) and role in ROLES:
            self.hear(role, message.get("content"))
        elif kind in ("function_call", "custom_tool_call"):
            self.reply(anew=False)
            custom = kind == "custom_tool_call"
            arguments = {"input": message.get("input")} if custom else message.get("arguments")
            self.called(message.get("call_id"), message.get("name"), arguments)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self.answered(message.get("call_id"), None, _observation(message.get("output"), message))
        elif kind == "reasoning":
            self.reply(anew=False)
            self.think(_spoken(message.get("summary")) or _spoken(message.get("content")))
        else:
            unknown = f"the role {role!r}" if role is not None else "no role" if kind is None else f"the type {kind!r}"
            raise ValueError(
                f"it has {unknown}; known are the roles {', '.join(ROLES)}, tool and function, and the types"
                " function_call, function_call_output, custom_tool_call, custom_tool_call_output and reasoning"
            )

    def block(self, role: str, block: dict[str, Any]) -> None:
        """Reads a content block of Anthropic."""
        match role, block.get("type"):
            case "assistant", "tool_use":
                self.called(block.get("id"), block.get("name"), block.get("input"))
            case "assistant", "thinking":
                self.think(str(block.get("thinking") or ""))
            case "assistant", "redacted_thinking":
                pass
            case "user", "tool_result":
                result = _observation(block.get("content"), block)
                self.answered(block.get("tool_use_id"), None, result)
            case _, "server_tool_use" | "mcp_tool_use" as kind:
                raise run_by_provider(kind, block.get("name"))
            case _:
                super().block(role, block)

    def assistant(self, message: dict[str, Any]) -> None:
        """Reads the thoughts, the text and the calls of a message."""
        self.reply(anew=message.get("type") != "message")
        self.replied(message.get("stop_reason") or message.get("finish_reason"))
        self.think(_spoken(message.get("reasoning_content")) or _spoken(message.get("reasoning")))
        spoken = message.get("content") or message.get("refusal") or fields_of(message.get("audio")).get("transcript")
        if not spoken and message.get("audio"):
            raise ValueError("its audio has no transcript")
        self.content("assistant", spoken)
        calls: Any = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise ValueError(f"its tool_calls are {type_name(calls)}, not a list")
        for call in map(fields_of, cast(list[Any], calls)):
            if call.get("type") == "custom":
                custom = fields_of(call.get("custom"))
                self.called(call.get("id"), custom.get("name"), {"input": custom.get("input")})
            else:
                function = fields_of(call.get("function"))
                self.called(call.get("id"), function.get("name"), function.get("arguments"))
        if (older := message.get("function_call")) is not None:
            function = fields_of(older)
            self.called(None, function.get("name"), function.get("arguments"))


def _trace(
    messages: Iterable[Any], inputs: Mapping[str, Any] | None, answer: Any, names: dict[str, str], system: Any = None
) -> Trace:
    conversation = Messages(names)
    conversation.read(messages, system)
    return conversation.trace(inputs, answer)


def _observation(content: Any, marks: Mapping[str, Any]) -> Observation:
    marked = marks.get("status") == "error" or marks.get("is_error") is True or marks.get("isError") is True
    return observation_of(content, marked)


def _spoken(content: Any) -> str:
    """The text of a model's thoughts."""
    text = text_of(content) if content else ""
    if text is None:
        raise ValueError("its reasoning has a part without text")
    return text


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
        isinstance(entry, dict) and not {"messages", "traj", "events", "steps", "stop"} & fields_of(entry).keys()
        for entry in first
    )

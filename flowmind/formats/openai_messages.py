"""Conversations with tool calls, as the APIs of OpenAI have them, read as traces, and the specs of their tools.

Three forms are read, mixed too: messages of chat completions (`tool_calls`, role `tool`), their older form
(`function_call`, role `function`), and items of the Responses API (`function_call`, `function_call_output`).

A tool is called by an identifier here, so names are changed where they are read, everywhere alike:
`tool_identifier`. Two tools that would come to the same name are an error, never one tool.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import RootModel

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_numbered, read_text, validate
from flowmind.trace.events import Called, Trace
from tools_registry.specs.schema import JSONSchema, SchemaError, check_schema, type_name
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec
from tools_registry.specs.values import CaseError, clean

_LINES = (".jsonl", ".ndjson")
_OTHERS = ("system", "developer", "user")
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")
_FAILED = re.compile(
    r"Error\b(?!-)|(?i:error)\s*:|[A-Z]\w*(?:Error|Exception):|An error occurred\b|Traceback \(most recent call last\)"
)
"""How a result begins that tells of an error: what the common agent libraries write, and Python's own exceptions."""
_UNREAD = "bad_arguments"
_LEVELS = 8
"""How deep the schema of observed values goes; what is deeper may be anything."""
_FIELDS = 64
"""An observed object with more keys than this has data for keys."""


class _Entry(RootModel[Any]):
    """A line of a file of traces, whatever it is."""


def trace_of_messages(
    messages: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any] | None = None, answer: Any = ...
) -> Trace:
    """The trace of a conversation: each call of a tool is a step, in the order in which the calls were made.

    A result is read as JSON if it is JSON, else it is a text. A step has failed with `tool_error` if its result says
    so: an object with `error` (a text, an object, or true) or `isError`, a text that begins with `Error` or with the
    name of an exception, or a message marked with `"status": "error"`; with `no_result` if nothing answers the call;
    with `bad_arguments`, and the text as it came, if its arguments are no JSON object.

    `turn` counts the model's replies from 0. What is said beside calls is the `reasoning` of the first of them.
    Several turns of a user are one trace.

    Args:
        messages: Messages or items, oldest first.
        inputs: What the agent worked on; a conversation does not say.
        answer: The final value. If not given, it is what the assistant says last without calling a tool, read as
            JSON if it is JSON; a conversation that ends otherwise stops with `turns`, without an answer.

    Raises:
        InputError: With the message's number, from 1: one that cannot be read, a result of a call that was not made,
            an id that stands twice, two tools that would have one name.
    """
    return _trace(messages, inputs, answer, {})


def read_traces(path: Path) -> list[Trace]:
    """The traces of a file, in JSON Lines or as one JSON document (an entry, or a list of entries).

    An entry is a trace as `Trace.dump` gives it, a list of messages, or an object with `messages` and, if need be,
    `inputs` and `answer`; other keys of such an object are passed over.

    Raises:
        InputError: With the file, the line or the number of the entry, and what would be right.
    """
    traces: list[Trace] = []
    names: dict[str, str] = {}
    for where, value in _entries(path):
        try:
            traces.append(_read_entry(value, names))
        except (InputError, ValueError) as error:
            raise InputError(f"{where}: {error}") from None
    if not traces:
        raise InputError(f"{path}: there is no trace in it")
    return traces


def specs_of_traces(traces: Iterable[Trace]) -> dict[str, ToolSpec]:
    """Specs of the tools that traces call, as far as the calls show them, by the names that the traces have.

    Parameters come from the calls that gave a value (if none did, from all that can be read): their types are those
    that were seen, required is what all of them passed. What a tool returns comes from its values. The effect is
    `write`, as no trace shows that a call changes nothing.
    """
    steps: dict[str, list[Called]] = {}
    for trace in traces:
        for step in trace.calls:
            steps.setdefault(step.call.tool, []).append(step)
    return {name: _observed_spec(name, found) for name, found in steps.items()}


def specs_of_openai_tools(tools: Iterable[Mapping[str, Any]]) -> dict[str, ToolSpec]:
    """Specs of the functions in `tools` of a request, or in the older `functions`, by name: see `tool_identifier`.

    The effect is `write`, as these definitions do not say.

    Raises:
        InputError: With the tool's number, from 1: no function, no name, a name that another tool has, or
            parameters with a schema that cannot be checked here.
    """
    names: dict[str, str] = {}
    found: dict[str, ToolSpec] = {}
    for number, tool in enumerate(tools, 1):
        try:
            spec = _openai_spec(tool, names)
        except (ValueError, CaseError) as error:
            raise InputError(f"tool {number}: {error}") from None
        if spec.name in found:
            raise InputError(f"tool {number}: a second tool {names[spec.name]!r}")
        found[spec.name] = spec
    return found


def tool_identifier(name: str) -> str:
    """A tool's name as an identifier: `calendar.search-events` becomes `calendar_search_events`.

    Every character that an identifier cannot have becomes `_`; before a digit at the start comes `tool_`, behind a
    word that Python keeps for itself `_`.
    """
    plain = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in name)
    if keyword.iskeyword(plain):
        return f"{plain}_"
    return plain if plain.isidentifier() else f"tool_{plain}"


@dataclass
class _Call:
    """A call, until its result comes."""

    name: str
    args: dict[str, Any] | None
    """None if they cannot be read."""
    written: str
    reasoning: str
    turn: int
    result: Observation | None = None

    def step(self) -> Called:
        """The call as a step of a trace."""
        if self.args is None:
            seen = Observation.failed(_UNREAD, f"the arguments are not a JSON object: {self.written}")
        else:
            seen = self.result or Observation.failed("no_result", "the conversation has no result of this call")
        call = ToolCall(tool=self.name, args=self.args or {})
        return Called(call=call, observation=seen, reasoning=self.reasoning, turn=self.turn)


class _Reading:
    """What was read of a conversation so far.

    Args:
        names: The tools' names as they were written, by the names that they have here.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.calls: list[_Call] = []
        self.by_id: dict[str, _Call] = {}
        self.turn = -1
        self.replying = False
        """Whether the message before was the model's, so that an item goes on with its reply."""
        self.said: list[str] = []
        """What the model said in this turn, answer and thoughts, as far as no call has it yet."""
        self.texts: list[str] = []
        """What it said for others in this turn."""

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
        elif role in _OTHERS:
            self.replying = False
        elif kind == "function_call":
            self.reply(anew=False)
            self.called(message.get("call_id"), message.get("name"), message.get("arguments"))
        elif kind == "custom_tool_call":
            self.reply(anew=False)
            self.called(message.get("call_id"), message.get("name"), {"input": message.get("input")})
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self.answered(message.get("call_id"), None, message.get("output"), message)
        elif kind == "reasoning":
            self.reply(anew=False)
            self.said += filter(None, [_spoken(message.get("summary")) or _spoken(message.get("content"))])
        else:
            shown = f"the role {role!r}" if role is not None else "no role" if kind is None else f"the type {kind!r}"
            raise ValueError(
                f"it has {shown}; read are the roles {', '.join(_OTHERS)}, assistant, tool and function, and the types"
                " function_call, function_call_output, custom_tool_call, custom_tool_call_output and reasoning"
            )

    def reply(self, anew: bool) -> None:
        """Begins a turn of the model, unless it goes on with its reply."""
        if anew or not self.replying:
            self.turn += 1
            self.said, self.texts = [], []
        self.replying = True

    def assistant(self, message: dict[str, Any]) -> None:
        """Reads what the model says, and the calls in it."""
        self.reply(anew=message.get("type") != "message")
        text = _spoken(message.get("content")) or _spoken(message.get("refusal"))
        thought = _spoken(message.get("reasoning_content")) or _spoken(message.get("reasoning"))
        self.said += filter(None, [thought, text])
        self.texts += filter(None, [text])
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
        tool = _named(name, self.names)
        written = arguments if isinstance(arguments, str) else dump_json(arguments)
        call = _Call(tool, _arguments(arguments), written, "\n".join(self.said), self.turn)
        self.said = []
        if id is not None:
            if _id(id) in self.by_id and self.by_id[id].result is None:
                raise ValueError(f"the id {id!r} stands at two calls")
            self.by_id[id] = call
        self.calls.append(call)

    def answered(self, id: Any, name: Any, content: Any, marks: Mapping[str, Any]) -> None:
        """Notes a result; without an id it is that of the first call of its tool that has none."""
        self.replying = False
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
                missing = "an id" if tool is None else f"an id, and no call of {name!r} is open"
                raise ValueError(f"it is the result of a call, but has not {missing}")
        call.result = _observation(content, marks)

    def final(self) -> bool:
        """Whether the model's last turn has no calls."""
        return self.turn >= 0 and not any(call.turn == self.turn for call in self.calls)


def _trace(messages: Iterable[Any], inputs: Mapping[str, Any] | None, answer: Any, names: dict[str, str]) -> Trace:
    reading = _Reading(names)
    for number, message in enumerate(messages, 1):
        try:
            if not isinstance(message, Mapping):
                dumped = "; its model_dump() can be read" if hasattr(message, "model_dump") else ""
                raise ValueError(f"it is no object, but {type(message).__name__}{dumped}")
            reading.message(clean(dict(cast(Mapping[str, Any], message))))
        except (ValueError, CaseError) as error:
            raise InputError(f"message {number}: {error}") from None
    if reading.turn < 0:
        raise InputError("no message is an assistant's")
    given = answer is not ...
    if not given:
        answer = _json_or_text("\n".join(reading.texts)) if reading.final() and reading.texts else None
    try:
        return Trace(
            inputs=clean(dict(inputs or {})),
            events=tuple(call.step() for call in reading.calls),
            stop="finish" if given or reading.final() else "turns",
            answer=clean(answer),
        )
    except CaseError as error:
        raise InputError(f"the inputs and the answer of a conversation: {error}") from None


def _named(name: str, names: dict[str, str]) -> str:
    """A tool's name here.

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


def _arguments(given: Any) -> dict[str, Any] | None:
    """Arguments as an object; None if they are none. Nothing, or an empty text, is a call without arguments."""
    if given is None or isinstance(given, str):
        try:
            given = clean(parse_json(given)) if given and given.strip() else {}
        except (ValueError, CaseError):
            return None
    return cast(dict[str, Any], given) if isinstance(given, dict) else None


def _observation(content: Any, marks: Mapping[str, Any]) -> Observation:
    text = _text(content)
    value = content if text is None else _json_or_text(text)
    marked = marks.get("status") == "error" or marks.get("is_error") is True or marks.get("isError") is True
    error = _error_in(value)
    if error is None and marked:
        error = value if isinstance(value, str) else dump_json(value)
    return Observation(value=value) if error is None else Observation.failed("tool_error", error)


def _error_in(value: Any) -> str | None:
    """What a result says of an error; None if it tells of none."""
    if isinstance(value, str):
        return value if _FAILED.match(value) else None
    fields = _fields(value)
    match fields.get("error"):
        case str(error) if error.strip():
            return error
        case dict() if error := _fields(fields["error"]):
            about = error.get("message")
            return about if isinstance(about, str) else dump_json(error)
        case error if error is True or fields.get("isError") is True:
            about = fields.get("message")
            return about if isinstance(about, str) else dump_json(value)
        case _:
            return None


def _json_or_text(text: str) -> Any:
    try:
        return clean(parse_json(text))
    except (ValueError, CaseError):
        return text


def _text(content: Any) -> str | None:
    """Content that is text: itself, or its parts one behind the other; None if any part is something else."""
    if isinstance(content, str):
        return content
    parts = cast(list[Any], content) if isinstance(content, list) else []
    texts = [_part(part) for part in parts]
    return "".join(text or "" for text in texts) if texts and None not in texts else None


def _spoken(content: Any) -> str:
    """The text in what a model said; parts that are no text are left out."""
    if isinstance(content, str):
        return content
    parts = cast(list[Any], content) if isinstance(content, list) else []
    return "".join(_part(part) or "" for part in parts)


def _part(part: Any) -> str | None:
    kind = _fields(part).get("type")
    text = _fields(part).get("refusal" if kind == "refusal" else "text") if kind in _TEXTS else None
    return text if isinstance(text, str) else None


def _fields(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """The entries of a file, each with where it stands."""
    if path.suffix not in _LINES:
        try:
            whole = parse_json(read_text(path))
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise InputError(f"{path}: {error}") from None
        except ValueError as error:
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
        isinstance(one, dict) and not {"messages", "events", "steps", "stop"} & _fields(one).keys() for one in first
    )


def _read_entry(value: Any, names: dict[str, str]) -> Trace:
    if isinstance(value, list):
        return _trace(cast(list[Any], value), None, ..., names)
    fields = _fields(value)
    if {"events", "steps", "stop"} & fields.keys() and "messages" not in fields:
        return validate(Trace, fields)
    messages, inputs, answer = fields.get("messages"), fields.get("inputs"), fields.get("answer")
    if not isinstance(messages, list):
        shown = "its messages are no list" if "messages" in fields else "it is none of what can be read"
        raise ValueError(
            f"{shown}: a trace (events, stop), a list of messages, or an object with such a list as messages"
        )
    if inputs is not None and not isinstance(inputs, dict):
        raise ValueError(f"its inputs are {type_name(inputs)}, not an object")
    given = ... if answer is None else answer
    return _trace(cast(list[Any], messages), cast(dict[str, Any] | None, inputs), given, names)


def _observed_spec(name: str, steps: Sequence[Called]) -> ToolSpec:
    good = [step for step in steps if step.observation.ok]
    readable = [step for step in steps if step.observation.error is None or step.observation.error.type != _UNREAD]
    seen = _schema_of_objects([step.call.args for step in good or readable])
    parameters: JSONSchema = {"type": "object", **seen, "additionalProperties": False}
    returns = _schema_of([step.observation.value for step in good])
    return ToolSpec(name=name, parameters=parameters, returns=returns, effect="write")


def _schema_of(values: Sequence[Any], levels: int = _LEVELS) -> JSONSchema:
    """What values that were seen have in common, as a schema that all of them fit."""
    kinds = list(dict.fromkeys(type_name(value) for value in values))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    if not kinds or not levels:
        return {}
    made: JSONSchema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    elements = [part for value in values if isinstance(value, list) for part in cast(list[Any], value)]
    if elements and (items := _schema_of(elements, levels - 1)):
        made["items"] = items
    objects = [cast(dict[str, Any], value) for value in values if isinstance(value, dict)]
    if _is_mapping(objects):
        made["additionalProperties"] = _schema_of([part for one in objects for part in one.values()], levels - 1)
    elif any(objects):
        made |= _schema_of_objects(objects, levels)
    return made


def _is_mapping(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the keys of objects are data: too many, or several objects and no key that all of them have."""
    names = {name for one in objects for name in one}
    shared = len(objects) < 2 or any(all(name in one for one in objects) for name in names)
    return bool(names) and (len(names) > _FIELDS or not shared)


def _schema_of_objects(objects: Sequence[Mapping[str, Any]], levels: int = _LEVELS) -> JSONSchema:
    names = list(dict.fromkeys(name for one in objects for name in one))
    seen = {name: [one[name] for one in objects if name in one] for name in names}
    return {
        "properties": {name: _schema_of(values, levels - 1) for name, values in seen.items()},
        "required": [name for name, values in seen.items() if len(values) == len(objects)],
    }


def _openai_spec(tool: Mapping[str, Any], names: dict[str, str]) -> ToolSpec:
    fields = cast(dict[str, Any], clean(dict(tool)))
    kind = fields.get("type", "function")
    if kind not in ("function", "custom"):
        raise ValueError(f"the type {kind!r} is no function; hosted tools have no calls that can be read")
    about = _fields(fields.get(kind, fields))
    name = about.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("it has no name")
    parameters: Any = about.get("parameters") or {"type": "object", "properties": {}}
    if kind == "custom":
        parameters = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    try:
        check_schema(parameters)
    except SchemaError as error:
        raise ValueError(f"the parameters of {name!r}: {error}") from None
    made = _named(name, names)
    return ToolSpec(name=made, description=str(about.get("description") or ""), parameters=parameters, effect="write")

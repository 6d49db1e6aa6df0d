"""Messages as instrumentations record them, in the form of chat completions.

Span attributes hold the messages of many libraries: parts of the OpenTelemetry conventions, blocks of Anthropic, chat
completions, items of the Responses API and dumps of LangChain. `chat_messages` reads all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from flowmind.base.files import dump_json, parse_json
from flowmind.formats.conversation import fields_of

ABSENT: Any = object()
"""A value that was not recorded, unlike one that is null."""
Message = dict[str, Any]
"""A message of chat completions. A message of the assistant has `tool_calls` with `id`, `name`, `arguments`.

Arguments of a call and the content of a result are `ABSENT` if they were not recorded."""

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
_TEXTS = ("text", "input_text", "output_text", "refusal", "output_message")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking", "redacted-reasoning")
_CALLS = ("tool_call", "tool-call", "tool_use", "function_call", "custom_tool_call", "toolUse")
_RESULTS = ("tool_call_response", "tool-result", "tool_result", "function_call_output", "custom_tool_call_output")


def chat_messages(value: Any, role: str = "user") -> list[Message]:
    """The messages in a recorded value: those of a list, or of a request or a response of a model.

    Args:
        value: The value, or its JSON text. A text that is no JSON is one message.
        role: The role of a text without one.

    Raises:
        ValueError: If a part may be a tool call and cannot be read, or if there are several replies to choose from.
    """
    return list(_messages(loaded(value), role))


def loaded(value: Any) -> Any:
    """The value of a JSON text of an object or a list; other values unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def first_of(fields: dict[str, Any], *names: str) -> Any:
    """The value of the first of these fields that is there and not null; None without one."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def tool_message(value: Any) -> Message | None:
    """The content, `tool_call_id` and status of a result that LangChain recorded as a message; else None."""
    fields = _unwrapped(fields_of(loaded(value)))
    if fields.get("type") != "tool" or not isinstance(fields.get("tool_call_id"), str):
        return None
    return {name: fields.get(name) for name in ("content", "tool_call_id", "status")}


def elements_of(value: list[Any]) -> Iterator[tuple[str, Any]]:
    """The elements of a list with their places; those of a file of lines are named by their lines."""
    numbers: Any = getattr(value, "numbers", None)
    for place, element in enumerate(value):
        yield f"[{place}]" if numbers is None else f"line {numbers[place]}", element


def _present(fields: dict[str, Any], *names: str) -> Any:
    """The value of the first of these fields that is there, null or not; else `ABSENT`."""
    return next((fields[name] for name in names if name in fields), ABSENT)


def _messages(value: Any, role: str) -> Iterator[Message]:
    if isinstance(value, str):
        yield {"role": role, "content": value}
    elif isinstance(value, list):
        for element in cast(list[Any], value):
            yield from _messages(element, role)
    elif isinstance(value, dict):
        fields = _unwrapped(cast(dict[str, Any], value))
        inner = _inside(fields)
        if inner is None:
            yield from _message(fields, role)
        else:
            yield from _messages(*inner)


def _unwrapped(fields: dict[str, Any]) -> dict[str, Any]:
    """A message of LangChain without the envelope of its serialization."""
    if "lc" in fields:
        return fields_of(fields.get("kwargs"))
    if isinstance(fields.get("data"), dict) and fields.get("type") in _ROLES:
        return {"type": fields["type"], **fields["data"]}
    return fields


def _inside(fields: dict[str, Any]) -> tuple[Any, str] | None:
    """What has the messages of a request or a response, and their role; None for a message."""
    if "role" in fields or fields.get("type") in _ROLES:
        return None
    for name, part in (("choices", "message"), ("generations", "message")):
        if isinstance(fields.get(name), list):
            options = cast(list[Any], fields[name])
            options = cast(list[Any], options[0]) if options and isinstance(options[0], list) else options
            if len(options) > 1:
                raise ValueError(f"it has {len(options)} replies to choose from; record one reply a request")
            return [fields_of(option).get(part, option) for option in options], "assistant"
    for name, role in (("messages", "user"), ("output", "assistant"), ("input", "user"), ("message", "assistant")):
        if isinstance(fields.get(name), list | dict):
            return fields[name], role
    return None


def _message(fields: dict[str, Any], role: str) -> Iterator[Message]:
    """The message of an object: one, or more where its parts are a reply and results."""
    role = _ROLES.get(str(first_of(fields, "role", "type")), role)
    message: Message = {"role": role, "content": ""}
    results: list[Message] = []
    if role == "tool" and (id := first_of(fields, "tool_call_id", "id")) is not None:
        content = first_of(fields, "content", "parts")
        if not any(fields_of(part).get("type") in _RESULTS for part in _parts(content)):
            yield {"role": "tool", "tool_call_id": id, "content": content, "status": fields.get("status")}
            return
    listed = any(isinstance(fields.get(name), str | list) for name in ("parts", "content"))
    for part in _parts(first_of(fields, "parts", "content")) if listed or "role" in fields else [fields]:
        _add_part(message, results, part)
    message["reasoning_content"] = "\n".join(
        [*message.get("reasoning_content", []), *filter(None, [fields.get("reasoning_content")])]
    )
    calls = [*_parts(fields.get("tool_calls")), *_parts(fields.get("invalid_tool_calls"))]
    if calls:  # LangChain repeats the blocks of Anthropic as its own calls
        message["tool_calls"] = [_call(fields_of(call)) for call in calls]
    yield from results
    if message["content"] or message["reasoning_content"] or message.get("tool_calls") or not results:
        yield message


def _parts(content: Any) -> list[Any]:
    return cast(list[Any], content) if isinstance(content, list) else [] if content is None else [content]


def _add_part(message: Message, results: list[Message], part: Any) -> None:
    """Adds a part of a message to its text, thoughts or calls, or to the results."""
    fields = fields_of(part)
    kind = str(fields.get("type", ""))
    text = part if isinstance(part, str) else first_of(fields, "text", "content")
    if kind in _CALLS or "toolUse" in fields:
        message.setdefault("tool_calls", []).append(_call(fields_of(fields.get("toolUse", fields))))
    elif kind in _RESULTS:
        content = _present(fields, "response", "result", "content", "output")
        failed = fields.get("is_error") is True or fields.get("status") == "error"
        id = first_of(fields, "tool_use_id", "call_id", "toolCallId", "id")
        results.append({"role": "tool", "tool_call_id": id, "content": content, "status": "error" if failed else None})
    elif kind in _THOUGHTS:
        thought = first_of(fields, "content", "thinking", "text")
        message.setdefault("reasoning_content", []).extend([thought] if isinstance(thought, str) else [])
    elif isinstance(text, str) and (kind in _TEXTS or not kind):
        message["content"] += text
    elif "tool" in kind or "call" in kind:
        raise ValueError(f"a part of type {kind!r}; known are the calls and results of tools that the agent runs")


def _call(fields: dict[str, Any]) -> Message:
    """A call in one form: `id`, `name`, `arguments`.

    Raises:
        ValueError: If it names no tool.
    """
    function = fields_of(first_of(fields, "function", "custom")) or fields
    name = first_of(function, "name", "toolName")
    if not isinstance(name, str) or not name:
        raise ValueError("a call in it names no tool")
    arguments = _present(function, "arguments", "args", "input")
    return {"id": first_of(fields, "call_id", "toolCallId", "toolUseId", "id"), "name": name, "arguments": arguments}


def with_tool_calls(message: Message, ids: Iterable[str]) -> Message:
    """A message of the assistant as chat completions write it, with these ids for its calls."""
    calls = [
        {"id": id, "type": "function", "function": {"name": call["name"], "arguments": written(call["arguments"])}}
        for id, call in zip(ids, message.get("tool_calls", ()), strict=True)
    ]
    return {**message, "content": message["content"] or None, "tool_calls": calls}


def written(value: Any) -> str:
    """A value as the text of a message: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else dump_json(value)

"""References: values that an agent passes by name instead of copying them.

A text stands for a value if it is a reference as a whole: `$price` is an input, `$2` the result of the second call of
the trace, `$2.items[0].id` or `$2["unit price"]` a part of it. `$$5` is the text `$5`. The references of NESTFUL (Basu
et al., 2024) are read as well: `$var_2.result$` is `$2`, and `$var_2.id$` is `$2.id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, cast

from flowmind.base.files import dump_json
from flowmind.trace.events import Called, Event, Origin, Said, Trace
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Observation, ToolCall

_HEAD = re.compile(r"\$(?:(?P<number>\d+)|(?P<name>[^\W\d]\w*))")
_VARIABLE = re.compile(r"var_?(\d+)")
_PART = re.compile(r"""\.(?P<key>[^\W\d][\w-]*)|\[(?P<index>-?\d+)\]|\[(?P<quote>["'])(?P<quoted>.*?)(?P=quote)\]""")
_WHOLE = ("result", "output_0")
"""The names that NESTFUL gives to a result which is no object."""
_SHOWN_KEYS = 12
_ABSENT: Any = object()

_Path = tuple[str | int, ...]


class BadReference(ValueError):
    """A reference that stands for no value. The message says why, and what would be right."""


class Resolved(NamedTuple):
    """A value with its references resolved."""

    value: Any
    origin: Origin | None
    """Where the references point: an origin, or `made` of the parts that have one; None without a reference."""


def resolve(value: Any, inputs: Mapping[str, Any], results: Sequence[Observation]) -> Resolved:
    """A value in which every reference is replaced by what it stands for, in lists and objects too.

    A text that begins with `$` but does not have the form of a reference, such as `$5.00`, is a text.

    Args:
        value: As the agent wrote it.
        inputs: The inputs of the case.
        results: The observations of the calls so far; `$1` is the first one.

    Raises:
        BadReference: If a reference names no input, no call, a failed call, or no part of a value.
    """
    if isinstance(value, str):
        return _resolve_text(value, inputs, results)
    parts = {key: resolve(part, inputs, results) for key, part in _children(value)}
    stated = {str(key): part.origin for key, part in parts.items() if part.origin is not None}
    values = {key: part.value for key, part in parts.items()}
    if not stated and all(values[key] is part for key, part in _children(value)):
        return Resolved(value, None)
    made = list(values.values()) if isinstance(value, list) else values
    return Resolved(made, Origin(kind="made", parts=stated) if stated else None)


def resolve_call(
    call: ToolCall, inputs: Mapping[str, Any], results: Sequence[Observation]
) -> tuple[ToolCall, dict[str, Origin]]:
    """A call with its references resolved, and the origins of the arguments that have one; see `resolve`.

    Raises:
        BadReference: If a reference stands for no value.
    """
    resolved = resolve(call.args, inputs, results)
    origins = resolved.origin.parts if resolved.origin is not None else {}
    return call.model_copy(update={"args": resolved.value}), origins


def escape(value: Any) -> Any:
    """A value as an agent writes it if none of its texts is meant as a reference: a leading `$` is doubled."""
    if isinstance(value, str):
        return f"${value}" if value.startswith("$") else value
    escaped = {key: escape(part) for key, part in _children(value)}
    return list(escaped.values()) if isinstance(value, list) else escaped if isinstance(value, dict) else value


def with_references(trace: Trace, answer: bool = True) -> Trace:
    """A recorded trace with the references of its agent resolved, and the origins that they state.

    The trace is unchanged unless its agent passes values by name. It does if a successful call has a text in the form
    of a reference, and if every such text stands for a value from before its call and is no data itself: it occurs in
    no input, no result and no text of a user.

    Args:
        trace: As it was recorded.
        answer: Whether the agent gave the answer, so that it may have references too.
    """
    results = [call.observation for call in trace.calls]
    if not _by_name(trace, results):
        return trace
    events: list[Event] = []
    number = 0
    for event in trace.events:
        events.append(_resolved_event(event, trace.inputs, results[:number]) if isinstance(event, Called) else event)
        number += isinstance(event, Called)
    given = _resolved_or_none(trace.answer, trace.inputs, results) if answer else None
    value, stated = given or Resolved(trace.answer, None)
    return trace.model_copy(update={"events": tuple(events), "answer": value, "stated": stated})


def _by_name(trace: Trace, results: Sequence[Observation]) -> bool:
    """Whether the agent of a recorded trace passes values by name."""
    written = [
        (number, text)
        for number, call in enumerate(trace.calls)
        if call.observation.ok
        for text in _texts(call.call.args)
        if _has_form(text)
    ]
    if not written:
        return False
    said = [event.text for event in trace.events if isinstance(event, Said) and event.role == "user"]
    data = "\n".join([dump_json(trace.inputs), *said, *(dump_json(result.value) for result in results)])
    return all(
        _resolved_or_none(text, trace.inputs, results[:number])
        and not re.search(rf"(?<![\w$]){re.escape(text)}(?!\w)", data)
        for number, text in written
    )


def _resolved_event(event: Called, inputs: Mapping[str, Any], results: Sequence[Observation]) -> Called:
    try:
        call, stated = resolve_call(event.call, inputs, results)
    except BadReference:  # the recorded call failed, or its agent meant a text
        return event
    return event.model_copy(update={"call": call, "stated": stated})


def _resolved_or_none(value: Any, inputs: Mapping[str, Any], results: Sequence[Observation]) -> Resolved | None:
    try:
        return resolve(value, inputs, results)
    except BadReference:
        return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for _, part in _children(value):
        yield from _texts(part)


def _has_form(text: str) -> bool:
    head = _HEAD.match(text)
    return head is not None and _path_of(text, head) is not None


def _path_of(text: str, head: re.Match[str]) -> _Path | None:
    """The keys and indices after the head of a reference; None if something else follows it."""
    nested = head["name"] is not None and text.endswith("$") and _VARIABLE.fullmatch(head["name"])
    at, end = head.end(), len(text) - bool(nested)
    path: list[str | int] = []
    while at < end:
        part = _PART.match(text, at, end)
        if part is None:
            return None
        path.append(int(part["index"]) if part["index"] else part["key"] or part["quoted"])
        at = part.end()
    return tuple(path)


def _resolve_text(text: str, inputs: Mapping[str, Any], results: Sequence[Observation]) -> Resolved:
    if text.startswith("$$"):
        return Resolved(text[1:], None)
    if (head := _HEAD.match(text)) is None:
        return Resolved(text, None)
    path = _path_of(text, head)
    try:
        root, value = _root(head, inputs, results)
    except BadReference as error:
        if path is None:
            return Resolved(text, None)
        raise BadReference(f"{text}: {error}; {_escaped(text)}") from None
    if path is None:
        follow = f"after {head[0]} only keys and indices may follow, as in {head[0]}.name or {head[0]}[0].id"
        raise BadReference(f"{text}: {follow}; any other value needs a tool; {_escaped(text)}")
    if path[:1] and path[0] in _WHOLE and head["number"] is None and not isinstance(value, dict):
        path = path[1:]
    value, path = _walk(text, head[0], value, path)
    return Resolved(deepcopy(value), root.model_copy(update={"path": path}))


def _escaped(text: str) -> str:
    return f"write ${text} for the text {text}"


def _root(head: re.Match[str], inputs: Mapping[str, Any], results: Sequence[Observation]) -> tuple[Origin, Any]:
    """The input or the call that a reference begins with, and its value."""
    name = head["name"]
    if name is not None and name in inputs:
        return Origin(kind="input", name=name), inputs[name]
    variable = None if name is None else _VARIABLE.fullmatch(name)
    if name is not None and variable is None:
        known = f"the inputs are {', '.join(f'${known}' for known in inputs)}" if inputs else "there are no inputs"
        raise BadReference(f"there is no input {name}; {known}")
    number = int(head["number"] if variable is None else variable[1])
    if not 1 <= number <= len(results):
        last = len(results)
        so_far = "there is no result yet" if not last else f"the results so far are $1 to ${last}" if last > 1 else ""
        raise BadReference(f"there is no result {number}; {so_far or 'the only result so far is $1'}")
    if not results[number - 1].ok:
        raise BadReference(f"call {number} failed, so that it has no result")
    return Origin(kind="output", step=number - 1), results[number - 1].value


def _walk(text: str, shown: str, value: Any, path: _Path) -> tuple[Any, _Path]:
    """The part of a value at a path, and the path with its indices counted from the start."""
    walked: list[str | int] = []
    for key in path:
        inner = _part(value, key)
        if inner is _ABSENT:
            raise BadReference(f"{text}: {_missing(shown, value)}")
        walked.append(key % len(value) if isinstance(key, int) else key)
        value, shown = inner, f"{shown}.{key}" if isinstance(key, str) else f"{shown}[{key}]"
    return value, tuple(walked)


def _part(value: Any, key: str | int) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key, _ABSENT)
    if isinstance(value, list) and isinstance(key, int):
        items = cast(list[Any], value)
        return items[key] if -len(items) <= key < len(items) else _ABSENT
    return _ABSENT


def _missing(shown: str, value: Any) -> str:
    """What a value has instead of the part that a reference names."""
    if isinstance(value, dict):
        keys = [str(key) for key in cast(dict[Any, Any], value)]
        more = ", …" if len(keys) > _SHOWN_KEYS else ""
        return (
            f"{shown} is an object with the keys {', '.join(keys[:_SHOWN_KEYS])}{more}" if keys else f"{shown} is {{}}"
        )
    if isinstance(value, list):
        count = len(cast(list[Any], value))
        named = f"; its elements are {shown}[0] to {shown}[{count - 1}]" if count else ""
        return f"{shown} is a list of {count}{named}"
    return f"{shown} is {type_name(value)} and has no parts"


def _children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, list):
        return list(enumerate(cast(list[Any], value)))
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).items())
    return []

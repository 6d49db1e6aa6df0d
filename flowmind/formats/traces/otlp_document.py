"""Spans of OpenTelemetry in JSON: OTLP, and spans as the SDKs of Python and JavaScript and Phoenix give them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from flowmind.formats.conversation import fields_of
from flowmind.formats.traces.imported import Unreadable
from flowmind.formats.traces.messages import elements_of, first_of
from flowmind.formats.traces.spans import Span
from tools_registry.specs.schema import type_name

_DETAILS = "gen_ai.client.inference.operation.details"
"""The event that has the messages of a request if they are recorded as events."""


def is_spans(value: Any) -> bool:
    """Whether a document has spans of OpenTelemetry, by its structure."""
    if isinstance(value, list):
        return is_spans(next(iter(cast(list[Any], value)), None))
    fields = fields_of(value)
    return "resourceSpans" in fields or _is_span(fields) or (_is_page(fields) and is_spans(fields["data"]))


def keys_of(value: Any) -> set[str]:
    """The names of the attributes of all spans of a document, which may be broken."""
    keys: set[str] = set()
    for _, span in _rows(value, strict=False):
        attributes = fields_of(span).get("attributes")
        if isinstance(attributes, dict):
            keys |= cast(dict[str, Any], attributes).keys()
        elif isinstance(attributes, list):
            keys |= {str(fields_of(entry).get("key")) for entry in cast(list[Any], attributes)}
    return keys


def spans_of(value: Any) -> list[Span]:
    """The spans of a document.

    Args:
        value: An object with `resourceSpans`, a span of an SDK, a page of Phoenix's API, or a list of these.

    Raises:
        Unreadable: With the place.
    """
    spans: list[Span] = []
    for where, row in _rows(value, strict=True):
        fields = _object(row, where)
        try:
            spans.append(_sdk_span(fields, where) if _is_span(fields) else _otlp_span(fields, where))
        except ValueError as error:
            raise error if isinstance(error, Unreadable) else Unreadable(f"{where}: {error}") from None
    if not spans:
        raise Unreadable("it has no spans; give the spans of an agent's run")
    return spans


def _is_span(fields: dict[str, Any]) -> bool:
    context = fields_of(first_of(fields, "context", "spanContext"))
    return "name" in fields and bool(context.keys() & {"trace_id", "traceId"})


def _is_page(fields: dict[str, Any]) -> bool:
    return isinstance(fields.get("data"), list)


def _rows(value: Any, strict: bool, where: str = "") -> Iterator[tuple[str, Any]]:
    """The spans of a document as they stand in it, each with its place."""
    if isinstance(value, list):
        for place, element in elements_of(cast(list[Any], value)):
            yield from _rows(element, strict, f"{where}{place}")
        return
    fields = fields_of(value)
    if "resourceSpans" in fields:
        prefix = f"{where}, " if where.startswith("line ") else f"{where}." if where else ""
        for resource_at, resource in _elements(fields, "resourceSpans", prefix, strict):
            for scope_at, scope in _elements(resource, "scopeSpans", f"{resource_at}.", strict):
                about = fields_of(scope.get("scope"))
                for span_at, span in _elements(scope, "spans", f"{scope_at}.", strict):
                    yield span_at, {**span, "scope": about}
    elif _is_page(fields) and not _is_span(fields):
        yield from _rows(fields["data"], strict, f"{where}data")
    elif not strict or _is_span(fields):
        yield where or "the span", value
    else:
        raise Unreadable(f"{where or 'the document'}: it is no span; give an object with resourceSpans, or spans")


def _elements(fields: dict[str, Any], name: str, prefix: str, strict: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = fields.get(name, [])
    where = f"{prefix}{name}"
    if not isinstance(listed, list):
        if strict:
            raise Unreadable(f"{where}: it is {type_name(listed)}, not a list")
        return
    for number, element in enumerate(cast(list[Any], listed)):
        yield f"{where}[{number}]", _object(element, f"{where}[{number}]") if strict else fields_of(element)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: it is {type_name(value)}, not an object")
    return cast(dict[str, Any], value)


def _otlp_span(fields: dict[str, Any], where: str) -> Span:
    """A span of OTLP: ids in hexadecimal or base64, times as numbers or their digits."""
    attributes = _attributes(fields.get("attributes", []), f"{where}.attributes")
    events = [
        (str(event.get("name")), _attributes(event.get("attributes", []), f"{event_at}.attributes"))
        for event_at, event in _elements(fields, "events", f"{where}.", True)
    ]
    status = _object(fields.get("status", {}), f"{where}.status")
    failed = status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    scope = fields_of(fields.get("scope"))
    return Span(
        where=where,
        trace=_id(fields.get("traceId"), 16, f"{where}.traceId"),
        id=_id(fields.get("spanId"), 8, f"{where}.spanId"),
        parent=_parent(fields.get("parentSpanId"), f"{where}.parentSpanId"),
        name=_name(fields, where),
        start=_nanoseconds(fields.get("startTimeUnixNano"), f"{where}.startTimeUnixNano"),
        end=_nanoseconds(fields.get("endTimeUnixNano"), f"{where}.endTimeUnixNano"),
        attributes=_with_details(attributes, events),
        error=_error(events, str(status.get("message") or "")) if failed else None,
        dropped=int(fields.get("droppedAttributesCount") or 0),
        version=" ".join(filter(None, [str(scope.get("name", "")), str(scope.get("version") or "")])),
    )


def _sdk_span(fields: dict[str, Any], where: str) -> Span:
    """A span as an SDK dumps it: `to_json` of Python, the fields of JavaScript, or Phoenix."""
    name = "context" if "context" in fields else "spanContext"
    context = _object(fields[name], f"{where}.{name}")
    ids = {key.replace("_", "").lower(): value for key, value in context.items()}
    parent = first_of(fields, "parent_id", "parentSpanId") or fields_of(fields.get("parentSpanContext")).get("spanId")
    events = [
        (str(event.get("name")), fields_of(event.get("attributes")))
        for _, event in _elements(fields, "events", f"{where}.", True)
    ]
    status = fields_of(fields.get("status"))
    code = first_of(status, "status_code", "code") or fields.get("status_code")
    message = first_of(status, "description", "message") or fields.get("status_message")
    return Span(
        where=where,
        trace=_id(ids.get("traceid"), 16, f"{where}.{name}"),
        id=_id(ids.get("spanid"), 8, f"{where}.{name}"),
        parent=_parent(parent, f"{where}, its parent"),
        name=_name(fields, where),
        start=nanoseconds_of(first_of(fields, "start_time", "startTime"), f"{where}, its start time"),
        end=nanoseconds_of(first_of(fields, "end_time", "endTime"), f"{where}, its end time"),
        attributes=_with_details(_object(fields.get("attributes") or {}, f"{where}.attributes"), events),
        error=_error(events, str(message or "")) if code in ("ERROR", 2) else None,
        dropped=int(fields.get("droppedAttributesCount") or 0),
    )


def _with_details(attributes: dict[str, Any], events: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    details = [fields for name, fields in events if name == _DETAILS]
    return {**details[0], **attributes} if details else attributes


def _error(events: Sequence[tuple[str, dict[str, Any]]], message: str) -> str:
    """The message of the exception, else that of the status, which may have a stack trace."""
    raised = [fields.get("exception.message") for name, fields in events if name == "exception"]
    return next((str(text) for text in reversed(raised) if text), message)


def _name(fields: dict[str, Any], where: str) -> str:
    name = fields.get("name", "")
    if not isinstance(name, str):
        raise Unreadable(f"{where}.name: it is {type_name(name)}, not a text")
    return name


def _id(value: Any, size: int, where: str) -> str:
    """An id in hexadecimal."""
    expected = f"give {2 * size} hexadecimal digits, or {size} bytes in base64"
    if not isinstance(value, str):
        raise Unreadable(f"{where}: the id is {type_name(value)}; {expected}")
    text = value.removeprefix("0x").lower()
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * size else base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != size or not any(raw):
        raise Unreadable(f"{where}: {value[:80]!r} is no id; {expected}")
    return raw.hex()


def _parent(value: Any, where: str) -> str:
    empty = not value or (isinstance(value, str) and not value.removeprefix("0x").strip("0"))
    return "" if empty else _id(value, 8, where)


def _nanoseconds(value: Any, where: str) -> int | None:
    if value in (None, "", 0, "0"):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    raise Unreadable(f"{where}: {str(value)[:80]!r} is no time; give nanoseconds since the epoch")


def nanoseconds_of(value: Any, where: str) -> int | None:
    """A time in nanoseconds: of ISO 8601, in UTC unless it says otherwise, or of a list of seconds and nanoseconds.

    Raises:
        Unreadable: With the place.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise Unreadable(f"{where}: {value[:80]!r} is no time; give it in ISO 8601") from None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000
    parts = cast(list[Any], value) if isinstance(value, list) else []
    if len(parts) == 2 and all(type(part) is int and part >= 0 for part in parts):
        return parts[0] * 1_000_000_000 + parts[1]
    raise Unreadable(f"{where}: it is {type_name(value)}; give it in ISO 8601, or seconds and nanoseconds")


def _attributes(value: Any, where: str, depth: int = 0) -> dict[str, Any]:
    """The attributes of OTLP, a list of keys and typed values, as an object."""
    if not isinstance(value, list):
        raise Unreadable(f"{where}: they are {type_name(value)}, not a list of keys and values")
    attributes: dict[str, Any] = {}
    for number, entry in enumerate(cast(list[Any], value)):
        fields = _object(entry, f"{where}[{number}]")
        key = fields.get("key")
        if not isinstance(key, str):
            raise Unreadable(f"{where}[{number}]: it has no key")
        attributes[key] = _value(fields.get("value", {}), f"{where}[{number}] ({key})", depth)
    return attributes


def _value(value: Any, where: str, depth: int = 0) -> Any:
    """A typed value of OTLP."""
    fields = _object(value, where)
    if depth > 50:
        raise Unreadable(f"{where}: nested too deeply")
    match list(fields.items()):
        case [] | [("stringValue" | "boolValue" | "intValue" | "doubleValue" | "bytesValue", None)]:
            return None
        case [("stringValue" | "bytesValue", str(text))]:
            return text
        case [("boolValue", bool(truth))]:
            return truth
        case [("intValue", int(number))] if not isinstance(number, bool):
            return number
        case [("intValue", str(digits))] if digits.lstrip("-").isdecimal() and len(digits) <= 20:
            return int(digits)
        case [("doubleValue", int() | float() as number)]:
            return number
        case [("arrayValue", dict())]:
            listed = _elements(fields["arrayValue"], "values", f"{where}.", True)
            return [_value(element, at, depth + 1) for at, element in listed]
        case [("kvlistValue", dict())]:
            return _attributes(fields["kvlistValue"].get("values", []), where, depth + 1)
        case _:
            raise Unreadable(
                f"{where}: the value is not one of stringValue, boolValue, intValue, doubleValue, arrayValue and "
                "kvlistValue"
            )

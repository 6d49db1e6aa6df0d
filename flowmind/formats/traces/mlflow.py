"""Reads traces of MLflow: `Trace.to_json()`, or what `mlflow traces get` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from flowmind.formats.conversation import fields_of
from flowmind.formats.traces.imported import Imported, Reader, Unreadable
from flowmind.formats.traces.messages import (
    Message,
    chat_messages,
    elements_of,
    first_of,
    loaded,
    tool_message,
)
from flowmind.formats.traces.otlp_document import nanoseconds_of
from flowmind.formats.traces.spans import (
    ABSENT,
    Agent,
    Part,
    Reply,
    Span,
    Table,
    Tool,
    answer_of,
    decoded,
    traces_of_spans,
)
from tools_registry.specs.schema import type_name

TYPE, _INPUTS, _OUTPUTS = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"


def _part(span: Span) -> Part:
    match decoded(span.attributes.get(TYPE)):
        case "TOOL":
            return _tool(span)
        case "CHAT_MODEL" | "LLM":
            return _reply(span)
        case "AGENT":
            return Agent("", answer_of(_value(span, _OUTPUTS)))
        case "CHAIN" if not span.parent:
            return Agent("", answer_of(_value(span, _OUTPUTS)))
        case _:
            return None


def _value(span: Span, name: str) -> Any:
    """An attribute, which MLflow stores as the text of its JSON."""
    value = span.first(name)
    return value if value is ABSENT else decoded(value)


def _tool(span: Span) -> Tool:
    result, id, error = _value(span, _OUTPUTS), decoded(span.text("tool_call_id", "gen_ai.tool.call.id")), span.error
    if (told := tool_message(result)) is not None:
        result, id = told["content"], id or told["tool_call_id"]
        error = "" if error is None and told["status"] == "error" else error
    return Tool(span.name, str(id), _value(span, _INPUTS), result, error)


def _reply(span: Span) -> Reply:
    tools = loaded(_value(span, "mlflow.chat.tools"))
    wrote = _messages(span, _OUTPUTS, "assistant")
    return Reply(
        str(decoded(span.text("mlflow.llm.model", "gen_ai.response.model"))),
        _messages(span, _INPUTS, "user"),
        [message for message in wrote if message["role"] == "assistant"],
        cast(list[Any], tools) if isinstance(tools, list) else [],
    )


def _messages(span: Span, name: str, role: str) -> list[Message]:
    value = _value(span, name)
    try:
        return [] if value is ABSENT or value is None else chat_messages(value, role)
    except ValueError as error:
        raise span.refuse(f"{name}: {error}") from None


MLFLOW_SPANS = Table("mlflow", _part, "keep the inputs and outputs of the span (mlflow.trace records both by default)")
"""The attributes of MLflow."""


def _recognises(value: Any) -> bool:
    first = next(iter(cast(list[Any], value)), None) if isinstance(value, list) else value
    fields = fields_of(first)
    return isinstance(fields.get("info"), dict) and "spans" in fields_of(fields.get("data"))


def _read(value: Any) -> Iterator[Imported]:
    traces = elements_of(cast(list[Any], value)) if isinstance(value, list) else [("", value)]
    spans: list[Span] = []
    for place, trace in traces:
        spans += _spans(trace, f"{place}, " if place else "")
    return traces_of_spans(spans, lambda _: MLFLOW_SPANS)


def _spans(trace: Any, prefix: str) -> Iterator[Span]:
    fields = fields_of(trace)
    rows = fields_of(fields.get("data")).get("spans")
    id = first_of(fields_of(fields.get("info")), "trace_id", "request_id")
    if not isinstance(id, str) or not id:
        raise Unreadable(f"{prefix}info: it has no trace_id; give what Trace.to_json() of MLflow returns")
    if not isinstance(rows, list):
        raise Unreadable(f"{prefix}data.spans: it is {type_name(rows)}, not a list")
    for number, row in enumerate(cast(list[Any], rows)):
        yield _span(row, id, f"{prefix}data.spans[{number}]")


def _span(row: Any, trace: str, where: str) -> Span:
    """A span of MLflow 3, or of MLflow 2, which has its ids in `context`."""
    if not isinstance(row, dict):
        raise Unreadable(f"{where}: it is {type_name(row)}, not an object")
    fields = cast(dict[str, Any], row)
    id, parent = first_of({**fields_of(fields.get("context")), **fields}, "span_id"), fields.get("parent_span_id")
    parent = first_of(fields, "parent_id") if parent is None else parent
    if not isinstance(id, str) or not id or not isinstance(parent, str | None):
        raise Unreadable(f"{where}: its span_id and parent_span_id are not texts")
    status, attributes = fields_of(fields.get("status")), fields.get("attributes", {})
    if not isinstance(attributes, dict):
        raise Unreadable(f"{where}.attributes: they are {type_name(attributes)}, not an object")
    failed = first_of(status, "code") in ("STATUS_CODE_ERROR", "ERROR") or fields.get("status_code") == "ERROR"
    return Span(
        where=where,
        trace=trace,
        id=id,
        parent=parent or "",
        name=str(fields.get("name", "")),
        start=_time(first_of(fields, "start_time_unix_nano", "start_time"), f"{where}, its start time"),
        end=_time(first_of(fields, "end_time_unix_nano", "end_time"), f"{where}, its end time"),
        attributes=cast(dict[str, Any], attributes),
        error=str(first_of(status, "message") or fields.get("status_message") or "") if failed else None,
    )


def _time(value: Any, where: str) -> int | None:
    return value if type(value) is int and value > 0 else nanoseconds_of(value, where)


MLFLOW = Reader("MLflow", _recognises, _read)
"""Reads traces of MLflow 2 and 3 as JSON."""

"""Reads observations of Langfuse: a trace with its observations, a page of the API, or rows of an export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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
    INPUTS,
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

TYPE, _METADATA = "langfuse.observation.type", "langfuse.observation.metadata"
_INPUT, _OUTPUT, _MODEL = "langfuse.observation.input", "langfuse.observation.output", "langfuse.observation.model.name"
"""The attributes of Langfuse's SDKs; rows of an export are read as spans that have them."""


def _part(span: Span) -> Part:
    match span.text(TYPE).lower():
        case "tool":
            return _tool(span)
        case "generation":
            return _reply(span)
        case "agent":
            return Agent(span.name, answer_of(span.first(_OUTPUT)))
        case "chain" | "span" if not span.parent:
            return Agent("", answer_of(span.first(_OUTPUT)))
        case _:
            return None


def _tool(span: Span) -> Tool:
    arguments, result, error = loaded(span.first(_INPUT)), span.first(_OUTPUT), span.error
    metadata = fields_of(loaded(span.attributes.get(_METADATA)))
    id = str(decoded(span.text(f"{_METADATA}.tool_call_id")) or metadata.get("tool_call_id") or "")
    if (told := tool_message(result)) is not None:
        result, id = told["content"], id or told["tool_call_id"]
        error = "" if error is None and told["status"] == "error" else error
    if fields_of(arguments).keys() == {"args", "kwargs"}:  # a decorated function; positional arguments have no names
        arguments = ABSENT if arguments["args"] else arguments["kwargs"]
    if arguments is None:
        arguments, result = ABSENT, ABSENT if result is None else result
    return Tool(span.name, id, arguments, result, error)


def _reply(span: Span) -> Reply:
    definitions = fields_of(loaded(span.attributes.get(_INPUT))).get("tools")
    tools = cast(list[Any], definitions) if isinstance(definitions, list) else []
    asked: list[Message] = []
    for entry in _listed(loaded(span.attributes.get(_INPUT))):
        content = fields_of(loaded(fields_of(entry).get("content")))
        if fields_of(entry).get("role") == "tool" and content.get("type") == "function":
            tools.append(content)  # LangChain's handler writes the definitions behind the messages
        else:
            asked += _messages(span, entry, "user")
    wrote = _messages(span, span.attributes.get(_OUTPUT), "assistant")
    return Reply(span.text(_MODEL), asked, [message for message in wrote if message["role"] == "assistant"], tools)


def _listed(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _messages(span: Span, value: Any, role: str) -> list[Message]:
    try:
        return [] if value is None else chat_messages(value, role)
    except ValueError as error:
        raise span.refuse(f"the {'output' if role == 'assistant' else 'input'}: {error}") from None


LANGFUSE_SPANS = Table(
    "langfuse",
    _part,
    "record its input and output (capture_input and capture_output; call a decorated function by keywords; ask the API "
    "for fields=core,basic,io)",
)
"""The attributes of Langfuse's SDKs."""


def _recognises(value: Any) -> bool:
    rows = _rows(value)
    first = fields_of(next((row for _, row in rows), None))
    has_trace = first_of(first, "trace_id", "traceId") is not None and "type" in first
    return has_trace or isinstance(fields_of(value).get("observations"), list)


def _rows(value: Any) -> Iterator[tuple[str, Any]]:
    """The observations of a document, each with its place."""
    if isinstance(value, list):
        for place, element in elements_of(cast(list[Any], value)):
            fields = fields_of(element)
            if "observations" in fields:
                yield from ((f"{place}, {where}", row) for where, row in _rows(fields))
            else:
                yield place, element
        return
    fields = fields_of(value)
    name = next((name for name in ("observations", "data") if isinstance(fields.get(name), list)), "")
    if name:
        yield from ((f"{name}[{number}]", row) for number, row in enumerate(cast(list[Any], fields[name])))
    elif fields:
        yield "the observation", fields


def _read(value: Any) -> Iterator[Imported]:
    fields = fields_of(value)
    trace = fields_of(fields.get("trace")) or (fields if "observations" in fields else {})
    spans = [_span(row, str(trace.get("id", "")), where) for where, row in _rows(value)]
    stated = fields_of(loaded(trace.get("metadata"))).get(INPUTS)
    if stated is not None and spans:
        spans[0] = replace(spans[0], attributes={INPUTS: stated, **spans[0].attributes})
    return traces_of_spans(spans, lambda _: LANGFUSE_SPANS)


def _span(row: Any, trace: str, where: str) -> Span:
    """An observation with names as in the API (`traceId`) or in exports (`trace_id`)."""
    if not isinstance(row, dict):
        raise Unreadable(f"{where}: it is {type_name(row)}; give the observations themselves, not their ids")
    fields = cast(dict[str, Any], row)
    id, kind = fields.get("id"), fields.get("type")
    trace_id = first_of(fields, "trace_id", "traceId") or trace
    parent = first_of(fields, "parent_observation_id", "parentObservationId") or ""
    for name, text in (("id", id), ("type", kind), ("trace_id", trace_id)):
        if not isinstance(text, str) or not text:
            raise Unreadable(f"{where}: its {name} is {type_name(text)}; give a text")
    if not isinstance(parent, str):
        raise Unreadable(f"{where}: the id of its parent is {type_name(parent)}, not a text")
    metadata = fields_of(loaded(fields.get("metadata")))
    attributes: dict[str, Any] = {**fields_of(metadata.get("attributes")), **metadata, _METADATA: metadata, TYPE: kind}
    attributes |= {name: fields[key] for key, name in (("input", _INPUT), ("output", _OUTPUT)) if key in fields}
    attributes[_MODEL] = first_of(fields, "model", "provided_model_name", "providedModelName")
    return Span(
        where=where,
        trace=str(trace_id),
        id=str(id),
        parent=parent,
        name=str(fields.get("name") or ""),
        start=nanoseconds_of(first_of(fields, "start_time", "startTime"), f"{where}, its start time"),
        end=nanoseconds_of(first_of(fields, "end_time", "endTime"), f"{where}, its end time"),
        attributes=attributes,
        error=str(first_of(fields, "status_message", "statusMessage") or "")
        if fields.get("level") == "ERROR"
        else None,
    )


LANGFUSE = Reader("Langfuse", _recognises, _read)
"""Reads observations of Langfuse as JSON."""

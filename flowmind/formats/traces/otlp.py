"""Reads spans of OpenTelemetry as traces: OTLP as JSON and protobuf, and the spans that SDKs dump."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from flowmind.base.errors import InputError
from flowmind.formats.traces.imported import Imported, Reader, Unreadable
from flowmind.formats.traces.openinference_spans import KIND
from flowmind.formats.traces.otlp_document import is_spans, keys_of, spans_of
from flowmind.formats.traces.span_tables import table_of
from flowmind.formats.traces.spans import traces_of_spans


def traces_of_otlp(data: bytes | dict[str, Any] | list[Any]) -> list[Imported]:
    """The traces of spans of OpenTelemetry, whatever instrumentation recorded them.

    Args:
        data: The body of a request in protobuf (`ExportTraceServiceRequest`), or a JSON document; see `spans_of`.

    Raises:
        Unreadable: With the place.
        InputError: If protobuf is given and the extra `otel` is missing.
    """
    return list(_read(document_of_protobuf(data) if isinstance(data, bytes) else data))


def document_of_protobuf(data: bytes) -> dict[str, Any]:
    """The JSON form of an `ExportTraceServiceRequest` in protobuf, with ids in hexadecimal.

    Raises:
        Unreadable: If it is no such message.
        InputError: If the extra `otel` is missing.
    """
    try:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ModuleNotFoundError:
        raise InputError("OTLP in protobuf needs the extra: pip install 'flowmind-es[otel]'") from None
    try:
        request = ExportTraceServiceRequest.FromString(data)
    except Exception:  # DecodeError of protobuf, or a ValueError of another implementation of it
        raise Unreadable(f"{len(data)} bytes are no ExportTraceServiceRequest of OTLP in protobuf") from None
    return {"resourceSpans": [_resource(resource) for resource in request.resource_spans]}


def _resource(resource: Any) -> dict[str, Any]:
    scopes = [
        {"scope": {"name": scope.scope.name, "version": scope.scope.version}, "spans": list(map(_span, scope.spans))}
        for scope in resource.scope_spans
    ]
    return {"resource": {"attributes": _attributes(resource.resource.attributes)}, "scopeSpans": scopes}


def _span(span: Any) -> dict[str, Any]:
    events = [{"name": event.name, "attributes": _attributes(event.attributes)} for event in span.events]
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _attributes(span.attributes),
        "droppedAttributesCount": span.dropped_attributes_count,
        "events": events,
        "status": {"code": int(span.status.code), "message": span.status.message},
    }


def _attributes(attributes: Any) -> list[dict[str, Any]]:
    return [{"key": attribute.key, "value": _value(attribute.value)} for attribute in attributes]


def _value(value: Any) -> dict[str, Any]:
    """A value in the JSON form of OTLP."""
    match value.WhichOneof("value"):
        case "array_value":
            return {"arrayValue": {"values": list(map(_value, value.array_value.values))}}
        case "kvlist_value":
            return {"kvlistValue": {"values": _attributes(value.kvlist_value.values)}}
        case "bytes_value":
            return {"bytesValue": base64.b64encode(value.bytes_value).decode()}
        case "int_value":
            return {"intValue": str(value.int_value)}
        case "string_value" | "bool_value" | "double_value" as kind:
            return {f"{kind.removesuffix('_value')}Value": getattr(value, kind)}
        case _:
            return {}


def _read(value: Any) -> Iterator[Imported]:
    return traces_of_spans(spans_of(value), table_of)


def _recognises(value: Any) -> bool:
    return is_spans(value) and KIND not in keys_of(value)


OTEL = Reader("OpenTelemetry GenAI", _recognises, _read)
"""Reads OTLP as JSON, and the spans that SDKs dump."""

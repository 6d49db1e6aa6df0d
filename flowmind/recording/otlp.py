"""A receiver of OpenTelemetry traces over OTLP/HTTP, which writes them as JSON lines.

Each line is one `ExportTraceServiceRequest` in the JSON encoding of OTLP: ids are hexadecimal, integers of 64 bits are
texts, enumerations are numbers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from flowmind.base.errors import InputError
from flowmind.base.files import MAX_LINE, dump_json, parse_json
from flowmind.base.secrets import Redaction
from flowmind.recording.lines import LineFile
from flowmind.recording.listening import HOST, serve

Encoding = Literal["protobuf", "json"]
_ENCODINGS: dict[str, Encoding] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_TYPES: dict[Encoding, str] = {encoding: type for type, encoding in _ENCODINGS.items()}
_MAX_BODY = 64 * 1024 * 1024
"""The most bytes of a request, unpacked."""
_IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
"""The ids of spans and links with their sizes in bytes."""
_OPTIONAL = "parentSpanId"
_LARGE = {"intValue", "startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"}
"""The integers of 64 bits, which are texts in JSON."""


@dataclass
class Counts:
    """What a receiver was sent."""

    spans: int = 0
    traces: int = 0
    rejected: int = 0
    dropped: int = 0
    """Requests with metrics or logs."""


class Receiver:
    """Answers the requests of exporters.

    Args:
        file: Takes the lines.
        redaction: Acts on every text before it is written.
    """

    def __init__(self, file: LineFile, redaction: Redaction) -> None:
        self.counts = Counts()
        self._file = file
        self._redaction = redaction
        self._traces: set[str] = set()

    def app(self) -> web.Application:
        """The application with the three paths of OTLP."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/v1/traces", self._receive)
        app.router.add_post("/v1/metrics", self._drop)
        app.router.add_post("/v1/logs", self._drop)
        return app

    async def _receive(self, request: web.Request) -> web.Response:
        encoding = _ENCODINGS.get(request.content_type)
        if encoding is None:
            return web.Response(status=415, text=f"send {' or '.join(_ENCODINGS)}\n")
        try:
            export = _decoded(await request.read(), encoding)
            lines, rejected = _lines(self._redaction.value(export))
        except (ValueError, RecursionError, HttpProcessingError, web.RequestPayloadError) as error:
            return _failure(encoding, 400, f"this is no OTLP export of traces: {error}")
        except web.HTTPRequestEntityTooLarge:
            return _failure(encoding, 413, f"a request may have {_MAX_BODY} bytes")
        try:
            for line in lines:
                self._file.write(line)
        except OSError as error:
            return _failure(encoding, 503, f"the spans cannot be written: {error.strerror}")
        for line in lines:
            spans = [span["traceId"] for _, _, span in _spans(line)]
            self.counts.spans += len(spans)
            self._traces.update(spans)
        self.counts.traces = len(self._traces)
        self.counts.rejected += len(rejected)
        return _accepted(encoding, rejected)

    async def _drop(self, request: web.Request) -> web.Response:
        self.counts.dropped += 1
        return _accepted(_ENCODINGS.get(request.content_type, "json"), [])


async def record_otlp(out: Path, port: int, redaction: Redaction, report: Callable[[str], None]) -> Counts:
    """Receives traces until the process is interrupted or terminated.

    Args:
        out: The file that lines are appended to. A line is in it before its request is answered.
        port: The port on loopback; 0 for any that is free.
        redaction: Acts on every text before it is written.
        report: Takes a line that says where the receiver listens.

    Raises:
        InputError: If the extra is missing, the file cannot be written, or the port cannot be used.
    """
    _protobuf()
    with LineFile(out, lambda value: isinstance(value, dict) and "resourceSpans" in value, "OTLP traces") as file:
        receiver = Receiver(file, redaction)
        await serve(
            receiver.app(),
            port,
            lambda taken: report(
                f"receiving OTLP/HTTP for {out}; set OTEL_EXPORTER_OTLP_ENDPOINT=http://{HOST}:{taken}; Ctrl-C ends it"
            ),
        )
        return receiver.counts


def _protobuf() -> Any:
    """The modules that read and write protobuf: the messages, and the conversion to JSON.

    Raises:
        InputError: If the extra is not installed.
    """
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError:
        raise InputError("record otlp needs the extra: pip install 'flowmind-es[otel]'") from None
    return trace_service_pb2, json_format


def _decoded(body: bytes, encoding: Encoding) -> dict[str, Any]:
    """An export as JSON.

    Raises:
        ValueError: If it cannot be read.
    """
    if encoding == "json":
        value = parse_json(body.decode())
        if not isinstance(value, dict):
            raise ValueError("it is not an object")
        return cast(dict[str, Any], value)
    messages, json_format = _protobuf()
    try:
        export = messages.ExportTraceServiceRequest.FromString(body)
    except Exception as error:  # DecodeError, which depends on the implementation
        raise ValueError(str(error)) from None
    return json_format.MessageToDict(export, use_integers_for_enums=True)


def _lines(export: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines of an export, in the JSON encoding of OTLP, and for each span that cannot be used the reason.

    An export that is longer than a line may be is divided.
    """
    kept: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
    rejected: list[str] = []
    for resource, scope, span in _spans(export):
        try:
            span = _with_ids(_with_texts(span))
            if len(dump_json(span)) > MAX_LINE // 2:
                raise ValueError(f"it has more than {MAX_LINE // 2} characters")
            kept.append((resource, scope, span))
        except ValueError as error:
            rejected.append(f"span {str(span.get('name'))[:80]!r}: {error}")
    return list(_divided(kept)), rejected


_Placed = list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]


def _divided(spans: _Placed) -> Iterator[dict[str, Any]]:
    """Exports of spans, none longer than a line may be."""
    if not spans:
        return
    export = _export(spans)
    if len(spans) == 1 or len(dump_json(export).encode()) <= MAX_LINE:
        yield export
    else:
        yield from _divided(spans[: len(spans) // 2])
        yield from _divided(spans[len(spans) // 2 :])


def _export(spans: _Placed) -> dict[str, Any]:
    """The export of spans, each with its resource and scope."""
    resources: list[dict[str, Any]] = []
    of: Any = None
    within: Any = None
    for resource, scope, span in spans:
        if resource is not of:
            of, within = resource, None
            resources.append({**{key: resource[key] for key in resource if key != "scopeSpans"}, "scopeSpans": []})
        scopes = resources[-1]["scopeSpans"]
        if scope is not within:
            within = scope
            scopes.append({**{key: scope[key] for key in scope if key != "spans"}, "spans": []})
        scopes[-1]["spans"].append(span)
    return {"resourceSpans": resources}


def _spans(export: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """The spans of an export, each with its resource and scope.

    Raises:
        ValueError: If it is not an export.
    """
    for resource in _objects(export, "resourceSpans"):
        for scope in _objects(resource, "scopeSpans"):
            for span in _objects(scope, "spans"):
                yield resource, scope, span


def _objects(owner: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = owner.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in cast(list[Any], values)):
        raise ValueError(f"{key} is not a list of objects")
    return cast(list[dict[str, Any]], values)


def _with_texts(value: Any) -> Any:
    """A JSON value of OTLP whose integers of 64 bits are texts, also if a client wrote numbers."""
    if isinstance(value, list):
        return [_with_texts(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {
            key: str(item) if key in _LARGE and isinstance(item, int) else _with_texts(item)
            for key, item in cast(dict[str, Any], value).items()
        }
    return value


def _with_ids(span: dict[str, Any]) -> dict[str, Any]:
    """A span whose ids, and those of its links, are hexadecimal.

    Raises:
        ValueError: If an id is missing or has another size.
    """
    ids = {key: _id(span.get(key), key, size) for key, size in _IDS.items() if key != _OPTIONAL or span.get(key)}
    links = [{**link, **{key: _id(link.get(key), key, _IDS[key]) for key in ("traceId", "spanId")}}
             for link in _objects(span, "links")]  # fmt: skip
    return {**span, **ids, **({"links": links} if links else {})}


def _id(value: Any, key: str, size: int) -> str:
    """An id in lower-case hexadecimal digits; base64, which protobuf's own JSON has, is read as well."""
    try:
        if not isinstance(value, str):
            raise ValueError
        data = bytes.fromhex(value) if len(value) == 2 * size else base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        data = b""
    if len(data) != size or not any(data):
        raise ValueError(f"{key} is not {size} bytes in hexadecimal digits")
    return data.hex()


def _accepted(encoding: Encoding, rejected: list[str]) -> web.Response:
    """The answer to an export: with the number of rejected spans and the first reason, if there are any."""
    partial = {"rejectedSpans": str(len(rejected)), "errorMessage": rejected[0]} if rejected else None
    if encoding == "json":
        return web.json_response({"partialSuccess": partial} if partial else {}, dumps=dump_json)
    messages, json_format = _protobuf()
    answer = messages.ExportTraceServiceResponse()
    if partial:
        json_format.ParseDict({"partialSuccess": partial}, answer)
    return web.Response(body=answer.SerializeToString(), content_type=_TYPES["protobuf"])


def _failure(encoding: Encoding, status: int, message: str) -> web.Response:
    """An answer with a `google.rpc.Status`, as OTLP asks for."""
    if encoding == "json":
        return web.json_response({"message": message}, status=status, dumps=dump_json)
    text = message.encode()[:127]  # its length is one byte then: field 2 of the message, which is a text
    return web.Response(status=status, body=bytes([0x12, len(text)]) + text, content_type=_TYPES["protobuf"])

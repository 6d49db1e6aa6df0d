"""Spans of OpenTelemetry, OpenInference, MLflow and Langfuse are read as traces."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import span_documents as documents
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flowmind.formats.openai_messages import trace_of_messages
from flowmind.formats.traces.imported import Unreadable
from flowmind.formats.traces.langfuse import LANGFUSE
from flowmind.formats.traces.mlflow import MLFLOW
from flowmind.formats.traces.openinference import OPENINFERENCE
from flowmind.formats.traces.otlp import OTEL, document_of_protobuf, traces_of_otlp
from flowmind.trace.events import Trace

READERS = {"otel": OTEL, "openinference": OPENINFERENCE, "mlflow": MLFLOW, "langfuse": LANGFUSE}
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "otel": documents.otlp,
    "openinference": documents.openinference,
    "mlflow": documents.mlflow,
    "langfuse": documents.langfuse,
}
SAMPLES = Path(os.environ.get("FLOWMIND_FIXTURES") or Path(__file__).parents[2] / "shared" / "fixtures") / "traces"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="no samples: neither FLOWMIND_FIXTURES nor ../shared/fixtures has traces"
)


def calls(trace: Trace) -> list[tuple[Any, ...]]:
    return [(c.call.tool, c.call.args, c.observation.ok, c.observation.value, c.turn, c.id) for c in trace.calls]


def only(read: Any) -> Any:
    (imported,) = read
    return imported


@pytest.mark.parametrize("name", READERS)
def test_one_run_gives_one_trace_in_every_format(name: str) -> None:
    imported = only(READERS[name].read(DOCUMENTS[name]()))
    trace = imported.trace
    assert calls(trace) == documents.CALLS
    assert trace.calls[2].observation.error is not None
    assert trace.calls[2].observation.error.message == "the order 7 is closed"
    assert all(call.seconds is not None and call.seconds > 0 for call in trace.calls)
    assert (trace.stop, trace.answer) == ("finish", "done")
    assert [event.text for event in trace.events if event.kind == "said"] == [documents.REQUEST, "I look.", "done"]
    assert trace.source is not None
    source = (trace.source.format, trace.source.model, trace.source.request)
    assert source == (name, "m-1", documents.REQUEST)
    assert trace.source.id.endswith(documents.TRACE)
    assert list(imported.specs) == ["find"] and imported.specs["find"].required == ("sku",)
    assert not imported.given and imported.lost == ()


@pytest.mark.parametrize("name", READERS)
def test_every_document_has_one_reader(name: str) -> None:
    document = DOCUMENTS[name]()
    for form in (document, [document]):
        assert [other for other, reader in READERS.items() if reader.recognises(form)] == [name]


@pytest.mark.parametrize("value", [None, 7, "resourceSpans", [], {}, [[]], [7], {"data": []}, {"messages": []}])
def test_no_reader_recognises_another_document(value: Any) -> None:
    assert [name for name, reader in READERS.items() if reader.recognises(value)] == []


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _places(part, (*path, key))


def _changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


@pytest.mark.parametrize("name", READERS)
def test_whatever_is_broken_is_read_or_refused_in_one_line(name: str) -> None:
    document = DOCUMENTS[name]()
    refused = 0
    for path in _places(document):
        for value in (None, -1, "", "[{", [[7]], {}, ...):
            if not path and value is ...:
                continue
            broken = _changed(document, path, value)
            recognised = [reader for reader in READERS.values() if reader.recognises(broken)]
            assert len(recognised) <= 1
            try:
                list(READERS[name].read(broken))
            except Unreadable as error:
                refused += 1
                assert "\n" not in str(error).split(": ")[0] and len(str(error)) > 15
    assert refused >= 100


def _otlp(name: str, attribute: str | None = None) -> tuple[Any, ...]:
    """The path to a span of the OTLP document, or to the value of one of its attributes."""
    spans = documents.otlp()["resourceSpans"][0]["scopeSpans"][0]["spans"]
    number = next(n for n, span in enumerate(spans) if span["spanId"] == f"{documents_ids()[name]:016x}")
    path = ("resourceSpans", 0, "scopeSpans", 0, "spans", number)
    if attribute is None:
        return path
    place = [entry["key"] for entry in spans[number]["attributes"]].index(attribute)
    return (*path, "attributes", place)


def documents_ids() -> dict[str, int]:
    return {name: number for number, name in enumerate(["root", "m0", "c2", "c1", "m1", "c3", "m2"], 1)}


def _text(value: Any) -> dict[str, Any]:
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


SPAN = "resourceSpans[0].scopeSpans[0].spans["
OTLP_BREAKS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("resourceSpans",), {}, "resourceSpans: it is object, not a list"),
    (("resourceSpans", 0, "scopeSpans", 0, "spans"), 7, "resourceSpans[0].scopeSpans[0].spans: it is integer"),
    ((*_otlp("c1"),), "span", f"{SPAN}2]: it is string, not an object"),
    ((*_otlp("c1"), "traceId"), "xyz", f"{SPAN}2].traceId: 'xyz' is no id; give 32 hexadecimal digits"),
    ((*_otlp("c1"), "spanId"), 7, f"{SPAN}2].spanId: the id is integer"),
    ((*_otlp("c1"), "parentSpanId"), "12", f"{SPAN}2].parentSpanId: '12' is no id"),
    ((*_otlp("c1"), "startTimeUnixNano"), "soon", f"{SPAN}2].startTimeUnixNano: 'soon' is no time"),
    ((*_otlp("c1"), "attributes"), {}, f"{SPAN}2].attributes: they are object, not a list"),
    ((*_otlp("c1"), "attributes", 0, "key"), ..., f"{SPAN}2].attributes[0]: it has no key"),
    ((*_otlp("c1"), "attributes", 0, "value"), {"text": "x"}, "(gen_ai.operation.name): the value is not one of"),
    ((*_otlp("m0", "gen_ai.usage.input_tokens"), "value"), {"intValue": "many"}, "the value is not one of"),
    ((*_otlp("c1"), "spanId"), f"{documents_ids()['m0']:016x}", "another span of this trace has its id"),
    ((*_otlp("root"), "parentSpanId"), f"{documents_ids()['c3']:016x}", "it is its own ancestor"),
    ((*_otlp("c1"), "droppedAttributesCount"), 3, "3 of its attributes were dropped; raise OTEL_SPAN_ATTRIBUTE_COUNT"),
    ((*_otlp("c1", "gen_ai.tool.call.id"), "value"), _text("c9"), "its id 'c9' and its arguments are those of no"),
    ((*_otlp("m0", "gen_ai.output.messages"), "value"), _text('[{"role": "assi'), "no JSON; it may have been cut off"),
    ((*_otlp("m0", "gen_ai.output.messages"), "value"), _text([{"role": "assistant", "parts": [
        {"type": "server_tool_call", "name": "search"}]}]), "a part of type 'server_tool_call'"),
    ((*_otlp("m0", "gen_ai.output.messages"), "value"), _text([{"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c1"}]}]), "a call in it names no tool"),
    ((*_otlp("m0", "gen_ai.request.model"), "key"), "flowmind.inputs", "flowmind.inputs is string; give the inputs"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "expected"), OTLP_BREAKS, ids=[row[2][:60] for row in OTLP_BREAKS])
def test_broken_otlp_is_refused_with_the_place(path: tuple[Any, ...], value: Any, expected: str) -> None:
    with pytest.raises(Unreadable) as raised:
        list(OTEL.read(_changed(documents.otlp(), path, value)))
    assert expected in str(raised.value)


def _without(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    """OTLP without some attributes."""
    document = copy.deepcopy(document)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["attributes"] = [entry for entry in span["attributes"] if entry["key"] not in keys]
    return document


CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
SETTING = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (CONTENT, "a call of 'find' is recorded without arguments"),
        (("gen_ai.tool.call.result", "gen_ai.input.messages"), "a call of 'find' is recorded without its result"),
    ],
)
def test_spans_without_content_name_the_setting(keys: tuple[str, ...], expected: str) -> None:
    with pytest.raises(Unreadable, match=expected) as raised:
        list(OTEL.read(_without(documents.otlp(), *keys)))
    assert SETTING in str(raised.value)


def test_requests_without_messages_name_the_setting() -> None:
    document = _without(documents.otlp(), *CONTENT)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[:] = [span for span in spans if span["name"] in ("model", "shop")]
    with pytest.raises(Unreadable, match="the request is recorded without its messages") as raised:
        list(OTEL.read(document))
    assert SETTING in str(raised.value)


def test_what_a_tools_span_lacks_comes_from_the_messages() -> None:
    document = _without(documents.otlp(), "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    assert calls(only(OTEL.read(document)).trace) == documents.CALLS


def test_without_replies_of_the_model_calls_are_in_the_order_of_their_starts() -> None:
    document = _without(documents.otlp(), "gen_ai.input.messages", "gen_ai.output.messages")
    trace = only(OTEL.read(document)).trace
    assert [(call.id, call.turn) for call in trace.calls] == [("c2", 0), ("c1", 0), ("c3", 1)]
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[:] = [span for span in spans if span["name"] != "model"]
    trace = only(OTEL.read(document)).trace
    assert [(call.id, call.turn) for call in trace.calls] == [("c2", 0), ("c1", 0), ("c3", 1)]
    assert (trace.stop, trace.answer) == ("finish", "done")


def test_inputs_and_answer_are_attributes_of_a_span() -> None:
    document = documents.otlp()
    root = document["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]
    pairs = [{"key": "sku", "value": {"stringValue": "a"}}, {"key": "n", "value": {"intValue": "3"}}]
    root["attributes"] += [
        {"key": "flowmind.inputs", "value": {"kvlistValue": {"values": pairs}}},
        {"key": "flowmind.answer", "value": {"stringValue": '{"refunded": false}'}},
    ]
    imported = only(OTEL.read(document))
    assert imported.given and imported.trace.inputs == {"sku": "a", "n": 3}
    assert imported.trace.answer == {"refunded": False}


def test_a_file_may_have_several_traces_and_a_trace_several_cases() -> None:
    first, second = documents.otlp(), documents.otlp()
    for span in second["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["traceId"] = "1" + span["traceId"][1:]
    traces = [imported.trace for imported in OTEL.read([first, second])]
    assert [calls(trace) for trace in traces] == [documents.CALLS] * 2
    assert [trace.source.id for trace in traces if trace.source] == [documents.TRACE, f"1{documents.TRACE[1:]}"]

    both = first["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for span in second["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        ids = {key: "f" + span[key][1:] for key in ("spanId", "parentSpanId") if span[key]}
        both.append({**span, **ids, "traceId": documents.TRACE})
    (imported,) = OTEL.read(first)
    assert len(imported.trace.calls) == 6 and "2 agents without a common one" in imported.lost[0]
    for number, span in enumerate(span for span in both if not span["parentSpanId"]):
        span["attributes"].append({"key": "flowmind.inputs", "value": {"stringValue": f'{{"case": {number}}}'}})
    cases = list(OTEL.read(first))
    assert [case.trace.inputs for case in cases] == [{"case": 0}, {"case": 1}]
    assert [calls(case.trace) for case in cases] == [documents.CALLS] * 2


def test_an_agent_inside_of_a_tool_is_one_call() -> None:
    document = documents.otlp()
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    inner = copy.deepcopy(spans)
    by_id = {span["spanId"]: span for span in spans}
    for span in inner:
        span["spanId"] = "f" + span["spanId"][1:]
        outer = span["parentSpanId"]
        span["parentSpanId"] = "f" + outer[1:] if outer else f"{documents_ids()['c1']:016x}"
    assert by_id[f"{documents_ids()['c1']:016x}"]["name"] == "find"
    spans += inner
    imported = only(OTEL.read(document))
    assert calls(imported.trace) == documents.CALLS
    assert imported.lost == ("3 calls inside of a tool, such as those of an agent that is a tool",)


def test_mlflow_2_has_its_ids_in_the_context() -> None:
    document = documents.mlflow()
    document["info"] = {"request_id": f"tr-{documents.TRACE}", "status": "OK"}
    for span in document["data"]["spans"]:
        span["context"] = {"trace_id": f"0x{documents.TRACE}", "span_id": span.pop("span_id")}
        span["parent_id"] = span.pop("parent_span_id")
        span["start_time"], span["end_time"] = span.pop("start_time_unix_nano"), span.pop("end_time_unix_nano")
        span["status_code"], span["status_message"] = "OK", ""
        del span["trace_id"], span["status"]
    assert calls(only(MLFLOW.read(document)).trace) == documents.CALLS


def _langfuse_rows() -> list[dict[str, Any]]:
    """The observations as rows of an export to a bucket: names with underscores, values as JSON texts."""
    names = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time"}
    names |= {"endTime": "end_time", "statusMessage": "status_message", "model": "provided_model_name"}
    rows = [{names.get(key, key): value for key, value in row.items()} for row in documents.langfuse()["observations"]]
    return [
        {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize("rows", [_langfuse_rows(), {"data": documents.langfuse()["observations"], "meta": {}}])
def test_langfuse_is_read_from_exports_and_pages_of_the_api(rows: Any) -> None:
    assert [name for name, reader in READERS.items() if reader.recognises(rows)] == ["langfuse"]
    assert calls(only(LANGFUSE.read(rows)).trace) == documents.CALLS


def _break(document: Any, *steps: tuple[Any, Any]) -> Any:
    for path, value in steps:
        document = _changed(document, path, value)
    return document


def _spans_of(name: str) -> tuple[Any, ...]:
    return {"openinference": (), "mlflow": ("data", "spans"), "langfuse": ("observations",)}[name]


OTHER_BREAKS: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("openinference", (2,), 7, "[2]: it is no span"),
    ("openinference", (2, "context"), {"trace_id": "0x1"}, "[2].context: '0x1' is no id"),
    ("openinference", (2, "context", "span_id"), None, "[2].context: the id is null"),
    ("openinference", (2, "parent_id"), "0x12", "[2], its parent: '0x12' is no id"),
    ("openinference", (2, "start_time"), "yesterday", "[2], its start time: 'yesterday' is no time"),
    ("openinference", (2, "end_time"), True, "[2], its end time: it is boolean"),
    ("openinference", (2, "attributes"), [7], "[2].attributes: it is array"),
    ("openinference", (2, "events"), {}, "[2].events: it is object"),
    ("openinference", (2, "name"), 7, "[2].name: it is integer"),
    ("openinference", (6, "parent_id"), f"0x{documents_ids()['c3']:016x}", "it is its own ancestor"),
    ("openinference", (0, "attributes", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name"), ...,
     "a call in it names no tool"),
    ("openinference", (2, "attributes", "openinference.span.kind"), "CHAIN", ""),
    ("mlflow", ("info",), {}, "info: it has no trace_id"),
    ("mlflow", ("data", "spans"), {}, "data.spans: it is object, not a list"),
    ("mlflow", ("data", "spans", 2), 7, "data.spans[2]: it is integer"),
    ("mlflow", ("data", "spans", 2, "span_id"), 7, "data.spans[2]: its span_id and parent_span_id are not texts"),
    ("mlflow", ("data", "spans", 2, "parent_span_id"), 7, "data.spans[2]: its span_id and parent_span_id are not"),
    ("mlflow", ("data", "spans", 2, "attributes"), [], "data.spans[2].attributes: they are array"),
    ("mlflow", ("data", "spans", 2, "start_time_unix_nano"), "soon", "data.spans[2], its start time: 'soon'"),
    ("mlflow", ("data", "spans", 2, "end_time_unix_nano"), {}, "data.spans[2], its end time: it is object"),
    ("mlflow", ("data", "spans", 2, "attributes", "mlflow.spanOutputs"), ..., ""),
    ("mlflow", ("data", "spans", 0, "attributes", "mlflow.spanOutputs"), json.dumps({"choices": [{}, {}]}),
     "data.spans[0] ('model'): mlflow.spanOutputs: it has 2 replies to choose from"),
    ("mlflow", ("data", "spans", 6, "parent_span_id"), "AAAAAAAAAAY=", "it is its own ancestor"),
    ("mlflow", ("data", "spans"), [], "no span is of an agent"),
    ("langfuse", ("observations",), ["o1", "o2"], "observations[0]: it is string; give the observations themselves"),
    ("langfuse", ("observations", 2, "id"), None, "observations[2]: its id is null"),
    ("langfuse", ("observations", 2, "type"), 7, "observations[2]: its type is integer"),
    ("langfuse", ("observations", 2, "traceId"), 7, "observations[2]: its trace_id is integer"),
    ("langfuse", ("observations", 2, "parentObservationId"), 7, "observations[2]: the id of its parent is integer"),
    ("langfuse", ("observations", 2, "startTime"), "x", "observations[2], its start time: 'x' is no time"),
    ("langfuse", ("observations", 2, "endTime"), 12.5, "observations[2], its end time: it is number"),
    ("langfuse", ("observations", 0, "output"), {"role": "assistant", "tool_calls": [{"id": "c1"}]},
     "observations[0] ('model'): the output: a call in it names no tool"),
    ("langfuse", ("observations", 2, "metadata"), {"flowmind.inputs": 7}, "flowmind.inputs is integer"),
    ("langfuse", ("observations", 2, "id"), f"{documents_ids()['m0']:016x}", "another span of this trace has its id"),
    ("langfuse", ("observations", 6, "parentObservationId"), f"{documents_ids()['c3']:016x}", "its own ancestor"),
    ("langfuse", ("trace", "metadata"), {"flowmind.inputs": [1]}, "flowmind.inputs is array"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value", "expected"), [row for row in OTHER_BREAKS if row[3]])
def test_broken_recordings_are_refused_with_the_place(
    name: str, path: tuple[Any, ...], value: Any, expected: str
) -> None:
    with pytest.raises(Unreadable) as raised:
        list(READERS[name].read(_changed(DOCUMENTS[name](), path, value)))
    assert expected in str(raised.value)


def test_langfuse_does_not_guess_the_names_of_positional_arguments() -> None:
    row = {"id": "1", "traceId": "t", "type": "TOOL", "name": "add", "output": 3, "startTime": "2026-01-01T00:00:00Z"}
    named = {**row, "input": {"args": [], "kwargs": {"a": 1}}}
    assert calls(only(LANGFUSE.read([named])).trace) == [("add", {"a": 1}, True, 3, 0, "")]
    with pytest.raises(Unreadable, match="call a decorated function by keywords"):
        list(LANGFUSE.read([{**row, "input": {"args": [1], "kwargs": {}}}]))


def instrumented() -> tuple[TracerProvider, InMemorySpanExporter]:
    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return provider, memory


def run_of_pydantic_ai(content: bool = True) -> tuple[ReadableSpan, ...]:
    """The spans of an agent that calls tools at once, is told to retry, passes bad arguments and an unknown tool."""
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    replies = [
        [TextPart("I look."), ToolCallPart("find", {"sku": "a"}, "c1"), ToolCallPart("find", '{"sku": "b"}', "c2")],
        [
            ToolCallPart("refund", {"order": 7}, "c3"),
            ToolCallPart("find", {"key": "a"}, "c4"),
            ToolCallPart("cancel", {}, "c5"),
        ],
        [TextPart("done")],
    ]

    def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=replies[sum(message.kind == "response" for message in messages)])

    agent = Agent(FunctionModel(model), name="shop")

    @agent.tool_plain
    async def find(sku: str) -> dict[str, Any]:
        await asyncio.sleep(0.02 if sku == "a" else 0)
        return {"sku": sku, "price": 1.5}

    @agent.tool_plain
    def refund(order: int) -> str:
        raise ModelRetry(f"the order {order} is closed")

    provider, memory = instrumented()
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider, include_content=content))
    try:
        with provider.get_tracer("test").start_as_current_span("case", attributes={"flowmind.inputs": '{"n": 1}'}):
            assert asyncio.run(agent.run("Refund item a.")).output == "done"
    finally:
        Agent.instrument_all(False)
    return memory.get_finished_spans()


PYDANTIC_AI = [
    ("find", {"sku": "a"}, True, {"sku": "a", "price": 1.5}, 0, "c1"),
    ("find", {"sku": "b"}, True, {"sku": "b", "price": 1.5}, 0, "c2"),
    ("refund", {"order": 7}, False, None, 1, "c3"),
    ("find", {"key": "a"}, False, None, 1, "c4"),
    ("cancel", {}, False, None, 1, "c5"),
]


def test_a_run_of_pydantic_ai_is_read_from_every_form_of_its_spans() -> None:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    spans = run_of_pydantic_ai()
    request = encode_spans(spans)
    data = request.SerializeToString()
    dumped = [json.loads(span.to_json()) for span in spans]
    with_base64 = MessageToDict(request)
    assert "=" in with_base64["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    lines = [document_of_protobuf(encode_spans([span]).SerializeToString()) for span in reversed(spans)]
    forms: list[Any] = [data, dumped, with_base64, document_of_protobuf(data), lines]
    traces = [only(traces_of_otlp(form)) for form in forms]
    for imported in traces:
        assert calls(imported.trace) == PYDANTIC_AI
        assert imported.given and imported.trace.inputs == {"n": 1}
        assert imported.trace.answer == "done" and imported.trace.stop == "finish"
        assert list(imported.specs) == ["find", "refund"] and imported.lost == ()
        source = imported.trace.source
        assert (source.format, source.agent, source.request) == ("otel", "shop", "Refund item a.")
    first, *others = [imported.trace.model_copy(update={"source": None}).dump() for imported in traces]
    for other in others:
        for one, two in zip(first["events"], other["events"], strict=True):  # `to_json` has microseconds
            assert one.get("seconds", 0) == pytest.approx(two.pop("seconds", 0), abs=2e-6)
            assert {key: value for key, value in one.items() if key != "seconds"} == two


def test_a_run_of_pydantic_ai_without_content_is_refused() -> None:
    dumped = [json.loads(span.to_json()) for span in run_of_pydantic_ai(content=False)]
    with pytest.raises(Unreadable) as raised:
        list(OTEL.read(dumped))
    assert SETTING in str(raised.value)


def test_bytes_that_are_no_protobuf_are_refused() -> None:
    with pytest.raises(Unreadable, match="5 bytes are no ExportTraceServiceRequest"):
        traces_of_otlp(b"\x0fnope")


def test_a_run_of_langchain_is_read_as_its_messages_are() -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.tools import tool
    from openinference.instrumentation.langchain import LangChainInstrumentor

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[{"type": "function", "function": {"name": tool.name}} for tool in tools])

    @tool
    def find(sku: str) -> dict[str, Any]:
        """Find an item."""
        return {"sku": sku, "price": 1.5}

    @tool
    def refund(order: int, cents: int = 100) -> str:
        """Refund an order."""
        return "refunded"

    def call(id: str, name: str, args: dict[str, Any]) -> Any:
        return {"name": name, "args": args, "id": id, "type": "tool_call"}

    replies = [
        AIMessage("I look.", tool_calls=[call("c1", "find", {"sku": "a"}), call("c2", "find", {"sku": "b"})]),
        AIMessage("", tool_calls=[call("c3", "refund", {"order": 7}), call("c4", "find", {"key": "a"})]),
        AIMessage("", tool_calls=[call("c5", "cancel", {})]),
        AIMessage("done"),
    ]
    provider, memory = instrumented()
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        agent = create_agent(Scripted(messages=iter(replies)), [find, refund], system_prompt="Be good.")
        state = agent.invoke({"messages": [{"role": "user", "content": "Refund item a."}]})
    finally:
        instrumentor.uninstrument()
    dumped = [json.loads(span.to_json()) for span in memory.get_finished_spans()]
    assert {span["attributes"].get("input.value") for span in dumped if span["name"] == "find"} >= {"a", "b"}
    imported = only(OPENINFERENCE.read(dumped))
    messages = convert_to_openai_messages(state["messages"])
    failed = {message.tool_call_id for message in state["messages"] if getattr(message, "status", "") == "error"}
    marked = [{**m, "status": "error"} if m.get("tool_call_id") in failed else m for m in messages]
    expected = trace_of_messages(marked)
    assert failed == {"c4", "c5"} and imported.lost == ()
    assert [row[:5] for row in calls(imported.trace)] == [row[:5] for row in calls(expected)]
    assert [row[5] for row in calls(imported.trace)] == ["c1", "c2", "c3", "c4", "c5"]
    assert imported.trace.answer == expected.answer == "done"
    errors = [call.observation.error for call in imported.trace.calls]
    assert errors == [call.observation.error for call in expected.calls]


def _span_with(attributes: dict[str, Any]) -> dict[str, Any]:
    """A span of the SDK of Python with attributes of a sample."""
    return {
        "name": "sample", "context": {"trace_id": f"0x{documents.TRACE}", "span_id": "0x00000000000000aa"},
        "parent_id": None, "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z",
        "attributes": attributes, "events": [], "status": {"status_code": "OK"},
    }  # fmt: skip


def _sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


@needs_samples
def test_samples_of_tool_spans_and_requests_are_read() -> None:
    trace = only(OTEL.read(_span_with(_sample("otel_genai_tool_execution_span.json")))).trace
    (row,) = calls(trace)
    assert row[:3] == ("get_weather", {"city": "New York"}, True) and row[3]["status"] == "success" and row[5] == "1234"
    for name, reader in (
        ("otel_genai_client_span_tool_calls.json", OTEL),
        ("openinference_client_span_tool_calls.json", OPENINFERENCE),
    ):
        document = _span_with(_sample(name))
        assert [other.title for other in READERS.values() if other.recognises(document)] == [reader.title]
        imported = only(reader.read(document))
        assert imported.trace.calls == () and imported.lost == ("1 replies of the conversation before this trace",)
        assert imported.trace.answer == "The weather in Paris is currently rainy with a temperature of 57°F."
        assert imported.trace.source.model == "gpt-4-0613"


@needs_samples
def test_spans_of_vercels_sdk_are_read() -> None:
    document = _sample("openinference_vercel_v6_spans.json")
    assert [name for name, reader in READERS.items() if reader.recognises(document)] == ["otel"]
    traces = [imported.trace for imported in OTEL.read(document)]
    assert len(traces) == 8 and all(trace.calls == () for trace in traces)
    assert sum("programming" in (trace.source.request if trace.source else "") for trace in traces) >= 1


def test_a_tool_call_of_vercels_sdk_is_read() -> None:
    def span(number: int, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
        context = {"traceId": documents.TRACE, "spanId": f"{number:016x}"}
        parent = {"parentSpanContext": {**context, "spanId": f"{1:016x}"}} if number > 1 else {}
        times = {"startTime": [1770131992, number * 1000], "endTime": [1770131992, number * 1000 + 500]}
        return {
            "name": name,
            "spanContext": context,
            **parent,
            **times,
            "attributes": attributes,
            "status": {"code": 0},
        }

    calls_written = json.dumps([{"toolCallId": "c1", "toolName": "find", "input": '{"sku":"a"}'}])
    dumped = [
        span(1, "ai.generateText", {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": "shop"}),
        span(2, "ai.generateText.doGenerate", {
            "ai.operationId": "ai.generateText.doGenerate", "ai.response.toolCalls": calls_written,
            "ai.prompt.messages": '[{"role":"user","content":[{"type":"text","text":"Refund."}]}]',
        }),
        span(3, "ai.toolCall", {
            "ai.operationId": "ai.toolCall", "ai.toolCall.name": "find", "ai.toolCall.id": "c1",
            "ai.toolCall.args": '{"sku":"a"}', "ai.toolCall.result": '{"price":2}',
        }),
        span(4, "ai.generateText.doGenerate", {
            "ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "done",
        }),
    ]  # fmt: skip
    trace = only(OTEL.read(dumped)).trace
    assert calls(trace) == [("find", {"sku": "a"}, True, {"price": 2}, 0, "c1")]
    assert trace.answer == "done" and trace.source.agent == "shop" and trace.source.request == "Refund."


def test_places_in_a_file_of_lines_are_lines() -> None:
    class Lines(list[Any]):
        numbers = (1, 4)

    broken = documents.otlp()
    spans = broken["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[2]["spanId"] = "x"
    with pytest.raises(Unreadable, match=r"^line 4, resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[2\]\.spanId"):
        list(OTEL.read(Lines([documents.otlp(), broken])))
    rows = documents.langfuse()["observations"][:2]
    with pytest.raises(Unreadable, match=r"^line 4: its id is integer"):
        list(LANGFUSE.read(Lines([rows[0], {**rows[1], "id": 7}])))


def test_a_deep_tree_of_spans_is_read_in_linear_time() -> None:
    document = documents.otlp()
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    root = next(span for span in spans if span["name"] == "shop")
    chain = [{**root, "spanId": f"{number:016x}", "attributes": []} for number in range(1000, 9000)]
    for above, span in zip([root, *chain], chain, strict=False):
        span["parentSpanId"] = above["spanId"]
    for span in spans:
        span["parentSpanId"] = chain[-1]["spanId"] if span is not root else ""
    spans += chain
    assert calls(only(OTEL.read(document)).trace) == documents.CALLS


def test_spans_of_something_else_are_left_out() -> None:
    document = documents.otlp()
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    other = {**spans[0], "traceId": "1" * 32, "name": "chat GET /rooms", "attributes": []}
    spans.append(other)
    assert calls(only(OTEL.read(document)).trace) == documents.CALLS
    spans[:] = [other]
    with pytest.raises(Unreadable, match="no span is of an agent, a model or a tool"):
        list(OTEL.read(document))


def test_one_trace_may_have_spans_of_two_instrumentations() -> None:
    document = documents.otlp()
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    root = next(span for span in spans if span["name"] == "shop")
    kind = {"key": "langfuse.observation.type", "value": {"stringValue": "agent"}}
    outer = {**root, "spanId": "f" * 16, "name": "request", "attributes": [kind]}
    root["parentSpanId"] = outer["spanId"]
    spans.append(outer)
    trace = only(OTEL.read(document)).trace
    assert calls(trace) == documents.CALLS and trace.source.format == "otel"

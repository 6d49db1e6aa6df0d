"""One run of an agent, as four kinds of recordings have it.

The attributes are those that pydantic-ai 2.68, openinference-instrumentation-langchain 0.1.80, mlflow-tracing 3.17 and
langfuse 5.0 record. The agent looks two items up at once; the second lookup begins and ends first. A refund fails.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

REQUEST = "Refund item a."
WROTE: list[tuple[str, list[tuple[str, str, dict[str, Any]]]]] = [
    ("I look.", [("c1", "find", {"sku": "a"}), ("c2", "find", {"sku": "b"})]),
    ("", [("c3", "refund", {"order": 7, "cents": 150})]),
    ("done", []),
]
RESULTS = {"c1": {"order": 7, "price": 1.5}, "c2": {"order": 8, "price": 2}, "c3": "the order 7 is closed"}
FAILED = "c3"
CALLS = [
    ("find", {"sku": "a"}, True, {"order": 7, "price": 1.5}, 0, "c1"),
    ("find", {"sku": "b"}, True, {"order": 8, "price": 2}, 0, "c2"),
    ("refund", {"order": 7, "cents": 150}, False, None, 1, "c3"),
]
TOOL = {"type": "function", "function": {"name": "find", "parameters": {
    "type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"],
}}}  # fmt: skip
TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_700_000_000_000_000_000
_TIMES = {
    "root": (0, 90),
    "m0": (1, 10),
    "c2": (11, 15),
    "c1": (12, 30),
    "m1": (31, 40),
    "c3": (41, 50),
    "m2": (51, 60),
}


def _id(name: str) -> str:
    return f"{list(_TIMES).index(name) + 1:016x}"


def _history(upto: int, message: Callable[..., Any]) -> list[Any]:
    """The messages of the request number `upto`."""
    messages = [message("user", REQUEST)]
    for text, calls in WROTE[:upto]:
        messages.append(message("assistant", text, calls))
        messages += [message("tool", RESULTS[id], id=id, name=name) for id, name, _ in calls]
    return messages


def _spans(model: Callable[[int], Any], tool: Callable[[str, str, dict[str, Any]], Any], root: Any) -> list[Any]:
    """Name, what the span has, and its times, for each span in the order of their ends."""
    calls = {id: (name, args) for _, written in WROTE for id, name, args in written}
    spans = [(f"m{turn}", "model", model(turn)) for turn in range(len(WROTE))]
    spans += [(id, calls[id][0], tool(id, *calls[id])) for id in RESULTS]
    return sorted([*spans, ("root", "shop", root)], key=lambda span: _TIMES[span[0]][1])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _part_message(role: str, content: Any, calls: Any = (), id: str = "", name: str = "") -> dict[str, Any]:
    if role == "tool":
        return {"role": "user", "parts": [{"type": "tool_call_response", "id": id, "name": name, "result": content}]}
    parts: list[Any] = [{"type": "text", "content": content}] if content else []
    parts += [{"type": "tool_call", "id": id, "name": name, "arguments": args} for id, name, args in calls]
    return {"role": role, "parts": parts}


def otlp() -> dict[str, Any]:
    """OTLP in JSON with the attributes of pydantic-ai."""

    def model(turn: int) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 12,
            "gen_ai.input.messages": json.dumps(_history(turn, _part_message)),
            "gen_ai.output.messages": json.dumps([_part_message("assistant", *WROTE[turn])]),
            "gen_ai.tool.definitions": json.dumps([TOOL["function"]]),
        }  # fmt: skip

    def tool(id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
        failed = {"pydantic_ai.tool.retry.cause": "model_retry"} if id == FAILED else {}
        return {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": id,
            "gen_ai.tool.call.arguments": json.dumps(args), "gen_ai.tool.call.result": _text(RESULTS[id]), **failed,
        }  # fmt: skip

    def value(plain: Any) -> dict[str, Any]:
        return {"intValue": str(plain)} if isinstance(plain, int) else {"stringValue": plain}

    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop", "final_result": "done"}
    spans = [
        {
            "traceId": TRACE, "spanId": _id(name), "parentSpanId": "" if name == "root" else _id("root"), "name": title,
            "startTimeUnixNano": str(START + _TIMES[name][0]), "endTimeUnixNano": str(START + _TIMES[name][1]),
            "attributes": [{"key": key, "value": value(plain)} for key, plain in attributes.items()],
            "status": {}, "events": [],
        }
        for name, title, attributes in _spans(model, tool, root)
    ]  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "pydantic-ai"}, "spans": spans}]}]}


def openinference() -> list[dict[str, Any]]:
    """Spans as the SDK of Python dumps them, with the attributes of the instrumentation of LangChain."""

    def flat(prefix: str, messages: list[Any]) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for number, (role, content, calls, id) in enumerate(messages):
            at = f"{prefix}.{number}.message"
            attributes |= {f"{at}.role": role, f"{at}.content": _text(content)}
            attributes |= {f"{at}.tool_call_id": id} if id else {}
            for place, (call, name, args) in enumerate(calls):
                at_call = f"{at}.tool_calls.{place}.tool_call"
                attributes |= {f"{at_call}.id": call, f"{at_call}.function.name": name}
                attributes[f"{at_call}.function.arguments"] = json.dumps(args)
        return attributes

    def message(role: str, content: Any, calls: Any = (), id: str = "", name: str = "") -> Any:
        return (role, content, calls, id)

    def model(turn: int) -> dict[str, Any]:
        return {
            "openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.tools.0.tool.json_schema": json.dumps(TOOL),
            **flat("llm.input_messages", _history(turn, message)),
            **flat("llm.output_messages", [message("assistant", *WROTE[turn])]),
        }  # fmt: skip

    def tool(id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
        bare = next(iter(args.values())) if len(args) == 1 else json.dumps(args)
        status = "error" if id == FAILED else "success"
        data = {"content": _text(RESULTS[id]), "type": "tool", "name": name, "tool_call_id": id, "status": status}
        output = json.dumps({"type": "tool", "data": data})
        return {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": bare, "output.value": output}

    root = {"openinference.span.kind": "CHAIN", "output.value": json.dumps({"messages": []})}
    return [
        {
            "name": title, "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{_id(name)}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL", "parent_id": None if name == "root" else f"0x{_id('root')}",
            "start_time": f"2026-01-01T00:00:00.{_TIMES[name][0]:06}Z",
            "end_time": f"2026-01-01T00:00:00.{_TIMES[name][1]:06}Z",
            "status": {"status_code": "OK"}, "attributes": attributes, "events": [],
        }
        for name, title, attributes in _spans(model, tool, root)
    ]  # fmt: skip


def _chat_message(role: str, content: Any, calls: Any = (), id: str = "", name: str = "") -> dict[str, Any]:
    tool_calls = [
        {"id": call, "type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}
        for call, tool, args in calls
    ]
    plain = {"role": role, "content": _text(content), "tool_calls": tool_calls or None}
    return {**plain, "tool_call_id": id or None}


def mlflow() -> dict[str, Any]:
    """A trace of MLflow 3 with the attributes of its instrumentation of LangChain."""

    def model(turn: int) -> dict[str, Any]:
        return {
            "mlflow.spanType": "CHAT_MODEL", "mlflow.spanInputs": {"messages": _history(turn, _chat_message)},
            "mlflow.spanOutputs": {"choices": [{"message": _chat_message("assistant", *WROTE[turn])}]},
            "mlflow.chat.tools": [TOOL], "mlflow.llm.model": "m-1",
        }  # fmt: skip

    def tool(id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
        status = "error" if id == FAILED else "success"
        output = {"content": _text(RESULTS[id]), "type": "tool", "name": name, "tool_call_id": id, "status": status}
        return {
            "mlflow.spanType": "TOOL", "mlflow.spanInputs": args, "mlflow.spanOutputs": output, "tool_call_id": id,
        }  # fmt: skip

    def encoded(name: str) -> str:
        return base64.b64encode(bytes.fromhex(_id(name))).decode()

    root = {"mlflow.spanType": "CHAIN", "mlflow.spanOutputs": {"messages": []}}
    spans = [
        {
            "trace_id": base64.b64encode(bytes.fromhex(TRACE)).decode(), "span_id": encoded(name), "name": title,
            "parent_span_id": None if name == "root" else encoded("root"),
            "start_time_unix_nano": START + _TIMES[name][0], "end_time_unix_nano": START + _TIMES[name][1],
            "events": [], "status": {"code": "STATUS_CODE_OK", "message": ""}, "links": [],
            "attributes": {key: json.dumps(value) for key, value in attributes.items()},
        }
        for name, title, attributes in _spans(model, tool, root)
    ]  # fmt: skip
    return {"info": {"trace_id": f"tr-{TRACE}", "state": "OK", "tags": {}}, "data": {"spans": spans}}


def langfuse() -> dict[str, Any]:
    """A trace of Langfuse with its observations, as its handler for LangChain records them."""

    def message(role: str, content: Any, calls: Any = (), id: str = "", name: str = "") -> dict[str, Any]:
        listed = [{"name": tool, "args": args, "id": call, "type": "tool_call"} for call, tool, args in calls]
        plain = {"role": role, "content": _text(content), **({"tool_calls": listed} if listed else {})}
        return {**plain, **({"tool_call_id": id} if id else {})}

    def model(turn: int) -> dict[str, Any]:
        asked = [*_history(turn, message), {"role": "tool", "content": TOOL}]
        output = message("assistant", *WROTE[turn])
        return {"type": "GENERATION", "input": asked, "output": output, "model": "m-1", "metadata": {}}

    def tool(id: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
        failed = {"level": "ERROR", "statusMessage": RESULTS[id], "output": None} if id == FAILED else {}
        output = {"content": _text(RESULTS[id]), "type": "tool", "name": name, "tool_call_id": id, "status": "success"}
        return {"type": "TOOL", "input": args, "output": output, "metadata": {"tool_call_id": id}, **failed}

    root = {"type": "CHAIN", "input": {"messages": []}, "output": {"messages": []}, "metadata": {}}
    observations = [
        {
            "id": _id(name), "traceId": TRACE, "name": title, "level": "DEFAULT", "statusMessage": None,
            "parentObservationId": None if name == "root" else _id("root"),
            "startTime": f"2026-01-01T00:00:00.{_TIMES[name][0]:06}Z",
            "endTime": f"2026-01-01T00:00:00.{_TIMES[name][1]:06}Z", **fields,
        }
        for name, title, fields in _spans(model, tool, root)
    ]  # fmt: skip
    return {"trace": {"id": TRACE, "name": "shop", "metadata": {}}, "observations": observations}

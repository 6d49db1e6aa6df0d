"""The attributes of OpenTelemetry's GenAI conventions, of pydantic-ai, and of Vercel's AI SDK where they differ."""

from __future__ import annotations

from typing import Any, cast

from flowmind.formats.conversation import fields_of
from flowmind.formats.traces.messages import Message, chat_messages, loaded
from flowmind.formats.traces.spans import ABSENT, Agent, Part, Reply, Span, Table, Tool

_KINDS = {
    "execute_tool": "tool", "ai.toolCall": "tool",
    "chat": "model", "generate_content": "model", "text_completion": "model", "ai.generateText.doGenerate": "model",
    "ai.streamText.doStream": "model", "ai.generateObject.doGenerate": "model", "ai.streamObject.doStream": "model",
    "invoke_agent": "agent", "invoke_workflow": "agent", "ai.generateText": "agent", "ai.streamText": "agent",
    "ai.generateObject": "agent", "ai.streamObject": "agent",
}  # fmt: skip


def _part(span: Span) -> Part:
    operation = span.text("gen_ai.operation.name", "ai.operationId")
    match _KINDS.get(operation):
        case "tool":
            return _tool(span)
        case "model":
            return _reply(span)
        case "agent":
            answer = span.first("final_result", "gen_ai.output.messages", "ai.response.text")
            if (
                "gen_ai.output.messages" in span.attributes
                and answer is not ABSENT
                and "final_result" not in span.attributes
            ):
                answer = "".join(message["content"] for message in _messages(span, "gen_ai.output.messages"))
            return Agent(span.text("gen_ai.agent.name", "ai.telemetry.functionId"), answer)
        case _:
            return None


def _tool(span: Span) -> Tool:
    name = span.text("gen_ai.tool.name", "ai.toolCall.name") or span.name.partition("execute_tool ")[2]
    if not name:
        raise span.refuse("the call names no tool; give it as gen_ai.tool.name")
    error = span.error
    kind = span.text("error.type")
    if error is None and kind:
        error = kind
    if error is None and "pydantic_ai.tool.retry.cause" in span.attributes:  # pydantic-ai's only mark of a retried call
        error = span.text("pydantic_ai.tool.retry.cause")
    return Tool(
        name,
        span.text("gen_ai.tool.call.id", "ai.toolCall.id"),
        span.first("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "input"),
        span.first("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "output"),
        error,
    )


def _reply(span: Span) -> Reply:
    if (choices := span.attributes.get("gen_ai.request.choice.count", 1)) not in (1, "1"):
        raise span.refuse(f"the model was asked for {choices} replies; record one reply a request")
    asked = _messages(span, "gen_ai.input.messages", "ai.prompt.messages")
    instructions = _messages(span, "gen_ai.system_instructions", role="system")
    system: list[Message] = [{**message, "role": "system"} for message in instructions]
    wrote = _messages(span, "gen_ai.output.messages", role="assistant") or _vercel_reply(span)
    definitions = loaded(span.attributes.get("gen_ai.tool.definitions", []))
    parameters = fields_of(loaded(span.attributes.get("model_request_parameters")))
    handed_in = cast(list[Any], parameters.get("output_tools") or [])
    return Reply(
        span.text("gen_ai.response.model", "gen_ai.request.model"),
        [*system, *asked],
        [message for message in wrote if message["role"] == "assistant"],
        cast(list[Any], definitions) if isinstance(definitions, list) else [],
        frozenset(str(fields_of(tool).get("name")) for tool in handed_in),
    )


def _vercel_reply(span: Span) -> list[Message]:
    calls, text = span.attributes.get("ai.response.toolCalls"), span.text("ai.response.text")
    parts: list[Any] = [{"type": "text", "text": text}] if text else []
    parts += [{"type": "tool-call", **fields_of(call)} for call in cast(list[Any], loaded(calls) if calls else [])]
    return _read(span, {"role": "assistant", "content": parts}, "ai.response", "assistant") if parts else []


def _messages(span: Span, *names: str, role: str = "user") -> list[Message]:
    name = next((name for name in names if name in span.attributes), "")
    return _read(span, span.attributes[name], name, role) if name else []


def _read(span: Span, value: Any, name: str, role: str) -> list[Message]:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and isinstance(loaded(value), str):
        raise span.refuse(f"{name} is no JSON; it may have been cut off by OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT")
    try:
        return chat_messages(value, role)
    except ValueError as error:
        raise span.refuse(f"{name}: {error}") from None


GENAI_SPANS = Table(
    "otel",
    _part,
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (pydantic-ai: include_content=True; Vercel: "
    "recordInputs and recordOutputs)",
)
"""The attributes of the GenAI conventions."""

"""The attributes of OpenInference."""

from __future__ import annotations

from typing import Any, cast

from flowmind.formats.conversation import fields_of
from flowmind.formats.traces.messages import Message, chat_messages, loaded, tool_message
from flowmind.formats.traces.spans import ABSENT, Agent, Part, Reply, Span, Table, Tool, answer_of

KIND = "openinference.span.kind"
_REDACTED = "__REDACTED__"


def _part(span: Span) -> Part:
    match span.text(KIND).upper():
        case "TOOL":
            return _tool(span)
        case "LLM":
            return _reply(span)
        case "AGENT":
            return Agent(span.text("agent.name"), answer_of(_shown(span, "output.value")))
        case "CHAIN" if not span.parent:
            return Agent("", answer_of(_shown(span, "output.value")))
        case _:
            return None


def _tool(span: Span) -> Tool:
    """The call of a tool.

    A tool of LangChain records its only argument as a bare value, and its result as a message with the id of the call.
    """
    result, id = _shown(span, "output.value"), span.text("tool_call.id", "tool.id")
    error = span.error
    if (told := tool_message(result)) is not None:
        result, id = told["content"], id or told["tool_call_id"]
        error = "" if error is None and told["status"] == "error" else error
    name = span.text("tool.name", "tool_call.function.name") or span.name
    parameters = loaded(span.attributes.get("tool.parameters"))
    definition = {"name": name, "description": span.text("tool.description"), "parameters": parameters}
    return Tool(
        name,
        id,
        _shown(span, "tool_call.function.arguments", "input.value"),
        result,
        error,
        definition if "properties" in fields_of(parameters) else None,
    )


def _shown(span: Span, *names: str) -> Any:
    """An attribute, unless it is hidden."""
    value = span.first(*names)
    return ABSENT if value == _REDACTED else value


def _reply(span: Span) -> Reply:
    nested = fields_of(nested_fields(span.attributes).get("llm"))
    wrote = _messages(span, nested.get("output_messages"))
    tools = [fields_of(fields_of(entry).get("tool")).get("json_schema") for entry in _listed(nested.get("tools"))]
    return Reply(
        span.text("llm.model_name"),
        _messages(span, nested.get("input_messages")),
        [message for message in wrote if message["role"] == "assistant"],
        [tool for tool in tools if tool is not None],
    )


def _messages(span: Span, entries: Any) -> list[Message]:
    messages: list[Message] = []
    for number, entry in enumerate(_listed(entries)):
        message = fields_of(fields_of(entry).get("message"))
        contents = [fields_of(part).get("message_content") for part in _listed(message.get("contents"))]
        calls: list[Any] = [_call(fields_of(call).get("tool_call")) for call in _listed(message.get("tool_calls"))]
        older = fields_of(message).get("function_call_name")
        calls += [{"name": older, "arguments": message.get("function_call_arguments_json")}] if older else []
        plain = {key: value for key, value in message.items() if key in ("role", "content", "tool_call_id", "name")}
        plain |= {"content": contents} if contents else {}
        try:
            messages += chat_messages({"role": "assistant", **plain, "tool_calls": calls})
        except ValueError as error:
            raise span.refuse(f"message {number} of the request to the model: {error}") from None
    return [message for message in messages if message["content"] != _REDACTED]


def _call(value: Any) -> dict[str, Any]:
    """A call in the form of chat completions. An instrumentation leaves out arguments that are empty."""
    function = fields_of(fields_of(value).get("function"))
    arguments = function.get("arguments", "{}")
    shown = {} if arguments == _REDACTED else {"arguments": arguments}
    return {"id": fields_of(value).get("id"), "function": {"name": function.get("name"), **shown}}


def nested_fields(attributes: Any) -> dict[str, Any]:
    """Attributes with dotted names as nested objects; an attribute that is a list or an object stays as it is."""
    nested: dict[str, Any] = {}
    for name, value in attributes.items():
        *path, last = name.split(".")
        place = nested
        for part in path:
            deeper = place.setdefault(part, {})
            if not isinstance(deeper, dict):
                break
            place = cast(dict[str, Any], deeper)
        else:
            place.setdefault(last, value)
    return nested


def _listed(value: Any) -> list[Any]:
    """The elements of a list, or of an object whose keys are their numbers."""
    if isinstance(value, dict):
        numbered = {int(key): element for key, element in cast(dict[str, Any], value).items() if key.isdecimal()}
        return [numbered[number] for number in sorted(numbered)]
    return cast(list[Any], value) if isinstance(value, list) else []


OPENINFERENCE_SPANS = Table(
    "openinference", _part, "set OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false"
)
"""The attributes of OpenInference."""

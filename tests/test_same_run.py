"""One run of an agent through several frameworks, as several recorders keep it, is one trace and one workflow."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flowmind import summarize
from flowmind.formats.traces import READERS, recognised
from flowmind.trace.events import Trace

Row = dict[str, Any]
ORDERS = {"A7": 500, "B2": 90, "C9": 1200, "D4": 70}
"""The orders with their amounts."""


class Call(NamedTuple):
    """A call that the model of the agent asks for."""

    id: str
    tool: str
    args: Row


def request(order: str) -> str:
    """What the user asks for."""
    return f"Please refund order {order} today."


def final(order: str) -> str:
    """The last text of the agent, which is prose."""
    return f"I have refunded order {order} for you."


def script(order: str) -> list[list[Call]]:
    """The calls of each reply of the model: two at once, of which one fails, then one."""
    return [
        [
            Call(f"{order}-1", "find_order", {"order_id": order}),
            Call(f"{order}-2", "find_voucher", {"order_id": order}),
        ],
        [Call(f"{order}-3", "refund", {"order_id": order, "cents": ORDERS[order]})],
    ]


def find_order(order_id: str) -> str:
    """Find an order."""
    return json.dumps({"cents": ORDERS[order_id]})


def find_voucher(order_id: str) -> str:
    """Find the voucher of an order; there is none."""
    return json.dumps({"error": f"order {order_id} has no voucher"})


def refund(order_id: str, cents: int) -> str:
    """Refund an order."""
    return json.dumps({"receipt": f"{order_id}/{cents}"})


TOOLS: list[Callable[..., str]] = [find_order, find_voucher, refund]


def langchain(order: str) -> Any:
    """The messages of a run of LangChain's agent."""
    agents: Any = pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, messages_to_dict

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    replies = [
        AIMessage(
            "", tool_calls=[{"name": tool, "args": args, "id": id, "type": "tool_call"} for id, tool, args in calls]
        )
        for calls in script(order)
    ]
    agent = agents.create_agent(Model(messages=iter([*replies, AIMessage(final(order))])), TOOLS)
    state = agent.invoke({"messages": [{"role": "user", "content": request(order)}]})
    return messages_to_dict(state["messages"])


def pydantic_ai(order: str) -> Any:
    """The messages of a run of Pydantic AI's agent."""
    library: Any = pytest.importorskip("pydantic_ai")
    messages: Any = pytest.importorskip("pydantic_ai.messages")
    models: Any = pytest.importorskip("pydantic_ai.models.function")

    def reply(history: Sequence[Any], about: Any) -> Any:
        place = sum(isinstance(message, messages.ModelResponse) for message in history)
        if place == len(script(order)):
            return messages.ModelResponse(parts=[messages.TextPart(final(order))])
        calls = script(order)[place]
        return messages.ModelResponse(parts=[messages.ToolCallPart(call.tool, call.args, call.id) for call in calls])

    agent = library.Agent(models.FunctionModel(reply), tools=TOOLS)
    return json.loads(asyncio.run(agent.run(request(order))).all_messages_json())


def openai_agents(order: str) -> Any:
    """The items of a run of the OpenAI Agents SDK."""
    library: Any = pytest.importorskip("agents")
    interface: Any = pytest.importorskip("agents.models.interface")
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    text = ResponseOutputText(type="output_text", text=final(order), annotations=[])
    outputs: list[list[Any]] = [
        [
            ResponseFunctionToolCall(
                type="function_call", call_id=call.id, name=call.tool, arguments=json.dumps(call.args)
            )
            for call in calls
        ]
        for calls in script(order)
    ]
    outputs.append(
        [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])]
    )

    class Model(interface.Model):
        async def get_response(self, *arguments: Any, **options: Any) -> Any:
            return library.ModelResponse(output=outputs.pop(0), usage=library.Usage(), response_id=None)

        def stream_response(self, *arguments: Any, **options: Any) -> Any:
            raise NotImplementedError

    library.set_tracing_disabled(True)
    agent = library.Agent(name="clerk", tools=[library.function_tool(tool) for tool in TOOLS], model=Model())
    items = asyncio.run(library.Runner.run(agent, request(order))).to_input_list()
    return json.loads(json.dumps(items))


FRAMEWORKS: dict[str, Callable[[str], Any]] = {
    "langchain": cache(langchain),
    "pydantic-ai": cache(pydantic_ai),
    "openai-agents": cache(openai_agents),
}
"""The messages of a run in the framework's own format."""


def atif(order: str) -> Row:
    """The run as a trajectory."""
    tools = {tool.__name__: tool for tool in TOOLS}
    steps: list[Row] = [{"source": "user", "message": request(order)}]
    for calls in script(order):
        steps.append({
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": id, "function_name": tool, "arguments": args} for id, tool, args in calls],
            "observation": {
                "results": [{"source_call_id": id, "content": tools[tool](**args)} for id, tool, args in calls[::-1]]
            },
        })  # fmt: skip
    steps.append({"source": "agent", "message": final(order)})
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "clerk", "version": "1"}, "steps": numbered}


RECORDINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "langchain, messages": ("langchain", FRAMEWORKS["langchain"]),
    "pydantic-ai, messages": ("pydantic-ai", FRAMEWORKS["pydantic-ai"]),
    "openai-agents, messages": ("openai", FRAMEWORKS["openai-agents"]),
    "ATIF": ("atif", atif),
}
"""By framework and recorder: the format, and the document that records the run for an order."""


def calls_of(trace: Trace) -> str:
    """The hash of what happened: tool, arguments, whether it succeeded, value and turn of each call."""
    rows = [
        (call.call.tool, call.call.args, call.observation.ok, call.observation.value, call.turn) for call in trace.calls
    ]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def expected(order: str) -> str:
    """The hash of the run as it was scripted."""
    values: Row = {
        "find_order": {"cents": ORDERS[order]}, "find_voucher": None, "refund": {"receipt": f"{order}/{ORDERS[order]}"}
    }  # fmt: skip
    rows = [
        (call.tool, call.args, call.tool != "find_voucher", values[call.tool], turn)
        for turn, calls in enumerate(script(order))
        for call in calls
    ]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recording_of_a_run_has_the_same_calls(name: str) -> None:
    form, record = RECORDINGS[name]
    for order in ORDERS:
        document = record(order)
        assert recognised(document) == form
        (one,) = READERS[form].read(document)
        assert calls_of(one.trace) == expected(order)
        assert [call.id for call in one.trace.calls] == [call.id for calls in script(order) for call in calls]
        assert one.trace.source is not None and one.trace.source.request == request(order)
        assert (one.trace.stop, one.trace.answer) == ("finish", final(order))


def workflow_of(name: str, folder: Path) -> Row:
    """The workflow that `summarize` makes of a recording of all orders."""
    _, record = RECORDINGS[name]
    path = folder / "runs.jsonl"
    path.write_text("".join(f"{json.dumps(record(order))}\n" for order in ORDERS))
    result = summarize(path, TOOLS)
    assert result.solved
    assert [str(template) for template in result.templates] == ["Please refund order {order_id} today."]
    return json.loads(result.document.to_json())


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recording_gives_the_same_workflow(name: str, tmp_path: Path) -> None:
    workflow = workflow_of(name, tmp_path)
    assert [(node["kind"], node.get("tool")) for node in workflow["nodes"]] == [
        ("start", None), ("tool", "find_order"), ("tool", "refund"), ("end", None),
    ]  # fmt: skip
    assert workflow == workflow_of("ATIF", tmp_path)

"""Environment wrappers: those that ship, and one that a stranger writes."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from flowmind import ExecuteSummarize, tool
from flowmind.agents.react import ReActAgent
from flowmind.llm.testing import ScriptedChat, action
from flowmind.protocols import Brief, Verdict
from flowmind.run.running import arun, needs_waiting, run
from flowmind.run.wrappers import Approved, Guarded, Wrapper
from flowmind.trace.events import Called, Refused, Trace
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.specs.spec import Observation, ToolCall

SENT: list[str] = []


@tool(effect="read")
def find(name: str) -> str:
    """Find an address.

    Args:
        name: Whose.
    """
    return f"{name}@example.org"


@tool(effect="write")
def send(address: str) -> str:
    """Send a message.

    Args:
        address: Where to.
    """
    SENT.append(address)
    return "sent"


NODES = [
    {"id": "start", "kind": "start"},
    {"id": "find", "kind": "tool", "tool": "find", "args": {"name": {"var": "name"}}, "output": "address"},
    {"id": "send", "kind": "tool", "tool": "send", "args": {"address": {"var": "address"}}, "output": "done"},
    {"id": "end", "kind": "end", "output": {"var": "done"}},
]
PATH = ["start", "find", "send", "end"]
WORKFLOW = Workflow.model_validate(
    {
        "inputs": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "nodes": NODES,
        "edges": [{"from": one, "to": other} for one, other in pairwise(PATH)],
    }
)
BRIEF = Brief(stage="execute", task="Send Ann a message.", inputs={"name": "Ann"})
SCRIPT = [action("find", name="Ann"), action("send", address="Ann@example.org"), action("finish", answer="done")]


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


@pytest.fixture
def tools() -> FunctionEnvironment:
    return FunctionEnvironment([find, send])


class FindFirst:
    """Sending needs an address that was found."""

    name = "find first"

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        found = [event.observation.value for event in trace.calls if event.call.tool == "find"]
        allowed = action.tool != "send" or action.args.get("address") in found
        return Verdict(allowed=allowed, reason="" if allowed else "find the address first")


def test_a_controller_sees_what_has_passed_and_keeps_a_call_from_the_tool(tools: FunctionEnvironment) -> None:
    guarded = Guarded(tools, FindFirst())
    first = asyncio.run(guarded.call(ToolCall(tool="send", args={"address": "Ann@example.org"})))
    assert (first.ok, first.refused_by, SENT) == (False, "find first", [])
    assert first.error is not None and first.error.message == "find the address first"
    assert asyncio.run(guarded.call(ToolCall(tool="find", args={"name": "Ann"}))).value == "Ann@example.org"
    assert asyncio.run(guarded.call(ToolCall(tool="send", args={"address": "Ann@example.org"}))).ok
    assert SENT == ["Ann@example.org"]
    assert [event.kind for event in guarded.trace.events] == ["refused", "called", "called"]


def test_a_refused_call_is_an_event_of_the_agents_trace(tools: FunctionEnvironment) -> None:
    chat = ScriptedChat([action("send", "At once.", address="x@example.org"), *SCRIPT])
    trace = asyncio.run(ReActAgent(chat).execute(BRIEF, Guarded(tools, FindFirst())))
    refused, *others = trace.events
    assert refused == Refused(
        call=ToolCall(tool="send", args={"address": "x@example.org"}),
        by="find first",
        reason="find the address first",
        reasoning="At once.",
        turn=0,
    )
    assert [event.kind for event in others] == ["called", "called"] and trace.answer == "done"
    assert Trace.model_validate(trace.dump()) == trace
    assert "find the address first" in chat.requests[1].messages[-1].content


def test_a_workflow_runs_under_a_controller_call_by_call(tools: FunctionEnvironment) -> None:
    guarded = Guarded(tools, FindFirst())
    assert needs_waiting(WORKFLOW, guarded) and not needs_waiting(WORKFLOW, tools)
    assert asyncio.run(arun(WORKFLOW, {"name": "Ann"}, guarded)).answer == "sent"
    SENT.clear()

    class Never:
        name = "never"

        def check(self, action: ToolCall, trace: Trace) -> Verdict:
            return Verdict(allowed=action.tool != "send", reason="not today")

    trace = asyncio.run(arun(WORKFLOW, {"name": "Ann"}, Guarded(tools, Never())))
    assert (trace.stop, SENT) == ("error", [])
    last = trace.events[-1]
    assert isinstance(last, Refused) and (last.node, last.by, last.reason) == ("send", "never", "not today")


@pytest.mark.parametrize("answer", [True, False, "too late"])
def test_a_person_approves_writes_alone(tools: FunctionEnvironment, answer: bool | str) -> None:
    asked: list[str] = []

    async def ask(call: ToolCall, spec: Any) -> bool | str:
        asked.append(f"{spec.name} {call.args}")
        return answer

    environment = Approved(tools, ask)
    assert set(environment.awaited) == {"send"}
    trace = asyncio.run(arun(WORKFLOW, {"name": "Ann"}, environment))
    assert asked == ["send {'address': 'Ann@example.org'}"]
    assert (["Ann@example.org"] if answer is True else []) == SENT
    if answer is not True:
        reason = answer if isinstance(answer, str) else "the call was not approved"
        assert trace.error is not None and (trace.error.type, trace.error.message) == ("refused", reason)


def test_the_library_asks_before_a_tool_that_writes() -> None:
    asked: list[str] = []

    def ask(call: ToolCall, spec: Any) -> bool:
        asked.append(call.tool)
        return False

    solver = ExecuteSummarize([find, send], ScriptedChat([*SCRIPT, *["no graph"] * 6]), "es-react", approve=ask)
    result = solver.run("Send a message.", [({"name": "Ann"}, "sent")])
    assert asked == ["send"] and SENT == []
    assert [event.kind for event in result.traces[0].events] == ["called", "refused"]


# A stranger's wrapper: one class, used by an agent, a workflow and together with another wrapper.


class Counted(Wrapper):
    """Counts the calls of each tool."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.counts: dict[str, int] = {}

    async def call(self, call: ToolCall) -> Observation:
        self.counts[call.tool] = self.counts.get(call.tool, 0) + 1
        return await super().call(call)


def test_a_wrapper_of_a_strangers_serves_agents_and_workflows(tools: FunctionEnvironment) -> None:
    counted = Counted(tools)
    trace = asyncio.run(ReActAgent(ScriptedChat(SCRIPT)).execute(BRIEF, counted))
    assert trace.ok and counted.counts == {"find": 1, "send": 1}
    assert asyncio.run(arun(WORKFLOW, {"name": "Bo"}, Guarded(counted, FindFirst()))).answer == "sent"
    assert counted.counts == {"find": 2, "send": 2}
    assert all(isinstance(event, Called) for event in run(WORKFLOW, {"name": "Cy"}, tools).events)
    assert counted.counts == {"find": 2, "send": 2}, "a run without the wrapper does not pass it"

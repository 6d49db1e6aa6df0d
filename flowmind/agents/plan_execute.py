"""Plan-and-Execute: the model plans without tool calls, then carries out the steps with the results so far.

In the stage `summarize` the plan is the context of one ReAct loop. This form is called Plan-and-Build.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from flowmind.agents import prompts
from flowmind.agents.react import GraphAgent, go_on, loop
from flowmind.agents.turns import State, World, act, action_message, fresh, lay_out, opening
from flowmind.base.files import dump_json
from flowmind.protocols import Brief, Message
from flowmind.trace.events import Called, Trace
from tools_registry.sandbox.environment import Environment

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

MAX_STEPS = 12


async def _plan(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    brief = runtime.context.brief
    return await lay_out(state, runtime.context, opening(f"{brief.stage}_plan", brief.task))


def _begin(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    """Opens the conversation in which the plan is carried out."""
    brief = runtime.context.brief
    plan = state["plan"][:MAX_STEPS]
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
    if brief.stage == "summarize":
        task = f"{brief.task}\n\nPlan:\n{listed}\n\nCarry the plan out with the graph tools, one call at a time."
        return {"messages": opening("summarize_build", task), "plan": []}
    task = f"{brief.task}\n\nPlan:\n{listed}\n\n{_instruction(brief, plan, 0)}"
    return {"messages": opening(f"{brief.stage}_step{'_refs' if brief.references else ''}", task), "plan": plan}


def _instruction(brief: Brief, plan: list[str], phase: int) -> str:
    last = phase == len(plan) - 1
    name = "step_last" if last else "step_next" if brief.stage == "single" else "step_call"
    return prompts.render(name, number=phase + 1, count=len(plan), step=plan[phase])


async def _act(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    """Acts, and begins the next step of the plan when a step that is not the last one has its result.

    The result is the answer that the agent finishes with. In the stage `execute` the result of a successful call is
    also the step's result: each step is one call, and without an instruction the model goes on calling.
    """
    brief = runtime.context.brief
    update = await act(state, runtime)
    plan, phase = state["plan"], state["phase"]
    if phase >= len(plan) - 1:
        return update
    if update.get("stop") == "finish":
        return _next_step(state, brief, update["answer"])
    events = update.get("steps", state["steps"])
    if brief.stage == "single" or "stop" in update or len(events) == len(state["steps"]) or update["failures"]:
        return update
    *before, observed = update["messages"]
    instructed = Message(role="user", content=f"{observed.content}\n\n{_instruction(brief, plan, phase + 1)}")
    results = [*state["results"], cast(Called, events[-1]).observation.value]
    return {**update, "messages": [*before, instructed], "phase": phase + 1, "nudged": False, "results": results}


def _next_step(state: State, brief: Brief, answer: Any) -> dict[str, Any]:
    """The update after a step that the agent finished: the results of the steps so far, and the next step."""
    action, phase = state["pending"], state["phase"] + 1
    assert action is not None
    results = [*state["results"], answer]
    so_far = "\n".join(f"Result of step {number}: {dump_json(value)}" for number, value in enumerate(results, 1))
    following = Message(role="user", content=f"{so_far}\n\n{_instruction(brief, state['plan'], phase)}")
    return {
        "messages": [*state["messages"], action_message(action), following],
        "pending": None,
        "phase": phase,
        "nudged": False,
        "results": results,
    }


@cache
def _graph() -> Any:
    graph = loop(_act).add_node("plan", _plan).add_node("begin", _begin).add_edge("begin", "think")
    go_on(graph, "plan", "begin")
    return graph.set_entry_point("plan").compile()


class PlanExecuteAgent(GraphAgent):
    """An agent that plans first. In the stage `summarize` it is Plan-and-Build."""

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Plans and carries the plan out; the trace's stop reason is `finish` or the limit that ended it."""
        return await self.run_graph(_graph(), fresh([]), brief, sandbox)

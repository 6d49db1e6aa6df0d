"""Plan-and-Execute: a plan without tool calls first, then its steps, each with the results so far.

In the stage `summarize` the plan is context for one ReAct loop: Plan-and-Build, the summarizer's form.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from flowmind.agents import prompts
from flowmind.agents.base import GraphAgent
from flowmind.agents.react import after_acting, after_thinking
from flowmind.agents.turns import State, World, act, fresh, lay_out, opening, think
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
    """Opens the conversation that carries the plan out."""
    brief = runtime.context.brief
    plan = state["plan"][:MAX_STEPS]
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
    if brief.stage == "summarize":
        task = f"{brief.task}\n\nPlan:\n{listed}\n\nCarry the plan out with the graph tools, one call at a time."
        return {"messages": opening("summarize_build", task), "plan": []}
    task = f"{brief.task}\n\nPlan:\n{listed}\n\n{_instruction(brief, plan, 0)}"
    return {"messages": opening(f"{brief.stage}_step", task), "plan": plan}


def _instruction(brief: Brief, plan: list[str], phase: int) -> str:
    last = phase == len(plan) - 1
    name = "step_last" if last else "step_next" if brief.stage == "single" else "step_call"
    return prompts.render(name, number=phase + 1, count=len(plan), step=plan[phase])


async def _think(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    return await think(state, runtime.context)


async def _act(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    """Acts; where a step that is not the last one has its result, the next step begins.

    The result is what the agent finishes with. Where it only executes, the result of a call is one too: a step is a
    call, and an agent that is left to itself goes on calling.
    """
    brief = runtime.context.brief
    update = await act(state, runtime.context)
    plan, phase = state["plan"], state["phase"]
    if phase >= len(plan) - 1:
        return update
    if update.get("stop") == "finish":
        return _next_step(state, brief, update["answer"])
    called = update.get("steps", state["steps"])
    if brief.stage == "single" or "stop" in update or len(called) == len(state["steps"]) or update["failures"]:
        return update
    *before, observed = update["messages"]
    told = Message(role="user", content=f"{observed.content}\n\n{_instruction(brief, plan, phase + 1)}")
    results = [*state["results"], cast(Called, called[-1]).observation.value]
    return {**update, "messages": [*before, told], "phase": phase + 1, "nudged": False, "results": results}


def _next_step(state: State, brief: Brief, answer: Any) -> dict[str, Any]:
    """The agent finished a step: what the steps gave so far, and what is next."""
    action, phase = state["pending"], state["phase"] + 1
    assert action is not None
    results = [*state["results"], answer]
    so_far = "\n".join(f"Result of step {number}: {dump_json(value)}" for number, value in enumerate(results, 1))
    said = {"reasoning": action.reasoning, "action": action.call.tool, "action_input": action.call.args}
    following = Message(role="user", content=f"{so_far}\n\n{_instruction(brief, state['plan'], phase)}")
    return {
        "messages": [*state["messages"], Message(role="assistant", content=dump_json(said)), following],
        "pending": None,
        "phase": phase,
        "nudged": False,
        "results": results,
    }


def _after_plan(state: State) -> Literal["begin", "__end__"]:
    return "__end__" if state["stop"] else "begin"


@cache
def _graph() -> Any:
    """The compiled graph. LangGraph takes a second to load: only a run of an agent loads it."""
    from langgraph.graph import START, StateGraph  # pyright: ignore[reportMissingTypeStubs]

    graph = cast(Any, StateGraph(State, context_schema=World))
    graph.add_node("plan", _plan)
    graph.add_node("begin", _begin)
    graph.add_node("think", _think)
    graph.add_node("act", _act)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", _after_plan)
    graph.add_edge("begin", "think")
    graph.add_conditional_edges("think", after_thinking)
    graph.add_conditional_edges("act", after_acting)
    return graph.compile()


class PlanExecuteAgent(GraphAgent):
    """An agent that plans first. In the stage `summarize` it is Plan-and-Build."""

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Plans, then carries the plan out; the trace says how it ended."""
        return await self.run_graph(_graph(), fresh([]), brief, sandbox)

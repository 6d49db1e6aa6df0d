"""ReAct (Yao et al., 2022): reason, act, observe, until the model finishes or a budget ends."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from flowmind.agents.base import GraphAgent
from flowmind.agents.turns import State, World, act, fresh, opening, think
from flowmind.protocols import Brief
from flowmind.trace.events import Trace
from tools_registry.sandbox.environment import Environment

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


async def _think(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    return await think(state, runtime.context)


async def _act(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    return await act(state, runtime.context)


def after_thinking(state: State) -> Literal["act", "__end__"]:
    """Stops if a budget ended."""
    return "__end__" if state["stop"] else "act"


def after_acting(state: State) -> Literal["think", "__end__"]:
    """Goes on until the stage has ended."""
    return "__end__" if state["stop"] else "think"


@cache
def _graph() -> Any:
    """The compiled graph. LangGraph takes a second to load: only a run of an agent loads it."""
    from langgraph.graph import START, StateGraph  # pyright: ignore[reportMissingTypeStubs]

    graph = cast(Any, StateGraph(State, context_schema=World))
    graph.add_node("think", _think)
    graph.add_node("act", _act)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", after_thinking)
    graph.add_conditional_edges("act", after_acting)
    return graph.compile()


class ReActAgent(GraphAgent):
    """An agent that reasons and acts in turn."""

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Works on a brief; the trace says how it ended."""
        return await self.run_graph(_graph(), fresh(opening(f"{brief.stage}_react", brief.task)), brief, sandbox)

"""ReAct (Yao et al., 2022): the agent reasons, acts and observes until it finishes or a budget ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

from flowmind.agents.turns import Budget, State, World, act, fresh, opening, think, trace_of
from flowmind.protocols import Brief, ChatModel
from flowmind.trace.events import Trace
from tools_registry.sandbox.environment import Environment


class GraphAgent:
    """An agent that runs as a LangGraph graph over `State`.

    Args:
        model: The model that is asked.
        budget: The limits of a stage.
        seed, temperature, rollout: Passed to the model with every request.
    """

    def __init__(
        self,
        model: ChatModel,
        budget: Budget | None = None,
        seed: int | None = None,
        temperature: float = 0.0,
        rollout: int = 0,
    ) -> None:
        self._world = partial(World, model, budget or Budget(), seed, temperature, rollout)

    async def run_graph(self, graph: Any, state: State, brief: Brief, sandbox: Environment) -> Trace:
        """Runs a compiled graph from a state and returns the trace.

        LangGraph raises at its recursion limit and loses the result. The limit is so high that a budget ends first.
        """
        world = self._world(sandbox, brief)
        config = {"recursion_limit": 10 * world.budget.turns + 100}
        return trace_of(await graph.ainvoke(state, context=world, config=config), brief)


def loop(act: Callable[..., Any]) -> Any:
    """A graph in which the nodes `think` and `act` alternate until the stage stops. It has no entry point yet.

    LangGraph takes a second to import, so it is imported when the first agent runs.
    """
    from langgraph.graph import StateGraph  # pyright: ignore[reportMissingTypeStubs]

    graph = cast(Any, StateGraph(State, context_schema=World))
    graph.add_node("think", think)
    graph.add_node("act", act)
    go_on(graph, "think", "act")
    go_on(graph, "act", "think")
    return graph


def go_on(graph: Any, node: str, following: str) -> None:
    """Adds the edge from a node to the following one; a stage that has a stop reason ends instead."""

    def route(state: State) -> str:
        return "__end__" if state["stop"] else following

    graph.add_conditional_edges(node, route, [following, "__end__"])


@cache
def _graph() -> Any:
    return loop(act).set_entry_point("think").compile()


class ReActAgent(GraphAgent):
    """An agent that reasons and acts in turn."""

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Works on a brief and returns the trace, whose stop reason is `finish` or the limit that ended it."""
        name = f"{brief.stage}_react{'_refs' if brief.references else ''}"
        return await self.run_graph(_graph(), fresh(opening(name, brief.task)), brief, sandbox)

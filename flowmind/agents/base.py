"""What every agent has: a model, budgets, and a LangGraph graph to run with them."""

from __future__ import annotations

from typing import Any

from flowmind.agents.turns import Budget, State, World, trace_of
from flowmind.protocols import Brief, ChatModel
from flowmind.trace.events import Trace
from tools_registry.sandbox.environment import Environment


class GraphAgent:
    """An agent that is a graph over `State`.

    Args:
        model: Who is asked.
        budget: When to stop.
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
        self.model = model
        self.budget = budget or Budget()
        self.seed = seed
        self.temperature = temperature
        self.rollout = rollout

    async def run_graph(self, graph: Any, state: State, brief: Brief, sandbox: Environment) -> Trace:
        """Runs a compiled graph from a state to the trace that it leaves.

        LangGraph's own recursion limit would raise and lose the result; the budgets in the nodes end it before.
        """
        world = World(self.model, sandbox, brief, self.budget, self.seed, self.temperature, self.rollout)
        config = {"recursion_limit": 10 * self.budget.turns + 100}
        return trace_of(await graph.ainvoke(state, context=world, config=config), brief)

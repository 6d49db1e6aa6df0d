"""Business tools and graph tools at once: the world of the single-stage baselines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from flowmind.build.draft import DraftEnvironment
from flowmind.workflow.graph_tools import FINISH
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec


class Joint:
    """B and G exposed together. `finish` is left to the agent: it ends the stage whatever the draft looks like."""

    def __init__(self, business: Environment, draft: DraftEnvironment) -> None:
        self.business = business
        self.draft = draft
        graph = {name: spec for name, spec in draft.specs.items() if name != FINISH}
        self.specs: Mapping[str, ToolSpec] = {**business.specs, **graph}
        self.awaited: Collection[str] = business.awaited

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool of either set."""
        return await (self.business if call.tool in self.business.specs else self.draft).call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow with the business tools."""
        return self.business.run(program, cases, budget)

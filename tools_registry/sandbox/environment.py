"""The seam between whoever calls tools and the world behind them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from flowmind.workflow.program import Outcome, Program
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

DEFAULT_BUDGET = 100_000
"""Steps of one run of a workflow."""


class Environment(Protocol):
    """A set of tools that can be called, and the world behind them.

    A sandbox is an environment that isolates. Wrappers are environments around another one: they answer, refuse or
    record a call, or pass it on.
    """

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        ...

    @property
    def awaited(self) -> Collection[str]:
        """The tools that only `call` can reach. A workflow with one of them cannot go through `run`."""
        ...

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool. Every error is in the observation."""
        ...

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow on a batch of cases, in one round trip."""
        ...

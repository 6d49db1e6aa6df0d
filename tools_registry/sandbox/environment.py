"""`Environment`: the protocol of everything that tools can be called in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from flowmind.workflow.program import Outcome, Program
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

DEFAULT_BUDGET = 100_000
"""The step limit of a run of a workflow."""


class Environment(Protocol):
    """A set of tools that can be called.

    A sandbox is an environment that isolates tools. A wrapper is an environment around another one, which answers,
    refuses, records or passes on calls.
    """

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        ...

    @property
    def awaited(self) -> Collection[str]:
        """The tools that only `call` can call. `run` does not take a workflow with one of them."""
        ...

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool. An error is part of the observation."""
        ...

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow on a batch of cases, in one round trip."""
        ...

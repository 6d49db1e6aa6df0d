"""The world of a role: its tools in the sandbox, over states that no call changes in place."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from flowmind.base.files import dump_json
from flowmind.run.running import arun
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import Remembered, StatefulEnvironment, state_digest
from tools_registry.sandbox.workers import Isolating, WorkerPool
from tools_registry.specs.spec import Observation, ToolCall, ToolSource, ToolSpec


class Place(NamedTuple):
    """A state with its digest."""

    state: dict[str, Any]
    digest: str


def place_of(state: Mapping[str, Any]) -> Place:
    """A state with its digest."""
    return Place(dict(state), state_digest(state))


class _Direct:
    """The tools of a sandbox, called in this thread: a build makes one call after the other."""

    awaited: Collection[str] = ()

    def __init__(self, sandbox: LocalSandbox) -> None:
        self.specs: Mapping[str, ToolSpec] = sandbox.specs
        self._sandbox = sandbox

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool."""
        return self._sandbox.calls([call])[0]

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow."""
        return self._sandbox.run(program, cases, budget)


class _Rewound(StatefulEnvironment):
    """An environment that is used for one run after the other, so that workflows are prepared once."""

    def rewind(self, place: Place) -> None:
        self._state, self._digest = place.state, place.digest


class World:
    """Tools that run goals and calls from given states. Equal runs from equal states are made once.

    Args:
        tools: The tools, with the parameter `db`.
        pool: The workers.
    """

    def __init__(self, tools: Sequence[ToolSource], pool: WorkerPool) -> None:
        self.tools = _Direct(LocalSandbox(tools, pool))
        self._environment = _Rewound(self.tools, {}, Remembered())
        self._runs: dict[tuple[str, str, str], tuple[Trace, Place]] = {}

    def run(
        self, workflow: Workflow, slots: Mapping[str, Any], place: Place, budget: int = DEFAULT_BUDGET
    ) -> tuple[Trace, Place]:
        """The run of a workflow on the values of its slots, in at most `budget` steps, and the state after it."""
        key = (workflow.document, dump_json(slots), place.digest)
        if key not in self._runs:
            self._environment.rewind(place)
            trace = asyncio.run(arun(workflow, {**slots}, self._environment, budget=budget))
            self._runs[key] = trace, self._now()
        return self._runs[key]

    def call(self, call: ToolCall, place: Place) -> tuple[Observation, Place]:
        """The result of a call, and the state after it."""
        self._environment.rewind(place)
        observation = asyncio.run(self._environment.call(call))
        return observation, self._now()

    def after(self, calls: Sequence[ToolCall], place: Place) -> Place:
        """The state after calls; calls that fail change nothing."""

        async def made() -> None:
            for call in calls:
                await self._environment.call(call)

        self._environment.rewind(place)
        asyncio.run(made())
        return self._now()

    def _now(self) -> Place:
        return Place(self._environment.state, self._environment.digest)


@contextmanager
def world_of(
    tools: Sequence[ToolSource], isolation: Isolating = "batch", require: Level = "kernel"
) -> Generator[World]:
    """A world with a worker of its own."""
    with WorkerPool(1, isolation=isolation, require=require) as pool:
        yield World(tools, pool)

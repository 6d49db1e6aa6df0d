"""Trial calls of `search`: only tools that are marked `read` are called."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

AT_ONCE = 32
"""The number of async tools that are called at the same time."""
LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("LOOP", default=None)
"""The event loop of the request. Async tools are called in it, because their connections may belong to it."""


@runtime_checkable
class Prober(Protocol):
    """An environment that makes independent calls in bulk."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        ...

    @property
    def awaited(self) -> Collection[str]:
        """The tools that only `call` can call."""
        ...

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool."""
        ...

    def values(self, calls: Any) -> Any:
        """A pair (value, None) or (None, error) for each call."""
        ...


class Trials:
    """Calls tools on trial, from a thread. Tools that are not marked `read` are refused, whatever is asked.

    Args:
        environment: The tools. Its async tools are called by `call`, all others by `values`.
    """

    def __init__(self, environment: Prober) -> None:
        self._environment = environment

    def __call__(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> Sequence[tuple[Any, Any]]:
        """(value, None) or (None, (type, message)) for each call."""
        specs, awaited = self._environment.specs, self._environment.awaited
        reads = [name in specs and specs[name].effect == "read" for name, _ in calls]
        if all(reads) and not awaited:
            return self._environment.values(calls)
        results: list[tuple[Any, Any]] = [(None, ("refused", "only tools that are marked read are tried"))] * len(calls)
        direct = [place for place, (name, _) in enumerate(calls) if reads[place] and name not in awaited]
        waiting = [place for place, (name, _) in enumerate(calls) if reads[place] and name in awaited]
        for places, call in ((direct, self._environment.values), (waiting, self._await)):
            chosen = [calls[place] for place in places]
            for place, result in zip(places, call(chosen) if chosen else (), strict=True):
                results[place] = result
        return results

    def _await(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        work, loop = self._all(calls), LOOP.get()
        if loop is not None and loop.is_running():
            return asyncio.run_coroutine_threadsafe(work, loop).result()
        return asyncio.run(work)

    async def _all(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        free = asyncio.Semaphore(AT_ONCE)

        async def one(name: str, args: dict[str, Any]) -> tuple[Any, Any]:
            async with free:
                observation = await self._environment.call(ToolCall(tool=name, args=args))
            error = observation.error
            return observation.value, None if error is None else (error.type, error.message)

        return await asyncio.gather(*(one(name, args) for name, args in calls))

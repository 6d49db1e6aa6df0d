"""`LocalMap`: cases are evaluated in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from flowmind.llm.limiting import AdaptiveLimit, Limit
from flowmind.protocols import Emit
from tools_registry.sandbox.closing import Closing

C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S", bound=Closing)
Evaluate = Callable[[C, S, Emit], Awaitable[R]]
"""Evaluates a case with services. The function, its arguments and its result pickle."""


class LocalMap(Generic[C, R]):
    """Evaluates cases in this process, on the running event loop.

    Args:
        evaluate: Evaluates a case.
        services: The services that `evaluate` takes.
        limit: The bound on requests at the same time.
    """

    attempts = 1

    def __init__(self, evaluate: Evaluate[C, S, R], services: S, limit: Limit) -> None:
        self._evaluate: Callable[[C, Emit], Awaitable[R]] = lambda case, emit: evaluate(case, services, emit)
        self._limit = limit

    @property
    def at_once(self) -> int:
        """The number of cases at the same time: above an adaptive limit, which adapts only while a request waits."""
        current = self._limit.current
        return current + (current + 1) // 2 if isinstance(self._limit, AdaptiveLimit) else current

    async def evaluate(self, case: C, emit: Emit) -> R:
        """The result of one case."""
        return await self._evaluate(case, emit)

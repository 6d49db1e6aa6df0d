"""Works through items, as many at once as a limit on requests says now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from flowmind.llm.limiting import AdaptiveLimit, Limit

T = TypeVar("T")
Count = Callable[[], int]
"""How many items are being worked on now."""


async def work_through(items: Sequence[T], limit: Limit, one: Callable[[T, Count], Awaitable[None]]) -> None:
    """Works each item once, in their order; what one of them raises ends the others and is raised."""
    waiting, running = list(items), set[asyncio.Task[None]]()

    async def work(item: T) -> None:
        await one(item, lambda: len(running))

    try:
        while waiting or running:
            while waiting and len(running) < _at_once(limit):
                running.add(asyncio.create_task(work(waiting.pop(0))))
            done, running = await asyncio.wait(running, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _at_once(limit: Limit) -> int:
    """A few more items than requests may be on the way: an adaptive limit learns only while one waits."""
    current = limit.current
    return current + (current + 1) // 2 if isinstance(limit, AdaptiveLimit) else current

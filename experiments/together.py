"""Works through items, as many at once as a limit on requests says now, until it is done or told to stop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from flowmind.base.errors import Terminated
from flowmind.llm.limiting import AdaptiveLimit, Limit

T = TypeVar("T")
Count = Callable[[], int]
"""How many items are being worked on now."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`; SIGTERM gives the work up as Ctrl-C does, where nobody else has a say in it.

    Raises:
        Terminated: If SIGTERM came.
    """
    told = False

    async def until_told() -> T:
        loop, this = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            nonlocal told
            told = True
            assert this is not None
            this.cancel()

        main = threading.current_thread() is threading.main_thread()
        ours = main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if ours:
            loop.add_signal_handler(signal.SIGTERM, stop)
        try:
            return await work
        finally:
            if ours:
                loop.remove_signal_handler(signal.SIGTERM)

    try:
        return asyncio.run(until_told())
    except asyncio.CancelledError:
        if told:
            raise Terminated from None
        raise


async def work_through(items: Sequence[T], limit: Limit, one: Callable[[T, Count], Awaitable[None]]) -> None:
    """Works each item once, in their order; what one of them raises ends the others and is raised."""
    waiting, running = list(items), set[asyncio.Task[None]]()

    async def work(item: T) -> None:
        await one(item, lambda: len(running))

    try:
        while waiting or running:
            while waiting and len(running) < _at_once(limit):
                running.add(asyncio.create_task(work(waiting.pop(0))))
            done, _ = await asyncio.wait(running, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            running -= done
    finally:  # several tasks may have failed at once: `gather` takes the errors of all
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _at_once(limit: Limit) -> int:
    """A few more items than requests may be on the way: an adaptive limit learns only while one waits."""
    current = limit.current
    return current + (current + 1) // 2 if isinstance(limit, AdaptiveLimit) else current

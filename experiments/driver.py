"""Works through the cases of a run, several at the same time, and repeats once those that the endpoint failed."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from flowmind.base.errors import ModelUnavailable, Terminated

LOST = 5
"""The number of consecutive cases that an endpoint may fail before the run stops."""


class Result(Protocol):
    """The result of a case."""

    @property
    def error(self) -> str | None:
        """The failure of the infrastructure that ended the case."""
        ...


T = TypeVar("T")
R = TypeVar("R", bound=Result)
Count = Callable[[], int]
"""The number of items that are being worked on now."""


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine like `asyncio.run`; SIGTERM cancels it like Ctrl-C, unless the process handles SIGTERM itself.

    Raises:
        Terminated: If the process received SIGTERM.
    """
    terminated = False

    async def until_terminated() -> T:
        loop, this = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            nonlocal terminated
            terminated = True
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
        return asyncio.run(until_terminated())
    except asyncio.CancelledError:
        if terminated:
            raise Terminated from None
        raise


async def drive(
    items: Sequence[T],
    at_once: Count,
    evaluate: Callable[[T], Awaitable[R]],
    keep: Callable[[T, R, int], None],
    model: str,
) -> None:
    """Evaluates items, and repeats once those that the infrastructure failed.

    Args:
        items: The items, in the order of their evaluation.
        at_once: The number of items that may be worked on at the same time, now.
        evaluate: Evaluates an item.
        keep: Takes an item, its final result, and the number of items that are being worked on.
        model: The name of the model, for the error.

    Raises:
        ModelUnavailable: If the model cannot serve at all, or has failed `LOST` consecutive items. The kept results
            stay, and the same command continues the run.
    """
    lost = 0

    async def once(chosen: Sequence[T], last: bool) -> list[T]:
        again: list[T] = []

        async def attempt(item: T, running: Count) -> None:
            nonlocal lost
            result = await evaluate(item)
            lost = lost + 1 if result.error is not None else 0
            if lost >= LOST:
                raise ModelUnavailable(
                    f"{model} failed {lost} cases in a row, last with: {result.error}; when the server answers "
                    "again, the same command goes on from there"
                )
            if result.error is not None and not last:
                again.append(item)
            else:
                keep(item, result, running())

        await work_through(chosen, at_once, attempt)
        return again

    await once(await once(items, last=False), last=True)


def no_answer(model: str, count: int, last: str | None, urls: Iterable[str], folder: Path) -> str:
    """The line about a run in which the infrastructure failed every item.

    Args:
        model: The name of the model.
        count: The number of items.
        last: The last error.
        urls: The addresses of the servers.
        folder: The folder of the run.
    """
    servers = ", ".join(dict.fromkeys(urls))
    advice = f"; check the server at {servers}" if servers else ""
    return (
        f"{model}: no answer in any of {count} cases, last with: {last}{advice}; {folder} keeps the replies so far, "
        "and the same command goes on from there"
    )


async def work_through(items: Sequence[T], at_once: Count, process: Callable[[T, Count], Awaitable[None]]) -> None:
    """Processes each item once, in their order. The error of an item cancels the others and is raised."""
    waiting, running = list(items), set[asyncio.Task[None]]()

    async def work(item: T) -> None:
        await process(item, lambda: len(running))

    try:
        while waiting or running:
            while waiting and len(running) < at_once():
                running.add(asyncio.create_task(work(waiting.pop(0))))
            done, _ = await asyncio.wait(running, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            running -= done
    finally:  # several tasks may have failed: `gather` takes the errors of all
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

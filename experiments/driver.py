"""Works through the cases of a run, several at the same time, and repeats once those that the endpoint failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from flowmind.base.errors import ModelUnavailable
from flowmind.llm.models import shown_url

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
        ModelUnavailable: If the model cannot serve at all, or has failed `LOST` consecutive items.
    """
    lost = 0

    async def once(chosen: Sequence[T], last: bool) -> list[T]:
        again: list[T] = []

        async def attempt(item: T, running: Count) -> None:
            nonlocal lost
            result = await evaluate(item)
            lost = lost + 1 if result.error is not None else 0
            if lost >= LOST:
                raise ModelUnavailable(f"{model} failed {lost} cases in a row, last with: {result.error}")
            if result.error is not None and not last:
                again.append(item)
            else:
                keep(item, result, running())

        await work_through(chosen, at_once, attempt)
        return again

    await once(await once(items, last=False), last=True)


def require_answers(model: str, answered: int, errors: Iterable[str | None], unit: str) -> None:
    """Requires that the infrastructure has not failed every item.

    Args:
        model: The name of the model, for the error.
        answered: The number of items that were answered.
        errors: The errors of all items.
        unit: The name of an item.

    Raises:
        ModelUnavailable: If it failed all of them; with the last error.
    """
    failures = [error for error in errors if error is not None]
    if failures and not answered:
        raise ModelUnavailable(f"{model}: no answer in any of {len(failures)} {unit}s, last with: {failures[-1]}")


@contextmanager
def kept_in(folder: Path) -> Generator[None]:
    """Adds to the errors of a model that the folder of the run keeps what is complete.

    Raises:
        ModelUnavailable: If the block raised it.
    """
    try:
        yield
    except ModelUnavailable as error:
        text = f"{folder} keeps what is complete, and the same command goes on from there"
        raise ModelUnavailable(f"{error}; {text}") from None


def at(model: str, urls: Iterable[str]) -> str:
    """The name of a model with the addresses of its servers, for errors."""
    servers = ", ".join(dict.fromkeys(map(shown_url, urls)))
    return f"{model} at {servers}" if servers else model


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

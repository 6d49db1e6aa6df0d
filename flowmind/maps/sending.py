"""Sends cases to a map: again if the process that works on one is lost, and many in their order."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from flowmind.base.errors import Terminated
from flowmind.base.processes import HelperEnded
from flowmind.protocols import Emit, Map

C = TypeVar("C")
R = TypeVar("R")
T = TypeVar("T")


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


async def send(case_map: Map[C, R], given: Callable[[], C], emit: Emit) -> R:
    """The result of a case, which is sent again if the process that works on it is lost.

    Args:
        case_map: The map.
        given: Makes the case for each attempt, so that it has what earlier attempts emitted.
        emit: As for `Map.evaluate`.

    Raises:
        HelperEnded: If every attempt is lost.
        FlowMindError: As `Map.evaluate`.
    """
    for left in reversed(range(case_map.attempts)):
        try:
            return await case_map.evaluate(given(), emit)
        except HelperEnded:
            if not left:
                raise
    raise AssertionError("a map makes at least one attempt")


async def send_in_order(cases: Iterator[C], case_map: Map[C, R], keep: Callable[[R], None], ahead: int = 2) -> None:
    """Evaluates cases, several at the same time, and passes the results on in the order of the cases.

    At most `ahead` times as many cases as the map evaluates at once are under way or wait for an earlier one, so that
    memory does not grow with the number of cases.

    Args:
        cases: The cases; the next one is taken when it can be sent.
        case_map: The map.
        keep: Takes each result.
        ahead: See above.

    Raises:
        HelperEnded: If every attempt at a case is lost.
        FlowMindError: As `Map.evaluate`.
    """
    under_way: deque[asyncio.Task[R]] = deque()
    more = True
    try:
        while more or under_way:
            while more and len(under_way) < ahead * case_map.at_once:
                case = next(cases, None)
                if case is None:
                    more = False
                else:
                    under_way.append(asyncio.create_task(_sent(case_map, case)))
                    await asyncio.sleep(0)  # it begins before the next case is read
            if under_way:
                keep(await under_way[0])
                under_way.popleft()
    finally:  # several may have failed: `gather` takes the errors of all
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _sent(case_map: Map[C, R], case: C) -> R:
    return await send(case_map, lambda: case, _ignored)


def _ignored(line: object) -> None:
    """The cases emit nothing."""

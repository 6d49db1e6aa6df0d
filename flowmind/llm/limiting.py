"""How many requests may be in flight: a fixed number, or one that follows what the server can do."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class Limit:
    """A bound on requests in flight, kept by `async with limit:` around each; who waits longest goes first.

    One limit may be shared by several clients of a server. It serves one event loop at a time.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"at least 1 request must be allowed at once, not {most}")
        self.current = most
        """Requests that may be in flight now."""
        self.in_flight = 0
        """Requests that are."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the requests of a loop that has ended will never come back
            self._loop, self.in_flight, self._waiting = loop, 0, deque()
        turn = loop.create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn came in the moment it was cancelled
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        if self._loop is asyncio.get_running_loop():
            self._leave()

    def began(self) -> int:
        """An attempt is sent to the server; gives a mark to hand to `ended`."""
        return 0

    def ended(self, mark: int, overloaded: bool) -> None:
        """The attempt came back: with an answer, or `overloaded`, because the server refused it or went silent."""

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.current:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class FixedLimit(Limit):
    """Always the same number of requests."""


class Plateau(NamedTuple):
    """A limit that has proved itself, and what it gave."""

    limit: int
    answers: int
    seconds: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answers / max(self.seconds, 1e-9)


_WINDOW = 24
"""Answers that a measurement takes at least."""
_WORTH = 0.5
"""Of the throughput that more requests would bring to a server without bounds, the share they must bring."""
_PATIENCE = (2, 64)
"""Windows that a limit is held after a vain attempt to raise it: at first, and at most."""


class AdaptiveLimit(Limit):
    """A limit that rises while that brings throughput, and halves when the server is overloaded.

    The rule is that of congestion control, additive increase and multiplicative decrease (D.-M. Chiu and R. Jain,
    "Analysis of the increase and decrease algorithms for congestion avoidance in computer networks", 1989), with the
    slow start of TCP before it and a brake that TCP does not have, for servers that queue instead of refusing:

    - A *window* measures throughput: the time of at least 24 answers, in whole rounds of the limit (servers that batch
      answer in bursts), after the answers to what was sent under another limit, while requests wait the whole time.
      Where there is less to do than the limit allows, nothing is learned and the limit stays.
    - After each window that was worth it the limit doubles, until the first setback; from then on it grows by one.
    - It was worth it if throughput grew by half of what the limit grew, both against the last *plateau*. A limit half
      as high again as the plateau that was worth it is the next plateau.
    - If it was not, the limit goes back to the plateau, and is held there for 2 windows, then 4, 8, … up to 64: a
      server that works one request after the other is not flooded.
    - An overload (429, 503, no reply in time, a broken connection) halves the limit and starts the measuring anew; of
      the attempts sent before it, none halves the limit again. Up to that half it may double afterwards; an overload
      that goes on, so that nothing could be measured in between, leaves that mark where it was.

    Args:
        start, least, most: The limit at first, and its bounds.
        clock: Seconds, monotonic.

    Raises:
        ValueError: If not 1 <= least <= start <= most.
    """

    def __init__(
        self,
        start: int = 4,
        least: int = 1,
        most: int = 64,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= least <= start <= most:
            raise ValueError(f"bounds must be 1 <= least <= start <= most, not {least}, {start}, {most}")
        super().__init__(start)
        self._least, self._most = least, most
        self._clock = clock
        self._cuts = 0
        self._doubles_to = most
        self._plateau: Plateau | None = None
        self._patience = _PATIENCE[0]
        self._hold = 0
        self._measure(after=1)

    def began(self) -> int:
        return self._cuts

    def ended(self, mark: int, overloaded: bool) -> None:
        if overloaded:
            if mark == self._cuts:
                self._cut()
            return
        if self.in_flight > self.current:  # requests of a higher limit are still on their way
            self._measure(after=self.current)
            return
        self._answers += 1
        if self._answers == 0:
            self._since = self._clock()
        if self._answers >= self.current * math.ceil(_WINDOW / self.current):
            self._judge(Plateau(self.current, self._answers, self._clock() - self._since))

    def _leave(self) -> None:
        super()._leave()
        if self.in_flight < self.current:  # a slot stays free
            self._measure(after=1)

    def _measure(self, after: int) -> None:
        """Begins a window, behind so many answers."""
        self._answers = -after
        self._since = self._clock()

    def _cut(self) -> None:
        half = max(self._least, self.current // 2)
        self._cuts += 1
        if self._plateau is not None:  # else it is the same overload that goes on
            self._doubles_to = half
        self._plateau = None
        self._patience, self._hold = _PATIENCE[0], 0
        self._move(half)

    def _judge(self, now: Plateau) -> None:
        """Draws the conclusion from a window."""
        held = self._plateau
        if held is None:
            self._plateau = now
            self._raise()
        elif now.limit == held.limit:
            self._plateau = Plateau(now.limit, held.answers + now.answers, held.seconds + now.seconds)
            self._hold -= 1
            if self._hold <= 0:
                self._raise()
        elif now.rate >= held.rate * (1 + _WORTH * (now.limit - held.limit) / held.limit):
            if 2 * now.limit >= 3 * held.limit:
                self._plateau = now
                self._patience = max(_PATIENCE[0], self._patience // 2)
            self._raise()
        else:
            self._doubles_to = held.limit
            self._hold, self._patience = self._patience, min(2 * self._patience, _PATIENCE[1])
            self._move(held.limit)

    def _raise(self) -> None:
        doubled = min(2 * self.current, self._doubles_to)
        self._move(min(self._most, max(self.current + 1, doubled)))

    def _move(self, limit: int) -> None:
        """Sets the limit; what is in flight was sent under the old one."""
        self._measure(after=self.in_flight if limit != self.current else 0)
        self.current = limit
        self._admit()

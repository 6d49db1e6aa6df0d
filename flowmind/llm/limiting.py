"""Limits on the number of requests in flight: a fixed limit, and one that adapts to the server."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Limit:
    """A fixed limit on the number of requests in flight.

    Each request is made inside `async with limit:`. Requests are admitted in the order of their arrival. Several
    clients of a server may share a limit. It works in one event loop at a time.

    Args:
        most: The number of requests.

    Raises:
        ValueError: If it is not positive.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"at least 1 request must be allowed at once, not {most}")
        self._current = most
        self.in_flight = 0
        """The number of requests in flight."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def current(self) -> int:
        """The number of requests that may be in flight now."""
        return self._current

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # the requests of an event loop that has ended never return
            self._loop, self.in_flight, self._waiting = loop, 0, deque()
        turn = loop.create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was admitted and cancelled at the same time
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        if self._loop is asyncio.get_running_loop():
            self._leave()

    def began(self) -> int:
        """Notes that an attempt is sent; the mark returned is an argument of `ended`."""
        return 0

    def ended(self, mark: int, overloaded: bool) -> None:
        """Notes that an attempt ended. `overloaded`: the server refused it, broke the connection or did not answer."""

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.current:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class Plateau(NamedTuple):
    """A limit with its measured throughput."""

    limit: int
    answers: int
    seconds: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answers / max(self.seconds, 1e-9)


_WINDOW = 24
"""The least number of answers in a measurement."""
_WORTH = 0.5
"""The least growth of the throughput, as a share of the growth of the limit, that justifies a higher limit."""
_PATIENCE = (2, 64)
"""Windows for which the limit stays after a higher one was not justified: at first, and at most."""


class AdaptiveLimit(Limit):
    """A limit that rises while the throughput rises with it, and halves when the server is overloaded.

    The rule is additive increase and multiplicative decrease (D.-M. Chiu and R. Jain, "Analysis of the increase and
    decrease algorithms for congestion avoidance in computer networks", 1989) with the slow start of TCP. In addition
    the throughput is measured, because some servers queue requests instead of refusing them:

    - A *window* measures the throughput over at least 24 answers, in whole rounds of the limit, because servers that
      batch answer in bursts. It begins after the answers to requests that were sent under another limit. Requests must
      wait for the whole time: if there is less work than the limit allows, the limit stays.
    - The limit doubles after each window until the first setback. Then it grows by one.
    - A higher limit is justified if the throughput grew by half as much as the limit, both compared with the last
      *plateau*. If the limit is also half as high again as the plateau, it is the next plateau.
    - If a higher limit is not justified, the limit returns to the plateau and stays there for 2 windows, then 4, 8 and
      so on up to 64. A server that works on one request at a time is therefore not flooded.
    - An overload (429, 503, no reply in time, a broken connection) halves the limit and restarts the measurement.
      Overloads of attempts that were sent before do not halve it again. Afterwards the limit may double up to that
      half. Repeated overloads without a measurement in between do not lower that bound.

    Args:
        start, least, most: The first limit and its bounds.
        clock: Monotonic seconds.

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
        if self.in_flight > self.current:  # requests of a higher limit are still in flight
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
        """Begins a window after the next `after` answers."""
        self._answers = -after
        self._since = self._clock()

    def _cut(self) -> None:
        half = max(self._least, self.current // 2)
        self._cuts += 1
        if self._plateau is not None:  # otherwise the same overload continues
            self._doubles_to = half
        self._plateau = None
        self._patience, self._hold = _PATIENCE[0], 0
        self._move(half)

    def _judge(self, now: Plateau) -> None:
        """Adjusts the limit after a window."""
        plateau = self._plateau
        if plateau is None:
            self._plateau = now
            self._raise()
        elif now.limit == plateau.limit:
            self._plateau = Plateau(now.limit, plateau.answers + now.answers, plateau.seconds + now.seconds)
            self._hold -= 1
            if self._hold <= 0:
                self._raise()
        elif now.rate >= plateau.rate * (1 + _WORTH * (now.limit - plateau.limit) / plateau.limit):
            if 2 * now.limit >= 3 * plateau.limit:
                self._plateau = now
                self._patience = max(_PATIENCE[0], self._patience // 2)
            self._raise()
        else:
            self._doubles_to = plateau.limit
            self._hold, self._patience = self._patience, min(2 * self._patience, _PATIENCE[1])
            self._move(plateau.limit)

    def _raise(self) -> None:
        doubled = min(2 * self.current, self._doubles_to)
        self._move(min(self._most, max(self.current + 1, doubled)))

    def _move(self, limit: int) -> None:
        """Sets the limit; the requests in flight were sent under the old one."""
        self._measure(after=self.in_flight if limit != self.current else 0)
        self._current = limit
        self._admit()


class JointLimit(AdaptiveLimit):
    """The limits of several servers of a model together, for whoever decides how much work is begun.

    Each request is made inside the limit of its server.

    Args:
        limits: The limits of the servers.
    """

    def __init__(self, limits: Sequence[Limit]) -> None:
        super().__init__()
        self.limits = tuple(limits)

    @property
    def current(self) -> int:
        """The number of requests that may be in flight now, at all servers."""
        return sum(limit.current for limit in self.limits)

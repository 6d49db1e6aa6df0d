"""Warns on the log while a client waits. Without a handler, Python writes warnings to standard error."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)
SLOW = 15.0
"""Seconds without any reply after which a client says that it waits."""
WORTH_A_LINE = 1.0
"""The shortest pause in seconds that is reported."""
_INTERVAL = (5.0, 60.0)
"""The least seconds between two lines, at first and after many lines."""


class Waits:
    """Reports the pauses of a client, whatever the number of its requests: a line at most every 5 to 60 seconds.

    Args:
        name: The name of the model.
        clock: Monotonic seconds.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._heard = -math.inf
        self._said = -math.inf
        self._interval = _INTERVAL[0]

    def before_retry(self, problem: str, pause: float, limited: bool = False) -> None:
        """Reports a pause before the next attempt.

        Args:
            problem: The failure of the last attempt.
            pause: Seconds.
            limited: Whether the server refused the request because there were too many.
        """
        if pause >= WORTH_A_LINE:
            wait = f"next try in {math.ceil(pause)} s"
            self._say(f"rate-limited, {wait} ({problem})" if limited else f"{problem}; {wait}")

    def heard(self) -> None:
        """Notes that the server answered."""
        self._heard = self._clock()

    @contextmanager
    def watched(self) -> Generator[None]:
        """Reports that no reply comes while the block waits for one."""
        loop, begun = asyncio.get_running_loop(), self._clock()

        def late() -> None:
            nonlocal timer
            timer = loop.call_later(SLOW, late)
            if (quiet := self._clock() - max(self._heard, begun)) >= SLOW:
                self._say(f"no reply for {quiet:.0f} s; still waiting")

        timer = loop.call_later(SLOW, late)
        try:
            yield
        finally:
            timer.cancel()

    def _say(self, text: str) -> None:
        now = self._clock()
        if now - self._said > 2 * _INTERVAL[1]:
            self._interval = _INTERVAL[0]
        elif now - self._said < self._interval:
            return
        else:
            self._interval = min(2 * self._interval, _INTERVAL[1])
        self._said = now
        LOG.warning("%s: %s", self._name, " ".join(text.split())[:300])

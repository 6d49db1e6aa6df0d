"""Points at which a process kills itself on demand, to test that a run survives a crash there.

`FLOWMIND_FAULT=before-record:3` ends the process with SIGKILL when it reaches that point for the third time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from flowmind.base.errors import InputError

Write = Literal["manifest", "exchange", "end", "trace", "workflow", "record", "order", "summary"]
"""A kind of write: `end` is the last line of a case's exchanges, `order` the records rewritten in order."""

POINTS = tuple(f"{moment}-{write}" for write in get_args(Write) for moment in ("before", "mid", "after"))
"""`mid`: half of the data is written."""


class _Fault:
    def __init__(self, text: str) -> None:
        self.name, _, count = text.partition(":")
        if self.name not in POINTS or (":" in text and not (count.isdecimal() and int(count))):
            raise InputError(f"FLOWMIND_FAULT={text!r}: give NAME or NAME:N, where NAME is one of {', '.join(POINTS)}")
        self.left = int(count or 1)

    def parts(self, data: bytes, write: Write) -> Iterator[bytes]:
        half = len(data) // 2
        yield data[:half]
        self.reach(f"mid-{write}")
        yield data[half:]

    def reach(self, point: str) -> None:
        self.left -= point == self.name
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


_armed: _Fault | None = None


def arm(environment: Mapping[str, str]) -> None:
    """Reads the fault of this process from `FLOWMIND_FAULT`, if it is set.

    Raises:
        InputError: If it is not the name of a point.
    """
    global _armed
    text = environment.get("FLOWMIND_FAULT")
    _armed = _Fault(text) if text else None


def reach(moment: Literal["before", "after"], write: Write | None) -> None:
    """Reaches a point; a write without a kind has no points."""
    if _armed is not None and write is not None:
        _armed.reach(f"{moment}-{write}")


def parts(data: bytes, write: Write | None) -> Iterator[bytes]:
    """The data in the pieces in which it is written: one, or two with a point between them."""
    return iter((data,)) if _armed is None or write is None else _armed.parts(data, write)

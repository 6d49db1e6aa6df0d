"""Processes without randomized addresses, where the system offers that."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Generator

_ASK, _FIXED = 0xFFFFFFFF, 0x0040000
_personality: Callable[[int], int] | None = ctypes.CDLL(None).personality if sys.platform == "linux" else None


@contextlib.contextmanager
def same_addresses() -> Generator[None]:
    """Processes that this thread starts have the same addresses, where the system allows that.

    Functions and `None` are hashed by address: the order of a set of them would differ from worker to worker.
    """
    persona = -1 if _personality is None else _personality(_ASK)
    if _personality is None or persona == -1:
        yield
        return
    _personality(persona | _FIXED)
    try:
        yield
    finally:
        _personality(persona)


def addresses() -> dict[str, str]:
    """Whether this process has the same addresses as other processes of its kind."""
    on = _personality is not None and _personality(_ASK) & _FIXED
    return {"same addresses": "on" if on else "off: the system randomizes them"}

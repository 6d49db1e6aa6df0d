"""Processes without randomized addresses, on systems that support this."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Generator

_QUERY, _NO_RANDOMIZE = 0xFFFFFFFF, 0x0040000
_personality: Callable[[int], int] | None = ctypes.CDLL(None).personality if sys.platform == "linux" else None


@contextlib.contextmanager
def same_addresses() -> Generator[None]:
    """Turns address randomization off for the processes that this thread starts, if the system allows it.

    Functions and `None` are hashed by address, so the order of a set of them would differ between workers.
    """
    persona = -1 if _personality is None else _personality(_QUERY)
    if _personality is None or persona == -1:
        yield
        return
    _personality(persona | _NO_RANDOMIZE)
    try:
        yield
    finally:
        _personality(persona)


def addresses() -> dict[str, str]:
    """The layer `same addresses` of this process: `on`, or `off: ` and the reason."""
    on = _personality is not None and _personality(_QUERY) & _NO_RANDOMIZE
    return {"same addresses": "on" if on else "off: the system randomizes them"}

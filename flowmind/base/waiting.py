"""The synchronous door to coroutines."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, also where an event loop is running already (a notebook)."""
    import asyncio  # 50 ms, and a workflow of plain functions never waits

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]

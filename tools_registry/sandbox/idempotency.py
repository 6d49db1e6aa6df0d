"""Idempotency keys: the key of the write under way, for tools that pass it to the service that they call."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PARAMETER = "idempotency_key"
"""The parameter through which a tool takes the key. Its spec does not have it."""
_KEY: ContextVar[str | None] = ContextVar("flowmind_idempotency_key", default=None)


def current_key() -> str | None:
    """The idempotency key of the write that a journaled run is making; None outside such a write.

    The key depends on the run's id, its workflow and the place of the write in the run. A write that is repeated in the
    same run has the same key.
    """
    return _KEY.get()


@contextmanager
def keyed(key: str | None) -> Generator[None]:
    """Sets the key for the calls inside; None says that no journaled write is under way."""
    token = _KEY.set(key)
    try:
        yield
    finally:
        _KEY.reset(token)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def without_key(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that passes the current key as `idempotency_key`, and has no such parameter itself.

    Outside a journaled run the parameter has its default; if it has none, each call gets a key of its own. A function
    without the parameter is returned unchanged.
    """
    try:
        if PARAMETER not in inspect.signature(function).parameters:
            return function
        signature = inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):
        return function  # whoever reads the signature says what is wrong
    default = signature.parameters[PARAMETER].default

    def key() -> Any:
        if (current := current_key()) is not None:
            return current
        return uuid.uuid4().hex if default is inspect.Parameter.empty else default

    def call(*args: Any, **named: Any) -> Any:
        return function(*args, **named, **{PARAMETER: key()})

    async def wait(*args: Any, **named: Any) -> Any:
        return await function(*args, **named, **{PARAMETER: key()})

    around: Any = functools.wraps(function)(wait if is_async(function) else call)
    kept = [part for name, part in signature.parameters.items() if name != PARAMETER]
    around.__signature__ = signature.replace(parameters=kept)
    return around

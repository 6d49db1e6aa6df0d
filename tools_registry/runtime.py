"""What runs inside a worker and beside user functions alike: JSON at the boundary, errors of a case, helpers.

Standard library only: the worker starts in milliseconds because of it.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, cast

from tools_registry.schema import show, type_of

MAX_DEPTH = 50
MAX_INT_BITS = 1_024
MAX_MESSAGE = 500
_INT_BOUND = 1 << MAX_INT_BITS

ATOMS = frozenset({int, float, str, bool, type(None)})
_LISTS = frozenset({list, tuple})
_DICTS = frozenset({dict, collections.Counter, collections.defaultdict, collections.OrderedDict})


class CaseError(Exception):
    """An error of one case: a closed type for programs, a message for readers."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type
        self.message = _encodable(message[:MAX_MESSAGE])


def _encodable(text: str) -> str:
    """The text with a `?` for each lone surrogate, so that it can be sent and stored."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def clean(value: Any, depth: int = 0) -> Any:
    """A strict JSON copy of a value: exact types, finite numbers, text that can be encoded, string keys.

    A tuple becomes a list, and Counter, defaultdict and OrderedDict become objects, as `json.dumps` has them.

    Raises:
        CaseError: `not_json` or `too_large`, with what was found.
    """
    kind = type_of(value)
    if kind is bool or value is None:
        return value
    if kind is str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise CaseError("not_json", "a string with a lone surrogate is not JSON") from None
        return value
    if kind is int:
        if -_INT_BOUND < value < _INT_BOUND:
            return value
        raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    if kind is float:
        if value - value == 0.0:
            return value
        raise CaseError("not_json", f"{value!r} is not a JSON number")
    if depth >= MAX_DEPTH:
        raise CaseError("not_json", f"nested deeper than {MAX_DEPTH}")
    if kind in _LISTS:
        return [clean(element, depth + 1) for element in value]
    if kind in _DICTS:
        copied: dict[str, Any] = {}
        for key, element in cast(dict[Any, Any], value).items():
            if type(key) is not str:
                raise CaseError("not_json", f"a key of type {type(key).__name__}; keys of an object are strings")
            copied[clean(key)] = clean(element, depth + 1)
        return copied
    raise CaseError("not_json", f"a value of type {kind.__name__} is not JSON")


def copy_json(value: Any) -> Any:
    """A copy of a JSON value that shares nothing that can be changed."""
    kind = type_of(value)
    if kind is list:
        return [item if type(item) in ATOMS else copy_json(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in ATOMS else copy_json(item) for key, item in value.items()}
    return value


def describe(error: BaseException) -> str:
    """An exception as one line: its class and its first argument."""
    text = error.args[0] if error.args and type(error.args[0]) is str else ""
    if isinstance(error, KeyError) and error.args:
        text = f"key {show(error.args[0], 60)} is missing"
    name = type(error).__name__
    return _encodable((f"{name}: {text}" if text else name)[:MAX_MESSAGE])


def call_checked(function: Callable[..., Any], check: Callable[[Any], str | None], args: dict[str, Any]) -> Any:
    """Calls a tool with checked, copied arguments and gives its result as strict JSON.

    Raises:
        CaseError: If the arguments do not fit, the tool raised, or its result is not JSON.
    """
    if (problem := check(args)) is not None:
        raise CaseError("invalid_arguments", problem)
    try:
        result = function(**{name: copy_json(value) for name, value in args.items()})
    except CaseError:
        raise
    except MemoryError:
        raise CaseError("memory", "the call ran out of memory") from None
    except RecursionError:
        raise CaseError("tool_error", "RecursionError: the call nests too deeply") from None
    except Exception as error:
        raise CaseError("tool_error", describe(error)) from None
    return clean(result)


def follow(value: Any, path: tuple[str | int, ...]) -> Any:
    """The value at a path of keys and indexes.

    Raises:
        CaseError: `missing_key` or `wrong_type`, with the place.
    """
    for step in path:
        try:
            if type_of(value) is not (dict if type(step) is str else list):
                kind = "an object" if type(step) is str else "a list"
                raise CaseError("wrong_type", f"path step {step!r} needs {kind}, got {show(value)}")
            value = value[step]
        except (KeyError, IndexError):
            raise CaseError("missing_key", f"nothing at {step!r} in {show(value)}") from None
    return value

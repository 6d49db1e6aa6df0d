"""Messages between a process and its workers: four bytes of length, big-endian, and that many bytes of strict JSON.

Replies of a worker are decoded as untrusted input. Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn, cast

from tools_registry.specs.schema import type_of
from tools_registry.specs.values import MAX_DEPTH, MAX_INT_BITS

MAX_FRAME = 256_000_000
HEADER = 4
_DEPTH = MAX_DEPTH + 10
"""The maximum depth of a frame, in which a value is part of a case and a case part of a batch."""
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SHAPE = bytes.maketrans(b"123456789ED", b"000000000ed")
_UNUSUAL = (b"0" * 300, b"e000", b"\\ud")
"""Byte sequences of a translated body that may belong to a number beyond the bounds or to a lone surrogate."""


class FrameError(ValueError):
    """An invalid frame; the message says what is wrong."""


def encode(message: Any) -> bytes:
    """Encodes a message as a frame.

    Raises:
        ValueError: If the message is not JSON.
    """
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return len(body).to_bytes(HEADER, "big") + body


def size_of(header: bytes) -> int:
    """The length of a body in bytes, from the header.

    Raises:
        FrameError: If it exceeds `MAX_FRAME`.
    """
    if (size := int.from_bytes(header, "big")) > MAX_FRAME:
        raise FrameError(f"a frame of {size} bytes, at most {MAX_FRAME} are allowed")
    return size


def decode(body: bytes) -> Any:
    """Decodes the body of a frame.

    Raises:
        FrameError: If it is not strict JSON: NaN, a repeated key, a lone surrogate, a number or a depth beyond the
            bounds.
    """
    try:
        message = _DECODER.decode(body.decode())
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not strict JSON: {error}") from None
    shape = body.translate(_SHAPE, b"+")
    if any(mark in shape for mark in _UNUSUAL) or _may_be_deep(body):
        _verify(message)
    return message


def _refuse(name: str) -> NoReturn:
    raise FrameError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise FrameError("an object has a key twice")
    return members


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object)


def _may_be_deep(body: bytes) -> bool:
    """Whether brackets may be nested too deeply. Those in strings count too, so only False is certain."""
    brackets = body.translate(None, _BRACKETS)
    for _ in range(_DEPTH // 2):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def _verify(message: Any) -> None:
    level = [message]
    for _ in range(_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            _PARTS.get(type_of(value), _nothing)(value, below)
        if not (level := below):
            return
    raise FrameError(f"nested deeper than {_DEPTH}")


def _in_list(value: list[Any], below: list[Any]) -> None:
    below.extend(value)


def _in_object(value: dict[str, Any], below: list[Any]) -> None:
    below.extend(value.keys())
    below.extend(value.values())


def _in_text(value: str, below: list[Any]) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FrameError("a text with half a character") from None


def _in_integer(value: int, below: list[Any]) -> None:
    if value.bit_length() > MAX_INT_BITS:
        raise FrameError(f"an integer of more than {MAX_INT_BITS} bits")


def _in_number(value: float, below: list[Any]) -> None:
    if value - value != 0.0:
        raise FrameError("a number beyond all bounds")


def _nothing(value: Any, below: list[Any]) -> None:
    pass


_PARTS = cast(
    dict[type, Callable[[Any, list[Any]], None]],
    {list: _in_list, dict: _in_object, str: _in_text, int: _in_integer, float: _in_number},
)

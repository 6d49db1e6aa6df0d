"""Messages between a process and its workers: four bytes of length, big-endian, and that many bytes of strict JSON.

Nothing is ever unpickled. What a worker sends is read as if an attacker had written it.
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
"""Of a frame: a value stands in a case, a case in a batch."""
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SHAPE = bytes.maketrans(b"123456789ED", b"000000000ed")
_UNUSUAL = (b"0" * 300, b"e000", b"\\ud")
"""What, in the shape of a body, can stand for a number beyond the bounds, or for half a character."""


class FrameError(ValueError):
    """Bytes that no well-behaved worker sends; the message says what is wrong with them."""


def encode(message: Any) -> bytes:
    """A message as a frame.

    Raises:
        ValueError: If it is not JSON.
    """
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return len(body).to_bytes(HEADER, "big") + body


def size_of(header: bytes) -> int:
    """The length that a frame's first bytes announce.

    Raises:
        FrameError: If it is more than any worker may send.
    """
    if (size := int.from_bytes(header, "big")) > MAX_FRAME:
        raise FrameError(f"a frame of {size} bytes, at most {MAX_FRAME} are allowed")
    return size


def decode(body: bytes) -> Any:
    """The message of a frame: no NaN, no key twice, bounded depth and integers, text that can be encoded.

    Raises:
        FrameError: If the bytes are anything else.
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
    made = dict(pairs)
    if len(made) != len(pairs):
        raise FrameError("an object has a key twice")
    return made


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object)


def _may_be_deep(body: bytes) -> bool:
    """Whether brackets may nest beyond the bound; brackets in texts count too, so that a yes is only a doubt."""
    left = body.translate(None, _BRACKETS)
    for _ in range(_DEPTH // 2):
        if not left:
            return False
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return bool(left)


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

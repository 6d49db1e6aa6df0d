"""Messages between a process and its workers: four bytes of length, big-endian, and that many bytes of strict JSON.

Replies of a worker are decoded as untrusted input. Size, depth and the memory that the values will take are bounded
before anything is decoded. Nothing is unpickled.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, cast

from tools_registry.specs.values import MAX_DEPTH, MAX_INT_BITS

HEADER = 4
Body = bytes | bytearray

_DEPTH = MAX_DEPTH + 10
"""The maximum depth of a frame, in which a value is part of a case and a case part of a batch."""
_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS = bytes.maketrans(b"123456789ED", b"000000000ed")
_UNUSUAL = (b"0" * 200, b"e000", b"\\ud")
"""Byte sequences of a translated body that may belong to a number beyond the bounds or to a lone surrogate."""

# Upper bounds for CPython 3.11 to 3.13, in bytes.
_LIST, _OBJECT, _MEMBER, _PLACE, _TEXT, _NUMBER = 112, 150, 70, 10, 64, 32
_PER_BYTE = 64
"""No body takes more memory than this for each of its bytes."""
_CHUNK = 1 << 13
_TWO_BYTES = re.compile(rb"[\xc4-\xff]")
_FOUR_BYTES = re.compile(rb"[\xf0-\xff]")
_PAIR = re.compile(rb"\\u[dD][89abAB]")


class FrameError(ValueError):
    """An invalid frame; the message says what is wrong."""


def encode(message: Any) -> bytes:
    """Encodes a message as a frame.

    Raises:
        ValueError: If the message is not JSON.
    """
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return len(body).to_bytes(HEADER, "big") + body


def size_of(header: Body, value_bytes: int) -> int:
    """The length of a body in bytes, from the header.

    Raises:
        FrameError: If it exceeds `value_bytes`.
    """
    if (size := int.from_bytes(header, "big")) > value_bytes:
        raise FrameError(f"a frame of {size} bytes, at most {value_bytes} are allowed")
    return size


def fits(body: Body, value_bytes: int) -> bool:
    """Whether a body has at most `value_bytes`, and decoding it takes at most twice as much memory.

    The memory of the body, its text and its values is estimated from above. Both sides use this function, so an honest
    worker never sends a reply that its owner refuses for its size.
    """
    most = 2 * value_bytes
    if len(body) > value_bytes:
        return False
    if len(body) * _PER_BYTE <= most:
        return True
    room = most - _characters(body)
    if room < 0:
        return False
    return _values(body, body.count(b'"')) <= room or _values(*_skeleton(body)) <= room


def decode(body: Body, value_bytes: int) -> Any:
    """Decodes the body of a frame.

    Args:
        body: The bytes after the header.
        value_bytes: As in `Limits`.

    Raises:
        FrameError: If it is too large or not strict JSON: NaN, a repeated key, a lone surrogate, a number or a depth
            beyond the bounds.
    """
    if not fits(body, value_bytes):
        raise FrameError(f"a frame that would take more than {2 * value_bytes} bytes of memory")
    if _is_deep(body):
        raise FrameError(f"nested deeper than {_DEPTH}, or brackets without a partner")
    shape = body.translate(_DIGITS, b"+")
    unusual = any(mark in shape for mark in _UNUSUAL)
    del shape
    try:
        message = _decoded(body)
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not strict JSON: {error}") from None
    if unusual:
        _verify(message)
    return message


def _characters(body: Body) -> int:
    """The memory of the body, of its text, and of all characters of its strings."""
    size, text = len(body), 1
    if not body.isascii() and _TWO_BYTES.search(body):
        text = 4 if _FOUR_BYTES.search(body) else 2
    strings = text
    if b"\\u" in body:  # a string is copied when its characters become wider
        strings = 8 if _PAIR.search(body) else max(4, text)
    return size * (1 + text + strings)


def _values(structure: Body, quotes: int) -> int:
    """The memory of all values but the characters of strings; brackets and commas within strings only add to it."""
    count = structure.count
    lists, objects, members, texts = count(b"["), count(b"{"), count(b":"), quotes // 2
    values = count(b",") + lists + objects + 1
    numbers = max(0, count(b",") + 1 + members - texts)
    return lists * _LIST + objects * _OBJECT + members * _MEMBER + values * _PLACE + texts * _TEXT + numbers * _NUMBER


def _skeleton(body: Body) -> tuple[bytes, int]:
    """The bytes outside of strings, and the number of quotes. Exact up to the first place that is not JSON."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts: list[bytes] = []
    outside = 0
    for start in range(0, len(body), _CHUNK):
        pieces = body[start : start + _CHUNK].split(b'"')
        parts.append(b"".join(pieces[outside::2]))
        outside ^= 1 - len(pieces) % 2
    return b"".join(parts), body.count(b'"')


def _is_deep(body: Body) -> bool:
    """Whether brackets are nested deeper than `_DEPTH` or have no partner."""
    return not _closes(body) and (b'"' not in body or not _closes(_skeleton(body)[0]))


def _closes(structure: Body) -> bool:
    """Whether all brackets disappear within `_DEPTH` rounds; each round removes the innermost pairs."""
    brackets = structure.translate(_SQUARE, _NO_BRACKETS)
    for _ in range(_DEPTH):
        if not brackets:
            return True
        size, brackets = len(brackets), brackets.replace(b"[]", b"")
        if len(brackets) == size:
            return False
    return not brackets


def _refuse(name: str) -> NoReturn:
    raise FrameError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _decoded(body: Body) -> Any:
    """The value of a body. A repeated key shows in the number of members, because every member has a colon."""
    if b"{" not in body:
        return _DECODER.decode(body.decode())
    members = 0

    def count(value: dict[str, Any]) -> dict[str, Any]:
        nonlocal members
        members += len(value)
        return value

    message = json.JSONDecoder(parse_constant=_refuse, object_hook=count).decode(body.decode())
    if members != body.count(b":") and members != _skeleton(body)[0].count(b":"):
        raise FrameError("an object has a key twice")
    return message


def _verify(message: Any) -> None:
    """Checks all numbers and strings. Takes no memory for each value.

    Raises:
        FrameError: At the first that is not allowed.
    """
    levels = [iter([message])]
    while levels:
        for value in levels[-1]:
            kind = cast(Any, type(value))
            if kind is list:
                levels.append(iter(value))
                break
            if kind is dict:
                levels += [iter(value.values()), iter(value)]
                break
            if kind in _CHECKS:
                _CHECKS[kind](value)
        else:
            levels.pop()


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FrameError("a text with half a character") from None


def _check_integer(value: int) -> None:
    if value.bit_length() > MAX_INT_BITS:
        raise FrameError(f"an integer of more than {MAX_INT_BITS} bits")


def _check_number(value: float) -> None:
    if value - value != 0.0:
        raise FrameError("a number beyond all bounds")


_CHECKS: dict[type, Any] = {str: _check_text, int: _check_integer, float: _check_number}

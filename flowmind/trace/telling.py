"""Whether a text tells a value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

_SEPARATOR = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")
_NOTHING = ("none", "no", "nothing")
_WORDS = {True: ("yes", "true"), False: ("no", "false", "not")}


def tells(text: str, value: Any) -> bool:
    """Whether a text contains a value: casefolded, without thousands separators, in whole tokens.

    A list or object is told if all its parts are; an empty one, and None, by `none`, `no` or `nothing`.
    """
    return _tells(_folded(text), value)


def _folded(text: str) -> str:
    return _SEPARATOR.sub("", " ".join(text.casefold().split()))


def _tells(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return any(_has(text, word) for word in _WORDS[value])
    if isinstance(value, int | float):
        return any(float(number) == value for number in _NUMBER.findall(text))
    if isinstance(value, str) and value.strip():
        return _has(text, _folded(value))
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = list(cast("dict[str, Any]", value).values())
    elif isinstance(value, list | tuple):
        parts = list(cast("Sequence[Any]", value))
    if not parts:
        return any(_has(text, word) for word in _NOTHING)
    return all(_tells(text, part) for part in parts)


def _has(text: str, words: str) -> bool:
    """Whether words stand in a text as whole tokens: `10:30` is not part of `10:30:15`, nor `5` of `1.5`."""
    return re.search(rf"(?<!\w)(?<!\d[.:]){re.escape(words)}(?!\w)(?![.:]\d)", text) is not None

"""Marks what differs between two JSON values: whole words, numbers and JSON tokens, never parts of them."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, cast

from tools_registry.specs.schema import json_equal

Marked = list[str]
"""A text in parts; the parts with odd indexes are marked."""
_WORD = re.compile(r"\\u[0-9a-f]{4}|\\.|\w+|\s+|.", re.DOTALL)
_ONE_WORD = 40
"""The most characters of a text without spaces that is one token."""
_MOST_TOKENS = 1_500
"""The most tokens that are aligned; longer texts are compared from both ends only."""

Token = tuple[str, Hashable]
"""A token's text, and what it is compared by: numbers are compared as in answers, so 1 equals 1.0."""


def marked(value: Any, other: Any) -> Marked:
    """A JSON value as text; the tokens that another value does not have at this place are marked."""
    if json_equal(value, other):
        return [as_json(value)]
    tokens, others = list(_tokens(value)), list(_tokens(_in_order_of(value, other)))
    same = _aligned([key for _, key in tokens], [key for _, key in others])
    if not any(place in same for place, (text, _) in enumerate(tokens) if _says_something(text)):
        return ["", as_json(value)]
    differs = [place not in same for place in range(len(tokens))]
    for place in range(1, len(tokens) - 1):  # a space or a comma between two marked words is marked as well
        if tokens[place][0].strip() in ("", ","):
            differs[place] |= differs[place - 1] and differs[place + 1]
    groups = groupby(zip(tokens, differs, strict=True), lambda pair: pair[1])
    parts = [("".join(text for (text, _), _ in group), mark) for mark, group in groups]
    texts = [text for text, _ in parts]
    return ["", *texts] if parts[0][1] else texts


def as_json(value: Any) -> str:
    """A value as JSON text, with characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def _says_something(token: str) -> bool:
    return any(map(str.isalnum, token))


def _tokens(value: Any) -> Iterator[Token]:
    if isinstance(value, str):
        text = as_json(value)
        whole = len(text) <= _ONE_WORD and not any(map(str.isspace, value))
        for word in [text] if whole else _WORD.findall(text):
            yield word, ("text", word)
    elif isinstance(value, list):
        yield from _listed("[", cast(list[Any], value), "]")
    elif isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        yield from _listed("{", [_Field(name, fields[name]) for name in fields], "}")
    elif isinstance(value, _Field):
        yield as_json(value.name), ("name", value.name)
        yield ": ", ":"
        yield from _tokens(value.value)
    elif isinstance(value, bool) or value is None:
        yield as_json(value), as_json(value)
    else:
        yield as_json(value), ("number", value)


class _Field:
    """A field of an object."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value


def _listed(begin: str, items: list[Any], end: str) -> Iterator[Token]:
    yield begin, begin
    for number, item in enumerate(items):
        if number:
            yield ", ", ","
        yield from _tokens(item)
    yield end, end


def _in_order_of(value: Any, other: Any) -> Any:
    """The other value with the fields of its objects in the order of this one: their order makes no difference."""
    if isinstance(value, list) and isinstance(other, list):
        mine, theirs = cast(list[Any], value), cast(list[Any], other)
        return [_in_order_of(*pair) for pair in zip(mine, theirs, strict=False)] + theirs[len(mine) :]
    if isinstance(value, dict) and isinstance(other, dict):
        mine, theirs = cast(dict[str, Any], value), cast(dict[str, Any], other)
        names = [*(name for name in mine if name in theirs), *(name for name in theirs if name not in mine)]
        return {name: _in_order_of(mine.get(name), theirs[name]) for name in names}
    return other


def _aligned(tokens: list[Hashable], others: list[Hashable]) -> set[int]:
    """The places of the tokens that the other list has as well, in the same order."""
    if max(len(tokens), len(others)) <= _MOST_TOKENS:
        blocks = SequenceMatcher(None, tokens, others, autojunk=False).get_matching_blocks()
        return {place for begin, _, size in blocks for place in range(begin, begin + size)}
    front = _common(tokens, others)
    back = _common(tokens[front:][::-1], others[front:][::-1])
    return {*range(front), *range(len(tokens) - back, len(tokens))}


def _common(tokens: list[Hashable], others: list[Hashable]) -> int:
    """The length of the common beginning."""
    pairs = enumerate(zip(tokens, others, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(tokens), len(others)))

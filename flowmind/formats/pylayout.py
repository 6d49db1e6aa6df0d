"""Python source in the layout that formatters give it: one line where it fits, else one part of a bracket to a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

WIDTH = 88
"""Columns of a line, the default of `ruff format` and `black`."""
INDENT = "    "


@dataclass(frozen=True)
class Group:
    """A bracket with parts between commas: a call, a list, a dict, parameters."""

    opening: str
    parts: tuple[Source, ...]
    closing: str
    prefix: str = ""
    """Text before the bracket: `name=`, `"key": `."""


@dataclass(frozen=True)
class Comprehension:
    """A list comprehension: what is collected, `for … in …`, `if …`."""

    clauses: tuple[str, ...]


Source = str | Group | Comprehension
"""An expression; one that is plain text is never broken."""


def flat(source: Source) -> str:
    """An expression on one line."""
    match source:
        case str():
            return source
        case Group(opening=opening, parts=parts, closing=closing, prefix=prefix):
            return prefix + opening + ", ".join(map(flat, parts)) + closing
        case Comprehension(clauses=clauses):
            return f"[{' '.join(clauses)}]"


def named(prefix: str, source: Source) -> Source:
    """An expression with text before it, as part of a bracket."""
    match source:
        case Group(opening=opening, parts=parts, closing=closing, prefix=before):
            return Group(opening, parts, closing, prefix + before)
        case _:
            return prefix + flat(source)


def statement(depth: int, source: Source, head: str = "", tail: str = "") -> list[str]:
    """The lines of a statement; one that cannot be broken is kept from formatters by a comment.

    Args:
        depth: How deep it is indented.
        source: Its expression.
        head, tail: Text before and behind it.
    """
    line = INDENT * depth + head + flat(source) + tail
    if len(line) <= WIDTH:
        return [line]
    broken = _broken(depth, source, head, tail)
    return broken if broken is not None else [f"{line}  # fmt: skip"]


def _broken(depth: int, source: Source, head: str, tail: str) -> list[str] | None:
    margin, inner = INDENT * depth, INDENT * (depth + 1)
    if isinstance(source, Comprehension):
        body = " ".join(source.clauses)
        lines = [body] if len(inner + body) <= WIDTH else list(source.clauses)
        if any(len(inner + line) > WIDTH for line in lines):
            return None
        return [f"{margin}{head}[", *(inner + line for line in lines), f"{margin}]{tail}"]
    if not isinstance(source, Group) or not source.parts:
        return None
    lines = [f"{margin}{head}{source.prefix}{source.opening}"]
    for part in source.parts:
        line = inner + flat(part) + ","
        if len(line) <= WIDTH:
            lines.append(line)
            continue
        # A bare star takes no comma, and is short; every other part may be broken in turn.
        broken = _broken(depth + 1, part, "", ",")
        if broken is None:
            return None
        lines += broken
    return [*lines, f"{margin}{source.closing}{tail}"]


def text(value: str) -> str:
    """A string literal, in double quotes unless single ones need fewer escapes."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    body = "".join(_escaped(character, quote) for character in value)
    return quote + body + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return "\\" + character
    return character if character in "'\"" else repr(character)[1:-1]


def constant(value: Any) -> Source:
    """A JSON value as Python source."""
    match value:
        case str():
            return text(value)
        case dict():
            fields = cast(Mapping[str, Any], value).items()
            return Group("{", tuple(named(f"{text(name)}: ", constant(part)) for name, part in fields), "}")
        case list():
            return Group("[", tuple(map(constant, cast(Sequence[Any], value))), "]")
        case float() if math.isinf(value):
            return "1e999" if value > 0 else "-1e999"
        case _:
            return repr(value)


def docstring(depth: int, lines: Sequence[str]) -> list[str]:
    """A docstring; the lines may contain any text."""
    safe = [_documented(line) for line in lines]
    while safe and not safe[-1]:
        safe.pop()
    margin = INDENT * depth
    first = safe[0] if safe else ""
    if first.startswith('"'):
        first = " " + first
    if len(safe) <= 1:
        closing = " " if first.endswith('"') else ""
        return [f'{margin}"""{first}{closing}"""']
    return [f'{margin}"""{first}', *(margin + line if line else "" for line in safe[1:]), f'{margin}"""']


def _documented(line: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in line)
    return shown.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip()

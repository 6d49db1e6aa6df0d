"""Chains of conditions: what the order of the task's text, and what a condition reads again, say about its bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from flowmind.build.induction.reading import Reading
from flowmind.build.induction.spelling import parsed

AGAINST_TEXT = 3.0
"""A condition before one of which the task's text speaks earlier."""
AGAINST_TURNS = 8.0
"""The same, where the text says that cases are looked at in turn."""
AGAIN = 3.0
"""What a condition costs less that reads nothing but what follows it reads, too: it is one of few, not one of all."""


def in_chain(reading: Reading, condition: str, after: str, sides: tuple[str, ...] = ()) -> float:
    """The bits of a condition beside its own, which those of what follows it give.

    Args:
        reading: The task's text.
        condition: The condition.
        after: The next condition, which is tested where it does not hold; empty if there is none.
        sides: Values on its sides.
    """
    follows = frozenset[str]().union(*(_paths_in(other) for other in (*sides, after) if other))
    again = _paths_in(condition) <= follows
    bits = -AGAIN if again else 0.0
    place = _place(reading, condition, after) if after else None
    later = _place(reading, after, condition) if after else None
    if place is not None and later is not None and later < place:
        bits += AGAINST_TURNS if reading.ordered else AGAINST_TEXT
    return bits


def test_of(text: str) -> str:
    """The condition of a choice; empty if an expression is none."""
    tree = parsed(text)
    return ast.unparse(tree.test) if isinstance(tree, ast.IfExp) else ""


def _place(reading: Reading, text: str, other: str) -> int | None:
    """Where the task's text speaks of a condition: of its constants, or else of the fields that it reads.

    What another condition has, too, does not count.
    """
    for parts in (_constants_in, _last_keys):
        places = [reading.place_of(one) for one in parts(text) if one not in parts(other)]
        known = [place for place in places if place is not None]
        if known:
            return min(known)
    return None


@lru_cache(maxsize=50_000)
def _constants_in(text: str) -> tuple[Any, ...]:
    return tuple(_constants(parsed(text)))


@lru_cache(maxsize=50_000)
def _paths_in(text: str) -> frozenset[str]:
    """The paths into variables that an expression reads."""
    return frozenset(map(ast.unparse, _paths(parsed(text))))


@lru_cache(maxsize=50_000)
def _last_keys(text: str) -> tuple[Any, ...]:
    keys = [path.slice if isinstance(path, ast.Subscript) else path for path in _paths(parsed(text))]
    names = [key.value if isinstance(key, ast.Constant) else getattr(key, "id", None) for key in keys]
    return tuple(name for name in names if isinstance(name, str))


def _paths(node: ast.AST) -> Iterator[ast.Subscript | ast.Name]:
    if isinstance(node, ast.Subscript | ast.Name):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _paths(child)


def _constants(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.Constant):
        if node.value not in (None, True, False, ""):  # 0 and 1 too
            yield node.value
    elif not isinstance(node, ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from _constants(child)

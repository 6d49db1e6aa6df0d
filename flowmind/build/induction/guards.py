"""Guards: what must hold before an expression has a value.

A feature has no value where an object or a list on its path is null, or a list is empty. A condition over it gets a
test for that in front: `x['manager'] is not None and x['manager']['id'] == 'M1'`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Feature


class Test(NamedTuple):
    """A condition without `and` and `or`, and its opposite."""

    text: str
    opposite: str


def guards_of(feature: Feature, features: Mapping[str, Feature]) -> tuple[Test, ...] | None:
    """The tests that hold exactly where an expression has a value, in the order in which they must stand.

    Args:
        feature: The feature.
        features: All features by their texts. Parts of the expression are looked up there.

    Returns:
        None if no guard helps: a variable is absent, or a value has another type somewhere.
    """
    if all(value is not UNSET for value in feature.values):
        return ()
    left = [place for place, value in enumerate(feature.values) if value is UNSET]
    guards: list[Test] = []
    for owner in _owners(feature.text):
        values = features[owner].values if owner in features else ()
        if not values:
            continue
        if any(values[place] is None for place in left):
            guards.append(Test(f"{owner} is not None", f"{owner} is None"))
        if any(values[place] == [] for place in left):
            guards.append(Test(f"len({owner}) > 0", f"len({owner}) == 0"))
        left = [place for place in left if values[place] is not None and values[place] != []]
    return tuple(guards) if not left else None


@lru_cache(maxsize=20_000)
def _owners(text: str) -> tuple[str, ...]:
    """The parts of an expression from which something is read, inner ones first."""
    source = text.encode()
    parts = _parts(ast.parse(text, mode="eval").body)
    return tuple(dict.fromkeys(source[part.col_offset : part.end_col_offset].decode() for part in parts))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Subscript(value=owner):
            yield from (*_parts(owner), owner)
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            for part in (owner, *args):
                yield from (*_parts(part), part)
        case ast.Call(args=args):
            for part in args:
                yield from (*_parts(part), part)
        case ast.BinOp(left=left, right=right):
            for part in (left, right):
                yield from (*_parts(part), part)
        case _:
            pass

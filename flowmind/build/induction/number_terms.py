"""Terms of arithmetic, and the table of all pairs of them under their values at two visits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import gt, lt
from typing import NamedTuple

from flowmind.build.induction.aggregates import aggregate_features
from flowmind.build.induction.bits import NODE, constant_bits
from flowmind.build.induction.features import (
    ATOM,
    PRODUCT,
    SUM,
    at_fixed_places,
    enclosed,
    features,
    is_percentage,
    known_features,
    lengths,
    numeric,
    scope_key,
)
from flowmind.build.induction.scopes import Context, PureCall, Scope
from flowmind.build.induction.spoken import integers

MOST_TERMS = 28
"""Numbers that are terms; half of them aggregates where these are terms. On one side of a choice there are fewer."""
FEWER_TERMS = 10
MOST_ALIKE = 30
"""Pairs with the same values at two visits that are tested at all visits."""
MOST_FOUND = 12
OPERATION = NODE + 2.0
"""The bits of an operation: one of four, beside the choice of the production."""
ROUNDED = 3.0
"""The bits of rounding."""
NOISE = 1e-6
"""Two numbers that differ by less are equal, relative to the larger one if that is above 1."""
FINE = 0.01
"""Rounding to a larger part of the largest result is not looked for in results of three terms: too many match."""
Vector = tuple[float, ...]


class Term(NamedTuple):
    """A number at each visit."""

    bits: float
    text: str
    values: Vector
    before: tuple[PureCall, ...] = ()
    constant: bool = False


class Pair(NamedTuple):
    bits: float
    op: str
    left: int
    right: int
    values: Vector
    """At the shown visits."""


_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "-//": lambda a, b: -(-a // b),
    "abs": lambda a, b: abs(a - b),
}
"""`-//` divides and rounds up, `abs` is the difference without its sign."""
_WHOLE = [op for op in _OPERATIONS if op != "abs"]
_RARE = {"//": 2.0, "%": 2.0, "-//": 3.0, "abs": 2.0}
"""The extra bits of the rarer operations."""
_LEVEL = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "-//": PRODUCT, "abs": SUM}


def operate(op: str, left: Vector, right: Vector) -> Vector | None:
    """The results of an operation at each visit; None if it has none somewhere."""
    try:
        return tuple(map(_OPERATIONS[op], left, right))
    except (ZeroDivisionError, OverflowError):
        return None


def combined(op: str, left: Term, right: Term) -> Term | None:
    """The term of an operation."""
    values = operate(op, left.values, right.values)
    if values is None:
        return None
    binds = _LEVEL[op]
    text = f"{enclosed(left.text, binds)} {op} {enclosed(right.text, binds + (op != '+' and op != '*'))}"
    if op == "-//":
        text = f"-(-{enclosed(left.text, ATOM)} // {enclosed(right.text, ATOM)})"
    if op == "abs":
        text = f"abs({left.text} - {enclosed(right.text, PRODUCT)})"
    if op in "+*" and right.text.startswith("-"):
        return None
    before = tuple(dict.fromkeys((*left.before, *right.before)))
    return Term(left.bits + right.bits + OPERATION, text, values, before, left.constant and right.constant)


def equal(first: float, second: float) -> bool:
    """Whether two numbers are equal but for noise."""
    return abs(first - second) <= NOISE * max(1.0, abs(second))


def rounded_key(values: Sequence[float]) -> tuple[float, ...]:
    return tuple([round(value, 6) + 0.0 for value in values])


class Rounding(NamedTuple):
    """How a result is rounded at the end."""

    pattern: str
    bits: float
    below: float
    """How far the exact result may lie below the rounded one."""
    above: float
    function: Callable[[float], float]


def _rounds(digits: int | None) -> Callable[[float], float]:
    return lambda value: round(value, digits)


EXACT = Rounding("{}", 0.0, 0.0, 0.0, float)
ROUNDINGS = {
    "cents": Rounding("round({}, 2)", ROUNDED, 0.005, 0.005, _rounds(2)),
    "tenths": Rounding("round({}, 1)", ROUNDED + 1, 0.05, 0.05, _rounds(1)),
    "whole": Rounding("round({})", ROUNDED, 0.5, 0.5, _rounds(None)),
    "floor": Rounding("int({})", ROUNDED, 0.0, 1.0, int),
    "ceiling": Rounding("-int(-({}) // 1)", ROUNDED + 2, 1.0, 0.0, math.ceil),
}


@dataclass
class Table:
    """The terms at some visits, and all pairs of them."""

    terms: list[Term]
    shown: list[int]
    pairs: list[Pair] = field(default_factory=list[Pair])
    by_values: dict[tuple[float, ...], list[Pair]] = field(default_factory=dict[tuple[float, ...], list[Pair]])
    alternatives: dict[int, list[Term]] = field(default_factory=dict[int, list[Term]])
    """For a term those with the same values that cost more."""
    first: dict[float, list[Pair]] = field(default_factory=dict[float, list[Pair]])
    sorted_at: dict[int, tuple[list[float], list[Pair]]] = field(
        default_factory=dict[int, tuple[list[float], list[Pair]]]
    )

    def at_shown(self, values: Vector) -> Vector:
        return tuple([values[visit] for visit in self.shown])

    def term_of(self, pair: Pair) -> Term | None:
        return combined(pair.op, self.terms[pair.left], self.terms[pair.right])

    def values_of(self, pair: Pair) -> Vector | None:
        """The values of a pair at all visits."""
        return operate(pair.op, self.terms[pair.left].values, self.terms[pair.right].values)

    def by_first(self) -> dict[float, list[Pair]]:
        """The pairs by their value at the first visit."""
        if not self.first:
            for pair in sorted(self.pairs):
                self.first.setdefault(round(pair.values[0], 6) + 0.0, []).append(pair)
        return self.first

    def within(self, visit: int, low: float, high: float) -> Sequence[Pair]:
        """The pairs whose value at a shown visit lies between two numbers."""
        if visit not in self.sorted_at:
            ordered = sorted(self.pairs, key=lambda pair: pair.values[visit])
            self.sorted_at[visit] = [pair.values[visit] for pair in ordered], ordered
        keys, ordered = self.sorted_at[visit]
        return ordered[bisect_left(keys, low) : bisect_right(keys, high)][:200]


def table_of(context: Context, scopes: Sequence[Scope], rich: bool, most: int) -> Table:
    memo = ("arithmetic", scope_key(scopes), rich, most, context.siblings)
    if memo not in context.memo:
        context.memo[memo] = _tabled(context, scopes, rich, most)
    return context.memo[memo]


def _tabled(context: Context, scopes: Sequence[Scope], rich: bool, most: int) -> Table:
    table = Table([], _shown(len(scopes)))
    places: dict[tuple[float, ...], int] = {}
    for term in _terms(context, scopes, rich, most):
        key = rounded_key(term.values)
        if key in places and not table.terms[places[key]].constant:
            table.alternatives.setdefault(places[key], []).append(term)
        else:
            places[key] = len(table.terms)
            table.terms.append(term)
    shown = [table.at_shown(term.values) for term in table.terms]
    for left, first in enumerate(table.terms):
        for right, second in enumerate(table.terms):
            if first.constant and second.constant:
                continue
            operations = [*(_WHOLE if _divides(second) and is_whole(first.values) else "+-*/")]
            if left < right and not first.constant and not second.constant and _crosses(first.values, second.values):
                operations.append("abs")
            bits = first.bits + second.bits + OPERATION
            for op in operations:
                if (op in "+*" and left > right) or (left == right and op != "*") or idle(op, first, second):
                    continue
                values = operate(op, shown[left], shown[right])
                if values is not None:
                    pair = Pair(bits + _RARE.get(op, 0.0), op, left, right, values)
                    table.pairs.append(pair)
                    table.by_values.setdefault(rounded_key(values), []).append(pair)
    context.effort += 4 * len(table.pairs)
    for pairs in table.by_values.values():
        pairs.sort()
        del pairs[MOST_ALIKE:]
    return table


def _crosses(first: Vector, second: Vector) -> bool:
    """Whether the difference of two numbers has both signs."""
    return any(map(gt, first, second)) and any(map(lt, first, second))


def _divides(term: Term) -> bool:
    """Whether a term may be the divisor of a whole number."""
    return all(value >= 2 and value == int(value) for value in term.values)


def idle(op: str, left: Term, right: Term) -> bool:
    """Whether an operation with a constant does nothing, or is another form of a likelier one."""
    number = right.values[0] if right.constant else left.values[0] if left.constant else None
    if number is None:
        return False
    if op in ("+", "-"):
        return number == 0 or (op == "-" and left.constant and number < 0)
    return number in (0, 1) or (op in ("//", "%", "-//") and (left.constant or number != int(number)))


def _shown(count: int) -> list[int]:
    return [0] if count == 1 else [0, count - 1]


def _terms(context: Context, scopes: Sequence[Scope], rich: bool, most: int) -> Iterator[Term]:
    """Constants, numbers among the paths and lengths, shares of percentages, and aggregates."""
    count = len(scopes)
    for number in dict.fromkeys((*context.reading.numbers, 1, 2, 100)):
        if number and abs(number) < 1e9:
            yield Term(1.0 + constant_bits(context, number), repr(number), (float(number),) * count, (), True)
    odd = at_fixed_places(context, scopes)
    found = [feature for feature in numeric(features(context, scopes)) if feature.text not in odd][
        : most // (2 if rich else 1)
    ]
    found += lengths(context, scopes)[: most // 4] + integers(context, scopes)[: most // 4]
    if rich:
        found += numeric(known_features(context, scopes))
        found += numeric(aggregate_features(context, scopes))[: most // 2]
    for feature in found:
        yield Term(feature.bits, feature.text, tuple(map(float, feature.values)), feature.before)
    for feature in filter(is_percentage, found):
        for bits, pattern, function in _SHARES:
            text = pattern.replace("{}", enclosed(feature.text, PRODUCT))
            yield Term(feature.bits + bits, text, tuple(map(function, feature.values)), feature.before)


_SHARES: tuple[tuple[float, str, Callable[[float], float]], ...] = (
    (3.0, "{} / 100", lambda value: value / 100),
    (5.0, "1 - {} / 100", lambda value: 1 - value / 100),
    (5.0, "1 + {} / 100", lambda value: 1 + value / 100),
)


def is_whole(values: Vector) -> bool:
    return all(value == int(value) for value in values)

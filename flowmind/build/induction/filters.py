"""Filters: conditions over the elements of lists, and over the variables around them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.build.induction.features import computed, scope_key, values_of
from flowmind.build.induction.lists import element_scopes, lists, matching, pairs
from flowmind.build.induction.predicates import (
    COMPARABLE,
    COMPARED,
    add_comparisons,
    add_tests,
    has_index,
    plain_features,
    subjects,
)
from flowmind.build.induction.scopes import Context, Scope
from flowmind.build.induction.tables import Table

OUTER = 2.0
"""The bits of the choice to compare an element with a variable around it."""
_OUTER = 16
"""The number of features of variables around the list that elements are compared with."""
_INNER = 20
"""The number of features of an element that are compared with each other."""


@dataclass(frozen=True)
class Elements:
    """The elements of a list at all scopes, in a row."""

    item: str
    """The variable of an element."""
    bounds: tuple[tuple[int, int], ...]
    """For each scope the places of its first element, and after its last one."""
    scopes: tuple[Scope, ...]
    """For each element the scope with the item alone."""
    table: Table
    """The tests of the elements."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The elements."""
        return tuple(scope[self.item] for scope in self.scopes)

    def inside(self, scopes: Sequence[Scope]) -> list[Scope]:
        """For each element the scope around the list, with the item."""
        return [
            scope.with_variables((own.key, self.item), **{self.item: own[self.item]})
            for scope, (start, end) in zip(scopes, self.bounds, strict=True)
            for own in self.scopes[start:end]
        ]


def elements_of(context: Context, scopes: Sequence[Scope], source: str, item: str) -> Elements:
    """The elements of a list.

    Args:
        context: What the search shares.
        scopes: The scopes.
        source: The expression of the list.
        item: The variable of an element.
    """
    memo = ("elements", scope_key(scopes), source, item)
    if memo not in context.memo:
        context.memo[memo] = _elements(context, scopes, source, item)
    return context.memo[memo]


def _elements(context: Context, scopes: Sequence[Scope], source: str, item: str) -> Elements:
    known = (one for group in (lists, matching, pairs) for one in group(context, scopes) if one.text == source)
    feature = next(known, None) or computed(0.0, source, values_of(context, scopes, source))
    values: Sequence[list[Any]] = feature.values
    inner = element_scopes(scopes, feature, item)
    ends = list(itertools.accumulate(map(len, values)))
    bounds = tuple(zip([0, *ends], ends, strict=False))
    owners = [place for place, own in enumerate(values) for _ in own]
    table = Table(len(inner), of_elements=True)
    tested = subjects(context, plain_features(context, inner))
    around = [
        subject for subject in subjects(context, plain_features(context, scopes))
        if subject.kind in COMPARABLE and not has_index(subject.feature.text)
    ]  # fmt: skip
    outside = [subject.spread(owners, OUTER) for subject in around[:_OUTER]]
    add_tests(context, table, tested, inner)
    simple = [subject for subject in tested if subject.kind in COMPARABLE]
    add_comparisons(context, table, itertools.combinations(simple[:_INNER], 2))
    add_comparisons(context, table, itertools.product(simple[: COMPARED // 2], outside))
    return Elements(item, bounds, inner, table)

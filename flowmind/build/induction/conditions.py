"""Conditions: expressions that are true at some scopes and false at others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from flowmind.build.induction.aggregates import rival_features
from flowmind.build.induction.comprehensions import arithmetic_of
from flowmind.build.induction.features import known_features, scope_key, values_of
from flowmind.build.induction.filters import elements_of
from flowmind.build.induction.guards import Test
from flowmind.build.induction.predicates import (
    COMPARABLE,
    COMPARED,
    Subject,
    add_comparisons,
    add_tests,
    counted_rounds,
    has_index,
    has_index_beside,
    plain_features,
    subjects,
)
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Candidate, Context, Feature, Scope
from flowmind.build.induction.spelling import listed_in, opposite_of
from flowmind.build.induction.tables import Condition, Table, also, bit_set, likeliest_near, look_up, nearest

OPERANDS = 8
"""The number of numbers of which differences, products and sums are tested."""
REASON = 2.0
"""The bits of a test that has ended a repetition before, and of the choice of one of its values."""
ONE_OF = 1.0
UNLIKELY = 18.0
"""The bits of a filter above which it is searched over all variables."""
PLAIN = 12.0
"""Aggregates are tested if no condition over paths has at most so many bits."""


def separate(context: Context, scopes: Sequence[Scope], labels: Sequence[bool]) -> tuple[Candidate, ...]:
    """Conditions that hold exactly where the label is true, the likeliest first.

    They evaluate without error at every scope.

    Args:
        context: What the search shares.
        scopes: The variables at each visit of the decision.
        labels: The decision at each visit.
    """
    holds = bit_set(labels)
    if not scopes or holds in (0, (1 << len(scopes)) - 1):
        return (Candidate(0.0, "True" if holds or not scopes else "False"),)
    key = ("separate", scope_key(scopes), holds, context.brief, context.siblings)
    if key not in context.memo:
        context.memo[key] = _separate(context, scopes, holds)
    return context.memo[key]


def filters(
    context: Context, scopes: Sequence[Scope], source: Candidate, masks: Sequence[Sequence[bool]], item: str
) -> tuple[Candidate, ...]:
    """Conditions that hold exactly for the elements of a list that are marked, the likeliest first.

    They read the element, and compare it with the variables around; if that is not likely, with all that is computed of
    both.

    Args:
        context: What the search shares.
        scopes: The scopes.
        source: The list.
        masks: For each scope and each element whether the condition holds.
        item: The variable of an element.
    """
    elements = elements_of(context, scopes, source.text, item)
    labels = [mark for own in masks for mark in own]
    holds = bit_set(labels)
    if holds in (0, elements.table.full):
        return (Candidate(0.0, "True" if holds else "False"),)
    memo = ("filters", scope_key(scopes), source.text, item, holds, context.siblings, context.brief)
    if memo not in context.memo:
        found = look_up(context, elements.table, holds)
        rich = all(isinstance(element, dict) for element in elements.values)
        if rich and not context.brief and (not found or found[0].bits > UNLIKELY):
            others = look_up(context, _rich_table(context, elements.inside(scopes)), holds)
            found = nearest([*found, *(one for one in others if not has_index_beside(one.text, item))])
        found += also(elements.table, found, holds, scopes[0])
        context.memo[memo] = tuple(condition.candidate for condition in found)
    return context.memo[memo]


def kept_by_filter(
    context: Context,
    scopes: Sequence[Scope],
    source: Candidate,
    item: str,
    must: int,
    may: int,
    fits: Callable[[int], bool],
) -> int | None:
    """The elements of a list that the likeliest filter keeps, of those that keep some elements and perhaps others.

    Args:
        context: What the search shares.
        scopes: The scopes.
        source: The list.
        item: The variable of an element.
        must: The elements that it must keep.
        may: Those that it may keep.
        fits: Whether a set of elements is right.
    """
    elements = elements_of(context, scopes, source.text, item)
    found = likeliest_near(elements.table, must, may, fits)
    if (found is None or found[0] > UNLIKELY) and not context.brief:
        rich = likeliest_near(_rich_table(context, elements.inside(scopes)), must, may, fits)
        found = min((one for one in (found, rich) if one is not None), default=None)
    return found[1] if found else None


def _separate(context: Context, scopes: Sequence[Scope], holds: int) -> tuple[Candidate, ...]:
    found = look_up(context, table_of(context, scopes), holds)
    if not context.brief and (not found or found[0].bits > PLAIN):
        found = nearest([*found, *look_up(context, _rich_table(context, scopes), holds)])
    return tuple(condition.candidate for condition in found)


def table_of(context: Context, scopes: Sequence[Scope]) -> Table:
    """The tests of paths and lengths."""
    memo = ("tests", scope_key(scopes))
    if memo not in context.memo:
        plain = plain_features(context, scopes)
        found = subjects(context, [*plain, *counted_rounds(plain)])
        table = Table(len(scopes))
        add_tests(context, table, found, scopes)
        simple = [subject for subject in found if subject.kind in COMPARABLE][:COMPARED]
        add_comparisons(context, table, itertools.combinations(simple, 2))
        _add_reasons(context, table, scopes)
        context.memo[memo] = table
    return context.memo[memo]


def _add_reasons(context: Context, table: Table, scopes: Sequence[Scope]) -> None:
    """Adds the tests that have ended a repetition before, and those for one of several values."""
    reasons = scopes[0].reasons if len({scope.reasons for scope in scopes}) == 1 else ()
    for reason in reasons:
        for bits, text in ((REASON, reason), *((REASON + ONE_OF, text) for text in listed_in(reason))):
            values = values_of(context, scopes, text)
            if UNSET not in values:
                table.add(Condition(bits, (Test(text, opposite_of(text)),)), bit_set(map(bool, values)))


def _rich_table(context: Context, scopes: Sequence[Scope]) -> Table:
    """The tests of some aggregates, also against paths, with the likeliest others."""
    memo = ("rich tests", scope_key(scopes), context.siblings)
    if memo not in context.memo:
        tests = table_of(context, scopes).tests
        table = Table(len(scopes), {holds: dict(own) for holds, own in tests.items()})
        found = subjects(context, plain_features(context, scopes))
        plain = [one for one in found if one.kind == "number" and not has_index(one.feature.text)][: COMPARED // 3]
        rich = subjects(context, [*known_features(context, scopes), *rival_features(context, scopes)])
        made = [
            *_computed(plain[:OPERANDS]),
            *_computed([one for one in rich if one.kind == "number"][:OPERANDS], plain),
        ]
        rich += subjects(context, made)
        add_tests(context, table, rich, scopes)
        add_comparisons(context, table, itertools.product(rich, plain))
        context.memo[memo] = table
    return context.memo[memo]


def _computed(numbers: Sequence[Subject], others: Sequence[Subject] = ()) -> list[Feature]:
    """Differences, products and sums of two numbers that are never null; with `others` one of each."""
    pairs = itertools.product(numbers, others[:OPERANDS]) if others else itertools.combinations(numbers, 2)
    return [
        feature
        for one, two in pairs
        if not one.safe and not two.safe
        for feature in arithmetic_of(one.feature, two.feature)
    ]

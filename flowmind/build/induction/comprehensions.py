"""Comprehensions: loops over the elements of a list that keep some of them and compute a value of each."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flowmind.build.induction.bits import is_number
from flowmind.build.induction.features import PRODUCT, computed, enclosed, features, is_percentage
from flowmind.build.induction.filters import Elements, elements_of
from flowmind.build.induction.lists import item_name, lists, matching, pairs
from flowmind.build.induction.predicates import has_index
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Candidate, Context, Feature, PureCall, Scope
from flowmind.build.induction.spelling import reads_of
from flowmind.build.induction.tables import JOIN, WIDTH, Condition, joined, look_up

FILTER = 2.0
"""The bits of the choice to keep some elements only."""
OUTER = 10.0
"""A value of each element that does not depend on it."""
MAX_JOINED = 34.0
"""The same for joined ones."""
MAX_ELEMENTS = 600
"""Lists with more elements, in all scopes together, are not searched."""
MAX_FILTER = 26.0
"""Filters of more bits are not tried with every body: they single elements out by chance."""
_JOINED = 40
_IN_THREES = 24
"""The number of filters that are joined with each other."""
_THREE = 5
"""The number of fields of which three are combined."""
_FACTORS = 10
"""The number of fields of which products and differences are made."""


class Kept(NamedTuple):
    """A filter."""

    bits: float
    condition: Condition | None
    """None keeps all elements."""
    holds: int
    """The set of elements that it keeps."""


class Body(NamedTuple):
    """A value of each element."""

    bits: float
    text: str
    values: tuple[Any, ...]
    keys: tuple[Hashable, ...]
    before: tuple[PureCall, ...] = ()


@dataclass(frozen=True)
class Loop:
    """The loops over a list."""

    context: Context
    source: Feature
    elements: Elements

    @property
    def flat(self) -> bool:
        """Whether the list is no path."""
        return " for " in self.source.text

    @property
    def shared(self) -> bool:
        """Whether several scopes have the same list."""
        return len(set(map(id, self.source.values))) < len(self.source.values)

    def head(self, kept: Kept, more: str = "") -> str:
        """The part after the body: `for order in orders if order['status'] == 'open'`; `more` is one more test."""
        chosen, condition = self.source.chosen, kept.condition
        tests = [chosen.test] if chosen else []
        tests += [condition.enclosed if tests or more else condition.text] if condition else []
        tests += [more] if more else []
        test = f" if {' and '.join(tests)}" if tests else ""
        return f"for {self.elements.item} in {chosen.source if chosen else self.source.text}{test}"

    def some(self, kept: Kept) -> str:
        """Whether any element is kept."""
        if kept.condition is None and self.source.chosen is None:
            return f"len({self.source.text}) > 0"
        whole = self.source.chosen.source if self.source.chosen else self.source.text
        tests = self.head(kept).removeprefix(f"for {self.elements.item} in {whole} if ")
        return f"any({tests} for {self.elements.item} in {whole})"

    def places(self, kept: Kept) -> list[list[int]]:
        """For each scope the places of the elements that are kept."""
        return [[place for place in range(*bounds) if kept.holds >> place & 1] for bounds in self.elements.bounds]

    def parts(self, holds: int) -> Iterator[int]:
        """For each scope its part of a set of elements."""
        for start, end in self.elements.bounds:
            yield holds >> start & ((1 << (end - start)) - 1)

    def all(self) -> Kept:
        """No filter."""
        return Kept(0.0, None, self.elements.table.full)

    def filters(self, most: int) -> list[Kept]:
        """No filter, and for each set of elements the likeliest one, the likeliest first."""
        likeliest = itertools.islice(self.elements.table.likeliest(), most)
        near = itertools.takewhile(lambda entry: entry[0] <= MAX_FILTER, likeliest)
        return [self.all(), *(Kept(bits + FILTER, condition, holds) for bits, holds, condition in near)]

    def joined_filters(self) -> list[Kept]:
        """Two or three filters joined by `and`, for sets of elements that no single one keeps, the likeliest first."""
        table = self.elements.table
        near = [entry for entry in table.likeliest()[:_JOINED] if entry[0] <= MAX_FILTER]
        known = {table.full, 0, *table.tests, *(table.full ^ holds for holds in table.tests)}
        best: dict[int, tuple[float, tuple[Condition, ...]]] = {}

        def add(bits: float, holds: int, *parts: Condition) -> None:
            if holds not in known and bits <= MAX_JOINED and (holds not in best or best[holds][0] > bits):
                best[holds] = bits, parts

        for place, (bits, holds, one) in enumerate(near):
            for at, (more, others, two) in enumerate(near[place + 1 :], place + 1):
                both, sum_of_two = holds & others, bits + more + JOIN
                if sum_of_two > MAX_JOINED:
                    break
                if not both or both in (holds, others):
                    continue
                add(sum_of_two, both, one, two)
                for most, third, three in near[at + 1 : _IN_THREES]:
                    if sum_of_two + most + JOIN > MAX_JOINED:
                        break
                    if both & third not in (both, 0):
                        add(sum_of_two + most + JOIN, both & third, one, two, three)
        found = [Kept(bits + FILTER, joined("and", parts), holds) for holds, (bits, parts) in best.items()]
        return sorted(found, key=lambda kept: kept.bits)

    def rivals(self, kept: Kept) -> list[Kept]:
        """The filters that keep the same elements, the likeliest first."""
        if kept.condition is None:
            return [kept]
        single = self.elements.table.exactly(kept.holds)
        same = single or look_up(self.context, self.elements.table, kept.holds)
        near = [Kept(one.bits + FILTER, one, kept.holds) for one in same if one.bits <= same[0].bits + WIDTH]
        return near[:8] or [kept]

    def bodies(self, context: Context, hint: str = "") -> list[Body]:
        """The paths into an element that all elements have, the likeliest first."""
        found = features(context, self.elements.scopes, hint)
        full = [feature for feature in found if all(value is not UNSET for value in feature.values)]
        made = [body_of(feature) for feature in full if not has_index(feature.text)]
        own = self.elements.item
        return [one if own in reads_of(one.text) else one._replace(bits=one.bits + OUTER) for one in made]

    def numbers(self, context: Context, hint: str = "") -> list[Body]:
        """Numbers of an element: fields, and products, differences and sums of two, the likeliest first."""
        memo = ("numbers", id(self.elements), hint)
        if memo not in context.memo:
            plain = [body for body in self.bodies(context, hint) if body.values and all(map(is_number, body.values))]
            pairs = itertools.combinations(plain[:_FACTORS], 2)
            found = [*plain, *(body_of(made) for one, two in pairs for made in arithmetic_of(one, two))]
            context.effort += len(found) * len(self.elements.scopes)
            context.memo[memo] = sorted(found, key=lambda body: body.bits)
        return context.memo[memo]

    def combined(self, context: Context) -> list[Body]:
        """Numbers of an element that are made of three fields, the likeliest first."""
        plain = [body for body in self.bodies(context) if body.values and all(map(is_number, body.values))][:_THREE]
        found = [
            made
            for one, two in itertools.combinations(plain, 2)
            for inner in arithmetic_of(one, two)
            for third in plain
            if third not in (one, two)
            for made in itertools.islice(arithmetic_of(inner, third), 1 if " * " not in inner.text else 2)
        ]
        return sorted(map(body_of, found), key=lambda body: body.bits)

    def shares(self, context: Context) -> list[Feature]:
        """One less, and one plus, a field in percent; 0 where it is null."""
        found: list[Feature] = []
        for feature in features(context, self.elements.scopes):
            small = all(value is None or (is_number(value) and 0 <= value <= 100) for value in feature.values)
            if small and any(feature.values) and is_percentage(feature):
                text = f"({feature.text} or 0)" if None in feature.values else feature.text
                for sign, way in (("-", -1), ("+", 1)):
                    values = [1 + way * (value or 0) / 100 for value in feature.values]
                    found.append(computed(feature.bits + 5.0, f"1 {sign} {text} / 100", values))
        return found


def body_of(feature: Feature) -> Body:
    """A feature as a body."""
    return Body(feature.bits, feature.text, feature.values, feature.keys, feature.before)


def arithmetic_of(one: Body | Feature, two: Body | Feature) -> Iterator[Feature]:
    """The product, the differences and the sum of two numbers."""
    bits = one.bits + two.bits
    before = tuple(dict.fromkeys((*one.before, *two.before)))
    pairs = list(zip(one.values, two.values, strict=True))
    left, right = enclosed(one.text, PRODUCT), enclosed(two.text, PRODUCT)
    for extra, text, values in (
        (3.0, f"{left} * {right}", [own * other for own, other in pairs]),
        (4.0, f"{left} - {right}", [own - other for own, other in pairs]),
        (4.0, f"{right} - {left}", [other - own for own, other in pairs]),
        (4.0, f"{left} + {right}", [own + other for own, other in pairs]),
    ):
        yield computed(bits + extra, text, values)._replace(before=before)


def loops(context: Context, scopes: Sequence[Scope], most: int = 16) -> Iterator[Loop]:
    """The loops over the likeliest lists of some scopes."""
    for source in (*lists(context, scopes)[:most], *matching(context, scopes), *pairs(context, scopes)):
        if 0 < sum(map(len, source.values)) <= MAX_ELEMENTS:
            item = source.chosen.item if source.chosen else item_name(source.text, scopes)
            yield Loop(context, source, elements_of(context, scopes, source.text, item))


def candidate(loop: Loop, bits: float, text: str, kept: Kept, body: Body | None = None) -> Candidate:
    """An aggregate with all its bits: the list, the filter, the body, and those of the kind."""
    before = (
        *loop.source.before,
        *(kept.condition.before if kept.condition else ()),
        *(body.before if body else ()),
    )
    own = loop.source.bits + kept.bits + (body.bits if body else 0.0) + bits
    return Candidate(own, text, tuple(dict.fromkeys(before)))

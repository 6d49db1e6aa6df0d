"""Tables of conditions by the scopes where they hold.

A set of scopes is an int: bit i stands for the scope i. A decision is looked up by its set, and by the complement; then
conditions are joined by `and` and `or`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from flowmind.build.induction.guards import Test
from flowmind.build.induction.scopes import Candidate, Context, PureCall

WIDTH = 12.0
"""Conditions of so many bits above the likeliest are kept: rivals come from them."""
MOST = 40
"""The largest number of conditions for a decision."""
JOIN = 2.0
"""The bits of `and` and `or`."""
OPPOSITE = 0.5
"""The bits of a negation."""
THREE = 22.0
"""Three conditions are joined if no one or two have at most so many bits."""
_RIVALS = 10
_RIVALS_OF_THREE = 3
_JOINED = 80
"""The number of tests that are tried as a side of `and` and `or`."""

_LOOSE = 400
_LOOSE_OF_THREE = 120
"""The same where some scopes are free, and for three tests."""


_Tests = tuple[Test, ...]


class Condition(NamedTuple):
    """Tests joined by `and`, or by `or`."""

    bits: float
    tests: tuple[Test, ...]
    word: str = "and"
    before: tuple[PureCall, ...] = ()
    negation: float = OPPOSITE
    """The bits of its opposite, beside its own."""

    @property
    def text(self) -> str:
        """The expression."""
        return f" {self.word} ".join(test.text for test in self.tests)

    @property
    def enclosed(self) -> str:
        """The expression as a side of `and`."""
        return f"({self.text})" if self.word == "or" and len(self.tests) > 1 else self.text

    @property
    def opposite(self) -> Condition:
        """The condition that holds exactly where this one does not."""
        tests = tuple(Test(test.opposite, test.text) for test in self.tests)
        return Condition(self.bits + self.negation, tests, "or" if self.word == "and" else "and", self.before)

    @property
    def candidate(self) -> Candidate:
        """As an explanation of a decision."""
        return Candidate(self.bits, self.text, self.before)


def joined(word: str, conditions: Sequence[Condition]) -> Condition:
    """Conditions joined by `and` or `or`."""
    tests: list[Test] = []
    for condition in conditions:
        if len(condition.tests) == 1 or condition.word == word:
            tests += condition.tests
        else:
            tests.append(Test(f"({condition.text})", f"({condition.opposite.text})"))
    bits = sum(condition.bits for condition in conditions) + JOIN * (len(conditions) - 1)
    before = tuple(dict.fromkeys(call for condition in conditions for call in condition.before))
    return Condition(bits, tuple(dict.fromkeys(tests)), word, before)


@dataclass
class Table:
    """The tests of some scopes, by the set of scopes where they hold."""

    size: int
    """The number of scopes."""
    tests: dict[int, dict[_Tests, Condition]] = field(default_factory=dict[int, dict[_Tests, Condition]])
    """Conditions of tests joined by `and`, by these; without those that hold everywhere or nowhere."""
    of_elements: bool = False
    """Whether the scopes are those of the elements of a list, of which the tests choose some."""
    _sorted: list[tuple[float, int, Condition]] | None = None
    _exact: dict[int, list[Condition]] = field(default_factory=dict[int, "list[Condition]"])

    @property
    def full(self) -> int:
        """The set of all scopes."""
        return (1 << self.size) - 1

    def add(self, condition: Condition, holds: int) -> None:
        """Adds a test that holds at a set of scopes."""
        if holds in (0, self.full):
            return
        known = self.tests.setdefault(holds, {})
        if condition.tests not in known or known[condition.tests].bits > condition.bits:
            known[condition.tests] = condition
            self._sorted = None
            self._exact.clear()

    def exactly(self, holds: int) -> list[Condition]:
        """The tests, and the opposites of tests, that hold at exactly these scopes, the likeliest first."""
        if holds not in self._exact:
            self._exact[holds] = self._exactly(holds)
        return list(self._exact[holds])

    def _exactly(self, holds: int) -> list[Condition]:
        found = {one.text: one for one in self.tests.get(holds, {}).values()}
        for condition in self.tests.get(self.full ^ holds, {}).values():
            opposite = condition.opposite
            if opposite.text not in found or found[opposite.text].bits > opposite.bits:
                found[opposite.text] = opposite
        return sorted(found.values(), key=_order)

    def likeliest(self) -> list[tuple[float, int, Condition]]:
        """For each set of scopes the likeliest condition, as bits, set and condition."""
        if self._sorted is None:
            best = {holds: min(own.values(), key=_order) for holds, own in self.tests.items()}
            for holds in list(best):
                opposite = best[holds].opposite
                other = best.get(self.full ^ holds)
                if other is None or _order(opposite) < _order(other):
                    best[self.full ^ holds] = opposite
            self._sorted = sorted(
                ((one.bits, holds, one) for holds, one in best.items()), key=lambda entry: _order(entry[2])
            )
        return self._sorted


def bit_set(truths: Iterable[bool]) -> int:
    """The places that are true."""
    return int("0" + "".join(["1" if truth else "0" for truth in truths])[::-1], 2)


def look_up(context: Context, table: Table, holds: int) -> list[Condition]:
    """The conditions that hold at exactly these scopes, the likeliest first: tests, and tests joined by and, or."""
    found = table.exactly(holds)
    if context.exhausted:
        return nearest(found)
    best = found[0].bits if found else float("inf")
    found += _pairs(context, table, holds, best + WIDTH)
    if min((condition.bits for condition in found), default=THREE + 1) > THREE:
        found += _triples(context, table, holds)
    return nearest(found)


def also(table: Table, found: Sequence[Condition], holds: int, names: Collection[str]) -> list[Condition]:
    """The likeliest condition and equality with a variable, which holds where the condition does: no scope tells.

    It is meant where nothing else reads this variable.
    """
    made: list[Condition] = []
    for own, known in table.tests.items() if found else ():
        if own & holds == holds != own:
            for condition in known.values():
                if condition.word == "and" and _EQUAL.fullmatch(condition.text) and _names_one(condition.text, names):
                    made.append(joined("and", (found[0], condition)))
    return sorted(made, key=_order)[:_RIVALS]


_EQUAL = re.compile(r"[^ ]+ == [^ ]+")


def _names_one(text: str, names: Collection[str]) -> bool:
    return any(side in names for side in text.split(" == "))


def likeliest_near(table: Table, holds: int, free: int, fits: Callable[[int], bool]) -> tuple[float, int] | None:
    """The bits of the likeliest condition that holds at some scopes and perhaps at others, with where it holds.

    Args:
        table: The tests.
        holds: Where it must hold.
        free: Where it may hold.
        fits: Whether a set of scopes is right.
    """
    if not holds ^ table.full ^ free and fits(table.full):
        return 0.0, table.full
    near = [(bits, own) for bits, own, _ in table.likeliest()]
    found = [(bits, own) for bits, own in near if not (own ^ holds) & ~free and fits(own)][:1]
    most = holds | free
    for word, sides in (
        ("and", [entry for entry in near if entry[1] & holds == holds]),
        ("or", [entry for entry in near if entry[1] & most == entry[1]]),
    ):
        for (bits, left), (more, right) in itertools.combinations(sides[:_LOOSE], 2):
            if not found or bits + more + JOIN < found[0][0]:
                own = left & right if word == "and" else left | right
                if not (own ^ holds) & ~free and fits(own):
                    found = [(bits + more + JOIN, own)]
    if not found or found[0][0] > THREE:
        sides = [entry for entry in near if entry[1] & holds == holds][:_LOOSE_OF_THREE]
        for at, (bits, left) in enumerate(sides):
            for place, (more, right) in enumerate(sides[at + 1 :], at + 1):
                both, sum_of_two = left & right, bits + more + 2 * JOIN
                for most_bits, third in sides[place + 1 :] if both not in (left, right) else ():
                    if found and sum_of_two + most_bits >= found[0][0]:
                        break
                    own = both & third
                    if not (own ^ holds) & ~free and fits(own):
                        found = [(sum_of_two + most_bits, own)]
    return found[0] if found else None


def nearest(found: Iterable[Condition]) -> list[Condition]:
    """The likeliest conditions, without those that say the same."""
    kept: dict[frozenset[str], Condition] = {}
    for condition in sorted(found, key=_order):
        kept.setdefault(frozenset((condition.word, *(test.text for test in condition.tests))), condition)
    best = min((condition.bits for condition in kept.values()), default=0.0)
    return [condition for condition in kept.values() if condition.bits <= best + WIDTH][:MOST]


def _order(condition: Condition) -> tuple[float, _Tests]:
    return (condition.bits, condition.tests)


def _sides(table: Table, holds: int, word: str) -> list[tuple[float, int, Condition]]:
    """The conditions that may be a side of `and` or `or`."""
    inside = holds if word == "and" else table.full ^ holds
    sides: list[tuple[float, int, Condition]] = []
    for entry in table.likeliest():
        side = entry[1] if word == "and" else table.full ^ entry[1]
        if side & inside == inside and side != inside:
            sides.append(entry)
            if len(sides) == _JOINED:
                break
    return sides


PAIR = 100
"""The work for a pair of tests that separates the scopes."""


def _pairs(context: Context, table: Table, holds: int, most: float) -> list[Condition]:
    found: list[Condition] = []
    for word in ("and", "or"):
        sides = _sides(table, holds, word)
        context.effort += len(sides) * len(sides) // 2
        for (bits, left, first), (more, right, second) in itertools.combinations(sides, 2):
            if bits + more + JOIN <= most and (left & right if word == "and" else left | right) == holds:
                context.effort += PAIR
                found.append(joined(word, (first, second)))
                found += (joined(word, (first, other)) for other in _rivals(table, right, second))
                found += (joined(word, (other, second)) for other in _rivals(table, left, first))
    return found


def _rivals(table: Table, holds: int, likeliest: Condition) -> list[Condition]:
    """Other conditions for a side, nearly as likely as the likeliest one."""
    near = [one for one in table.exactly(holds) if one.bits <= likeliest.bits + WIDTH]
    return [one for one in near if one.tests != likeliest.tests][:_RIVALS]


def _triples(context: Context, table: Table, holds: int) -> list[Condition]:
    found: list[Condition] = []
    for word in ("and", "or"):
        sides = _sides(table, holds, word)[:24]
        context.effort += len(sides) ** 3 // 6
        for parts in itertools.combinations(sides, 3):
            (_, one, _), (_, two, _), (_, three, _) = parts
            if (one & two & three if word == "and" else one | two | three) == holds:
                own = [part[2] for part in parts]
                found.append(joined(word, own))
                for place, (_, holds_of, likeliest) in enumerate(parts):
                    for other in _rivals(table, holds_of, likeliest)[:_RIVALS_OF_THREE]:
                        found.append(joined(word, [*own[:place], other, *own[place + 1 :]]))
    return found

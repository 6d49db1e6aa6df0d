"""Conditions that separate the visits of a place that took one way from those that took another.

Atoms are comparisons of terms with constants and with each other, truth values, and membership. Candidates are atoms
and pairs of atoms that agree with every visit. They are ranked by size, by what the task's text says about their
constants, and by whether they read a result that nothing else reads, which probably serves a decision.

Finds the conditions of a plan, also those that decide in several places.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

from flowmind.build.induction.control_flow import ROUND, UNSET, VISITS
from flowmind.build.induction.terms import Pool, Term, is_number, key_of

MOST = 24
"""Candidates returned at most."""
FEATURES = 70
HALVES = 220
ALIKE = 4
"""Atoms with the same truth values that may be combined."""
TEXTS = 80
DATES = 32
SIMPLE = 4.0
"""If a comparison costs at most this, no multiples are tried."""
WAITING = 0.5
"""Maximum cost of a term that reads a result which nothing else reads."""


@dataclass(frozen=True)
class Candidate:
    """A condition that agrees with all visits."""

    expr: str
    cost: float
    uses: frozenset[str]


@dataclass(frozen=True)
class _Atom:
    expr: str
    cost: float
    uses: frozenset[str]
    holds: int
    """A bit for each visit."""

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.expr, self.cost, self.uses)


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in"}


def negated(expr: str) -> str:
    """The opposite of a condition, without `not (…)` around a single comparison or around another `not (…)`."""
    if expr.startswith("not (") and _closes(expr, len("not ")) == len(expr) - 1:
        return expr[len("not (") : -1]
    simple = re.fullmatch(r"(\S+) (==|!=|<=|>=|<|>|in|not in) (\S+)", expr)
    if simple is not None:
        return f"{simple[1]} {_OPPOSITE[simple[2]]} {simple[3]}"
    if re.fullmatch(r"not \S+", expr):
        return expr.removeprefix("not ")
    return f"not {expr}" if re.fullmatch(r"\w+", expr) else f"not ({expr})"


def _closes(expr: str, opening: int) -> int:
    """The place of the closing parenthesis. Parentheses in quoted texts are counted too; they are rare."""
    depth = 0
    for place in range(opening, len(expr)):
        depth += (expr[place] == "(") - (expr[place] == ")")
        if not depth:
            return place
    return -1


def separate(pool: Pool, labels: Sequence[bool]) -> list[Candidate]:
    """The conditions that hold at exactly the visits with a true label, the likeliest first.

    Args:
        pool: The terms at the visits.
        labels: For each visit whether it went the way of the condition.
    """
    target = sum(1 << place for place, label in enumerate(labels) if label)
    everything = (1 << len(labels)) - 1
    atoms: dict[str, _Atom] = {}
    for atom in _atoms(pool, labels):
        # an atom that holds at all wanted visits can be narrowed, and one that holds at wanted visits only widened
        if (atom.holds & target == target or not atom.holds & ~target) and atom.holds not in (0, everything):
            atoms[atom.expr] = atom
    candidates = {atom.expr: atom.candidate for atom in atoms.values() if atom.holds == target}
    if min((candidate.cost for candidate in candidates.values()), default=99.0) > SIMPLE:
        candidates |= {atom.expr: atom.candidate for atom in _scaled(pool) if atom.holds == target}
    ranked = sorted(atoms.values(), key=lambda atom: (atom.cost, atom.expr))
    both = _unlike(atom for atom in ranked if atom.holds & target == target and atom.holds != everything)
    either = _unlike(atom for atom in ranked if atom.holds & ~target == 0 and atom.holds)
    cheapest = min((candidate.cost for candidate in candidates.values()), default=99.0)
    for word, halves in (("and", both), ("or", either)):
        for first, second, cost in _pairs(halves, cheapest + 4):
            holds = first.holds & second.holds if word == "and" else first.holds | second.holds
            if holds == target and target not in (first.holds, second.holds):
                # a test that guards an index comes first
                guarded = " < len(" in second.expr and " < len(" not in first.expr
                parts = (second, first) if guarded else (first, second)
                expr = f" {word} ".join(atom.expr for atom in parts)
                candidates.setdefault(expr, Candidate(expr, cost, first.uses | second.uses))
    return sorted(candidates.values(), key=lambda candidate: (candidate.cost, len(candidate.expr), candidate.expr))[
        :MOST
    ]


def _unlike(atoms: Iterable[_Atom]) -> list[_Atom]:
    """The cheapest atoms, with few of each set of truth values."""
    unlike: list[_Atom] = []
    counts: dict[int, int] = {}
    for atom in atoms:
        counts[atom.holds] = counts.get(atom.holds, 0) + 1
        if counts[atom.holds] <= ALIKE:
            unlike.append(atom)
    return unlike[:HALVES]


def _pairs(halves: Sequence[_Atom], most: float) -> Iterator[tuple[_Atom, _Atom, float]]:
    """Pairs of atoms whose total cost is at most `most`. The atoms are sorted by cost."""
    for place, first in enumerate(halves):
        for second in halves[place + 1 :]:
            cost = first.cost + second.cost + 0.8
            if cost > most:
                break
            yield first, second, cost


def _atoms(pool: Pool, labels: Sequence[bool]) -> Iterator[_Atom]:
    terms = _terms(pool)
    numbers = _numbers(terms)
    yield from _truths(terms)
    for term in numbers:
        yield from _cuts(pool, term, labels)
    yield from _compared(numbers[:30], labels)
    for term in _sums(numbers[:14]):
        yield from _cuts(pool, term, labels, bare=False)
    yield from _texts(pool, terms)
    yield from _members(terms)


def _terms(pool: Pool) -> list[Term]:
    return sorted((term for term in pool.measured if UNSET not in term.values), key=lambda term: term.cost)


def _numbers(terms: Sequence[Term]) -> list[Term]:
    return [term for term in terms if all(map(is_number, term.values))][:FEATURES]


def _mask(holds: Iterable[bool]) -> int:
    """The truth values as bits, the first in the lowest place."""
    return sum([1 << place for place, hold in enumerate(holds) if hold])


def _truths(terms: Sequence[Term]) -> Iterator[_Atom]:
    for term in terms:
        if all(isinstance(value, bool) for value in term.values):
            yield _Atom(term.expr, term.cost, term.uses, _mask(term.values))
            yield _Atom(f"not {term.expr}", term.cost + 0.2, term.uses, _mask([not value for value in term.values]))


def _cuts(pool: Pool, term: Term, labels: Sequence[bool], bare: bool = True) -> Iterator[_Atom]:
    """Comparisons of a term with its own values and with the constants that the text names.

    All constants between two neighbouring values separate the visits in the same way.
    """
    values = cast(tuple[float, ...], term.values)
    named = [value for value in pool.constants if is_number(value)]
    odd = 0.9 if term.spelled else 0.0
    target, everything = _mask(labels), (1 << len(labels)) - 1
    seen = sorted(set(values))
    options: dict[tuple[str, float], None] = {}
    for value in named:
        if bare or seen[0] <= value <= seen[-1]:
            for op in ("<", "<=", ">", ">=", "==", "!="):
                options[op, value] = None
    if bare:
        for value in [0, *(seen if len(seen) <= 12 else _edges(values, labels))]:
            for op in ("<=", ">=", "==", "!=") if value else ("<=", ">=", "==", "!=", ">", "<"):
                options.setdefault((op, value), None)
    masks: dict[float, tuple[int, int]] = {}
    for op, value in options:
        if value not in masks:
            masks[value] = (_mask([number < value for number in values]), _mask([number == value for number in values]))
        holds = _holds(op, *masks[value], everything)
        if holds in (0, everything) or (holds & target != target and holds & ~target):
            continue
        agreed = pool.reading.agreement(op, value, term.uses)
        if value in named:
            price = 2.1 - 1.7 * agreed
        elif value in (0, 1) and term.expr.startswith("len("):
            price = 0.5
        elif value == 0:
            price = 0.9
        else:
            price = 2.6
        if any(name.startswith(ROUND) for name in term.uses) and value not in named:
            price += 1.5
        if op in ("==", "!=") and value not in (0, 1):
            price += 0.5 + odd
        if op == "!=" and value != 0:
            price += 0.5
        yield _Atom(f"{term.expr} {op} {value!r}", term.cost + price, term.uses, holds)


def _edges(values: Sequence[float], labels: Sequence[bool]) -> list[float]:
    """The smallest and largest value on each side."""
    sides = ([v for v, label in zip(values, labels, strict=True) if label is side] for side in (True, False))
    return sorted({edge for side in sides if side for edge in (min(side), max(side))})


def _holds(op: str, less: int, equal: int, everything: int) -> int:
    """The visits at which a comparison holds, given those with a smaller and with an equal value."""
    match op:
        case "<":
            return less
        case "<=":
            return less | equal
        case ">":
            return everything ^ (less | equal)
        case ">=":
            return everything ^ less
        case "==":
            return equal
        case _:
            return everything ^ equal


def _compared(numbers: Sequence[Term], labels: Sequence[bool]) -> Iterator[_Atom]:
    """Comparisons of two terms."""
    everything = (1 << len(labels)) - 1
    for first, second in combinations(numbers, 2):
        cost = first.cost + second.cost + (1.8 if first.spelled or second.spelled else 0.3)
        for op, holds in _beside(first.values, second.values, everything):
            if holds not in (0, everything):
                yield _Atom(f"{first.expr} {op} {second.expr}", cost, first.uses | second.uses, holds)


def _beside(left: Sequence[Any], right: Sequence[Any], everything: int) -> tuple[tuple[str, int], ...]:
    """For each operator the visits at which it holds between two lists of values."""
    pairs = list(zip(left, right, strict=True))
    less, equal = _mask([a < b for a, b in pairs]), _mask([a == b for a, b in pairs])
    above = everything ^ less ^ equal
    return (("<", less), ("<=", less | equal), (">", above), (">=", above | equal), ("==", equal))


def _scaled(pool: Pool) -> Iterator[_Atom]:
    """Comparisons of a multiple of a term with another term, or with the larger of two lengths."""
    numbers = _numbers(_terms(pool))
    named = [value for value in pool.constants if is_number(value) and value not in (0, 1)][:6]
    lengths = [term for term in numbers if term.expr.startswith("len(")][:8]
    longer = [
        Term(
            tuple(map(max, first.values, second.values)), first.cost + second.cost + 0.3, None,
            f"max({first.expr}, {second.expr})", first.uses | second.uses,
        )
        for first, second in combinations(lengths, 2)
    ]  # fmt: skip
    for term in numbers[:10]:
        for value in named:
            scaled = [value * number for number in term.values]
            for other in (*numbers[:14], *longer):
                if other.expr != term.expr and not other.expr.startswith((ROUND, VISITS)):
                    cost = term.cost + other.cost + 2.4
                    for op, holds in _beside(scaled, other.values, (1 << len(scaled)) - 1)[:4]:
                        yield _Atom(f"{value} * {term.expr} {op} {other.expr}", cost, term.uses | other.uses, holds)


def _sums(numbers: Sequence[Term]) -> Iterator[Term]:
    """Sums and differences of two terms, for comparison with a constant of the text."""
    for first, second in combinations(numbers, 2):
        cost, uses = first.cost + second.cost + 0.6, first.uses | second.uses
        pairs = list(zip(first.values, second.values, strict=True))
        yield Term(tuple(a + b for a, b in pairs), cost, None, f"{first.expr} + {second.expr}", uses)
        yield Term(tuple(a - b for a, b in pairs), cost, None, f"{first.expr} - {second.expr}", uses)


def _texts(pool: Pool, terms: Sequence[Term]) -> Iterator[_Atom]:
    """Tests whether a text equals a constant or another text, or contains a text that the task names."""
    texts = [term for term in terms if all(isinstance(value, str) for value in term.values)][:TEXTS]
    everything = (1 << len(pool.envs)) - 1
    yield from _dates([term for term in texts if all(map(_DATE.fullmatch, term.values))], everything)
    named = [value for value in pool.constants if isinstance(value, str) and value]
    for term in texts:
        values = cast(tuple[str, ...], term.values)
        for value in dict.fromkeys([*values, *named, ""]):
            holds = _mask([text == value for text in values])
            if holds in (0, everything):
                continue
            # a text that nothing else reads most likely serves a condition
            agreed, base = pool.reading.agreement("==", value, term.uses), 1.4 if term.cost < WAITING else 2.6
            price = 0.5 if value == "" else base - (base - 0.4) * agreed
            yield _Atom(f"{term.expr} == {value!r}", term.cost + price, term.uses, holds)
            yield _Atom(f"{term.expr} != {value!r}", term.cost + price + 0.3, term.uses, holds ^ everything)
        for value in [*named, " "]:
            holds = _mask([value in text for text in values])
            if holds not in (0, everything):
                price = 1.8 if value == " " else 1.2
                yield _Atom(f"{value!r} in {term.expr}", term.cost + price, term.uses, holds)
                yield _Atom(f"{value!r} not in {term.expr}", term.cost + price + 0.2, term.uses, holds ^ everything)
    others = [term for term in terms if not all(isinstance(value, bool) for value in term.values)][:24]
    numeric = [all(map(is_number, term.values)) for term in others]
    keys = [[key_of(value) for value in term.values] for term in others]
    for first, second in combinations(range(len(others)), 2):
        if numeric[first] and numeric[second]:
            continue
        left, right = others[first], others[second]
        holds = _mask(map(operator.eq, keys[first], keys[second]))
        if holds not in (0, everything):
            cost, uses = left.cost + right.cost + 0.3, left.uses | right.uses
            yield _Atom(f"{left.expr} == {right.expr}", cost, uses, holds)
            yield _Atom(f"{left.expr} != {right.expr}", cost + 0.2, uses, holds ^ everything)


_DATE = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+Z?)?|\d\d:\d\d(:\d\d)?")
"""Dates and times whose order is that of their texts."""


def _dates(terms: Sequence[Term], everything: int) -> Iterator[_Atom]:
    """Comparisons of two dates or times."""
    for first, second in combinations(terms[:DATES], 2):
        for op, holds in _beside(first.values, second.values, everything)[:4]:
            if holds not in (0, everything):
                cost = first.cost + second.cost + 0.2
                yield _Atom(f"{first.expr} {op} {second.expr}", cost, first.uses | second.uses, holds)


def _members(terms: Sequence[Term]) -> Iterator[_Atom]:
    """Tests for elements of lists and keys of objects."""
    boxes = [term for term in terms if all(isinstance(value, list | dict) for value in term.values)][:16]
    simple = [term for term in terms if all(isinstance(value, str | int) for value in term.values)][:40]
    keys = [[key_of(value) for value in term.values] for term in simple]
    for box in boxes:
        key_sets = [_keys_in(value) for value in box.values]
        for term, values in zip(simple, keys, strict=True):
            if term.uses == box.uses:
                continue
            holds = _mask([value in inside for value, inside in zip(values, key_sets, strict=True)])
            everything = (1 << len(key_sets)) - 1
            if holds not in (0, everything):
                cost = term.cost + box.cost + 0.5
                yield _Atom(f"{term.expr} in {box.expr}", cost, term.uses | box.uses, holds)
                yield _Atom(f"{term.expr} not in {box.expr}", cost + 0.1, term.uses | box.uses, holds ^ everything)


def _keys_in(collection: Any) -> set[Any]:
    """The elements of a list, or the keys of an object, as keys."""
    return {key_of(value) for value in cast(list[Any], collection)}

"""Values that a loop carries from round to round: set on some paths of a round, and read until they change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from flowmind.build.induction.control_flow import UNSET, Key, Sample, Walk, inside, junction
from flowmind.build.induction.terms import Term, evaluated
from tools_registry.specs.schema import json_equal

Edge = tuple[Key, Key]
MOST_SETS = 3
"""Maximum number of edges on which one value is set."""
MOST_WAYS = 9
"""Edges that are combined, the cheapest ones."""
EACH = 0.4
"""Cost of each edge on which the value is set."""

Explain = Callable[[Sequence[Sample], Sequence[Any], bool, bool], Term | None]
"""Finds the likeliest term for values at visits: whether they are initial values, whether to try computations."""


@dataclass(frozen=True)
class Carried:
    """A value that a loop carries from round to round: it is set, or added to, on some edges."""

    loop: str
    first: tuple[Term, tuple[Sample, ...]] | None
    """The value before the first round, with the visits that show it; None if none is needed."""
    sets: tuple[tuple[Edge, Term, tuple[Sample, ...]], ...]
    """The edges on which it changes, the term, and the visits that show it."""
    cost: float
    sign: str = ""
    """`+` or `-` if each pass adds or subtracts the term; empty if each pass sets the value to the term."""

    @property
    def shown(self) -> list[tuple[Term, tuple[Sample, ...]]]:
        """All terms that it reads, with the visits that show them."""
        return [*((term, points) for _, term, points in self.sets), *([self.first] if self.first else [])]

    @property
    def key(self) -> str:
        """A text that identifies it."""
        first = self.first[0].expr if self.first else ""
        return f"{self.loop} {first} {self.sign}; " + "; ".join(f"{edge}: {term.expr}" for edge, term, _ in self.sets)


@dataclass(frozen=True)
class _Way:
    """An edge of a loop on which the value could be set."""

    edge: Edge
    passed: dict[int, int]
    """By visit, the last place in the path before it at which the edge was passed."""
    explained: frozenset[int]
    """The visits whose value the term explains."""
    term: Term
    points: tuple[Sample, ...]


class _Readings:
    """The visits that read a carried value, with the edges passed before each of them since the previous one."""

    def __init__(self, walk: Walk, loop: str, samples: Sequence[Sample], targets: Sequence[Any]) -> None:
        self.samples, self.targets = samples, targets
        self.entries: list[int] = []
        self.windows: list[tuple[int, int]] = []
        self.firsts: list[int] = []
        self.changed: set[int] = set()
        self.complete = True
        latest: dict[tuple[int, int], int] = {}
        for number, sample in enumerate(samples):
            entry = _entry(walk, loop, sample)
            if entry is None:
                self.complete = False
                return
            before = latest.get((sample.run, entry))
            if before is None:
                self.firsts.append(number)
            elif not json_equal(targets[number], targets[before]):
                self.changed.add(number)
            self.entries.append(entry)
            self.windows.append((entry if before is None else samples[before].event, sample.event))
            latest[sample.run, entry] = number
        self.passes = _passes(walk, loop, {sample.run for sample in samples})

    def passed(self, edge: Edge) -> dict[int, int]:
        """The visits before which an edge was passed, and where it was passed last."""
        passed: dict[int, int] = {}
        for number, (begin, end) in enumerate(self.windows):
            places = self.passes[edge].get(self.samples[number].run, [])
            last = bisect_right(places, end) - 1
            if last >= 0 and places[last] > begin:
                passed[number] = places[last]
        return passed

    def since(self, edge: Edge, number: int) -> list[Sample]:
        """The passes of an edge since the loop was entered, before a visit."""
        run, end = self.samples[number].run, self.samples[number].event
        return [Sample(run, place) for place in self.passes[edge].get(run, []) if self.entries[number] < place <= end]


Settled = Callable[[Term, str], bool]
"""Whether a term can be computed before the first round of a loop."""


def carried_values(
    walk: Walk,
    samples: Sequence[Sample],
    targets: Sequence[Any],
    explain: Explain,
    settled: Settled,
) -> Iterator[Carried]:
    """Explanations of values that a loop sets: the cheapest for each loop.

    Args:
        walk: A layout with its variables.
        samples, targets: The visits that read the value, run by run in their order, and the value at each.
        explain: Finds terms.
        settled: Whether a term can be computed before the first round of a loop.
    """
    for loop in walk.layout.loops:
        readings = _Readings(walk, loop, samples, targets)
        if readings.complete and (readings.changed or len(readings.firsts) == len(samples)):
            for deep in (False, True):
                value = _cheapest(readings, loop, _ways(readings, explain, deep), explain, settled)
                if value is not None:
                    yield value
                    break


def running_totals(
    walk: Walk,
    samples: Sequence[Sample],
    targets: Sequence[Any],
    explain: Explain,
    settled: Settled,
    numbers: Callable[[Sequence[Sample]], Sequence[Term]],
) -> Iterator[Carried]:
    """Explanations of numbers as sums over the rounds of a loop; arguments as for `carried_values`.

    Args:
        numbers: The likeliest terms that are numbers at some visits.
    """
    for loop in walk.layout.loops:
        readings = _Readings(walk, loop, samples, targets)
        if not readings.complete:
            continue
        begins = tuple(Sample(sample.run, entry) for sample, entry in zip(samples, readings.entries, strict=True))
        for edge in readings.passes:
            rows = [readings.since(edge, number) for number in range(len(samples))]
            points = [point for row in rows for point in row]
            if len({len(row) for row in rows}) < 2:
                continue
            for term in numbers(points):
                values = iter(term.values)
                sums = [sum(next(values) for _ in row) for row in rows]
                for sign, factor in (("+", -1), ("-", 1)):
                    firsts = [target + factor * total for target, total in zip(targets, sums, strict=True)]
                    first = explain(begins, firsts, True, False)
                    if first is not None and settled(first, loop):
                        cost = first.cost + term.cost + EACH
                        yield Carried(loop, (first, begins), ((edge, term, tuple(points)),), cost, sign)


def value_of(carried: Carried, walk: Walk, rows: Sequence[Sequence[Mapping[str, Any]]], sample: Sample) -> Any:
    """The value at a visit; UNSET if it has none.

    Args:
        carried: A value that a loop sets.
        walk: The layout that it was found in.
        rows: The variables before each event of each run.
        sample: The visit.
    """
    entry = _entry(walk, carried.loop, sample)
    if entry is None:
        return UNSET
    path = walk.layout.paths[sample.run]
    terms = {edge: term for edge, term, _ in carried.sets}
    for place in range(sample.event, entry, -1):
        term = terms.get((path[place - 1].key, path[place].key))
        if term is not None:
            return evaluated(term.expr, rows[sample.run][place])
    return evaluated(carried.first[0].expr, rows[sample.run][entry]) if carried.first is not None else UNSET


def _entry(walk: Walk, loop: str, sample: Sample) -> int | None:
    """The place where a loop was last entered before a visit."""
    path = walk.layout.paths[sample.run]
    for place in range(sample.event, 0, -1):
        if path[place].key == junction(loop) and not inside(path[place - 1].key, loop):
            return place
    return None


def _passes(walk: Walk, loop: str, runs: set[int]) -> dict[Edge, dict[int, list[int]]]:
    """The places at which each edge of a loop is passed, by edge and run."""
    passes: dict[Edge, dict[int, list[int]]] = {}
    for run in sorted(runs):
        path = walk.layout.paths[run]
        for place in range(1, len(path)):
            source, target = path[place - 1].key, path[place].key
            if inside(source, loop) and inside(target, loop):
                passes.setdefault((source, target), {}).setdefault(run, []).append(place)
    return passes


def _ways(readings: _Readings, explain: Explain, deep: bool) -> list[_Way]:
    """The edges that could set the value, each with its cheapest term; the cheapest first."""
    ways: dict[frozenset[int], _Way] = {}
    unexplained: list[tuple[Edge, dict[int, int]]] = []

    def explained(edge: Edge, passed: dict[int, int], numbers: Sequence[int]) -> bool:
        points = [Sample(readings.samples[number].run, passed[number]) for number in numbers]
        term = explain(points, [readings.targets[number] for number in numbers], False, deep)
        if term is None:
            return False
        visits = frozenset(numbers)
        if visits not in ways or term.cost < ways[visits].term.cost:
            ways[visits] = _Way(edge, passed, visits, term, tuple(points))
        return True

    for edge in readings.passes:
        passed = readings.passed(edge)
        telling = bool(passed) and (not readings.changed or bool(readings.changed & set(passed)))
        if telling and not explained(edge, passed, list(passed)):
            unexplained.append((edge, passed))
    others = list(ways.values())
    for edge, passed in unexplained:  # what another way sets later in the same round says nothing of this one
        for other in others:
            numbers = [number for number, place in passed.items() if other.passed.get(number, -1) <= place]
            if 0 < len(numbers) < len(passed):
                explained(edge, passed, numbers)
    return sorted(ways.values(), key=lambda way: way.term.cost)[:MOST_WAYS]


def _cheapest(
    readings: _Readings, loop: str, ways: Sequence[_Way], explain: Explain, settled: Settled
) -> Carried | None:
    """The cheapest combination of edges that explains every value, with the initial value."""
    best: Carried | None = None
    for size in range(1, MOST_SETS + 1):
        for chosen in combinations(ways, size):
            cost = sum(way.term.cost + EACH for way in chosen)
            if best is not None and cost >= best.cost:
                continue
            begins = _begins(readings, chosen)
            if begins is None:
                continue
            first: tuple[Term, tuple[Sample, ...]] | None = None
            if begins:
                points = [Sample(readings.samples[number].run, readings.entries[number]) for number in begins]
                term = explain(points, [readings.targets[number] for number in begins], True, True)
                if term is None or not settled(term, loop):
                    continue
                first = (term, tuple(points))
                cost += term.cost
            if best is None or cost < best.cost:
                best = Carried(loop, first, tuple((way.edge, way.term, way.points) for way in chosen), cost)
    return best


def _begins(readings: _Readings, chosen: Sequence[_Way]) -> list[int] | None:
    """The visits that read the initial value; None if some value is not explained."""
    begins: list[int] = []
    used: set[Edge] = set()
    for number in range(len(readings.samples)):
        last = max(chosen, key=lambda way: way.passed.get(number, -1))
        if number in last.passed:
            if number not in last.explained:
                return None
            used.add(last.edge)
        elif number in readings.changed:
            return None
        elif number in readings.firsts:
            begins.append(number)
    return begins if len(used) == len(chosen) else None

"""The sources of arguments and of the answer: one term for all visits of a place, or one for each path to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowmind.build.induction.control_flow import (
    ALL,
    ELEMENT,
    END,
    LATER,
    ROUND,
    START,
    UNSET,
    VISITS,
    Key,
    Sample,
    Walk,
    inside,
)
from flowmind.build.induction.expressions import MAX_PARTS, columns_of, explain
from flowmind.build.induction.loops import Carried, Edge, carried_values, running_totals, value_of
from flowmind.build.induction.terms import Index, Pool, Term, is_number, same, variable
from flowmind.build.induction.wording import Reading
from flowmind.workflow.document import Var

UNEXPLAINED = 14.0
"""Cost of a value without an explanation."""
SPLIT = 0.9
"""Cost of taking a value from a different source on each path."""
WORK = 4_000
"""Samples a binder examines before it leaves out computations."""
GATHERED = 8
"""Recursion depth at which the elements of a gathered list are explained."""
MAX_DEPTH = 10
"""Recursion depth at which no more paths are told apart."""
SHARED = 1.2
"""Cost of reading a value that a loop already carries for another argument."""
ADDED = 12
"""Terms tried as the summand of a loop."""
DEAR = 6.0
"""Above this cost an explanation is poor, and another one is searched."""
ENOUGH = 3.2
"""A term of at most this cost is accepted without searching further."""
NEAR = 1.3
"""Extra cost allowed for a term that reads a result which nothing else reads."""

Rows = list[list[dict[str, Any]]]
"""The variables at each event of each run."""


@dataclass
class Slot:
    """The source of a value: terms, or other slots that it is composed of."""

    terms: list[Term]
    """The likeliest first; empty if the value has another source."""
    cost: float
    ways: list[tuple[Edge, Slot]] = field(default_factory=list[tuple[Edge, "Slot"]])
    """A variable that is set on the paths to the place."""
    collected: tuple[tuple[Edge, ...], str, Slot] | None = None
    """A list that gains one value each time the loop passes one of these edges."""
    support: tuple[Sample, ...] = ()
    """The visits that show the value."""
    part: Mapping[str, Slot] | None = None
    """The fields of an object, each with its own source."""
    listed: Sequence[Slot] | None = None
    """The elements of a list, each with its own source."""
    carried: Carried | None = None
    """A value that a loop carries from round to round."""

    @property
    def inner(self) -> list[Slot]:
        """The slots that it is composed of."""
        slots = [slot for _, slot in self.ways]
        slots += [self.collected[2]] if self.collected else []
        slots += [*self.part.values()] if self.part else []
        return [*slots, *self.listed] if self.listed else slots

    @property
    def explained(self) -> bool:
        """Whether the slot has a source for every visit."""
        if self.inner:
            return all(slot.explained for slot in self.inner)
        return bool(self.terms) or self.carried is not None

    @property
    def likeliest(self) -> list[Term]:
        """The likeliest terms of the slot and of those that it is composed of."""
        carried = [term for term, _ in self.carried.shown] if self.carried is not None else []
        return [*self.terms[:1], *carried, *(term for slot in self.inner for term in slot.likeliest)]

    def used(self) -> set[str]:
        """The variables that the slot reads."""
        terms = self.likeliest
        return set[str]().union(
            *(term.uses for term in [*terms, *(first for term in terms for _, first in term.initial)])
        )


@dataclass
class Binder:
    """Explains values at the places of a walk."""

    walk: Walk
    reading: Reading
    """The task's text."""
    rows: tuple[Rows, Rows] | None = None
    """The variables before and after each event, if a plan sets more than the walk has."""
    wanted: frozenset[str] = frozenset()
    """Results that nothing reads so far."""
    thorough: bool = True
    """Whether to search for values that a loop carries. This is slow, so only likely layouts do it."""
    carried: list[Carried] = field(default_factory=list[Carried])
    """Values that loops carry for the arguments explained so far."""
    _work: int = WORK
    _indexes: dict[int, Index] = field(default_factory=dict[int, Index])
    _pools: dict[tuple[Sample, ...], Pool] = field(default_factory=dict[tuple[Sample, ...], Pool])

    def __getstate__(self) -> dict[str, Any]:
        """Drops the caches: they are keyed by object identity and are larger than everything else."""
        return {**vars(self), "_indexes": {}, "_pools": {}}

    def pool(self, samples: Sequence[Sample]) -> Pool:
        """The terms before some visits."""
        key = tuple(samples)
        if key not in self._pools:
            envs = [self._before[sample.run][sample.event] for sample in samples]
            alone = len({sample.run for sample in samples}) == 1 < len(self.walk.runs)
            order = self._order(samples[0], envs)
            self._pools[key] = Pool(
                envs, self.reading, order, self.reading.constants, self.wanted, alone, self._indexes
            )
        return self._pools[key]

    @property
    def _before(self) -> Rows:
        return self.rows[0] if self.rows is not None else self.walk.before

    def _order(self, sample: Sample, envs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The cost of each variable: inputs 1, later results less than earlier ones, counters more."""
        path = self.walk.layout.paths[sample.run][: sample.event]
        results = [self.walk.names[event.key] for event in path if event.key in self.walk.names]
        latest = list(dict.fromkeys(reversed(results)))
        order: dict[str, float] = {}
        for place, name in enumerate(envs[0]):
            if name in self.wanted:
                order[name] = 0.2 + 0.001 * place
            elif name in latest:
                order[name] = 0.8 + min(0.02 * latest.index(name), 0.3)
            elif name.startswith((VISITS, ALL)):
                order[name] = 2.0
            elif name.startswith(ROUND):
                order[name] = 1.8
            elif name.startswith(ELEMENT):
                order[name] = 1.6 if name.startswith(LATER) else 1.1
            else:
                order[name] = 1.0
        return order

    def explain(self, samples: Sequence[Sample], targets: Sequence[Any], depth: int = 0) -> Slot:
        """The slot for these values at these visits.

        Args:
            samples: The visits.
            targets: The value at each.
            depth: Of the recursion. Only the first level looks for objects, lists and shared values.
        """
        pool, support = self.pool(samples), tuple(samples)
        self._work -= len(samples)
        terms = explain(pool, targets, deep=self._work > 0) + self._registers(samples, targets, pool)
        terms.sort(key=lambda term: term.cost)
        cheapest = terms[0].cost if terms else UNEXPLAINED
        if depth == 0 and cheapest > SHARED and (shared := self._shared(samples, targets)) is not None:
            return Slot([], SHARED, support=support, carried=shared)
        if cheapest <= ENOUGH:
            return Slot(terms, cheapest, support=support)
        options = [Slot(terms, terms[0].cost, support=support)] if terms else []
        options += self._collected(samples, targets)
        if depth < MAX_DEPTH and self._work > -WORK:
            options += self._split(samples, targets, samples, depth)
        if self.thorough and depth in (0, GATHERED) and self._work > -WORK:
            values = [*carried_values(self.walk, samples, targets, self._term, self._settled)]
            if depth == 0 and all(map(is_number, targets)):
                values += running_totals(self.walk, samples, targets, self._term, self._settled, self._numbers)
            options += [Slot([], SPLIT + value.cost, support=support, carried=value) for value in values]
        if depth == 0:
            options += self._composed(samples, targets)
        options = [slot for slot in options if slot.explained] or options
        best = min(options, key=lambda slot: slot.cost, default=Slot([], UNEXPLAINED, support=support))
        if best.carried is not None and not best.carried.sign and depth == 0:
            self.carried.append(best.carried)
        return best

    def _shared(self, samples: Sequence[Sample], targets: Sequence[Any]) -> Carried | None:
        """A value that a loop already carries for another argument, if it has these values too."""
        for carried in self.carried:
            if same([value_of(carried, self.walk, self._before, sample) for sample in samples], targets):
                return carried
        return None

    def _term(self, samples: Sequence[Sample], targets: Sequence[Any], initial: bool, deep: bool) -> Term | None:
        """The likeliest term for the values at some visits."""
        self._work -= len(samples)
        terms = explain(self.pool(samples), targets, 1, deep=deep and self._work > 0, initial=initial)
        return terms[0] if terms else None

    def _numbers(self, samples: Sequence[Sample]) -> list[Term]:
        """The likeliest numeric terms at some visits."""
        self._work -= len(samples)
        return [term for term in self.pool(samples).countable if term.binding is not None][:ADDED]

    def _settled(self, term: Term, loop: str) -> bool:
        """Whether a term reads nothing that a loop sets."""
        sites = {name for key, name in self.walk.names.items() if inside(key, loop)}
        return not any(name.startswith((ROUND, ELEMENT, VISITS)) or name in sites for name in term.uses)

    def _registers(self, samples: Sequence[Sample], targets: Sequence[Any], pool: Pool) -> list[Term]:
        """Results of sites in a loop that have a different value before the first round, as in an accumulation."""
        terms: list[Term] = []
        for key, name in self.walk.names.items():
            if "/" not in key[1]:
                continue
            values = [env.get(name, UNSET) for env in pool.envs]
            unset = [place for place, value in enumerate(values) if value is UNSET]
            rest = [place for place in range(len(samples)) if place not in unset]
            if not unset or not rest or not same([values[place] for place in rest], [targets[place] for place in rest]):
                continue
            term = variable(name, tuple(values), pool.order.get(name, 1.0))
            loop = next(loop for loop in self.walk.layout.loops if inside(key, loop))
            firsts = self.pool([samples[place] for place in unset])
            for first in explain(firsts, [targets[place] for place in unset], 3, initial=True):
                if self._settled(first, loop):
                    cost, initial = term.cost + first.cost + 0.3, ((term.expr, first),)
                    terms.append(Term(tuple(targets), cost, term.binding, term.expr, term.uses, initial))
                    break
        return terms

    def _collected(self, samples: Sequence[Sample], targets: Sequence[Any]) -> list[Slot]:
        """The cheapest list with one value for each time a loop passed some edge, if there is one."""
        if not all(isinstance(target, list) for target in targets) or not any(targets):
            return []
        slots: list[Slot] = []
        for loop in self.walk.layout.loops:
            for edges in self._gathering(loop):
                passes = [self._passes(edges, loop, sample) for sample in samples]
                points = [point for points in passes for point in points]
                if list(map(len, passes)) == list(map(len, targets)) and len(points) >= 2:
                    element = self.explain(points, [value for target in targets for value in target], GATHERED)
                    if element.explained:
                        collected = (edges, loop, element)
                        slots.append(Slot([], element.cost + 1.2, collected=collected, support=tuple(samples)))
        return [min(slots, key=lambda slot: slot.cost)] if slots else []

    def _gathering(self, loop: str) -> list[tuple[Edge, ...]]:
        """The places where a loop may gather: one of its edges, or the end of every round."""
        edges = self.walk.layout.edges()
        inner = [(key, way) for key, ways in edges.items() for way in ways if inside(key, loop) and inside(way, loop)]
        back = tuple(edge for edge in inner if edge[1] == ("loop", loop))
        return [*((edge,) for edge in inner), *([back] if len(back) > 1 else [])]

    def _passes(self, edges: Sequence[Edge], loop: str, sample: Sample) -> list[Sample]:
        """The visits behind some edges, in the loop's last run before a sample."""
        path = self.walk.layout.paths[sample.run]
        visits: list[Sample] = []
        for place in range(sample.event - 1, 0, -1):
            if (path[place - 1].key, path[place].key) in edges:
                visits.append(Sample(sample.run, place))
            if visits and path[place].key == ("loop", loop) and not inside(path[place - 1].key, loop):
                break
        return visits[::-1]

    def _split(
        self, samples: Sequence[Sample], targets: Sequence[Any], origin: Sequence[Sample], depth: int
    ) -> list[Slot]:
        """One explanation for each path to the place; none if a path has none.

        Args:
            samples: The visits, or earlier events on the paths to them.
            targets: The value at each.
            origin: The visits themselves.
            depth: Of the recursion.
        """
        here = self.walk.key(samples[0])
        if here == START:
            return []
        groups: dict[Key, list[int]] = {}
        for place, sample in enumerate(samples):
            groups.setdefault(self.walk.key(self.walk.previous(sample)), []).append(place)
        ways: list[tuple[Edge, Slot]] = []
        cost = SPLIT if len(groups) > 1 else 0.1
        for key, places in groups.items():
            values, origins = [targets[place] for place in places], tuple(origin[place] for place in places)
            terms: list[Term] = []
            if len(groups) > 1:
                outside = here[0] == "loop" and not inside(key, here[1])
                terms = explain(self.pool([samples[place] for place in places]), values, initial=outside)
            if terms:
                slot = Slot(terms, terms[0].cost, support=origins)
                ways.append(((key, here), slot))
            else:
                if key == START or (key[0] == "loop" and here[0] == "loop") or depth >= MAX_DEPTH:
                    return []
                earlier = [self.walk.previous(samples[place]) for place in places]
                slots = self._split(earlier, values, origins, depth + 1)
                if not slots:
                    return []
                slot = slots[0]
                ways += slot.ways
            cost += slot.cost
        return [Slot([], cost, ways, support=tuple(origin))]

    def _composed(self, samples: Sequence[Sample], targets: Sequence[Any]) -> list[Slot]:
        """An object or a short list with a separate explanation for each part."""
        columns = columns_of(targets, MAX_PARTS)
        if columns is None:
            return []
        slots = {key: self.explain(samples, column) for key, column in columns.items()}
        cost, support = 0.4 + sum(slot.cost for slot in slots.values()), tuple(samples)
        if isinstance(targets[0], dict):
            return [Slot([], cost, support=support, part=slots)]
        return [Slot([], cost, support=support, listed=list(slots.values()))]


@dataclass
class Bound:
    """A walk with its slots."""

    walk: Walk
    binder: Binder
    slots: dict[Key, dict[str, Slot]]
    """By site and argument."""
    answer: Slot | None
    cost: float

    @property
    def arguments(self) -> list[Slot]:
        """The slots of all arguments."""
        return [slot for slots in self.slots.values() for slot in slots.values()]

    @property
    def settled(self) -> bool:
        """Whether every argument bound so far has a good explanation."""
        return all(slot.explained and slot.cost <= DEAR for slot in self.arguments)

    def read(self) -> set[str]:
        """The variables that arguments and the answer read."""
        slots = [*self.arguments, *([self.answer] if self.answer else [])]
        return set[str]().union(*(slot.used() for slot in slots))

    def unused(self) -> set[str]:
        """The results that no argument and no answer reads."""
        return set(self.walk.names.values()) - self.read()


def _settle(bound: Bound) -> None:
    """Prefers terms that read unused results, and neighbouring list elements for neighbouring arguments."""
    for slots in bound.slots.values():
        _in_line([slot for slot in slots.values() if slot.terms])
    inputs = set(bound.walk.runs[0].inputs) - bound.read()
    slots = [*bound.arguments, *([bound.answer] if bound.answer else [])]
    for name in [*sorted(bound.unused()), *sorted(inputs)]:
        for slot in slots:
            place = next(
                (
                    place for place, term in enumerate(slot.terms[1:], 1)
                    if name in term.uses and term.cost <= slot.terms[0].cost + NEAR
                ),
                None,
            )  # fmt: skip
            if place is not None and _read_elsewhere(bound, slot, slots):
                slot.terms.insert(0, slot.terms.pop(place))
                break


def _read_elsewhere(bound: Bound, slot: Slot, slots: Sequence[Slot]) -> bool:
    """Whether other slots read all the results that the likeliest term of a slot reads."""
    results = slot.terms[0].uses & set(bound.walk.names.values())
    others = [other.used() for other in slots if other is not slot]
    return all(any(name in used for used in others) for name in results)


def _in_line(slots: Sequence[Slot]) -> None:
    """If several arguments can be consecutive elements of one list, makes them so."""
    if len(slots) < 2:
        return
    paths = [[_path_of(term) for term in slot.terms] for slot in slots]
    for path in paths[0]:
        if path is None or path[-1] != 0:
            continue
        wanted = [(*path[:-1], index) for index in range(len(slots))]
        if all(element in options for element, options in zip(wanted, paths, strict=True)):
            for slot, element, options in zip(slots, wanted, paths, strict=True):
                slot.terms.insert(0, slot.terms.pop(options.index(element)))
            return


def _path_of(term: Term) -> tuple[str | int, ...] | None:
    """The variable and path of a term that is a part of a variable."""
    return (term.binding.var, *term.binding.path) if isinstance(term.binding, Var) and term.binding.path else None


def is_late(walk: Walk, key: Key) -> bool:
    """Whether a site comes after a loop and can read what the loop has set."""
    return bool(walk.layout.loops) and ">" in key[1]


def bind(walk: Walk, reading: Reading, most: float = math.inf, thorough: bool = True) -> Bound | None:
    """Explains all arguments of sites before and in loops; `finish` explains the others and the answer.

    Returns None if the cost exceeds `most`.
    """
    bound = Bound(walk, Binder(walk, reading, thorough=thorough), {}, None, 0.0)
    for key in walk.layout.sites:
        if not is_late(walk, key):
            _bind_site(bound, key)
            if bound.cost > most:
                return None
    if not walk.layout.loops:
        finish(bound)
    return bound


def finish(bound: Bound, rows: tuple[Rows, Rows] | None = None) -> None:
    """Explains the arguments behind loops, and the answer.

    Args:
        bound: The slots so far.
        rows: The variables before and after each event, those of the plan so far included.
    """
    walk, binder = bound.walk, bound.binder
    if rows is not None:
        bound.binder = Binder(walk, binder.reading, rows, carried=binder.carried)
    for key in walk.layout.sites:
        if is_late(walk, key):
            _bind_site(bound, key)
    wanted = frozenset(bound.unused())
    bound.binder = Binder(walk, binder.reading, bound.binder.rows, wanted, carried=bound.binder.carried)
    ends = [sample for sample in walk.visits.get(END, []) if walk.runs[sample.run].answer is not UNSET]
    bound.answer = bound.binder.explain(ends, [walk.runs[sample.run].answer for sample in ends]) if ends else None
    bound.cost += bound.answer.cost if bound.answer else 0.0
    _settle(bound)


def _bind_site(bound: Bound, key: Key) -> None:
    samples = bound.walk.visits[key]
    calls = [bound.walk.call(sample) for sample in samples]
    names = dict.fromkeys(name for call in calls for name in call.args)
    bound.slots[key] = {name: bound.binder.explain(samples, [call.args[name] for call in calls]) for name in names}
    bound.cost += 2.0
    for slot in bound.slots[key].values():
        bound.cost += slot.cost

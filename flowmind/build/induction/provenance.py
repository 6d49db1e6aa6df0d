"""Binds the slots of a layout: for each argument and the answer, one term for all visits, or one for each path."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from flowmind.build.induction.control_flow import (
    ALL,
    ELEMENT,
    END,
    LATER,
    ROUND,
    START,
    VISITS,
    Key,
    Sample,
    Walk,
    inside,
)
from flowmind.build.induction.expressions import explain
from flowmind.build.induction.loops import Edge, Kept, Summed, kept, summed, value_of
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.terms import Index, Pool, Term, is_number, same, variable
from flowmind.workflow.document import Var
from tools_registry.specs.schema import json_equal

UNEXPLAINED = 14.0
"""Cost of a value without an explanation."""
SPLIT = 0.9
"""Cost of taking a value from a different source on each path."""
WORK = 4_000
"""Samples a binder examines before it leaves out computations."""
GATHERED = 8
"""Recursion depth at which the elements of a gathered list are explained."""
SHARED = 1.2
"""Cost of reading a value that a loop already keeps for another argument."""
ADDED = 12
"""Terms tried as the summand of a loop."""
DEAR = 6.0
"""Above this cost an explanation is poor, and another one is searched."""
ENOUGH = 3.2
"""A term of at most this cost is accepted without searching further."""


@dataclass
class Slot:
    """The source of an argument: a term, or a variable that is set on the paths to the site."""

    terms: list[Term]
    """The likeliest first; empty if the variable is set on the paths."""
    cost: float
    ways: list[tuple[Edge, Slot]] = field(default_factory=list[tuple[Edge, "Slot"]])
    collected: tuple[tuple[Edge, ...], str, Slot] | None = None
    """A list that gains one value each time the loop passes one of these edges."""
    support: tuple[Sample, ...] = ()
    part: Mapping[str, Slot] | None = None
    """The fields of an object, each with its own source."""
    listed: Sequence[Slot] | None = None
    """The elements of a list, each with its own source."""
    kept: Kept | Summed | None = None
    """A value that a loop keeps or adds up."""

    @property
    def explained(self) -> bool:
        """Whether the slot has a source for every visit."""
        if self.collected is not None:
            return self.collected[2].explained
        if self.part is not None:
            return all(slot.explained for slot in self.part.values())
        if self.listed is not None:
            return all(slot.explained for slot in self.listed)
        return (
            bool(self.terms)
            or self.kept is not None
            or (bool(self.ways) and all(slot.explained for _, slot in self.ways))
        )

    def used(self) -> set[str]:
        """The variables that the slot reads."""
        names = set[str]()
        if self.terms:
            names |= self.terms[0].uses
            for _, term in self.terms[0].initial:
                names |= term.uses
        if self.kept is not None:
            names = names.union(*(term.uses for term in self.kept.terms))
        inner = [slot for _, slot in self.ways]
        inner += [self.collected[2]] if self.collected else []
        inner += [*self.part.values()] if self.part else []
        inner += [*self.listed] if self.listed else []
        for slot in inner:
            names |= slot.used()
        return names


@dataclass
class Binder:
    """Explains values at the places of a walk."""

    walk: Walk
    said: Callable[[Any], float]
    constants: Sequence[Any]
    rows: tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]] | None = None
    """The variables before and after each event, if a plan sets more than the walk has."""
    wanted: frozenset[str] = frozenset()
    """Results that nothing reads so far."""
    thorough: bool = True
    """Whether to search for values that a loop keeps. This is slow, so only likely layouts do it."""
    held: list[Kept] = field(default_factory=list[Kept])
    """Values that loops keep for the arguments explained so far."""
    _work: int = WORK
    _indexes: dict[int, Index] = field(default_factory=dict[int, Index])
    _pools: dict[tuple[tuple[Sample, ...], bool], Pool] = field(
        default_factory=dict[tuple[tuple[Sample, ...], bool], Pool]
    )

    def __getstate__(self) -> dict[str, Any]:
        """Drops the caches: they are keyed by object identity and are larger than everything else."""
        return {**vars(self), "_indexes": {}, "_pools": {}}

    def pool(self, samples: Sequence[Sample], after: bool = False) -> Pool:
        """The terms before (or after) some visits."""
        key = (tuple(samples), after)
        if key not in self._pools:
            before, behind = self.rows or (self.walk.before, self.walk.after)
            rows = behind if after else before
            envs = [rows[sample.run][sample.event] for sample in samples]
            self._pools[key] = Pool(
                envs,
                self.said,
                self._order(samples, envs),
                self.constants,
                self.wanted,
                len({sample.run for sample in samples}) == 1 < len(self.walk.runs),
                indexes=self._indexes,
            )
        return self._pools[key]

    def _order(self, samples: Sequence[Sample], envs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The cost of each variable: inputs 1, later results less than earlier ones, counters more."""
        order: dict[str, float] = {}
        names = list(envs[0]) if envs else []
        latest = list(dict.fromkeys(reversed(self._recent(samples[0]))))
        for place, name in enumerate(names):
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

    def _recent(self, sample: Sample) -> list[str]:
        """The results before a visit, in this round and earlier; the earliest first."""
        path = self.walk.layout.paths[sample.run][: sample.event]
        return [self.walk.names[event.key] for event in path if event.key in self.walk.names]

    def explain(self, samples: Sequence[Sample], targets: Sequence[Any]) -> Slot:
        """The slot for these values at these visits."""
        return self._at(list(samples), list(targets), list(samples), 0)

    def _at(self, samples: list[Sample], targets: list[Any], origin: list[Sample], depth: int) -> Slot:
        pool = self.pool(samples)
        self._work -= len(samples)
        terms = explain(pool, targets, deep=self._work > 0)
        terms += self._registers(samples, targets, pool)
        terms.sort(key=lambda term: term.cost)
        cheapest = terms[0].cost if terms else UNEXPLAINED
        if depth == 0 and cheapest > SHARED and (shared := self._shared(samples, targets)) is not None:
            return Slot([], SHARED, support=tuple(origin), kept=shared)
        if cheapest <= ENOUGH:
            return Slot(terms, cheapest, support=tuple(origin))
        options = [Slot(terms, terms[0].cost, support=tuple(origin))] if terms else []
        if (gathered := self._collected(samples, targets, origin)) is not None:
            options.append(gathered)
        if depth < 10 and self._work > -WORK and (split := self._split(samples, targets, origin, depth)) is not None:
            options.append(split)
        if self.thorough and depth in (0, GATHERED) and self._work > -WORK:
            options += [
                Slot([], SPLIT + part.cost, support=tuple(origin), kept=part)
                for part in kept(self.walk, samples, targets, self._term, self._settled)
            ]
            if depth == 0 and all(map(is_number, targets)):
                options += [
                    Slot([], SPLIT + part.cost, support=tuple(origin), kept=part)
                    for part in summed(self.walk, samples, targets, self._term, self._settled, self._numbers)
                ]
        if depth == 0:
            options += self._parts(samples, targets, origin)
        options = [slot for slot in options if slot.explained] or options
        best = min(options, key=lambda slot: slot.cost, default=Slot([], UNEXPLAINED, support=tuple(origin)))
        if isinstance(best.kept, Kept) and depth == 0:
            self.held.append(best.kept)
        return best

    def _shared(self, samples: Sequence[Sample], targets: Sequence[Any]) -> Kept | None:
        """A value that a loop already keeps for another argument, if it has these values too."""
        rows = (self.rows or (self.walk.before, self.walk.after))[0]
        for kept_value in self.held:
            shown = (value_of(kept_value, self.walk, rows, sample) for sample in samples)
            if all(
                value is not UNSET and json_equal(value, target) for value, target in zip(shown, targets, strict=True)
            ):
                return kept_value
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
        return not any(self._set_in(name, loop) for name in term.uses)

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
            for begin in explain(firsts, [targets[place] for place in unset], 3, initial=True):
                if not any(self._set_in(name, loop) for name in begin.uses):
                    cost = term.cost + begin.cost + 0.3
                    terms.append(Term(tuple(targets), cost, term.binding, term.expr, term.uses, ((term.expr, begin),)))
                    break
        return terms

    def _set_in(self, name: str, loop: str) -> bool:
        keys = [key for key, variable_name in self.walk.names.items() if variable_name == name]
        counted = name.startswith((ROUND, ELEMENT, VISITS))
        return counted or any(inside(key, loop) for key in keys)

    def _collected(self, samples: Sequence[Sample], targets: Sequence[Any], origin: list[Sample]) -> Slot | None:
        """A list with one value for each time the loop passed some edge."""
        if not all(isinstance(target, list) for target in targets) or not any(targets):
            return None
        best: Slot | None = None
        for loop in self.walk.layout.loops:
            for edges in self._gathering(loop):
                points: list[Sample] = []
                values: list[Any] = []
                for sample, target in zip(samples, targets, strict=True):
                    passed = self._passes(edges, loop, sample)
                    if len(passed) != len(target):
                        break
                    points += passed
                    values += target
                else:
                    if len(points) >= 2:
                        slot = self._at(points, values, points, GATHERED)
                        cost = slot.cost + 1.2
                        if slot.explained and (best is None or cost < best.cost):
                            best = Slot([], cost, collected=(edges, loop, slot), support=tuple(origin))
        return best

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

    def _split(self, samples: list[Sample], targets: list[Any], origin: list[Sample], depth: int) -> Slot | None:
        """One explanation for each path to the place."""
        here = self.walk.key(samples[0])
        if here == START:
            return None
        groups: dict[Key, list[int]] = {}
        for place, sample in enumerate(samples):
            groups.setdefault(self.walk.key(self.walk.previous(sample)), []).append(place)
        ways: list[tuple[Edge, Slot]] = []
        cost = SPLIT if len(groups) > 1 else 0.1
        for key, places in groups.items():
            earlier = [self.walk.previous(samples[place]) for place in places]
            values = [targets[place] for place in places]
            origins = [origin[place] for place in places]
            direct: Slot | None = None
            if len(groups) > 1:
                chosen = [samples[place] for place in places]
                outside = here[0] == "loop" and not inside(key, here[1])
                terms = explain(self.pool(chosen), values, initial=outside)
                if terms:
                    direct = Slot(terms, terms[0].cost, support=tuple(origins))
            if direct is None and key != START:
                back = key[0] == "loop" and here[0] == "loop"
                if not back:
                    direct = self._split(earlier, values, origins, depth + 1) if depth < 10 else None
                    if direct is not None:
                        ways += direct.ways
                        cost += direct.cost
                        continue
            if direct is None:
                return None
            ways.append(((key, here), direct))
            cost += direct.cost
        return Slot([], cost, ways, support=tuple(origin))

    def _parts(self, samples: list[Sample], targets: list[Any], origin: list[Sample]) -> list[Slot]:
        """An object or a short list with a separate explanation for each part."""
        first: Any = targets[0]
        if isinstance(first, dict) and first:
            keys = list(cast(dict[str, Any], first))
            if not all(
                isinstance(target, dict) and set(cast(dict[str, Any], target)) == set(keys) for target in targets
            ):
                return []
            slots = {key: self._at(samples, [target[key] for target in targets], origin, 0) for key in keys}
            return [Slot([], 0.4 + sum(slot.cost for slot in slots.values()), support=tuple(origin), part=slots)]
        size = len(cast(list[Any], first)) if isinstance(first, list) else 0
        if 0 < size <= 6 and all(
            isinstance(target, list) and len(cast(list[Any], target)) == size for target in targets
        ):
            listed = [self._at(samples, [target[place] for target in targets], origin, 0) for place in range(size)]
            return [Slot([], 0.4 + sum(slot.cost for slot in listed), support=tuple(origin), listed=listed)]
        return []


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
    def settled(self) -> bool:
        """Whether every argument bound so far has a good explanation."""
        return all(slot.explained and slot.cost <= DEAR for args in self.slots.values() for slot in args.values())

    def read(self) -> set[str]:
        """The variables that arguments and the answer read."""
        used = self.answer.used() if self.answer else set[str]()
        for args in self.slots.values():
            for slot in args.values():
                used |= slot.used()
        return used

    def unused(self) -> set[str]:
        """The results that no argument and no answer reads."""
        return set(self.walk.names.values()) - self.read()


NEAR = 1.3
"""Extra cost allowed for a term that reads a result which nothing else reads."""


def _settle(bound: Bound) -> None:
    """Prefers terms that read unused results, and neighbouring list elements for neighbouring arguments."""
    for slots in bound.slots.values():
        _in_line([slot for slot in slots.values() if slot.terms])
    inputs = set(bound.walk.runs[0].inputs) - bound.read()
    for name in [*sorted(bound.unused()), *sorted(inputs)]:
        slots = [slot for args in bound.slots.values() for slot in args.values() if slot.terms]
        slots += [bound.answer] if bound.answer and bound.answer.terms else []
        for slot in slots:
            for place, term in enumerate(slot.terms[1:], 1):
                uses = slot.terms[0].uses
                if name in term.uses and term.cost <= slot.terms[0].cost + NEAR and _read_elsewhere(bound, slot, uses):
                    slot.terms.insert(0, slot.terms.pop(place))
                    break
            else:
                continue
            break


def _read_elsewhere(bound: Bound, slot: Slot, names: frozenset[str]) -> bool:
    """Whether other slots read all these results too."""
    ours = names & set(bound.walk.names.values())
    others = [other for args in bound.slots.values() for other in args.values() if other is not slot]
    others += [bound.answer] if bound.answer and bound.answer is not slot else []
    return all(any(name in other.used() for other in others) for name in ours)


def _in_line(slots: Sequence[Slot]) -> None:
    """If several arguments can be consecutive elements of one list, makes them so."""
    if len(slots) < 2:
        return
    for term in slots[0].terms:
        if not isinstance(term.binding, Var) or not term.binding.path or term.binding.path[-1] != 0:
            continue
        stem = (term.binding.var, term.binding.path[:-1])
        chosen = [
            next(
                (
                    place for place, option in enumerate(slot.terms)
                    if isinstance(option.binding, Var)
                    and (option.binding.var, option.binding.path) == (stem[0], (*stem[1], index))
                ),
                None,
            )
            for index, slot in enumerate(slots)
        ]  # fmt: skip
        if None not in chosen:
            for slot, place in zip(slots, chosen, strict=True):
                slot.terms.insert(0, slot.terms.pop(place or 0))
            return


def is_late(walk: Walk, key: Key) -> bool:
    """Whether a site comes after a loop and can read what the loop has set."""
    return bool(walk.layout.loops) and ">" in key[1]


def bind(
    walk: Walk,
    said: Callable[[Any], float],
    constants: Sequence[Any] = (),
    most: float = math.inf,
    thorough: bool = True,
) -> Bound | None:
    """Explains all arguments of sites before and in loops; `finish` explains the others and the answer.

    Returns None if the cost exceeds `most`.
    """
    bound = Bound(walk, Binder(walk, said, constants, thorough=thorough), {}, None, 0.0)
    for key in walk.layout.sites:
        if not is_late(walk, key):
            _bind_site(bound, key)
            if bound.cost > most:
                return None
    if not walk.layout.loops:
        finish(bound)
    return bound


def finish(bound: Bound, rows: tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]] | None = None) -> None:
    """Explains the arguments behind loops, and the answer.

    Args:
        bound: The slots so far.
        rows: The variables before and after each event, those of the plan so far included.
    """
    walk = bound.walk
    if rows is not None:
        old = bound.binder
        bound.binder = Binder(walk, old.said, old.constants, rows, held=old.held)
    for key in walk.layout.sites:
        if is_late(walk, key):
            _bind_site(bound, key)
    binder = bound.binder
    bound.binder = Binder(walk, binder.said, binder.constants, binder.rows, frozenset(bound.unused()), held=binder.held)
    ends = [sample for sample in walk.visits.get(END, []) if walk.runs[sample.run].answer is not UNSET]
    bound.answer = bound.binder.explain(ends, [walk.runs[sample.run].answer for sample in ends]) if ends else None
    bound.cost += bound.answer.cost if bound.answer else 0.0
    _settle(bound)


def _bind_site(bound: Bound, key: Key) -> None:
    walk = bound.walk
    samples = walk.visits[key]
    calls = [walk.runs[sample.run].calls[walk.layout.paths[sample.run][sample.event].call or 0] for sample in samples]
    names = list(dict.fromkeys(name for call in calls for name in call.args))
    bound.cost += 2.0
    bound.slots[key] = {}
    for name in names:
        slot = bound.binder.explain(samples, [call.args[name] for call in calls])
        bound.slots[key][name] = slot
        bound.cost += slot.cost

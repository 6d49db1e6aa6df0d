"""Plans: the arguments of each site of a layout, the assignments on its edges, and its decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

from flowmind.build.induction.conditions import Candidate, negated, separate
from flowmind.build.induction.control_flow import (
    ALL,
    ELEMENT,
    END,
    LATER,
    ROUND,
    UNSET,
    VISITS,
    Event,
    Key,
    Layout,
    Sample,
    Walk,
    index_name,
    inside,
    junction,
)
from flowmind.build.induction.loops import Edge
from flowmind.build.induction.provenance import Bound, Rows, Slot, finish
from flowmind.build.induction.terms import Pool, Term, evaluated
from flowmind.workflow.document import Binding, ListOf, Literal_, ObjectOf, Var

UNDECIDED = 16.0
"""Cost of a place whose ways no condition separates."""
LOOP = 4.5
"""Cost of a loop."""
APART = 5.0
"""Cost of paths that diverge before their tools differ."""
CLOSE = 1.5
"""Extra cost up to which another term counts as an alternative."""


@dataclass(frozen=True)
class Set:
    """An assignment of a binding or an expression to a variable."""

    name: str
    binding: Binding | None = None
    expr: str = ""
    support: tuple[Sample, ...] = ()

    def value(self, env: Mapping[str, Any]) -> Any:
        """The assigned value; UNSET if it cannot be computed with these variables."""
        if self.binding is not None:
            return resolve(self.binding, env)
        return evaluated(self.expr, env)


@dataclass
class Decision:
    """The conditions that lead from a place to its ways, tested in order; the last way has none."""

    ways: list[tuple[list[Candidate], Key]]
    last: Key
    solved: bool = True
    samples: tuple[Sample, ...] = ()

    @property
    def cost(self) -> float:
        """The cost of the likeliest conditions."""
        return sum(candidates[0].cost if candidates else UNDECIDED for candidates, _ in self.ways)

    @property
    def uses(self) -> frozenset[str]:
        """The variables that the likeliest conditions read."""
        return frozenset[str]().union(*(candidates[0].uses for candidates, _ in self.ways if candidates))


@dataclass
class Plan:
    """A program over the sites of a layout."""

    bound: Bound
    args: dict[Key, dict[str, Binding]] = field(default_factory=dict[Key, dict[str, Binding]])
    answer: Binding | None = None
    before: dict[Key, list[Set]] = field(default_factory=dict[Key, list[Set]])
    """Assignments right before a site."""
    on_way: dict[Edge, list[Set]] = field(default_factory=dict[Edge, list[Set]])
    """Assignments on the edge from one place to another."""
    entering: dict[str, list[Set]] = field(default_factory=dict[str, list[Set]])
    """Assignments before the first round of a loop."""
    decisions: dict[Key, Decision] = field(default_factory=dict[Key, Decision])
    open: list[tuple[Key, str]] = field(default_factory=list[tuple[Key, str]])
    """Sites and arguments without an explanation."""
    cost: float = 0.0
    waiting: frozenset[str] = frozenset()
    """Results that nothing reads."""
    left_out: tuple[str, ...] = ()
    """Tools with calls that were left out because nothing reads their results."""
    others: list[tuple[Edge, Set, Set]] = field(default_factory=list[tuple[Edge, Set, Set]])
    """Assignments on an edge, each with an alternative of about the same cost."""
    refined: bool = False
    """Whether layouts that may explain its open slots were tried."""

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of its layout."""
        return self.bound.walk.layout.loops


def resolve(binding: Binding, env: Mapping[str, Any]) -> Any:
    """The value of a binding; UNSET if a part of it is unset."""
    match binding:
        case Literal_(value=value):
            return value
        case Var(var=name, path=path):
            value = env.get(name, UNSET)
            for part in path:
                try:
                    value = value[part]
                except (KeyError, IndexError, TypeError):
                    return UNSET
            return value
        case ListOf(list=parts):
            values = [resolve(part, env) for part in parts]
            return UNSET if any(value is UNSET for value in values) else values
        case ObjectOf(object=fields):
            parts = {key: resolve(part, env) for key, part in fields.items()}
            return UNSET if any(value is UNSET for value in parts.values()) else parts


class _Planner:
    """Makes the plan of a bound layout, without its conditions."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.plan = Plan(bound)
        self.layout = bound.walk.layout
        self._variables: dict[str, str] = {}
        """The variables that assignments set, by the text that identifies the value."""
        self._names = {name for rows in bound.walk.after for env in rows for name in env}
        self._names |= set(bound.walk.names.values())

    def fill(self) -> Plan:
        """The plan. Slots behind loops are bound with the variables that the loops set."""
        self._sites()
        if self.layout.loops:
            finish(self.bound, simulate(self.plan))
            self._sites()
        if self.bound.answer is not None and self.bound.answer.explained:
            self.plan.answer = self._binding(self.bound.answer, END, "answer")
        elif self.bound.answer is not None:
            self.plan.open.append((END, "answer"))
        return self.plan

    def _sites(self) -> None:
        for key, slots in self.bound.slots.items():
            if key in self.plan.args:
                continue
            self.plan.args[key] = {}
            for name, slot in slots.items():
                if slot.explained:
                    self.plan.args[key][name] = self._binding(slot, key, name)
                else:
                    self.plan.open.append((key, name))

    def _binding(self, slot: Slot, key: Key, hint: str) -> Binding:
        """The binding of a slot. Assignments that it needs are added to the plan.

        Args:
            slot: An explained slot.
            key: The place that reads it.
            hint: Of the name, if a variable has to be set.
        """
        if slot.part is not None:
            return ObjectOf(object={name: self._binding(part, key, name) for name, part in slot.part.items()})
        if slot.listed is not None:
            return ListOf(list=tuple(self._binding(part, key, hint) for part in slot.listed))
        if slot.terms and slot.terms[0].binding is not None:
            self._begin(slot.terms[0])
            return slot.terms[0].binding
        text = f"{key} {slot.terms[0].expr}" if slot.terms else _text_of(slot)
        if text not in self._variables:
            self._variables[text] = self._name(hint)
            self._assign(slot, key, self._variables[text])
        return Var(var=self._variables[text])

    def _assign(self, slot: Slot, key: Key, name: str) -> None:
        """Adds the assignments of a slot to a variable."""
        if slot.collected is not None:
            edges, loop, element = slot.collected
            self._enter(loop, Set(name, Literal_(value=[])))
            for edge, part in element.ways or [(edge, element) for edge in edges]:
                expr = self._expression(part, edge[1], f"{name}_item")
                self.plan.on_way.setdefault(edge, []).append(Set(name, None, f"{name} + [{expr}]", part.support))
        elif slot.carried is not None:
            carried = slot.carried
            if carried.first is not None:
                term, points = carried.first
                self._begin(term)
                self._enter(carried.loop, set_to(name, term, points))
            for edge, term, points in carried.sets:
                if carried.sign:
                    assignment = Set(name, None, f"{name} {carried.sign} {term.expr}", points)
                    self.plan.on_way.setdefault(edge, []).append(assignment)
                else:
                    self._put(edge, name, Slot([term], term.cost, support=points))
        elif slot.ways:
            for edge, part in slot.ways:
                self._put(edge, name, part)
        else:
            self._begin(slot.terms[0])
            self.plan.before.setdefault(key, []).append(Set(name, None, slot.terms[0].expr, slot.support))

    def _begin(self, term: Term) -> None:
        """Sets the initial values that a term needs before the loops that change them."""
        for name, first in term.initial:
            loop = next(
                loop for loop in self.layout.loops
                for key, variable_name in self.bound.walk.names.items() if variable_name == name and inside(key, loop)
            )  # fmt: skip
            self._enter(loop, set_to(name, first))

    def _enter(self, loop: str, assignment: Set) -> None:
        assignments = self.plan.entering.setdefault(loop, [])
        if assignment not in assignments:
            assignments.append(assignment)

    def _put(self, edge: Edge, name: str, slot: Slot) -> None:
        """Sets a variable on an edge."""
        if slot.terms and slot.terms[0].binding is None:
            self._begin(slot.terms[0])
            assignment = set_to(name, slot.terms[0], slot.support)
        else:
            assignment = Set(name, self._binding(slot, edge[1], name), "", slot.support)
        self.plan.on_way.setdefault(edge, []).append(assignment)
        self.plan.others += [(edge, assignment, set_to(name, term, slot.support)) for term in _alternatives(slot)]

    def _expression(self, slot: Slot, key: Key, hint: str) -> str:
        """A slot as an expression."""
        if slot.terms:
            self._begin(slot.terms[0])
            return slot.terms[0].expr
        binding = self._binding(slot, key, hint)
        assert isinstance(binding, Var), "what no term explains becomes a variable"
        return binding.var

    def _name(self, hint: str) -> str:
        base = re.sub(r"\W", "_", hint) or "value"
        base = base if base[0].isalpha() else f"v_{base}"
        if base in ("and", "or", "not", "in", "is", "if", "else", "for", "sum", "min", "max", "len", "all", "any"):
            base = f"{base}_"
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        return name


def set_to(name: str, term: Term, support: tuple[Sample, ...] = ()) -> Set:
    """The assignment of a term."""
    return Set(name, term.binding, "" if term.binding is not None else term.expr, support)


def _text_of(slot: Slot) -> str:
    """A text that identifies the value of a slot."""
    if slot.terms:
        return slot.terms[0].expr
    if slot.part is not None:
        return str({name: _text_of(part) for name, part in slot.part.items()})
    if slot.collected is not None:
        return f"{slot.collected[0]} all {_text_of(slot.collected[2])}"
    if slot.carried is not None:
        return slot.carried.key
    return "; ".join(f"{edge}: {_text_of(part)}" for edge, part in slot.ways)


def _alternatives(slot: Slot) -> list[Term]:
    """The alternatives to the likeliest term of a slot."""
    return [term for term in slot.terms[1:4] if not term.initial and term.cost <= slot.terms[0].cost + CLOSE]


def variants(plan: Plan) -> Iterator[Plan]:
    """The plan with one value replaced by an alternative that the traces support as well."""
    for key, slots in plan.bound.slots.items():
        for name, slot in slots.items():
            for term in _alternatives(slot):
                if term.binding is not None and name in plan.args.get(key, {}):
                    yield replace(plan, args={**plan.args, key: {**plan.args[key], name: term.binding}})
    for edge, assignment, other in plan.others:
        sets = [other if own is assignment else own for own in plan.on_way[edge]]
        yield replace(plan, on_way={**plan.on_way, edge: sets})
    if (answer := plan.bound.answer) is None:
        return
    for term in _alternatives(answer):
        if term.binding is not None:
            yield replace(plan, answer=term.binding)
    if answer.part is not None and isinstance(plan.answer, ObjectOf):
        for name, slot in answer.part.items():
            for term in _alternatives(slot):
                if term.binding is not None:
                    yield replace(plan, answer=ObjectOf(object={**plan.answer.object, name: term.binding}))


def fill(bound: Bound) -> Plan:
    """The plan of a bound layout, without its conditions."""
    plan = _Planner(bound).fill()
    plan.cost = bound.cost + outlay(bound.walk.layout) + _regular(bound)
    return plan


def outlay(layout: Layout) -> float:
    """The cost of the loops of a layout, and of paths that diverge before their tools differ."""
    return LOOP * len(layout.loops) + (APART if layout.early else 0.0)


def _regular(bound: Bound) -> float:
    """The cost of loops that always make the same number of rounds: they may be no loops."""
    cost = 0.0
    loops = bound.walk.layout.loops
    for loop in loops:
        nested = any(loop != other and loop.startswith(other) for other in loops)
        counts = [count for path in bound.walk.layout.paths for count in _rounds(path, loop) or ([] if nested else [0])]
        if len(set(counts)) == 1 and len(counts) > 1:
            cost += 5.0
    return cost


def _rounds(path: Sequence[Event], loop: str) -> list[int]:
    """The number of rounds each time the loop is entered."""
    counts: list[int] = []
    for event, following in pairwise(path):
        if following.key == junction(loop):
            if inside(event.key, loop):
                counts[-1] += 1
            else:
                counts.append(1)
    return counts


def simulate(plan: Plan) -> tuple[Rows, Rows]:
    """The variables before and after every event, including everything that the plan sets."""
    walk = plan.bound.walk
    befores: Rows = []
    afters: Rows = []
    for number, path in enumerate(walk.layout.paths):
        own: dict[str, Any] = {}
        """The variables that the plan has set so far."""
        befores.append([])
        afters.append([])
        for place, event in enumerate(path):
            env = {**own, **walk.before[number][place]}
            sets: list[Set] = []
            if place:
                edge = (path[place - 1].key, event.key)
                sets += plan.on_way.get(edge, ())
                if event.key[0] == "loop" and not inside(edge[0], event.key[1]):
                    sets += plan.entering.get(event.key[1], ())
            for assignment in (*sets, *plan.before.get(event.key, ())):
                value = assignment.value(env)
                for scope in (own, env):
                    if value is UNSET:
                        scope.pop(assignment.name, None)  # a list with an unset element has no value either
                    else:
                        scope[assignment.name] = value
            befores[-1].append({name: value for name, value in env.items() if value is not UNSET})
            if event.call is not None:
                own.pop(walk.names[event.key], None)
            env = {**env, **walk.after[number][place]}
            gone = [name for name in env if name.startswith(ELEMENT) and name not in walk.after[number][place]]
            afters[-1].append({name: value for name, value in env.items() if value is not UNSET and name not in gone})
    return befores, afters


GUARD = 2.7
"""Cost of the test whether a list has an element left."""
PLAIN = 3.6
"""If a condition to continue a loop costs at most this, no condition with such a guard is tried."""
SHARED = 1.0
"""Cost of a condition that already decides in another place."""
SHARING = 6
"""Candidates of a place that are tried in other places."""


def decide(plan: Plan, inputs: Sequence[str]) -> None:
    """Adds conditions and their cost to a plan.

    Args:
        plan: A plan without conditions.
        inputs: The names of the inputs.
    """
    bound, reading = plan.bound, plan.bound.binder.reading
    _, envs = simulate(plan)
    constants = [*reading.constants, *_constant_texts(bound)]
    unused, unread = set(bound.unused()), set(inputs) - bound.read()
    waiting = unused | unread
    parted: list[Parted] = []
    for key, ways in bound.walk.layout.edges().items():
        if len(ways) < 2:
            continue
        samples = bound.walk.visits[key]
        rows = [envs[place.run][place.event] for place in samples]
        pool = Pool(rows, reading, _order(bound, rows, waiting, key), constants)
        labels = [bound.walk.target(place) for place in samples]
        decision = _decide(bound.walk, pool, labels, ways, key)
        decision.samples = tuple(samples)
        plan.decisions[key] = decision
        waiting -= decision.uses
        parted.append(Parted(decision, rows, [label == decision.ways[0][1] for label in labels]))
    share([place for place in parted if len(place.decision.ways) == 1])
    waiting = unused | unread
    for place in parted:
        waiting -= place.decision.uses
    plan.waiting = frozenset(unused & waiting)
    plan.cost += sum(place.decision.cost + 1.0 for place in parted)
    plan.cost += 1.2 * len(unused & waiting) + 1.5 * len(unread & waiting)


@dataclass(frozen=True)
class Parted:
    """A place with two ways: the variables at each visit, and whether the first way was taken."""

    decision: Decision
    rows: Sequence[Mapping[str, Any]]
    wanted: Sequence[bool]

    @property
    def price(self) -> float:
        """The cost of the likeliest condition."""
        return self.decision.cost

    def serving(self, expr: str) -> str | None:
        """The condition or its opposite, whichever separates the two ways; None if neither does."""
        values = [evaluated(expr, row) for row in self.rows]
        if any(not isinstance(value, bool) for value in values):
            return None
        if values == self.wanted:
            return expr
        return negated(expr) if [not value for value in values] == self.wanted else None

    def take(self, candidate: Candidate) -> None:
        """Makes a candidate the first."""
        candidates, way = self.decision.ways[0]
        self.decision.ways[0] = ([candidate, *(other for other in candidates if other.expr != candidate.expr)], way)
        self.decision.solved = True


def share(parted: Sequence[Parted]) -> None:
    """Uses one condition in several places if that costs less than a separate condition for each.

    For example, every path through a round may test whether the list has another element.
    """

    @cache
    def serving(expr: str, place: int) -> str | None:
        return parted[place].serving(expr)

    undecided = set(range(len(parted)))
    while True:
        options: list[tuple[float, int, Candidate]] = []
        for place in sorted(undecided):
            for candidate in parted[place].decision.ways[0][0][:SHARING]:
                others = [other for other in undecided - {place} if parted[other].price > SHARED]
                gains = [parted[other].price - SHARED for other in others if serving(candidate.expr, other) is not None]
                gain = parted[place].price - candidate.cost + sum(gains)
                if gains and gain > 0.0:
                    options.append((gain, place, candidate))
        if not options:
            return
        _, place, candidate = max(options, key=lambda option: option[0])
        parted[place].take(candidate)
        undecided.remove(place)
        for other in sorted(undecided):
            if parted[other].price > SHARED and (expr := serving(candidate.expr, other)) is not None:
                parted[other].take(Candidate(expr, SHARED, candidate.uses))
                undecided.remove(other)


def _constant_texts(bound: Bound) -> list[Any]:
    """The short texts among constant arguments; conditions may compare with them too."""
    texts: dict[str, None] = {}
    for slot in bound.arguments:
        binding = slot.terms[0].binding if slot.terms else None
        if isinstance(binding, Literal_) and isinstance(binding.value, str) and 0 < len(binding.value) < 20:
            texts[binding.value] = None
    return list(texts)


def _order(bound: Bound, rows: Sequence[Mapping[str, Any]], unused: set[str], key: Key) -> dict[str, float]:
    order: dict[str, float] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in unused:
            order[name] = 0.2
        elif name.startswith((VISITS, ALL)):
            order[name] = 1.4
        elif name.startswith(LATER):
            order[name] = 1.7
        elif name.startswith((ROUND, ELEMENT)):
            order[name] = 0.9
        else:
            order[name] = 1.0
    if bound.walk.names.get(key) in order:
        order[bound.walk.names[key]] -= 0.2
    return order


def _decide(walk: Walk, pool: Pool, labels: Sequence[Key], ways: Sequence[Key], key: Key) -> Decision:
    """Conditions for all ways but the last, the cheapest first.

    Args:
        walk: The layout with its variables.
        pool: The terms at the visits of the place.
        labels: The way that each visit took.
        ways: All ways of the place.
        key: The place.
    """
    visits = list(range(len(labels)))
    last_ways = list(ways)
    chosen: list[tuple[list[Candidate], Key]] = []
    while len(last_ways) > 1:
        part = pool if len(visits) == len(labels) else pool.restricted(visits)
        options: list[tuple[float, list[Candidate], Key]] = []
        for way in last_ways:
            wanted = [labels[visit] == way for visit in visits]
            candidates = separate(part, wanted)
            stays = key[0] == "loop" and inside(way, key[1])
            if stays and (not candidates or candidates[0].cost > PLAIN):
                guarded = _guarded(walk, key[1], part, wanted)
                candidates = sorted([*candidates, *guarded], key=lambda candidate: candidate.cost)
            cost = candidates[0].cost if candidates else UNDECIDED
            # a loop's own test reads "go on while", so that the way out is what is left
            options.append((cost + (0.2 if key[0] == "loop" and not stays else 0.0), candidates, way))
        _, candidates, way = min(options, key=lambda option: option[0])
        chosen.append((candidates, way))
        visits = [visit for visit in visits if labels[visit] != way]
        last_ways.remove(way)
    return Decision(chosen, last_ways[0], all(candidates for candidates, _ in chosen))


def _guarded(walk: Walk, loop: str, pool: Pool, wanted: Sequence[bool]) -> list[Candidate]:
    """Conditions that continue while a list has an element left, or that also test this element."""
    candidates: list[Candidate] = []
    index = index_name(walk.layout, loop)
    for name, listed in walk.lists[loop].items():
        visits = [place for place, env in enumerate(pool.envs) if name in env]
        if any(took and place not in visits for place, took in enumerate(wanted)) or len(visits) == len(wanted):
            continue
        guard, uses = f"{index} < len({listed})", frozenset([index, listed.partition("[")[0]])
        part = [wanted[place] for place in visits]
        if all(part):
            candidates.append(Candidate(guard, GUARD, uses))
        elif any(part):
            candidates += [
                Candidate(f"{guard} and {_bracketed(test.expr)}", GUARD + 0.8 + test.cost, test.uses | uses)
                for test in separate(pool.restricted(visits), part)
            ]
    return candidates


def _bracketed(expr: str) -> str:
    return f"({expr})" if " or " in expr else expr

"""From explained slots to a plan: what each site is given, what is set on which way, and what decides between ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flowmind.induction.binding import Bound, Edge, Slot, finish
from flowmind.induction.conditions import Agreement, Candidate, separate
from flowmind.induction.keeping import Kept, Summed
from flowmind.induction.pool import Pool
from flowmind.induction.runs import UNSET
from flowmind.induction.structure import END, Key, junction
from flowmind.induction.terms import Term
from flowmind.induction.walking import ALL, ELEMENT, LATER, ROUND, VISITS, Sample, Walk, index_name, inside
from flowmind.workflow import Binding, ListOf, Literal_, ObjectOf, Var
from tools_registry.expressions import ExpressionError, evaluate
from tools_registry.runtime import CaseError

UNDECIDED = 16.0
"""What a place costs whose ways nothing tells apart."""


CLOSE = 1.5
"""How much dearer a term may be that explains a value about as well."""
GUARD = 2.7
"""What it costs to ask whether a list has an element left."""
PLAIN = 3.6
"""A condition to go on that costs no more is taken without looking for one with such a guard."""


@dataclass(frozen=True)
class Set:
    """A variable is set: to a binding, or to an expression."""

    name: str
    binding: Binding | None = None
    expr: str = ""
    support: tuple[Sample, ...] = ()

    def value(self, env: Mapping[str, Any]) -> Any:
        """What it is set to; UNSET if that cannot be computed here."""
        if self.binding is not None:
            return resolve(self.binding, env)
        try:
            return evaluate(self.expr, env)
        except (ExpressionError, CaseError, KeyError, TypeError):
            return UNSET


@dataclass
class Decision:
    """What leads from a place to its ways: tried one after the other, the last way is what is left."""

    ways: list[tuple[list[Candidate], Key]]
    last: Key
    solved: bool = True
    samples: tuple[Sample, ...] = ()

    @property
    def cost(self) -> float:
        """Of its likeliest conditions."""
        return sum(found[0].cost if found else UNDECIDED for found, _ in self.ways)


@dataclass
class Plan:
    """A program over the sites of a layout."""

    bound: Bound
    args: dict[Key, dict[str, Binding]] = field(default_factory=dict[Key, dict[str, Binding]])
    answer: Binding | None = None
    before: dict[Key, list[Set]] = field(default_factory=dict[Key, list[Set]])
    """Set right before a site."""
    on_way: dict[Edge, list[Set]] = field(default_factory=dict[Edge, list[Set]])
    """Set on the way from one place to another."""
    entering: dict[str, list[Set]] = field(default_factory=dict[str, list[Set]])
    """Set before the first round of a loop."""
    decisions: dict[Key, Decision] = field(default_factory=dict[Key, Decision])
    open: list[tuple[Key, str]] = field(default_factory=list[tuple[Key, str]])
    """Arguments that nothing explains."""
    cost: float = 0.0
    waiting: frozenset[str] = frozenset()
    """Results that nothing reads."""
    left_out: tuple[str, ...] = ()
    """Tools with calls that were left out, because nothing reads their results."""
    others: list[tuple[Edge, Set, Set]] = field(default_factory=list[tuple[Edge, Set, Set]])
    """What is set on a way, and what explains it about as well."""
    refined: bool = False
    """Layouts that may explain what it leaves open were tried."""

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of its layout."""
        return self.bound.walk.layout.loops


def resolve(binding: Binding, env: Mapping[str, Any]) -> Any:
    """What a binding stands for; UNSET if something in it is."""
    match binding:
        case Literal_(value=value):
            return value
        case Var(var=name, path=path):
            found = env.get(name, UNSET)
            for part in path:
                try:
                    found = found[part]
                except (KeyError, IndexError, TypeError):
                    return UNSET
            return found
        case ListOf(list=parts):
            values = [resolve(part, env) for part in parts]
            return UNSET if any(value is UNSET for value in values) else values
        case ObjectOf(object=fields):
            made = {key: resolve(part, env) for key, part in fields.items()}
            return UNSET if any(value is UNSET for value in made.values()) else made


class _Planner:
    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.plan = Plan(bound)
        self.layout = bound.walk.layout
        self._made: dict[str, str] = {}
        self._names = {name for rows in bound.walk.after for env in rows for name in env}
        self._names |= set(bound.walk.names.values())

    def fill(self) -> Plan:
        """The plan; what stands behind loops is explained with what they set."""
        self._sites()
        if self.layout.loops:
            finish(self.bound, simulate(self.plan))
            self._sites()
        if self.bound.answer is not None and self.bound.answer.explained:
            self.plan.answer = self.realise(self.bound.answer, END, "answer")
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
                    self.plan.args[key][name] = self.realise(slot, key, name)
                else:
                    self.plan.open.append((key, name))

    def realise(self, slot: Slot, key: Key, hint: str) -> Binding:
        """The binding of a slot; what it needs is put into the plan."""
        if slot.part is not None:
            return ObjectOf(object={name: self.realise(part, key, name) for name, part in slot.part.items()})
        if slot.listed is not None:
            return ListOf(list=tuple(self.realise(part, key, hint) for part in slot.listed))
        if slot.collected is not None:
            edges, loop, inner = slot.collected
            return Var(var=self._collect(edges, loop, inner, hint))
        if slot.kept is not None:
            return Var(var=self._keep(slot.kept, hint))
        if slot.ways:
            return Var(var=self._on_ways(slot.ways, hint))
        term = slot.terms[0]
        self._begin(term)
        if term.binding is not None:
            return term.binding
        return Var(var=self._computed(term, key, hint, slot))

    def _begin(self, term: Term) -> None:
        for name, first in term.initial:
            loop = next(
                loop for loop in self.layout.loops
                for key, held in self.bound.walk.names.items() if held == name and inside(key, loop)
            )  # fmt: skip
            self._enter(loop, Set(name, first.binding, "" if first.binding is not None else first.expr))

    def _enter(self, loop: str, made: Set) -> None:
        held = self.plan.entering.setdefault(loop, [])
        if made not in held:
            held.append(made)

    def _computed(self, term: Term, key: Key, hint: str, slot: Slot) -> str:
        memo = f"{key} {term.expr}"
        if memo not in self._made:
            self._made[memo] = self._name(hint)
            self.plan.before.setdefault(key, []).append(Set(self._made[memo], None, term.expr, slot.support))
        return self._made[memo]

    def _on_ways(self, ways: Sequence[tuple[Edge, Slot]], hint: str) -> str:
        memo = "; ".join(f"{edge}: {_told(slot)}" for edge, slot in ways)
        if memo not in self._made:
            name = self._made[memo] = self._name(hint)
            for edge, slot in ways:
                self._put(edge, name, slot)
        return self._made[memo]

    def _keep(self, held: Kept | Summed, hint: str) -> str:
        if held.told in self._made:
            return self._made[held.told]
        name = self._made[held.told] = self._name(hint)
        if isinstance(held, Summed):
            self._start(held.loop, name, held.first, held.begins)
            made = Set(name, None, f"{name} {held.sign} {held.term.expr}", held.points)
            self.plan.on_way.setdefault(held.edge, []).append(made)
            return name
        if held.first is not None:
            self._start(held.loop, name, *held.first)
        for edge, term, points in held.sets:
            self._put(edge, name, Slot([term], term.cost, support=points))
        return name

    def _start(self, loop: str, name: str, term: Term, points: tuple[Sample, ...]) -> None:
        """A variable is set before the first round of a loop."""
        self._begin(term)
        self._enter(loop, Set(name, term.binding, "" if term.binding is not None else term.expr, points))

    def _put(self, edge: Edge, name: str, slot: Slot) -> None:
        if slot.terms and slot.terms[0].binding is None:
            self._begin(slot.terms[0])
            made = Set(name, None, slot.terms[0].expr, slot.support)
        else:
            made = Set(name, self.realise(slot, edge[1], name), "", slot.support)
        self.plan.on_way.setdefault(edge, []).append(made)
        for term in _close(slot):
            other = Set(name, term.binding, "" if term.binding is not None else term.expr, slot.support)
            self.plan.others.append((edge, made, other))

    def _collect(self, edges: Sequence[Edge], loop: str, inner: Slot, hint: str) -> str:
        memo = f"{edges} all {_told(inner)}"
        if memo not in self._made:
            name = self._made[memo] = self._name(hint)
            self._enter(loop, Set(name, Literal_(value=[])))
            ways = inner.ways or [(edge, inner) for edge in edges]
            for edge, slot in ways:
                expr = self._expression(slot, edge[1], f"{name}_item")
                self.plan.on_way.setdefault(edge, []).append(Set(name, None, f"{name} + [{expr}]", slot.support))
        return self._made[memo]

    def _expression(self, slot: Slot, key: Key, hint: str) -> str:
        """A slot as an expression."""
        if slot.terms:
            self._begin(slot.terms[0])
            return slot.terms[0].expr
        value = self.realise(slot, key, hint)
        assert isinstance(value, Var), "what no term explains becomes a variable"
        return value.var

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


def _told(slot: Slot) -> str:
    if slot.terms:
        return slot.terms[0].expr
    if slot.part is not None:
        return str({name: _told(part) for name, part in slot.part.items()})
    if slot.collected is not None:
        return f"{slot.collected[0]} {_told(slot.collected[2])}"
    if slot.kept is not None:
        return slot.kept.told
    return "; ".join(f"{edge} {_told(part)}" for edge, part in slot.ways)


def _close(slot: Slot | None) -> list[Term]:
    """The terms that explain a slot about as well as the likeliest one."""
    terms = slot.terms if slot is not None else []
    return [term for term in terms[1:4] if not term.initial and term.cost <= terms[0].cost + CLOSE]


def variants(made: Plan) -> Iterator[Plan]:
    """The plan with one value taken from elsewhere: from where the traces show it as well."""
    for key, slots in made.bound.slots.items():
        for name, slot in slots.items():
            for term in _close(slot):
                if term.binding is not None and name in made.args.get(key, {}):
                    yield replace(made, args={**made.args, key: {**made.args[key], name: term.binding}})
    for edge, held, other in made.others:
        sets = [other if one is held else one for one in made.on_way[edge]]
        yield replace(made, on_way={**made.on_way, edge: sets})
    for term in _close(made.bound.answer):
        if term.binding is not None:
            yield replace(made, answer=term.binding)
    parts = made.bound.answer.part if made.bound.answer is not None else None
    if parts is not None and isinstance(made.answer, ObjectOf):
        for name, slot in parts.items():
            for term in _close(slot):
                if term.binding is not None:
                    yield replace(made, answer=ObjectOf(object={**made.answer.object, name: term.binding}))


def fill(bound: Bound) -> Plan:
    """The plan of a bound layout, without its conditions."""
    made = _Planner(bound).fill()
    made.cost = bound.cost + 4.5 * len(bound.walk.layout.loops) + _regular(bound)
    return made


def decide(
    made: Plan, agreement: Agreement, constants: Sequence[Any], said: Callable[[Any], float], inputs: Sequence[str]
) -> None:
    """Searches the conditions of a plan, and adds what they cost."""
    bound = made.bound
    _, envs = simulate(made)
    unused = bound.unused()
    layout = bound.walk.layout
    cost = made.cost
    constants = [*constants, *_seen(bound)]
    waiting = set(unused)
    idle = set(inputs) - bound.read()
    for key, ways in layout.edges().items():
        if len(ways) < 2:
            continue
        samples = bound.walk.visits[key]
        rows = [envs[one.run][one.event] for one in samples]
        order = _order(bound, rows, waiting | idle, key)
        pool = Pool(rows, said, order, constants)
        labels = [bound.walk.target(one) for one in samples]
        decision = _decide(bound.walk, pool, labels, ways, key, agreement, constants)
        decision.samples = tuple(samples)
        made.decisions[key] = decision
        cost += decision.cost + 1.0
        for found, _ in decision.ways:
            waiting -= found[0].uses if found else set()
            idle -= found[0].uses if found else set()
    made.waiting = frozenset(waiting)
    cost += 1.2 * len(waiting) + 1.5 * len(idle)
    made.cost = cost


def _seen(bound: Bound) -> list[Any]:
    """Short texts that the calls are given as constants: conditions speak of them, too."""
    found: dict[str, None] = {}
    for args in bound.slots.values():
        for slot in args.values():
            binding = slot.terms[0].binding if slot.terms else None
            if isinstance(binding, Literal_) and isinstance(binding.value, str) and 0 < len(binding.value) < 20:
                found[binding.value] = None
    return list(found)


def _regular(bound: Bound) -> float:
    """A loop that makes the same number of rounds in every run may be no loop."""
    cost = 0.0
    for loop in bound.walk.layout.loops:
        counts = [sum(event.key == junction(loop) for event in path) for path in bound.walk.layout.paths]
        if len(set(counts)) == 1 and len(counts) > 1:
            cost += 5.0
    return cost


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


def _decide(
    walk: Walk,
    pool: Pool,
    labels: Sequence[Key],
    ways: Sequence[Key],
    key: Key,
    agreement: Agreement,
    constants: Sequence[Any],
) -> Decision:
    """Conditions for all ways but one, the cheapest first."""
    left = list(range(len(labels)))
    open_ways = list(ways)
    chosen: list[tuple[list[Candidate], Key]] = []
    solved = True
    while len(open_ways) > 1:
        part = pool if len(left) == len(labels) else pool.restricted(left)
        best: tuple[float, list[Candidate], Key] | None = None
        for way in open_ways:
            wanted = [labels[one] == way for one in left]
            found = separate(part, wanted, agreement, constants)
            if key[0] == "loop" and inside(way, key[1]) and (not found or found[0].cost > PLAIN):
                more = _guarded(walk, key[1], part, wanted, agreement, constants)
                found = sorted([*found, *more], key=lambda one: one.cost)
            cost = found[0].cost if found else UNDECIDED
            # a loop's own test reads "go on while", so that the way out is what is left
            cost += 0.2 if key[0] == "loop" and not inside(way, key[1]) else 0.0
            if best is None or cost < best[0]:
                best = (cost, found, way)
        assert best is not None
        solved = solved and bool(best[1])
        chosen.append((best[1], best[2]))
        left = [one for one in left if labels[one] != best[2]]
        open_ways.remove(best[2])
    return Decision(chosen, open_ways[0], solved)


def _guarded(
    walk: Walk, loop: str, pool: Pool, wanted: Sequence[bool], agreement: Agreement, constants: Sequence[Any]
) -> list[Candidate]:
    """Conditions to go on that hold as long as a list has an element left, or that ask something of that element."""
    found: list[Candidate] = []
    index = index_name(walk.layout, loop)
    for name, listed in walk.lists[loop].items():
        left = [place for place, env in enumerate(pool.envs) if name in env]
        if any(one and place not in left for place, one in enumerate(wanted)) or len(left) == len(wanted):
            continue
        guard, uses = f"{index} < len({listed})", frozenset([index, listed.partition("[")[0]])
        part = [wanted[place] for place in left]
        if all(part):
            found.append(Candidate(guard, GUARD, uses))
        elif any(part):
            found += [
                Candidate(f"{guard} and {_bracketed(one.expr)}", GUARD + 0.8 + one.cost, one.uses | uses)
                for one in separate(pool.restricted(left), part, agreement, constants)
            ]
    return found


def _bracketed(expr: str) -> str:
    return f"({expr})" if " or " in expr else expr


Rows = list[list[dict[str, Any]]]


def simulate(made: Plan) -> tuple[Rows, Rows]:
    """The variables before and after every event, with everything that the plan sets."""
    walk = made.bound.walk
    befores: Rows = []
    afters: Rows = []
    for number, path in enumerate(walk.layout.paths):
        kept: dict[str, Any] = {}
        before: list[dict[str, Any]] = []
        after: list[dict[str, Any]] = []
        for place, event in enumerate(path):
            env = {**kept, **walk.before[number][place]}

            def put(sets: Sequence[Set], env: dict[str, Any] = env, kept: dict[str, Any] = kept) -> None:
                for one in sets:
                    kept[one.name] = env[one.name] = one.value(env)

            if place:
                edge = (path[place - 1].key, event.key)
                put(made.on_way.get(edge, ()))
                if event.key[0] == "loop" and not inside(edge[0], event.key[1]):
                    put(made.entering.get(event.key[1], ()))
            put(made.before.get(event.key, ()))
            before.append({name: value for name, value in env.items() if value is not UNSET})
            if event.call is not None:
                kept.pop(walk.names[event.key], None)
            env = {**env, **walk.after[number][place]}
            gone = [name for name in env if name.startswith(ELEMENT) and name not in walk.after[number][place]]
            after.append({name: value for name, value in env.items() if value is not UNSET and name not in gone})
        befores.append(before)
        afters.append(after)
    return befores, afters

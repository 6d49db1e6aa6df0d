"""Finds the conditions of a plan, also those that decide in several places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.build.induction.binding import Bound
from flowmind.build.induction.conditions import Agreement, Candidate, negated, separate
from flowmind.build.induction.planning import UNDECIDED, Decision, Plan, Set, simulate
from flowmind.build.induction.pool import Pool
from flowmind.build.induction.structure import Key
from flowmind.build.induction.walking import ALL, ELEMENT, LATER, ROUND, VISITS, Walk, index_name, inside
from flowmind.workflow.document import Literal_

GUARD = 2.7
"""Cost of the test whether a list has an element left."""
PLAIN = 3.6
"""If a condition to continue a loop costs at most this, no condition with such a guard is tried."""
SHARED = 1.0
"""Cost of a condition that already decides in another place."""
SHARING = 6
"""Candidates of a place that are tried in other places."""


def decide(
    plan: Plan, agreement: Agreement, constants: Sequence[Any], said: Callable[[Any], float], inputs: Sequence[str]
) -> None:
    """Adds conditions and their cost to a plan."""
    bound = plan.bound
    _, envs = simulate(plan)
    constants = [*constants, *_seen(bound)]
    unused, unread = set(bound.unused()), set(inputs) - bound.read()
    waiting = unused | unread
    parted: list[Parted] = []
    for key, ways in bound.walk.layout.edges().items():
        if len(ways) < 2:
            continue
        samples = bound.walk.visits[key]
        rows = [envs[place.run][place.event] for place in samples]
        pool = Pool(rows, said, _order(bound, rows, waiting, key), constants)
        labels = [bound.walk.target(place) for place in samples]
        decision = _decide(bound.walk, pool, labels, ways, key, agreement, constants)
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
        seen = [Set("", None, expr).value(row) for row in self.rows]
        if any(not isinstance(value, bool) for value in seen):
            return None
        if seen == self.wanted:
            return expr
        return (
            negated(expr) if all(value is not other for value, other in zip(seen, self.wanted, strict=True)) else None
        )

    def take(self, candidate: Candidate) -> None:
        """Makes a candidate the first."""
        candidates, way = self.decision.ways[0]
        self.decision.ways[0] = ([candidate, *(other for other in candidates if other.expr != candidate.expr)], way)
        self.decision.solved = True


def share(parted: Sequence[Parted]) -> None:
    """Uses one condition in several places if that costs less than a separate condition for each.

    For example, every path through a round may test whether the list has another element.
    """
    served: dict[tuple[str, int], str | None] = {}

    def serving(expr: str, place: int) -> str | None:
        if (expr, place) not in served:
            served[expr, place] = parted[place].serving(expr)
        return served[expr, place]

    undecided = set(range(len(parted)))
    while True:
        best: tuple[float, int, Candidate] | None = None
        for place in sorted(undecided):
            for candidate in parted[place].decision.ways[0][0][:SHARING]:
                others = [other for other in undecided - {place} if parted[other].price > SHARED]
                gains = [parted[other].price - SHARED for other in others if serving(candidate.expr, other) is not None]
                gain = parted[place].price - candidate.cost + sum(gains)
                if gains and gain > (best[0] if best is not None else 0.0):
                    best = (gain, place, candidate)
        if best is None:
            return
        _, place, candidate = best
        parted[place].take(candidate)
        undecided.remove(place)
        for other in sorted(undecided):
            if parted[other].price > SHARED and (expr := serving(candidate.expr, other)) is not None:
                parted[other].take(Candidate(expr, SHARED, candidate.uses))
                undecided.remove(other)


def _seen(bound: Bound) -> list[Any]:
    """The short texts among constant arguments; conditions may compare with them too."""
    texts: dict[str, None] = {}
    for args in bound.slots.values():
        for slot in args.values():
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


def _decide(
    walk: Walk,
    pool: Pool,
    labels: Sequence[Key],
    ways: Sequence[Key],
    key: Key,
    agreement: Agreement,
    constants: Sequence[Any],
) -> Decision:
    """Conditions for all ways but the last, the cheapest first."""
    visits = list(range(len(labels)))
    open_ways = list(ways)
    chosen: list[tuple[list[Candidate], Key]] = []
    solved = True
    while len(open_ways) > 1:
        part = pool if len(visits) == len(labels) else pool.restricted(visits)
        best: tuple[float, list[Candidate], Key] | None = None
        for way in open_ways:
            wanted = [labels[visit] == way for visit in visits]
            candidates = separate(part, wanted, agreement, constants)
            if key[0] == "loop" and inside(way, key[1]) and (not candidates or candidates[0].cost > PLAIN):
                more = _guarded(walk, key[1], part, wanted, agreement, constants)
                candidates = sorted([*candidates, *more], key=lambda visit: visit.cost)
            cost = candidates[0].cost if candidates else UNDECIDED
            # a loop's own test reads "go on while", so that the way out is what is left
            cost += 0.2 if key[0] == "loop" and not inside(way, key[1]) else 0.0
            if best is None or cost < best[0]:
                best = (cost, candidates, way)
        assert best is not None
        solved = solved and bool(best[1])
        chosen.append((best[1], best[2]))
        visits = [visit for visit in visits if labels[visit] != best[2]]
        open_ways.remove(best[2])
    return Decision(chosen, open_ways[0], solved)


def _guarded(
    walk: Walk, loop: str, pool: Pool, wanted: Sequence[bool], agreement: Agreement, constants: Sequence[Any]
) -> list[Candidate]:
    """Conditions that continue while a list has an element left, or that also test this element."""
    candidates: list[Candidate] = []
    index = index_name(walk.layout, loop)
    for name, listed in walk.lists[loop].items():
        visits = [place for place, env in enumerate(pool.envs) if name in env]
        if any(one and place not in visits for place, one in enumerate(wanted)) or len(visits) == len(wanted):
            continue
        guard, uses = f"{index} < len({listed})", frozenset([index, listed.partition("[")[0]])
        part = [wanted[place] for place in visits]
        if all(part):
            candidates.append(Candidate(guard, GUARD, uses))
        elif any(part):
            candidates += [
                Candidate(f"{guard} and {_bracketed(one.expr)}", GUARD + 0.8 + one.cost, one.uses | uses)
                for one in separate(pool.restricted(visits), part, agreement, constants)
            ]
    return candidates


def _bracketed(expr: str) -> str:
    return f"({expr})" if " or " in expr else expr

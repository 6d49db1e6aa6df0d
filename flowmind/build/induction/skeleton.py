"""The search for programs: which calls, branches and loops explain the events of runs in the fewest bits.

All runs are read in parallel, each by a cursor. Where the next event is the same call for all of them, a call is the
next step; where it differs, a branch is; and a loop may begin anywhere. What follows is found in the same way, so every
result is remembered. A value that a step needs is explained by an expression over the variables before the step, at
all visits; therefore no program reads a variable that may be unset.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from flowmind.build.induction import prices
from flowmind.build.induction.bits import unexplained_bits
from flowmind.build.induction.chains import in_chain
from flowmind.build.induction.conditions import separate
from flowmind.build.induction.cursors import (
    ANSWER,
    MARGIN,
    Cursor,
    Event,
    Names,
    Part,
    bound,
    by_tool,
    events_of,
    set_by,
)
from flowmind.build.induction.loops import Loops
from flowmind.build.induction.program import Block, CallStep, If, Record, Return, Slot, StructuredProgram
from flowmind.build.induction.runs import UNSET, Run
from flowmind.build.induction.scopes import Candidate, Context, Scope
from flowmind.build.induction.spelling import slots
from flowmind.build.induction.values import explain
from tools_registry.specs.spec import ToolSpec

KEPT = 3
"""Parts of programs that are kept for each set of cursors."""
SIMPLE = 20.0
"""Bits above which the search for an expression is costly: case distinctions and aggregates were tried."""
COSTLY = 40
"""Values for which costly expressions are searched; for as many answers again."""
VALUES = 4
"""One of so many parts of all work may be spent on one value."""
MANY = 25
"""So many visits of a place count as one more value."""
PLACES = 1_200
"""Sets of cursors after which only straight programs and branches are tried, in one way each."""
STRAIGHT = 10
"""Events up to which runs that call the same tools are also explained without loops."""
FRAMES = 12
"""Nested function calls for each event of a run: each step is found inside of the search for the step before."""
ARMS = 4
"""Groups up to which each is tried as the first arm of a branch."""


def programs(context: Context, runs: Sequence[Run], specs: Mapping[str, ToolSpec]) -> list[StructuredProgram]:
    """The likeliest programs that explain runs, best first.

    Args:
        context: That of the search.
        runs: The runs of a task.
        specs: The tools.
    """
    search = Search(context, runs, specs)
    cursors = tuple(
        Cursor(place, 0, len(search.events[place]), context.scope(run.inputs, place)) for place, run in enumerate(runs)
    )
    taken = frozenset(name for run in runs for name in run.inputs)
    longest = max((len(events) for events in search.events), default=0)
    around = sys.getrecursionlimit()
    sys.setrecursionlimit(max(around, 2_000 + FRAMES * longest))
    try:
        found = search.parts(cursors, taken)
    finally:
        sys.setrecursionlimit(around)
    return [StructuredProgram(part.steps, part.bits) for part in found]


class _Known(NamedTuple):
    """The parts that were found at a place."""

    most: float
    """As of `Search.parts`."""
    parts: tuple[Part, ...]
    cut: bool
    """Whether there may be others of more bits."""

    def holds(self, most: float) -> bool:
        """Whether a search with other bits would find the same."""
        return not self.cut or min(most, bound(self.parts, math.inf)) <= self.most


class Search:
    """The state of a search.

    Args:
        context: Shared with those who explain values.
        runs: The runs.
        specs: The tools.
    """

    def __init__(self, context: Context, runs: Sequence[Run], specs: Mapping[str, ToolSpec]) -> None:
        self.context = context
        self.events: list[tuple[Event, ...]] = [events_of(run) for run in runs]
        tools = {event.tool for events in self.events for event in events if event.tool != ANSWER}
        self.names = Names(tools, {name for run in runs for name in run.inputs})
        self.writing = frozenset(spec.name for spec in specs.values() if spec.effect != "read")
        self.call_bits = math.log2(len({*specs, *tools}) + 1)
        self._loops = Loops(self)
        self._known: dict[Any, _Known] = {}
        self.cuts = 0
        """How often something was not looked for because others are likelier."""
        self.strict = False
        """Whether only parts that explain everything are wanted."""
        self._costly = 0

    @property
    def tired(self) -> bool:
        """Whether too much work was spent on costly expressions."""
        return self._costly >= COSTLY or self._exhausted

    @property
    def _exhausted(self) -> bool:
        return len(self._known) >= PLACES or self.context.exhausted

    def extended(
        self,
        scope: Scope,
        variables: Mapping[str, Any],
        without: Collection[str] = (),
        reasons: Sequence[str] = (),
    ) -> Scope:
        """A scope with other variables, and more reasons."""
        kept = {name: value for name, value in scope.items() if name not in without} if without else scope
        return self.context.scope({**kept, **variables}, scope.trace, (*scope.reasons, *reasons))

    def event(self, cursor: Cursor) -> Event:
        """The next event of a cursor."""
        return self.events[cursor.trace][cursor.at]

    def parts(
        self,
        cursors: tuple[Cursor, ...],
        taken: frozenset[str],
        active: frozenset[str] = frozenset(),
        most: float = math.inf,
    ) -> tuple[Part, ...]:
        """The likeliest parts that explain the events of cursors, best first.

        Args:
            cursors: At least one.
            taken: The names of variables that are set before.
            active: The lists of the loops around.
            most: Bits above which parts are not looked for: others are known that are likelier.
        """
        if all(cursor.ended for cursor in cursors):
            return (Part(0.0, (), tuple(cursor.scope for cursor in cursors)),)
        places = tuple((cursor.at, cursor.end, cursor.scope.key) for cursor in cursors)
        key = (places, taken, active, self.context.brief, self.strict)
        if self.least(cursors) > most:
            self.cuts += 1
            return ()
        known = self._known.get(key)
        if known is None or not known.holds(most):
            before = self.cuts
            self._known[key] = _Known(most, (), False)
            found = best(self._options(cursors, taken, active, most))
            known = self._known[key] = _Known(most, found, self.cuts > before)
        self.cuts += known.cut
        return known.parts

    def least(self, cursors: Sequence[Cursor]) -> float:
        """The fewest bits that the events of cursors may take: a call of each tool."""
        rests = (self.events[cursor.trace][cursor.at : cursor.end] for cursor in cursors)
        return self.call_bits * len({event.tool for rest in rests for event in rest})

    def _options(
        self, cursors: tuple[Cursor, ...], taken: frozenset[str], active: frozenset[str], most: float
    ) -> list[Part]:
        groups = by_tool(self.events, cursors)
        if self._exhausted:
            return (self._call if len(groups) == 1 else self._arms)(cursors, groups, taken, active, most)
        straight: list[Part] = []
        if len(groups) == 1 and self._alike(cursors):
            straight = self._call(cursors, groups, taken, active, most)
            if any(part.open == 0 and not _picks(part.steps) for part in straight):
                return straight
        options, surely = self._loops.options(cursors, groups, taken, active, bound(straight, most))
        if straight:
            return [*options, *straight]
        if surely and not self._straight(cursors):
            return options
        around, self.strict = self.strict, self.strict or any(part.open == 0 for part in options)
        if len(groups) == 1:
            options += self._call(cursors, groups, taken, active, bound(options, most))
        else:
            options += self._branch(cursors, groups, taken, active, bound(options, most))
        self.strict = around
        if not any(part.open == 0 for part in options):
            options += self._loops.options(cursors, groups, taken, active, bound(options, most), seldom=True)[0]
        return options

    def _straight(self, cursors: Sequence[Cursor]) -> bool:
        """Whether several runs call the same few tools in the same order."""
        ways = {tuple(event.tool for event in self.events[cursor.trace][cursor.at : cursor.end]) for cursor in cursors}
        return len(cursors) > 1 and len(ways) == 1 and len(next(iter(ways))) <= STRAIGHT

    def _alike(self, cursors: Sequence[Cursor]) -> bool:
        """Whether all cursors have the same calls before them, of each tool one at most."""
        rests = {tuple(event.tool for event in self.events[cursor.trace][cursor.at : cursor.end]) for cursor in cursors}
        return len(rests) == 1 and all(len(set(rest)) == len(rest) for rest in rests)

    # Calls

    def _call(
        self,
        cursors: tuple[Cursor, ...],
        groups: Mapping[str | None, Sequence[int]],
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
    ) -> list[Part]:
        """A call of the tool that is next for all cursors, or the answer, and what follows."""
        events = [self.event(cursor) for cursor in cursors]
        scopes = [cursor.scope for cursor in cursors]
        tool = events[0].tool
        names = dict.fromkeys(name for event in events for name in event.args)
        args: dict[str, tuple[Slot, float]] = {}
        for name in names:
            args[name] = self.slot(scopes, events, name)
            if self.strict and not args[name][0].candidates:
                return []
            if self.call_bits + sum(length for _, length in args.values()) > most:
                self.cuts += 1
                return []
        cost = self.call_bits + sum(length for _, length in args.values())
        missing = sum(not slot.candidates for slot, _ in args.values())
        slots = {name: slot for name, (slot, _) in args.items()}
        if tool == ANSWER:
            return [Part(cost, (Return(slots["value"]),), (None,) * len(cursors), missing)]
        output = self.names.of_tool(tool, taken)
        step = CallStep(tool, output, slots)
        after = tuple(
            cursor._replace(at=cursor.at + 1, scope=self.extended(cursor.scope, {output: event.value}))
            for cursor, event in zip(cursors, events, strict=True)
        )
        return [
            Part(cost + rest.bits, (step, *rest.steps), rest.scopes, missing + rest.open)
            for rest in self.parts(after, taken | {output}, active, most - cost)
        ]

    def slot(self, scopes: Sequence[Scope], events: Sequence[Event], name: str) -> tuple[Slot, float]:
        """An argument with its expressions, and its bits."""
        values = [event.args.get(name, UNSET) for event in events]
        steps = tuple(dict.fromkeys(event.step for event in events if name in event.args))
        given = [place for place, value in enumerate(values) if value is not UNSET]
        if not given:
            return Slot((Candidate(0.0, "None"),), steps), 0.0
        shown = [values[place] for place in given]
        is_answer = events[0].tool == ANSWER
        candidates = self._explained([scopes[place] for place in given], shown, "" if is_answer else name, is_answer)
        unexplained = unexplained_bits(shown)
        # a case distinction that is longer than the values memorises them
        candidates = tuple(one for one in candidates if one.bits < unexplained or " if " not in one.text)
        cost = candidates[0].bits if candidates else unexplained
        omitted: tuple[Candidate, ...] = ()
        if len(given) < len(values) and not is_answer:
            omitted, price = self.decision(scopes, [value is UNSET for value in values])
            cost += price
        records = () if candidates else tuple(Record(scopes[place], values[place]) for place in given)
        return Slot(candidates, steps, omitted, records), cost

    def _explained(
        self, scopes: Sequence[Scope], values: Sequence[Any], hint: str, is_answer: bool
    ) -> tuple[Candidate, ...]:
        """The expressions for a value; only simple ones if too much work was spent on costly ones."""
        around, limit = self.context.brief, self.context.limit
        self.context.brief = around or (self.tired and not (is_answer and self._costly < 2 * COSTLY))
        self.context.limit = min(limit, self.context.effort + limit * _fields(values) // VALUES)
        candidates = explain(self.context, scopes, values, hint)
        self.context.limit = limit
        if not self.context.brief and (not candidates or candidates[0].bits > SIMPLE):
            self._costly += 1 + len(scopes) // MANY
        self.context.brief = around
        return candidates

    def decision(self, scopes: Sequence[Scope], labels: Sequence[bool]) -> tuple[tuple[Candidate, ...], float]:
        """Conditions that hold where a label is true, and the bits of the likeliest."""
        candidates = separate(self.context, scopes, labels)
        return candidates, candidates[0].bits if candidates else prices.UNDECIDED + len(labels)

    # Branches

    def _branch(
        self,
        cursors: tuple[Cursor, ...],
        groups: Mapping[str | None, Sequence[int]],
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
    ) -> list[Part]:
        """Branches whose arms run to the end, or join at a call or an answer that all have."""
        options = self._arms(cursors, groups, taken, active, most)
        if None in groups:
            return options
        for ends in self._joins(cursors):
            inner = tuple(cursor._replace(end=end) for cursor, end in zip(cursors, ends, strict=True))
            arms = by_tool(self.events, inner)
            if len(arms) < 2:
                continue
            for part in best(self._arms(inner, arms, taken, active, bound(options, most))):
                after = tuple(
                    cursor._replace(at=end, scope=scope)
                    for cursor, end, scope in zip(cursors, ends, part.scopes, strict=True)
                    if scope is not None
                )
                rests = self.parts(after, taken.union(set_by(part.steps)), active, bound(options, most) - part.bits)
                options += [then(part, rest) for rest in rests]
                if part.open == 0 and any(rest.open == 0 for rest in rests):
                    break  # what follows depends little on the other parts
        return options

    def _joins(self, cursors: Sequence[Cursor]) -> list[tuple[int, ...]]:
        """For each place where the cursors may join, the index of its event for each cursor."""
        firsts: list[dict[str, int]] = []
        for cursor in cursors:
            first: dict[str, int] = {}
            for at in range(cursor.at, cursor.end):
                first.setdefault(self.events[cursor.trace][at].tool, at)
            firsts.append(first)
        common = [tool for tool in firsts[0] if all(tool in first for first in firsts)]
        common.sort(
            key=lambda tool: max(first[tool] - cursor.at for first, cursor in zip(firsts, cursors, strict=True))
        )
        chosen = dict.fromkeys([*common[:2], *(tool for tool in common if tool == ANSWER)])
        return [tuple(first[tool] for first in firsts) for tool in chosen]

    def _arms(
        self,
        cursors: tuple[Cursor, ...],
        groups: Mapping[str | None, Sequence[int]],
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
    ) -> list[Part]:
        """Branches with one group of the cursors in the first arm and the others in the second."""
        scopes = [cursor.scope for cursor in cursors]
        heads: list[tuple[float, list[int], Slot]] = []
        first = [tool for tool in groups if tool is not None]
        for tool in first[:1] if len(groups) == 2 else groups:
            inside = set(groups[tool])
            candidates, price = self.decision(scopes, [place in inside for place in range(len(cursors))])
            if self.strict and not candidates:
                continue
            steps = tuple(self._step(cursor) for cursor in cursors)
            heads.append((price, sorted(inside), Slot(candidates, steps)))
        heads.sort(key=lambda head: head[0])
        options: list[Part] = []
        for price, inside, condition in heads[: 1 if self._exhausted else ARMS]:
            outside = [place for place in range(len(cursors)) if place not in set(inside)]
            left = bound(options, most) - prices.BRANCH - price
            arms = [tuple(cursors[place] for place in places) for places in (inside, outside)]
            thens = self.parts(arms[0], taken, active, left - self.least(arms[1]))
            others = self.parts(arms[1], taken, active, left - thens[0].bits) if thens else ()
            for one in thens:
                for other in others:
                    tested = self._in_chain(condition, other)
                    own = price if tested is condition else tested.bits
                    cost = prices.BRANCH + own + one.bits + other.bits
                    if cost > bound(options, most):
                        self.cuts += 1
                        continue
                    scopes_after = self._merged(one, inside, other, outside)
                    step = If(tested, one.steps, other.steps)
                    missing = one.open + other.open + (not condition.candidates)
                    options.append(Part(cost, (step,), scopes_after, missing))
        return options

    def _in_chain(self, condition: Slot, other: Part) -> Slot:
        """A decision, given the one that follows where it is false."""
        after = other.steps[0].condition.candidates[:1] if other.steps and isinstance(other.steps[0], If) else ()
        if not condition.candidates or not after:
            return condition
        reading = self.context.reading
        made = [
            one._replace(bits=one.bits + in_chain(reading, one.text, after[0].text)) for one in condition.candidates
        ]
        return replace(condition, candidates=tuple(sorted(made, key=lambda one: one.bits)))

    def _step(self, cursor: Cursor) -> tuple[int, int]:
        """The step that shows which way a cursor goes: the next one."""
        return self.events[cursor.trace][min(cursor.at, len(self.events[cursor.trace]) - 1)].step

    def _merged(
        self, one: Part, inside: Sequence[int], other: Part, outside: Sequence[int]
    ) -> tuple[Scope | None, ...]:
        """The variables after a branch: those that only one arm sets are None after the other."""
        names, others = set_by(one.steps, after=True), set_by(other.steps, after=True)
        merged: dict[int, Scope | None] = {}
        for places, part, absent in (
            (inside, one, [name for name in others if name not in names]),
            (outside, other, [name for name in names if name not in others]),
        ):
            for place, scope in zip(places, part.scopes, strict=True):
                if scope is not None and absent:
                    nothing: dict[str, Any] = dict.fromkeys(absent)
                    scope = self.extended(scope, nothing)
                merged[place] = scope
        return tuple(merged[place] for place in sorted(merged))


def _fields(values: Sequence[Any]) -> int:
    """How many values a value counts as: one for each field, also of objects in a list, but not most of all work."""
    parts = [part for value in values for part in (cast(list[Any], value)[:1] if isinstance(value, list) else [value])]
    return max(
        (min(len(cast(dict[str, Any], part)), VALUES - 1) for part in parts if isinstance(part, dict)), default=1
    )


def _picks(steps: Block) -> bool:
    """Whether a value is the first or last element of a list, which a loop over the list may explain better."""
    return any("[0]" in slot.candidates[0].text or "[-1]" in slot.candidates[0].text for slot in slots(steps))


def then(part: Part, rest: Part) -> Part:
    """A part and what follows where it has not returned."""
    scopes = iter(rest.scopes)
    after = tuple(None if scope is None else next(scopes) for scope in part.scopes)
    return Part(part.bits + rest.bits, (*part.steps, *rest.steps), after, part.open + rest.open)


def best(options: Sequence[Part]) -> tuple[Part, ...]:
    """The likeliest parts."""
    ordered = sorted(options, key=lambda part: part.bits)
    kept: list[Part] = []
    for part in ordered:
        if (
            len(kept) < KEPT
            and part.bits <= ordered[0].bits + MARGIN
            and all(part.steps != known.steps for known in kept)
        ):
            kept.append(part)
    return tuple(kept)

"""Loops: over the elements of lists, and repetitions of a call."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from flowmind.build.induction import prices
from flowmind.build.induction.conditions import filters, kept_by_filter, separate
from flowmind.build.induction.cursors import ANSWER, Cursor, Part, Round, bound, set_by
from flowmind.build.induction.features import values_of
from flowmind.build.induction.lists import lists, nested_pairs
from flowmind.build.induction.matching import Rounds, over_elements, over_repetition, spans
from flowmind.build.induction.program import Block, DoWhile, ForEach, If, Slot, State
from flowmind.build.induction.scopes import Candidate, Feature, Scope, canonical
from flowmind.build.induction.spelling import (
    calls_in,
    changed,
    compared_in,
    listed_in,
    opposite_of,
    parsed,
    parts_of,
    reads_in,
    reads_of,
    slots,
    texts_of,
)
from flowmind.build.induction.states import Carried, carried_by
from flowmind.workflow.expressions import evaluate, names
from tools_registry.specs.values import CaseError

if TYPE_CHECKING:
    from flowmind.build.induction.skeleton import Search

SOURCES = 16
"""Lists over which loops are tried at a place, the likeliest ones."""
HEADS = 4
"""Ways to read the events as rounds that are tried at a place."""
SLACK = 8.0
"""Bits above the likeliest loop up to which others are tried with what follows."""
FAILURES = 4
"""Places where repetitions of a tool's call explain nothing, after which they are not tried any more."""
ONCE = 2.0
"""That a repetition of calls that change something is allowed once only, or the opposite."""
_ONCE_MORE = re.compile(
    r"\bonce (?:more|again)\b|\b(?:try|retry|repeat)(?: it| this)? once\b|\b(?:a second|one more) time\b"
)
ENDINGS = 3
"""Conditions of a repetition with other reasons to end it that are tried with what follows, and the bits above the
likeliest one up to which they are."""
REASONS = 6.0
FRESH = 4.0
"""What a test costs more that has not ended the repetition before."""
BODIES = 2
"""Bodies that are tried for each of them."""


@dataclass
class _Head:
    """A loop whose rounds are known."""

    rounds: Rounds
    source: Feature | None = None
    """None if it repeats a call."""
    weakness: int = 0
    """As of `over_elements`."""
    keys: Sequence[Sequence[Any]] = ()
    """As of `over_elements`."""
    sources: list[Feature] = field(default_factory=list[Feature])
    """The lists that give the same elements, `source` first."""

    @property
    def shape(self) -> Any:
        """Which events belong to which round."""
        return tuple(tuple(turn[:2] for turn in turns) for turns in self.rounds)


@dataclass
class _Body:
    """What a loop does in each round, and its variables."""

    part: Part
    rows: list[list[dict[str, Any]]]
    """For each cursor, for each round the variables at its end."""
    ends: list[list[Scope]]
    """For each cursor, for each round the scope at its end, with the next values of the states."""
    states: Sequence[Carried] = ()


@dataclass(frozen=True)
class _Start:
    """A loop at a place."""

    bits: float
    step: ForEach | DoWhile
    after: tuple[Cursor, ...]
    """Behind it."""
    taken: frozenset[str]
    open: int
    """The number of its slots that nothing explains."""
    spare: bool = False
    """Whether it is another form of a loop, which is tried where what follows that one is not explained."""


class Loops:
    """Finds the loops that may stand at a place.

    Args:
        search: Explains the bodies, and what follows.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._failures: dict[Any, int] = {}

    def options(
        self,
        cursors: tuple[Cursor, ...],
        groups: Mapping[str | None, Sequence[int]],
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
        seldom: bool = False,
    ) -> tuple[list[Part], bool]:
        """The parts that begin with a loop, and whether one of them explains everything, so that no other is needed.

        Args:
            cursors: The place.
            groups: They by the tool of their next event.
            taken: The names of variables that are set before.
            active: The lists of the loops around.
            most: As of `Search.parts`.
            seldom: Whether only loops count that have one round at most in all runs, if no texts identify the
                elements; otherwise only the others do.
        """
        options: list[Part] = []
        surely = False
        if set(groups) <= {None, ANSWER}:
            return options, surely
        heads = self._heads(cursors, active, seldom)
        repeated: list[Rounds] = []
        kind = (*groups, len(cursors), active)
        if len(groups) == 1 and not seldom and self._failures.get(kind, 0) < FAILURES:
            repeated = over_repetition(self._search.events, cursors, str(next(iter(groups))))
        tested: list[Rounds] = []
        if not seldom and self._failures.get((*kind, "tested"), 0) < FAILURES:
            for tool in groups:
                if tool not in (None, ANSWER):
                    tested += over_repetition(self._search.events, cursors, str(tool), some=True)
        brief = self._search.context.brief or self._search.tired
        cuts = self._search.cuts
        for first_look in (True,) if brief else (True, False):
            starts: list[_Start] = []
            shapes: set[Any] = set()
            for head in heads:
                if not surely or head.shape in shapes:
                    found, complete = self._for_each(cursors, head, taken, active, most, first_look)
                    starts += found
                    if complete:
                        shapes.add(head.shape)
                        surely = surely or _varies(head.rounds)
            whole: list[Rounds] = []
            for rounds in repeated if not shapes else ():
                if any(_cuts(rounds, other) for other in whole):
                    continue
                found, complete = self._do_while(cursors, rounds, taken, active, most, first_look)
                starts += found
                surely = surely or (complete and _varies(rounds) and not _halved(self._search, cursors, rounds))
                whole += [rounds] if complete else []
            for rounds in tested:
                starts += self._do_while(cursors, rounds, taken, active, most, first_look, first=True)[0]
            options = self._continued(starts, active, most)
            if any(start.open == 0 for start in starts) or self._search.cuts > cuts:
                break
        else:
            self._failures[kind] = self._failures.get(kind, 0) + bool(repeated)
            self._failures[(*kind, "tested")] = self._failures.get((*kind, "tested"), 0) + bool(tested)
        return options, surely

    def _continued(self, starts: Sequence[_Start], active: frozenset[str], most: float) -> list[Part]:
        """The loops with what follows. Those that leave the fewest tools to what follows come first.

        What follows depends little on the loop. If the likeliest loop is much likelier than another one that ends at
        the same places, and everything behind it is explained, the other one is dropped.
        """
        options: list[Part] = []
        known: dict[tuple[int, ...], float] = {}
        for start in sorted(starts, key=lambda start: (start.spare, self._search.least(start.after), start.bits)):
            ends = tuple(cursor.at for cursor in start.after)
            if start.bits > known.get(ends, math.inf) or (start.spare and ends in known):
                continue
            rests = self._search.parts(start.after, start.taken, active, bound(options, most) - start.bits)
            if start.open == 0 and any(rest.open == 0 for rest in rests):
                known.setdefault(ends, start.bits + SLACK)
            options += [
                Part(
                    start.bits + rest.bits,
                    (_agreeing(start.step, rest), *rest.steps),
                    rest.scopes,
                    start.open + rest.open,
                )
                for rest in rests
            ]
        return options

    def _heads(self, cursors: Sequence[Cursor], active: frozenset[str], seldom: bool) -> list[_Head]:
        """The likeliest ways to read the next events as rounds over a list."""
        scopes = [cursor.scope for cursor in cursors]
        heads: dict[tuple[Any, ...], _Head] = {}
        found = [
            feature
            for feature in (*lists(self._search.context, scopes), *nested_pairs(self._search.context, scopes))
            if feature.text not in active
            and all(isinstance(value, list) for value in feature.values)
            and not names(feature.text) & active
        ]
        for feature in sorted(found, key=lambda feature: feature.bits)[:SOURCES]:
            for rounds, (weakness, keys) in over_elements(self._search.events, cursors, feature.values).items():
                counts = set(map(len, rounds))
                repeated = feature.text in self._search.context.repeated
                rare = max(counts) < 2 and (weakness > 0 or repeated)
                if counts == {1} or rare is not seldom or (seldom and active):
                    continue
                elements = tuple(
                    tuple(key[1][turn.element] for turn in turns) if turns else ()
                    for key, turns in zip(map(_elements, feature.keys), rounds, strict=True)
                )
                heads.setdefault((rounds, elements), _Head(rounds, feature, weakness, keys)).sources.append(feature)
        by_shape: dict[Any, int] = {}
        kept: list[_Head] = []
        for head in sorted(heads.values(), key=_unlikely):
            by_shape[head.shape] = by_shape.get(head.shape, 0) + 1
            if by_shape[head.shape] <= 2 and len(by_shape) <= HEADS:
                kept.append(head)
        return kept

    # Loops over lists

    def _for_each(
        self,
        cursors: tuple[Cursor, ...],
        head: _Head,
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
        brief: bool,
    ) -> tuple[list[_Start], bool]:
        """The loops over a list, and whether one of the loops explains everything in it."""
        source = head.source
        assert source is not None
        search = self._search
        item = search.names.of_item(source.text, taken)
        rows = search.names.of_loop(f"{item}_rows", taken)
        search.context.items[item] = source.text
        head = self._settled(cursors, head, source, item)
        plans = self._plans(cursors, head, source, item)
        if not plans:
            return [], False
        most -= prices.LOOP + source.bits + min(price for _, price, _ in plans)
        options: list[_Start] = []
        complete = False
        index = search.names.of_loop("index", taken)
        inside = taken | {item, rows, index}
        looping = active | {rows, *(feature.text for feature in head.sources)}
        for body in self._bodies(cursors, head, inside, looping, item, rows, index, most, brief):
            for where, price, early in plans:
                stop: Slot | None = None
                if early:
                    found = self._stop(cursors, head, source, item, where, body)
                    if found is None:
                        continue
                    stop = Slot(found, _last_steps(search, cursors, head.rounds))
                    price += found[0].bits + prices.STOP
                stopped = search.names.of_loop("stopped", inside) if early else ""
                search.context.rows[rows] = search.context.rows.get(rows, False) or early
                sources = tuple(
                    Candidate(feature.bits, feature.text, feature.before)
                    for feature in sorted(head.sources, key=lambda feature: feature.bits)
                )
                states = _read(body, stop)
                if body.states and not states:
                    continue  # found without states as well
                step = ForEach(
                    Slot(sources, _first_steps(search, cursors, head.rounds)),
                    item,
                    body.part.steps,
                    rows,
                    index,
                    Slot(where, _first_steps(search, cursors, head.rounds)) if where else None,
                    stop,
                    stopped,
                    self._shown(states, cursors, head.rounds),
                )
                used = item in reads_in((step,))
                cost = prices.LOOP + source.bits + price + body.part.bits + (0.0 if used else prices.UNREAD)
                cost += sum(state.bits for state in states)
                complete = complete or (body.part.open == 0 and used)
                if body.part.open == 0 or not brief:
                    start = self._start(cursors, head.rounds, body, step, cost, taken)
                    options.append(start)
                    if step.where and not early and not states and {index, rows}.isdisjoint(reads_in(step.body)):
                        other = self._of_all(cursors, head, source, body, step, cost, taken)
                        first = any(map(self._answers_more, start.after, head.rounds))
                        options[-1:] = [replace(start, spare=first), replace(other, spare=not first)]
        return options, complete

    def _of_all(
        self,
        cursors: Sequence[Cursor],
        head: _Head,
        source: Feature,
        body: _Body,
        step: ForEach,
        cost: float,
        taken: frozenset[str],
    ) -> _Start:
        """The loop over all elements, with a branch in place of its filter: its rows have those without calls, too."""
        assert step.where is not None
        rounds: list[tuple[Round, ...]] = []
        whole = replace(body, rows=[], ends=[])
        nothing: dict[str, Any] = dict.fromkeys(set_by(step.body))
        for place, (cursor, turns, elements) in enumerate(zip(cursors, head.rounds, source.values, strict=True)):
            made_of = zip(turns, body.rows[place], body.ends[place], strict=True)
            known = {turn.element: (turn, row, scope) for turn, row, scope in made_of}
            own: list[tuple[Round, dict[str, Any], Scope]] = []
            at = cursor.at
            for number, element in enumerate(elements):
                made = {step.item: element, **nothing}
                scope = self._search.extended(cursor.scope, made)
                own.append(known.get(number, (Round(at, at, number), nothing, scope)))
                at = own[-1][0].stop
            rounds.append(tuple(turn for turn, _, _ in own))
            whole.rows.append([row for _, row, _ in own])
            whole.ends.append([scope for _, _, scope in own])
        loop = replace(step, body=(If(step.where, step.body, ()),), where=None)
        return self._start(tuple(cursors), tuple(rounds), whole, loop, cost + prices.BRANCH - prices.WHERE, taken)

    def _answers_more(self, cursor: Cursor, turns: Sequence[Round]) -> bool:
        """Whether the answer is a list of more elements than there were rounds before it."""
        event = None if cursor.ended else self._search.event(cursor)
        value = event.args.get("value") if event and event.tool == ANSWER else None
        return isinstance(value, list) and len(cast(list[Any], value)) > len(turns)

    def _settled(self, cursors: Sequence[Cursor], head: _Head, source: Feature, item: str) -> _Head:
        """The loop with the elements that the likeliest filter keeps, where several have the key of a round."""
        starts = [0, *itertools.accumulate(map(len, source.values))]
        must = may = 0
        for start, keys, turns in zip(starts, head.keys, head.rounds, strict=False):
            surely, perhaps = spans(keys, turns)
            if turns and not surely and not perhaps:
                return head
            must |= sum(1 << start + place for place in surely)
            may |= sum(1 << start + place for place in perhaps)
        if not may:
            return head

        def kept(holds: int) -> list[list[int]]:
            return [
                [place for place in range(len(keys)) if holds >> start + place & 1]
                for start, keys in zip(starts, head.keys, strict=False)
            ]

        def fits(holds: int) -> bool:
            return all(
                [keys[place] for place in own] == [keys[turn.element] for turn in turns]
                for keys, own, turns in zip(head.keys, kept(holds), head.rounds, strict=True)
            )

        scopes = [cursor.scope for cursor in cursors]
        text = Candidate(source.bits, source.text, source.before)
        holds = kept_by_filter(self._search.context, scopes, text, item, must, may, fits)
        if holds is None:
            return head
        rounds = tuple(
            tuple(turn._replace(element=place) for turn, place in zip(turns, own, strict=True))
            for turns, own in zip(head.rounds, kept(holds), strict=True)
        )
        return replace(head, rounds=rounds)

    def _plans(
        self, cursors: Sequence[Cursor], head: _Head, source: Feature, item: str
    ) -> list[tuple[tuple[Candidate, ...], float, bool]]:
        """Which elements are visited: conditions on them with their bits, and whether the loop ends early."""
        scopes = [cursor.scope for cursor in cursors]
        text = Candidate(source.bits, source.text, source.before)
        masks = [
            [index in {turn.element for turn in turns} for index in range(len(elements))]
            for turns, elements in zip(head.rounds, source.values, strict=True)
        ]
        if all(map(all, masks)):
            return [((), 0.0, False)]
        plans: list[tuple[tuple[Candidate, ...], float, bool]] = []
        found = filters(self._search.context, scopes, text, masks, item)
        if found:
            plans.append((found, found[0].bits + prices.WHERE, False))
        # without a round no round has ended the loop: all elements were skipped
        until = [turns[-1].element + 1 if turns else len(mask) for turns, mask in zip(head.rounds, masks, strict=True)]
        cut = [mask[:end] for mask, end in zip(masks, until, strict=True)]
        if all(map(all, cut)):
            plans.append(((), 0.0, True))
        else:
            elements = [
                self._search.extended(scope, {item: value[index]})
                for scope, value, end in zip(scopes, source.values, until, strict=True)
                for index in range(end)
            ]
            some = separate(self._search.context, elements, [kept for mask in cut for kept in mask])
            if some:
                plans.append((some, some[0].bits + prices.WHERE, True))
        return plans

    def _stop(
        self,
        cursors: Sequence[Cursor],
        head: _Head,
        source: Feature,
        item: str,
        where: tuple[Candidate, ...],
        body: _Body,
    ) -> tuple[Candidate, ...] | None:
        """The conditions that end a loop early: they hold after the last round where elements are left."""
        scopes: list[Scope] = []
        labels: list[bool] = []
        for cursor, turns, elements, ends in zip(cursors, head.rounds, source.values, body.ends, strict=True):
            for number, (turn, scope) in enumerate(zip(turns, ends, strict=True)):
                last = number == len(turns) - 1
                rest: list[Any] = elements[turn.element + 1 :] if last else []
                if last and not any(_holds(where, {**cursor.scope, item: element}) for element in rest):
                    continue  # nothing tells whether the loop would have gone on
                scopes.append(scope)
                labels.append(last)
        if not any(labels):
            return None
        if all(labels):
            return (Candidate(prices.ALWAYS, "True"),)
        return separate(self._search.context, scopes, labels) or None

    # Repetitions

    def _do_while(
        self,
        cursors: tuple[Cursor, ...],
        rounds: Rounds,
        taken: frozenset[str],
        active: frozenset[str],
        most: float,
        brief: bool,
        first: bool = False,
    ) -> tuple[list[_Start], bool]:
        """The repetitions, and whether one of them explains everything in it.

        Args:
            cursors: The place.
            rounds: Of each cursor.
            taken: The names of variables that are set before.
            active: The lists of the loops around.
            most: As of `Search.parts`.
            brief: Whether it is the first look.
            first: Whether the condition is tested before each round, over the states.
        """
        search = self._search
        complete = False
        rows = search.names.of_loop("turns" if first else "rounds", taken)
        options: list[_Start] = []
        index = search.names.of_loop("index", taken)
        inside = taken | {rows, index}
        search.context.repeated.add(rows)
        if first:
            search.context.empty.add(rows)
        for body in self._bodies(cursors, _Head(rounds), inside, active | {rows}, "", rows, index, most, brief, first):
            if first:
                scopes = [scope for place, cursor in enumerate(cursors) for scope in self._before(cursor, body, place)]
                labels = [number < len(turns) for turns in rounds for number in range(len(turns) + 1)]
            else:
                scopes = [scope for ends in body.ends for scope in ends]
                labels = [number < len(turns) - 1 for turns in rounds for number in range(len(turns))]
            again, price = search.decision(scopes, labels)
            if (
                not first
                and again
                and max(map(len, rounds)) == 2
                and search.writing.intersection(call.tool for call in calls_in(body.part.steps))
            ):
                named = _ONCE_MORE.search(search.context.reading.text.lower()) is not None
                again = _limited(again, index, _tries(body) + named)
            for ending in _endings(again, index, 1 if first or self._alike(cursors, rounds) else ENDINGS):
                decided = Slot(ending, _last_steps(search, cursors, rounds))
                states = _read(body, decided)
                if body.states and not states:
                    continue
                step = DoWhile(body.part.steps, decided, rows, index, self._shown(states, cursors, rounds), first)
                cost = prices.LOOP + prices.REPETITION + body.part.bits + sum(state.bits for state in states)
                cost += (ending[0].bits if ending else price) + (0.0 if first else prices.UNTESTED)
                explained = body.part.open == 0 and bool(ending)
                complete = complete or explained
                if explained or not brief:
                    options.append(self._start(cursors, rounds, body, step, cost, taken))
        return options, complete

    def _alike(self, cursors: Sequence[Cursor], rounds: Rounds) -> bool:
        """Whether the same calls follow a loop for all cursors."""
        ways = {
            tuple(event.tool for event in self._search.events[cursor.trace][turns[-1].stop : cursor.end])
            for cursor, turns in zip(cursors, rounds, strict=True)
        }
        return len(ways) == 1

    # Bodies

    def _bodies(
        self,
        cursors: Sequence[Cursor],
        head: _Head,
        taken: frozenset[str],
        active: frozenset[str],
        item: str,
        rows: str,
        index: str,
        most: float,
        brief: bool,
        stateful: bool = False,
    ) -> list[_Body]:
        """The likeliest bodies, with states and without; only with states if `stateful`."""
        predicted = self._predicted(cursors, head.rounds, taken)
        ends = [
            [
                self._search.extended(cursor.scope, {index: number, **known, **made})
                for number, (made, known) in enumerate(zip(rows_of, self._items(head, place, item), strict=True))
            ]
            for place, (cursor, rows_of) in enumerate(zip(cursors, predicted, strict=True))
        ]
        states = carried_by(self._search, cursors, head.rounds, ends, taken)
        bodies: list[_Body] = []
        for carried in (states, []) if states and not stateful else (states,):
            if carried or not stateful:
                names = {state.state.name for state in carried}
                bodies += self._with_states(
                    cursors, head, taken | names, active, item, rows, index, most, brief, carried
                )
        return bodies

    def _items(self, head: _Head, place: int, item: str) -> list[dict[str, Any]]:
        """The element of each round of a cursor; nothing in a repetition."""
        if head.source is None:
            return [{} for _ in head.rounds[place]]
        return [{item: head.source.values[place][turn.element]} for turn in head.rounds[place]]

    def _with_states(
        self,
        cursors: Sequence[Cursor],
        head: _Head,
        taken: frozenset[str],
        active: frozenset[str],
        item: str,
        rows: str,
        index: str,
        most: float,
        brief: bool,
        states: Sequence[Carried],
    ) -> list[_Body]:
        """The likeliest bodies with some states.

        The variables of the round before are in scope, so they must be known before the body is. They are predicted: at
        first look as if only the first call of a round set one, then as if every call did. If the body that is found
        sets others, it is searched once more with its variables; and at last with none.
        """
        context = self._search.context
        lead = [[turn._replace(stop=turn.start + 1) for turn in turns] for turns in head.rounds]
        guesses = [self._predicted(cursors, lead, taken), self._predicted(cursors, head.rounds, taken)]
        bodies: list[_Body] = []
        for carried in guesses if brief else (*guesses[1:], None, []):
            if carried is None:
                carried = bodies[0].rows if bodies else []
            inner = self._inner(cursors, head, item, "" if brief else rows, index, carried, states)
            search = self._search
            around = context.brief, search.strict
            context.brief, search.strict = brief, search.strict or brief
            parts = search.parts(inner, taken, active, most)[:BODIES]
            context.brief, search.strict = around
            bodies = [body for part in parts if (body := self._body(part, head, states)) is not None]
            if sound := [body for body in bodies if _agrees(carried, body.rows, not brief)]:
                return sound
            if guesses[0] == guesses[1] and brief:
                break
        return []

    def _predicted(
        self, cursors: Sequence[Cursor], rounds: Sequence[Sequence[Round]], taken: frozenset[str]
    ) -> list[list[dict[str, Any]]]:
        """The variables after each round if each of its calls sets one."""
        predicted: list[list[dict[str, Any]]] = []
        every: dict[str, None] = {}
        for cursor, turns in zip(cursors, rounds, strict=True):
            ends: list[dict[str, Any]] = []
            for turn in turns:
                made: dict[str, Any] = {}
                for event in self._search.events[cursor.trace][turn.start : turn.stop]:
                    made[self._search.names.of_tool(event.tool, taken.union(made))] = event.value
                every |= dict.fromkeys(made)
                ends.append(made)
            predicted.append(ends)
        return [[{name: made.get(name) for name in every} for made in ends] for ends in predicted]

    def _inner(
        self,
        cursors: Sequence[Cursor],
        head: _Head,
        item: str,
        rows: str,
        index: str,
        carried: Sequence[Sequence[dict[str, Any]]],
        states: Sequence[Carried],
    ) -> tuple[Cursor, ...]:
        """A cursor for each round of each cursor."""
        held = {state.holds for state in states}
        inner: list[Cursor] = []
        for place, (cursor, turns) in enumerate(zip(cursors, head.rounds, strict=True)):
            known: Sequence[dict[str, Any]] = carried[place] if carried else []
            nothing: dict[str, Any] = dict.fromkeys(known[0]) if known else {}
            before: list[dict[str, Any]] = []
            for number, turn in enumerate(turns):
                last = before[-1] if before else nothing
                self._search.context.carried |= last.keys()
                variables: dict[str, Any] = {index: number}
                variables |= {name: value for name, value in last.items() if name not in held}
                variables |= {state.state.name: state.values[place][number] for state in states}
                if carried and rows:
                    variables[rows] = list(before)
                if head.source is not None:
                    variables[item] = head.source.values[place][turn.element]
                scope = self._search.extended(cursor.scope, variables)
                inner.append(Cursor(cursor.trace, turn.start, turn.stop, scope))
                if known:
                    before.append(known[number] if not item else {item: variables[item], **known[number]})
        return tuple(inner)

    def _body(self, part: Part, head: _Head, states: Sequence[Carried]) -> _Body | None:
        """The rows of a loop whose body is a part; None if the states have other values with it."""
        names = set_by(part.steps, after=True)
        ends = iter(part.scopes)
        scopes: list[list[Scope]] = []
        for turns in head.rounds:
            scopes.append([scope for _, scope in zip(turns, ends, strict=False) if scope is not None])
        rows = [[{name: scope.get(name) for name in names} for scope in of_cursor] for of_cursor in scopes]
        for state in states:
            for of_cursor, values in zip(scopes, state.values, strict=True):
                made = values_of(self._search.context, of_cursor, state.state.update.candidates[0].text)
                if any(canonical(one) != canonical(other) for one, other in zip(made, values[1:], strict=False)):
                    return None
        part, states = _needed(part, states)
        return _Body(part, rows, [self._next(own, states, place) for place, own in enumerate(scopes)], states)

    def _next(self, ends: Sequence[Scope], states: Sequence[Carried], place: int) -> list[Scope]:
        """The variables at the ends of the rounds of a cursor with the next values of the states."""
        made: list[Scope] = []
        for number, scope in enumerate(ends if states else ()):
            known = {state.state.name: state.values[place][number + 1] for state in states}
            made.append(self._search.extended(scope, known))
        return made if states else list(ends)

    def _before(self, cursor: Cursor, body: _Body, place: int) -> list[Scope]:
        """The variables before each round of a cursor and after the last one, without those of the rounds."""
        made: list[Scope] = []
        for values in zip(*(state.values[place] for state in body.states), strict=True):
            names = [state.state.name for state in body.states]
            known = dict(zip(names, values, strict=True))
            made.append(self._search.extended(cursor.scope, known))
        return made

    def _shown(self, states: Sequence[Carried], cursors: Sequence[Cursor], rounds: Rounds) -> tuple[State, ...]:
        """States with the steps that show them."""
        firsts, lasts = _first_steps(self._search, cursors, rounds), _last_steps(self._search, cursors, rounds)
        return tuple(
            State(
                one.state.name,
                Slot(one.state.start.candidates, firsts),
                Slot(one.state.update.candidates, lasts),
            )
            for one in states
        )

    def _start(
        self,
        cursors: tuple[Cursor, ...],
        rounds: Rounds,
        body: _Body,
        step: ForEach | DoWhile,
        cost: float,
        taken: frozenset[str],
    ) -> _Start:
        """A loop with the variables after it."""
        block: Block = (step,)
        tested = step.again.candidates if isinstance(step, DoWhile) else ()
        states = _read(body, step.stop if isinstance(step, ForEach) else step.again)
        held = {state.holds for state in states}
        set_after = [name for name in set_by(block, after=True) if name not in held]
        gone = [name for name in set_by(block) if name not in set_after]
        after: list[Cursor] = []
        for place, (cursor, turns, made, ends) in enumerate(zip(cursors, rounds, body.rows, body.ends, strict=True)):
            variables: dict[str, Any] = {}
            if isinstance(step, ForEach):
                variables[step.rows] = [
                    {step.item: scope[step.item], **row} for row, scope in zip(made, ends, strict=True)
                ]
                if step.stop is not None:
                    variables[step.stopped] = bool(ends) and _holds(step.stop.candidates, ends[-1])
            else:
                last = made[-1] if made and not step.first else {}
                variables = {name: value for name, value in last.items() if name not in held}
                variables[step.rows] = list(made)
            variables |= {state.state.name: state.values[place][-1] for state in states}
            reasons = _reasons(tested[0], step.index) if tested else ()
            scope = self._search.extended(cursor.scope, variables, gone, reasons)
            after.append(cursor._replace(at=turns[-1].stop if turns else cursor.at, scope=scope))
        missing = body.part.open + (isinstance(step, DoWhile) and not step.again.candidates)
        return _Start(cost, step, tuple(after), taken.union(set_by(block)), missing)


def _reasons(again: Candidate, index: str) -> tuple[str, ...]:
    """The tests in the condition of a repetition, without those of the number of rounds."""
    return tuple(text for text in parts_of(again.text) if index not in reads_of(text))


def _endings(again: tuple[Candidate, ...], index: str, most: int) -> list[tuple[Candidate, ...]]:
    """The conditions of a repetition, each time with another reason first: what follows tells which one is meant."""
    found: dict[tuple[str, ...], tuple[Candidate, ...]] = {}
    for one in again:
        if one.bits <= again[0].bits + REASONS and len(found) < most:
            others = tuple(other for other in again if other is not one)
            found.setdefault(_reasons(one, index), (one, *others))
    return list(found.values()) or [again]


def _agreeing(step: ForEach | DoWhile, rest: Part) -> ForEach | DoWhile:
    """A repetition whose other conditions cost more if they lack tests that are made again in what follows."""
    if not isinstance(step, DoWhile) or len(step.again.candidates) < 2:
        return step
    first, *others = step.again.candidates

    def tests(again: Candidate) -> frozenset[str]:
        found = [one for reason in _reasons(again, step.index) for one in (reason, *listed_in(reason))]
        return frozenset((*found, *map(opposite_of, found)))

    deciding = [compared_in(text) for slot in slots(rest.steps) for text in texts_of(slot)]
    again = tests(first) & frozenset[str]().union(*deciding)
    dearer = [one._replace(bits=max(first.bits, one.bits + FRESH * len(again - tests(one)))) for one in others]
    return replace(step, again=replace(step.again, candidates=(first, *sorted(dearer))))


def _joined(test: str, again: Candidate) -> Candidate:
    text = f"({again.text})" if " or " in again.text or " if " in again.text else again.text
    return again._replace(text=f"{test} and {text}")


def _limited(again: tuple[Candidate, ...], index: str, signs: int) -> tuple[Candidate, ...]:
    """Also the condition that allows one repetition only: no trace shows whether another one would follow.

    Args:
        again: The conditions, the likeliest first.
        index: The variable with the number of the round.
        signs: How many things speak for the limit. It is likelier than none if one does.
    """
    first = again[0]
    bits = first.bits + (0.0 if signs else ONCE)
    rest = [one._replace(bits=one.bits + ONCE * signs**2) for one in again]
    limited = _joined(f"{index} == 0", first)._replace(bits=bits)
    return tuple(sorted((limited, *rest), key=lambda one: one.bits))


def _needed(part: Part, states: Sequence[Carried]) -> tuple[Part, Sequence[Carried]]:
    """A body with the states that shorten it; expressions without the others stand in their place."""
    for state in sorted(states, key=lambda one: -one.bits):
        name, more = state.state.name, 0.0
        for slot in slots(part.steps):
            for group in (slot.candidates, slot.omitted):
                others = [one for one in group if name not in _reads(one)]
                if group and name in _reads(group[0]):
                    more += others[0].bits - group[0].bits if others else math.inf
        if 0.0 < more < state.bits:
            steps = changed(part.steps, lambda slot, name=name: _without(slot, name))
            part = part._replace(bits=part.bits + more, steps=steps)
            states = [one for one in states if one is not state]
    return part, states


def _without(slot: Slot, name: str) -> Slot:
    """A slot without the expressions that read a variable."""

    def kept(group: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        return tuple(one for one in group if name not in _reads(one))

    return replace(slot, candidates=kept(slot.candidates), omitted=kept(slot.omitted))


def _reads(candidate: Candidate) -> frozenset[str]:
    """The variables that an expression and its pure calls read."""
    return reads_of(candidate.text).union(*(reads_of(text) for call in candidate.before for _, text in call.args))


def _read(body: _Body, test: Slot | None) -> list[Carried]:
    """The states of a loop that its body or its test reads."""
    used = reads_in(body.part.steps).union(*(reads_of(one.text) for one in (test.candidates[:1] if test else ())))
    return [state for state in body.states if state.state.name in used]


def _tries(body: _Body) -> bool:
    """Whether an argument is one constant in the first round and another one later: a further round would repeat it."""
    texts = [slot.candidates[0].text for slot in slots(body.part.steps) if slot.candidates]
    pairs = [(one.body, one.orelse) for text in texts if " if " in text and isinstance(one := parsed(text), ast.IfExp)]
    states = [state.state for state in body.states]
    pairs += [(parsed(one.start.candidates[0].text), parsed(one.update.candidates[0].text)) for one in states]
    return any(isinstance(one, ast.Constant) and isinstance(other, ast.Constant) for one, other in pairs)


def _varies(rounds: Rounds) -> bool:
    """Whether the number of rounds differs, or is so large that a call for each is no alternative."""
    counts = set(map(len, rounds))
    return max(counts) > (1 if len(counts) > 1 else 3)


def _cuts(rounds: Rounds, whole: Rounds) -> bool:
    """Whether rounds are others whose last ones end earlier."""
    return all(
        [turn.start for turn in own] == [turn.start for turn in other] for own, other in zip(rounds, whole, strict=True)
    )


def _halved(search: Search, cursors: Sequence[Cursor], rounds: Rounds) -> bool:
    """Whether all last rounds are the beginning of the others: they may be the calls before a loop that tests first."""
    ways = [
        [tuple(event.tool for event in search.events[cursor.trace][turn.start : turn.stop]) for turn in turns]
        for cursor, turns in zip(cursors, rounds, strict=True)
    ]
    whole = {way for of_cursor in ways for way in of_cursor[:-1]}
    if len(whole) != 1:
        return False
    (calls,) = whole
    return all(len(own[-1]) < len(calls) and own[-1] == calls[: len(own[-1])] for own in ways)


def _unlikely(head: _Head) -> tuple[float, ...]:
    """The order in which loops are tried: those that pass over few elements and cover many events come first."""
    assert head.source is not None
    skipped = covered = 0
    for turns, elements in zip(head.rounds, head.source.values, strict=True):
        covered += turns[-1].stop - turns[0].start if turns else 0
        skipped += len(elements) - len(turns)
    return (skipped - covered, head.weakness, head.source.bits)


def _elements(key: Any) -> Any:
    """The canonical form of a list."""
    return key


def _agrees(
    carried: Sequence[Sequence[Mapping[str, Any]]], rows: Sequence[Sequence[Mapping[str, Any]]], exactly: bool
) -> bool:
    """Whether rounds end with the variables that were predicted.

    Args:
        carried: For each cursor and round the predicted variables; empty if there were none.
        rows: The variables that the body sets.
        exactly: Whether it may set no others.
    """
    for before, after in zip(carried, rows, strict=bool(carried)):
        if len(before) != len(after):
            return False
        for one, other in zip(before, after, strict=True):
            if any(name not in other or other[name] != value for name, value in one.items()):
                return False
            if exactly and len(one) != len(other):
                return False
    return True


def _holds(conditions: Sequence[Candidate], variables: Mapping[str, Any]) -> bool:
    """Whether the likeliest condition holds; True without any."""
    try:
        return not conditions or bool(evaluate(conditions[0].text, dict(variables)))
    except CaseError:
        return False


def _first_steps(search: Search, cursors: Sequence[Cursor], rounds: Rounds) -> tuple[tuple[int, int], ...]:
    """The steps with which rounds begin."""
    return tuple(
        search.events[cursor.trace][turn.start].step
        for cursor, turns in zip(cursors, rounds, strict=True)
        for turn in turns
    )


def _last_steps(search: Search, cursors: Sequence[Cursor], rounds: Rounds) -> tuple[tuple[int, int], ...]:
    """The steps that follow a round."""
    return tuple(
        search.events[cursor.trace][min(turn.stop, len(search.events[cursor.trace]) - 1)].step
        for cursor, turns in zip(cursors, rounds, strict=True)
        for turn in turns
    )

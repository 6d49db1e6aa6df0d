"""States: the variables that a loop carries from round to round.

An argument is a state if its first value is explained by the variables before the loop, and each later one by the
variables at the end of the round before. The last result of a test that a round repeats is a state, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowmind.build.induction.bits import NODE
from flowmind.build.induction.conditions import separate
from flowmind.build.induction.cursors import ANSWER, Cursor, Round
from flowmind.build.induction.features import values_of
from flowmind.build.induction.program import Slot, State
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Candidate, Scope, canonical
from flowmind.build.induction.values import explain

if TYPE_CHECKING:
    from flowmind.build.induction.skeleton import Search

STATE = 2.0
"""That a loop has a state, beside its first value and its update."""
REST = 4.0
"""That a list loses its first or last element."""
MOST = 4
"""States of a loop."""
DEAR = 26.0
"""Bits of a first value or an update up to which there is a state."""


@dataclass(frozen=True)
class Carried:
    """A state with its values."""

    state: State
    bits: float
    values: tuple[tuple[Any, ...], ...]
    """For each cursor the value before each round, and after the last one."""

    @property
    def holds(self) -> str:
        """The variable of a round whose value the update is; empty if the update is computed."""
        text = self.state.update.candidates[0].text
        return text if text.isidentifier() else ""


def carried_by(
    search: Search,
    cursors: Sequence[Cursor],
    rounds: Sequence[Sequence[Round]],
    ends: Sequence[Sequence[Scope]],
    taken: frozenset[str],
) -> list[Carried]:
    """The states that a loop may have, with the values that the calls show.

    Args:
        search: The search.
        cursors: Where the loop begins.
        rounds: Its rounds.
        ends: For each cursor and round the variables at its end, without the states.
        taken: The names of variables that are set before.
    """
    context = search.context
    around, context.brief = context.brief, True
    found: list[Carried] = []
    for name, shown in _arguments(search, cursors, rounds):
        wish = name if name not in taken else f"current_{name}"
        free = search.names.of_loop(wish, taken | {one.state.name for one in found})
        made = _argument(search, cursors, ends, name, free, shown)
        if made is not None and all(made.values != other.values for other in found):
            found.append(made)
    for tool in dict.fromkeys(event.tool for at in _first_rounds(search, cursors, rounds) for event in at):
        known = {one.state.name for one in found}
        made = _tested(search, cursors, rounds, ends, tool, search.names.of_loop(f"last_{tool}", taken | known), taken)
        if made is not None:
            found.append(made)
    context.brief = around
    return sorted(found, key=lambda one: one.bits)[:MOST]


def _first_rounds(search: Search, cursors: Sequence[Cursor], rounds: Sequence[Sequence[Round]]) -> Iterator[Any]:
    for cursor, turns in zip(cursors, rounds, strict=True):
        for turn in turns:
            yield search.events[cursor.trace][turn.start : turn.stop]


def _arguments(
    search: Search, cursors: Sequence[Cursor], rounds: Sequence[Sequence[Round]]
) -> Iterator[tuple[str, list[list[Any]]]]:
    """The arguments of calls that change from round to round: name, and the value in each round or UNSET."""
    named: dict[tuple[str, str], None] = {}
    for events in _first_rounds(search, cursors, rounds):
        named |= {(event.tool, name): None for event in events if event.tool != ANSWER for name in event.args}
    for tool, name in named:
        shown: list[list[Any]] = []
        for cursor, turns in zip(cursors, rounds, strict=True):
            own: list[Any] = []
            for turn in turns:
                events = search.events[cursor.trace][turn.start : turn.stop]
                own.append(next((event.args.get(name, UNSET) for event in events if event.tool == tool), UNSET))
            shown.append(own)
        known = [[canonical(value) for value in own if value is not UNSET] for own in shown]
        if any(len(set(own)) > 1 for own in known):
            yield name, shown


def _argument(
    search: Search,
    cursors: Sequence[Cursor],
    ends: Sequence[Sequence[Scope]],
    hint: str,
    name: str,
    shown: Sequence[Sequence[Any]],
) -> Carried | None:
    context = search.context
    first = [place for place, own in enumerate(shown) if own and own[0] is not UNSET]
    if not first:
        return None
    scopes, values = [cursors[at].scope for at in first], [shown[at][0] for at in first]
    starts = explain(context, scopes, values, hint)
    if not starts and all(isinstance(value, list) for value in values):
        context.brief = False  # lists of given parts
        starts = explain(context, scopes, values, hint)
        context.brief = True
    if not starts or starts[0].bits > DEAR or starts[0].before:
        return None
    begin = values_of(context, [cursor.scope for cursor in cursors], starts[0].text)
    if any(value is UNSET or value is None for value in begin):
        return None
    updates = _updates(search, ends, hint, name, shown, begin)
    for update in updates:
        values = _simulated(search, ends, name, update.text, begin)
        if values is not None and _shows(values, shown):
            bits = STATE + starts[0].bits + update.bits
            state = State(name, Slot(starts[:1]), Slot((update,)))
            return Carried(state, bits, values)
    return None


def _shows(values: Sequence[Sequence[Any]], shown: Sequence[Sequence[Any]]) -> bool:
    """Whether a state has the values of an argument where it is shown."""
    return all(
        seen is UNSET or canonical(value) == canonical(seen)
        for of_cursor, own in zip(values, shown, strict=True)
        for value, seen in zip(of_cursor, own, strict=False)
    )


def _updates(
    search: Search,
    ends: Sequence[Sequence[Scope]],
    hint: str,
    name: str,
    shown: Sequence[Sequence[Any]],
    begin: Sequence[Any],
) -> list[Candidate]:
    """The expressions that may be the next value, the likeliest first."""
    pairs = [
        (search.extended(scopes[number], {name: own[number]}), after)
        for scopes, own in zip(ends, shown, strict=True)
        for number, after in enumerate(own[1:])
        if after is not UNSET and own[number] is not UNSET
    ]
    found: list[Candidate] = []
    scopes, values = [scope for scope, _ in pairs], [value for _, value in pairs]
    if pairs:
        found += explain(search.context, scopes, values, hint)[:2]
        if not found and all(isinstance(value, list) for value in (*begin, *values)):
            found += [Candidate(REST, f"{name}[1:]"), Candidate(REST + 1.0, f"{name}[:-1]")]
        if not found:
            found += _changing(search, scopes, values, hint, name)
    for kept in dict.fromkeys(one for of_cursor in ends for scope in of_cursor for one in scope):
        seen = [scope.get(kept) for of_cursor in ends for scope in of_cursor]
        if None in seen and any(value is not None for value in seen):
            found.append(Candidate(NODE + 5.0, f"{kept} if {kept} is not None else {name}"))
    return [one for one in sorted(found) if one.bits <= DEAR and not one.before]


def _changing(
    search: Search, scopes: Sequence[Scope], values: Sequence[Any], hint: str, name: str
) -> Iterator[Candidate]:
    """A new value where a condition holds, and the same one where it does not."""
    labels = [canonical(scope[name]) != canonical(value) for scope, value in zip(scopes, values, strict=True)]
    if all(labels):
        return
    some = [place for place, label in enumerate(labels) if label]
    new = explain(search.context, [scopes[place] for place in some], [values[place] for place in some], hint)
    tests = separate(search.context, scopes, labels)
    if new and tests:
        yield Candidate(NODE + new[0].bits + tests[0].bits, f"{new[0].text} if {tests[0].text} else {name}")


def _simulated(
    search: Search, ends: Sequence[Sequence[Scope]], name: str, text: str, begin: Sequence[Any]
) -> tuple[tuple[Any, ...], ...] | None:
    """The values of a state by its update; None if it has none, or is null."""
    found: list[tuple[Any, ...]] = []
    for scopes, start in zip(ends, begin, strict=True):
        values = [start]
        for scope in scopes:
            (value,) = values_of(search.context, [Scope({**scope, name: values[-1]}, scope.trace, None)], text)
            if value is UNSET or value is None:
                return None
            values.append(value)
        found.append(tuple(values))
    return tuple(found)


def _tested(
    search: Search,
    cursors: Sequence[Cursor],
    rounds: Sequence[Sequence[Round]],
    ends: Sequence[Sequence[Scope]],
    tool: str,
    name: str,
    taken: frozenset[str],
) -> Carried | None:
    """The last result of a tool that is called before the loop and in each of its rounds."""
    before = search.names.of_tool(tool, ())
    inside = search.names.of_tool(tool, taken)
    if before not in taken or not all(inside in scope and scope[inside] is not None for own in ends for scope in own):
        return None
    begin = [cursor.scope.get(before) for cursor in cursors]
    if any(value is None for value in begin):
        return None
    values = tuple((start, *(scope[inside] for scope in own)) for start, own in zip(begin, ends, strict=True))
    start, update = Candidate(1.0, before), Candidate(1.0, inside)
    return Carried(State(name, Slot((start,)), Slot((update,))), STATE / 2, values)

"""What the search for a program moves over: events of runs, cursors before them, and parts of programs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, cast

from flowmind.build.induction.names import free, noun_of, singular
from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If, Return
from flowmind.build.induction.runs import UNSET, Run
from flowmind.build.induction.scopes import Scope, canonical

ANSWER = ""
"""The tool of the event that ends a run with its answer."""
MARGIN = 16.0
"""Bits above the likeliest part up to which others are kept."""


class Event(NamedTuple):
    """A call, or the answer."""

    tool: str
    """`ANSWER` for the answer."""
    args: dict[str, Any]
    """Of the answer: `value`."""
    value: Any
    step: tuple[int, int]
    """As in `Slot.steps`."""


def events_of(run: Run) -> tuple[Event, ...]:
    """The calls of a run and its answer."""
    calls = [Event(call.tool, call.args, call.value, (run.number + 1, call.place + 1)) for call in run.calls]
    return (*calls, Event(ANSWER, {"value": run.answer}, None, (run.number + 1, run.steps + 1)))


class Cursor(NamedTuple):
    """A place in a run, from which a part of the program explains the events before `end`."""

    trace: int
    """The index of the run."""
    at: int
    """The index of the next event."""
    end: int
    scope: Scope

    @property
    def ended(self) -> bool:
        """Whether no event is left."""
        return self.at >= self.end


class Part(NamedTuple):
    """A part of a program that explains the events of some cursors."""

    bits: float
    steps: Block
    scopes: tuple[Scope | None, ...]
    """The variables after it for each cursor; None where it has returned."""
    open: int = 0
    """The number of slots that nothing explains."""


def bound(options: Sequence[Part], most: float) -> float:
    """The bits up to which a further part may be among the likeliest, which have at most `most`."""
    return min([most, *(option.bits + MARGIN for option in options)])


class Round(NamedTuple):
    """A round of a loop: the events from `start` to before `stop`."""

    start: int
    stop: int
    element: int = 0
    """The index in the list."""


def set_by(steps: Block, after: bool = False) -> list[str]:
    """The variables that steps set.

    Args:
        steps: The steps.
        after: Whether only those count that are set after the steps too: not those of one round of a for-each loop.
    """
    found: list[str] = []
    for step in steps:
        match step:
            case CallStep(output=name):
                found.append(name)
            case If(then=then, otherwise=otherwise):
                found += [*set_by(then, after), *set_by(otherwise, after)]
            case ForEach():
                inside = [] if after else [step.item, step.index, *set_by(step.body)]
                found += [*inside, step.rows, step.stopped, *(state.name for state in step.states)]
            case DoWhile():
                inside = [] if after and step.first else [step.index, *set_by(step.body, after)]
                found += [*inside, step.rows, *(state.name for state in step.states)]
            case Return():
                pass
    return [name for name in dict.fromkeys(found) if name]


_VERBS = {
    *("calc", "calculate", "check", "compute", "count", "create", "fetch", "find", "get", "list", "load", "look"),
    *("lookup", "make", "query", "read", "retrieve", "run", "search", "select", "send"),
}


class Names:
    """Names of variables.

    The first variable of a tool has the same name wherever it is called, so that the variables of both arms of a
    branch, and of all rounds of a loop, agree.
    """

    def __init__(self, tools: Collection[str], inputs: Collection[str]) -> None:
        self._inputs = frozenset(inputs)
        self._bases: dict[str, str] = {}
        for tool in sorted(tools):
            known = {*inputs, *self._bases.values()}
            noun = _noun(tool)
            self._bases[tool] = free(_noun(f"{tool} result") if noun in known else noun, known)

    def of_tool(self, tool: str, taken: Collection[str]) -> str:
        """A name for a result."""
        return free(self._bases[tool], taken)

    def of_item(self, source: str, taken: Collection[str]) -> str:
        """A name for an element of a list."""
        return free(singular(noun_of(source)), {*self._inputs, *self._bases.values(), *taken})

    def of_loop(self, base: str, taken: Collection[str]) -> str:
        """A name for the rows of a loop, or whether it was stopped."""
        return free(base, {*self._inputs, *self._bases.values(), *taken})


def _noun(tool: str) -> str:
    """`order` for `get_order` and `orders.get`."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", tool)]
    rest = [word for word in words if word not in _VERBS]
    name = "_".join(rest or [*words, "result"])[:40] or "result"
    return name if name[0].isalpha() else f"result_{name}"


def atoms(value: Any) -> Iterator[Any]:
    """The numbers and texts in a value, at any depth."""
    match value:
        case dict():
            for part in cast(dict[str, Any], value).values():
                yield from atoms(part)
        case list():
            for part in cast(list[Any], value):
                yield from atoms(part)
        case bool() | None:
            pass
        case int() | float() | str():
            yield value
        case _:
            pass


def mentions(event: Event) -> frozenset[Any]:
    """The arguments of a call, and the numbers and texts in them, in canonical form."""
    parts = [*event.args.values(), *atoms(event.args)]
    return frozenset(canonical(part) for part in parts if part is not UNSET)


def by_tool(events: Sequence[Sequence[Event]], cursors: Sequence[Cursor]) -> dict[str | None, list[int]]:
    """The indices of the cursors by the tool of their next event; None for those that have ended."""
    groups: dict[str | None, list[int]] = {}
    for index, cursor in enumerate(cursors):
        tool = None if cursor.ended else events[cursor.trace][cursor.at].tool
        groups.setdefault(tool, []).append(index)
    return groups

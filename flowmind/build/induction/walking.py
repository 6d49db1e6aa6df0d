"""The variables at each event of a layout's paths: inputs, results so far, counters and elements of loops."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from flowmind.build.induction.runs import UNSET, Run, tool_of
from flowmind.build.induction.structure import Key, Layout

VISITS = "visits_to_"
"""Prefix of variables that count the visits of a site in a loop."""
ELEMENT = "element_of_"
"""Prefix of variables with a round's element of a list."""
LATER = f"{ELEMENT}later_"
"""Prefix of variables with a round's element of a list without its first element."""
ALL = "all_of_"
"""Prefix of variables with all results of a site in a loop, for a later loop."""
ROUND = "round_no"
"""Prefix of variables that count the rounds of a loop, from 0."""


@dataclass(frozen=True)
class Sample:
    """A visit: the number of the run, and the event in its path."""

    run: int
    event: int


@dataclass
class Walk:
    """A layout with the variables at every event."""

    runs: Sequence[Run]
    layout: Layout
    names: dict[Key, str]
    """The variable that each site sets."""
    lists: dict[str, dict[str, str]]
    """For each loop its element variables, with the expression of the list."""
    before: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    after: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    visits: dict[Key, list[Sample]] = field(default_factory=dict[Key, list[Sample]])

    def key(self, sample: Sample) -> Key:
        """The place."""
        return self.layout.paths[sample.run][sample.event].key

    def target(self, sample: Sample) -> Key:
        """The place that follows."""
        return self.layout.paths[sample.run][sample.event + 1].key

    def previous(self, sample: Sample) -> Sample:
        """The visit before."""
        return Sample(sample.run, sample.event - 1)


def index_name(layout: Layout, loop: str) -> str:
    """The variable that counts the rounds of a loop, from 0."""
    place = layout.loops.index(loop)
    return ROUND if place == 0 else f"{ROUND}_{place + 1}"


def walk(runs: Sequence[Run], layout: Layout, taken: Sequence[str]) -> Walk:
    """Computes the variables along all paths.

    Args:
        runs, layout: The runs and their layout.
        taken: Names of inputs.
    """
    names = _names(layout, taken)
    result = Walk(runs, layout, names, {loop: {} for loop in layout.loops})
    for number, path in enumerate(layout.paths):
        run = runs[number]
        env: dict[str, Any] = dict(run.inputs)
        for key in layout.sites:
            if key[1].endswith("/"):
                env[f"{VISITS}{names[key]}"] = 0
        rounds: dict[str, int] = {}
        results: dict[str, list[Any]] = {f"{ALL}{names[key]}": [] for key in layout.sites if key[1].endswith("/")}
        elements: dict[str, dict[str, list[Any]]] = {}
        befores: list[dict[str, Any]] = []
        afters: list[dict[str, Any]] = []
        for place, event in enumerate(path):
            befores.append(env)
            result.visits.setdefault(event.key, []).append(Sample(number, place))
            if event.key[0] == "loop":
                env = dict(env)
                _turn(result, event.key[1], env, rounds, elements, path[place - 1].key, results)
            elif event.call is not None:
                env = dict(env)
                env[names[event.key]] = run.calls[event.call].value
                if (every := f"{ALL}{names[event.key]}") in results:
                    results[every].append(run.calls[event.call].value)
                if (count := f"{VISITS}{names[event.key]}") in env:
                    env[count] += 1
            afters.append(env)
        result.before.append(befores)
        result.after.append(afters)
    return result


def _turn(
    result: Walk,
    loop: str,
    env: dict[str, Any],
    rounds: dict[str, int],
    elements: dict[str, dict[str, list[Any]]],
    came_from: Key,
    results: dict[str, list[Any]],
) -> None:
    """Passes a junction: begins the next round, or the first one if the loop is entered."""
    entered = not inside(came_from, loop)
    rounds[loop] = 0 if entered else rounds[loop] + 1
    index = index_name(result.layout, loop)
    if entered:
        elements[loop] = {}
        env.update({name: list(value) for name, value in results.items() if value})
        for expr, value in [*(lists := _lists_in(env)), *_later(lists, result.runs[0].inputs)]:
            prefix = LATER if expr.endswith("[1:]") else ELEMENT
            name = prefix + re.sub(r"\W+", "_", expr.removeprefix(ELEMENT).removesuffix("[1:]")).strip("_")[:40]
            if result.layout.loops.index(loop):
                name = f"{name}_{result.layout.loops.index(loop) + 1}"
            elements[loop][name] = value
            result.lists[loop][name] = expr
    env[index] = rounds[loop]
    for name, value in elements[loop].items():
        env[name] = value[rounds[loop]] if rounds[loop] < len(value) else UNSET
        if env[name] is UNSET:
            del env[name]


def inside(key: Key, loop: str) -> bool:
    """Whether a place belongs to a loop, its own junction included."""
    return len(key) > 1 and key[1].startswith(loop)


def _lists_in(env: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """The lists that a loop may iterate over."""
    lists: list[tuple[str, list[Any]]] = []
    for name, value in env.items():
        if isinstance(value, list):
            lists.append((name, cast(list[Any], value)))
        elif isinstance(value, dict):
            for key, part in cast(dict[str, Any], value).items():
                if isinstance(part, list):
                    lists.append((f"{name}[{key!r}]", cast(list[Any], part)))
    return lists[:12]


def _later(lists: Sequence[tuple[str, list[Any]]], inputs: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """The input lists without their first element, which may be handled before the loop."""
    return [(f"{name}[1:]", value[1:]) for name, value in lists if name in inputs]


def _names(layout: Layout, taken: Sequence[str]) -> dict[Key, str]:
    used = set(taken)
    names: dict[Key, str] = {}
    for key in layout.sites:
        base = re.sub(r"\W", "_", tool_of(key[2]))[:40]
        reserved = base.startswith((VISITS, ELEMENT, ROUND, ALL))
        name = base if base[:1].isalpha() and not reserved else f"r_{base}"
        if name in used or name in _WORDS:
            number = next(number for number in range(2, 10_000) if f"{name}_{number}" not in used)
            name = f"{name}_{number}"
        used.add(name)
        names[key] = name
    return names


_WORDS = frozenset(["and", "or", "not", "in", "is", "if", "else", "for", "len", "max", "min", "sum", "sorted", "round"])

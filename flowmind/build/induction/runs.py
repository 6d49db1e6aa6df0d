"""Traces as induction reads them: the successful calls of each, their results, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.trace.events import Trace
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.specs.schema import json_equal


class Unset:
    """The value of what is not set."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # the one there is, in another process too


UNSET = Unset()


@dataclass(frozen=True)
class Call:
    """A successful call."""

    tool: str
    args: dict[str, Any]
    value: Any
    place: int
    """In the trace's tool steps, from 0."""


@dataclass(frozen=True)
class Run:
    """One trace."""

    inputs: dict[str, Any]
    calls: tuple[Call, ...]
    answer: Any
    """UNSET if the trace has none."""
    number: int
    """Of the trace, from 0."""
    steps: int = 0
    """The trace's tool steps, failed ones included."""
    forms: frozenset[str] = frozenset()
    """Tools that the traces call now with these arguments, now with others: each such form is a tool of its own."""

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """What was called, in order: tools by their names, with those of the arguments where these are not the same."""
        return tuple(
            f"{call.tool}({','.join(sorted(call.args))})" if call.tool in self.forms else call.tool
            for call in self.calls
        )


def tool_of(label: str) -> str:
    """The tool's name in what `Run.tools` calls it."""
    return label.partition("(")[0]


def with_forms(runs: Sequence[Run]) -> list[Run]:
    """The runs, with the tools marked that are called with different arguments at different times."""
    names: dict[str, set[frozenset[str]]] = {}
    for run in runs:
        for call in run.calls:
            names.setdefault(call.tool, set()).add(frozenset(call.args))
    forms = frozenset(tool for tool, kinds in names.items() if len(kinds) > 1)
    return [replace(run, forms=forms) for run in runs] if forms else list(runs)


def run_of(trace: Trace, number: int) -> Run:
    """A trace's successful business calls; the failed ones taught nothing but their failure."""
    calls = tuple(
        Call(step.call.tool, step.call.args, step.observation.value, place)
        for place, step in enumerate(trace.calls)
        if step.observation.ok and step.call.tool not in GRAPH_TOOLS
    )
    return Run(trace.inputs, calls, trace.answer if trace.executed else UNSET, number, len(trace.calls))


def without_repeats(run: Run, writing: Collection[str] = ()) -> Run:
    """Without calls that were made once more right away, with the same arguments and the same result.

    Args:
        run: A trace.
        writing: Tools that change something: their calls stay.
    """
    kept: list[Call] = []
    for call in run.calls:
        last = kept[-1] if kept else None
        if call.tool in writing or last is None or not _same(last, call):
            kept.append(call)
    return replace(run, calls=tuple(kept))


def _same(first: Call, second: Call) -> bool:
    return first.tool == second.tool and json_equal(first.args, second.args) and json_equal(first.value, second.value)


def without_idle(run: Run, writing: Collection[str] = ()) -> Run:
    """Without calls whose results no later call and not the answer holds, as a whole or in part.

    Args:
        run: A trace.
        writing: Tools that change something: their calls stay.
    """
    kept: list[Call] = []
    later = [*_inside(run.answer)]
    for call in reversed(run.calls):
        parts = [part for part in _inside(call.value) if part not in _TRIVIAL]
        if call.tool in writing or not parts or any(part in later for part in parts):
            kept.append(call)
            later += _inside(call.args)
    return replace(run, calls=tuple(reversed(kept)))


def without_strays(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """Without calls of tools that some traces do without, the others call once, and whose results nobody needs.

    A result is needed if a later call or the answer holds it, or a part of it, and nothing else gave that before. Such
    a call may have been made for a condition: a workflow without it is a guess, as good as what it explains.

    Args:
        runs: All traces of a task; nothing is left out of a single one.
        writing: Tools that change something: their calls stay.
    """
    kept = list(runs)
    while True:
        gone = {tool for tool in _seldom(kept) - set(writing) if not any(_needed(run, tool) for run in kept)}
        if not gone:
            return kept
        kept = [replace(run, calls=tuple(call for call in run.calls if call.tool not in gone)) for run in kept]


def _seldom(runs: Sequence[Run]) -> set[str]:
    """Tools that some traces call once, and the others not at all."""
    counts = [Counter(call.tool for call in run.calls) for run in runs]
    called = {tool for count in counts for tool in count}
    return {tool for tool in called if {count[tool] for count in counts} == {0, 1}}


def _needed(run: Run, tool: str) -> bool:
    """Whether something holds a tool's result, or a part of it, that no input and no other call before it gave."""
    place = next((place for place, call in enumerate(run.calls) if call.tool == tool), None)
    if place is None:
        return False
    result = run.calls[place].value
    others = [*run.inputs.values(), *(call.value for call in run.calls[:place])]
    for call in run.calls[place + 1 :]:
        if any(_holds(value, result, others) for value in call.args.values()):
            return True
        others.append(call.value)
    return run.answer is not UNSET and _holds(run.answer, result, others)


def _holds(value: Any, result: Any, others: Sequence[Any]) -> bool:
    """Whether a value is, or has in it, what only this result gives; as a whole it comes before a part of another."""
    key = dump_json(value)
    if key in _TRIVIAL or any(key == dump_json(other) for other in others):
        return False
    if key == dump_json(result):
        return True
    if any(key in _inside(other) for other in others):
        return False
    return key in _inside(result) or any(_holds(part, result, others) for part in _parts(value))


_TRIVIAL = frozenset(["true", "false", "null", "0", "1", '""', "[]", "{}"])


def _inside(value: Any) -> list[str]:
    """A value and its parts, as keys."""
    if value is UNSET:
        return []
    keys = [dump_json(value)]
    for part in _parts(value):
        keys += _inside(part)
    return keys


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).values())
    return cast(list[Any], value)[:200] if isinstance(value, list) else []

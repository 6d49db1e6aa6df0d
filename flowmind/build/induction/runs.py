"""Runs: the successful calls of a trace, their results, and the answer."""

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
    """The value of an unset variable."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # unpickles as the constant


UNSET = Unset()


@dataclass(frozen=True)
class Call:
    """A successful call."""

    tool: str
    args: dict[str, Any]
    value: Any
    place: int
    """The place in `Trace.calls`, from 0."""


@dataclass(frozen=True)
class Run:
    """One trace."""

    inputs: dict[str, Any]
    calls: tuple[Call, ...]
    answer: Any
    """UNSET if the trace has none."""
    number: int
    """The number of the trace, from 0."""
    steps: int = 0
    """The number of the trace's calls, including failed ones."""
    forms: frozenset[str] = frozenset()
    """Tools that are called with different sets of arguments. Each set counts as a tool of its own."""

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools in order of the calls; names of tools in `forms` include the arguments."""
        return tuple(
            f"{call.tool}({','.join(sorted(call.args))})" if call.tool in self.forms else call.tool
            for call in self.calls
        )


def tool_of(label: str) -> str:
    """The name of the tool of a label in `Run.tools`."""
    return label.partition("(")[0]


def with_forms(runs: Sequence[Run]) -> list[Run]:
    """The runs with `forms` set."""
    names: dict[str, set[frozenset[str]]] = {}
    for run in runs:
        for call in run.calls:
            names.setdefault(call.tool, set()).add(frozenset(call.args))
    forms = frozenset(tool for tool, kinds in names.items() if len(kinds) > 1)
    return [replace(run, forms=forms) for run in runs] if forms else list(runs)


def run_of(trace: Trace, number: int) -> Run:
    """The successful business calls of a trace."""
    calls = tuple(
        Call(step.call.tool, step.call.args, step.observation.value, place)
        for place, step in enumerate(trace.calls)
        if step.observation.ok and step.call.tool not in GRAPH_TOOLS
    )
    return Run(trace.inputs, calls, trace.answer if trace.executed else UNSET, number, len(trace.calls))


def without_repeats(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls that repeat the previous call with the same arguments and result.

    Args:
        runs: The traces.
        writing: Tools that change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        for call in run.calls:
            if call.tool in writing or not calls or not _same(calls[-1], call):
                calls.append(call)
        fewer.append(replace(run, calls=tuple(calls)))
    return fewer


def _same(first: Call, second: Call) -> bool:
    return first.tool == second.tool and json_equal(first.args, second.args) and json_equal(first.value, second.value)


def without_idle(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls whose results appear neither in a later call nor in the answer, whole or in part.

    Args:
        runs: The traces.
        writing: Tools that change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        later = _inside(run.answer)
        for call in reversed(run.calls):
            parts = [part for part in _inside(call.value) if part not in _TRIVIAL]
            if call.tool in writing or not parts or any(part in later for part in parts):
                calls.append(call)
                later += _inside(call.args)
        fewer.append(replace(run, calls=tuple(reversed(calls))))
    return fewer


def without_strays(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls of tools that only some traces call, once, and whose results nothing needs.

    A result is needed if a later call or the answer contains it or a part of it, and nothing provided that before. The
    call may have served a condition, so a workflow without it is a guess.

    Args:
        runs: All traces of a task. A single trace stays as it is.
        writing: Tools that change something: their calls stay.
    """
    fewer = list(runs)
    while True:
        strays = {tool for tool in _seldom(fewer) - set(writing) if not any(_needed(run, tool) for run in fewer)}
        if not strays:
            return fewer
        fewer = [replace(run, calls=tuple(call for call in run.calls if call.tool not in strays)) for run in fewer]


def _seldom(runs: Sequence[Run]) -> set[str]:
    """Tools that some traces call once and the others never."""
    counts = [Counter(call.tool for call in run.calls) for run in runs]
    called = {tool for count in counts for tool in count}
    return {tool for tool in called if {count[tool] for count in counts} == {0, 1}}


def _needed(run: Run, tool: str) -> bool:
    """Whether an argument or the answer contains a part of the tool's result that nothing before provided."""
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
    """Whether a value contains something that only this result provides. Whole values take precedence over parts."""
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
    """The keys of a value and its parts."""
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

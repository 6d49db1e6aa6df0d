"""Traces as induction reads them: the successful calls of each, their results, and the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from flowmind.files import dump_json
from flowmind.graph_tools import GRAPH_TOOLS
from flowmind.trace import Trace
from tools_registry.schema import json_equal


class Unset:
    """The value of what is not set."""

    def __repr__(self) -> str:
        return "UNSET"


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
    given: dict[str, set[frozenset[str]]] = {}
    for run in runs:
        for call in run.calls:
            given.setdefault(call.tool, set()).add(frozenset(call.args))
    forms = frozenset(tool for tool, kinds in given.items() if len(kinds) > 1)
    return [replace(run, forms=forms) for run in runs] if forms else list(runs)


def run_of(trace: Trace, number: int) -> Run:
    """A trace's successful business calls; the failed ones taught nothing but their failure."""
    calls = tuple(
        Call(step.call.tool, step.call.args, step.observation.value, place)
        for place, step in enumerate(trace.tool_steps)
        if step.observation.ok and step.call.tool not in GRAPH_TOOLS
    )
    return Run(trace.inputs, calls, trace.answer if trace.executed else UNSET, number, len(trace.tool_steps))


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


def _same(one: Call, other: Call) -> bool:
    return one.tool == other.tool and json_equal(one.args, other.args) and json_equal(one.value, other.value)


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


_TRIVIAL = frozenset(["true", "false", "null", "0", "1", '""', "[]", "{}"])


def _inside(value: Any) -> list[str]:
    """A value and its parts, as keys."""
    if value is UNSET:
        return []
    found = [dump_json(value)]
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = list(cast(dict[str, Any], value).values())
    elif isinstance(value, list):
        parts = cast(list[Any], value)[:200]
    for part in parts:
        found += _inside(part)
    return found

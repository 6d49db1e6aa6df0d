"""Runs: the traces of a task as induction reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flowmind.trace.events import Origin, Trace
from flowmind.workflow.graph_tools import GRAPH_TOOLS


class Unset:
    """The value of an argument that a call leaves out, and the answer of a run that has none."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # unpickles as the constant

    def __bool__(self) -> bool:
        return False


UNSET = Unset()


@dataclass(frozen=True)
class Call:
    """A successful call."""

    tool: str
    args: dict[str, Any]
    value: Any
    place: int
    """The place in `Trace.calls`, from 0."""
    stated: dict[str, Origin] = field(default_factory=dict[str, Origin])
    """The origins that the agent stated (`Called.stated`); their steps are places."""


@dataclass(frozen=True)
class Run:
    """One trace."""

    inputs: dict[str, Any]
    calls: tuple[Call, ...]
    answer: Any
    """UNSET if the run has none; the workflow's answer is then null, and only its calls count."""
    number: int
    """The number of the trace, from 0."""
    steps: int = 0
    """The number of the trace's calls, including failed ones. The answer is the step after them."""
    stated: Origin | None = None
    """The origin of the answer that the agent stated."""


def run_of(trace: Trace, number: int) -> Run:
    """The successful business calls of a trace."""
    calls = tuple(
        Call(step.call.tool, step.call.args, step.observation.value, place, step.stated)
        for place, step in enumerate(trace.calls)
        if step.observation.ok and step.call.tool not in GRAPH_TOOLS
    )
    answer = trace.answer if trace.executed else UNSET
    return Run(trace.inputs, calls, answer, number, len(trace.calls), trace.stated)

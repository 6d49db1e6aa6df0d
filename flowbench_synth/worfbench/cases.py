"""`TracedCase`: a trace with its task and its tools, and the record that a row keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flowbench_synth.worfbench.chains import Chain, UnknownEffect, chain_of
from flowbench_synth.worfbench.graphs import Edge
from flowmind.base.files import dump_json
from flowmind.trace.events import Trace
from tools_registry.specs.spec import Record, ToolSpec

Backend = Literal["rules", "llm"]


class TracedCase(Record):
    """A trace of a task."""

    id: str
    """The id within the source."""
    place: str
    """Where it was read: the file, and the id or number of the trace in it."""
    task: str
    """The text of the task with its values."""
    trace: Trace
    tools: tuple[str, ...]
    """The tools that the task offers."""


@dataclass
class TraceSource:
    """The traces of one `--from`."""

    name: str
    path: str
    cases: list[TracedCase] = field(default_factory=list[TracedCase])
    specs: dict[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """All tools of the source."""
    lost: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The traces that are no cases, with the reason."""


class CallsRecord(Record):
    """A line of `calls.jsonl`: what a row was made of."""

    id: str
    """The row's."""
    source: str
    place: str
    part: Literal["train", "test"]
    backend: Backend
    task: str
    offered: tuple[str, ...]
    """The names of the tools of the row, distractors included."""
    trace: Trace
    """Inputs and successful calls."""
    specs: tuple[ToolSpec, ...]
    """The tools that it calls."""
    unknown_effect: UnknownEffect
    reasons: dict[str, str]
    """For each edge between steps why the second waits for the first; empty if a model wrote the edges."""
    steps: tuple[str, ...] = ()
    """The steps that a model wrote."""
    edges: tuple[Edge, ...] = ()
    """The edges that a model wrote."""

    def chain(self) -> Chain:
        """The workflow: computed from the calls, or as the model wrote it."""
        if self.backend == "llm":
            return Chain(self.steps, self.edges, {})
        return chain_of(self.trace, self.task, {spec.name: spec for spec in self.specs}, self.unknown_effect)


def task_text(query: str, inputs: Mapping[str, Any]) -> str:
    """A task with the values of its inputs."""
    if not inputs:
        return query.strip()
    lines = [f"- {name}: {dump_json(value)}" for name, value in inputs.items()]
    return "\n".join([query.strip(), "", "Inputs:", *lines])

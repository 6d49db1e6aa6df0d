"""What the summarizer is shown: the business tools' documentation, the task, and the traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowmind.base.files import dump_json
from flowmind.protocols import Brief
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from tools_registry.specs.spec import ToolSpec

MAX_VALUE = 2_000
"""Characters of one value in a trace; longer ones are cut."""


def summarize_brief(task: Task, traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> Brief:
    """The brief of the summarize stage; `task` is as the agent saw it, never with tests.

    Tools that no trace used are documented in one line each, to keep the prompt short.
    """
    used = {step.call.tool for trace in traces for step in trace.calls}
    parts = [
        "Business tools (for nodes; they cannot be called now):",
        "\n".join(spec.document() if spec.name in used else spec.headline() for spec in specs.values()),
        "",
        task.text(),
        "",
        *(line for number, trace in enumerate(traces, 1) for line in (*show_trace(trace, number), "")),
        "Build the workflow.",
    ]
    return Brief(stage="summarize", task="\n".join(parts))


def show_trace(trace: Trace, number: int) -> list[str]:
    """A trace as text: its input, a line for each call (not for one made again right away), its answer."""
    status = "finished" if trace.ok else f"not finished: {trace.stop}"
    lines = [f"Trace {number} ({status})", f"Input: {dump_json(trace.inputs)}"]
    before = None
    for index, step in enumerate(trace.calls, 1):
        if (step.call, step.observation) == before:
            continue
        before = (step.call, step.observation)
        seen = step.observation
        result = _cut(dump_json(seen.value)) if seen.error is None else f"error {seen.error.type}: {seen.error.message}"
        lines.append(f"{index}. {step.call.tool}({_cut(dump_json(step.call.args))}) -> {result}")
    return [*lines, f"Answer: {_cut(dump_json(trace.answer))}" if trace.ok else "No answer."]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"

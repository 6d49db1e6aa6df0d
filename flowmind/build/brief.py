"""Briefs: what the agents of both stages are given, as text and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowmind.agents import prompts
from flowmind.base.files import dump_json
from flowmind.protocols import Brief, Knowledge, Stage
from flowmind.trace.events import Called, Trace
from flowmind.trace.task import Task
from tools_registry.specs.spec import ToolSpec

MAX_VALUE = 2_000
"""Characters of one value in the text of a trace; longer values are cut."""
MAX_CALLS = 12
"""Calls of a wrong execution that the agent is shown, the last ones."""


def without_example(task: Task, rollout: int) -> Task:
    """The task as an agent sees it: without the example that it works on."""
    worked = rollout % len(task.examples)
    others = tuple(example for index, example in enumerate(task.examples) if index != worked)
    return task.model_copy(update={"examples": others})


def execute_brief(
    task: Task,
    rollout: int,
    specs: Mapping[str, ToolSpec],
    inputs: dict[str, Any] | None = None,
    knowledge: Knowledge | None = None,
) -> Brief:
    """The brief of the execute stage: tools, task, the other examples, and the input to work on.

    Args:
        task: The task.
        rollout: Selects the example to work on.
        specs: The tools.
        inputs: The input to work on, if it is none of the examples; all examples are shown then.
        knowledge: A workflow to work by.
    """
    work_on = task.examples[rollout % len(task.examples)].input if inputs is None else inputs
    visible = without_example(task, rollout) if inputs is None else task
    lines = [
        "Tools:",
        "\n".join(spec.document() for spec in specs.values()),
        "finish(answer)\n    End with the answer.",
        "",
        visible.text(),
        "",
        *([prompts.render("knowledge", workflow=knowledge.text), ""] if knowledge is not None else []),
        _work_on(work_on),
    ]
    return _brief("execute", visible, lines, inputs=work_on, output=task.output, knowledge=knowledge)


def chain_brief(task: Task, rollout: int, knowledge: Knowledge) -> Brief:
    """The brief of an agent that is shown one step of a workflow and one tool at a time: as `execute_brief`, without
    the tools and the text of the workflow.
    """
    work_on, visible = task.examples[rollout % len(task.examples)].input, without_example(task, rollout)
    lines = [visible.text(), "", _work_on(work_on)]
    return _brief("execute", visible, lines, inputs=work_on, output=task.output, knowledge=knowledge)


def _work_on(inputs: dict[str, Any]) -> str:
    return f"Work on this input: {dump_json(inputs)}"


def again(brief: Brief, trace: Trace, expected: Any) -> Brief:
    """The brief of an example that is executed again: with the calls of a wrong execution, and the right answer."""
    lines = [
        f"{event.call.tool}({dump_json(event.call.args)}) -> "
        + (dump_json(event.observation.value) if event.observation.error is None else "error")
        for event in trace.calls[-MAX_CALLS:]
    ]
    answer = dump_json(trace.answer) if trace.executed else "no answer"
    calls = "\n".join(lines) or "none"
    text = prompts.render("execute_again", answer=answer, expected=dump_json(expected), calls=calls)
    return brief.model_copy(update={"task": f"{brief.task}\n\n{text}"})


def summarize_brief(task: Task, traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> Brief:
    """The brief of the summarize stage: the documentation of the business tools, the task, and the traces.

    Tools that no trace used are documented in one line each, to keep the prompt short.

    Args:
        task: The task as the agent saw it.
        traces: Its executions.
        specs: The business tools.
    """
    used = {step.call.tool for trace in traces for step in trace.calls}
    lines = [
        "Business tools (for nodes; they cannot be called now):",
        "\n".join(spec.document() if spec.name in used else spec.headline() for spec in specs.values()),
        "",
        task.text(),
        "",
        *(line for number, trace in enumerate(traces, 1) for line in (*show_trace(trace, number), "")),
        "Build the workflow.",
    ]
    return _brief("summarize", task, lines, traces=tuple(map(_as_shown, traces)))


def _brief(stage: Stage, task: Task, lines: Sequence[str], **fields: Any) -> Brief:
    return Brief(
        stage=stage,
        task="\n".join(lines),
        query=task.query.strip(),
        input_schema=task.inputs,
        examples=tuple((example.input, example.output) for example in task.examples),
        **fields,
    )


def show_trace(trace: Trace, number: int) -> list[str]:
    """A trace as text: its input, a line for each call, its answer."""
    status = "finished" if trace.ok else f"not finished: {trace.stop}"
    lines = [f"Trace {number} ({status})", f"Input: {dump_json(trace.inputs)}"]
    for index, step in _distinct_calls(trace):
        error = step.observation.error
        result = _cut(dump_json(step.observation.value)) if error is None else f"error {error.type}: {error.message}"
        lines.append(f"{index}. {step.call.tool}({_cut(dump_json(step.call.args))}) -> {result}")
    return [*lines, f"Answer: {_cut(dump_json(trace.answer))}" if trace.ok else "No answer."]


def _distinct_calls(trace: Trace) -> list[tuple[int, Called]]:
    """The calls of a trace with their numbers, from 1; not a call that repeats the one before it, result included."""
    pairs = [(step.call, step.observation) for step in trace.calls]
    return [(at + 1, step) for at, step in enumerate(trace.calls) if at == 0 or pairs[at] != pairs[at - 1]]


def _as_shown(trace: Trace) -> Trace:
    """A trace with the calls of its text alone."""
    return trace.model_copy(update={"events": tuple(step for _, step in _distinct_calls(trace)), "turns": ()})


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"

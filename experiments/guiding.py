"""The facts about a case whose agent may be given a workflow: the accuracy of its calls, retrieval, and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from experiments.golds import demonstration
from experiments.record import GuideFacts
from flowmind.api.solving import Solution
from flowmind.base.errors import InputError
from flowmind.evaluation.calls import CallAccuracy, call_accuracy
from flowmind.evaluation.critical_path import critical_path
from flowmind.evaluation.retrieval import Retriever
from flowmind.protocols import Evaluation, Knowledge
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import ToolCall, ToolSpec


async def call_scores(
    task: Task, solution: Solution, gold: Workflow | None, knowledge: Knowledge | None, environment: Environment
) -> dict[str, Evaluation]:
    """The scores of an agent that executes only.

    Returns:
        informed: 1 if the agent was given a workflow. call_accuracy, tool_accuracy: see `call_accuracy`; means over the
        executions, absent if the benchmark has no sound gold workflow for the task.
    """
    scores = {"informed": Evaluation.of(knowledge is not None)}
    if gold is None:
        return scores
    demonstrate = demonstration(gold, environment)
    accuracies: list[CallAccuracy] = []
    for trace, example in zip(solution.traces, solution.worked, strict=True):
        try:
            right = await demonstrate(task.examples[example].input)
        except InputError:  # a gold workflow that is not sound: `flowbench_synth check` names it, the run goes on
            return scores
        accuracies.append(call_accuracy(_calls(trace), _calls(right)))
    means = {
        "call_accuracy": fmean(accuracy.calls for accuracy in accuracies),
        "tool_accuracy": fmean(accuracy.tools for accuracy in accuracies),
    }
    return {**scores, **{name: Evaluation(value=round(value, 4)) for name, value in means.items()}}


def _calls(trace: Trace) -> list[ToolCall]:
    return [event.call for event in trace.calls]


def guide_facts(
    knowledge: Knowledge | None, traces: Sequence[Trace], specs: Mapping[str, ToolSpec], retriever: Retriever
) -> GuideFacts | None:
    """The facts about the workflow that the agent of a case was given; None if it was given none.

    The times are those of the first execution.

    Args:
        knowledge: The workflow.
        traces: The executions.
        specs: The tools of the task.
        retriever: Finds the tool of a step.
    """
    if knowledge is None:
        return None
    sole = [step for step in knowledge.steps if len(step.tools) == 1 and step.tools[0] in specs]
    places = [
        [spec.name for spec in retriever.ranked(step.text, list(specs.values()))].index(step.tools[0]) for step in sole
    ]
    seconds = _seconds(traces[0], len(knowledge.steps)) if traces else ()
    return GuideFacts(
        steps=len(knowledge.steps),
        retrievable=len(sole),
        first=sum(place == 0 for place in places),
        third=sum(place < 3 for place in places),
        seconds=seconds,
        path=round(_path(knowledge, seconds), 3) if seconds else 0.0,
    )


def _seconds(trace: Trace, steps: int) -> tuple[float, ...]:
    """The time that each step waited for the model, and the answer; nothing if the trace lacks one of them."""
    times = dict.fromkeys([*range(1, steps + 1), 0], 0.0)
    for turn in trace.turns:
        times[turn.step] += turn.seconds
    worked = {turn.step for turn in trace.turns}
    return tuple(round(time, 3) for time in times.values()) if worked == times.keys() else ()


def _path(knowledge: Knowledge, seconds: Sequence[float]) -> float:
    """The critical path; the answer follows all steps."""
    last = len(seconds) - 1
    return critical_path(seconds, [*knowledge.edges, *((step, last) for step in range(last))])

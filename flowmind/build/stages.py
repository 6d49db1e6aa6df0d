"""The stages of solving a task: settings, the briefs that agents get, and what is left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.turns import Budget
from flowmind.base.files import dump_json
from flowmind.build.settings import Settings
from flowmind.evaluation.metrics import mixed_tool_invocation
from flowmind.evaluation.record import Derivation
from flowmind.protocols import Agent, Brief, ChatModel
from flowmind.trace.events import Trace
from flowmind.trace.origins import with_origins
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record, ToolSpec


class Solution(Record):
    """What solving a task left behind."""

    traces: tuple[Trace, ...]
    """Of the execute stage, one a rollout; of a single-stage mode the whole stage."""
    summary: Trace | None = None
    """Of the summarize stage."""
    workflow: Workflow | None = None
    """The workflow as it was built, sound or not."""
    problems: tuple[Problem, ...] = ()
    """What `check` says to it."""
    coerced: int = 0
    """Values in graph tool calls that were read as something other than they strictly are."""
    exec_complete: bool = False
    """A rollout called at least one business tool successfully and ended by `finish`."""
    exec_correct: bool = False
    """And its answer equals the expected output of the example it worked on."""
    derivation: Derivation | None = None
    """How the workflow was derived, if it was not built by an agent alone."""
    mti: str | None = None
    """Mixed tool invocation: its kind, if it happened."""

    @property
    def graph_valid(self) -> bool:
        """A workflow was produced and passes `check`."""
        return self.workflow is not None and not self.problems


def budget_left(budget: Budget, settings: Settings, done: Sequence[Trace]) -> Budget:
    """A stage's budget within what the stages before have left of the case's limits."""
    turns = [turn for trace in done for turn in trace.turns]
    update: dict[str, Any] = {}
    if settings.turn_limit is not None:
        update["turns"] = min(budget.turns, max(0, settings.turn_limit - len(turns)))
    if settings.token_limit is not None:
        left = max(0, settings.token_limit - sum(turn.output_tokens or 0 for turn in turns))
        update["output_tokens"] = left if budget.output_tokens is None else min(budget.output_tokens, left)
    if settings.time_limit is not None:
        waited = max(0.0, settings.time_limit - sum(turn.seconds for turn in turns))
        update["seconds"] = waited if budget.seconds is None else min(budget.seconds, waited)
    return budget.model_copy(update=update)


def make_agent(letter: str, model: ChatModel, budget: Budget, settings: Settings, rollout: int) -> Agent:
    kind = PlanExecuteAgent if letter == "p" else ReActAgent
    return kind(model, budget, settings.seed + rollout, settings.temperature, rollout)


def shown(task: Task, rollout: int) -> Task:
    """The task as an agent sees it: without the example that it works on."""
    worked = rollout % len(task.examples)
    others = tuple(example for index, example in enumerate(task.examples) if index != worked)
    return task.model_copy(update={"examples": others})


def execute_brief(
    task: Task, rollout: int, specs: Mapping[str, ToolSpec], inputs: dict[str, Any] | None = None
) -> Brief:
    """The brief of the execute stage: tools, task, the other examples, and the input to work on.

    Args:
        task, specs: The task and its tools.
        rollout: Says which example is worked on.
        inputs: What is worked on if it is no example; all examples are shown then.
    """
    given = task.examples[rollout % len(task.examples)].input if inputs is None else inputs
    told = shown(task, rollout) if inputs is None else task
    parts = [
        "Tools:",
        "\n".join(spec.document() for spec in specs.values()),
        "finish(answer)\n    End with the answer.",
        "",
        told.text(),
        "",
        f"Work on this input: {dump_json(given)}",
    ]
    return Brief(stage="execute", task="\n".join(parts), inputs=given, output=task.output)


def select_traces(task: Task, traces: Sequence[Trace], settings: Settings) -> list[Trace]:
    """The traces that the summarizer reads; the selections by success read complete executions."""
    complete = [trace for trace in traces if is_complete(trace)]
    match settings.trace_selection:
        case "all":
            return list(traces)
        case "all_success":
            return complete
        case "random_success":
            return [Random(f"{settings.seed}/{task.id}").choice(complete)] if complete else []


def is_complete(trace: Trace) -> bool:
    """Whether an execution called at least one business tool successfully and ended by `finish`.

    What happens to the workflow that is asked for after that `finish` does not undo it.
    """
    called = any(step.observation.ok and step.call.tool not in GRAPH_TOOLS for step in trace.calls)
    return called and trace.executed


def solution_of(
    task: Task,
    traces: Sequence[Trace],
    workflow: Workflow | None,
    problems: Sequence[Problem],
    summary: Trace | None = None,
    coerced: int = 0,
    worked: Sequence[int] | None = None,
    derivation: Derivation | None = None,
) -> Solution:
    """What solving left behind, judged.

    Args:
        task, traces, workflow, problems, summary, coerced, derivation: As in `Solution`.
        worked: Which example each trace worked on, -1 for none that it could be right on; without it the rollouts
            went round.
    """
    numbers = [rollout % len(task.examples) for rollout in range(len(traces))] if worked is None else worked
    complete = [is_complete(trace) for trace in traces]
    correct = [
        done and number >= 0 and json_equal(trace.answer, task.examples[number].output)
        for number, done, trace in zip(numbers, complete, traces, strict=True)
    ]
    return Solution(
        traces=with_origins(traces, task.query),
        summary=summary,
        workflow=workflow,
        problems=tuple(problems) if workflow else (),
        coerced=coerced,
        exec_complete=any(complete),
        exec_correct=any(correct),
        mti=next(filter(None, map(mixed_tool_invocation, traces)), None),
        derivation=derivation,
    )

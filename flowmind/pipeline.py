"""The pipeline: task → execute → trace → summarize → workflow → run → evaluate, in one readable place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, get_args

from pydantic import Field

from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.turns import Budget
from flowmind.checking import Problem
from flowmind.errors import InputError
from flowmind.evaluation.metrics import mixed_tool_invocation
from flowmind.files import dump_json
from flowmind.graph_tools import GRAPH_TOOLS
from flowmind.protocols import Agent, Brief, ChatModel
from flowmind.summarizer.brief import summarize_brief
from flowmind.summarizer.draft import DraftSandbox
from flowmind.summarizer.joint import JointSandbox
from flowmind.task import Task
from flowmind.trace import Trace
from flowmind.workflow import Workflow
from tools_registry.sandbox import Sandbox
from tools_registry.schema import json_equal
from tools_registry.spec import Record, ToolSpec

Mode = Literal[
    "react", "pe", "enhanced-react", "es-rr", "es-pr", "es-rp", "es-pp", "es-react", "es-pe"
]  # fmt: skip
MODES: tuple[Mode, ...] = get_args(Mode)
TraceSelection = Literal["all", "all_success", "random_success"]


class Settings(Record):
    """How a task is solved."""

    mode: Mode = "es-pe"
    rollouts: int = Field(default=1, ge=1, le=100)
    """Executions of a task; rollout k works example k, cyclic."""
    trace_selection: TraceSelection = "all"
    """Which of them the summarizer reads."""
    seed: int = 0
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    execute_budget: Budget = Budget()
    summarize_budget: Budget = Budget()
    turn_limit: int | None = Field(default=None, ge=1)
    """Replies of the model in a case, over all its stages."""
    token_limit: int | None = Field(default=None, ge=1)
    """Output tokens of a case."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds that a case waits for the model."""


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
    mti: str | None = None
    """Mixed tool invocation: its kind, if it happened."""

    @property
    def graph_valid(self) -> bool:
        """A workflow was produced and passes `check`."""
        return self.workflow is not None and not self.problems


async def solve(
    task: Task, business: Sandbox, model: ChatModel, settings: Settings, summarizer: ChatModel | None = None
) -> Solution:
    """Solves a task: executes it on its examples, and turns what happened into a workflow.

    Args:
        task: With at least one example.
        business: Its tools.
        model: Who is asked, in the summarize stage too unless a `summarizer` is given.
        settings: How.
        summarizer: Who summarizes.

    Raises:
        InputError: If the task has no examples, or a business tool bears a graph tool's name.
        ModelUnavailable: If the model cannot serve at all.
    """
    if not task.examples:
        raise InputError(f"task {task.id!r} has no example: executing means working one through the tools")
    if clash := sorted(set(business.specs) & set(GRAPH_TOOLS)):
        raise InputError(f"tool {clash[0]!r} has the name of a graph tool; rename it")
    if settings.mode in ("react", "pe", "enhanced-react"):
        return await _single_stage(task, business, model, settings)
    execute, summarize = _letters(settings.mode)
    traces: list[Trace] = []
    for rollout in range(settings.rollouts):
        agent = _agent(execute, model, _left(settings.execute_budget, settings, traces), settings, rollout)
        traces.append(await agent.execute(execute_brief(task, rollout, business.specs), business))
    chosen = select_traces(task, traces, settings)
    draft = DraftSandbox(business.specs, task.inputs, task.id, [trace.inputs for trace in chosen], task.query)
    summary = None
    if chosen:
        brief = summarize_brief(shown(task, 0), chosen, business.specs)
        budget = _left(settings.summarize_budget, settings, traces)
        summary = await _agent(summarize, summarizer or model, budget, settings, 0).execute(brief, draft)
    return _solution(task, traces, draft, summary)


async def _single_stage(task: Task, business: Sandbox, model: ChatModel, settings: Settings) -> Solution:
    """Business and graph tools at once; `finish` ends the stage whatever the draft looks like."""
    letter = "p" if settings.mode == "pe" else "r"
    draft = DraftSandbox(business.specs, task.inputs, task.id, [task.examples[0].input], task.query)
    brief = execute_brief(task, 0, business.specs).model_copy(
        update={"stage": "single", "must_build": settings.mode == "enhanced-react"}
    )
    agent = _agent(letter, model, _left(settings.execute_budget, settings, []), settings, 0)
    trace = await agent.execute(brief, JointSandbox(business, draft))
    return _solution(task, [trace], draft, None)


def _letters(mode: Mode) -> tuple[str, str]:
    """The strategies of both stages: r for ReAct, p for Plan."""
    letters = {"es-react": "rr", "es-pe": "pp"}.get(mode, mode.removeprefix("es-"))
    return letters[0], letters[1]


def _left(budget: Budget, settings: Settings, done: Sequence[Trace]) -> Budget:
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


def _agent(letter: str, model: ChatModel, budget: Budget, settings: Settings, rollout: int) -> Agent:
    kind = PlanExecuteAgent if letter == "p" else ReActAgent
    return kind(model, budget, settings.seed + rollout, settings.temperature, rollout)


def shown(task: Task, rollout: int) -> Task:
    """The task as an agent sees it: without the example that it works on."""
    worked = rollout % len(task.examples)
    others = tuple(example for index, example in enumerate(task.examples) if index != worked)
    return task.model_copy(update={"examples": others})


def execute_brief(task: Task, rollout: int, specs: Mapping[str, ToolSpec]) -> Brief:
    """The brief of the execute stage: tools, task, the other examples, and the input to work on."""
    example = task.examples[rollout % len(task.examples)]
    parts = [
        "Tools:",
        "\n".join(spec.document() for spec in specs.values()),
        "finish(answer)\n    End with the answer.",
        "",
        shown(task, rollout).text(),
        "",
        f"Work on this input: {dump_json(example.input)}",
    ]
    return Brief(stage="execute", task="\n".join(parts), inputs=example.input, output=task.output)


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
    called = any(step.observation.ok and step.call.tool not in GRAPH_TOOLS for step in trace.tool_steps)
    return called and trace.executed


def _solution(task: Task, traces: list[Trace], draft: DraftSandbox, summary: Trace | None) -> Solution:
    complete = [is_complete(trace) for trace in traces]
    correct = [
        done and json_equal(trace.answer, task.examples[rollout % len(task.examples)].output)
        for rollout, (done, trace) in enumerate(zip(complete, traces, strict=True))
    ]
    return Solution(
        traces=tuple(traces),
        summary=summary,
        workflow=draft.workflow,
        problems=tuple(draft.problems) if draft.workflow else (),
        coerced=draft.coerced,
        exec_complete=any(complete),
        exec_correct=any(correct),
        mti=next(filter(None, map(mixed_tool_invocation, traces)), None),
    )


def mode_of(text: str) -> Mode:
    """A mode by its name.

    Raises:
        InputError: If there is no such mode.
    """
    if text not in MODES:
        raise InputError(f"mode {text!r} is none of {', '.join(MODES)}")
    return text

"""The stages of solving a task: settings, the briefs that agents get, and what is left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal, get_args

from pydantic import Field

from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.turns import Budget
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
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

Mode = Literal[
    "react", "pe", "enhanced-react", "es-rr", "es-pr", "es-rp", "es-pp", "es-react", "es-pe",
    "es-react+verify", "es-pe+verify", "induction", "replay",
]  # fmt: skip
MODES: tuple[Mode, ...] = get_args(Mode)
Summarizer = Literal["react", "plan", "induction", "guided", "replay"]
"""Who turns traces into a workflow: an agent with graph tools, induction without a model, induction that asks a model
what the traces leave open, or the calls of one trace in a row."""
TraceSource = Literal["agent", "gold"]
TraceSelection = Literal["all", "all_success", "random_success"]


SINGLE: tuple[Mode, ...] = ("react", "pe", "enhanced-react")
"""Modes of one stage: an agent executes and builds at once."""
VERIFY = 3
"""Rounds of mending of the modes with `+verify`."""


class Settings(Record):
    """How a task is solved."""

    mode: Mode = "es-pe"
    rollouts: int = Field(default=1, ge=1, le=100)
    """Executions of a task; rollout k works example k, cyclic."""
    trace_selection: TraceSelection = "all"
    """Which of them the summarizer reads."""
    summarizer: Summarizer | None = None
    """If not the one that the mode says."""
    verify: int | None = Field(default=None, ge=0, le=20)
    """Rounds of mending after the draft was run on the task's examples; modes with `+verify` have three."""
    probe: int = Field(default=0, ge=0, le=200)
    """Inputs of our own making that are executed where drafts disagree on them."""
    traces: TraceSource = "agent"
    """`gold`: the traces of the gold workflow on the examples stand for executions; tables say so."""
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
    derivation: Derivation | None = None
    """How the workflow was derived, if it was not built by an agent alone."""
    mti: str | None = None
    """Mixed tool invocation: its kind, if it happened."""

    @property
    def graph_valid(self) -> bool:
        """A workflow was produced and passes `check`."""
        return self.workflow is not None and not self.problems


def letters_of(mode: Mode) -> tuple[str, str]:
    """The strategies of both stages: r for ReAct, p for Plan."""
    plain = mode.removesuffix("+verify")
    letters = {"es-react": "rr", "es-pe": "pp", "induction": "rr", "replay": "rr"}.get(plain, plain.removeprefix("es-"))
    return letters[0], letters[1]


def summarizer_of(settings: Settings) -> Summarizer:
    """Who summarizes."""
    if settings.summarizer is not None:
        return settings.summarizer
    if settings.mode in ("induction", "replay"):
        return "induction" if settings.mode == "induction" else "replay"
    if settings.mode.endswith("+verify"):
        return "guided"
    return "plan" if letters_of(settings.mode)[1] == "p" else "react"


def require_consistent(settings: Settings) -> None:
    """Refuses settings that do not go together.

    Raises:
        InputError: With what would be right.
    """
    if settings.mode in SINGLE:
        if settings.traces == "gold" or settings.summarizer is not None or settings.verify or settings.probe:
            raise InputError(
                f"mode {settings.mode!r} has one stage: no other traces, summarizer, verification or probes"
            )
        return
    who = summarizer_of(settings)
    if settings.probe and who not in ("induction", "guided"):
        raise InputError(f"probes are for induction: mode {settings.mode!r} summarizes by {who!r}; add --summarizer")
    if settings.verify and who == "replay":
        raise InputError("the calls of a trace in a row are not mended: no verification with replay")


def rounds_of(settings: Settings) -> int:
    """Rounds of mending after verification."""
    if settings.verify is not None:
        return settings.verify
    return VERIFY if settings.mode.endswith("+verify") else 0


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


def mode_of(text: str) -> Mode:
    """A mode by its name.

    Raises:
        InputError: If there is no such mode.
    """
    if text not in MODES:
        raise InputError(f"mode {text!r} is none of {', '.join(MODES)}")
    return text

"""Solves a task in two stages: execute its examples to traces, then build a workflow from them."""

from __future__ import annotations

from flowmind.base.errors import InputError
from flowmind.build.brief import execute_brief
from flowmind.build.building import Built, build
from flowmind.build.derivation import Derivation
from flowmind.build.draft import DraftEnvironment, Joint
from flowmind.build.executions import (
    AgentExecutions,
    Demonstrate,
    Demonstrations,
    Execution,
    Executions,
    budget_left,
    make_agent,
)
from flowmind.build.induction.search import Inducer, drafts_in_thread
from flowmind.build.settings import MODES, Settings, require_consistent, rounds_of, summarizer_of
from flowmind.protocols import ChatModel
from flowmind.trace.events import Trace
from flowmind.trace.origins import with_origins
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import Record


class Solution(Record):
    """What solving a task gives."""

    traces: tuple[Trace, ...]
    """The traces of the execute stage, one for each rollout; in a single-stage mode the trace of the whole stage."""
    summary: Trace | None = None
    """The trace of the summarize stage."""
    workflow: Workflow | None = None
    """The workflow as it was built, sound or not."""
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds in it."""
    coerced: int = 0
    """Values in graph tool calls that were read as something other than their literal form."""
    worked: tuple[int, ...] = ()
    """For each trace the example that it worked on, from 0; -1 if none, or if the trace only repeats a given answer."""
    derivation: Derivation | None = None
    """How the workflow was derived; None if an agent alone built it."""
    failure: str | None = None
    """The failure of the model's endpoint outside an agent's stage; the workflow is what was reached without it."""

    @property
    def graph_valid(self) -> bool:
        """Whether a workflow was produced and passes `check`."""
        return self.workflow is not None and not self.problems


async def solve(
    task: Task,
    environment: Environment,
    model: ChatModel,
    settings: Settings,
    summarizer: ChatModel | None = None,
    demonstrate: Demonstrate | None = None,
    inducer: Inducer = drafts_in_thread,
) -> Solution:
    """Solves a task: executes it on its examples, and builds a workflow from the traces.

    Args:
        task: A task with at least one example.
        environment: Its tools.
        model: The model of the execute stage, and of the summarize stage unless a `summarizer` is given.
        settings: The mode and its parameters.
        summarizer: The model of the summarize stage.
        demonstrate: Makes the right trace of an input; needed if `settings.traces` is `gold`.
        inducer: Runs induction: in a thread, or in processes.

    Raises:
        InputError: If the task has no examples, a tool has the name of a graph tool, or settings contradict each other.
        ModelUnavailable: If the model cannot serve at all.
    """
    _require_solvable(task, environment, settings, demonstrate)
    if MODES[settings.mode].single:
        return await _single_stage(task, environment, model, settings)
    executions: Executions = AgentExecutions(task, environment, model, settings)
    if settings.traces == "gold" and demonstrate is not None:
        executions = Demonstrations(demonstrate)
    traces = await execute(task, executions, _rollouts(task, settings))
    built = await build(
        traces,
        environment,
        summarizer_of(settings),
        task=task,
        settings=settings,
        model=summarizer or model,
        executions=executions,
        inducer=inducer,
    )
    return _solution(built)


async def execute(task: Task, executions: Executions, rollouts: int) -> list[Trace]:
    """Executes a task: rollout k works example k, cyclic.

    Args:
        task: The task.
        executions: An agent, or demonstrations.
        rollouts: The number of executions.

    Returns:
        A trace for each rollout, fewer if a limit of the case is reached.
    """
    traces: list[Trace] = []
    for rollout in range(rollouts):
        example = rollout % len(task.examples)
        turns = [turn for trace in traces for turn in trace.turns]
        if traces and not executions.allows(turns):
            break
        execution = Execution(task.examples[example].input, rollout, example, turns=turns)
        traces.append(await executions.execute(execution))
    return traces


def _rollouts(task: Task, settings: Settings) -> int:
    """The executions before the first workflow is built; verification asks for more where they are needed."""
    match summarizer_of(settings):
        case "replay":
            return 1
        case "induction" | "guided":
            one = rounds_of(settings) > 0 and settings.rollouts == 1
            return 1 if one else max(settings.rollouts, len(task.examples))
        case _:
            return settings.rollouts


def _require_solvable(
    task: Task, environment: Environment, settings: Settings, demonstrate: Demonstrate | None
) -> None:
    if not task.examples:
        raise InputError(f"task {task.id!r} has no example: executing means working one through the tools")
    if clash := sorted(set(environment.specs) & set(GRAPH_TOOLS)):
        raise InputError(f"tool {clash[0]!r} has the name of a graph tool; rename it")
    require_consistent(settings)
    if settings.traces == "gold" and demonstrate is None:
        raise InputError("gold traces need the task's gold workflow, which is missing")
    writing = [spec.name for spec in environment.specs.values() if spec.effect == "write"]
    if settings.probe and writing:
        raise InputError(f"--probe needs read-only tools; {writing[0]!r} has effect 'write'")


async def _single_stage(task: Task, environment: Environment, model: ChatModel, settings: Settings) -> Solution:
    """Business and graph tools in one stage; `finish` ends it, whether the draft is sound or not."""
    preset = MODES[settings.mode]
    draft = DraftEnvironment(environment.specs, task.inputs, task.id, [task.examples[0].input], task.query)
    brief = execute_brief(task, 0, environment.specs).model_copy(
        update={"stage": "single", "must_build": preset.must_build}
    )
    agent = make_agent(preset.execute, model, budget_left(settings.execute_budget, settings, ()), settings, 0)
    trace = await agent.execute(brief, Joint(environment, draft))
    problems = tuple(draft.problems) if draft.workflow else ()
    traces = with_origins([trace], task.query)
    return _solution(Built(draft.workflow, problems, traces, (0,), coerced=draft.coerced))


def _solution(built: Built) -> Solution:
    return Solution(
        traces=built.traces,
        worked=built.worked,
        summary=built.summary,
        workflow=built.workflow,
        problems=built.problems,
        coerced=built.coerced,
        derivation=built.derivation,
        failure=built.failure,
    )

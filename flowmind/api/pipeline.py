"""The pipeline: task → execute → trace → summarize → workflow → run → evaluate, in one readable place."""

from __future__ import annotations

from flowmind.base.errors import InputError
from flowmind.build.brief import summarize_brief
from flowmind.build.draft import DraftEnvironment
from flowmind.build.induction.inducing import Inducer, drafts_in_thread
from flowmind.build.joint import Joint
from flowmind.build.settings import (
    SINGLE,
    Settings,
    letters_of,
    require_consistent,
    rounds_of,
    summarizer_of,
)
from flowmind.build.stages import Solution, budget_left, execute_brief, make_agent, select_traces, shown, solution_of
from flowmind.build.verification import Demonstrate, derive
from flowmind.protocols import ChatModel
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment


async def solve(
    task: Task,
    business: Environment,
    model: ChatModel,
    settings: Settings,
    summarizer: ChatModel | None = None,
    demonstrate: Demonstrate | None = None,
    inducer: Inducer = drafts_in_thread,
) -> Solution:
    """Solves a task: executes it on its examples, and turns what happened into a workflow.

    Args:
        task: With at least one example.
        business: Its tools.
        model: Who is asked, in the summarize stage too unless a `summarizer` is given.
        settings: How.
        summarizer: Who summarizes.
        demonstrate: Makes the right trace of an input, for settings with `traces="gold"`.
        inducer: Who induces, where the settings say so: in a thread, or in processes of its own.

    Raises:
        InputError: If the task has no examples, or a business tool bears a graph tool's name.
        ModelUnavailable: If the model cannot serve at all.
    """
    if not task.examples:
        raise InputError(f"task {task.id!r} has no example: executing means working one through the tools")
    if clash := sorted(set(business.specs) & set(GRAPH_TOOLS)):
        raise InputError(f"tool {clash[0]!r} has the name of a graph tool; rename it")
    require_consistent(settings)
    if settings.traces == "gold" and demonstrate is None:
        raise InputError("gold traces need the task's gold workflow, which is not here")
    writing = [spec.name for spec in business.specs.values() if spec.effect == "write"]
    if settings.probe and writing:
        raise InputError(f"tool {writing[0]!r} changes something: inputs of our own making are not executed with it")
    if settings.mode in SINGLE:
        return await _single_stage(task, business, model, settings)
    who = summarizer_of(settings)
    if who not in ("react", "plan") or rounds_of(settings):
        return await derive(task, business, model, settings, summarizer or model, demonstrate, inducer)
    traces: list[Trace] = []
    for rollout in range(settings.rollouts):
        if settings.traces == "gold" and demonstrate is not None:
            traces.append(await demonstrate(task.examples[rollout % len(task.examples)].input))
            continue
        budget = budget_left(settings.execute_budget, settings, traces)
        agent = make_agent(letters_of(settings.mode)[0], model, budget, settings, rollout)
        traces.append(await agent.execute(execute_brief(task, rollout, business.specs), business))
    chosen = select_traces(task, traces, settings)
    draft = DraftEnvironment(business.specs, task.inputs, task.id, [trace.inputs for trace in chosen], task.query)
    summary = None
    if chosen:
        brief = summarize_brief(shown(task, 0), chosen, business.specs)
        budget = budget_left(settings.summarize_budget, settings, traces)
        agent = make_agent("p" if who == "plan" else "r", summarizer or model, budget, settings, 0)
        summary = await agent.execute(brief, draft)
    return solution_of(task, traces, draft.workflow, draft.problems, summary, draft.coerced)


async def _single_stage(task: Task, business: Environment, model: ChatModel, settings: Settings) -> Solution:
    """Business and graph tools at once; `finish` ends the stage whatever the draft looks like."""
    letter = "p" if settings.mode == "pe" else "r"
    draft = DraftEnvironment(business.specs, task.inputs, task.id, [task.examples[0].input], task.query)
    brief = execute_brief(task, 0, business.specs).model_copy(
        update={"stage": "single", "must_build": settings.mode == "enhanced-react"}
    )
    agent = make_agent(letter, model, budget_left(settings.execute_budget, settings, []), settings, 0)
    trace = await agent.execute(brief, Joint(business, draft))
    return solution_of(task, [trace], draft.workflow, draft.problems, None, draft.coerced)

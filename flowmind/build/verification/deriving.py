"""Executes a task's examples, derives the workflow, tries it on the examples, and mends it."""

from __future__ import annotations

from typing import Any

from flowmind.build.induction.inducing import Inducer, drafts_in_thread
from flowmind.build.induction.reading import read
from flowmind.build.induction.replaying import straight
from flowmind.build.induction.runs import run_of
from flowmind.build.induction.telling import evidence, questions
from flowmind.build.settings import Settings, Summarizer, rounds_of, summarizer_of
from flowmind.build.stages import Solution, is_complete, solution_of
from flowmind.build.verification.arms import ask_arms
from flowmind.build.verification.asking import ask
from flowmind.build.verification.candidates import Best, choose
from flowmind.build.verification.checks import influence, leaks
from flowmind.build.verification.editing import build, edit
from flowmind.build.verification.trying import probe
from flowmind.build.verification.work import Demonstrate, Work
from flowmind.evaluation.record import Derivation
from flowmind.protocols import ChatModel
from flowmind.trace.events import Trace
from flowmind.trace.origins import unexplained, with_origins
from flowmind.trace.task import Task
from flowmind.workflow.checking import check
from tools_registry.sandbox.environment import Environment

ATTEMPTS = 2
"""Executions of one example."""


async def derive(
    task: Task,
    business: Environment,
    model: ChatModel,
    settings: Settings,
    summarizer: ChatModel,
    demonstrate: Demonstrate | None = None,
    inducer: Inducer = drafts_in_thread,
) -> Solution:
    """Executes a task's examples and derives the workflow.

    Args:
        task, business, model, settings, summarizer, demonstrate, inducer: As for `flowmind.api.pipeline.solve`.
    """
    gold = demonstrate if settings.traces == "gold" else None
    work = Work(task, business, model, settings, summarizer, gold, read(task.query), inducer)
    who, rounds = summarizer_of(settings), rounds_of(settings)
    if who in ("react", "plan", "replay"):
        for rollout in range(settings.rollouts if who != "replay" else 1):
            if work.may_execute:
                await work.execute(rollout % len(task.examples))
        best = await _replayed(work) if who == "replay" else await build(work, who)
        used = 0
        while best is not None and best.failures and used < rounds and who != "replay" and work.may_ask:
            used += 1
            best = await edit(work, best)
        return await _closed(work, best, who, used)
    first = 1 if rounds and settings.rollouts == 1 else max(settings.rollouts, len(task.examples))
    for rollout in range(first):
        if work.may_execute:
            await work.execute(rollout % len(task.examples))
    best, used = await _mended(work, rounds)
    if best is not None and who == "guided":
        best = await ask(work, best)
    # an agent's executions cost: what fails on examples is mended, not probed
    if settings.probe and (gold is not None or (best is not None and not best.failures)):
        best = await probe(work, best, settings.probe)
    if best is not None and who == "guided":
        best = await ask_arms(work, best)
    if best is not None and best.failures and who == "guided" and rounds and work.may_ask:
        best = await edit(work, best)
    return await _closed(work, best, who, used)


async def _replayed(work: Work) -> Best | None:
    """The calls of the first trace in a row."""
    trace = work.traces[0]
    if not (is_complete(trace) or (work.demonstrate is not None and trace.ok)):
        return None
    workflow = straight(run_of(trace, 0), work.task.inputs, work.task.id, work.task.query)
    work.built_from = 1
    if check(workflow, work.business.specs):
        return None
    failures = await work.failures(workflow)
    return Best(workflow, failures, first=len(work.task.examples) - len(failures))


async def _mended(work: Work, rounds: int) -> tuple[Best | None, int]:
    """The best workflow after at most so many more executions, and how many there were."""
    best: Best | None = None
    first: int | None = None
    used = 0
    while True:
        found = await choose(work)
        if found is not None and (best is None or len(found.failures) <= len(best.failures)):
            best = found
        first = (found.first if found else 0) if first is None else first
        if used >= rounds or (best is not None and not best.failures) or not await _execute_more(work, best):
            break
        used += 1
    if best is not None:
        best.first = first
    return best, used


async def _execute_more(work: Work, best: Best | None) -> bool:
    """Executes the first example that fails and has no right trace; False if there is none, or nothing is left."""
    if not work.may_execute:
        return False
    failing = [failure.example for failure in best.failures] if best else list(range(len(work.task.examples)))
    for attempt in range(ATTEMPTS):
        for example in failing:
            tried = [place for place, number in enumerate(work.worked) if number == example]
            if len(tried) == attempt and not any(work.right(place) for place in tried):
                work.mends.append("execute")
                await work.execute(example, work.traces[tried[-1]] if tried else None)
                return True
    return False


async def _closed(work: Work, best: Best | None, who: Summarizer, rounds: int) -> Solution:
    """The solution, with what can be said about the workflow without knowing any answer."""
    task = work.task
    told = with_origins(work.traces, task.query)
    found: dict[str, Any] = {}
    workflow = best.workflow if best else None
    if best is not None and workflow is not None:
        if best.emitter is not None:
            shown = (*evidence(best.emitter, workflow), *workflow.evidence)
            workflow = workflow.model_copy(update={"evidence": shown})
            asked = list(questions(best.emitter, workflow, work.writing(workflow)))
            asked = [one for one in asked if one.kind != "arm" or one.node not in best.read]
            found["open"] = tuple(question.tell() for question in asked)
            found["guesses"] = sum(question.kind == "condition" for question in asked)
        idle, unsettled = await influence(work, workflow)
        built = {example for place, example in enumerate(work.worked) if work.right(place)}
        failing = {failure.example for failure in best.failures}
        found |= {
            "draft_right": best.first,
            "right": len(task.examples) - len(failing),
            "verified": len(set(range(len(task.examples))) - built - failing),
            "leaked": leaks(workflow, task),
            "idle": idle,
            "unsettled": unsettled,
        }
    turns = tuple(work.workflow_turns())
    summary = work.edits[-1] if work.edits else Trace(stop="finish") if turns else None
    if summary is not None:
        summary = summary.model_copy(update={"turns": turns})
    derivation = Derivation(
        summarizer=who,
        executions=len(work.traces),
        built_from=work.built_from,
        examples=len(task.examples),
        rounds=rounds,
        mends=tuple(work.mends),
        asked=work.asked,
        unexplained=sum(len(unexplained(trace)) for trace in told),
        source="gold" if work.demonstrate is not None else "agent",
        **found,
    )
    problems = check(workflow, work.business.specs) if workflow is not None else []
    worked = [
        example if work.right(place) or place not in work.told else -1 for place, example in enumerate(work.worked)
    ]
    return solution_of(task, work.traces, workflow, problems, summary, 0, worked, derivation)

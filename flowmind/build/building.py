"""`build`: makes a workflow from the traces of a task, by a strategy of the dict `STRATEGIES`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from flowmind.build.brief import summarize_brief, without_example
from flowmind.build.derivation import Derivation
from flowmind.build.draft import DraftEnvironment
from flowmind.build.executions import Executions, make_agent
from flowmind.build.induction.induce import Inducer, induce_in_thread
from flowmind.build.induction.induction import Induction
from flowmind.build.induction.inductions import straight
from flowmind.build.induction.runs import run_of
from flowmind.build.settings import Settings, rounds_of
from flowmind.build.verification.answers import answered
from flowmind.build.verification.guesses import leaks, passed_guesses
from flowmind.build.verification.predicting import evidence_needed, forecast
from flowmind.build.verification.probes import probe
from flowmind.build.verification.questions import Question, questions, recorded_runs
from flowmind.build.verification.repair import ask, ask_arms, edit, write_values
from flowmind.build.verification.sources import with_workflow
from flowmind.build.verification.trials import Best, choose, influence, settled
from flowmind.build.verification.work import Work
from flowmind.evaluation.executions import is_complete
from flowmind.protocols import ChatModel
from flowmind.trace.events import Trace
from flowmind.trace.origins import unexplained, with_origins
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem, check
from flowmind.workflow.document import Evidence, Predicted, Rival, Workflow
from tools_registry.sandbox.environment import Environment

ATTEMPTS = 2
"""Executions of one example."""


@dataclass
class Built:
    """The result of `build`."""

    workflow: Workflow | None
    """The workflow, with the evidence for its parts; None if there is none."""
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds; none if the workflow is sound."""
    traces: tuple[Trace, ...] = ()
    """The traces it was built from or tried on, with origins. Traces executed while building are included."""
    worked: tuple[int, ...] = ()
    """For each trace the example that it worked on, from 0; -1 for none, or if it only repeats a shown answer."""
    derivation: Derivation | None = None
    """Open questions, checks and counts; None if an agent built the workflow and nothing was verified."""
    summary: Trace | None = None
    """The trace of the agent that built or edited the graph, with all replies of the summarize stage."""
    coerced: int = 0
    """Values in graph tool calls that were read as something other than their literal form."""
    failure: str | None = None
    """The failure of the model's endpoint while building. The workflow is then the best one before it."""
    questions: tuple[Question, ...] = ()
    """The questions that the traces leave open."""
    refused: tuple[str, ...] = ()
    """Why there is no workflow: the values that tools which may change something would be given by a guess."""
    unsound: tuple[Problem, ...] = ()
    """Why there is no workflow: the problems of the likeliest draft."""
    answered: frozenset[str] = frozenset()
    """The ids of the questions that a person answered."""
    induction: Induction | None = None
    """The induction of a workflow that was induced."""
    needed: tuple[str, ...] = ()
    """If there is no workflow: the traces that are missing."""

    @property
    def rivals(self) -> tuple[Rival, ...]:
        """Other workflows that explain the traces."""
        return self.workflow.rivals if self.workflow is not None else ()


Mend = Callable[[Work, Best | None], Awaitable[tuple[Best | None, bool]]]
"""One round of mending: gives the best workflow after it, and whether anything was tried."""


@dataclass(frozen=True)
class Strategy:
    """A method to make a workflow from traces."""

    draft: Callable[[Work], Awaitable[Best | None]]
    """Gives the first workflow from the traces, or None if none is sound."""
    mend: Mend | None = None
    """Verification calls it when the workflow fails on an example; None if there is nothing to do."""
    agent: str = ""
    """The kind of agent that builds the graph: `r` (ReAct) or `p` (Plan-and-Build); empty if none does."""
    asks: bool = False
    """Whether a model is asked for conditions that the traces leave open."""
    probes: bool = False
    """Whether more inputs may be executed where candidates disagree."""


async def build(
    traces: Sequence[Trace],
    environment: Environment,
    strategy: str,
    *,
    task: Task,
    worked: Sequence[int] | None = None,
    settings: Settings | None = None,
    model: ChatModel | None = None,
    executions: Executions | None = None,
    inducer: Inducer = induce_in_thread,
    answers: Mapping[str, str] | None = None,
    predict: bool | None = None,
) -> Built:
    """Builds a workflow from traces of a task.

    Args:
        traces: Executions of the task.
        environment: The tools of the workflow. It is tried in this environment.
        strategy: A key of `STRATEGIES`.
        task: The task, with its inputs and examples.
        worked: The example that each trace worked on, from 0; by default trace k worked example k, cyclic.
        settings: Rounds of verification, probes, budgets, seed.
        model: Builds and edits the graph, and answers questions. None if no model may be asked.
        executions: Makes more traces while verifying. None if only the given traces may be used.
        inducer: Runs induction: in a thread, or in processes.
        answers: Answers to questions that the traces leave open, by the questions' ids. Answers to other questions are
            ignored.
        predict: Whether to forecast how the workflow carries over: `True` also predicts each trace from the others,
            `False` only compares rivals. By default neither.

    Raises:
        InputError: If an answer cannot be used, or contradicts the traces.
        ModelUnavailable: If the model cannot serve at all.
    """
    settings = settings or Settings()
    examples = list(worked) if worked is not None else [number % len(task.examples) for number in range(len(traces))]
    work = Work(task, environment, settings, model, executions, inducer, traces=list(traces), worked=examples)
    chosen = STRATEGIES[strategy]
    if chosen.agent and not rounds_of(settings):
        return await _unverified(work, chosen.agent)
    best, used = await _verified(work, chosen, answers or {})
    return await _built(work, best, strategy, used, predict)


async def _unverified(work: Work, kind: str) -> Built:
    """The workflow of an agent, sound or not, without verification."""
    traces = select_traces(work.task, work.traces, work.settings)
    draft = work.draft(traces)
    summary = await _build_by_agent(work, kind, traces, draft) if traces else None
    problems = tuple(draft.problems) if draft.workflow else ()
    traced = with_origins(work.traces, work.task.query)
    return Built(draft.workflow, problems, traced, tuple(work.worked), summary=summary, coerced=draft.coerced)


async def _build_by_agent(work: Work, kind: str, traces: Sequence[Trace], draft: DraftEnvironment) -> Trace:
    brief = summarize_brief(without_example(work.task, 0), traces, work.environment.specs)
    assert work.model is not None, "strategies with an agent need a model"
    agent = make_agent(kind, work.model, work.left(work.settings.summarize_budget), work.settings, 0)
    return await agent.execute(brief, draft)


async def _verified(work: Work, strategy: Strategy, answers: Mapping[str, str]) -> tuple[Best | None, int]:
    """The best workflow after running it on the examples and mending it, and the rounds that this took."""
    best = await strategy.draft(work)
    if strategy.asks and (best is None or (best.induction is not None and best.induction.holes)):
        best = await write_values(work, best)
    first = best.first if best else 0
    rounds, used = rounds_of(work.settings), 0
    while strategy.mend is not None and used < rounds and (best is None or best.failures):
        best, attempted = await strategy.mend(work, best)
        if not attempted:
            break
        used += 1
    if best is not None:
        best.first = first
    if best is not None and answers:
        best = await answered(work, best, answers)
    if best is not None and strategy.asks:
        best = await ask(work, best)
    # an agent's executions cost, so that a workflow which fails on examples is mended and not probed
    if strategy.probes and work.settings.probe and (work.trusted or (best is not None and not best.failures)):
        best = await probe(work, best, work.settings.probe)
    if best is not None and strategy.asks:
        best = await ask_arms(work, best)
        if best.failures and rounds and work.may_ask:
            best = await edit(work, best)
    return best if best is None else await settled(work, best), used


async def _by_agent(kind: str, work: Work) -> Best | None:
    """The workflow that an agent builds from the traces, if it is sound."""
    traces = select_traces(work.task, work.traces, work.settings)
    if not traces:
        return None
    draft = work.draft(work.traces)
    work.edits.append(await _build_by_agent(work, kind, traces, draft))
    work.built_from = len(traces)
    return None if draft.workflow is None else await _tried(work, draft.workflow)


async def _by_replay(work: Work) -> Best | None:
    """The calls of the first trace, one after the other."""
    if not work.traces or not work.completed(work.traces[0]):
        return None
    work.built_from = 1
    workflow = straight(run_of(work.traces[0], 0), work.task.inputs, work.task.id, work.task.query)
    if not check(workflow, work.environment.specs):
        work.refused = passed_guesses(workflow, work.environment.specs, work.task.query, work.traces)
    return None if work.refused else await _tried(work, workflow)


async def _tried(work: Work, workflow: Workflow) -> Best | None:
    """A workflow, run on the examples; None if it is not sound."""
    if check(workflow, work.environment.specs):
        return None
    failures = await work.failures(workflow)
    return Best(workflow, failures, first=len(work.task.examples) - len(failures))


async def _edited(work: Work, best: Best | None) -> tuple[Best | None, bool]:
    """An agent changes the graph."""
    if best is None or not work.may_ask:
        return best, False
    return await edit(work, best), True


async def _executed_again(work: Work, best: Best | None) -> tuple[Best | None, bool]:
    """An example that fails is executed once more, and the workflow is derived again."""
    if not await _execute_more(work, best):
        return best, False
    candidate = await choose(work)
    if candidate is not None and (best is None or len(candidate.failures) <= len(best.failures)):
        best = candidate
    return best, True


async def _execute_more(work: Work, best: Best | None) -> bool:
    """Executes the first failing example without a right trace; False if there is none, or a limit is reached."""
    if not work.may_execute:
        return False
    failing = [failure.example for failure in best.failures] if best else list(range(len(work.task.examples)))
    for attempt in range(ATTEMPTS):
        for example in failing:
            places = [place for place, number in enumerate(work.worked) if number == example]
            if len(places) == attempt and not any(map(work.right, places)):
                work.mends.append("execute")
                await work.execute(example, work.traces[places[-1]] if places else None)
                return True
    return False


STRATEGIES: dict[str, Strategy] = {
    "react": Strategy(partial(_by_agent, "r"), _edited, agent="r"),
    "plan": Strategy(partial(_by_agent, "p"), _edited, agent="p"),
    "induction": Strategy(choose, _executed_again, probes=True),
    "guided": Strategy(choose, _executed_again, asks=True, probes=True),
    "replay": Strategy(_by_replay),
}
"""The methods to make a workflow from traces, by name."""


def select_traces(task: Task, traces: Sequence[Trace], settings: Settings) -> list[Trace]:
    """The traces that an agent reads; the selections by success read complete executions."""
    complete = [trace for trace in traces if is_complete(trace)]
    match settings.trace_selection:
        case "all":
            return list(traces)
        case "all_success":
            return complete
        case "random_success":
            return [Random(f"{settings.seed}/{task.id}").choice(complete)] if complete else []


async def _built(work: Work, best: Best | None, strategy: str, rounds: int, predict: bool | None) -> Built:
    """The result, with what can be checked without a reference answer."""
    checks: dict[str, Any] = {} if best is not None else {"open": work.refused}
    traces = with_origins(work.traces, work.task.query)
    open_: list[Question] = []
    workflow = best.workflow if best is not None else None
    if best is not None and best.induction is not None and workflow is not None:
        parts = [
            part.model_copy(update={"guess": ""}) if _place(part) & best.answered else part
            for part in workflow.evidence
        ]
        workflow = workflow.model_copy(update={"evidence": tuple(parts)})
        open_ = await questions(work, best)
        checks["open"] = tuple(map(str, open_))
        checks["guesses"] = sum(question.kind == "condition" for question in open_)
        if predict is not None:
            checks["forecast"] = foretold = await forecast(work, best, open_, predict)
            if foretold.predictions:
                predicted = Predicted(right=foretold.predicted, traces=len(foretold.predictions))
                workflow = workflow.model_copy(update={"predicted": predicted})
        if not best.failures:
            traces = with_workflow(traces, workflow, await recorded_runs(work, workflow), work.task.query)
    if best is not None and workflow is not None:
        checks |= await _checks(work, best, workflow)
    turns = tuple(work.workflow_turns())
    summary = work.edits[-1] if work.edits else Trace(stop="finish") if turns else None
    derivation = Derivation(
        summarizer=strategy,
        executions=len(work.traces),
        built_from=work.built_from,
        examples=len(work.task.examples),
        rounds=rounds,
        mends=tuple(work.mends),
        asked=work.asked,
        unexplained=sum(len(unexplained(trace)) for trace in traces),
        source="gold" if work.trusted else "agent",
        **checks,
    )
    return Built(
        workflow,
        tuple(check(workflow, work.environment.specs)) if workflow is not None else (),
        traces,
        tuple(example if work.counts(place) else -1 for place, example in enumerate(work.worked)),
        derivation,
        summary if summary is None else summary.model_copy(update={"turns": turns}),
        failure=work.failure,
        questions=tuple(open_),
        refused=() if best is not None else work.refused,
        unsound=() if best is not None else work.unsound,
        answered=best.answered if best is not None else frozenset(),
        induction=best.induction if best is not None else None,
        needed=() if best is not None else evidence_needed(work.refused, [hole.id for hole in work.holes]),
    )


def _place(part: Evidence) -> set[str]:
    """The ids under which a question may be about a part of a workflow."""
    return (
        {part.node}
        if part.field == "expr"
        else {f"{part.node}.{part.field}", *(["answer"] if part.field == "output" else [])}
    )


async def _checks(work: Work, best: Best, workflow: Workflow) -> dict[str, Any]:
    """Fields of `Derivation`: the number of solved examples, and the doubts about the workflow."""
    idle, unsettled = await influence(work, workflow)
    built_from = {example for place, example in enumerate(work.worked) if work.right(place)}
    failing = {failure.example for failure in best.failures}
    return {
        "draft_right": best.first,
        "right": len(work.task.examples) - len(failing),
        "verified": len(set(range(len(work.task.examples))) - built_from - failing),
        "leaked": leaks(workflow, work.task),
        "idle": idle,
        "unsettled": unsettled,
    }

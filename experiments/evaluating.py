"""`evaluate`: one case of the benchmark, from the task to its record. It writes no file; case and result pickle."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.golds import demonstration, structure
from experiments.guiding import call_scores, guide_facts
from experiments.metrics import failure_mode
from experiments.record import CallCounts, CaseRecord, ParseCounts, Score, StageUsage, StructureFacts, TaskFacts
from experiments.services import Services
from experiments.testing import JudgedRun, run_in_states, run_tests, score_of
from flowmind.api.solving import Solution, solve
from flowmind.base.errors import FlowMindError, InputError, ModelFailure
from flowmind.build.executions import Guide
from flowmind.build.settings import GUIDED, Settings
from flowmind.evaluation.evaluators import EVALUATORS, exact_match
from flowmind.evaluation.executions import Integrity, integrity
from flowmind.llm.recorded import Exchanges, Stored, Timing
from flowmind.protocols import ChatModel, Emit, Evaluator, Knowledge
from flowmind.run.compiler import needs_model
from flowmind.run.examples import check_examples
from flowmind.trace.events import Trace
from flowmind.trace.outcome import CaseOutcome
from flowmind.trace.stateful import Case as StatefulCase
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.stateful import StatefulCases
from tools_registry.specs.spec import ToolSpec


@dataclass(frozen=True)
class CaseStates:
    """What the examples and tests of a task with a state start from, and what is right."""

    examples: tuple[StatefulCase, ...]
    tests: tuple[StatefulCase, ...]

    def environment(self, inner: Environment) -> StatefulCases:
        """The tools, whose state begins anew in each run."""
        return StatefulCases(inner, [(case.input, case.state) for case in (*self.examples, *self.tests)])


@dataclass(frozen=True)
class Case:
    """One case: a task with its held-out tests, and how it is solved."""

    task: Task
    tests: tuple[Example, ...]
    settings: Settings
    gold: Workflow | None = None
    """The gold workflow of the task, if the benchmark has one."""
    stored: Stored = field(default_factory=Stored)
    """The exchanges with the model in an earlier attempt."""
    lent: tuple[Stored, ...] = ()
    """Exchanges of other runs that may answer as well."""
    replay: bool = False
    """Whether only the stored exchanges may answer."""
    file: str = "exchanges"
    """The name of the file with the stored exchanges, for errors."""
    evaluators: Mapping[str, Evaluator] = field(default_factory=lambda: EVALUATORS)
    states: CaseStates | None = None
    """The states of the examples and tests, if the tools have one."""
    knowledge: Knowledge | None = None
    """The workflow that the agent is given, in a mode that executes only."""


@dataclass(frozen=True)
class CaseResult:
    """The result of a case."""

    record: CaseRecord
    solution: Solution | None = None
    """The traces and the workflow; None if a defect ended the case."""
    traceback: str = ""
    """The traceback of that defect."""
    runs: tuple[Trace, ...] = ()
    """The runs of the workflow on the held-out tests; empty if it is not sound."""

    @property
    def error(self) -> str | None:
        """The failure of the infrastructure that ended the case."""
        return self.record.error


def report_of(task: Task) -> str:
    """The file in the run's folder for the traceback of a defect."""
    return f"errors/{task.id}.txt"


async def evaluate(case: Case, services: Services, emit: Emit | None = None) -> CaseResult:
    """Solves a task, then runs its workflow on the held-out tests, which no earlier stage has seen.

    A failure of the case is written into its record.

    Args:
        case: The case.
        services: Models and sandboxes.
        emit: Takes each exchange with a model as soon as it is over.

    Raises:
        FlowMindError: If no other case can be evaluated either: the model cannot serve at all, or files cannot be
            read.
        SandboxUnavailable: If no worker starts.
    """
    exchanges = Exchanges(case.stored, case.lent, case.replay, emit, name=case.file)
    begun, clock = time.time(), time.monotonic()
    waited = sum(reply.seconds or 0.0 for reply in case.stored.replies.values())
    try:
        result = await _evaluated(case, services, exchanges)
    except (FlowMindError, SandboxUnavailable):
        raise
    except Exception as error:  # a defect of FlowMind or of a library ends this case, not the run
        message = f"{type(error).__name__}: {error} (see {report_of(case.task)})"
        result = CaseResult(failed(case, message), None, traceback.format_exc())
    timing = case.stored.timing if case.replay else None
    if timing is None:
        timing = Timing(started_at=round(begun, 3), seconds=round(time.monotonic() - clock + waited, 3))
    return replace(result, record=result.record.model_copy(update=timing.model_dump()))


def failed(case: Case, error: str) -> CaseRecord:
    """The record of a case that the infrastructure ended before it was solved."""
    return _record(case, Solution(traces=()), (), error)


async def _evaluated(case: Case, services: Services, exchanges: Exchanges) -> CaseResult:
    task = case.task
    environment: Environment = services.sandboxes.of([services.tools[name] for name in task.tools])
    models = services.models_of(task.id)
    if case.states is not None:
        models = services.models_of(task.id, [example.state for example in case.states.examples])
        environment = case.states.environment(environment)
    execute, summarize = (exchanges.of(models[stage], services.subject) for stage in ("execute", "summarize"))
    gold = case.gold if case.settings.traces == "gold" else None
    demonstrate = demonstration(gold, environment) if gold is not None else None
    predict = True if case.settings.predict else None
    guide = Guide(case.knowledge, services.retriever)
    solution = await solve(
        task, environment, execute, case.settings, summarize, demonstrate, services.inducer, predict, guide
    )
    error, runs, example_runs = _endpoint_failure(solution), list[JudgedRun](), list[Trace]()
    if error is None and solution.graph_valid and solution.workflow is not None:
        if not needs_model(solution.workflow):
            checks = await check_examples(solution.workflow, task.examples, environment, solution.traces)
            example_runs = [run for _, run in checks]
        try:
            runs = await _tested(case, solution.workflow, environment, summarize)
        except ModelFailure as failure:
            error = str(failure)
    facts = await asyncio.to_thread(_structure, case, solution, environment.specs)
    record = _record(case, solution, runs, error, facts, example_runs)
    if case.settings.mode in GUIDED:
        scores = {**record.scores, **await call_scores(task, solution, case.gold, case.knowledge, environment)}
        told = guide_facts(case.knowledge, solution.traces, environment.specs, services.retriever)
        record = record.model_copy(update={"scores": scores, "guide": told})
    return CaseResult(record, solution, runs=tuple(judged.run.trace for judged in runs))


async def _tested(case: Case, workflow: Workflow, environment: Environment, model: ChatModel) -> list[JudgedRun]:
    """The runs on the held-out tests, and what they are worth."""
    if case.states is not None and isinstance(environment, StatefulCases):
        return await run_in_states(workflow, case.states.tests, environment, model)
    runs = await run_tests(workflow, [test.input for test in case.tests], environment, model)
    pairs = zip(runs, case.tests, strict=True)
    return [JudgedRun(run, exact_match(run.alone, test.output).value == 1.0, (False, False)) for run, test in pairs]


def _structure(case: Case, solution: Solution, specs: Mapping[str, ToolSpec]) -> StructureFacts | None:
    if solution.workflow is None or case.gold is None:
        return None
    try:
        return structure(solution.workflow, case.gold, specs)
    except InputError:  # a gold workflow that is not sound: `flowbench_synth check` names it, the run goes on
        return None


def _stages(solution: Solution) -> list[Trace]:
    return [*solution.traces, *([solution.summary] if solution.summary else [])]


def _endpoint_failure(solution: Solution) -> str | None:
    """The first failure of a model's endpoint that ended a stage."""
    if solution.failure is not None:
        return solution.failure
    failures = (trace.error for trace in _stages(solution) if trace.stop == "model_error" and trace.error)
    return next((failure.message for failure in failures), None)


def _record(
    case: Case,
    solution: Solution,
    runs: Sequence[JudgedRun],
    error: str | None,
    facts: StructureFacts | None = None,
    example_runs: Sequence[Trace] = (),
) -> CaseRecord:
    task, traces = case.task, _stages(solution)
    outcome = CaseOutcome(
        task=task,
        tests=case.tests,
        executions=solution.traces,
        worked=solution.worked,
        summary=solution.summary,
        workflow=solution.workflow,
        problems=solution.problems,
        example_runs=tuple(example_runs),
        runs=tuple(judged.run.trace for judged in runs),
        right=tuple(judged.right and judged.run.trace.ok for judged in runs) if case.states is not None else (),
    )
    builds = case.settings.mode not in GUIDED
    evaluators = case.evaluators if builds else {"execution": case.evaluators["execution"]}
    judged = [evaluator.evaluate(outcome) for evaluator in evaluators.values()]
    record = CaseRecord(
        id=task.id,
        error=error,
        category=task.category,
        difficulty=task.difficulty,
        task=TaskFacts(
            control_flow=task.control_flow,
            words=len(task.query.split()),
            tools=len(task.tools),
            examples=len(task.examples),
        ),
        scores={name: score for scores in judged for name, score in scores.items()},
        tests=_test_scores(case, runs, error) if builds else (),
        problems=tuple(map(str, solution.problems)),
        structure=facts,
        derivation=solution.derivation,
        integrity=_integrity(solution.traces),
        calls=_calls(traces),
        coerced=solution.coerced,
        parse=sum((_parse(trace) for trace in traces), ParseCounts()),
        execute=_usage(solution.traces),
        summarize=_usage([solution.summary] if solution.summary else []),
    )
    succeeded = any(event.observation.ok for trace in traces for event in trace.calls)
    right = record.passed if builds else record.exec_correct
    mode = failure_mode(record.exec_complete, record.graph_valid, right, succeeded, error is not None)
    return record.model_copy(update={"failure_mode": mode})


def _test_scores(case: Case, runs: Sequence[JudgedRun], error: str | None) -> tuple[Score, ...]:
    if not runs:
        reason = error or "no sound workflow"
        return tuple(Score(passed=False, input=test.input, expected=test.output, error=reason) for test in case.tests)
    return tuple(
        score_of(judged.run, test, judged.right, judged.wrong_writes)
        for judged, test in zip(runs, case.tests, strict=True)
    )


def _integrity(executions: Sequence[Trace]) -> Integrity:
    """The best integrity among the executions."""
    kinds = set(map(integrity, executions))
    return "complete" if "complete" in kinds else "errors" if "errors" in kinds else "incomplete"


def _calls(traces: Sequence[Trace]) -> CallCounts:
    calls = [(event.call.tool in GRAPH_TOOLS, event.observation.ok) for trace in traces for event in trace.calls]
    return CallCounts(
        business=sum(not graph for graph, _ in calls),
        business_failed=sum(not graph and not ok for graph, ok in calls),
        graph=sum(graph for graph, _ in calls),
        graph_failed=sum(graph and not ok for graph, ok in calls),
    )


def _parse(trace: Trace) -> ParseCounts:
    kinds = [turn.parse for turn in trace.turns]
    return ParseCounts(**{name: kinds.count(name) for name in ("clean", "recovered", "reprompted", "failed")})


def _usage(traces: Sequence[Trace]) -> StageUsage:
    turns = [turn for trace in traces for turn in trace.turns]
    return StageUsage(
        turns=len(turns),
        input_tokens=_total([turn.input_tokens for turn in turns]),
        output_tokens=_total([turn.output_tokens for turn in turns]),
        seconds=round(sum(turn.seconds for turn in turns), 3),
        stop=tuple(trace.stop for trace in traces),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)

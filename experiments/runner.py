"""Runs a model and a mode on a benchmark: cases in parallel, one record a case, resumed by the same command."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import tqdm

from experiments.folder import Run
from experiments.golds import demonstration, read_golds, structure
from experiments.options import RunOptions
from experiments.provenance import manifest
from experiments.tables import group_table, summary_table
from experiments.together import Count, run_to_end, work_through
from flowmind.api.solving import Solution, solve
from flowmind.base.errors import FlowMindError, InputError, ModelFailure, ModelUnavailable
from flowmind.base.files import dump_json, write_text
from flowmind.build.induction.inducers import Inducers
from flowmind.build.induction.inducing import Inducer, drafts_in_thread
from flowmind.build.settings import Settings, require_consistent, summarizer_of
from flowmind.cli.sandboxes import Sandboxes
from flowmind.evaluation.black_box import ExactMatch
from flowmind.evaluation.metrics import Summary, failure_mode, integrity
from flowmind.evaluation.record import (
    CallCounts,
    CaseRecord,
    Integrity,
    ParseCounts,
    Score,
    StageUsage,
    StructureFacts,
    TaskFacts,
)
from flowmind.llm.choosing import model_named
from flowmind.llm.limiting import AdaptiveLimit, FixedLimit, Limit
from flowmind.llm.models import Endpoint, reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.recorded import Exchanges, Stored, Timing
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinkers import Thinkers
from flowmind.llm.serving import fingerprint
from flowmind.protocols import ChatModel, ChatRequest, Reply
from flowmind.run.running import arun, needs_waiting, run_batch
from flowmind.trace.events import Trace
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools
from flowmind.workflow.document import Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import ToolSource
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.specs.spec import ToolSpec

LOST = 5
"""Cases in a row that an endpoint may fail before the run stops: it is gone, and more would only take time."""
WORTH_A_PROCESS = 8
"""Cases for which one more process thinks or induces: it takes about a second to start."""


class Bar(Protocol):
    """What shows progress."""

    def begin(self, name: str, total: int, done: int) -> None:
        """A run starts, with so many of its cases done before."""
        ...

    def advance(self, passed: int, failed: int, at_once: int) -> None:
        """A case is over."""
        ...


class CaseBar:
    """The progress of one run."""

    def __init__(self) -> None:
        self._bar: tqdm.tqdm[Any] | None = None

    def begin(self, name: str, total: int, done: int) -> None:
        """As `Bar.begin`."""
        self._bar = tqdm.tqdm(total=total, initial=done, desc=name, unit="case")

    def advance(self, passed: int, failed: int, at_once: int) -> None:
        """As `Bar.advance`."""
        if self._bar is not None:
            lost = f", errors={failed}" if failed else ""
            self._bar.set_postfix_str(f"passed={passed}{lost}, at once={at_once}")
            self._bar.update()

    def close(self) -> None:
        """Leaves the last line on the screen."""
        if self._bar is not None:
            self._bar.close()


@dataclass
class Models:
    """Who is asked in each stage, and how many requests may be on the way."""

    execute: ChatModel
    summarize: ChatModel
    limit: Limit
    subject: str = ""
    servers: dict[str, Any] = field(default_factory=dict[str, Any])

    async def aclose(self) -> None:
        """Closes their connections."""
        for model in {id(model): model for model in (self.execute, self.summarize)}.values():
            if isinstance(model, OpenAIChat):
                await model.aclose()


def connect(options: RunOptions, thinking: Environment, thinkers: Thinkers | None = None) -> Models:
    """The models of a run.

    Args:
        options: Who is asked.
        thinking: A sandbox that `search` may try tools in.
        thinkers: Processes for it to think in, if not in this one.

    Raises:
        ModelUnavailable: If one cannot be reached.
    """
    subject = dump_json({"json_mode": options.json_mode, "native_tools": options.native_tools})
    if options.model == "search":
        at_once = options.concurrency if isinstance(options.concurrency, int) else 2 * (os.cpu_count() or 1)
        model = SearchModel(thinkers) if thinkers else model_named("search", thinking)
        return Models(model, model, FixedLimit(at_once), subject)
    limit = AdaptiveLimit() if options.concurrency == "auto" else FixedLimit(options.concurrency)
    roles = {
        "execute": options.execute_base_url or options.base_url,
        "summarize": options.summarize_base_url or options.base_url,
    }
    found = {url: reach(options.model, url) for url in dict.fromkeys(roles.values())}
    made = {url: _client(options, endpoint, limit) for url, endpoint in found.items()}
    told = {url: fingerprint(endpoint.base_url, endpoint.served_name) for url, endpoint in found.items()}
    servers = {role: told[url] for role, url in roles.items()}
    return Models(made[roles["execute"]], made[roles["summarize"]], limit, subject, servers)


def _client(options: RunOptions, endpoint: Endpoint, limit: Limit) -> OpenAIChat:
    return OpenAIChat.at(
        endpoint,
        concurrency=limit,
        deadline=options.timeout,
        timeout=options.timeout,
        json_mode=options.json_mode,
        native_tools=options.native_tools,
    )


class Silent:
    """A model that says nothing: on replay, the files answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: ChatRequest) -> Reply:
        """Never asked."""
        raise ModelUnavailable(f"{self.name}: nothing is asked on replay")


def run_experiment(options: RunOptions, settings: Settings, out: Path, bar: Bar | None = None) -> Summary:
    """Runs what is left of an experiment and writes its summary.

    Args:
        options, settings: What is run, and how.
        out: The run's folder.
        bar: Shows the progress; without one, a bar of its own.

    Raises:
        InputError: If the benchmark cannot be read, or the folder holds another run.
        ModelUnavailable: If the model cannot be reached; what was done is kept.
    """
    require_consistent(settings)
    workers = min(_most(options), os.cpu_count() or 1)
    with Sandboxes(options.sandbox, workers, least=options.require_isolation) as sandboxes:
        tools, benchmark = _materials(options.bench)
        run = Run(out)
        tasks = _chosen(benchmark.tasks, options.limit, options.pick)
        count = _processes(_most(options), len(tasks))
        with run.locked(), _thinkers(options, tools, count) as thinkers, _inducing(settings, count) as inducer:
            models = connect(options, sandboxes.thinking(list(tools.values())), thinkers)
            made = manifest(options.chosen(), settings, options.bench, models.servers)
            run.begin({**made, "isolation": sandboxes.isolation().model_dump(mode="json")})
            golds = read_golds(options.bench)
            cases = _Cases(run, benchmark, settings, models, tools, sandboxes, golds, options.reuse, inducer=inducer)
            with _shown(bar) as shown:
                try:
                    run_to_end(cases.work(tasks, shown, settings.mode))
                except BaseException:
                    with suppress(FlowMindError, OSError):  # what ended the work is what there is to say
                        settle(run, tasks)
                        _tell(sandboxes, run)
                    raise
                summary = settle(run, tasks)
                _tell(sandboxes, run)
    return summary


def _tell(sandboxes: Sandboxes, run: Run) -> None:
    """Writes what a cross-check has found to the run's folder, and a line about it."""
    if sandboxes.kind == "both":
        path = run.folder / "crosscheck.jsonl"
        sandboxes.write(path)
        tqdm.tqdm.write(f"{path}: {sandboxes.crosscheck.summary()}", file=sys.stderr)


def _processes(at_once: int, cases: int) -> int:
    """How many processes help with so many cases, if there are enough cores and cases for more than one."""
    return min(at_once, os.cpu_count() or 1, cases // WORTH_A_PROCESS)


def _thinkers(
    options: RunOptions, tools: Mapping[str, ToolSource], count: int
) -> AbstractContextManager[Thinkers | None]:
    """Processes for `search` to think in."""
    thinks = options.model == "search" and options.sandbox != "monty" and count > 1
    return Thinkers(list(tools.values()), count) if thinks else nullcontext()


@contextmanager
def _inducing(settings: Settings, count: int) -> Generator[Inducer]:
    """Who induces: processes, where that is what a run does."""
    if count > 1 and summarizer_of(settings) in ("induction", "guided"):
        with Inducers(count) as inducers:
            yield inducers.drafts
    else:
        yield drafts_in_thread


def replay(source: Path, out: Path, bench: Path, bar: Bar | None = None) -> Summary:
    """Makes the records of a run again from its exchanges alone: no model is asked.

    Args:
        source: A run's folder.
        out: Where to write; may be the same folder.
        bench: The benchmark that it ran on, built on any machine.
        bar: Shows the progress; without one, a bar of its own.

    Raises:
        InputError: If the benchmark is another one, or the exchanges do not answer all requests.
    """
    held = Run(source).manifest
    tools, benchmark = _materials(bench)
    given = {name: value for name, value in held["settings"].items() if name in Settings.model_fields}
    settings = Settings.model_validate(given)
    chosen = {name: value for name, value in held["settings"].items() if name not in Settings.model_fields}
    made = manifest(chosen, settings, bench)
    if made["benchmark"] != held["benchmark"]:
        raise InputError(f"{bench}: not the benchmark of this run, which is {held['benchmark']['name']}")
    with Sandboxes(chosen.get("sandbox", "local"), os.cpu_count() or 1) as sandboxes:
        run = Run(out)
        with run.locked():
            run.begin({**held, "settings": {**chosen, **settings.model_dump(mode="json")}})
            silent = Silent(chosen["model"])
            subject = dump_json({"json_mode": chosen["json_mode"], "native_tools": chosen["native_tools"]})
            models = Models(silent, silent, FixedLimit(2 * (os.cpu_count() or 1)), subject)
            cases = _Cases(run, benchmark, settings, models, tools, sandboxes, read_golds(bench), (), replay_of=source)
            tasks = [
                task
                for task in _chosen(benchmark.tasks, chosen["limit"], chosen.get("pick", "first"))
                if cases.timing(task)
            ]
            count = _processes(models.limit.current, len(tasks))
            with _shown(bar) as shown, _inducing(settings, count) as cases.inducer:
                records = run_to_end(cases.rebuild(tasks, shown))
            run.put_in_order(records)
            return settle(run, tasks)


def _shown(bar: Bar | None) -> AbstractContextManager[Bar]:
    if bar is not None:
        return nullcontext(bar)
    own = CaseBar()
    return _Closing(own)


class _Closing:
    def __init__(self, bar: CaseBar) -> None:
        self._bar = bar

    def __enter__(self) -> Bar:
        return self._bar

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def _most(options: RunOptions) -> int:
    return options.concurrency if isinstance(options.concurrency, int) else 1_000


def _materials(bench: Path) -> tuple[dict[str, ToolSource], Benchmark]:
    """The tools and the tasks of a benchmark.

    Raises:
        InputError: If they cannot be read, or a task names a tool that is not there.
    """
    tools, benchmark = dict(benchmark_tools(bench)), Benchmark.load(bench)
    for task in benchmark.tasks:
        for name in task.tools:
            if name not in tools:
                raise InputError(
                    f"{bench / 'instances.jsonl'}: {task.id!r} names the tool {name!r}, which is not known"
                )
    return tools, benchmark


def _chosen(tasks: Sequence[Task], limit: int | None, pick: str = "first") -> list[Task]:
    """The tasks of a run: one of each lane in turn, in the benchmark's order within a lane.

    A lane is a category; with `spread` a kind of control flow in a category, so that few tasks show all kinds.
    """

    def lane_of(task: Task) -> tuple[str, str]:
        return (task.category, task.control_flow if pick == "spread" else "")

    lanes = [[task for task in tasks if lane_of(task) == lane] for lane in dict.fromkeys(map(lane_of, tasks))]
    longest = max((len(lane) for lane in lanes), default=0)
    turns = [lane[index] for index in range(longest) for lane in lanes if index < len(lane)]
    return turns[:limit]


@dataclass
class _Cases:
    """The cases of a run, and what they need."""

    run: Run
    benchmark: Benchmark
    settings: Settings
    models: Models
    tools: dict[str, ToolSource]
    sandboxes: Sandboxes
    golds: Mapping[str, Workflow]
    reuse: tuple[Path, ...]
    replay_of: Path | None = None
    inducer: Inducer = drafts_in_thread
    lost: int = 0
    """Cases in a row that the endpoint failed."""

    async def work(self, tasks: Sequence[Task], bar: Bar, name: str) -> None:
        """Works what has no record yet, then once more what the infrastructure failed.

        Raises:
            ModelUnavailable: If the model cannot serve at all, or has failed too many cases in a row.
        """
        done = {id for id, record in self.run.records().items() if record.error is None}
        todo = [task for task in tasks if task.id not in done]
        bar.begin(name, len(tasks), len(tasks) - len(todo))
        try:
            failed = await self._pass(todo, bar, last=False)
            await self._pass(failed, bar, last=True)
        finally:
            await self.models.aclose()

    async def _pass(self, todo: Sequence[Task], bar: Bar, last: bool) -> list[Task]:
        """Works cases, as many at once as the limit says now; gives those that are to be tried again."""
        again: list[Task] = []
        passed = errors = 0

        async def one(task: Task, at_once: Count) -> None:
            nonlocal passed, errors
            record, solution = await self.case(task)
            self._count(record)
            if record.error is not None and not last:
                again.append(task)
                return
            if solution is not None:
                self.run.keep_case(task, solution)
            self.run.keep_record(record)
            passed += record.passed
            errors += record.error is not None
            bar.advance(passed, errors, at_once())

        await work_through(todo, self.models.limit, one)
        return again

    def _count(self, record: CaseRecord) -> None:
        """Stops the run when the endpoint is gone: nothing is lost, and the same command goes on."""
        self.lost = self.lost + 1 if record.error is not None else 0
        if self.lost >= LOST:
            raise ModelUnavailable(
                f"{self.models.execute.name} failed {self.lost} cases in a row, last with: {record.error}; the same "
                "command goes on from here"
            )

    def timing(self, task: Task) -> Timing | None:
        """When the case was worked on, if its exchanges are whole."""
        return Stored.read(self._exchanges(task)).timing

    async def rebuild(self, tasks: Sequence[Task], bar: Bar) -> list[CaseRecord]:
        """The records of cases from their exchanges."""
        bar.begin("replay", len(tasks), 0)
        gate, passed, found = asyncio.Semaphore(self.models.limit.current), 0, dict[str, CaseRecord]()

        async def one(task: Task) -> None:
            nonlocal passed
            async with gate:
                record, solution = await self.case(task)
            if solution is not None:
                self.run.keep_case(task, solution)
            found[record.id] = record
            passed += record.passed
            bar.advance(passed, 0, self.models.limit.current)

        await asyncio.gather(*map(one, tasks))
        return [found[task.id] for task in tasks]

    async def case(self, task: Task) -> tuple[CaseRecord, Solution | None]:
        """Solves a task, then runs its workflow on the held-out tests, which nothing before has seen.

        Whatever goes wrong with one case is written into its record, and the others go on; only a model that
        cannot serve at all, or files that cannot be read, end the run.
        """
        exchanges = Exchanges(
            self._exchanges(task),
            [folder / "exchanges" / f"{task.id}.jsonl" for folder in self.reuse],
            replay=self.replay_of is not None,
        )
        timing = exchanges.stored.timing if self.replay_of is not None else None
        begun, clock = time.time(), time.monotonic()
        waited = sum(reply.seconds or 0.0 for reply in exchanges.stored.replies.values())
        try:
            record, solution = await self._solved(task, exchanges)
        except (FlowMindError, SandboxUnavailable):
            raise
        except Exception as error:  # a defect of ours or of a library: this case's error, not the run's end
            report = self.run.folder / "errors" / f"{task.id}.txt"
            write_text(report, traceback.format_exc())
            told = f"{type(error).__name__}: {error} (see {report.relative_to(self.run.folder)})"
            record, solution = _record(task, Solution(traces=()), _unscored(self.tests(task), told), told), None
        if timing is None:
            spent = round(time.monotonic() - clock + waited, 3)
            timing = Timing(started_at=round(begun, 3), seconds=spent)
            exchanges.end(timing)
        return record.model_copy(update=timing.model_dump()), solution

    def tests(self, task: Task) -> tuple[Example, ...]:
        """The held-out tests of a task."""
        return self.benchmark.tests[task.id]

    def _exchanges(self, task: Task) -> Path:
        return (self.replay_of or self.run.folder) / "exchanges" / f"{task.id}.jsonl"

    async def _solved(self, task: Task, exchanges: Exchanges) -> tuple[CaseRecord, Solution]:
        business = self.sandboxes.of([self.tools[name] for name in task.tools])
        execute = exchanges.of(self.models.execute, self.models.subject)
        summarize = exchanges.of(self.models.summarize, self.models.subject)
        gold = self.golds.get(task.id) if self.settings.traces == "gold" else None
        shown = demonstration(gold, business) if gold is not None else None
        solution = await solve(task, business, execute, self.settings, summarize, shown, self.inducer)
        error, tests = _endpoint_failure(solution), self.tests(task)
        scores: list[Score] = []
        if error is None and solution.graph_valid and solution.workflow is not None:
            try:
                traces = await _run_on(solution.workflow, [test.input for test in tests], business, summarize)
                scores = [_score(trace, test) for trace, test in zip(traces, tests, strict=True)]
            except ModelFailure as failure:
                error = str(failure)
        if not scores:
            scores = _unscored(tests, error or "no sound workflow")
        found = await asyncio.to_thread(self._structure, task, solution, business.specs)
        return _record(task, solution, scores, error).model_copy(update={"structure": found}), solution

    def _structure(self, task: Task, solution: Solution, specs: Mapping[str, ToolSpec]) -> StructureFacts | None:
        if solution.workflow is None or task.id not in self.golds:
            return None
        try:
            return structure(solution.workflow, self.golds[task.id], specs)
        except InputError:  # a gold workflow that is not sound: `flowbench_synth check` names it, the run goes on
            return None


async def _run_on(
    workflow: Workflow, cases: Sequence[dict[str, Any]], environment: Environment, model: ChatModel
) -> list[Trace]:
    """The runs of a workflow on the held-out inputs; `llm` nodes ask the run's model."""
    if needs_waiting(workflow, environment):
        return [await arun(workflow, case, environment, model) for case in cases]
    return await asyncio.to_thread(run_batch, workflow, cases, environment)


def _stages(solution: Solution) -> list[Trace]:
    return [*solution.traces, *([solution.summary] if solution.summary else [])]


def _endpoint_failure(solution: Solution) -> str | None:
    """What kept a stage from being tried to its end: the first failure of the model's endpoint."""
    if solution.failure is not None:
        return solution.failure
    failed = (trace.error for trace in _stages(solution) if trace.stop == "model_error" and trace.error)
    return next((error.message for error in failed), None)


def _score(trace: Trace, test: Example) -> Score:
    judged = ExactMatch().evaluate(trace, test.output)
    error = f"{trace.error.type}: {trace.error.message}" if trace.error else None
    return Score(passed=judged.value == 1.0, input=test.input, expected=test.output, actual=trace.answer, error=error)


def _unscored(tests: Sequence[Example], error: str) -> list[Score]:
    return [Score(passed=False, input=test.input, expected=test.output, error=error) for test in tests]


def _record(task: Task, solution: Solution, scores: Sequence[Score], error: str | None) -> CaseRecord:
    traces = _stages(solution)
    passed = bool(scores) and all(score.passed for score in scores)
    anything = any(step.observation.ok for trace in traces for step in trace.calls)
    return CaseRecord(
        id=task.id,
        category=task.category,
        difficulty=task.difficulty,
        task=TaskFacts(
            control_flow=task.control_flow,
            words=len(task.query.split()),
            tools=len(task.tools),
            examples=len(task.examples),
        ),
        derivation=solution.derivation,
        exec_complete=solution.exec_complete,
        exec_correct=solution.exec_correct,
        graph_valid=solution.graph_valid,
        tests=tuple(scores),
        passed=passed,
        problems=tuple(map(str, solution.problems)),
        integrity=_integrity(solution.traces),
        calls=_calls(traces),
        mti=solution.mti,
        failure_mode=failure_mode(solution.exec_complete, solution.graph_valid, passed, anything, error is not None),
        coerced=solution.coerced,
        parse=sum((_parse(trace) for trace in traces), ParseCounts()),
        execute=_usage(solution.traces),
        summarize=_usage([solution.summary] if solution.summary else []),
        error=error,
    )


def _integrity(traces: Sequence[Trace]) -> Integrity:
    """Of the best rollout."""
    found = set(map(integrity, traces))
    best: tuple[Integrity, ...] = ("complete", "errors")
    for kind in best:
        if kind in found:
            return kind
    return "incomplete"


def _calls(traces: Sequence[Trace]) -> CallCounts:
    steps = [(step.call.tool in GRAPH_TOOLS, step.observation.ok) for trace in traces for step in trace.calls]
    return CallCounts(
        business=sum(not graph for graph, _ in steps),
        business_failed=sum(not graph and not ok for graph, ok in steps),
        graph=sum(graph for graph, _ in steps),
        graph_failed=sum(graph and not ok for graph, ok in steps),
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


def settle(run: Run, tasks: Sequence[Task]) -> Summary:
    """Puts the records in the order of the tasks and writes the summary: equal runs leave equal files."""
    records = run.records()
    run.put_in_order([records[task.id] for task in tasks if task.id in records])
    return summarize_run(run.folder)


def summarize_run(folder: Path) -> Summary:
    """Makes the summary of a run again from its records, and writes `summary.json` and `summary.md`.

    Raises:
        InputError: If the folder holds no run.
    """
    summary = Run(folder).summarize()
    write_text(folder / "summary.json", dump_json(summary.model_dump(mode="json"), indent=1) + "\n", "summary")
    write_text(folder / "summary.md", f"{summary_table([summary])}\n{group_table(summary)}", "summary")
    return summary

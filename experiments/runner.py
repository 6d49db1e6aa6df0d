"""Runs a model and a mode on a benchmark: cases at the same time, one record a case, resumed by the same command."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import tqdm

from experiments.driver import Count, drive, kept_in, require_answers, work_through
from experiments.evaluating import Case, CaseResult, CaseStates, evaluate, failed
from experiments.folder import Run
from experiments.golds import read_golds
from experiments.knowledge import (
    Known,
    digest_of,
    keep_knowledge,
    kept_knowledge,
    read_knowledge,
    require_knowledge,
)
from experiments.materials import Materials, read_materials
from experiments.metrics import Summary
from experiments.options import RunOptions
from experiments.picking import choose, in_order
from experiments.progress import Bar, CaseBar, shown, typed_command
from experiments.provenance import benchmark_of, manifest
from experiments.record import CaseRecord
from experiments.services import Services
from experiments.shards import dealt, place
from experiments.tables import group_table, summary_table
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.processes import HelperEnded
from flowmind.build.settings import GUIDED, Settings, require_consistent, summarizer_of
from flowmind.cli.flags import read_flags
from flowmind.cli.options import SandboxOptions
from flowmind.cli.sandboxes import Sandboxes
from flowmind.llm.recorded import Stored, Timing, end_case, exchange_file, keep_exchange
from flowmind.maps.local import LocalMap
from flowmind.maps.processes import ProcessMap
from flowmind.maps.ray import RayMap
from flowmind.maps.sending import run_to_end, send
from flowmind.protocols import Knowledge, Map
from flowmind.trace.task import Benchmark, Task
from flowmind.workflow.document import Workflow

IN_AN_ACTOR = 8
"""The cases that one actor of a cluster works on at the same time, if they wait for a model's server."""
WORTH_A_PROCESS = 8
"""The fewest cases for each process; the start of a process takes about a second."""


def run_experiment(options: RunOptions, settings: Settings, out: Path, bar: Bar | None = None) -> Summary:
    """Runs the remaining cases of an experiment and writes its summary.

    Args:
        options, settings: The settings of the run.
        out: The run's folder; a shard writes in a folder in it.
        bar: Shows the progress; by default a bar on standard error.

    Raises:
        InputError: If the benchmark cannot be read, or the folder holds another run, or more cases than the limit.
        ModelUnavailable: If the model cannot be reached, or no case could be completed; what is complete is kept.
    """
    require_consistent(settings)
    require_knowledge(options, settings)
    materials = read_materials(options)
    tools, benchmark = materials.tools, materials.benchmark
    options, isolated = _isolated(options, materials)
    most = options.concurrency if isinstance(options.concurrency, int) else 1_000
    out = place(out, options.part)
    count = _processes(most, len(dealt(benchmark.tasks[: options.limit], options.part)))
    if options.map != "auto":
        _require_mappable(options)
    if options.map == "processes":
        count = min(most, os.cpu_count() or 1)
    local = options.map == "local" or (options.map == "auto" and _is_local(options, settings, count))
    workers = min(most, os.cpu_count() or 1)
    inducers = count if local and count > 1 and summarizer_of(settings) in ("induction", "guided") else 0
    run = Run(out)
    with Services(options, tools, workers, inducers) as services:
        services.open()
        golds, lenders = read_golds(options.bench), tuple(map(Run, options.reuse))
        known = read_knowledge(options, benchmark.tasks, tools, golds, benchmark_of(options.bench))
        with run.locked():
            tasks = _begin(run, options, settings, benchmark, services, isolated, known)
            cases = _Cases(run, benchmark, settings, services, golds, lenders, states=materials.states, known=known)
            with _progress(bar) as progress, _mapped(services, 0 if local else count) as case_map:
                try:
                    with kept_in(out):
                        run_to_end(cases.work(tasks, case_map, progress))
                except BaseException:
                    with suppress(FlowMindError, OSError):  # the error that ended the work is the one to report
                        settle(run, tasks)
                        _report_differences(services, run)
                    raise
                summary = settle(run, tasks)
                _report_differences(services, run)
    with kept_in(out):
        errors = [record.error for record in run.records().values()]
        require_answers(services.where, summary.cases, errors, "case")
    return summary


class _Isolated(NamedTuple):
    """The sandbox and the isolation of a run."""

    document: dict[str, Any]
    """As its manifest has them."""
    line: str
    """As its first line has them."""


def _isolated(options: RunOptions, materials: Materials) -> tuple[RunOptions, _Isolated]:
    """The options with the sandbox and the isolation of this run, and the reasons for both.

    Raises:
        InputError: If the sandbox is not available, or isolates less than the options require.
    """
    with Sandboxes(options, quiet=True) as sandboxes:
        choice = sandboxes.choice
    isolation, reason = options.isolation, "as asked"
    if isolation is None:
        isolation, reason = materials.isolation
    document = {**choice.document(), "isolation": isolation, "isolation_reason": reason}
    line = f"{choice.line}; a process for each {isolation}: {reason}"
    return options.model_copy(update={"sandbox": choice.sandbox, "isolation": isolation}), _Isolated(document, line)


def _begin(
    run: Run,
    options: RunOptions,
    settings: Settings,
    benchmark: Benchmark,
    services: Services,
    isolated: _Isolated,
    known: Known,
) -> list[Task]:
    """The tasks of a run, after its manifest is written.

    Raises:
        InputError: If the folder holds another run, or more cases than the limit.
    """
    if run.exists and "pick" not in options.model_fields_set:  # an older run goes on as it began
        stored = run.manifest["settings"].get("pick", "first")
        options = options.model_copy(update={"pick": stored})
    order, shard = in_order(benchmark.tasks, options.pick), options.part
    tasks = choose(order, run.records().keys(), options.limit, run.folder, shard)
    document = manifest(options.chosen(), settings, options.bench, services.servers)
    document["isolation"] = isolated.document
    if shard is not None:
        document |= shard.manifest((task.id for task in tasks), typed_command())
    if known:
        document["settings"]["knowledge_sha256"] = digest_of(known)
    if (price := options.price) is not None:
        document["price"] = price.model_dump()
    run.begin(document)
    keep_knowledge(run.folder, known)
    tqdm.tqdm.write(isolated.line, file=sys.stderr)
    return tasks


def replay(
    source: Path, out: Path, bench: Path, bar: Bar | None = None, isolated: SandboxOptions | None = None
) -> Summary:
    """Computes the records of a run again from its exchanges; no model is asked.

    Args:
        source: A run's folder.
        out: The folder of the new records; may be the same folder.
        bench: The benchmark that it ran on, built on any machine.
        isolated: The isolation of the tools; their sandbox is that of the run.
        bar: Shows the progress; by default a bar on standard error.

    Raises:
        InputError: If the benchmark is another one, or the exchanges do not answer all requests.
    """
    stored = Run(source).manifest
    settings = Settings.model_validate(_fields_of(Settings, stored["settings"]))
    others = {name: value for name, value in stored["settings"].items() if name not in Settings.model_fields}
    if manifest(others, settings, bench)["benchmark"] != stored["benchmark"]:
        raise InputError(f"{bench}: not the benchmark of this run, which is {stored['benchmark']['name']}")
    own = isolated.model_dump(exclude_unset=True, include={"require_isolation", "isolation"}) if isolated else {}
    fields = {"pick": "first", "sandbox": "local", **_fields_of(RunOptions, others), **own}
    given = read_flags(RunOptions, fields).model_copy(update={"bench": bench})
    materials = read_materials(given)
    options, sandbox = _isolated(given, materials)
    tools, benchmark = materials.tools, materials.benchmark
    run = Run(out)
    with Services(options, tools, os.cpu_count() or 1, silent=True) as services, run.locked():
        run.begin({**stored, "settings": {**others, **settings.model_dump(mode="json")}})
        tqdm.tqdm.write(sandbox.line, file=sys.stderr)
        known = kept_knowledge(source)
        keep_knowledge(out, known)
        golds, replayed = read_golds(bench), Run(source)
        cases = _Cases(
            run, benchmark, settings, services, golds, replayed=replayed, states=materials.states, known=known
        )
        order = in_order(benchmark.tasks, options.pick)
        tasks = [task for task in order if cases.stored(task).timing is not None]
        count = _processes(services.limit.current, len(tasks)) if options.sandbox == "local" else 0
        with _progress(bar) as progress, _mapped(services, count if count > 1 else 0) as case_map:
            run_to_end(cases.rebuild(tasks, case_map, progress))
        return settle(run, tasks)


def _fields_of(model: type[Settings] | type[RunOptions], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in model.model_fields}


def _is_local(options: RunOptions, settings: Settings, count: int) -> bool:
    """Whether cases are evaluated in this process: they wait for a server, share a sandbox, or are few."""
    asks = options.model != "search" and not (settings.traces == "gold" and summarizer_of(settings) != "guided")
    return asks or options.sandbox != "local" or count < 2


def _require_mappable(options: RunOptions) -> None:
    """Refuses another map for two sandboxes, whose differences are collected in this process.

    Raises:
        InputError: If that is asked for.
    """
    if options.sandbox == "both" and options.map != "local":
        raise InputError(f"--map {options.map}: --sandbox both compares in one process; use --map local")


def _processes(at_once: int, cases: int) -> int:
    """The number of processes for a number of cases; below 2 if cores or cases are too few."""
    return min(at_once, os.cpu_count() or 1, cases // WORTH_A_PROCESS)


@contextmanager
def _mapped(services: Services, count: int) -> Generator[Map[Case, CaseResult]]:
    """The map that evaluates cases in the cluster, in `count` processes, or in this process if that is 0."""
    options = services.options
    if options.map == "ray":
        most = options.concurrency if isinstance(options.concurrency, int) else None
        workers, each = (None, IN_AN_ACTOR) if services.remote else (most, 1)
        cluster: RayMap[Case, CaseResult] = RayMap(
            evaluate, services, address=options.ray_address, workers=workers, each=each, most=most
        )
        with cluster:
            yield cluster
    elif not count:
        yield LocalMap(evaluate, services, services.limit)
    else:
        processes: ProcessMap[Case, CaseResult] = ProcessMap(evaluate, services, count)
        with processes:
            yield processes


def _report_differences(services: Services, run: Run) -> None:
    """Writes the differences between two sandboxes to the run's folder, and a line about them."""
    if services.options.sandbox == "both":
        path = run.folder / "crosscheck.jsonl"
        services.sandboxes.write(path)
        tqdm.tqdm.write(f"{path}: {services.sandboxes.crosscheck.summary()}", file=sys.stderr)


def _progress(bar: Bar | None) -> AbstractContextManager[Bar]:
    return shown(CaseBar()) if bar is None else nullcontext(bar)


@dataclass
class _Cases:
    """The cases of a run. This is the only writer of the run's folder."""

    run: Run
    benchmark: Benchmark
    settings: Settings
    services: Services
    golds: Mapping[str, Workflow]
    lenders: Sequence[Run] = ()
    """Runs whose exchanges may answer as well."""
    replayed: Run | None = None
    """The run whose exchanges answer everything, on replay."""
    states: Mapping[str, CaseStates] = field(default_factory=dict[str, CaseStates])
    """The states of the cases by task, if the tools have a state."""
    known: Known = field(default_factory=dict[str, Knowledge])
    """The workflows that the agents are given, by task."""
    passed: int = 0
    errors: int = 0

    async def work(self, tasks: Sequence[Task], case_map: Map[Case, CaseResult], bar: Bar) -> None:
        """Evaluates the tasks that have no record yet.

        Raises:
            ModelUnavailable: If the model cannot serve at all, or has failed too many consecutive cases.
        """
        done = {id: record for id, record in self.run.records().items() if record.error is None}
        self.run.verify(done)
        self.passed = sum(map(self._right, done.values()))
        todo = [task for task in tasks if task.id not in done]
        bar.begin(self.settings.mode, len(tasks), len(tasks) - len(todo))

        def keep(task: Task, result: CaseResult, running: int) -> None:
            self._keep_case(task, result)
            self.run.keep_record(result.record)
            self._advance(bar, result, running)

        try:
            await drive(todo, lambda: case_map.at_once, partial(self._case, case_map), keep, self.services.where)
        finally:
            await self.services.disconnect()

    async def rebuild(self, tasks: Sequence[Task], case_map: Map[Case, CaseResult], bar: Bar) -> None:
        """Computes the records of cases from their exchanges, and writes them when all are complete."""
        records: dict[str, CaseRecord] = {}
        bar.begin("replay", len(tasks), 0)

        async def process(task: Task, running: Count) -> None:
            result = await self._case(case_map, task)
            self._keep_case(task, result)
            records[task.id] = result.record
            self._advance(bar, result, running())

        await work_through(tasks, lambda: case_map.at_once, process)
        self.run.write_records([records[task.id] for task in tasks])

    def stored(self, task: Task) -> Stored:
        """The exchanges of a case so far; on replay, those of the run that is replayed."""
        if self.replayed is None:
            return exchange_file(self.run.exchanges(task.id), self.run.folder)
        return Stored.read(self.replayed.exchanges(task.id))

    async def _case(self, case_map: Map[Case, CaseResult], task: Task) -> CaseResult:
        """Evaluates a case, and writes each exchange as soon as it is complete."""
        path = (self.replayed or self.run).exchanges(task.id)
        emit = partial(keep_exchange, path, root=self.run.folder)
        try:
            result = await send(case_map, partial(self._given, task), emit)
        except HelperEnded as ended:
            return CaseResult(failed(self._given(task), f"the process of the case has ended ({ended})"))
        if result.traceback:
            self.run.keep_report(task.id, result.traceback)
        if self.replayed is None:
            end_case(path, Timing(started_at=result.record.started_at, seconds=result.record.seconds), self.run.folder)
        return result

    def _given(self, task: Task) -> Case:
        """The case of a task, with the exchanges so far."""
        return Case(
            task=task,
            tests=self.benchmark.tests[task.id],
            settings=self.settings,
            gold=self.golds.get(task.id),
            stored=self.stored(task),
            lent=tuple(Stored.read(lender.exchanges(task.id)) for lender in self.lenders),
            replay=self.replayed is not None,
            file=str((self.replayed or self.run).exchanges(task.id)),
            states=self.states.get(task.id),
            knowledge=self.known.get(task.id),
        )

    def _right(self, record: CaseRecord) -> bool:
        """Whether a case counts as right in the progress bar: by its execution, if the mode executes only."""
        return record.exec_correct if self.settings.mode in GUIDED else record.passed

    def _keep_case(self, task: Task, result: CaseResult) -> None:
        if result.solution is not None:
            self.run.keep_case(task, result.solution, result.runs)

    def _advance(self, bar: Bar, result: CaseResult, running: int) -> None:
        self.passed += self._right(result.record)
        self.errors += result.error is not None
        bar.advance(self.passed, self.errors, running)


def settle(run: Run, tasks: Sequence[Task]) -> Summary:
    """Puts the records in the order of the tasks and writes the summary: equal runs leave equal files."""
    run.put_in_order(task.id for task in tasks)
    return summarize_run(run.folder)


def summarize_run(folder: Path) -> Summary:
    """Computes the summary of a run again from its records, and writes `summary.json` and `summary.md`.

    Raises:
        InputError: If the folder holds no run.
    """
    run = Run(folder)
    summary = run.summarize()
    run.write_summary(summary, f"{summary_table([summary])}\n{group_table(summary)}")
    return summary

"""Runs a model and a mode on a benchmark: cases in parallel, one record a case, resumed by the same command."""

from __future__ import annotations

import asyncio
import fcntl
import os
import platform
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, cast

import tqdm
from pydantic import BaseModel, Field

from experiments.tables import group_table, summary_table
from flowmind.errors import InputError
from flowmind.evaluation.black_box import ExactMatch
from flowmind.evaluation.metrics import Summary, failure_mode, summarize_records
from flowmind.executor.running import run_batch
from flowmind.files import dump_json, parse_json, read_text, validate, write_text
from flowmind.llm.choosing import model_named
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.recorded import Recorded
from flowmind.pipeline import Settings, Solution, solve
from flowmind.protocols import ChatModel
from flowmind.record import CaseRecord, ParseCounts, Score, StageUsage
from flowmind.task import Benchmark, Example, Task, benchmark_tools
from flowmind.trace import Trace
from tools_registry.sandbox import Limits, LocalSandbox, WorkerPool
from tools_registry.spec import Record

PACKAGES = ("flowmind-es", "langgraph", "openai", "pydantic", "networkx", "RestrictedPython", "json-repair")


class RunOptions(Record):
    """What a run is about, apart from how tasks are solved."""

    model: str
    bench: Path
    limit: int | None = Field(default=None, ge=1)
    concurrency: int = Field(default=4, ge=1, le=1_000)
    base_url: str | None = None
    json_mode: Literal["off", "object", "schema", "object-schema"] = "off"
    native_tools: bool = False
    timeout: float = Field(default=600.0, gt=0)


class _Subject(BaseModel):
    model: str
    mode: str


class _Named(BaseModel):
    name: str


class _Manifest(BaseModel):
    """What a manifest says at least."""

    settings: _Subject
    benchmark: _Named


class Run:
    """A run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records_path = folder / "records.jsonl"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keeps the folder to one process.

        Raises:
            InputError: If another one has it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self.folder}: another process is running in this folder") from None
            yield

    def begin(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, or checks that the folder holds this very run.

        Raises:
            InputError: If it holds another one.
        """
        path = self.folder / "manifest.json"
        if not path.exists():
            write_text(path, dump_json(manifest, indent=1) + "\n")
            return
        held = self.manifest()
        for key in ("settings", "benchmark"):
            if held.get(key) != manifest[key]:
                name = _difference(held.get(key), manifest[key])
                raise InputError(
                    f"{self.folder}: the folder holds another run ({key}: {name}); give another --out or remove it"
                )

    def manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            InputError: If there is none, or it cannot be read.
        """
        path = self.folder / "manifest.json"
        try:
            manifest = parse_json(read_text(path))
            validate(_Manifest, manifest)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        return manifest

    def cut_torn_line(self) -> None:
        """Cuts off the file what a killed run left of a record; for the process that has the folder."""
        if self.records_path.exists():
            with self.records_path.open("r+b") as file:
                file.truncate(_whole(file.read()))

    def records(self) -> dict[str, CaseRecord]:
        """The records by case, the last of each; a last line that is not finished is left out.

        Raises:
            InputError: If a line that is not the last cannot be read.
        """
        if not self.records_path.exists():
            return {}
        data = self.records_path.read_bytes()
        whole = data[: _whole(data)]
        found: dict[str, CaseRecord] = {}
        for number, line in enumerate(whole.decode(errors="replace").splitlines(), 1):
            try:
                record = validate(CaseRecord, parse_json(line))
            except ValueError as error:
                raise InputError(f"{self.records_path}, line {number}: {error}") from None
            found[record.id] = record
        return found

    def keep(self, record: CaseRecord, solution: Solution | None) -> None:
        """Stores what a case left behind; its record last, so that a case with a record is whole."""
        if solution is not None:
            stages = solution.model_dump(mode="json", include={"traces", "summary", "problems"})
            write_text(self.folder / "traces" / f"{record.id}.json", dump_json(stages, indent=1) + "\n")
            if solution.workflow is not None:
                write_text(self.folder / "workflows" / f"{record.id}.json", solution.workflow.to_json())
        with self.records_path.open("a", encoding="utf-8") as file:
            file.write(dump_json(record.model_dump(mode="json")) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _whole(data: bytes) -> int:
    """How many bytes of a file are finished lines."""
    return data.rfind(b"\n") + 1


def run_experiment(options: RunOptions, settings: Settings, out: Path) -> Summary:
    """Runs what is left of an experiment and writes its summary.

    Raises:
        InputError: If the benchmark cannot be read, or the folder holds another run.
        ModelUnavailable: If the model cannot be reached; what was done is kept.
    """
    with WorkerPool(min(options.concurrency, os.cpu_count() or 1), Limits()) as pool:
        tools = benchmark_tools(options.bench)
        thinking = LocalSandbox(list(tools.values()), pool)
        model = _model(options, thinking)
        benchmark = Benchmark.load(options.bench)
        _require_tools(benchmark, options.bench)
        run = Run(out)
        with run.locked():
            run.begin(_manifest(options, settings))
            run.cut_torn_line()

            def business(task: Task) -> LocalSandbox:
                return LocalSandbox([tools[name] for name in task.tools], pool)

            tasks = _chosen(benchmark.tasks, options.limit)
            done = {name for name, record in run.records().items() if record.error is None}
            todo = [task for task in tasks if task.id not in done]
            try:
                asyncio.run(_cases(todo, benchmark, model, settings, run, business, options.concurrency, len(tasks)))
            finally:
                summary = summarize_run(out)
    return summary


def _model(options: RunOptions, thinking: LocalSandbox) -> ChatModel:
    if options.model == "search":
        return model_named("search", thinking)
    return model_named(
        options.model,
        thinking,
        options.base_url,
        concurrency=options.concurrency,
        deadline=options.timeout,
        timeout=options.timeout,
        json_mode=options.json_mode,
        native_tools=options.native_tools,
    )


def _require_tools(benchmark: Benchmark, folder: Path) -> None:
    known = benchmark_tools(folder)
    for task in benchmark.tasks:
        for name in task.tools:
            if name not in known:
                raise InputError(
                    f"{folder / 'instances.jsonl'}: {task.id!r} names the tool {name!r}, which is not known"
                )


def _chosen(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """The tasks of a run: one of each category in turn, in the benchmark's order within a category."""
    lanes = [
        [task for task in tasks if task.category == category]
        for category in dict.fromkeys(task.category for task in tasks)
    ]
    longest = max((len(lane) for lane in lanes), default=0)
    turns = [lane[index] for index in range(longest) for lane in lanes if index < len(lane)]
    return turns[:limit]


async def _cases(
    todo: Sequence[Task],
    benchmark: Benchmark,
    model: ChatModel,
    settings: Settings,
    run: Run,
    business: Callable[[Task], LocalSandbox],
    concurrency: int,
    total: int,
) -> None:
    """Works the cases, so many at once; a model that cannot serve at all ends the run, one case never does."""
    gate = asyncio.Semaphore(concurrency)
    passed = 0
    with tqdm.tqdm(total=total, initial=total - len(todo), desc=settings.mode, unit="case") as bar:

        async def work(task: Task) -> None:
            nonlocal passed
            async with gate:
                record, solution = await _case(task, benchmark.tests[task.id], model, settings, run, business(task))
            run.keep(record, solution)
            passed += record.passed
            bar.set_postfix_str(f"passed={passed}")
            bar.update()

        running = [asyncio.create_task(work(task)) for task in todo]
        try:
            await asyncio.gather(*running)
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if isinstance(model, OpenAIChat):
                await model.aclose()


async def _case(
    task: Task, tests: Sequence[Example], model: ChatModel, settings: Settings, run: Run, business: LocalSandbox
) -> tuple[CaseRecord, Solution]:
    """Solves a task, then runs its workflow on the held-out tests, which nothing before has seen."""
    begun, clock = time.time(), time.monotonic()
    recorded = Recorded(model, run.folder / "exchanges" / f"{task.id}.jsonl")
    solution = await solve(task, business, recorded, settings)
    error = _endpoint_failure(solution)
    if error is None and solution.graph_valid and solution.workflow is not None:
        cases = [test.input for test in tests]
        traces = await asyncio.to_thread(run_batch, solution.workflow, cases, business)
        scores = [_score(trace, test) for trace, test in zip(traces, tests, strict=True)]
    else:
        scores = [Score(passed=False, error=error or "no sound workflow") for _ in tests]
    record = _record(task, solution, scores, error)
    spent = round(time.monotonic() - clock, 3)
    return record.model_copy(update={"started_at": round(begun, 3), "seconds": spent}), solution


def _stages(solution: Solution) -> list[Trace]:
    return [*solution.traces, *([solution.summary] if solution.summary else [])]


def _endpoint_failure(solution: Solution) -> str | None:
    """What kept a stage from being tried to its end: the first failure of the model's endpoint."""
    failed = (trace.error for trace in _stages(solution) if trace.stop == "model_error" and trace.error)
    return next((error.message for error in failed), None)


def _score(trace: Trace, test: Example) -> Score:
    judged = ExactMatch().evaluate(trace, test.output)
    error = f"{trace.error.type}: {trace.error.message}" if trace.error else None
    return Score(passed=judged.value == 1.0, actual=trace.answer, error=error)


def _record(task: Task, solution: Solution, scores: Sequence[Score], error: str | None) -> CaseRecord:
    traces = _stages(solution)
    passed = bool(scores) and all(score.passed for score in scores)
    anything = any(step.observation.ok for trace in traces for step in trace.tool_steps)
    return CaseRecord(
        id=task.id,
        category=task.category,
        difficulty=task.difficulty,
        exec_complete=solution.exec_complete,
        exec_correct=solution.exec_correct,
        graph_valid=solution.graph_valid,
        tests=tuple(scores),
        passed=passed,
        problems=tuple(map(str, solution.problems)),
        mti=solution.mti,
        failure_mode=failure_mode(solution.exec_complete, solution.graph_valid, passed, anything, error is not None),
        coerced=solution.coerced,
        parse=sum((_parse(trace) for trace in traces), ParseCounts()),
        execute=_usage(solution.traces),
        summarize=_usage([solution.summary] if solution.summary else []),
        error=error,
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
        stop=tuple(trace.stop for trace in traces),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def summarize_run(folder: Path) -> Summary:
    """Makes the summary of a run again from its records, and writes `summary.json` and `summary.md`.

    Raises:
        InputError: If the folder holds no run.
    """
    run = Run(folder)
    manifest = run.manifest()
    records = run.records()
    ordered = [records[name] for name in sorted(records)]
    summary = summarize_records(
        ordered, manifest["settings"]["model"], manifest["settings"]["mode"], manifest["benchmark"]["name"]
    )
    write_text(folder / "summary.json", dump_json(summary.model_dump(mode="json"), indent=1) + "\n")
    write_text(folder / "summary.md", f"{summary_table([summary])}\n{group_table(summary)}")
    return summary


def _manifest(options: RunOptions, settings: Settings) -> dict[str, Any]:
    """Everything that was set, and with what versions."""
    path = options.bench / "manifest.json"
    try:
        built = parse_json(read_text(path))
        benchmark = {"name": f"{built['name']}, seed {built['seed']}", "sha256": built["sha256"]}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None
    chosen = options.model_dump(mode="json", exclude={"bench", "concurrency"})
    return {
        "settings": {**chosen, **settings.model_dump(mode="json")},
        "benchmark": benchmark,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "git": _revision(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The revision of the project's checkout, if it is one."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _difference(held: Any, wanted: Any) -> str:
    fields = cast(dict[str, Any], held) if isinstance(held, dict) else None
    for key in wanted:
        if fields is None or fields.get(key) != wanted[key]:
            old = cast(Any, held) if fields is None else fields.get(key)
            return f"{key} was {dump_json(old)}, is {dump_json(wanted[key])}"
    return "it has other keys"

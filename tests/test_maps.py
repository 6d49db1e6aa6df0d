"""Where cases are evaluated: processes give what one process gives, and none is left behind."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import NUMBERS, answer, called, files, records, tiny_benchmark

from experiments import runner
from experiments.evaluating import Case, CaseResult, evaluate
from experiments.options import RunOptions
from experiments.runner import run_experiment
from experiments.services import Services
from flowmind.base.errors import InputError
from flowmind.base.processes import HelperEnded
from flowmind.build.settings import Settings
from flowmind.llm.recorded import Stored
from flowmind.maps.local import LocalMap
from flowmind.maps.processes import ProcessMap
from flowmind.trace.task import Benchmark, benchmark_tools

SETTINGS = Settings(mode="es-rr")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("maps") / "bench")


@pytest.fixture(scope="module")
def cases(bench: Path) -> list[Case]:
    benchmark = Benchmark.load(bench)
    return [Case(task, benchmark.tests[task.id], SETTINGS) for task in benchmark.tasks[:4]]


def services(bench: Path) -> Services:
    return Services(RunOptions(model="search", bench=bench), benchmark_tools(bench))


@pytest.fixture(scope="module")
def processes(bench: Path) -> Iterator[ProcessMap[Case, CaseResult]]:
    with services(bench) as used, ProcessMap[Case, CaseResult](evaluate, used, 2) as made:
        yield made


def timeless(result: CaseResult) -> dict[str, Any]:
    record = result.record.model_dump(mode="json", exclude={"started_at", "seconds"})
    for stage in ("execute", "summarize"):
        record[stage].pop("seconds")
    return record


def ignore(line: dict[str, Any]) -> None:
    pass


def test_processes_and_this_process_give_the_same_results_and_exchanges(
    bench: Path, cases: list[Case], processes: ProcessMap[Case, CaseResult]
) -> None:
    async def all_of_them(where: Any) -> tuple[list[CaseResult], list[list[dict[str, Any]]]]:
        lines: list[list[dict[str, Any]]] = [[] for _ in cases]
        found = [where.evaluate(case, own.append) for case, own in zip(cases, lines, strict=True)]
        return await asyncio.gather(*found), lines

    with services(bench) as used:
        local, here = asyncio.run(all_of_them(LocalMap(evaluate, used, used.limit)))
    remote, there = asyncio.run(all_of_them(processes))
    assert list(map(timeless, local)) == list(map(timeless, remote))
    assert [result.solution.workflow for result in local if result.solution] == [
        result.solution.workflow for result in remote if result.solution
    ]
    assert [[line["key"] for line in lines] for lines in here] == [[line["key"] for line in lines] for lines in there]
    assert all(result.record.passed for result in local) and all(len(lines) == 7 for lines in here)
    assert len(processes.pids) == 2


def test_a_case_its_services_and_its_result_pickle(bench: Path, cases: list[Case]) -> None:
    with services(bench) as used:
        copy = pickle.loads(pickle.dumps(used))
        case = pickle.loads(pickle.dumps(cases[0]))
        with copy:
            result = asyncio.run(evaluate(case, copy))
        assert timeless(pickle.loads(pickle.dumps(result))) == timeless(asyncio.run(evaluate(cases[0], used)))
    assert result.record.passed


def test_a_process_that_ends_fails_its_case_alone(cases: list[Case], processes: ProcessMap[Case, CaseResult]) -> None:
    async def both() -> list[CaseResult]:
        return list(await asyncio.gather(*(processes.evaluate(case, ignore) for case in cases[:2])))

    asyncio.run(both())
    killed, spared = processes.pids
    os.kill(killed, signal.SIGKILL)
    ended = []
    for _ in range(2):  # each process has a turn
        try:
            assert asyncio.run(processes.evaluate(cases[0], ignore)).record.passed
        except HelperEnded as error:
            ended.append(error)
    assert len(ended) == 1
    assert all(result.record.passed for result in asyncio.run(both()))
    assert spared in processes.pids and killed not in processes.pids and len(processes.pids) == 2


def test_an_error_that_ends_a_run_is_raised_as_it_is(
    cases: list[Case], processes: ProcessMap[Case, CaseResult]
) -> None:
    silent = Case(cases[0].task, cases[0].tests, SETTINGS, stored=Stored(), replay=True, file="run/exchanges/a.jsonl")
    with pytest.raises(InputError, match=r"^run/exchanges/a\.jsonl: no reply to a request of this run"):
        asyncio.run(processes.evaluate(silent, ignore))
    assert asyncio.run(processes.evaluate(cases[0], ignore)).record.passed


LEFT_BEHIND = """
import asyncio, os, pickle, signal, sys
from experiments.evaluating import evaluate
from flowmind.maps.processes import ProcessMap
case, services = pickle.load(sys.stdin.buffer)
processes = ProcessMap(evaluate, services, 1)
asyncio.run(processes.evaluate(case, lambda line: None))
print(*processes.pids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_the_processes_of_a_killed_process_end(bench: Path, cases: list[Case]) -> None:
    words = [sys.executable, "-c", LEFT_BEHIND]
    given = pickle.dumps((cases[0], services(bench)))
    done = subprocess.run(words, input=given, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    (pid,) = map(int, done.stdout.split())
    ends = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_a_run_in_processes_leaves_the_same_files(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    summaries: list[dict[str, Any]] = []

    class Counted(ProcessMap[Case, CaseResult]):
        def __init__(self, function: Any, used: Services, count: int) -> None:
            counts.append(count)
            super().__init__(function, used, count)

    monkeypatch.setattr(runner, "ProcessMap", Counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name, worth in (("one", 8), ("two", 2)):
        monkeypatch.setattr(runner, "WORTH_A_PROCESS", worth)
        options = RunOptions(model="search", bench=bench, limit=4)
        summaries.append(run_experiment(options, SETTINGS, tmp_path / name).model_dump())
        summaries[-1].pop("wall_s")
    assert counts == [2]
    assert summaries[0] == summaries[1] and summaries[0]["case_pass_rate"] == 100
    assert files(tmp_path / "one" / "workflows") == files(tmp_path / "two" / "workflows")
    keys = [
        [sorted(Stored.read(path).replies) for path in sorted((tmp_path / name / "exchanges").iterdir())]
        for name in ("one", "two")
    ]
    assert keys[0] == keys[1]


@pytest.mark.slow
def test_a_killed_process_costs_a_second_attempt(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ProcessMap[Case, CaseResult]] = []

    class Frail(ProcessMap[Case, CaseResult]):
        async def evaluate(self, case: Case, emit: Any) -> CaseResult:
            if not started:
                started.append(self)
                await super().evaluate(case, emit)
                os.kill(self.pids[0], signal.SIGKILL)
            return await super().evaluate(case, emit)

    monkeypatch.setattr(runner, "ProcessMap", Frail)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(runner, "WORTH_A_PROCESS", 2)
    summary = run_experiment(RunOptions(model="search", bench=bench, limit=4), SETTINGS, tmp_path / "run")
    assert started and (summary.cases, summary.errors, summary.case_pass_rate) == (4, 0, 100.0)


def test_the_first_answer_is_what_the_task_says(bench: Path, tmp_path: Path) -> None:
    assert called("exp", "--bench", bench, "--out", tmp_path, "--limit", 2, "--mode", "es-rr").returncode == 0
    for row in records(tmp_path):
        assert [score["actual"] for score in row["tests"]] == [
            answer(row["id"], score["input"]["n"]) for score in row["tests"]
        ]
        assert row["id"] in NUMBERS

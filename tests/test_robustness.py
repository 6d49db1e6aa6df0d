"""Runs that meet sick servers, that are run again or replayed: nothing is lost or invented."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tiny import (
    NUMBERS,
    ORDER,
    Row,
    called,
    capable,
    files,
    records,
    summary,
    task_in,
    tiny_benchmark,
    told_last,
    typed,
    with_server,
)

from experiments import driver, services
from experiments.options import RunOptions
from experiments.runner import run_experiment
from experiments.services import Services
from flowmind.build.settings import Settings
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.limiting import AdaptiveLimit
from flowmind.llm.testing import completion
from flowmind.protocols import ChatRequest, Reply

TIMES = ("seconds", "started_at", "wall_s", "crc")


def timeless(value: object) -> object:
    """A JSON value without what clocks say, and the checksums over it."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if key not in TIMES}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def left(run: Path) -> dict[str, object]:
    """All that a run leaves, without times: records in their order, traces, workflows, summary."""
    found: dict[str, object] = {"records": timeless(records(run)), "workflows": files(run / "workflows")}
    found["traces"] = {path.name: timeless(json.loads(path.read_text())) for path in sorted((run / "traces").iterdir())}
    return {**found, "summary": timeless(json.loads((run / "summary.json").read_text()))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A benchmark, and a run of four cases on it that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    bench = tiny_benchmark(folder / "bench")
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*with_server(server, bench, folder / "run")).returncode == 0
    return bench, folder / "run"


def sick(seed: int, share: float) -> Callable[[int, Row], Fault | str]:
    """A server that misbehaves on a share of its requests, in every way that servers do."""
    dice = Random(seed)
    faults: list[Callable[[Row], Fault]] = [
        lambda body: Fault(429, '{"error": {"message": "slow down"}}', {"Retry-After": "0"}),
        lambda body: Fault(500, "oops"),
        lambda body: Fault(503, ""),
        lambda body: Fault(drop=True),
        lambda body: Fault(body=completion(capable(body)), cut=True),
        lambda body: Fault(body=completion(capable(body)), cut=True, chunked=True),
        lambda body: Fault(body='{"choices": ['),
        lambda body: Fault(body='{"choices": []}'),
        lambda body: Fault(body='{"error": "overloaded"}'),
        lambda body: Fault(delay=30.0),
    ]
    return lambda number, body: dice.choice(faults)(body) if dice.random() < share else capable(body)


@pytest.mark.slow
def test_a_server_that_fails_every_third_request_changes_nothing(
    whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, undisturbed = whole
    run = tmp_path / "run"
    real = services.OpenAIChat.at
    monkeypatch.setattr(
        services.OpenAIChat,
        "at",
        lambda endpoint, **given: real(endpoint, **{**given, "timeout": 0.5, "backoff": 0.01}),
    )
    with FaultyServer(sick(7, 0.3)) as server:
        words = with_server(server, bench, run)
        for _ in range(5):
            assert called(*words).returncode == 0
            if summary(run)["errors"] == 0:
                break
        assert len(server.requests) > 28
    assert left(run) == left(undisturbed)


def test_a_finished_run_asks_nothing(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole
    copy = shutil.copytree(run, tmp_path / "run")
    with FaultyServer(lambda number, body: Fault(500, "must not be asked")) as server:
        assert called(*with_server(server, bench, copy)).returncode == 0
        assert server.requests == []
    assert left(copy) == left(run)


def test_records_that_were_lost_are_made_from_the_exchanges(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole
    copy = shutil.copytree(run, tmp_path / "run")
    for name in ("records.jsonl", "summary.json"):
        (copy / name).unlink()
    with FaultyServer(lambda number, body: Fault(500, "must not be asked")) as server:
        assert called(*with_server(server, bench, copy)).returncode == 0
        assert server.requests == []
    assert left(copy) == left(run)


def test_another_run_lends_its_replies(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole
    with FaultyServer(lambda number, body: Fault(500, "must not be asked")) as server:
        assert called(*with_server(server, bench, tmp_path / "new", "--reuse", run)).returncode == 0
        assert server.requests == []
    assert left(tmp_path / "new") == left(run)


def test_runs_that_lend_can_be_named_in_the_environment(
    whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, run = whole
    monkeypatch.setenv("FLOWMIND_REUSE", f"{tmp_path / 'other'}{os.pathsep}{run}")
    with FaultyServer(lambda number, body: Fault(500, "must not be asked")) as server:
        assert called(*with_server(server, bench, tmp_path / "new")).returncode == 0
        assert server.requests == []


def test_replay_makes_the_same_bytes_on_another_machine(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole
    copy = shutil.copytree(run, tmp_path / "elsewhere")
    for name in ("traces", "workflows"):
        shutil.rmtree(copy / name)
    for name in ("records.jsonl", "summary.json", "summary.md"):
        (copy / name).unlink()
    assert called("exp", "--replay", copy, "--bench", bench).returncode == 0
    fresh = tmp_path / "fresh"
    assert called("exp", "--replay", run, "--bench", bench, "--out", fresh).returncode == 0
    for made in (copy, fresh):
        for name in ("records.jsonl", "summary.json", "summary.md"):
            assert (made / name).read_bytes() == (run / name).read_bytes(), name
        for name in ("traces", "workflows"):
            assert files(made / name) == files(run / name)


def test_replay_of_what_is_not_there_is_one_line(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole
    copy = shutil.copytree(run, tmp_path / "run")
    path = copy / "exchanges" / f"{ORDER[1]}.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    done = called("exp", "--replay", copy, "--bench", bench)
    assert (done.returncode, done.stdout) == (2, "")
    assert told_last(done) == (
        f"flowmind: {path}: no reply to a request of this run; the run or the benchmark has changed"
    )
    other = shutil.copytree(bench, tmp_path / "other")
    (other / "manifest.json").write_text('{"name": "tiny", "seed": 1, "sha256": {}}')
    done = called("exp", "--replay", run, "--bench", other)
    assert done.returncode == 2
    assert "not the benchmark of this run, which is tiny, seed 0" in told_last(done)
    assert called("exp", "--replay", tmp_path / "nowhere", "--bench", bench).returncode == 2


def test_a_server_that_is_gone_ends_the_run_and_the_same_command_goes_on(
    whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, run = whole[0], tmp_path / "run"
    monkeypatch.setattr(driver, "LOST", 2)
    healthy = threading.Event()

    def answers(number: int, body: Row) -> Fault | str:
        dead = task_in(body) != ORDER[0] and not healthy.is_set()
        return Fault(400, '{"error": {"message": "gone"}}') if dead else capable(body)

    with FaultyServer(answers) as server:
        words = with_server(server, bench, run)
        done = called(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"m at {server.url} failed 2 cases in a row" in told_last(
            done
        ) and "the same command goes on from there" in told_last(done)
        assert [row["id"] for row in records(run) if row["error"] is None] == [ORDER[0]]
        healthy.set()
        assert called(*words).returncode == 0
    assert left(run) == left(whole[1])


class Broken:
    """A model with a defect, on one task."""

    name = "search"

    def __init__(self, mark: str) -> None:
        self.mark = mark

    async def complete(self, request: ChatRequest) -> Reply:
        if any(self.mark in message.content for message in request.messages):
            raise ZeroDivisionError("a defect")
        return Reply(text='{"reasoning": "", "action": "finish", "action_input": {"answer": null}}')

    async def aclose(self) -> None:
        pass


def test_a_defect_in_one_case_is_its_error_and_the_others_go_on(
    whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added, factor = NUMBERS[ORDER[1]]
    broken = Broken(f"Add {added} to n, then multiply the sum by {factor}.")
    monkeypatch.setattr(services, "model_named", lambda name, sandbox: broken)
    run = tmp_path / "run"
    summary = run_experiment(
        RunOptions(model="search", bench=whole[0], limit=4, pick="first"), Settings(mode="es-rr"), run
    )
    assert (summary.cases, summary.errors) == (3, 1)
    row = next(row for row in records(run) if row["id"] == ORDER[1])
    assert row["error"] == f"ZeroDivisionError: a defect (see errors/{ORDER[1]}.txt)"
    assert "in complete" in (run / "errors" / f"{ORDER[1]}.txt").read_text()


@pytest.mark.parametrize(
    ("flag", "value", "stop"),
    [("--turn-limit", 5, "turns"), ("--token-limit", 24, "tokens"), ("--time-limit", 0.01, "seconds")],
)
def test_the_limits_of_a_case_are_stop_reasons(
    flag: str, value: object, stop: str, whole: tuple[Path, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    used = {"prompt_tokens": 10, "completion_tokens": 5}
    late = FaultyServer(lambda number, body: Fault(body=completion(capable(body), used), delay=0.02))
    with late as server:
        assert called(*with_server(server, whole[0], run, flag, value)).returncode == 0
    for row in records(run):
        stops = row["execute"]["stop"] + row["summarize"]["stop"]
        assert stop in stops and not row["scores"]["passed"]["value"] and row["error"] is None
        if flag == "--turn-limit":
            assert row["execute"]["turns"] + row["summarize"]["turns"] == 5
        if flag == "--token-limit":
            assert row["execute"]["output_tokens"] + row["summarize"]["output_tokens"] == 25


def test_each_stage_may_have_an_endpoint_of_its_own(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole[0], tmp_path / "run"
    with FaultyServer(lambda number, body: capable(body)) as one, FaultyServer(lambda n, body: capable(body)) as other:
        words = with_server(one, bench, run, "--summarize-base-url", other.url)
        assert called(*words).returncode == 0
        working = [["Work on this input" in json.dumps(body) for body in server.requests] for server in (one, other)]
    assert len(working[0]) == 12 and len(working[1]) == 16
    assert "Build the workflow." not in json.dumps(one.requests)
    manifest = json.loads((run / "manifest.json").read_text())
    assert set(manifest["servers"]) == {"execute", "summarize"}
    assert left(run)["records"] == left(whole[1])["records"]


def test_many_cases_at_once_leave_what_one_after_the_other_does(whole: tuple[Path, Path], tmp_path: Path) -> None:
    bench, run = whole[0], tmp_path / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        words = [word for word in with_server(server, bench, run) if word not in ("--concurrency", "1")]
        assert called(*words).returncode == 0
    assert left(run) == left(whole[1])


def test_auto_is_an_adaptive_limit_and_a_number_a_fixed_one(whole: tuple[Path, Path]) -> None:
    with FaultyServer(lambda number, body: capable(body)) as server:
        free = Services(RunOptions(model="m", bench=whole[0], base_url=(server.url,)), {})
        fixed = Services(RunOptions(model="m", bench=whole[0], base_url=(server.url,), concurrency=3), {})
    assert isinstance(free.limit, AdaptiveLimit) and not isinstance(fixed.limit, AdaptiveLimit)
    assert fixed.limit.current == 3
    for bad in ("0", "many", "-1", "1001"):
        assert "neither auto nor a number" in typed("exp", "--concurrency", bad).stderr


# Grids


@pytest.fixture
def grid(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "Both stages"\nanalyses = ["table1", "compared"]\nmodels = ["search"]\nmodes = ["es-rr", "es-pe"]\n'
        "limit = 4\n"
    )
    yield path


def test_a_grid_runs_all_its_cells_and_again_none(grid: Path, whole: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("exp", "--config", grid, "--bench", whole[0], "--out", tmp_path / "runs")
    done = called(*words)
    assert done.returncode == 0, done.stderr
    runs = [tmp_path / "runs" / f"search-{mode}-spread4" for mode in ("es-rr", "es-pe")]
    assert [summary(run)["case_pass_rate"] for run in runs] == [100.0, 100.0]
    assert "search (no LLM) es-rr  4/4 100.0%" in done.stdout and "search (no LLM) es-pe  4/4 100.0%" in done.stdout
    before = [left(run) for run in runs]
    again = called(*words)
    assert (again.returncode, [left(run) for run in runs]) == (0, before)
    tables = called("report", "--config", grid, "--root", tmp_path / "runs", "--tables")
    assert tables.returncode == 0
    assert "### Main results (table 1)" in tables.stdout and "### Compared on the same cases" in tables.stdout
    part = called("exp", "--config", grid, "--mode", "react", "--bench", whole[0], "--out", tmp_path / "runs")
    assert (part.returncode, part.stdout) == (2, "")
    assert told_last(part) == "flowmind: --mode: 'react' is not in the grid, which has es-rr, es-pe"


def test_the_line_that_a_grid_ends_with_reports_on_its_runs(
    grid: Path, whole: tuple[Path, Path], tmp_path: Path
) -> None:
    choice = ("--limit", "2", "--pick", "spread", "--mode", "es-pe", "--out", tmp_path / "some runs")
    done = called("exp", "--config", grid, "--bench", whole[0], *choice)
    assert done.returncode == 0, done.stderr
    program, *words = shlex.split(done.stdout.splitlines()[-1])
    assert (program, words[-1]) == ("flowmind", str(tmp_path / "some runs"))
    told = called(*words, "--tables")
    assert told.returncode == 0 and "| search (no LLM) | es-pe | 2 |" in told.stdout, told.stderr


def test_a_grid_asks_for_all_its_models_first(grid: Path, whole: tuple[Path, Path], tmp_path: Path) -> None:
    grid.write_text(grid.read_text().replace('["search"]', '["search", "qwen3-8b"]'))
    done = typed("exp", "--config", grid, "--bench", whole[0], "--out", tmp_path / "runs")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "qwen3-8b" in done.stderr and "--model NAME runs a part of the grid" in done.stderr
    assert not (tmp_path / "runs").exists()

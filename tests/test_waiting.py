"""Servers that fail, refuse or keep one waiting: what the user sees, and the exit code."""

from __future__ import annotations

import json
import logging
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import (
    ORDER,
    Row,
    called,
    capable,
    command,
    environment,
    records,
    summary,
    task_in,
    tiny_benchmark,
    told_last,
    typed,
    with_server,
)

from experiments import services
from flowmind.llm import waiting
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.waiting import Waits

PAGE = "<!DOCTYPE html><html><head><title>Welcome to nginx</title></head></html>"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that repeat requests at once."""
    real = services.OpenAIChat.at
    monkeypatch.setattr(
        services.OpenAIChat, "at", lambda endpoint, **given: real(endpoint, **{**given, "backoff": 0.001})
    )


# A run without any answer


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            Fault(500, '{"error": {"message": "out of memory"}}'),
            "last with HTTP 500: out of memory; ",
        ),
        (Fault(502, PAGE), "last with HTTP 502: Welcome to nginx; "),
        (Fault(400, '{"error": {"message": "no room"}}'), "last with: m: HTTP 400: no room; "),
        (Fault(drop=True), "last with ServerDisconnectedError: Server disconnected; "),
        (Fault(body='{"choices": []}'), "last with a body that is no completion: no message in it: "),
    ],
    ids=["500", "502 page", "400", "drop", "no choices"],
)
@pytest.mark.usefixtures("hasty")
def test_a_run_in_which_no_case_is_answered_is_one_line(fault: Fault, words: str, tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    healed = threading.Event()
    with FaultyServer(lambda number, body: capable(body) if healed.is_set() else fault) as server:
        told = with_server(server, bench, run, "--limit", 2)
        done = called(*told)
        assert (done.returncode, done.stdout) == (2, "")
        line = told_last(done)
        assert (
            line.startswith(f"flowmind: m at {server.url}: no answer in any of 2 cases, last with: m") and words in line
        )
        assert line.endswith(f"{run} keeps what is complete, and the same command goes on from there")
        assert "(0/0)" not in (run / "summary.md").read_text() and summary(run)["errors"] == 2
        assert summary(run)["failure_modes"] == {}
        more = called(*told, "--limit", 4)
        assert (more.returncode, more.stdout) == (2, "")
        assert told_last(more).startswith(f"flowmind: m at {server.url} failed 5 cases in a row, last with: m")
        healed.set()
        assert called(*told, "--limit", 4).returncode == 0
    assert (summary(run)["cases"], summary(run)["errors"]) == (4, 0)


def test_a_server_of_pages_is_refused_at_once(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    with FaultyServer(lambda number, body: Fault(body=PAGE, headers={"Content-Type": "text/html"})) as server:
        done = typed(*with_server(server, bench, run))
        assert len(server.requests) == 2
    page = "answers with a page instead of a completion ('Welcome to nginx'); check the base URL"
    assert (done.returncode, done.stdout) == (2, "")
    assert told_last(done).startswith(f"flowmind: m: {server.url}/chat/completions {page}; {run} keeps ")


@pytest.mark.usefixtures("hasty")
def test_a_server_that_ends_in_the_middle_of_a_run_leaves_a_part_of_it(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"

    def answers(number: int, body: Row) -> Fault | str:
        if task_in(body) == ORDER[0]:
            return capable(body)
        ended.set()
        return Fault(drop=True)

    ended = threading.Event()
    server = FaultyServer(answers)
    with server:
        told = with_server(server, bench, run, "--limit", 2)

        def close() -> None:
            ended.wait(60)
            server._http.shutdown()
            server._http.server_close()

        closer = threading.Thread(target=close)
        closer.start()
        done = called(*told)
        closer.join()
    assert "Traceback" not in done.stderr and "never retrieved" not in done.stderr
    assert done.returncode == 1
    first, second = records(run)
    assert first["id"] == ORDER[0] and first["error"] is None and "Cannot connect to host 127.0.0.1" in second["error"]
    assert done.stdout.splitlines()[1].startswith("m es-rr  1/1 100.0%")
    assert "1 more case ended with an error of the model's endpoint" in " ".join(done.stdout.split())


@pytest.mark.usefixtures("hasty")
def test_a_grid_without_any_answer_ends_as_a_run_does(tmp_path: Path) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    (tmp_path / "grid.toml").write_text('title = "t"\nmodels = ["m"]\nmodes = ["es-rr", "es-pe"]\nlimit = 2\n')
    with FaultyServer(lambda number, body: Fault(500, "oops")) as server:
        words = (
            "--config",
            tmp_path / "grid.toml",
            "--base-url",
            server.url,
            "--bench",
            bench,
            "--out",
            tmp_path / "runs",
        )
        done = called("exp", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told_last(done).startswith(
        f"flowmind: m at {server.url}: no answer in any of 2 cases, last with: m failed 6 times"
    )


# Lines about waiting


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_lines_are_few_however_many_requests_wait(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    waits = Waits("m", clock)
    times: list[float] = []
    for second in range(3_600):
        clock.now = float(second)
        for _ in range(8):
            before = len(caplog.messages)
            waits.before_retry("HTTP 429: slow\n down", 19.2, limited=True)
            times += [clock.now] * (len(caplog.messages) - before)
    assert times[:5] == [0, 5, 15, 35, 75] and set(map(float.__sub__, times[5:], times[4:])) == {60.0}
    assert set(caplog.messages) == {"m: rate-limited, next try in 20 s (HTTP 429: slow down)"}
    clock.now += 1_000
    waits.before_retry("HTTP 500: oops", 1.0)
    clock.now += 5
    waits.before_retry("HTTP 500: oops", 0.9)
    waits.before_retry("HTTP 503", 1.5)
    assert caplog.messages[-2:] == ["m: HTTP 500: oops; next try in 1 s", "m: HTTP 503; next try in 2 s"]


def test_a_reply_that_does_not_come_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "SLOW", 0.05)
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    slow = Fault(delay=0.4, status=400, body="{}")
    with FaultyServer(lambda number, body: capable(body) if number else slow) as server:
        done = called(*with_server(server, bench, run))
    assert done.returncode == 0
    assert [message for message in caplog.messages if "still waiting" in message] == [
        "m: no reply for 0 s; still waiting"
    ]
    assert done.stderr.count("m: no reply for 0 s; still waiting\n") == 1  # above the bar
    assert logging.getLogger("flowmind").handlers == []


def limited(number: int, body: Row) -> Fault:
    return Fault(429, '{"error": {"message": "slow down"}}', {"Retry-After": "30"})


LINE = "m: rate-limited, next try in 30 s (HTTP 429: slow down)"


def interrupted(
    words: tuple[object, ...], number: signal.Signals, line: str = LINE, folder: Path | None = None
) -> tuple[int, str, str]:
    """Starts a command, sends it a signal as soon as it prints a line, and gives its exit code and output."""
    process = subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stderr is not None and process.stdout is not None
        told = ""
        while line not in told:
            part = process.stderr.readline()
            assert part, told
            told += part
        process.send_signal(number)
        told += process.stderr.read()
        return process.wait(60), process.stdout.read(), told
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_run_that_is_limited_for_ever_says_so_and_can_be_ended(
    number: signal.Signals, code: int, word: str, tmp_path: Path
) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "a run"
    with FaultyServer(limited) as server:
        words = with_server(server, bench, run)
        ended, out, told = interrupted(words, number)
    again = shlex.join(["python", "-m", "flowmind.cli", *map(str, words)])
    assert (ended, out) == (code, "") and "Traceback" not in told
    last = f"flowmind: {word} after 0 of 4 cases; the same command goes on from there: {again}"
    assert told.splitlines()[-1] == last


def test_a_benchmark_that_is_being_built_can_be_interrupted(tmp_path: Path) -> None:
    line = "flowmind: bench: building the benchmark, once"
    code, out, told = interrupted(("exp",), signal.SIGINT, line, tmp_path)  # ends when no worker holds the pipe
    assert (code, out) == (130, "") and "Traceback" not in told
    assert told.splitlines()[-1].endswith("flowmind: interrupted")
    assert [path.name for path in tmp_path.iterdir() if path.name != ".bench.building"] == []


def test_solving_a_task_says_that_it_waits(tmp_path: Path) -> None:
    task = {"query": "Double n.", "examples": [{"input": {"n": 2}, "output": 4}]}
    (tmp_path / "task.json").write_text(json.dumps(task))
    (tmp_path / "tools.py").write_text('def double(n: int) -> int:\n    """Double a number."""\n    return 2 * n\n')
    with FaultyServer(limited) as server:
        files = ("--task", tmp_path / "task.json", "--tools", tmp_path / "tools.py")
        words = ("solve", *files, "--model", "m", "--base-url", server.url)
        ended, out, told = interrupted(words, signal.SIGINT)
    assert (ended, out, told.splitlines()) == (130, "", [LINE, "flowmind: interrupted"])


def test_a_server_that_is_late_with_its_list_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from flowmind.llm import models

    monkeypatch.setattr(models, "_LATE", 0.05)
    entries: Callable[..., list[Row]] = models.model_entries

    def late(*given: object) -> list[Row]:
        threading.Event().wait(0.3)
        return entries(*given)

    monkeypatch.setattr(models, "model_entries", late)
    with FaultyServer(lambda number, body: "") as server:
        assert models.reach("m", server.url).served_name == "m"
    assert caplog.messages == [f"model 'm': waiting for {server.url}, which has not answered yet"]

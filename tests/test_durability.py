"""A run that dies at any point, meets a full disk or a flipped bit, and is run again, comes to the same end."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from forked import forker
from pydantic import BaseModel
from test_robustness import left
from tiny import (
    ORDER,
    Row,
    called,
    capable,
    command,
    environment,
    files,
    records,
    tiny_benchmark,
    told_last,
    with_server,
)

from experiments import evaluating
from experiments.folder import Run, Stages
from experiments.record import CaseRecord
from flowmind.base import checksums as store
from flowmind.base import crash_points as faults
from flowmind.base.errors import InputError
from flowmind.llm import processes
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.recorded import Stored

KILLS = int(os.environ.get("FLOWMIND_KILLS", "8"))
"""Of one run, at random moments; FLOWMIND_KILLS=50 is for a thorough day."""


def start(words: tuple[object, ...], log: Path, fault: str = "", file_size: int = 0) -> int:
    """Starts a command in a process of its own; returns its process id."""
    env = {**environment(), "FLOWMIND_FAULT": fault} if fault else environment()
    with Path(os.devnull).open("rb") as nothing, log.open("wb") as file:
        return forker().start("flowmind.cli", *words, files=(nothing, file, file), env=env, file_size=file_size)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("tiny") / "bench")


def words(server: FaultyServer, bench: Path, run: Path, cases: int, at_once: int = 1) -> tuple[object, ...]:
    return *with_server(server, bench, run), "--limit", cases, "--concurrency", at_once


def undisturbed(bench: Path, run: Path, cases: int) -> Path:
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*words(server, bench, run, cases)).returncode == 0
        assert len(server.requests) == 7 * cases
    return run


@pytest.fixture(scope="module")
def two(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two cases that nothing disturbed."""
    return undisturbed(bench, tmp_path_factory.mktemp("two") / "run", 2)


@pytest.fixture(scope="module")
def eight(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight cases that nothing disturbed."""
    return undisturbed(bench, tmp_path_factory.mktemp("eight") / "run", 8)


def asked(body: Row) -> str:
    """What makes a request another one."""
    return json.dumps(body["messages"])


def stored(run: Path) -> set[str]:
    """The requests whose replies the exchanges hold; none of them twice."""
    found: list[str] = []
    for path in sorted((run / "exchanges").glob("*.jsonl")):
        messages: list[Row] = []
        whole = path.read_bytes().rpartition(b"\n")[0]
        for line in map(json.loads, whole.splitlines()):
            if "case" not in line:
                messages = [*messages[: line["keep"]], *line["messages"]]
            if "reply" in line:
                found.append(json.dumps(messages))
    assert len(found) == len(set(found))
    return set(found)


@contextmanager
def only_what_is_not_stored(server: FaultyServer, run: Path) -> Generator[None]:
    """Within, no request may come that the exchanges answered before."""
    held, before = stored(run), len(server.requests)
    yield
    assert [body for body in server.requests[before:] if asked(body) in held] == []


def finished(server: FaultyServer, told: tuple[object, ...], run: Path, whole: Path) -> None:
    """The same command once more: it asks for nothing that is stored, and leaves what an undisturbed run leaves."""
    with only_what_is_not_stored(server, run):
        done = called(*told)
    assert done.returncode == 0, done.stderr
    assert left(run) == left(whole)
    assert stored(run) >= stored(whole)
    assert sorted(path.name for path in run.rglob("*")) == sorted(path.name for path in whole.rglob("*"))


# Killed at a point


def late(number: int, body: Row) -> Fault | str:
    """The first request for the first task fails, so that its record comes last and has to be put in order."""
    return Fault(400, '{"error": {"message": "not yet"}}') if number == 0 else capable(body)


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_run_that_is_killed_at_a_point_comes_to_the_same_end(
    point: str, bench: Path, two: Path, tmp_path: Path
) -> None:
    run, write = tmp_path / "run", point.partition("-")[2]
    passages = {"exchange": 9, "record": 2, "trace": 2, "workflow": 2, "end": 2, "summary": 2}.get(write, 1)
    with FaultyServer(late if write == "order" else lambda number, body: capable(body)) as server:
        told = words(server, bench, run, 2)
        killed = start(told, tmp_path / "log", f"{point}:{passages}")
        assert forker().wait(killed) == -signal.SIGKILL
        before = len(server.requests)
        finished(server, told, run, two)
        if write == "order":
            assert len(server.requests) == before
        else:  # a reply that was there and not yet stored is all that can be lost
            assert len(server.requests) == 14 + (point in ("before-exchange", "mid-exchange"))


@pytest.mark.parametrize("text", ["nowhere", "before-record:0", "before-record:x", "before-record:"])
def test_a_point_that_is_not_there_is_one_line_with_those_that_are(
    text: str, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWMIND_FAULT", text)
    done = called("exp", "--bench", bench, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"flowmind: FLOWMIND_FAULT={text!r}: give NAME or NAME:N, where NAME is one of ")
    assert all(point in done.stderr for point in faults.POINTS)
    assert not (tmp_path / "run").exists()


# Killed at any moment


class Killing:
    """A capable model that ends a process when it has been asked a number of times: before, with or after its reply."""

    def __init__(self) -> None:
        self.pid = 0
        self.left = -1
        self.delay = 0.0
        self.at = threading.Event()

    def aim(self, left: int, delay: float) -> None:
        """The next process is to be killed, so many seconds after that request came; 0: before it is answered."""
        self.pid, self.left, self.delay = 0, left, delay
        self.at.clear()

    def hit(self) -> None:
        assert self.at.wait(60)
        os.kill(self.pid, signal.SIGKILL)

    def __call__(self, number: int, body: Row) -> str:
        self.left -= 1
        if self.left == 0:
            if self.delay:
                threading.Timer(self.delay, self.hit).start()
            else:
                self.hit()
        return capable(body)


def test_a_run_that_is_killed_again_and_again_comes_to_the_same_end(bench: Path, eight: Path, tmp_path: Path) -> None:
    run, dice, model = tmp_path / "run", Random(23), Killing()
    most, kills = max(2, 2 * 56 // KILLS - 3), 0
    with FaultyServer(model) as server:
        told = words(server, bench, run, 8, 2)
        while kills < KILLS:
            model.aim(dice.randint(1, most), dice.choice((0.0, dice.random() / 50)))
            with only_what_is_not_stored(server, run):
                model.pid = start(told, tmp_path / "log")
                model.at.set()
                ended = forker().wait(model.pid)
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
            kills += 1
        model.left = -1
        finished(server, told, run, eight)
        # At most two requests are on the way when the process dies.
        assert len(server.requests) <= 56 + 2 * kills
    assert kills == KILLS


# Workers


def workers_of(pid: int) -> list[int]:
    """The processes below a process: what it has started, and what they have."""
    try:
        lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]  # of each thread
    except OSError:
        return []
    children = [int(child) for child in itertools.chain.from_iterable(lists)]
    return [*children, *itertools.chain.from_iterable(map(workers_of, children))]


class Sparing:
    """A capable model that lets one look at the process that asks it, while it waits for an answer."""

    def __init__(self, at: int, look: Callable[[int], None]) -> None:
        self.pid = 0
        self.ready = threading.Event()
        self._at = at
        self._look = look

    def __call__(self, number: int, body: Row) -> str:
        if number == self._at:
            assert self.ready.wait(60)
            self._look(self.pid)
        return capable(body)


def started(model: Sparing, told: tuple[object, ...], log: Path) -> int:
    """Runs a command under the eyes of a model; gives its exit code."""
    model.pid = pid = start(told, log)
    model.ready.set()
    return forker().wait(pid)


@pytest.mark.parametrize("depth", ["zygote", "worker"])
def test_a_worker_that_is_killed_changes_nothing(depth: str, bench: Path, two: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(pid: int) -> None:
        zygote, *workers = workers_of(pid)
        killed.append(zygote if depth == "zygote" else workers[0])
        os.kill(killed[0], signal.SIGKILL)

    run, model = tmp_path / "run", Sparing(1, kill)  # the next is a single call
    with FaultyServer(model) as server:
        told = words(server, bench, run, 2)
        assert started(model, told, tmp_path / "log") == 0
        assert len(server.requests) == 14
    assert len(killed) == 1
    assert left(run) == left(two)


def test_workers_do_not_outlive_a_run_that_is_killed(bench: Path, tmp_path: Path) -> None:
    seen: dict[int, str | None] = {}

    def kill(pid: int) -> None:
        seen.update({worker: processes.started(worker) for worker in workers_of(pid)})
        os.kill(pid, signal.SIGKILL)

    model = Sparing(2, kill)
    with FaultyServer(model) as server:
        told = words(server, bench, tmp_path / "run", 2)
        assert started(model, told, tmp_path / "log") == -signal.SIGKILL
    assert len(seen) >= 2
    ends = threading.Event()
    for _ in range(600):
        if not (alive := [pid for pid, begun in seen.items() if begun and processes.started(pid) == begun]):
            break
        ends.wait(0.05)
    assert alive == []


# Told to stop


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_run_that_is_told_to_stop_settles_and_goes_on(
    number: signal.Signals, code: int, word: str, bench: Path, two: Path, tmp_path: Path
) -> None:
    released = threading.Event()

    def stop(pid: int) -> None:
        os.kill(pid, number)
        released.wait(60)

    run, model = tmp_path / "run", Sparing(9, stop)
    with FaultyServer(model) as server:
        told = words(server, bench, run, 2)
        assert started(model, told, tmp_path / "log") == code
        released.set()
        said = (tmp_path / "log").read_text()
        assert said.splitlines()[-1].startswith(f"flowmind: {word} after 1 of 2 cases; the same command ")
        assert "Traceback" not in said
        assert [row["id"] for row in records(run)] == ORDER[:1]
        assert json.loads((run / "summary.json").read_text())["cases"] == 1
        finished(server, told, run, two)
        assert len(server.requests) == 14 + 1


# Disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 400 kB."""
    made = tmp_path / "disk"
    made.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", made], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield made
    subprocess.run(["umount", "-l", made], check=True)


@pytest.mark.parametrize("free", [0, 2, 9])
def test_a_full_disk_ends_a_run_in_one_line_and_loses_nothing(free: int, bench: Path, two: Path, disk: Path) -> None:
    run, ballast = disk / "run", disk / "ballast"
    block = os.statvfs(disk).f_bsize
    with FaultyServer(lambda number, body: capable(body)) as server:
        told = words(server, bench, run, 2)
        ballast.write_bytes(bytes(block * (os.statvfs(disk).f_bavail - free)))
        done = called(*told)
        assert (done.returncode, done.stdout) == (2, "")
        assert told_last(done).startswith(f"flowmind: {run}")
        assert "No space left on device" in told_last(done)
        assert len(server.requests) < 14
        ballast.unlink()
        finished(server, told, run, two)
        assert len(server.requests) <= 14 + 1


def test_a_file_that_may_not_grow_ends_a_run_in_one_line_and_loses_nothing(
    bench: Path, two: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        told = words(server, bench, run, 2)
        limited = start(told, tmp_path / "log", file_size=9_000)
        assert forker().wait(limited) == 2
        path = run / "exchanges" / f"{ORDER[0]}.jsonl"
        said = (tmp_path / "log").read_text()
        assert said.splitlines()[-1] == (
            f"flowmind: {path}: File too large; stored results are kept, and the same command continues the run"
        )
        assert "Traceback" not in said
        assert path.read_bytes().endswith(b"}\n")
        assert 0 < len(stored(run)) == len(server.requests) - 1
        finished(server, told, run, two)


def test_a_folder_that_cannot_be_written_is_one_line(bench: Path, two: Path, disk: Path) -> None:
    run = shutil.copytree(two, disk / "run")
    before = files(run / "exchanges")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with FaultyServer(lambda number, body: capable(body)) as server:
        for out in (run, disk / "new"):
            done = called(*words(server, bench, out, 2))
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
            assert done.stderr.startswith(f"flowmind: --out {out}: ") and "Read-only file system" in done.stderr
        assert server.requests == []
    assert files(run / "exchanges") == before


# Damage


class Kept(BaseModel):
    """What a line holds."""

    key: str
    reply: Row
    keep: int | None


def flip(path: Path, old: bytes, new: bytes) -> int:
    """Changes a byte in the middle of a file, which stays valid; gives its line."""
    data = path.read_bytes()
    assert len(old) == len(new)
    at = data.index(old, len(data) // 3)
    path.write_bytes(data[:at] + new + data[at + len(old) :])
    return data[:at].count(b"\n") + 1


def without(path: Path, number: int) -> None:
    """Removes a line."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[: number - 1], *lines[number:]]))


def test_every_flipped_bit_of_a_line_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    value = {"reply": {"text": 'say "é"\\n', "seconds": 0.5}, "key": "c0ffee", "keep": None}
    store.append(path, value, "exchange")
    (whole,) = store.read(path, Kept)
    data = path.read_bytes()
    for at, bit in itertools.product(range(len(data) - 1), range(8)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        try:
            read = list(store.read(path, Kept))
        except InputError:
            continue
        assert read == [whole], (at, bit)  # it was in the name of the checksum


def test_a_changed_exchange_is_named_and_made_again(bench: Path, two: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two, tmp_path / "run")
    path = run / "exchanges" / f"{ORDER[1]}.jsonl"
    number = flip(path, b"multiply", b"multiplz")
    told = f"flowmind: {path}, line {number}: its checksum does not match: it was changed after it was written; "
    (run / "records.jsonl").unlink()
    with FaultyServer(lambda number, body: capable(body)) as server:
        for given in (words(server, bench, run, 2), ("exp", "--replay", run, "--bench", bench)):
            done = called(*given)
            assert (done.returncode, done.stdout) == (2, "")
            assert told_last(done) == f"{told}remove that line, and the same command writes it again"
        assert server.requests == []
        without(path, number)
        assert called(*words(server, bench, run, 2)).returncode == 0
        assert len(server.requests) == 1
    assert left(run) == left(two)


def test_a_changed_exchange_of_a_finished_case_is_named(bench: Path, two: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two, tmp_path / "run")
    path, id = run / "exchanges" / f"{ORDER[1]}.jsonl", ORDER[1]
    number = flip(path, b"multiply", b"multiplz")
    with FaultyServer(lambda number, body: capable(body)) as server:
        for given in (words(server, bench, run, 2), ("report", run)):
            done = called(*given)
            assert done.returncode == 2
            assert f"flowmind: {path}, line {number}: its checksum does not match: " in done.stderr
            assert f"remove that line and the line of {id!r} in {run / 'records.jsonl'}" in done.stderr
        assert server.requests == []
        without(path, number)
        without(run / "records.jsonl", 2)
        assert called(*words(server, bench, run, 2)).returncode == 0
        assert len(server.requests) == 1
    assert left(run) == left(two)


def test_lines_are_verified_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    store.append(path, {"a": "é"}, "exchange")
    with path.open("a") as file:
        file.write('{"written": "before there were checksums"}\n{"torn')
    store.verify(path, "")
    store.verify(tmp_path / "missing.jsonl", "")
    path.write_bytes(path.read_bytes().replace(b"before", b"b fore"))
    store.verify(path, "")
    path.write_bytes(path.read_bytes().replace("é".encode(), "è".encode()))
    with pytest.raises(InputError, match=r"line 1: its checksum does not match: .*; look"):
        store.verify(path, "look")


def test_a_changed_record_is_named_and_made_again(bench: Path, two: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two, tmp_path / "run")
    path = run / "records.jsonl"
    number = flip(path, b'"turns":3', b'"turns":7')
    with FaultyServer(lambda number, body: capable(body)) as server:
        for told in (words(server, bench, run, 2), ("report", run, "--tables")):
            done = called(*told)
            assert (done.returncode, done.stdout) == (2, "")
            assert told_last(done).startswith(f"flowmind: {path}, line {number}: its checksum does not match: ")
        without(path, number)
        assert called(*words(server, bench, run, 2)).returncode == 0
        assert server.requests == []
    assert left(run) == left(two)


def test_a_changed_manifest_or_trace_is_named(bench: Path, two: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two, tmp_path / "run")
    trace = run / "traces" / f"{ORDER[0]}.json"
    flip(trace, b"multiply", b"multiplz")
    with pytest.raises(InputError, match=f"{trace}: its checksum does not match"):
        Run(run).stages(ORDER[0])
    assert called("exp", "--replay", run, "--bench", bench).returncode == 0
    assert files(run / "traces") == files(two / "traces")
    manifest = run / "manifest.json"
    flip(manifest, b"pydantic", b"pydantjc")
    with FaultyServer(lambda number, body: capable(body)) as server:
        for told in (words(server, bench, run, 2), ("report", run, "--tables")):
            done = called(*told)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
            assert done.stderr.startswith(f"flowmind: {manifest}: its checksum does not match: ")
            assert done.stderr.endswith("; without it, the run's command writes it again\n")


def test_a_run_from_before_there_were_checksums_is_read(bench: Path, two: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two, tmp_path / "run")
    for path in (*run.glob("*/*.jsonl"), run / "records.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "crc"}) + "\n" for row in rows))
    for path in (*run.glob("traces/*.json"), run / "manifest.json"):
        row = json.loads(path.read_text())
        del row["crc"]
        path.write_text(json.dumps(row))
    assert Run(run).manifest == Run(two).manifest
    assert Run(run).stages(ORDER[0]) == Run(two).stages(ORDER[0]) != Stages()
    exchanges = [folder / "exchanges" / f"{ORDER[0]}.jsonl" for folder in (run, two)]
    assert Stored.read(exchanges[0]) == Stored.read(exchanges[1])
    with FaultyServer(lambda number, body: Fault(500, "must not be asked")) as server:
        assert called(*words(server, bench, run, 2)).returncode == 0
        assert server.requests == []
    assert left(run) == left(two)
    assert (run / "records.jsonl").read_bytes() == (two / "records.jsonl").read_bytes()


# Nothing else decides


def test_a_clock_that_is_set_back_makes_no_time_negative(
    bench: Path, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = itertools.count(2_000_000_000, -86_400)
    clock = SimpleNamespace(time=lambda: float(next(days)), monotonic=evaluating.time.monotonic)
    monkeypatch.setattr(evaluating, "time", clock)
    run = undisturbed(bench, tmp_path / "run", 2)
    assert left(run) == left(two)
    kept = [CaseRecord.model_validate(row) for row in records(run)]
    assert kept[0].started_at > kept[1].started_at
    assert all(0 <= part.seconds < 60 for record in kept for part in (record, record.execute, record.summarize))
    assert 0 <= json.loads((run / "summary.json").read_text())["wall_s"] < 60
    assert called("report", run, "--tables").returncode == 0


@pytest.mark.parametrize("at_once", [2, 8])
def test_how_many_cases_are_worked_on_at_once_changes_nothing(
    at_once: int, bench: Path, eight: Path, tmp_path: Path
) -> None:
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*words(server, bench, tmp_path / "run", 8, at_once)).returncode == 0
        assert len(server.requests) == 56
    assert left(tmp_path / "run") == left(eight)


@pytest.mark.slow
def test_the_hash_seed_of_the_process_changes_nothing(bench: Path, two: Path, tmp_path: Path) -> None:
    """The runs that are killed have another one, and those of this process the one that it was given."""
    with FaultyServer(lambda number, body: capable(body)) as server:
        told = command(*words(server, bench, tmp_path / "run", 2, 2))
        subprocess.run(told, env={**environment(), "PYTHONHASHSEED": "0"}, capture_output=True, check=True)
    assert left(tmp_path / "run") == left(two)

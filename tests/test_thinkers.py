"""Processes that think for `search`: they find what one process finds, and none is left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_search import FOUR, RECORD, SORTING, SOURCES, THREE, TWO
from tiny import tiny_benchmark

from experiments import runner
from experiments.runner import RunOptions, run_experiment
from flowmind.base.errors import ModelFailure
from flowmind.build.brief import execute_brief
from flowmind.build.settings import Settings
from flowmind.llm.search.thinkers import Thinkers
from flowmind.llm.search.thinking import Thinker
from flowmind.protocols import Brief
from flowmind.trace.task import Task
from tools_registry.sandbox.environments import LocalSandbox

SPECS = {tool.spec.name: tool.spec for tool in SOURCES}


def brief(task: Task) -> Brief:
    return execute_brief(task, 0, SPECS)


@pytest.fixture(scope="module")
def thinkers() -> Iterator[Thinkers]:
    with Thinkers(SOURCES, 2) as found:
        yield found


def test_several_processes_find_what_one_finds(thinkers: Thinkers) -> None:
    briefs = [brief(task) for task in (TWO, THREE, FOUR, RECORD, SORTING)]
    with LocalSandbox(SOURCES) as sandbox, ThreadPoolExecutor(4) as threads:
        alone = Thinker(sandbox.values)
        wanted = [alone.program(one, SPECS) for one in briefs]
        assert list(threads.map(lambda one: thinkers.program(one, SPECS), briefs)) == wanted
    assert [program is None for program in wanted] == [False, False, False, False, True]
    assert len(thinkers.pids) == 2


def test_a_process_that_ends_is_the_failure_of_one_question(thinkers: Thinkers) -> None:
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda one: thinkers.program(one, SPECS), [brief(TWO)] * 2))
    killed = thinkers.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    for _ in killed:
        with pytest.raises(ModelFailure, match="a process that thinks has ended"):
            thinkers.program(brief(TWO), SPECS)
    assert thinkers.program(brief(TWO), SPECS) is not None
    assert not set(killed) & set(thinkers.pids)


def test_what_the_thinking_raises_reaches_whoever_asked(thinkers: Thinkers) -> None:
    broken = brief(TWO).model_copy(update={"examples": (({"numbers": 1}, 2, 3),)})
    with pytest.raises(RuntimeError, match="ValueError: too many values") as caught:
        thinkers.program(broken, SPECS)
    assert "in _from_examples" in caught.value.__notes__[0]
    assert thinkers.program(brief(TWO), SPECS) is not None


LEFT_BEHIND = """
import os, pickle, signal, sys
from flowmind.llm.search.thinkers import Thinkers
tools, brief, specs = pickle.load(sys.stdin.buffer)
thinkers = Thinkers(tools, 1)
thinkers.program(brief, specs)
print(*thinkers.pids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_processes_of_a_killed_process_end() -> None:
    given = pickle.dumps((SOURCES, brief(TWO), SPECS))
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], input=given, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    (pid,) = map(int, done.stdout.split())
    ends = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < ends:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


def test_a_run_that_thinks_in_processes_leaves_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, asked = tiny_benchmark(tmp_path / "bench"), list[int]()
    summaries: list[dict[str, Any]] = []

    class Counted(Thinkers):
        def __init__(self, tools: Sequence[Any], count: int) -> None:
            asked.append(count)
            super().__init__(tools, count)

    monkeypatch.setattr(runner, "Thinkers", Counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name, worth in (("one", 8), ("two", 2)):
        monkeypatch.setattr(runner, "WORTH_A_PROCESS", worth)
        options = RunOptions(model="search", bench=bench, limit=4)
        summaries.append(run_experiment(options, Settings(mode="es-rr"), tmp_path / name).model_dump())
        summaries[-1].pop("wall_s")
    assert asked == [2]
    assert summaries[0] == summaries[1]
    assert summaries[0]["case_pass_rate"] == 100
    assert workflows(tmp_path / "one") == workflows(tmp_path / "two")


def workflows(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "workflows").iterdir()}

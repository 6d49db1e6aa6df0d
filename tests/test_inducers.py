"""Processes that induce: what they find is what is found in one process, and can be gone on with here."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_induction import LESSONS, TOOLS, Lesson, traces_of
from test_verified import branching_benchmark
from tiny import capable, files, tiny_benchmark

from experiments import runner, services
from experiments.options import RunOptions
from experiments.runner import replay, run_experiment
from flowmind.base.processes import HelperEnded, Helpers
from flowmind.build.induction.induce import Inducers, induce, request_of
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.runs import UNSET
from flowmind.build.settings import Settings
from flowmind.llm.faulty_server import FaultyServer
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import FunctionEnvironment

SPECS = FunctionEnvironment(TOOLS).specs


def given(lesson: Lesson) -> Request:
    traces = traces_of(Workflow.model_validate(lesson.gold), lesson.shown)
    return request_of(traces, SPECS, lesson.gold["inputs"], lesson.query)


def told(found: list[Induction]) -> list[Any]:
    """All that is done with inductions where they are tried."""
    return [
        (
            one.workflow.model_dump(),
            one.bits,
            one.sound,
            one.unexplained,
            [
                (place.id, [(other.text, other.workflow.document) for other in place.alternatives])
                for place in one.places
            ],
        )
        for one in found
    ]


@pytest.fixture(scope="module")
def inducers() -> Iterator[Inducers]:
    with Inducers(2) as found:
        yield found


@pytest.mark.parametrize(
    "name",
    [
        "linear, with a literal and paths",
        "arms that only set a value",
        "a run without a round",
    ],
)
def test_another_process_finds_what_this_one_finds(inducers: Inducers, name: str) -> None:
    lesson = LESSONS[name]
    here, there = induce(given(lesson)), asyncio.run(inducers.induce(given(lesson)))
    assert here and told(there) == told(here)


def test_what_is_not_set_is_the_same_everywhere() -> None:
    assert pickle.loads(pickle.dumps({"left": UNSET}))["left"] is UNSET


def test_a_process_that_ends_is_the_failure_of_one_derivation(inducers: Inducers) -> None:
    lesson = LESSONS["linear, with a literal and paths"]
    asyncio.run(inducers.induce(given(lesson)))
    killed = inducers.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    for _ in killed:
        with pytest.raises(RuntimeError, match="induction: its process has ended"):
            asyncio.run(inducers.induce(given(lesson)))
    assert asyncio.run(inducers.induce(given(lesson)))


@pytest.mark.slow
def test_a_run_that_induces_in_processes_leaves_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, counts = tiny_benchmark(tmp_path / "bench"), list[int]()
    summaries: list[dict[str, Any]] = []

    class Counted(Inducers):
        def __init__(self, count: int) -> None:
            counts.append(count)
            super().__init__(count)

    monkeypatch.setattr(services, "Inducers", Counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with FaultyServer(lambda number, body: capable(body)) as server:
        for name, worth in (("one", 8), ("two", 4)):
            monkeypatch.setattr(runner, "WORTH_A_PROCESS", worth)
            options = RunOptions(model="m", bench=bench, base_url=(server.url,))
            summaries.append(run_experiment(options, Settings(mode="induction"), tmp_path / name).model_dump())
    assert counts == [2]
    summaries.append(replay(tmp_path / "two", tmp_path / "three", bench).model_dump())
    for summary in summaries:
        summary.pop("wall_s")
    assert summaries[0] == summaries[1] == summaries[2]
    assert (summaries[0]["cases"], summaries[0]["case_pass_rate"]) == (8, 100.0)
    for name in ("two", "three"):
        assert files(tmp_path / "one" / "workflows") == files(tmp_path / name / "workflows")


def test_gold_traces_give_the_same_workflows_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, options = branching_benchmark(tmp_path / "bench"), Settings(mode="induction", traces="gold")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name, worth in (("one", 8), ("two", 2)):
        monkeypatch.setattr(runner, "WORTH_A_PROCESS", worth)
        summary = run_experiment(RunOptions(model="search", bench=bench), options, tmp_path / name)
        assert summary.cases == 9 and summary.case_pass_rate > 80
    assert files(tmp_path / "one" / "workflows") == files(tmp_path / "two" / "workflows")


HELPER = """
import time
from contextlib import nullcontext
from pathlib import Path
from flowmind.base.processes import answer_questions

def answer(question, emit):
    emit(f"about {question}")
    if question == "long":
        Path(__file__).with_suffix(".begun").touch()
        time.sleep(600)
    return (lambda: 0) if question == "odd" else question * 2

def main():
    answer_questions(lambda about: nullcontext(answer))
"""


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Helpers]:
    (tmp_path / "helper_of_a_test.py").write_text(HELPER)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with Helpers("helper_of_a_test", None, 1) as found:
        yield found


def test_closing_ends_a_process_in_the_middle_of_its_work_for_good(helper: Helpers, tmp_path: Path) -> None:
    ended = list[str]()

    def ask() -> None:
        try:
            helper.ask("long")
        except HelperEnded as error:
            ended.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    last = time.monotonic() + 30
    while not (tmp_path / "helper_of_a_test.begun").exists() and time.monotonic() < last:
        time.sleep(0.02)
    (pid,) = helper.pids
    helper.close()
    asking.join(30)
    assert ended and not helper.pids and not Path(f"/proc/{pid}").exists()
    with pytest.raises(HelperEnded):
        helper.ask("short")
    assert not helper.pids


def test_what_cannot_be_sent_is_the_askers_error_and_the_process_goes_on(helper: Helpers) -> None:
    assert helper.ask("one") == "oneone"
    pids = helper.pids
    with pytest.raises((AttributeError, TypeError), match="lambda"):
        helper.ask(lambda: 0)
    with pytest.raises(RuntimeError, match="lambda"):
        helper.ask("odd")
    assert helper.ask("two") == "twotwo"
    assert helper.pids == pids


def test_what_a_process_passes_on_arrives_before_its_answer(helper: Helpers) -> None:
    passed: list[str] = []
    assert helper.ask("one", passed.append) == "oneone"
    assert passed == ["about one"]


def test_an_error_over_what_was_passed_on_ends_the_process(helper: Helpers) -> None:
    def full(value: str) -> None:
        raise OSError("no space left")

    with pytest.raises(HelperEnded):
        helper.ask("one", full)
    assert not helper.pids
    assert helper.ask("two") == "twotwo"

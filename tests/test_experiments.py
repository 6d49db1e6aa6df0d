"""Experiments from the command line: records, summaries, resuming, and endpoints that fail."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import forked
import pytest
from tiny import (
    FIRST_TEST,
    NUMBERS,
    ORDER,
    UNSOLVABLE,
    Done,
    Row,
    answer,
    called,
    capable,
    environment,
    executing,
    files,
    records,
    summary,
    task_in,
    tiny_benchmark,
    told_last,
    typed,
    with_server,
)

from experiments.record import CaseRecord
from flowbench_synth.composition import plan
from flowbench_synth.tasks import all_blueprints, make_instance
from flowmind.base.files import dump_json
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.trace.events import Trace
from flowmind.trace.task import HeldOut
from flowmind.workflow.document import Workflow
from tools_registry.catalog import CATEGORIES
from tools_registry.sandbox.environments import WorkerPool

# With the embedded model


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Done]:
    """A benchmark, a run of eight cases on it, and what the command said."""
    folder = tmp_path_factory.mktemp("searched")
    bench = tiny_benchmark(folder / "bench", UNSOLVABLE)
    done = called("exp", "--bench", bench, "--out", folder / "run", "--limit", 8, "--mode", "es-pe")
    return bench, folder / "run", done


def test_a_run_of_eight_cases_is_summed_up(searched: tuple[Path, Path, Done]) -> None:
    _, run, done = searched
    assert done.returncode == 0
    found = summary(run)
    rates = {"exec_complete": 75.0, "exec_correct": 75.0, "graph_valid": 75.0, "both": 75.0, "mti_rate": 0.0}
    half = {"cases": 4, "case_pass_rate": 75.0, "tests": 12, "test_pass_rate": 75.0, **rates}
    assert {key: found[key] for key in found if key not in ("intervals", "parse")} == {
        "model": "search",
        "mode": "es-pe",
        "variant": "",
        "benchmark": "tiny, seed 0",
        "cases": 8,
        "case_pass_rate": 75.0,
        "tests": 24,
        "test_pass_rate": 75.0,
        **rates,
        "solved": 75.0,
        "outcomes": {"right": 18, "doubt": 0, "failed": 6, "wrong": 0},
        "wrong_writes": 0,
        "mti_kinds": {},
        "failure_modes": {"empty": 2, "none": 6},
        "errors": 0,
        "tokens": {"execute": 0.0, "summarize": 0.0, "total": 0.0},
        "input_tokens": {"execute": 0.0, "summarize": 0.0, "total": 0.0},
        "cost": None,
        "by_category": {"adding": half, "multiplying": half},
        "by_difficulty": {"easy": half, "hard": half},
        "scores": {},
        "coerced": 0,
    }
    assert found["intervals"]["case_pass_rate"] == {"percent": 75.0, "count": 6, "of": 8, "low": 40.93, "high": 92.85}
    assert found["parse"]["clean"] > 8 * 5
    assert (found["parse"]["recovered"], found["parse"]["reprompted"], found["parse"]["failed"]) == (0, 0, 0)


def test_a_case_leaves_a_record_its_traces_and_its_workflow(searched: tuple[Path, Path, Done]) -> None:
    _, run, _ = searched
    solved = sorted(set(NUMBERS) - set(UNSOLVABLE))
    by_id = {row["id"]: CaseRecord.model_validate(row) for row in records(run)}
    assert sorted(by_id) == sorted(NUMBERS)
    assert [path.stem for path in sorted((run / "workflows").iterdir())] == solved
    assert [path.stem for path in sorted((run / "traces").iterdir())] == sorted(NUMBERS)
    first = by_id["task_0"]
    assert [(score.passed, score.actual) for score in first.tests] == [
        (True, answer("task_0", FIRST_TEST + step)) for step in range(3)
    ]
    kept = json.loads((run / "traces" / "task_0.json").read_text())
    trace = Trace.model_validate(kept["traces"][0])
    assert [step.call.tool for step in trace.calls] == ["add", "multiply"]
    assert Workflow.model_validate_json((run / "workflows" / "task_0.json").read_text()).name == "task_0"
    assert by_id["task_3"].failure_mode == "empty"
    assert [score.error for score in by_id["task_3"].tests] == ["no sound workflow"] * 3


def test_the_manifest_says_what_was_set(searched: tuple[Path, Path, Done]) -> None:
    bench, run, _ = searched
    manifest = json.loads((run / "manifest.json").read_text())
    settings = manifest["settings"]
    assert (settings["model"], settings["mode"], settings["limit"], settings["seed"]) == ("search", "es-pe", 8, 0)
    digest = hashlib.sha256((bench / "instances.jsonl").read_bytes()).hexdigest()
    assert manifest["benchmark"] == {"name": "tiny, seed 0", "sha256": {"instances.jsonl": digest}}
    assert manifest["packages"]["pydantic"] and manifest["python"] and "git" in manifest
    assert manifest["isolation"]["layers"]["language policy"] == "on"


def test_the_table_says_that_search_is_no_language_model(searched: tuple[Path, Path, Done]) -> None:
    _, run, done = searched
    head, row, *_ = done.stdout.splitlines()
    assert " ".join(head.split()) == "run case pass test pass right sound solved in out seconds"
    assert row.startswith("search (no LLM) es-pe  6/8 75.0%  18/24 75.0%    75%    75%     75%   0    0 ")
    assert "`search` is not a language model" in done.stdout
    assert (
        "| search (no LLM) | es-pe | 8 | 75.0 (6/8) [41, 93] | 75.0 (18/24) [55, 88] |"
        in (run / "summary.md").read_text()
    )
    assert done.stdout.splitlines()[-1] == f"{run}/summary.json"


def test_a_finished_run_is_left_as_it_is_by_the_same_command(searched: tuple[Path, Path, Done]) -> None:
    bench, run, _ = searched
    before = files(run / "workflows"), (run / "records.jsonl").read_bytes(), (run / "summary.json").read_bytes()
    assert called("exp", "--bench", bench, "--out", run, "--limit", 8, "--concurrency", 1).returncode == 0
    after = files(run / "workflows"), (run / "records.jsonl").read_bytes(), (run / "summary.json").read_bytes()
    assert after == before


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--limit", 8, "--seed", 1), "seed was 0, is 1"),
        (("--limit", 8, "--mode", "es-rr"), 'mode was "es-pe", is "es-rr"'),
        (("--limit", 5), "--limit 5: "),
        (("--limit", 8, "--pick", "first"), 'pick was "spread", is "first"'),
        (("--limit", 8, "--max-turns", 9), "execute_budget"),
    ],
)
def test_other_settings_are_refused_in_the_same_folder(
    words: tuple[object, ...], problem: str, searched: tuple[Path, Path, Done]
) -> None:
    bench, run, _ = searched
    before = (run / "manifest.json").read_bytes()
    done = called("exp", "--bench", bench, "--out", run, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr and str(run) in done.stderr
    assert (run / "manifest.json").read_bytes() == before


def test_another_benchmark_is_refused_in_the_same_folder(searched: tuple[Path, Path, Done], tmp_path: Path) -> None:
    bench, run, _ = searched
    other = shutil.copytree(bench, tmp_path / "other")
    (other / "manifest.json").write_text('{"name": "tiny", "seed": 1, "sha256": {}}')
    done = called("exp", "--bench", other, "--out", run, "--limit", 8)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "tiny, seed 1" in done.stderr


def test_report_makes_the_tables_again_from_the_records(searched: tuple[Path, Path, Done], tmp_path: Path) -> None:
    _, run, done = searched
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / "summary.json").unlink()
    (copy / "summary.md").unlink()
    report = called("report", copy, "--tables")
    assert report.returncode == 0
    assert report.stdout.split("\n\n")[0] == (run / "summary.md").read_text().split("\n\n")[0]
    page = called("report", copy, "--out", tmp_path / "report.html")
    assert done.stdout.split("\n\n")[0] == page.stdout.split("\n\n")[0]
    assert (copy / "summary.json").read_bytes() == (run / "summary.json").read_bytes()
    assert (copy / "summary.md").read_bytes() == (run / "summary.md").read_bytes()
    two = called("report", run, copy, "--tables").stdout
    assert two.count("| search (no LLM) | es-pe |") == 2


def test_a_damaged_record_in_the_middle_is_named(searched: tuple[Path, Path, Done], tmp_path: Path) -> None:
    _, run, _ = searched
    copy = shutil.copytree(run, tmp_path / "copy")
    lines = (copy / "records.jsonl").read_text().splitlines(keepends=True)
    (copy / "records.jsonl").write_text("".join([*lines[:2], '{"id": 3}\n', *lines[2:]]))
    done = called("report", copy, "--tables")
    assert done.returncode == 2
    assert done.stderr.startswith(f"flowmind: {copy / 'records.jsonl'}, line 3: id: ")


def test_report_does_not_touch_the_records_of_a_run_that_is_going_on(
    searched: tuple[Path, Path, Done], tmp_path: Path
) -> None:
    _, run, _ = searched
    copy = shutil.copytree(run, tmp_path / "copy")
    with (copy / "records.jsonl").open("a") as file, (copy / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file.write('{"id": "task_9", "half a li')
        file.flush()
        before = (copy / "records.jsonl").read_bytes()
        assert called("report", copy, "--tables").returncode == 0
        assert (copy / "records.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("instances.jsonl", '"query"', '"qery"', "line 1: "),
        ("instances.jsonl", '"id":"task_1"', '"id":"task_0"', "id 'task_0' stands twice"),
        ("instances.jsonl", '["add","multiply"]', '["add","mutliply"]', "'mutliply', which is not known"),
        ("tests.jsonl", '"id":"task_2"', '"id":"task_x"', "no tests for 'task_2'"),
        ("tests.jsonl", "}\n", "\n", "line 1: "),
        ("manifest.json", '"seed"', '"sed"', "seed"),
    ],
)
def test_a_damaged_benchmark_is_one_line_and_nothing_is_run(
    name: str, old: str, new: str, problem: str, tmp_path: Path
) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    text = (bench / name).read_text()
    assert old in text
    (bench / name).write_text(text.replace(old, new, 1))
    done = called("exp", "--bench", bench, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert str(bench / name) in done.stderr and problem in done.stderr
    assert not (tmp_path / "run" / "records.jsonl").exists()


# With a server


class Halting:
    """A capable model that does not answer one task before it is let go."""

    def __init__(self, halt_at: str) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()
        self._halt_at = halt_at

    def __call__(self, number: int, body: Row) -> str:
        if task_in(body) == self._halt_at and not self.released.is_set():
            self.reached.set()
            self.released.wait(60)
        return capable(body)


@pytest.fixture
def started() -> Iterator[Callable[..., forked.Popen]]:
    running: list[forked.Popen] = []

    def start(*words: object) -> forked.Popen:
        running.append(forked.Popen("flowmind.cli", *words, env=environment()))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row], Done]:
    """A run that nothing disturbed, the requests that it made, and what the command said."""
    folder = tmp_path_factory.mktemp("whole")
    bench = tiny_benchmark(folder / "bench")
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = typed(*with_server(server, bench, folder / "run"))
    return folder / "run", server.requests, done


def test_a_capable_model_passes_everything(whole: tuple[Path, list[Row], Done]) -> None:
    run, requests, done = whole
    assert done.returncode == 0
    found = summary(run)
    assert (found["case_pass_rate"], found["test_pass_rate"], found["exec_correct"]) == (100.0, 100.0, 100.0)
    assert found["tokens"] == {"execute": 15.0, "summarize": 20.0, "total": 35.0}
    assert found["parse"] == {"clean": len(requests), "recovered": 0, "reprompted": 0, "failed": 0}
    assert [row["id"] for row in records(run)] == ORDER


def test_held_out_tests_reach_no_model(whole: tuple[Path, list[Row], Done]) -> None:
    run, requests, _ = whole
    assert all(score["passed"] for row in records(run) for score in row["tests"])
    marks = [str(FIRST_TEST + step) for step in range(3)]
    marks += [str(answer(id, FIRST_TEST + step)) for id in NUMBERS for step in range(3)]
    sent = json.dumps(requests)
    assert '"n\\":25' in sent.replace("\\\\", "\\")
    assert [mark for mark in marks if mark in sent] == []


def test_every_exchange_is_recorded_as_it_was(whole: tuple[Path, list[Row], Done]) -> None:
    run, requests, _ = whole
    asked: list[list[Row]] = []
    for id in ORDER:
        messages: list[Row] = []
        for line in (run / "exchanges" / f"{id}.jsonl").read_text().splitlines():
            exchange = json.loads(line)
            if "case" in exchange:
                continue
            messages = [*messages[: exchange["keep"]], *exchange["messages"]]
            asked.append(messages)
            assert exchange["reply"]["output_tokens"] == 5
    assert asked == [body["messages"] for body in requests]


def test_an_interrupted_run_keeps_its_records_and_its_folder_is_its_own(
    started: Callable[..., forked.Popen], tmp_path: Path
) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    model = Halting("task_1")
    with FaultyServer(model) as server:
        words = with_server(server, bench, run)
        process = started(*words)
        assert model.reached.wait(60)
        second = called(*words)
        assert (second.returncode, second.stdout) == (2, "")
        assert told_last(second) == f"flowmind: {run}: another process is running in this folder"
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=60)
        model.released.set()
    assert (process.returncode, out) == (130, "")
    again = shlex.join(["python", "-m", "flowmind.cli", *map(str, words)])
    last = f"flowmind: interrupted after 2 of 4 cases; the same command goes on from there: {again}"
    assert "Traceback" not in told and told.splitlines()[-1] == last
    assert [row["id"] for row in records(run)] == ORDER[:2]
    assert summary(run)["cases"] == 2


def test_failures_of_the_endpoint_are_counted_apart_and_tried_again(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    healed = threading.Event()

    def answers(number: int, body: Row) -> Fault | str:
        sick = {"task_4": True, "task_1": executing(body)}.get(task_in(body), False)
        return Fault(400, '{"error": {"message": "no room"}}') if sick and not healed.is_set() else capable(body)

    with FaultyServer(answers) as server:
        words = with_server(server, bench, run)
        first = called(*words)
        by_id = {row["id"]: row for row in records(run)}
        told = summary(run)
        healed.set()
        asked = len(server.requests)
        second = called(*words)
        tried_again = {task_in(body) for body in server.requests[asked:]}
    assert (first.returncode, second.returncode) == (1, 0)
    assert {id: "no room" in (row["error"] or "") for id, row in by_id.items()} == {
        "task_0": False,
        "task_4": True,
        "task_1": True,
        "task_5": False,
    }
    assert (told["cases"], told["errors"], told["failure_modes"]) == (2, 2, {"none": 2})
    assert "2 more cases ended with an error of the model's endpoint" in " ".join(first.stdout.split())
    assert (told["case_pass_rate"], told["intervals"]["case_pass_rate"]["count"]) == (100.0, 2)
    assert tried_again == {"task_4", "task_1"}
    assert [row["id"] for row in records(run)] == ORDER
    assert (summary(run)["cases"], summary(run)["errors"], summary(run)["case_pass_rate"]) == (4, 0, 100.0)
    assert "error of the model's endpoint" not in second.stdout


def test_a_model_that_stops_serving_ends_the_run_in_one_line_and_keeps_its_records(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"

    def answers(number: int, body: Row) -> Fault | str:
        return Fault(401, "{}") if task_in(body) == "task_1" else capable(body)

    with FaultyServer(answers) as server:
        done = called(*with_server(server, bench, run))
    assert (done.returncode, done.stdout) == (2, "")
    line = "flowmind: m: the server refuses the API key (HTTP 401); set OPENAI_API_KEY"
    assert told_last(done) == f"{line}; {run} keeps what is complete, and the same command goes on from there"
    assert [row["id"] for row in records(run)] == ORDER[:2]
    assert summary(run)["cases"] == 2


def test_no_reply_however_odd_ends_a_run(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    odd = {
        "task_0": '{"reasoning": "\\ud83d", "action": "add", "action_input": {"first": "\\ud83d", "second": 1}}',
        "task_4": "half an emoji: \ud83d",
        "task_1": '{"reasoning": "", "action": "add", "action_input": {"first": NaN, "second": 1e999}}',
    }

    def answers(number: int, body: Row) -> Fault | str:
        text = odd.get(task_in(body))
        if text is None:
            return capable(body)
        message = {"role": "assistant", "content": text}
        return Fault(body=json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))

    with FaultyServer(answers) as server:
        done = called(*with_server(server, bench, run))
    assert done.returncode == 0
    assert {row["id"]: row["scores"]["passed"]["value"] == 1 for row in records(run)} == {
        "task_0": False,
        "task_4": False,
        "task_1": False,
        "task_5": True,
    }
    assert summary(run)["tokens"]["total"] is None


def test_instances_of_the_builder_are_worked(tmp_path: Path) -> None:
    bench, run = tmp_path / "bench", tmp_path / "run"
    easy = {item.id: item for item in all_blueprints() if item.difficulty == "easy"}
    slots = [slot for slot in plan(all_blueprints(), 3) if slot.blueprint in easy and slot.tests == 5]
    chosen = {easy[slot.blueprint].category: slot for slot in reversed(slots)}
    with WorkerPool(1) as pool:
        made = [make_instance(easy[slot.blueprint], 3, pool, slot).instance for slot in chosen.values()]
    bench.mkdir()
    tasks = [instance.task.model_dump(mode="json") for instance in made]
    tests = [HeldOut(id=one.task.id, tests=one.tests).model_dump(mode="json") for one in made]
    for name, rows in (("instances.jsonl", tasks), ("tests.jsonl", tests)):
        (bench / name).write_text("".join(dump_json(row) + "\n" for row in rows))
    (bench / "manifest.json").write_text('{"name": "flowbench_synth", "seed": 3, "sha256": {}}')
    given_up = dump_json({"reasoning": "", "action": "finish", "action_input": {"answer": None}})
    with FaultyServer(lambda number, body: given_up) as server:
        assert called(*with_server(server, bench, run, "--max-turns", 1)).returncode == 0
    found = summary(run)
    assert (found["benchmark"], found["cases"], found["tests"]) == ("flowbench_synth, seed 3", 4, 20)
    assert {name: group["cases"] for name, group in found["by_category"].items()} == dict.fromkeys(CATEGORIES, 1)
    assert (found["failure_modes"], found["case_pass_rate"]) == ({"empty": 4}, 0.0)
    sent = "".join(message["content"] for body in server.requests for message in body["messages"])
    assert [task["id"] for task in tasks if task["query"] not in sent] == []
    assert [test for held in tests for test in held["tests"] if dump_json(test["input"]) in sent] == []

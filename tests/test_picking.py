"""The order of the tasks of a run: few show all kinds, and a run grows in its folder."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from test_robustness import left
from tiny import ORDER, Row, called, capable, records, tiny_benchmark, with_server

from experiments.picking import choose, in_order
from flowmind.base.errors import InputError
from flowmind.llm.faulty_server import FaultyServer
from flowmind.trace.task import Task

KINDS = [
    ("math", "easy", "linear", 20),
    ("math", "hard", "loop", 4),
    ("data", "easy", "linear", 12),
    ("data", "medium", "branch", 12),
    ("logic", "medium", "loop", 8),
    ("logic", "hard", "branch", 4),
]


def task(number: int, category: str, difficulty: str, control_flow: str) -> Task:
    return Task(
        id=f"t{number}", category=category, difficulty=difficulty, control_flow=control_flow, query="q", inputs={},
        tools=(), examples=(),
    )  # fmt: skip


TASKS = [task(100 * place + number, *kind) for place, (*kind, count) in enumerate(KINDS) for number in range(count)]


def test_every_beginning_has_about_the_shares_of_the_benchmark() -> None:
    order = in_order(TASKS, "spread")
    assert sorted(item.id for item in order) == sorted(item.id for item in TASKS)
    assert in_order(TASKS, "spread") == order
    for name in ("category", "difficulty", "control_flow"):
        shares = Counter(getattr(item, name) for item in TASKS)
        for count in range(1, len(order) + 1):
            taken = Counter(getattr(item, name) for item in order[:count])
            far = {value: taken[value] - shares[value] * count / len(TASKS) for value in shares}
            assert max(map(abs, far.values())) < 2, (name, count, far)
    assert {item.category for item in order[:4]} == {"math", "data", "logic"}


def test_tasks_of_one_kind_stay_in_their_order() -> None:
    order = in_order(TASKS, "spread")
    for place, (*_, count) in enumerate(KINDS):
        ids = [item.id for item in order if int(item.id[1:]) // 100 == place]
        assert ids == [f"t{100 * place + number}" for number in range(count)]


def test_the_first_of_each_category_are_taken_in_turn() -> None:
    order = in_order(TASKS, "first")
    assert [item.id for item in order[:6]] == ["t0", "t200", "t400", "t1", "t201", "t401"]
    assert in_order([], "first") == in_order([], "spread") == []


def test_cases_with_a_record_are_chosen_whatever_the_order() -> None:
    order, dice = in_order(TASKS, "spread"), Random(5)
    for _ in range(20):
        limit = dice.randint(1, len(order))
        recorded = {item.id for item in dice.sample(order, dice.randint(0, limit))}
        chosen = choose(order, recorded, limit, Path("run"))
        assert len(chosen) == limit and recorded <= {item.id for item in chosen}
        assert chosen == [item for item in order if item in chosen]
    assert choose(order, set(), None, Path("run")) == order
    with pytest.raises(InputError, match="--limit 1: run has 2 cases already; give --limit 2 or more"):
        choose(order, {"t0", "t1"}, 1, Path("run"))


def test_a_run_grows_in_its_folder_to_what_one_run_leaves(tmp_path: Path) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    words = ("exp", "--bench", bench, "--mode", "es-rr")
    for limit in (2, 5):
        assert called(*words, "--out", tmp_path / "grown", "--limit", limit).returncode == 0
    first = [row["id"] for row in records(tmp_path / "grown")]
    assert called(*words, "--out", tmp_path / "once", "--limit", 5).returncode == 0
    assert left(tmp_path / "grown") == left(tmp_path / "once")
    assert called(*words, "--out", tmp_path / "grown").returncode == 0  # no limit: all the others
    whole = [row["id"] for row in records(tmp_path / "grown")]
    assert (len(first), len(whole), whole[:5]) == (5, 8, first)
    refused = called(*words, "--out", tmp_path / "grown", "--limit", 5)
    assert (refused.returncode, refused.stdout) == (2, "")
    line = f"--limit 5: {tmp_path / 'grown'} has 8 cases already; give --limit 8 or more, or another --out"
    assert refused.stderr == f"flowmind: {line}\n"
    settings = json.loads((tmp_path / "grown" / "manifest.json").read_text())["settings"]
    assert (settings["limit"], settings["pick"]) == (None, "spread")


def test_a_run_of_an_older_version_goes_on_in_its_order(tmp_path: Path) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    asked: list[Row] = []

    def answers(number: int, body: Row) -> str:
        asked.append(body)
        return capable(body)

    with FaultyServer(answers) as server:
        words = [word for word in with_server(server, bench, run) if word not in ("--pick", "first")]
        assert called(*words, "--pick", "first").returncode == 0
        manifest = json.loads((run / "manifest.json").read_text())
        del manifest["crc"], manifest["settings"]["pick"]
        (run / "manifest.json").write_text(json.dumps(manifest))
        before = left(run)
        asked.clear()
        assert called(*words).returncode == 0
        assert (asked, left(run)) == ([], before)
        assert called(*words, "--limit", 6).returncode == 0
    assert [row["id"] for row in records(run)] == [*ORDER, "task_2", "task_6"]
    assert called("exp", "--replay", run, "--bench", bench).returncode == 0
    assert [row["id"] for row in records(run)] == [*ORDER, "task_2", "task_6"]

"""The benchmarks: how ratios are made, that every row runs, and what is reported. Nothing here is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments.bench.__main__ import benches, main
from experiments.bench.measuring import Bench, Contender, Goal, Measured, Outcome, Spread, loop, measure, repetitions
from experiments.bench.reporting import PACKAGES, markdown, number, report_on


@contextmanager
def taking(seconds: Iterator[float], log: list[str], name: str) -> Generator[Any]:
    """A sample that says it took so long."""

    def sample(times: int) -> float:
        log.append(name)
        return next(seconds) * times

    yield sample


def contest(
    goals: tuple[Goal, ...], unit: Any = "ms", log: list[str] | None = None, **seconds: tuple[float, ...]
) -> Bench:
    """A benchmark whose contenders take the seconds that are given, a round each."""
    kept: list[str] = [] if log is None else log
    contenders = tuple(
        Contender(name, partial(taking, iter(values), kept, name), ("no_such_module",) if not values else ())
        for name, values in seconds.items()
    )
    return Bench("b", "Work", unit, "a piece", contenders, goals, size=2, least=0.0)


def test_values_are_scaled_to_the_unit_and_to_the_size_of_the_work() -> None:
    outcome = measure(contest((), a=(0.2, 0.4, 0.3)), 3, quick=True)
    assert outcome.contenders[0].values == pytest.approx((100.0, 200.0, 150.0))
    assert outcome.contenders[0].spread == Spread.of(outcome.contenders[0].values)
    assert outcome.contenders[0].spread.median == pytest.approx(150.0)
    (rates,) = measure(contest((), "per second", a=(0.5,)), 1, quick=True).contenders
    assert rates.values == pytest.approx((4.0,))
    (memory,) = measure(contest((), "KB", a=(5_000.0,)), 1, quick=True).contenders
    assert memory.values == pytest.approx((2.5,))


def test_a_contender_may_do_another_number_of_pieces() -> None:
    (contender,) = contest((), a=(0.2,)).contenders
    bench = replace(contest(()), contenders=(replace(contender, size=10),))
    assert measure(bench, 1, quick=True).contenders[0].values == pytest.approx((20.0,))


@pytest.mark.parametrize(
    ("kind", "unit", "bound", "median", "met"),
    [
        ("faster", "ms", 3.0, 4.0, True),
        ("faster", "ms", 5.0, 4.0, False),
        ("faster", "per second", 3.0, 4.0, True),
        ("slower", "ms", 0.3, 0.25, True),
        ("slower", "ms", 0.2, 0.25, False),
        ("over", "ms", -1400.0, -1500.0, True),
        ("over", "ms", -1600.0, -1500.0, False),
        ("within", "ms", 600.0, 500.0, True),
        ("within", "ms", 400.0, 500.0, False),
    ],
)
def test_a_goal_is_judged_by_the_median_of_the_rounds_ratios(
    kind: Any, unit: Any, bound: float, median: float, met: bool
) -> None:
    # Rounds differ by ten, as when a machine is busy; the ratio of the medians would be another.
    bench = contest((Goal("us", "peer", kind, bound),), unit, us=(1.0, 10.0, 0.5), peer=(4.0, 30.0, 2.5))
    (goal,) = measure(bench, 3, quick=True).goals
    assert goal.spread is not None
    assert (goal.spread.median, goal.met) == (pytest.approx(median), met)


def test_contenders_take_turns_and_another_is_first_in_each_round() -> None:
    log: list[str] = []
    ticks: list[None] = []
    bench = contest((), log=log, a=(1.0,) * 4, b=(1.0,) * 4, c=(1.0,) * 4)
    measure(bench, 4, quick=True, tick=lambda: ticks.append(None))
    assert "".join(log) == "abcbcacababc"
    assert len(ticks) == 12


def test_short_work_is_repeated_until_a_sample_lasts() -> None:
    assert repetitions(lambda times: 0.01 * times, 0.05) == 5
    assert repetitions(lambda times: 10.0, 0.05) == 1
    assert repetitions(lambda times: 0.0, 0.05) == pytest.approx(500_000, abs=1)


def test_a_peer_that_is_not_installed_is_a_row_that_says_so() -> None:
    outcome = measure(contest((Goal("us", "peer", "faster", 2.0),), us=(1.0,), peer=()), 1, quick=True)
    assert outcome.contenders[1] == Measured(name="peer", note="no_such_module is not installed")
    assert (outcome.goals[0].spread, outcome.goals[0].met) == (None, None)
    text = markdown(report_on([outcome]))
    assert "| b: us, faster than peer | ≥ 2× | – | – | not measured |" in text
    assert "| Work | peer | no_such_module is not installed | – | ms a piece |" in text


def test_goals_are_told_with_what_was_wanted() -> None:
    bench = contest(
        (Goal("us", "peer", "faster", 2.0), Goal("us", "peer", "slower", 0.1), Goal("us", "peer", "over", 5.0),
         Goal("us", "", "within", 600.0)),
        us=(1.0, 1.0, 1.0), peer=(4.0, 3.0, 2.5),
    )  # fmt: skip
    lines = markdown(report_on([measure(bench, 3, quick=True)])).splitlines()
    assert "| b: us, faster than peer | ≥ 2× | 3× | 2.5 – 4 | met |" in lines
    assert "| b: us, slower than peer | ≤ 0.1× | 0.333× | 0.25 – 0.4 | **not met** |" in lines
    assert "| b: us, over peer | ≤ 5 ms | -1,000 ms | -1,500 – -750 | met |" in lines
    assert "| b: us | ≤ 600 ms | 500 ms | 500 – 500 | met |" in lines


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (99.94, "99.9"), (1.5, "1.5"), (0.0543, "0.0543"), (100.0, "100")]
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_work_with_a_wrong_result_is_not_measured() -> None:
    with pytest.raises(AssertionError, match="result is wrong: 5"), loop(lambda: 5, lambda result: result == 4):
        pass


def _takes_long(name: str) -> bool:
    return "memory" in name or name == "waiting"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if _takes_long(name) else name for name in benches(quick=True)]
)
def test_every_row_runs(name: str) -> None:
    bench = benches(quick=True)[name]
    outcome = measure(bench, 1, quick=True)
    for contender, measured in zip(bench.contenders, outcome.contenders, strict=True):
        assert measured.name == contender.name
        assert measured.note.endswith("is not installed") or all(value > 0 for value in measured.values)
    names = {contender.name for contender in bench.contenders}
    assert all({goal.ours, goal.peer} - {""} <= names for goal in bench.goals)


def test_the_command_measures_and_writes_everything(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "bench.json"
    words = ["--quick", "--only", "replies", "linear", "--json", str(file)]
    command = [sys.executable, "-m", "experiments.bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(file.read_text())
    linear, replies = [Outcome.model_validate(outcome) for outcome in report["outcomes"]]
    assert (linear.name, linear.rounds, len(linear.contenders), len(linear.goals)) == ("linear", 1, 5, 4)
    assert (replies.name, replies.rounds, len(replies.contenders), len(replies.goals)) == ("replies", 1, 3, 0)
    assert set(report["versions"]) == set(PACKAGES) and report["versions"]["aiohttp"]
    assert report["machine"]["cores"] >= 1
    assert (
        "| linear: FlowMind, step budget, results kept for the trace, slower than plain Python | ≤ 3× |" in done.stdout
    )
    assert "8/8" in done.stderr


@pytest.mark.parametrize("words", [("--only", "nothing"), ("--rounds", "0"), ("--rounds", "many")])
def test_bad_usage_ends_with_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert words[1] in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_found_out_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "replies", "--json", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error == f"bench: {tmp_path}: Is a directory\n"

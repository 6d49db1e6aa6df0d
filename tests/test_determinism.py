"""The check that equal calls give equal results: it passes, and it detects a difference."""

import json
import subprocess
import sys

import pytest

from tools_registry.sandbox import determinism


@pytest.mark.parametrize(("isolation", "cases"), [pytest.param("batch", 100, marks=pytest.mark.slow), ("case", 15)])
def test_equal_calls_give_equal_results_in_any_worker_under_any_hash_seed(isolation: str, cases: int) -> None:
    command = [sys.executable, "-m", "tools_registry.sandbox.determinism", "--cases", str(cases)]
    done = subprocess.run([*command, "--isolation", isolation], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 9)
    assert all(f"{cases} calls" in line and line.endswith(" 0 differ") for line in lines)
    assert len({line.split()[-3] for line in lines}) == 1


def test_a_process_for_each_call_gives_what_a_shared_one_gives() -> None:
    made = determinism.calls(60)
    assert determinism.results(made, 2, "case") == determinism.results(made, 1)


def test_the_calls_are_examples_and_variations_of_them() -> None:
    made = determinism.calls(1_500)
    assert made == determinism.calls(1_500)
    assert made[:200] == determinism.calls(200)
    results = [json.loads(one) for one in determinism.results(made[-300:], 1)]
    right = sum(error is None for _, error in results)
    assert 150 < right < 300


def test_a_difference_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(count: int, seed: str, isolation: str) -> dict[str, list[str]]:
        odd = "[1, null]" if seed == "1" else "[2, null]"
        return {"one worker": ["[0, null]"] * (count - 1) + [odd]}

    monkeypatch.setattr(determinism, "_in_a_process", run)
    monkeypatch.setattr(sys, "argv", ["determinism", "--cases", "3"])
    name, args = determinism.calls(3)[2]
    assert determinism.main() == 1
    assert f"  {name} {json.dumps(args)}: [2, null] and [1, null]" in capsys.readouterr().out

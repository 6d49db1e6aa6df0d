"""The simulation of workers and a driver, and the measurement of a driver on the cases of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tiny import called as run_command
from tiny import capable, tiny_benchmark, with_server

from experiments.bench.scaling import main, measure, simulate
from flowmind.base.errors import InputError
from flowmind.llm.faulty_server import FaultyServer


def test_few_workers_do_not_wait_and_many_have_the_rate_of_the_driver() -> None:
    few = simulate(10, seconds=10, exchanges=5, exchange=0.001, case=0.01)
    assert few.utilisation < 0.02 and few.queue < 0.01 and 0.97 < few.share < 1.03
    for seconds, exchanges, exchange, case in ((1.0, 40, 0.001, 0.02), (10.0, 5, 0.01, 0.05)):
        saturated = seconds / (exchanges * exchange + case)
        half = simulate(round(saturated / 2), seconds, exchanges, exchange, case)
        assert abs(half.utilisation - round(saturated / 2) / saturated) < 0.05 and half.share > 0.93
        full = simulate(round(4 * saturated), seconds, exchanges, exchange, case)
        assert full.utilisation > 0.999 and 0.24 < full.share < 0.26 and full.queue > half.queue


def test_a_driver_that_costs_nothing_is_never_busy() -> None:
    assert simulate(100, seconds=1, exchanges=5, exchange=0, case=0)[:3] == (0, 0, 0)


@pytest.mark.slow
def test_the_cases_of_a_run_are_kept_again_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench, run = tiny_benchmark(tmp_path / "bench"), tmp_path / "runs" / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert run_command(*with_server(server, bench, run, "--limit", 1)).returncode == 0
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert main([str(run), "--rounds", "1", "--workers", "10"]) == 0
    printed = capsys.readouterr().out
    assert "a case: 7.0 exchanges" in printed and re.search(r"merge, a case: [\d.]+ ms", printed)
    assert printed.count("| 10 |") >= 6
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert [*run.parent.iterdir()] == [run]


def test_a_folder_without_a_run_and_missing_costs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        measure(tmp_path, 1)
    assert main([str(tmp_path)]) == 2
    with pytest.raises(SystemExit, match="2"):
        main(["--case-ms", "3"])

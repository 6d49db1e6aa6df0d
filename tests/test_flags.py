"""Settings that are declared once: as flags, in the environment, in grid files, in help texts and in folder names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from tiny import Done, called, environment, tiny_benchmark, told_last

from experiments import benches
from experiments.grid import SETTABLE, Grid, cells
from experiments.naming import folder_name
from experiments.options import BUDGETS, Experiment, RunOptions
from flowmind.base.errors import InputError
from flowmind.build.settings import MODES, SINGLE, Settings, rounds_of, summarizer_of
from flowmind.llm.faulty_server import Fault, FaultyServer

ROOT = Path(__file__).resolve().parents[1]


def in_shell(*words: object, folder: Path = ROOT, **variables: str) -> Done:
    """`python -m flowmind` in a process of its own."""
    done = forked.run("flowmind", *words, cwd=folder, env={**environment(), **variables})
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(done: Done) -> str:
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr.removeprefix("flowmind: ")


def test_every_setting_is_a_flag_with_a_help_text() -> None:
    names = [name for name in Experiment.model_fields if name not in BUDGETS]
    text = " ".join(called_help("exp").split())
    assert [name for name in names if f"--{name.replace('_', '-')}" not in text] == []
    assert [name for name in names if not Experiment.model_fields[name].description] == []
    assert "(0 to 200, default 0)" in text and "(default 1024)" in text
    assert set(SETTABLE) < set(names)


def called_help(command: str) -> str:
    done = in_shell(command, "--help")
    assert done.returncode == 0
    return done.stdout


def test_modes_are_presets() -> None:
    assert SINGLE == ("react", "pe", "enhanced-react")
    assert MODES["es-react"] == MODES["es-rr"] and MODES["es-pe"] == MODES["es-pp"]
    plans = {name: (summarizer_of(Settings(mode=name)), rounds_of(Settings(mode=name))) for name in MODES}
    assert plans["es-rp"] == ("plan", 0) and plans["es-pr"] == ("react", 0)
    assert plans["es-pe+verify"] == ("guided", 3) and plans["induction"] == ("induction", 0)
    assert summarizer_of(Settings(mode="es-pe", summarizer="guided")) == "guided"


def test_the_program_tells_its_version_and_runs_as_either_module() -> None:
    for words, beginning in ((("flowmind", "--version"), b"flowmind 0."), (("flowmind.cli", "models"), b"search")):
        done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, check=True)
        assert done.stdout.startswith(beginning)


@pytest.mark.parametrize("variable", ["FLOWMIND_MODE", "FLOWMIND_SIMILARITY", "FLOWMIND_LIMIT", "FLOWMIND_SANDBOX"])
def test_a_variable_concerns_only_the_commands_with_its_flag(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "stored")
    assert called("models").returncode == 0


@pytest.mark.parametrize(
    ("variable", "value", "command", "problem"),
    [
        ("FLOWMIND_MODE", "es-xx", "exp", "FLOWMIND_MODE='es-xx' (--mode) is none of react, pe"),
        ("FLOWMIND_LIMIT", "few", "exp", "FLOWMIND_LIMIT='few' (--limit): "),
        ("FLOWMIND_NATIVE_TOOLS", "perhaps", "exp", "FLOWMIND_NATIVE_TOOLS='perhaps' (--native-tools) is none of 1, "),
        ("FLOWMIND_PROBE", "201", "exp", "--probe: "),
        ("FLOWMIND_REUSE", f"nope{os.pathsep}nope2", "exp", "--reuse nope: "),
    ],
)
def test_a_bad_variable_is_one_line(
    variable: str, value: str, command: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert refused(called(command)).startswith(problem)


def test_the_format_of_a_workflow_can_be_set_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flow").write_text("flowchart TD\n  this is no flowchart\n")
    as_json = refused(called("show", tmp_path / "flow"))
    monkeypatch.setenv("FLOWMIND_FROM", "mermaid")
    assert refused(called("show", tmp_path / "flow")) != as_json
    assert refused(called("show", tmp_path / "flow", "--from", "json")) == as_json


def test_an_argument_stands_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWMIND_BENCH", str(tmp_path / "one"))
    assert str(tmp_path / "one") in refused(called("exp"))
    assert str(tmp_path / "two") in refused(called("exp", "--bench", tmp_path / "two"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("exp", "--reuse", "nope"), "--reuse nope: this is not the folder of a run"),
        (("exp", "--replay", "nope", "--limit", 3), "--limit: --replay takes the settings of the run"),
        (("report", "--limit", 3), "--limit: this flag needs --config"),
        (("report", "--pick", "spread"), "--pick: this flag needs --config"),
        (("report", "--root", "x"), "--root: this flag needs --config"),
        (("report", "some", "--config", "grid.toml"), "--config: give either"),
        (("report", "--tables", "--out", "x.html"), "--out: --tables writes no file"),
    ],
)
def test_a_flag_that_would_have_no_effect_is_refused(words: tuple[object, ...], problem: str) -> None:
    assert refused(called(*words)).startswith(problem)


def test_a_folder_without_a_benchmark_is_one_line_that_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(HEAD)
    line = "--bench own: no benchmark in this folder; build it with `flowbench_synth build --out own`, or leave --bench"
    assert refused(called("exp", "--mode", "es-rr", "--bench", "own")).startswith(line)
    assert refused(called("exp", "--config", "grid.toml", "--bench", "own")).startswith(line)
    assert refused(called("exp", "--model", "no-such-model", "--bench", "own")).startswith(line)
    assert list(tmp_path.iterdir()) == [tmp_path / "grid.toml"]


@pytest.mark.slow
def test_the_default_benchmark_is_built_at_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benches, "BUILD", (*benches.BUILD, "--size", "1"))
    (tmp_path / "experiments").mkdir()  # no reason to take this folder for a package
    (tmp_path / ".bench.building").mkdir()
    (tmp_path / ".bench.building" / "instances.jsonl").write_text("what a killed process left")
    words = ("exp", "--mode", "es-rr", "--limit", 1, "--max-turns", 1)
    first, second = called(*words), called(*words)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert first.stderr.startswith("flowmind: bench: building the benchmark, once") and "building" not in second.stderr
    assert "1/1" in capfd.readouterr().err  # the progress of the build
    assert len((tmp_path / "bench" / "instances.jsonl").read_text().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "experiments", "runs"]


def test_a_model_that_does_not_answer_is_reported_before_the_benchmark_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(HEAD)
    for words in (("--model", "m"), ("--config", "grid.toml")):
        assert "http://127.0.0.1:9/v1" in refused(called("exp", *words, "--base-url", "http://127.0.0.1:9/v1"))
    assert list(tmp_path.iterdir()) == [tmp_path / "grid.toml"]


def test_a_folder_with_other_files_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "notes.txt").write_text("mine")
    assert refused(called("exp")).startswith("--bench bench: no benchmark in this folder, which has other files")
    assert [path.name for path in tmp_path.rglob("*")] == ["bench", "notes.txt"]


# Folders


def test_the_folder_of_a_run_has_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    monkeypatch.chdir(tmp_path)
    for seed in (0, 3):
        assert called("exp", "--bench", bench, "--limit", 1, "--mode", "es-rr", "--seed", seed).returncode == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["search-es-rr", "search-es-rr-seed3"]


def test_a_folder_is_named_after_all_that_makes_another_run() -> None:
    experiment = Experiment(model="org/m", mode="induction", traces="gold", probe=8, seed=2)
    assert folder_name(experiment.model_dump(), "free", "first4") == "org_m-induction-free-gold-probe8-seed2-first4"


# Grids

HEAD = 'title = "t"\nmodels = ["m"]\nmodes = ["es-rr"]\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("limits = 3\n", "limits: there is no such setting; did you mean 'limit'?"),
        ("[settings]\nrolouts = 3\n", "settings.rolouts: there is no such setting; did you mean 'rollouts'?"),
        ("[variants.a]\nxyz = 3\n", "variants.a.xyz: there is no such setting; there are rollouts, "),
        ("[settings]\nprobe = 201\n", "settings.probe: Input should be less than or equal to 200"),
        ("[settings]\nseed = 1\n", "settings: 'seed' is set by 'seeds' at the top of the file"),
        ('[variants."../x"]\nprobe = 1\n', "variants: '../x' cannot be the name of a file"),
        ("settings = 3\n", "settings: "),
    ],
)
def test_a_wrong_key_of_a_grid_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(HEAD + text)
    assert refused(called("exp", "--config", path)).startswith(f"{path}: {problem}")


def test_a_grid_takes_the_urls_of_the_stages_and_probes_as_the_command(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(f'{HEAD}[settings]\nprobe = 200\nexecute_base_url = "http://e/v1"\n')
    [cell] = cells(Grid.read(path), RunOptions(base_url=("http://b/v1",)))
    assert cell.options.urls == {"execute": ("http://e/v1",), "summarize": ("http://b/v1",)}
    assert cell.settings.probe == 200


def test_a_grid_asks_the_servers_of_its_stages(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    bench = tiny_benchmark(tmp_path / "bench")
    path.write_text(f'{HEAD}[settings]\nexecute_base_url = "http://127.0.0.1:9/v1"\n')
    with FaultyServer(lambda number, body: "") as server:
        done = called("exp", "--config", path, "--base-url", server.url, "--bench", bench, "--out", tmp_path / "runs")
    assert "http://127.0.0.1:9/v1" in refused(done)


def test_a_flag_that_a_grid_sets_as_well_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(f"{HEAD}[settings]\nrollouts = 3\n")
    done = called("exp", "--config", path, "--rollouts", 2)
    assert refused(done).startswith(f"--rollouts: {path} sets rollouts itself")


def test_grids_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    listed = called("exp", "--config", "list")
    other = called("dialogue", "--config", "list")
    assert listed.returncode == other.returncode == 0
    names = [line.split()[0] for done in (listed, other) for line in done.stdout.splitlines()]
    assert sorted(names) == sorted(path.stem for path in (ROOT / "experiments" / "configs").glob("*.toml"))
    assert "`flowmind dialogue --config passk` runs it" in refused(called("exp", "--config", "passk"))
    monkeypatch.chdir(tmp_path)
    words = ("--config", "table9_search", "--limit", 2, "--mode", "es-pe", "--bench", bench)
    done = called("exp", *words)
    assert done.returncode == 0 and "flowmind report --config table9_search --limit 2" in done.stdout
    assert called("report", "--config", "table9_search", "--limit", 2, "--tables").returncode == 0
    line = "--config tabel1: no such file, and no grid of this name; did you mean table1?"
    assert refused(called("exp", "--config", "tabel1")).startswith(line)
    assert refused(called("exp", "--config", "some/where.toml")) == "some/where.toml: no such file\n"
    (tmp_path / "table9_search").write_text("a file stands before a name")
    assert refused(called("exp", *words)).startswith("table9_search: ")


def test_prices_are_set_together() -> None:
    assert refused(called("exp", "--price-in", 1)) == "--price-out: set --price-in and --price-out, or neither\n"
    assert refused(called("exp", "--price-out", 1)) == "--price-out: set --price-in and --price-out, or neither\n"
    assert "greater than or equal to 0" in refused(called("exp", "--price-in", -1, "--price-out", 1))


def test_flags_are_set_under_a_grid(tmp_path: Path) -> None:
    grid = Grid.model_validate({"title": "t", "models": ["m"], "modes": ["es-rr"], "settings": {"rollouts": 3}})
    [cell] = cells(grid, Experiment(temperature=0.5, max_turns=7, model="x"))
    assert (cell.options.model, cell.settings.rollouts, cell.settings.temperature) == ("m", 3, 0.5)
    assert cell.settings.execute_budget.turns == 7


@pytest.mark.parametrize("name", ["model", "mode", "seed", "limit", "pick", "bench", "reuse", "execute_budget"])
def test_what_identifies_a_run_is_not_a_setting_of_a_grid(name: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(f"{HEAD}[settings]\n{name} = 1\n")
    with pytest.raises(InputError, match="settings"):
        Grid.read(path)


# Around the commands


def test_a_folder_named_experiments_does_not_break_the_program(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("raise SystemExit('not FlowMind')\n")
    done = in_shell("models", folder=tmp_path)
    assert done.returncode == 0 and "search" in done.stdout
    assert refused(in_shell("exp", "--bench", "absent", folder=tmp_path)).startswith("--bench absent: ")


@pytest.mark.parametrize("status", [401, 404])
def test_an_endpoint_that_refuses_is_one_line_though_many_cases_fail_at_once(status: int, tmp_path: Path) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    with FaultyServer(lambda number, body: Fault(status, "{}", delay=0.2)) as server:
        words = ("exp", "--model", "m", "--base-url", server.url, "--bench", bench, "--concurrency", 4)
        done = in_shell(*words, "--out", tmp_path / "run")
    assert done.returncode == 2 and "never retrieved" not in done.stderr and "Traceback" not in done.stderr
    assert told_last(done).startswith("flowmind: m: ")

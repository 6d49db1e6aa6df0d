"""`flowmind exp`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.benches import ensure_benchmark, require_benchmark
from experiments.endpoints import served
from experiments.options import BUDGETS, Experiment, RunOptions
from flowmind.base.errors import InputError
from flowmind.base.outputs import require_folder
from flowmind.cli.flags import add_flags, flag_of, read_flags

if TYPE_CHECKING:
    from experiments.metrics import Summary


_ALSO = {"wording": "--register"}
_REPLAYED = ("isolation", "require_isolation")
"""Settings that a replay takes from the command line; the records do not depend on them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags; the settings of a run are the fields of `Experiment`."""
    parser.add_argument(
        "--config", type=Path, metavar="GRID",
        help="run all runs of a grid, or those of --model, --mode, --seed and --limit: a TOML file, or the name of a "
        "grid that is installed, such as table1_search; `list` shows them",
    )  # fmt: skip
    parser.add_argument(
        "--replay", type=Path, metavar="RUN",
        help="compute the records of a run again from its recorded replies, in place or in --out; no model is asked",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="folder of the run (default runs/<model>-<mode>, followed by settings that differ from the mode's); "
        "with --config, the folder that the folders of the runs are in (default runs)",
    )  # fmt: skip
    add_flags(parser.add_argument_group("the run"), Experiment, *RunOptions.model_fields, also=_ALSO)
    own = [name for name in Experiment.model_fields if name not in (*RunOptions.model_fields, *BUDGETS)]
    add_flags(parser.add_argument_group("how tasks are solved"), Experiment, *own)


def run(options: argparse.Namespace) -> int:
    """Runs an experiment, a grid or a replay, and prints the tables. Returns 1 if a model of a grid failed."""
    require_folder("--out", options.out)
    if options.replay is not None:
        return _replay(options)
    if str(options.config) == "list":
        return _list_grids()
    experiment = read_flags(Experiment, options)
    _require_runs(experiment.reuse, every="reuse" in options.explicit)
    if options.config is not None:
        return _grid(options, experiment)
    require_benchmark(experiment.bench)
    with served(experiment.model, *experiment.urls.values()) as started:  # before the imports that take seconds
        ensure_benchmark(experiment.bench)
        _require_golds(experiment)
        update = {"base_url": (started,) if started else experiment.base_url}
        return _experiment(experiment.model_copy(update=update), options.out)


def _require_golds(experiment: Experiment) -> None:
    """Requires that the benchmark has gold workflows if the traces come from them.

    Raises:
        InputError: If it has none.
    """
    if experiment.traces == "gold" and not (experiment.bench / "gold.jsonl").exists():
        raise InputError(f"--traces gold: {experiment.bench} has no gold workflows (no file gold.jsonl)")


def _require_runs(folders: Sequence[Path], every: bool) -> None:
    """Requires that the folders of `--reuse` hold runs.

    Args:
        folders: The folders.
        every: Whether every folder must hold a run. For a list in the environment, one run is enough.

    Raises:
        InputError: If a folder holds no run.
    """
    missing = [folder for folder in folders if not (folder / "exchanges").is_dir()]
    if missing and (every or len(missing) == len(folders)):
        raise InputError(f"--reuse {missing[0]}: this is not the folder of a run: it has no folder exchanges")


def _list_grids() -> int:
    from experiments.commands.choosing import installed_grids
    from experiments.grid import Grid

    for name, path in installed_grids().items():
        print(f"{name:24} {Grid.read(path).title}")
    return 0


def _experiment(experiment: Experiment, out: Path | None) -> int:
    from experiments.naming import folder_name
    from experiments.runner import run_experiment
    from experiments.shards import place

    folder = out or Path("runs") / folder_name(experiment.model_dump())
    summary = run_experiment(experiment.run_options, experiment.settings, folder)
    return _shown([summary], f"{place(folder, experiment.part)}/summary.json")


def _shown(summaries: Sequence[Summary], last: str) -> int:
    """Prints the table of runs and a last line; 1 if cases ended with an error of the infrastructure."""
    from experiments.tables import terminal_table

    print(terminal_table(summaries))
    print(last)
    return 1 if any(summary.errors for summary in summaries) else 0


def _replay(options: argparse.Namespace) -> int:
    from experiments.runner import replay

    if others := sorted(options.explicit & {*Experiment.model_fields, "config"} - {"bench", *_REPLAYED}):
        also = ", ".join(["--out", *map(flag_of, _REPLAYED)])
        raise InputError(f"{flag_of(others[0])}: --replay takes the settings of the run; give only {also} and --bench")
    folder, given = options.out or options.replay, read_flags(RunOptions, options)
    require_benchmark(given.bench)
    return _shown([replay(options.replay, folder, given.bench, isolated=given)], f"{folder}/summary.json")


def _grid(options: argparse.Namespace, experiment: Experiment) -> int:
    from experiments.commands.choosing import read_grid
    from experiments.grid import run_grid

    grid = read_grid(options.config, experiment)
    bench = experiment.bench if "bench" in experiment.model_fields_set else grid.bench or experiment.bench
    require_benchmark(bench)
    summaries, problems = run_grid(grid, experiment.model_copy(update={"bench": bench}), options.out or Path("runs"))
    for problem in problems:
        print(f"flowmind: {problem}", file=sys.stderr)
    if not summaries:
        return 2
    return max(_shown(summaries, _report_line(options, experiment)), 1 if problems else 0)


def _report_line(options: argparse.Namespace, experiment: Experiment) -> str:
    """The command that writes the report on the runs of a grid."""
    if experiment.part is not None:
        return f"after all shards: {shlex.join(['flowmind', 'merge', str(options.out or 'runs')])}"
    words = ["flowmind", "report", "--config", str(options.config)]
    for name in ("limit", "pick", "seed"):
        if name in experiment.model_fields_set:
            words += [flag_of(name), str(getattr(experiment, name))]
    return shlex.join([*words, "--root", str(options.out)] if options.out else words)

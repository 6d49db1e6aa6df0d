"""`flowmind report`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.options import Experiment, RunOptions
from flowmind.base.errors import InputError
from flowmind.base.outputs import require_file
from flowmind.cli.flags import add_flags, flag_of, read_flags

if TYPE_CHECKING:
    from experiments.grid import Grid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "runs",
        type=Path,
        nargs="*",
        metavar="RUN",
        help="folder of a run, or a folder that contains runs (default runs)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="HTML file to write (default report.html in the folder of the run; of several runs, in their folder)",
    )  # fmt: skip
    parser.add_argument("--tables", action="store_true", help="print the tables as Markdown and write no file")
    parser.add_argument(
        "--every-eval-ever", type=Path, metavar="DIR",
        help="write the evaluations in the format of Every Eval Ever into DIR/data, and no report",
    )  # fmt: skip
    parser.add_argument(
        "--organization", default="unknown", metavar="NAME", help="who ran the evaluations (with --every-eval-ever)"
    )
    group = parser.add_argument_group("the runs of a grid")
    group.add_argument("--config", type=Path, metavar="FILE", help="grid file; the report is on its runs")
    group.add_argument(
        "--root",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder that the folders of its runs are in (default runs)",
    )
    add_flags(group, Experiment, "limit", "pick", "seed")


def run(options: argparse.Namespace) -> int:
    """Prints the tables and writes the report."""
    from experiments.analyses import analyse
    from experiments.loading import load
    from experiments.runner import summarize_run
    from experiments.tables import group_table, summary_table, terminal_groups, terminal_table

    _require_consistent(options)
    title, names, folders = None, None, options.runs or [Path("runs")]
    if options.config is not None:
        from experiments.commands.choosing import read_grid

        grid = read_grid(options.config, read_flags(Experiment, options))
        title, names, folders = grid.title, grid.analyses or None, _folders(grid, options)
    if options.every_eval_ever is not None:
        return _share(folders, options.every_eval_ever, options.organization)
    others, dialogues = _worfbench(folders), _dialogues(folders)
    runs = load(folders)
    summaries = [summarize_run(run.folder) for run in runs]
    if options.tables:
        if summaries:
            print(summary_table(summaries))
        for summary in summaries:
            print(group_table(summary))
        print("\n".join(table.markdown() for table in analyse(runs, names)))
        return 0
    if summaries:
        print(f"{terminal_table(summaries)}\n")
    if len(summaries) == 1:
        print(terminal_groups(summaries[0]))
    out = options.out or _report_path([*(run.folder for run in runs), *others, *dialogues])
    if not runs and not others:
        _print_size(out, _write_sessions(dialogues, out, title))
        return 0
    from experiments.report import write_report

    beside = _beside(out) if dialogues else None
    _print_size(out, write_report(runs, out, title, names, others, beside.name if beside else ""))
    if beside is not None:
        _print_size(beside, _write_sessions(dialogues, beside, None, out.name))
    return 0


def _share(folders: list[Path], out: Path, organization: str) -> int:
    from experiments.loading import load
    from experiments.sharing import share_run

    for run in load(folders):
        print(share_run(run.folder, out, organization))
    return 0


def _write_sessions(folders: list[Path], out: Path, title: str | None, report: str = "") -> int:
    from experiments.dialogue.pages import write_page

    return write_page(folders, out, title, report)


def _print_size(out: Path, size: int) -> None:
    print(f"{out} ({size / 1_000_000:.1f} MB)")


def _beside(out: Path) -> Path:
    """The file of the sessions beside a report on other runs."""
    beside = out.with_name("sessions.html")
    if beside == out:
        raise InputError(f"--out {out}: the sessions of the runs of dialogues are written there; give another file")
    return beside


def _worfbench(folders: list[Path]) -> list[Path]:
    """Prints the tables of the runs on WorFBench.

    Returns:
        Their folders.
    """
    from experiments.loading import worfbench_runs
    from experiments.worfbench.summing import read_summary, tables

    paths = worfbench_runs(folders)
    for path in paths:
        print(tables(read_summary(path)))
    if paths:
        from experiments.worfbench.comparing import comparisons

        for table in comparisons(paths):
            print(table.markdown())
    return paths


def _dialogues(folders: list[Path]) -> list[Path]:
    """Prints the tables of the runs of dialogues.

    Returns:
        Their folders.
    """
    from experiments.loading import dialogue_runs

    paths = dialogue_runs(folders)
    if paths:
        from experiments.dialogue.running import summarize_dialogues
        from experiments.dialogue.summing import tables

        for path in paths:
            print(tables(summarize_dialogues(path)))
    return paths


def _require_consistent(options: argparse.Namespace) -> None:
    """Refuses flags that would have no effect.

    Raises:
        InputError: If there is such a flag; the line names it.
    """
    require_file("--out", options.out)
    if options.config is not None and options.runs:
        raise InputError("--config: give either a grid file or the folders of runs")
    if options.config is None and (idle := sorted(options.explicit & {"limit", "pick", "seed", "root"})):
        raise InputError(f"{flag_of(idle[0])}: this flag needs --config; without it, name the folders of the runs")
    if options.every_eval_ever is None and "organization" in options.explicit:
        raise InputError("--organization: this flag needs --every-eval-ever")
    if options.every_eval_ever is not None and (options.tables or "out" in options.explicit):
        raise InputError("--every-eval-ever: it writes no report; leave --tables and --out out")
    if options.tables and "out" in options.explicit:
        raise InputError("--out: --tables writes no file; leave one of the two out")


def _folders(grid: Grid, options: argparse.Namespace) -> list[Path]:
    """The folders of the grid's runs that have records."""
    from experiments.grid import folders

    every = folders(grid, RunOptions(), options.root)
    existing = [folder for folder in every if (folder / "records.jsonl").exists()]
    if not existing:
        raise InputError(f"{options.config}: none of its runs is in {options.root}; `flowmind exp --config` makes them")
    return existing


def _report_path(folders: list[Path]) -> Path:
    """`report.html` in the folder of a single run; for several runs, in the parent folder of the first."""
    return (folders[0] if len(folders) == 1 else folders[0].parent) / "report.html"

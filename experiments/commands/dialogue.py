"""`flowmind dialogue`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.dialogue.options import DialogueOptions
from experiments.endpoints import served
from experiments.naming import named
from flowmind.base.errors import InputError
from flowmind.base.outputs import require_folder
from flowmind.cli.flags import add_flags, flag_of, read_flags

if TYPE_CHECKING:
    from experiments.dialogue.summing import DialogueSummary

_AGENT = (
    "model", "base_url", "method", "format", "controllers", "stages", "procedures", "handoff", "temperature",
    "json_mode", "timeout",
)  # fmt: skip
_USERS = ("user", "user_model", "user_base_url", "oow", "judge", "judge_base_url")
_REPLAYED = ("data", "procedures", "isolation", "require_isolation")
"""Settings that a replay takes from the command line; the records do not depend on them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags; the settings of a run are the fields of `DialogueOptions`."""
    parser.add_argument(
        "--config", type=Path, metavar="GRID",
        help="run all runs of a grid of dialogues, or those of --model: a TOML file, or the name of a grid that is "
        "installed, such as compliance_embedded; `list` shows them",
    )  # fmt: skip
    parser.add_argument(
        "--replay", type=Path, metavar="RUN",
        help="compute the records of a run again from its recorded replies, in place or in --out; no model is asked",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="folder of the run (default runs/<model>-<method>-<format>, followed by other settings); with --config, "
        "the folder that the folders of the runs are in (default runs)",
    )  # fmt: skip
    others = [name for name in DialogueOptions.model_fields if name not in (*_AGENT, *_USERS)]
    add_flags(parser.add_argument_group("the sessions"), DialogueOptions, *others)
    add_flags(parser.add_argument_group("the agent"), DialogueOptions, *_AGENT)
    add_flags(parser.add_argument_group("users and judges"), DialogueOptions, *_USERS)


def run(options: argparse.Namespace) -> int:
    """Runs sessions, a grid or a replay, and prints the tables. Returns 1 if the infrastructure ended a session."""
    require_folder("--out", options.out)
    if options.replay is not None:
        return _replay(options)
    if str(options.config) == "list":
        return _list_grids()
    chosen = read_flags(DialogueOptions, options)
    for folder in chosen.reuse:
        if not (folder / "exchanges").is_dir():
            raise InputError(f"--reuse {folder}: this is not the folder of a run: it has no folder exchanges")
    if options.config is not None:
        return _grid(options, chosen)
    assert chosen.kept  # names of controllers and stages are known
    return _sessions(chosen, options.out)


def _sessions(chosen: DialogueOptions, out: Path | None) -> int:
    from experiments.dialogue.grid import folder_name
    from experiments.dialogue.running import run_dialogues
    from experiments.dialogue.services import require_talkers
    from experiments.dialogue.sources import ensure_dialogues

    require_talkers(chosen)
    ensure_dialogues(chosen.data)
    folder = out or Path("runs") / named(folder_name(chosen))
    with served(chosen.model, [chosen.base_url]) as started:
        options = chosen.model_copy(update={"base_url": started or chosen.base_url})
        return _shown(run_dialogues(options, folder), folder)


def _shown(summary: DialogueSummary, folder: Path) -> int:
    from experiments.dialogue.summing import tables

    print(tables(summary))
    print(f"{folder}/summary.json")
    return 1 if summary.lost else 0


def _replay(options: argparse.Namespace) -> int:
    from experiments.dialogue.running import replay_dialogues

    if others := sorted(options.explicit & {*DialogueOptions.model_fields, "config"} - {*_REPLAYED}):
        also = ", ".join(["--out", *map(flag_of, _REPLAYED)])
        raise InputError(f"{flag_of(others[0])}: --replay takes the settings of the run; give only {also}")
    given, folder = read_flags(DialogueOptions, options), options.out or options.replay
    return _shown(replay_dialogues(options.replay, folder, given), folder)


def _list_grids() -> int:
    from experiments.dialogue.grid import DialogueGrid
    from experiments.dialogue.installed import installed_grids

    for name, path in installed_grids().items():
        print(f"{name:52} {DialogueGrid.read(path).title}")
    return 0


def _grid(options: argparse.Namespace, chosen: DialogueOptions) -> int:
    from experiments.dialogue.grid import run_grid
    from experiments.dialogue.installed import grid_file
    from experiments.dialogue.reporting import print_tables
    from experiments.dialogue.sources import ensure_dialogues

    ensure_dialogues(chosen.data)
    path, root = grid_file(options.config), options.out or Path("runs")
    folders, problems = run_grid(path, chosen, options.explicit, root)
    if folders:
        print_tables(folders, path, root)
    for problem in problems:
        print(f"flowmind: {problem}", file=sys.stderr)
    return (1 if folders else 2) if problems else 0

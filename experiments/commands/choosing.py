"""Grids by name, and the part of a grid that the flags of a command select."""

from __future__ import annotations

import difflib
from pathlib import Path

from experiments.dialogue.installed import is_dialogue_grid
from experiments.grid import Grid
from experiments.options import Experiment
from flowmind.base.errors import InputError
from flowmind.cli.flags import flag_of

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def installed_grids() -> dict[str, Path]:
    """The grid files that are installed, by name; those of dialogues are listed by `flowmind dialogue`."""
    return {path.stem: path for path in sorted(CONFIGS.glob("*.toml")) if not is_dialogue_grid(path)}


def grid_file(path: Path) -> Path:
    """A grid file by its path, or by the name of one that is installed.

    Raises:
        InputError: If there is neither.
    """
    grids = installed_grids()
    if is_dialogue_grid(path if path.exists() else CONFIGS / f"{path.name}.toml"):
        raise InputError(f"--config {path}: this is a grid of dialogues; `flowmind dialogue --config {path}` runs it")
    if path.exists() or str(path) not in grids:
        if not path.exists() and path.suffix != ".toml" and len(path.parts) == 1:
            near = difflib.get_close_matches(str(path), grids, 1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(grids)}"
            raise InputError(f"--config {path}: no such file, and no grid of this name; {advice}")
        return path
    return grids[str(path)]


def read_grid(path: Path, experiment: Experiment) -> Grid:
    """Reads a grid and selects the models, modes, seeds and tasks of the flags.

    Raises:
        InputError: If the file cannot be read, the grid has no such part, or the file and a flag set the same setting.
    """
    grid = Grid.read(grid_file(path))
    flags = experiment.model_fields_set
    if both := sorted(flags & grid.set_names):
        raise InputError(f"{flag_of(both[0])}: {path} sets {both[0]} itself; leave the flag out, or change the file")
    grid = grid.part(
        (experiment.model,) if "model" in flags else (), (experiment.mode,) if "mode" in flags else (), experiment.limit
    )  # fmt: skip
    update = {"pick": experiment.pick} if "pick" in flags else {}
    return grid.model_copy(update={**update, "seeds": (experiment.seed,)} if "seed" in flags else update)

"""The part of a grid that the flags of a command select."""

from __future__ import annotations

from pathlib import Path

from experiments.grid import Grid
from experiments.options import Experiment
from flowmind.base.errors import InputError
from flowmind.cli.flags import flag_of


def read_grid(path: Path, experiment: Experiment) -> Grid:
    """Reads a grid file and selects the models, modes, seeds and tasks of the flags.

    Raises:
        InputError: If the file cannot be read, the grid has no such part, or the file and a flag set the same setting.
    """
    grid = Grid.read(path)
    flags = experiment.model_fields_set
    if both := sorted(flags & grid.set_names):
        raise InputError(f"{flag_of(both[0])}: {path} sets {both[0]} itself; leave the flag out, or change the file")
    grid = grid.part(
        (experiment.model,) if "model" in flags else (), (experiment.mode,) if "mode" in flags else (), experiment.limit
    )  # fmt: skip
    update = {"pick": experiment.pick} if "pick" in flags else {}
    return grid.model_copy(update={**update, "seeds": (experiment.seed,)} if "seed" in flags else update)

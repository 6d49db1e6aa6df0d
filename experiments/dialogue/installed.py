"""The grids of dialogues that are installed, by name."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.files import read_text

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
_MOST_BYTES = 1_000_000


def is_dialogue_grid(path: Path) -> bool:
    """Whether a file says that it is a grid of dialogues."""
    try:
        return tomllib.loads(read_text(path, _MOST_BYTES)).get("suite") == "dialogue"
    except (ValueError, RecursionError, InputError):
        return False


def installed_grids() -> dict[str, Path]:
    """The grids of dialogues that are installed, by name."""
    return {path.stem: path for path in sorted(CONFIGS.glob("*.toml")) if is_dialogue_grid(path)}


def grid_file(path: Path) -> Path:
    """A grid file by its path, or by the name of one that is installed.

    Raises:
        InputError: If there is neither.
    """
    grids = installed_grids()
    if path.exists() or str(path) not in grids:
        if not path.exists():
            near = difflib.get_close_matches(str(path), grids, 1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(grids)}"
            raise InputError(f"--config {path}: no such file, and no grid of dialogues of this name; {advice}")
        return path
    return grids[str(path)]

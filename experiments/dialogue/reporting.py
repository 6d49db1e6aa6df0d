"""Prints the tables of runs of dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.dialogue.grid import DialogueGrid
from experiments.dialogue.tables import DialogueRun, made_tables
from flowmind.base.files import write_text


def grid_tables(folders: Sequence[Path], grid: DialogueGrid) -> str:
    """The tables of a grid from the folders of its runs, as Markdown."""
    runs = [DialogueRun.read(folder) for folder in folders]
    return "\n".join(table.markdown() for table in made_tables(grid.tables, runs))


def print_tables(folders: Sequence[Path], path: Path, root: Path) -> None:
    """Prints the tables of a grid, and writes them to a file beside the folders of its runs."""
    text = grid_tables(folders, DialogueGrid.read(path))
    print(text)
    out = root / f"{path.stem}.md"
    write_text(out, text)
    print(out)

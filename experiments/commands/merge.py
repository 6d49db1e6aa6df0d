"""`flowmind merge`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flowmind.base.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR",
        help="the --out of the shards; of a grid, the folder that the folders of the runs are in",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Merges runs and prints their tables. Returns 1 if cases ended with an error, 2 if a run cannot be merged."""
    from experiments.merging import merge, sharded

    problems: list[str] = []
    errors = 0
    for folder in sharded(options.folder):
        try:
            merged = merge(folder)
        except InputError as error:
            problems.append(str(error))
            continue
        print(f"{merged.tables}\n{folder}/summary.json")
        errors += merged.errors
    for problem in problems:
        print(f"flowmind: {problem}", file=sys.stderr)
    return 2 if problems else 1 if errors else 0

"""Writes the Markdown pages that Zensical builds the site from.

python -m website --out build/pages && zensical build
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments.benches import DEFAULT, ensure_benchmark
from flowmind.base.errors import FlowMindError
from flowmind.base.parsing import Parser
from tools_registry.sandbox.errors import SandboxUnavailable
from website import commands, gallery, notebooks, pages


def main() -> int:
    """Writes the pages and returns the exit code."""
    parser = Parser(prog="python -m website", description="Write the pages of the documentation's site.")
    parser.add_argument(
        "--out", type=Path, default=Path("build/pages"), help="the folder to write (default build/pages)"
    )
    parser.add_argument(
        "--bench",
        type=Path,
        default=DEFAULT,
        help="the benchmark of the gallery (default bench, built at its first use)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=("gallery", "commands", "notebooks"),
        help="generate these parts only, beside the pages of the repository; others keep the pages of an earlier call",
    )
    try:
        write(parser.parse_args())
    except (FlowMindError, SandboxUnavailable) as error:
        print(f"python -m website: {error}", file=sys.stderr)
        return 2
    return 0


def write(options: argparse.Namespace) -> None:
    """Writes all pages.

    Raises:
        InputError: If the benchmark cannot be read or built, or a workflow fails on a test.
    """
    parts: tuple[str, ...] = tuple(options.only or ("gallery", "commands", "notebooks"))
    os.environ["COLUMNS"] = "88"  # of the help of commands
    pages.copy(Path.cwd(), options.out)
    if "commands" in parts:
        commands.write(options.out / "commands")
    if "gallery" in parts:
        ensure_benchmark(options.bench)
        gallery.write(options.bench, options.out / "gallery")
    if "notebooks" in parts:
        ensure_benchmark(options.bench)
        notebooks.write(Path("examples/notebooks"), options.bench, options.out / "notebooks")


if __name__ == "__main__":
    sys.exit(main())

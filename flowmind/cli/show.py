"""`flowmind show`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.files import write_text
from flowmind.cli.arguments import add_workflow, require_file
from flowmind.cli.converting import read_workflow
from flowmind.formats.svg import to_svg
from flowmind.formats.terminal import to_terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    add_workflow(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write an SVG drawing to this file")
    parser.add_argument("--width", type=int, metavar="N", help="columns; by default those of the terminal")


def run(options: argparse.Namespace) -> int:
    """Draws the workflow."""
    require_file("--svg", options.svg)
    if options.width is not None and options.width < 1:
        raise InputError(f"--width: {options.width} is not a number of columns; give at least 1")
    workflow = read_workflow(options.workflow, options.form)
    print(f"{workflow.name}: {workflow.description}" if workflow.description else workflow.name)
    width = options.width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else 160)
    print(to_terminal(workflow, width), end="")
    if options.svg is not None:
        write_text(options.svg, to_svg(workflow))
    return 0

"""`flowmind show`."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.files import write_text
from flowmind.base.outputs import require_file
from flowmind.cli.arguments import add_workflow
from flowmind.cli.converting import Source, read_source, rivals_line
from flowmind.formats.svg import to_svg
from flowmind.formats.terminal import to_terminal
from flowmind.trace.task import Task

_MAX_WIDTH = 1_000
_WIDTH = 100
"""Columns of the text of a task."""
_VALUES = ("Input: ", "Output: ")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    add_workflow(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write an SVG drawing to this file")
    parser.add_argument("--width", type=int, metavar="N", help="columns; by default those of the terminal")


def run(options: argparse.Namespace) -> int:
    """Draws the workflow; of a benchmark or a run, the task comes first."""
    require_file("--svg", options.svg, options.workflow)
    if options.width is not None and not 1 <= options.width <= _MAX_WIDTH:
        raise InputError(f"--width: {options.width} is not a number of columns; give 1 to {_MAX_WIDTH}")
    source = read_source(options.workflow, options.form)
    width = options.width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else 160)
    try:
        drawing = to_terminal(source.workflow, width)
    except InputError as error:
        raise InputError(f"{options.workflow}: {error}; `flowmind check` lists all problems") from None
    print("\n".join([*_heading(source), drawing]), end="")
    if rivals := rivals_line(source.workflow):
        print(f"\nrivals: {rivals}")
    if options.svg is not None:
        write_text(options.svg, to_svg(source.workflow))
    return 0


def _heading(source: Source) -> Iterator[str]:
    workflow = source.workflow
    if source.task is None:
        yield f"{workflow.name}: {workflow.description}" if workflow.description else workflow.name
        return
    yield from _task_lines(source.task)
    yield f"{'Gold workflow' if source.bench else 'Workflow'}:"


def _task_lines(task: Task) -> Iterator[str]:
    kinds = ", ".join(filter(None, (task.category, task.difficulty, task.control_flow)))
    yield f"{task.id} ({kinds})" if kinds else task.id
    yield ""
    for line in task.text().splitlines():
        yield from [line] if line.startswith(_VALUES) else textwrap.wrap(line, _WIDTH) or [""]
    yield ""
    yield from ("Tools:", ", ".join(task.tools) or "none", "")

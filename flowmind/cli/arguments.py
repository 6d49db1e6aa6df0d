"""Arguments of several commands, and readers of their files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from flowmind.api.runnable import require_distinct
from flowmind.base.errors import InputError
from flowmind.base.files import read_text
from flowmind.cli.converting import WORKFLOW_HELP
from flowmind.formats.catalog import FORMATS
from flowmind.trace.task import benchmark_tools
from tools_registry import catalog
from tools_registry.sandbox.environments import ToolSource
from tools_registry.sandbox.files import tools_of_file
from tools_registry.specs.spec import SpecError, ToolSpec


def add_workflow(parser: argparse.ArgumentParser) -> None:
    """Adds `WORKFLOW` and `--from`."""
    readable = [name for name, form in FORMATS.items() if form.reads]
    parser.add_argument("workflow", type=Path, metavar="WORKFLOW", help=WORKFLOW_HELP)
    parser.add_argument("--from", dest="form", choices=readable, help="format of the file; by default from its name")


def add_tools(parser: argparse.ArgumentParser) -> None:
    """Adds `--tools`."""
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="FILE",
        help="Python file with the tools; by default the built-in catalog, or the tools of BENCH",
    )


def add_out(parser: argparse.ArgumentParser, help: str) -> None:
    """Adds `--out`."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=help)


def read_tools(path: Path | None, names: Sequence[str] | None = None, bench: Path | None = None) -> list[ToolSource]:
    """The tools of a file; without a file those of a benchmark or of the catalog, or some of them by name.

    Raises:
        InputError: If the file cannot be read, holds no tools, or is refused by the sandbox.
    """
    if path is None:
        tools = catalog.load() if bench is None else benchmark_tools(bench)
        return [tools[name] for name in (tools if names is None else names) if name in tools]
    text = read_text(path)
    try:
        tools = tools_of_file(text)
        require_distinct([tool.spec.name for tool in tools])
        return tools
    except (SpecError, InputError) as error:
        raise InputError(f"{path}: {error}") from None


def read_specs(path: Path | None, bench: Path | None = None) -> Mapping[str, ToolSpec]:
    """The specs of the tools of a file; without a file those of a benchmark or of the catalog."""
    if path is None and bench is None:
        return catalog.specs()
    return {tool.spec.name: tool.spec for tool in read_tools(path, bench=bench)}

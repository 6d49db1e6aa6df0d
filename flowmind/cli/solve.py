"""`flowmind solve`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from flowmind.base.errors import InputError
from flowmind.base.files import read_model, write_text
from flowmind.base.outputs import require_file
from flowmind.build.derivation import Derivation
from flowmind.build.settings import Settings
from flowmind.cli.arguments import add_out, read_tools
from flowmind.cli.flags import add_flags, read_flags
from flowmind.cli.options import ModelOptions, SandboxOptions
from flowmind.llm.models import find, reach
from flowmind.trace.task import Task, TaskFile, make_task, name_of

if TYPE_CHECKING:
    from flowmind.api.solving import Solution

_SETTINGS = ("mode", "rollouts", "summarizer", "verify", "probe")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "--task", type=Path, required=True, help="JSON file with query, examples and optionally id and inputs"
    )
    parser.add_argument("--tools", type=Path, required=True, help="Python file with the tools")
    add_flags(parser, ModelOptions)
    add_flags(parser, Settings, *_SETTINGS)
    add_flags(parser, SandboxOptions)
    add_out(parser, "also write the workflow to this file")


def run(options: argparse.Namespace) -> int:
    """Prints the workflow; 1 if there is none, or if it is not sound."""
    require_file("--out", options.out, options.task, options.tools)
    settings, chosen = read_flags(Settings, options), read_flags(ModelOptions, options)
    if find(chosen.model).kind != "embedded":
        reach(chosen.model, chosen.base_url)  # before the imports that take seconds
    solution = _solve(options, settings, chosen)
    if solution.workflow is None:
        print("flowmind: no workflow was built", file=sys.stderr)
        return 1
    print(solution.workflow.to_json(), end="")
    if options.out is not None:
        write_text(options.out, solution.workflow.to_json())
    return 0 if solution.graph_valid else 1


def _solve(options: argparse.Namespace, settings: Settings, chosen: ModelOptions) -> Solution:
    """Solves the task, and prints to standard error what was done."""
    from flowmind.api.solving import ExecuteSummarize
    from flowmind.cli.sandboxes import Sandboxes
    from flowmind.llm.choosing import model_named

    sources = read_tools(options.tools)
    task = _read_task(options.task, [source.spec.name for source in sources])
    isolated = read_flags(SandboxOptions, options)
    with Sandboxes(isolated.sandbox, least=isolated.require_isolation) as sandboxes:
        model = model_named(chosen.model, sandboxes.thinking(sources), chosen.base_url)
        solver = ExecuteSummarize(sources, model, settings.mode, settings, sandboxes.of(sources))
        solution = solver.run(task).solution
    for line in _lines(solution):
        print(line, file=sys.stderr)
    sandboxes.print_differences()
    return solution


def _read_task(path: Path, tools: Iterable[str]) -> Task:
    file = read_model(path, TaskFile)
    try:
        return make_task(file.query, file.examples, file.inputs, file.id or name_of(file.query, tools))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _lines(solution: Solution) -> list[str]:
    """The report on a solution, line by line."""
    lines: list[str] = []
    for trace in solution.traces:
        calls = " → ".join(step.call.tool for step in trace.calls) or "no calls"
        lines.append(f"execute: {calls}; stopped by {trace.stop}")
    lines += _derivation_lines(solution.derivation) if solution.derivation else []
    return [*lines, *(f"problem: {problem}" for problem in solution.problems)]


def _derivation_lines(derivation: Derivation) -> list[str]:
    repairs = f" ({', '.join(derivation.mends)})" if derivation.mends else ""
    return [
        f"verify: {derivation.draft_right} of {derivation.examples} examples at first, {derivation.right} in the end"
        f"{repairs}",
        *(f"question: {line}" for line in derivation.open),
        *(f"guess: {line} is used as a constant, but is an input of an example" for line in derivation.leaked),
    ]

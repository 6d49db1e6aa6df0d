"""`flowmind summarize`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_model, read_text, write_text
from flowmind.base.outputs import require_file
from flowmind.cli.arguments import add_out, read_tools
from flowmind.cli.flags import add_flags, read_flags
from flowmind.cli.options import SandboxOptions
from flowmind.formats.tool_schema import specs_of_openai_tools
from flowmind.llm.models import find, reach
from flowmind.trace.task import TaskFile

if TYPE_CHECKING:
    from flowmind.api.summarizing import Summarized


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "traces",
        type=Path,
        metavar="TRACES",
        help="JSON or JSON Lines: traces, or conversations in the format of OpenAI or Anthropic",
    )
    parser.add_argument(
        "--tools", type=Path, metavar="FILE",
        help="Python file with the tools, which are run to check the workflow; or a JSON list of definitions in "
        "the format of OpenAI, Anthropic or MCP; by default the tools are inferred from the traces",
    )  # fmt: skip
    parser.add_argument(
        "--query", metavar="TEXT|@FILE", help="the task in words; used to rank constants and conditions"
    )
    parser.add_argument("--task", type=Path, metavar="FILE", help="JSON file as for solve")
    parser.add_argument("--model", help="model that decides conditions that the traces leave open; default none")
    parser.add_argument("--base-url", help="URL of the model's server; by default OPENAI_BASE_URL")
    add_flags(parser, SandboxOptions)
    add_out(parser, "write the workflow to this file instead of standard output")


def run(options: argparse.Namespace) -> int:
    """Prints the workflow; 1 if there is none."""
    require_file("--out", options.out, options.traces, options.tools, options.task)
    if options.model is not None and find(options.model).kind != "embedded":
        reach(options.model, options.base_url)  # before the imports that take seconds
    result = _summarize(options)
    print(result.report(), file=sys.stderr)
    if not result.ok:
        print(f"flowmind: {result.problem}", file=sys.stderr)
        return 1
    if options.out is None:
        print(result.document.to_json(), end="")
    else:
        write_text(options.out, result.document.to_json())
    return 0


def _summarize(options: argparse.Namespace) -> Summarized:
    from flowmind.api.summarizing import summarize
    from flowmind.cli.sandboxes import Sandboxes
    from flowmind.llm.choosing import model_named

    task = read_model(options.task, TaskFile) if options.task else TaskFile(query="", examples=())
    query = task.query if options.query is None else str(options.query)
    if query.startswith("@"):
        query = read_text(Path(query[1:]))
    isolated = read_flags(SandboxOptions, options)
    tools: Path | None = options.tools
    definitions = _read_definitions(tools) if tools is not None and tools.suffix == ".json" else None
    sources = read_tools(tools) if tools is not None and definitions is None else []
    with Sandboxes(isolated.sandbox, least=isolated.require_isolation) as sandboxes:
        model = options.model and model_named(options.model, sandboxes.thinking(sources), options.base_url)
        result = summarize(
            options.traces, definitions, query=query, inputs=task.inputs, examples=task.examples, name=task.id,
            model=model, environment=sandboxes.of(sources) if sources else None,
        )  # fmt: skip
        sandboxes.print_differences()
    return result


def _read_definitions(path: Path) -> list[dict[str, Any]]:
    """Definitions of tools in OpenAI's format."""
    try:
        value = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    rows = cast(list[Any], value) if isinstance(value, list) else []
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: a list of definitions in OpenAI's format is needed, or a Python file with functions")
    try:
        specs_of_openai_tools(rows)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return rows

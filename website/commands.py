"""A page for each command, with its help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flowbench_synth.cli import build_parser as builder_parser
from flowmind.base.files import write_text
from flowmind.base.parsing import Parser
from flowmind.cli.main import build_parser, commands


def write(out: Path) -> None:
    """Writes the pages, and a page that lists them."""
    listed: list[str] = []
    for name, command in commands().items():
        parser = build_parser(name)[1]
        assert isinstance(parser, Parser)
        page = name.replace(" ", "-")
        write_text(out / f"{page}.md", _page(f"flowmind {name}", command.help, parser.walk()))
        listed.append(f"| [`flowmind {name}`]({page}.md) | {command.help} |")
    builder = builder_parser()
    write_text(out / "flowbench_synth.md", _page("flowbench_synth", builder.description or "", builder.walk()))
    listed.append(f"| [`flowbench_synth`](flowbench_synth.md) | {_lower(builder.description or '')} |")
    head = ["# Commands", "", _ABOUT, "", "| command | purpose |", "| --- | --- |"]
    write_text(out / "overview.md", "\n".join([*head, *listed]) + "\n")


_ABOUT = """These pages are the output of `--help`. Every flag of `flowmind` has an environment variable:
`FLOWMIND_BASE_URL` sets `--base-url`. Exit codes: 0 done, 1 the answer is "no", 2 bad usage or input, 130 interrupted,
143 terminated."""


def _page(title: str, purpose: str, parsers: Iterator[Parser]) -> str:
    parts = [f"# {title}", f"{purpose[:1].upper()}{purpose[1:].rstrip('.')}."]
    for parser in parsers:
        if parser.prog != title:
            parts.append(f"## {parser.prog}")
        parts.append(f"```text\n{parser.format_help().strip()}\n```")
    return "\n\n".join(parts) + "\n"


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"

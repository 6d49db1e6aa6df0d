"""The help of the commands: groups, examples that parse, a text for every flag; commands that documents name."""

from __future__ import annotations

import argparse
import io
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from test_readme import DOCUMENTS, ROOT, blocks
from tiny import called

from flowbench_synth.cli import main as build_main
from flowbench_synth.tasks import all_blueprints
from flowmind.base.errors import InputError
from flowmind.base.parsing import Parser
from flowmind.cli.converting import WORKFLOW_HELP
from flowmind.cli.main import build_parser, commands, main, parse

NAMES = sorted(commands())
SPANS = re.compile(r"`([^`\n]+)`")
CURRENT = [document for document in DOCUMENTS if document.name != "CHANGELOG.md"]
"""The documents that are about this version only."""


BUILDER = (
    "build", "check", "certify", "stats", "dialogue build", "dialogue check", "worfbench", "worfbench build",
    "worfbench check", "worfbench stats",
)  # fmt: skip
"""The commands of `flowbench_synth`."""


def command_parser(name: str) -> argparse.ArgumentParser:
    parser = build_parser(name)[1]
    assert parser is not None
    return parser


def test_the_task_that_the_help_names_is_in_the_benchmark() -> None:
    named = re.findall(r"bench:(\w+)", WORKFLOW_HELP)
    assert named and {*named} <= {blueprint.id for blueprint in all_blueprints()}


def test_the_help_lists_every_command_once_on_one_line() -> None:
    lines = called_help("flowmind", "--help").splitlines()
    listed = [
        line.split()[0] for line in lines if re.match(r"    [\w-]+ +\w", line) and not line.startswith("    flowmind")
    ]
    assert sorted(listed) == NAMES
    assert max(map(len, lines)) <= 100


def called_help(*words: str) -> str:
    printed = io.StringIO()
    with pytest.raises(SystemExit), redirect_stdout(printed):
        (build_main if words[0] == "flowbench_synth" else main)(words[1:])
    return printed.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_of_every_command_has_a_help_text(name: str) -> None:
    actions = [action for action in command_parser(name)._actions if action.help != argparse.SUPPRESS]
    assert [action.dest for action in actions if not (action.help or "").strip()] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_usage_line_and_an_example_that_parses(name: str) -> None:
    text = called_help("flowmind", name, "--help")
    assert text.startswith(f"usage: flowmind {name}") and len(text.partition("\n")[0]) <= 100
    example = re.search(r"^example:\n  flowmind (.*)$", text, re.MULTILINE)
    assert example is not None
    assert parse(shlex.split(example[1])).command == commands(name)[name]


def named_commands(document: Path) -> list[str]:
    """The command lines of both programs in a document: in code blocks, and in spans of code."""
    texts = [text for block in blocks(document) if block.language not in ("python", "text") for text in [block.text]]
    spans = SPANS.findall(document.read_text(encoding="utf-8"))
    lines = [line.removeprefix("$ ").strip() for text in texts for line in text.splitlines()]
    return [line for line in (*lines, *spans) if re.match(r"(flowmind|flowbench_synth)\s+[a-z]", line)]


@pytest.mark.parametrize("document", CURRENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_and_flags_that_a_document_names_exist(document: Path) -> None:
    wrong: list[str] = []
    for line in named_commands(document):
        program, name, *rest = line.split()
        if name == "COMMAND":
            continue
        if (program, name) in (("flowbench_synth", "dialogue"), ("flowbench_synth", "worfbench")):
            name = f"{name} {rest[0]}" if rest else name
        flags = [flag.partition("=")[0].rstrip("`,.;:)") for flag in re.findall(r"(?<=\s)--[\w-]+\S*", line)]
        known = flags_of(program, name)
        if known is None:
            wrong.append(line)
        else:
            wrong += [f"{line}: {flag}" for flag in flags if flag not in known]
    assert wrong == []


@cache
def flags_of(program: str, name: str) -> frozenset[str] | None:
    """The flags of a command; None if there is no such command."""
    if name not in (NAMES if program == "flowmind" else BUILDER):
        return None
    return frozenset(re.findall(r"(?<![\w-])--[\w-]+", called_help(program, *name.split(), "--help")))


def test_bad_usage_of_the_benchmark_builder_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert build_main(["stats"]) == 2
    assert capsys.readouterr().err == "flowbench_synth: FOLDER: missing; `flowbench_synth stats --help` explains it\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--count", "x"], "--count: 'x' is not an integer"),
        (["--count"], "--count: a value is missing after the flag"),
        (["--cuont", "3"], "--cuont: no such flag of `program`; did you mean --count?"),
        (["--cuont=3"], "--cuont: no such flag of `program`; did you mean --count?"),
        (["--colour", "gren"], "--colour: 'gren' is none of red, green, blue; did you mean green?"),
        (["--quiet=3"], "--quiet: ignored explicit argument '3'"),
        (["extra"], "'extra': unexpected argument; `program --help` lists the arguments"),
        (["--c", "3"], "ambiguous option: --c could match --count, --colour"),
    ],
)
def test_bad_usage_names_the_flag_and_the_nearest(words: list[str], error: str) -> None:
    parser = Parser(prog="program")
    parser.add_argument("--count", type=int)
    parser.add_argument("--colour", choices=("red", "green", "blue"))
    parser.add_argument("--quiet", action="store_true")
    with pytest.raises(InputError) as caught:
        parser.parse_args(words)
    assert str(caught.value) == error


def test_the_summary_of_losses_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(
        '{"inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, "nodes": ['
        '{"id": "start", "kind": "start"}, {"id": "c", "kind": "condition", "expr": "n > 3"}, '
        '{"id": "a", "kind": "end", "output": {"value": 1}}, {"id": "b", "kind": "end", "output": {"value": 2}}], '
        '"edges": [{"from": "start", "to": "c"}, {"from": "c", "to": "a", "when": true}, '
        '{"from": "c", "to": "b", "when": false}]}'
    )
    done = called("convert", path, "--to", "openai-tool")
    assert done.stderr == (
        "openai-tool: approximated inputs (not strict, so that a model may miss them: inputs may have other fields); "
        "lost 8 parts (a tool's schema says what goes in and what comes out, not what happens between; and 1 other "
        "reason); --report FILE lists all\n"
    )
    report = tmp_path / "report.json"
    done = called("convert", path, "--to", "node-edge", "--report", report)
    assert done.stderr.count("\n") == 1 and "--report" not in done.stderr
    assert report.read_text().count('"note"') > 3

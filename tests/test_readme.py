"""The README is true: its scripts and commands run as they stand, and the files that the documents name exist."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")
NAMED_FILE = re.compile(r"`((?:flowmind|flowbench_synth|tools_registry|experiments|tests|docs)/[\w./-]+)`")
ANY_LINES = "..."


class Block(NamedTuple):
    language: str
    text: str
    line: int


class Command(NamedTuple):
    shell: str
    printed: str


def blocks(document: Path = README) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 2) for match in FENCE.finditer(text)]


def commands(block: Block) -> list[Command]:
    """The lines behind a `$`, each with the lines that follow it."""
    starts: list[int] = []
    lines = block.text.splitlines()
    for number, line in enumerate(lines):
        starts.append(number if line.startswith("$ ") else starts[-1])
    groups = [[lines[number] for number in group] for _, group in groupby(range(len(lines)), starts.__getitem__)]
    return [Command(group[0].removeprefix("$ "), "\n".join(group[1:])) for group in groups]


def run(arguments: list[str], folder: Path) -> str:
    """What a command prints to standard output and standard error; it must succeed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}"
    return done.stdout


def matches(printed: str, expected: str) -> bool:
    """Whether the output is the expected one; a line of three dots stands for any lines."""
    patterns = [r"(.*\n)*" if line == ANY_LINES else re.escape(f"{line}\n") for line in expected.splitlines()]
    return re.fullmatch("".join(patterns), "".join(f"{line}\n" for line in printed.splitlines())) is not None


def run_commands(block: Block, folder: Path) -> None:
    """Runs the commands of a block; `cat` of a file that does not exist yet creates it as it is shown."""
    for command in commands(block):
        name = command.shell.removeprefix("cat ")
        if name != command.shell and not (folder / name).exists():
            (folder / name).write_text(f"{command.printed}\n", encoding="utf-8")
        printed = run(["sh", "-c", command.shell], folder)
        assert matches(printed, command.printed), f"README.md:{block.line}: {command.shell}\n{printed}"


def test_the_scripts_and_commands_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    every = blocks()
    for block, following in zip(every, [*every[1:], Block("", "", 0)], strict=True):
        if block.language == "python":
            printed = run([sys.executable, "-c", block.text], tmp_path)
            assert following.language == "text" and matches(printed, following.text), (
                f"README.md:{block.line}: {printed}"
            )
        elif block.text.startswith("$ "):
            run_commands(block, tmp_path)


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("one\ntwo", "one\ntwo", True),
        ("one\ntwo", "one", False),
        ("one\ntwo\nthree", "...\nthree", True),
        ("one\ntwo\nthree", "one\n...", True),
        ("one\ntwo\nthree", "...\ntwo", False),
        ("", "", True),
        ("one", "", False),
    ],
)
def test_three_dots_stand_for_any_lines(printed: str, expected: str, same: bool) -> None:
    assert matches(printed, expected) is same


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_file_names_of_the_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (document.parent / link).exists()]
    missing += [name for name in NAMED_FILE.findall(text) if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_of_the_documents_imports_names_that_exist(document: Path) -> None:
    trees = [ast.parse(block.text) for block in blocks(document) if block.language == "python"]
    for node in [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]:
        module = importlib.import_module(node.module or "")
        assert not [alias.name for alias in node.names if not hasattr(module, alias.name)]

"""Runs a document from top to bottom, as a reader would, and compares what is printed.

A script is a block of Python. If a block `text` follows, it is the output of the script; otherwise the script prints
nothing. A command is a line after `$ ` in a block `console` or without a language; the lines after it are its output.
Three dots stand for any lines where they are a line of their own, and for any text elsewhere.

A comment in the line before a block marks it:

    <!-- slow -->             it is run on request only
    <!-- goes on -->          the script goes on where the script before it ended
    <!-- file: NAME -->       it is written to this file before anything is run
    <!-- not run: REASON -->  it cannot be run here

A block inside a comment that begins with `<!-- hidden` is run like others. Each block of `python`, `console`, `bash` or
`sh`, and each that begins with `$ `, is run or has a reason (`claims`). Other blocks are not run.

    python tests/readme_blocks.py README.md --slow      # in the working directory, with the `flowmind` of this Python
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?:<!-- ([^\n]+?)(?: -->)?\n+)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKS = re.compile(r"(?:hidden|slow|goes on|hidden, slow|slow, goes on|file: [\w.]+|not run: .+)")
CLAIMS = ("python", "console", "bash", "sh")
"""The languages of blocks that claim to run."""
ANY = "..."


class Block(NamedTuple):
    language: str
    text: str
    line: int
    mark: str = ""
    """What the comment before it says."""

    @property
    def slow(self) -> bool:
        return "slow" in self.mark.split(", ")

    @property
    def goes_on(self) -> bool:
        return "goes on" in self.mark.split(", ")

    @property
    def file(self) -> str:
        """The file that the block is written to."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""

    @property
    def reason(self) -> str:
        """Why the block is not run."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def runs(self) -> bool:
        """Whether it is a script or has commands, and nothing says that it is not run."""
        commands = self.language in ("", "console") and self.text.startswith("$ ")
        return not self.reason and not self.file and (self.language == "python" or commands)


class Command(NamedTuple):
    shell: str
    printed: str


def blocks(document: Path) -> list[Block]:
    """The blocks of a document.

    Raises:
        AssertionError: If a comment before a block has no meaning.
    """
    blocks: list[Block] = []
    text = document.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line, mark = text[: match.start(3)].count("\n") + 1, match[1] or ""
        assert not mark or MARKS.fullmatch(mark), f"{document.name}:{line}: {mark!r} says nothing about a block"
        blocks.append(Block(match[2], match[3], line, mark))
    return blocks


def claims(document: Path) -> list[Block]:
    """The blocks of a document that claim to run."""
    return [
        block for block in blocks(document)
        if not block.file and (block.language in CLAIMS or block.text.startswith("$ "))
    ]  # fmt: skip


def commands(block: Block) -> list[Command]:
    """The lines behind a `$`, each with the lines that follow it. A line that ends with a backslash goes on."""
    lines = block.text.replace("\\\n", "\\\0").splitlines()
    starts: list[int] = []
    for number, line in enumerate(lines):
        starts.append(number if line.startswith("$ ") else starts[-1])
    groups = [[lines[number] for number in group] for _, group in groupby(range(len(lines)), starts.__getitem__)]
    return [Command(group[0].removeprefix("$ ").replace("\0", "\n"), "\n".join(group[1:])) for group in groups]


def run(arguments: list[str], folder: Path, python: Path) -> str:
    """What a command prints to standard output and standard error; it must succeed."""
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    steering = ("FLOWMIND_", "OPENAI_", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    done = subprocess.run(
        arguments, cwd=folder, env={**environment, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def matches(printed: str, expected: str) -> bool:
    """Whether the output is the expected one; a line of three dots stands for any lines, three dots in one for text."""
    patterns = [
        r"(.*\n)*" if line == ANY else ".*".join(map(re.escape, line.split(ANY))) + "\n"
        for line in expected.splitlines()
    ]
    return re.fullmatch("".join(patterns), "".join(f"{line}\n" for line in printed.splitlines())) is not None


def steps(document: Path, slow: bool) -> Iterator[tuple[int, list[str], str]]:
    """The line, the arguments and the expected output of each script and command of a document."""
    every = [block for block in blocks(document) if not block.file]
    chain: list[tuple[Block, str]] = []
    for block, following in zip(every, [*every[1:], Block("", "", 0)], strict=True):
        if not block.runs or (block.slow and not slow):
            continue
        if block.language == "python":
            assert chain or not block.goes_on, f"{document.name}:{block.line}: no script that this one goes on from"
            if chain and not block.goes_on:
                yield _script(chain)
                chain = []
            chain.append((block, following.text if following.language == "text" else ""))
            continue
        if chain:
            yield _script(chain)
            chain = []
        for command in commands(block):
            yield block.line, ["sh", "-c", command.shell], command.printed
    if chain:
        yield _script(chain)


def _script(chain: list[tuple[Block, str]]) -> tuple[int, list[str], str]:
    """Scripts that go on from one another, as one script."""
    first, _ = chain[0]
    return (
        first.line,
        ["python", "-W", "error", "-c", "\n\n".join(block.text for block, _ in chain)],
        "".join(printed for _, printed in chain),
    )


def walk(
    document: Path,
    folder: Path,
    python: Path | None = None,
    slow: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> int:
    """Runs a document in a folder and returns the number of scripts and commands.

    Args:
        document: The document.
        folder: The working directory.
        python: The interpreter, in whose folder `flowmind` is; by default this one.
        slow: Run the blocks that are marked as slow, too.
        report: Takes a line for each step, before it runs.

    Raises:
        AssertionError: If a step fails or prints something else, with the line of the document.
    """
    count = 0
    for block in blocks(document):
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    for line, arguments, expected in steps(document, slow):
        words = arguments[-1].splitlines()
        report(f"{document.name}:{line}: {words[0]}{' …' if len(words) > 1 else ''}")
        if len(words) == 1 and (place := words[0].removeprefix("cd ")) != words[0]:
            folder /= place  # for the rest of the document
            continue
        printed = run(arguments, folder, python or Path(sys.executable))
        assert matches(printed, expected), f"{document.name}:{line}: {arguments[-1]}\n{printed}"
        count += 1
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Runs a document in the working directory.")
    parser.add_argument("document", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the interpreter to use")
    parser.add_argument("--slow", action="store_true", help="also run the blocks that are marked as slow")
    options = parser.parse_args()
    try:
        count = walk(options.document, Path.cwd(), options.python, options.slow, lambda line: print(line, flush=True))
    except AssertionError as error:
        sys.exit(str(error))
    print(f"{options.document.name}: {count} scripts and commands print what the document says")

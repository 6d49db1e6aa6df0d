"""The progress of runs on the terminal: a bar, lines about waiting, and how to go on after an interruption."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from flowmind.base.errors import Terminated


class Bar(Protocol):
    """Shows progress."""

    def begin(self, name: str, total: int, done: int) -> None:
        """A run starts; `done` of its cases were done before."""
        ...

    def advance(self, passed: int, failed: int, at_once: int) -> None:
        """A case is over."""
        ...


class CaseBar:
    """A progress bar over the cases of one run, or of several.

    Args:
        title: The text before the bar; by default the name of the run.
        total: The number of cases of all runs; by default that of the only run.
        unit: The name of a case.
    """

    def __init__(self, title: str = "", total: int | None = None, unit: str = "case") -> None:
        self.unit = unit
        self.done = 0
        self.total = total
        self._title = title
        self._name = ""
        self._bar: tqdm.tqdm[Any] | None = None

    def begin(self, name: str, total: int, done: int) -> None:
        """As `Bar.begin`."""
        if self._bar is None:
            self.total = self.total or total
            self._bar = tqdm.tqdm(total=self.total, desc=self._title or name, unit=self.unit)
        self._name = f"{name}: " if self._title else ""
        self.done += done
        self._bar.update(done)

    def advance(self, passed: int, failed: int, at_once: int) -> None:
        """As `Bar.advance`."""
        errors = f", errors={failed}" if failed else ""
        self.step(f"{self._name}passed={passed}{errors}, at once={at_once}")

    def step(self, text: str) -> None:
        """Counts a case, and shows a text after the bar."""
        self.done += 1
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Leaves the last line on the screen."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def shown(bar: CaseBar) -> Generator[CaseBar]:
    """Closes a bar at the end, and writes lines of the log above it.

    Raises:
        KeyboardInterrupt, Terminated: If the block raised it; with the count of cases and the command that goes on.
    """
    try:
        with logging_redirect_tqdm([logging.getLogger("flowmind")]):
            yield bar
    except (KeyboardInterrupt, Terminated) as stop:
        if bar.total is None:
            raise
        word = "terminated" if isinstance(stop, Terminated) else "interrupted"
        count = f"{bar.done} of {bar.total} {bar.unit}s"
        raise type(stop)(f"{word} after {count}; the same command goes on from there: {typed_command()}") from None
    finally:
        bar.close()


def typed_command() -> str:
    """The command of this process, as one types it in a shell."""
    program, *words = sys.argv
    name, module = Path(program).name, sys.modules["__main__"].__spec__
    if module is not None:
        start = ["python", "-m", module.name.removesuffix(".__main__")]
    elif Path(shutil.which(name) or "").resolve() == Path(program).resolve():
        start = [name]
    else:
        near = os.path.relpath(program)
        start = [near if len(near) < len(program) else program]
        start = ["python", *start] if name.endswith(".py") else start
    return shlex.join([*start, *words])

"""The sandboxes of a command, chosen by `--sandbox` and `--require-isolation`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from flowmind.api.runnable import require_distinct
from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, write_text
from flowmind.cli.options import SandboxKind
from tools_registry.sandbox import isolation
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.crosscheck import CrossCheck, CrossCheckSandbox, Difference, Trier
from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.isolation import Isolation, Level
from tools_registry.sandbox.monty import MontyPool, MontySandbox


class Sandboxes(Closing):
    """The sandboxes of one command. They share their workers.

    Args:
        kind: `local`, `monty`, or `both`: everything runs locally, and again in monty to compare the results.
        size: The number of workers of each kind.
        limits: The limits of one call or one case.
        least: The weakest isolation that is accepted.

    Raises:
        InputError: If monty is not available, or the isolation is weaker than `least`.
        SandboxUnavailable: If `least` is given and no worker starts.
    """

    def __init__(
        self, kind: SandboxKind = "local", size: int = 1, limits: Limits | None = None, least: Level | None = None
    ) -> None:
        self.kind = kind
        self.crosscheck = CrossCheck()
        self._workers = WorkerPool(size, limits)
        try:
            self._monty = None if kind == "local" else MontyPool(size, limits)
            if self._monty is not None:
                self._monty.start()
        except SandboxUnavailable as error:
            raise InputError(f"--sandbox {kind}: {error}") from None
        if least is not None:
            self._require(least)

    def isolation(self) -> Isolation:
        """The isolation of the local workers.

        Raises:
            SandboxUnavailable: If no worker starts.
        """
        return isolation.measure(self._workers)

    def _require(self, least: Level) -> None:
        if self.kind == "monty" and least != "limits":
            raise InputError(f"--require-isolation {least}: monty workers have no kernel isolation; use local")
        measured = self.isolation()
        if not measured.reaches(least):
            off = "; ".join(measured.missing())
            raise InputError(f"--require-isolation {least}: it is {measured.level!r} here; off: {off}")

    def of(self, tools: Sequence[ToolSource]) -> Trier:
        """A sandbox with these tools.

        Raises:
            InputError: If two of them have one name.
        """
        require_distinct([tool.spec.name for tool in tools])
        local = LocalSandbox(tools, self._workers)
        if self._monty is None:
            return local
        monty = MontySandbox(tools, pool=self._monty)
        return monty if self.kind == "monty" else CrossCheckSandbox(local, monty, self.crosscheck)

    def thinking(self, tools: Sequence[ToolSource]) -> Trier:
        """A sandbox for the trial calls of a model, which are not compared."""
        return LocalSandbox(tools, self._workers) if self.kind == "both" else self.of(tools)

    def write(self, path: Path) -> None:
        """Adds the differences to a file, which may have differences of an earlier part of the run.

        Raises:
            InputError: If the file does not hold differences.
        """
        if path.exists():
            for difference in read_lines(path, Difference):
                self.crosscheck.keep(difference)
        write_text(path, "".join(f"{difference.line}\n" for difference in self.crosscheck.differences))

    def print_differences(self) -> None:
        """Prints the differences and a summary to standard error, if two sandboxes were compared."""
        if self.kind == "both":
            for difference in self.crosscheck.differences:
                print(difference.line, file=sys.stderr)
            print(f"crosscheck: {self.crosscheck.summary()}", file=sys.stderr)

    def close(self) -> None:
        """Stops all workers."""
        self._workers.close()
        if self._monty is not None:
            self._monty.close()

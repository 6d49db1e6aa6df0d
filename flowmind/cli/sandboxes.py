"""Which sandbox a command uses: what stands behind `--sandbox`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from flowmind.api.tools import require_distinct
from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, write_text
from tools_registry.sandbox import isolation
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.crosscheck import CrossCheck, CrossCheckSandbox, Difference, Trier
from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.isolation import Isolation, Level
from tools_registry.sandbox.monty import MontyPool, MontySandbox

SandboxKind = Literal["local", "monty", "both"]


class Sandboxes(Closing):
    """The sandboxes of one command, and the workers that they share.

    Args:
        kind: `local`, `monty`, or `both`: everything runs locally, and once more in monty to be compared.
        size: Workers of each kind.
        limits: What one call or one case may use.
        least: The isolation that workers must have at least.

    Raises:
        InputError: If monty is wanted and cannot be had, or the isolation is weaker.
        SandboxUnavailable: If isolation is asked for and no worker starts.
    """

    def __init__(
        self, kind: SandboxKind = "local", size: int = 1, limits: Limits | None = None, least: Level | None = None
    ) -> None:
        self.kind = kind
        self.found = CrossCheck()
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
        """What the local workers are locked in by.

        Raises:
            SandboxUnavailable: If none starts.
        """
        return isolation.measure(self._workers)

    def _require(self, least: Level) -> None:
        if self.kind == "monty" and least != "limits":
            raise InputError(f"--require-isolation {least}: nothing locks the workers of monty in; use --sandbox local")
        found = self.isolation()
        if not found.reaches(least):
            off = "; ".join(found.missing())
            raise InputError(f"--require-isolation {least}: it is {found.level!r} here; off: {off}")

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
        return monty if self.kind == "monty" else CrossCheckSandbox(local, monty, self.found)

    def thinking(self, tools: Sequence[ToolSource]) -> Trier:
        """One for a model's own trials, which are many and are not compared."""
        return LocalSandbox(tools, self._workers) if self.kind == "both" else self.of(tools)

    def write(self, path: Path) -> None:
        """Writes the differences to a file, beside those that it holds from an earlier part of the run.

        Raises:
            InputError: If the file holds something else.
        """
        if path.exists():
            for difference in read_lines(path, Difference):
                self.found.keep(difference)
        write_text(path, "".join(f"{difference.line}\n" for difference in self.found.differences))

    def tell(self) -> None:
        """Writes the differences and the summary to standard error, if two sandboxes were compared."""
        if self.kind == "both":
            for difference in self.found.differences:
                print(difference.line, file=sys.stderr)
            print(f"crosscheck: {self.found.summary()}", file=sys.stderr)

    def close(self) -> None:
        """Ends all workers."""
        self._workers.close()
        if self._monty is not None:
            self._monty.close()

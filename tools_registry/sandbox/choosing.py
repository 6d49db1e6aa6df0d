"""The sandbox for tools that come as source: local workers where the kernel isolates them enough, else monty."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from tools_registry.sandbox import isolation
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.isolation import Isolation, Level, SandboxKind
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.monty import MontyPool, MontySandbox
from tools_registry.sandbox.workers import WorkerPool
from tools_registry.specs.spec import Record, ToolSource

Backend = Literal["local", "monty", "both"]
LOG = logging.getLogger(__name__)


class Choice(Record):
    """The sandbox that was chosen on this machine, and why."""

    sandbox: Backend
    reason: str
    required: Level
    """The least level of local workers."""
    measured: Isolation | None = None
    """The isolation of local workers; None if none starts."""
    unavailable: str = ""
    """Why no local worker starts."""

    @property
    def is_weak(self) -> bool:
        """Whether tools run without isolation by the kernel."""
        return self.sandbox == "monty" or self.measured is None or not self.measured.reaches("kernel")

    @property
    def line(self) -> str:
        """The choice in one line."""
        if self.sandbox == "monty":
            return f"tools run in monty: {self.reason}"
        also = ", and in monty again" if self.sandbox == "both" else ""
        level = self.measured.level if self.measured else "none"
        return f"tools run in local workers{also}; isolation: {level} (required: {self.required})"

    def document(self) -> dict[str, Any]:
        """The choice as the manifest of a run has it; the level and the layers are those of local workers."""
        measured = self.measured.model_dump(mode="json") if self.measured else {"unavailable": self.unavailable}
        return {"sandbox": self.sandbox, "reason": self.reason, "required": self.required, **measured}


def choose(kind: SandboxKind = "auto", require: Level = "kernel") -> Choice:
    """Measures local workers, and chooses the sandbox.

    Args:
        kind: `auto`: local workers, or monty if they are isolated less than is required. The others are taken as they
            are.
        require: The least level of local workers.

    Raises:
        SandboxUnavailable: If the workers are isolated less and monty is not installed, or was not to be chosen. The
            line says what is missing, and the ways out.
    """
    measured, refusal = _measured(require)
    lack = refusal.lack if refusal else ""
    fields: dict[str, Any] = {"required": require, "measured": measured, "unavailable": "" if measured else lack}
    if kind == "monty":
        _require_monty()
        return Choice(sandbox=kind, reason="as asked", **fields)
    if refusal is None:
        if kind == "both":
            _require_monty()
        reason = "local workers are isolated enough" if kind == "auto" else "as asked"
        return Choice(sandbox="both" if kind == "both" else "local", reason=reason, **fields)
    if kind == "auto" and _has_monty():
        return Choice(sandbox="monty", reason=lack, **fields)
    raise refusal


def _measured(require: Level) -> tuple[Isolation | None, SandboxUnavailable | None]:
    """The isolation of local workers, and why they are refused."""
    measured = None
    try:
        with WorkerPool(1, require="none") as pool:
            measured = isolation.measure(pool)
        measured.check(require)
    except SandboxUnavailable as error:
        return measured, error
    return measured, None


def _require_monty() -> None:
    with MontyPool() as pool:
        pool.start()


def _has_monty() -> bool:
    try:
        _require_monty()
    except SandboxUnavailable:
        return False
    return True


def sandbox_of(tools: Sequence[ToolSource], choice: Choice | None = None) -> LocalSandbox | MontySandbox:
    """A sandbox of its own for some tools, with one worker. If it is chosen here, monty is a warning on the log.

    Raises:
        SandboxUnavailable: As `choose`.
    """
    chosen = choice or choose()
    if chosen.sandbox == "local":
        return LocalSandbox(tools)
    if choice is None:
        LOG.warning("%s", chosen.line)
    return MontySandbox(tools)

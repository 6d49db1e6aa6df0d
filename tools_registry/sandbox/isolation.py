"""The layers that isolate untrusted tools on this machine, and the resulting level."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Literal, get_args

from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.specs.spec import Record

if TYPE_CHECKING:
    from tools_registry.sandbox.workers import Worker, WorkerPool

Level = Literal["none", "limits", "kernel", "full"]
"""From weak to strong. `none`: the language policy at most. `limits`: a process with limits of memory, time and files.
`kernel`: the kernel also denies files, network and processes. `full`: every layer is on."""

SandboxKind = Literal["auto", "local", "monty", "both"]
"""The sandboxes that a command can be told to use; see `tools_registry.sandbox.choosing`."""

LEVELS: tuple[Level, ...] = get_args(Level)
_POLICY = "language policy"
_WAYS = (
    "pip install 'flowmind-es[monty]' for a sandbox that needs no kernel, or accept less with --require-isolation none "
    "(in Python: LocalSandbox(tools, WorkerPool(require='none')))"
)


class Isolation(Record):
    """The layers that a worker reported when it started."""

    level: Level
    platform: str
    """System, release and machine."""
    layers: dict[str, str]
    """For each layer `on`, optionally with a detail, or `off: ` and the reason."""

    def reaches(self, level: Level) -> bool:
        """Whether the isolation is at least as strong as `level`."""
        return LEVELS.index(self.level) >= LEVELS.index(level)

    def missing(self) -> list[str]:
        """The layers that are off with the reasons in parentheses, together where they have the same reason."""
        reasons: dict[str, list[str]] = {}
        for name, state in self.layers.items():
            if not _on(state):
                reasons.setdefault(state.removeprefix("off: "), []).append(name)
        return [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]

    def check(self, least: Level) -> None:
        """Requires an isolation.

        Raises:
            SandboxUnavailable: If this one is weaker.
        """
        if not self.reaches(least):
            lack = f"isolation {least!r} is required and this machine gives {self.level!r}; off: "
            raise SandboxUnavailable(lack + "; ".join(self.missing()), _WAYS)


def measure(pool: WorkerPool) -> Isolation:
    """The isolation of a pool's workers. Starts a worker if none is running.

    Raises:
        SandboxUnavailable: If no worker can be started.
    """
    with pool.borrow() as worker:
        return of(worker)


def of(worker: Worker) -> Isolation:
    """The isolation of a worker. Starts it if it was never started."""
    if not worker.layers:
        worker.start()
    policy = "off: disabled" if "language" in worker.without else "on"
    layers = {_POLICY: policy, **worker.layers}
    return Isolation(level=_level(layers), platform=f"{platform.system()} {platform.release()} {platform.machine()}",
                     layers=layers)  # fmt: skip


def _level(layers: dict[str, str]) -> Level:
    if all(map(_on, layers.values())):
        return "full"
    on = {name for name, state in layers.items() if _on(state)}
    if "limits" not in on:
        return "none"
    files = on & {"seccomp", "landlock", "empty root"}
    network = on & {"seccomp", "network namespace"}
    return "kernel" if files and network and "seccomp" in on else "limits"


def _on(state: str) -> bool:
    return state.startswith("on")

"""The layers that isolate untrusted tools on this machine, and the resulting level."""

from __future__ import annotations

import platform
from typing import Literal, get_args

from tools_registry.sandbox.workers import Worker, WorkerPool
from tools_registry.specs.spec import Record

Level = Literal["limits", "kernel", "full"]
"""From weak to strong. `limits`: language policy, process with limits. `kernel`: the kernel also denies files, network
and processes. `full`: every layer is on."""

LEVELS: tuple[Level, ...] = get_args(Level)
_POLICY = "language policy"


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
        """The layers that are off, each with its reason in parentheses."""
        return [f"{name} ({state.removeprefix('off: ')})" for name, state in self.layers.items() if not _on(state)]


def measure(pool: WorkerPool) -> Isolation:
    """The isolation of a pool's workers. Starts a worker if none is running.

    Raises:
        SandboxUnavailable: If no worker can be started.
    """
    with pool.borrow() as worker:
        return of(worker)


def of(worker: Worker) -> Isolation:
    """The isolation of a worker. Starts it if it is not running."""
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
    files = on & {"seccomp", "landlock", "empty root"}
    network = on & {"seccomp", "network namespace"}
    processes = "seccomp" in on or {"limits", "user"} <= on
    return "kernel" if files and network and processes and _POLICY in on else "limits"


def _on(state: str) -> bool:
    return state.startswith("on")

"""What locks untrusted tools in on this machine, layer by layer, and how strong that is taken together."""

from __future__ import annotations

import platform
from typing import Literal, get_args

from tools_registry.sandbox.workers import Worker, WorkerPool
from tools_registry.specs.spec import Record

Level = Literal["limits", "kernel", "full"]
"""From the weakest: the language's policy in a process with limits; the kernel denies files, network and processes
besides; every layer that this project knows is on."""

LEVELS: tuple[Level, ...] = get_args(Level)
_POLICY = "language policy"


class Isolation(Record):
    """What a worker reported of itself when it started."""

    level: Level
    platform: str
    """System, release and machine."""
    layers: dict[str, str]
    """`on`, perhaps with a detail, or `off: ` and the reason."""

    def reaches(self, level: Level) -> bool:
        """Whether it is as strong as a level, or stronger."""
        return LEVELS.index(self.level) >= LEVELS.index(level)

    def missing(self) -> list[str]:
        """The layers that are off, each with its reason."""
        return [f"{name} ({state.removeprefix('off: ')})" for name, state in self.layers.items() if not _on(state)]


def measure(pool: WorkerPool) -> Isolation:
    """What the workers of a pool are locked in by; starts one where none is running.

    Raises:
        SandboxUnavailable: If none can be started.
    """
    with pool.borrow() as worker:
        return of(worker)


def of(worker: Worker) -> Isolation:
    """What a worker is locked in by."""
    if not worker.layers:
        worker.start()
    policy = "off: left out" if "language" in worker.without else "on"
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

"""The processes of a server: they are one session, so that all of them are found and none is left behind.

Run as a script this is a watcher: it reads a process id from standard input and, when its input ends because whoever
held the other end is gone, however abruptly, it ends that process's session. The standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

STEPS = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""What a session is told to end with, and the seconds that it then has."""


def members(session: int) -> Iterator[int]:
    """The live processes of a session, wherever they hang in the tree; zombies are none."""
    for folder in Path("/proc").iterdir():
        fields = _stat(int(folder.name)) if folder.name.isdigit() else None
        if fields is not None and int(fields[3]) == session:
            yield int(folder.name)


def started(pid: int) -> str | None:
    """When a live process was started, in the kernel's ticks: with it a process id means one process for good."""
    fields = _stat(pid)
    return None if fields is None else fields[19]


def _stat(pid: int) -> list[str] | None:
    """What /proc says after the command's name: state, parent, group, session, … (proc(5)); None for the dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def end(session: int, steps: Sequence[tuple[signal.Signals, float]] = STEPS) -> None:
    """Ends a session: each step is a signal for all who are left, and the seconds after which the next one comes.

    Interrupted, it kills them and lets the interruption through.
    """
    try:
        for number, seconds in steps:
            _tell(session, number)
            if _gone(session, seconds):
                return
    finally:
        _tell(session, signal.SIGKILL)


def _tell(session: int, number: signal.Signals) -> None:
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _gone(session: int, seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while any(members(session)):
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def watcher() -> subprocess.Popen[bytes]:
    """Starts a watcher. Write the process id and a newline to its standard input; closing that ends the session."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


if __name__ == "__main__":
    told = sys.stdin.buffer.readline()
    sys.stdin.buffer.read()
    if told.strip():
        end(int(told))

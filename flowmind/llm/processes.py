"""The processes of a server. They form one session, so that all of them can be found and ended.

Run as a script, this module is a watcher: it reads a process id from standard input, and ends the session of that
process when its standard input closes. That also happens when the parent process is killed. It uses the standard
library only.
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
"""The signals that end a session, each with the seconds until the next one."""


def members(session: int) -> Iterator[int]:
    """The live processes of a session, without zombies."""
    for folder in Path("/proc").iterdir():
        fields = _stat(int(folder.name)) if folder.name.isdigit() else None
        if fields is not None and int(fields[3]) == session:
            yield int(folder.name)


def started(pid: int) -> str | None:
    """The start time of a live process in the kernel's ticks. With it, a process id identifies one process."""
    fields = _stat(pid)
    return None if fields is None else fields[19]


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command: state, parent, group, session, … (proc(5)); None if it ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def end(session: int, steps: Sequence[tuple[signal.Signals, float]] = STEPS) -> None:
    """Ends the processes of a session.

    If this is interrupted, it kills them and the interruption propagates.

    Args:
        session: The session id.
        steps: The signals, each with the seconds until the next one.
    """
    try:
        for number, seconds in steps:
            _signal(session, number)
            if _gone(session, seconds):
                return
    finally:
        _signal(session, signal.SIGKILL)


def _signal(session: int, number: signal.Signals) -> None:
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
    """Starts a watcher. It expects the process id and a newline on its standard input."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


if __name__ == "__main__":
    line = sys.stdin.buffer.readline()
    sys.stdin.buffer.read()
    if line.strip():
        end(int(line))

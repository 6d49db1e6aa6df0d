"""The owner's side of the zygotes: the processes that fork workers, and the worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path

from tools_registry.sandbox.addresses import same_addresses
from tools_registry.sandbox.errors import SandboxUnavailable

PATIENCE = 30.0
"""Seconds for a zygote or a worker to start."""
_ANSWER = re.compile(rb"-?[0-9]{1,10}\n")
_LINE = 16
"""The most bytes of an answer."""
_BOOT = (
    "import sys; sys.path[:0] = sys.argv[2:]; from tools_registry.sandbox.zygote import main; "
    "main(sys.argv[1] == 'bare')"
)


def _paths() -> list[str]:
    """The folders of this package and of RestrictedPython, for a process without site-packages."""
    policy = find_spec("RestrictedPython")
    files = [Path(__file__).parents[1], *([Path(policy.origin).parent] if policy and policy.origin else [])]
    return list(dict.fromkeys(str(file.resolve().parent) for file in files))


def _require_fork() -> None:
    """Checks that this system can fork workers; Windows cannot.

    Raises:
        SandboxUnavailable: With the missing function.
    """
    missing = [f"os.{name}" for name in ("fork", "register_at_fork") if not hasattr(os, name)]
    missing += [f"socket.{name}" for name in ("send_fds", "socketpair") if not hasattr(socket, name)]
    if missing:
        raise SandboxUnavailable(
            f"the sandbox does not start: this system has no {missing[0]}",
            "pip install 'flowmind-es[monty]' for one that needs none; your own functions run without a sandbox",
        )


class _Zygote:
    """The process that forks workers. A process has at most two: one for work and a bare one for audits."""

    def __init__(self, bare: bool) -> None:
        _require_fork()
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs, same_addresses():
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-S", "-B", "-c", _BOOT, "bare" if bare else "locked", *_paths()],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
            )
        self._finalizer = weakref.finalize(self, _end_zygote, self._process, self._control, self.owner)
        self._control.settimeout(PATIENCE)
        try:
            self._answer()
        except (OSError, ValueError):
            self.close()
            raise SandboxUnavailable(f"the sandbox does not start: {self._error_line()}") from None
        assert self._process.stderr is not None
        self._process.stderr.close()

    def start(self, options: dict[str, int], instead_of: int = 0) -> tuple[int, socket.socket]:
        """Starts a worker; returns its process id and the socket to it.

        Args:
            options: What the worker is told.
            instead_of: The process id of a worker that is killed first; 0 for none.

        Raises:
            OSError, ValueError: If the zygote has ended.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                request = json.dumps({"start": options, "stop": instead_of})
                socket.send_fds(self._control, [request.encode()], [theirs.fileno()])
                return self._answer(), ours
        except BaseException:
            ours.close()
            raise

    def stop(self, pid: int) -> int:
        """Kills and reaps a worker; returns its exit status, negative for a signal.

        Raises:
            OSError, ValueError: If the zygote has ended.
        """
        with self._lock:
            self._control.sendall(json.dumps({"stop": pid}).encode())
            return self._answer()

    def close(self) -> None:
        """Ends the zygote and all its workers."""
        self._finalizer()

    def forget(self) -> None:
        """Releases the parent's zygote in a forked process, without ending it."""
        self._finalizer.detach()
        self._control.close()

    def _answer(self) -> int:
        line = b""
        while not line.endswith(b"\n") and len(line) < _LINE:
            if not (part := self._control.recv(_LINE)):
                raise ConnectionError("the zygote has ended")
            line += part
        if not _ANSWER.fullmatch(line):
            raise ValueError("the zygote sent an answer that is not a number")
        return int(line)

    def _error_line(self) -> str:
        assert self._process.stderr is not None
        with self._process.stderr as pipe:
            lines = pipe.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its process ended with status {self._process.returncode}"


def _end_zygote(process: subprocess.Popen[bytes], control: socket.socket, owner: int) -> None:
    if os.getpid() != owner:
        return
    control.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_zygotes: dict[bool, _Zygote] = {}
_starting = threading.Lock()


def _zygote(bare: bool) -> _Zygote:
    with _starting:
        if bare not in _zygotes:
            _zygotes[bare] = _Zygote(bare)
        return _zygotes[bare]


def _replace_zygote(zygote: _Zygote) -> None:
    """Forgets a zygote that has ended, so that the next worker starts another."""
    with _starting:
        for bare, known in tuple(_zygotes.items()):
            if known is zygote:
                del _zygotes[bare]
    zygote.close()


def close_all() -> None:
    """Ends all zygotes of this process with their workers. The next request starts new ones."""
    with _starting:
        for zygote in _zygotes.values():
            zygote.close()
        _zygotes.clear()


def _in_child() -> None:
    global _starting
    _starting = threading.Lock()
    for zygote in _zygotes.values():
        zygote.forget()
    _zygotes.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class Process:
    """A worker process and the socket to it.

    Args:
        zygote: The zygote that forked it.
        pid: Its process id.
        connection: The socket.
    """

    def __init__(self, zygote: _Zygote, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.connection = connection
        self._zygote = zygote
        self._finalizer = weakref.finalize(self, _end, zygote, pid, connection)

    def stop(self) -> int | None:
        """Kills and reaps the process. Returns its exit status, negative for a signal; None if it is not known."""
        return self._finalizer()

    def successor(self, options: dict[str, int]) -> Process:
        """A new process; this one is killed in the same round trip.

        Raises:
            OSError, ValueError: If the zygote has ended.
        """
        self._finalizer.detach()
        self.connection.close()
        pid, connection = self._zygote.start(options, self.pid)
        return Process(self._zygote, pid, connection)


def _end(zygote: _Zygote, pid: int, connection: socket.socket) -> int | None:
    connection.close()
    if os.getpid() != zygote.owner:
        return None
    with contextlib.suppress(OSError, ValueError):  # the workers of a zygote that has ended have ended too
        return zygote.stop(pid)
    return None


def start(options: dict[str, int], bare: bool = False) -> Process:
    """Starts a worker process.

    Args:
        options: What the worker is told.
        bare: Whether it is isolated by limits only; for audits.

    Raises:
        SandboxUnavailable: If none can be started.
    """
    reason: Exception | None = None
    for _ in range(2):
        zygote = _zygote(bare)
        try:
            return Process(zygote, *zygote.start(options))
        except (OSError, ValueError) as error:
            reason = error
            _replace_zygote(zygote)
    raise SandboxUnavailable(f"the sandbox starts no worker: {reason}")

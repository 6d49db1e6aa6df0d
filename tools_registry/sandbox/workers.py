"""The owner's side of the worker processes: the zygote that starts them, workers with deadlines, and pools."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools_registry.sandbox import frames
from tools_registry.sandbox.addresses import same_addresses
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.specs.spec import Record

LAYERS = frozenset({"language", "process"})
"""The layers that an audit can disable: the language policy, and the isolation of the process."""


class Limits(Record):
    """The limits of a call or case."""

    seconds: float = 5.0
    """Wall-clock seconds of a call, or of a case of a workflow."""
    memory_mb: int = 512
    """Address space of the worker process, megabytes."""
    value_bytes: int = 1_000_000
    """Maximum characters of a result as JSON. A whole case with its trace may have four times as many."""


class WorkerFailure(Exception):
    """The worker gave no valid reply. `type` is `timeout`, `memory` or `crash`."""

    def __init__(self, type: str, message: str, lost: bool = False) -> None:
        super().__init__(message)
        self.type = type
        self.lost = lost
        """Whether the process was apparently killed from outside or with its parent, and not by its own work."""


_PATIENCE = 30.0
"""Seconds for a zygote or a worker to start."""
_BUSY_SECONDS = 300.0
"""Seconds of work after which a worker is replaced, because its processor time is limited over its whole life."""
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
        text = f"the sandbox does not start: this system has no {missing[0]}; your own functions run without a sandbox"
        raise SandboxUnavailable(text)


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
        self._control.settimeout(_PATIENCE)
        try:
            self._answer()
        except (OSError, ValueError):
            self.close()
            raise SandboxUnavailable(f"the sandbox does not start: {self._error_line()}") from None
        assert self._process.stderr is not None
        self._process.stderr.close()

    def start(self, options: dict[str, int]) -> tuple[int, socket.socket]:
        """Starts a worker; returns its process id and the socket to it.

        Raises:
            OSError, ValueError: If the zygote has ended.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [json.dumps({"start": options}).encode()], [theirs.fileno()])
                return self._answer(), ours
        except BaseException:
            ours.close()
            raise

    def stop(self, pid: int) -> int:
        """Kills and reaps a worker; returns its exit status, negative for a signal."""
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
        while not line.endswith(b"\n"):
            if not (part := self._control.recv(1 << 10)):
                raise ConnectionError("the zygote has ended")
            line += part
        return json.loads(line)

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


class Worker:
    """A worker process and the socket to it. Not thread-safe: a pool lends it to one user at a time.

    Args:
        limits: The limits of each request.
        without: Layers to disable, from `LAYERS`; for audits.
    """

    def __init__(self, limits: Limits, without: frozenset[str] = frozenset()) -> None:
        self.limits = limits
        self.without = without
        self.loaded: set[str] = set()
        self.layers: dict[str, str] = {}
        """The isolation that the process reported when it started."""
        self.pid: int | None = None
        """The process id, while the process runs."""
        self._socket: socket.socket | None = None
        self._finalizer: weakref.finalize[[_Zygote, int, socket.socket], Worker] | None = None
        self._busy = 0.0

    def request(self, message: dict[str, Any], seconds: float) -> Any:
        """Sends a request and waits for its reply, at most `seconds`.

        Raises:
            WorkerFailure: If no valid reply arrived. The process has then ended, and the next request starts another.
            SandboxUnavailable: If no process can be started.
        """
        connection = self._socket or self.start()
        data = frames.encode({**message, "seconds": seconds})
        begun = time.monotonic()
        try:
            reply = self._exchange(connection, data, begun + seconds)
        except WorkerFailure:
            self.stop()
            raise
        self._busy += time.monotonic() - begun
        if isinstance(reply, dict):
            self.stop()
            raise WorkerFailure("memory", f"more than {self.limits.memory_mb} MB were needed")
        return reply

    def start(self) -> socket.socket:
        """Starts the process and returns the socket to it.

        Raises:
            SandboxUnavailable: If the process cannot be started.
        """
        options = {"memory_mb": self.limits.memory_mb, "value_bytes": self.limits.value_bytes}
        for again in (True, False):
            zygote = _zygote("process" in self.without)
            try:
                pid, connection = zygote.start({**options, "language": "language" not in self.without})
                break
            except (OSError, ValueError) as error:
                _replace_zygote(zygote)
                if not again:
                    raise SandboxUnavailable(f"the sandbox starts no worker: {error}") from None
        else:
            raise AssertionError
        connection.setblocking(False)
        self.pid, self._socket = pid, connection
        self._finalizer = weakref.finalize(self, _end_worker, zygote, pid, connection)
        self.loaded = set()
        self._busy = 0.0
        try:
            self.layers = self._receive(connection, time.monotonic() + _PATIENCE)
        except WorkerFailure as failure:
            raise SandboxUnavailable(f"the sandbox's worker does not come up: {failure}") from None
        return connection

    def _exchange(self, connection: socket.socket, data: bytes, deadline: float) -> Any:
        try:
            self._send(connection, data, deadline)
            return self._receive(connection, deadline)
        except OSError as error:
            raise WorkerFailure("crash", f"the tool worker broke off: {error}", _lost(self.stop())) from None

    def _send(self, connection: socket.socket, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait(connection, select.POLLOUT, deadline)

    def _receive(self, connection: socket.socket, deadline: float) -> Any:
        try:
            size = frames.size_of(self._read(connection, frames.HEADER, deadline))
            return frames.decode(self._read(connection, size, deadline))
        except frames.FrameError as error:
            raise WorkerFailure("crash", f"the tool worker sent no valid reply: {error}") from None

    def _read(self, connection: socket.socket, size: int, deadline: float) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                if not (part := connection.recv(min(size, 1 << 20))):
                    status = self.stop()
                    raise WorkerFailure("crash", f"the tool worker ended ({_cause(status)})", _lost(status))
                parts.append(part)
                size -= len(part)
            except BlockingIOError:
                self._wait(connection, select.POLLIN, deadline)
        return b"".join(parts)

    def _wait(self, connection: socket.socket, events: int, deadline: float) -> None:
        poller = select.poll()
        poller.register(connection, events)
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not poller.poll(remaining * 1_000):
            raise WorkerFailure("timeout", f"no result within {self.limits.seconds:g} s")

    def refresh(self) -> None:
        """Ends a process that has worked for long; called between two users."""
        if self._busy > _BUSY_SECONDS:
            self.stop()

    def stop(self) -> int | None:
        """Kills and reaps the process. A later request starts another.

        Returns:
            The exit status, negative for a signal; None if no process was running.
        """
        status = None if self._finalizer is None else self._finalizer()
        self.pid, self._socket, self._finalizer = None, None, None
        self.loaded = set()
        return status


def _end_worker(zygote: _Zygote, pid: int, connection: socket.socket) -> int | None:
    connection.close()
    if os.getpid() != zygote.owner:
        return None
    with contextlib.suppress(OSError, ValueError):  # the workers of a zygote that has ended have ended too
        return zygote.stop(pid)
    return None


def _lost(status: int | None) -> bool:
    return status in (None, -signal.SIGKILL)


def _cause(status: int | None) -> str:
    if status is None:
        return "with the process that had started it"
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


class WorkerPool(Closing):
    """A pool of workers: at most `size` requests run at the same time, each on its own worker.

    Args:
        size: The number of workers.
        limits: The limits of each request.
        without: Layers to disable, from `LAYERS`; for audits only.
    """

    def __init__(self, size: int = 1, limits: Limits | None = None, without: frozenset[str] = frozenset()) -> None:
        if unknown := without - LAYERS:
            raise ValueError(f"no layer {', '.join(sorted(unknown))}; layers: {', '.join(sorted(LAYERS))}")
        self.limits = limits or Limits()
        self._workers = [Worker(self.limits, without) for _ in range(size)]
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)

    @contextlib.contextmanager
    def borrow(self) -> Generator[Worker]:
        """Lends a worker. Waits while all are busy."""
        worker = self._free.get()
        try:
            worker.refresh()
            yield worker
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """Stops all workers."""
        for worker in self._workers:
            worker.stop()

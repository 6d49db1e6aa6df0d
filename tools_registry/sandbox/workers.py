"""Workers with deadlines, and pools of them. The processes are started by `tools_registry.sandbox.zygotes`."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Generator
from typing import Any, Literal

from tools_registry.sandbox import frames, isolation, zygotes
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.isolation import Level
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import Record

LAYERS = frozenset({"language", "process"})
"""The layers that an audit can disable: the language policy, and the isolation of the process."""
Isolating = Literal["batch", "case"]
"""What gets a process of its own: the requests of one tool set, or each call and each case."""


class Limits(Record):
    """The limits of a call or case."""

    seconds: float = 5.0
    """Wall-clock seconds of a call, or of a case of a workflow."""
    memory_mb: int = 512
    """Address space of the worker process, megabytes."""
    value_bytes: int = 16_000_000
    """Bounds a result, or a case with its trace: its bytes as JSON, and half of the memory that decoding it takes in
    this process, estimated from above (`frames.fits`). By default a text of 5 MB, 500,000 integers, or 1 MB of records
    with three fields are within it."""


class WorkerFailure(Exception):
    """The worker gave no valid reply. `type` is `timeout`, `memory`, `crash`, or `too_large` for a whole reply."""

    def __init__(self, type: str, message: str, lost: bool = False) -> None:
        super().__init__(message)
        self.type = type
        self.lost = lost
        """Whether the process was apparently killed from outside or with its parent, and not by its own work."""


_BUSY_SECONDS = 300.0
"""Seconds of work after which a worker is replaced, because its processor time is limited over its whole life."""
_GREETING = 1 << 16
"""The bound of the first frame of a process, as `Limits.value_bytes` bounds the others."""
_FIRST = 1 << 13
"""Bytes that are read at once; most replies are shorter."""


class Worker:
    """A worker process, started when it is needed. Not thread-safe: a pool lends it to one user at a time.

    Args:
        limits: The limits of each request.
        without: Layers to disable, from `LAYERS`; for audits.
        require: The weakest isolation with which a process serves requests.
    """

    def __init__(self, limits: Limits, without: frozenset[str] = frozenset(), require: Level = "none") -> None:
        self.limits = limits
        self.without = without
        self.require: Level = require
        self.tool_set: str | None = None
        """The digest of the tool set that the process serves. It never serves another one."""
        self.loaded = False
        """Whether the process has received this tool set."""
        self.layers: dict[str, str] = {}
        """The isolation that the process reported before it received anything."""
        self._process: zygotes.Process | None = None
        self._is_up = False
        self._busy = 0.0
        self._options = {
            "memory_mb": limits.memory_mb,
            "value_bytes": limits.value_bytes,
            "language": "language" not in without,
        }

    @property
    def pid(self) -> int | None:
        """The process id, while a process runs."""
        return None if self._process is None else self._process.pid

    def bind(self, tool_set: str) -> None:
        """Makes sure that the process serves this tool set only.

        A process ends if it served another set, has worked for long, or sent bytes that nobody asked for.
        """
        if self.tool_set not in (None, tool_set) or self._busy > _BUSY_SECONDS or self._has_more():
            self.renew()
        self.tool_set = tool_set

    def request(self, message: dict[str, Any], seconds: float) -> Any:
        """Sends a request and waits for its reply, at most `seconds`.

        Raises:
            WorkerFailure: If no valid reply arrived. Unless its type is `too_large`, the process has then ended, and
                the next request starts another.
            SandboxUnavailable: If no process can be started, or its isolation is weaker than required.
        """
        connection = self.start()
        mark = os.urandom(8).hex()
        data = frames.encode({**message, "seconds": seconds, "mark": mark})
        begun = time.monotonic()
        try:
            reply = _marked(self._exchange(connection, data, begun + seconds), mark)
        except BaseException:  # an interrupted exchange leaves a reply that nobody waits for
            self.stop()
            raise
        self._busy += time.monotonic() - begun
        if reply == {"too_large": True}:
            raise WorkerFailure(
                "too_large", f"the result would take over {2 * self.limits.value_bytes} bytes of memory"
            )
        if reply == {"memory": True}:
            self.stop()
            raise WorkerFailure("memory", f"more than {self.limits.memory_mb} MB were needed")
        return reply

    def start(self) -> socket.socket:
        """Starts the process if none runs. Returns the socket to it.

        Raises:
            SandboxUnavailable: If the process cannot be started, or its isolation is weaker than required.
        """
        if self._process is None:
            self._process = zygotes.start(self._options, "process" in self.without)
        if not self._is_up:
            try:
                self._greet(self._process.connection)
            except SandboxUnavailable:
                self.stop()
                raise
        return self._process.connection

    def _greet(self, connection: socket.socket) -> None:
        """Receives and judges the isolation of a new process, which has not received anything yet."""
        connection.setblocking(False)
        try:
            layers = self._receive(connection, time.monotonic() + zygotes.PATIENCE, _GREETING)
        except WorkerFailure as failure:
            raise SandboxUnavailable(f"the sandbox's worker does not come up: {failure}") from None
        if type_of(layers) is not dict or not all(type(state) is str for state in layers.values()):
            raise SandboxUnavailable("the sandbox's worker does not come up: it reports no isolation")
        self.layers = layers
        isolation.of(self).check(self.require)
        self._is_up, self._busy = True, 0.0

    def _exchange(self, connection: socket.socket, data: bytes, deadline: float) -> Any:
        try:
            self._send(connection, data, deadline)
            return self._receive(connection, deadline, self.limits.value_bytes)
        except OSError as error:
            raise WorkerFailure("crash", f"the tool worker broke off: {error}", _lost(self.stop())) from None

    def _send(self, connection: socket.socket, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait(connection, select.POLLOUT, deadline)

    def _receive(self, connection: socket.socket, deadline: float, value_bytes: int) -> Any:
        """Receives a frame. Its length is checked before its body is allocated."""
        first = bytearray(_FIRST)
        try:
            count = self._read(connection, memoryview(first), frames.HEADER, deadline)
            size = frames.size_of(first[: frames.HEADER], value_bytes)
            body, rest = first[frames.HEADER : count], size + frames.HEADER - count
            if rest < 0:
                raise frames.FrameError("bytes after its end")
            if rest:
                body = bytearray(size)
                body[:-rest] = first[frames.HEADER : count]
                self._read(connection, memoryview(body)[-rest:], rest, deadline)
            return frames.decode(body, value_bytes)
        except frames.FrameError as error:
            raise WorkerFailure("crash", f"the tool worker sent no valid reply: {error}") from None

    def _read(self, connection: socket.socket, buffer: memoryview, least: int, deadline: float) -> int:
        """Reads at least so many bytes into a buffer; returns their number."""
        count = 0
        while count < least:
            if time.monotonic() > deadline:
                raise self._late()
            try:
                part = connection.recv_into(buffer[count:])
            except BlockingIOError:
                self._wait(connection, select.POLLIN, deadline)
                continue
            if not part:
                status = self.stop()
                raise WorkerFailure("crash", f"the tool worker ended ({_cause(status)})", _lost(status))
            count += part
        return count

    def _wait(self, connection: socket.socket, events: int, deadline: float) -> None:
        poller = select.poll()
        poller.register(connection, events)
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not poller.poll(remaining * 1_000):
            raise self._late()

    def _late(self) -> WorkerFailure:
        return WorkerFailure("timeout", f"no result within {self.limits.seconds:g} s")

    def _has_more(self) -> bool:
        """Whether a process that has been greeted sent something that nobody asked for, or has ended."""
        if self._process is None or not self._is_up:
            return False
        try:
            self._process.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def renew(self) -> None:
        """Replaces the process by a new one, which comes up while nobody waits for it."""
        process, self._process = self._process, None
        self._forget()
        if process is not None:
            with contextlib.suppress(OSError, ValueError):  # the zygote has ended; the next request starts another
                self._process = process.successor(self._options)

    def stop(self) -> int | None:
        """Kills and reaps the process. A later request starts another.

        Returns:
            The exit status, negative for a signal; None if no process was running.
        """
        process, self._process = self._process, None
        self._forget()
        return None if process is None else process.stop()

    def _forget(self) -> None:
        self.tool_set, self.loaded, self._is_up = None, False, False


def _marked(reply: Any, mark: str) -> Any:
    """The reply to the request with this mark. A frame that was sent for an earlier request has another one.

    Raises:
        WorkerFailure: If it is no such reply.
    """
    if type_of(reply) is not list or len(reply) != 2 or reply[0] != mark:
        raise WorkerFailure("crash", "the tool worker sent no valid reply: it does not belong to the request")
    return reply[1]


def _lost(status: int | None) -> bool:
    return status in (None, -signal.SIGKILL)


def _cause(status: int | None) -> str:
    if status is None:
        return "with the process that had started it"
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


class WorkerPool(Closing):
    """A pool of workers: at most `size` requests run at the same time, each on its own worker.

    A process serves one tool set and is ended before its worker serves another one, so tools of one set cannot
    influence the results of another, whatever they do to their process.

    Args:
        size: The number of workers.
        limits: The limits of each request.
        without: Layers to disable, from `LAYERS`; for audits only.
        isolation: `batch`: a process serves all requests of its tool set. `case`: a process serves one call, or one
            case of a workflow.
        require: The weakest isolation that is accepted; `SandboxUnavailable` is raised where a worker has less.
    """

    def __init__(
        self,
        size: int = 1,
        limits: Limits | None = None,
        without: frozenset[str] = frozenset(),
        isolation: Isolating = "batch",
        require: Level = "kernel",
    ) -> None:
        if unknown := without - LAYERS:
            raise ValueError(f"no layer {', '.join(sorted(unknown))}; layers: {', '.join(sorted(LAYERS))}")
        self.limits = limits or Limits()
        self.size = size
        self.isolation: Isolating = isolation
        self.require: Level = require
        self._workers = [Worker(self.limits, without, require) for _ in range(size)]
        self._free = list(self._workers)
        """The worker that was used last is the last one."""
        self._returned = threading.Condition()

    @contextlib.contextmanager
    def borrow(self, tool_set: str | None = None) -> Generator[Worker]:
        """Lends a worker. Waits while all are busy.

        Args:
            tool_set: The digest of the tool set that the worker is to serve; None to look at the worker only.
        """
        with self._returned:
            while not self._free:
                self._returned.wait()
            worker = self._chosen(tool_set)
            self._free.remove(worker)
        try:
            if tool_set is not None:
                worker.bind(tool_set)
            yield worker
        finally:
            if tool_set is not None and self.isolation == "case":
                worker.renew()
            with self._returned:
                self._free.append(worker)
                self._returned.notify()

    def _chosen(self, tool_set: str | None) -> Worker:
        """The free worker that serves this set, or one that serves none, or the one that has been idle longest."""
        if tool_set is None:
            return max(self._free, key=lambda worker: worker.pid is not None)
        return max(self._free, key=lambda worker: (worker.tool_set == tool_set, worker.tool_set is None))

    def close(self) -> None:
        """Stops all workers."""
        for worker in self._workers:
            worker.stop()

"""`RayMap`: cases are evaluated by the actors of a Ray cluster. The only module that imports Ray."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any, Generic, TypeVar, cast

from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.processes import HelperEnded, collect_seldom
from flowmind.maps.local import Evaluate
from flowmind.protocols import Emit
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.errors import SandboxUnavailable

C = TypeVar("C")
R = TypeVar("R")
S = TypeVar("S", bound=Closing)
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning about a change in a later version
}
"""The environment of Ray: it reports no usage to its makers."""
OBJECT_STORE = 256_000_000
"""The memory for objects of a local cluster in bytes. Results are small and are fetched at once."""
_LOOK = 0.5
"""Seconds between two looks at the cluster."""
_PATIENCE = 30.0
"""Seconds without any actor, until a line says so."""


class RayMap(Closing, Generic[C, R]):
    """Evaluates cases in the actors of a Ray cluster. Each actor takes a CPU and opens its own copy of the services.

    Actors are started as cases wait for them. The number of actors follows the cluster: nodes that join get work, and
    an actor whose node has left starts again where a CPU is free. What an actor emits arrives while it works on the
    case. A case whose actor is lost raises `HelperEnded`, and is not evaluated again by itself.

    Args:
        evaluate: Evaluates a case; a function of a module.
        services: The services that `evaluate` takes; they pickle.
        address: The address of a cluster, `HOST:PORT` or `auto`; by default `RAY_ADDRESS`, else a cluster is started on
            this machine and ends with the map.
        workers: The number of actors; by default the number of CPUs of the cluster. Actors for which no CPU is free
            start when a node joins.
        each: The number of cases at the same time in one actor.
        most: The most cases at the same time in all actors.

    Raises:
        InputError: If Ray is not installed, or the cluster cannot be reached.
    """

    attempts = 4

    def __init__(
        self,
        evaluate: Evaluate[C, S, R],
        services: S,
        *,
        address: str | None = None,
        workers: int | None = None,
        each: int = 1,
        most: int | None = None,
    ) -> None:
        self._ray = _loaded()
        self._workers, self._each, self._most = workers, each, most
        self._actors: list[_Actor] = []
        self._waiting = 0
        self._cpus, self._looked = 1, -_LOOK
        self._patient_until: float | None = None
        self._ours = _connect(self._ray, address, workers)
        self._setup = self._ray.put((evaluate, services))
        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": 0, "max_concurrency": each + 1}
        self._class = self._ray.remote(**options)(_Evaluating)

    @property
    def at_once(self) -> int:
        """The number of cases at the same time, now; more if nodes join."""
        self._look()
        every = max(1, self._limit) * self._each
        return every if self._most is None else min(every, self._most)

    @property
    def _limit(self) -> int:
        """The most actors."""
        return self._cpus if self._workers is None else self._workers

    async def evaluate(self, case: C, emit: Emit) -> R:
        """The result of one case, as soon as an actor is free and has worked on it.

        Raises:
            FlowMindError, SandboxUnavailable: If the function raised it.
            HelperEnded: If the actor or its node was lost.
            InputError: If the nodes of the cluster cannot load the function.
        """
        actor = await self._free()
        actor.busy += 1
        try:
            async for reference in actor.handle.work.remote(case):
                kind, value = await reference
                if kind == "emitted":
                    emit(value)
                else:
                    return cast(R, _result(kind, value))
        except self._ray.exceptions.RayError as error:
            actor.lost()
            raise HelperEnded(type(error).__name__) from None
        finally:
            actor.busy -= 1
        raise HelperEnded("no result")

    @property
    def pids(self) -> list[int]:
        """The ids of the processes of the actors that are ready, each on its own machine."""
        return [actor.pid for actor in self._actors if actor.pid]

    def close(self) -> None:
        """Ends the actors, and the cluster if this map has started it."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):  # the cluster may be gone
                self._ray.kill(actor.handle)
        self._actors.clear()
        if self._ours:
            self._ray.shutdown()

    async def _free(self) -> _Actor:
        """An actor that can take a case; starts new ones while the cluster has CPUs for them."""
        self._waiting += 1
        try:
            while True:
                self._look()
                free = [actor for actor in self._actors if actor.pid and actor.busy < self._each]
                if free:
                    self._patient_until = None
                    return min(free, key=lambda actor: actor.busy)
                starting = sum(not actor.pid for actor in self._actors)
                if len(self._actors) < self._limit and starting < self._waiting:
                    self._actors.append(_Actor(self._class.remote(), self._setup))
                self._be_patient()
                await asyncio.sleep(0.01)
        finally:
            self._waiting -= 1

    def _look(self) -> None:
        """Sees which actors have started or come back, and how many CPUs the cluster has."""
        if time.monotonic() < self._looked + _LOOK:
            return
        self._looked = time.monotonic()
        with suppress(self._ray.exceptions.RayError, ConnectionError):  # the head node may be busy
            self._cpus = int(self._ray.cluster_resources().get("CPU", 0))
        greeting = {actor.greeting(): actor for actor in self._actors if not actor.pid}
        done: list[Any] = []
        if greeting:
            done, _ = self._ray.wait(list(greeting), num_returns=len(greeting), timeout=0)
        for reference in done:
            actor = greeting[reference]
            try:
                actor.greeted(*self._ray.get(reference))
            except self._ray.exceptions.RayError as error:
                actor.lost()
                known = (self._ray.exceptions.RayTaskError, self._ray.exceptions.RaySystemError)
                if isinstance(error, known) or "creation task" in str(error):
                    last = str(error).strip().splitlines()[-1].strip()
                    needed = f"each needs flowmind-es {version('flowmind-es')} and what the run uses"
                    raise InputError(f"the nodes of the Ray cluster cannot evaluate cases ({last}); {needed}") from None

    def _be_patient(self) -> None:
        """Says once that there is no actor, after a while without any."""
        if any(actor.pid for actor in self._actors):
            self._patient_until = None
        elif self._patient_until is None:
            self._patient_until = time.monotonic() + _PATIENCE
        elif time.monotonic() > self._patient_until:
            self._patient_until = float("inf")
            print(f"waiting for a free CPU of the Ray cluster, which has {self._cpus}", file=sys.stderr)


class _Actor:
    """An actor as the driver sees it."""

    def __init__(self, handle: Any, setup: Any) -> None:
        self.handle = handle
        self._setup = setup
        self.busy = 0
        self.pid = 0
        """The id of its process; 0 if it is not known to be there."""
        self._greeting: Any = None

    def greeting(self) -> Any:
        """The reference to the reply of the actor, once it is there."""
        if self._greeting is None:
            self._greeting = self.handle.hello.remote(self._setup)
        return self._greeting

    def greeted(self, pid: int, theirs: str) -> None:
        """Takes the reply.

        Raises:
            InputError: If the actor has another version of FlowMind.
        """
        if theirs != (ours := version("flowmind-es")):
            raise InputError(f"a node of the Ray cluster has flowmind-es {theirs}; install {ours} on each")
        self.pid = pid

    def lost(self) -> None:
        """The actor does not answer; Ray starts it again."""
        self.pid, self._greeting = 0, None


async def _nothing(case: Any, services: Any, emit: Emit) -> Any:
    """The function of an actor before the greeting."""


class _Evaluating:
    """The actor. What it needs comes with the greeting, so that one that Ray starts again gets it as well."""

    def __init__(self) -> None:
        self._function: Evaluate[Any, Any, Any] = _nothing
        self._services: Any = None
        collect_seldom()

    async def hello(self, setup: tuple[Evaluate[Any, Any, Any], Closing]) -> tuple[int, str]:
        """Takes the function and its services; the id of this process, and its version of FlowMind."""
        if self._services is None:
            self._function, self._services = setup
        return os.getpid(), version("flowmind-es")

    async def work(self, case: Any) -> AsyncGenerator[tuple[str, Any]]:
        """What the evaluation emits, then its result or its error."""
        loop, messages = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Any]]()

        def emit(line: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(messages.put_nowait, ("emitted", line))

        async def evaluated() -> None:
            try:
                end = "result", await self._function(case, self._services, emit)
            except (FlowMindError, SandboxUnavailable) as error:
                end = "refused", error
            except Exception as error:
                end = "raised", (f"{type(error).__name__}: {error}", traceback.format_exc())
            loop.call_soon_threadsafe(messages.put_nowait, end)

        task = asyncio.create_task(evaluated())
        try:
            kind = ""
            while kind in ("", "emitted"):
                kind, value = await messages.get()
                yield kind, value
        finally:
            task.cancel()
            gc.collect()  # which `collect_seldom` leaves to whoever knows when a case is over


def _result(kind: str, value: Any) -> Any:
    """The result of a case, from the last message of an actor.

    Raises:
        FlowMindError, SandboxUnavailable, RuntimeError: If the evaluation raised an error.
    """
    if kind == "refused":
        raise value
    if kind == "raised":
        message, trace = value
        raised = RuntimeError(message)
        raised.add_note(trace)
        raise raised
    return value


def _loaded() -> Any:
    """The package.

    Raises:
        InputError: If it is not installed.
    """
    os.environ.update(QUIET)
    try:
        import ray
    except ImportError as error:
        raise InputError(f"--map ray needs Ray: pip install 'flowmind-es[ray]' ({error})") from None
    return ray


def _connect(ray: Any, address: str | None, cpus: int | None) -> bool:
    """Connects this process to a cluster, or starts one with a number of CPUs; False if it is connected already.

    Raises:
        InputError: If the cluster cannot be reached.
    """
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address.startswith("ray://"):
        raise InputError(f"--ray-address {address}: give HOST:PORT of the cluster, and run on one of its nodes")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
    if address == "local":
        options |= {"num_cpus": cpus or os.cpu_count(), "object_store_memory": OBJECT_STORE}
        options |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    elif address != "auto":
        _require_listener(address)
    try:
        with _signals_kept():
            ray.init(address, **options)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"--ray-address {address}: no connection to a Ray cluster ({reason})") from None
    if hasattr(ray._private.worker, "_worker_logs_enabled"):  # the last lines of the log of each node that is lost
        ray._private.worker._worker_logs_enabled = False
    return True


def _require_listener(address: str) -> None:
    """Requires that something listens at an address, because Ray tries for two minutes.

    Raises:
        InputError: If nothing does.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 5).close()
    except (OSError, ValueError, OverflowError):
        text = "nothing listens there; give HOST:PORT of the head node"
        raise InputError(f"--ray-address {address}: {text}") from None


@contextmanager
def _signals_kept() -> Generator[None]:
    """Keeps the handler of SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)

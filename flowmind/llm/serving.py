"""A model served by vLLM, for as long as it is needed. vLLM is never imported: it is a process behind HTTP."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self, cast

from flowmind.base.errors import ModelUnavailable
from flowmind.base.files import dump_json, write_text
from flowmind.llm import processes
from flowmind.llm.fingerprints import (
    Running,
    described,
    fingerprint,
    gpus,
    opener,
    running,
    state_folder,
    told,
    versions,
    written,
)
from flowmind.llm.serve_command import HOST, Device, ServeOptions, command, environment
from flowmind.llm.serve_log import cause, last_line, tail

__all__ = ["ServeOptions", "Server", "command", "fingerprint", "gpu_found", "gpus", "missing", "versions"]


def missing(model: str, device: Device | None = None, package: bool = True) -> str | None:
    """One line that says what this machine lacks to serve a model; None if nothing. Imports nothing heavy.

    Args:
        model: What it is called in that line.
        device: `cpu` if no GPU is wanted; without it, `FLOWMIND_DEVICE`.
        package: Whether vLLM must be installed already.
    """
    lacks: list[str] = []
    if (device or os.environ.get("FLOWMIND_DEVICE")) != "cpu" and not gpu_found():
        lacks.append("no GPU is found")
    if package and importlib.util.find_spec("vllm") is None:
        lacks.append("vLLM is not installed (pip install 'flowmind-es[vllm]')")
    if not lacks:
        return None
    return f"{model} cannot be served here: {' and '.join(lacks)}; or set OPENAI_BASE_URL to a server that has it"


def gpu_found(dev: Path = Path("/dev")) -> bool:
    """Whether the kernel shows a GPU that vLLM could use: NVIDIA's (also under WSL) or AMD's."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return any(any(dev.glob(pattern)) for pattern in ("nvidia[0-9]*", "dxg", "kfd"))


def _quiet(line: str) -> None:
    pass


class Server:
    """A server of a model, from healthy and warm until the end of the block.

        with Server(ServeOptions.of("qwen3-8b", port=0)) as server:
            ...  # requests to server.base_url

    On leaving, on Ctrl-C, SIGTERM or SIGHUP, and even if this process is killed, no process of the server is left.

    Args:
        options: What is served, and how.
        log: The file for the server's output (default: beside the state, `<port>.log`).
        report: Gets a line of progress now and then.
        steps: The signals that end it, and the seconds that each leaves (default: 20 s for SIGINT, 10 s for SIGTERM).

    Raises:
        ModelUnavailable: On entering, if the port is taken, the server dies, is not healthy in time or fails to
            answer: one line with what it said last.
    """

    def __init__(
        self,
        options: ServeOptions,
        *,
        log: Path | None = None,
        report: Callable[[str], None] = _quiet,
        steps: Sequence[tuple[signal.Signals, float]] = processes.STEPS,
    ) -> None:
        self.options = options if options.port else options.model_copy(update={"port": _free_port()})
        self.base_url = f"http://{HOST}:{self.options.port}/v1"
        self.log = log or state_folder() / f"{self.options.port}.log"
        self.fingerprint: dict[str, Any] = {}
        """What identifies the server, once it is entered."""
        self._words = command(self.options)
        self._report = report
        self._steps = steps
        self._state = state_folder() / f"{self.options.port}.json"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
            self._await_health()
            self._warm_up()
            self._write_down()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    @property
    def pid(self) -> int | None:
        """The server's process, which is also the number of its session."""
        return None if self._process is None else self._process.pid

    def wait(self) -> NoReturn:
        """Waits for as long as the server runs.

        Raises:
            ModelUnavailable: When it has ended by itself.
        """
        assert self._process is not None, "enter the server first"
        self._process.wait()
        raise self._ended()

    def _start(self) -> None:
        """Starts the process; what ends it and what cleans up after it is in `_exits` before it runs."""
        _require_free(self.options.port)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        output = self._exits.enter_context(self.log.open("wb"))
        self._exits.enter_context(_stopping_signals())
        watcher = processes.watcher()
        self._exits.callback(watcher.wait)
        watched = self._exits.enter_context(cast(Any, watcher.stdin))
        self._exits.callback(self._stop)
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            self._words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(self.options),
            start_new_session=True,
        )
        watched.write(b"%d\n" % self._process.pid)
        watched.flush()
        self._report(f"starting {self.options.model} on port {self.options.port}; log: {self.log}")

    def _stop(self) -> None:
        if self._process is None:
            return
        state = written(self.options.port)
        if state is not None and state.pid == self._process.pid:
            self._state.unlink(missing_ok=True)
        try:
            processes.end(self._process.pid, self._steps)
        finally:
            self._process.wait()

    def _await_health(self) -> None:
        reported = time.monotonic()
        while not self._healthy():
            self._checkrunning()
            if self._seconds() > self.options.wait:
                wait = f"{self.options.wait:g} s"
                raise ModelUnavailable(f"{self._name()} is not healthy after {wait}: {self._last_words()}")
            if time.monotonic() - reported > 15:
                reported = time.monotonic()
                self._report(f"still starting after {self._seconds():.0f} s: {last_line(self.log)}")
            time.sleep(0.1)
        self._report(f"healthy after {self._seconds():.1f} s")

    def _healthy(self) -> bool:
        url = f"http://{HOST}:{self.options.port}/health"
        with contextlib.suppress(OSError, http.client.HTTPException), opener(url).open(url, timeout=5) as response:
            return response.status == 200
        return False

    def _warm_up(self) -> None:
        """One request, as the experiments send them: the first one compiles, and its reply may differ from later ones
        of the same prompt, which come out of the prefix cache."""
        body: dict[str, Any] = {
            "model": self.options.served_name,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": 8,
            "temperature": 0,
        }
        url, began = f"{self.base_url}/chat/completions", time.monotonic()
        request = urllib.request.Request(url, dump_json(body).encode(), {"Content-Type": "application/json"})
        left = max(60.0, self.options.wait - self._seconds())
        try:
            with opener(url).open(request, timeout=left) as response:
                said = json.loads(response.read())
            said["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            text = " ".join(error.read(2000).decode(errors="replace").split())
            raise ModelUnavailable(f"{self._name()} refuses a warm-up request: HTTP {error.code}: {text}") from None
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            self._checkrunning()
            raise ModelUnavailable(f"{self._name()} does not answer a warm-up request: {error}") from None
        self._report(f"warmed up in {time.monotonic() - began:.1f} s")

    def _write_down(self) -> None:
        """Takes the fingerprint, and leaves it where `fingerprint` finds it while the server runs."""
        assert self._process is not None
        self.fingerprint = described(self.options, self._words) | told(self.base_url, self.options.served_name)
        pid = self._process.pid
        state = Running(pid=pid, started=processes.started(pid) or "", fingerprint=self.fingerprint)
        try:
            write_text(self._state, dump_json(state.model_dump(), indent=1))
        except OSError as error:
            self._report(f"other runs cannot see the fingerprint: {self._state}: {error.strerror}")

    def _checkrunning(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise self._ended()

    def _ended(self) -> ModelUnavailable:
        assert self._process is not None
        code = self._process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return ModelUnavailable(f"{self._name()} {how} after {self._seconds():.0f} s: {self._last_words()}")

    def _last_words(self) -> str:
        return f"{cause(tail(self.log))} (log: {self.log})"

    def _name(self) -> str:
        return f"the server of {self.options.served_name!r}"

    def _seconds(self) -> float:
        return time.monotonic() - self._began


@contextlib.contextmanager
def _stopping_signals() -> Generator[None]:
    """Lets SIGTERM and SIGHUP unwind as Ctrl-C does, where nobody else has a say in them.

    SIGINT too where it is ignored, as in a job in the background: it still is how a server is stopped.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    ours = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.SIG_IGN}
    taken = {number: usual for number, usual in ours.items() if signal.getsignal(number) is usual}
    if threading.current_thread() is not threading.main_thread():
        taken = {}
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, usual in taken.items():
            signal.signal(number, usual)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind((HOST, 0))
        return held.getsockname()[1]


def _require_free(port: int) -> None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            there = running(port)
            serves = f"process {there.pid} serves {there.fingerprint.get('served_name')!r} there" if there else None
            problem = serves or error.strerror
            raise ModelUnavailable(f"port {port} is not free ({problem}): stop that, or pass another --port") from None

"""A vLLM server as a child process. vLLM is never imported."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self, cast

from flowmind.base.errors import ModelUnavailable
from flowmind.base.files import dump_json, write_text
from flowmind.base.folders import opened
from flowmind.llm import processes
from flowmind.llm.fingerprints import Running, described, recorded, reported, running, state_folder
from flowmind.llm.models import opener
from flowmind.llm.serve_command import HOST, Device, ServeOptions, command, environment

_MOST_REPLY = 1_000_000


def missing(model: str, device: Device | None = None, package: bool = True) -> str | None:
    """What this machine lacks to serve a model, on one line; None if nothing. Nothing heavy is imported.

    Args:
        model: The name of the model in that line.
        device: `cpu` if no GPU is needed; by default `FLOWMIND_DEVICE`.
        package: Whether vLLM must be installed.
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
    """Whether the kernel has a device of NVIDIA (also under WSL) or AMD."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return any(any(dev.glob(pattern)) for pattern in ("nvidia[0-9]*", "dxg", "kfd"))


def _quiet(line: str) -> None:
    pass


class Server:
    """A server of a model, which is healthy and warm within the block.

        with Server(ServeOptions.of("qwen3-8b", port=0)) as server:
            ...  # requests to server.base_url

    No process of the server remains after the block, after Ctrl-C, SIGTERM or SIGHUP, or if this process is killed.

    Args:
        options: The model and its settings.
        log: The file for the server's output; by default `<port>.log` beside the server's record.
        report: Gets lines of progress.
        steps: The signals that end the server, each with the seconds until the next one.

    Raises:
        ModelUnavailable: On entering, if the port is in use, or the server ends, does not become healthy in time or
            does not answer a request. The message has the error from the log.
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
        """The fingerprint, available within the block."""
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
        """The process id of the server, which is also its session id."""
        return None if self._process is None else self._process.pid

    def wait(self) -> NoReturn:
        """Waits until the server ends.

        Raises:
            ModelUnavailable: When the server has ended.
        """
        assert self._process is not None, "enter the server first"
        self._process.wait()
        raise self._ended()

    def _start(self) -> None:
        """Starts the process. `_exits` already ends it and cleans up after it when it starts."""
        _require_free(self.options.port)
        with opened(self.log.parent, create=True) as folder:
            output = self._exits.enter_context(folder.create(self.log.name))
        os.fchmod(output.fileno(), 0o600)  # vLLM prints its flags, which may have a token
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
        state = recorded(self.options.port)
        if state is not None and state.pid == self._process.pid:
            with opened(self._state.parent) as folder:
                folder.remove(self._state.name)
        try:
            processes.end(self._process.pid, self._steps)
        finally:
            self._process.wait()

    def _await_health(self) -> None:
        reported = time.monotonic()
        while not self._healthy():
            self._check_running()
            if self._seconds() > self.options.wait:
                wait = f"{self.options.wait:g} s"
                raise ModelUnavailable(f"{self._name()} is not healthy after {wait}: {self._last_words()}")
            if time.monotonic() - reported > 15:
                reported = time.monotonic()
                self._report(f"still starting after {self._seconds():.0f} s: {_last_line(self.log)}")
            time.sleep(0.1)
        self._report(f"healthy after {self._seconds():.1f} s")

    def _healthy(self) -> bool:
        url = f"http://{HOST}:{self.options.port}/health"
        with contextlib.suppress(OSError, http.client.HTTPException), opener(url).open(url, timeout=5) as response:
            return response.status == 200
        return False

    def _warm_up(self) -> None:
        """Sends one request.

        The first request compiles kernels, and its reply may differ from later replies to the same prompt, for which
        the server uses the prefix cache.
        """
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
                said = json.loads(response.read(_MOST_REPLY))
            said["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            text = " ".join(error.read(2000).decode(errors="replace").split())
            raise ModelUnavailable(f"{self._name()} refuses a warm-up request: HTTP {error.code}: {text}") from None
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            self._check_running()
            raise ModelUnavailable(f"{self._name()} does not answer a warm-up request: {error}") from None
        self._report(f"warmed up in {time.monotonic() - began:.1f} s")

    def _write_down(self) -> None:
        """Takes the fingerprint and writes the record of the server."""
        assert self._process is not None
        self.fingerprint = described(self.options, self._words) | reported(self.base_url, self.options.served_name)
        pid = self._process.pid
        state = Running(pid=pid, started=processes.started(pid) or "", fingerprint=self.fingerprint)
        try:
            write_text(self._state, dump_json(state.model_dump(), indent=1))
        except OSError as error:
            self._report(f"other runs cannot see the fingerprint: {self._state}: {error.strerror}")

    def _check_running(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise self._ended()

    def _ended(self) -> ModelUnavailable:
        assert self._process is not None
        code = self._process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return ModelUnavailable(f"{self._name()} {how} after {self._seconds():.0f} s: {self._last_words()}")

    def _last_words(self) -> str:
        return f"{cause(_tail(self.log))} (log: {self.log})"

    def _name(self) -> str:
        return f"the server of {self.options.served_name!r}"

    def _seconds(self) -> float:
        return time.monotonic() - self._began


@contextlib.contextmanager
def _stopping_signals() -> Generator[None]:
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt, unless the program handles them itself.

    An ignored SIGINT does so, too: a shell ignores it in a background job, but it stops a server.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    defaults = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.SIG_IGN}
    replaced = {number: handler for number, handler in defaults.items() if signal.getsignal(number) is handler}
    if threading.current_thread() is not threading.main_thread():
        replaced = {}
    for number in replaced:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


def _require_free(port: int) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            other = running(port)
            serves = f"process {other.pid} serves {other.fingerprint.get('served_name')!r} there" if other else None
            problem = serves or error.strerror
            raise ModelUnavailable(f"port {port} is not free ({problem}): stop that, or pass another --port") from None


def _tail(log: Path, size: int = 100_000) -> str:
    """The last `size` bytes of a log."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read().decode(errors="replace")


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_STAMP = re.compile(r"(\(\w+( pid=\d+)?\) *)?((ERROR|WARNING|INFO|DEBUG|CRITICAL) \d\d-\d\d [\d:]+ \[\S+?\] *)?")
_ERROR = re.compile(r"([\w.]*(Error|Exception|Interrupt)\b|.*\berror:)")
_POINTER = re.compile("root cause|EngineDeadError")
_NEXT = re.compile("Traceback|During handling|The above exception")


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines of a log that have words, each as vLLM's stamp (process, level, time, place) and the text after it."""
    plain = _COLOUR.sub("", text).replace("\r", "\n").split("\n")
    stamps = [match.group() if (match := _STAMP.match(line)) else "" for line in plain]
    pairs = [(stamp, line[len(stamp) :].strip()) for stamp, line in zip(stamps, plain, strict=True)]
    return [(stamp, text) for stamp, text in pairs if re.search(r"\w", text)]


def _last_line(log: Path) -> str:
    """The last line that has words, cut to 200 characters."""
    return next((text[:200] for _, text in reversed(_lines(_tail(log, 4000)))), "nothing said yet")


def cause(text: str) -> str:
    """The error in a log: the last one that does not refer to another, or the last three lines."""
    lines = _lines(text)
    errors = [at for at, (_, line) in enumerate(lines) if _ERROR.match(line) and not _POINTER.search(line)]
    if errors:
        stamp, _ = lines[errors[-1]]
        more = lines[errors[-1] + 1 :][:2]
        lines = [lines[errors[-1]], *takewhile(lambda line: line[0] == stamp and not _NEXT.match(line[1]), more)]
    return " | ".join(line for _, line in lines[-3:])[:600] or "it said nothing"

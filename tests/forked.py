"""Commands in processes of their own that begin at once: they are forked from a process that has everything loaded.

A test that is about how a process starts (what it imports, how long that takes) starts an interpreter instead.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

Done = subprocess.CompletedProcess[bytes]
_MOST = 1 << 18
"""Bytes of a message."""


class Forker:
    """The process that forks the others."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
        steering = ("FLOWMIND_", "OPENAI_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
        with theirs:
            words = [sys.executable, str(Path(__file__).resolve())]
            self._process = subprocess.Popen(words, stdin=theirs, env={**env, "PYTHONHASHSEED": "1"})
        self._ended: dict[int, int] = {}
        atexit.register(self.close)

    def start(
        self,
        module: str,
        *words: object,
        files: tuple[IO[bytes], IO[bytes], IO[bytes]],
        env: Mapping[str, str],
        cwd: Path | str | None = None,
        file_size: int = 0,
    ) -> int:
        """Starts `python -m module` with these words; returns its process id.

        Args:
            module: The module.
            words: Its arguments.
            files: Standard input, output and error.
            env: The whole environment.
            cwd: The working directory; by default this process's.
            file_size: The bytes to which a file may grow; 0: no limit.
        """
        told = {"module": module, "words": [*map(str, words)], "env": dict(env), "cwd": str(cwd or Path.cwd())}
        message = json.dumps({**told, "file_size": file_size}).encode()
        socket.send_fds(self._socket, [message], [file.fileno() for file in files])
        while (pid := self._receive(60)) is None:
            pass
        return pid

    def wait(self, pid: int, timeout: float = 120) -> int:
        """The exit code of a process, negative for a signal.

        Raises:
            TimeoutError: If it does not end in time.
        """
        while pid not in self._ended:
            self._receive(timeout)
        return self._ended[pid]

    def poll(self, pid: int) -> int | None:
        """The exit code of a process; None while it runs."""
        with contextlib.suppress(TimeoutError):
            while pid not in self._ended:
                self._receive(0)
        return self._ended.get(pid)

    def _receive(self, timeout: float) -> int | None:
        """Receives the id of a process that has started, or the id and the exit code of one that has ended."""
        if not select.select([self._socket], [], [], timeout)[0]:
            raise TimeoutError(f"no word of a forked process for {timeout} s")
        pid, *ended = map(int, self._socket.recv(_MOST).split())
        self._ended.pop(pid, None)
        if ended:
            [self._ended[pid]] = ended
        return None if ended else pid

    def close(self) -> None:
        """Ends the process that forks."""
        self._socket.close()
        self._process.wait(60)


@functools.cache
def forker() -> Forker:
    """The one of this process."""
    return Forker()


def run(module: str, *words: object, stdin: bytes = b"", env: Mapping[str, str], cwd: Path | str | None = None) -> Done:
    """Runs `python -m module` with these words to its end."""
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as told:
        given.write(stdin)
        given.seek(0)
        pid = forker().start(module, *words, files=(given, out, told), env=env, cwd=cwd)
        try:
            code = forker().wait(pid)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        out.seek(0)
        told.seek(0)
        return Done([module, *map(str, words)], code, out.read(), told.read())


class Popen:
    """A command that runs beside the test, as `subprocess.Popen` with pipes for its output."""

    def __init__(self, module: str, *words: object, env: Mapping[str, str], cwd: Path | str | None = None) -> None:
        end, other = os.pipe()
        self._printed = TemporaryFile()  # noqa: SIM115
        with os.fdopen(other, "wb") as told, Path(os.devnull).open("rb") as nothing:
            self.pid = forker().start(module, *words, files=(nothing, self._printed, told), env=env, cwd=cwd)
        self.stderr = os.fdopen(end, encoding="utf-8")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        self.returncode = forker().poll(self.pid)
        return self.returncode

    def wait(self, timeout: float = 120) -> int:
        """The exit code, as soon as it has ended."""
        self.returncode = forker().wait(self.pid, timeout)
        return self.returncode

    def communicate(self, timeout: float = 120) -> tuple[str, str]:
        """What it writes to standard output and error until it has ended."""
        told = self.stderr.read()
        self.wait(timeout)
        self._printed.seek(0)
        printed = self._printed.read().decode()
        self.close()
        return printed, told

    def close(self) -> None:
        """Closes the pipes."""
        self.stderr.close()
        self._printed.close()

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it may end meanwhile
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Popen:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.close()


def _load() -> None:
    """Imports what commands import, early or late."""
    import dbos
    import langgraph.graph
    import mcp.server.lowlevel
    import openai
    import opentelemetry.proto.collector.trace.v1
    import uvicorn

    import experiments.commands
    import experiments.dialogue.running
    import experiments.endpoints
    import experiments.runner
    import experiments.tables
    import flowbench_synth.builder
    import flowmind.cli.main
    import flowmind.jit
    import flowmind.recording.mcp
    import flowmind.recording.openai_proxy
    import flowmind.recording.otlp
    import flowmind.server.serving
    from tools_registry import catalog

    openai.OpenAI(api_key="none")  # loads what it loads late
    dict(catalog.load())
    assert dbos and langgraph and mcp and opentelemetry and uvicorn and experiments and flowbench_synth and flowmind


def _serve() -> int:
    """Forks a process for each message. Returns in the child, with its exit code."""
    _load()
    gc.freeze()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    children: set[int] = set()
    with socket.socket(fileno=os.dup(0)) as control:
        while True:
            ready, _, _ = select.select([control, woken], [], [])
            if woken in ready:
                os.read(woken, 1024)
                for child in [*children]:
                    pid, status = os.waitpid(child, os.WNOHANG)
                    if pid:
                        children.remove(pid)
                        control.send(f"{pid} {os.waitstatus_to_exitcode(status)}".encode())
            if control not in ready:
                continue
            message, files, _, _ = socket.recv_fds(control, _MOST, 3)
            if not message:
                return 0
            child = os.fork()
            if child == 0:
                break
            children.add(child)
            for file in files:
                os.close(file)
            control.send(str(child).encode())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for file in (woken, wake):
        os.close(file)
    return _become(json.loads(message), files)


def _become(told: dict[str, Any], files: list[int]) -> int:
    """Runs a module as a fresh interpreter would."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(told["env"])
    os.chdir(told["cwd"])
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for number, name, policy in ((0, "stdin", "strict"), (1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
        buffer = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(
            buffer, encoding or "utf-8", errors or policy, line_buffering=number == 2 or raw.isatty()
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if told["file_size"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (told["file_size"],) * 2)
    sys.argv = [told["module"], *told["words"]]
    try:
        runpy.run_module(told["module"], run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """Ends the process as the interpreter does, but for freeing its memory."""
    threading._shutdown()  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            code = code or 120
    os._exit(code)


if __name__ == "__main__":
    sys.path[0] = ""
    _end(_serve())

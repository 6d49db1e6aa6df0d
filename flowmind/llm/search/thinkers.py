"""Processes that think for `search`: its thinking is Python from end to end, of which a process does one at a time.

What they say is unpickled: they run code of this project alone. Tools run in the workers of their sandboxes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from flowmind.errors import ModelFailure
from flowmind.llm.search.program import Program
from flowmind.llm.search.reading import Reading
from flowmind.llm.search.thinking import BUDGET, Thinker
from tools_registry.closing import Closing
from tools_registry.sandbox import LocalSandbox, ToolSource
from tools_registry.spec import ToolSpec

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from flowmind.llm.search.thinkers import main; main()"


class Thinkers(Closing):
    """Processes that think, each in a sandbox of its own. One starts when it is first needed.

    Args:
        tools: What conversations may offer.
        count: How many processes.
        budget: Calls that one search may try.
    """

    def __init__(self, tools: Sequence[ToolSource], count: int, budget: int = BUDGET) -> None:
        self._all = [_Process((list(tools), budget)) for _ in range(count)]
        self._free: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def program(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        """As `Thinker.program`, in one of the processes; waits while all of them think.

        Raises:
            ModelFailure: If the process has ended.
            RuntimeError: If the thinking raised something.
        """
        process = self._free.get()
        try:
            return process.ask((reading, dict(business)))
        finally:
            self._free.put(process)

    @property
    def pids(self) -> list[int]:
        """Of the processes that are running."""
        return [process.pid for process in self._all if process.pid is not None]

    def close(self) -> None:
        """Ends the processes, whatever they do; a later question starts another."""
        for process in self._all:
            process.stop()


class _Process:
    """One process, and the pipes to it. It ends when they are closed, however abruptly."""

    def __init__(self, about: Any) -> None:
        self._about = about
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return None if self._running is None else self._running.pid

    def ask(self, question: Any) -> Any:
        try:
            running = self._running or self._start()
            answer, problem = self._exchange(running, question)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.stop()
            raise ModelFailure(f"search: a process that thinks has ended ({type(error).__name__})") from None
        if problem is not None:
            message, trace = problem
            raised = RuntimeError(message)
            raised.add_note(trace)
            raise raised
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._running = subprocess.Popen(
            [sys.executable, "-c", _BOOT, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._tell(self._running, self._about)
        return self._running

    def _exchange(self, running: subprocess.Popen[bytes], question: Any) -> Any:
        self._tell(running, question)
        assert running.stdout is not None
        return pickle.load(running.stdout)

    def _tell(self, running: subprocess.Popen[bytes], what: Any) -> None:
        assert running.stdin is not None
        pickle.dump(what, running.stdin)
        running.stdin.flush()

    def stop(self) -> None:
        """Kills and reaps the process, if one is running."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            running.wait()
            for pipe in (running.stdin, running.stdout):
                with contextlib.suppress(OSError):  # what was not sent any more
                    if pipe is not None:
                        pipe.close()


def collect_seldom() -> None:
    """Lets this process look for garbage less often.

    What a search makes is mostly kept to its end: looking through it again and again takes a third of the time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def main() -> None:
    """Answers questions from standard input until it is closed."""
    given, told = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    collect_seldom()
    tools, budget = pickle.load(given)
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(given, questions), daemon=True).start()
    with LocalSandbox(tools) as sandbox:
        thinker = Thinker(sandbox.values, budget)
        while True:
            reading, business = questions.get()
            pickle.dump(_thought(thinker, reading, business), told)
            told.flush()


def _listen(given: BinaryIO, questions: queue.SimpleQueue[Any]) -> None:
    """Hands questions on; when the asker is gone, ends the process in the middle of whatever it thinks."""
    try:
        while True:
            questions.put(pickle.load(given))
    except (EOFError, pickle.UnpicklingError):
        os._exit(0)


def _thought(thinker: Thinker, reading: Reading, business: Mapping[str, ToolSpec]) -> Any:
    """The answer and no problem; or no answer, and what was raised, for whoever has asked."""
    try:
        return thinker.program(reading, business), None
    except Exception as error:  # a defect, or no sandbox: it is the asker's error
        return None, (f"{type(error).__name__}: {error}", traceback.format_exc())

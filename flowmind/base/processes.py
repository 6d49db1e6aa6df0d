"""Processes that help this one: Python computes one thing at a time in a process, and they one each.

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
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, NamedTuple

from tools_registry.sandbox.closing import Closing

_BOOT = "import sys; sys.path[:] = sys.argv[2:]; import importlib; importlib.import_module(sys.argv[1]).main()"


_Emit = Callable[[Any], None]


class _Emitted(NamedTuple):
    """A value that a process passes on while it answers."""

    value: Any


class HelperEnded(Exception):
    """The process that was asked has ended, or was ended, without an answer."""


class Helpers(Closing):
    """Processes that answer questions, each one at a time. One starts when it is first needed.

    Args:
        module: Its `main` answers the questions, by `answer_questions`.
        about: What each process is told first; pickled.
        count: How many processes.
    """

    def __init__(self, module: str, about: Any, count: int) -> None:
        self._all = [_Process(module, about) for _ in range(count)]
        self._free: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def ask(self, question: Any, emit: _Emit | None = None) -> Any:
        """The answer of a process that is free; waits while there is none.

        Args:
            question: Pickled for the process.
            emit: Takes what the process passes on while it answers.

        Raises:
            HelperEnded: If the process has ended. The next question starts another.
            RuntimeError: If answering raised something.
        """
        process = self._free.get()
        try:
            return process.ask(question, emit)
        finally:
            self._free.put(process)

    @property
    def pids(self) -> list[int]:
        """Of the processes that are running."""
        return [process.pid for process in self._all if process.pid is not None]

    def close(self) -> None:
        """Ends the processes for good, whatever they do."""
        for process in self._all:
            process.stop(for_good=True)


class _Process:
    """One process, and the pipes to it. It ends when they are closed, however abruptly."""

    def __init__(self, module: str, about: Any) -> None:
        self._module, self._about = module, about
        self._running: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._running is None else self._running.pid

    def ask(self, question: Any, emit: _Emit | None) -> Any:
        try:
            answer, problem = self._exchange(self._start(), question, emit)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:  # ValueError: the pipe was closed
            self.stop()
            raise HelperEnded(type(error).__name__) from None
        if problem is not None:
            message, trace = problem
            raised = RuntimeError(message)
            raised.add_note(trace)
            raise raised
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ended:
                raise HelperEnded("closed")
            if self._running is not None:
                return self._running
            self._running = subprocess.Popen(
                [sys.executable, "-c", _BOOT, self._module, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            running = self._running
        self._tell(running, self._about)
        return running

    def _exchange(self, running: subprocess.Popen[bytes], question: Any, emit: _Emit | None) -> Any:
        self._tell(running, question)
        assert running.stdout is not None
        while isinstance(message := pickle.load(running.stdout), _Emitted):
            try:
                if emit is not None:
                    emit(message.value)
            except BaseException:  # the rest of what the process sends would answer the next question
                self.stop()
                raise
        return message

    def _tell(self, running: subprocess.Popen[bytes], what: Any) -> None:
        assert running.stdin is not None
        running.stdin.write(pickle.dumps(what))  # whole or not at all, whatever cannot be pickled
        running.stdin.flush()

    def stop(self, for_good: bool = False) -> None:
        """Kills and reaps the process, if one is running."""
        with self._lock:
            self._ended = self._ended or for_good
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


def answer_questions(prepared: Callable[[Any], AbstractContextManager[Callable[[Any, _Emit], Any]]]) -> None:
    """Answers questions from standard input until it is closed: the `main` of a helper.

    Args:
        prepared: Makes, from what the process is told first, the function that answers a question. The function may
            pass values on before its answer.
    """
    given, told = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    collect_seldom()
    about = pickle.load(given)
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(given, questions), daemon=True).start()

    def send(message: bytes) -> None:
        told.write(message)
        told.flush()

    with prepared(about) as answers:
        while True:
            send(_answered(answers, questions.get(), lambda value: send(pickle.dumps(_Emitted(value)))))


def _listen(given: BinaryIO, questions: queue.SimpleQueue[Any]) -> None:
    """Hands questions on; when the asker is gone, ends the process in the middle of whatever it does."""
    try:
        while True:
            questions.put(pickle.load(given))
    except (EOFError, pickle.UnpicklingError):
        os._exit(0)


def _answered(answers: Callable[[Any, _Emit], Any], question: Any, emit: _Emit) -> bytes:
    """The answer and no problem; or no answer, and what was raised, for whoever has asked. Pickled."""
    try:
        return pickle.dumps((answers(question, emit), None))
    except Exception as error:  # a defect, or no sandbox: it is the asker's error
        return pickle.dumps((None, (f"{type(error).__name__}: {error}", traceback.format_exc())))

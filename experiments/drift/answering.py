"""Serves streams in other processes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from experiments.drift.serving import Plan, TaskStreams, streams_of
from experiments.drift.tasks import StreamTask
from experiments.drift.worlds import SandboxTools, World
from flowmind.base.processes import answer_questions
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool


class About(NamedTuple):
    """What a process is to know."""

    folder: Path
    plan: Plan


@contextmanager
def prepared(about: About) -> Generator[Callable[[StreamTask, Callable[[Any], None]], TaskStreams]]:
    """Yields a function that serves the streams of a task."""
    with WorkerPool(1) as pool:
        yield lambda task, _: streams_of(
            task, World(SandboxTools(task.tools, LocalSandbox(task.tools, pool))), about.plan
        )


def main() -> None:
    """Answers tasks from standard input, as a helper process."""
    answer_questions(prepared)

"""The time a fresh interpreter takes to import FlowMind, to run a saved workflow, and to print `flowmind --help`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from experiments.bench.measuring import Bench, Contender, Goal, Sample
from experiments.bench.workflows import linear
from flowmind.base.files import write_text

BARE, IMPORT, SAVED, HELP, LANGGRAPH, OPENAI = (
    "bare Python", "import flowmind", "load and run a saved workflow", "flowmind --help", "import langgraph.graph",
    "import openai",
)  # fmt: skip
RUN_SAVED = """
import sys
from flowmind import RunnableWorkflow

def increase(x: int) -> int:
    "Adds one."
    return x + 1

assert RunnableWorkflow.load(sys.argv[1], [increase])({"x": 0}) == 10
"""


@contextmanager
def process(*words: str) -> Generator[Sample]:
    """Samples a fresh interpreter from start to exit. The warm-up compiles the modules to bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder

        def sample(times: int) -> float:
            begun = time.perf_counter()
            for _ in range(times):
                subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
            return time.perf_counter() - begun

        yield sample


@contextmanager
def saved() -> Generator[Sample]:
    """Samples a fresh interpreter that loads a workflow of ten calls and runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workflow.json"
        write_text(path, linear().to_json())
        with process("-c", RUN_SAVED, str(path)) as sample:
            yield sample


def benches() -> tuple[Bench, ...]:
    """One benchmark."""
    contenders = (
        Contender(BARE, partial(process, "-c", "pass")),
        Contender(IMPORT, partial(process, "-c", "import flowmind")),
        Contender(SAVED, saved),
        Contender(HELP, partial(process, "-m", "flowmind.cli", "--help")),
        Contender(LANGGRAPH, partial(process, "-c", "import langgraph.graph"), ("langgraph",)),
        Contender(OPENAI, partial(process, "-c", "import openai"), ("openai",)),
    )
    goals = tuple(Goal(name, BARE, "over", most) for name, most in ((IMPORT, 150.0), (SAVED, 150.0), (HELP, 300.0)))
    return (Bench("start", "A fresh interpreter", "ms", "a process", contenders, goals, rounds=11, least=0.0),)

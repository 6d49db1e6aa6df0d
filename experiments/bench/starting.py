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
def process(*words: str, quick: bool = False) -> Generator[Sample]:
    """Samples a fresh interpreter from start to exit. The warm-up compiles the modules to bytecode, unless `quick`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        if not quick:
            environment["PYTHONPYCACHEPREFIX"] = folder

        def sample(times: int) -> float:
            begun = time.perf_counter()
            for _ in range(times):
                subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
            return time.perf_counter() - begun

        yield sample


@contextmanager
def saved(quick: bool = False) -> Generator[Sample]:
    """Samples a fresh interpreter that loads a workflow of ten calls and runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workflow.json"
        write_text(path, linear().to_json())
        with process("-c", RUN_SAVED, str(path), quick=quick) as sample:
            yield sample


def benches(quick: bool = False) -> tuple[Bench, ...]:
    """One benchmark."""
    started = partial(process, quick=quick)
    contenders = (
        Contender(BARE, partial(started, "-c", "pass")),
        Contender(IMPORT, partial(started, "-c", "import flowmind")),
        Contender(SAVED, partial(saved, quick)),
        Contender(HELP, partial(started, "-m", "flowmind.cli", "--help")),
        Contender(LANGGRAPH, partial(started, "-c", "import langgraph.graph"), ("langgraph",)),
        Contender(OPENAI, partial(started, "-c", "import openai"), ("openai",)),
    )
    goals = tuple(Goal(name, BARE, "over", most) for name, most in ((IMPORT, 150.0), (SAVED, 150.0), (HELP, 300.0)))
    return (Bench("start", "A fresh interpreter", "ms", "a process", contenders, goals, rounds=11, least=0.0),)

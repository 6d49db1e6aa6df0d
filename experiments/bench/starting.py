"""How long a fresh interpreter takes to import FlowMind, and to answer `flowmind --help`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from experiments.bench.measuring import Bench, Contender, Goal, Sample

BARE, IMPORT, HELP, LANGGRAPH, OPENAI = (
    "bare Python", "import flowmind", "flowmind --help", "import langgraph.graph", "import openai",
)  # fmt: skip


@contextmanager
def process(*words: str) -> Generator[Sample]:
    """Samples a fresh interpreter, from its start to its end."""

    def sample(times: int) -> float:
        begun = time.perf_counter()
        for _ in range(times):
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    yield sample


def benches() -> tuple[Bench, ...]:
    """One benchmark."""
    contenders = (
        Contender(BARE, partial(process, "-c", "pass")),
        Contender(IMPORT, partial(process, "-c", "import flowmind")),
        Contender(HELP, partial(process, "-m", "flowmind.cli", "--help")),
        Contender(LANGGRAPH, partial(process, "-c", "import langgraph.graph"), ("langgraph",)),
        Contender(OPENAI, partial(process, "-c", "import openai"), ("openai",)),
    )
    goals = (Goal(IMPORT, BARE, "over", 150.0), Goal(HELP, BARE, "over", 300.0))
    return (Bench("start", "A fresh interpreter", "ms", "a process", contenders, goals, rounds=11, least=0.0),)

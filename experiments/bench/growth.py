"""How the cost of a node grows with the size of its workflow, and that of a run with the number of runs before it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from experiments.bench.measuring import Bench, Contender, Goal, Sample
from experiments.bench.workflows import FUNCTIONS, chain
from flowmind.api.runnable import RunnableWorkflow
from flowmind.run.compiler import program_of
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.functions import FunctionEnvironment

SIZES = (10, 100, 1_000, 1_900)
RUNS = (1_000, 10_000, 100_000)


@contextmanager
def checked_and_compiled(size: int) -> Generator[Sample]:
    """Samples `check` and the compiler, which keep nothing; work is repeated so that each size has as many nodes."""
    specs = FunctionEnvironment(FUNCTIONS).specs
    document = chain(size).to_json()

    def sample(times: int) -> float:
        again = SIZES[-1] // size
        workflows = [Workflow.model_validate_json(document) for _ in range(times * again)]
        begun = time.perf_counter()
        for workflow in workflows:
            assert check(workflow, specs) == []
            program_of(workflow, brief=True)
        return (time.perf_counter() - begun) * SIZES[-1] / (size * again)

    yield sample


@contextmanager
def runs(count: int) -> Generator[Sample]:
    """Samples a number of runs of a workflow of three calls; the value is that of as many runs as the least number."""
    runnable = RunnableWorkflow(chain(3), FUNCTIONS)

    def sample(times: int) -> float:
        begun = time.perf_counter()
        for number in range(times * count):
            assert runnable({"x": number}) == number + 3
        return (time.perf_counter() - begun) * RUNS[0] / count

    yield sample


def benches() -> tuple[Bench, ...]:
    """Two benchmarks: growth with nodes, and with runs."""
    nodes = {f"{size:,} nodes": Contender(f"{size:,} nodes", partial(checked_and_compiled, size)) for size in SIZES}
    counts = {f"{count:,} runs": Contender(f"{count:,} runs", partial(runs, count)) for count in RUNS}
    small, *_, large = nodes
    few, *_, many = counts
    return (
        Bench(
            "nodes", "Checking and compiling a workflow", "µs", "a node", tuple(nodes.values()),
            (Goal(large, small, "slower", 1.5),), SIZES[-1], rounds=5, least=0.0,
        ),
        Bench(
            "runs", "Runs of a workflow of three calls, one after the other", "µs", "a run", tuple(counts.values()),
            (Goal(many, few, "slower", 1.2),), RUNS[0], rounds=3, least=0.0,
        ),
    )  # fmt: skip

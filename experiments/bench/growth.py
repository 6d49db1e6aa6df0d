"""How time and memory grow with the nodes of a workflow, and with the number of its runs."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

from experiments.bench.measuring import Bench, Contender, Goal, Sample, Unit
from experiments.bench.workflows import INPUTS, increase
from flowmind.api.runnable import RunnableWorkflow
from flowmind.run.compiler import program_of
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.functions import FunctionEnvironment

SIZES = (10, 100, 1_000, 1_900)
RUNS = (1_000, 10_000, 100_000)

Cost = Callable[[Callable[[], None]], float]
"""Does some work and returns its cost in seconds or bytes."""


def seconds(work: Callable[[], None]) -> float:
    """The seconds that some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peak(work: Callable[[], None]) -> float:
    """The largest number of bytes that Python had allocated at one time for some work."""
    tracemalloc.start()
    work()
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(allocated)


def chain(size: int) -> Workflow:
    """A workflow of `size` calls, one after the other, each with its own variable."""
    names = [f"n{number}" for number in range(size)]
    nodes: list[dict[str, Any]] = [
        {"id": name, "kind": "tool", "tool": "increase", "args": {"x": {"var": before}}, "output": name}
        for before, name in pairwise(["x", *names])
    ]
    ends = {"id": "start", "kind": "start"}, {"id": "end", "kind": "end", "output": {"var": names[-1]}}
    edges = [{"from": before, "to": after} for before, after in pairwise(["start", *names, "end"])]
    return Workflow.model_validate({"inputs": INPUTS, "nodes": [ends[0], *nodes, ends[1]], "edges": edges})


@contextmanager
def compiled(size: int, cost: Cost) -> Generator[Sample]:
    """Samples the check and the compilation of fresh documents."""
    specs = FunctionEnvironment([increase]).specs
    document = chain(size).to_json()

    def sample(times: int) -> float:
        workflows = [Workflow.model_validate_json(document) for _ in range(times)]

        def work() -> None:
            for workflow in workflows:
                assert check(workflow, specs) == []
                program_of(workflow, brief=True)

        return cost(work)

    yield sample


@contextmanager
def called(size: int, runs: int, cost: Cost) -> Generator[Sample]:
    """Samples runs of a workflow of `size` calls, one after the other."""
    runnable = RunnableWorkflow(chain(size), [increase])
    assert runnable({"x": 0}) == size

    def sample(times: int) -> float:
        def work() -> None:
            for number in range(times * runs):
                assert runnable({"x": number}) == number + size

        return cost(work)

    yield sample


def _bench(
    name: str, title: str, unit: Unit, each: str, open_: Callable[[int, Cost], AbstractContextManager[Sample]],
    sizes: Sequence[int], bound: float,
) -> Bench:  # fmt: skip
    """A contender for each size; the value of the last is compared with that of the first."""
    noun = "runs" if sizes[0] in RUNS else "nodes"
    cost, whole = (peak, each == "in all") if unit == "KB" else (seconds, False)
    contenders = [
        Contender(f"{size:,} {noun}", partial(open_, size, cost), size=1 if whole else size) for size in sizes
    ]
    goal = Goal(contenders[-1].name, contenders[0].name, "slower", bound)
    return Bench(name, title, unit, each, tuple(contenders), (goal,), rounds=3)


def benches(runs: Sequence[int] = RUNS) -> tuple[Bench, ...]:
    """Time and memory: checking and compiling, calls of workflows of several sizes, many runs of one workflow."""
    compiling, calling, repeated = "Checking and compiling a workflow", "A call", "Runs of a workflow of three calls"
    return (
        _bench("nodes", compiling, "µs", "a node", compiled, SIZES, 1.5),
        _bench("nodes-memory", compiling, "KB", "a node", compiled, SIZES, 1.5),
        _bench("calls", calling, "µs", "a node", lambda size, cost: called(size, 1, cost), SIZES, 1.5),
        _bench("runs", repeated, "µs", "a run", lambda count, cost: called(3, count, cost), runs, 1.2),
        _bench("runs-memory", repeated, "KB", "in all", lambda count, cost: called(3, count, cost), runs, 1.5),
    )

"""Workflows whose tools wait: one call after the other, in parallel, and the critical path of the measured times.

`python -m experiments.bench.waiting` measures random workflows and prints how the parallel runs compare with their
critical paths. With `--gold BENCH` it measures the gold workflows of a benchmark in the same way; their tools answer
from the recorded traces after a wait.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tqdm

from experiments.bench.measuring import Bench, Contender, Goal, Sample
from experiments.tables import markdown as table
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_lines
from flowmind.evaluation.critical_path import critical_path, schedule
from flowmind.run.running import arun
from flowmind.run.wrappers import Wrapper, overlapping_of
from flowmind.trace.events import Trace
from flowmind.trace.task import benchmark_tools
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec

LEAST, MOST = 10, 200
"""The shortest and the longest wait, in milliseconds."""
WORKFLOWS = 50
SEQUENTIAL, PARALLEL, PATH = "one call after the other", "parallel", "critical path"
_SHARE_OF_WRITES = 0.1
Document = dict[str, Any]


@tool(effect="read")
async def ask(ms: int, of: list[int]) -> int:
    """Waits, and computes a number."""
    await asyncio.sleep(ms / 1_000)
    return (7 * sum(of) + ms) % 97


@tool(effect="write")
async def note(ms: int, of: list[int]) -> int:
    """Does the same, and counts as a write."""
    return await ask(ms, of)


class _Maker:
    """Makes one workflow: chains, fan-outs that meet, diamonds, maps and branches, one after the other."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.nodes: list[Document] = [{"id": "start", "kind": "start"}]
        self.edges: list[Document] = []
        self.loose: list[Document] = [{"from": "start"}]
        self.known = ["n"]

    def workflow(self) -> Workflow:
        for make in self.rng.choices([self.chain, self.fan, self.diamond, self.map, self.branch], k=4):
            make()
        self.add({"kind": "end", "output": {"list": [{"var": name} for name in self.known]}})
        inputs = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return Workflow.model_validate({"inputs": inputs, "nodes": self.nodes, "edges": self.edges})

    def add(self, node: Document) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append({"id": name, **node})
        self.edges += [{**edge, "to": name} for edge in self.loose]
        self.loose = [{"from": name}]
        return name

    def calling(self, *of: str) -> Document:
        name = "note" if self.rng.random() < _SHARE_OF_WRITES else "ask"
        values = {"list": [{"var": variable} for variable in of]}
        return {"kind": "tool", "tool": name, "args": {"ms": {"value": self.rng.randint(LEAST, MOST)}, "of": values}}

    def call(self, *of: str, output: str = "") -> str:
        output = output or f"v{len(self.nodes)}"
        self.add({**self.calling(*of), "output": output})
        return output

    def any(self) -> str:
        return self.rng.choice(self.known)

    def chain(self) -> None:
        last = self.any()
        for _ in range(self.rng.randint(2, 4)):
            last = self.call(last)
        self.known.append(last)

    def fan(self) -> None:
        self.known.append(self.call(*[self.call(self.any()) for _ in range(self.rng.randint(2, 5))]))

    def diamond(self) -> None:
        top = self.call(self.any())
        self.known.append(self.call(self.call(top), self.call(self.call(top))))

    def map(self) -> None:
        over = {"list": [{"var": self.any()} for _ in range(self.rng.randint(2, 6))]}
        body = [{"id": "one", **self.calling("item"), "output": "first"}]
        body.append({"id": "two", **self.calling("first"), "output": "second"})
        listed, total = f"v{len(self.nodes)}", f"v{len(self.nodes) + 1}"
        fields = {"over": over, "item": "item", "body": body, "collect": {"var": "second"}, "output": listed}
        self.add({"kind": "map", **fields})
        self.add({"kind": "assign", "expr": f"sum({listed}) % 97", "output": total})
        self.known.append(total)

    def branch(self) -> None:
        test = self.call(self.any())
        condition = self.add({"kind": "condition", "expr": f"{test} % 2 == 0"})
        output = f"v{len(self.nodes)}"
        ends: list[Document] = []
        for arm in (True, False):
            self.loose = [{"from": condition, "when": arm}]
            for _ in range(self.rng.randint(0, 1)):
                self.call(test)
            self.call(test, output=output)
            ends += self.loose
        self.loose = ends
        self.known.append(output)


class Times(NamedTuple):
    """The times of a workflow, in seconds."""

    sequential: float
    parallel: float
    path: float
    """The critical path, from the times of the calls that were measured in the sequential run."""
    calls: int


class _Timing(Wrapper):
    """Measures how long each call takes."""

    def __init__(self, inner: Environment) -> None:
        super().__init__(inner)
        self.overlapping: Collection[str] = overlapping_of(inner)
        self.seconds: list[float] = []

    async def call(self, call: ToolCall) -> Observation:
        begun = time.perf_counter()
        try:
            return await self.inner.call(call)
        finally:
            self.seconds.append(time.perf_counter() - begun)


class _Replaying:
    """Tools that answer from a trace after a wait. They all count as reads: those of the catalog are pure functions."""

    def __init__(self, specs: Mapping[str, ToolSpec], trace: Trace, rng: Random) -> None:
        self.specs = {name: spec.model_copy(update={"effect": "read"}) for name, spec in specs.items()}
        self.awaited = self.overlapping = frozenset(specs)
        self._known = {dump_json(event.call.model_dump()): event.observation for event in trace.calls}
        self._waits = {key: rng.uniform(LEAST, MOST) / 1_000 for key in self._known}

    async def call(self, call: ToolCall) -> Observation:
        key = dump_json(call.model_dump())
        await asyncio.sleep(self._waits[key])
        return self._known[key]

    def run(self, program: Any, cases: Any, budget: int = 0) -> Any:
        raise AssertionError("all tools are awaited")


async def times_of(workflow: Workflow, inputs: dict[str, Any], environment: Environment) -> Times:
    """Runs a workflow one call after the other, then in parallel.

    Raises:
        AssertionError: If the traces differ, or the run fails.
    """
    timing = _Timing(environment)
    begun = time.perf_counter()
    trace = await arun(workflow, inputs, timing)
    between = time.perf_counter()
    other = await arun(workflow, inputs, environment, parallel=True)
    ended = time.perf_counter()
    assert trace.ok and trace == other, "a parallel run differs from the sequential one"
    path = critical_path(*schedule(workflow, trace, timing.seconds, timing.overlapping))
    return Times(between - begun, ended - between, path, len(trace.calls))


def random_workflow(seed: int) -> tuple[Workflow, dict[str, Any], Environment]:
    """A random workflow with an input and its tools, the same for the same seed."""
    rng = Random(seed)
    return _Maker(rng).workflow(), {"n": rng.randrange(97)}, FunctionEnvironment([ask, note])


@contextmanager
def _sampled(seeds: Sequence[int], name: str) -> Generator[Sample]:
    work = [random_workflow(seed) for seed in seeds]

    async def once() -> float:
        total = 0.0
        for workflow, inputs, tools in work:
            if name == PATH:
                timing = _Timing(tools)
                trace = await arun(workflow, inputs, timing)
                total += critical_path(*schedule(workflow, trace, timing.seconds, timing.overlapping))
                continue
            begun = time.perf_counter()
            trace = await arun(workflow, inputs, tools, parallel=name == PARALLEL)
            total += time.perf_counter() - begun
            assert trace.ok, "a run failed"
        return total

    yield lambda repeated: sum(asyncio.run(once()) for _ in range(repeated))


def benches(count: int = 2) -> tuple[Bench, ...]:
    """One benchmark.

    Args:
        count: The number of random workflows.
    """
    seeds = range(count)

    def contender(name: str) -> Contender:
        return Contender(name, lambda: _sampled(seeds, name))

    title = f"A workflow whose tools wait {LEAST} to {MOST} ms"
    goals = (Goal(PARALLEL, PATH, "slower", 1.1),)
    contenders = tuple(map(contender, (SEQUENTIAL, PARALLEL, PATH)))
    return (Bench("waiting", title, "ms", "a workflow", contenders, goals, count, rounds=3),)


class _Gold(Record):
    """A line of `gold.jsonl`."""

    id: str
    workflow: Workflow
    trace: Trace


def _gold(folder: Path) -> list[tuple[Workflow, dict[str, Any], Environment]]:
    specs = {name: source.spec for name, source in benchmark_tools(folder).items()}
    rows = list(read_lines(folder / "gold.jsonl", _Gold))
    return [
        (row.workflow, dict(row.trace.inputs), _Replaying(specs, row.trace, Random(row.id)))
        for row in rows
        if row.trace.ok and row.trace.calls
    ]


def report(measured: Sequence[Times]) -> str:
    """How the parallel runs compare with their critical paths, and what the critical paths save."""

    def row(name: str, values: Sequence[float]) -> list[str]:
        parts = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else [values[0]] * 9
        shown = (statistics.mean(values), min(values), parts[0], statistics.median(values), parts[8], max(values))
        return [name, *(f"{value:.3f}" for value in shown)]

    within = sum(times.parallel <= 1.1 * times.path for times in measured)
    rows = [
        row("parallel / critical path", [times.parallel / times.path for times in measured]),
        row("parallel − critical path, ms", [1e3 * (times.parallel - times.path) for times in measured]),
        row("parallel / sequential", [times.parallel / times.sequential for times in measured]),
        row("critical path / sequential", [times.path / times.sequential for times in measured]),
        row("sequential, s", [times.sequential for times in measured]),
        row("calls", [times.calls for times in measured]),
    ]
    sequential = statistics.mean(times.sequential for times in measured)
    path = statistics.mean(times.path for times in measured)
    return "\n\n".join([
        f"{len(measured)} workflows; {within} of the parallel runs are within 10 % of the critical path.",
        f"Mean time {sequential:.3f} s one call after the other, {path:.3f} s on the critical path: "
        f"{1 - path / sequential:.1%} less.",
        table(["", "mean", "least", "10 %", "median", "90 %", "greatest"], rows),
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured; 2 bad usage."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.waiting", description="Measure parallel runs.")
    parser.add_argument("--workflows", type=int, default=WORKFLOWS, metavar="N", help="random workflows (default 50)")
    parser.add_argument("--gold", type=Path, metavar="BENCH", help="the gold workflows of a benchmark instead")
    options = parser.parse_args(arguments)
    try:
        if options.workflows < 1:
            raise InputError(f"--workflows: give a number from 1, not {options.workflows}")
        work = _gold(options.gold) if options.gold else [random_workflow(seed) for seed in range(options.workflows)]
    except InputError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2

    async def every() -> list[Times]:
        return [await times_of(*parts) for parts in tqdm.tqdm(work, unit="workflow", disable=None)]

    print(report(asyncio.run(every())))
    return 0


if __name__ == "__main__":
    sys.exit(main())

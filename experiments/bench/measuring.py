"""How benchmarks are measured: contenders take turns in rounds, and a ratio compares two values of the same round."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import repeat
from typing import Any, Literal

from tools_registry.specs.spec import Record

Sample = Callable[[int], float]
"""Repeats a contender's work a number of times. Returns the seconds that this took, or the peak of memory in bytes."""
Unit = Literal["µs", "ms", "per second", "KB"]
_SCALE: dict[Unit, float] = {"µs": 1e6, "ms": 1e3}
_WARM_UPS = 2


@dataclass(frozen=True)
class Contender:
    """One implementation of a benchmark's work."""

    name: str
    open: Callable[[], AbstractContextManager[Sample]]
    """Prepares everything that is not measured."""
    needs: tuple[str, ...] = ()
    """Modules that must be installed."""
    size: int = 0
    """The number of pieces in one run of the work; 0 for that of the benchmark."""


@dataclass(frozen=True)
class Goal:
    """A bound for the value of a contender."""

    ours: str
    peer: str
    """The contender that it is compared with; empty for the kind `within`."""
    kind: Literal["faster", "slower", "over", "within"]
    """`faster`: at least `bound` times as fast as the peer; `slower`: at most `bound` times its value; `over`: at most
    `bound` of the unit more than the peer; `within`: at most `bound` of the unit."""
    bound: float


@dataclass(frozen=True)
class Bench:
    """A piece of work, and the contenders that do it."""

    name: str
    title: str
    unit: Unit
    each: str
    """The piece of work that a value is for: "a node", "turns"."""
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...] = ()
    size: int = 1
    """The number of pieces in one run of the work."""
    rounds: int = 9
    least: float = 0.05
    """The least seconds of a sample; shorter work is repeated."""

    def value(self, contender: Contender, sample: Sample, times: int) -> float:
        """Takes a sample and returns its value in the unit."""
        taken, size = sample(times), contender.size or self.size
        if self.unit == "KB":
            return taken / size / 1e3
        return times * size / taken if self.unit == "per second" else taken / (times * size) * _SCALE[self.unit]

    def reached(self, goal: Goal, values: dict[str, list[float]]) -> Reached:
        """Judges a goal by the values of all rounds."""
        if goal.ours not in values or (goal.peer and goal.peer not in values):
            return Reached(**vars(goal))
        peers = values[goal.peer] if goal.peer else values[goal.ours]
        spread = Spread.of([self._compared(goal, *pair) for pair in zip(values[goal.ours], peers, strict=True)])
        met = spread.median >= goal.bound if goal.kind == "faster" else spread.median <= goal.bound
        return Reached(**vars(goal), spread=spread, met=met)

    def _compared(self, goal: Goal, ours: float, peer: float) -> float:
        if goal.kind in ("over", "within"):
            return ours - peer if goal.kind == "over" else ours
        slowness = peer / ours if self.unit == "per second" else ours / peer
        return slowness if goal.kind == "slower" else 1 / slowness


class Spread(Record):
    """The median of some values, the least and the greatest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(median=statistics.median(values), low=min(values), high=max(values))


class Measured(Record):
    """The values of a contender."""

    name: str
    values: tuple[float, ...] = ()
    """One a round."""
    spread: Spread | None = None
    note: str = ""
    """The reason why the contender has no values."""

    @classmethod
    def of(cls, name: str, values: Sequence[float], notes: Mapping[str, str]) -> Measured:
        """The record of a contender, from its values and the notes of all contenders."""
        spread = Spread.of(values) if values else None
        return cls(name=name, values=tuple(values), spread=spread, note=notes.get(name, ""))


@dataclass(frozen=True)
class Reached(Goal):
    """A goal, and whether it was met."""

    spread: Spread | None = None
    """The ratio, difference or value that the goal bounds, over the rounds; None if a contender is missing."""
    met: bool | None = None


class Outcome(Record):
    """A benchmark that was measured."""

    name: str
    title: str
    unit: Unit
    each: str
    rounds: int
    contenders: tuple[Measured, ...]
    goals: tuple[Reached, ...]


@contextmanager
def loop(work: Callable[[], Any], right: Callable[[Any], bool]) -> Generator[Sample]:
    """Samples work in this process; its result is checked once, before it is measured.

    Raises:
        AssertionError: If the result is wrong.
    """
    result = work()
    assert right(result), f"a benchmark's result is wrong: {result!r:.200}"

    def sample(times: int) -> float:
        begun = time.perf_counter()
        for _ in repeat(None, times):
            work()
        return time.perf_counter() - begun

    yield sample


def measure(bench: Bench, rounds: int, quick: bool = False, tick: Callable[[], object] = lambda: None) -> Outcome:
    """Measures a benchmark; its contenders take turns.

    Args:
        bench: The benchmark.
        rounds: Samples of each contender; each round begins with another contender.
        quick: Do the work once in each sample, without warming up: to test that it works.
        tick: Called after each sample.
    """
    values: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    names = [contender.name for contender in bench.contenders]
    with ExitStack() as stack:
        ready: list[tuple[Contender, Sample, int]] = []
        for contender in bench.contenders:
            if missing := [name for name in contender.needs if find_spec(name) is None]:
                notes[contender.name] = f"{missing[0]} is not installed"
                continue
            sample = stack.enter_context(contender.open())
            ready.append((contender, sample, 1 if quick else repetitions(sample, bench.least)))
        collect = (lambda: 0) if quick else gc.collect
        collect()
        gc.freeze()  # so that a collection does not search what libraries have loaded
        for number in range(rounds):
            first = number % max(1, len(ready))
            for contender, sample, times in ready[first:] + ready[:first]:
                collect()
                values.setdefault(contender.name, []).append(bench.value(contender, sample, times))
                tick()
        gc.unfreeze()
    return Outcome(
        name=bench.name, title=bench.title, unit=bench.unit, each=bench.each, rounds=rounds,
        contenders=tuple(Measured.of(name, values.get(name, []), notes) for name in names),
        goals=tuple(bench.reached(goal, values) for goal in bench.goals),
    )  # fmt: skip


def repetitions(sample: Sample, least: float) -> int:
    """Warms up, and returns how often the work is repeated in a sample that takes `least` seconds."""
    seconds = min(sample(1) for _ in range(_WARM_UPS))
    return max(1, math.ceil(least / max(seconds, 1e-7)))

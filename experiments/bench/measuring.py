"""How benchmarks are measured: contenders take turns in rounds; a ratio is that of two values of the same round."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import repeat
from typing import Any, Literal

from tools_registry.specs.spec import Record

Sample = Callable[[int], float]
"""Does a contender's work so many times; gives the seconds that it took."""
Unit = Literal["µs", "ms", "per second"]
_SCALE: dict[Unit, float] = {"µs": 1e6, "ms": 1e3}
_WARM_UPS = 2


@dataclass(frozen=True)
class Contender:
    """Someone who does a benchmark's work."""

    name: str
    open: Callable[[], AbstractContextManager[Sample]]
    """Prepares everything that is not measured."""
    needs: tuple[str, ...] = ()
    """Modules without which there is nothing to measure."""


@dataclass(frozen=True)
class Goal:
    """What one contender is to reach against another, within each round."""

    ours: str
    peer: str
    kind: Literal["faster", "slower", "over"]
    """At least `bound` times as fast; at most `bound` times as slow; at most `bound` more of the unit."""
    bound: float


@dataclass(frozen=True)
class Bench:
    """One piece of work and those who do it."""

    name: str
    title: str
    unit: Unit
    each: str
    """What a value is for: "a node", "turns"."""
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...] = ()
    size: int = 1
    """How many of them one run of the work does."""
    rounds: int = 9
    least: float = 0.05
    """Seconds that a sample takes at least; shorter work is repeated."""

    def value(self, seconds: float, times: int) -> float:
        """The value of a sample, in the unit."""
        done = times * self.size
        return done / seconds if self.unit == "per second" else seconds / done * _SCALE[self.unit]

    def ratio(self, goal: Goal, ours: float, peer: float) -> float:
        """What two values of a round say to a goal."""
        if goal.kind == "over":
            return ours - peer
        slowness = peer / ours if self.unit == "per second" else ours / peer
        return slowness if goal.kind == "slower" else 1 / slowness


class Spread(Record):
    """The middle of some values, and the least and the greatest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(median=statistics.median(values), low=min(values), high=max(values))


class Measured(Record):
    """What a contender did."""

    name: str
    values: tuple[float, ...] = ()
    """One a round."""
    spread: Spread | None = None
    note: str = ""
    """Why there are no values."""


class Reached(Record):
    """A goal, and what was measured of it."""

    ours: str
    peer: str
    kind: Literal["faster", "slower", "over"]
    bound: float
    spread: Spread | None = None
    """Of the rounds' ratios, or differences; None if a contender is missing."""
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
    """Samples work in this process, once its result has been seen to be right.

    Raises:
        AssertionError: If it is not.
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
    """Lets a benchmark's contenders take turns.

    Args:
        bench: The benchmark.
        rounds: Samples of each contender; who is first changes with each round.
        quick: Do the work once in each sample, without warming up: to see that it works.
        tick: Called after each sample.
    """
    values: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    with ExitStack() as stack:
        ready: dict[str, tuple[Sample, int]] = {}
        for contender in bench.contenders:
            if missing := [name for name in contender.needs if find_spec(name) is None]:
                notes[contender.name] = f"{missing[0]} is not installed"
                continue
            sample = stack.enter_context(contender.open())
            ready[contender.name] = sample, 1 if quick else repetitions(sample, bench.least)
        gc.collect()
        gc.freeze()  # what libraries have loaded is not searched again before each sample
        names = list(ready)
        for number in range(rounds):
            first = number % max(1, len(names))
            for name in names[first:] + names[:first]:
                sample, times = ready[name]
                gc.collect()
                values.setdefault(name, []).append(bench.value(sample(times), times))
                tick()
        gc.unfreeze()
    measured = tuple(_measured(one.name, values.get(one.name, []), notes) for one in bench.contenders)
    goals = tuple(_reached(bench, goal, values) for goal in bench.goals)
    return Outcome(
        name=bench.name, title=bench.title, unit=bench.unit, each=bench.each, rounds=rounds, contenders=measured,
        goals=goals,
    )  # fmt: skip


def repetitions(sample: Sample, least: float) -> int:
    """How often work is done in a sample, so that one takes `least` seconds; warms up."""
    seconds = min(sample(1) for _ in range(_WARM_UPS))
    return max(1, math.ceil(least / max(seconds, 1e-7)))


def _measured(name: str, values: list[float], notes: dict[str, str]) -> Measured:
    spread = Spread.of(values) if values else None
    return Measured(name=name, values=tuple(values), spread=spread, note=notes.get(name, ""))


def _reached(bench: Bench, goal: Goal, values: dict[str, list[float]]) -> Reached:
    spread = met = None
    if goal.ours in values and goal.peer in values:
        pairs = zip(values[goal.ours], values[goal.peer], strict=True)
        spread = Spread.of([bench.ratio(goal, ours, peer) for ours, peer in pairs])
        met = spread.median >= goal.bound if goal.kind == "faster" else spread.median <= goal.bound
    return Reached(ours=goal.ours, peer=goal.peer, kind=goal.kind, bound=goal.bound, spread=spread, met=met)

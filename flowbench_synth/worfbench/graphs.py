"""Graphs of steps: edges are pairs of numbers, 0 is START, the steps are 1 to n, and n + 1 is END."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

Edge = tuple[int, int]


def with_ends(count: int, edges: Iterable[Edge]) -> list[Edge]:
    """The edges between steps, with START before the steps that wait for none, and END after those that none waits for.

    Args:
        count: The number of steps.
        edges: Between steps.
    """
    inner = sorted(set(edges))
    targets, sources = {other for _, other in inner}, {one for one, _ in inner}
    steps = range(1, count + 1)
    starts = [(0, step) for step in steps if step not in targets]
    ends = [(step, count + 1) for step in steps if step not in sources]
    return [*starts, *inner, *ends]


def reduced(count: int, edges: Iterable[Edge]) -> list[Edge]:
    """The edges without those that follow from others (the transitive reduction).

    Args:
        count: The number of steps.
        edges: From a step to a later one.
    """
    following: dict[int, set[int]] = defaultdict(set)
    for one, other in edges:
        following[one].add(other)
    reach: dict[int, set[int]] = {}
    kept: list[Edge] = []
    for step in range(count, 0, -1):
        covered: set[int] = set()
        for other in sorted(following[step]):
            if other not in covered:
                kept.append((step, other))
                covered |= {other, *reach[other]}
        reach[step] = covered
    return sorted(kept)


def first_order(count: int, edges: Iterable[Edge]) -> list[int]:
    """The topological order of the steps that takes the smallest number first; shorter if there is a cycle.

    Args:
        count: The number of steps.
        edges: Any; edges of START and END do not matter.
    """
    following, waiting = _inner(count, edges)
    ready = [step for step in range(1, count + 1) if not waiting[step]]
    order: list[int] = []
    while ready:
        step = heapq.heappop(ready)
        order.append(step)
        for other in following[step]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    return order


def count_orders(count: int, edges: Iterable[Edge], most: int) -> int:
    """The number of topological orders, counted up to `most`; 0 if there is a cycle."""
    return sum(1 for _ in islice(_orders(count, edges), most))


def _orders(count: int, edges: Iterable[Edge]) -> Iterator[None]:
    """Yields once for each topological order."""
    following, waiting = _inner(count, edges)
    if len(first_order(count, edges)) < count:
        return
    # A stack of the steps that may come next at each place, and the step that was taken.
    choices: list[list[int]] = [[step for step in range(1, count + 1) if not waiting[step]]]
    taken: list[int] = []
    while choices:
        if len(taken) == count:
            yield
        elif choices[-1]:
            step = choices[-1].pop()
            taken.append(step)
            for other in following[step]:
                waiting[other] -= 1
            done = set(taken)
            choices.append([other for other in range(1, count + 1) if other not in done and not waiting[other]])
            continue
        choices.pop()
        if taken:
            for other in following[taken.pop()]:
                waiting[other] += 1


def _inner(count: int, edges: Iterable[Edge]) -> tuple[list[list[int]], list[int]]:
    """The steps after each step, and the number of those before it."""
    following: list[list[int]] = [[] for _ in range(count + 1)]
    waiting = [0] * (count + 1)
    for one, other in set(edges):
        if 1 <= one <= count and 1 <= other <= count:
            following[one].append(other)
            waiting[other] += 1
    return following, waiting


def off_path(count: int, edges: Sequence[Edge]) -> list[int]:
    """The steps that are on no path from START to END."""
    after, before = _reached(0, edges), _reached(count + 1, [(other, one) for one, other in edges])
    return [step for step in range(1, count + 1) if step not in after or step not in before]


def is_connected(count: int, edges: Sequence[Edge]) -> bool:
    """Whether START, the steps and END are connected, whatever the direction of the edges."""
    return len(_reached(0, [*edges, *((other, one) for one, other in edges)])) == count + 2


def _reached(begin: int, edges: Iterable[Edge]) -> set[int]:
    following: dict[int, list[int]] = defaultdict(list)
    for one, other in edges:
        following[one].append(other)
    reached, waiting = {begin}, [begin]
    while waiting:
        for other in following[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached

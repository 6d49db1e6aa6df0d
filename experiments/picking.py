"""The order in which the tasks of a benchmark are run, so that a run of few tasks shows all kinds, and can grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

from experiments.shards import Shard, dealt
from flowmind.base.errors import InputError
from flowmind.trace.task import Task

Pick = Literal["spread", "first"]
Kind = tuple[str, str, str]


def in_order(tasks: Sequence[Task], pick: Pick) -> list[Task]:
    """All tasks of a benchmark in the order in which they are run. The order does not depend on a limit.

    Args:
        tasks: The tasks in the benchmark's order.
        pick: `spread`: every beginning of the order has about the benchmark's shares of categories, difficulties and
            kinds of control flow. `first`: one task of each category in turn.
    """
    kind_of = _kind if pick == "spread" else _category
    waiting: dict[Kind, list[Task]] = {}
    for task in tasks:
        waiting.setdefault(kind_of(task), []).append(task)
    places = _proportional(waiting) if pick == "spread" else _in_turn(waiting)
    queues = {kind: iter(queue) for kind, queue in waiting.items()}
    return [next(queues[kind]) for kind in places]


def choose(
    order: Sequence[Task], recorded: Collection[str], limit: int | None, folder: Path, shard: Shard | None = None
) -> list[Task]:
    """The tasks of a run: those that have a record, then the next ones up to the limit, in their order.

    The tasks of a shard are a part of those of the whole run with the same limit.

    Args:
        order: All tasks in the order in which they are run.
        recorded: The ids of tasks that have a record.
        limit: The number of tasks of the whole run; None for all.
        folder: The folder of the run, for the error.
        shard: The shard; None for the whole run.

    Raises:
        InputError: If more tasks have a record than the limit allows.
    """
    most = len(dealt(order[:limit], shard))
    order = dealt(order, shard)
    if limit is None:
        return list(order)
    count = sum(task.id in recorded for task in order)
    if count > most:
        least = count if shard is None else (count - 1) * shard.of + shard.number
        raise InputError(
            f"--limit {limit}: {folder} has {count} cases already; give --limit {least} or more, or another --out"
        )
    missing = iter([task.id for task in order if task.id not in recorded][: most - count])
    chosen = {*recorded, *missing}
    return [task for task in order if task.id in chosen]


def _kind(task: Task) -> Kind:
    return task.category, task.difficulty, task.control_flow


def _category(task: Task) -> Kind:
    return task.category, "", ""


def _in_turn(waiting: dict[Kind, list[Task]]) -> Iterator[Kind]:
    longest = max(map(len, waiting.values()), default=0)
    return (kind for turn in range(longest) for kind, queue in waiting.items() if turn < len(queue))


def _proportional(waiting: dict[Kind, list[Task]]) -> Iterator[Kind]:
    """Takes the kind whose category, difficulty and control flow together are most behind their shares.

    S. J. Pocock and R. Simon, "Sequential treatment assignment with balancing for prognostic factors in the controlled
    clinical trial", 1975, balance groups by their margins in this way.
    """
    left = {kind: len(queue) for kind, queue in waiting.items()}
    total = sum(left.values())
    shares: Counter[tuple[int, str]] = Counter()
    for kind, count in left.items():
        shares.update(dict.fromkeys(enumerate(kind), count))
    taken: Counter[tuple[int, str]] = Counter()
    for place in range(1, total + 1):
        kind = max((kind for kind in left if left[kind]), key=_behind(shares, taken, Fraction(place, total)))
        left[kind] -= 1
        taken.update(enumerate(kind))
        yield kind


def _behind(
    shares: Counter[tuple[int, str]], taken: Counter[tuple[int, str]], done: Fraction
) -> Callable[[Kind], Fraction]:
    """How far the margins of a kind are behind their shares, in tasks."""

    def behind(kind: Kind) -> Fraction:
        return sum((shares[margin] * done - taken[margin] for margin in enumerate(kind)), Fraction(0))

    return behind

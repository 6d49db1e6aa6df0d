"""The composition of the benchmark by category and difficulty (FlowMind, appendix A, tables 3 and 4), at any size."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from flowbench_synth.blueprint import Blueprint, Difficulty
from flowbench_synth.instance import NAME, TOOLS, BuildError
from tools_registry.catalog import CATEGORIES, Category

SIZE = 141
STRATA: Mapping[Category, Mapping[Difficulty, int]] = {
    "mathematical_computation": {"easy": 22, "medium": 14, "hard": 7},
    "data_processing": {"easy": 21, "medium": 13, "hard": 7},
    "string_manipulation": {"easy": 16, "medium": 9, "hard": 5},
    "logical_reasoning": {"easy": 14, "medium": 9, "hard": 4},
}
"""Instances by category and difficulty. The sums are those of the paper: 43, 41, 30, 27 by category (table 3); 73, 45,
23 by difficulty (table 4). The paper does not divide categories into difficulties; the division here is proportional.
"""
TESTS: Mapping[Category, int] = {
    "mathematical_computation": 206,
    "data_processing": 203,
    "string_manipulation": 150,
    "logical_reasoning": 135,
}
EXAMPLES: Mapping[Category, int] = {
    "mathematical_computation": 103,
    "data_processing": 90,
    "string_manipulation": 81,
    "logical_reasoning": 69,
}
TOOLS_AVERAGE: Mapping[Difficulty, float] = {"easy": 7.7, "medium": 18.4, "hard": 29.9}


class Slot(NamedTuple):
    """A planned instance."""

    blueprint: str
    number: int
    """The number among the instances of the blueprint, from 1."""
    tests: int
    examples: int
    tools: int

    @property
    def id(self) -> str:
        """Identifies the slot; seeds the draws of its instance."""
        return self.named("")

    def named(self, story: str) -> str:
        """The id of the instance, if it tells the story of this id; empty for that of the blueprint."""
        name = story or self.blueprint
        return name if self.number == 1 else f"{name}_{self.number}"


def slots_for(size: int, categories: Sequence[Category] = CATEGORIES) -> list[Category]:
    """The categories of a number of tasks, in the proportions of the whole benchmark."""
    proportions: Counts = {(name, "easy"): sum(STRATA[name].values()) for name in categories}
    return [name for (name, _), count in _shared(proportions, size).items() for _ in range(count)]


def plan(
    blueprints: Sequence[Blueprint], seed: int, size: int = SIZE, categories: Sequence[Category] = CATEGORIES
) -> list[Slot]:
    """The instances of a benchmark, by category and difficulty.

    Raises:
        BuildError: If a category and difficulty of the plan has no blueprint.
    """
    proportions: Counts = {(name, level): count for name in categories for level, count in STRATA[name].items()}
    counts = _shared(proportions, size)
    chosen: list[tuple[Blueprint, int]] = []
    for (category, level), count in counts.items():
        pool = [item for item in blueprints if (item.category, item.difficulty) == (category, level)]
        if count and not pool:
            raise BuildError(f"there is no {level} blueprint of {category}")
        chosen += _drawn(pool, count, Random(f"{NAME}/{seed}/{category}/{level}"))
    extra_tests, extra_examples, tools = _extras(chosen, seed)
    return [
        Slot(*key, 4 + (key in extra_tests), 2 + (key in extra_examples), tools[key])
        for key in [(item.id, number) for item, number in chosen]
    ]


Key = tuple[str, int]
Counts = dict[tuple[Category, Difficulty], int]


def _extras(chosen: Sequence[tuple[Blueprint, int]], seed: int) -> tuple[set[Key], set[Key], dict[Key, int]]:
    """The instances with a fifth test, those with a third example, and the number of tools of each instance.

    Third examples go to the more difficult tasks first: an example shows one way through branches and loops.
    """
    by_category: dict[Category, list[tuple[Blueprint, int]]] = defaultdict(list)
    by_level: dict[Difficulty, list[Key]] = defaultdict(list)
    for item, number in chosen:
        by_category[item.category].append((item, number))
        by_level[item.difficulty].append((item.id, number))
    levels = list(TOOLS)
    fifth: set[Key] = set()
    third: set[Key] = set()
    for category, items in by_category.items():
        total = sum(STRATA[category].values())
        order = [(item.id, number) for item, number in items]
        Random(f"{NAME}/{seed}/{category}/tests").shuffle(order)
        fifth.update(order[: round(len(items) * TESTS[category] / total) - 4 * len(items)])
        rank = {(item.id, number): levels.index(item.difficulty) for item, number in items}
        order.sort(key=lambda key: -rank[key])
        third.update(order[: round(len(items) * EXAMPLES[category] / total) - 2 * len(items)])
    tools: dict[Key, int] = {}
    for level, keys in by_level.items():
        order = sorted(keys)
        Random(f"{NAME}/{seed}/{level}/tools").shuffle(order)
        tools |= dict(zip(order, tool_counts(level, len(order)), strict=True))
    return fifth, third, tools


def tool_counts(level: Difficulty, count: int) -> list[int]:
    """The numbers of tools that the instances of a difficulty offer. Range and average are those of the paper."""
    low, high = TOOLS[level]
    extra = round(count * (TOOLS_AVERAGE[level] - low))
    most = min(max(extra - count + 1, extra // 3), extra // (high - low))
    ones = extra - (high - low) * most
    return [*[high] * most, *[low + 1] * ones, *[low] * (count - most - ones)]


def _shared(proportions: Counts, size: int) -> Counts:
    """Divides a size in given proportions; the largest remainders are rounded up."""
    total = sum(proportions.values())
    exact = {key: size * count / total for key, count in proportions.items()}
    counts = {key: math.floor(share) for key, share in exact.items()}
    order = sorted(exact, key=lambda key: counts[key] - exact[key])
    for key in order[: size - sum(counts.values())]:
        counts[key] += 1
    return counts


def _drawn(pool: Sequence[Blueprint], count: int, rng: Random) -> list[tuple[Blueprint, int]]:
    """A number of instances of a pool; each blueprint is used once before one is used again."""
    drawn: list[tuple[Blueprint, int]] = []
    number = 1
    while len(drawn) < count:
        rest = count - len(drawn)
        turn = list(pool) if rest >= len(pool) else sorted(rng.sample(list(pool), rest), key=lambda item: item.id)
        drawn += [(item, number) for item in turn]
        number += 1
    return drawn

"""The largest common subgraph of two workflow graphs whose steps are matched: ours, and networkx's largest clique."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from random import Random
from typing import Any, cast

import networkx

from experiments.bench.measuring import Bench, Contender, Goal, loop
from flowmind.evaluation.worfeval import common_subgraph

nx = cast(Any, networkx)
NODES = 20
PAIRS = 10
Edges = frozenset[tuple[int, int]]
OURS, CLIQUE = "FlowMind, common_subgraph", "networkx, largest clique"


def graphs() -> list[tuple[Edges, Edges]]:
    """Pairs of acyclic graphs of 20 nodes: each second one is the first with a quarter of its edges moved."""
    rng = Random(7)
    every = list(combinations(range(NODES), 2))
    found: list[tuple[Edges, Edges]] = []
    for _ in range(PAIRS):
        first = rng.sample(every, 30)
        rest = [edge for edge in every if edge not in first]
        found.append((frozenset(first), frozenset([*first[8:], *rng.sample(rest, 8)])))
    return found


def ours(first: Edges, second: Edges) -> int:
    """By what `flowmind worfeval` uses."""
    return len(common_subgraph([(node, node) for node in range(NODES)], first, second))


def by_clique(first: Edges, second: Edges) -> int:
    """By a largest clique of the pairs that do not contradict each other."""
    differing = first ^ second
    agreeing = nx.Graph()
    agreeing.add_nodes_from(range(NODES))
    agreeing.add_edges_from(edge for edge in combinations(range(NODES), 2) if edge not in differing)
    return len(nx.max_weight_clique(agreeing, weight=None)[0])


def benches() -> tuple[Bench, ...]:
    """One benchmark."""
    pairs = graphs()
    sizes = [ours(*pair) for pair in pairs]

    def each(work: Callable[[Edges, Edges], int]) -> list[int]:
        return [work(*pair) for pair in pairs]

    contenders = (
        Contender(OURS, partial(loop, partial(each, ours), lambda found: found == sizes)),
        Contender(CLIQUE, partial(loop, partial(each, by_clique), lambda found: found == sizes)),
    )
    title = "The largest common subgraph of two graphs of 20 matched steps"
    return (Bench("subgraph", title, "µs", "a pair", contenders, (Goal(OURS, CLIQUE, "faster", 15.0),), PAIRS),)

"""The largest common subgraph of two graphs with matched steps: by FlowMind, and by networkx as a largest clique."""

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
    """Pairs of acyclic graphs of 20 nodes; the second is the first with a quarter of its edges replaced."""
    rng = Random(7)
    every = list(combinations(range(NODES), 2))
    pairs: list[tuple[Edges, Edges]] = []
    for _ in range(PAIRS):
        first = rng.sample(every, 30)
        rest = [edge for edge in every if edge not in first]
        pairs.append((frozenset(first), frozenset([*first[8:], *rng.sample(rest, 8)])))
    return pairs


def ours(first: Edges, second: Edges) -> int:
    """By the function that `flowmind worfeval` uses."""
    return len(common_subgraph([(node, node) for node in range(NODES)], first, second))


def by_clique(first: Edges, second: Edges) -> int:
    """By the largest clique of the graph that joins nodes on which both graphs agree."""
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
        Contender(OURS, partial(loop, partial(each, ours), lambda results: results == sizes)),
        Contender(CLIQUE, partial(loop, partial(each, by_clique), lambda results: results == sizes)),
    )
    title = "The largest common subgraph of two graphs of 20 matched steps"
    return (Bench("subgraph", title, "µs", "a pair", contenders, (Goal(OURS, CLIQUE, "faster", 15.0),), PAIRS),)

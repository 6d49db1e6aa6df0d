"""WorFEval: scores of a predicted workflow graph against a gold one (Qiao et al., ICLR 2025, section 2.4).

There are two definitions. `paper` is the definition of the paper, with the rules below where the paper leaves them
open. `reference` is what the published code computes, for comparison with published values. It differs from the paper
in many ways.

The rules of `paper`:

- START and END are the first and the last node, by position. They are not subtasks and are not counted.
- Nodes match at a similarity of 0.6 or more. The matching has the greatest total similarity. Of several such matchings,
  the one whose pairs are closest in position is taken, so a graph matches itself in place.
- The chain score is the longest subsequence of the predicted listing that agrees with *some* topological order of the
  gold graph. A gold graph with a cycle has no such order, which is an error.
- The graph score is the largest set of matched pairs on which both graphs have the same edges. The set need not be
  connected.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Literal

import networkx as nx
from pydantic import Field, model_validator

from tools_registry.specs.spec import Record

BETA = 0.6
"""The least similarity at which two nodes match (section 3.1)."""
Definition = Literal["paper", "reference"]
Matrix = Sequence[Sequence[float]]
"""Similarities, a row for each predicted node and a column for each gold node, START and END included."""
Similarity = Callable[[Sequence[str], Sequence[str]], Matrix]
"""A function from predicted and gold nodes to their similarities."""
_LISTED_FROM = 10
_ORDERS = 20
_GRAIN = 1 << 24
"""An exact matching rounds similarities to multiples of 1 / `_GRAIN`."""


class StepGraph(Record):
    """A workflow graph of WorFBench: the texts of its steps, START first and END last, and edges as index pairs."""

    nodes: tuple[str, ...] = Field(min_length=2)
    edges: tuple[tuple[int, int], ...] = ()

    @model_validator(mode="after")
    def _inside(self) -> StepGraph:
        for edge in self.edges:
            if not all(0 <= end < len(self.nodes) for end in edge):
                raise ValueError(f"edge {list(edge)} is outside the {len(self.nodes)} nodes")
        return self


class Part(Record):
    """Precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


class PairScore(Record):
    """The scores of a prediction. A score that cannot be computed is None, and `error` has the reason."""

    chain: Part | None
    graph: Part | None
    error: str | None = None


ZERO = Part(precision=0.0, recall=0.0, f1=0.0)


def score(predicted: StepGraph, gold: StepGraph, similarity: Matrix, definition: Definition = "paper") -> PairScore:
    """Scores a prediction against gold.

    Args:
        predicted, gold: The graphs.
        similarity: One row for each predicted node and one column for each gold node, START and END included.
        definition: `paper` or `reference`.

    Raises:
        ValueError: If the matrix has another shape or a value that is not finite.
    """
    if len(similarity) != len(predicted.nodes) or {*map(len, similarity)} != {len(gold.nodes)}:
        raise ValueError(f"the similarities are not {len(predicted.nodes)} rows of {len(gold.nodes)} numbers")
    if not all(map(math.isfinite, itertools.chain.from_iterable(similarity))):
        raise ValueError("a similarity is not a finite number")
    return _paper(predicted, gold, similarity) if definition == "paper" else _reference(predicted, gold, similarity)


@lru_cache(4096)
def part(common: int, predicted: int, gold: int) -> Part:
    """Precision, recall and F1 of a number of common items."""
    if not common:
        return ZERO
    precision, recall = common / predicted, common / gold
    return Part(precision=precision, recall=recall, f1=2 * precision * recall / (precision + recall))


# The definition of the paper


def _paper(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> PairScore:
    theirs, ours = len(predicted.nodes) - 2, len(gold.nodes) - 2
    inner = [row[1:-1] for row in similarity[1:-1]]
    pairs = match(inner, BETA.__le__)
    edges = _inner_edges(gold)
    graph = part(len(common_subgraph(pairs, _inner_edges(predicted), edges)), theirs, ours)
    listed = [g for _, g in pairs]
    if listed == sorted(listed) and all(one < other for one, other in edges):  # the gold listing is a topological order
        return PairScore(chain=part(len(pairs), theirs, ours), graph=graph)
    before = _before(ours, edges)
    if before is None:
        return PairScore(chain=None, graph=graph, error="the gold graph has a cycle, so it has no topological order")
    return PairScore(chain=part(longest_valid(pairs, before), theirs, ours), graph=graph)


def _inner_edges(graph: StepGraph) -> frozenset[tuple[int, int]]:
    """The edges between steps, counted from the first step."""
    last = len(graph.nodes) - 1
    return frozenset([(one - 1, other - 1) for one, other in graph.edges if 0 < one < last and 0 < other < last])


def match(similarity: Matrix, enough: Callable[[float], bool]) -> list[tuple[int, int]]:
    """The matching of rows and columns with the greatest total similarity, in the order of the rows.

    The matching is exact for similarities that are rounded to multiples of 2^-24. Of several such matchings, the one
    with the greatest sum of size² - distance² over its pairs is taken: size is the greater number of nodes, and
    distance is the difference of the positions.
    """
    size = max(len(similarity), len(similarity[0])) if similarity else 0
    worth = size * size * size + 1
    weights = [
        {
            column: round(value * _GRAIN) * worth + size * size - (row - column) ** 2
            for column, value in enumerate(values)
            if value > 0 and enough(value)
        }
        for row, values in enumerate(similarity)
    ]
    sole, rest = _sole(weights)
    if rest:
        columns = sorted({column for row in rest for column in weights[row]})
        cost = [[-weights[row].get(column, 0) for column in columns] for row in rest]
        sole += [(rest[row], columns[column]) for row, column in _cheapest(cost) if cost[row][column] < 0]
    return sorted(sole)


def _sole(candidates: Sequence[Collection[int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """The rows whose only candidate is a candidate of no other row, with the candidate; and the other rows."""
    owner: dict[int, int] = {}
    rest: set[int] = set()
    for row, found in enumerate(candidates):
        if len(found) > 1:
            rest.add(row)
        for column in found:
            first = owner.setdefault(column, row)
            if first != row:
                rest |= {first, row}
    sole = [(row, column) for row, found in enumerate(candidates) if row not in rest for column in found]
    return sole, sorted(rest)


def _cheapest(cost: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Pairs of rows and columns at the least total cost; each row is in a pair, or each column."""
    if len(cost) <= len(cost[0]):
        return list(enumerate(_assign(cost)))
    return [(row, column) for column, row in enumerate(_assign(list(zip(*cost, strict=True))))]


def _assign(cost: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row of a matrix with no more rows than columns, at the least total cost (shortest augmenting
    paths: R. Jonker and A. Volgenant, Computing 1987), in whole numbers."""
    rows, columns = len(cost), len(cost[0])
    by_row, by_column = [0] * (rows + 1), [0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        least: list[float] = [math.inf] * (columns + 1)
        came = [0] * (columns + 1)
        used = [False] * (columns + 1)
        while owner[column]:
            used[column] = True
            at, step, following = owner[column], math.inf, 0
            for other in range(1, columns + 1):
                if used[other]:
                    continue
                reduced = cost[at - 1][other - 1] - by_row[at] - by_column[other]
                if reduced < least[other]:
                    least[other], came[other] = reduced, column
                if least[other] < step:
                    step, following = least[other], other
            for other in range(columns + 1):
                if used[other]:
                    by_row[owner[other]] += int(step)
                    by_column[other] -= int(step)
                else:
                    least[other] -= step
            column = following
        while column:
            owner[column] = owner[came[column]]
            column = came[column]
    assigned = [0] * rows
    for column in range(1, columns + 1):
        if owner[column]:
            assigned[owner[column] - 1] = column - 1
    return assigned


def _before(count: int, edges: frozenset[tuple[int, int]]) -> list[int] | None:
    """For each node the bit set of the nodes before it in every topological order; None if there is no such order."""
    waiting = [0] * count
    following: list[list[int]] = [[] for _ in range(count)]
    for one, other in edges:
        waiting[other] += 1
        following[one].append(other)
    before, ready = [0] * count, [node for node in range(count) if not waiting[node]]
    for done, node in enumerate(iter(ready)):
        for other in following[node]:
            before[other] |= before[node] | 1 << node
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
        if done + 1 == len(ready):
            break
    return before if len(ready) == count else None


def longest_valid(pairs: Sequence[tuple[int, int]], before: Sequence[int]) -> int:
    """The length of the longest subsequence of the predicted listing that agrees with a topological order of gold.

    Two matched steps disagree if the prediction lists one before the other and gold has it after. This relation is a
    partial order. Steps of which no two disagree are an antichain of it. By R. P. Dilworth's theorem (1950), the size
    of the largest antichain is the number of steps minus the size of a maximum bipartite matching.

    Args:
        pairs: The predicted and gold positions of the matched steps.
        before: For each gold step the bit set of the steps before it.
    """
    listed = sorted(pairs)
    wrong = [
        [later for later in range(first + 1, len(listed)) if before[listed[first][1]] >> listed[later][1] & 1]
        for first in range(len(listed))
    ]
    if not any(wrong):
        return len(listed)
    disagreeing: nx.Graph[tuple[str, int]] = nx.Graph()
    disagreeing.add_edges_from((("first", first), ("later", later)) for first, row in enumerate(wrong) for later in row)
    tops = [node for node in disagreeing if node[0] == "first"]
    return len(listed) - len(nx.bipartite.hopcroft_karp_matching(disagreeing, tops)) // 2


def common_subgraph(
    pairs: Sequence[tuple[int, int]], predicted: frozenset[tuple[int, int]], gold: frozenset[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The largest set of matched pairs on which both graphs have the same edges.

    This is the maximum common induced subgraph for a given correspondence: a maximum independent set in the graph of
    the pairs that contradict each other.
    """
    differing = _between([p for p, _ in pairs], predicted) ^ _between([g for _, g in pairs], gold)
    if not differing:
        return list(pairs)
    conflicts = [0] * len(pairs)
    for i, j in differing:
        conflicts[i] |= 1 << j
        conflicts[j] |= 1 << i
    candidates = sum(1 << i for i, against in enumerate(conflicts) if not against >> i & 1)
    chosen = _independent(candidates, conflicts)
    return [pair for index, pair in enumerate(pairs) if chosen >> index & 1]


def _between(nodes: Sequence[int], edges: frozenset[tuple[int, int]]) -> set[tuple[int, int]]:
    """The edges between some nodes, as index pairs into these nodes."""
    place = {node: index for index, node in enumerate(nodes)}
    return {(place[one], place[other]) for one, other in edges if one in place and other in place}


def _independent(candidates: int, conflicts: Sequence[int]) -> int:
    """A largest set of candidates without a conflict, as a bit set.

    Some largest set contains a node with at most one conflict. If there is no such node, the search branches on the
    node with most conflicts.
    """
    taken = 0
    while candidates:
        worst, most, easy = -1, 0, -1
        rest = candidates
        while rest:
            node = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            count = (conflicts[node] & candidates).bit_count()
            if count < 2:
                easy = node
                break
            if count > most:
                worst, most = node, count
        if easy < 0:
            without = _independent(candidates & ~(1 << worst), conflicts)
            if most == 2:  # only cycles remain, and any node of a cycle may be left out
                return taken | without
            bound = without.bit_count()
            within = candidates & ~(1 << worst) & ~conflicts[worst]
            if within.bit_count() + 1 <= bound:
                return taken | without
            best = 1 << worst | _independent(within, conflicts)
            return taken | (best if best.bit_count() > bound else without)
        taken |= 1 << easy
        candidates &= ~(1 << easy) & ~conflicts[easy]
    return taken


# The definition of the published code


def _reference(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> PairScore:
    graph = _reference_graph(predicted, gold, similarity)
    steps = [index for index, text in enumerate(predicted.nodes) if text not in ("START", "END")]
    if not steps:
        return PairScore(chain=None, graph=graph, error="the prediction has no step; the published code fails here")
    orders = _reference_orders(gold)
    if orders is None:
        return PairScore(chain=None, graph=graph, error="the gold graph has a cycle; the published code fails here")
    alike = [{g for g, value in enumerate(similarity[p]) if value > BETA} for p in steps]
    most = min(sum(map(bool, alike)), len(set[int]().union(*alike)))
    best = ZERO
    for order in orders:
        pairs = match([[similarity[p][g] for g in order] for p in steps], BETA.__lt__)
        length = max(1, _increasing([position for _, position in pairs]))
        best = max(best, part(length, len(steps), len(order)), key=lambda score: score.f1)
        if length >= most:  # no order gives a longer one
            break
    return PairScore(chain=best, graph=graph)


def _increasing(values: Sequence[int]) -> int:
    """The length of the longest increasing subsequence of distinct numbers."""
    ends: list[int] = []
    for value in values:
        at = bisect_left(ends, value)
        ends[at : at + 1] = [value]
    return len(ends)


def _reference_orders(gold: StepGraph) -> Iterable[list[int]] | None:
    """The gold orders that are tried: the first 20 of networkx, or from 10 nodes on only the listed order.

    START and END are left out of the orders, but not of the listed order.
    """
    if len(gold.nodes) >= _LISTED_FROM:
        return [list(range(len(gold.nodes)))]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(gold.nodes)))
    graph.add_edges_from(gold.edges)
    if not nx.is_directed_acyclic_graph(graph):
        return None
    every = itertools.islice(nx.all_topological_sorts(graph), _ORDERS)
    return ([index for index in order if gold.nodes[index] not in ("START", "END")] for order in every)


def _reference_graph(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> Part:
    """The largest connected part of the edges between matched nodes that have the same index pair in both graphs."""
    pairs = match(similarity, BETA.__lt__)
    if not pairs:
        return ZERO
    theirs, ours = {p for p, _ in pairs}, {g for _, g in pairs}
    common = {edge for edge in predicted.edges if theirs.issuperset(edge)} & {
        edge for edge in gold.edges if ours.issuperset(edge)
    }
    parts: dict[int, set[int]] = {}
    for one, other in common:
        joined = parts.get(one, {one}) | parts.get(other, {other})
        parts.update(dict.fromkeys(joined, joined))
    return part(max(map(len, parts.values()), default=1), len(predicted.nodes), len(gold.nodes))


# Similarities


def bag_of_words(predicted: Sequence[str], gold: Sequence[str]) -> Matrix:
    """The cosine of the counts of words (runs of letters a to z and digits, lower case)."""
    theirs, ours = [_counted(text) for text in predicted], [_counted(text) for text in gold]
    return [[_cosine(one, other) for other in ours] for one in theirs]


@lru_cache(4096)
def _counted(text: str) -> tuple[Counter[str], int]:
    """The counts of the words of a text, and the sum of their squares."""
    counts = Counter(re.findall(r"[a-z0-9]+", text.lower()))
    return counts, sum(value * value for value in counts.values())


def _cosine(one: tuple[Counter[str], int], other: tuple[Counter[str], int]) -> float:
    (mine, square), (theirs, squared) = one, other
    common = mine.keys() & theirs.keys()
    return sum(mine[word] * theirs[word] for word in common) / math.sqrt(square * squared) if common else 0.0

"""WorFEval: how much of a gold workflow graph a predicted one has (Qiao et al., ICLR 2025, section 2.4).

Two definitions. `paper` is what the paper says, exactly, with the rules that it leaves open stated here. `reference`
is what the published code computes, which departs from the paper in many ways, so that published figures can be
compared.

The rules of `paper`:

- START and END are the first and the last node, by position; they are no subtasks and count nowhere.
- Nodes match from a similarity of 0.6 on. The matching has the greatest total similarity; of several such, the one
  with most pairs that lie closest in position, so that a graph matches itself in place.
- The chain score takes the longest part of the predicted listing that agrees with *some* topological order of the
  gold graph, over all of them. A gold graph with a cycle has none: that is an error of the gold.
- The graph score takes the largest set of matched pairs on which both graphs have the same edges; it need not be
  connected.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import networkx as nx
from pydantic import Field, model_validator

from tools_registry.spec import Record

BETA = 0.6
"""The similarity from which on two nodes match (section 3.1)."""
Definition = Literal["paper", "reference"]
Matrix = Sequence[Sequence[float]]
"""Similarities, a row for each predicted node and a column for each gold node, START and END included."""
Similarity = Callable[[Sequence[str], Sequence[str]], Matrix]
"""Predicted and gold nodes to their similarities."""
_LISTED_FROM = 10
_ORDERS = 20
_GRAIN = 1 << 24
"""Steps that a similarity of 1 has in an exact matching; what lies closer is a tie."""


class StepGraph(Record):
    """A workflow as WorFBench has it: the texts of its steps, START first and END last, and edges as index pairs."""

    nodes: tuple[str, ...] = Field(min_length=2)
    edges: tuple[tuple[int, int], ...] = ()

    @model_validator(mode="after")
    def _inside(self) -> StepGraph:
        for edge in self.edges:
            if not all(0 <= end < len(self.nodes) for end in edge):
                raise ValueError(f"edge {list(edge)} leads out of the {len(self.nodes)} nodes")
        return self


class Part(Record):
    """Precision, recall and their harmonic mean, 0 to 1."""

    precision: float
    recall: float
    f1: float


class PairScore(Record):
    """The scores of a prediction; a part that cannot be computed is None, and `error` says why."""

    chain: Part | None
    graph: Part | None
    error: str | None = None


ZERO = Part(precision=0.0, recall=0.0, f1=0.0)


def score(predicted: StepGraph, gold: StepGraph, similarity: Matrix, definition: Definition = "paper") -> PairScore:
    """Scores a prediction against gold.

    Args:
        predicted, gold: The graphs.
        similarity: One row for each predicted node, one column for each gold node, START and END included.
        definition: `paper` or `reference`.

    Raises:
        ValueError: If the matrix has another shape, or a value that is no number.
    """
    if len(similarity) != len(predicted.nodes) or any(len(row) != len(gold.nodes) for row in similarity):
        raise ValueError(f"the similarities are not {len(predicted.nodes)} rows of {len(gold.nodes)} numbers")
    if not all(math.isfinite(value) for row in similarity for value in row):
        raise ValueError("a similarity is not a finite number")
    return _paper(predicted, gold, similarity) if definition == "paper" else _reference(predicted, gold, similarity)


def _part(common: int, predicted: int, gold: int) -> Part:
    if not common:
        return ZERO
    precision, recall = common / predicted, common / gold
    return Part(precision=precision, recall=recall, f1=2 * precision * recall / (precision + recall))


# What the paper defines


def _paper(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> PairScore:
    theirs, ours = len(predicted.nodes) - 2, len(gold.nodes) - 2
    inner = [row[1:-1] for row in similarity[1:-1]]
    pairs = match(inner, lambda value: value >= BETA)
    graph = _part(len(common_subgraph(pairs, _inner_edges(predicted), _inner_edges(gold))), theirs, ours)
    before = _before(ours, _inner_edges(gold))
    if before is None:
        return PairScore(chain=None, graph=graph, error="the gold graph has a cycle: it has no order")
    return PairScore(chain=_part(longest_valid(pairs, before), theirs, ours), graph=graph)


def _inner_edges(graph: StepGraph) -> frozenset[tuple[int, int]]:
    """The edges between steps, counted from the first step."""
    last = len(graph.nodes) - 1
    return frozenset((one - 1, other - 1) for one, other in graph.edges if 0 < one < last and 0 < other < last)


def match(similarity: Matrix, enough: Callable[[float], bool]) -> list[tuple[int, int]]:
    """The matching of rows and columns with the greatest total similarity, in the order of the rows.

    Exact: similarities are taken as whole steps of 2^-24, and ties go to the greatest sum of size² - distance² over the
    pairs, where size is the greater number of nodes and distance that of the positions.
    """
    rows, columns = len(similarity), len(similarity[0]) if similarity else 0
    size = max(rows, columns)
    worth = size * size * size + 1
    cost = [[0] * size for _ in range(size)]
    for row, column in itertools.product(range(rows), range(columns)):
        if enough(similarity[row][column]):
            near = size * size - (row - column) ** 2
            cost[row][column] = -(round(similarity[row][column] * _GRAIN) * worth + near)
    return [(row, column) for row, column in enumerate(_assign(cost)) if cost[row][column] < 0]


def _assign(cost: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row of a square matrix, at the least total cost (shortest augmenting paths: R. Jonker and
    A. Volgenant, Computing 1987), in whole numbers."""
    size = len(cost)
    by_row, by_column = [0] * (size + 1), [0] * (size + 1)
    owner = [0] * (size + 1)
    for row in range(1, size + 1):
        owner[0] = row
        column = 0
        least: list[float] = [math.inf] * (size + 1)
        came = [0] * (size + 1)
        used = [False] * (size + 1)
        while owner[column]:
            used[column] = True
            at, step, following = owner[column], math.inf, 0
            for other in range(1, size + 1):
                if used[other]:
                    continue
                reduced = cost[at - 1][other - 1] - by_row[at] - by_column[other]
                if reduced < least[other]:
                    least[other], came[other] = reduced, column
                if least[other] < step:
                    step, following = least[other], other
            for other in range(size + 1):
                if used[other]:
                    by_row[owner[other]] += int(step)
                    by_column[other] -= int(step)
                else:
                    least[other] -= step
            column = following
        while column:
            owner[column] = owner[came[column]]
            column = came[column]
    found = [0] * size
    for column in range(1, size + 1):
        found[owner[column] - 1] = column - 1
    return found


def _before(count: int, edges: frozenset[tuple[int, int]]) -> list[int] | None:
    """For each node a bit set of those that every topological order puts before it; None if there is no order."""
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

    Two matched steps disagree if the prediction lists one before the other and gold has it after. That relation is a
    partial order, and steps of which no two disagree are an antichain of it; by R. P. Dilworth's theorem (1950) the
    largest one has as many as there are steps less a maximum bipartite matching.

    Args:
        pairs: Predicted and gold positions of the matched steps.
        before: For each gold step a bit set of those that gold has before it.
    """
    listed = sorted(pairs)
    wrong = [
        [later for later in range(first + 1, len(listed)) if before[listed[first][1]] >> listed[later][1] & 1]
        for first in range(len(listed))
    ]
    partner: dict[int, int] = {}

    def augment(first: int, seen: set[int]) -> bool:
        for later in wrong[first]:
            if later not in seen:
                seen.add(later)
                if later not in partner or augment(partner[later], seen):
                    partner[later] = first
                    return True
        return False

    return len(listed) - sum(augment(first, set()) for first in range(len(listed)))


def common_subgraph(
    pairs: Sequence[tuple[int, int]], predicted: frozenset[tuple[int, int]], gold: frozenset[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The largest set of matched pairs on which both graphs have the same edges: the maximum common induced subgraph
    for a given correspondence, which is a maximum independent set of the pairs that contradict each other."""
    kept = [(p, g) for p, g in pairs if ((p, p) in predicted) == ((g, g) in gold)]
    conflicts = [0] * len(kept)
    for (i, (p, g)), (j, (q, h)) in itertools.combinations(enumerate(kept), 2):
        if ((p, q) in predicted) != ((g, h) in gold) or ((q, p) in predicted) != ((h, g) in gold):
            conflicts[i] |= 1 << j
            conflicts[j] |= 1 << i
    chosen = _independent((1 << len(kept)) - 1, conflicts)
    return [pair for index, pair in enumerate(kept) if chosen >> index & 1]


def _independent(candidates: int, conflicts: Sequence[int]) -> int:
    """A largest set of candidates without a conflict, as a bit set: a node with at most one conflict is always in one;
    else the one with most conflicts is left out, or taken."""
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
            if most == 2:  # only cycles are left, and each may lose any one node
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


# What the published code computes


def _reference(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> PairScore:
    graph = _reference_graph(predicted, gold, similarity)
    steps = [index for index, text in enumerate(predicted.nodes) if text not in ("START", "END")]
    if not steps:
        return PairScore(chain=None, graph=graph, error="the prediction has no step, where the published code fails")
    orders = _reference_orders(gold)
    if orders is None:
        return PairScore(chain=None, graph=graph, error="the gold graph has a cycle, where the published code fails")
    best = ZERO
    for order in orders:
        pairs = dict(match([[similarity[p][g] for g in order] for p in steps], lambda value: value > BETA))
        lengths: list[int] = []
        for at in range(len(steps)):
            shorter = [lengths[i] for i in range(at) if at in pairs and i in pairs and pairs[i] < pairs[at]]
            lengths.append(1 + max(shorter, default=0))
        found = _part(max(lengths), len(steps), len(order))
        best = max(best, found, key=lambda part: part.f1)
    return PairScore(chain=best, graph=graph)


def _reference_orders(gold: StepGraph) -> list[list[int]] | None:
    """The gold orders that are tried: the first 20 that networkx gives; with 10 or more nodes only the listing, in
    which START and END stay."""
    if len(gold.nodes) >= _LISTED_FROM:
        return [list(range(len(gold.nodes)))]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(gold.nodes)))
    graph.add_edges_from(gold.edges)
    if not nx.is_directed_acyclic_graph(graph):
        return None
    every = itertools.islice(nx.all_topological_sorts(graph), _ORDERS)
    return [[index for index in order if gold.nodes[index] not in ("START", "END")] for order in every]


def _reference_graph(predicted: StepGraph, gold: StepGraph, similarity: Matrix) -> Part:
    """The largest connected part of the edges that both have under the same index pair, between matched nodes."""
    pairs = match(similarity, lambda value: value > BETA)
    if not pairs:
        return ZERO
    theirs, ours = {p for p, _ in pairs}, {g for _, g in pairs}
    common = {edge for edge in predicted.edges if theirs.issuperset(edge)} & {
        edge for edge in gold.edges if ours.issuperset(edge)
    }
    graph: nx.Graph[int] = nx.Graph()
    graph.add_edges_from(common)
    size = max(map(len, nx.connected_components(graph)), default=1)
    return _part(size, len(predicted.nodes), len(gold.nodes))


# Similarities


def bag_of_words(predicted: Sequence[str], gold: Sequence[str]) -> Matrix:
    """The cosine of the counts of words (runs of letters a to z and digits, lower case)."""
    theirs, ours = ([Counter(re.findall(r"[a-z0-9]+", text.lower())) for text in texts] for texts in (predicted, gold))
    return [[_cosine(one, other) for other in ours] for one in theirs]


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    squares = sum(value * value for value in one.values()) * sum(value * value for value in other.values())
    return sum(count * other[word] for word, count in one.items()) / math.sqrt(squares) if squares else 0.0

"""Places a directed graph in layers from top to bottom: where each node stands, and which way each edge takes.

The method is Sugiyama's (K. Sugiyama, S. Tagawa, M. Toda, IEEE Transactions on Systems, Man, and Cybernetics 1981):
edges that close a cycle are set aside, nodes are layered by their longest path from above, a long edge gets a point in
every layer that it passes, layers are ordered by barycentres so that few edges cross, and each layer is moved to where
its edges are shortest. The edges set aside are led back up on lanes of their own, right of all that they pass.
Everything follows from the order of the nodes and edges: the same graph is placed the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Point = tuple[float, float]
Pair = tuple[int, int]

_MARGIN = 8.0
_BETWEEN = 28.0
"""Between two nodes of a layer."""
_PASSING = 14.0
"""The width of an edge that passes a layer."""
_GAP = 44.0
"""Between two layers."""
_STUB = 15.0
"""How far an edge goes straight down before it bends: room for what stands beside it."""
_TRACK = 10.0
"""Between two edges that run beside one another."""
_PORT = 36.0
"""Between two edges at one side of a node."""
_ORDERINGS = 12
_MOVES = 24


@dataclass(frozen=True)
class Box:
    """Where a node stands: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """The way of an edge.

    `points` come in pairs: the line from the first of a pair to the second is straight and goes down, the one to the
    next pair may bend. An edge that leads `back` is a line with right angles instead: down, right, up, left, down.
    """

    points: tuple[Point, ...]
    back: bool


@dataclass(frozen=True)
class Layout:
    """A placed graph: boxes in the order of the nodes, routes in the order of the edges."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[Pair]) -> Layout:
    """Places a graph.

    Args:
        sizes: Width and height of each node; the first one is where the graph begins.
        edges: Source and target as indices of nodes; loops and parallel edges may be among them.
    """
    back = back_edges(len(sizes), edges)
    graph = _Layered(sizes, edges, back)
    graph.order()
    graph.move()
    return _Router(graph, edges, back).layout()


def back_edges(count: int, edges: Sequence[Pair]) -> frozenset[int]:
    """The indices of the edges that lead back to a node on the way from the first one, found depth first.

    Without them there is no cycle. In a reducible graph they are the edges whose target dominates their source.
    """
    out = _grouped(count, [(source, (index, target)) for index, (source, target) in enumerate(edges)])
    indices: set[int] = set()
    seen, open_ = [False] * count, [False] * count
    for root in range(count):
        if seen[root]:
            continue
        stack = [(root, iter(out[root]))]
        seen[root] = open_[root] = True
        while stack:
            node, rest = stack[-1]
            index, target = next(rest, (-1, -1))
            if index < 0:
                open_[node] = False
                stack.pop()
            elif open_[target]:
                indices.add(index)
            elif not seen[target]:
                seen[target] = open_[target] = True
                stack.append((target, iter(out[target])))
    return frozenset(indices)


def _grouped(count: int, pairs: Sequence[tuple[int, T]]) -> list[list[T]]:
    groups: list[list[T]] = [[] for _ in range(count)]
    for key, value in pairs:
        groups[key].append(value)
    return groups


class _Layered:
    """The graph with its layers: vertices are the nodes and, after them, the points where edges pass a layer."""

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[Pair], back: frozenset[int]) -> None:
        self.nodes = len(sizes)
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        forward = {index: edge for index, edge in enumerate(edges) if index not in back}
        self.rank = _ranks(self.nodes, list(forward.values()))
        self.chains = {index: self._chain(*edge) for index, edge in forward.items()}
        links = [pair for chain in self.chains.values() for pair in pairwise(chain)]
        self.below = _grouped(len(self.widths), links)
        self.above = _grouped(len(self.widths), [(lower, upper) for upper, lower in links])
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for vertex in self._found():
            self.layers[self.rank[vertex]].append(vertex)
        self.x = [0.0] * len(self.widths)

    def _chain(self, source: int, target: int) -> list[int]:
        """The vertices of an edge: its ends, and a new one in each layer between."""
        passed = range(self.rank[source] + 1, self.rank[target])
        first = len(self.widths)
        self.widths += [_PASSING] * len(passed)
        self.heights += [0.0] * len(passed)
        self.rank += passed
        return [source, *range(first, len(self.widths)), target]

    def _found(self) -> Iterator[int]:
        """The vertices depth first, so that the layers begin in the order of the edges."""
        seen: set[int] = set()
        for root in range(self.nodes):
            todo = [root]
            while todo:
                vertex = todo.pop()
                if vertex not in seen:
                    seen.add(vertex)
                    yield vertex
                    todo += reversed(self.below[vertex])

    def order(self) -> None:
        """Orders the layers by barycentres, down and up in turn, and keeps the order with the fewest crossings."""
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for turn in range(_ORDERINGS):
            if fewest == 0:
                break
            down = turn % 2 == 0
            for layer in self.layers[1:] if down else self.layers[-2::-1]:
                self._sort(layer, self.above if down else self.below)
            if (crossings := self._crossings()) < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _places(self) -> dict[int, int]:
        return {vertex: place for layer in self.layers for place, vertex in enumerate(layer)}

    def _sort(self, layer: list[int], neighbours: list[list[int]]) -> None:
        places = self._places()

        def middle(vertex: int) -> float:
            beside = neighbours[vertex]
            return sum(places[one] for one in beside) / len(beside) if beside else places[vertex]

        layer.sort(key=middle)

    def _crossings(self) -> int:
        places = self._places()
        crossings = 0
        for layer in self.layers:
            ends = [sorted(places[lower] for lower in self.below[upper]) for upper in layer]
            before: list[int] = []
            for lowers in ends:
                crossings += sum(place > lower for place in before for lower in lowers)
                before += lowers
        return crossings

    def move(self) -> None:
        """Moves each layer, keeping its order, to where its edges are shortest; again and again they settle."""
        for layer in self.layers:
            self._set(layer, [0.0] * len(layer), [1.0] * len(layer))
        for turn in range(_MOVES):
            for layer in self.layers if turn % 2 == 0 else reversed(self.layers):
                wanted, weights = zip(*map(self._pull, layer), strict=True)
                self._set(layer, wanted, weights)
        self._straighten()

    def _pull(self, vertex: int) -> tuple[float, float]:
        """Where the edges of a vertex pull it, and how strongly: long edges are to be straight."""
        pulls = [(self.x[one], self._weight(vertex, one)) for one in (*self.above[vertex], *self.below[vertex])]
        weight = sum(strength for _, strength in pulls)
        return (sum(x * strength for x, strength in pulls) / weight, weight) if pulls else (self.x[vertex], 0.01)

    def _weight(self, one: int, other: int) -> float:
        upper, lower = (one, other) if self.rank[one] < self.rank[other] else (other, one)
        return 8.0 if self._only(upper) == lower else 1.0

    def _only(self, vertex: int) -> int | None:
        """The vertex below, if each is the other's only one."""
        below = self.below[vertex]
        return below[0] if len(below) == 1 and len(self.above[below[0]]) == 1 else None

    def _straighten(self) -> None:
        """Sets vertices that follow one another alone under one another, where their layers have room for it."""
        followers = set(map(self._only, range(len(self.widths))))
        for vertex in range(len(self.widths)):
            chain, following = [vertex], self._only(vertex)
            while vertex not in followers and following is not None:
                chain.append(following)
                following = self._only(following)
            rooms = [self._room(one) for one in chain]
            least, most = max(low for low, _ in rooms), min(high for _, high in rooms)
            if len(chain) > 1 and least <= most:
                x = min(most, max(least, sum(self.x[one] for one in chain) / len(chain)))
                for one in chain:
                    self.x[one] = x

    def _room(self, vertex: int) -> tuple[float, float]:
        """From where to where a vertex may move between those beside it."""
        layer = self.layers[self.rank[vertex]]
        place = layer.index(vertex)
        low, high = -math.inf, math.inf
        if place:
            low = self.x[layer[place - 1]] + self._apart(layer[place - 1], vertex)
        if place + 1 < len(layer):
            high = self.x[layer[place + 1]] - self._apart(vertex, layer[place + 1])
        return low, high

    def _apart(self, left: int, right: int) -> float:
        return (self.widths[left] + self.widths[right]) / 2 + _BETWEEN

    def _set(self, layer: Sequence[int], wanted: Sequence[float], weights: Sequence[float]) -> None:
        offsets = [0.0]
        for left, right in pairwise(layer):
            offsets.append(offsets[-1] + self._apart(left, right))
        level = _rising([x - offset for x, offset in zip(wanted, offsets, strict=True)], weights)
        for vertex, x, offset in zip(layer, level, offsets, strict=True):
            self.x[vertex] = x + offset

    def right(self, first: int, last: int) -> float:
        """The right side of some layers."""
        ends = [layer[-1] for layer in self.layers[first : last + 1]]
        return max(self.x[vertex] + self.widths[vertex] / 2 for vertex in ends)


def _ranks(count: int, edges: Sequence[Pair]) -> list[int]:
    """The length of the longest path that leads to each node; the edges have no cycle."""
    out, waits = _grouped(count, edges), [0] * count
    for _, target in edges:
        waits[target] += 1
    rank, ready = [0] * count, [node for node in range(count) if not waits[node]]
    for node in ready:
        for target in out[node]:
            rank[target] = max(rank[target], rank[node] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    return rank


def _rising(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The sequence that never falls and is closest to the wanted one in weighted squares (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            left = pools.pop()
            total = left[1] + pool[1]
            pool = ((left[0] * left[1] + pool[0] * pool[1]) / total, total, left[2] + pool[2])
        pools.append(pool)
    return [value for value, _, length in pools for _ in range(length)]


class _Router:
    """Leads the edges through a graph whose vertices have their places."""

    def __init__(self, graph: _Layered, edges: Sequence[Pair], back: frozenset[int]) -> None:
        self.graph = graph
        self.edges = edges
        rank = graph.rank
        self.back = sorted(back, key=lambda index: (rank[edges[index][0]] - rank[edges[index][1]], index))
        """The shortest first: its lane is the innermost."""
        self.tops, self.bottoms = self._rows()
        self.leaves = self._ports([source for source, _ in edges], [chain[1:2] for chain in self._ways()])
        self.enters = self._ports([target for _, target in edges], [chain[-2:-1] for chain in self._ways()])

    def _ways(self) -> list[list[int]]:
        """The chain of each edge; an edge that leads back has none."""
        return [self.graph.chains.get(index, []) for index in range(len(self.edges))]

    def _rows(self) -> tuple[list[float], list[float]]:
        """The top and the bottom of each layer; edges that run back need room above and below."""
        graph, edges = self.graph, self.edges
        tops: list[float] = []
        bottoms: list[float] = []
        y = _MARGIN
        for rank, layer in enumerate(graph.layers):
            tracks = sum((graph.rank[edges[i][1]] == rank) + (graph.rank[edges[i][0]] == rank - 1) for i in self.back)
            y += tracks * _TRACK + (_GAP if rank else _TRACK * bool(tracks))
            tops.append(y)
            y += max(graph.heights[vertex] for vertex in layer)
            bottoms.append(y)
        return tops, bottoms

    def _ports(self, nodes: Sequence[int], towards: Sequence[Sequence[int]]) -> list[float]:
        """Where each edge touches its node, from left to right by where it comes from or goes to."""
        graph = self.graph
        offsets = [0.0] * len(nodes)
        for node, touching in enumerate(_grouped(graph.nodes, [(node, i) for i, node in enumerate(nodes)])):
            touching.sort(key=lambda i: (graph.x[towards[i][0]] if towards[i] else math.inf, i))
            step = min(_PORT, graph.widths[node] / (len(touching) + 1))
            for place, index in enumerate(touching):
                offsets[index] = graph.x[node] + step * (place - (len(touching) - 1) / 2)
        return offsets

    def layout(self) -> Layout:
        """The graph as it is drawn, moved so that it begins at the margin."""
        graph = self.graph
        boxes = [
            Box(graph.x[node] - graph.widths[node] / 2, self._top(node), graph.widths[node], graph.heights[node])
            for node in range(graph.nodes)
        ]
        led = self._led_back()
        ways = [led[index] if index in led else self._forward(index) for index in range(len(self.edges))]
        points = [point for way in ways for point in way]
        left = min([box.x for box in boxes] + [x for x, _ in points], default=0.0) - _MARGIN
        right = max([box.x + box.width for box in boxes] + [x for x, _ in points], default=0.0) + _MARGIN
        below = max([box.y + box.height for box in boxes] + [y for _, y in points], default=0.0) + _MARGIN
        routes = [
            Route(tuple((round(x - left, 1), round(y, 1)) for x, y in way), index in led)
            for index, way in enumerate(ways)
        ]
        placed = [Box(round(box.x - left, 1), round(box.y, 1), box.width, box.height) for box in boxes]
        return Layout(round(right - left, 1), round(below, 1), tuple(placed), tuple(routes))

    def _top(self, node: int) -> float:
        rank = self.graph.rank[node]
        return self.tops[rank] + (self.bottoms[rank] - self.tops[rank] - self.graph.heights[node]) / 2

    def _forward(self, index: int) -> list[Point]:
        graph = self.graph
        source, *passed, target = graph.chains[index]
        leaves, enters = self.leaves[index], self.enters[index]
        begin = self._top(source) + graph.heights[source]
        points = [(leaves, begin), (leaves, self.bottoms[graph.rank[source]] + _STUB)]
        for vertex in passed:
            points += [(graph.x[vertex], row[graph.rank[vertex]]) for row in (self.tops, self.bottoms)]
        return [*points, (enters, self.tops[graph.rank[target]]), (enters, self._top(target))]

    def _led_back(self) -> dict[int, list[Point]]:
        """The edges that lead back: out below, up on a lane that no other one has, in from above."""
        graph, edges = self.graph, self.edges
        lanes: list[tuple[int, int, float]] = []
        outs, ins = [0] * len(graph.layers), [0] * len(graph.layers)
        routes: dict[int, list[Point]] = {}
        for index in self.back:
            source, target = edges[index]
            last, first = graph.rank[source], graph.rank[target]
            beside = [lane for above, below, lane in lanes if above <= last and first <= below]
            lane = max([graph.right(first, last) + 1.5 * _TRACK, *(lane + 1.5 * _TRACK for lane in beside)])
            lanes.append((first, last, lane))
            outs[last] += 1
            ins[first] += 1
            low = self.bottoms[last] + _STUB + _TRACK * (outs[last] - 1)
            high = self.tops[first] - _TRACK * (ins[first] + 0.5)
            leaves, enters = self.leaves[index], self.enters[index]
            routes[index] = [
                (leaves, self._top(source) + graph.heights[source]), (leaves, low), (lane, low), (lane, high),
                (enters, high), (enters, self._top(target)),
            ]  # fmt: skip
        return routes

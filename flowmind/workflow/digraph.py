"""A directed graph over node ids. Nodes and edges keep the order in which they were added."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

Edge = tuple[str, str]


class Digraph:
    """A directed graph without parallel edges.

    Args:
        nodes: The first nodes.
        edges: Pairs of source and target; ends that are not nodes yet become nodes.
    """

    def __init__(self, nodes: Iterable[str] = (), edges: Iterable[Edge] = ()) -> None:
        self._after: dict[str, dict[str, None]] = {name: {} for name in nodes}
        self._before: dict[str, dict[str, None]] = {name: {} for name in self._after}
        for source, target in edges:
            self.add_edge(source, target)

    def __iter__(self) -> Iterator[str]:
        return iter(self._after)

    def __contains__(self, name: str) -> bool:
        return name in self._after

    def __len__(self) -> int:
        return len(self._after)

    @property
    def edges(self) -> list[Edge]:
        """The edges, by source."""
        return [(source, target) for source, targets in self._after.items() for target in targets]

    def successors(self, name: str) -> Iterator[str]:
        """The targets of the edges out of a node."""
        return iter(self._after[name])

    def predecessors(self, name: str) -> Iterator[str]:
        """The sources of the edges into a node."""
        return iter(self._before[name])

    def out_degree(self, name: str) -> int:
        """The number of edges out of a node."""
        return len(self._after[name])

    def in_degree(self, name: str) -> int:
        """The number of edges into a node."""
        return len(self._before[name])

    def add_edge(self, source: str, target: str) -> None:
        """Adds an edge; one that exists stays where it is."""
        for name in (source, target):
            self._after.setdefault(name, {})
            self._before.setdefault(name, {})
        self._after[source][target] = self._before[target][source] = None

    def remove_edges_from(self, edges: Iterable[Edge]) -> None:
        """Removes edges; those that do not exist are ignored."""
        for source, target in edges:
            self._after.get(source, {}).pop(target, None)
            self._before.get(target, {}).pop(source, None)

    def copy(self) -> Digraph:
        """A copy with the same order."""
        return Digraph(self, self.edges)

    def without(self, edges: Iterable[Edge]) -> Digraph:
        """A copy without some of the edges."""
        rest = self.copy()
        rest.remove_edges_from(edges)
        return rest

    def subgraph(self, names: Iterable[str]) -> Digraph:
        """A copy with some of the nodes and the edges among them."""
        kept = set(names)
        pairs = ((source, target) for source, target in self.edges if source in kept and target in kept)
        return Digraph((name for name in self if name in kept), pairs)

    def descendants(self, *names: str) -> set[str]:
        """The nodes that these nodes lead to, themselves included."""
        return _reached(self._after, names)

    def ancestors(self, *names: str) -> set[str]:
        """The nodes that lead to these nodes, themselves included."""
        return _reached(self._before, names)

    def generations(self) -> list[str] | None:
        """The nodes in topological order, generation by generation; None if there is a cycle."""
        waiting = {name: len(sources) for name, sources in self._before.items()}
        generation = [name for name, count in waiting.items() if not count]
        order: list[str] = []
        while generation:
            order += generation
            following: list[str] = []
            for name in generation:
                for target in self._after[name]:
                    waiting[target] -= 1
                    if not waiting[target]:
                        following.append(target)
            generation = following
        return order if len(order) == len(self) else None

    def lexicographic(self) -> list[str]:
        """The nodes in topological order, the least name first among those that may come next.

        Nodes on a cycle, or behind one, are left out.
        """
        waiting = {name: len(sources) for name, sources in self._before.items()}
        ready = [name for name, count in waiting.items() if not count]
        heapq.heapify(ready)
        order: list[str] = []
        while ready:
            order.append(name := heapq.heappop(ready))
            for target in self._after[name]:
                waiting[target] -= 1
                if not waiting[target]:
                    heapq.heappush(ready, target)
        return order

    def closing_edge(self) -> Edge | None:
        """The first edge, in depth-first order, that closes a cycle; None if there is no cycle."""
        finished: set[str] = set()
        for root in self:
            if root in finished:
                continue
            path, on_path = [(root, iter(self._after[root]))], {root}
            while path:
                name, targets = path[-1]
                target = next(targets, None)
                if target is None:
                    finished.add(name)
                    on_path.remove(name)
                    path.pop()
                elif target in on_path:
                    return name, target
                elif target not in finished:
                    path.append((target, iter(self._after[target])))
                    on_path.add(target)
        return None

    def dominators(self, start: str) -> dict[str, str | None]:
        """The immediate dominator of each node that the start leads to; None for the start.

        By Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
        """
        order = self.postorder(start)
        number = {name: place for place, name in enumerate(order)}
        parent: dict[str, str] = {start: start}

        def common(one: str, other: str) -> str:
            while one != other:
                while number[one] < number[other]:
                    one = parent[one]
                while number[other] < number[one]:
                    other = parent[other]
            return one

        changed = True
        while changed:
            changed = False
            for name in reversed(order[:-1]):
                known = [source for source in self._before[name] if source in parent]
                dominator = known[0]
                for source in known[1:]:
                    dominator = common(dominator, source)
                if parent.get(name) != dominator:
                    parent[name] = dominator
                    changed = True
        return {name: None if name == start else above for name, above in parent.items()}

    def postorder(self, start: str) -> list[str]:
        """The nodes that the start leads to in depth-first order, each after those that are found from it."""
        seen, order = {start}, list[str]()
        stack = [(start, iter(self._after[start]))]
        while stack:
            name, targets = stack[-1]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self._after[target])))
                    break
            else:
                order.append(name)
                stack.pop()
        return order


class Dominance:
    """Whether one node dominates another, each question in constant time.

    Args:
        parents: The immediate dominators, as `Digraph.dominators` gives them.
    """

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        tree = Digraph(parents, ((above, name) for name, above in parents.items() if above is not None))
        self._opened: dict[str, int] = {}
        self._closed: dict[str, int] = {}
        stack = [(name, False) for name, above in parents.items() if above is None]
        while stack:
            name, done = stack.pop()
            if done:
                self._closed[name] = len(self._opened)
                continue
            self._opened[name] = len(self._opened)
            stack.append((name, True))
            stack += [(below, False) for below in tree.successors(name)]

    def dominates(self, one: str, other: str) -> bool:
        """Whether every path to `other` passes `one`."""
        return self._opened[one] <= self._opened[other] < self._closed[one]


def _reached(edges: Mapping[str, Mapping[str, None]], names: Iterable[str]) -> set[str]:
    reached = set(names)
    todo = list(reached)
    while todo:
        for name in edges[todo.pop()]:
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return reached

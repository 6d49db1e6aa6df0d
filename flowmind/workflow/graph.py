"""The control flow of a workflow: what is reached, loops, forks and joins, and the order of execution.

Definitions: node d *dominates* n if every path from the start to n passes d. A *back edge* a -> d is an edge whose
target dominates its source; it closes a *loop*, whose nodes are d and all that reach a without passing d. A cycle
without a back edge is irreducible. A *fork* is a node with several plain out-edges; its *join* is the first node
that all of them reach. Forked paths are run one after the other in the order of the edges, so that the order of
execution is defined: `Flow.order` is the control flow with every fork laid out in that order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from flowmind.workflow.digraph import Digraph, Dominance
from flowmind.workflow.document import Condition, Edge, End, Node, Start, Workflow


@dataclass(frozen=True)
class Fork:
    """Several plain edges out of one node."""

    node: str
    join: str | None
    paths: tuple[tuple[str, ...], ...]
    """For each edge in order, the nodes up to the join; empty for an edge that leads to the join itself."""
    heads: tuple[str, ...]
    """The target of each edge."""
    problem: str = ""


@dataclass
class Flow:
    """What `analyse` finds."""

    start: str | None
    reached: frozenset[str] = frozenset()
    """Nodes that the start leads to, itself included."""
    leaving: frozenset[str] = frozenset()
    """Nodes that lead to an end, or to a node that still lacks an edge."""
    back_edges: tuple[Edge, ...] = ()
    irreducible: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()
    forks: tuple[Fork, ...] = ()
    order: Digraph = field(default_factory=Digraph)
    """The control flow with forks laid out one path after the other."""
    jumps: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Where an edge really goes, if a fork moves it: (source, target) -> new target."""


def analyse(workflow: Workflow) -> Flow:
    """Analyses the control flow; edges to nodes that do not exist are left out."""
    ids = workflow.by_id
    edges = [edge for edge in workflow.edges if edge.source in ids and edge.target in ids]
    graph = Digraph((node.id for node in workflow.nodes), ((edge.source, edge.target) for edge in edges))
    start = next((node.id for node in workflow.nodes if isinstance(node, Start)), None)
    if start is None:
        return Flow(start=None, order=graph)
    ends = [node.id for node in workflow.nodes if isinstance(node, End) or _lacks_edge(workflow, node)]
    live = graph.subgraph(graph.descendants(start))
    back = _back_edges(live, start, edges)
    forward = live.without((edge.source, edge.target) for edge in back)
    closing = forward.closing_edge()
    forks = () if closing else _forks(workflow, live, forward, back)
    jumps = _jumps(forks, live)
    return Flow(
        start=start,
        reached=frozenset(live),
        leaving=frozenset(graph.ancestors(*ends)),
        back_edges=back,
        irreducible=(f"{closing[0]} -> {closing[1]}",) if closing else (),
        unbounded=tuple(edge.label for edge in back if not _leaves(workflow, live, edge)),
        forks=forks,
        order=_laid_out(live, forks, jumps),
        jumps=jumps,
    )


def _laid_out(graph: Digraph, forks: tuple[Fork, ...], jumps: dict[tuple[str, str], str]) -> Digraph:
    """The graph with every fork as a sequence of its paths."""
    order = Digraph(graph, ((source, jumps.get((source, target), target)) for source, target in graph.edges))
    for fork in forks:
        if fork.join is not None and not fork.problem:
            first = next((head for head in fork.heads if head != fork.join), fork.join)
            order.remove_edges_from([(fork.node, target) for target in order.successors(fork.node)])
            order.add_edge(fork.node, first)
    return order


def _lacks_edge(workflow: Workflow, node: Node) -> bool:
    out = {edge.when for edge in workflow.after(node.id)}
    return not out >= {True, False} if isinstance(node, Condition) else not out


def _back_edges(graph: Digraph, start: str, edges: list[Edge]) -> tuple[Edge, ...]:
    dominance = Dominance(graph.dominators(start))
    return tuple(edge for edge in edges if edge.source in graph and dominance.dominates(edge.target, edge.source))


def loop_nodes(graph: Digraph, edge: Edge) -> frozenset[str]:
    """The nodes of the loop that a back edge closes, its head included."""
    nodes, todo = {edge.target, edge.source}, [edge.source]
    while todo:
        name = todo.pop()
        if name == edge.target:
            continue
        for before in graph.predecessors(name):
            if before not in nodes:
                nodes.add(before)
                todo.append(before)
    return frozenset(nodes)


def _leaves(workflow: Workflow, graph: Digraph, edge: Edge) -> bool:
    """Whether every round of the loop passes a condition that can leave it."""
    nodes = loop_nodes(graph, edge)
    exits = {
        name
        for name in nodes
        if isinstance(workflow.by_id[name], Condition) and any(target not in nodes for target in graph.successors(name))
    }
    if edge.target in exits or edge.source in exits:
        return True
    reached, todo = {edge.target}, [edge.target]
    while todo:
        for target in graph.successors(todo.pop()):
            if target in nodes and target not in exits and target not in reached:
                reached.add(target)
                todo.append(target)
    return edge.source not in reached


def _forks(workflow: Workflow, graph: Digraph, forward: Digraph, back: tuple[Edge, ...]) -> tuple[Fork, ...]:
    rank = {name: index for index, name in enumerate(forward.lexicographic())}
    forks: list[Fork] = []
    for node in workflow.nodes:
        if node.id not in graph or isinstance(node, Condition | End):
            continue
        heads = tuple(dict.fromkeys(edge.target for edge in workflow.after(node.id) if edge.target in graph))
        if len(heads) > 1:
            forks.append(_fork(node.id, heads, graph, forward, rank, back))
    return tuple(forks)


def _fork(
    node: str, heads: tuple[str, ...], graph: Digraph, forward: Digraph, rank: dict[str, int], back: tuple[Edge, ...]
) -> Fork:
    reach = [forward.descendants(head) for head in heads]
    common = sorted(set[str].intersection(*reach), key=lambda name: rank[name])
    if any(edge.source == node for edge in back):
        return Fork(node, None, (), heads, "a back edge leaves a fork; let a condition close the loop")
    if not common:
        return Fork(node, None, (), heads, "the forked paths never meet; lead them to one node, or use a condition")
    join = common[0]
    behind = forward.descendants(join)
    paths = tuple(tuple(sorted(nodes - behind, key=lambda name: rank[name])) for nodes in reach)
    problem = _fork_problem(node, join, paths, graph)
    return Fork(node, join, paths, heads, problem)


def _fork_problem(node: str, join: str, paths: tuple[tuple[str, ...], ...], graph: Digraph) -> str:
    seen: set[str] = set()
    for path in paths:
        if shared := seen & set(path):
            return f"forked paths share {sorted(shared)[0]!r} before they all join at {join!r}; join them at one node"
        seen |= set(path)
        for name in path:
            if not list(graph.successors(name)):
                return f"a forked path ends at {name!r} before the paths join at {join!r}"
            if any(after != join and after not in path for after in graph.successors(name)):
                return f"a forked path can leave at {name!r} without coming to {join!r}, where the paths join"
            if any(before != node and before not in path for before in graph.predecessors(name)):
                return f"{name!r} lies on a forked path and is entered from outside it"
    return ""


def _jumps(forks: tuple[Fork, ...], graph: Digraph) -> dict[tuple[str, str], str]:
    """Lays forked paths out in order: the end of each path goes on with the next, the last with the join.

    Inner forks come first, so that an outer fork moves only what an inner one has left at the join.
    """
    jumps: dict[tuple[str, str], str] = {}
    for fork in sorted(forks, key=lambda fork: sum(map(len, fork.paths))):
        if fork.problem or fork.join is None:
            continue
        walked = [(path, head) for path, head in zip(fork.paths, fork.heads, strict=True) if head != fork.join]
        for (path, _), (_, following) in pairwise(walked):
            for name in path:
                for target in graph.successors(name):
                    if jumps.get((name, target), target) == fork.join:
                        jumps[name, target] = following
    return jumps

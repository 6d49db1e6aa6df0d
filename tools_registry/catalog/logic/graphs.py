"""Graphs given as lists of [from, to] edges between named nodes."""


def direct_successors(edges: list[list[str]], node: str) -> list[str]:
    """List the nodes that a node points to in a directed graph.

    Edges are followed from first to second name only. A repeated edge counts once, and a self-loop
    lists the node itself. A node without outgoing edges, or not in the graph, gives an empty list.

    Args:
        edges: The [from, to] pairs.
        node: The node whose successors are wanted.

    Returns:
        The distinct successors in alphabetical order.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> direct_successors([["a", "c"], ["a", "b"], ["b", "d"]], "a")
        ['b', 'c']
        >>> direct_successors([["a", "b"], ["a", "b"]], "a")
        ['b']
        >>> direct_successors([["a", "b"]], "b")
        []
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    return sorted({target for source, target in edges if source == node})


def in_degree(edges: list[list[str]], node: str) -> int:
    """Count the edges that point to a node in a directed graph.

    Repeated edges count each time, and a self-loop counts once. A node not in the graph gives 0.
    `out_degree` counts the edges that leave the node.

    Args:
        edges: The [from, to] pairs.
        node: The node whose incoming edges are counted.

    Returns:
        The number of edges whose second name is the node.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> in_degree([["a", "c"], ["b", "c"], ["c", "d"]], "c")
        2
        >>> in_degree([["a", "b"], ["a", "b"]], "b")
        2
        >>> in_degree([["a", "b"]], "z")
        0
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    return sum(1 for edge in edges if edge[1] == node)


def out_degree(edges: list[list[str]], node: str) -> int:
    """Count the edges that leave a node in a directed graph.

    Repeated edges count each time, and a self-loop counts once. A node not in the graph gives 0.
    `in_degree` counts the edges that point to the node.

    Args:
        edges: The [from, to] pairs.
        node: The node whose outgoing edges are counted.

    Returns:
        The number of edges whose first name is the node.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> out_degree([["a", "b"], ["a", "c"], ["c", "a"]], "a")
        2
        >>> out_degree([["a", "a"]], "a")
        1
        >>> out_degree([["a", "b"]], "b")
        0
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    return sum(1 for edge in edges if edge[0] == node)


def reachable_nodes(edges: list[list[str]], start: str) -> list[str]:
    """List all nodes that can be reached from a node in a directed graph, the node itself included.

    Any number of edges may be followed, each from first to second name. A start that is not in the
    graph gives just the start. For one step only use `expand_reached`.

    Args:
        edges: The [from, to] pairs.
        start: The node to start from.

    Returns:
        The reachable nodes in alphabetical order.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> reachable_nodes([["a", "b"], ["b", "c"], ["d", "a"]], "a")
        ['a', 'b', 'c']
        >>> reachable_nodes([["x", "y"], ["y", "x"]], "y")
        ['x', 'y']
        >>> reachable_nodes([], "q")
        ['q']
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    seen = {start}
    pending = [start]
    while pending:
        node = pending.pop()
        fresh = {target for source, target in edges if source == node and target not in seen}
        seen.update(fresh)
        pending.extend(fresh)
    return sorted(seen)


def expand_reached(edges: list[list[str]], reached: list[str]) -> list[str]:
    """Extend a list of reached nodes by one step along the edges of a directed graph.

    Only edges that leave a node of the given list are followed, so nodes two steps away have to wait
    for the next call. If nothing new can be reached, the result equals the input.

    Args:
        edges: The [from, to] pairs.
        reached: The nodes reached so far.

    Returns:
        The reached nodes in their given order, then the newly reached ones in alphabetical order.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> expand_reached([["a", "c"], ["a", "b"], ["b", "d"]], ["a"])
        ['a', 'b', 'c']
        >>> expand_reached([["a", "b"], ["b", "a"]], ["b", "a"])
        ['b', 'a']
        >>> expand_reached([["a", "b"]], [])
        []
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    fresh = {target for source, target in edges if source in reached and target not in reached}
    return reached + sorted(fresh)


def shortest_path_length(edges: list[list[str]], start: str, goal: str) -> int:
    """Count the edges on a shortest route between two nodes of a directed graph.

    Edges are followed from first to second name only, and each counts 1. If start equals goal the
    length is 0, even if that node is not in the graph.

    Args:
        edges: The [from, to] pairs.
        start: The node the route begins at.
        goal: The node the route ends at.

    Returns:
        The smallest possible number of edges.

    Raises:
        ValueError: If goal cannot be reached, or an edge does not have exactly two names.

    Examples:
        >>> shortest_path_length([["a", "b"], ["b", "c"], ["a", "c"]], "a", "c")
        1
        >>> shortest_path_length([["a", "b"], ["b", "c"], ["c", "d"]], "a", "d")
        3
        >>> shortest_path_length([], "a", "a")
        0
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    seen = {start}
    length = 0
    while goal not in seen:
        fresh = {target for source, target in edges if source in seen and target not in seen}
        if not fresh:
            raise ValueError("goal cannot be reached from start")
        seen.update(fresh)
        length += 1
    return length


def has_cycle(edges: list[list[str]]) -> bool:
    """Tell whether a directed graph contains a route that returns to its starting node.

    Edges are followed from first to second name only. A self-loop is a cycle, and so is a pair of
    opposite edges. No edges give False.

    Args:
        edges: The [from, to] pairs.

    Returns:
        True if there is a cycle, otherwise False.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> has_cycle([["a", "b"], ["b", "c"], ["c", "a"]])
        True
        >>> has_cycle([["a", "b"], ["b", "c"], ["a", "c"]])
        False
        >>> has_cycle([["a", "a"]])
        True
        >>> has_cycle([])
        False
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    remaining = list(edges)
    while remaining:
        sources = {edge[0] for edge in remaining}
        kept = [edge for edge in remaining if edge[1] in sources]
        if len(kept) == len(remaining):
            return True
        remaining = kept
    return False


def connected_components(edges: list[list[str]]) -> list[list[str]]:
    """Group nodes that are connected by edges, whatever the direction of the edges.

    Only nodes named in some edge appear, each in exactly one group; a self-loop alone makes a group of
    one. No edges give an empty list.

    Args:
        edges: The pairs of connected nodes.

    Returns:
        The groups, each in alphabetical order, ordered by their first node.

    Raises:
        ValueError: If an edge does not have exactly two names.

    Examples:
        >>> connected_components([["d", "c"], ["b", "a"], ["b", "e"]])
        [['a', 'b', 'e'], ['c', 'd']]
        >>> connected_components([["x", "x"]])
        [['x']]
        >>> connected_components([])
        []
    """
    if any(len(edge) != 2 for edge in edges):
        raise ValueError("every edge must have exactly two names")
    groups = list[set[str]]()
    for edge in edges:
        merged = set(edge)
        apart = list[set[str]]()
        for group in groups:
            if group.isdisjoint(edge):
                apart.append(group)
            else:
                merged = merged | group
        groups = [*apart, merged]
    return sorted(sorted(group) for group in groups)

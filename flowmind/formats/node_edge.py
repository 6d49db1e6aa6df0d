"""The Node/Edge text of WorFBench: numbered steps, then edges between their numbers, START and END."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import networkx as nx

_HEADING = re.compile(r"^\W*(nodes?|edges?)\W*?:", re.IGNORECASE | re.MULTILINE)
_NODE = re.compile(r"^\s*(?:[-*]\s*)?(\d+)\s*[:.)]\s*(\S.*?)\s*$")
_EDGE = re.compile(r"\(\s*(START|END|\d+)\s*,\s*(START|END|\d+)\s*\)", re.IGNORECASE)


class NodeEdge(NamedTuple):
    """A graph read from text."""

    nodes: tuple[str, ...]
    """START, the steps, END."""
    edges: tuple[tuple[int, int], ...]
    """Index pairs into `nodes`."""
    issues: tuple[str, ...]
    """What is not as it should be, though it can be read."""


def parse(text: str) -> NodeEdge:
    """Reads Node/Edge text: steps by their own numbers, edges only from the part under the heading `Edge:`.

    Raises:
        ValueError: If there is no step or no edge, a number stands twice, or an edge names a step that is not there,
            leaves END or leads to START; with the line.
    """
    headings = {match[1].lower().rstrip("s"): match for match in reversed(list(_HEADING.finditer(text)))}
    if "node" not in headings:
        raise ValueError("line 1: no heading 'Node:'")
    if "edge" not in headings:
        raise ValueError(f"line {_line(text, len(text))}: no heading 'Edge:' after the steps")
    if headings["edge"].start() < headings["node"].start():
        raise ValueError(f"line {_line(text, headings['edge'].start())}: 'Edge:' stands before 'Node:'")
    steps, issues = _steps(text, headings["node"].end(), headings["edge"].start())
    place = {number: index for index, number in enumerate(steps, 1)}
    last = len(steps) + 1
    edges: list[tuple[int, int]] = []
    for match in _EDGE.finditer(text, headings["edge"].end()):
        ends: list[int] = []
        for name in match.groups():
            end = {"START": 0, "END": last}.get(name.upper())
            end = place.get(int(name)) if end is None else end
            if end is None:
                raise ValueError(f"line {_line(text, match.start())}: edge {match[0]} names step {name}, which is not")
            ends.append(end)
        if ends[0] == last or ends[1] == 0:
            raise ValueError(f"line {_line(text, match.start())}: edge {match[0]} leaves END or leads to START")
        edges.append((ends[0], ends[1]))
    if not edges:
        raise ValueError(f"line {_line(text, headings['edge'].start())}: no edge such as (START,1) behind 'Edge:'")
    nodes = ("START", *steps.values(), "END")
    return NodeEdge(nodes, tuple(dict.fromkeys(edges)), (*issues, *_shape(nodes, edges)))


def _steps(text: str, begin: int, end: int) -> tuple[dict[int, str], list[str]]:
    steps: dict[int, str] = {}
    issues: list[str] = []
    offset = begin
    for line in text[begin:end].splitlines(keepends=True):
        match = _NODE.match(line)
        if match:
            number = int(match[1])
            if number in steps:
                raise ValueError(f"line {_line(text, offset)}: step {number} stands twice")
            steps[number] = match[2]
        elif line.strip():
            issues.append(f"line {_line(text, offset)}: no step, left out")
        offset += len(line)
    if not steps:
        raise ValueError(f"line {_line(text, begin)}: no step such as '1: do this' behind 'Node:'")
    if list(steps) != list(range(1, len(steps) + 1)):
        issues.append(f"steps are numbered {', '.join(map(str, steps))}")
    return steps, issues


def _shape(nodes: Sequence[str], edges: Sequence[tuple[int, int]]) -> list[str]:
    issues: list[str] = []
    if twice := [edge for edge, count in Counter(edges).items() if count > 1]:
        issues.append(f"{len(twice)} edges stand twice")
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(nodes)))
    graph.add_edges_from(edges)
    if not nx.is_directed_acyclic_graph(graph):
        issues.append("the graph has a cycle")
    if not nx.is_weakly_connected(graph):
        issues.append("the graph is not connected")
    return issues


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def parse_as_published(text: str) -> NodeEdge:
    """Reads Node/Edge text as the published code of WorFBench does, so that its figures can be compared.

    A step is whatever follows a number, a colon or full stop and a space in a line; edges are looked for in the whole
    text; numbers of edges count steps by position. Edges out of range, which that code keeps, are left out.

    Raises:
        ValueError: If there is no step or no edge.
    """
    steps = [match[1].strip() for match in re.finditer(r"\d+[:.] (.+)", text)]
    last = len(steps) + 1
    found = re.findall(r"\((START|\d+), ?(END|\d+)\)", text)
    edges = [(0 if one == "START" else int(one), last if other == "END" else int(other)) for one, other in found]
    if not steps or not edges:
        raise ValueError(f"no {'edge' if steps else 'step'} in the text")
    inside = tuple(edge for edge in edges if max(edge) <= last)
    issues = (f"{len(edges) - len(inside)} edges lead out of the steps",) if len(inside) < len(edges) else ()
    return NodeEdge(("START", *steps, "END"), inside, issues)


def to_text(nodes: Sequence[str], edges: Sequence[tuple[int, int]]) -> str:
    """A graph as Node/Edge text.

    Args:
        nodes: START, the steps, END.
        edges: Index pairs.
    """
    last = len(nodes) - 1
    names = {0: "START", last: "END"}
    steps = [f"{index}: {' '.join(text.split())}" for index, text in enumerate(nodes[1:-1], 1)]
    pairs = " ".join(f"({names.get(one, one)},{names.get(other, other)})" for one, other in edges)
    return "\n".join(("Node:", *steps, f"Edge: {pairs}"))

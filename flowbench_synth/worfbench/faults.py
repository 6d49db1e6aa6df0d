"""The faults of a row that can be seen without a model (Qiao et al., section 2.3, and what their data show)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowbench_synth.worfbench.graphs import Edge, first_order, is_connected, off_path
from flowmind.formats.node_edge import Scan, scan
from flowmind.formats.worfbench_rows import StoredRow

FAULTS: dict[str, str] = {
    "format": "the row or its gold cannot be read",
    "duplicate_id": "another row has the same id",
    "empty_task": "there is no task",
    "empty_tools": "there are no tools",
    "numbering": "the steps are not numbered 1 to n",
    "edge_among_steps": "an edge stands among the steps",
    "other_text": "there is text that is neither a step, an edge nor a heading",
    "equal_steps": "two steps have the same text",
    "unknown_step": "an edge names a step that is not there",
    "wrong_end": "an edge leaves END or leads to START",
    "duplicate_edge": "an edge stands twice",
    "size": "fewer than 2 steps or 2 edges",
    "cycle": "the graph has a cycle",
    "not_connected": "a part of the graph is not connected to the rest",
    "off_path": "a step is on no path from START to END",
    "order": "the topological order, smallest number first, is not 1 to n",
    "no_record": "the calls of the row are not recorded",
    "no_row": "there is no row for recorded calls",
    "other_task": "the task, the tools, the source or the part is not what was recorded",
    "other_steps": "the steps are not those of the recorded calls",
    "other_edges": "the edges are not those of the recorded calls",
    "not_retrieved": "a step does not retrieve its own tool",
}
"""What can be wrong with a row, by code. The last six need the recorded calls of a built folder."""
LEAST = 2
"""The fewest steps, and the fewest edges, those of START and END included (section 2.3)."""
_GRAPH = "Graph:"
"""A line that the published rows of toolbench have between steps and edges."""
_EDGE_LIKE = re.compile(r"\(\s*(?:START|\d+)\s*,\s*(?:END|\d+)\s*\)", re.IGNORECASE)


class Fault(NamedTuple):
    """Something that is wrong with a row."""

    code: str
    """A key of `FAULTS`."""
    about: str
    """What it is about in this row."""


class Graph(NamedTuple):
    """A gold workflow as it is numbered in its text."""

    steps: tuple[str, ...]
    edges: tuple[Edge, ...]


def faults_of(row: StoredRow) -> tuple[Graph | None, list[Fault]]:
    """The graph of a row, as far as it can be read, and the faults that the row alone shows."""
    faults = [Fault("empty_task", "")] if not row.task else []
    faults += [Fault("empty_tools", "")] if not row.tools else []
    try:
        parts = scan(row.gold)
    except ValueError as error:
        faults.append(Fault("format", str(error)))
        try:
            parts = scan(f"{row.gold}\nEdge:")  # so that the steps can be judged
        except ValueError:
            return None, faults
    if not parts.steps or not (parts.edges or faults):
        return None, [*faults, Fault("format", f"no {'edge' if parts.steps else 'step'} in the gold")]
    graph, found = _read(parts)
    return graph, [*faults, *found, *graph_faults(graph)]


def _read(parts: Scan) -> tuple[Graph, list[Fault]]:
    """The graph of the parts of a gold text; its steps are counted by their position."""
    faults = [Fault("edge_among_steps", text) for text, _ in _lines(parts) if _EDGE_LIKE.search(text)]
    prose = [text for text, _ in parts.others if text != _GRAPH]
    prose += [line.strip() for line in parts.after.splitlines() if any(map(str.isalnum, line))]
    faults += [Fault("other_text", prose[0])] if prose else []
    numbers = [number for number, _, _ in parts.steps]
    count = len(numbers)
    if numbers != list(range(1, count + 1)):
        faults.append(Fault("numbering", ", ".join(map(str, numbers))))
    place = {str(number): index for index, number in reversed(list(enumerate(numbers, 1)))}
    place |= {"START": 0, "END": count + 1}
    edges: list[Edge] = []
    for one, other, _ in parts.edges:
        ends = place.get(one.lstrip("0") or one), place.get(other.lstrip("0") or other)
        if ends[0] is None or ends[1] is None:
            faults.append(Fault("unknown_step", f"({one},{other})"))
        elif one == "END" or other == "START":
            faults.append(Fault("wrong_end", f"({one},{other})"))
        else:
            edges.append((ends[0], ends[1]))
    return Graph(tuple(text for _, text, _ in parts.steps), tuple(edges)), faults


def _lines(parts: Scan) -> Iterator[tuple[str, int]]:
    yield from ((text, line) for _, text, line in parts.steps)
    yield from parts.others


def graph_faults(graph: Graph) -> list[Fault]:
    """The faults of a graph (section 2.3), and steps that cannot be told from one another."""
    return [*_graph_faults(graph.steps, graph.edges)]


def _graph_faults(steps: Sequence[str], edges: Sequence[Edge]) -> Iterator[Fault]:
    count = len(steps)
    same = Counter(" ".join(step.split()).casefold() for step in steps)
    if equal := [step for step, times in same.items() if times > 1]:
        yield Fault("equal_steps", equal[0])
    if twice := [edge for edge, times in Counter(edges).items() if times > 1]:
        yield Fault("duplicate_edge", shown(twice, count))
    if count < LEAST or len(set(edges)) < LEAST:
        yield Fault("size", f"{count} steps, {len(set(edges))} edges")
    order = first_order(count, edges)
    if len(order) < count:
        yield Fault("cycle", f"steps {', '.join(str(step) for step in range(1, count + 1) if step not in order)}")
    elif order != list(range(1, count + 1)):
        yield Fault("order", ", ".join(map(str, order)))
    if not is_connected(count, edges):
        yield Fault("not_connected", "")
    if lost := off_path(count, edges):
        yield Fault("off_path", f"steps {', '.join(map(str, lost))}")


def shown(edges: Sequence[Edge], count: int) -> str:
    """Edges as they stand in a gold text."""
    names = {0: "START", count + 1: "END"}
    return " ".join(f"({names.get(one, one)},{names.get(other, other)})" for one, other in edges)

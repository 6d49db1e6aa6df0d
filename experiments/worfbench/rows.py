"""Reads and selects the rows of WorFBench."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from flowmind.base.errors import InputError
from flowmind.evaluation.worfeval import Definition, StepGraph
from flowmind.formats.node_edge import NodeEdge, parse, parse_as_published
from flowmind.formats.worfbench_rows import StoredRow, read_stored_rows
from tools_registry.specs.spec import Record


class Row(Record):
    """A task with its tools, and its gold workflow."""

    id: str
    source: str
    text: str
    """The task, followed by its tools."""
    gold: StepGraph
    held_out: bool = False
    """Whether none of the source's rows is in a training set."""


class Data(NamedTuple):
    """A file of rows."""

    name: str
    sha256: str
    """The digest of its unpacked content."""
    rows: tuple[Row, ...]


def read_rows(path: Path, definition: Definition) -> Data:
    """Reads rows: JSON Lines or one JSON array, plain or packed by gzip; reduced rows, or rows as they are published.

    A gold text that `parse` cannot read is read as the published code does it.

    Raises:
        InputError: If the file or a row cannot be used, with its number.
    """
    stored = read_stored_rows(path)
    rows: dict[str, Row] = {}
    for number, entry in enumerate(stored.entries, 1):
        try:
            if isinstance(entry, ValueError):
                raise entry
            row = _row(entry, definition)
            if row.id in rows:
                raise ValueError(f"the id {row.id!r} stands twice")
        except ValueError as error:
            raise InputError(f"{path}, row {number}: {error}") from None
        rows[row.id] = row
    return Data(stored.name, stored.sha256, tuple(rows.values()))


def _row(stored: StoredRow, definition: Definition) -> Row:
    try:
        graph = _gold(stored.gold, definition)
        gold = StepGraph(nodes=graph.nodes, edges=graph.edges)
    except ValueError as error:
        raise ValueError(f"gold: {error}") from None
    return Row(id=stored.id, source=stored.source, text=stored.text, gold=gold, held_out=stored.held_out)


def _gold(text: str, definition: Definition) -> NodeEdge:
    if definition == "paper":
        try:
            return parse(text)
        except ValueError:
            pass
    return parse_as_published(text)


def choose(data: Data, sources: Sequence[str], limit: int | None) -> tuple[Row, ...]:
    """The rows of a run: one of each source in turn, in the order of the file within a source.

    Raises:
        InputError: If a source is not in the data.
    """
    known = list(dict.fromkeys(row.source for row in data.rows))
    if missing := [name for name in sources if name not in known]:
        raise InputError(f"--sources: no row of {', '.join(missing)}; the data has {', '.join(known)}")
    lanes = [[row for row in data.rows if row.source == name] for name in known if not sources or name in sources]
    longest = max(map(len, lanes))
    turns = [lane[index] for index in range(longest) for lane in lanes if index < len(lane)]
    return tuple(turns[:limit])

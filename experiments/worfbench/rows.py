"""Reads, groups and selects the rows of WorFBench."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_bytes, validate
from flowmind.evaluation.worfeval import Definition, StepGraph
from flowmind.formats.node_edge import NodeEdge, parse, parse_as_published
from tools_registry.specs.spec import Record

GROUPS: dict[str, tuple[str, ...]] = {
    "function_call": ("toolbench", "toolalpaca"),
    "problem_solving": ("lumos",),
    "embodied": ("alfworld", "webshop", "os"),
    "open_grounded": ("wikihow",),
}
"""The paper's four groups and their sources (section 2.2, appendix A.1)."""
HELD_OUT = ("seal_tools", "intercodesql")
"""Sources that the paper excludes from its groups and from its average, for table 2 (appendix A.1)."""
_MOST_BYTES = 500_000_000
_OPENING = re.compile(r"\A\s*(?:Now it's your turn\.\s*)?(?:Task:\s*)?")
_ANSWER_CUE = re.compile(r"^Output:[ \t]*(?:\n|\Z)", re.MULTILINE)
"""`_OPENING` and `_ANSWER_CUE`: the parts of the paper's own prompts around a task in the data."""


class Row(Record):
    """A task with its tools, and its gold workflow."""

    id: str
    source: str
    text: str
    """The task, followed by its tools."""
    gold: StepGraph


class Data(NamedTuple):
    """A file of rows."""

    name: str
    sha256: str
    """The digest of its unpacked content."""
    rows: tuple[Row, ...]


class _Reduced(BaseModel):
    """A row with a field for each of its parts."""

    id: str
    source: str
    task: str
    tools_marker: str = ""
    tools_text: str = ""
    gold: str

    def parts(self) -> tuple[str, str]:
        return f"{_bare(self.task)}\n\n{self.tools_marker}\n{self.tools_text}".strip(), self.gold


class _Message(BaseModel):
    role: str
    content: str


class _Original(BaseModel):
    """A row as it is published: a conversation of the task and its gold workflow."""

    id: str
    source: str
    conversations: tuple[_Message, ...]

    def parts(self) -> tuple[str, str]:
        contents = {message.role: message.content for message in self.conversations}
        if "user" not in contents or "assistant" not in contents:
            raise ValueError("conversations: a message of the user and one of the assistant are needed")
        return _bare(contents["user"]), contents["assistant"]


def _bare(text: str) -> str:
    return _ANSWER_CUE.sub("", _OPENING.sub("", text), count=1).strip()


def read_rows(path: Path, definition: Definition) -> Data:
    """Reads rows: JSON Lines or one JSON array, plain or packed by gzip; reduced rows, or rows as they are published.

    A gold text that `parse` cannot read is read as the published code does it.

    Raises:
        InputError: If the file or a row cannot be used, with its number.
    """
    text = _text(path)
    rows: dict[str, Row] = {}
    for number, entry in enumerate(_entries(path, text), 1):
        try:
            row = _row(entry() if callable(entry) else entry, definition)
            if row.id in rows:
                raise ValueError(f"the id {row.id!r} stands twice")
        except ValueError as error:
            raise InputError(f"{path}, row {number}: {error}") from None
        rows[row.id] = row
    if not rows:
        raise InputError(f"{path}: no row in it")
    return Data(path.name.removesuffix(".gz"), hashlib.sha256(text.encode()).hexdigest(), tuple(rows.values()))


def _text(path: Path) -> str:
    try:
        data = read_bytes(path, _MOST_BYTES)
        if data.startswith(b"\x1f\x8b"):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise InputError(f"{path}: the archive holds more than {_MOST_BYTES} bytes")
        return data.decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the gzip archive is damaged") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def _entries(path: Path, text: str) -> Iterator[Any]:
    """The rows as JSON values; a line of JSON Lines is a function that parses it, so that its error has its number."""
    if text.lstrip().startswith("["):
        try:
            yield from cast(list[Any], parse_json(text))
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        return
    for line in text.split("\n"):
        if line.strip():
            yield lambda line=line: parse_json(line)


def _row(entry: Any, definition: Definition) -> Row:
    kind = _Original if isinstance(entry, dict) and "conversations" in entry else _Reduced
    parsed = validate(kind, entry)
    text, gold = parsed.parts()
    try:
        graph = _gold(gold, definition)
        return Row(id=parsed.id, source=parsed.source, text=text, gold=StepGraph(nodes=graph.nodes, edges=graph.edges))
    except ValueError as error:
        raise ValueError(f"gold: {error}") from None


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

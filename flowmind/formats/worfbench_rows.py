"""The rows of WorFBench as they are stored: a task, its tools, and the text of its gold workflow.

There are two forms: the published one, a conversation of the task and its gold workflow, and the reduced one, with a
field for each part. Files are JSON Lines or one JSON array, plain or packed by gzip.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_bytes, validate
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
_MARKER = re.compile(
    r"^[^\S\n]*(The (?:api|tool|action) list you can (?:use|select from|take):"
    r"|The database tables and corresponding fields you can operate are:|api_list:)[^\S\n]*",
    re.MULTILINE,
)
"""The beginning of the tools in the task of a published row."""


class StoredRow(Record):
    """A row: texts, not yet read as a graph."""

    id: str
    source: str
    text: str
    """The task, followed by its tools."""
    task: str
    """The task alone; in a published row without a known mark before its tools, the whole text."""
    tools: str
    """The tools as text; empty if there is no known mark before them."""
    gold: str
    """The gold workflow as Node/Edge text."""
    held_out: bool = False
    """Whether the row's source is held out: none of its rows is in a training set."""


class StoredRows(NamedTuple):
    """A file of rows."""

    name: str
    """The file's name, without `.gz`."""
    sha256: str
    """The digest of its unpacked content."""
    entries: tuple[StoredRow | ValueError, ...]
    """The rows in order; an entry that is no row stands as the error that says why."""


class _Reduced(BaseModel):
    id: str
    source: str
    task: str
    tools_marker: str = ""
    tools_text: str = ""
    gold: str
    held_out: bool = False

    def stored(self) -> StoredRow:
        task, tools = _bare(self.task), self.tools_text
        text = f"{task}\n\n{self.tools_marker}\n{tools}".strip()
        held_out = self.held_out or self.source in HELD_OUT
        return StoredRow(
            id=self.id, source=self.source, text=text, task=task, tools=tools, gold=self.gold, held_out=held_out
        )


class _Message(BaseModel):
    role: str
    content: str


class _Published(BaseModel):
    id: str
    source: str
    conversations: tuple[_Message, ...]

    def stored(self) -> StoredRow:
        contents = {message.role: message.content for message in self.conversations}
        if "user" not in contents or "assistant" not in contents:
            raise ValueError("conversations: a message of the user and one of the assistant are needed")
        text = _bare(contents["user"])
        marker = next(iter(_MARKER.finditer(text)), None)
        task, tools = (text[: marker.start()], text[marker.end() :]) if marker else (text, "")
        return StoredRow(
            id=self.id, source=self.source, text=text, task=task.strip(), tools=tools.strip(),
            gold=contents["assistant"], held_out=self.source in HELD_OUT,
        )  # fmt: skip


def _bare(text: str) -> str:
    return _ANSWER_CUE.sub("", _OPENING.sub("", text), count=1).strip()


def read_stored_rows(path: Path) -> StoredRows:
    """Reads rows: reduced ones, or rows as they are published.

    Raises:
        InputError: If the file cannot be read, or holds no row.
    """
    text = _text(path)
    entries = tuple(_entries(path, text))
    if not entries:
        raise InputError(f"{path}: no row in it")
    return StoredRows(path.name.removesuffix(".gz"), hashlib.sha256(text.encode()).hexdigest(), entries)


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


def _entries(path: Path, text: str) -> Iterator[StoredRow | ValueError]:
    if text.lstrip().startswith("["):
        try:
            values = cast(list[Any], parse_json(text))
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        yield from map(read_row, values)
        return
    for line in text.split("\n"):
        if line.strip():
            try:
                value = parse_json(line)
            except ValueError as error:
                yield error
                continue
            yield read_row(value)


def read_row(entry: Any) -> StoredRow | ValueError:
    """A row as a JSON value; the error, not raised, if it is none."""
    kind = _Published if isinstance(entry, dict) and "conversations" in entry else _Reduced
    try:
        return validate(kind, entry).stored()
    except ValueError as error:
        return error

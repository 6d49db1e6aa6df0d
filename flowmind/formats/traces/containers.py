"""The document in a file of traces: JSON, JSON Lines, a zip archive or a SQLite database, also compressed by gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any, Literal, NamedTuple

from flowmind.base.errors import InputError
from flowmind.base.files import MAX_FILE, MAX_LINE, parse_json, read_bytes
from flowmind.formats.traces.parts import Lines

MAX_RECORDING = 500_000_000
"""The largest size of a recording in bytes, also when it is decompressed."""
_GZIP, _ZIP, _SQLITE = b"\x1f\x8b", b"PK\x03\x04", b"SQLite format 3\x00"


class Container(NamedTuple):
    """A document that is not text."""

    kind: Literal["zip", "sqlite"]
    data: bytes
    log: bytes = b""
    """The write-ahead log beside a database that is in use."""


def document_of(path: Path) -> Any:
    """The document in a file: a JSON value, `Lines`, or a `Container`. The content decides, not the name of the file.

    Raises:
        InputError: If the file cannot be read or is too large, or is none of these.
    """
    data = read_bytes(path, MAX_RECORDING)
    if data.startswith(_GZIP):
        data = _decompressed(path, data)
    if data.startswith(_ZIP):
        return Container("zip", data)
    if data.startswith(_SQLITE):
        log = path.with_name(f"{path.name}-wal")
        return Container("sqlite", data, read_bytes(log, MAX_RECORDING) if log.is_file() else b"")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
    try:
        if len(data) <= MAX_FILE:
            return parse_json(text)
        problem = f"the file has more than {MAX_FILE} bytes"
    except ValueError as error:
        problem = str(error)
    return _lines(path, text, problem)


def _decompressed(path: Path, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MAX_RECORDING + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the compressed data are damaged ({error})") from None
    if len(plain) > MAX_RECORDING:
        raise InputError(f"{path}: the file has more than {MAX_RECORDING} bytes when it is decompressed")
    return plain


def _lines(path: Path, text: str, problem: str) -> Lines:
    """The values of lines; blank lines are skipped.

    Raises:
        InputError: With the line; if the first line is no JSON either, with the problem of the whole text.
    """
    rows: list[tuple[int, Any]] = []
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"a line of more than {MAX_LINE} characters")
            rows.append((number, parse_json(line)))
        except ValueError as error:
            if rows and not line.endswith("\n"):
                return Lines(rows, f"line {number}: {error}")
            raise InputError(f"{path}, line {number}: {error}" if rows else f"{path}: {problem}") from None
    if not rows:
        raise InputError(f"{path}: {problem}")
    return Lines(rows)

"""JSON lines and documents with a checksum, which is verified when they are read.

The checksum is the last member of the object, `crc`: the CRC-32 of the object without it, as compact JSON in UTF-8. An
object without `crc` is read without verification.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from flowmind.base import crash_points as faults
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_text, reading, validate, write_all, write_text
from flowmind.base.folders import opened

M = TypeVar("M", bound=BaseModel)
_SEAL = len(',"crc":"01234567"}')
"""The length of the end of a line."""


def line(value: Mapping[str, Any]) -> str:
    """An object with its checksum as one line."""
    return dump_json(_sealed(value)) + "\n"


def append(
    path: Path, value: Mapping[str, Any], write: faults.Write, sync: bool = False, root: Path | None = None
) -> None:
    """Adds a line to a file, whole or not at all.

    Args:
        path: The file.
        value: The object.
        write: The kind of record, for fault points.
        sync: Wait until the line is on the disk.
        root: The folder below which no link is followed; by default the file's folder.

    Raises:
        InputError: If it cannot be written.
    """
    faults.reach("before", write)
    with _at(path), opened(path.parent, root) as folder, folder.append(path.name) as file:
        whole = file.tell()
        try:
            write_all(file, line(value).encode(), write)
        except OSError:
            file.truncate(whole)
            raise
        if sync:
            os.fsync(file.fileno())
    faults.reach("after", write)


def read(path: Path, kind: type[M]) -> Iterator[M]:
    """The lines of a file without an unfinished last line; none if there is no file.

    Raises:
        InputError: If a line is damaged, with file, line and reason.
    """
    for number, text in _numbered(path):
        try:
            yield validate(kind, _unsealed(parse_json(_decoded(text))))
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: {error}; remove that line, and the same command writes it again"
            ) from None


def verify(path: Path, remedy: str) -> None:
    """Requires that the lines of a file have their checksums, without reading more of lines that are as written.

    Args:
        path: The file; it may be missing.
        remedy: What to do if a line is damaged.

    Raises:
        InputError: If a line is damaged, with file, line and reason.
    """
    for number, text in _numbered(path):
        try:
            sealed = b',"crc":"%08x"}' % zlib.crc32(text[:-_SEAL] + b"}")
            if not text.endswith(sealed):
                _unsealed(parse_json(_decoded(text)))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}; {remedy}") from None


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    data = _bytes(path)
    return enumerate(data[: _whole(data)].split(b"\n")[:-1], 1)


def cut_torn_line(path: Path, root: Path | None = None) -> None:
    """Removes an unfinished last line, which a killed process leaves; only the owner of the folder may call it.

    The folder of the file is made if it does not exist.

    Args:
        path: The file.
        root: The folder below which no link is followed; by default the file's folder.

    Raises:
        InputError: If it cannot be cut off.
    """
    with _at(path), opened(path.parent, root, create=True) as folder:
        if not os.path.lexists(path):
            return
        with folder.append(path.name) as file:
            file.seek(0)
            data = file.readall()
            if (whole := _whole(data)) < len(data):
                file.truncate(whole)


def write_document(path: Path, value: Mapping[str, Any], write: faults.Write, root: Path | None = None) -> None:
    """Writes an object as a file of its own; `root` as for `append`.

    Raises:
        InputError: If it cannot be written.
    """
    with _at(path):
        write_text(path, dump_json(_sealed(value), indent=1) + "\n", write, root)


def read_document(path: Path, remedy: str) -> Any:
    """The object that `write_document` wrote.

    Args:
        path: The file.
        remedy: What to do if it is damaged.

    Raises:
        InputError: If it cannot be read, or is damaged.
    """
    try:
        return _unsealed(parse_json(read_text(path)))
    except ValueError as error:
        raise InputError(f"{path}: {error}; {remedy}") from None


def digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hex.

    Raises:
        InputError: If it cannot be read.
    """
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "crc": _checksum(value)}


def _unsealed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    record = cast(dict[str, Any], value)
    if "crc" in record and record.pop("crc") != _checksum(record):
        raise ValueError("its checksum does not match: it was changed after it was written")
    return record


def _checksum(value: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(dump_json(value).encode()):08x}"


def _bytes(path: Path) -> bytes:
    if not os.path.lexists(path):
        return b""
    with reading(path) as file:
        return file.read()


def _whole(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None


@contextmanager
def _at(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; stored results are kept, and the same command continues the run"
        ) from None

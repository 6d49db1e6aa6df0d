"""Reads JSON strictly, with errors that name the file and the line, and writes files atomically."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from flowmind.base import crash_points as faults
from flowmind.base.errors import InputError
from flowmind.base.folders import open_to_read, opened
from flowmind.base.texts import did_you_mean

M = TypeVar("M", bound=BaseModel)
MAX_LINE = 10_000_000
MAX_FILE = 50_000_000
"""The largest size of a file in bytes; in files of lines the limit is for each line."""
MAX_KEYS, MAX_MEMBERS = 2_000_000, 100_000
"""The most keys of a JSON text, and of one object in it."""
TOO_LONG = "an integer of more digits than can be held"
_MANY = 10_000
"""A number of errors in one document that is not worth a list."""
_BY_NAME = {"missing", "extra_forbidden", "model_type"}
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str) -> Any:
    """The value of a JSON text. NaN, infinities, duplicate keys, lone surrogates and too many keys are refused.

    Raises:
        ValueError: With what is wrong.
    """
    try:
        if text.count('":') > MAX_KEYS:  # before millions of keys are made
            raise ValueError(_too_many("the text", MAX_KEYS))
        value = json.loads(text, object_pairs_hook=_Members(), parse_constant=_no_constant, parse_float=_finite)
        if _HALF_PAIR.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError as error:
        half = str(error.object)[error.start]
        raise ValueError(f"a text with {half!a}, half of a surrogate pair, which cannot be stored") from None
    except json.JSONDecodeError as error:
        hint = "give valid JSON" if text.strip() else "it is empty; give JSON"
        raise ValueError(f"{error}; {hint}") from None
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):
            raise ValueError(TOO_LONG) from None
        raise
    return value


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


class _Members:
    """Makes the objects of a JSON text and counts their keys."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._count += len(pairs)
        if len(pairs) > MAX_MEMBERS or self._count > MAX_KEYS:
            single = len(pairs) > MAX_MEMBERS
            raise ValueError(_too_many("an object", MAX_MEMBERS) if single else _too_many("the text", MAX_KEYS))
        made = dict(pairs)
        if len(made) < len(pairs):
            (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise ValueError(f"key {twice[:80]!r} stands twice in one object")
        return made


def _too_many(place: str, most: int) -> str:
    return f"{place} has more than {most:,} keys"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def bracket_depth(text: str) -> int:
    """The largest number of open brackets, including those in strings; for readers that are slow on deep nesting."""
    depth = most = 0
    for bracket in re.findall(r"[{}\[\]]", text):
        depth = depth + 1 if bracket in "{[" else max(0, depth - 1)
        most = max(most, depth)
    return most


def dump_json(value: Any, indent: int | None = None) -> str:
    """A JSON value as text: keys in their order, no ASCII escapes, no NaN; compact unless `indent` is given."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: If it cannot be read, or has more than `most` bytes (by default `MAX_FILE`).
    """
    most = MAX_FILE if most is None else most
    with reading(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: the file has more than {most} bytes")
    return data


@contextmanager
def reading(path: Path) -> Generator[BufferedReader[Any]]:
    """Yields a file to read.

    Raises:
        InputError: If it cannot be read, or is a pipe or a device.
    """
    try:
        with BufferedReader(open_to_read(path)) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"{path}: {error}") from None


def read_text(path: Path, most: int | None = None) -> str:
    """A file's text, with line feeds as line ends.

    Raises:
        InputError: If it cannot be read as UTF-8, or has more than `most` bytes (by default `MAX_FILE`).
    """
    data = read_bytes(path, most)
    try:
        return _decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start})") from None


def read_model(path: Path, kind: type[M]) -> M:
    """The record in a file.

    Raises:
        InputError: With file, field and reason.
    """
    try:
        return validate(kind, parse_json(read_text(path)))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def validate(kind: type[M], value: Any) -> M:
    """The record of a JSON value.

    Raises:
        ValueError: One line with the field and what would be right.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        if error.error_count() > _MANY:
            raise ValueError(f"document: {error.error_count():,} of its fields are unknown or wrong") from None
        first = _first(error)
        place = _place(value, first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise ValueError(f"{place}: {_reason(first)}{_hint(kind, first)}{more}") from None


def _first(error: ValidationError) -> ErrorDetails:
    """The first error; if none of several classes fits, the first error that is not about a field's name."""
    found = error.errors(include_url=False)
    first = found[0]
    path = first["loc"]
    if len(path) > 2 and str(path[-2])[:1].isupper() and first["type"] in _BY_NAME:
        inside = [one for one in found if one["loc"][: len(path) - 2] == path[:-2] and one["type"] not in _BY_NAME]
        first = (inside or found)[0]
    return first


def _hint(kind: type[BaseModel], error: ErrorDetails) -> str:
    """The nearest name of a field, for a field that is not known."""
    if error["type"] != "extra_forbidden":
        return ""
    schema = kind.model_json_schema()
    records: list[dict[str, Any]] = [schema, *schema.get("$defs", {}).values()]
    return did_you_mean(
        str(error["loc"][-1]), dict.fromkeys(name for row in records for name in row.get("properties", ()))
    )


def _reason(error: ErrorDetails) -> str:
    if error["type"] == "model_type":
        return "Input should be an object"
    return error["msg"].removeprefix("Value error, ")


def _place(value: Any, path: tuple[str | int, ...]) -> str:
    """The place of an error as keys and indexes, without the kinds and classes in pydantic's path.

    The innermost object with an id is named.
    """
    shown: list[str] = []
    named, kind = "", ""
    for number, part in enumerate(path):
        last = number == len(path) - 1
        if isinstance(value, dict):
            fields = cast(dict[Any, Any], value)
            if shown and type(fields.get("id")) is str and len(fields["id"]) <= 64:
                named = f" (of {fields['id']!r})"
            if part == fields.get("kind") and part != kind and not last:
                kind = str(part)
                continue
            if part not in fields and not last:
                continue
        elif isinstance(part, str) and last and shown:
            continue
        value, kind = _step(value, part), ""
        shown.append(str(part))
    if isinstance(value, dict) and type(id := cast(dict[Any, Any], value).get("id")) is str and len(id) <= 64:
        named = f" (of {id!r})"
    if len(shown) > 12:
        shown[6:-3] = ["…"]
    return (".".join(shown) or "document") + named


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return cast(dict[Any, Any], value).get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(cast(list[Any], value)):
        return cast(list[Any], value)[part]
    return None


def read_lines(path: Path, kind: type[M]) -> Iterator[M]:
    """The records of a JSON Lines file; blank lines are skipped.

    Raises:
        InputError: With file, line, field and reason.
    """
    return (record for _, record in read_numbered(path, kind))


def read_numbered(path: Path, kind: type[M]) -> Iterator[tuple[int, M]]:
    """The records of a JSON Lines file with their line numbers, from 1.

    Raises:
        InputError: With file, line, field and reason.
    """
    for number, line in enumerate(_lines(path), 1):
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"a line of more than {MAX_LINE} bytes")
            text = _decoded(line)
            if text.strip():
                yield number, validate(kind, parse_json(text))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None


def _lines(path: Path) -> Iterator[bytes]:
    with reading(path) as file:
        while line := file.readline(MAX_LINE + 1):
            yield line


def write_text(path: Path, text: str, write: faults.Write | None = None, root: Path | None = None) -> None:
    """Writes a file atomically: after a crash it has the old content or the new.

    Args:
        path: The file; a link, a pipe or a device is refused.
        text: Its content.
        write: The kind of record, for fault points.
        root: The folder below which no link is followed; by default the file's folder.

    Raises:
        OSError: With the file's name, if it cannot be written.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    faults.reach("before", write)
    try:
        with opened(path.parent, root, create=True) as folder, folder.replacing(path.name) as file:
            write_all(file, text.encode(), write)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    faults.reach("after", write)


def save(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file that a caller of the library names.

    Raises:
        InputError: If it cannot be written.
    """
    try:
        write_text(path_of(path), text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def path_of(path: Any) -> Path:
    """The path that a caller of the library names.

    Raises:
        InputError: If it is neither a text nor a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: give the name of a file, not {type(path).__name__}")
    return Path(cast(str, path))


def write_all(file: FileIO, data: bytes, write: faults.Write | None = None) -> None:
    """Writes all bytes.

    Raises:
        OSError: If not all bytes can be written; some may be.
    """
    for part in faults.parts(data, write):
        done = 0
        while done < len(part):
            done += file.write(part[done:])

"""Reading and writing JSON strictly: every error names the file and the line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from flowmind.errors import InputError

M = TypeVar("M", bound=BaseModel)
MAX_LINE = 10_000_000


def parse_json(text: str) -> Any:
    """JSON text to a value: no NaN, no duplicate keys, nothing after it.

    Raises:
        ValueError: With what is wrong.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def dump_json(value: Any, indent: int | None = None) -> str:
    """A JSON value as text, in the one form that all files here have: UTF-8, order kept, no NaN."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        InputError: If it cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: {reason}") from None


def read_model(path: Path, kind: type[M]) -> M:
    """A file that holds one record.

    Raises:
        InputError: With file, field and reason.
    """
    try:
        return validate(kind, parse_json(read_text(path)))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def validate(kind: type[M], value: Any) -> M:
    """A record out of a JSON value.

    Raises:
        ValueError: One line with the field and what would be right.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}{more}") from None


def read_lines(path: Path, kind: type[M]) -> Iterator[M]:
    """The records of a JSON Lines file; blank lines are skipped.

    Raises:
        InputError: With file, line, field and reason.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            if len(line) > MAX_LINE:
                raise ValueError(f"a line of {len(line)} characters, at most {MAX_LINE} are allowed")
            yield validate(kind, parse_json(line))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)

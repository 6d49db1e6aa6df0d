"""Reads and writes Parquet files. The only module that imports pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from flowmind.base.errors import InputError
from flowmind.base.files import reading

_ROWS = 1_000
"""The rows that are read at once."""


class Columns(NamedTuple):
    """What the end of a Parquet file says about it."""

    names: list[str]
    rows: int


def columns(path: Path) -> Columns:
    """The names of the columns and the number of rows.

    Raises:
        InputError: If pyarrow is not installed, or the file cannot be read.
    """
    with reading(path) as file:
        opened = _opened(path, file)
        return Columns(list(opened.schema_arrow.names), int(opened.metadata.num_rows))


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows, in their order; some thousand are in memory at a time.

    Raises:
        InputError: If pyarrow is not installed, or the file cannot be read.
    """
    with reading(path) as file:
        opened, number = _opened(path, file), 0
        try:
            for batch in opened.iter_batches(batch_size=_ROWS):
                rows: list[dict[str, Any]] = batch.to_pylist()
                yield from rows
                number += len(rows)
        except (OSError, ValueError) as error:  # the errors of Arrow are ValueErrors
            raise InputError(f"{path}, after row {number}: {_line(error)}") from None


def write(file: FileIO, types: Mapping[str, str], rows: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    """Writes a file.

    Args:
        file: The file.
        types: The type of each column, such as `int64` or `string`.
        rows: The rows, in groups that fit in memory.

    Raises:
        InputError: If pyarrow is not installed.
        OSError: If it cannot be written.
    """
    arrow, parquet = _loaded()
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in types.items()])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in rows:
            writer.write_table(arrow.Table.from_pylist(list(group), schema))


def require() -> None:
    """Requires that Parquet files can be read and written.

    Raises:
        InputError: If pyarrow is not installed.
    """
    _loaded()


def _loaded() -> tuple[Any, Any]:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
        import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise InputError(f"a Parquet file needs pyarrow: pip install 'flowmind-es[parquet]' ({error})") from None
    return pyarrow, pyarrow.parquet


def _opened(path: Path, file: Any) -> Any:
    _, parquet = _loaded()
    try:
        return parquet.ParquetFile(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a Parquet file ({_line(error)})") from None


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__

"""Reads the inputs of a batch, one row after the other, from JSON Lines, CSV and Parquet files."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from flowmind.base import parquet
from flowmind.base.errors import InputError
from flowmind.base.files import MAX_LINE, parse_json, reading
from flowmind.base.texts import did_you_mean
from flowmind.workflow.document import Workflow


class BadRow(NamedTuple):
    """A row that holds no inputs."""

    reason: str


Row = bytes | dict[str, Any] | BadRow
"""A line of JSON, or the values of a row of a table."""


class InputFile:
    """A file with the inputs of many cases.

    `.jsonl`, `.jsonl.gz` (also `.ndjson`): one JSON object a line; blank lines are no rows. `.csv` and `.parquet`: one
    row a case; the columns have the names of the inputs. An empty cell of a CSV file is an input that is not given,
    unless the input is a text; so is a null of a Parquet file, unless the input may be null.

    Args:
        path: The file.
        workflow: The workflow that takes the inputs.

    Raises:
        InputError: If the file cannot be read, or a column is no input of the workflow.
    """

    def __init__(self, path: Path, workflow: Workflow) -> None:
        self.path = path
        self.form = _form(path)
        self.rows: int | None = None
        """The number of rows, if it is known before all are read."""
        self._types = _types(workflow)
        if self.form == "parquet":
            names, self.rows = parquet.columns(path)
            self._require_inputs(names)
        elif self.form == "csv":
            with self._texts() as texts:
                self._require_inputs(self._header(csv.reader(texts, strict=True)))
        self.sha256 = self._digest()

    def read(self, skip: int = 0) -> Iterator[Row]:
        """The rows, without the first ones.

        Raises:
            InputError: If the file cannot be read up to its end.
        """
        rows: Iterator[Row]
        match self.form:
            case "parquet":
                rows = (self._cells(row) for row in parquet.read(self.path))
            case "csv":
                rows = self._csv()
            case _:
                rows = self._json()
        return islice(rows, skip, None)

    def _digest(self) -> str:
        """The SHA-256 of the file; counts the lines of JSON Lines on the way."""
        sha256, lines = hashlib.sha256(), 0
        with reading(self.path) as file:
            while block := file.read(1 << 20):
                sha256.update(block)
                lines += block.count(b"\n")
        if self.form == "json":
            self.rows = lines
        return sha256.hexdigest()

    @contextmanager
    def _lines(self) -> Generator[io.BufferedIOBase]:
        with reading(self.path) as file:
            if self.path.suffix != ".gz":
                yield file
                return
            try:
                yield io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=file)))
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise InputError(f"{self.path}: damaged gzip data ({error})") from None

    @contextmanager
    def _texts(self) -> Generator[io.TextIOWrapper]:
        with self._lines() as lines, io.TextIOWrapper(cast(Any, lines), encoding="utf-8-sig", newline="") as texts:
            yield texts

    def _json(self) -> Iterator[Row]:
        with self._lines() as lines:
            while line := lines.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE:
                    while line and not line.endswith(b"\n"):
                        line = lines.readline(MAX_LINE)
                    yield BadRow(f"a line of more than {MAX_LINE} bytes")
                elif not line.isspace():
                    yield line

    def _csv(self) -> Iterator[Row]:
        csv.field_size_limit(MAX_LINE)
        with self._texts() as texts:
            rows = csv.reader(texts, strict=True)
            try:
                names = self._header(rows)
                for cells in rows:
                    if len(cells) == len(names):
                        pairs = zip(names, cells, strict=True)
                        yield {name: value for name, cell in pairs for value in self._read(name, cell)}
                    elif cells:
                        yield BadRow(f"{len(cells)} cells, but {len(names)} columns")
            except (csv.Error, UnicodeDecodeError) as error:
                raise InputError(f"{self.path}, line {rows.line_num}: {error}") from None

    def _header(self, rows: Iterator[list[str]]) -> list[str]:
        try:
            names = next(rows, list[str]())
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}, line 1: {error}") from None
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{self.path}: two columns have the name {twice[0]!r}")
        return names

    def _read(self, name: str, cell: str) -> list[Any]:
        """The value of a cell in a list; none if the input is not given."""
        types = self._types.get(name)
        if not types or types == frozenset(["string"]):
            return [cell]
        if not cell:
            return []
        try:
            return [parse_json(cell)]
        except ValueError:
            return [cell]  # the check of the inputs says what is wrong

    def _cells(self, row: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value
            for name, value in row.items()
            if value is not None or "null" in self._types.get(name, frozenset())
        }

    def _require_inputs(self, names: list[str]) -> None:
        for name in names:
            if name not in self._types:
                inputs = ", ".join(self._types) or "none"
                raise InputError(
                    f"{self.path}: the column {name!r} is no input{did_you_mean(name, self._types)}; "
                    f"the inputs are {inputs}; leave out other columns"
                )


def _form(path: Path) -> str:
    """The form of a file, from its name.

    Raises:
        InputError: If there is no reader for it.
    """
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        return "json"
    if name.endswith(".csv"):
        return "csv"
    if path.name.lower().endswith(".parquet"):
        return "parquet"
    raise InputError(f"--inputs {path}: give a file .jsonl, .jsonl.gz, .csv, .csv.gz or .parquet")


def _types(workflow: Workflow) -> Mapping[str, frozenset[str]]:
    """The JSON types of each input; empty where the schema does not say them."""
    properties = cast(dict[str, Any], workflow.inputs.get("properties", {}))
    found: dict[str, frozenset[str]] = {}
    for name in workflow.input_names:
        schema = properties.get(name)
        stated: Any = cast(dict[str, Any], schema).get("type", ()) if isinstance(schema, dict) else ()
        found[name] = frozenset([stated] if isinstance(stated, str) else stated)
    return found

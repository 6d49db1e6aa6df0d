"""The file of the results of a batch: one line for each row of the inputs, in their order.

A line is `{"index": 0, "answer": ...}`, with `doubt` if rivals of the workflow disagree, or `{"index": 0, "error":
{"type", "message", "node"}}`. A killed run leaves whole lines and at most one unfinished line, which is cut off.
`NAME.run.json` says which workflow, tools and inputs the results belong to. The results of a Parquet file are such
lines in `NAME.part.jsonl` until all are there.
"""

from __future__ import annotations

import glob
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from flowmind.base import parquet
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_text, write_all, write_text
from flowmind.base.folders import locked, opened
from tools_registry.sandbox.closing import Closing

_SYNC = 5.0
"""The most seconds until results are on the disk."""
_GROUP = 20_000
"""The rows of a row group of a Parquet file."""
_COLUMNS = {
    "index": "int64",
    "answer": "string",
    "error": "string",
    "message": "string",
    "node": "string",
    "doubt": "string",
}
"""Answers and doubts are JSON."""


class Lines(NamedTuple):
    """Results of consecutive rows."""

    data: bytes
    """The lines."""
    rows: int
    errors: dict[str, int]
    """The number of errors by type."""
    first_error: int | None
    """The number, in these lines, of the first error."""


class Results(Closing):
    """The results of one batch. Opening them takes up those of an earlier run of the same batch.

    Args:
        path: The file: `.jsonl` or `.parquet`.
        about: The workflow, the tools and the inputs, as JSON.

    Raises:
        InputError: If the file cannot be written, or has the results of another batch, or another process writes it.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.errors: Counter[str] = Counter()
        """The number of errors by type."""
        self.count = 0
        """The number of results."""
        self.first_error: int | None = None
        """The index of the first error."""
        self._parquet = path.suffix == ".parquet"
        self._lines = path.with_name(f"{path.name}.part.jsonl") if self._parquet else path
        self._about = path.with_name(f"{path.name}.run.json")
        self._lock = locked(path.parent, f".{path.name}.lock", passing=True)
        try:
            self._folder = self._lock.__enter__()
        except BlockingIOError:
            raise InputError(f"{path}: another process writes these results; wait for its end") from None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        self._file: FileIO | None = None
        try:
            self._begin(about)
        except BaseException:
            self.close()
            raise

    def _begin(self, about: Mapping[str, Any]) -> None:
        present = [place for place in (self.path, self._lines) if os.path.lexists(place)]
        if present and not self._about.exists():
            raise InputError(f"--results {present[0]}: the file exists, and `flowmind run` did not write it")
        if present:
            self._require_same(about)
        if self._parquet and self.path.exists():
            self._folder.remove(self._lines.name)
            self._take_up_parquet()
            return
        for unfinished in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.part"):  # of a killed process
            self._folder.remove(unfinished.name)
        write_text(self._about, dump_json(about, indent=1) + "\n")
        self._file = file = self._folder.append(self._lines.name)
        self._take_up(file)
        self._end = file.tell()
        self._synced = time.monotonic()

    def _require_same(self, about: Mapping[str, Any]) -> None:
        """Requires that the results are those of this batch.

        Raises:
            InputError: With what differs.
        """
        try:
            stored = parse_json(read_text(self._about))
        except ValueError as error:
            raise InputError(f"{self._about}: {error}") from None
        known = cast(dict[str, Any], stored) if isinstance(stored, dict) else {}
        if differing := [name for name in {**about, **known} if known.get(name) != about.get(name)]:
            raise InputError(
                f"--results {self.path}: these are the results of another batch, with a different "
                f"{', '.join(differing)}; give another name, or remove the file and {self._about.name}"
            )

    def _take_up(self, file: FileIO) -> None:
        """Counts the results in the file, and cuts an unfinished last line off.

        Raises:
            InputError: If a line is no result.
        """
        file.seek(0)
        whole = 0
        with open(file.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                start = b'{"index":%d,"' % self.count
                if not line.startswith(start):
                    raise InputError(
                        f"{self._lines}, line {self.count + 1}: this is not the result of row {self.count}; remove "
                        "this line and all after it, and the same command goes on from there"
                    )
                if line.startswith(b"error", len(start)):
                    self._note_error(json.loads(line))
                self.count += 1
                whole += len(line)
        file.truncate(whole)
        file.seek(0, os.SEEK_END)

    def _take_up_parquet(self) -> None:
        for row in parquet.read(self.path):
            if row["error"] is not None:
                self._note_error({"index": row["index"], "error": {"type": row["error"]}})
            self.count += 1

    def _note_error(self, row: dict[str, Any]) -> None:
        self.errors[row["error"]["type"]] += 1
        if self.first_error is None:
            self.first_error = self.count

    @property
    def finished(self) -> bool:
        """Whether all results are there, in a Parquet file."""
        return self._file is None

    def add(self, lines: Lines) -> None:
        """Adds results, all or none.

        Raises:
            InputError: If they cannot be written; the earlier ones are kept.
        """
        file = self._file
        assert file is not None
        try:
            write_all(file, lines.data)
            if time.monotonic() > self._synced + _SYNC:
                os.fsync(file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            file.truncate(self._end)
            raise self._kept(error) from None
        self._end += len(lines.data)
        if lines.first_error is not None and self.first_error is None:
            self.first_error = self.count + lines.first_error
        self.count += lines.rows
        self.errors.update(lines.errors)

    def finish(self) -> None:
        """Notes that all results are there: they are on the disk, and in the Parquet file if that is asked for.

        Raises:
            InputError: If it cannot be written; the results are kept.
        """
        if self._file is None:
            return
        try:
            os.fsync(self._file.fileno())
            if self._parquet:
                with opened(self.path.parent) as folder, folder.replacing(self.path.name) as file:
                    parquet.write(file, _COLUMNS, self._groups())
                self._folder.remove(self._lines.name)
        except OSError as error:
            raise self._kept(error) from None

    def _groups(self) -> Iterator[list[dict[str, Any]]]:
        rows = self._rows()
        while group := list(islice(rows, _GROUP)):
            yield group

    def _rows(self) -> Iterator[dict[str, Any]]:
        with self._lines.open("rb") as lines:
            for line in lines:
                row = json.loads(line)
                error = row.get("error", {})
                yield {
                    "index": row["index"],
                    "answer": dump_json(row["answer"]) if "answer" in row else None,
                    "error": error.get("type"),
                    "message": error.get("message"),
                    "node": error.get("node"),
                    "doubt": dump_json(row["doubt"]) if "doubt" in row else None,
                }

    def _kept(self, error: OSError) -> InputError:
        kept = f"{self.count:,} results are kept, and the same command goes on from there"
        return InputError(f"{self.path}: {error.strerror or error}; {kept}")

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        self._lock.__exit__(None, None, None)

"""`LineFile`: a JSON Lines file that recorders append to."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, Self

from flowmind.base.errors import InputError
from flowmind.base.files import MAX_LINE, dump_json, parse_json, reading, write_all
from flowmind.base.folders import opened

_BLOCK = 65_536


class LineFile:
    """A file that JSON lines are appended to. A line is in the file when `write` returns, even if the process is
    killed then. The rest of a line that a killed process left is removed.

    Args:
        path: The file; it is made if it does not exist.
        recognises: Whether the first line of an existing file is of the recorder's format.
        format: The name of the format, for errors.
        shared: Whether several processes may append at once.

    Raises:
        InputError: If the file cannot be written, has another format, or another process appends to it.
    """

    def __init__(self, path: Path, recognises: Callable[[Any], bool], format: str, shared: bool = False) -> None:
        self.path = path
        require_format(path, recognises, format)
        try:
            with opened(path.parent, create=True) as folder:
                self._file = folder.append(path.name)
        except OSError as error:
            raise InputError(f"{path}: the file cannot be written: {error.strerror}") from None
        self._lock(shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, value: Any) -> None:
        """Appends a JSON value as one line.

        Raises:
            OSError: If it cannot be written; nothing is appended then.
        """
        size = os.fstat(self._file.fileno()).st_size
        try:
            write_all(self._file, dump_json(value).encode() + b"\n")
        except OSError:
            self._file.truncate(size)
            raise

    def _lock(self, shared: bool) -> None:
        """Locks the file until it is closed. Only a process that is alone repairs the last line."""
        import fcntl  # Unix only

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not shared:
                self._file.close()
                raise InputError(f"{self.path}: another process writes to this file; give another name") from None
        else:
            _drop_unfinished_line(self._file)
        if shared:
            fcntl.flock(self._file, fcntl.LOCK_SH)


def require_format(path: Path, recognises: Callable[[Any], bool], format: str) -> None:
    """Refuses an existing file of another format, so that nothing is appended to it.

    Raises:
        InputError: If the first line of the file is not recognised.
    """
    if not path.exists():
        return
    with reading(path) as file:
        first = next((line for line in iter(lambda: file.readline(MAX_LINE), b"") if line.strip()), b"")
    try:
        known = not first or recognises(parse_json(first.decode()))
    except ValueError:
        known = first.startswith(b"{") and not first.endswith(b"\n")  # an only line, not finished when it was killed
    if not known:
        raise InputError(f"{path}: the file exists and has something else than {format}; give another name")


def _drop_unfinished_line(file: FileIO) -> None:
    """Truncates a file after its last line feed."""
    end = size = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        file.truncate(end)

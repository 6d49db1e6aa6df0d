"""A lock on one run of a journal, for the threads and processes of one host."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import suppress
from pathlib import Path

from flowmind.base.errors import InputError, RunBusy


class RunLock:
    """Holds a run until it is released. The system releases it if the process is killed.

    SQLite makes the lock: it works on every system, between threads as between processes, and a forked process does not
    inherit it.

    Args:
        journal: The file of the journal. The locks are in a folder beside it.
        run: The id of the run.

    Raises:
        InputError: If the folder cannot be written.
        RunBusy: If the run is held elsewhere.
    """

    def __init__(self, journal: Path, run: str) -> None:
        folder = journal.with_name(f"{journal.name}-locks")
        self._path = folder / hashlib.sha256(run.encode()).hexdigest()[:32]
        try:
            folder.mkdir(exist_ok=True)
            while not self._taken():
                pass
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}") from None
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise InputError(f"{folder}: {error}") from None
            raise RunBusy(f"run {run!r} is under way elsewhere") from None

    def _taken(self) -> bool:
        """Takes the lock; false if its file was removed meanwhile by who held it before."""
        self._path.touch()
        before = self._inode
        database = sqlite3.connect(self._path, 0, isolation_level=None, check_same_thread=False)
        try:
            database.execute("begin exclusive")
        except BaseException:
            database.close()
            raise
        if before is None or before != self._inode:
            database.close()
            return False
        self._database = database
        self._held = True
        return True

    @property
    def _inode(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except FileNotFoundError:
            return None

    def release(self) -> None:
        """Gives the run free. A second call does nothing."""
        if not self._held:
            return
        self._held = False
        with suppress(OSError):  # Windows keeps an open file
            self._path.unlink(missing_ok=True)
        self._database.close()

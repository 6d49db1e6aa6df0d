"""Opens, writes and removes files without following symbolic links and without waiting for devices.

A folder that the user names may be a link. A file in it may not, and neither may a folder on the way from `root`, the
folder that the user named, to the file. A file with several hard links is never changed in place.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_RELATIVE = {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
"""Whether the system opens files relative to an open folder, so that nobody can replace the folder meanwhile."""
_STREAMS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Paths of open files, which may be pipes: `flowmind check <(command)`."""
_MOST_BYTES = 200
"""The most bytes of a name; file systems allow 255, and temporary names are longer."""
LINK = "this is a symbolic link, which is not followed"
_SPECIAL = "this is not a regular file"
_PART = re.compile(r"\..+\.\d+\.part")
LOCK = ".lock"
"""The name of the lock file of a folder that one process writes at a time."""


def is_name(text: str) -> bool:
    """Whether a text can be the name of a file: no path, no control character, at most 200 bytes."""
    plain = text.isprintable() and not {"/", "\\"} & set(text)
    return plain and text not in ("", ".", "..") and len(text.encode()) <= _MOST_BYTES


def require_name(text: str) -> str:
    """A text that is part of a file's name.

    Raises:
        ValueError: If it is a path, or no name at all.
    """
    if not is_name(text):
        raise ValueError(f"{text[:80]!r} cannot be the name of a file; use letters, digits, _ and -")
    return text


class Folder:
    """An open folder. The methods take names of files in it.

    Args:
        path: The path of the folder, for errors.
        descriptor: Its descriptor; None where files cannot be opened relative to one.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._at = descriptor

    def open(self, name: str, flags: int) -> int:
        """The descriptor of a regular file; `os.open` explains the flags.

        Raises:
            OSError: If it cannot be opened, or is a link, a pipe or a device.
        """
        self._require_regular(name)
        try:
            descriptor = os.open(self._place(name), flags | _FLAGS, 0o666, dir_fd=self._at)
        except OSError as error:
            raise self._error(name, error) from None
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, _SPECIAL, str(self.path / name))

    def create(self, name: str) -> FileIO:
        """A new file for writing, in place of the one with this name, whose other hard links keep its content.

        Raises:
            OSError: If it cannot be created, or there is a link, a pipe or a device with this name.
        """
        self._require_regular(name)
        self.remove(name)
        return FileIO(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w")

    def append(self, name: str) -> FileIO:
        """A file for reading and for writing at its end. If it has other hard links, it is copied first.

        Raises:
            OSError: If it cannot be opened.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptor = self.open(name, flags)
        if os.fstat(descriptor).st_nlink > 1:
            with FileIO(descriptor, "r") as shared:
                shared.seek(0)
                self.replace(name, shared.readall())
            descriptor = self.open(name, flags)
        return FileIO(descriptor, "a+")

    def replace(self, name: str, data: bytes) -> None:
        """Gives a file another content: it is written under another name and renamed.

        Raises:
            OSError: If it cannot be written.
        """
        with self.replacing(name) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]

    @contextmanager
    def replacing(self, name: str) -> Generator[FileIO]:
        """Yields a new file, which gets the name at the end of the block if that raises nothing.

        Raises:
            OSError: If it cannot be written.
        """
        self._require_regular(name)
        part = f".{name}.{os.getpid()}.part"
        self.remove(part)
        try:
            with self.create(part) as file:
                yield file
                os.fsync(file.fileno())
            os.replace(self._place(part), self._place(name), src_dir_fd=self._at, dst_dir_fd=self._at)
        except BaseException:
            with suppress(OSError):
                self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Removes a file or a link, if there is one.

        Raises:
            OSError: If it cannot be removed.
        """
        with suppress(FileNotFoundError):
            os.unlink(self._place(name), dir_fd=self._at)

    def _require_regular(self, name: str) -> None:
        try:
            mode = os.stat(self._place(name), dir_fd=self._at, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISREG(mode):
            problem = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else LINK if stat.S_ISLNK(mode) else _SPECIAL
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, problem, str(self.path / name))

    def _place(self, name: str) -> str:
        return name if self._at is not None else str(self.path / name)

    def _error(self, name: str, error: OSError) -> OSError:
        problem = LINK if error.errno == errno.ELOOP else error.strerror or str(error)
        return OSError(error.errno, problem, str(self.path / name))


@contextmanager
def opened(folder: Path, root: Path | None = None, create: bool = False) -> Generator[Folder]:
    """Yields a folder; no link is followed below `root`, by default the folder itself.

    Args:
        folder: The folder.
        root: The folder that the user named.
        create: Whether to make the folder, and those above it, if they do not exist.

    Raises:
        OSError: If it cannot be opened, or a folder below `root` is a link.
    """
    root = folder if root is None else root
    if create:
        root.mkdir(parents=True, exist_ok=True)
    place, descriptor = (
        root,
        os.open(root, os.O_RDONLY | os.O_DIRECTORY | _FLAGS & ~os.O_NOFOLLOW) if _RELATIVE else None,
    )
    try:
        for part in folder.relative_to(root).parts:
            inner = _entered(place / part, descriptor, create)
            if descriptor is not None:
                os.close(descriptor)
            place, descriptor = place / part, inner
        yield Folder(place, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _entered(path: Path, above: int | None, create: bool) -> int | None:
    """The descriptor of a folder in an open folder."""
    name = str(path) if above is None else path.name
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
    if stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        raise OSError(errno.ENOTDIR, LINK, str(path))
    try:
        return None if above is None else os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=above)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


@contextmanager
def locked(folder: Path, name: str, wait: bool = False, passing: bool = False) -> Generator[Folder]:
    """Yields a folder whose lock file this process holds; the folder is made if it does not exist.

    Args:
        folder: The folder.
        name: The name of the lock file, whose content is left alone.
        wait: Whether to wait until no other process holds it.
        passing: Whether the lock file is removed at the end.

    Raises:
        BlockingIOError: If it is held elsewhere.
        OSError: If it cannot be opened.
    """
    import fcntl  # Unix only

    while True:
        with opened(folder, create=True) as place, FileIO(place.open(name, os.O_RDWR | os.O_CREAT), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if passing and not os.fstat(file.fileno()).st_nlink:  # its holder has removed it meanwhile
                continue
            try:
                yield place
            finally:
                if passing:
                    place.remove(name)
            return


def open_to_read(path: Path) -> FileIO:
    """A file for reading. Links are followed; a pipe or a device is refused, unless it is an open file of this process.

    Raises:
        OSError: If it cannot be opened, or is no regular file.
        ValueError: If the path has a NUL.
    """
    stream = _STREAMS.fullmatch(str(path)) is not None
    wait = getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDONLY | (0 if stream else wait) | _FLAGS & ~(wait | getattr(os, "O_NOFOLLOW", 0)))
    mode = os.fstat(descriptor).st_mode
    if stream or stat.S_ISREG(mode):
        return FileIO(descriptor, "r")
    os.close(descriptor)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, os.strerror(code) if stat.S_ISDIR(mode) else _SPECIAL, str(path))


def sweep(folder: Path) -> None:
    """Removes the unfinished files that `Folder.replacing` left in a folder and below when its process was killed.

    Folders below that have a lock file belong to other processes and are left alone.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.lexists(Path(place, name, LOCK))]
        parts = [name for name in names if _PART.fullmatch(name)]
        if parts:
            with opened(Path(place), root=folder) as inner:
                for name in parts:
                    inner.remove(name)

"""What a process on Linux can do to itself so that code in it can do little: namespaces, an empty root, Landlock,
seccomp, limits. Each piece is used where the system offers it, and says so.

`enter` is for a parent of workers, once all its modules are loaded; `lock` for each worker. Both need a process with
one thread. Standard library only, by ctypes: the process that calls it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from tools_registry.sandbox import seccomp

Found = dict[str, str]
"""For each layer `on`, with a detail behind it perhaps, or `off: ` and the reason."""

NOBODY = 65_534

_NEW_MOUNTS, _NEW_HOST_NAME, _NEW_IPC, _NEW_USER, _NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_NAMESPACES = {"mount namespace": _NEW_MOUNTS, "network namespace": _NEW_NET, "ipc namespace": _NEW_IPC,
               "host name namespace": _NEW_HOST_NAME}  # fmt: skip
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _RECURSIVE, _PRIVATE, _READ_ONLY = 2, 4, 8, 16384, 1 << 18, 1
_DETACH = 2
_DEATH_SIGNAL, _DUMPABLE, _SECCOMP, _DROP_BOUND, _NO_NEW_PRIVILEGES = 1, 4, 22, 24, 38
_SECCOMP_FILTER = 2
_CAPABILITIES_3 = 0x20080522
_NUMBERS = {
    "x86_64": {"pivot_root": 155, "capset": 126},
    "aarch64": {"pivot_root": 41, "capset": 91},
}
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446

LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True)


def enter() -> Found:
    """Leaves the user, the network, the files and the rights of this process behind, for good.

    A superuser becomes nobody. Open descriptors stay open; files can no longer be opened, so that whatever may be
    imported has to be imported before.
    """
    if not LINUX:
        return dict.fromkeys(("user", *_NAMESPACES, "empty root"), f"off: {sys.platform} has none")
    found: Found = {}
    root = os.geteuid() == 0
    mine = root and _try(found, _NAMESPACES, lambda: _unshare(sum(_NAMESPACES.values())))
    if mine:
        _try(found, ["empty root"], _empty_root)
    if root:
        _try(found, ["user"], _become_nobody)
    if _try(found, ["user namespace"], _new_user) and not mine:
        mine = _try(found, _NAMESPACES, lambda: _unshare(sum(_NAMESPACES.values())))
        if mine:
            _try(found, ["empty root"], _empty_root)
    if not mine:
        found.setdefault("empty root", "off: needs a mount namespace")
    found.setdefault("user", "on")
    _try(found, ["no capabilities"], _drop_capabilities)
    return found


def lock(memory_mb: int, seconds: int, parent: int) -> Found:
    """Limits this process, ties its life to its parent's, and takes away all calls to the system but a few.

    Args:
        memory_mb: Address space, megabytes.
        seconds: Processor time of its whole life.
        parent: The process that must still be the parent; otherwise this one ends at once.
    """
    found = limit(memory_mb, seconds)
    if not LINUX:
        return {**found, **dict.fromkeys(("dies with its parent", "landlock", "seccomp"), "off: needs Linux")}
    _try(found, ["dies with its parent"], lambda: _control(_DEATH_SIGNAL, signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    _try(found, ["no new privileges"], lambda: _control(_NO_NEW_PRIVILEGES, 1))
    _landlock(found)
    _filter(found)
    return found


def limit(memory_mb: int, seconds: int) -> Found:
    """Sets the limits of this process: memory, processor time of its life, files, core dumps, processes."""
    size = memory_mb * 1_000_000
    wanted = [("AS", size), ("CPU", seconds), ("FSIZE", 0), ("CORE", 0), ("NOFILE", 16), ("NPROC", 0)]
    refused: list[str] = []
    for name, most in wanted:
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        except (AttributeError, ValueError, OSError):
            refused.append(name)
    return {"limits": f"off: the system refuses RLIMIT_{', RLIMIT_'.join(refused)}" if refused else "on"}


def _try(found: Found, layers: list[str] | dict[str, int], step: Callable[[], None]) -> bool:
    try:
        step()
    except (OSError, AttributeError, KeyError) as error:
        found.update(dict.fromkeys(layers, f"off: {error}"))
        return False
    found.update(dict.fromkeys(layers, "on"))
    return True


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _system(number: int, what: str, *arguments: object) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def _control(option: int, value: int) -> None:
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), "prctl")


def _unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _control(_DUMPABLE, 1)  # a change of user hides /proc/self, where the maps of a new user namespace are written


def _new_user() -> None:
    user, group = os.geteuid(), os.getegid()
    _unshare(_NEW_USER)
    with contextlib.suppress(OSError):  # an empty root has no /proc; the namespace needs no map
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def _empty_root() -> None:
    """Makes an empty, read-only file system the root, and lets go of the old one."""
    place = next(path for path in ("/tmp", "/var", "/usr", "/etc", "/dev") if Path(path).is_dir()).encode()
    flags = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
    _checked(_libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None), "mount")
    options = b"size=4096,nr_inodes=2,mode=0555"
    _checked(_libc.mount(b"none", place, b"tmpfs", ctypes.c_ulong(flags | _READ_ONLY), options), "mount")
    os.chdir(place)
    _system(_NUMBERS[platform.machine()]["pivot_root"], "pivot_root", b".", b".")
    _checked(_libc.umount2(b".", _DETACH), "umount")
    os.chdir("/")


def _drop_capabilities() -> None:
    capability = 0
    while _libc.prctl(_DROP_BOUND, ctypes.c_ulong(capability), 0, 0, 0) == 0:
        capability += 1
    header, data = struct.pack("=Ii", _CAPABILITIES_3, 0), bytes(24)
    _system(_NUMBERS[platform.machine()]["capset"], "capset", header, data)


def _landlock(found: Found) -> None:
    """Denies all that Landlock of this kernel can deny: files, TCP, signals and abstract sockets to outside."""
    version = _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        found["landlock"] = f"off: {os.strerror(ctypes.get_errno())}"
        return
    rights = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    attributes = [(1 << rights) - 1]
    if version >= 4:
        attributes.append(0b11)
    if version >= 6:
        attributes.append(0b11)
    rules = struct.pack(f"={len(attributes)}Q", *attributes)

    def restrict() -> None:
        made = _system(_LANDLOCK_CREATE, "landlock", rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
        try:
            _system(_LANDLOCK_RESTRICT, "landlock", ctypes.c_int(made), ctypes.c_uint(0))
        finally:
            os.close(made)

    if _try(found, ["landlock"], restrict):
        found["landlock"] = f"on: ABI {version}"


def _filter(found: Found) -> None:
    instructions = seccomp.program(platform.machine()) if sys.byteorder == "little" else None
    if instructions is None:
        found["seccomp"] = f"off: no table for {platform.machine()}"
        return
    held = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(held))
    _try(found, ["seccomp"], lambda: _install(program))


def _install(program: bytes) -> None:
    _checked(_libc.prctl(_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), program, 0, 0), "seccomp")

"""Isolation of a Linux process by itself: namespaces, an empty root, Landlock, seccomp, limits.

Each layer is used if the system supports it, and reported. `enter` is for the parent of the workers, after all its
modules are loaded; `lock` is for each worker. Both need a process with one thread. The module uses ctypes and the
standard library only, so that workers start within milliseconds.
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

Layers = dict[str, str]
"""For each layer `on`, optionally with a detail, or `off: ` and the reason."""

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


def enter() -> Layers:
    """Gives up the user, the network, the files and the capabilities of this process permanently.

    Root becomes nobody. Open descriptors stay open. Files can no longer be opened, so all modules must be imported
    before.
    """
    if not LINUX:
        return dict.fromkeys(("user", *_NAMESPACES, "empty root"), f"off: {sys.platform} has none")
    layers: Layers = {}
    root = os.geteuid() == 0
    separate = root and _separate(layers)
    if root:
        _try(layers, ["user"], _become_nobody)
    if _try(layers, ["user namespace"], _new_user) and not separate:
        separate = _separate(layers)
    if not separate:
        layers.setdefault("empty root", "off: needs a mount namespace")
    layers.setdefault("user", "on")
    _try(layers, ["no capabilities"], _drop_capabilities)
    return layers


def _separate(layers: Layers) -> bool:
    """Enters new namespaces and an empty root; whether the namespaces are new."""
    separate = _try(layers, _NAMESPACES, lambda: _unshare(sum(_NAMESPACES.values())))
    if separate:
        _try(layers, ["empty root"], _empty_root)
    return separate


def lock(memory_mb: int, seconds: int, parent: int) -> Layers:
    """Limits this process, binds its life to its parent's, and denies itself all but a few system calls.

    Args:
        memory_mb: Address space in megabytes.
        seconds: Processor time of its whole life.
        parent: The process id of the parent. If the parent has ended already, this process exits.
    """
    layers = limit(memory_mb, seconds)
    if not LINUX:
        return {**layers, **dict.fromkeys(("dies with its parent", "landlock", "seccomp"), "off: needs Linux")}
    _try(layers, ["dies with its parent"], lambda: _control(_DEATH_SIGNAL, signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    _try(layers, ["no new privileges"], lambda: _control(_NO_NEW_PRIVILEGES, 1))
    _landlock(layers)
    _filter(layers)
    return layers


def limit(memory_mb: int, seconds: int) -> Layers:
    """Sets the limits of this process: memory, processor time of its life, files, core dumps, processes."""
    size = memory_mb * 1_000_000
    limits = [("AS", size), ("CPU", seconds), ("FSIZE", 0), ("CORE", 0), ("NOFILE", 16), ("NPROC", 0)]
    refused: list[str] = []
    for name, maximum in limits:
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (maximum, maximum))
        except (AttributeError, ValueError, OSError):
            refused.append(name)
    return {"limits": f"off: the system refuses RLIMIT_{', RLIMIT_'.join(refused)}" if refused else "on"}


def _try(layers: Layers, names: list[str] | dict[str, int], step: Callable[[], None]) -> bool:
    """Performs a step and records whether its layers are on."""
    try:
        step()
    except (OSError, AttributeError, KeyError) as error:
        layers.update(dict.fromkeys(names, f"off: {error}"))
        return False
    layers.update(dict.fromkeys(names, "on"))
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
    _control(_DUMPABLE, 1)  # after a change of user, /proc/self with the maps of a new user namespace is not writable


def _new_user() -> None:
    user, group = os.geteuid(), os.getegid()
    _unshare(_NEW_USER)
    with contextlib.suppress(OSError):  # an empty root has no /proc; the namespace works without a map
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def _empty_root() -> None:
    """Makes an empty, read-only file system the root, and unmounts the old one."""
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


def _landlock(layers: Layers) -> None:
    """Denies everything that this kernel's Landlock can deny: files, TCP, signals and abstract sockets."""
    version = _libc.syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        layers["landlock"] = f"off: {os.strerror(ctypes.get_errno())}"
        return
    rights = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    attributes = [(1 << rights) - 1]
    if version >= 4:
        attributes.append(0b11)
    if version >= 6:
        attributes.append(0b11)
    rules = struct.pack(f"={len(attributes)}Q", *attributes)

    def restrict() -> None:
        ruleset = _system(_LANDLOCK_CREATE, "landlock", rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
        try:
            _system(_LANDLOCK_RESTRICT, "landlock", ctypes.c_int(ruleset), ctypes.c_uint(0))
        finally:
            os.close(ruleset)

    if _try(layers, ["landlock"], restrict):
        layers["landlock"] = f"on: ABI {version}"


def _filter(layers: Layers) -> None:
    instructions = seccomp.program(platform.machine()) if sys.byteorder == "little" else None
    if instructions is None:
        layers["seccomp"] = f"off: no table for {platform.machine()}"
        return
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(buffer))
    _try(layers, ["seccomp"], lambda: _install(program))


def _install(program: bytes) -> None:
    _checked(_libc.prctl(_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), program, 0, 0), "seccomp")

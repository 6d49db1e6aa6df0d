"""Runs a command as in a container that denies namespaces, mounts, Landlock and further seccomp filters.

    python tests/weak_machine.py COMMAND...

A seccomp filter is installed, then the command is executed under it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

_NUMBERS = {
    "x86_64": {"unshare": 272, "mount": 165, "seccomp": 317, "prctl": 157},
    "aarch64": {"unshare": 97, "mount": 40, "seccomp": 277, "prctl": 167},
}
_LANDLOCK = 444
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_SECCOMP = 38, 22


def program() -> bytes:
    """The filter: an error for the denied calls, everything else is allowed."""
    numbers = _NUMBERS[platform.machine()]
    denied = {**{numbers[name]: errno.EPERM for name in ("unshare", "mount", "seccomp")}, _LANDLOCK: errno.ENOSYS}
    steps = [(_LOAD, 0, 0, 0)]
    for number, error in denied.items():
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    steps += [(_EQUAL, 1, 0, numbers["prctl"]), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 16)]
    steps += [(_EQUAL, 0, 1, _SET_SECCOMP), (_RETURN, 0, 0, _ERROR | errno.EINVAL), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def install() -> None:
    """Installs the filter for this process and all that it starts.

    Raises:
        OSError: If the system refuses it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = program()
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    filters = struct.pack("@HP", len(instructions) // 8, ctypes.addressof(buffer))
    for option, value in ((_NO_NEW_PRIVILEGES, ctypes.c_ulong(1)), (_SET_SECCOMP, ctypes.c_ulong(2))):
        if libc.prctl(option, value, filters if option == _SET_SECCOMP else 0, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    install()
    os.execv(sys.argv[1], sys.argv[1:])

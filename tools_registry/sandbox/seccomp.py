"""A seccomp allow-list for a process that only computes and uses one open socket.

The filter is a classic BPF program (kernel documentation, userspace-api/seccomp_filter). All other system calls fail
with EPERM, and memory cannot be made executable. There are tables for x86-64 and aarch64; the first instructions kill
the process for any other calling convention, including x32.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from typing import NamedTuple

_LD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_NUMBER, _ARCHITECTURE, _THIRD_ARGUMENT = 0, 4, 32
"""Offsets in `struct seccomp_data`. For the argument: of its low word, on little-endian machines."""
_PROT_EXEC = 4


class Architecture(NamedTuple):
    """A calling convention: its audit number, and the allowed system calls with their numbers."""

    audit: int
    calls: dict[str, int]
    first_foreign: int | None = None
    """The first number that belongs to another convention."""


ARCHITECTURES: dict[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
            "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25,
            "madvise": 28, "nanosleep": 35, "setitimer": 38, "getpid": 39, "exit": 60, "gettimeofday": 96,
            "getrusage": 98, "times": 100, "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202,
            "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
            "exit_group": 231, "getrandom": 318,
        },
        0x40000000,
    ),
    "aarch64": Architecture(
        0xC00000B7,
        {
            "close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98,
            "nanosleep": 101, "setitimer": 103, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
            "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
            "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "getrusage": 165, "gettimeofday": 169,
            "getpid": 172, "gettid": 178, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226,
            "madvise": 233, "getrandom": 278,
        },
    ),
}  # fmt: skip
_MEMORY = ("mmap", "mprotect")


def program(machine: str) -> bytes | None:
    """The filter for a machine (`platform.machine()`), an array of `struct sock_filter`; None if it has no table."""
    if machine not in ARCHITECTURES:
        return None
    architecture = ARCHITECTURES[machine]
    plain = sorted(number for name, number in architecture.calls.items() if name not in _MEMORY)
    memory = sorted(architecture.calls[name] for name in _MEMORY)
    start = [
        (_LD_WORD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL),
        (_LD_WORD, 0, 0, _NUMBER),
    ]
    if architecture.first_foreign is not None:
        start += [(_JUMP_AT_LEAST, 0, 1, architecture.first_foreign), (_RETURN, 0, 0, _KILL)]
    tail = [
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
        (_LD_WORD, 0, 0, _THIRD_ARGUMENT),
        (_JUMP_ANY_BIT, 0, 1, _PROT_EXEC),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return _packed([*start, *_jumps(memory, plain), *tail])


def _jumps(memory: Sequence[int], plain: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """A comparison for each call. Behind them, the tail refuses (0), allows (1), or checks the third argument (2)."""
    targets = [*((number, 2) for number in memory), *((number, 1) for number in plain)]
    last = len(targets) - 1
    return [(_JUMP_EQUAL, last - place + target, 0, number) for place, (number, target) in enumerate(targets)]


def _packed(instructions: Sequence[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)

"""The filter of system calls, interpreted for both machines."""

import errno
import struct

import pytest

from tools_registry.sandbox import seccomp

ALLOWED, REFUSED, KILLED = "allowed", "refused", "killed"
X86, ARM = 0xC000003E, 0xC00000B7
AUDIT = {"x86_64": X86, "aarch64": ARM}


def decide(machine: str, audit: int, number: int, third: int = 0) -> str:
    """The decision of the filter on a call, by an interpreter for its instructions."""
    held = seccomp.program(machine)
    assert held is not None
    instructions = list(struct.iter_unpack("=HBBI", held))
    data = struct.pack("=iIQ6Q", number - (1 << 32) if number >= 1 << 31 else number, audit, 0, 1, 2, third, 4, 5, 6)
    place, word = 0, 0
    while True:
        code, yes, no, operand = instructions[place]
        place += 1
        match code:
            case 0x20:
                (word,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                place += yes if word == operand else no
            case 0x35:
                place += yes if word >= operand else no
            case 0x45:
                place += yes if word & operand else no
            case 0x06:
                return {0x7FFF0000: ALLOWED, 0x00050000 | errno.EPERM: REFUSED, 0x80000000: KILLED}[operand]
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.mark.parametrize("machine", AUDIT)
def test_what_is_listed_is_allowed_and_all_else_refused(machine: str) -> None:
    allowed = set(seccomp.ARCHITECTURES[machine].calls.values())
    seen = {number: decide(machine, AUDIT[machine], number) for number in range(600)}
    assert {number for number, said in seen.items() if said == ALLOWED} == allowed
    assert set(seen.values()) == {ALLOWED, REFUSED}


@pytest.mark.parametrize(
    ("machine", "name", "number"),
    [
        ("x86_64", "open", 2), ("x86_64", "openat", 257), ("x86_64", "socket", 41), ("x86_64", "connect", 42),
        ("x86_64", "clone", 56), ("x86_64", "fork", 57), ("x86_64", "execve", 59), ("x86_64", "kill", 62),
        ("x86_64", "ptrace", 101), ("x86_64", "io_uring_setup", 425), ("x86_64", "clone3", 435),
        ("x86_64", "process_vm_writev", 311), ("x86_64", "memfd_create", 319), ("x86_64", "recvmsg", 47),
        ("aarch64", "openat", 56), ("aarch64", "socket", 198), ("aarch64", "connect", 203), ("aarch64", "clone", 220),
        ("aarch64", "execve", 221), ("aarch64", "kill", 129), ("aarch64", "ptrace", 117), ("aarch64", "clone3", 435),
        ("aarch64", "io_uring_setup", 425), ("aarch64", "memfd_create", 279), ("aarch64", "recvmsg", 212),
    ],
)  # fmt: skip
def test_calls_that_reach_outside_are_refused(machine: str, name: str, number: int) -> None:
    assert name not in seccomp.ARCHITECTURES[machine].calls
    assert decide(machine, AUDIT[machine], number) == REFUSED


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize("name", ["mmap", "mprotect"])
def test_memory_cannot_be_made_executable(machine: str, name: str) -> None:
    number = seccomp.ARCHITECTURES[machine].calls[name]
    assert [decide(machine, AUDIT[machine], number, rights) for rights in range(8)] == [ALLOWED] * 4 + [REFUSED] * 4


@pytest.mark.parametrize("machine", AUDIT)
def test_another_calling_convention_is_the_end(machine: str) -> None:
    other = ARM if machine == "x86_64" else X86
    assert decide(machine, other, 0) == KILLED
    assert decide(machine, 0x40000003, 3) == KILLED  # 32-bit x86


def test_the_second_convention_of_x86_is_the_end_too() -> None:
    x32 = 0x40000000
    assert [decide("x86_64", X86, x32 + number) for number in (0, 1, 2, 59)] == [KILLED] * 4


def test_a_machine_without_a_table_has_no_filter() -> None:
    assert seccomp.program("riscv64") is None

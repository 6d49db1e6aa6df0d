"""Runs programs, each in a forked and confined child, and shrinks those that an oracle reports."""

from __future__ import annotations

import ast
import faulthandler
import functools
import mmap
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tools_registry.attack.inventory import Inventory
from tools_registry.attack.oracles import Hit, Judge, State
from tools_registry.attack.programs import Program
from tools_registry.sandbox import confine
from tools_registry.sandbox.language import policy
from tools_registry.specs.schema import type_of
from tools_registry.specs.values import failure

_SLOW = 0.25
"""Seconds after which an attempt is interrupted."""
_STUCK = 1.0
"""Seconds of processor time after which the child of an attempt is killed; loops in C cannot be interrupted."""
_MEMORY_MB = 700
TWINS = "another result"
"""The oracle that compares two runs."""
_PATIENCE = 20.0
COUNTERS = ("refused", "raised", "ran", "killed")
_REFUSED, _RAISED, _RAN, _KILLED = range(4)

_LATER = """
import math, json, re, decimal, random, string, collections, enum, dataclasses, typing, statistics, fractions
import datetime, itertools, functools, textwrap, copy, operator, abc
class Shape(typing.Protocol):
    pass
class Plain:
    pass
class Base(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Word(enum.StrEnum):
    A = "a"
class Pair(typing.NamedTuple):
    x: int
    y: int = 2
@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)
def attempt(function):
    try:
        return str(function())
    except Exception as error:
        return repr(type(error)) + str(error.args)
def tool():
    parts = [
        lambda: math.sqrt(16) + math.pi, lambda: json.loads(json.dumps({"a": [1, 2.5, None]})), lambda: json.dumps(len),
        lambda: re.sub("(b+)", "<\\\\1>", "abbc") + re.escape("a.b"), lambda: decimal.Decimal(1) / decimal.Decimal(3),
        lambda: random.random(), lambda: random.sample(range(9), 3), lambda: string.Template("a $x").substitute(x=1),
        lambda: collections.Counter("abca").most_common(),
        lambda: (Color.RED, list(Color), Color(2), Color["BLUE"].name),
        lambda: Word.A + "b", lambda: Pair(1)._replace(x=5), lambda: Point(1) < Point(2),
        lambda: dataclasses.asdict(Point(3)),
        lambda: statistics.mean([1, 2, 4]), lambda: fractions.Fraction(3, 6), lambda: datetime.datetime.now(),
        lambda: datetime.datetime.strptime("2020", "%Y"), lambda: list(itertools.chain("ab", "c")),
        lambda: Shape().area(),
        lambda: functools.reduce(operator.add, [1, 2]), lambda: textwrap.fill("a b c", 2), lambda: copy.deepcopy([{1}]),
        lambda: hash(Plain()), lambda: Plain(), lambda: Base(), lambda: hash("a"), lambda: [].index(2),
        lambda: repr(1.5) + format(3, "05d") + "%s" % "x" + f"{2!r}", lambda: sorted(["b", "a"], key=str.lower),
        lambda: collections.namedtuple("N", "a b")(1, 2), lambda: enum.Enum("E", "A B").A,
        lambda: int("12") + len("ab"),
        lambda: collections.OrderedDict(a=1), lambda: collections.ChainMap({"a": 1})["a"], lambda: {**{"a": 1}},
    ]
    return [attempt(part) for part in parts]
"""
"""A later case: what it gives must not depend on what ran before."""


class Outcome(NamedTuple):
    """What a child reported."""

    hits: tuple[tuple[int, Hit], ...]
    """Each with the number of its attempt; -1 for the state after all of them."""
    results: dict[int, str]
    """The results of attempts as texts that contain no objects, if they were asked for."""
    counts: tuple[int, ...]
    """As `COUNTERS`."""


class Runner:
    """Runs programs.

    Args:
        inventory: What can be reached. It must have been enumerated in this process.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.judge = Judge(inventory)
        self._later = policy.compile_tools(_LATER, "later").code
        self._alone = self._run_later()
        self._alone = self._run_later()  # caches are full now
        self._state = State()
        self._shared = mmap.mmap(-1, 8 * (len(COUNTERS) + 1))
        self._cells = memoryview(self._shared).cast("Q")

    def run(self, program: Program, shift: bool | None = None, state: bool = True) -> Outcome:
        """Runs a program; after an attempt that killed its child, the following ones in another.

        Args:
            program: The program.
            shift: Also report results, with objects at other addresses if True.
            state: Also compare the state of the host and a later case.
        """
        for cell in range(len(self._cells)):
            self._cells[cell] = 0
        hits: list[tuple[int, Hit]] = []
        results: dict[int, str] = {}
        start = 0
        while start < len(program.attempts):
            status, lines = self._in_child(program, start, shift, state)
            for number, oracle, text in lines:
                if oracle:
                    hits.append((number, Hit(oracle, text)))
                else:
                    results[number] = text
            if status == 0:
                break
            start = self._cells[-1] + 1
            self._cells[_KILLED] += 1
            if -status in (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGBUS, signal.SIGFPE):
                hits.append((start - 1, Hit("crash", signal.Signals(-status).name)))
        return Outcome(tuple(hits), results, tuple(self._cells[: len(COUNTERS)]))

    def differences(self, program: Program, outcome: Outcome) -> Iterator[tuple[int, Hit]]:
        """The attempts of which a second run, with objects at other addresses, gives another result."""
        again = self.run(program, shift=True, state=False).results
        for number in sorted(again.keys() & outcome.results.keys()):
            if again[number] != outcome.results[number]:
                yield number, Hit(TWINS, f"{outcome.results[number]:.40} and {again[number]:.40}")

    def _in_child(
        self, program: Program, start: int, shift: bool | None, state: bool
    ) -> tuple[int, list[tuple[int, str, str]]]:
        reader, writer = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                confine_to = functools.partial(confine.lock, _MEMORY_MB, int(_PATIENCE), parent)
                steps = self._child(program, start, shift, writer, confine_to)
                if state:
                    self._after(steps)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writer)
        text = _read_all(reader, time.monotonic() + _PATIENCE)
        os.close(reader)
        if text is None:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status, [ast.literal_eval(line) for line in (text or b"").decode().splitlines()]

    def _child(
        self, program: Program, start: int, shift: bool | None, writer: int, lock: Callable[[], object]
    ) -> _Steps:
        junk = [bytearray(size % 500) for size in range(30_000)] if shift else []
        steps = _Steps(program, self.judge, self._cells, writer)
        faulthandler.disable()
        lock()
        steps.execute(start, shift is not None)
        del junk
        return steps

    def _after(self, steps: _Steps) -> None:
        """Compares the state of the host, and what a later case gives."""
        policy.begin_case()
        for name in self._state.changed()[:3]:
            steps.report(-1, Hit("changed state", name))
        if (later := self._run_later()) != self._alone:
            different = [ours for ours, theirs in zip(later, self._alone, strict=False) if ours != theirs] or later
            steps.report(-1, Hit("later case", str(different[0])[:80]))

    def _run_later(self) -> list[str]:
        try:
            scope = policy.namespace()
            exec(self._later, scope)
            return scope["tool"]()
        except Exception as error:
            return [type_of(error).__name__]


def _read_all(reader: int, deadline: float) -> bytes | None:
    """The text until the end of a pipe; None if it does not end in time."""
    parts: list[bytes] = []
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not (part := os.read(reader, 1 << 16)):
            return b"".join(parts)
        parts.append(part)
    return None


@functools.cache
def _compiled(head: str) -> Any:
    return policy.compile_tools(head).code


class _Slow(Exception):
    pass


_RETURNS: dict[str, Any] = {
    "__len__": 1, "__index__": 1, "__int__": 1, "__hash__": 1, "__bool__": True, "__eq__": True, "__lt__": True,
    "__str__": "s", "__repr__": "r", "__format__": "f", "__float__": 1.0, "__exit__": True, "__init__": None,
    "__contains__": True, "__getitem__": 1, "__setitem__": None, "__delitem__": None, "__post_init__": None,
}  # fmt: skip


class _Steps:
    """The attempts of a program, in the child."""

    def __init__(self, program: Program, judge: Judge, cells: memoryview, writer: int) -> None:
        self._program = program
        self._judge = judge
        self._cells = cells
        self._writer = writer
        self._number = -1
        self._known: set[tuple[int, Hit]] = set()
        self._interrupted = False
        """Whether the attempt was interrupted; a tool may have caught that, and its result depends on time."""
        self._scope = policy.namespace()
        judge.begin(self._scope)

    def execute(self, start: int, results: bool) -> None:
        signal.signal(signal.SIGALRM, self._interrupt)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        head, *parts = self._program.parts()
        exec(_compiled(head), self._scope)
        self._scope["note"] = self._note
        definitions = len(self._program.definitions)
        for number, part in enumerate(parts, -definitions):
            if 0 <= number < start:
                continue
            self._number = max(number, 0)
            self._cells[-1] = self._number
            self._interrupted = False
            signal.setitimer(signal.ITIMER_PROF, _STUCK)
            signal.setitimer(
                signal.ITIMER_REAL, _SLOW if number >= 0 else 20 * _SLOW
            )  # a class that is missing changes later results
            try:
                text = self._step(part, number)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Slow:
                continue
            except BaseException as error:
                signal.setitimer(signal.ITIMER_REAL, 0)
                self.report(self._number, Hit("host exception", f"{type_of(error).__name__} leaves the tool"))
                continue
            if results and number >= 0 and not self._interrupted:
                os.write(self._writer, f"{(number, '', text)!r}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _interrupt(self, number: int, frame: Any) -> None:
        self._interrupted = True
        raise _Slow

    def report(self, number: int, hit: Hit) -> None:
        if (number, hit) not in self._known:
            self._known.add((number, hit))
            os.write(self._writer, f"{(number, *hit)!r}\n".encode("utf-8", "replace"))

    def _step(self, part: str, number: int) -> str:
        """Compiles and executes a part, and calls it if it is an attempt. Returns its result as text."""
        try:
            exec(policy.compile_tools(part).code, self._scope)
        except policy.RefusedSource:
            self._cells[_REFUSED] += number >= 0
            return "refused"
        except _Slow:
            raise
        except Exception as error:
            return self._see_error(error)
        if number < 0:
            return ""
        try:
            value = self._scope[f"steps{number}"]()
        except _Slow:
            raise
        except Exception as error:
            self._cells[_RAISED] += 1
            return self._see_error(error)
        self._cells[_RAN] += 1
        self._see(value)
        return _text(value)

    def _see(self, value: Any) -> None:
        if (hit := self._judge.hit(value)) is not None:
            self.report(self._number, hit)

    def _see_error(self, error: Exception) -> str:
        """Judges what tool code can read of an error, and its message, which the owner gets."""
        self._see(error)
        message = failure(error).message
        if self._judge.hit(message) is not None:
            self.report(self._number, Hit("address", "in a message"))
            return type_of(error).__name__
        return message

    def _note(self, name: str = "", values: Any = (), named: Any = None) -> Any:
        self._see((values, named))
        if name in _RETURNS:
            return _RETURNS[name]
        return iter(()) if name == "__iter__" else values


def _text(value: Any, level: int = 0) -> str:
    """A value as a text without objects; the order of sets of objects is not promised."""
    kind = type_of(value)
    if value is None or kind in (str, int, float, bool, bytes):
        return repr(value)[:200]
    if kind in (list, tuple, set, frozenset, dict) and level < 3:
        parts = [_text(part, level + 1) for part in (value.items() if kind is dict else value)]
        return f"{kind.__name__}({', '.join(sorted(parts) if kind in (set, frozenset) else parts)})"
    return kind.__name__

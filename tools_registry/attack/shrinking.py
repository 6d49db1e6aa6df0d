"""Makes programs in which an oracle reported something smaller, as long as it still reports it."""

from __future__ import annotations

import ast
import contextlib
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from tools_registry.attack.oracles import Hit
from tools_registry.attack.programs import ATTEMPTS, Program
from tools_registry.attack.rounds import TWINS, Runner

_TRIES = 60
"""Runs for shrinking a program."""


class Finding(NamedTuple):
    """A hole."""

    oracle: str
    detail: str
    primitive: str
    """The call or the operation that remains after shrinking."""
    source: str

    @property
    def root(self) -> str:
        """The name of the group of findings to which this one belongs."""
        if self.detail == "in a message":
            return f"{self.oracle} {self.detail}"
        what = f"{self.oracle}: {self.detail}" if self.oracle in _NAMED else self.oracle
        return f"{what} · {self.primitive}"


_NAMED = {"host object", "host function", "host method", "host exception", "host class", "crash"}
"""Oracles whose detail tells one root from another."""


def shrink(runner: Runner, program: Program, number: int, hit: Hit, deadline: float) -> Finding:
    """The smallest program that was reached within `_TRIES` runs in which the oracle says the same.

    Args:
        runner: Runs the candidates.
        program: A program in which the oracle said it.
        number: The attempt, or -1.
        hit: What the oracle said.
        deadline: The monotonic time after which nothing more is tried.
    """
    search = _Search(runner, hit, number < 0, deadline)
    if number >= 0 and search.shows(alone := program._replace(attempts=(program.attempts[number],))):
        program = alone
    else:
        program = _without(program, "attempts", search)
    if len(program.attempts) == 1:
        program = _simpler_attempt(program, search)
    program = _without(program, "definitions", search)
    for place in range(len(program.definitions)):
        program = _simpler_definition(program, place, search)
    return Finding(*hit, primitive(program.attempts[-1]), "".join(program.parts()[1:]))


class _Search:
    """Whether an oracle says the same about smaller programs, within `_TRIES` runs."""

    def __init__(self, runner: Runner, hit: Hit, state: bool, deadline: float) -> None:
        self._runner, self._hit, self._state, self._deadline = runner, hit, state, deadline
        self._left = _TRIES

    def showing(self, program: Program) -> set[int]:
        """The numbers of the attempts about which the oracle says the same; -1 for all of them together."""
        if self._left <= 0 or time.monotonic() > self._deadline:
            return set()
        self._left -= 1
        outcome = self._runner.run(program, shift=False if self._hit.oracle == TWINS else None, state=self._state)
        if self._hit.oracle == TWINS:
            return {number for number, _ in self._runner.differences(program, outcome)}
        return {number for number, hit in outcome.hits if hit == self._hit and (number < 0) == self._state}

    def shows(self, program: Program) -> bool:
        """Whether the oracle says the same about a program."""
        return bool(self.showing(program))

    def first(self, program: Program, attempts: list[str]) -> str | None:
        """The first of some attempts that shows the same, in place of those of the program."""
        if self._state:
            return next((text for text in attempts if self.shows(program._replace(attempts=(text,)))), None)
        for start in range(0, len(attempts), ATTEMPTS):
            some = tuple(attempts[start : start + ATTEMPTS])
            for number in sorted(self.showing(program._replace(attempts=some))):
                if self.shows(program._replace(attempts=(some[number],))):
                    return some[number]
        return None


def _without(program: Program, field: str, search: _Search) -> Program:
    """The program without the parts that are not needed; leaves out halves first."""
    parts: tuple[str, ...] = getattr(program, field)
    size = max(1, len(parts) // 2)
    while size and len(parts) > (field == "attempts"):
        for start in range(0, len(parts), size):
            rest = parts[:start] + parts[start + size :]
            if (rest or field == "definitions") and search.shows(program._replace(**{field: rest})):
                parts = rest
                break
        else:
            size //= 2
    return program._replace(**{field: parts})


def _simpler_attempt(program: Program, search: _Search) -> Program:
    """The program with simpler statements and expressions in its only attempt."""
    while True:
        text = program.attempts[0]
        shorter = {simple for simple in _simplifications(text, whole=True) if len(simple) < len(text)}
        simple = search.first(program, sorted(shorter, key=lambda simple: (len(simple), simple)))
        if simple is None:
            return program
        program = program._replace(attempts=(simple,))


def _simpler_definition(program: Program, place: int, search: _Search) -> Program:
    """The program with fewer statements in one of its definitions."""
    before, text, after = program.definitions[:place], program.definitions[place], program.definitions[place + 1 :]
    for simple in _simplifications(text, whole=False):
        smaller = program._replace(definitions=(*before, simple, *after))
        if search.shows(smaller):
            return _simpler_definition(smaller, place, search)
    return program


def _simplifications(text: str, whole: bool) -> Iterator[str]:
    """The text without one of its statements and, if `whole`, with a part or a constant in place of an expression."""
    end = "\n" if text.endswith("\n") else ""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # from a text of nested f-strings that was written by `ast.unparse`
        return
    for place, node in enumerate(nodes):
        count = len(getattr(node, "body", ())) if isinstance(node, ast.stmt) else 0
        for number in range(count if count > 1 else 0):
            tree = ast.parse(text)
            del cast(Any, list(ast.walk(tree))[place]).body[number]
            yield f"{ast.unparse(tree)}{end}"
        if not whole or not isinstance(node, ast.expr) or isinstance(node, ast.Name | ast.Constant):
            continue
        parts = sum(isinstance(part, ast.expr) for part in ast.iter_child_nodes(node))
        for number in range(parts + 2):
            tree = ast.parse(text)
            old = list(ast.walk(tree))[place]
            inner = [part for part in ast.iter_child_nodes(old) if isinstance(part, ast.expr)]
            options = [*inner, ast.Name("plain", ast.Load()), ast.Constant(0)]
            with contextlib.suppress(ValueError):  # what stands before `=` cannot be a constant
                yield f"{ast.unparse(_Swap(old, options[number]).visit(tree))}{end}"


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else self.generic_visit(node)


def primitive(attempt: str) -> str:
    """The call, attribute or operation at the top of an attempt."""
    try:
        top = ast.parse(attempt).body[0]
    except SyntaxError:
        return "syntax"
    if isinstance(top, ast.FunctionDef):
        return " ".join(dict.fromkeys(type(node).__name__.lower() for node in top.body))
    node: Any = top.value if isinstance(top, ast.Expr) else top
    if isinstance(node, ast.Call):
        return _OWN_NAME.sub("K", ast.unparse(node.func))[:60]
    operation = getattr(node, "op", None) or node
    return type(operation).__name__.lower()


_OWN_NAME = re.compile(r"\b[DK]\d\b")

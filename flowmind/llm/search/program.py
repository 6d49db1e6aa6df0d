"""Programs of `search`: sequences of tool calls without branches. Arguments are trees of sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Source:
    """The origin of a value: an input, a constant, the result of a call, or an object or a list of sources."""

    kind: str
    """`input`, `constant`, `call`, `object` or `list`."""
    name: str = ""
    value: Any = None
    call: Call | None = None
    path: tuple[str | int, ...] = ()
    fields: tuple[tuple[str, Source], ...] = ()
    """The parts of an object by name, or of a list by position."""


@dataclass(frozen=True)
class Call:
    """A tool call with a source for each argument."""

    tool: str
    args: tuple[tuple[str, Source], ...]


@dataclass(frozen=True)
class Program:
    """Calls in order. Each may use inputs, constants and results of earlier calls."""

    calls: tuple[Call, ...]
    answer: Source


def program_of(answer: Source) -> Program:
    """The program of an answer: its calls in the order of their dependencies, equal calls once."""
    calls: list[Call] = []

    def visit(source: Source) -> None:
        for _, part in source.fields:
            visit(part)
        if source.call is None or source.call in calls:
            return
        for _, part in source.call.args:
            visit(part)
        calls.append(source.call)

    visit(answer)
    return Program(tuple(calls), answer)


def leaves(program: Program) -> list[Source]:
    """The inputs and constants of a program, one source for each use."""
    sources = [source for call in program.calls for _, source in call.args]
    return [leaf for source in (*sources, program.answer) for leaf in _ends(source)]


def _ends(source: Source) -> Iterator[Source]:
    if source.kind in ("input", "constant"):
        yield source
    for _, part in source.fields:
        yield from _ends(part)


def parts_of(value: Any) -> list[Any]:
    """A value, and the items of a list."""
    return [value, *cast(list[Any], value)] if isinstance(value, list) else [value]


def resolve(
    source: Source, program: Program, inputs: dict[str, Any], results: Sequence[Any] | Mapping[int, Any]
) -> Any:
    """The value of a source.

    Args:
        source: A source of the program.
        program: The program.
        inputs: The inputs of the case.
        results: The results of the first calls of the program, or of some calls by their places in it.

    Raises:
        KeyError, TypeError: If there is no value at the path of the source, or no result of its call.
    """
    match source.kind:
        case "constant":
            return source.value
        case "input":
            value = inputs[source.name]
        case "object":
            return {name: resolve(part, program, inputs, results) for name, part in source.fields}
        case "list":
            return [resolve(part, program, inputs, results) for _, part in source.fields]
        case _:
            assert source.call is not None
            value = results[program.calls.index(source.call)]
    for part in source.path:
        value = value[part]
    return value

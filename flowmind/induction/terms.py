"""Terms: what a value can be made of, at one place of the runs. A term has a value at each sample of the place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flowmind.induction.runs import UNSET
from flowmind.workflow import Binding, Literal_, Var
from tools_registry.schema import json_equal

Env = Mapping[str, Any]
"""The variables at a sample: inputs, results so far, counters and elements of loops."""
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Term:
    """What a value is made of: a binding, or an expression where a binding cannot say it."""

    values: tuple[Any, ...]
    """At each sample; UNSET where it has none."""
    cost: float
    binding: Binding | None = None
    expr: str = ""
    """As an expression of the condition language."""
    uses: frozenset[str] = frozenset()
    """The variables in it."""
    initial: tuple[tuple[str, Term], ...] = ()
    """Variables that need a first value before the loop in which they are set, and that value."""
    spelled: bool = False
    """It is the length of a text."""


def literal(value: Any, count: int, cost: float) -> Term:
    """A constant."""
    return Term((value,) * count, cost, Literal_(value=value), source_of(value))


def source_of(value: Any) -> str:
    """A constant as an expression."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(source_of, cast(list[Any], value)))}]"
    return f"{{{', '.join(f'{key!r}: {source_of(part)}' for key, part in cast(dict[str, Any], value).items())}}}"


def variable(name: str, values: tuple[Any, ...], cost: float) -> Term:
    """A variable."""
    return Term(values, cost, Var(var=name), name, frozenset([name]))


def _step(term: Term, key: str | int, cost: float) -> Term | None:
    """The path one key further; None if it leads nowhere at some sample that has a value."""
    found: list[Any] = []
    for value in term.values:
        if value is UNSET:
            found.append(UNSET)
        elif isinstance(key, str) and isinstance(value, dict) and key in value:
            found.append(cast(dict[str, Any], value)[key])
        elif (
            isinstance(key, int)
            and isinstance(value, list)
            and -len(cast(list[Any], value)) <= key < len(cast(list[Any], value))
        ):
            found.append(cast(list[Any], value)[key])
        else:
            return None
    assert isinstance(term.binding, Var)
    binding = (
        Var(var=term.binding.var, path=(*term.binding.path, key)) if not (isinstance(key, int) and key < 0) else None
    )
    return Term(tuple(found), term.cost + cost, binding, f"{term.expr}[{key!r}]", term.uses)


def paths(term: Term, depth: int = 3) -> Iterator[Term]:
    """A variable's paths that lead somewhere at every sample."""
    if depth == 0 or not isinstance(term.binding, Var):
        return
    held = [value for value in term.values if value is not UNSET]
    if not held:
        return
    if all(isinstance(value, dict) for value in held):
        shared = set[str].intersection(*(set(cast(dict[str, Any], value)) for value in held))
        for key in [key for key in cast(dict[str, Any], held[0]) if key in shared][:20]:
            if (found := _step(term, key, 0.3)) is not None:
                yield found
                yield from paths(found, depth - 1)
    elif all(isinstance(value, list) and bool(cast(list[Any], value)) for value in held):
        shortest = min(len(cast(list[Any], value)) for value in held)
        for index in [*range(min(shortest, 4)), -1]:
            if (found := _step(term, index, 1.2 if index == 0 else 1.4)) is not None:
                yield found
                if index >= 0:
                    yield from paths(found, depth - 1)


def same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two rows of values are equal where neither is unset in either."""
    return all(one is not UNSET and json_equal(one, other) for one, other in zip(left, right, strict=True))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def length_of(value: Any) -> int | None:
    return len(cast(Any, value)) if isinstance(value, list | str | dict) else None


def key_of(value: Any) -> Any:
    """A value as a key: equal ones (`json_equal`) have the same."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value if not isinstance(value, bool) else ("bool", value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, list):
        return ("list", *map(key_of, cast(list[Any], value)))
    held = cast(dict[str, Any], value)
    return ("object", *((key, key_of(held[key])) for key in sorted(held)))

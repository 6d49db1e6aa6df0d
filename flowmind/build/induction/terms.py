"""Terms: the possible sources of a value at one place of the runs, each with its value at every sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, cast

from flowmind.build.induction.runs import UNSET
from flowmind.workflow.document import Binding, Literal_, Var
from tools_registry.specs.schema import json_equal

Env = Mapping[str, Any]
"""The variables at a sample: inputs, results so far, counters and elements of loops."""
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Term:
    """The source of a value: a binding, or an expression where a binding is not enough."""

    values: tuple[Any, ...]
    """The value at each sample, or UNSET."""
    cost: float
    binding: Binding | None = None
    expr: str = ""
    """The term in the condition language."""
    uses: frozenset[str] = frozenset()
    """The variables that it reads."""
    initial: tuple[tuple[str, Term], ...] = ()
    """Variables that need an initial value before the loop that sets them, with that value."""
    spelled: bool = False
    """Whether it is the length of a text."""


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


def _part(term: Term, key: str | int, cost: float) -> Term:
    """The path with one more key, which exists wherever the term has a value."""
    assert isinstance(term.binding, Var)
    binding = None if isinstance(key, int) and key < 0 else Var(var=term.binding.var, path=(*term.binding.path, key))
    values = tuple([UNSET if value is UNSET else value[key] for value in term.values])
    return Term(values, term.cost + cost, binding, f"{term.expr}[{key!r}]", term.uses)


def paths(term: Term, depth: int = 3) -> Iterator[Term]:
    """The paths into a variable that exist at every sample."""
    if depth == 0 or not isinstance(term.binding, Var):
        return
    values = [value for value in term.values if value is not UNSET]
    if not values:
        return
    if all_are(dict, values):
        for key in [key for key in values[0] if all(key in value for value in values)][:20]:
            part = _part(term, key, 0.3)
            yield part
            yield from paths(part, depth - 1)
    elif all_are(list, values) and all(values):
        shortest = min(map(len, values))
        for index in [*range(min(shortest, 4)), -1]:
            part = _part(term, index, 1.2 if index == 0 else 1.4)
            yield part
            if index >= 0:
                yield from paths(part, depth - 1)


def all_are(kind: type[Any] | UnionType, values: Sequence[Any]) -> bool:
    """Whether all values are of a type. There is at least one; testing the first alone is usually enough."""
    return isinstance(values[0], kind) and all(isinstance(value, kind) for value in values)


def same(values: Sequence[Any], targets: Sequence[Any]) -> bool:
    """Whether two rows of values are equal and no value of the first is unset."""
    return all(value is not UNSET and json_equal(value, target) for value, target in zip(values, targets, strict=True))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def length_of(value: Any) -> int | None:
    return len(cast(Any, value)) if isinstance(value, list | str | dict) else None


def key_of(value: Any) -> Any:
    """A hashable key of a value: values that are `json_equal` have the same key."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, list):
        return ("list", *map(key_of, cast(list[Any], value)))
    fields = cast(dict[str, Any], value)
    return ("object", *((key, key_of(fields[key])) for key in sorted(fields)))

"""The possible sources of a value: variables, paths into them, lengths, extremes and looked-up elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from types import UnionType
from typing import Any, cast

from flowmind.build.induction.control_flow import ROUND, UNSET, VISITS
from flowmind.build.induction.wording import Reading
from flowmind.workflow.document import Binding, Literal_, Var
from flowmind.workflow.expressions import ExpressionError, evaluate
from tools_registry.specs.schema import json_equal
from tools_registry.specs.values import CaseError

Env = Mapping[str, Any]
"""The variables at a sample: inputs, results so far, counters and elements of loops."""
Path = tuple[str | int, ...]
Location = tuple[str, Path, float]
"""A variable, a path into it, and the cost of the path."""
MAX_PATHS = 60
"""Paths into one variable."""
MAX_POOL = 400
"""Variables and paths of one pool."""
MAX_NAME = 64
"""Characters of a variable's name in a workflow. Generated names of nested elements may be longer."""
MAX_LOOKED_UP = 40
"""Looked-up elements of one pool."""
CONTAINER = 2.0
"""Maximum cost of an object or list in which something is looked up."""


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
    """A constant at `count` samples."""
    return Term((value,) * count, cost, Literal_(value=value), repr(value))


def variable(name: str, values: tuple[Any, ...], cost: float) -> Term:
    """A variable."""
    return Term(values, cost, Var(var=name), name, frozenset([name]))


def joint_uses(terms: Sequence[Term]) -> frozenset[str]:
    """The variables that any of the terms reads."""
    return frozenset[str]().union(*(term.uses for term in terms))


def all_are(kind: type[Any] | UnionType, values: Sequence[Any]) -> bool:
    """Whether all values are of a type. There is at least one value; the first usually decides."""
    return isinstance(values[0], kind) and all(isinstance(value, kind) for value in values)


def same(values: Sequence[Any], targets: Sequence[Any]) -> bool:
    """Whether two rows of values are equal and no value of the first is unset."""
    return all(value is not UNSET and json_equal(value, target) for value, target in zip(values, targets, strict=True))


def evaluated(expr: str, env: Env) -> Any:
    """The value of an expression; UNSET if it cannot be computed with these variables."""
    try:
        return evaluate(expr, env)
    except (ExpressionError, CaseError, KeyError, TypeError):
        return UNSET


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is an int, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def key_of(value: Any) -> Any:
    """A hashable key of a value: values that are `json_equal` have the same key."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", *map(key_of, cast(list[Any], value)))
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return ("object", *((key, key_of(fields[key])) for key in sorted(fields)))
    return value


def _length_of(value: Any) -> int | None:
    return len(cast(Any, value)) if isinstance(value, list | str | dict) else None


def _path_terms(term: Term, depth: int = 3) -> Iterator[Term]:
    """The paths into a variable that exist at every sample where it has a value."""
    values = [value for value in term.values if value is not UNSET]
    if depth == 0 or not values:
        return
    if all_are(dict, values):
        for key in [key for key in values[0] if all(key in value for value in values)][:20]:
            part = _path_term(term, key, 0.3)
            yield part
            yield from _path_terms(part, depth - 1)
    elif all_are(list, values) and all(values):
        for index in [*range(min(4, *map(len, values))), -1]:
            part = _path_term(term, index, 1.2 if index == 0 else 1.4)
            yield part
            if index >= 0:
                yield from _path_terms(part, depth - 1)


def _path_term(term: Term, key: str | int, cost: float) -> Term:
    """The path with one more key."""
    assert isinstance(term.binding, Var)
    binding = None if isinstance(key, int) and key < 0 else Var(var=term.binding.var, path=(*term.binding.path, key))
    values = tuple([UNSET if value is UNSET else value[key] for value in term.values])
    return Term(values, term.cost + cost, binding, f"{term.expr}[{key!r}]", term.uses)


class Index:
    """The parts of the variables of one sample by value, and those with a length by length."""

    def __init__(self, env: Env) -> None:
        self.parts: dict[Any, list[Location]] = {}
        self.sizes: dict[int, list[Location]] = {}
        for name, value in env.items():
            if value is not UNSET and len(name) <= MAX_NAME:
                for path, part, cost in islice(_parts_of(value, (), 0.0), MAX_PATHS):
                    self.parts.setdefault(key_of(part), []).append((name, path, cost))
                    if (size := _length_of(part)) is not None:
                        self.sizes.setdefault(size, []).append((name, path, cost))


def _parts_of(value: Any, path: Path, cost: float) -> Iterator[tuple[Path, Any, float]]:
    """A value and its parts, each with its path and the cost of that."""
    yield path, value, cost
    if len(path) == 3:
        return
    if isinstance(value, dict):
        for key, part in islice(cast(dict[str, Any], value).items(), 20):
            yield from _parts_of(part, (*path, key), cost + 0.3)
    elif isinstance(value, list):
        items = cast(list[Any], value)
        for index, part in enumerate(items[:4]):
            yield from _parts_of(part, (*path, index), cost + (1.2 if index == 0 else 1.4))
        if items:
            yield (*path, -1), items[-1], cost + 1.4


def _follow(env: Env, name: str, path: Path) -> Any:
    """The part of a variable at a path; UNSET if there is none."""
    value = env.get(name, UNSET)
    for part in path:
        if isinstance(part, str) and isinstance(value, dict):
            value = cast(dict[str, Any], value).get(part, UNSET)
        elif isinstance(part, int) and isinstance(value, list):
            items = cast(list[Any], value)
            value = items[part] if -len(items) <= part < len(items) else UNSET
        else:
            return UNSET
    return value


@dataclass
class Pool:
    """The terms at one place of the runs. `expressions.explain` composes larger ones from them."""

    envs: Sequence[Env]
    """The variables at each sample."""
    reading: Reading = field(default_factory=Reading)
    """The task's text."""
    order: Mapping[str, float] = field(default_factory=dict[str, float])
    """The cost of each variable, 1 by default."""
    constants: Sequence[Any] = ()
    """The constants that the text names, and others that conditions may compare with."""
    wanted: frozenset[str] = frozenset()
    """Results that nothing reads so far."""
    alone: bool = False
    """Whether all samples are of one run. A text from its inputs then need not be a constant."""
    indexes: dict[int, Index] = field(default_factory=dict[int, "Index"])
    """Caches the parts of variables by the identity of their environment."""

    def restricted(self, samples: Sequence[int]) -> Pool:
        """The pool at some of the samples."""
        return replace(self, envs=[self.envs[sample] for sample in samples])

    @cached_property
    def plain(self) -> list[Term]:
        """Variables and paths."""
        terms: list[Term] = []
        for name in dict.fromkeys(name for env in self.envs for name in env if len(name) <= MAX_NAME):
            values = tuple(env.get(name, UNSET) for env in self.envs)
            term = variable(name, values, self.order.get(name, 1.0))
            terms += [term, *islice(_path_terms(term), MAX_PATHS)]
        return terms[:MAX_POOL]

    @cached_property
    def countable(self) -> list[Term]:
        """Numbers and lengths, the cheapest first."""
        terms = [term for term in self.plain if all(map(is_number, term.values))]
        terms += filter(None, map(_length, self.plain))
        return sorted(terms, key=lambda term: term.cost)[:60]

    @cached_property
    def looked_up(self) -> list[Term]:
        """Fields of objects under a name that another variable has, and list elements at a counted index."""
        return list(islice(_look_ups(self), MAX_LOOKED_UP))

    @cached_property
    def measured(self) -> list[Term]:
        """Plain and looked-up terms, lengths, minima, maxima and sums."""
        terms = [*self.plain, *chain.from_iterable((term, *fields_of(term)) for term in self.looked_up)]
        for term in self.plain:
            if (length := _length(term)) is not None:
                terms.append(length)
            for name, function in (("min", min), ("max", max), ("sum", sum)):
                values = [_extreme(value, function) for value in term.values]
                if None not in values:
                    suffix = ".values()" if isinstance(term.values[0], dict) else ""
                    expr = f"{name}({term.expr}{suffix})"
                    terms.append(Term(tuple(values), term.cost + 0.9, None, expr, term.uses))
        return terms

    @cached_property
    def texts(self) -> set[str]:
        """The texts in the samples, elements of lists included."""
        values = [value for term in self.plain for value in term.values]
        values += [part for value in values if isinstance(value, list) for part in cast(list[Any], value)]
        return {value for value in values if isinstance(value, str)}

    def matching(self, targets: Sequence[Any]) -> Iterator[Term]:
        """The variables and paths with these values: candidates from the first sample, tested in the others."""
        for name, path, cost in self._index().parts.get(key_of(targets[0]), ()):
            others = zip(self.envs[1:], targets[1:], strict=True)
            if all(json_equal(_follow(env, name, path), target) for env, target in others):
                yield self._located(name, path, cost, targets)

    def lengths(self, targets: Sequence[Any]) -> Iterator[Term]:
        """Lengths of variables and paths that have these values."""
        for name, path, cost in self._index().sizes.get(targets[0], ()):
            sizes = [_length_of(_follow(env, name, path)) for env in self.envs]
            if all(size == target for size, target in zip(sizes, targets, strict=True)):
                term = self._located(name, path, cost, targets)
                yield replace(term, cost=term.cost + 0.5, binding=None, expr=f"len({term.expr})")

    def price(self, value: Any) -> float:
        """The cost of a constant."""
        if isinstance(value, list | dict):
            inside = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else cast(list[Any], value)
            return 0.9 if not inside else min(9.0, 0.5 + sum(map(self.price, inside)))
        if value is None or isinstance(value, bool) or value in (0, 1, "", " ", ", ", "-", ",", "."):
            return 1.1 - 0.3 * self.reading.said(value)
        leaked = self.alone and isinstance(value, str) and value in self.texts
        return 2.6 - (0.7 if leaked else 1.9) * self.reading.said(value) + (1.0 if leaked else 0.0)

    def _index(self) -> Index:
        """The parts of the first sample's variables."""
        env = self.envs[0]
        if id(env) not in self.indexes:
            self.indexes[id(env)] = Index(env)
        return self.indexes[id(env)]

    def _located(self, name: str, path: Path, cost: float, values: Sequence[Any]) -> Term:
        expr = name + "".join(f"[{part!r}]" for part in path)
        from_end = any(isinstance(part, int) and part < 0 for part in path)
        binding = None if from_end else Var(var=name, path=path)
        return Term(tuple(values), self.order.get(name, 1.0) + cost, binding, expr, frozenset([name]))


def _length(term: Term) -> Term | None:
    """The length of a term; None if it has none at some sample."""
    lengths = [_length_of(value) for value in term.values]
    if None in lengths:
        return None
    text = isinstance(term.values[0], str)
    return Term(tuple(lengths), term.cost + 0.5, None, f"len({term.expr})", term.uses, spelled=text)


def _extreme(value: Any, function: Callable[[Any], Any]) -> Any:
    """The extreme or sum of a list or object of numbers; None for anything else."""
    numbers = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else value
    if not isinstance(numbers, list) or not numbers or not all(map(is_number, cast(list[Any], numbers))):
        return None
    return function(cast(list[Any], numbers))


def fields_of(term: Term) -> Iterator[Term]:
    """The fields that the values of a term have at all samples."""
    if all_are(dict, term.values):
        objects = cast(tuple[dict[str, Any], ...], term.values)
        for key in [key for key in objects[0] if all(key in value for value in objects)]:
            values = tuple(value[key] for value in objects)
            yield Term(values, term.cost + 0.3, None, f"{term.expr}[{key!r}]", term.uses)


def _look_ups(pool: Pool) -> Iterator[Term]:
    names = [term for term in pool.plain if all_are(str, term.values)][:24]
    counts = [term for term in pool.plain if all(map(is_whole, term.values))]
    counts = [term for term in counts if term.expr.startswith((VISITS, ROUND)) or term.uses & pool.wanted][:8]
    names, counts = ([term for term in keys if len({*term.values}) > 1] for keys in (names, counts))
    for container in pool.plain:
        if container.cost > CONTAINER:
            continue
        keys = names if all_are(dict, container.values) else counts if all_are(list, container.values) else []
        for key in keys:
            if key.uses == container.uses:
                continue
            for back in (0, 1) if key.expr.startswith(VISITS) else (0,):
                places = [value - back for value in key.values] if back else key.values
                if (values := _entries(container.values, places)) is not None:
                    cost = container.cost + key.cost + 0.4 + 0.2 * back
                    expr = f"{container.expr}[{key.expr}{' - 1' if back else ''}]"
                    yield Term(values, cost, None, expr, container.uses | key.uses)


def _entries(containers: Sequence[Any], keys: Sequence[Any]) -> tuple[Any, ...] | None:
    """The entries of objects or lists under these keys; None if one is missing."""
    pairs = list(zip(containers, keys, strict=True))
    if all(key in values if isinstance(values, dict) else 0 <= key < len(values) for values, key in pairs):
        return tuple(values[key] for values, key in pairs)
    return None

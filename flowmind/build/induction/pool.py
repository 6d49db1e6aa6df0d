"""The terms at one place of the runs: variables, paths into them, and computations over them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from flowmind.build.induction.computing import computed, fields, look_up, shifted
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.terms import Env, Path, Term, is_number, key_of, length_of, literal, paths, variable
from flowmind.workflow.document import Binding, ListOf, ObjectOf, Var
from tools_registry.specs.schema import json_equal

MAX_PATHS = 60
MAX_POOL = 400
MAX_NAME = 64
"""Characters of a variable's name in a workflow. Generated names of nested elements may be longer."""
MAX_LOOKED_UP = 40


class Index:
    """The parts of the variables of one sample by value, and those with a length by length."""

    def __init__(self, env: Env) -> None:
        self.parts: dict[Any, list[tuple[str, Path, float]]] = {}
        self.sizes: dict[int, list[tuple[str, Path, float]]] = {}
        for name, value in env.items():
            if value is not UNSET and len(name) <= MAX_NAME:
                for _, (path, part, cost) in zip(range(MAX_PATHS), _parts_of(value, (), 0.0), strict=False):
                    self.parts.setdefault(key_of(part), []).append((name, path, cost))
                    if (size := length_of(part)) is not None:
                        self.sizes.setdefault(size, []).append((name, path, cost))


def _parts_of(value: Any, path: Path, cost: float) -> Iterator[tuple[Path, Any, float]]:
    yield path, value, cost
    if len(path) == 3:
        return
    if isinstance(value, dict):
        for key, part in list(cast(dict[str, Any], value).items())[:20]:
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
    """The terms of a place.

    Args of the constructor are the samples; everything else is derived.
    """

    envs: Sequence[Env]
    said: Callable[[Any], float] = lambda value: 0.0
    """The degree, 0 to 1, to which the task's text names a constant."""
    order: Mapping[str, float] = field(default_factory=dict[str, float])
    """The cost of each variable, 1 by default."""
    constants: Sequence[Any] = ()
    """The constants that the text names."""
    wanted: frozenset[str] = frozenset()
    """Results that nothing reads so far."""
    alone: bool = False
    """Whether all samples are of one run. A text from its inputs then need not be a constant."""
    indexes: dict[int, Index] = field(default_factory=dict[int, "Index"])
    """Caches the parts of variables by the identity of their environment."""

    def __post_init__(self) -> None:
        self._plain: list[Term] | None = None
        self._texts: set[str] | None = None
        self._measured: list[Term] | None = None
        self._numbers: list[Term] | None = None
        self._looked: list[Term] | None = None

    @property
    def plain(self) -> list[Term]:
        """Variables and paths."""
        if self._plain is None:
            terms: list[Term] = []
            for name in dict.fromkeys(name for env in self.envs for name in env if len(name) <= MAX_NAME):
                values = tuple(env.get(name, UNSET) for env in self.envs)
                term = variable(name, values, self.order.get(name, 1.0))
                terms.append(term)
                terms += [part for _, part in zip(range(MAX_PATHS), paths(term), strict=False)]
            self._plain = terms[:MAX_POOL]
        return self._plain

    def _index(self) -> Index:
        """The parts of the first sample's variables."""
        env = self.envs[0]
        if id(env) not in self.indexes:
            self.indexes[id(env)] = Index(env)
        return self.indexes[id(env)]

    def _matching(self, targets: Sequence[Any]) -> Iterator[Term]:
        """The variables and paths with these values: candidates from the first sample, tested in the others."""
        for name, path, cost in self._index().parts.get(key_of(targets[0]), ()):
            if all(
                json_equal(_follow(env, name, path), target)
                for env, target in zip(self.envs[1:], targets[1:], strict=True)
            ):
                yield self._term(name, path, cost, targets)

    def _term(self, name: str, path: Path, cost: float, values: Sequence[Any]) -> Term:
        expr = name + "".join(f"[{part!r}]" for part in path)
        last = any(isinstance(part, int) and part < 0 for part in path)
        binding = None if last else Var(var=name, path=path)
        return Term(tuple(values), self.order.get(name, 1.0) + cost, binding, expr, frozenset([name]))

    def _lengths(self, targets: Sequence[Any]) -> Iterator[Term]:
        """Lengths of variables and paths that have these values."""
        for name, path, cost in self._index().sizes.get(targets[0], ()):
            sizes = [length_of(_follow(env, name, path)) for env in self.envs]
            if all(size == target for size, target in zip(sizes, targets, strict=True)):
                term = self._term(name, path, cost, targets)
                yield replace(term, cost=term.cost + 0.5, binding=None, expr=f"len({term.expr})")

    def restricted(self, samples: Sequence[int]) -> Pool:
        """The pool at some of the samples."""
        return Pool(
            [self.envs[sample] for sample in samples],
            self.said,
            self.order,
            self.constants,
            self.wanted,
            self.alone,
            self.indexes,
        )

    @property
    def measured(self) -> list[Term]:
        """Plain and looked-up terms, lengths, and other simple numbers."""
        if self._measured is None:
            terms = [*self.plain, *(one for term in self.looked_up for one in (term, *fields(term)))]
            for term in self.plain:
                if any(isinstance(value, list | str | dict) for value in term.values):
                    lengths = [length_of(value) for value in term.values]
                    if all(one is not None for one in lengths):
                        text = isinstance(term.values[0], str)
                        length = Term(tuple(lengths), term.cost + 0.5, None, f"len({term.expr})", term.uses)
                        terms.append(replace(length, spelled=text))
                for form, function in _EXTREMES:
                    values = [_extreme(value, function) for value in term.values]
                    if all(one is not None for one in values):
                        suffix = ".values()" if isinstance(term.values[0], dict) else ""
                        expr = form.format(f"{term.expr}{suffix}")
                        cost = term.cost + 0.9
                        terms.append(Term(tuple(values), cost, None, expr, term.uses))
            self._measured = terms
        return self._measured

    def explain(self, targets: Sequence[Any], most: int = 6, deep: bool = True, initial: bool = False) -> list[Term]:
        """The terms that have these values, the likeliest first.

        Args:
            targets: The values.
            most: Terms that are kept.
            deep: Whether computations are tried.
            initial: The values are what an accumulation begins with: an empty one more likely is just that than a
                variable that happens to be empty.
        """
        terms = list(self._matching(targets))
        if terms and _trivial(targets):
            more = 0.6 if initial else -0.3 if isinstance(targets[0], list | dict) else 0.2
            terms = [replace(term, cost=term.cost + more) for term in terms]
        if (constant := self._constant(targets)) is not None:
            terms.append(constant)
        composed = self._made(targets, deep)
        if composed is not None:
            terms.append(composed)
        if all(map(is_number, targets)):
            terms += self._lengths(targets)
        if deep and (not terms or min(term.cost for term in terms) > 3):
            terms += computed(self, targets)
        elif deep and self.wanted and all(map(is_number, targets)):
            terms += shifted(self, targets)
        return sorted(terms, key=lambda term: term.cost)[:most]

    def _constant(self, targets: Sequence[Any]) -> Term | None:
        first = targets[0]
        if not all(json_equal(first, target) for target in targets):
            return None
        return literal(first, len(targets), self.price(first))

    def price(self, value: Any) -> float:
        """The cost of a constant."""
        if isinstance(value, list | dict):
            inside = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else cast(list[Any], value)
            return 0.9 if not inside else min(9.0, 0.5 + sum(map(self.price, inside)))
        if value is None or isinstance(value, bool) or value in (0, 1, "", " ", ", ", "-", ",", "."):
            return 1.1 - 0.3 * self.said(value)
        leaked = self.alone and isinstance(value, str) and value in self._held()
        return 2.6 - (0.7 if leaked else 1.9) * self.said(value) + (1.0 if leaked else 0.0)

    def _held(self) -> set[str]:
        """The texts in the samples."""
        if self._texts is None:
            values = [value for term in self.plain for value in term.values]
            self._texts = {value for value in values if isinstance(value, str)}
            for value in values:
                if isinstance(value, list):
                    self._texts |= {part for part in cast(list[Any], value) if isinstance(part, str)}
        return self._texts

    def _made(self, targets: Sequence[Any], deep: bool) -> Term | None:
        """A list or object composed of terms."""
        first = targets[0]
        if isinstance(first, dict) and first:
            keys = list(cast(dict[str, Any], first))
            if not all(isinstance(target, dict) and _keys(target) == set(keys) for target in targets):
                return None
            columns: list[tuple[str | int, list[Any]]] = [(key, [target[key] for target in targets]) for key in keys]
        elif isinstance(first, list) and 0 < len(cast(list[Any], first)) <= 6:
            size = len(cast(list[Any], first))
            if not all(isinstance(target, list) and len(cast(list[Any], target)) == size for target in targets):
                return None
            columns = [(index, [target[index] for target in targets]) for index in range(size)]
        else:
            return None
        parts: list[Term] = []
        read: set[str] = set()
        for _, column in columns:
            options = self.explain(column, 4, deep)
            if not options:
                return None
            best = min(options, key=lambda term: term.cost + (0.4 if term.uses & read else 0.0))
            read |= best.uses
            parts.append(best)
        if not any(part.uses for part in parts):
            return None
        if isinstance(first, dict):
            fields = {str(key): part.binding for (key, _), part in zip(columns, parts, strict=True)}
            binding: Binding | None = (
                ObjectOf(object=cast(dict[str, Binding], fields)) if None not in fields.values() else None
            )
            inner = ", ".join(f"{key!r}: {part.expr}" for (key, _), part in zip(columns, parts, strict=True))
            expr = f"{{{inner}}}"
        else:
            listed = [part.binding for part in parts]
            binding = ListOf(list=cast(tuple[Binding, ...], tuple(listed))) if None not in listed else None
            expr = f"[{', '.join(part.expr for part in parts)}]"
        cost = 0.4 + sum(part.cost for part in parts)
        uses = frozenset[str]().union(*(part.uses for part in parts))
        return Term(tuple(targets), cost, binding, expr, uses)

    @property
    def countable(self) -> list[Term]:
        """Numbers and lengths, the cheapest first."""
        if self._numbers is None:
            terms = [term for term in self.plain if all(map(is_number, term.values))]
            for term in self.plain:
                lengths = [length_of(value) for value in term.values]
                if None not in lengths:
                    terms.append(Term(tuple(lengths), term.cost + 0.5, None, f"len({term.expr})", term.uses))
            self._numbers = sorted(terms, key=lambda term: term.cost)[:60]
        return self._numbers

    @property
    def looked_up(self) -> list[Term]:
        """Fields of objects under a name that another variable has, and list elements at a counted index."""
        if self._looked is None:
            self._looked = list(itertools.islice(look_up(self), MAX_LOOKED_UP))
        return self._looked


_EXTREMES: tuple[tuple[str, Callable[[Any], Any]], ...] = (("min({})", min), ("max({})", max), ("sum({})", sum))


def _extreme(value: Any, function: Callable[[Any], Any]) -> Any:
    """The extreme or sum of a list or object of numbers; None for anything else."""
    numbers = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else value
    if not isinstance(numbers, list) or not numbers or not all(map(is_number, cast(list[Any], numbers))):
        return None
    return function(cast(list[Any], numbers))


def _keys(value: Any) -> set[str]:
    return set(cast(dict[str, Any], value))


def _trivial(targets: Sequence[Any]) -> bool:
    """Whether all values are the same empty value or zero, or None."""
    first = targets[0]
    small = first is None or (not isinstance(first, bool) and first in (0, "", [], {}))
    return small and all(json_equal(first, target) for target in targets)

"""Terms: what a value can be made of, at one place of the runs. A term has a value at each sample of the place.

Terms are variables and paths into them, and small computations over them, as an agent does them in its head between
two calls: a length, a sum, an element that is next in a list, a name in capitals, a text with a name in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from flowmind.induction.runs import UNSET
from flowmind.induction.walking import ROUND, VISITS
from flowmind.workflow import Binding, ListOf, Literal_, ObjectOf, Var
from tools_registry.schema import json_equal

Env = Mapping[str, Any]
"""The variables at a sample: inputs, results so far, counters and elements of loops."""
MAX_PATHS = 60
MAX_POOL = 400
MAX_NAME = 64
"""Characters of a variable's name in a workflow; elements of elements of lists may be named at greater length."""
MAX_WRITTEN = 1_000
"""Characters of a text that is looked at for the texts in it."""
MAX_LOOKED_UP = 40
BOX = 2.0
"""What an object or a list may cost that something is looked up in."""
MAX_PARTS = 6
MAX_TRIES = 100


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
    return Term((value,) * count, cost, Literal_(value=value), _source(value))


def _source(value: Any) -> str:
    """A constant as an expression."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_source, cast(list[Any], value)))}]"
    return f"{{{', '.join(f'{key!r}: {_source(part)}' for key, part in cast(dict[str, Any], value).items())}}}"


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


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


Path = tuple[str | int, ...]


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


class Index:
    """The parts of the variables of one sample, by value, and the sizes of those that have one."""

    def __init__(self, env: Env) -> None:
        self.parts: dict[Any, list[tuple[str, Path, float]]] = {}
        self.sizes: dict[int, list[tuple[str, Path, float]]] = {}
        for name, value in env.items():
            if value is not UNSET and len(name) <= MAX_NAME:
                for _, (path, part, cost) in zip(range(MAX_PATHS), _parts_of(value, (), 0.0), strict=False):
                    self.parts.setdefault(key_of(part), []).append((name, path, cost))
                    if (size := _length(part)) is not None:
                        self.sizes.setdefault(size, []).append((name, path, cost))


def _parts_of(value: Any, path: Path, cost: float) -> Iterator[tuple[Path, Any, float]]:
    yield path, value, cost
    if len(path) == 3:
        return
    if isinstance(value, dict):
        for key, part in list(cast(dict[str, Any], value).items())[:20]:
            yield from _parts_of(part, (*path, key), cost + 0.3)
    elif isinstance(value, list):
        held = cast(list[Any], value)
        for index, part in enumerate(held[:4]):
            yield from _parts_of(part, (*path, index), cost + (1.2 if index == 0 else 1.4))
        if held:
            yield (*path, -1), held[-1], cost + 1.4


def _follow(env: Env, name: str, path: Path) -> Any:
    """A part of a variable; UNSET if there is none."""
    value = env.get(name, UNSET)
    for part in path:
        if isinstance(part, str) and isinstance(value, dict):
            value = cast(dict[str, Any], value).get(part, UNSET)
        elif isinstance(part, int) and isinstance(value, list):
            held = cast(list[Any], value)
            value = held[part] if -len(held) <= part < len(held) else UNSET
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
    """How far the task's text names a constant: from 0 to 1."""
    order: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a variable costs, if not 1."""
    constants: Sequence[Any] = ()
    """What the text names."""
    wanted: frozenset[str] = frozenset()
    """Results that nothing reads yet: they were made for something."""
    alone: bool = False
    """All samples are of one run: a text of its inputs that is given to a call need not be a constant."""
    indexes: dict[int, Index] = field(default_factory=dict[int, "Index"])
    """The parts of variables that were looked through before, by the identity of their env."""

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
            found: list[Term] = []
            for name in dict.fromkeys(name for env in self.envs for name in env if len(name) <= MAX_NAME):
                values = tuple(env.get(name, UNSET) for env in self.envs)
                term = variable(name, values, self.order.get(name, 1.0))
                found.append(term)
                found += [part for _, part in zip(range(MAX_PATHS), paths(term), strict=False)]
            self._plain = found[:MAX_POOL]
        return self._plain

    def _index(self) -> Index:
        """The parts of the first sample's variables."""
        env = self.envs[0]
        if id(env) not in self.indexes:
            self.indexes[id(env)] = Index(env)
        return self.indexes[id(env)]

    def _matching(self, targets: Sequence[Any]) -> Iterator[Term]:
        """Variables and paths that have these values: those of the first sample, looked at in the others."""
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
            held = [_length(_follow(env, name, path)) for env in self.envs]
            if all(size == target for size, target in zip(held, targets, strict=True)):
                term = self._term(name, path, cost, targets)
                yield replace(term, cost=term.cost + 0.5, binding=None, expr=f"len({term.expr})")

    def restricted(self, samples: Sequence[int]) -> Pool:
        """The pool at some of the samples."""
        return Pool(
            [self.envs[one] for one in samples],
            self.said,
            self.order,
            self.constants,
            self.wanted,
            self.alone,
            self.indexes,
        )

    @property
    def measured(self) -> list[Term]:
        """Plain terms, looked up ones, lengths, and other simple numbers."""
        if self._measured is None:
            found = [*self.plain, *(one for term in self.looked_up for one in (term, *_fields(term)))]
            for term in self.plain:
                if any(isinstance(value, list | str | dict) for value in term.values):
                    lengths = [_length(value) for value in term.values]
                    if all(one is not None for one in lengths):
                        text = isinstance(term.values[0], str)
                        length = Term(tuple(lengths), term.cost + 0.5, None, f"len({term.expr})", term.uses)
                        found.append(replace(length, spelled=text))
                for form, function in _EXTREMES:
                    values = [_extreme(value, function) for value in term.values]
                    if all(one is not None for one in values):
                        suffix = ".values()" if isinstance(term.values[0], dict) else ""
                        expr = form.format(f"{term.expr}{suffix}")
                        cost = term.cost + 0.9
                        found.append(Term(tuple(values), cost, None, expr, term.uses))
            self._measured = found
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
        found = list(self._matching(targets))
        if found and _trivial(targets):
            more = 0.6 if initial else -0.3 if isinstance(targets[0], list | dict) else 0.2
            found = [replace(term, cost=term.cost + more) for term in found]
        if (constant := self._constant(targets)) is not None:
            found.append(constant)
        made = self._made(targets, deep)
        if made is not None:
            found.append(made)
        if all(map(_number, targets)):
            found += self._lengths(targets)
        if deep and (not found or min(term.cost for term in found) > 3):
            found += self._computed(targets)
        elif deep and self.wanted and all(map(_number, targets)):
            found += self._shifted(targets)
        return sorted(found, key=lambda term: term.cost)[:most]

    def _constant(self, targets: Sequence[Any]) -> Term | None:
        first = targets[0]
        if not all(json_equal(first, target) for target in targets):
            return None
        return literal(first, len(targets), self.price(first))

    def price(self, value: Any) -> float:
        """What a constant costs."""
        if isinstance(value, list | dict):
            inside = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else cast(list[Any], value)
            return 0.9 if not inside else min(9.0, 0.5 + sum(map(self.price, inside)))
        if value is None or isinstance(value, bool) or value in (0, 1, "", " ", ", ", "-", ",", "."):
            return 1.1 - 0.3 * self.said(value)
        leaked = self.alone and isinstance(value, str) and value in self._held()
        return 2.6 - (0.7 if leaked else 1.9) * self.said(value) + (1.0 if leaked else 0.0)

    def _held(self) -> set[str]:
        """The texts that stand in the samples."""
        if self._texts is None:
            values = [value for term in self.plain for value in term.values]
            self._texts = {value for value in values if isinstance(value, str)}
            for value in values:
                if isinstance(value, list):
                    self._texts |= {part for part in cast(list[Any], value) if isinstance(part, str)}
        return self._texts

    def _made(self, targets: Sequence[Any], deep: bool) -> Term | None:
        """A list or object that is put together from terms."""
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

    def _computed(self, targets: Sequence[Any]) -> Iterator[Term]:
        """Small computations."""
        for term in self.looked_up:
            yield from (found for found in (term, *_fields(term)) if same(found.values, targets))
        if all(_number(target) for target in targets):
            yield from self._arithmetic(targets)
        elif all(isinstance(target, list) for target in targets):
            yield from self._joined(targets)
        elif all(isinstance(target, str) for target in targets):
            yield from self._written(targets)
        elif all(isinstance(target, bool) for target in targets):
            for term in self.plain:
                if all(isinstance(value, bool) for value in term.values):
                    flipped = tuple(not value for value in term.values)
                    if same(flipped, targets):
                        yield Term(flipped, term.cost + 0.5, None, f"not {term.expr}", term.uses)
        if all(isinstance(target, list) for target in targets):
            for term in self.plain:
                if all(isinstance(value, dict | list) for value in term.values):
                    ordered = [_in_order(value) for value in term.values]
                    if same(ordered, targets):
                        yield Term(tuple(ordered), term.cost + 1.0, None, f"sorted({term.expr})", term.uses)

    def _shifted(self, targets: Sequence[Any]) -> Iterator[Term]:
        """A wanted result and one more or less, or a constant more or less that the text names."""
        for term in self.plain:
            if term.uses & self.wanted and all(map(_number, term.values)):
                shift = _constant_of([target - value for target, value in zip(targets, term.values, strict=True)])
                if shift in (1, -1) or (shift and abs(shift) in self.constants):
                    sign = "+" if shift > 0 else "-"
                    yield Term(tuple(targets), term.cost + 0.4, None, f"{term.expr} {sign} {abs(shift)}", term.uses)

    def _countable(self) -> list[Term]:
        """Numbers and lengths, the cheapest first."""
        if self._numbers is None:
            found = [term for term in self.plain if all(map(_number, term.values))]
            for term in self.plain:
                lengths = [_length(value) for value in term.values]
                if None not in lengths:
                    found.append(Term(tuple(lengths), term.cost + 0.5, None, f"len({term.expr})", term.uses))
            self._numbers = sorted(found, key=lambda term: term.cost)[:60]
        return self._numbers

    def _arithmetic(self, targets: Sequence[Any]) -> Iterator[Term]:
        numbers = self._countable()
        several = any(not json_equal(targets[0], target) for target in targets)
        if not several:
            return
        rows: dict[tuple[Any, ...], Term] = {}
        for term in numbers:
            rows.setdefault(term.values, term)
        for term in numbers:
            pairs = list(zip(targets, term.values, strict=True))
            shift = _constant_of([target - value for target, value in pairs])
            if shift is not None and shift != 0 and isinstance(shift, int):
                cost = term.cost + 0.4 + self.price(abs(shift))
                sign = "+" if shift > 0 else "-"
                yield Term(tuple(targets), cost, None, f"{term.expr} {sign} {abs(shift)}", term.uses)
            total = _constant_of([target + value for target, value in pairs])
            if total is not None and isinstance(total, int):
                left = f"{total} - {term.expr}" if total else f"-{term.expr}"
                yield Term(tuple(targets), term.cost + 0.5 + self.price(total), None, left, term.uses)
            if all(term.values) and 1 not in term.values:
                times = _constant_of([target / value for target, value in pairs])
                if times is not None and times == int(times) and abs(times) > 1:
                    cost = term.cost + 0.6 + self.price(int(times))
                    yield Term(tuple(targets), cost, None, f"{int(times)} * {term.expr}", term.uses)
            yield from self._with_another(targets, term, rows)
        yield from self._linear(numbers, targets)
        yield from self._on_a_line(numbers, targets)
        if 0 in targets and any(targets):
            for one, other in itertools.permutations(numbers[:16], 2):
                if all(t == max(a - b, 0) for t, a, b in zip(targets, one.values, other.values, strict=True)):
                    cost = one.cost + other.cost + 1.6
                    yield Term(tuple(targets), cost, None, f"max({one.expr} - {other.expr}, 0)", one.uses | other.uses)

    def _with_another(self, targets: Sequence[Any], term: Term, rows: Mapping[tuple[Any, ...], Term]) -> Iterator[Term]:
        """A sum, difference or product of a term and another one."""
        pairs = list(zip(targets, term.values, strict=True))
        added = rows.get(tuple(target - value for target, value in pairs))
        if added is not None and term.expr < added.expr:
            cost = term.cost + added.cost + 0.6
            yield Term(tuple(targets), cost, None, f"{term.expr} + {added.expr}", term.uses | added.uses)
        taken = rows.get(tuple(value - target for target, value in pairs))
        if taken is not None and term.expr != taken.expr:
            cost = term.cost + taken.cost + 0.6
            yield Term(tuple(targets), cost, None, f"{term.expr} - {taken.expr}", term.uses | taken.uses)
        if all(term.values) and all(not target % value for target, value in pairs):
            times = rows.get(tuple(target // value for target, value in pairs))
            if times is not None and term.expr < times.expr:
                cost = term.cost + times.cost + 1.0
                yield Term(tuple(targets), cost, None, f"{term.expr} * {times.expr}", term.uses | times.uses)

    def _linear(self, numbers: Sequence[Term], targets: Sequence[Any]) -> Iterator[Term]:
        """`a + b * (term - c)`, with constants that the text names."""
        named = [value for value in self.constants if _number(value) and value not in (0, 1)][:8]
        few = sorted(numbers, key=lambda term: term.cost)[:20]
        for term in few:
            for times in named:
                for off in (0, *named):
                    rest = [target - times * (value - off) for target, value in zip(targets, term.values, strict=True)]
                    base = _constant_of(rest)
                    if base is None or (base != 0 and base not in named):
                        continue
                    inner = f"({term.expr} - {off})" if off else term.expr
                    expr = f"{base} + {times} * {inner}" if base else f"{times} * {inner}"
                    yield Term(tuple(targets), term.cost + 2.2, None, expr, term.uses)

    def _on_a_line(self, numbers: Sequence[Term], targets: Sequence[Any]) -> Iterator[Term]:
        """`a * term + b`, with any whole numbers, where at least three points are on the line."""
        for term in numbers[:20]:
            points = sorted(set(zip(term.values, targets, strict=True)))
            if len(points) < 3 or points[0][0] == points[1][0]:
                continue
            times = (points[1][1] - points[0][1]) / (points[1][0] - points[0][0])
            base = points[0][1] - times * points[0][0]
            if times in (0, 1) or times != int(times) or base != int(base):
                continue
            if all(target == times * value + base for value, target in points):
                sign = f" {'+' if base > 0 else '-'} {abs(int(base))}" if base else ""
                cost = term.cost + 1.0 + self.price(int(times)) + (self.price(abs(int(base))) if base else 0.0)
                yield Term(tuple(targets), cost, None, f"{int(times)} * {term.expr}{sign}", term.uses)

    @property
    def looked_up(self) -> list[Term]:
        """Entries of objects under a name that another variable holds, elements of lists at a counted place."""
        if self._looked is None:
            self._looked = list(itertools.islice(self._look_up(), MAX_LOOKED_UP))
        return self._looked

    def _look_up(self) -> Iterator[Term]:
        names = [term for term in self.plain if all(isinstance(value, str) for value in term.values)]
        counts = [term for term in self.plain if all(map(_whole, term.values))]
        for box in self.plain:
            if box.cost > BOX:
                continue
            if all(isinstance(value, dict) for value in box.values):
                keys = names[:24]
            elif all(isinstance(value, list) for value in box.values):
                keys = [term for term in counts if term.expr.startswith((VISITS, ROUND)) or term.uses & self.wanted][:8]
            else:
                continue
            for key in keys:
                if key.uses == box.uses or len({*key.values}) < 2:
                    continue
                for back in (0, 1) if key.expr.startswith(VISITS) else (0,):
                    places = [value - back if back else value for value in key.values]
                    values = tuple(_entry(held, at) for held, at in zip(box.values, places, strict=True))
                    if UNSET not in values:
                        cost = box.cost + key.cost + 0.4 + 0.2 * back
                        expr = f"{box.expr}[{key.expr}{' - 1' if back else ''}]"
                        yield Term(values, cost, None, expr, box.uses | key.uses)

    def _joined(self, targets: Sequence[Any]) -> Iterator[Term]:
        """A list that is another one with an element before or behind, or two lists in a row."""
        lists = [term for term in self.plain if all(isinstance(value, list) for value in term.values)][:40]
        for term in lists:
            sizes = [len(value) for value in term.values]
            heads = [target[: len(target) - size] for target, size in zip(targets, sizes, strict=True)]
            tails = [target[size:] for target, size in zip(targets, sizes, strict=True)]
            behind = [target[len(target) - size :] for target, size in zip(targets, sizes, strict=True)]
            before = [target[:size] for target, size in zip(targets, sizes, strict=True)]
            if same(term.values, behind) and all(len(head) == 1 for head in heads):
                for one in self.explain([head[0] for head in heads], 1, deep=False):
                    yield Term(
                        tuple(targets), one.cost + term.cost + 0.6, None, f"[{one.expr}] + {term.expr}",
                        one.uses | term.uses,
                    )  # fmt: skip
            if same(term.values, before) and all(len(tail) == 1 for tail in tails):
                for one in self.explain([tail[0] for tail in tails], 1, deep=False):
                    yield Term(
                        tuple(targets), one.cost + term.cost + 0.6, None, f"{term.expr} + [{one.expr}]",
                        one.uses | term.uses,
                    )  # fmt: skip
            if same(term.values, before) and any(tails):
                for other in lists:
                    if same(other.values, tails):
                        yield Term(
                            tuple(targets), other.cost + term.cost + 0.6, None, f"{term.expr} + {other.expr}",
                            other.uses | term.uses,
                        )  # fmt: skip

    def _written(self, targets: Sequence[str]) -> Iterator[Term]:
        """A text that is another one spelled otherwise, or constant text and other ones in a row."""
        if len({*targets}) == 1 or max(map(len, targets)) > MAX_WRITTEN:
            return
        inside: dict[tuple[str, ...], Term] = {}
        for term in self.plain:
            for form, price, spell in _SPELLINGS:
                if not 0 < len(spell(term.values[0])) <= len(targets[0]):
                    continue
                values = tuple(map(spell, term.values))
                held = all(part and part in text for part, text in zip(values, targets, strict=True))
                if held and len({*values}) > 1:
                    found = Term(values, term.cost + price, None, form.format(term.expr), term.uses)
                    inside[values] = min(inside.get(values, found), found, key=lambda one: one.cost)
        longest = sorted(inside.values(), key=lambda term: (-len(term.values[0]), term.cost))[:MAX_PARTS]
        for parts in itertools.islice(self._rows(targets, longest, MAX_PARTS, iter(range(MAX_TRIES))), 2):
            cost = sum(part.cost for part in parts) + 0.4 * (len(parts) - 1)
            uses = frozenset[str]().union(*(part.uses for part in parts))
            yield Term(tuple(targets), cost, None, " + ".join(part.expr for part in parts), uses)

    def _rows(
        self, texts: Sequence[str], inside: Sequence[Term], most: int, tries: Iterator[int]
    ) -> Iterator[tuple[Term, ...]]:
        """Terms whose texts in a row are these; constant text between them as long as can be."""
        if next(tries, None) is None:
            return
        if not any(texts):
            yield ()
        elif len({*texts}) == 1:
            yield (self._piece(texts[0], len(texts)),)
        for size in range(_shared(texts) if most else -1, -1, -1):
            head = (self._piece(texts[0][:size], len(texts)),) if size else ()
            for term in inside:
                if all(text.startswith(value, size) for text, value in zip(texts, term.values, strict=True)):
                    rest = [text[size + len(value) :] for text, value in zip(texts, term.values, strict=True)]
                    yield from ((*head, term, *more) for more in self._rows(rest, inside, most - 1, tries))

    def _piece(self, text: str, count: int) -> Term:
        return literal(text, count, 0.5 * self.price(text))


_EXTREMES: tuple[tuple[str, Callable[[Any], Any]], ...] = (("min({})", min), ("max({})", max), ("sum({})", sum))


def _shared(texts: Sequence[str]) -> int:
    """How many characters texts begin with that are the same in all."""
    for size, column in enumerate(zip(*texts, strict=False)):
        if len({*column}) > 1:
            return size
    return min(map(len, texts))


def _spelled(spell: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: spell(value) if isinstance(value, str) else ""


_SPELLINGS: tuple[tuple[str, float, Callable[[Any], str]], ...] = (
    ("{}", 0.0, _spelled(str)),
    ("{}.lower()", 0.4, _spelled(str.lower)),
    ("{}.upper()", 0.4, _spelled(str.upper)),
    ("{}.title()", 0.4, _spelled(str.title)),
    ("{}.capitalize()", 0.4, _spelled(str.capitalize)),
    ("{}.strip()", 0.4, _spelled(str.strip)),
    ("{}.replace(' ', '_')", 0.5, _spelled(lambda text: text.replace(" ", "_"))),
    ("{}.lower().replace(' ', '_')", 0.7, _spelled(lambda text: text.lower().replace(" ", "_"))),
    ("str({})", 0.4, lambda value: str(value) if isinstance(value, int) and not isinstance(value, bool) else ""),
)
"""How a text can be written otherwise, and what that costs; the text is empty where it cannot."""


def _extreme(value: Any, function: Callable[[Any], Any]) -> Any:
    """Of a list or an object of numbers; None for anything else."""
    held = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else value
    if not isinstance(held, list) or not held or not all(map(_number, cast(list[Any], held))):
        return None
    return function(cast(list[Any], held))


def _fields(term: Term) -> Iterator[Term]:
    """The fields of an object."""
    if all(isinstance(value, dict) for value in term.values):
        for key in set[str].intersection(*map(_keys, term.values)):
            values = tuple(cast(dict[str, Any], value)[key] for value in term.values)
            yield Term(values, term.cost + 0.3, None, f"{term.expr}[{key!r}]", term.uses)


def _entry(held: Any, key: Any) -> Any:
    """Of an object or a list; UNSET if there is none."""
    if isinstance(held, dict):
        return cast(dict[str, Any], held).get(key, UNSET)
    return held[key] if 0 <= key < len(held) else UNSET


def _keys(value: Any) -> set[str]:
    return set(cast(dict[str, Any], value))


def _length(value: Any) -> int | None:
    return len(cast(Any, value)) if isinstance(value, list | str | dict) else None


def _in_order(value: Any) -> Any:
    try:
        return sorted(value)
    except TypeError:
        return UNSET


def _trivial(targets: Sequence[Any]) -> bool:
    """Whether all are the same empty value, zero or truth value."""
    first = targets[0]
    small = first is None or (not isinstance(first, bool) and first in (0, "", [], {}))
    return small and all(json_equal(first, target) for target in targets)


def _constant_of(values: Sequence[Any]) -> Any:
    first = values[0]
    return first if all(abs(value - first) < 1e-12 for value in values) else None

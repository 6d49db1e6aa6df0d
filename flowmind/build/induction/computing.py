"""Small computations over terms, which an agent does without a tool between two calls.

For example a sum, a difference, a line through points, a looked-up element, or two lists one after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.spelling import written
from flowmind.build.induction.terms import Term, all_are, is_number, is_whole, same
from flowmind.build.induction.walking import ROUND, VISITS
from tools_registry.specs.schema import json_equal

if TYPE_CHECKING:
    from flowmind.build.induction.pool import Pool

BOX = 2.0
"""Maximum cost of an object or list in which something is looked up."""


def computed(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """The small computations that give these values."""
    for term in pool.looked_up:
        yield from (part for part in (term, *fields(term)) if same(part.values, targets))
    if all(is_number(target) for target in targets):
        yield from _arithmetic(pool, targets)
    elif all(isinstance(target, list) for target in targets):
        yield from _joined(pool, targets)
    elif all(isinstance(target, str) for target in targets):
        yield from written(pool, targets)
    elif all(isinstance(target, bool) for target in targets):
        for term in pool.plain:
            if all(isinstance(value, bool) for value in term.values):
                flipped = tuple(not value for value in term.values)
                if same(flipped, targets):
                    yield Term(flipped, term.cost + 0.5, None, f"not {term.expr}", term.uses)
    if all(isinstance(target, list) for target in targets):
        for term in pool.plain:
            if all(isinstance(value, dict | list) for value in term.values):
                ordered = [_in_order(value) for value in term.values]
                if same(ordered, targets):
                    yield Term(tuple(ordered), term.cost + 1.0, None, f"sorted({term.expr})", term.uses)


def shifted(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """A result that nothing reads, plus or minus one or a constant of the text."""
    for term in pool.plain:
        if term.uses & pool.wanted and all(map(is_number, term.values)):
            shift = _constant_of([target - value for target, value in zip(targets, term.values, strict=True)])
            if shift in (1, -1) or (shift and abs(shift) in pool.constants):
                sign = "+" if shift > 0 else "-"
                yield Term(tuple(targets), term.cost + 0.4, None, f"{term.expr} {sign} {abs(shift)}", term.uses)


def _arithmetic(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """Sums, differences and multiples."""
    numbers = pool.countable
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
            cost = term.cost + 0.4 + pool.price(abs(shift))
            sign = "+" if shift > 0 else "-"
            yield Term(tuple(targets), cost, None, f"{term.expr} {sign} {abs(shift)}", term.uses)
        total = _constant_of([target + value for target, value in pairs])
        if total is not None and isinstance(total, int):
            expr = f"{total} - {term.expr}" if total else f"-{term.expr}"
            yield Term(tuple(targets), term.cost + 0.5 + pool.price(total), None, expr, term.uses)
        if all(term.values) and 1 not in term.values:
            times = _constant_of([target / value for target, value in pairs])
            if times is not None and times == int(times) and abs(times) > 1:
                cost = term.cost + 0.6 + pool.price(int(times))
                yield Term(tuple(targets), cost, None, f"{int(times)} * {term.expr}", term.uses)
        yield from _with_another(targets, term, rows)
    yield from _linear(pool, numbers, targets)
    yield from _on_a_line(pool, numbers, targets)
    if 0 in targets and any(targets):
        for first, second in itertools.permutations(numbers[:16], 2):
            if all(t == max(a - b, 0) for t, a, b in zip(targets, first.values, second.values, strict=True)):
                cost = first.cost + second.cost + 1.6
                yield Term(
                    tuple(targets), cost, None, f"max({first.expr} - {second.expr}, 0)", first.uses | second.uses
                )


def _with_another(targets: Sequence[Any], term: Term, rows: Mapping[tuple[Any, ...], Term]) -> Iterator[Term]:
    """The sum, difference or product of a term with another one."""
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


def _linear(pool: Pool, numbers: Sequence[Term], targets: Sequence[Any]) -> Iterator[Term]:
    """`a + b * (term - c)` with constants of the text."""
    named = [value for value in pool.constants if is_number(value) and value not in (0, 1)][:8]
    few = sorted(numbers, key=lambda term: term.cost)[:20]
    for term in few:
        for times in named:
            for off in (0, *named):
                base = targets[0] - times * (term.values[0] - off)
                if base != 0 and base not in named:
                    continue
                pairs = zip(targets, term.values, strict=True)
                if any(abs(target - times * (value - off) - base) > 1e-12 for target, value in pairs):
                    continue
                inner = f"({term.expr} - {off})" if off else term.expr
                expr = f"{base} + {times} * {inner}" if base else f"{times} * {inner}"
                yield Term(tuple(targets), term.cost + 2.2, None, expr, term.uses)


def _on_a_line(pool: Pool, numbers: Sequence[Term], targets: Sequence[Any]) -> Iterator[Term]:
    """`a * term + b` with whole numbers, where at least three points lie on the line."""
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
            cost = term.cost + 1.0 + pool.price(int(times)) + (pool.price(abs(int(base))) if base else 0.0)
            yield Term(tuple(targets), cost, None, f"{int(times)} * {term.expr}{sign}", term.uses)


def look_up(pool: Pool) -> Iterator[Term]:
    """Fields of objects under a name that another variable has, and list elements at a counted index."""
    names = [term for term in pool.plain if all_are(str, term.values)][:24]
    counts = [term for term in pool.plain if is_whole(term.values[0]) and all(map(is_whole, term.values))]
    counts = [term for term in counts if term.expr.startswith((VISITS, ROUND)) or term.uses & pool.wanted][:8]
    names, counts = ([term for term in keys if len({*term.values}) > 1] for keys in (names, counts))
    for box in pool.plain:
        if box.cost > BOX:
            continue
        if all_are(dict, box.values):
            keys = names
        elif all_are(list, box.values):
            keys = counts
        else:
            continue
        for key in keys:
            if key.uses == box.uses:
                continue
            for back in (0, 1) if key.expr.startswith(VISITS) else (0,):
                places = [value - back for value in key.values] if back else key.values
                if (values := _entries(box.values, places)) is not None:
                    cost = box.cost + key.cost + 0.4 + 0.2 * back
                    expr = f"{box.expr}[{key.expr}{' - 1' if back else ''}]"
                    yield Term(values, cost, None, expr, box.uses | key.uses)


def _joined(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """A list with one element more before or behind, or two lists one after the other."""
    lists = [term for term in pool.plain if all(isinstance(value, list) for value in term.values)][:40]
    for term in lists:
        sizes = [len(value) for value in term.values]
        heads = [target[: len(target) - size] for target, size in zip(targets, sizes, strict=True)]
        tails = [target[size:] for target, size in zip(targets, sizes, strict=True)]
        behind = [target[len(target) - size :] for target, size in zip(targets, sizes, strict=True)]
        before = [target[:size] for target, size in zip(targets, sizes, strict=True)]
        for rest, ends, form in ((behind, heads, "[{0}] + {1}"), (before, tails, "{1} + [{0}]")):
            if same(term.values, rest) and all(len(end) == 1 for end in ends):
                for first in pool.explain([end[0] for end in ends], 1, deep=False):
                    expr = form.format(first.expr, term.expr)
                    yield Term(tuple(targets), first.cost + term.cost + 0.6, None, expr, first.uses | term.uses)
        if same(term.values, before) and any(tails):
            for second in lists:
                if same(second.values, tails):
                    yield Term(
                        tuple(targets), second.cost + term.cost + 0.6, None, f"{term.expr} + {second.expr}",
                        second.uses | term.uses,
                    )  # fmt: skip


def fields(term: Term) -> Iterator[Term]:
    """The fields of an object."""
    if all(isinstance(value, dict) for value in term.values):
        held = cast(tuple[dict[str, Any], ...], term.values)
        for key in [key for key in held[0] if all(key in value for value in held)]:
            values = tuple(value[key] for value in held)
            yield Term(values, term.cost + 0.3, None, f"{term.expr}[{key!r}]", term.uses)


def _entries(boxes: Sequence[Any], keys: Sequence[Any]) -> tuple[Any, ...] | None:
    """The entries of objects or lists under these keys; None if one is missing."""
    found: list[Any] = []
    for held, key in zip(boxes, keys, strict=True):
        if not (key in held if isinstance(held, dict) else 0 <= key < len(held)):
            return None
        found.append(held[key])
    return tuple(found)


def _in_order(value: Any) -> Any:
    try:
        return sorted(value)
    except TypeError:
        return UNSET


def _constant_of(values: Sequence[Any]) -> Any:
    first = values[0]
    return first if all(abs(value - first) < 1e-12 for value in values) else None

"""Expressions over terms: the small computations that an agent does without a tool between two calls.

For example a sum, a difference, a line through points, a looked-up element, two lists one after the other, or a text
that is spelled differently or joined with constant text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Any, cast

from flowmind.build.induction.control_flow import UNSET
from flowmind.build.induction.terms import Pool, Term, all_are, fields_of, is_number, joint_uses, literal, same
from flowmind.workflow.document import Binding, ListOf, ObjectOf
from tools_registry.specs.schema import json_equal

MAX_WRITTEN = 1_000
"""Maximum length of a text that is searched for other texts, in characters."""
MAX_PARTS = 6
"""Maximum number of elements of a composed list, and of texts in a joined text."""
MAX_TRIES = 100
"""Maximum number of steps in the search for joined texts."""


def explain(pool: Pool, targets: Sequence[Any], most: int = 6, deep: bool = True, initial: bool = False) -> list[Term]:
    """The terms and expressions that have these values, the likeliest first.

    Args:
        pool: The terms at the samples.
        targets: The values.
        most: Terms that are kept.
        deep: Whether computations are tried.
        initial: Whether an accumulation begins with these values. An empty value is then more likely a constant than a
            variable that happens to be empty.
    """
    terms = list(pool.matching(targets))
    constant = all(json_equal(targets[0], target) for target in targets)
    if terms and constant and _is_trivial(targets[0]):
        more = 0.6 if initial else -0.3 if isinstance(targets[0], list | dict) else 0.2
        terms = [replace(term, cost=term.cost + more) for term in terms]
    if constant:
        terms.append(literal(targets[0], len(targets), pool.price(targets[0])))
    terms += _composed(pool, targets, deep)
    if all(map(is_number, targets)):
        terms += pool.lengths(targets)
    if deep and (not terms or min(term.cost for term in terms) > 3):
        terms += _computed(pool, targets)
    elif deep and pool.wanted and all(map(is_number, targets)):
        terms += _shifted(pool, targets)
    return sorted(terms, key=lambda term: term.cost)[:most]


def _is_trivial(value: Any) -> bool:
    """Whether a value is empty, zero or None."""
    return value is None or (not isinstance(value, bool) and value in (0, "", [], {}))


def columns_of(targets: Sequence[Any], most: int) -> dict[Any, list[Any]] | None:
    """The values of each field or element; None if the targets are not objects or lists of one form.

    Args:
        targets: The values. Objects have one form if their keys are equal, lists if their lengths are.
        most: Maximum length of a list.
    """
    keys: list[Any] = []
    if all_are(dict, targets):
        keys = list(targets[0])
        alike = all(target.keys() == targets[0].keys() for target in targets)
    else:
        alike = all_are(list, targets) and len(targets[0]) <= most
        keys = list(range(len(targets[0]))) if alike else []
        alike = alike and all(len(target) == len(keys) for target in targets)
    return {key: [target[key] for target in targets] for key in keys} if keys and alike else None


def _composed(pool: Pool, targets: Sequence[Any], deep: bool) -> Iterator[Term]:
    """A list or object of terms, with the cheapest term for each part."""
    columns = columns_of(targets, MAX_PARTS)
    if columns is None:
        return
    parts: dict[Any, Term] = {}
    read: set[str] = set()
    for key, column in columns.items():
        options = explain(pool, column, 4, deep)
        if not options:
            return
        parts[key] = min(options, key=lambda term: term.cost + (0.4 if term.uses & read else 0.0))
        read |= parts[key].uses
    if not read:
        return
    bindings = {key: term.binding for key, term in parts.items()}
    binding: Binding | None = None
    if isinstance(targets[0], dict):
        if None not in bindings.values():
            binding = ObjectOf(object=cast(dict[str, Binding], bindings))
        expr = f"{{{', '.join(f'{key!r}: {term.expr}' for key, term in parts.items())}}}"
    else:
        if None not in bindings.values():
            binding = ListOf(list=cast(tuple[Binding, ...], tuple(bindings.values())))
        expr = f"[{', '.join(term.expr for term in parts.values())}]"
    yield Term(tuple(targets), 0.4 + sum(term.cost for term in parts.values()), binding, expr, frozenset(read))


def _expression(targets: Sequence[Any], cost: float, expr: str, *terms: Term, price: float = 0.0) -> Term:
    """The term of an expression over terms; `cost` is that of the operation, `price` that of a constant in it."""
    return Term(tuple(targets), sum(term.cost for term in terms) + cost + price, None, expr, joint_uses(terms))


def _computed(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """The computations that give these values."""
    for term in pool.looked_up:
        yield from (part for part in (term, *fields_of(term)) if same(part.values, targets))
    if all(map(is_number, targets)):
        yield from _arithmetic(pool, targets)
    elif all_are(list, targets):
        yield from _joined_lists(pool, targets)
        for term in pool.plain:
            if all_are(dict | list, term.values) and same([_in_order(value) for value in term.values], targets):
                yield _expression(targets, 1.0, f"sorted({term.expr})", term)
    elif all_are(str, targets):
        yield from _spelled(pool, targets)
    elif all_are(bool, targets):
        for term in pool.plain:
            if all_are(bool, term.values) and all(a is not b for a, b in zip(term.values, targets, strict=True)):
                yield _expression(targets, 0.5, f"not {term.expr}", term)


def _in_order(value: Any) -> Any:
    try:
        return sorted(value)
    except TypeError:
        return UNSET


# Numbers


def _shifted(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """A result that nothing reads, plus or minus one or a constant of the text."""
    for term in pool.plain:
        if term.uses & pool.wanted and all(map(is_number, term.values)):
            shift = _constant_of([target - value for target, value in zip(targets, term.values, strict=True)])
            if shift in (1, -1) or (shift and abs(shift) in pool.constants):
                yield _expression(targets, 0.4, f"{term.expr} {_signed(shift)}", term)


def _signed(number: Any) -> str:
    return f"{'+' if number > 0 else '-'} {abs(number)}"


def _constant_of(values: Sequence[Any]) -> Any:
    """The number that all values are; None if they differ."""
    first = values[0]
    return first if all(abs(value - first) < 1e-12 for value in values) else None


def _arithmetic(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """Sums, differences and multiples."""
    if all(json_equal(targets[0], target) for target in targets):
        return
    numbers = pool.countable
    rows: dict[tuple[Any, ...], Term] = {}
    for term in numbers:
        rows.setdefault(term.values, term)
    for term in numbers:
        pairs = list(zip(targets, term.values, strict=True))
        shift = _constant_of([target - value for target, value in pairs])
        if shift and isinstance(shift, int):
            yield _expression(targets, 0.4, f"{term.expr} {_signed(shift)}", term, price=pool.price(abs(shift)))
        total = _constant_of([target + value for target, value in pairs])
        if total is not None and isinstance(total, int):
            expr = f"{total} - {term.expr}" if total else f"-{term.expr}"
            yield _expression(targets, 0.5, expr, term, price=pool.price(total))
        if all(term.values) and 1 not in term.values:
            times = _constant_of([target / value for target, value in pairs])
            if times is not None and times == int(times) and abs(times) > 1:
                yield _expression(targets, 0.6, f"{int(times)} * {term.expr}", term, price=pool.price(int(times)))
        yield from _with_another(targets, term, rows)
    yield from _linear(pool, targets)
    yield from _on_a_line(pool, targets)
    if 0 in targets and any(targets):
        for first, second in permutations(numbers[:16], 2):
            if all(t == max(a - b, 0) for t, a, b in zip(targets, first.values, second.values, strict=True)):
                yield _expression(targets, 1.6, f"max({first.expr} - {second.expr}, 0)", first, second)


def _with_another(targets: Sequence[Any], term: Term, rows: Mapping[tuple[Any, ...], Term]) -> Iterator[Term]:
    """The sum, difference or product of a term with another one."""
    pairs = list(zip(targets, term.values, strict=True))
    summand = rows.get(tuple(target - value for target, value in pairs))
    if summand is not None and term.expr < summand.expr:
        yield _expression(targets, 0.6, f"{term.expr} + {summand.expr}", term, summand)
    subtrahend = rows.get(tuple(value - target for target, value in pairs))
    if subtrahend is not None and term.expr != subtrahend.expr:
        yield _expression(targets, 0.6, f"{term.expr} - {subtrahend.expr}", term, subtrahend)
    if all(term.values) and all(not target % value for target, value in pairs):
        factor = rows.get(tuple(target // value for target, value in pairs))
        if factor is not None and term.expr < factor.expr:
            yield _expression(targets, 1.0, f"{term.expr} * {factor.expr}", term, factor)


def _linear(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """`a + b * (term - c)` with constants of the text."""
    named = [value for value in pool.constants if is_number(value) and value not in (0, 1)][:8]
    for term in pool.countable[:20]:
        for times in named:
            for off in (0, *named):
                base = targets[0] - times * (term.values[0] - off)
                if base != 0 and base not in named:
                    continue
                pairs = zip(targets, term.values, strict=True)
                if any(abs(target - times * (value - off) - base) > 1e-12 for target, value in pairs):
                    continue
                inner = f"({term.expr} - {off})" if off else term.expr
                yield _expression(targets, 2.2, f"{f'{base} + ' if base else ''}{times} * {inner}", term)


def _on_a_line(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """`a * term + b` with whole numbers, where at least three points lie on the line."""
    for term in pool.countable[:20]:
        points = sorted(set(zip(term.values, targets, strict=True)))
        if len(points) < 3 or points[0][0] == points[1][0]:
            continue
        times = (points[1][1] - points[0][1]) / (points[1][0] - points[0][0])
        base = points[0][1] - times * points[0][0]
        if times in (0, 1) or times != int(times) or base != int(base):
            continue
        if all(target == times * value + base for value, target in points):
            expr = f"{int(times)} * {term.expr}{f' {_signed(int(base))}' if base else ''}"
            cost = term.cost + 1.0 + pool.price(int(times)) + (pool.price(abs(int(base))) if base else 0.0)
            yield Term(tuple(targets), cost, None, expr, term.uses)


# Lists


def _joined_lists(pool: Pool, targets: Sequence[Any]) -> Iterator[Term]:
    """A list with one element more before or behind, or two lists one after the other."""
    lists = [term for term in pool.plain if all_are(list, term.values)][:40]
    for term in lists:
        sizes = [len(value) for value in term.values]
        heads = [target[: len(target) - size] for target, size in zip(targets, sizes, strict=True)]
        tails = [target[size:] for target, size in zip(targets, sizes, strict=True)]
        behind = [target[len(target) - size :] for target, size in zip(targets, sizes, strict=True)]
        before = [target[:size] for target, size in zip(targets, sizes, strict=True)]
        for rest, ends, form in ((behind, heads, "[{0}] + {1}"), (before, tails, "{1} + [{0}]")):
            if same(term.values, rest) and all(len(end) == 1 for end in ends):
                for element in explain(pool, [end[0] for end in ends], 1, deep=False):
                    yield _expression(targets, 0.6, form.format(element.expr, term.expr), element, term)
        if same(term.values, before) and any(tails):
            for second in lists:
                if same(second.values, tails):
                    yield _expression(targets, 0.6, f"{term.expr} + {second.expr}", second, term)


# Texts


def _spelled(pool: Pool, targets: Sequence[str]) -> Iterator[Term]:
    """A text that is another one spelled differently, or a concatenation of texts and constants."""
    if len({*targets}) == 1 or max(map(len, targets)) > MAX_WRITTEN:
        return
    inside: dict[tuple[str, ...], Term] = {}
    for term in pool.plain:
        if not isinstance(term.values[0], str | int):
            continue
        for form, price, spell in _SPELLINGS:
            # the first text seldom contains the value, so that the other values need not be spelled
            if not (first := spell(term.values[0])) or first not in targets[0]:
                continue
            values = tuple(map(spell, term.values))
            contained = all(part and part in text for part, text in zip(values, targets, strict=True))
            if contained and len({*values}) > 1:
                spelling = Term(values, term.cost + price, None, form.format(term.expr), term.uses)
                inside[values] = min(inside.get(values, spelling), spelling, key=lambda term: term.cost)
    longest = sorted(inside.values(), key=lambda term: (-len(term.values[0]), term.cost))[:MAX_PARTS]
    for parts in islice(_concatenations(pool, targets, longest, MAX_PARTS, iter(range(MAX_TRIES))), 2):
        yield _expression(targets, 0.4 * (len(parts) - 1), " + ".join(part.expr for part in parts), *parts)


def _concatenations(
    pool: Pool, texts: Sequence[str], inside: Sequence[Term], most: int, tries: Iterator[int]
) -> Iterator[tuple[Term, ...]]:
    """Sequences of terms whose texts form these texts, with the longest possible constant text between them."""
    if next(tries, None) is None:
        return
    if not any(texts):
        yield ()
    elif len({*texts}) == 1:
        yield (_constant_text(pool, texts[0], len(texts)),)
    for size in range(_shared(texts) if most else -1, -1, -1):
        head = (_constant_text(pool, texts[0][:size], len(texts)),) if size else ()
        for term in inside:
            if all(text.startswith(value, size) for text, value in zip(texts, term.values, strict=True)):
                rest = [text[size + len(value) :] for text, value in zip(texts, term.values, strict=True)]
                yield from ((*head, term, *more) for more in _concatenations(pool, rest, inside, most - 1, tries))


def _constant_text(pool: Pool, text: str, count: int) -> Term:
    return literal(text, count, 0.5 * pool.price(text))


def _shared(texts: Sequence[str]) -> int:
    """The length of the common prefix, in characters."""
    for size, column in enumerate(zip(*texts, strict=False)):
        if len({*column}) > 1:
            return size
    return min(map(len, texts))


def _on_texts(spell: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: spell(value) if isinstance(value, str) else ""


_SPELLINGS: tuple[tuple[str, float, Callable[[Any], str]], ...] = (
    ("{}", 0.0, _on_texts(str)),
    ("{}.lower()", 0.4, _on_texts(str.lower)),
    ("{}.upper()", 0.4, _on_texts(str.upper)),
    ("{}.title()", 0.4, _on_texts(str.title)),
    ("{}.capitalize()", 0.4, _on_texts(str.capitalize)),
    ("{}.strip()", 0.4, _on_texts(str.strip)),
    ("{}.replace(' ', '_')", 0.5, _on_texts(lambda text: text.replace(" ", "_"))),
    ("{}.lower().replace(' ', '_')", 0.7, _on_texts(lambda text: text.lower().replace(" ", "_"))),
    ("str({})", 0.4, lambda value: str(value) if isinstance(value, int) and not isinstance(value, bool) else ""),
)
"""Spellings with their cost and function, which returns an empty text where it does not apply."""

"""Aggregates: values of all elements of a list, such as a count, a sum, the best element, or a list of some fields.

An aggregate is a comprehension: `sum(line['quantity'] * line['price'] for line in order['lines'] if line['quantity'] >
2)`. Filters are taken by the set of elements that they keep, so that each set is tried once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard, cast

from flowmind.build.induction.bits import COMMON, SIDE, UNROUNDED, is_number
from flowmind.build.induction.comprehensions import Body, Kept, Loop, arithmetic_of, body_of, candidate, loops
from flowmind.build.induction.features import computed, key_of, scope_key, values_of
from flowmind.build.induction.filters import elements_of
from flowmind.build.induction.listings import listings, records, texts
from flowmind.build.induction.lists import item_name, lists
from flowmind.build.induction.scopes import Candidate, Context, Explain, Feature, Scope
from flowmind.build.induction.tables import MOST, WIDTH, bit_set

KIND = 4.0
"""The bits of the choice of an aggregate."""
ROUNDED = 4.0
"""The bits of rounding to two digits."""
AGAIN = 1.0
"""The bits of a value that another field of the same object has."""
TIED = 2.0
"""The bits of a key whose largest value several elements have."""
OF_ALL = 10.0
"""The bits of a total of a list that several visits share, where each may have one of its own."""
ENOUGH = 30.0
"""Joined filters are not tried if an aggregate has at most so many bits."""
_FILTERS = 300
_JOINED_BODIES = 12
_KEYS = 8
_BEST_FILTERS = 60
_NESTED = 8
"""The number of lists of which totals for each element are made."""
_NESTED_FILTERS = 14
_COMBINED = 12
"""The number of values of three fields in these."""
_BODIES = 60
_NAMED = 300
"""The largest number of pairs of an element and one of another list."""
_FIELDS = 4
"""The number of values of an element that are tried for a field of an object."""
_RECORDS = 24
"""The number of objects of such values that are tried."""
_FIELD = "\0"
"""The place of a field."""
_SHOWN = 12
"""The number of scopes in which aggregates are searched; then they are evaluated in all."""
_FEATURED = 300
"""The largest number of elements of a list whose aggregates are features."""
_FEATURES = 250
"""The number of features with different values that aggregates give."""
_ALIKE = 4
"""The number of those with the same values."""


def aggregates(
    context: Context,
    scopes: Sequence[Scope],
    values: Sequence[Any],
    hint: str = "",
    explain: Explain | None = None,
    same: bool = False,
) -> tuple[Candidate, ...]:
    """The aggregates of lists that give a value at each scope, the likeliest first.

    Args:
        context: What the search shares.
        scopes: The scopes.
        values: The value at each scope.
        hint: The name of the argument or field.
        explain: Explains the elements of a list that are no field of an element of another one.
        same: Whether values count that are the same at all scopes.
    """
    keys = tuple(key_of(context, value) for value in values)
    memo = ("aggregates", scope_key(scopes), keys, hint, explain is None, same)
    if memo not in context.memo:
        shown = _shown(keys)
        some, own = [scopes[place] for place in shown], [values[place] for place in shown]
        found: list[Candidate] = []
        if same or len(set(keys)) > 1 or len(keys) == 1:
            found = _aggregates(context, some, own, hint, None)
            if not found and explain:
                found = _aggregates(context, some, own, hint, explain)
        context.memo[memo] = tuple(_nearest(context, found, scopes, keys, len(shown) < len(keys)))
    return context.memo[memo]


def _shown(keys: Sequence[Any]) -> list[int]:
    """The places of some scopes with as many different values as possible."""
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    rest = [place for place in range(len(keys)) if place not in set(first.values())]
    spread = rest[:: max(1, len(rest) // _SHOWN)]
    return sorted([*sorted(first.values()), *spread][:_SHOWN])


def _nearest(
    context: Context, found: Sequence[Candidate], scopes: Sequence[Scope], keys: Sequence[Any], check: bool
) -> Iterator[Candidate]:
    """The likeliest, each once; those that have the values at all scopes."""
    best: dict[str, Candidate] = {}
    for one in sorted(found, key=lambda one: (one.bits, one.text)):
        near = not best or one.bits <= next(iter(best.values())).bits + WIDTH
        if near and one.text not in best and (not check or _has_values(context, one, scopes, keys)):
            best[one.text] = one
            yield one
        if len(best) == MOST:
            break


def _has_values(context: Context, one: Candidate, scopes: Sequence[Scope], keys: Sequence[Any]) -> bool:
    return tuple(key_of(context, value) for value in values_of(context, scopes, one.text)) == tuple(keys)


def _aggregates(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], hint: str, explain: Explain | None
) -> list[Candidate]:
    found: list[Candidate] = []
    if explain and _of_objects(values):
        return records(context, loops(context, scopes), scopes, values, hint, explain)
    for loop in loops(context, scopes):
        if context.exhausted:
            break
        if all(isinstance(value, list) for value in values):
            found += listings(context, loop, scopes, values, hint, explain)
            continue
        if all(isinstance(value, bool) for value in values):
            found += _quantified(loop, values)
            continue
        if _same_names(values) and len(values[0]) > 1:
            found += _records(context, loop, values, []) or _records(
                context, loop, values, _nested(context, loop, scopes)
            )
            continue
        if all(isinstance(value, str) for value in values):
            found += texts(context, loop, scopes, values, hint, explain)
        bodies = loop.numbers(context, hint)
        own = _totals(context, loop, values, loop.filters(_FILTERS), bodies[:_BODIES])
        own += _choices(context, loop, values, hint, [])
        if min((one.bits for one in own), default=ENOUGH + 1) > ENOUGH and len(loop.elements.scopes) <= 400:
            own += _totals(context, loop, values, loop.joined_filters(), bodies[:_JOINED_BODIES])
        if not own and not found and not loop.source.chosen:
            nested = _nested(context, loop, scopes)
            own += _totals(context, loop, values, loop.filters(_NESTED_FILTERS), _rich(context, loop, bodies, nested))
            own += _choices(context, loop, values, hint, nested) if nested else []
        found += own
    return found


def _of_objects(values: Sequence[Any]) -> TypeGuard[Sequence[list[dict[str, Any]]]]:
    """Whether values are lists of objects."""
    return all(isinstance(value, list) for value in values) and all(
        isinstance(part, dict) and part != {} for value in values for part in cast(list[Any], value)
    )


def _same_names(values: Sequence[Any]) -> bool:
    return all(isinstance(value, dict) for value in values) and len({frozenset(value) for value in values}) == 1


def _nested(context: Context, loop: Loop, scopes: Sequence[Scope]) -> list[Body]:
    """Totals for each element: of the lists in it, and of the lists around whose elements are compared with it."""
    memo = ("nested", id(loop.elements))
    if memo not in context.memo:
        item = re.compile(rf"\b{loop.elements.item}\b")
        inside = loop.elements.inside(scopes)
        found: list[Body] = []
        for source in lists(context, inside)[:_NESTED]:
            own = item.search(source.text)
            if not own and not _named(loop.elements.values, source.values):
                continue
            inner = Loop(context, source, elements_of(context, inside, source.text, item_name(source.text, inside)))
            near: list[Kept] = []
            for group in (inner.filters(_FILTERS), inner.joined_filters()):
                tied = [kept for kept in group if own or (kept.condition and item.search(kept.condition.text))]
                near += tied[: _NESTED_FILTERS // 2]
            bodies = [*inner.numbers(context)[:8], *inner.combined(context)[:_COMBINED]]
            found += map(body_of, _features(context, inner, near, bodies))
        numbers = [body for body in found if all(map(is_number, body.values))]
        context.memo[memo] = loop.elements, sorted(numbers, key=lambda body: body.bits)
    return context.memo[memo][1]


def _named(elements: Sequence[Any], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether elements share texts with those of other lists, which are few enough to be searched for each."""
    if sum(map(len, rows)) > _NAMED:
        return False
    known = set(map(id, elements))
    return not any(id(row) in known for row in rows[0]) and any(
        not _texts_of(element).isdisjoint(_texts_of(row))
        for element, own in zip(elements, rows, strict=True)
        for row in own
    )


def _texts_of(value: Any) -> frozenset[str]:
    """The texts among the fields of an object."""
    parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else ()
    return frozenset(part for part in parts if isinstance(part, str))


def _rich(context: Context, loop: Loop, bodies: Sequence[Body], nested: Sequence[Body]) -> list[Body]:
    """Numbers of an element that are made of three fields, of totals, and of percentages of these."""
    whole = [*loop.combined(context), *nested]
    shared = [
        body_of(next(arithmetic_of(one, share)))
        for share in loop.shares(context)
        for one in (*bodies[:_BODIES], *whole)
    ]
    return [*whole, *shared]


def _quantified(loop: Loop, values: Sequence[Any]) -> Iterator[Candidate]:
    """`any` and `all`."""
    parts = list(loop.parts(loop.elements.table.full))
    for kept in loop.filters(_FILTERS)[1:]:
        assert kept.condition is not None
        own = list(loop.parts(kept.holds))
        for word, truths in (
            ("any", [bool(part) for part in own]),
            ("all", [part == full for part, full in zip(own, parts, strict=True)]),
        ):
            if truths == list(values):
                for rival in loop.rivals(kept):
                    text = f"{word}({rival.condition.text if rival.condition else ''} {loop.head(loop.all())})"
                    yield candidate(loop, KIND, text, rival)


def _totals(
    context: Context, loop: Loop, values: Sequence[Any], filters: Sequence[Kept], bodies: Sequence[Body]
) -> list[Candidate]:
    """Counts, sums, minima, maxima and averages."""
    found: list[Candidate] = []
    if not all(is_number(value) or value is None for value in values) or all(value is None for value in values):
        return found
    context.effort += len(filters) + 4 * len(bodies)
    likely = [(kind, body) for kind in _KINDS for body in bodies if _may_be(kind, body, loop, values)]
    for kept in filters:
        if kept.condition or loop.flat:
            counts = [part.bit_count() for part in loop.parts(kept.holds)]
            if counts == list(values):
                found += [candidate(loop, KIND, f"sum(1 {loop.head(one)})", one) for one in loop.rivals(kept)]
        places = loop.places(kept)
        if any(value is None and own for value, own in zip(values, places, strict=True)):
            continue
        context.effort += len(likely)
        for kind, body in likely:
            made = _total(kind, body, places, values)
            if made is not None:
                found += _written(context, loop, kind, body, kept, made)
    return found


def _may_be(kind: str, body: Body, loop: Loop, values: Sequence[Any]) -> bool:
    """Whether some of the elements may have these totals."""
    parts = [body.values[slice(*bounds)] for bounds in loop.elements.bounds]
    pairs = [(own, value) for own, value in zip(parts, values, strict=True) if value is not None]
    if kind == "sum":
        above = [(sum(one for one in own if one > 0), sum(one for one in own if one < 0)) for own, _ in pairs]
        return all(least - 0.01 <= value <= most + 0.01 for (most, least), (_, value) in zip(above, pairs, strict=True))
    if kind == "average":
        return all(
            (min(own) <= value + 0.01 and value <= max(own) + 0.01) if own else not value for own, value in pairs
        )
    return all(not own or not value or any(abs(one - value) < 0.01 for one in own) for own, value in pairs)


class _Total(NamedTuple):
    """How totals are the wanted values."""

    exact: bool
    cents: bool
    """When they are rounded to cents."""
    default: Any
    """The value where no element is kept; `_NONE` if there is no such place."""


_KINDS: dict[str, tuple[float, Callable[[list[Any]], Any]]] = {
    "sum": (0.0, sum),
    "max": (2.0, max),
    "min": (2.0, min),
    "average": (2.0, lambda numbers: sum(numbers) / len(numbers)),
}


def _total(kind: str, body: Body, places: Sequence[Sequence[int]], values: Sequence[Any]) -> _Total | None:
    compute = _KINDS[kind][1]
    exact, same, cents, default = True, True, True, _NONE
    for own, value in zip(places, values, strict=True):
        if not own and kind != "sum":
            if default not in (_NONE, value) or value not in (0, None):
                return None
            default = value
            continue
        if value is None:
            return None
        total = compute([body.values[place] for place in own])
        exact, same = exact and abs(total - value) <= 1e-9, same and total == value
        cents = cents and round(total, 2) == value
        if not exact and not cents:
            return None
    return _Total(exact and (same or not cents), cents, default) if any(places) else None


_NONE = object()


def _written(context: Context, loop: Loop, kind: str, body: Body, kept: Kept, made: _Total) -> Iterator[Candidate]:
    guarded = made.default is not _NONE
    bits = KIND + _KINDS[kind][0] + (SIDE + COMMON if guarded else 0.0)
    fractions = any(isinstance(value, float) for value in body.values) or kind == "average"
    for one in loop.rivals(kept):
        inner = f"{body.text} {loop.head(one)}"
        text = f"sum({inner}) / len([{inner}])" if kind == "average" else f"{kind}({inner})"
        end = f" if {loop.some(one)} else {made.default!r}" if guarded else ""
        rounding = ROUNDED if made.cents and fractions else 0.0
        asked = context.reading.names_key("rounded decimals cents") > 0
        if made.exact:
            yield candidate(loop, bits + (UNROUNDED if asked and rounding else 0.0), text + end, one, body)
        if rounding:
            yield candidate(loop, bits + (0.0 if asked else rounding), f"round({text}, 2){end}", one, body)


def _choices(context: Context, loop: Loop, values: Sequence[Any], hint: str, nested: Sequence[Body]) -> list[Candidate]:
    """A field of the first, the last, the smallest or the largest element; with nested totals one by them."""
    matches = _matching(context, (*loop.bodies(context, hint), *nested), loop, values)
    if not matches:
        return []
    return _chosen(context, loop, [value is None for value in values], matches, nested, nested or loop.bodies(context))


def _matching(context: Context, bodies: Iterable[Body], loop: Loop, values: Sequence[Any]) -> list[tuple[Body, int]]:
    """The numbers and fields that some element has as a value at each scope, with these elements."""
    wanted = [key_of(context, value) for value in values]
    matches: list[tuple[Body, int]] = []
    for body in bodies:
        places = (body.keys[slice(*bounds)] for bounds in loop.elements.bounds)
        holds = bit_set(own == key for own_keys, key in zip(places, wanted, strict=True) for own in own_keys)
        fits = (part or value is None for part, value in zip(loop.parts(holds), values, strict=True))
        if holds and all(fits):
            matches.append((body, holds))
    return matches


def _records(context: Context, loop: Loop, values: Sequence[dict[str, Any]], nested: Sequence[Body]) -> list[Candidate]:
    """Objects of several fields of one chosen element. Its choice is described once."""
    names = list(values[0])
    slots: list[list[tuple[Body, int]]] = []
    for name in names:
        bodies = (*loop.bodies(context, name), *nested)
        slots.append(_matching(context, bodies, loop, [value[name] for value in values])[:_FIELDS])
        if not slots[-1]:
            return []
    found: list[Candidate] = []
    for parts in itertools.islice(itertools.product(*slots), _RECORDS):
        holds = loop.elements.table.full
        for _, own in parts:
            holds &= own
        if all(loop.parts(holds)):
            bits = sum(body.bits for body, _ in parts)
            whole = [(Body(bits, _FIELD, (), ()), holds)]
            known = [body._replace(bits=AGAIN) for body, _ in parts]
            keys = [*known, *(nested or loop.bodies(context))]
            for one in _chosen(context, loop, [False] * len(values), whole, nested, keys):
                fields = (
                    f"{name!r}: {one.text.replace(_FIELD, body.text)}"
                    for name, (body, _) in zip(names, parts, strict=True)
                )
                found.append(one._replace(text=f"{{{', '.join(fields)}}}"))
    return found


def _chosen(
    context: Context,
    loop: Loop,
    empty: Sequence[bool],
    matches: Sequence[tuple[Body, int]],
    nested: Sequence[Body],
    keys: Sequence[Body],
) -> list[Candidate]:
    """The values of the first, the last, the smallest or the largest element that filters keep.

    Args:
        context: What the search shares.
        loop: The loops.
        empty: For each scope whether there is no such element.
        matches: The values, each with the elements that have the right one.
        nested: Totals of an element, if the keys are such.
        keys: Values by which the smallest and the largest are found.
    """
    found: list[Candidate] = []
    for number, kept in enumerate(loop.filters(_NESTED_FILTERS if nested else 5_000)):
        own = list(loop.parts(kept.holds))
        context.effort += len(own)
        if any(none != (not part) for part, none in zip(own, empty, strict=True)) or not any(own):
            continue
        for body, holds in matches:
            found += [] if nested else _ends(loop, kept, body, own, list(loop.parts(holds)))
            if number <= _BEST_FILTERS and any(part & (part - 1) for part in own):
                found += _best(loop, kept, body, holds, keys)
    return found


def _ends(loop: Loop, kept: Kept, body: Body, own: Sequence[int], right: Sequence[int]) -> Iterator[Candidate]:
    """The first and the last of the elements that are kept."""
    if kept.condition is None and not loop.flat:
        return
    pairs = [(part, match) for part, match in zip(own, right, strict=True) if part]
    firsts = all(part & -part & match for part, match in pairs)
    lasts = all(match >> (part.bit_length() - 1) & 1 for part, match in pairs)
    for index, fits, extra in ((0, firsts, 0.5), (-1, lasts, 1.5)):
        for one in loop.rivals(kept) if fits else ():
            text = f"[{body.text} {loop.head(one)}][{index}]"
            yield _or_none(loop, one, body, KIND + extra, text, not all(own))


def _best(loop: Loop, kept: Kept, body: Body, holds: int, keys: Sequence[Body]) -> Iterator[Candidate]:
    """The smallest and the largest of the elements that are kept."""
    places = loop.places(kept)
    keys = [key for key in keys if _ordered(key.values) and len(set(key.keys)) > 1][:_KEYS]
    for key in keys:
        for word, compute in (("max", max), ("min", min)):
            if not all(holds >> compute(own, key=key.values.__getitem__) & 1 for own in places if own):
                continue
            ranked = [[key.values[place] for place in own] for own in places if own]
            tied = any(own.count(compute(own)) > 1 for own in ranked)
            for one in loop.rivals(kept):
                text = f"[{body.text} {loop.head(one, f'{key.text} == {word}({key.text} {loop.head(one)})')}][0]"
                yield _or_none(loop, one, body, KIND + 2.0 + key.bits + (TIED if tied else 0.0), text, not all(places))


def _or_none(loop: Loop, kept: Kept, body: Body, bits: float, text: str, empty: bool) -> Candidate:
    """A choice; null where no element is kept, if that happens."""
    if empty:
        return candidate(loop, bits + SIDE + COMMON, f"{text} if {loop.some(kept)} else None", kept, body)
    return candidate(loop, bits, text, kept, body)


def _ordered(values: Sequence[Any]) -> bool:
    return all(map(is_number, values)) or all(isinstance(value, str) and value[:4].isdigit() for value in values)


def aggregate_features(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """Counts, sums, and largest and smallest values of lists with likely filters, the likeliest first."""
    best: dict[Any, Feature] = {}
    for feature in rival_features(context, scopes):
        best.setdefault(feature.keys, feature)
    return list(best.values())


def rival_features(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The same, and some of those that have the same values as likelier ones."""
    memo = ("aggregate features", scope_key(scopes))
    if memo not in context.memo:
        near = [loop for loop in loops(context, scopes, 8) if len(loop.elements.scopes) <= _FEATURED]
        found = [
            feature._replace(bits=feature.bits + (OF_ALL if loop.shared else 0.0))
            for loop in near
            for feature in _features(
                context, loop, [*loop.filters(12), *loop.joined_filters()[:6]], loop.numbers(context)[:8]
            )
            if len(set(feature.keys)) > 1
        ]
        kept: dict[Any, list[Feature]] = {}
        for feature in sorted(found, key=lambda feature: feature.bits):
            if feature.keys in kept or len(kept) < _FEATURES:
                kept.setdefault(feature.keys, []).append(feature)
        alike = [feature for group in kept.values() for feature in group[:_ALIKE]]
        context.memo[memo] = sorted(alike, key=lambda feature: feature.bits)
    return context.memo[memo]


def _features(context: Context, loop: Loop, filters: Sequence[Kept], bodies: Sequence[Body]) -> Iterator[Feature]:
    """Totals of a list, each with its value at each scope."""
    for kept in filters:
        places = loop.places(kept)
        context.effort += len(places) * (3 * len(bodies) + 1)
        if kept.condition or loop.flat:
            yield _feature(loop, candidate(loop, KIND, f"sum(1 {loop.head(kept)})", kept), [len(own) for own in places])
            yield _feature(loop, candidate(loop, KIND, loop.some(kept), kept), [bool(own) for own in places])
        for body in bodies:
            for kind, (extra, compute) in _KINDS.items():
                if kind != "average" and (kind == "sum" or all(places)):
                    made = candidate(loop, KIND + extra, f"{kind}({body.text} {loop.head(kept)})", kept, body)
                    yield _feature(loop, made, [compute([body.values[place] for place in own]) for own in places])


def _feature(loop: Loop, made: Candidate, values: Sequence[Any]) -> Feature:
    return computed(made.bits, made.text, values)._replace(before=made.before)

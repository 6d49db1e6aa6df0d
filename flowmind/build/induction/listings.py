"""Listings: lists and joined texts that are made of the elements of another list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from flowmind.build.induction.bits import constant_bits, is_number
from flowmind.build.induction.comprehensions import FILTER, OUTER, Body, Kept, Loop, candidate
from flowmind.build.induction.features import computed, features, key_of
from flowmind.build.induction.guards import Test
from flowmind.build.induction.scopes import Candidate, Context, Explain, Scope
from flowmind.build.induction.spelling import aggregates_in, reads_of
from flowmind.build.induction.tables import Condition, look_up

LISTING = 3.0
"""The bits of the choice to list values of elements."""
SORTED = 2.0
"""The bits of the choice of an order, beside its key."""
CUT = 3.0
"""The bits of the choice of the first few, beside their number."""
JOINED = 2.0
"""The bits of a separator."""
SEPARATORS = (", ", ",", "; ", "\n", " and ", " ", "|", "/", "-")
_ORDER_KEYS = 8
_FILTERS = 60
_TESTED = 8
"""The number of filters by totals that are kept."""
UNLIKELY = 18.0
"""The bits of a filter above which one by totals is tried."""
_EXPLAINED = 2
"""The number of filters with which the elements of a list are explained that are no fields."""
_WAYS = 3
"""The number of lists whose elements are tried as what the objects of a list stand for."""

Keys = list[list[Hashable]]


class _Ordering(NamedTuple):
    """An order of the values of the elements that are kept."""

    bits: float
    text: str
    """With the places `{body}` and `{head}`."""
    place: Callable[[Sequence[int]], list[int]]
    """The places of the elements in that order."""


def listings(
    context: Context,
    loop: Loop,
    scopes: Sequence[Scope],
    values: Sequence[Any],
    hint: str = "",
    explain: Explain | None = None,
) -> list[Candidate]:
    """The comprehensions over a list that give a list at each scope.

    Args:
        context: What the search shares.
        loop: The loops over the list.
        scopes: The scopes.
        values: The list at each scope.
        hint: The name of the argument or field.
        explain: Explains elements that are no field of the elements of the list. Without it only fields are tried.
    """
    wanted = [[key_of(context, one) for one in value] for value in values]
    if not any(wanted):
        return []
    if explain is not None:
        return list(_explained(context, loop, scopes, values, wanted, hint, explain))
    return [one for body in loop.bodies(context, hint) for one in _of_body(context, loop, scopes, body, wanted)]


def texts(
    context: Context,
    loop: Loop,
    scopes: Sequence[Scope],
    values: Sequence[str],
    hint: str = "",
    explain: Explain | None = None,
) -> Iterator[Candidate]:
    """The texts that join the values of elements."""
    for separator in SEPARATORS:
        if not any(separator in value for value in values):
            continue
        parts = [value.split(separator) if value else [] for value in values]
        bodies = [_as_text(body) for body in loop.bodies(context, hint)]
        if explain is None:
            found = [one for body in bodies if body for one in _of_body(context, loop, scopes, body, parts)]
        else:
            found = list(_explained(context, loop, scopes, parts, parts, hint, explain))
        for one in found:
            yield one._replace(bits=one.bits + JOINED, text=f"{separator!r}.join({one.text})")
        if found or explain is not None:
            break


def _as_text(body: Body) -> Body | None:
    if all(isinstance(value, str) for value in body.values):
        return body
    if all(isinstance(value, int) and not isinstance(value, bool) for value in body.values):
        made = computed(body.bits + 1, f"str({body.text})", [str(value) for value in body.values])
        return Body(made.bits, made.text, made.values, made.keys, body.before)
    return None


def _of_body(
    context: Context, loop: Loop, scopes: Sequence[Scope], body: Body, wanted: Sequence[Sequence[Hashable]]
) -> Iterator[Candidate]:
    bounds = loop.elements.bounds
    context.effort += len(body.keys)
    own = [body.keys[start:end] for start, end in bounds]
    if not all(set(keys) <= set(known) for keys, known in zip(wanted, own, strict=True)):
        return
    places = _aligned(loop, own, wanted)
    if places is not None:
        for kept in _exact(context, loop, sum(1 << place for place in places)):
            yield candidate(loop, LISTING, f"[{body.text} {loop.head(kept)}]", kept, body)
    repeated = any(len(set(known)) < len(known) for known in own)
    if places is not None and not repeated:
        if sum(map(len, wanted)) < len(body.keys):
            yield from _cut(context, loop, scopes, body, wanted, (_PLAIN,), loop.filters(_FILTERS))
        return
    filters = loop.filters(_FILTERS)
    if not repeated:
        marked = {(place, key) for place, keys in enumerate(wanted) for key in keys}
        holds = sum(
            1 << place for at, (start, end) in enumerate(bounds) for place in range(start, end)
            if (at, body.keys[place]) in marked
        )  # fmt: skip
        filters = [*_exact(context, loop, holds), *filters]
    orderings = [_PLAIN, *_orderings(context, loop, body)] if any(len(keys) > 1 for keys in wanted) else [_PLAIN]
    seen: set[str] = set()
    for kept in filters:
        for ordering in orderings:
            lists = [[body.keys[place] for place in ordering.place(places)] for places in loop.places(kept)]
            if lists == wanted:
                for one in loop.rivals(kept):
                    text = ordering.text.format(body=body.text, head=loop.head(one))
                    if text not in seen:
                        seen.add(text)
                        yield candidate(loop, LISTING + ordering.bits, text, one, body)
    yield from _cut(context, loop, scopes, body, wanted, orderings, loop.filters(_FILTERS))


def _aligned(loop: Loop, own: Sequence[Sequence[Hashable]], wanted: Sequence[Sequence[Hashable]]) -> list[int] | None:
    """The places of the elements that give the values in their order; None if they do not."""
    found: list[int] = []
    for (start, _), known, keys in zip(loop.elements.bounds, own, wanted, strict=True):
        place = 0
        for key in keys:
            while place < len(known) and known[place] != key:
                place += 1
            if place == len(known):
                return None
            found.append(start + place)
            place += 1
    return found


def _exact(context: Context, loop: Loop, holds: int) -> list[Kept]:
    """The filters that keep exactly these elements."""
    if holds == loop.elements.table.full:
        return [loop.all()]
    return [Kept(one.bits + FILTER, one, holds) for one in look_up(context, loop.elements.table, holds)]


_PLAIN = _Ordering(0.0, "[{body} {head}]", list)


def _orderings(context: Context, loop: Loop, body: Body) -> Iterator[_Ordering]:
    """Sorted by the value itself, or by another one; upwards and downwards."""
    if not _sortable(body):
        return
    for downwards, tail in ((False, ""), (True, "[::-1]")):
        yield _Ordering(SORTED, f"sorted({{body}} {{head}}){tail}", _sorter(body, body, downwards))
    for key in [key for key in loop.bodies(context) if _sortable(key) and key.text != body.text][:_ORDER_KEYS]:
        for downwards, tail in ((False, ""), (True, "[::-1]")):
            text = f"[pair[1] for pair in sorted([{_braced(key.text)}, {{body}}] {{head}}){tail}]"
            yield _Ordering(SORTED + 2 + key.bits, text, _sorter(key, body, downwards))


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _sortable(body: Body) -> bool:
    return all(map(is_number, body.values)) or all(isinstance(value, str) for value in body.values)


def _sorter(key: Body, body: Body, downwards: bool) -> Callable[[Sequence[int]], list[int]]:
    def places(own: Sequence[int]) -> list[int]:
        return sorted(own, key=lambda place: (key.values[place], body.values[place]), reverse=downwards)

    return places


def _cut(
    context: Context,
    loop: Loop,
    scopes: Sequence[Scope],
    body: Body,
    wanted: Sequence[Sequence[Hashable]],
    orderings: Sequence[_Ordering],
    filters: Sequence[Kept],
) -> Iterator[Candidate]:
    """The first few of the values."""
    sizes = [len(keys) for keys in wanted]
    limits = [(constant_bits(context, size), repr(size), [size] * len(sizes)) for size in context.reading.numbers]
    if max(sizes) not in context.reading.numbers:
        limits.append((constant_bits(context, max(sizes)), repr(max(sizes)), [max(sizes)] * len(sizes)))
    limits += [(f.bits, f.text, list(f.values)) for f in features(context, scopes) if all(map(_is_size, f.values))]
    for kept in filters:
        places = loop.places(kept)
        for bits, text, most in limits:
            if [min(size, len(own)) for size, own in zip(most, places, strict=True)] != sizes:
                continue
            if all(len(own) <= size for size, own in zip(most, places, strict=True)):
                continue
            for ordering in orderings:
                lists = zip(map(ordering.place, places), most, strict=True)
                if [[body.keys[place] for place in own[: int(size)]] for own, size in lists] == wanted:
                    whole = ordering.text.format(body=body.text, head=loop.head(kept))
                    yield candidate(loop, LISTING + ordering.bits + CUT + bits, f"{whole}[:{text}]", kept, body)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def records(
    context: Context,
    found: Iterable[Loop],
    scopes: Sequence[Scope],
    values: Sequence[Sequence[dict[str, Any]]],
    hint: str,
    explain: Explain,
) -> list[Candidate]:
    """The comprehensions that give lists of objects: a field tells which elements they stand for.

    What an object has is explained at each of these elements like any other value.
    """
    ways: list[tuple[int, float, Loop, int, list[Kept]]] = []
    for loop in found:
        for holds, told in _by_fields(context, loop, values).items():
            exact = _exact(context, loop, holds)[:_EXPLAINED]
            bits = loop.source.bits + (exact[0].bits if exact else UNLIKELY)
            ways.append((-told, bits, loop, holds, exact))
    rows = [loop for _, _, loop, _, _ in ways if loop.source.text in context.rows]
    ways = [way for way in ways if not any(_within(way[2], loop) for loop in rows)]
    parts = [part for value in values for part in value]
    made: list[Candidate] = []
    ways = sorted(ways, key=lambda way: way[:2])[:_WAYS]
    for number, (_, _, loop, holds, exact) in enumerate(ways):
        inside = loop.elements.inside(scopes)
        with context.share(2 / 3 if number < len(ways) - 1 else 1):
            bodies = [one for one in explain(context, _at(inside, holds), parts, hint, 0) if not one.before]
        if not bodies:
            continue
        if not exact or exact[0].bits > UNLIKELY:
            exact += _by_total(context, inside, holds, bodies[0], explain)
        for kept in exact:
            made += (_listed(loop, kept, one) for one in bodies)
        if made:
            break
    return made


def _within(one: Loop, other: Loop) -> bool:
    """Whether the elements of a list are parts of those of another one, as of the rows of a loop over it."""
    pairs = zip(one.elements.values, other.elements.values, strict=False)
    return one.elements.bounds == other.elements.bounds and all(
        isinstance(row, dict) and any(part is element for part in cast(dict[str, Any], row).values())
        for element, row in pairs
    )


def _listed(loop: Loop, kept: Kept, made: Candidate) -> Candidate:
    outer = 0.0 if loop.elements.item in reads_of(made.text) else OUTER
    return candidate(loop, LISTING + made.bits + outer, f"[{made.text} {loop.head(kept)}]", kept)


def _explained(
    context: Context,
    loop: Loop,
    scopes: Sequence[Scope],
    values: Sequence[Sequence[Any]],
    wanted: Sequence[Sequence[Hashable]],
    hint: str,
    explain: Explain,
) -> Iterator[Candidate]:
    """Lists of made values: their filter is found by their number."""
    inside = loop.elements.inside(scopes)
    parts = [part for value in values for part in value]
    for kept in _by_number(loop, wanted):
        for made in explain(context, _at(inside, kept.holds), parts, hint, 3):
            if not made.before:
                yield _listed(loop, kept, made)


def _at(scopes: Sequence[Scope], holds: int) -> list[Scope]:
    return [scope for place, scope in enumerate(scopes) if holds >> place & 1]


def _by_total(context: Context, inside: Sequence[Scope], holds: int, made: Candidate, explain: Explain) -> list[Kept]:
    """The filters that keep exactly these elements; they may test what is computed of them, such as totals."""
    around = context.siblings
    context.siblings = tuple(Candidate(0.0, text) for text in aggregates_in(made.text))
    found = explain(context, inside, [bool(holds >> place & 1) for place in range(len(inside))], "", 3)
    context.siblings = around
    return [
        Kept(one.bits + FILTER, Condition(one.bits, (Test(one.text, f"not ({one.text})"),), "and", one.before), holds)
        for one in found[:_TESTED]
    ]


def _by_number(loop: Loop, wanted: Sequence[Sequence[Hashable]]) -> list[Kept]:
    sizes = [len(keys) for keys in wanted]
    found = [one for one in loop.filters(_FILTERS) if [part.bit_count() for part in loop.parts(one.holds)] == sizes]
    return found[:_EXPLAINED]


def _by_fields(context: Context, loop: Loop, values: Sequence[Sequence[dict[str, Any]]]) -> dict[int, int]:
    """The elements for which objects may stand, each with the number of their fields that the elements have."""
    names = [
        name for name in next((part for own in values for part in own), dict[str, Any]())
        if all(name in part for own in values for part in own)
    ]  # fmt: skip
    wanted = {name: [[key_of(context, part[name]) for part in own] for own in values] for name in names}
    bodies = [body for body in loop.bodies(context) if len(set(body.keys)) > 1 or len(body.keys) == 1]
    found: dict[int, int] = {}
    for name in names:
        for body in bodies:
            places = _aligned(loop, [body.keys[start:end] for start, end in loop.elements.bounds], wanted[name])
            if places is not None:
                found.setdefault(sum(1 << place for place in places), 0)
        context.effort += len(bodies) * len(loop.elements.scopes) // 4
    for holds in found:
        places = [place for place in range(len(loop.elements.scopes)) if holds >> place & 1]
        shown = {tuple([body.keys[place] for place in places]) for body in bodies}
        found[holds] = sum(tuple(itertools.chain(*wanted[name])) in shown for name in names)
    return found

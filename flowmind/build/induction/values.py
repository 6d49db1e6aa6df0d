"""`explain`: the expressions that give a value at every visit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

from flowmind.build.induction.aggregates import aggregates
from flowmind.build.induction.arithmetic import compute
from flowmind.build.induction.bits import LEAK, MOST_SPLITS, NODE, constant_bits, is_identifier, is_number
from flowmind.build.induction.choices import choose, look_up
from flowmind.build.induction.conditions import separate
from flowmind.build.induction.features import (
    applied,
    features,
    key_of,
    known_features,
    lengths,
    made_of,
    scope_key,
)
from flowmind.build.induction.scopes import Candidate, Context, Scope
from flowmind.build.induction.spoken import dates, integers, spoken
from flowmind.build.induction.templates import compose
from flowmind.workflow.expressions import is_allowed

MOST = 40
"""Candidates that are kept."""
SHORT = 100
"""Expressions with so many characters are within the limits of the language."""
ONCE = 2.0
"""A number that one trace alone shows and the text does not name."""
SMALL = 10
"""Larger whole numbers are most likely data of it."""
NULL = 4.0
"""A path that is null wherever it is read, where the task's text speaks of null."""
DEAR_PART = 60.0
"""A field whose expression costs more is not used in the expressions of other fields."""
DEAR = 40.0
"""A field that costs more is explained again, by other fields of its object."""
ARM = 10.0
"""A result of an arm, or another value: arms that end with answers of their own are plainer."""
CARRIED = 12.0
"""A result of the round before, if there is one: a state says the same."""
MERGES = 4
"""Values that are tried where an arm was not taken."""
OBJECT = 4.0
"""An object or a list of given parts, beside these."""
CHOSEN = 35.0
"""A choice between plain texts of fewer bits is no accident: nothing else is searched for."""
SEARCHED = 14.0
"""A field of so many bits is searched for with all means."""
NEAR = 10.0
"""Candidates for a part that are so many bits dearer than the likeliest one make candidates for the whole."""


def explain(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], hint: str = "", depth: int = 0
) -> tuple[Candidate, ...]:
    """The expressions that give a value at each visit, the likeliest first; empty if there is none.

    Args:
        context: The search.
        scopes: The visits.
        values: The value at each visit.
        hint: The name of the argument or field.
        depth: How deep the value lies in another one that is being explained.
    """
    unique = {
        (scope.key, key_of(context, value)): place
        for place, (scope, value) in enumerate(zip(scopes, values, strict=True))
    }
    if len(unique) < len(scopes):
        scopes, values = [scopes[place] for place in unique.values()], [values[place] for place in unique.values()]
    keys = tuple(key_of(context, value) for value in values)
    memo = ("explain", scope_key(scopes), keys, hint, depth, context.brief, context.siblings)
    if memo not in context.memo:
        best: dict[str, Candidate] = {}
        found = _found(context, scopes, values, keys, hint, depth)
        for candidate in sorted(found):
            if len(candidate.text) <= SHORT or is_allowed(candidate.text):
                best.setdefault(candidate.text, candidate)
        context.memo[memo] = tuple(best.values())[:MOST]
    return context.memo[memo]


def _found(
    context: Context,
    scopes: Sequence[Scope],
    values: Sequence[Any],
    keys: tuple[Hashable, ...],
    hint: str,
    depth: int,
) -> list[Candidate]:
    null = NULL if all(value is None for value in values) and context.reading.names_key("null") else 0.0
    found = [
        Candidate(1 + null + feature.bits, feature.text, feature.before)
        for feature in (*features(context, scopes, hint), *lengths(context, scopes, hint))
        if feature.keys == keys
    ]
    context.effort += 200

    def least() -> float:
        return min((candidate.bits for candidate in found), default=math.inf)

    same = len(set(keys)) == 1
    if same and not (depth and _is_data(context, scopes, values[0])):
        found.append(_constant(context, scopes, values[0], least()))
    texts = all(isinstance(value, str) for value in values)
    numbers = all(map(is_number, values))
    if not same and all(isinstance(value, bool) for value in values):
        found += [condition._replace(bits=condition.bits + NODE) for condition in separate(context, scopes, values)]
    if context.exhausted:
        return found
    if least() > 9 and not same:
        found += _merged(context, scopes, values, keys, hint)
    if least() > 9 and texts:
        found += _functions(context, scopes, values, hint)
    if least() > 9 and numbers:
        found += _known(context, scopes, values)
    if least() > 9 and (texts or numbers):
        found += _said(context, scopes, values, keys, hint)
    if least() > 9 and numbers:
        found += compute(context, scopes, values, False, depth == 0, least())
    if least() > 9 and all(isinstance(value, dict) and value != {} for value in values):
        found += _record(context, scopes, cast(Sequence[dict[str, Any]], values), depth)
    if context.brief:
        return found
    alike = all(isinstance(value, dict) for value in values) and len({_names(value) for value in values}) == 1
    if least() > 14 and not same and not alike:
        found += choose(context, scopes, values, keys, hint, depth, least(), explain, plain=True)
        if found and least() < CHOSEN and all(value is None or isinstance(value, str) for value in values):
            return found
    if least() > 20 and not same and None in values:
        found += choose(context, scopes, values, keys, hint, depth, least(), explain)
        if least() < math.inf:
            return found
    plain = any(one.text.startswith("{") and not _picks(one.text) for one in found) or _are_named(context, values)
    if (
        least() > 14
        and not plain
        and (len(values) > 1 or depth in (0, len(MOST_SPLITS)))
        and depth != len(MOST_SPLITS) - 1
    ):
        found += aggregates(context, scopes, values, hint, explain if depth == 0 else None)
    if least() > 20 and numbers and not same and depth in (0, 1, len(MOST_SPLITS)):
        found += compute(context, scopes, values, True, depth != 1, least())
    if least() > 16 and texts and not plain and max(map(len, values)) > 3 and (not same or least() > 40):
        found += compose(context, scopes, values, depth, explain)
    if least() > 20 and all(isinstance(value, list) for value in values):
        found += _list(context, scopes, values, depth)
    if least() > 20 and not same and len(values) > 2:
        found += look_up(context, scopes, values, keys)
    if least() > 20 and not same and not alike:
        found += choose(context, scopes, values, keys, hint, depth, least(), explain)
    return found


def _picks(text: str) -> bool:
    """Whether an expression reads the first or last of some elements, which several fields may share."""
    return "][0]" in text or "][-1]" in text


def _are_named(context: Context, values: Sequence[Any]) -> bool:
    """Whether values are some of a few texts that the task's text names: nothing but a choice gives these."""
    few = {value for value in values if isinstance(value, str)}
    return 1 < len(few) < len(values) and all(isinstance(one, str) and context.reading.names(one) for one in values)


def _names(value: dict[str, Any]) -> frozenset[str]:
    return frozenset(value)


def _constant(context: Context, scopes: Sequence[Scope], value: Any, least: float) -> Candidate:
    """The value as a constant. If three traces or more show it, it is never much less likely than a path to it."""
    bits = NODE + constant_bits(context, value, scopes)
    traces = len({scope.trace for scope in scopes})
    if traces >= 3:
        bits = min(bits, least + 3.0)
    if traces == 1 and is_number(value) and not context.reading.names(value):
        bits += LEAK if _is_data(context, scopes, value) else ONCE
    return Candidate(bits, repr(value))


def _is_data(context: Context, scopes: Sequence[Scope], value: Any) -> bool:
    """Whether a value is most likely data of the one trace that shows it: a part of an expression never is."""
    if len({scope.trace for scope in scopes}) > 1 or context.reading.names(value):
        return False
    if isinstance(value, str):
        return is_identifier(value)
    return is_number(value) and not (isinstance(value, int) and abs(value) <= SMALL)


def _merged(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: tuple[Hashable, ...], hint: str
) -> Iterator[Candidate]:
    """A result of one arm of a branch before, and another value where this arm was not taken."""
    known = features(context, scopes, hint)
    seen: set[frozenset[str]] = set()
    for feature in known:
        root = re.match(r"\w+", feature.text)
        unset = [place for place, scope in enumerate(scopes) if root and scope.get(root[0]) is None]
        if not 0 < len(unset) < len(scopes):
            continue
        if any(
            one != key for place, (one, key) in enumerate(zip(feature.keys, keys, strict=True)) if place not in unset
        ):
            continue
        assert root is not None
        null = all(values[place] is None for place in unset)  # then the arm gives no value, and no path is meant
        others = [other for other in known if not null and all(other.keys[place] == keys[place] for place in unset)][
            :MERGES
        ]
        sides = [(other.bits, other.text) for other in others]
        if len({keys[place] for place in unset}) == 1:
            sides.append(_constant(context, [scopes[place] for place in unset], values[unset[0]], math.inf)[:2])
        for bits, text in sides:
            pair = frozenset({feature.text, text})
            if pair in seen:
                continue  # the same from the other arm
            seen.add(pair)
            own = feature.bits + (CARRIED if root[0] in context.carried else ARM)
            yield Candidate(own + bits, f"{feature.text} if {root[0]} is not None else {text}")


def _known(context: Context, scopes: Sequence[Scope], values: Sequence[Any]) -> Iterator[Candidate]:
    """Computed numbers that explain other values of the program, as they are and rounded to cents."""
    for feature in known_features(context, scopes):
        if not all(map(is_number, feature.values)):
            continue
        cents = [round(value, 2) for value in feature.values]
        if feature.values == tuple(values):
            yield Candidate(feature.bits, feature.text)
        elif cents == list(values):
            yield Candidate(feature.bits + NODE, f"round({feature.text}, 2)")


def _functions(context: Context, scopes: Sequence[Scope], values: Sequence[Any], hint: str) -> Iterator[Candidate]:
    """Functions of one text that give a text at each visit."""
    for feature in features(context, scopes, hint):
        if feature.values == tuple(values):
            continue  # functions that change nothing here are no rivals
        if all(isinstance(value, str) for value in feature.values):
            context.effort += 5
            for bits, pattern, function in made_of(feature.values[0]).get(values[0], ()):
                if all(function(own) == value for own, value in zip(feature.values, values, strict=True)):
                    yield Candidate(feature.bits + bits, applied(pattern, feature.text), feature.before)


def _said(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: tuple[Hashable, ...], hint: str
) -> Iterator[Candidate]:
    """What texts say, numbers as texts, and texts as numbers."""
    said = spoken(context, scopes, hint)
    for feature in (*said, *integers(context, scopes, hint)):
        if feature.keys == keys:
            yield Candidate(1 + feature.bits, feature.text, feature.before)
    if isinstance(values[0], str):
        for feature in (*features(context, scopes, hint), *said):
            if is_number(feature.values[0]) and tuple(map(str, feature.values)) == tuple(values):
                yield Candidate(3 + feature.bits, f"str({feature.text})", feature.before)
        yield from dates(context, scopes, values, hint)


def _record(context: Context, scopes: Sequence[Scope], values: Sequence[dict[str, Any]], depth: int) -> list[Candidate]:
    """Objects with the same keys, each field explained on its own."""
    if len({frozenset(value) for value in values}) > 1:
        return []
    slots = _fields(context, scopes, values, depth)
    if not slots:
        return []
    names = list(values[0])

    def written(parts: Sequence[str]) -> str:
        return "{" + ", ".join(f"{name!r}: {part}" for name, part in zip(names, parts, strict=True)) + "}"

    return _joined(list(slots.values()), written)


def _fields(
    context: Context, scopes: Sequence[Scope], values: Sequence[dict[str, Any]], depth: int
) -> dict[str, tuple[Candidate, ...]]:
    """The expressions for each field of objects; empty if one has none.

    Plain fields come first, then numbers. What is computed for a field may be a part of others: `total`, and `total -
    paid`, or whether the total is large.
    """
    around, brief = context.siblings, context.brief
    slots: dict[str, tuple[Candidate, ...]] = dict.fromkeys(values[0], ())

    def explained(key: str) -> tuple[Candidate, ...]:
        found = explain(context, scopes, [value[key] for value in values], key, depth)
        if (
            found
            and found[0].bits <= DEAR_PART
            and " " in found[0].text
            and any(is_number(value[key]) for value in values)
        ):
            context.siblings = (*context.siblings, found[0]._replace(bits=0.0))
        return found

    context.brief = True
    for key in slots:
        slots[key] = explained(key)
    context.brief = brief
    for attempt in (1, 2):
        known = context.siblings
        numbers = {key for key in slots if any(is_number(value[key]) for value in values)}
        open_ = [
            key for key, found in slots.items() if not found or found[0].bits > (SEARCHED if attempt == 1 else DEAR)
        ]
        for key in sorted(open_, key=lambda key: key not in numbers) if not brief else ():
            slots[key] = tuple(sorted({one.text: one for one in (*slots[key], *explained(key))}.values()))
            if not slots[key] and numbers.isdisjoint(open_[open_.index(key) + 1 :]):
                break  # no other number is computed that may be a part of it
        if all(slots.values()) or context.siblings == known:
            break
    context.siblings = around
    return slots if all(slots.values()) else {}


def _list(context: Context, scopes: Sequence[Scope], values: Sequence[list[Any]], depth: int) -> list[Candidate]:
    """Lists of the same few elements, each explained on its own, and lists with one element more than another one."""
    return [*_longer(context, scopes, values, depth), *_of_parts(context, scopes, values, depth)]


def _longer(context: Context, scopes: Sequence[Scope], values: Sequence[list[Any]], depth: int) -> Iterator[Candidate]:
    """`[first] + rest` and `rest + [last]`."""
    for feature in features(context, scopes):
        pairs = list(zip(feature.values, values, strict=True))
        if not all(isinstance(own, list) and len(value) == len(cast(list[Any], own)) + 1 for own, value in pairs):
            continue
        for place, rest, text in ((0, slice(1, None), "[{0}] + {1}"), (-1, slice(-1), "{1} + [{0}]")):
            if all(key_of(context, own) == key_of(context, value[rest]) for own, value in pairs):
                for one in explain(context, scopes, [value[place] for value in values], "", depth + 1)[:MERGES]:
                    made = text.format(one.text, feature.text)
                    yield Candidate(OBJECT + feature.bits + one.bits, made, (*feature.before, *one.before))


def _of_parts(context: Context, scopes: Sequence[Scope], values: Sequence[list[Any]], depth: int) -> list[Candidate]:
    if len({len(value) for value in values}) > 1 or not 0 < len(values[0]) <= 5:
        return []
    slots: list[tuple[Candidate, ...]] = []
    for place in range(len(values[0])):
        slots.append(explain(context, scopes, [value[place] for value in values], "", depth + 1))
        if not slots[-1]:
            return []
    return _joined(slots, lambda parts: f"[{', '.join(parts)}]")


def _joined(slots: Sequence[tuple[Candidate, ...]], write: Callable[[Sequence[str]], str]) -> list[Candidate]:
    """The likeliest whole, and those that differ from it in one part."""

    def whole(parts: Sequence[Candidate]) -> Candidate:
        before = tuple(dict.fromkeys(call for part in parts for call in part.before))
        return Candidate(OBJECT + sum(part.bits for part in parts), write([part.text for part in parts]), before)

    found = [whole([slot[0] for slot in slots])]
    for place, slot in enumerate(slots):
        for other in slot[1:16]:
            if other.bits - slot[0].bits < NEAR:
                found.append(whole([other if place == at else own[0] for at, own in enumerate(slots)]))
    return found

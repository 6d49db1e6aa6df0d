"""Values that depend on a choice: objects of few entries, and values on two sides of a condition."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, cast

from flowmind.build.induction.bits import MOST_SPLITS, NODE, SIDE, constant_bits, is_number, unexplained_bits
from flowmind.build.induction.conditions import separate
from flowmind.build.induction.features import enclosed, features, key_of, scope_key
from flowmind.build.induction.scopes import Candidate, Context, Explain, Scope

KEY_ONCE = 12.0
"""That of an entry that one visit shows, if the task's text does not name the key."""
MOST_ENTRIES = 8
CHEAP = 10.0
"""The bits of a constant that may stand for one visit."""
KEY = 5.0
"""The key of an entry: one of the values that a variable has in the traces."""
GOOD = 40.0
"""If an explanation has fewer bits, or this share of those of the values, a few splits with simple sides are tried."""
GOOD_SHARE = 0.1


def look_up(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: Sequence[Hashable]
) -> Iterator[Candidate]:
    """Objects of few entries in which a text is looked up: `{'gold': 10, 'silver': 5}[customer['tier']]`."""
    if not all(isinstance(value, str) or is_number(value) or isinstance(value, bool) for value in values):
        return
    for feature in features(context, scopes):
        entries: dict[Hashable, tuple[str, Any]] = {}
        for own, value in zip(feature.values, values, strict=True):
            if isinstance(own, str):
                entries.setdefault(own, (own, value))
        if (
            not 2 <= len(entries) <= MOST_ENTRIES
            or len(entries) == len(values)
            or not _same(entries, feature.values, keys)
        ):
            continue
        if len({key_of(context, value) for _, value in entries.values()}) < 2:
            continue
        bits = feature.bits + 2 * NODE
        for own, value in entries.values():
            alone = feature.values.count(own) == 1 and not context.reading.names(own)
            bits += constant_bits(context, value) + (KEY_ONCE if alone else KEY)
        listed = ", ".join(f"{own!r}: {value!r}" for own, value in sorted(entries.values()))
        yield Candidate(bits, f"{{{listed}}}[{feature.text}]", feature.before)


def _same(entries: dict[Hashable, tuple[str, Any]], own: Sequence[Any], keys: Sequence[Hashable]) -> bool:
    found: dict[str, Hashable] = {}
    return all(
        isinstance(key, str) and found.setdefault(key, value) == value for key, value in zip(own, keys, strict=True)
    )


def choose(
    context: Context,
    scopes: Sequence[Scope],
    values: Sequence[Any],
    keys: Sequence[Hashable],
    hint: str,
    depth: int,
    least: float,
    explain: Explain,
) -> list[Candidate]:
    """Values on two sides of a condition, each explained on its own: `a if c else b`.

    Args:
        context: The search.
        scopes: The visits.
        values: The value at each visit.
        keys: Their canonical forms.
        hint: The name of the argument.
        depth: As in `explain`.
        least: The bits of the best explanation so far.
        explain: Explains the sides.
    """
    found: list[Candidate] = []
    if depth >= len(MOST_SPLITS) or (len(values) < depth + 3 and not _cheap(context, values)):
        return found
    tried, most, inner_depth = 0, MOST_SPLITS[depth], depth + 1
    good = max(GOOD, GOOD_SHARE * unexplained_bits(values))
    if least < good:
        most, inner_depth = MOST_SPLITS[-1], max(inner_depth, len(MOST_SPLITS) - 1)
    for mask in _masks(context, scopes, values, keys, hint, least >= good):
        best = min([least, *(candidate.bits for candidate in found)])
        if best < good and inner_depth == depth + 1:
            most, inner_depth = min(most, tried + MOST_SPLITS[-1]), max(inner_depth, len(MOST_SPLITS) - 1)
        if tried >= most or context.exhausted:
            break
        conditions = separate(context, scopes, mask)
        if not conditions or conditions[0].bits + SIDE > best + 8:
            continue
        tried += 1
        sides: list[tuple[Candidate, ...]] = []
        for side in (True, False):
            chosen = [place for place, label in enumerate(mask) if label is side]
            inner = [scopes[place] for place in chosen]
            sides.append(explain(context, inner, [values[place] for place in chosen], hint, inner_depth))
            if not sides[-1]:
                break
        if len(sides) == 2 and all(sides):
            found += _chosen(conditions, sides[0], sides[1])
    return found


def _cheap(context: Context, values: Sequence[Any]) -> bool:
    """Whether all values are cheap as constants. A choice between few visits is found for such values only."""
    return all(constant_bits(context, value) <= CHEAP for value in values)


def _chosen(
    conditions: Sequence[Candidate], then: Sequence[Candidate], otherwise: Sequence[Candidate]
) -> Iterator[Candidate]:
    """The likeliest expression, and those that differ from it in one part."""
    groups = (conditions, then, otherwise)
    main = [group[0] for group in groups]
    yield _written(*main)
    for place, group in enumerate(groups):
        for other in group[1:8]:
            if other.bits - group[0].bits < 10:
                yield _written(*(other if place == at else own for at, own in enumerate(main)))


def _written(condition: Candidate, then: Candidate, otherwise: Candidate) -> Candidate:
    before = tuple(dict.fromkeys((*condition.before, *then.before, *otherwise.before)))
    text = f"{enclosed(then.text, 1)} if {enclosed(condition.text, 1)} else {otherwise.text}"
    return Candidate(SIDE + condition.bits + then.bits + otherwise.bits, text, before)


def _masks(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: Sequence[Hashable], hint: str, tests: bool
) -> list[list[bool]]:
    """The likely sides: where one value stands, where a path gives it, where its form is the same.

    With `tests` also where a likely test holds, which tells nothing about the values: only if no explanation is good.
    """
    memo = ("masks", scope_key(scopes), tuple(keys), hint, tests)
    if memo not in context.memo:
        proposed: dict[tuple[bool, ...], float] = {}
        for bits, mask in (
            *_of_values(context, values, keys),
            *_of_paths(context, scopes, keys, hint),
            *(_of_tests(context, scopes) if tests else ()),
        ):
            if any(mask) and not all(mask):
                mask = tuple(mask)
                proposed[mask] = min(bits, proposed.get(mask, 1e9))
        ordered = sorted(proposed.items(), key=lambda item: (item[1], item[0]))
        result: dict[tuple[bool, ...], None] = {}
        for mask, _ in ordered:
            if tuple(not label for label in mask) not in result:
                result[mask] = None
        context.memo[memo] = [list(mask) for mask in result]
    return context.memo[memo]


def _of_values(context: Context, values: Sequence[Any], keys: Sequence[Hashable]) -> Iterator[tuple[float, list[bool]]]:
    groups = dict(zip(keys, values, strict=True))
    if len(groups) <= MOST_ENTRIES:
        for key, value in groups.items():
            times = keys.count(key) if isinstance(keys, list | tuple) else 1
            bits = constant_bits(context, value)
            yield bits - 4 * min(times, 4), [own == key for own in keys]
    for last in (False, True):
        shapes = [_shape(value, last) for value in values]
        for shape in dict.fromkeys(shapes):
            yield 6.0, [own == shape for own in shapes]


def _shape(value: Any, last: bool) -> Hashable:
    """What values share that the same expression gives: the kind, the keys of an object, a word at an end of a text."""
    if isinstance(value, str):
        return "text", re.sub(r"\d+", "0", value.split(" ")[-last]) if " " in value else ""
    if isinstance(value, dict):
        return "object", tuple(sorted(cast(dict[str, Any], value)))
    if isinstance(value, list):
        return "list", value != []
    return ("number",) if is_number(value) else ("other", repr(value))


def _of_paths(
    context: Context, scopes: Sequence[Scope], keys: Sequence[Hashable], hint: str
) -> Iterator[tuple[float, list[bool]]]:
    for feature in features(context, scopes, hint):
        mask = [own == key for own, key in zip(feature.keys, keys, strict=True)]
        if any(mask):
            yield feature.bits - 4 * min(sum(mask), 4), mask


def _of_tests(context: Context, scopes: Sequence[Scope]) -> Iterator[tuple[float, list[bool]]]:
    """Tests of a few values, of absence, and with the numbers that the task's text names."""
    for feature in features(context, scopes):
        distinct = dict(zip(feature.keys, feature.values, strict=True))
        if 2 <= len(distinct) <= 4:
            for key, value in distinct.items():
                if value is None or isinstance(value, bool | str):
                    yield feature.bits + 2, [own == key for own in feature.keys]
        if all(map(is_number, feature.values)):
            for number in context.reading.numbers:
                yield feature.bits + 4, [value > number for value in feature.values]
                yield feature.bits + 4, [value >= number for value in feature.values]

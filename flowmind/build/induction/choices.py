"""Values that depend on a choice: objects of few entries, and values on two sides of a condition."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, cast

from flowmind.build.induction.bits import LEAK, MOST_SPLITS, NODE, SIDE, constant_bits, is_number, unexplained_bits
from flowmind.build.induction.chains import in_chain, test_of
from flowmind.build.induction.conditions import separate, table_of
from flowmind.build.induction.features import enclosed, features, key_of, scope_key
from flowmind.build.induction.scopes import Candidate, Context, Explain, Scope
from flowmind.build.induction.tables import bit_set

KEY_ONCE = 12.0
"""That of an entry that one visit shows, if the task's text does not name the key."""
MOST_ENTRIES = 8
KEY = 5.0
"""The key of an entry: one of the values that a variable has in the traces."""
UNKNOWN = 25.0
"""A guess at the bits of a side that no path and no constant gives."""
UNLIKE = 15.0
"""The same in addition, if its values differ in their form."""
UNTESTED = 20.0
"""A guess at the bits of a condition that is no single test."""
MOST_TESTS = 120
"""The number of tests that are tried as conditions."""
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
    plain: bool = False,
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
        plain: Whether only conditions and sides count that are found without costly means.
    """
    found: list[Candidate] = []
    if plain:
        around, context.brief = context.brief, True
        found = choose(context, scopes, values, keys, hint, depth, least, explain)
        context.brief = around
        return found
    if depth >= len(MOST_SPLITS):
        return found
    tried, most, inner_depth = 0, MOST_SPLITS[depth], depth + 1
    good = max(GOOD, GOOD_SHARE * unexplained_bits(values))
    if least < good:
        most, inner_depth = MOST_SPLITS[-1], max(inner_depth, len(MOST_SPLITS) - 1)
    masks = _masks(context, scopes, values, keys, hint, least >= good)
    if None in values:
        masks = [[value is None for value in values]]  # what there is is explained on its own
    for mask in masks:
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
            once = len({scope.trace for scope in inner}) == 1
            if not sides[-1] or (once and sides[-1][0].bits > LEAK and sides[-1][0].text == repr(values[chosen[0]])):
                sides[-1] = ()  # a constant that nothing names, and one trace shows, is no explanation of a side
                break
        if len(sides) == 2 and all(sides) and sides[0][0].text != sides[1][0].text:
            found += _chosen(context, conditions, sides[0], sides[1])
    return found


def _chosen(
    context: Context, conditions: Sequence[Candidate], then: Sequence[Candidate], otherwise: Sequence[Candidate]
) -> Iterator[Candidate]:
    """The likeliest expression, and those that differ from it in one part."""
    groups = (conditions, then, otherwise)
    main = [group[0] for group in groups]
    yield _written(context, *main)
    for place, group in enumerate(groups):
        for other in group[1:8]:
            if other.bits - group[0].bits < 10:
                yield _written(context, *(other if place == at else own for at, own in enumerate(main)))


def _written(context: Context, condition: Candidate, then: Candidate, otherwise: Candidate) -> Candidate:
    more = in_chain(context.reading, condition.text, test_of(otherwise.text), (then.text, otherwise.text))
    before = tuple(dict.fromkeys((*condition.before, *then.before, *otherwise.before)))
    text = f"{enclosed(then.text, 1)} if {enclosed(condition.text, 1)} else {otherwise.text}"
    return Candidate(SIDE + condition.bits + more + then.bits + otherwise.bits, text, before)


def _masks(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: Sequence[Hashable], hint: str, tests: bool
) -> list[list[bool]]:
    """The likely sides, the likeliest first: by the bits of a test that tells them apart, and a guess at their own.

    With `tests` also where a likely test holds, which tells nothing about the values: only if no explanation is good.
    """
    memo = ("masks", scope_key(scopes), tuple(keys), hint, tests)
    if memo not in context.memo:
        context.memo[memo] = _likeliest_masks(context, scopes, values, keys, hint, tests)
    return context.memo[memo]


def _likeliest_masks(
    context: Context, scopes: Sequence[Scope], values: Sequence[Any], keys: Sequence[Hashable], hint: str, tests: bool
) -> list[list[bool]]:
    full = (1 << len(values)) - 1
    paths = [
        (1 + feature.bits, same)
        for feature in features(context, scopes, hint)
        if (same := bit_set(own == key for own, key in zip(feature.keys, keys, strict=True)))
    ]
    shapes = [[_shape(value, last) for value in values] for last in (False, True)]
    alike = {bit_set(own == shape for own in row) for row in shapes for shape in row}
    equal = {key: bit_set(own == key for own in keys) for key in keys}
    equal = equal if len(equal) <= MOST_ENTRIES else {}
    constants = {same: NODE + constant_bits(context, values[keys.index(key)]) for key, same in equal.items()}

    def side(mask: int) -> float:
        """The bits of the plainest expression for a side; a guess if there is no plain one."""
        path = next((bits for bits, same in paths if same & mask == mask), UNKNOWN)
        constant = min((bits for same, bits in constants.items() if same & mask == mask), default=UNKNOWN)
        unlike = 0.0 if any(shape & mask == mask for shape in alike) else UNLIKE
        return min(path, constant, UNKNOWN + unlike)

    known = {holds: bits for bits, holds, _ in reversed(table_of(context, scopes).likeliest())}
    proposed = {*alike, *equal.values(), *(same for _, same in paths)}
    costs: dict[int, float] = {}
    for mask in (*proposed, *(list(known)[-MOST_TESTS:] if tests else ())):
        if known.get(mask, UNTESTED) > known.get(full ^ mask, UNTESTED):
            mask = full ^ mask
        if mask not in (0, full) and full ^ mask not in costs:
            costs[mask] = known.get(mask, UNTESTED) + side(mask) + side(full ^ mask)
    context.effort += len(costs) * 4
    ordered = sorted(costs, key=lambda mask: (costs[mask], mask))
    return [[bool(mask >> place & 1) for place in range(len(values))] for mask in ordered]


def _shape(value: Any, last: bool) -> Hashable:
    """What values share that the same expression gives: the kind, the keys of an object, a word at an end of a text."""
    if isinstance(value, str):
        return "text", re.sub(r"\d+", "0", value.split(" ")[-last]) if " " in value else ""
    if isinstance(value, dict):
        return "object", tuple(sorted(cast(dict[str, Any], value)))
    if isinstance(value, list):
        return "list", value != []
    return ("number",) if is_number(value) else ("other", repr(value))

"""Lists: the expressions whose values are lists, also those that bring two lists together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from flowmind.build.induction.features import computed, features, key_of, scope_key
from flowmind.build.induction.names import free, noun_of, singular
from flowmind.build.induction.scopes import Chosen, Context, Feature, Scope

FLATTENED = 3.0
"""The bits of the choice to put lists of lists in a row."""
PAIRED = 5.0
"""The bits of the choice to keep the elements of both lists, beside those."""
GROUPED = 3.0
"""The bits of the choice of the elements that another value names, beside which value and which key."""
ONE_ROUND = 4.0
"""The bits of a list of the last round of a loop where those of all rounds can be put in a row."""
MOST = 16
"""The number of lists that are kept."""
MOST_GROUPS = 8
"""The number of lists of matching elements, and of pairs, that are kept."""
MOST_PAIRS = 600
"""Lists with more elements are not paired."""
SELF = 6.0
"""The bits of the choice to compare the elements of a list with each other."""
_DEPTH = 3
_INDEX = re.compile(r"\[-?\d+\]")


def lists(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The expressions that are lists at all scopes and not empty at some, the likeliest first.

    `sum((page['items'] for page in pages), [])` puts the lists in the elements of a list in a row.
    """
    memo = ("lists", scope_key(scopes))
    if memo not in context.memo:
        found = features(context, scopes)
        sizes = {feature.text: max(map(len, feature.values)) for feature in found if _is_list(feature.values)}
        plain = [feature for feature in found if feature.text in sizes and not _of_one_among(feature.text, sizes)]
        made = {feature.text: feature for feature in plain}
        for feature in plain[:MOST]:
            for path, flat in _flattened(feature, scopes):
                last = made.get(path)  # the list of the last round of a loop, with its rows in scope
                if last is not None and feature.text.isidentifier():
                    flat = flat._replace(bits=min(flat.bits, last.bits))
                    made[path] = last._replace(bits=last.bits + ONE_ROUND)
                made[flat.text] = flat
        context.effort += len(made) * len(scopes)
        context.memo[memo] = sorted(made.values(), key=lambda feature: feature.bits)[:MOST]
    return context.memo[memo]


def matching(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The lists of those elements of a list around several visits that a value of the visit names.

    `[line for line in sheet['lines'] if line['product'] == product['code']]`: the elements are looked up by this key,
    so that long lists can be joined.
    """
    memo = ("matching", scope_key(scopes))
    if memo not in context.memo:
        found: list[Feature] = []
        names = _Names(features(context, scopes), scopes)
        for source in (*lists(context, scopes), *pairs(context, scopes)):
            if len({id(own) for own in source.values}) < len(scopes):
                found += _groups(context, source, names)
        context.memo[memo] = sorted(found, key=lambda feature: feature.bits)[:MOST_GROUPS]
    return context.memo[memo]


def pairs(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The pairs of an element of a list with one of another list: of one in it, or of one around with the same key.

    `sum(([{'order': order, 'line': line} for line in order['lines']] for order in orders), [])`
    """
    memo = ("pairs", scope_key(scopes))
    if memo not in context.memo:
        around = [source for source in lists(context, scopes) if not has_element(scopes, source)]
        found = nested_pairs(context, scopes)
        for source, other in itertools.permutations(around, 2):
            if not _share_elements(source, other):
                found += _paired(context, scopes, source, other)
        context.memo[memo] = sorted(found, key=lambda feature: feature.bits)[:MOST_GROUPS]
    return context.memo[memo]


def nested_pairs(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The pairs of an element of a list with one of a list in it."""
    return [
        pair
        for source in lists(context, scopes)
        if not has_element(scopes, source)
        for pair in _paired(context, scopes, source, None)
    ]


def _paired(context: Context, scopes: Sequence[Scope], source: Feature, other: Feature | None) -> Iterator[Feature]:
    """The pairs of the elements of a list with those of a list in them, or with those of another list."""
    firsts, places = _firsts([(id(own), id(other.values[at]) if other else 0) for at, own in enumerate(source.values)])
    shown, own = [scopes[place] for place in firsts], _only(source, firsts)
    item = item_name(source.text, scopes)
    inside = element_scopes(shown, own, item)
    elements = [scope[item] for scope in inside]
    if sum(map(len, own.values)) > MOST_PAIRS or not all(isinstance(element, dict) for element in elements):
        return
    inner: list[Feature] = []
    if other is None:
        for path in _list_paths(elements):
            text = item + "".join(f"[{key!r}]" for key in path)
            inner.append(Feature(FLATTENED + len(path) - 1, text, tuple([_at(one, path) for one in elements]), ()))
    else:
        owners = [place for place, rows in zip(firsts, own.values, strict=True) for _ in rows]
        inner += _groups(context, _only(other, owners), _Names(features(context, inside), [*scopes, *inside[:1]]))
    for one in inner:
        part, where, test = one.chosen or (item_name(one.text, [*scopes, *inside[:1]]), one.text, "")
        rows = iter(one.values)
        made = [[{item: own, part: row} for own in rows_of for row in next(rows)] for rows_of in own.values]
        if any(made):
            pair = f"[{{{item!r}: {item}, {part!r}: {part}}} for {part} in {where}{f' if {test}' if test else ''}]"
            text = f"sum(({pair} for {item} in {source.text}), [])"
            yield _listed(context, source.bits + one.bits + PAIRED, text, [made[place] for place in places])


def _listed(context: Context, bits: float, text: str, values: Sequence[list[Any]]) -> Feature:
    return Feature(bits, text, tuple(values), tuple([key_of(context, value) for value in values]))


def has_element(scopes: Sequence[Scope], source: Feature) -> bool:
    """Whether an element of a list is a variable, or a part of one, at the first visit."""
    known = [part for value in scopes[0].values() for part in (value, *(value.values() if _is_object(value) else ()))]
    return any(part is element for part in known if isinstance(part, dict) for element in source.values[0])


def _share_elements(one: Feature, other: Feature) -> bool:
    """Whether two lists have the same elements, or one is in the other."""
    known = {id(element) for own in other.values for element in own}
    return (
        one.text in other.text or other.text in one.text or any(id(part) in known for own in one.values for part in own)
    )


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _firsts(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """The places of the first of equal keys, and for each key which of these it equals."""
    firsts: dict[Hashable, int] = {}
    for place, key in enumerate(keys):
        firsts.setdefault(key, place)
    order = {key: number for number, key in enumerate(firsts)}
    return list(firsts.values()), [order[key] for key in keys]


def _only(feature: Feature, places: Sequence[int]) -> Feature:
    """A feature at some of its scopes."""
    values, keys = tuple([feature.values[at] for at in places]), tuple([feature.keys[at] for at in places])
    return feature._replace(values=values, keys=keys)


class _Names:
    """The values that may name elements of lists.

    Args:
        found: The features of some scopes.
        scopes: With the variables that have names.
    """

    def __init__(self, found: Sequence[Feature], scopes: Sequence[Scope]) -> None:
        plain = [one for one in found if " for " not in one.text]
        self.texts = [one for one in plain if _may_name(one.values) and not _INDEX.search(one.text)]
        self.objects = {tuple(map(id, one.values)): one.text for one in plain}
        """The paths by their values."""
        self.scopes = scopes
        self.taken = {name for scope in scopes for name in scope}


def _may_name(values: Sequence[Any]) -> bool:
    """Whether values are texts or whole numbers; some may be null."""
    kinds: set[type] = {type(value) for value in values if value is not None}
    return kinds in ({str}, {int})


def _groups(context: Context, source: Feature, names: _Names) -> Iterator[Feature]:
    """The elements of a list, which has a value at each visit, that a value names: for each key and each such value."""
    item = free(singular(noun_of(source.text)), names.taken)
    indexes = _indexes(context, source)
    context.effort += len(indexes) * len(names.texts) * len(source.values) // 4
    own = has_element(names.scopes, source)
    for path, index in indexes:
        key = "".join(f"[{part!r}]" for part in path)
        for text in names.texts:
            if type(text.values[0]) is int and not text.text.endswith(f"[{path[-1]!r}]"):
                continue  # numbers are often equal by chance
            values = [own.get(value, []) for value, own in zip(text.values, index, strict=True)]
            if not any(values) or all(len(own) == len(whole) for own, whole in zip(values, source.values, strict=True)):
                continue
            if all(len(own) == 1 for own in values) and tuple([id(own[0]) for own in values]) in names.objects:
                continue  # it names its own element
            test = f"{item}{key} == {text.text}"
            bits = source.bits + GROUPED + text.bits + math.log2(len(indexes))
            bits += SELF if own else 0.0
            made = _listed(context, bits, f"[{item} for {item} in {source.text} if {test}]", values)
            yield made._replace(before=source.before, chosen=Chosen(item, source.text, test))


def _indexes(context: Context, source: Feature) -> list[tuple[tuple[str, ...], list[dict[Any, list[Any]]]]]:
    """The paths to texts and whole numbers in the elements of a list, with the elements by these at each visit."""
    memo = ("indexes of", tuple(map(id, source.values)))
    if memo not in context.memo:
        whole = {id(own): cast(list[Any], own) for own in source.values}
        elements = [element for own in whole.values() for element in own]
        made: list[tuple[tuple[str, ...], list[dict[Any, list[Any]]]]] = []
        for path in _text_paths(elements):
            known: dict[int, dict[Any, list[Any]]] = {}
            for place, own in whole.items():
                index: dict[Any, list[Any]] = {}
                for element in own:
                    index.setdefault(_at(element, path), []).append(element)
                known[place] = index
            made.append((path, [known[id(own)] for own in source.values]))
        context.effort += len(made) * len(elements)
        context.memo[memo] = source, made  # holds the lists, so that no other gets their ids
    return context.memo[memo][1]


def _text_paths(elements: Sequence[Any]) -> list[tuple[str, ...]]:
    """The keys that lead to a text or a whole number, or to null, in all elements."""
    found: list[tuple[str, ...]] = []
    level: list[tuple[str, ...]] = [()]
    for _ in range(_DEPTH):
        following: list[tuple[str, ...]] = []
        for path in level:
            owners = [_at(element, path) for element in elements]
            if not owners or not all(isinstance(owner, dict) for owner in owners):
                continue
            for key in cast(dict[str, Any], owners[0]):
                if not all(key in owner for owner in owners):
                    continue
                kinds: set[type] = {type(owner[key]) for owner in owners if owner[key] is not None}
                if kinds in ({str}, {int}):
                    found.append((*path, key))
                elif kinds == {dict}:
                    following.append((*path, key))
        level = following
    return found


def element_scopes(scopes: Sequence[Scope], source: Feature, item: str) -> tuple[Scope, ...]:
    """For each element of a list at each visit a scope with the element alone."""
    return tuple(
        Scope({item: value}, scope.trace, (scope.key, source.text, item, index))
        for scope, own in zip(scopes, source.values, strict=True)
        for index, value in enumerate(own)
    )


def _is_list(values: Sequence[Any]) -> bool:
    return any(values) and all(isinstance(value, list) for value in values)


def _of_one_among(text: str, sizes: Mapping[str, int]) -> bool:
    """Whether a list belongs to the first or last element of a list of several."""
    return any(sizes.get(text[: index.start()], 1) > 1 for index in _INDEX.finditer(text))


def _flattened(feature: Feature, scopes: Sequence[Scope]) -> list[tuple[str, Feature]]:
    """The lists in the elements of a list in a row, each with its path without the element."""
    found: list[tuple[str, Feature]] = []
    name = item_name(feature.text, scopes)
    for path in _list_paths([element for values in feature.values for element in cast(list[Any], values)]):
        part = name + "".join(f"[{key!r}]" for key in path)
        inside = path[0] + "".join(f"[{key!r}]" for key in path[1:])
        firsts, places = _firsts(list(map(id, feature.values)))
        made = [[one for element in feature.values[at] for one in _at(element, path)] for at in firsts]
        values = [made[place] for place in places]
        bits = feature.bits + FLATTENED + len(path) - 1
        found.append((inside, computed(bits, f"sum(({part} for {name} in {feature.text}), [])", values)))
    return found


def _list_paths(elements: Sequence[Any]) -> list[tuple[str, ...]]:
    """The keys that lead to a list in all elements."""
    found: list[tuple[str, ...]] = []
    level: list[tuple[str, ...]] = [()]
    for _ in range(_DEPTH):
        following: list[tuple[str, ...]] = []
        for path in level:
            owners = [_at(element, path) for element in elements]
            if not owners or not all(isinstance(owner, dict) for owner in owners):
                continue
            for key in cast(dict[str, Any], owners[0]):
                parts = [owner.get(key) for owner in owners]
                if all(isinstance(part, list) for part in parts) and any(parts):
                    found.append((*path, key))
                elif all(isinstance(part, dict) for part in parts):
                    following.append((*path, key))
        level = following
    return found


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value[key]
    return value


def item_name(source: str, scopes: Sequence[Scope]) -> str:
    """A name for an element of a list that no variable has: `order` for `customer['orders']`."""
    return free(singular(noun_of(source)), {name for scope in scopes for name in scope})

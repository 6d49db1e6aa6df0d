"""Lists: the expressions whose values are lists, also lists of lists in a row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from flowmind.build.induction.features import computed, features, scope_key
from flowmind.build.induction.names import free, noun_of, singular
from flowmind.build.induction.scopes import Context, Feature, Scope

FLATTENED = 3.0
"""The bits of the choice to put lists of lists in a row."""
ONE_ROUND = 4.0
"""The bits of a list of the last round of a loop where those of all rounds can be put in a row."""
MOST = 16
"""The number of lists that are kept."""
_DEPTH = 3


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


def _is_list(values: Sequence[Any]) -> bool:
    return any(values) and all(isinstance(value, list) for value in values)


def _of_one_among(text: str, sizes: Mapping[str, int]) -> bool:
    """Whether a list belongs to the first or last element of a list of several."""
    return any(sizes.get(text[: index.start()], 1) > 1 for index in re.finditer(r"\[-?\d+\]", text))


def _flattened(feature: Feature, scopes: Sequence[Scope]) -> list[tuple[str, Feature]]:
    """The lists in the elements of a list in a row, each with its path without the element."""
    elements = [element for values in feature.values for element in cast(list[Any], values)]
    found: list[tuple[str, Feature]] = []
    name = item_name(feature.text, scopes)
    for path in _list_paths(elements):
        part = name + "".join(f"[{key!r}]" for key in path)
        inside = path[0] + "".join(f"[{key!r}]" for key in path[1:])
        values = [[one for element in own for one in _at(element, path)] for own in feature.values]
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

"""Features: paths into the variables, and what is cheaply computed of them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import CodeType
from typing import Any, NamedTuple, cast

from flowmind.build.induction.bits import is_number
from flowmind.build.induction.names import free, noun_of, singular
from flowmind.build.induction.reading import words_of
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Context, Feature, Scope, canonical
from flowmind.workflow.expression_runtime import HELPERS
from flowmind.workflow.expressions import ExpressionError, translate

ITEM = 3.0
"""The factor by which an element of a loop is likelier than another variable."""
FIXED = 0.1
"""The factor by which a fixed element of a list is less likely where a loop goes through the list."""
MAX_PATHS = 500
MAX_KEYS = 7
"""Keys of a path; an index counts as two."""
INDEX = 3.6
"""The bits of an index into a list; of one of objects or whose length varies; and where the task's text asks for a
first or last."""
VARIED = 7.0
ORDINAL = 1.0
_COUNTED = re.compile(
    r"\b(?:characters?|letters?|digits?)\b"
    r"|\b(?:long(?:er|est)?|length|short(?:er|est)?)\b[^.;]{0,30}\b(?:names?|titles?|texts?|words?)\b"
    r"|\b(?:names?|titles?|texts?|words?)\b[^.;]{0,30}\b(?:long(?:er|est)?(?! as)|length|short(?:er|est)?)\b"
)
JOINED = 5.0
"""The bits of an element of a list that another value names."""
DATA_KEY = 30.0
"""A key that begins with a digit, beside its path: a date or an id, which other runs need not have."""
KNOWN = 3.0
"""The bits of a computed number that explains another value of the program."""
SAME_LENGTH = 6.0
"""The length of lists that are all equally long."""
NAMED_KEY = 24.0
"""How many times likelier a key is that the task's text names. A named object
names each of its keys with an equal share."""
Path = tuple[str | int, ...]


class _Located(NamedTuple):
    path: Path
    text: str
    values: tuple[Any, ...]
    keys: tuple[Hashable, ...]
    indexes: float = 0.0
    """The bits of its indexes."""
    fields: int = 0
    """How many keys its objects have."""


def scope_key(scopes: Sequence[Scope]) -> tuple[Hashable, ...]:
    """Identifies the visits: for results that depend on their variables only."""
    return tuple(scope.key for scope in scopes)


def features(context: Context, scopes: Sequence[Scope], hint: str = "") -> list[Feature]:
    """Paths into all variables, the likeliest first.

    A path costs the logarithm of its share among all paths, by its length, by words that the task's text has, and by
    its likeness to a name.

    Args:
        context: The search.
        scopes: The visits.
        hint: The name of the argument or field that is to be explained.
    """
    memo = ("features", scope_key(scopes), hint)
    if memo not in context.memo:
        located = _paths(context, scopes)
        lists = [source for item, source in context.items.items() if item in scopes[0]] if scopes else []
        weights = [
            _weight(context, place, hint) * 2.0**-place.indexes * _around(context, place, lists) for place in located
        ]
        total = sum(weights) or 1.0
        context.effort += len(weights)
        found = [
            Feature(-math.log2(weight / total), place.text, place.values, place.keys)
            for weight, place in zip(weights, located, strict=True)
        ]
        context.memo[memo] = sorted(found, key=lambda feature: feature.bits)
    return context.memo[memo]


def lengths(context: Context, scopes: Sequence[Scope], hint: str = "") -> list[Feature]:
    """The lengths of the lists among the paths, the likeliest first; of texts if the task counts letters."""
    memo = ("lengths", scope_key(scopes), hint)
    if memo not in context.memo:
        kinds = (list, str) if _COUNTED.search(context.reading.text.lower()) else (list,)
        context.memo[memo] = [
            computed(feature.bits + _price(feature), f"len({feature.text})", [len(value) for value in feature.values])
            for feature in features(context, scopes, hint)
            if any(all(isinstance(value, kind) for value in feature.values) for kind in kinds)
        ]
    return context.memo[memo]


def _price(feature: Feature) -> float:
    """What a length costs: more if it is always the same, because then it tells nothing but a number."""
    same = len(feature.values) > 1 and len({len(value) for value in feature.values}) == 1
    return SAME_LENGTH if same else 2.0


def computed(bits: float, text: str, values: Sequence[Any]) -> Feature:
    """A feature with values that were computed."""
    return Feature(bits, text, tuple(values), tuple(canonical(value) for value in values))


def known_features(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """The computed numbers and the lists that explain other values of the program."""
    memo = ("known", scope_key(scopes), context.totals, context.siblings)
    if memo not in context.memo:
        found = [
            computed(KNOWN + known.bits, known.text, values_of(context, scopes, known.text))
            for known in (*context.siblings, *context.totals)
            if not known.before
        ]
        context.memo[memo] = [
            feature for feature in found
            if all(map(is_number, feature.values)) or all(isinstance(value, list) for value in feature.values)
        ]  # fmt: skip
    return context.memo[memo]


def _paths(context: Context, scopes: Sequence[Scope]) -> list[_Located]:
    memo = ("paths", scope_key(scopes))
    if memo not in context.memo:
        found: list[_Located] = []
        for name in dict.fromkeys(name for scope in scopes for name in scope):
            found += _paths_of(context, name, tuple(scope.get(name, UNSET) for scope in scopes))
            if len(found) >= MAX_PATHS:
                break
        found = found[:MAX_PATHS]
        context.memo[memo] = [*found, *_joined(context, found, {name for scope in scopes for name in scope})]
    return context.memo[memo]


def _joined(context: Context, found: Sequence[_Located], taken: Collection[str]) -> Iterator[_Located]:
    """The paths into an element of a list that another value names: `[p for p in parts if p['id'] == line['part']][0]`.

    Each list is indexed by the keys that no two of its elements share.
    """
    known = {tuple(map(id, place.values)) for place in found}
    texts = [place for place in found if len(place.path) < MAX_KEYS and not place.indexes and _names_one(place.values)]
    for place in found:
        if place.indexes or not all(isinstance(value, list) for value in place.values):
            continue
        rows = [cast(list[Any], value) for value in place.values]
        if max(map(len, rows)) < 2 or not all(isinstance(row, dict) for own in rows for row in own):
            continue
        item = free(singular(noun_of(place.text)), taken)
        for key, index in _indexes(context, rows):
            for other in texts:
                if context.items.get(str(other.path[0])) == place.text or (
                    not isinstance(other.values[0], str) and _likeness(str(other.path[-1]), key, ()) == 1.0
                ):
                    continue
                if all(value in own for value, own in zip(other.values, index, strict=True)):
                    values = tuple([own[value] for value, own in zip(other.values, index, strict=True)])
                    if tuple(map(id, values)) in known:
                        continue  # it names its own element
                    text = f"[{item} for {item} in {place.text} if {item}[{key!r}] == {other.text}][0]"
                    yield from _walk(context, (*place.path, key), text, values, len(place.path) + 1, JOINED)


def _names_one(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values) or all(type(value) is int for value in values)


def _indexes(
    context: Context, rows: Sequence[Sequence[dict[str, Any]]]
) -> list[tuple[str, list[dict[Any, dict[str, Any]]]]]:
    """The keys whose values tell the elements of each list apart, with the elements by these values."""
    memo = ("indexes", tuple(map(id, rows)))
    if memo not in context.memo:
        known: dict[tuple[int, str], dict[Any, dict[str, Any]]] = {}
        made: list[tuple[str, list[dict[Any, dict[str, Any]]]]] = []
        for key in next((row for own in rows for row in own), dict[str, Any]()):
            for own in {id(own): own for own in rows}.values():
                values = [row.get(key) for row in own]
                if not values or not _names_one(values) or len(set(values)) < len(values):
                    break
                known[id(own), key] = dict(zip(values, own, strict=True))
            else:
                made.append((key, [known[id(own), key] for own in rows]))
        context.effort += sum(map(len, rows))
        context.memo[memo] = made  # holds the rows, so that no other list gets their ids
    return context.memo[memo]


def _paths_of(context: Context, name: str, values: tuple[Any, ...]) -> list[_Located]:
    """The paths into one variable, which most lists of scopes share."""
    memo = ("paths of", name, tuple(map(id, values)))
    if memo not in context.memo:
        found: list[_Located] = []
        for located in _walk(context, (name,), name, values, 1):
            found.append(located)
            if len(found) >= MAX_PATHS:
                break
        context.effort += len(found) * len(values)
        context.memo[memo] = found  # holds the values, so that no other gets their ids
    return context.memo[memo]


def _walk(
    context: Context,
    path: Path,
    text: str,
    values: tuple[Any, ...],
    size: int,
    indexes: float = 0.0,
    fields: int = 0,
) -> Iterator[_Located]:
    yield _Located(path, text, values, tuple(key_of(context, value) for value in values), indexes, fields)
    if size >= MAX_KEYS:
        return
    objects = [cast(dict[str, Any], value) for value in values if isinstance(value, dict)]
    keys = dict.fromkeys(key for value in objects for key in value if not key.startswith("__"))
    for key in keys:
        everywhere = all(key in value for value in objects)
        inner = [cast(dict[str, Any], value).get(key) if isinstance(value, dict) else UNSET for value in values]
        part = f"{text}[{key!r}]" if everywhere else f"{text}.get({key!r})"
        dear = indexes + (DATA_KEY if key[:1].isdigit() else 0.0)
        yield from _walk(context, (*path, key), part, tuple(inner), size + 1, dear, len(keys))
    lists = [cast(list[Any], value) if isinstance(value, list) else [] for value in values]
    if any(lists) and size < MAX_KEYS - 1 and text not in context.empty:
        records = any(isinstance(part, dict) for value in lists for part in value[:1])
        varied = records or len({len(value) for value in lists if value}) > 1
        more = indexes + (ORDINAL if context.reading.ordinal else VARIED if varied else INDEX)
        ends = (0, -1) if max(map(len, lists)) > 1 or context.rows.get(text) else (0,)
        for index in (0,) if text in context.repeated else ends:  # the variables have those of the last round
            inner = [value[index] if value else UNSET for value in lists]
            yield from _walk(context, (*path, index), f"{text}[{index}]", tuple(inner), size + 2, more)


def key_of(context: Context, value: Any) -> Hashable:
    """The canonical form of a value; that of a list or object, and of its parts, is computed once."""
    if not isinstance(value, list | dict):
        return canonical(value)
    memo = ("canonical", id(cast(Any, value)))
    if memo not in context.memo:
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value).items()
            key: Hashable = (2, tuple(sorted((name, key_of(context, part)) for name, part in fields)))
        else:
            key = (3, tuple([key_of(context, part) for part in cast(list[Any], value)]))
        context.memo[memo] = (value, key)  # the reference keeps the id from being used again
    return context.memo[memo][1]


def _weight(context: Context, place: _Located, hint: str) -> float:
    """How likely a path is, not normalised."""
    reading, path = context.reading, place.path
    names = [part for part in path if isinstance(part, str)]
    weight = 2.0 ** (-0.5 * (len(path) - 1))
    if len(names) > 1 and isinstance(path[-1], str):
        named = reading.names_key(names[-1])
        inner = len(names) - (path[0] in context.rows) > 2  # below an object that a result has
        if place.fields == 1 or inner:
            named = max(named, reading.names_key(names[-2]) / max(place.fields, 1))
        weight *= 1 + NAMED_KEY * named
    return weight * _likeness(hint, names[-1], tuple(names[:-1])) if hint else weight


def _around(context: Context, place: _Located, lists: Sequence[str]) -> float:
    """The factor by which loops make a path likelier or less likely.

    Inside of a loop the element is meant, not a fixed one of its list. Behind a loop that ends early, or that repeats
    a call, the last round is meant.
    """
    if place.path[0] in context.items:
        return ITEM
    if len(place.path) > 1 and isinstance(place.path[1], int) and context.rows.get(str(place.path[0])):
        return 1 / FIXED if place.path[1] == -1 else FIXED
    return FIXED if any(place.text.startswith(f"{source}[") for source in lists) else 1.0


@lru_cache(maxsize=20_000)
def _likeness(hint: str, last: str, owners: tuple[str, ...]) -> float:
    """The factor by which a path is likelier because its last key is like the name of the argument."""
    if last == hint:
        return 8.0
    wanted, key = set(words_of(hint)), set(words_of(last))
    around = {word for owner in owners for word in words_of(owner)}
    around |= {word.rstrip("s") for word in around}
    if key and key <= wanted and wanted - key <= around:
        return 6.0
    return 2.0 if wanted & key else 1.0


def at_fixed_places(context: Context, scopes: Sequence[Scope]) -> frozenset[str]:
    """The paths with an index into a list whose length varies, unless the task's text asks for a first or last."""
    return frozenset(place.text for place in _paths(context, scopes) if place.indexes >= VARIED)


def numeric(found: Sequence[Feature]) -> list[Feature]:
    """Those whose values are all numbers."""
    return [feature for feature in found if all(map(is_number, feature.values))]


def is_percentage(feature: Feature) -> bool:
    """Whether numbers, some of which may be null, are percentages by their name and their size."""
    named = any(word in feature.text.lower() for word in ("percent", "pct", "rate", "discount", "tax", "vat"))
    return named and all(not value or (is_number(value) and 1 < abs(value) <= 100) for value in feature.values)


# Functions of one text.

TEXT_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "{}.lower()": str.lower,
    "{}.upper()": str.upper,
    "{}.title()": str.title,
    "{}.capitalize()": str.capitalize,
    "{}.strip()": str.strip,
    "{}.replace(' ', '_')": lambda text: text.replace(" ", "_"),
    "{}.replace('_', ' ')": lambda text: text.replace("_", " "),
}
SEPARATORS = (" ", "@", "-", "/", ":", ", ", ",", "T", ".", "_", "#")


Function = tuple[float, str, Callable[[str], str | None]]
"""A function of one text: its bits, its expression, and None where it has no value."""


@cache
def text_functions() -> tuple[Function, ...]:
    """Cases of letters, parts, and cases of parts."""
    cases: list[Function] = [(3.0, text, function) for text, function in TEXT_FUNCTIONS.items()]
    parts = list(_parts())
    both = [
        (bits + more, more_text.replace("{}", text), _composed(inner, outer))
        for bits, text, inner in parts
        for more, more_text, outer in cases
    ]
    return (*cases, *parts, *both)


@lru_cache(maxsize=5_000)
def made_of(text: str) -> dict[str, list[Function]]:
    """The functions of one text by what they make of it."""
    found: dict[str, list[Function]] = {}
    for one in text_functions():
        made = one[2](text)
        if made is not None:
            found.setdefault(made, []).append(one)
    return found


def _parts() -> Iterator[Function]:
    for separator in SEPARATORS:
        for index, bits in ((0, 5.0), (-1, 5.0), (1, 6.5)):
            yield bits, f"{{}}.split({separator!r})[{index}]", _part(separator, index)
    for size in (1, 3, 4, 7, 10, 2, 5, 8):
        yield 6.0, f"{{}}[:{size}]", lambda text, size=size: text[:size]
        yield 6.0, f"{{}}[-{size}:]", lambda text, size=size: text[-size:]
        yield 6.0, f"{{}}[{size}:]", lambda text, size=size: text[size:]


def _composed(inner: Callable[[str], str | None], outer: Callable[[str], str | None]) -> Callable[[str], str | None]:
    def composed(text: str) -> str | None:
        part = inner(text)
        return None if part is None else outer(part)

    return composed


def _part(separator: str, index: int) -> Callable[[str], str | None]:
    def part(text: str) -> str | None:
        parts = text.split(separator)
        return parts[index] if -len(parts) <= index < len(parts) else None

    return part


# Texts of expressions.

_LEVELS: dict[type[ast.AST], int] = {ast.IfExp: 0, ast.BoolOp: 1, ast.Compare: 2}
SUM, PRODUCT, ATOM = 4, 5, 6
"""How tightly an expression binds; an atom binds tightest."""


@lru_cache(maxsize=50_000)
def level(text: str) -> int:
    """How tightly the outermost operation of an expression binds."""
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, ast.BinOp):
        return SUM if isinstance(tree.op, ast.Add | ast.Sub) else PRODUCT
    if isinstance(tree, ast.UnaryOp):
        return 1 if isinstance(tree.op, ast.Not) else PRODUCT
    if isinstance(tree, ast.Constant) and is_number(tree.value):
        return ATOM
    return _LEVELS.get(type(tree), ATOM)


def enclosed(text: str, least: int) -> str:
    """An expression in parentheses, unless it binds at least so tightly."""
    return text if level(text) >= least else f"({text})"


def applied(pattern: str, text: str) -> str:
    """The expression of a function of one text: `{}.lower()` of `name`."""
    return pattern.replace("{}", enclosed(text, ATOM))


@lru_cache(maxsize=20_000)
def _compiled(text: str, names: frozenset[str]) -> CodeType:
    return compile(translate(text, {name: f"v_{name}" for name in names}), "<expression>", "eval")


def values_of(context: Context, scopes: Sequence[Mapping[str, Any]], text: str) -> tuple[Any, ...]:
    """The value of an expression at each visit, as the workflow computes it; UNSET where it has none."""
    context.effort += len(scopes)
    found: list[Any] = []
    for scope in scopes:
        names = {f"v_{name}": value for name, value in scope.items()}
        try:
            found.append(eval(_compiled(text, frozenset(scope)), {"__builtins__": {}, **HELPERS, **names}))
        except ExpressionError:
            return (UNSET,) * len(scopes)
        except Exception:  # any failed operation means that there is no value
            found.append(UNSET)
    return tuple(found)

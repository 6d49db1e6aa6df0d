"""The shape of results, as seen in traces: types, fields, and the range of values of each field."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, cast

from pydantic import Field

from flowmind.base.files import dump_json
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Record

_MOST_TEXTS = 16
"""A field with more different texts than this takes any text."""


class Shape(Record):
    """The JSON values that a place had in traces, merged.

    Texts are kept as digests: a shape holds no text of a result.
    """

    types: tuple[str, ...] = ()
    """The names of the types; integers are numbers."""
    seen: int = 0
    """The number of values."""
    fields: dict[str, Shape] = Field(default_factory=dict)
    """The fields of objects."""
    always: tuple[str, ...] = ()
    """The fields that every object had."""
    items: Shape | None = None
    """The elements of lists; None if all lists were empty."""
    least: float | None = None
    """The least number."""
    most: float | None = None
    """The greatest number."""
    flags: tuple[bool, ...] = ()
    """The truth values."""
    texts: tuple[str, ...] = ()
    """The digests of texts, at most 16."""
    many_texts: bool = False
    """Whether there were more texts."""


def digest(value: Any) -> str:
    """A short digest of a JSON value, equal for equal values."""
    plain = int(value) if isinstance(value, float) and value.is_integer() else value
    return hashlib.sha256(_canonical(plain).encode()).hexdigest()[:16]


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return "{" + ",".join(f"{dump_json(key)}:{_canonical(fields[key])}" for key in sorted(fields)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, cast(list[Any], value))) + "]"
    return dump_json(int(value) if isinstance(value, float) and value.is_integer() else value)


def shape_of(value: Any) -> Shape:
    """The shape of one value."""
    kind = _kind(value)
    if isinstance(value, dict):
        fields = {key: shape_of(part) for key, part in cast(dict[str, Any], value).items()}
        return Shape(types=(kind,), seen=1, fields=fields, always=tuple(fields))
    if isinstance(value, list):
        items: Shape | None = None
        for part in cast(list[Any], value):
            items = shape_of(part) if items is None else merged(items, shape_of(part))
        return Shape(types=(kind,), seen=1, items=items)
    if isinstance(value, bool):
        return Shape(types=(kind,), seen=1, flags=(value,))
    if isinstance(value, int | float):
        return Shape(types=(kind,), seen=1, least=value, most=value)
    return Shape(types=(kind,), seen=1, texts=(digest(value),) if isinstance(value, str) else ())


def merged(left: Shape, right: Shape) -> Shape:
    """The shape of the values of both."""
    fields = {
        key: merged(left.fields[key], right.fields[key]) if key in left.fields and key in right.fields else shape
        for key, shape in {**left.fields, **right.fields}.items()
    }
    objects = [shape.always for shape in (left, right) if "object" in shape.types]
    always = tuple(key for key in objects[0] if all(key in keys for keys in objects)) if objects else ()
    items = left.items if right.items is None else right.items
    if left.items is not None and right.items is not None:
        items = merged(left.items, right.items)
    numbers = [bound for bound in (left.least, right.least, left.most, right.most) if bound is not None]
    texts = tuple(dict.fromkeys((*left.texts, *right.texts)))
    return Shape(
        types=tuple(sorted({*left.types, *right.types})),
        seen=left.seen + right.seen,
        fields=fields,
        always=always,
        items=items,
        least=min(numbers, default=None),
        most=max(numbers, default=None),
        flags=tuple(sorted({*left.flags, *right.flags})),
        texts=texts[:_MOST_TEXTS],
        many_texts=left.many_texts or right.many_texts or len(texts) > _MOST_TEXTS,
    )


def misfit(shape: Shape, value: Any, place: str = "") -> str:
    """Why a value has another shape than those seen; empty if it has none. New fields of objects pass."""
    kind = _kind(value)
    if kind not in shape.types:
        return f"{place or 'the result'} is {_a(kind)}, and was {' or '.join(map(_a, shape.types)) or 'never seen'}"
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if missing := [key for key in shape.always if key not in fields]:
            return f"the field {_joined(place, missing[0])} is missing"
        return _first(
            misfit(shape.fields[key], fields[key], _joined(place, key)) for key in fields if key in shape.fields
        )
    if isinstance(value, list):
        items, part = shape.items or Shape(), f"{place}[]"
        return _first(misfit(items, element, part) for element in cast(list[Any], value))
    return ""


def novelty(shape: Shape, value: Any, is_read: Callable[[str], bool], place: str = "") -> str:
    """Why the part of a value that nothing reads is new; empty if it is not.

    A number must lie in the range seen, or beside it by at most its width and on the same side of 0. A truth value must
    have been seen. A text must have been seen, unless every value had a text of its own, as names and ids have. A field
    that at most half of the objects had is not compared, because new fields pass, and they pass also after the first
    trace that has them.

    Args:
        shape: The shape of the values seen.
        value: The value; it fits the shape.
        is_read: Whether a field of this name is read.
        place: The place of the value, in words.
    """
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        objects = max((field.seen for field in shape.fields.values()), default=0)
        known = [key for key in fields if key in shape.fields and 2 * shape.fields[key].seen > objects]
        unread = [key for key in known if not is_read(key)]
        inside = [key for key in known if is_read(key)]
        return _first(
            (
                *(novelty(shape.fields[key], fields[key], lambda _: False, _joined(place, key)) for key in unread),
                *(
                    novelty(shape.fields[key], fields[key], is_read, _joined(place, key))
                    for key in inside
                    if isinstance(fields[key], dict | list)
                ),
            )
        )
    if isinstance(value, list):
        items, part = shape.items or Shape(), f"{place}[]"
        elements = cast(list[Any], value)
        return _first(novelty(items, element, is_read, part) for element in elements if _holds(element, is_read))
    return _new_atom(shape, value, place or "the result")


def _holds(element: Any, is_read: Callable[[str], bool]) -> bool:
    """Whether the elements of a list are compared: objects are, and others if nothing is read around them."""
    return isinstance(element, dict | list) or not is_read("")


def _new_atom(shape: Shape, value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "" if value in shape.flags else f"{place}, which nothing reads, was never {str(value).lower()}"
    if isinstance(value, int | float) and shape.least is not None and shape.most is not None:
        return (
            ""
            if _near(shape.least, shape.most, value)
            else (f"{place}, which nothing reads, was between {shape.least:g} and {shape.most:g}, and is {value:g}")
        )
    if isinstance(value, str):
        own = shape.many_texts or len(shape.texts) == shape.seen > 1
        return "" if own or digest(value) in shape.texts else f"{place}, which nothing reads, has a new value"
    return ""


def _near(least: float, most: float, value: float) -> bool:
    """Whether a number lies in a range, or beside it by at most its width and on the same side of 0."""
    if least <= value <= most:
        return True
    bound, width = (least, most - least) if value < least else (most, most - least)
    return value * bound > 0 and abs(value - bound) <= width


def _kind(value: Any) -> str:
    name = type_name(value)
    return "number" if name == "integer" else name


def _a(kind: str) -> str:
    return "null" if kind == "null" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _first(problems: Iterator[str] | tuple[str, ...]) -> str:
    return next(filter(None, problems), "")

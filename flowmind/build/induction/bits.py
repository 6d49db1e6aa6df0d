"""What constants and terms cost, in bits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, cast

from flowmind.build.induction.scopes import Context, Scope

LETTER = 4.5
"""A letter of a text that nothing names: a little less than log2 of 26."""
TEXT = 6.0
"""The length of such a text."""
QUOTED = 1.5
"""A text constant that the task's text has in quotation marks."""
NAMED = 3.5
"""A text constant that the task's text has as whole words."""
INFLECTED = 5.5
"""A text constant of words that the task's text has in other forms: `stop`, where it says "stops"."""
COMMON = 3.0
"""0, 1, and the empty text, list and object."""
LEAK = 30.0
"""A constant that equals a text in the inputs of all traces that show it, and that the task's text does not name."""
NODE = 2.0
"""An operation: the choice among the productions."""
UNROUNDED = 9.0
"""A result that is not rounded, where the task's text asks for it."""
SIDE = 3.0
"""A condition between two sides, beside its own bits."""

MOST_SPLITS = (8, 3, 1)
"""How many splits of the visits are tried, by depth: at the top, on a side, and on a side of a side."""


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_identifier(text: str) -> bool:
    """Whether a text looks like a name of one thing: it has a digit and no space."""
    return any(map(str.isdigit, text)) and " " not in text


def constant_bits(context: Context, value: Any, scopes: Sequence[Scope] = ()) -> float:
    """The bits of a constant that stands at some visits."""
    reading = context.reading
    if value is None or isinstance(value, bool):
        return 0.0 if value is None and reading.names_key("null") else 2.0
    if value in ("", 0, 1) or value in ([], {}):
        return COMMON
    if is_number(value):
        if reading.names(value):
            return 1.0 + math.log2(len(reading.numbers) + 1)
        return number_bits(value)
    if isinstance(value, str):
        return text_bits(context, value, scopes)
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        keys = sum(NODE + LETTER * len(key) for key in fields)
        return TEXT + keys + sum(constant_bits(context, part, scopes) for part in fields.values())
    return TEXT + sum(constant_bits(context, part, scopes) for part in cast(list[Any], value))


def text_bits(context: Context, value: str, scopes: Sequence[Scope]) -> float:
    """The bits of a text constant."""
    reading = context.reading
    if value in reading.quoted:
        return QUOTED
    if reading.names(value):
        return NAMED
    unnamed = TEXT + LETTER * len(value) + leak_bits(context, value, scopes)
    inflected = value.isidentifier() and value.islower() and reading.names_key(value) == 1.0
    return min(unnamed, INFLECTED) if inflected else unnamed


def number_bits(value: float) -> float:
    """The bits of a number that nothing names: its digits."""
    whole = 7.0 + 2 * math.log2(abs(value) + 1)
    return whole if float(value).is_integer() else whole + 3.0 * len(repr(value).split(".")[-1])


def leak_bits(context: Context, value: str, scopes: Sequence[Scope]) -> float:
    """The extra bits of a text constant that is in the inputs of all traces that show it."""
    traces = {scope.trace for scope in scopes}
    texts = context.texts_of_inputs
    return LEAK if traces and all(trace < len(texts) and value in texts[trace] for trace in traces) else 0.0


def unexplained_bits(values: Sequence[Any]) -> float:
    """The bits of values that nothing explains: each by its length, and the admission."""
    return 30.0 + sum(6.0 + min(400.0, LETTER * len(json.dumps(value, default=repr))) for value in values)

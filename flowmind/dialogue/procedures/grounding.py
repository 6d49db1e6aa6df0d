"""What a session has given so far: whether the values and codes that an agent uses come from somewhere.

Honest texts use other forms of what was given: `March 5` for `2026-03-05`, `2 pm` for `14:00`, `$1,250.00` for 1250,
and sums. They are accepted; a reference number that nobody gave is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

from flowmind.dialogue.procedures.mentions import (
    Reading,
    mentioned,
    reading,
    tokens,
    without_near_days,
    without_separators,
)
from flowmind.trace.events import Called, Event, Said
from tools_registry.specs.spec import ToolSpec

_SMALL = 10
"""Smaller numbers are not checked, because people are counted without a number: `my wife and I`."""
_LEAST_CODE = 4
_WORD = re.compile(r"[^\s()\[\]{}<>\"“”‘’;,=|*`!?…~^\\]+")
_AMOUNT = re.compile(r"([$€£¥])?(\d+(?:\.\d+)?)(%|[^\W\d_]{0,4})")
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th)")
_PERSONS = re.compile(r"(?:'s|’s)$")
_MOST_NUMBERS = 200


class Sources:
    """The texts of the user, the results and the knowledge of a session.

    Args:
        knowledge: What the agent was given before.
        events: The session so far.
    """

    def __init__(self, knowledge: str, events: Sequence[Event]) -> None:
        self._texts = [without_near_days(knowledge), *_texts(events)]

    def gives(self, value: Any, spec: ToolSpec | None = None, name: str = "") -> bool:
        """Whether an argument comes from somewhere: as a whole, or each of its words.

        Args:
            value: The argument.
            spec: The tool, whose defaults and listed values need not be given.
            name: The parameter.
        """
        field: dict[str, Any] = spec.parameters.get("properties", {}).get(name, {}) if spec is not None else {}
        if value in field.get("enum", []) or ("default" in field and value == field["default"]):
            return True
        if isinstance(value, list):
            return all(self.gives(item) for item in cast("list[Any]", value))
        if isinstance(value, dict):
            return all(self.gives(item) for item in cast("dict[str, Any]", value).values())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return abs(value) < _SMALL or self._has_amount(float(value), computed=True)
        if any(mentioned(value, text) for text in self._texts):
            return True
        words = tokens(str(value))
        return len(words) > 1 and all(any(word in read.words for read in self._readings) for word in words)

    def invented_codes(self, text: str) -> list[str]:
        """The words of a text with a digit, of four or more characters, that come from nowhere."""
        codes = dict.fromkeys(code for word in _WORD.findall(_spaced(text)) if (code := word.strip(".:/-–—_#'’+&")))
        return [code for code in codes if _is_code(code) and not self._has_code(code)]

    @cached_property
    def _readings(self) -> list[Reading]:
        return [reading(text) for text in self._texts]

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return frozenset(number for read in self._readings for number in read.numbers)

    def _has_code(self, code: str) -> bool:
        if _ORDINAL.fullmatch(code.casefold()) or any(mentioned(code, text) for text in self._texts):
            return True
        own = reading(code)
        if own.days and any(read.has_day_like(own) for read in self._readings):
            return True
        if own.times and any(own.times & read.times for read in self._readings):
            return True
        if amount := _AMOUNT.fullmatch(code):
            whole = not (amount[1] or amount[3] or "." in amount[2])
            return self._has_amount(float(amount[2]), computed=not whole)
        parts = [part for part in re.split(r"[-–—/:._@+&]", code) if any(map(str.isdigit, part))]
        if len(parts) == 1 and parts[0] == code:
            return False
        if sum(map(str.isdigit, code)) < _LEAST_CODE and all(len(part) < _LEAST_CODE for part in parts):
            return True
        return all(self._has_code(part) for part in parts)

    def _has_amount(self, amount: float, computed: bool) -> bool:
        """Whether a number was given, perhaps rounded or, if it may be computed, as a percentage or from two others."""
        digits = len(f"{amount}".rstrip("0").partition(".")[2])
        numbers = sorted(self._numbers)[:_MOST_NUMBERS]
        if any(_same(round(number, digits), amount) for number in numbers):
            return True
        return computed and any(_same(made, amount) for made in _made_of(numbers))


def _made_of(numbers: Sequence[float]) -> Iterator[float]:
    for one in numbers:
        yield one * 100
        yield one / 100
        yield from (one * count for count in range(2, _SMALL))
        for other in numbers:
            yield from (one + other, one - other, one * other)


def _same(one: float, other: float) -> bool:
    return abs(one - other) < 0.005


def _spaced(text: str) -> str:
    """A text without thousands separators and possessive endings, its ranges as two words: `09:00–17:00`."""
    words = (_PERSONS.sub("", word) for word in without_separators(text).split())
    return re.sub(r"(?<=\d)\s*[–—]\s*(?=[\d$€£])", " ", " ".join(words))


def _is_code(word: str) -> bool:
    return len(word) >= _LEAST_CODE and any(map(str.isdigit, word))


def _texts(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Said) and event.role != "agent":
            yield event.text
        elif isinstance(event, Called):
            error = event.observation.error
            yield error.message if error is not None else json.dumps(event.observation.value, ensure_ascii=False)

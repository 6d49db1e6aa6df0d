"""Whether a text mentions a value: as whole tokens, or in another form of the same date, time or number.

Texts are compared casefolded and without thousands separators. `2026-03-05` is mentioned by `March 5th`, `14:30` by
`half past two`, `1250` by `$1,250.00`, and `P12345` by `p 12345`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, cast

from flowmind.trace.telling import tells

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = ("today", "tomorrow", "tonight", "yesterday")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_ONES)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_THOUSANDS = re.compile(r"(?<=\d)[,'’\u00a0\u202f](?=\d{3}(?!\d))")
_TOKEN = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_SPELLED = re.compile(rf"\b(?:({'|'.join(_TENS)})[- ]({'|'.join(_ONES[1:10])})|({'|'.join((*_ONES, *_TENS))}))\b")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_NUMERIC_DAY = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}|\d{2})?)?(?![\d/])")
_MONTH = "|".join(f"{name}|{name[:3]}|{name[:4]}" for name in _MONTHS)
_DAY_MONTH = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+({_MONTH})\b\.?(?:,?\s+(\d{{4}}))?")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\b\.?\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(\d{{4}}))?")
_ORDINAL = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)\b")
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:.h](\d{2})(?!\d)(?::\d{2})?\s*([ap]\.?m\b)?")
_HOUR = re.compile(r"(?<!\d)(\d{1,2})\s*(?:([ap])\.?m\b|o['’]?clock\b|\s+in the (morning|afternoon|evening))")
_PAST = re.compile(r"\b(half|quarter)\s+(past|to)\s+(\d{1,2})(?!\d)")
_TWO_WORDS = re.compile(r"(?<![\d:.-])(\d{1,2})\s(\d{2})(?![\d:.-])")
_CLOCK_VALUE = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_FEW_WORDS = 3

Day = tuple[int | None, int | None, int]
"""Year, month and day; None for what a text leaves out."""


def plain(text: str) -> str:
    """A text casefolded and without thousands separators."""
    return without_separators(text.casefold())


def without_separators(text: str) -> str:
    """A text without thousands separators: `1250` for `1,250`."""
    return _THOUSANDS.sub("", text)


def without_near_days(text: str) -> str:
    """A text without the words that may mean any day: `today`, `Thursday`."""
    return re.sub(rf"\b(?:{'|'.join((*_WEEKDAYS, *_RELATIVE))})\b", "", text, flags=re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """The runs of letters and digits of a text."""
    return _TOKEN.findall(plain(text))


@dataclass(frozen=True)
class Reading:
    """What a text mentions."""

    text: str

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def tokens(self) -> list[str]:
        return tokens(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """The tokens, and the runs of up to five tokens written as one."""
        runs = ("".join(self.tokens[start:end]) for start, end in _runs(len(self.tokens)))
        return frozenset((*self.tokens, *runs))

    @cached_property
    def counted(self) -> str:
        """The text with spelt numbers as digits."""
        return _SPELLED.sub(_digits, self.plain)

    @cached_property
    def numbers(self) -> frozenset[float]:
        return frozenset(float(number) for number in _NUMBER.findall(self.counted))

    @cached_property
    def days(self) -> frozenset[Day]:
        return frozenset(_days(self.counted))

    @cached_property
    def times(self) -> frozenset[int]:
        """Minutes since midnight. A time before noon without `am` may also be one after noon."""
        return frozenset(_times(self.counted))

    def has_day(self, day: date) -> bool:
        """Whether it mentions a day, by its date, its weekday or as seen from today."""
        if not self.words.isdisjoint((_WEEKDAYS[day.weekday()], *_RELATIVE)):
            return True
        return any(
            number == day.day and month in (None, day.month) and year in (None, day.year)
            for year, month, number in self.days
        )

    def has_day_like(self, other: Reading) -> bool:
        """Whether it mentions one of the days of another text, or a day as seen from today or by its weekday."""
        if not self.words.isdisjoint((*_WEEKDAYS, *_RELATIVE)):
            return True
        ours = {(month, day) for _, month, day in self.days} | {(None, day) for _, _, day in self.days}
        return any((month, day) in ours for _, month, day in other.days)


@lru_cache(maxsize=2_000)
def reading(text: str) -> Reading:
    """What a text mentions; recent texts are cached."""
    return Reading(text)


def mentioned(value: Any, text: str) -> bool:
    """Whether a text mentions a JSON value.

    Of a text of more than three words half of the words are enough, because people do not repeat such texts. No value,
    an empty text and a boolean count as mentioned.
    """
    if value is None or isinstance(value, bool) or tells(text, value):
        return True
    if isinstance(value, list):
        return all(mentioned(item, text) for item in cast("list[Any]", value))
    if isinstance(value, dict):
        return all(mentioned(item, text) for item in cast("dict[str, Any]", value).values())
    read = reading(text)
    if isinstance(value, int | float):
        return float(value) in read.numbers
    return _has_text(str(value), read)


def rivalled(value: Any, text: str) -> bool:
    """Whether a text does not mention a value, but another one of the same form: another date, time or code."""
    if not isinstance(value, str) or mentioned(value, text):
        return False
    read = reading(text)
    if (moment := _moment(value)) is not None:
        day, minutes = moment
        other_day = day is not None and not read.has_day(day) and any(month for _, month, _ in read.days)
        return other_day or (minutes is not None and bool(read.times) and minutes not in read.times)
    form = _form(value)
    return (
        any(map(str.isdigit, form))
        and len(form) > _FEW_WORDS
        and any(_form(word.strip(".,:;!?()'\"")) == form for word in text.split())
    )


def _form(text: str) -> str:
    """A word with all digits and all letters alike."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", text))


def _has_text(value: str, read: Reading) -> bool:
    parts = tokens(value)
    if not parts:
        return value.strip() in read.text
    if contains(read.tokens, parts) or (any(map(str.isdigit, "".join(parts))) and "".join(parts) in read.words):
        return True
    if (moment := _moment(value)) is not None:
        day, minutes = moment
        return (day is None or read.has_day(day)) and (minutes is None or minutes in read.times)
    if _NUMBER.fullmatch(plain(value)):
        return float(plain(value)) in read.numbers
    if len(parts) <= _FEW_WORDS:
        return False
    codes = [part for part in parts if len(part) > _FEW_WORDS and any(map(str.isdigit, part))]
    return all(code in read.words for code in codes) and 2 * sum(part in read.words for part in parts) >= len(parts)


def contains(tokens: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether tokens contain a run of others."""
    size = len(parts)
    return any(tokens[start] == parts[0] and tokens[start : start + size] == parts for start in range(len(tokens)))


def _moment(value: str) -> tuple[date | None, int | None] | None:
    """A value that is a date, a time or both."""
    first, _, second = value.strip().replace("T", " ").partition(" ")
    day = _iso(first)
    clock = _CLOCK_VALUE.fullmatch((second if day is not None else first).strip())
    if day is None and (clock is None or second):
        return None
    if day is not None and second and clock is None:
        return None
    return day, None if clock is None else int(clock[1]) * 60 + int(clock[2])


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _ISO.fullmatch(text) else None
    except ValueError:
        return None


def _runs(count: int) -> Iterator[tuple[int, int]]:
    for start in range(count):
        for end in range(start + 2, min(start + 6, count + 1)):
            yield start, end


def _digits(match: re.Match[str]) -> str:
    return str(_WORDS[match[3]] if match[3] else _WORDS[match[1]] + _WORDS[match[2]])


def _days(text: str) -> Iterator[Day]:
    for match in _ISO.finditer(text):
        yield int(match[1]), int(match[2]), int(match[3])
    for pattern, day, month in ((_DAY_MONTH, 1, 2), (_MONTH_DAY, 2, 1)):
        for match in pattern.finditer(text):
            number = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(match[month][:3]))
            yield int(match[3]) if match[3] else None, number, int(match[day])
    for match in _NUMERIC_DAY.finditer(text):
        for month, day in ((match[1], match[2]), (match[2], match[1])):
            yield None, int(month), int(day)
    for match in _ORDINAL.finditer(text):
        yield None, None, int(match[1])


def _times(text: str) -> Iterator[int]:
    for match in _CLOCK.finditer(text):
        yield from _at(int(match[1]), int(match[2]), (match[3] or "")[:1])
    for match in _HOUR.finditer(text):
        yield from _at(int(match[1]), 0, match[2] or {"morning": "a"}.get(match[3] or "", "p" if match[3] else ""))
    for match in _PAST.finditer(text):
        past = 30 if match[1] == "half" else 15
        hour = int(match[3])
        yield from _at(hour, past, "") if match[2] == "past" else _at((hour - 1) % 24, 60 - past, "")
    for match in _TWO_WORDS.finditer(text):
        yield from _at(int(match[1]), int(match[2]), "")
    for match in re.finditer(r"\b(noon|midday|midnight)\b", text):
        yield 0 if match[1] == "midnight" else 720


def _at(hour: int, minute: int, half: str) -> Iterator[int]:
    if hour > 24 or minute > 59:
        return
    if half != "p":
        yield (hour % 12 if half == "a" else hour % 24) * 60 + minute
    if half != "a" and hour <= 12:
        yield (hour % 12 + 12) * 60 + minute

"""Values in a text in other forms than their own, and other values in their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, cast

from flowmind.trace.telling import tells

Kind = Literal["date", "time", "number", "code", "text"]

_SEPARATOR = re.compile(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}(?!\d))")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(\d{4}))?"
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC_DATE = re.compile(r"(?<!\d)(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?!\d)")
_DAY_FIRST = re.compile(rf"(?<!\w){_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}")
_MONTH_FIRST = re.compile(rf"(?<!\w){_MONTH}\s+(?:the\s+)?{_DAY}(?!\w){_YEAR}")
_CLOCK = re.compile(r"(?<![\w:.])(\d{1,2})(?:[:.h](\d{2}))?\s*([ap])\.?m\b|(?<![\w:.-])(\d{1,2})[:h](\d{2})(?![\w:])")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:\.\d+)?(?![\w:/]|[.,-]\d)")
_CODE = re.compile(r"[\w@+-]+(?:[./:#-][\w@+-]+)*")
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MARKS = re.compile(r"\*{1,3}|`+|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})


def unmarked(text: str) -> str:
    """A text without the marks of Markdown around words, and with plain quotes."""
    return _MARKS.sub("", text).translate(_QUOTES)


def plain(text: str) -> str:
    """A text for comparisons: casefolded, without thousands separators, with single spaces."""
    return " ".join(_SEPARATOR.sub("", text.casefold()).split())


def spoken(value: Any) -> str:
    """A value as a user says it: a text as it is, a number in digits, a list with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(spoken(part) for part in cast("list[Any]", value))
    return str(value)


def kind_of(value: Any) -> Kind:
    """The kind of a slot's value, by its form."""
    if isinstance(value, int | float):
        return "number"
    text = str(value)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return "date"
    if re.fullmatch(r"\d{1,2}:\d{2}", text):
        return "time"
    return "code" if re.fullmatch(r"\S*\d\S*", text) and len(text) >= 3 else "text"


def values_of_kind(text: str, kind: Kind) -> tuple[Any, ...]:
    """The different values of a kind in a text: dates as (year or 0, month, day), times as minutes, numbers."""
    text = plain(unmarked(text))
    values: Iterable[Any] = ()
    if kind == "date":
        values = _dates(text)
    elif kind == "time":
        values = _times(text)
    elif kind == "number":
        values = _numbers(text)
    elif kind == "code":
        values = (match.strip("-") for match in _CODE.findall(text) if any(letter.isdigit() for letter in match))
    return tuple(dict.fromkeys(values))


def mentions(text: str, value: Any) -> bool:
    """Whether a text tells a value, or has it in another form: `5 March`, `2:30 pm`, `two`."""
    if value is None or tells(text, value):
        return True
    kind = kind_of(value)
    if kind == "text" or kind == "code":
        return _bare(str(value)) in _bare(text) if len(_bare(str(value))) >= 4 else False
    return any(_same(value, other, kind) for other in values_of_kind(text, kind))


def contradicts(
    text: str,
    value: Any,
    words: Sequence[str],
    choices: Collection[str] = (),
    known: Collection[Any] = (),
    results: Collection[str] = (),
) -> bool:
    """Whether a text gives another value in the place of a slot's value.

    It does if it does not mention the value, but has another choice, another value of the same form, or another value
    after one of the slot's words.

    Args:
        text: A proposal.
        value: The right value.
        words: The label of the slot and other names of it.
        choices: The values that the slot can have, if they are few.
        known: The values of all slots of the goal. Values of the same form as the slot's that are among them are not
            the slot's.
        results: What tools returned. A code among them is the slot's only if one of its words stands before it.
    """
    if value is None:
        return False
    listed = [given for word in words for given in listed_values(text, word)]
    if listed and not any(mentions(given, value) for given in listed):
        return True
    if mentions(text, value):
        return False
    if any(tells(text, choice) for choice in choices if choice != value):
        return True
    kind = kind_of(value)
    if kind in ("date", "time"):
        mine = [other for other in known if other is not None and kind_of(other) == kind]
        return any(not any(_same(one, other, kind) for one in mine) for other in values_of_kind(text, kind))
    if kind == "code" and any(_form(str(value)) == _form(code) for code in _codes(text, {*map(str, known), *results})):
        return True
    return any(_labelled(text, word, kind) for word in words)


def listed_values(text: str, word: str) -> list[str]:
    """What stands behind a word and a colon: `Room: B-169.`."""
    begins = r"(?:^\s*|[.;|,:(•-]\s+|\b(?:the|your)\s+)"  # `Pickup date: …` is not listed as `date`
    form = rf"{begins}{re.escape(word)}\s*:\s*([^\s?].*?)\s*(?:[.;|](?=\s|$)|$)"
    return re.findall(form, unmarked(text), re.IGNORECASE | re.MULTILINE)


def _dates(text: str) -> Iterable[tuple[int, int, int]]:
    for year, month, day in _ISO_DATE.findall(text):
        yield int(year), int(month), int(day)
    for day, month, year in _NUMERIC_DATE.findall(text):
        yield int(year), int(month), int(day)
    for day, month, year in _DAY_FIRST.findall(text):
        yield int(year or 0), _MONTHS.index(month[:3]) + 1, int(day)
    for month, day, year in _MONTH_FIRST.findall(text):
        yield int(year or 0), _MONTHS.index(month[:3]) + 1, int(day)


def _times(text: str) -> Iterable[int]:
    for hour, minutes, half, hour_24, minutes_24 in _CLOCK.findall(text):
        if half:
            yield (int(hour) % 12 + (12 if half == "p" else 0)) * 60 + int(minutes or 0)
        else:
            yield int(hour_24) * 60 + int(minutes_24)
    if re.search(r"\b(noon|midday)\b", text):
        yield 12 * 60


def _numbers(text: str) -> Iterable[float]:
    yield from (float(number) for number in _NUMBER.findall(text))
    yield from (float(_COUNTED.index(word)) for word in re.findall(r"[a-z]+", text) if word in _COUNTED)


def _same(value: Any, other: Any, kind: Kind) -> bool:
    if kind == "date":
        year, month, day = (int(part) for part in str(value).split("-"))
        swapped = other[0] == year and other[1:] == (day, month)
        return swapped or (other[0] in (0, year) and other[1:] == (month, day))
    if kind == "time":
        hour, minutes = (int(part) for part in str(value).split(":"))
        return other in (hour * 60 + minutes, (hour * 60 + minutes) % 720)
    return kind == "number" and float(value) == other


def _bare(text: str) -> str:
    """Letters and digits only, so that `P-12 345` is `P12345`."""
    return re.sub(r"[\W_]+", "", unmarked(text).casefold())


def _form(code: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", code.casefold()))


def _codes(text: str, known: Iterable[str]) -> list[str]:
    """The codes of a text that are not known."""
    without = {value.casefold() for value in known}
    return [code for code in values_of_kind(text, "code") if code not in without]


def _labelled(text: str, word: str, kind: Kind) -> bool:
    """Whether a value of a kind follows a slot's word: `hospital: Northgate`, `a party of 5`."""
    text = unmarked(text)
    if kind == "number":
        noun = re.escape(word.split()[-1].rstrip("s"))
        before = rf"\b{noun}s?\b\W*(?:is\b|of\b|=|:)?\W*(?:\d|(?:{'|'.join(_COUNTED[1:])})\b)"
        after = rf"(?<![\w.:/-])\d+ (?:\w+ )?{noun}(?:s|es)?\b"
        return re.search(rf"{before}|{after}", plain(text)) is not None
    match = re.search(
        rf"\b{re.escape(word)}\s*(?::|=|\bis\b(?! (?:that|this|it|there)\b))\s*(\S.*)", text, re.IGNORECASE
    )
    return match is not None and not match[1].startswith("?")

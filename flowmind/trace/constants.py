"""The constants that a task's text names: quoted texts, and numbers in digits, in words or in percent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
SINGLE = {"half": 0.5, "quarter": 0.25, "once": 1, "twice": 2, "double": 2, "thrice": 3, "triple": 3, "a single": 1}
"""Words that stand for a number alone."""
NUMBER_WORDS = (*UNITS, *TENS, *SCALES)

_EVEN = str.maketrans({"İ": "I", "’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "\u00a0": " "})
_QUOTED = re.compile(r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){0,80})'(?!\w)|\"([^\"\n]{0,80})\"|`([^`\n]{1,80})`")
_UNREAD = re.compile(r"\b\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b|\b\d{1,2}:\d{2}\b|\b\d+\.\d+\.[\d.]*\d")
"""Dates, times of day, version numbers."""
_LISTED = re.compile(r"\[[^\]\n]{0,200}\]")
_DIGITS = re.compile(
    r"(?<![\w.])(?<![a-z]-)(?:(?<!\d)-)?(?:\d{1,3}(?:,\d{3}){1,5}(?!\d)|\d{1,18})(?:\.\d{1,18})?"
    r"(?=(?:st|nd|rd|th|kg|g|cm|mm|km|m|min|h|s|l|ml|x|%|€)?(?!\w))"
)
_PERCENT = re.compile(r" ?%|[ -]?per ?cent\b")
_BELOW_100 = rf"(?:(?:{'|'.join(TENS)})(?:[- ](?:{'|'.join(UNITS)})\b)?|(?:{'|'.join(UNITS)}))"
_WORDS = re.compile(
    rf"\b(?:(?:(?:half an?|an?|{_BELOW_100}) )?(?:{'|'.join(SCALES)})(?:(?: and)? {_BELOW_100})?"
    rf"|{_BELOW_100}|{'|'.join(SINGLE)})\b"
)


@dataclass(frozen=True)
class Constant:
    """A constant that a text names, and its place in the text."""

    value: int | float | str
    kind: Literal["quoted", "digits", "words"]
    start: int
    """In characters; of a quoted text including the quotation mark."""
    end: int
    share: float | None = None
    """Of a percentage, which the text names as well: 0.12 for 12 percent."""


@dataclass(frozen=True)
class Text:
    """A task's text and the constants in it."""

    text: str
    hidden: str
    """The text in lower case, of the same length: quoted texts, dates and times as `~`, curly signs as plain ones."""
    ends: tuple[int, ...]
    """The ends of its sentences, in characters."""
    constants: tuple[Constant, ...]
    """In the order of their places."""

    def names(self, value: Any) -> bool:
        """Whether the text names a number, or a text: quoted, or as whole words."""
        if isinstance(value, str):
            return self._quotes(value) or self._words(value.casefold())
        return isinstance(value, int | float) and not isinstance(value, bool) and value in self.numbers

    @cached_property
    def numbers(self) -> set[int | float]:
        """The numbers in it, percentages also as shares."""
        values = {constant.value for constant in self.constants if not isinstance(constant.value, str)}
        return values | {constant.share for constant in self.constants if constant.share is not None}

    def _quotes(self, value: str) -> bool:
        return value != "" and any(constant.value == value for constant in self.constants if constant.kind == "quoted")

    def _words(self, folded: str) -> bool:
        text = self.text.casefold()
        if folded not in text or not any(map(str.isalnum, folded)):
            return False
        return re.search(rf"(?<!\w){re.escape(folded)}(e?s)?(?!\w)", text) is not None


_SENTENCE_END = re.compile(r"[.!?][)'\"~]*\s+(?=[A-Z(\[~'\"])")


def read_text(text: str) -> Text:
    """Reads the constants of a text.

    Dates, times of day and version numbers are not read as numbers. Nothing inside a quoted text is.
    """
    even = text.translate(_EVEN)
    hidden = _UNREAD.sub(_masked, _QUOTED.sub(_masked, even))
    ends = tuple(match.end() for match in _SENTENCE_END.finditer(hidden))
    hidden = _LISTED.sub(lambda match: match[0].replace(",", ";"), hidden).lower()
    constants = [*_quoted(text, even), *_in_digits(hidden), *_in_words(hidden)]
    return Text(text, hidden, ends, tuple(sorted(constants, key=lambda constant: (constant.start, constant.end))))


def _masked(match: re.Match[str]) -> str:
    return "~" * len(match[0])


def _quoted(text: str, even: str) -> Iterator[Constant]:
    for match in _QUOTED.finditer(even):
        low, high = match.span(match.lastindex or 0)
        yield Constant(text[low:high], "quoted", *match.span())


def _in_digits(hidden: str) -> Iterator[Constant]:
    for match in _DIGITS.finditer(hidden):
        digits = match[0].replace(",", "")
        yield _counted(hidden, match, "digits", float(digits) if "." in digits else int(digits))


def _in_words(hidden: str) -> Iterator[Constant]:
    for match in _WORDS.finditer(hidden):
        yield _counted(hidden, match, "words", _number(match[0]))


def _counted(hidden: str, match: re.Match[str], kind: Literal["digits", "words"], value: int | float) -> Constant:
    percent = _PERCENT.match(hidden, match.end()) is not None
    return Constant(value, kind, *match.span(), round(value / 100, 12) if percent else None)


def _number(words: str) -> int | float:
    value = SINGLE.get(words, 0)
    for word in re.split("[- ]", words) if not value else ():
        value = (value or 1) * SCALES[word] if word in SCALES else value + (UNITS | TENS | SINGLE).get(word, 0)
    return int(value) if value == int(value) else value

"""Dates that are said in words, and days between dates."""

from __future__ import annotations

import datetime
import re
from datetime import timedelta
from functools import lru_cache

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEAR = {"today": 0, "now": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_UNITS = {"day": 1, "week": 7, "fortnight": 14}
_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_OFFSET = re.compile(
    r"(?:(in|next|past|last) )?(?:the (?:next|last|past) )?(\d{1,4}|[a-z]+) (day|week|fortnight|month|year)s?"
    r"(?: (ago|from now|from today|later|before|back))?"
)
_DAY = re.compile(rf"(?:(next|last|this|on|since|by|coming|past) )?({'|'.join(DAYS)})")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d.*)?")
_NUMERIC = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")


@lru_cache(maxsize=20_000)
def read_date(text: str, today: str, past: bool = False) -> str:
    """Read a date that is written or said in words.

    Reads "2023-12-05", "December 5", "5 Dec 2024", "12/05/2023" (the month first), "today", "tomorrow", "in 3 days",
    "2 weeks ago", "Friday", "next Friday" and "last Friday". A date without a year lies in the year of `today`. A
    weekday alone is the next such day after `today`; "next" means the one in the next week.

    Args:
        text: The date.
        today: The day from which it is counted, as YYYY-MM-DD.
        past: Whether a weekday alone is the last such day before `today`.

    Returns:
        The date, as YYYY-MM-DD.

    Raises:
        ValueError: If the text says no date.
    """
    said = " ".join(text.lower().replace(",", " ").split()).removeprefix("the ").rstrip(".")
    now = datetime.date.fromisoformat(today[:10])
    if match := _ISO.fullmatch(text.strip()):
        return datetime.date.fromisoformat(match[1]).isoformat()
    if said in _NEAR:
        return (now + timedelta(_NEAR[said])).isoformat()
    if match := _DAY.fullmatch(said):
        return _weekday(match[1] or "", DAYS.index(match[2]), now, past).isoformat()
    if match := _OFFSET.fullmatch(said):
        return _offset(match, now, past).isoformat()
    if (_MONTH.search(said) and re.search(r"\d", said)) or _NUMERIC.fullmatch(said):
        return _absolute(said, now).isoformat()
    raise ValueError(f"{text!r} says no date")


def _weekday(word: str, day: int, now: datetime.date, past: bool) -> datetime.date:
    if word in ("last", "past", "since") or (past and word in ("", "on")):
        return now - timedelta((now.weekday() - day - 1) % 7 + 1)
    if word == "next":
        return now + timedelta(7 - now.weekday() + day)
    return now + timedelta((day - now.weekday() - 1) % 7 + 1)


def _offset(match: re.Match[str], now: datetime.date, past: bool) -> datetime.date:
    lead, number, unit, tail = match.groups()
    if not number.isdigit() and number not in _SMALL:
        raise ValueError(f"{number!r} is no number")
    count = int(number) if number.isdigit() else _SMALL[number]
    back = tail in ("ago", "before", "back") or lead in ("past", "last") or (past and not tail and lead is None)
    count = -count if back else count
    if unit in _UNITS:
        return now + timedelta(count * _UNITS[unit])
    from dateutil.relativedelta import relativedelta

    return now + relativedelta(months=count if unit == "month" else 12 * count)


def _absolute(said: str, now: datetime.date) -> datetime.date:
    from dateutil import parser

    try:
        return parser.parse(said, default=parser.parse(now.replace(month=1, day=1).isoformat())).date()
    except (parser.ParserError, OverflowError) as error:
        raise ValueError(str(error)) from None


def add_days(date: str, days: int) -> str:
    """Move a date by a number of days.

    Args:
        date: The date, as YYYY-MM-DD; a time behind it is left out.
        days: The days to add; negative ones move back.

    Returns:
        The new date, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is none, or the result is outside of the calendar.
    """
    try:
        return (datetime.date.fromisoformat(date[:10]) + timedelta(days)).isoformat()
    except OverflowError as error:
        raise ValueError(str(error)) from None


def days_between(start: str, end: str) -> int:
    """Count the days from one date to another, negative if the second is earlier.

    Args:
        start: A date, as YYYY-MM-DD; a time behind it is left out.
        end: Another one.

    Returns:
        The number of days.

    Raises:
        ValueError: If one of them is no date.
    """
    return (datetime.date.fromisoformat(end[:10]) - datetime.date.fromisoformat(start[:10])).days


def weekday(date: str) -> str:
    """Name the day of the week of a date.

    Args:
        date: The date, as YYYY-MM-DD; a time behind it is left out.

    Returns:
        The name of the day, such as "Monday".

    Raises:
        ValueError: If it is no date.
    """
    return DAYS[datetime.date.fromisoformat(date[:10]).weekday()].capitalize()

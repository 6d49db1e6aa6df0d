"""Times of day and durations that are said in words."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_TIME = re.compile(r"(?:at )?(\d{1,2})(?:[:.h](\d{2}))?(?::\d{2})? ?(am|pm|a\.m\.|p\.m\.|o'clock|h|uhr)?")
_NAMED = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}
_MINUTES = {
    "second": 1 / 60,
    "sec": 1 / 60,
    "s": 1 / 60,
    "minute": 1,
    "min": 1,
    "m": 1,
    "hour": 60,
    "hr": 60,
    "h": 60,
    "day": 1440,
}
_COUNTS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "half": 0.5,
    "half a": 0.5,
    "half an": 0.5,
    "quarter": 0.25,
}
_PART = re.compile(
    r"(half an|half a|quarter of an|[\d.]+|[a-z]+)[ -]*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?)\b"
    r"( and a half| and a quarter)?"
)


def read_time(text: str, workday: bool = False) -> str:
    """Read a time of day.

    Reads "12", "11:30", "3 pm", "9.15am", "noon" and "midnight".

    Args:
        text: The time.
        workday: Whether an hour from 1 to 6 without am or pm is in the afternoon.

    Returns:
        The time, as HH:MM.

    Raises:
        ValueError: If the text says no time.
    """
    said = " ".join(text.lower().split())
    if said in _NAMED:
        return _NAMED[said]
    match = _TIME.fullmatch(said)
    if match is None:
        raise ValueError(f"{text!r} says no time of day")
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").replace(".", "")
    if half in ("am", "pm"):
        if not 1 <= hour <= 12:
            raise ValueError(f"{text!r} says no time of day")
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif workday and 1 <= hour <= 6 and len(match[1]) == 1:
        hour += 12
    if hour > 23 or minute > 59:
        raise ValueError(f"{text!r} says no time of day")
    return f"{hour:02}:{minute:02}"


def read_duration(text: str) -> int | float:
    """Read a duration.

    Reads "1.5 hours", "half an hour", "an hour and a half", "2h 30min", "45-minute" and "90 minutes".

    Args:
        text: The duration.

    Returns:
        The minutes.

    Raises:
        ValueError: If the text says no duration.
    """
    said = " ".join(text.lower().replace(",", " ").split())
    total, rest = 0.0, said
    for match in _PART.finditer(said):
        unit = match[2].rstrip("s") or "s"
        total += (_count(match[1], text) + (0.5 if "half" in (match[3] or "") else 0.25 if match[3] else 0)) * _MINUTES[
            unit
        ]
        rest = rest.replace(match[0], "", 1)
    if rest.replace("and", "").strip(" -") or not total:
        raise ValueError(f"{text!r} says no duration")
    minutes = round(total, 6)
    return int(minutes) if minutes == int(minutes) else minutes


def _count(word: str, text: str) -> float:
    if word in _COUNTS:
        return _COUNTS[word]
    if word == "quarter of an":
        return 0.25
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{text!r} says no duration") from None


def add_minutes(time: str, minutes: float) -> str:
    """Move a time by a number of minutes.

    Args:
        time: A time as HH:MM, or a date and time as YYYY-MM-DD HH:MM:SS; the result is written alike.
        minutes: The minutes to add; negative ones move back.

    Returns:
        The new time; a time without a date wraps around at midnight.

    Raises:
        ValueError: If it is no time.
    """
    for form in ("%H:%M", "%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"):
        try:
            return (datetime.strptime(time, form) + timedelta(minutes=minutes)).strftime(form)
        except ValueError:
            continue
        except OverflowError as error:
            raise ValueError(str(error)) from None
    raise ValueError(f"{time!r} is no time")

"""Values said in words as the search sees them: calls of the pure tools of `tools_registry.words`.

Texts that say a time, a duration, an amount or an identifier at every visit are features. Dates are looked for where
dates are wanted: then the day from which they are counted follows from the values, if no variable has it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from flowmind.build.induction.bits import is_number
from flowmind.build.induction.features import ATOM, computed, enclosed, features, scope_key
from flowmind.build.induction.reading import words_of
from flowmind.build.induction.scopes import Candidate, Context, Feature, PureCall, Scope
from tools_registry import words
from tools_registry.specs.values import CaseError

TOOL = 7.0
"""The choice of a tool that reads words."""
TODAY = 12.0
"""A day from which dates are counted, which nothing names."""
NAMED_TODAY = 2.0
"""The choice of the variable that has this day."""
STEP = 4.0
"""A number of days that is added to a date, beside the number."""
MOST_TEXTS = 40
LONGEST = 80
"""Characters of a text that may say a value."""
AROUND = 40
"""Days around a value in which the day is looked for from which it is counted."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_READERS: tuple[tuple[str, str, tuple[bool, ...]], ...] = (
    ("read_time", "time", ()), ("read_time", "time", (True,)), ("read_duration", "minutes", ()),
    ("read_amount", "amount", ()), ("extract_id", "id", ()),
)  # fmt: skip
"""Tools, the nouns of their results, and their second arguments."""


@lru_cache(maxsize=100_000)
def _value(tool: str, *args: Any) -> Any:
    """The result of a tool of words; None if it has none."""
    try:
        return words.value_of(tool, dict(zip(words.specs()[tool].names, args, strict=False)))
    except CaseError:
        return None


def spoken(context: Context, scopes: Sequence[Scope], hint: str = "") -> list[Feature]:
    """Times, durations, amounts and identifiers that texts say at every visit."""
    memo = ("spoken", scope_key(scopes), hint)
    if memo not in context.memo:
        found: list[Feature] = []
        for feature in _texts(context, scopes, hint):
            known = [list(feature.values)]
            for tool, noun, options in _READERS:
                values = [_value(tool, text, *options) for text in feature.values]
                if None not in values and values not in known:
                    known.append(values)
                    more = tuple(zip(words.specs()[tool].names[1:], map(repr, options), strict=False))
                    call = PureCall(tool, (("text", feature.text), *more), _named(noun, feature.text))
                    bits = feature.bits + TOOL + len(options)
                    found.append(computed(bits, call.output, values)._replace(before=(call,)))
        context.effort += len(found) * len(scopes)
        context.memo[memo] = sorted(found, key=lambda feature: feature.bits)
    return context.memo[memo]


def _texts(context: Context, scopes: Sequence[Scope], hint: str) -> list[Feature]:
    found: list[Feature] = []
    for feature in features(context, scopes, hint):
        if all(isinstance(value, str) and 0 < len(value) <= LONGEST for value in feature.values):
            found.append(feature)
    return found[:MOST_TEXTS]


def _named(noun: str, text: str) -> str:
    """The name of a variable for what a text says: `time_of_start` for `event['start']`."""
    parts = re.findall(r"\w+", text.replace("-", " minus "))
    return f"{noun}_of_{'_'.join(dict.fromkeys(parts))}"[:60].strip("_")


# Dates.


def dates(context: Context, scopes: Sequence[Scope], values: Sequence[str], hint: str) -> list[Candidate]:
    """The dates YYYY-MM-DD that texts say, or that lie some days from another date, from a day that is found."""
    if not all(_ISO.fullmatch(value) for value in values):
        return []
    found = list(_said(context, scopes, values, hint))
    found += _counted(context, scopes, values, hint)
    return found


def _said(context: Context, scopes: Sequence[Scope], values: Sequence[str], hint: str) -> Iterator[Candidate]:
    for feature in _texts(context, scopes, hint):
        if not all(_speaks_of_a_date(text) for text in feature.values):
            continue
        plain: list[str] = []
        for past in (False, True):
            for bits, day, days in (*_days(context, scopes), *_solved(feature, values, past)):
                told = _told(feature.values, days, past)
                if told == list(values) and day not in plain:
                    plain.append(day)
                    call = _reading(feature, day, past)
                    yield Candidate(feature.bits + TOOL + bits + past, call.output, (call,))
                    _remember(context, day)
                    break


def _told(texts: Sequence[str], days: Sequence[str], past: bool) -> list[Any]:
    return [_value("read_date", text, today, past) for text, today in zip(texts, days, strict=True)]


def _reading(feature: Feature, day: str, past: bool) -> PureCall:
    args = (("text", feature.text), ("today", day), *((("past", "True"),) if past else ()))
    return PureCall("read_date", args, _named("date", f"{feature.text} {'past' if past else ''}"))


@lru_cache(maxsize=50_000)
def _speaks_of_a_date(text: str) -> bool:
    return _value("read_date", text, "2024-01-01") is not None


def _days(context: Context, scopes: Sequence[Scope]) -> list[tuple[float, str, list[str]]]:
    """The days that may be today: days that were found, and dates of variables, each with its bits and values."""
    found: list[tuple[float, str, list[str]]] = [
        (NAMED_TODAY + 1, repr(day), [day] * len(scopes)) for day in context.memo.get("today", ())
    ]
    for feature in features(context, scopes):
        is_day = all(isinstance(value, str) and _ISO.match(value) for value in feature.values)
        if is_day and {"today", "now", "current"} & set(words_of(feature.text)):
            found.append((NAMED_TODAY + feature.bits / 2, feature.text, [value[:10] for value in feature.values]))
    return found


def _remember(context: Context, day: str) -> None:
    """Makes a day that is a constant cheaper elsewhere: a workflow has one today."""
    if day[0] in "'\"":
        context.memo.setdefault("today", {})[day[1:-1]] = True


def _solved(feature: Feature, values: Sequence[str], past: bool) -> Iterator[tuple[float, str, list[str]]]:
    """The day, as a constant, from which a text says the values."""
    for today in (f"{values[0][:4]}-01-01", *_around(values[0])):
        if _value("read_date", feature.values[0], today, past) == values[0]:
            days = [today] * len(values)
            if _told(feature.values, days, past) == list(values):
                yield TODAY, repr(today), days
                return


def _around(day: str) -> list[str]:
    center = datetime.date.fromisoformat(day)
    near = sorted(range(-AROUND, AROUND + 1), key=abs)
    return [(center + datetime.timedelta(offset)).isoformat() for offset in near]


def _counted(context: Context, scopes: Sequence[Scope], values: Sequence[str], hint: str) -> Iterator[Candidate]:
    """Dates some days before or after another one, or after a day that is found."""
    counts = list(_counts(context, scopes, hint))
    for feature, before in _bases(context, scopes, values[0][:4], hint):
        gaps = [_value("days_between", own, value) for own, value in zip(feature.values, values, strict=True)]
        if None in gaps:
            continue
        if len(set(gaps)) == 1 and len(set(values)) > 1 and 0 < abs(gaps[0]) <= 400:
            yield _moved(feature, before, repr(gaps[0]), feature.bits + STEP + TOOL + 4)
        for bits, text, numbers in counts:
            if numbers == gaps and len(set(gaps)) > 1:
                yield _moved(feature, before, text, feature.bits + TOOL + bits)
    for bits, text, numbers in counts:
        days = {_value("add_days", value, -number) for value, number in zip(values, numbers, strict=True)}
        if len(days) == 1 and len(set(numbers)) > 1 and None not in days:
            day = next(iter(days))
            price = NAMED_TODAY if day in context.memo.get("today", ()) else TODAY
            yield _moved(computed(0.0, repr(day), ()), (), text, price + TOOL + bits)
            _remember(context, repr(day))


def _bases(
    context: Context, scopes: Sequence[Scope], year: str, hint: str
) -> Iterator[tuple[Feature, tuple[PureCall, ...]]]:
    for feature in _texts(context, scopes, hint):
        if all(_ISO.match(value) for value in feature.values):
            yield feature, feature.before
        elif all(_speaks_of_a_date(value) for value in feature.values):
            first = f"{year}-01-01"
            for bits, day, days in (*_days(context, scopes), (TODAY, repr(first), [first] * len(scopes)))[:2]:
                told = _told(feature.values, days, False)
                if None not in told:
                    call = _reading(feature, day, False)
                    yield computed(feature.bits + TOOL + bits, call.output, told), (call,)


def _counts(context: Context, scopes: Sequence[Scope], hint: str) -> Iterator[tuple[float, str, list[int]]]:
    """Numbers of days, and of weeks, forward and back."""
    for feature in (*features(context, scopes, hint), *integers(context, scopes, hint)):
        if all(is_number(value) and value == int(value) and abs(value) < 4_000 for value in feature.values):
            numbers = [int(value) for value in feature.values]
            text = enclosed(feature.text, ATOM)
            yield feature.bits + 1, text, numbers
            yield feature.bits + 1, f"-{text}", [-number for number in numbers]
            yield feature.bits + 4, f"-7 * {text}", [-7 * number for number in numbers]
            yield feature.bits + 4, f"7 * {text}", [7 * number for number in numbers]


def integers(context: Context, scopes: Sequence[Scope], hint: str = "") -> list[Feature]:
    """The numbers that texts consist of."""
    memo = ("integers", scope_key(scopes), hint)
    if memo not in context.memo:
        context.memo[memo] = [
            computed(feature.bits + 3, f"int({feature.text})", [int(value) for value in feature.values])
            for feature in _texts(context, scopes, hint)
            if all(re.fullmatch(r"-?\d{1,15}", value) for value in feature.values)
        ]
    return context.memo[memo]


def _moved(base: Feature, before: tuple[PureCall, ...], days: str, bits: float) -> Candidate:
    name = days.replace("int", "") if base.text[0] in "'\"" else f"{base.text} moved {days}"
    call = PureCall("add_days", (("date", base.text), ("days", days)), _named("date", name))
    return Candidate(bits, call.output, (*before, call))

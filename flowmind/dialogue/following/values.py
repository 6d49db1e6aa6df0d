"""Values in a sentence: dates, times, numbers, codes, e-mail addresses, names and quoted texts, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Literal, NamedTuple

Kind = Literal["email", "date", "month", "time", "file", "code", "number", "quoted", "name"]


class Span(NamedTuple):
    """A value in a text."""

    start: int
    end: int
    kind: Kind
    value: Any
    """A date as `YYYY-MM-DD`, a time as `HH:MM`, a number as int or float, else the text."""
    text: str
    """As it stands in the text."""


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MONTHS = _list("january february march april may june july august september october november december")
_DAYS = _list("monday tuesday wednesday thursday friday saturday sunday")
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_DAY = "|".join(_DAYS)
_UNITS = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")
_WORDS: dict[str, int] = {
    **{word: number for number, word in enumerate(_UNITS)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    **{
        f"{ten}{joint}{unit}": 10 * number + digit
        for number, ten in enumerate(_TENS, 2)
        for digit, unit in enumerate(_UNITS[:10])
        if digit
        for joint in ("-", " ")
    },
    "a dozen": 12,
    "half a dozen": 6,
    "a couple": 2,
}
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_SLASHED = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+(\d{{4}})\b)?", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b({_MONTH})\b\.?\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}})\b)?", re.IGNORECASE
)
_YEAR_MONTH = re.compile(r"(?<![\w-])(\d{4})-(\d{2})(?![\w-])")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b\.?,?\s+(\d{{4}})\b", re.IGNORECASE)
_NEAR_DAY = re.compile(
    rf"\b(?:(the day after tomorrow)|(tomorrow)|(today|tonight)|(?:(next|this|coming)\s+)?({_DAY})s?)\b", re.IGNORECASE
)
_ORDINAL = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b([01]?\d|2[0-3])[:.h]([0-5]\d)\s*(?:(a|p)\.?m\b\.?)?", re.IGNORECASE)
_HALF_DAY = re.compile(
    rf"\b(\d{{1,2}}|{_WORD})\s*(?:o'?clock\s*)?(?:in the\s+)?(a\.?m|p\.?m|morning|afternoon|evening)\b\.?",
    re.IGNORECASE,
)
_O_CLOCK = re.compile(rf"\b(\d{{1,2}}|{_WORD})\s*o'?clock\b", re.IGNORECASE)
_PAST = re.compile(rf"\b(half|quarter)\s+(past|to)\s+(\d{{1,2}}|{_WORD})\b(?:\s*(a|p)\.?m\b\.?)?", re.IGNORECASE)
_NOON = re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w#@])#?(?=[\w/-]*\d)(?=[\w/-]*[A-Za-z_/-])[A-Za-z0-9][\w/-]*[\w](?![\w@])")
_PHONE = re.compile(r"(?<![\w-])\+?\d{2,}(?:[ /-]\d{2,}){1,5}(?![\w-])")
_FILE = re.compile(r"(?<![\w./-])[\w-]+(?:\.[A-Za-z]\w{1,3})+(?!\w)")
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d+(?:[,']\d{3})*(?:\.\d+)?(?![\w@])")
_SPELLED = re.compile(rf"\b({_WORD})\b", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`")
_CAPITAL = r"(?:[A-Z][\w'’.&-]*[\w]|[A-Z]\b\.?)"
_JOINT = r"\s+(?:of(?: the)?|and|&|de(?: la)?|du|la|le|van(?: der)?|von|der)"
_NAME = re.compile(rf"(?:\d+\s+)?{_CAPITAL}(?:(?:{_JOINT})?\s+{_CAPITAL}|\s+\d+[A-Za-z]?\b)*")
_ABBREVIATIONS = _list("dr mr mrs ms st prof no ave jr sr vs e.g i.e p.m a.m")
_NO_NAMES = frozenset(
    _list(
        "i i'm i'd i'll i've my me mine we we're we'd our us you your he she his her it it's its they their the "
        "a an this that that's these those there there's here what what's which who whose where where's when why "
        "how if as and or but so then also because before after until between under with about at on in from to "
        "of by for just only hi hello hey ah oh um uh hmm good dear please thanks thank yes yeah yep no nope not "
        "ok okay sure well actually sorry maybe perhaps alright fine great perfect right correct certainly "
        "absolutely wait instead rather unfortunately now today tomorrow morning afternoon evening course "
        "everything nothing something could can may might will would should shall do does did is are was were be "
        "am have has had let let's make put change book take give send get set use call find look name date time "
        "number"
    )
)
"""Words that begin with a capital at the beginning of a sentence and are no part of a name."""


def sentences(text: str) -> list[str]:
    """The sentences of a text; a point in an abbreviation, a number or an address ends none."""
    parts: list[str] = []
    start = 0
    for match in re.finditer(r"[.!?;…]+[\"'”)]*(?=\s|$)|\n+", text):
        before = text[start : match.start()].rsplit(None, 1)[-1:] or [""]
        word = before[0].lower().lstrip("(\"'")
        abbreviates = match.group().startswith(".") and (word in _ABBREVIATIONS or re.fullmatch(r"[a-z]", word))
        if abbreviates and match.end() < len(text):
            continue
        parts.append(text[start : match.end()])
        start = match.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip(" .!?;\n")]


@lru_cache(maxsize=4096)
def spans(text: str, today: date | None = None) -> tuple[Span, ...]:
    """The values in a text by place; of values that overlap, the one of the more specific kind.

    Args:
        text: A sentence.
        today: The day by which `tomorrow`, `Friday` and a date without a year are understood. Without it such a day is
            given as it stands.
    """
    taken: list[Span] = []
    for reader in (_emails, _quotes, _dates, _months, _times, _files, _phones, _codes, _numbers):
        for span in reader(text, today):
            if not any(span.start < other.end and other.start < span.end for other in taken):
                taken.append(span)
    return tuple(sorted(taken))


@lru_cache(maxsize=4096)
def names(text: str) -> tuple[Span, ...]:
    """The capitalized runs of a sentence, such as `Museum of Modern Art`; one word at its beginning may be no name."""
    found: list[Span] = []
    for match in _NAME.finditer(text):
        run = match.group().rstrip(".")
        whole = match.end() >= len(text.rstrip(" .!?"))
        if re.match(r"The [A-Z]", run) and (match.start() > 0 or whole):
            found.append(Span(match.start(), match.start() + len(run), "name", run, run))
            continue
        while (first := re.match(r"([A-Z][\w'’]*),?\s+", run)) and first[1].lower().replace("’", "'") in _NO_NAMES:
            run = run[first.end() :]
            run = re.sub(r"^(?:(?:of|the|and|for|in|at|on)\s+)+", "", run)
        while (last := re.search(r"\s([A-Z][\w'’]*)$", run)) and last[1].lower().replace("’", "'") in _NO_NAMES:
            run = run[: last.start()]
        if run and run.lower().replace("’", "'") not in _NO_NAMES:
            start = match.end() - len(match.group()) + match.group().index(run)
            found.append(Span(start, start + len(run), "name", run, run))
    return tuple(found)


def _emails(text: str, today: date | None) -> Iterator[Span]:
    for match in _EMAIL.finditer(text):
        yield Span(match.start(), match.end(), "email", match.group(), match.group())


def _quotes(text: str, today: date | None) -> Iterator[Span]:
    for match in _QUOTED.finditer(text):
        value = next(group for group in match.groups() if group).strip()
        yield Span(match.start(), match.end(), "quoted", value, value)


def _dates(text: str, today: date | None) -> Iterator[Span]:
    for match in _ISO.finditer(text):
        yield from _day(match, int(match[1]), int(match[2]), int(match[3]))
    for match in _SLASHED.finditer(text):
        yield Span(match.start(), match.end(), "date", match.group(), match.group())
    for pattern, day, month in ((_DAY_MONTH, 1, 2), (_MONTH_DAY, 2, 1)):
        for match in pattern.finditer(text):
            number = _month(match[month])
            year = int(match[3]) if match[3] else _year(today, number, int(match[day]))
            if year is None:
                yield Span(match.start(), match.end(), "date", match.group(), match.group())
            else:
                yield from _day(match, year, number, int(match[day]))
    for match in _NEAR_DAY.finditer(text):
        yield Span(match.start(), match.end(), "date", _near(match, today), match.group())
    for match in _ORDINAL.finditer(text):
        value = match.group().partition(" ")[2]
        if today is not None and 1 <= int(match[1]) <= 28:
            month = today.month + (int(match[1]) < today.day)
            value = date(today.year + (month > 12), (month - 1) % 12 + 1, int(match[1])).isoformat()
        yield Span(match.start(), match.end(), "date", value, match.group())


def _months(text: str, today: date | None) -> Iterator[Span]:
    for match in _YEAR_MONTH.finditer(text):
        if 1 <= int(match[2]) <= 12:
            yield Span(match.start(), match.end(), "month", match.group(), match.group())
    for match in _MONTH_YEAR.finditer(text):
        yield Span(match.start(), match.end(), "month", f"{match[2]}-{_month(match[1]):02}", match.group())


def _month(word: str) -> int:
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(word.lower()[:3]))


def _day(match: re.Match[str], year: int, month: int, day: int) -> Iterator[Span]:
    try:
        yield Span(match.start(), match.end(), "date", date(year, month, day).isoformat(), match.group())
    except ValueError:
        return


def _year(today: date | None, month: int, day: int) -> int | None:
    """The year of the next such day; None if today is not known."""
    return None if today is None else today.year + ((month, day) < (today.month, today.day))


def _near(match: re.Match[str], today: date | None) -> str:
    if today is None:
        return match[5] or match.group()
    if match[5]:
        ahead = (_DAYS.index(match[5].lower()) - today.weekday()) % 7 or 7
        return (today + timedelta(days=ahead)).isoformat()
    return (today + timedelta(days=2 if match[1] else 1 if match[2] else 0)).isoformat()


def _times(text: str, today: date | None) -> Iterator[Span]:
    for match in _CLOCK.finditer(text):
        if ":" in match.group() or match[3] or "h" in match.group().lower():
            yield _at(match, int(match[1]), int(match[2]), match[3])
    for match in _PAST.finditer(text):
        minutes = {"half": 30, "quarter": 15}[match[1].lower()]
        hour = number_of(match[3])
        if match[2].lower() == "to":
            hour, minutes = hour - 1, 60 - minutes
        yield _at(match, hour, minutes, match[4])
    for match in _HALF_DAY.finditer(text):
        early = match[2].lower().replace(".", "") in ("am", "morning")
        yield _at(match, number_of(match[1]), 0, "a" if early else "p")
    for match in _O_CLOCK.finditer(text):
        yield _at(match, number_of(match[1]), 0, None)
    for match in _NOON.finditer(text):
        yield _at(match, 0 if match[1].lower() == "midnight" else 12, 0, None)


def _at(match: re.Match[str], hour: int, minute: int, half: str | None) -> Span:
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return Span(match.start(), match.end(), "time", f"{hour % 24:02}:{minute:02}", match.group().strip())


def _codes(text: str, today: date | None) -> Iterator[Span]:
    for match in _CODE.finditer(text):
        value = match.group().removeprefix("#")
        if not re.fullmatch(r"\d+(?:st|nd|rd|th)", value, re.IGNORECASE):
            yield Span(match.start(), match.end(), "code", value, value)


def _files(text: str, today: date | None) -> Iterator[Span]:
    for match in _FILE.finditer(text):
        yield Span(match.start(), match.end(), "file", match.group(), match.group())


def _phones(text: str, today: date | None) -> Iterator[Span]:
    for match in _PHONE.finditer(text):
        if sum(map(str.isdigit, match.group())) >= 7:
            yield Span(match.start(), match.end(), "code", match.group(), match.group())


def _numbers(text: str, today: date | None) -> Iterator[Span]:
    for match in _NUMBER.finditer(text):
        bare = re.sub(r"[,'+]", "", match.group())
        yield Span(match.start(), match.end(), "number", float(bare) if "." in bare else int(bare), match.group())
    for match in _SPELLED.finditer(text):
        if not re.match(r"one\b", match.group(), re.IGNORECASE) or re.match(
            r"one (?!of|more|moment|second|thing|that|which)[a-z]+", text[match.start() :], re.IGNORECASE
        ):
            yield Span(match.start(), match.end(), "number", number_of(match.group()), match.group())


def number_of(word: str) -> int:
    """The number that digits or words such as `twenty-one` name."""
    word = re.sub(r"\s+", " ", word.lower())
    return int(word) if word.isdigit() else _WORDS.get(word, 0)


_SUFFIX = re.compile(r"(?:ings?|ies|es|s|ed|'s)$")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without the endings of plurals and verbs."""
    word = word.lower().replace("’", "'")
    cut = _SUFFIX.sub("", word)
    cut = cut if len(cut) >= 3 else word
    return cut[:-1] if len(cut) > 3 and cut[-1] in "ye" else cut


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """The stems of the words of a text, in order; camel case and underscores separate words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-/]", " ", text)
    return tuple(stem(word) for word in re.findall(r"[^\W_]+(?:['’][a-z]+)?", spaced))


def occurs(value: str, text: str) -> re.Match[str] | None:
    """The place of a value in a text, as whole words; spaces and hyphens are the same, a plural ending may follow."""
    words: Sequence[str] = [re.escape(word) for word in re.split(r"[\s\-_.]+", value.strip()) if word]
    if not words:
        return None
    joined = r"[\s\-_.]*".join(words)
    return re.search(rf"(?<!\w){joined}(?:s|es)?(?!\w)", text, re.IGNORECASE)

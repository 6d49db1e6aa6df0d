"""A slot as an agent knows it: how it is named, how its values look, and which texts can be values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

from flowmind.dialogue.following.values import Span, number_of, stem, stems

SlotKind = Literal["choice", "boolean", "integer", "number", "date", "month", "time", "email", "code", "name", "text"]
STOP = frozenset(
    stems(
        "a an the of as in on at by for and or to with that this which who whose is are was be it its such from into "
        "one has have not if any e g yyyy mm dd hh user customer caller value"
    )
)
"""Words that name no slot."""
WEAK = frozenset(stems("name number day date time kind type code id full amount count new"))
"""Words that name many slots."""
_ALIKE = tuple(
    tuple(stem(word) for word in line.split())
    for line in """
departure depart origin from leave start pickup begin
arrival arrive destination to until till end dropoff going
checkin check-in arrive arrival from
checkout check-out leave until till
guest people person party attendee participant traveller passenger seat adult
price budget cost pay spend credit amount
email e-mail mail address
phone telephone mobile call
night stay
birth born birthday
doctor physician dr
""".strip().splitlines()
)
"""Words that people use for one another when they speak of a slot."""
_KINDS: tuple[tuple[SlotKind, str], ...] = (
    ("date", r"yyyy-mm-dd"),
    ("month", r"yyyy-mm\b"),
    ("time", r"hh:mm"),
    ("email", r"\be-?mail\b"),
    ("date", r"\b(?:date|birthday)\b|\bday\b(?! of the week)"),
    ("time", r"\b(?:time|hour)\b"),
    ("code", r"\bfile\b"),
    ("name", r"\b(?:street|address)\b"),
    ("code", r"\b(?:number|code|id|identifier|reference|pin|plate|digits|zip|serial|phone|telephone|iban|sku)\b"),
    ("name", r"\b(?:\w*name|who|city|town|person|street|station|airport)\b"),
)
"""Words of a description, and the kind of value that they tell; the first that fits counts."""
_TAIL = re.compile(r"\s(?:as|such as|that|which|e\.g\.|for|in|per|at|from|to|on|with)\s|[,(;:]")
"""Where the part of a description begins that does not name the slot."""


class Form(NamedTuple):
    """The form of a code."""

    letters: str
    digits: int
    """The number of digits."""
    exact: bool
    """Whether all codes have these letters; else they are those of an example."""


@dataclass(frozen=True)
class Slot:
    """A value that the user has."""

    name: str
    schema: Mapping[str, Any]

    @cached_property
    def description(self) -> str:
        """The noun phrase of the schema, or the name in words."""
        text = str(self.schema.get("description") or self.name.replace("_", " ")).strip().rstrip(".")
        return text[:1].lower() + text[1:] if text[1:2].islower() else text

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The JSON types of its values."""
        given: Any = self.schema.get("type", "string")
        return (given,) if isinstance(given, str) else tuple(cast("list[str]", given))

    @property
    def nullable(self) -> bool:
        """Whether the user may have no value."""
        return "null" in self.types

    @cached_property
    def members(self) -> tuple[Any, ...]:
        """The values of an enumeration."""
        return tuple(value for value in self.schema.get("enum", ()) if value is not None)

    @cached_property
    def kind(self) -> SlotKind:
        """How its values look."""
        if self.members:
            return "boolean" if {str(value).lower() for value in self.members} == {"yes", "no"} else "choice"
        typed: tuple[SlotKind, ...] = ("boolean", "integer", "number")
        for index, name in enumerate(typed):
            if name in self.types:
                return typed[index]
        if self.schema.get("format") in ("date", "time", "email"):
            return cast(SlotKind, self.schema["format"])
        text = f"{self.name.replace('_', ' ')}: {self.description}".lower()
        fitting: list[SlotKind] = [kind for kind, pattern in _KINDS if re.search(pattern, text)]
        return fitting[0] if fitting else "text"

    @cached_property
    def form(self) -> Form | None:
        """The form of a code, if the description tells it: `P and five digits`, `such as K-204`."""
        worded = re.search(r"\b([A-Z]{1,4}-?) and (\w+) digits", self.description)
        if worded is not None:
            return Form(worded[1], number_of(worded[2]), exact=True)
        bare = re.search(r"(?:^|[\s,])(\w+) digits\b", self.description)
        if bare is not None and number_of(bare[1]):
            return Form("", number_of(bare[1]), exact=True)
        example = re.search(r"\b(?:such as|like|e\.g\.) ([A-Z]{1,5}-?)(\d+)\b", self.description)
        return Form(example[1], len(example[2]), exact=False) if example is not None else None

    @cached_property
    def cues(self) -> dict[str, float]:
        """The stems of the words that name it, with weights."""
        head, *tail = _TAIL.split(self.description)
        weights = dict.fromkeys(stems(" ".join(tail)), 0.6)
        weights |= dict.fromkeys((*stems(head), *stems(self.name)), 1.0)
        for alike in _ALIKE:
            if any(weights.get(word) == 1.0 for word in alike):
                weights |= {word: 0.5 for word in alike if word not in weights}
        return {
            word: weight * (0.5 if word in WEAK else 1.0)
            for word, weight in weights.items()
            if word not in STOP or weight == 0.5
        }

    @property
    def digits(self) -> bool:
        """Whether its dates or times are written with digits, as `YYYY-MM-DD` and `HH:MM`."""
        return bool(re.search(r"yyyy|hh|\d{4}-\d{2}|\d{2}:\d{2}", self.description.lower())) or "format" in self.schema

    def fits(self, text: str) -> float | None:
        """How far a text has the form of the slot's codes; None if it cannot be one."""
        if self.form is None:
            return 0.0
        match = re.fullmatch(rf"{re.escape(self.form.letters)}(\d*)", text, re.IGNORECASE)
        if match is not None:
            return None if len(match[1]) < self.form.digits else 2.0
        return None if self.form.exact else -1.5


class NoValue:
    """No value; None is one."""


NO_VALUE = NoValue()


def typed(slot: Slot, span: Span) -> Any:
    """The value of a span for a slot of a type, or `NO_VALUE` if it cannot be one."""
    match slot.kind, span.kind:
        case ("date", "date") | ("time", "time"):
            return span.value if slot.digits else span.text
        case ("email", "email") | ("month", "month") | ("number", "number"):
            return span.value
        case ("integer", "number") if isinstance(span.value, int):
            return span.value
        case ("integer", "code") if match := re.match(r"(\d+)-?[a-z]+$", span.text):
            return int(match[1])
        case ("code", "file"):
            return span.value if re.search(r"\bfile\b", slot.description.lower()) else NO_VALUE
        case ("code", "code" | "quoted"):
            return NO_VALUE if slot.fits(span.text) is None else span.value
        case ("code", "number") if re.fullmatch(r"\+?\d+", span.text) and slot.fits(span.text) is not None:
            return span.text
        case _:
            return NO_VALUE


def near(word: str, words: set[str]) -> bool:
    """Whether a stem is one of the stems, the beginning of one, or a slip of the pen of one."""
    if word in words:
        return True
    return len(word) > 3 and any(
        len(other) > 3 and (other.startswith(word) or _one_off(word, other)) for other in words
    )


def _one_off(word: str, other: str) -> bool:
    """Whether two words differ in one letter: another one, one more, one fewer, or two that changed places."""
    if abs(len(word) - len(other)) > 1 or word[0] != other[0]:
        return False
    pairs = enumerate(zip(word, other, strict=False))
    at = next((place for place, (one, two) in pairs if one != two), min(len(word), len(other)))
    rest, tail = word[at:], other[at:]
    return rest[1:] in (tail, tail[1:]) or rest == tail[1:] or (rest[1::-1] == tail[:2] and rest[2:] == tail[2:])

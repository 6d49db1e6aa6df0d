"""The words by which a slot is recognized in a question, reduced to stems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowmind.dialogue.users.renderings import kind_of, unmarked
from flowmind.trace.scenario import CONFIRMED, Scenario, SlotWords

_ALIKE = {
    "number": ("id", "identifier", "identification", "no", "nr", "code", "quantity"),
    "phone": ("telephone", "mobile", "cell", "cellphone"),
    "e-mail": ("email", "mail"),
    "date": ("day",),
    "people": ("person", "guest", "attendee", "participant", "traveller", "traveler", "passenger"),
    "kind": ("type", "sort", "category"),
    "amount": ("sum",),
    "begin": ("start", "starting"),
    "end": ("ending", "finish"),
    "center": ("centre",),
    "leave": ("left",),
}
_SYNONYMS = {word: meant for meant, words in _ALIKE.items() for word in words}
_UNCHANGED = frozenset({"where", "whose", "there", "these", "those", "during", "evening", "morning"})
_MARKED_ENDS = ("ation", "ing", "ure", "al", "ed", "e")
_DETAILS = re.compile(r"[,;(:]|\s(?:as|such as|that|which|whose|e\.g\.|in the form)\s", re.IGNORECASE)


def stem(word: str) -> str:
    """A word without plural, genitive and common endings; synonyms give one stem: `arrival` and `arrive`, `id`."""
    word = re.sub(r"'s$|s'$|'$", "", word.casefold())
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _SYNONYMS.get(word, word)
    if word in _UNCHANGED:
        return word
    return next((word[: -len(end)] for end in _MARKED_ENDS if word.endswith(end) and len(word) - len(end) >= 4), word)


def stems(text: str) -> list[str]:
    """The stems of a text and its commas, in order."""
    return [stem(word) for word in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*|,", unmarked(text))]


def _stemmed(*words: str) -> frozenset[str]:
    return frozenset(stem(word) for line in words for word in line.split())


SMALL = _stemmed(", a an the of to for in on at as and or your our my this that by with is it you be would do")
"""Words that say nothing of a slot."""
GENERIC = _stemmed("number name date time address kind amount phone people")
"""Words of many labels; alone they name a slot only if nothing else does."""
_PLACES = _stemmed(
    "city place address location destination town area part station airport branch office room site venue"
)
_PERSONS = _stemmed("name person recipient receiver contact patient employee doctor colleague signer owner host")
_SPANS = _stemmed("duration length nights hours weeks months minutes years period stay")
_SUMS = _stemmed("amount price budget cost money fee payment salary value")


@dataclass(frozen=True)
class Cues:
    """The words by which a slot is recognized."""

    labels: tuple[tuple[str, ...], ...]
    """The label, the slot's name and its description, without small words."""
    spotted: tuple[tuple[str, ...], ...]
    own: frozenset[str]
    """Words of the label and the name that no other slot's label has."""
    questions: tuple[str, ...]
    """Question words that ask for values of its kind."""
    kind: str
    choices: tuple[str, ...] = ()
    value: Any = None


def cues_of(scenario: Scenario, values: Mapping[str, Any]) -> dict[str, Cues]:
    """The cues of all slots of a scenario, with a user's values."""
    schemas: dict[str, Any] = scenario.workflow.inputs.get("properties", {})
    names = {slot: words for slot, words in scenario.slots.items() if slot != CONFIRMED}
    labels = {slot: frozenset(stems(words.label)) - SMALL for slot, words in names.items()}
    cues: dict[str, Cues] = {}
    for slot, words in names.items():
        others = frozenset[str]().union(*(own for other, own in labels.items() if other != slot))
        schema = schemas.get(slot, {})
        kind = _kind(schema, values.get(slot), words)
        described = _DETAILS.split(str(schema.get("description", "")))[0]
        phrases = [_content(words.label), _content(slot.replace("_", " ")), _content(described)]
        cues[slot] = Cues(
            labels=tuple(dict.fromkeys((phrases[0], *(more for more in phrases[1:] if not set(more) <= GENERIC)))),
            spotted=tuple(tuple(stems(phrase)) for phrase in words.spotted),
            own=labels[slot] - others,
            questions=_questions(kind, frozenset(word for phrase in phrases for word in phrase), words.label),
            kind=kind,
            choices=tuple(str(choice) for choice in schema.get("enum", ()) if choice is not None),
            value=values.get(slot),
        )
    return cues


def _content(text: str) -> tuple[str, ...]:
    return tuple(word for word in stems(text) if word not in SMALL)


def _kind(schema: Mapping[str, Any], value: Any, words: SlotWords) -> str:
    if value is not None and not isinstance(value, bool):
        return kind_of(value)
    if schema.get("type") == "integer":
        return "number"
    own, described = set(stems(words.label)), str(schema.get("description", "")).casefold()
    if "date" in own or "yyyy" in described:
        return "date"
    return "time" if "time" in own or "hh:mm" in described else "text"


def _questions(kind: str, words: frozenset[str], label: str) -> tuple[str, ...]:
    questions: list[str] = []
    if kind == "date":
        questions += ["when", "what date", "which date", "until when"]
    elif kind == "time":
        questions += ["when", "what time", "which time", "until when"]
    elif words & _SUMS:
        questions += ["how much"]
    elif kind == "number" or "number of" in label.casefold():
        questions += ["how many"]
    questions += ["where", "what city", "which city", "what place"] * bool(words & _PLACES)
    questions += ["who", "whom"] * bool(words & _PERSONS)
    questions += ["how long"] * bool(words & _SPANS)
    return tuple(questions)

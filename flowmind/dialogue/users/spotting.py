"""What an agent's text asks of a user: slots, consent, or something else. It is read from the text alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.dialogue.users.question_forms import (
    asks,
    asks_consent,
    asks_for_aim,
    asks_for_more,
    asks_patience,
    offers_to_look_up,
)
from flowmind.dialogue.users.renderings import contradicts, listed_values, mentions, plain, unmarked, values_of_kind
from flowmind.dialogue.users.slot_cues import GENERIC, Cues, cues_of, stems
from flowmind.trace.scenario import CONFIRMED, Scenario
from flowmind.trace.telling import tells


@dataclass(frozen=True)
class Heard:
    """What a text of an agent asks."""

    asked: tuple[str, ...] = ()
    """The slots that it asks for, in the order of the text."""
    consent: bool = False
    """Whether it asks to go ahead, or whether something is right."""
    offer: bool = False
    """Whether it asks to look something up."""
    more: bool = False
    """Whether it asks if there is anything else."""
    aim: bool = False
    """Whether it asks what the user wants at all."""
    waiting: bool = False
    """Whether it asks for patience."""
    question: bool = False
    """Whether it asks anything at all."""


@dataclass(frozen=True)
class _Part:
    """A sentence, or an item of a list."""

    text: str
    asks: bool
    """Whether it asks for something, itself or by the line above its list."""
    lead: str = ""
    """The line above its list."""


@dataclass(frozen=True)
class _Match:
    slot: str
    words: frozenset[int]
    """The positions of the words in the sentence."""
    strength: int = 2
    """2: a label or another name of the slot, of several words. 1: one of one word. 0: a word of the label."""


_BULLET = re.compile(r"^\s*(?:[-*•–◦]\s+|\(?\d{1,2}[.)]\s+|\(?[a-z][.)]\s+|#{1,6}\s+)")
_ENDS = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|(?<=\?)\s+|\s+[—–]\s+|;\s+")
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|no|nr|st|dr|mr|mrs|ms|approx|vs|a\.m|p\.m)\.\s", re.IGNORECASE)
_HINT = re.compile(
    r"[(\[][^)\]]*[)\]]|,?\s*\b(?:e\.g\.?|for example|for instance|such as|in the (?:form|format))\b[^?;]*",
    re.IGNORECASE,
)
_WILL_DO = r"(?:i|we)(?:'ll| will| can)\b(?! (?:\w+ )?(?:need|require|ask|have to))"
_PURPOSE = re.compile(
    r"^\W*(?:in order )?to \w+[^,?:]*,"
    rf"|\b(?:so (?:that )?(?:i|we) can|before (?:i|we)|(?:and|then) {_WILL_DO})\b[^,?]*"
    rf"|,\s*{_WILL_DO}[^,?]*",
    re.IGNORECASE,
)
"""What a value is wanted for: `To book your room, …`."""
_CONFIRMS = re.compile(
    r"\b(?:confirm|verify|check|repeat)\b (?:for me )?(?:the|your|what|which|when|where|how)\b", re.IGNORECASE
)
"""Asks for a value, if it names a slot: `Could you confirm your travel date?`."""
_REFERS = re.compile(r"\b(?:it|that|them|those|these|one|ones|option|prefer)\b", re.IGNORECASE)
_FEW_WORDS = 4
_OPEN = r"\W*$|\?|_|-|please|not |to be |unknown|missing|which|what|when|the |your "
"""What stands after a label and a colon if the value is still to come."""
_CLAUSES = re.compile(
    r"(?:,\s*|\s+)(?:and|or)\s+(?=(?:also\s+)?(?:(?:from|until|at|in|on|for|to)\s+)?(?:what|when|where|who|whom|how|which|until)\b)",
    re.IGNORECASE,
)
_QUESTION_WORDS = frozenset({"what", "which", "when", "where", "who", "whom", "whose", "why", "how"})
_JOINTS = frozenset({",", "and", "or", "plus", "also", "well"})
"""Words between two things that are asked for."""
_ARTICLES = frozenset({"the", "a", "an", "of", ","})
_BEFORE_GENERIC = frozenset({"what", "which", "your", "the", "a", "many", "much"})
"""`number` alone names a slot after these words only."""


def hear(text: str, scenario: Scenario, values: Mapping[str, Any], given: Collection[str] = ()) -> Heard:
    """What a text asks of the user.

    Args:
        text: The agent's text.
        scenario: The words of the slots.
        values: The user's values. A slot whose value stands in a sentence is repeated there, not asked for, unless the
            sentence offers several values.
        given: The slots that the user has given already. A question that several slots fit asks for another one.
    """
    cues = cues_of(scenario, values)
    parts = list(_parts(text))
    asked: dict[str, None] = {}
    consent = offer = more = aim = False
    before = ""
    for part in parts:
        if part.asks and asks_for_more(part.text):
            more = True
        elif part.asks and (asks_for_aim(part.text) or _names_aim(part.text, scenario)):
            named = _so_called(part.text, cues)
            asked.update(dict.fromkeys(named))
            aim = aim or not named
        elif part.asks:
            wants_consent = asks_consent(part.text) or asks_consent(part.lead)
            slots = _asked(part, cues, before, wants_consent, given)
            asked.update(dict.fromkeys(slots))
            consent = consent or (not slots and (wants_consent or _is_check(part.text, cues)))
            offer = offer or offers_to_look_up(part.text)
        before = part.text
    return Heard(
        asked=tuple(asked),
        consent=consent,
        offer=offer and not consent,
        more=more,
        aim=aim,
        waiting=asks_patience(unmarked(text)),
        question=any(part.asks for part in parts),
    )


def contradicted(
    text: str, slot: str, scenario: Scenario, values: Mapping[str, Any], results: Collection[str] = ()
) -> bool:
    """Whether a proposal has another value for a slot than the user; `results` are values that tools returned."""
    schema: dict[str, Any] = scenario.workflow.inputs.get("properties", {}).get(slot, {})
    words = (scenario.slots[slot].label, slot.replace("_", " "))
    known = [value for other, value in values.items() if other != CONFIRMED and value is not None]
    return contradicts(text, values.get(slot), words, schema.get("enum", ()), known, results)


def parroted(text: str, slot: str, scenario: Scenario, value: Any, said: Sequence[str]) -> bool:
    """Whether a proposal has words of the user around a value, as if they belonged to it: `Room: I sit in B-169.`.

    Args:
        text: The proposal.
        slot: The slot.
        scenario: Of the goal.
        value: The user's value.
        said: The user's texts.
    """
    words = (scenario.slots[slot].label, slot.replace("_", " "))
    listed = [given for word in words for given in listed_values(text, word)]
    return any(plain(given) != plain(str(value)) and tells(given, value) and _is_in(given, said) for given in listed)


def _is_in(part: str, texts: Sequence[str]) -> bool:
    return any(part in text for text in texts)


def _so_called(sentence: str, cues: Mapping[str, Cues]) -> list[str]:
    """The slots for which a scenario says that such a sentence asks for them: `What would you like?` for a dish."""
    tokens = stems(sentence)
    phrases = {slot: [phrase for phrase in cue.spotted if len(phrase) > 1] for slot, cue in cues.items()}
    return [slot for slot in cues if any(any(_sequences(phrase, tokens)) for phrase in phrases[slot])]


def _names_aim(sentence: str, scenario: Scenario) -> bool:
    """Whether a sentence asks if the user wants what the scenario is called."""
    return sentence.rstrip().endswith("?") and tells(sentence, scenario.title) and not asks_consent(sentence)


def _parts(text: str) -> Iterator[_Part]:
    """The sentences of a text; those under a line that ends with a colon belong to it."""
    lead = ""
    for line in _SHORT.sub(lambda match: match[0].replace(". ", "․ "), unmarked(text)).splitlines():
        bare = _BULLET.sub("", line).strip(" |")
        if not bare:
            continue
        item = bare != line.strip() or (lead != "" and len(bare.split()) <= 8 and not bare.endswith("."))
        if not item:
            lead = ""
        sentences = [sentence for sentence in _ENDS.split(bare) if sentence and sentence.strip()]
        for sentence in sentences:
            itself = asks(sentence)
            yield _Part(text=sentence, asks=itself or (lead != "" and item), lead=lead)
        if sentences[-1:] and sentences[-1].rstrip().endswith(":") and asks(sentences[-1]):
            lead = sentences[-1]


def _asked(part: _Part, cues: Mapping[str, Cues], before: str, consent: bool, given: Collection[str]) -> list[str]:
    """The slots that a sentence asks for, in its order.

    Args:
        part: The sentence.
        cues: Of each slot.
        before: The sentence before it. It says what `it`, or `which one`, is.
        consent: Whether the sentence has the form of a request for consent. It then asks only for a slot that it names.
        given: The slots that a question word alone asks for last.
    """
    text = _HINT.sub(" ", _PURPOSE.sub(" ", part.text))
    slots: dict[str, None] = {}
    for clause in _CLAUSES.split(text):
        tokens = stems(clause)
        named = [match for slot, cue in cues.items() for match in _named(slot, cue, tokens, clause)]
        matches = [match for match in named if match.strength == 2]
        if (matches and not consent) or (consent and _CONFIRMS.search(clause)):
            asked = [match for match in named if not consent and _wanted(min(match.words), tokens)]
            matches += [match for match in named if match.strength == 1] + asked
        elif not consent:
            short = part.lead != "" or len(tokens) <= _FEW_WORDS
            offers = offers_to_look_up(part.text)
            matches = [
                match
                for match in named
                if short or _wanted(min(match.words), tokens) or (match.strength and not offers)
            ]
            matches = matches or _by_question(tokens, clause, cues, given)
        matches = [match for match in matches if not any(_gives_way(match, other, tokens) for other in matches)]
        slots.update((match.slot, None) for match in sorted(matches, key=lambda match: min(match.words)))
    if not slots and not consent:
        slots.update((slot, None) for slot in _offered(text, cues) or _meant(text, before, cues))
    return [slot for slot in slots if not _repeated(part.text, text, cues[slot])]


def _named(slot: str, cue: Cues, tokens: Sequence[str], text: str) -> Iterator[_Match]:
    for label in cue.labels:
        for words in _windows(label, tokens):
            yield _Match(slot, words, min(len(label), 2))
    for phrase in cue.spotted:
        if len(phrase) == 1 and phrase[0] in _QUESTION_WORDS:
            if _begins_clause(phrase[0], text):
                yield _Match(slot, frozenset({tokens.index(phrase[0])}), 1)
        else:
            for words in _sequences(phrase, tokens):
                yield _Match(slot, words, min(len(phrase), 2))
    for place, token in enumerate(tokens):
        if token in cue.own and (token not in GENERIC or place == 0 or tokens[place - 1] in _BEFORE_GENERIC):
            yield _Match(slot, frozenset({place}), 0)


def _gives_way(match: _Match, other: _Match, tokens: Sequence[str]) -> bool:
    """Whether a match is a part of another, or only the question to it: `when` in `When do you leave?`."""
    if match.words < other.words:
        return True
    place, there = min(match.words), min(other.words)
    apart = _JOINTS & {*tokens[min(place, there) : max(place, there)]}
    context = match.strength < other.strength or (there < place and match.strength == other.strength)
    if match.slot != other.slot and context and not apart and tokens[there] not in _QUESTION_WORDS:
        return True  # `the phone number of the guest` is no number of guests
    word = tokens[place] if len(match.words) == 1 else ""
    if word in GENERIC and not match.strength:
        return other.strength > 0 and not apart
    return word in _QUESTION_WORDS and match.slot != other.slot and place < there < place + 8


def _wanted(place: int, tokens: Sequence[str]) -> bool:
    """Whether the word at a place is what is asked for: `your room`, `which hotel`."""
    return any(token in ("your", "what", "which", "whose", "any") for token in tokens[max(place - 2, 0) : place])


def _by_question(tokens: Sequence[str], text: str, cues: Mapping[str, Cues], given: Collection[str]) -> list[_Match]:
    """The slot that a question word alone asks for: `when` asks for a date."""
    matches = [
        (slot in given, -len(words), _Match(slot, words, 0))
        for slot, cue in cues.items()
        for phrase in cue.questions
        if _begins_clause(phrase.split()[0], text)
        for words in _sequences(tuple(stems(phrase)), tokens)
    ]
    return [min(matches, key=lambda entry: entry[:2])[2]] if matches else []


def _offered(text: str, cues: Mapping[str, Cues]) -> list[str]:
    """The slot among whose values a sentence lets the user choose."""
    return [slot for slot, cue in cues.items() if _offers(text, cue)][:1]


def _offers(text: str, cue: Cues) -> bool:
    if cue.choices:
        return sum(tells(text, choice) for choice in cue.choices) >= 2
    return cue.kind in ("date", "time") and len(values_of_kind(text, "date" if cue.kind == "date" else "time")) >= 2


def _meant(text: str, before: str, cues: Mapping[str, Cues]) -> list[str]:
    """The slots of the sentence before, if a sentence speaks of it: `Could you send it again?`."""
    if not _REFERS.search(text):
        return []
    tokens = stems(before)
    named = [slot for slot, cue in cues.items() if any(match.strength for match in _named(slot, cue, tokens, before))]
    return _offered(before, cues) or [slot for slot in named if not _repeated(before, before, cues[slot])]


def _repeated(sentence: str, text: str, cue: Cues) -> bool:
    """Whether a sentence has the value of a slot, or another one in its place, and no choice of values."""
    if _offers(sentence, cue):
        return False
    if cue.value is not None and mentions(text, cue.value):
        return True
    before, colon, after = plain(unmarked(text)).partition(":")
    labelled = (
        bool(colon) and set(cue.labels[0]) <= set(stems(before)) and len(before.split()) <= len(cue.labels[0]) + 2
    )
    return labelled and re.match(_OPEN, after.strip()) is None


def _windows(label: Sequence[str], tokens: Sequence[str]) -> Iterator[frozenset[int]]:
    """The places where all words of a label stand near one another, in any order."""
    wanted = set(label)
    for start, token in enumerate(tokens):
        if token not in wanted:
            continue
        places: dict[str, int] = {}
        for place in range(start, min(start + len(label) + 2, len(tokens))):
            if tokens[place] in wanted:
                places.setdefault(tokens[place], place)
        if len(places) == len(wanted):
            yield frozenset(places.values())


def _sequences(phrase: Sequence[str], tokens: Sequence[str]) -> Iterator[frozenset[int]]:
    """The places where the words of a phrase follow one another, with at most one other word between two."""
    for start in range(len(tokens)):
        places: list[int] = []
        for word in phrase:
            after = places[-1] + 1 if places else start
            near = (after, after + 1) if places and not _ARTICLES & {*tokens[after : after + 1]} else (after,)
            places += [place for place in near if tokens[place : place + 1] == [word]][:1]
        if phrase and len(places) == len(phrase):
            yield frozenset(places)


def _begins_clause(word: str, text: str) -> bool:
    return (
        re.search(
            rf"(?:^|[,;:(.]\s*|\b(?:and|or|know|me|us|ask|please|of|ok|okay|so)\s+){word}\b", text.casefold().strip()
        )
        is not None
    )


def _is_check(sentence: str, cues: Mapping[str, Cues]) -> bool:
    """Whether a sentence asks if a value of the user is right: `So two guests?`."""
    values = [cue.value for cue in cues.values() if cue.value is not None]
    asks_for_value = any(word in _QUESTION_WORDS for word in stems(sentence))
    return (
        sentence.rstrip(" )\"'").endswith("?")
        and not asks_for_value
        and any(mentions(sentence, value) for value in values)
    )

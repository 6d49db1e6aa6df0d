"""What a user's text says about slots: values by type, corrections, and values that the user does not have.

Rules, no model: the same text gets the same reading. Each pair of a slot and a value in a sentence is rated by the form
of the value and by the words around it; the best pairs count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from flowmind.dialogue.following.phrases import (
    bare,
    breaks_rules,
    corrects,
    has_none,
    is_digression,
    is_partial,
    is_question,
    negated,
    repaired,
    yes_or_no,
)
from flowmind.dialogue.following.slots import NO_VALUE, STOP, WEAK, Slot, near, typed
from flowmind.dialogue.following.values import Span, names, occurs, sentences, spans, stem, stems

_THRESHOLD = 4.0
"""The least rating of a pair that counts."""
_ASKED = 3.0
"""What it speaks for a slot that it was asked for."""
_CUE = 3.2
"""What a word that names a slot and stands before a value speaks for the pair."""
_PLACE = re.compile(
    r"\b(?:city|town|place|destination|country|village|airport|station|departure|origin)\b", re.IGNORECASE
)
_ORIGIN = re.compile(r"\b(?:departure|depart|origin|leave|start)\b", re.IGNORECASE)
_TOWARDS = re.compile(r"\b(?:to|in|into|for|near|around|visit|visiting|at)\s+$", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|in|leaving)\s+$", re.IGNORECASE)
_PAIR = re.compile(r"(?:^|[,;]\s*)([A-Za-z][\w '’/()-]{0,50}?)\s*[:=]\s+((?:(?![,;]\s*[A-Za-z][\w '-]{0,40}[:=]\s).)+)")
_IS = re.compile(r"\b(?:is|are|was|would be|should be|will be|to be|=|to)\s+", re.IGNORECASE)
_ON = re.compile(r"\b(?:on|for|by|from|until|till|this|next)\s+(?:(?:this|next|coming)\s+)?$", re.IGNORECASE)
_CODE = re.compile(r"(?<!\S)[A-Z]{1,5}-?\d{3,}(?!\S)")
"""A code is no name."""
_BACK = re.compile(r"\b(?:back to|return to|about|change|correct)\b[^\d]*$", re.IGNORECASE)
"""A sentence without a number that comes back to something."""
_SETS = re.compile(r"\b(?:change|set|switch|move|correct|update)\b", re.IGNORECASE)


class Understood(NamedTuple):
    """What a text says about slots."""

    values: dict[str, Any]
    """By slot; None if the user has no value."""
    rejected: dict[str, Any]
    """Values that the user takes back, by slot, without a new one."""
    invalid: str = ""
    """A text given as the value of the slot that was asked for, which cannot be one."""


class _Pair(NamedTuple):
    """A value that a slot may have."""

    score: float
    slot: str
    span: Span
    value: Any


def understand(
    text: str,
    slots: Mapping[str, Mapping[str, Any]],
    asked: Sequence[str] = (),
    known: Mapping[str, Any] | None = None,
    today: date | None = None,
    offered: Iterable[str] = (),
) -> Understood:
    """Reads the values of slots in a user's text.

    Args:
        text: The text.
        slots: The JSON Schemas of the slots, by name.
        asked: The slots that the text answers a question for.
        known: The values so far; a correction is understood by them.
        today: The day of the dialogue, for `tomorrow` and for dates without a year.
        offered: Texts that the user can choose from, such as those in results.
    """
    reader = _Reader([Slot(name, schema) for name, schema in slots.items()], asked, known or {}, today, offered)
    return reader.read(text)


class _Reader:
    def __init__(
        self,
        slots: Sequence[Slot],
        asked: Sequence[str],
        known: Mapping[str, Any],
        today: date | None,
        offered: Iterable[str],
    ) -> None:
        self.slots = {slot.name: slot for slot in slots}
        self.asked = [name for name in asked if name in self.slots]
        self.known = known
        self.today = today
        self.offered = tuple(offered)
        self.focus: frozenset[str] = frozenset()
        """The words of a sentence that names a slot to come back to."""
        self.spent: set[str] = set()
        """The sentences that gave a value."""
        self.values: dict[str, Any] = {}
        self.rejected: dict[str, Any] = {}
        shared: dict[str, float] = {}
        for slot in slots:
            for word, weight in slot.cues.items():
                shared[word] = shared.get(word, 0) + weight
        self.cues = {
            slot.name: {word: weight / max(1.0, shared[word]) ** 0.5 for word, weight in slot.cues.items()}
            for slot in slots
        }
        """The words that name each slot; a word counts less if it names several."""

    def read(self, text: str) -> Understood:
        """The reading of a text."""
        pieces = [repaired(sentence) for sentence in sentences(text) if not is_partial(sentence)]
        for sentence in pieces:
            for number, part in enumerate(sentence):
                if not self.labelled(part):
                    self.sentence(part, number > 0 or corrects(part) or bool(self.focus))
                self.focus = frozenset(stems(part)) if _BACK.search(part) else frozenset()
        invalid = ""
        if len(self.asked) == 1 and self.asked[0] not in self.values:
            slot = self.slots[self.asked[0]]
            self.answer(slot, [part for sentence in pieces for part in reversed(sentence)])
            invalid = "" if self.values or not pieces else self.misfit(slot, pieces[0][0] if pieces[0] else "")
        rejected = {name: value for name, value in self.rejected.items() if name not in self.values}
        return Understood(self.values, rejected, invalid)

    def misfit(self, slot: Slot, part: str) -> str:
        """A short text that is meant as a value, but is none."""
        spoken = bare(part)
        meant = spoken and len(spoken.split()) <= 4 and not is_digression(part) and not has_none(part)
        return spoken if meant and slot.kind != "boolean" else ""

    def labelled(self, part: str) -> bool:
        """Reads `label: value` pairs; whether there were any."""
        read = False
        for label, text in _PAIR.findall(part):
            slot, text = self.named(label), text.strip(" .!")
            alone = self.slots[self.asked[0]] if len(self.asked) == 1 and len(label.split()) <= 3 else None
            value = self.fit(slot, text, whole=True) if slot else self.fit(alone, text) if alone else NO_VALUE
            slot = slot or alone
            if slot is not None and value is not NO_VALUE:
                self.values[slot.name] = value
                read = True
        return read

    def named(self, label: str) -> Slot | None:
        """The slot that a label names best."""
        words = {word for word in stems(label) if word not in STOP}
        rated = [
            (sum(weight for word, weight in cues.items() if word in words) - 0.1 * len(cues), name)
            for name, cues in self.cues.items()
            if any(word in words for word in cues)
        ]
        return self.slots[max(rated)[1]] if rated else None

    def sentence(self, part: str, again: bool) -> None:
        """Takes the values of a sentence, the best pairs first.

        Args:
            part: The sentence.
            again: Whether it may replace what an earlier sentence of the text gave to a slot that was asked for.
        """
        pairs = [pair for slot in self.slots.values() for pair in self.pairs(slot, part)]
        used: list[Span] = []
        given: set[str] = set()
        for pair in sorted(pairs, key=lambda pair: (-pair.score, pair.span.start)):
            taken = any(pair.span.start < span.end and span.start < pair.span.end for span in used)
            if pair.score < _THRESHOLD or taken or pair.slot in given:
                continue
            used.append(pair.span)
            if negated(part, pair.span.start):
                if self.known.get(pair.slot) == pair.value or pair.slot in self.asked:
                    self.rejected[pair.slot] = pair.value
                continue
            given.add(pair.slot)
            self.spent.add(part)
            if again or pair.slot not in self.values or pair.slot not in self.asked:
                self.values[pair.slot] = pair.value

    def pairs(self, slot: Slot, part: str) -> list[_Pair]:
        """The values that a sentence may give to a slot."""
        rated: list[_Pair] = []
        asked = slot.name in self.asked
        for span, value, form in self.candidates(slot, part):
            score = form + self.cue(slot, part, span) + self.correction(slot, part)
            score += (_ASKED + 1.5 * (span.text == part.strip(" .!"))) * asked + (
                0.0 if slot.name in self.known else 0.3
            )
            same = [name for name, known in self.known.items() if known == value and name in self.slots]
            if same and slot.name not in same and slot.kind != "choice" and span.text != part.strip(" .!"):
                score -= 2.5
            rated.append(_Pair(score, slot.name, span, value))
        return rated

    def correction(self, slot: Slot, part: str) -> float:
        """What it speaks for a slot that its value is taken back in the sentence."""
        value = self.known.get(slot.name)
        if isinstance(value, str) and (place := occurs(value, part)) and negated(part, place.start()):
            return 3.2
        alike = [other.name for other in self.slots.values() if other.kind == slot.kind]
        known = [name for name in alike if name in self.known]
        return 2.0 if corrects(part, strictly=len(alike) > 1) and known == [slot.name] else 0.0

    def candidates(self, slot: Slot, part: str) -> list[tuple[Span, Any, float]]:
        """The parts of a sentence that can be values of a slot: place, value, and what their form speaks for it."""
        if slot.kind == "choice":
            return self.members(slot, part)
        if slot.kind in ("name", "text"):
            return self.texts(slot, part)
        counts = ("integer", "number")
        kinds = counts if slot.kind in counts else (slot.kind,)
        alone = sum(other.kind in kinds for other in self.slots.values()) == 1
        rated: list[tuple[Span, Any, float]] = []
        stated = self.stated(slot, part)
        fitting = [(span, typed(slot, span)) for span in spans(part, self.today)]
        fitting = [(span, value) for span, value in fitting if value is not NO_VALUE]
        named = len(fitting) == 1 and self.names_only(slot, part)
        for span, value in fitting:
            form = 1.5 + 0.4 * alone if slot.kind in counts else 3.0 + 1.2 * alone
            if slot.kind == "code":
                form += (slot.fits(span.text) or 0.0) - (1.0 if span.kind == "number" else 0.0)
            if slot.kind == "date" and not re.search(r"\d", span.text) and not _ON.search(part[: span.start]):
                form -= 1.5
            said = named or (stated is not None and stated.start <= span.start < stated.end)
            rated.append((span, value, form + 2.5 * said))
        return rated

    def names_only(self, slot: Slot, part: str) -> bool:
        """Whether a sentence, or the one before it without a value, names this slot and no other one better."""
        words = set(stems(part)) | self.focus
        named = {
            name: sum(weight for word, weight in cues.items() if word in words) for name, cues in self.cues.items()
        }
        return named[slot.name] >= max(1.0, *(0.1 + rate for name, rate in named.items() if name != slot.name), 0.0)

    def members(self, slot: Slot, part: str) -> list[tuple[Span, Any, float]]:
        """The members of an enumeration that a sentence names, whole or by a word that sets them apart."""
        rated: list[tuple[Span, Any, float]] = []
        for member in slot.members:
            if place := occurs(str(member), part):
                span = Span(place.start(), place.end(), "name", member, place.group())
                rated.append((span, member, 2.5 if self.names_another(slot, str(member)) else 4.5))
        for span in spans(part, self.today):
            for member in slot.members if span.kind in ("time", "date", "number") else ():
                read = spans(str(member), self.today)
                if [(one.start, one.end, one.value) for one in read] == [(0, len(str(member)), span.value)]:
                    rated.append((span, member, 3.5))
        whole = [row for row in rated if not any(_inside(row[0], other[0]) for other in rated)]
        return whole or self.hinted(slot, part)

    def names_another(self, slot: Slot, text: str) -> bool:
        """Whether all words of a text name another slot."""
        words = stems(text)
        return any(name != slot.name and all(word in cues for word in words) for name, cues in self.cues.items())

    def hinted(self, slot: Slot, part: str) -> list[tuple[Span, Any, float]]:
        """The members of which a sentence has a word that no other member has."""
        words = [(member, set(stems(str(member)))) for member in slot.members]
        rated: list[tuple[Span, Any, float]] = []
        for match in re.finditer(r"[^\W_]+", part):
            word = stem(match.group())
            fitting = [(member, word in own) for member, own in words if near(word, own)]
            if len(fitting) == 1 and word not in STOP:
                member, exact = fitting[0]
                span = Span(match.start(), match.end(), "name", member, match.group())
                rated.append((span, member, 2.0 if exact else 1.2))
        return rated

    def texts(self, slot: Slot, part: str) -> list[tuple[Span, Any, float]]:
        """Names, quoted texts, offered texts, and what stands behind `the <slot> is`."""
        rated: list[tuple[Span, Any, float]] = []
        for text in self.offered:
            if len(text) > 2 and (place := occurs(text, part)):
                rated.append((Span(place.start(), place.end(), "name", text, text), text, 2.5))
        span = self.stated(slot, part)
        if span is not None and (slot.name in self.asked or slot.kind == "text" or re.search(r"[A-Z\d]", span.text)):
            rated.append((span, span.value, 4.0))
        rated += [(span, span.value, 3.0) for span in spans(part, self.today) if span.kind == "quoted"]
        if slot.kind != "name":
            return rated
        towards = _FROM if _ORIGIN.search(slot.description) else _TOWARDS
        for span in names(part):
            if _CODE.fullmatch(span.text):
                continue
            form = 0.0 if span.start == 0 and " " not in span.text else 1.0
            if any(word in self.cues[slot.name] and word not in WEAK for word in stems(span.text)):
                form += 3.2
            if _PLACE.search(slot.description) and towards.search(part[: span.start]):
                form += 2.8
            rated.append((span, span.value, form))
        return rated

    def stated(self, slot: Slot, part: str) -> Span | None:
        """What stands behind `the <slot> is`, or `change the <slot> to`."""
        for match in _IS.finditer(part):
            if match.group().strip() == "to" and not _SETS.search(part[: match.start()]):
                continue
            before = part[part.rfind(",", 0, match.start()) + 1 : match.start()].split()[-4:]
            words = {stem(re.sub(r"\W+$", "", word)) for word in before}
            named = {name: sum(cues.get(word, 0.0) for word in words) for name, cues in self.cues.items()}
            if named[slot.name] < max(0.5, *named.values()):
                continue
            if slot.name not in self.asked and stem(re.sub(r"\W+$", "", before[-1])) not in self.cues[slot.name]:
                continue
            rest = part[match.end() :]
            value = re.split(r",?\s(?:not|instead of|rather than)\s", bare(rest, slot.kind == "text"))[0]
            if slot.kind == "name":
                value = re.split(r"[,;]|\s(?:and|but|because|so)\s", value)[0]
            value = value.strip()
            if value and (at := rest.find(value)) >= 0:
                return Span(match.end() + at, match.end() + at + len(value), "name", value, value)
        return None

    def cue(self, slot: Slot, part: str, span: Span) -> float:
        """What the words around a value speak for a slot: more if they are near, and before it rather than after it."""
        best = 0.0
        for match in re.finditer(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", part):
            if span.start <= match.start() < span.end:
                continue
            forms = {stem(match.group()), *stems(match.group())}
            weight = max(self.cues[slot.name].get(form, 0.0) for form in forms) if forms else 0.0
            before = match.start() < span.start
            between = part[match.end() : span.start] if before else part[span.end : match.start()]
            far = len(between.split()) + 2 * len(re.findall(r"[,;]|\band\b", between)) + (not before)
            counted = slot.kind in ("integer", "number") and not before and far == 1
            best = max(best, _CUE * weight * max(0.0, 1 - far / 9) + 0.8 * weight * counted)
        return best

    def answer(self, slot: Slot, parts: Sequence[str]) -> None:
        """Takes a text as the answer to a question for one slot."""
        for part in parts:
            if slot.kind in ("name", "text") and part in self.spent:
                continue
            if slot.kind == "boolean":
                value = NO_VALUE if is_question(part) else self.fit(slot, part)
            elif has_none(part):
                value = None
            elif is_digression(part) or (slot.kind in ("name", "text") and (is_question(part) or breaks_rules(part))):
                continue
            else:
                value = self.fit(slot, bare(part, slot.kind == "text"))
                if slot.kind == "code" and value in self.known.values() and len(part.split()) > 3:
                    continue
            if value is not NO_VALUE:
                self.values[slot.name] = value
                return

    def fit(self, slot: Slot, text: str, whole: bool = False) -> Any:
        """A text as a value of a slot, or `NO_VALUE`.

        Args:
            slot: The slot.
            text: A text that is nothing but the value.
            whole: Whether it is known to be the value of this slot.
        """
        text = text.strip()
        if not text:
            return NO_VALUE
        if whole and slot.nullable and has_none(text):
            return None
        match slot.kind:
            case "boolean":
                answer = yes_or_no(text)
                members = [member for member in slot.members if (str(member).lower() == "yes") == answer]
                return NO_VALUE if answer is None else members[0] if members else answer
            case "choice":
                return max(((form, value) for _, value, form in self.members(slot, text)), default=(0, NO_VALUE))[1]
            case "text":
                return text.strip("\"'“”")
            case "name":
                return text.strip("\"'“”") if whole else _name(text)
            case _:
                read = [value for span in spans(text, self.today) if (value := typed(slot, span)) is not NO_VALUE]
                free = slot.form is None if slot.kind == "code" else slot.kind in ("date", "time") and not slot.digits
                return read[0] if read else text if whole and free else NO_VALUE


def _name(text: str) -> Any:
    """The name in an answer to a question for one."""
    if _CODE.search(text):
        return NO_VALUE
    runs = [span for span in names(text) if not negated(text, span.start)]
    if runs:
        return runs[0].value
    short = re.split(r"[,;]|\s(?:and|but|because)\s", text)[0].strip()
    clause = re.match(r"(?:i|we|you|it|they|he|she)\b", short, re.IGNORECASE)
    empty = all(stem(word) in STOP for word in short.split())
    return short if len(short.split()) <= 5 and clause is None and not empty else NO_VALUE


def _inside(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and len(inner.text) < len(outer.text)

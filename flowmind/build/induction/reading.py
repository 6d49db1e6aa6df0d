"""The task's text as the search reads it: constants that it names, words, and the sides of its limits."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from flowmind.trace.constants import Constant, Text, read_text

Side = Literal["above", "at", "below"]
"""A limit of n cuts numbers above n (`> n`, `<= n`), below n (`>= n`, `< n`), or singles n out (`== n`)."""


@dataclass(frozen=True)
class Reading:
    """A task's text."""

    text: str = ""
    numbers: tuple[int | float, ...] = ()
    """That it names in digits, words or percent, each once, in order; of a percentage also the share, of a half 2."""
    limits: tuple[int | float, ...] = ()
    """Those of the numbers that conditions may read: not how many digits results are rounded to."""
    digits: int | None = None
    """To how many decimals it rounds results, if it says one number."""
    quoted: tuple[str, ...] = ()
    """The texts in quotation marks."""
    words: frozenset[str] = frozenset()
    """The stems of its words."""
    ordinal: bool = False
    """Whether it asks for the first or last of something."""
    end: int | None = None
    """0 if it says "the first" and not "the last", -1 if it is the other way round."""
    known: dict[str, float] = field(default_factory=dict[str, float], compare=False, repr=False)
    """Caches `names_key`."""
    fields: dict[str, Side | None] = field(default_factory=dict[str, Side | None], compare=False, repr=False)
    """Caches `side_of`."""
    sides: dict[int | float, frozenset[Side]] = field(default_factory=dict[int | float, frozenset[Side]])
    """For each number with comparing words around it the sides on which they put the number itself."""
    shares: frozenset[float] = frozenset()
    """Those of the numbers that stand for a percentage, and which it does not have as they are."""
    mentions: tuple[frozenset[Any], ...] = ()
    """The constants that the program should have: those of `limits`, and quoted texts, each in all its forms."""
    places: dict[Any, int] = field(default_factory=dict[Any, int])
    """The first place of each of its constants and of the stem of each of its words, in characters from the start."""
    ordered: bool = False
    """Whether it says that cases are looked at in turn: "otherwise"."""

    def names(self, value: Any) -> bool:
        """Whether it names a number, or contains a text as whole words or in quotation marks."""
        if isinstance(value, bool) or value is None:
            return False
        if isinstance(value, int | float):
            return value in self.numbers
        return isinstance(value, str) and (value in self.quoted or _contains(self.text, value))

    def beside(self, value: str) -> tuple[str, ...]:
        """The words that it joins by "or" with a word: `closed` with `solved` in "solved or closed"."""
        found: dict[str, None] = {}
        for first, second in _EITHER.findall(self.text.lower()):
            if value.lower() in (first, second) and first != second:
                found[second if value.lower() == first else first] = None
        return tuple(word for word in found if word not in _LITTLE)

    def place_of(self, value: Any) -> int | None:
        """Where it first has a constant, a text, or all words of an identifier."""
        if value in self.places:
            return self.places[value]
        parts = [part for part in map(_stem, words_of(value)) if len(part) > 2] if isinstance(value, str) else []
        found = [min((at for word, at in self.places.items() if _like(part, word)), default=-1) for part in parts]
        return max(found) if found and min(found) >= 0 else None

    def negates(self, value: str) -> bool:
        """Whether a sentence that contains a text, or any one if none does, has a word that negates or leaves out."""
        sentences = [sentence for sentence in _SENTENCE.split(self.text) if _contains(sentence, value)] or [self.text]
        return any(_NEGATION.search(sentence.lower()) for sentence in sentences)

    def names_key(self, key: str) -> float:
        """The share, 0 to 1, of the words of an identifier that occur in the text."""
        if key not in self.known:
            parts = [_stem(word) for word in words_of(key) if len(word) > 2 and word not in _FORMAL]
            self.known[key] = sum(_occurs(part, self.words) for part in parts) / len(parts) if parts else 0.0
        return self.known[key]

    def side_of(self, key: str) -> Side | None:
        """The side on which it puts the limit that is the value of a field: `below` for "at least the credit limit"."""
        if key not in self.fields:
            lower = self.text.lower().replace("'s ", " ")
            words = words_of(key)
            names = [key.lower(), *([r"[\s_-]+".join(words)] if words else ())]
            sides: set[Side] = set()
            for name in (*names, *(word for word in words if len(word) > 2)):
                found = re.finditer(rf"\b{name}\b", lower)
                if not sides:
                    own: list[Side | None] = [_before(lower[max(0, one.start() - 40) : one.start()]) for one in found]
                    sides |= {side for side in own if side is not None}
            if not sides:
                sides |= {side for side, names in _BOUNDS.items() if names & set(words)}
            if not sides and re.search(rf"{_HAVING} (?:the |a |this )?{names[-1]}\b", lower):
                sides.add("below")
            self.fields[key] = sides.pop() if len(sides) == 1 else None
        return self.fields[key]


def read(text: str) -> Reading:
    """Reads a task's text."""
    found = read_text(text)
    constants = found.constants
    digits = {one.value for one in constants if _DIGITS.match(found.hidden[one.end :])}
    others = {one.value for one in constants if not _DIGITS.match(found.hidden[one.end :])}
    numbers: dict[int | float, None] = {}
    for constant in constants:
        if not isinstance(constant.value, str):
            numbers[constant.value] = None
            if constant.share is not None:
                numbers |= {
                    constant.share: None,
                    round(1 - constant.share, 12): None,
                    round(1 + constant.share, 12): None,
                }
    limits = tuple(number for number in numbers if number not in digits or number in others)
    numbers |= {round(1 / number): None for number in numbers if 0 < number < 1 and (1 / number).is_integer()}
    quoted = tuple(dict.fromkeys(constant.value for constant in constants if isinstance(constant.value, str)))
    lower = text.lower()
    return Reading(
        text=text,
        numbers=tuple(numbers),
        limits=limits,
        digits=_digits(digits, text.lower()),
        quoted=quoted,
        words=frozenset(_stem(word) for word in re.findall(r"[a-z]+", lower)),
        ordinal=_ORDINAL.search(lower) is not None,
        end=_end("the first" in lower, "the last" in lower),
        sides=_sides(text),
        shares=frozenset(form for one in constants for form in _forms(one)) - {one.value for one in constants},
        mentions=tuple(_forms(constant) for constant in constants if _is_whole(constant, limits)),
        places=_places(found),
        ordered=_IN_TURN.search(lower) is not None,
    )


def words_of(name: str) -> list[str]:
    """The words of an identifier, in lower case: of `orderId` or `order_id` they are `order` and `id`."""
    return re.findall(r"[a-z]+", _HUMP.sub(" ", name).lower())


_EITHER = re.compile(r"(?=[\"'`(]?\b([a-z_]{3,})[\"'`]?,? or [\"'`]?([a-z_]{3,})\b)")
_LITTLE = frozenset({
    "not", "the", "more", "less", "fewer", "later", "earlier", "above", "below", "under", "over", "older", "newer",
    "any", "another", "else",
})  # fmt: skip
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _end(first: bool, last: bool) -> int | None:
    return None if first == last else 0 if first else -1


_ORDINAL = re.compile(r"\b(first|last|latest|newest|oldest|top|most recent|earliest)\b")
_IN_TURN = re.compile(r"\b(?:otherwise|else|failing that|if not|what is left|the rest|all others?)\b")
_SENTENCE = re.compile(r"[.;!?]\s")
_NEGATION = re.compile(
    r"\b(?:not|no|none|never|nor|neither|cannot|without|un\w+|non\w*|\w+n['’]t|except\w*|exclud\w+|other than|another"
    r"|skip\w*|ignor\w+|omit\w*|leav\w+|left|pass\w*|but|drop\w*|still|already|yet|apart|beside\w*|remaining|rest|miss\w+"
    r"|outstanding|discard\w*|remove\w*)\b"
)
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ings?|ed|es|(?<!s)s|e)$")
_BELOW = re.compile(
    r"(?:at least|no less than|minimum(?: of)?|from|less than|under|below|fewer than|lower than|cheaper than"
    r"|earlier than|before|short of|until|reach\w*|not under|not below"
    r"|no earlier than|as (?:many|much) as)\W*(?:\w+\W+){0,2}$"
)
_ABOVE = re.compile(
    r"(?:more than|over|above|exceed\w*|greater than|larger than|higher than|at most|up to|no more than|no later than"
    r"|maximum(?: of)?|after|beyond|within|older than|longer than|later than|only)\W*(?:\w+\W+){0,2}$"
)
_OR_MORE = re.compile(
    r"\W*(?:\w+\W+)?(?:or (?:more|above|over|later|greater|higher|older|longer)|and (?:above|over|up))"
)
_OR_LESS = re.compile(r"\W*(?:\w+\W+)?(?:or (?:less|fewer|below|under|lower|earlier|shorter)|and (?:below|under))")
_BOUNDS: dict[Side, frozenset[str]] = {
    "above": frozenset({"max", "maximum", "limit", "most", "capacity"}),
    "below": frozenset({"min", "minimum", "least", "fewest"}),
}
"""Words of a key that put the limit itself on a side: `max_seats` may be reached."""
_HAVING = r"\b(?:has|have|enough for|covers?|fits?)"
"""What has the quantity has at least the quantity."""
_FORMAL = frozenset({"has", "was", "max", "min"})
"""Words that keys have and texts do not: `has_more`, `max_seats`."""
_PLACEHOLDER = re.compile(r"<\w[^<>]*>|\{\w[^{}]*\}")
_CENTS = re.compile(r"\bround\w*(?:\W+\w+){0,3}\W+cents?\b")
_DIGITS = re.compile(r"\W*(?:decimal|fractional|digits)")
"""What stands behind a number of digits to which results are rounded."""
_EXACTLY = re.compile(r"(?:exactly|equals?(?: to)?|precisely)\W*$")


def _digits(found: Collection[Any], lower: str) -> int | None:
    wanted = {*found, *([2] if _CENTS.search(lower) else ())}
    return next(iter(wanted)) if len(wanted) == 1 else None


def _is_whole(constant: Constant, limits: Collection[Any]) -> bool:
    if isinstance(constant.value, str):
        return constant.value != "" and not _PLACEHOLDER.search(constant.value)
    return constant.value in limits


def _forms(constant: Constant) -> frozenset[Any]:
    """The ways to write a constant: of 20 percent 20, 0.2, 0.8 and 1.2."""
    share = constant.share
    return frozenset([constant.value, *([] if share is None else [share, round(1 - share, 12), round(1 + share, 12)])])


def _places(found: Text) -> dict[Any, int]:
    places = {_stem(word[0]): word.start() for word in reversed(list(re.finditer("[a-z]+", found.text.lower())))}
    for constant in reversed(found.constants):
        places |= dict.fromkeys(_forms(constant), constant.start)
    return places


def _sides(text: str) -> dict[int | float, frozenset[Side]]:
    read = read_text(text)
    sides: dict[int | float, frozenset[Side]] = {}
    for constant in read.constants:
        if isinstance(constant.value, str):
            continue
        before, behind = read.hidden[max(0, constant.start - 40) : constant.start], read.hidden[constant.end :][:24]
        side: Side | None = (
            "below" if _OR_MORE.match(behind) else "above" if _OR_LESS.match(behind) else "at"
            if _EXACTLY.search(before) else _before(before)
        )  # fmt: skip
        if side is not None:
            for value in (constant.value, *(() if constant.share is None else (constant.share,))):
                sides[value] = frozenset[Side]({*sides.get(value, ()), side})
    return sides


def _before(before: str) -> Side | None:
    """The side that the phrase nearest to a number gives."""
    below, above = _BELOW.search(before), _ABOVE.search(before)
    if below is None or above is None:
        return "below" if below else "above" if above else None
    return "below" if below.start() > above.start() else "above"


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    bare = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else _ENDING.sub("", word)
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def _occurs(part: str, words: frozenset[str]) -> bool:
    return part in words or any(_like(part, word) for word in words)


def _like(part: str, word: Any) -> bool:
    """Whether a word is a form of another one."""
    if part == word or not isinstance(word, str):
        return part == word
    return min(len(part), len(word)) > 3 and (word.startswith(part) or part.startswith(word))


@lru_cache(maxsize=50_000)
def _contains(text: str, value: str) -> bool:
    even, wanted = _even(text), _even(value)
    return len(wanted) > 2 and wanted in even


@lru_cache(maxsize=5_000)
def _even(text: str) -> str:
    return " " + re.sub(r"[_\W]+", " ", text.casefold()).strip() + " "

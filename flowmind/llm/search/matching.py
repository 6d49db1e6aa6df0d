"""The fit of tools and their parameters to the words of a task, by stems and near-synonyms. Rare words count more."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from tools_registry.specs.spec import ToolSpec

_PHRASES = {
    r"at least|or more|or later|or longer|or above|or higher|no fewer than|no less than|not less than|not below|"
    r"greater than or equal to|reach\w*|itself included": "atleast",
    r"at most|or fewer|or less|or earlier|or below|no more than|not more than|not above|up to|"
    r"less than or equal to": "atmost",
    r"more than|greater than|larger than|higher than|later than|longer than|strictly above|itself excluded": "above",
    r"less than|fewer than|smaller than|lower than|shorter than|earlier than": "below",
    r"left out|leave out|leaves out|leaving out|do(?:es)? not count|is not counted|are not counted|stays? out": "drop",
    r"upper case|capital letters?|in capitals": "capital",
    r"lower case|small letters?": "lowercase",
    r"how many|number of|how often": "count",
    r"as many as": "count",
    r"in front|before it": "start",
    r"monday to friday|working days?|weekend days?|business days?": "businessday",
    r"square brackets?|round brackets?": "bracket",
    r"one after the other|in a row": "consecutive",
    r"midway|half way|halfway between the": "midpoint",
}
"""Phrases that are replaced by one word."""
_ALIKE = """
above over exceed exceeding past beyond
below under
atleast minimum
atmost maximum within
nearest closest near
sum total altogether together add plus
subtract minus difference less deduct reduce
multiply times product each per
divide share split quotient
percent percentage
mean average
median middle
largest biggest highest greatest maximum most best top longest dearest
smallest lowest least minimum fewest shortest cheapest
first earliest begin opening start front initial
last final latest end newest closing
drop skip ignore remove except exclude without omit discard delete disappear dropped
keep only remain retain filter
sort order alphabetical ascending arrange rank
descending downward
count number tally many
group chunk block team
cut split divide break
join connect put together merge combine
text line sentence
letter character sign
replace instead exchange change swap
word term
capital uppercase
lowercase
date day
month calendar
weekday monday tuesday wednesday thursday friday saturday sunday
missing null absent none unknown
present known
distinct different unique once dedupe repeat twice
reverse backward opposite mirror
rotate turn shift
record row entry
field column
list items
name key
round decimal
whole integer
up upward ceil ceiling
down downward floor
remainder modulo left
between range low high
position place index where
both common intersect
either union
prime
interest
discount rebate
tax levy
label band grade
merge update override
true false
length long size
distance far apart
area surface
circle circular radius diameter
find search
pair neighbour neighbor
pad fill
mask hide
hex hexadecimal
initial
email mail
"""
"""Groups of words with a similar meaning, one a line."""
_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        a also all an and any are as at be been being but by can do does each error for from give given gives has have
        he her his how i if in into is it it's its just like may me must my no not of on one or other our result same
        she so stay such than that the their them then there these they this those to value values was we what whatever
        when whether which who whose will with would you your
        """,
    )
)


def words(text: str) -> list[str]:
    """The stems of the words of a text, after phrases are replaced and stop words removed."""
    lower = text.lower().replace("_", " ")
    for phrase, word in _COMPILED:
        lower = phrase.sub(f" {word} ", lower)
    return [_stem(word) for word in re.findall(r"[a-z]+", lower) if word not in _STOP and len(word) > 1]


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("ly", ""), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word.rstrip("e") if len(word) > 3 else word


_COMPILED = [(re.compile(rf"\b(?:{phrase})\b"), word) for phrase, word in _PHRASES.items()]
_GROUPS: dict[str, tuple[int, ...]] = {}
for _number, _line in enumerate(_ALIKE.strip().splitlines()):
    for _word in _line.split():
        _GROUPS[_stem(_word)] = (*_GROUPS.get(_stem(_word), ()), _number)


def alike(word: str, others: Iterable[str]) -> float:
    """1 if a stem is among others, 0.6 if a stem of a similar meaning is, else 0."""
    pool, groups = _meaning(tuple(others))
    return 1.0 if word in pool else 0.0 if groups.isdisjoint(_GROUPS.get(word, ())) else 0.6


@lru_cache(maxsize=4_000)
def _meaning(stems: tuple[str, ...]) -> tuple[frozenset[str], frozenset[int]]:
    """The stems as a set, and the numbers of their groups in `_ALIKE`."""
    return frozenset(stems), frozenset(number for stem in stems for number in _GROUPS.get(stem, ()))


class Fit:
    """The fit of tools and their parameters to a task's text.

    Args:
        text: The task's text.
        specs: The tools. A word counts less if the documentation of more tools contains it.
    """

    def __init__(self, text: str, specs: Mapping[str, ToolSpec]) -> None:
        self._text = text.lower()
        self._ties: dict[tuple[tuple[str, ...], str, str], float] = {}
        docs = {name: _document(spec) for name, spec in specs.items()}
        spread: dict[str, int] = {}
        for doc in docs.values():
            for word in doc:
                spread[word] = spread.get(word, 0) + 1
        self._rare = {word: math.log((len(docs) + 1) / count) for word, count in spread.items()}
        clauses = [tuple(words(part)) for part in re.split(r"[.;:!?]\s|, (?=and|but|which|so|or)", text)]
        self.tools = {name: self._best(doc, clauses) for name, doc in docs.items()}
        self._said = {name: frozenset(words(f"{name} {spec.description}")) for name, spec in specs.items()}
        self._parameters = {
            (name, parameter): frozenset(words(f"{parameter} {schema.get('description', '')} {name}"))
            for name, spec in specs.items()
            for parameter, schema in cast(dict[str, dict[str, Any]], spec.parameters.get("properties", {})).items()
        }

    def _best(self, doc: frozenset[str], clauses: Sequence[Sequence[str]]) -> float:
        """The largest share of the words of a documentation, weighted by rarity, that a clause of the text contains."""
        total = math.fsum(self._rare[word] for word in doc)
        best = max(math.fsum(self._rare[word] * alike(word, clause) for word in doc) for clause in clauses)
        return best / max(total, 1e-9)

    def alike(self, one: str, other: str) -> float:
        """The share of the words in two tools' documentation that both contain (Jaccard index)."""
        return len(self._said[one] & self._said[other]) / max(1, len(self._said[one] | self._said[other]))

    def tie(self, context: Sequence[str], tool: str, parameter: str) -> float:
        """The fit of the words around a constant to a parameter, from 0 to 1."""
        key = (tuple(context), tool, parameter)
        known = self._ties.get(key)
        if known is None:
            about = self._parameters[tool, parameter]
            hits = math.fsum(alike(word, key[0]) for word in about) if context else 0.0
            known = self._ties[key] = min(1.0, hits / 2)
        return known

    def says(self, name: str) -> bool:
        """Whether the text contains a name as a word."""
        return re.search(rf"\b{re.escape(name.lower())}\b", self._text) is not None

    def unsaid(self, option: Any) -> float:
        """The penalty for an option of a parameter; 0 if the text names it."""
        if isinstance(option, bool):
            return 0.1
        word = _UNITS.get(option, option) if isinstance(option, str) else option
        return 0.0 if re.search(rf"\b{re.escape(str(word).lower())}", self._text) else 0.6


_UNITS = {
    "mm": "millimet", "cm": "centimet", "m": "met", "km": "kilomet", "foot": "feet", "mg": "milligram", "g": "gram",
    "kg": "kilogram", "l": "lit", "ml": "millilit", "s": "second", "min": "minute", "h": "hour", "lb": "pound",
}  # fmt: skip
"""The beginning of the word for each unit sign."""


def _document(spec: ToolSpec) -> frozenset[str]:
    """The stems in a tool's name and the first sentence of its description."""
    first = re.split(r"(?<=[.;])\s", spec.description.replace("\n", " "))[0]
    return frozenset(words(f"{spec.name} {first}"))

"""The constants in a task's text, and the comparisons that phrases such as "fewer than" make with them.

"At least 5" and its opposite, "fewer than 5", cut the numbers at the same place, and a program may test either. The
text determines the cut: whether 5 itself belongs above or below.

Reads a task's text for induction: the constants that it names, and the comparisons that it makes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from flowmind.trace.constants import NUMBER_WORDS, Text, read_text

_CUT = {"<": "below", ">=": "below", ">": "above", "<=": "above", "==": "at", "!=": "at"}
"""The cut of each operator. An operator and its opposite make the same cut."""
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_WINDOW = 64
"""Characters before and behind a value that may contain the comparing phrase."""
_AROUND = 8
"""Words before and behind a value that count as its context."""
_REACH = 120
"""Characters before "more than that" that may contain its number."""


@dataclass(frozen=True)
class Mention:
    """A value that a text names, with the comparisons and words around it."""

    value: int | float | str
    ops: frozenset[str]
    """The comparisons with the value, of `<`, `<=`, `>`, `>=`, `==` and `!=`; empty if there are none."""
    context: tuple[str, ...]
    """Stems of the meaningful words around it in the same sentence, in their order."""
    start: int
    """Its place in the text, in characters."""


@dataclass(frozen=True)
class _Value:
    """A value and its place in the text."""

    value: int | float | str
    start: int
    end: int
    ops: frozenset[str] = frozenset()
    """The comparison that the word itself makes, such as "empty" or "negative"."""
    faint: bool = False
    """Whether the word seldom means a number. It then counts only if a phrase compares with it."""
    share: float | None = None
    """Of a percentage: 0.12 for 12 percent."""


def mentions(text: str) -> tuple[Mention, ...]:
    """The values that a text names, in order.

    A percentage is named twice, as 12 and as 0.12; "at least 5 lower" also names -5. Words such as "none" and "empty"
    name 0 in comparisons, and "empty" also the empty text. Dates and times of day name nothing. A limit on repetitions
    ("but at most 3 times") is read as the test before each repetition: fewer than 3 so far.
    """
    return mentions_in(read_text(text))


def mentions_in(text: Text) -> tuple[Mention, ...]:
    """As `mentions`, for a text that `read_text` read."""
    hidden = text.hidden
    values = sorted([*_constants(text), *_amounts(hidden)], key=lambda value: (value.start, value.end))
    words = [(match.start(), match[0]) for match in _WORD.finditer(hidden)]
    ranges = _ranges(hidden, values)
    result: list[Mention] = []
    for value in values:
        place = bisect_right(text.ends, value.start)
        low = text.ends[place - 1] if place else 0
        high = text.ends[place] if place < len(text.ends) else len(hidden)
        before, behind = hidden[low : value.start], hidden[value.end : high]
        ops = value.ops or _compared(before, behind, value.faint) or ranges.get(value.start, frozenset())
        if value.faint and not ops:
            continue
        mention = Mention(value.value, ops, _context(words, value, low, high), value.start)
        result += [mention, *_also(mention, value, behind)]
    return tuple(_referred(hidden, result))


def stems(text: str) -> frozenset[str]:
    """The stems of all meaningful words of a text."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


def agreement(text_mentions: Iterable[Mention], op: str, value: int | float | str) -> float:
    """The degree to which a comparison with a constant agrees with the text.

    1.0: the text makes this cut, in these or in opposite words. 0.5: it names the value without a comparison. 0.3: it
    makes another comparison with the value, such as `<=` for `<`. 0.0: it does not name the value. The best of several
    mentions counts. Other operators than the six make no cut.
    """
    same = [{_CUT[op] for op in mention.ops} for mention in text_mentions if _equal(mention.value, value)]
    return max((1.0 if _CUT.get(op) in cuts else 0.3 if cuts else 0.5 for cuts in same), default=0.0)


def word_overlap(names: Iterable[str], spoken: Mention | Iterable[str]) -> float:
    """The share, 0 to 1, of the words in identifiers that occur near a mention, or among stems.

    A word of at least four letters also matches longer words that begin with it. Names without words: 0.
    """
    near = set(spoken.context if isinstance(spoken, Mention) else spoken)
    parts = {part for name in names for part in stems(_HUMP.sub(" ", name))}
    return sum(part in near or any(_related(part, stem) for stem in near) for part in parts) / max(len(parts), 1)


# Reading values.

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_HUMP = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
_FAINT = frozenset({"one", "once", "a single"})
_PRONOUN = re.compile(r"\b(?:an?|the|this|that|which|each|every|another|any|no|first|last|next|other|\w+est) $")
_AMOUNT = re.compile(
    r"\b(?:(?P<empty>empty)|(?P<gone>(?:nothing|nobody|no one|none) (?:is |are )?(?:left|remains?))"
    r"|(?P<none>nothing|nobody|no one|none|(?:some|any)(?:thing|body|one)"
    r"|any(?= (?:\w+ )?(?:is|are|was|were|remains?)\b)|no (?!(?:one|more|fewer|less|longer|\w+er than)\b)\w+)"
    r"|(?P<natural>(?:non-|not )negative)|(?P<negative>negative)|(?P<positive>positive))\b"
)
"""Words that compare with 0 by themselves."""
_SAYS = {"empty": ("==", ">"), "gone": ("==", ">"), "none": ("==", ">"), "negative": ("<",), "natural": (">=",)}
_WHETHER = re.compile(
    r"\b(?:(?:if|when|whenever|while|until|till|unless|once|whether|as (?:long|soon) as)\b[^.,;:]{0,40}"
    r"|(?:there (?:is|are|was|were)|has|have|had) )$"
)


def _constants(read: Text) -> Iterator[_Value]:
    """The constants of a text, without pronouns such as "each one"."""
    for constant in read.constants:
        word = read.hidden[constant.start : constant.end]
        if word != "one" or not _PRONOUN.search(read.hidden[max(0, constant.start - 12) : constant.start]):
            yield _Value(constant.value, constant.start, constant.end, faint=word in _FAINT, share=constant.share)


def _amounts(text: str) -> Iterator[_Value]:
    for match in _AMOUNT.finditer(text):
        kind = match.lastgroup or ""
        if kind != "none" or _WHETHER.search(text[max(0, match.start() - _WINDOW) : match.start()]):
            yield _Value(0, *match.span(), frozenset(_SAYS.get(kind, (">",))))
        if kind == "empty":
            yield _Value("", *match.span(), frozenset({"=="}))


# Reading comparisons.

_DOWN = (
    "fewer less lower smaller shorter cheaper lighter younger earlier sooner slower narrower thinner nearer closer "
    "weaker colder cooler shallower softer poorer worse lesser"
).replace(" ", "|")
_UP = (
    "more higher larger greater bigger longer taller later older heavier faster warmer hotter further farther deeper "
    "wider stronger dearer better thicker brighter louder richer"
).replace(" ", "|")
_SOME = r"(?: [\w'-]+)"
_NOT = rf"(?:no|not|\w+n't|never|cannot|without){_SOME}{{0,1}}?"
_UNDER = rf"(?:(?:{_DOWN}){_SOME}{{0,3}}? than|(?:just )?(?:below|under|beneath)|short of)"
_OVER = (
    rf"(?:(?:{_UP}){_SOME}{{0,3}}? than|(?!(?:other|rather|either|whether)\b)\w+er than"
    r"|(?:just )?(?:over|above|beyond|past)|exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?|in excess of)"
)
_MAY = r"(?:can|may|could|must|should|shall|able to|allowed to|cannot|can't)"
_HOLD = r"(?:hold|carry|take|seat|bear|contain|store|lift|fit|accommodate)"
_LIMIT = r"(?:maximum|max\.?|(?:upper )?limit|cap|ceiling|capacity)"
_FILLER = (
    r"(?: (?:an?|the|these|those|his|her|its|their|my|our|your|about|some|another|of|to|total|all|the (?:word|text)|"
    r"called|named|floor|level|day|size|number|no\.|grade|class|age|year|step|position|place|row|line|page))*"
    r"(?: \(?|\s*)[$€£]?$"
)
_BEFORE_SPEC: tuple[tuple[tuple[str, ...], str], ...] = (
    (("<",), r"up to but (?:not including|excluding)|not enough (?:room |space |money |time )?for"),
    (("<",), rf"(?:cannot|can't|can not|could not|couldn't) (?:even )?{_HOLD}"),
    ((">=",), rf"{_NOT} {_UNDER}"),
    (("<=",), rf"{_NOT} {_OVER}"),
    (("<=",), r"at (?:the )?(?:very )?most|up to(?: and including)?|within(?: the)?(?: (?:next|first|last))?"),
    (("<=",), rf"{_LIMIT}(?: (?:of|is|was|to|for))?|(?:limited|capped|restricted|down) (?:to|at)|room for"),
    (("<=",), rf"{_MAY} (?:only |still )?(?:{_HOLD}|have|weigh|cost|be)|as (?:few|little|low|small|short|early) as"),
    ((">=",), r"at (?:the )?(?:very )?least|(?:minimum|min\.?)(?: (?:of|is|was|for))?|upwards of"),
    ((">=",), r"reach(?:es|ed|ing)?|attain(?:s|ed|ing)?|hits|starting (?:at|with|from)|after"),
    ((">=",), r"as (?:many|much|high|large|great|old|late|heavy|big) as"),
    (("<",), rf"{_UNDER}|before"),
    ((">",), _OVER),
    (("==",), r"exactly|precisely|equal(?:s|ling)?|equal to|identical to|the same as|={1,2}"),
    (("!=",), r"not|other than|different from|differs? from|except(?: for)?|excluding|unlike|(?:is|are)n't|!=|≠"),
    (("==", "<="), r"only|just"),
    (("<=",), r"<=|≤"),
    ((">=",), r">=|≥"),
    (("<",), r"<"),
    ((">",), r">"),
)
_COMING = r"(?:as soon as|once(?! (?:an?|per|every|each)\b)|until|till)"
_LOOSE_SPEC: tuple[tuple[tuple[str, ...], str], ...] = (
    ((">=",), rf"{_COMING}{_SOME}{{0,5}}?"),
    (("==",), r"(?:is|are|was|were|be|being|amounts? to|comes? to|adds? up to)"),
    (("==",), rf"(?:if|when|whenever){_SOME}{{0,5}}? (?:has|have|had|contains?|holds?|gets?|shows?)"),
    (
        ("==",),
        r"(?:who|whoever|that|which) (?:has|have|had|contains?|holds?|shows?|throws?|rolls?|draws?|scores?)",
    ),
)
"""Patterns that are tried if no clear phrase matches."""
_JOINT = r"(?!(?:and|or|but|if|unless|when|while|with|than|who|which|that)\b)"
_THEN = rf"(?:[ -]?{_JOINT}[a-z%°€][\w%°'/-]*(?: {_JOINT}[a-z][\w'/-]*){{0,4}}?)??"
"""The unit or noun behind a number."""
_NO_NUMBER = rf"(?! (?:\d|{'|'.join(NUMBER_WORDS)}|half|an?)\b)"
_ALONE = r"(?! (?:[\w ]{0,20}than|to|the|an?|that|this|those|it)\b)"
_BE = r"(?:is|are|was|were|has been|have been|being|be|gets?)"
_BEHIND_SPEC: tuple[tuple[tuple[str, ...], str], ...] = (
    ((">=",), rf",? (?:or|and) (?:{_UP}|above|over|up|upwards?|beyond|after)\b{_ALONE}|\+(?!\w)"),
    (("<=",), rf",? (?:or|and) (?:{_DOWN}|below|under|beneath|down|downwards?|before)\b{_ALONE}"),
    (("<=",), rf",? (?:at (?:the )?(?:very )?most|(?:as an? )?max(?:imum)?\b|(?:and|but) no more){_NO_NUMBER}"),
    ((">=",), rf",? (?:at (?:the )?(?:very )?least|(?:as an? )?min(?:imum)?\b|(?:and|but) no less){_NO_NUMBER}"),
    ((">=",), rf" {_BE} (?:reached|attained|met)|,? (?:already )?(?:suffices?|{_BE} (?:enough|sufficient))"),
    ((">",), rf" {_BE} (?:exceeded|surpassed|passed)"),
    (("<=",), rf",? (?:{_BE} )?(?:still )?{_BE} (?:still |just )?(?:fine|allowed|ok|okay|permitted|acceptable)"),
    (("<=",), r",? (?:still|just) (?:fits?|fine|allowed|ok|okay|permitted|acceptable)"),
)
_ONWARDS = re.compile(rf"{_THEN} (?:on|onwards?|up|upwards?)\b")
_FROM = re.compile(rf"\b(?:from|starting (?:at|with)){_FILLER}")
_LOWER = re.compile(rf"{_THEN} (?<!or )(?<!and )(?:{_DOWN}|below|down)\b")
_FACTOR = re.compile(rf" (?:times|{_UP}|{_DOWN})\b")
_LEFT_OVER = re.compile(rf"{_THEN} (?:(?:is|are) )?(?:remains?|left|remaining)\b")
_CONDITIONAL = re.compile(r"\b(?:if|when|while|as long as|whose|which|who|that|unless|provided|whether|where)\b")
_LOOP = re.compile(r"\b(?:until|till|while|as long as|as soon as|repeat\w*|goes on|go on|stops?)\b")
_TIMES = re.compile(
    r" (?:more )?(?:times|rounds|turns|tries|attempts|repetitions|trips|steps|moves|runs|passes|rides|cycles|laps)\b"
)
_CAP = re.compile(r"\b(?:most|max(?:imum)?|more|up to|limited)\b")
_BACK_SPEC = ((("<=",), rf"{_NOT} {_OVER}"), ((">=",), rf"{_NOT} {_UNDER}"), ((">",), _OVER), (("<",), _UNDER))
_RANGE = {"between": " and ", "from": " to "}


def _alternatives(spec: Sequence[tuple[tuple[str, ...], str]]) -> str:
    return "|".join(f"(?P<p{place}>{pattern})" for place, (_, pattern) in enumerate(spec))


_BACK = re.compile(rf"\b(?:{_alternatives(_BACK_SPEC)}) (?:that|this)(?=\s*(?:[.,;:)]|and\b|or\b|$))")
_BEFORE = re.compile(rf"(?<![\w'-])(?:{_alternatives(_BEFORE_SPEC)}){_FILLER}")
_COMES = re.compile(rf"\b{_COMING}{_SOME}{{0,3}}?{_FILLER}")
_LOOSE = re.compile(rf"\b(?:{_alternatives(_LOOSE_SPEC)}){_FILLER}")
_BEHIND = re.compile(rf"{_THEN}(?:{_alternatives(_BEHIND_SPEC)})")


def _compared(before: str, behind: str, faint: bool) -> frozenset[str]:
    """The comparisons that a sentence makes with a value between these parts."""
    near, then = before[-_WINDOW:], behind[:_WINDOW]
    if match := _BEHIND.match(then):
        return _limit(_ops(_BEHIND_SPEC, match), match[0], before, then)
    if _FROM.search(near) and _ONWARDS.match(then):
        return frozenset({">="})
    if match := _BEFORE.search(near):
        return _limit(_ops(_BEFORE_SPEC, match), match[0], before, then)
    if _COMES.search(near) and _LEFT_OVER.match(then):
        return frozenset({"==", "<="})
    match = None if faint else _LOOSE.search(near)
    ops = _ops(_LOOSE_SPEC, match) if match else frozenset[str]()
    return frozenset() if "==" in ops and _FACTOR.match(then) else ops


def _ops(spec: Sequence[tuple[tuple[str, ...], str]], match: re.Match[str]) -> frozenset[str]:
    return frozenset(spec[int((match.lastgroup or "")[1:])][0])


def _limit(ops: frozenset[str], phrase: str, before: str, then: str) -> frozenset[str]:
    """`<` instead of `<=` if a sentence limits the number of repetitions: the test comes before each of them."""
    clause = re.split(r"[,;:(]", before)[-1]
    added = re.match(r" (?:but|and|though|yet)\b", clause) and _LOOP.search(before)
    capped = ops == frozenset({"<="}) and _CAP.search(phrase)
    limits = capped and not _CONDITIONAL.search(clause) and (added or _TIMES.match(then))
    return frozenset({"<"}) if limits else ops


def _ranges(text: str, values: Sequence[_Value]) -> dict[int, frozenset[str]]:
    """The comparisons that ranges make with their two ends, by the places of these."""
    result: dict[int, frozenset[str]] = {}
    for low, high in pairwise(value for value in values if not isinstance(value.value, str)):
        link = text[low.end : high.start]
        word = re.search(r"\b(between|from) (?:the )?(?:\w+ )?$", text[max(0, low.start - 24) : low.start])
        if link in ("-", " - ", " to ", " through ") or (word and link == _RANGE[word[1]]):
            result |= {low.start: frozenset({">="}), high.start: frozenset({"<="})}
    return result


def _also(mention: Mention, value: _Value, behind: str) -> Iterator[Mention]:
    """Other values of a number: the share for a percentage, a negative number for "lower"."""
    if isinstance(mention.value, str):
        return
    if value.share is not None:
        yield replace(mention, value=value.share)
    if mention.value > 0 and mention.ops and _LOWER.match(behind[:_WINDOW]):
        yield replace(mention, value=-mention.value, ops=frozenset(_MIRRORED[op] for op in mention.ops))


def _referred(text: str, mentioned: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions, with the comparisons that a later "more than that" adds."""
    more: dict[int, frozenset[str]] = {}
    for back in _BACK.finditer(text):
        last = back.start()
        near = [
            mention
            for mention in mentioned
            if last - _REACH < mention.start < last and not isinstance(mention.value, str)
        ]
        if near:
            meant = max(near, key=lambda mention: (bool(mention.ops), mention.start)).start
            more[meant] = more.get(meant, frozenset()) | _ops(_BACK_SPEC, back)
    for mention in mentioned:
        yield replace(mention, ops=mention.ops | more[mention.start]) if mention.start in more else mention


# Words.

_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        a about above again all also always among an and any are as at back be because been before being below between
        both but by can cannot could did do does down each either every few fewer first for from further had has have
        he her here his how however i if in into is it its itself just last least less like many may me mere more most
        much must my neither never no nor not of off on once one only or other otherwise our out over own per perhaps
        rather same shall she should since so some still such take than that the their them then there these they this
        those through to too under until up upon us very was we were what when where whether which while who whom
        whose why will with within without would yet you your
        """,
    )
)
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ings?|ed|es|(?<!s)s|e)$")


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """The stem of a word, which is the same for its common forms."""
    bare = word.split("'")[0]
    if bare.endswith("ies") and len(bare) > 4:
        return bare[:-3] + "y"
    bare = _ENDING.sub("", bare)
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def _related(first: str, second: str) -> bool:
    return min(len(first), len(second)) > 3 and (first.startswith(second) or second.startswith(first))


def _context(words: Sequence[tuple[int, str]], value: _Value, low: int, high: int) -> tuple[str, ...]:
    here, then = bisect_left(words, (value.start, "")), bisect_left(words, (value.end, ""))
    near = [*words[max(0, here - _AROUND) : here], *words[then : then + _AROUND]]
    return tuple(_stem(word) for start, word in near if low <= start < high and word not in _STOP)


def _equal(first: int | float | str, second: int | float | str) -> bool:
    return first == second and not isinstance(second, bool)


NAMED = 0.9
"""The degree from which on a text names a constant (`Reading.said`)."""


@dataclass(frozen=True)
class Reading:
    """The constants, comparisons and word stems of a text."""

    text: str = ""
    named: tuple[Mention, ...] = ()
    spoken: frozenset[str] = frozenset()
    _said: dict[str, float] = field(default_factory=dict[str, float], compare=False)
    _agreed: dict[tuple[str, str, frozenset[str]], float] = field(
        default_factory=dict[tuple[str, str, frozenset[str]], float], compare=False
    )

    @cached_property
    def constants(self) -> Sequence[Any]:
        """The numbers and quoted texts in it."""
        return list(dict.fromkeys(mention.value for mention in self.named))

    def said(self, value: Any) -> float:
        """The degree to which it names a constant: 1, 0, or in between for a text that may be a keyword."""
        key = repr(value)
        if key not in self._said:
            self._said[key] = self._look(value)
        return self._said[key]

    def _look(self, value: Any) -> float:
        if value is None or isinstance(value, bool):
            return 0.0
        if isinstance(value, int | float):
            return (
                1.0
                if any(value == mention.value for mention in self.named if not isinstance(mention.value, str))
                else 0.0
            )
        if isinstance(value, str) and value:
            if any(value == mention.value for mention in self.named):
                return 1.0
            if value.lower() in self.text.lower() and len(value) > 2:
                return 0.9
            return 0.4 if len(value) <= 12 and value.replace("_", "").isalnum() else 0.1
        return 0.0

    def agreement(self, op: str, value: Any, names: Iterable[str]) -> float:
        """The degree to which it makes this comparison with this value, for variables with these names."""
        key = (op, repr(value), frozenset(names))
        if key not in self._agreed:
            self._agreed[key] = self._weigh(op, value, key[2])
        return self._agreed[key]

    def _weigh(self, op: str, value: Any, names: frozenset[str]) -> float:
        agreed = agreement(self.named, op, value)
        if not agreed:
            return 0.0
        around = {stem for mention in self.named if mention.value == value for stem in mention.context}
        return agreed * (0.6 + 0.4 * word_overlap(names, frozenset(around) or self.spoken))


def read(text: str) -> Reading:
    """Reads a task's text."""
    return Reading(text, mentions(text), stems(text))

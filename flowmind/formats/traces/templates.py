"""Templates of requests: the words that all requests of one phrasing share, and the slots between them.

A template is made from at least three requests. It is strict when it reads another request: every word that the
requests share must be there, so that a request of another phrasing is a mismatch and not a wrong reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from keyword import iskeyword
from typing import Any, Literal, NamedTuple

from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import Record

FEWEST = 3
"""The fewest requests of a template."""
_SHARED = 0.35
"""The share of the words of requests of one phrasing that is the same in all of them, at least."""
_ALIKE = 0.6
"""The share of the words that two requests of one phrasing have in common, at least."""
_KEPT = 0.75
"""The share of the common words of a phrasing that a further request of it has, at least."""
_ALIGNED = 12
"""The most requests of a phrasing that a further one is aligned with, to see whether it belongs to it."""
_MADE_FROM = 50
"""The most requests that a template is made from; it must read all of these."""
_LONGEST = 400
"""The most words of a request; a longer one is a document and no phrasing."""
_READINGS = 100
"""Ways to read a request that are compared; one with more is not understood."""
_TOKEN = re.compile(r"[+-]?\d[\d.,:/-]*\d%?|[+-]?\d%?|\w+(?:[-@.&/+_]\w+)*|'s\b|[^\s\w]")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_MONTH = re.compile(
    r"jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    r"|dec(ember)?"
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,63}")


class Slot(Record):
    """A part of a template that differs between requests."""

    name: str
    """The parameter that it reaches, or the word before it. Slots with one name have the same value."""
    kind: Literal["text", "number", "choice"] = "text"
    """A choice takes only the values that were seen: no call shows what becomes of another one."""
    seen: tuple[str, ...] = ()
    """The values in the requests that the template was made from."""

    def value(self, text: str) -> Any:
        """The value of a text; None if the slot does not take it."""
        if self.kind == "number":
            return (float(text) if "." in text else int(text)) if _NUMBER.fullmatch(text) else None
        known = text.casefold() in map(str.casefold, self.seen)
        return text if self.kind == "text" or known else None


class Template(Record):
    """What the requests of one phrasing share, with slots where they differ."""

    texts: tuple[str, ...]
    """The texts before, between and after the slots: one more than there are slots."""
    slots: tuple[Slot, ...]
    requests: int = 0
    """The number of requests that it was made from."""

    def __str__(self) -> str:
        slots = [f"{{{slot.name}}}" for slot in self.slots]
        return "".join(part for pair in zip(self.texts, [*slots, ""], strict=True) for part in pair)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the slots, each once."""
        return tuple(dict.fromkeys(slot.name for slot in self.slots))

    def inputs(self) -> JSONSchema:
        """JSON Schema of the inputs that it reads."""
        kinds = {slot.name: {"type": "number" if slot.kind == "number" else "string"} for slot in self.slots}
        return {"type": "object", "properties": kinds, "required": [*self.names], "additionalProperties": False}

    def parse(self, request: str) -> dict[str, Any] | None:
        """The values of the slots in a request; None if it is not of this phrasing, or can be read in several ways.

        The case of letters in the shared words and the width of spaces do not count.
        """
        plain = " ".join(request.split())
        readings = [values for spans in self._readings(plain.casefold()) if (values := self._values(plain, spans))]
        if len(readings) > 1:
            known = [
                sum(text in slot.seen for slot, text in zip(self.slots, reading, strict=True)) for reading in readings
            ]
            readings = [reading for reading, count in zip(readings, known, strict=True) if count == max(known)]
        if len(readings) != 1:
            return None
        return {slot.name: slot.value(text) for slot, text in zip(self.slots, readings[0], strict=True)}

    def _values(self, plain: str, spans: Sequence[tuple[int, int]]) -> list[str] | None:
        """The texts of the slots; None if a slot does not take its text, or slots with one name differ."""
        texts = [plain[start:end] for start, end in spans]
        first: dict[str, str] = {}
        for slot, text in zip(self.slots, texts, strict=True):
            same = first.setdefault(slot.name, text).casefold() == text.casefold()
            if not same or text != text.strip() or slot.value(text) is None:
                return None
        return texts

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(text.casefold() for text in self.texts)

    def _readings(self, text: str) -> Iterator[list[tuple[int, int]]]:
        """The ways to place the shared texts in a request, as the spans of the slots; none if there are too many."""
        first, *others = self._folded
        if not self.slots:
            yield from [[]] if text == first else []
            return
        *inner, last = others
        if not text.startswith(first) or not text.endswith(last) or len(first) + len(last) >= len(text):
            return
        latest, end = list[int](), len(text) - len(last)
        for shared in reversed(inner):  # the last place of each shared text, so that the search never fails later
            end = text.rfind(shared, 0, end - 1)
            if end < 0:
                return
            latest.insert(0, end)
        found: list[list[tuple[int, int]]] = []

        def place(number: int, start: int, spans: list[tuple[int, int]]) -> None:
            if len(found) > _READINGS:
                return
            if number == len(inner):
                if start < len(text) - len(last):
                    found.append([*spans, (start, len(text) - len(last))])
                return
            at = text.find(inner[number], start + 1)
            while 0 <= at <= latest[number]:
                place(number + 1, at + len(inner[number]), [*spans, (start, at)])
                at = text.find(inner[number], at + 1)

        place(0, len(first), [])
        if len(found) <= _READINGS:
            yield from found


class Request(NamedTuple):
    """A request with the arguments of the calls that followed it."""

    text: str
    args: Sequence[tuple[str, Any]] = ()
    """The parameters' names and values, in the order of the calls."""


def phrasings(requests: Sequence[Request]) -> list[list[int]]:
    """The requests of each phrasing, as indices. Phrasings are never mixed; one with few requests is a list, too."""
    groups: list[_Phrasing] = []
    for number, request in enumerate(requests):
        row = _tokens(" ".join(request.text.split()))
        words, begins = [token.word for token in row], _beginning(row, request)
        alike = [group for group in groups if group.begins == begins]
        joined = [(group, common) for group in alike if (common := group.common(row, words)) is not None]
        if joined:
            group, common = max(joined, key=lambda pair: len(pair[1]) / len(pair[0].words))
            group.words, group.members = common, [*group.members, number]
            group.rows = [*group.rows, row][:_ALIGNED]
        else:
            groups.append(_Phrasing(begins, words, [number], [row]))
    return [group.members for group in groups]


def _beginning(row: Sequence[_Token], request: Request) -> str:
    """The first word of a request; empty if it is a value, because an argument of a call has it."""
    first = row[0].word if row else ""
    arguments = " ".join(" ".join(_spoken(value)) for _, value in request.args)
    return "" if first in arguments else first


@dataclass
class _Phrasing:
    """Requests of one phrasing, and the words that they share, in order."""

    begins: str
    words: list[str]
    members: list[int]
    rows: list[list[_Token]]

    def common(self, row: list[_Token], words: Sequence[str]) -> list[str] | None:
        """The words that are left if a request joins; None if it has another phrasing."""
        longest = max(len(self.rows[0]), len(words), 1)
        if longest > _LONGEST or (Counter(self.words) & Counter(words)).total() < _ALIKE * longest:
            return None  # they have too few words in common, in whatever order
        shared = [self.words[place] for place, _ in _common(self.words, words)]
        if len(shared) < _ALIKE * longest or (len(self.members) > 1 and len(shared) < _KEPT * len(self.words)):
            return None
        rows = [*self.rows, row]
        anchors = _anchors(rows, set())
        return None if not anchors or _uneven(rows, anchors) is not None else shared


def template_of(requests: Sequence[Request]) -> Template | None:
    """The template of requests of one phrasing; None if they are fewer than three, or share too little.

    It is made from the first 50 of them. Words that are the same in all of these are its texts, other words are slots.
    Where an argument of a call stands in every request, its words are one slot with the name of the parameter.
    """
    plain = [request._replace(text=" ".join(request.text.split())) for request in requests[:_MADE_FROM]]
    if len(plain) < FEWEST or max(len(_tokens(request.text)) for request in plain) > _LONGEST:
        return None
    every = _reached(plain)
    for reached in (every, []) if every else ([],):
        rows = [_marked(request, reached) for request in plain]
        anchors = _aligned(rows)
        shared = sum(not rows[0][row[0]].name for row in anchors or ()) * len(rows) / max(1, sum(map(len, rows)))
        if anchors is None or shared < _SHARED:
            continue
        template = _assembled(plain, rows, anchors)
        if all(template.parse(request.text) is not None for request in plain):
            return template
    return None


class _Token(NamedTuple):
    word: str
    """Casefolded."""
    start: int
    end: int
    name: str = ""
    """The parameter whose argument it is; then it may be several words."""


def _tokens(text: str) -> list[_Token]:
    return [_Token(match[0].casefold(), *match.span()) for match in _TOKEN.finditer(text)]


def _spoken(value: Any) -> list[str]:
    """The words of an argument; none if it has no words that a request could have."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    return [token.word for token in _tokens(str(value).replace("_", " "))]


def _reached(requests: Sequence[Request]) -> list[str]:
    """The parameters whose argument stands in every request and is not always the same, those of most words first."""
    values: dict[str, list[list[str]]] = {}
    for request in requests:
        words = [token.word for token in _tokens(request.text)]
        for name in dict.fromkeys(name for name, _ in request.args):
            spoken = [_spoken(value) for other, value in request.args if other == name]
            if standing := [said for said in spoken if said and _places(words, said)]:
                values.setdefault(name, []).append(standing[0])
    full = {name: said for name, said in values.items() if len(said) == len(requests)}
    varied = [name for name, said in full.items() if len({*map(tuple, said)}) > 1]
    return sorted(varied, key=lambda name: -sum(map(len, full[name])))


def _places(words: Sequence[str], said: Sequence[str]) -> list[int]:
    return [start for start in range(len(words) - len(said) + 1) if [*words[start : start + len(said)]] == [*said]]


def _marked(request: Request, reached: Sequence[str]) -> list[_Token]:
    """The words of a request, with one token for each argument of a parameter that all requests state."""
    tokens = _tokens(request.text)
    for name in reached:
        for said in (_spoken(value) for other, value in request.args if other == name):
            places = _places([token.word if not token.name else "" for token in tokens], said) if said else []
            for start in reversed(places):
                inner = tokens[start : start + len(said)]
                tokens[start : start + len(said)] = [_Token(f"\0{name}", inner[0].start, inner[-1].end, name)]
            if places:
                break
    return tokens


def _common(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence in both."""
    same_start = next((n for n, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    if same_start is None:
        return [(place, place) for place in range(min(len(first), len(second)))]
    if same_start:
        rest = _common(first[same_start:], second[same_start:])
        return [*((n, n) for n in range(same_start)), *((i + same_start, j + same_start) for i, j in rest)]
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in reversed(range(len(first))):
        for j in reversed(range(len(second))):
            same = first[i] == second[j]
            lengths[i][j] = lengths[i + 1][j + 1] + 1 if same else max(lengths[i + 1][j], lengths[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _aligned(rows: Sequence[Sequence[_Token]]) -> list[tuple[int, ...]] | None:
    """The tokens that all requests have in the same order: for each its place in every request.

    Where one request has words between two of these tokens and another has none, the tokens on one side are alike by
    chance; they are left out, the shorter run of them first. None if nothing is left.
    """
    left_out: set[int] = set()
    while anchors := _anchors(rows, left_out):
        uneven = _uneven(rows, anchors)
        if uneven is None:
            return anchors
        before, after = uneven - 1, uneven + 1
        while before > 0 and anchors[before - 1][0] == anchors[before][0] - 1:
            before -= 1
        while after < len(anchors) and anchors[after][0] == anchors[after - 1][0] + 1:
            after += 1
        runs = [run for run in (anchors[max(before, 0) : uneven], anchors[uneven:after]) if run]
        left_out |= {anchor[0] for anchor in min(runs, key=len)}
    return None


def _uneven(rows: Sequence[Sequence[_Token]], anchors: Sequence[tuple[int, ...]]) -> int | None:
    """The number of the first anchor before which some rows have other tokens and some have none; None if all agree."""
    bounds = [(-1,) * len(rows), *anchors, tuple(map(len, rows))]
    for place, (before, after) in enumerate(pairwise(bounds)):
        widths = {end - start - 1 for start, end in zip(before, after, strict=True)}
        if 0 in widths and len(widths) > 1:
            return place
    return None


def _anchors(rows: Sequence[Sequence[_Token]], left_out: set[int]) -> list[tuple[int, ...]]:
    """The longest sequence of tokens in all rows, without those of the first row that are left out."""
    anchors: list[tuple[int, ...]] = [(place,) for place in range(len(rows[0])) if place not in left_out]
    for row in rows[1:]:
        words = [rows[0][anchor[0]].word for anchor in anchors]
        pairs = _common(words, [token.word for token in row])
        anchors = [(*anchors[place], other) for place, other in pairs]
    return anchors


def _assembled(
    requests: Sequence[Request], rows: Sequence[Sequence[_Token]], anchors: Sequence[tuple[int, ...]]
) -> Template:
    """The template of aligned requests."""
    first, spans = requests[0].text, list[tuple[tuple[int, int], ...]]()
    bounds = [(-1,) * len(rows), *anchors, tuple(map(len, rows))]
    for before, after in pairwise(bounds):
        if before[0] >= 0 and rows[0][before[0]].name:  # an argument of a call
            spans.append(tuple((row[place].start, row[place].end) for row, place in zip(rows, before, strict=True)))
        if after[0] - before[0] > 1:
            ends = zip(rows, before, after, strict=True)
            spans.append(tuple((row[start + 1].start, row[end - 1].end) for row, start, end in ends))
    spans = [_with_month(requests, span) for span in spans]
    slots: list[Slot] = []
    edges = [0]
    for span in spans:
        values = [request.text[start:end] for request, (start, end) in zip(requests, span, strict=True)]
        if len({*map(str.casefold, values)}) == 1:  # it is the same everywhere, so it is no slot
            continue
        twin = next((slot for slot in slots if [*map(str.casefold, slot.seen)] == [*map(str.casefold, values)]), None)
        name = twin.name if twin else _named(requests, values, first[: span[0][0]], {slot.name for slot in slots})
        slots.append(Slot(name=name, kind=_kind(requests, values, not span[0][0]), seen=tuple(values)))
        edges += span[0]
    edges.append(len(first))
    texts = tuple(first[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return Template(texts=texts, slots=tuple(slots), requests=len(requests))


def _kind(requests: Sequence[Request], values: Sequence[str], first: bool) -> Literal["text", "number", "choice"]:
    """The kind of a slot with these values.

    Words that no argument has, and that repeat or begin the request, are a choice: they may say what is to be done.
    """
    if all(map(_NUMBER.fullmatch, values)):
        return "number"
    if not first and len({*map(str.casefold, values)}) == len(values):
        return "text"
    for request, value in zip(requests, values, strict=True):
        arguments = " ".join(" ".join(_spoken(argument)) for _, argument in request.args)
        if re.search(r"\d", value) or any(word in arguments for word in _spoken(value)):
            return "text"
    return "choice"


def _with_month(requests: Sequence[Request], span: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """A slot with the day of a month becomes the whole date, also if all requests have the same month."""
    wider: list[tuple[int, int]] = []
    for request, (start, end) in zip(requests, span, strict=True):
        before = _tokens(request.text[:start])
        if not (before and _MONTH.fullmatch(before[-1].word) and request.text[start:end].isdecimal()):
            return span
        wider.append((before[-1].start, end))
    return tuple(wider)


def _named(requests: Sequence[Request], values: Sequence[str], before: str, taken: set[str]) -> str:
    """The name of a slot: the parameter that it reaches in most requests, else the word before it."""
    reached = Counter[str]()
    for request, value in zip(requests, values, strict=True):
        words = _spoken(value)
        reached.update({name for name, argument in request.args if words and _spoken(argument) == words})
    best = [name for name, count in reached.most_common(1) if 2 * count > len(requests)]
    words = [token.word for token in _tokens(before)]
    name = best[0].casefold() if best else words[-1] if words else "words"
    if not _NAME.fullmatch(name) or iskeyword(name):
        name = "words"
    numbered = [name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))]
    return next(one for one in numbered if one not in taken)


def fillings(templates: Sequence[Template], request: str) -> dict[str, Any] | None:
    """The values of a request by the only template that reads it; None if none or several do."""
    read = [values for template in templates if (values := template.parse(request)) is not None]
    return read[0] if len(read) == 1 else None

"""Texts that are put together of constants and values: the cheapest path over the positions of all texts at once."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import count
from typing import Any

from flowmind.build.induction.aggregates import aggregate_features, aggregates
from flowmind.build.induction.bits import LETTER, MOST_SPLITS, is_number
from flowmind.build.induction.features import SUM, applied, enclosed, features, lengths, values_of
from flowmind.build.induction.scopes import Candidate, Context, Explain, Feature, PureCall, Scope
from flowmind.build.induction.spoken import spoken

MOST_STATES = 3_000
MOST_HOLES = 5
START = 4.0
"""The bits of a template beside its parts."""
PART = 2.0
"""The bits of a part beside its own."""
SPOKEN = 1.5
"""A character of a constant part whose word the task's text has."""
DIGIT = 8.0
NUMBER = 16.0
"""A digit, and at least a number, in a constant part: it is more likely a value."""
PLACEHOLDER = 40.0
"""A character of a constant part where a text that the task's text quotes has a placeholder."""
_PLACEHOLDER = re.compile(r"<\w[^<>]*>|\{\w[^{}]*\}")
_TOKEN = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d|\d+(?:\.\d+)?|[^\W\d_]+|.", re.DOTALL)


@dataclass
class _Pool:
    """The values that may stand in the texts: for the written value at each visit its candidates."""

    parts: dict[tuple[str, ...], list[Candidate]] = field(default_factory=dict[tuple[str, ...], list[Candidate]])

    def add(
        self, texts: Sequence[str], wholes: Sequence[str], bits: float, text: str, before: tuple[PureCall, ...]
    ) -> None:
        if all(part and part in whole for part, whole in zip(texts, wholes, strict=True)):
            self.parts.setdefault(tuple(texts), []).append(Candidate(bits + PART, text, before))


def compose(
    context: Context, scopes: Sequence[Scope], values: Sequence[str], depth: int, explain: Explain
) -> list[Candidate]:
    """The templates that give a text at each visit.

    Args:
        context: The search.
        scopes: The visits.
        values: The text at each visit.
        depth: As in `explain`.
        explain: Explains the values of gaps.
    """
    pool = _Pool()
    for feature in _written(context, scopes):
        for bits, text, texts in _forms(feature):
            pool.add(texts, values, bits, text, feature.before)
    path = _cheapest(context, pool, values)
    if path is None or sum(_written_bits(context, path, values[0])) > 40:
        for texts, candidates in _gaps(context, scopes, values, depth, explain):
            for candidate in candidates:
                pool.add(texts, values, candidate.bits, candidate.text, candidate.before)
        path = _cheapest(context, pool, values)
    return [] if path is None else _templates(context, scopes, values, pool, path)


def _written(context: Context, scopes: Sequence[Scope]) -> Iterator[Feature]:
    rich = aggregate_features(context, scopes)[:120]
    for feature in [*features(context, scopes), *lengths(context, scopes), *spoken(context, scopes), *rich]:
        if all(isinstance(value, str) or is_number(value) for value in feature.values):
            yield feature


def _forms(feature: Feature) -> Iterator[tuple[float, str, list[str]]]:
    """The ways to write a value in a text."""
    values = feature.values
    if all(isinstance(value, str) for value in values):
        yield feature.bits, feature.text, list(values)
        for bits, pattern, function in _CASES:
            written = [function(value) for value in values]
            if written != list(values):
                yield feature.bits + bits, applied(pattern, feature.text), written
    elif all(map(is_number, values)):
        yield feature.bits, f"str({feature.text})", [str(value) for value in values]
        if any(isinstance(value, float) for value in values):
            yield feature.bits + 1, f"str(round({feature.text}, 2))", [str(round(value, 2)) for value in values]
            yield feature.bits + 2, f"str(round({feature.text}))", [str(round(value)) for value in values]
        if all(0 <= value < 1e9 for value in values):
            yield feature.bits + 3, _decimals(feature.text), [_two_decimals(value) for value in values]


_CASES: tuple[tuple[float, str, Callable[[str], str]], ...] = (
    (3.0, "{}.title()", str.title),
    (3.0, "{}.lower()", str.lower),
    (3.0, "{}.upper()", str.upper),
    (4.0, "{}.split(' ')[0]", lambda text: text.split(" ")[0]),
    (4.0, "{}.split(' ')[-1]", lambda text: text.split(" ")[-1]),
    (5.0, "{}.replace('_', ' ')", lambda text: text.replace("_", " ")),
    (6.0, "{}[:10]", lambda text: text[:10]),
)


def _decimals(text: str) -> str:
    """The expression of a number with two decimals."""
    cents = f"round({enclosed(text, SUM + 1)} * 100)"
    return f"str({cents} // 100) + '.' + str(100 + {cents} % 100)[1:]"


def _two_decimals(value: float) -> str:
    cents = round(value * 100)
    return f"{cents // 100}.{str(100 + cents % 100)[1:]}"


_Path = list[str | tuple[str, ...]]
"""Constant parts, and the texts of values."""


def _cheapest(context: Context, pool: _Pool, values: Sequence[str]) -> _Path | None:
    """The parts of the cheapest template; None if there is none that has a value."""
    prices = _prices(context, values[0])
    parts = [(min(candidates)[0], texts) for texts, candidates in sorted(pool.parts.items())]
    ends = tuple(map(len, values))
    order = count()
    heap: list[tuple[float, int, tuple[int, ...], bool]] = [(0.0, next(order), (0,) * len(values), False)]
    came: dict[tuple[tuple[int, ...], bool], tuple[tuple[tuple[int, ...], bool], str | tuple[str, ...]]] = {}
    best: dict[tuple[tuple[int, ...], bool], float] = {((0,) * len(values), False): 0.0}
    done: set[tuple[tuple[int, ...], bool]] = set()
    while heap and len(done) < MOST_STATES:
        bits, _, places, constant = heapq.heappop(heap)
        state = (places, constant)
        if state in done:
            continue
        done.add(state)
        if places == ends:
            return _traced(came, state)
        for cost, part in _steps(values, places, prices, parts):
            steps = [len(part)] * len(values) if isinstance(part, str) else list(map(len, part))
            after = (tuple(map(sum, zip(places, steps, strict=True))), isinstance(part, str))
            total = bits + cost + (PART if isinstance(part, str) and not constant else 0.0)
            if after not in done and total < best.get(after, 1e9):
                best[after] = total
                came[after] = (state, part)
                heapq.heappush(heap, (total, next(order), *after))
    context.effort += len(done) * len(parts)
    return None


def _steps(
    values: Sequence[str],
    places: tuple[int, ...],
    prices: Sequence[float],
    parts: Sequence[tuple[float, tuple[str, ...]]],
) -> Iterator[tuple[float, str | tuple[str, ...]]]:
    if all(place < len(value) for place, value in zip(places, values, strict=True)):
        letter = values[0][places[0]]
        if all(value[place] == letter for place, value in zip(places, values, strict=True)):
            yield prices[places[0]], letter
    for bits, texts in parts:
        if values[0].startswith(texts[0], places[0]) and all(
            value.startswith(text, place) for value, text, place in zip(values, texts, places, strict=True)
        ):
            yield bits, texts


def _traced(came: Any, state: Any) -> _Path | None:
    path: _Path = []
    while state in came:
        state, part = came[state]
        if isinstance(part, str) and path and isinstance(path[-1], str):
            path[-1] = part + path[-1]
        else:
            path.append(part)
    return path[::-1] if any(not isinstance(part, str) for part in path) else None


def _prices(context: Context, text: str) -> list[float]:
    """The bits of each character of a text as a part of a constant."""
    prices: list[float] = []
    lower = context.reading.text.lower()
    for token in _TOKEN.findall(text):
        if token[0].isdigit():
            price = max(DIGIT, NUMBER / len(token))
        elif not token.isalpha():
            price = LETTER / 2
        else:
            price = SPOKEN if len(token) > 1 and token.lower() in lower else LETTER
        prices += [price] * len(token)
    for start, end in _placeholders(context, text):
        prices[start:end] = [PLACEHOLDER] * (end - start)
    return prices


def _placeholders(context: Context, text: str) -> list[tuple[int, int]]:
    """Where a text has what a placeholder of a quoted text stands for: of `<n> files` in "3 files".

    If several quoted texts may be meant, it is the one that has most of the text outside of its placeholders.
    """
    best: tuple[int, list[tuple[int, int]]] = (0, [])
    for quoted in context.reading.quoted:
        parts = _PLACEHOLDER.split(quoted)
        size = sum(map(len, parts))
        if len(parts) > 1 and size > best[0]:
            found = re.fullmatch("(.+?)".join(map(re.escape, parts)), text, re.DOTALL)
            if found is not None:
                best = (size, [found.span(group) for group in range(1, len(parts))])
    return best[1]


def _written_bits(context: Context, path: _Path, text: str) -> Iterator[float]:
    """The bits of the parts of a path for a text; 0 for those that are values."""
    prices = _prices(context, text)
    start = 0
    for part in path:
        end = start + len(part if isinstance(part, str) else part[0])
        yield sum(prices[start:end]) if isinstance(part, str) else 0.0
        start = end


def _templates(
    context: Context, scopes: Sequence[Scope], values: Sequence[str], pool: _Pool, path: _Path
) -> list[Candidate]:
    """The template of a path, and those that differ from it in one part."""
    slots = [
        [Candidate(PART + bits, repr(part))] if isinstance(part, str) else sorted(pool.parts[part])[:6]
        for part, bits in zip(path, _written_bits(context, path, values[0]), strict=True)
    ]  # fmt: skip
    found = [_joined([slot[0] for slot in slots])]
    for place, slot in enumerate(slots):
        for other in slot[1:]:
            if other.bits - slot[0].bits < 10:
                found.append(_joined([other if place == at else own[0] for at, own in enumerate(slots)]))
    return [candidate for candidate in found if candidate.before or _gives(context, scopes, candidate.text, values)]


def _joined(parts: Sequence[Candidate]) -> Candidate:
    text = " + ".join(enclosed(part.text, SUM) for part in parts)
    before = tuple(dict.fromkeys(call for part in parts for call in part.before))
    return Candidate(START + sum(part.bits for part in parts), text, before)


def _gives(context: Context, scopes: Sequence[Scope], text: str, values: Sequence[str]) -> bool:
    return values_of(context, scopes, text) == tuple(values)


# Gaps: where the texts differ.


def _gaps(
    context: Context, scopes: Sequence[Scope], values: Sequence[str], depth: int, explain: Explain
) -> Iterator[tuple[tuple[str, ...], list[Candidate]]]:
    """The texts between what all texts share, each with the expressions that give it."""
    if depth > 1:
        return
    inside = len(MOST_SPLITS)  # no choices inside of a text: its visits are split instead
    alike = len(set(values)) == 1
    places = [(text,) * len(values) for text in _NUMBER.findall(values[0])] if alike else _differing(values)
    for texts in places[:MOST_HOLES]:
        numbers = [_number(text) for text in texts]
        found: list[Candidate] = []
        if all(number is not None for number in numbers):
            lists = aggregates(context, scopes, numbers, same=True)[:8] if alike else ()
            for candidate in lists if alike else explain(context, scopes, numbers, "", inside)[:8]:
                for more, written in enumerate((f"str({candidate.text})", _decimals(candidate.text))):
                    if values_of(context, scopes, written) == texts:
                        found.append(Candidate(candidate.bits + more, written, candidate.before))
        if not found and not alike:
            found += explain(context, scopes, list(texts), "", inside)[:8]
        if found and (alike or len(set(texts)) > 1):
            yield texts, found


_NUMBER = re.compile(r"(?<!\w)\d+(?:\.\d+)?(?!\w)")


def _number(text: str) -> int | float | None:
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,15})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{1,15}\.\d{1,9}", text) else None


def _differing(values: Sequence[str]) -> list[tuple[str, ...]]:
    """For each gap between the tokens that all texts share in order the text there."""
    rows = [_TOKEN.findall(value) for value in values]
    shared = rows[0]
    for row in rows[1:]:
        blocks = SequenceMatcher(None, shared, row, autojunk=False).get_matching_blocks()
        shared = [token for block in blocks for token in shared[block.a : block.a + block.size]]
    shared = [token for token in shared if not token[0].isdigit()]
    columns: list[list[str]] = [[] for _ in range(len(shared) + 1)]
    for row in rows:
        start = 0
        for place, token in enumerate(shared):
            if token not in row[start:]:
                return []
            end = row.index(token, start)
            columns[place].append("".join(row[start:end]))
            start = end + 1
        columns[-1].append("".join(row[start:]))
    return [tuple(column) for column in columns if all(column)]

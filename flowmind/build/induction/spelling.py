"""Texts made of other texts: spelled differently, or joined with constant text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from flowmind.build.induction.terms import Term, literal

if TYPE_CHECKING:
    from flowmind.build.induction.pool import Pool

MAX_WRITTEN = 1_000
"""Maximum length of a text that is searched for other texts, in characters."""
MAX_PARTS = 6
MAX_TRIES = 100


def written(pool: Pool, targets: Sequence[str]) -> Iterator[Term]:
    """A text that is another one spelled differently, or a concatenation of texts and constants."""
    if len({*targets}) == 1 or max(map(len, targets)) > MAX_WRITTEN:
        return
    inside: dict[tuple[str, ...], Term] = {}
    for term in pool.plain:
        if not isinstance(term.values[0], str | int):
            continue
        for form, price, spell in _SPELLINGS:
            # seldom in the first text: then the other values need not be spelled
            if not (first := spell(term.values[0])) or first not in targets[0]:
                continue
            values = tuple(map(spell, term.values))
            held = all(part and part in text for part, text in zip(values, targets, strict=True))
            if held and len({*values}) > 1:
                found = Term(values, term.cost + price, None, form.format(term.expr), term.uses)
                inside[values] = min(inside.get(values, found), found, key=lambda one: one.cost)
    longest = sorted(inside.values(), key=lambda term: (-len(term.values[0]), term.cost))[:MAX_PARTS]
    for parts in itertools.islice(_rows(pool, targets, longest, MAX_PARTS, iter(range(MAX_TRIES))), 2):
        cost = sum(part.cost for part in parts) + 0.4 * (len(parts) - 1)
        uses = frozenset[str]().union(*(part.uses for part in parts))
        yield Term(tuple(targets), cost, None, " + ".join(part.expr for part in parts), uses)


def _rows(
    pool: Pool, texts: Sequence[str], inside: Sequence[Term], most: int, tries: Iterator[int]
) -> Iterator[tuple[Term, ...]]:
    """Sequences of terms whose texts form these texts, with the longest possible constant text between them."""
    if next(tries, None) is None:
        return
    if not any(texts):
        yield ()
    elif len({*texts}) == 1:
        yield (_piece(pool, texts[0], len(texts)),)
    for size in range(_shared(texts) if most else -1, -1, -1):
        head = (_piece(pool, texts[0][:size], len(texts)),) if size else ()
        for term in inside:
            if all(text.startswith(value, size) for text, value in zip(texts, term.values, strict=True)):
                rest = [text[size + len(value) :] for text, value in zip(texts, term.values, strict=True)]
                yield from ((*head, term, *more) for more in _rows(pool, rest, inside, most - 1, tries))


def _piece(pool: Pool, text: str, count: int) -> Term:
    return literal(text, count, 0.5 * pool.price(text))


def _shared(texts: Sequence[str]) -> int:
    """The length of the common prefix, in characters."""
    for size, column in enumerate(zip(*texts, strict=False)):
        if len({*column}) > 1:
            return size
    return min(map(len, texts))


def _spelled(spell: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: spell(value) if isinstance(value, str) else ""


_SPELLINGS: tuple[tuple[str, float, Callable[[Any], str]], ...] = (
    ("{}", 0.0, _spelled(str)),
    ("{}.lower()", 0.4, _spelled(str.lower)),
    ("{}.upper()", 0.4, _spelled(str.upper)),
    ("{}.title()", 0.4, _spelled(str.title)),
    ("{}.capitalize()", 0.4, _spelled(str.capitalize)),
    ("{}.strip()", 0.4, _spelled(str.strip)),
    ("{}.replace(' ', '_')", 0.5, _spelled(lambda text: text.replace(" ", "_"))),
    ("{}.lower().replace(' ', '_')", 0.7, _spelled(lambda text: text.lower().replace(" ", "_"))),
    ("str({})", 0.4, lambda value: str(value) if isinstance(value, int) and not isinstance(value, bool) else ""),
)
"""Spellings with their cost and function, which returns an empty text where it does not apply."""

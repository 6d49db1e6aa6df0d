"""What a search builds: terms, and the ways to fill the parameters of a call with them."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowmind.llm.search.program import Source
from tools_registry.specs.schema import json_equal


@dataclass
class Term:
    """A value for each case, and how it is made."""

    source: Source
    values: list[Any]
    size: int
    """How many different calls are in it."""
    score: float
    """How promising it is, apart from what it uses."""
    uses: int = 0
    """The inputs and named constants in it, a bit for each."""
    idle: bool = False
    """Whether it is a call that gives one of its arguments back in every case."""
    inside: tuple[Term, ...] = ()
    """The calls in it, and the fields of their results: what a further call may share with it."""
    fits: dict[str, bool] = field(default_factory=dict[str, bool])
    numbers: tuple[int, ...] = ()
    """Of its values; empty until they are asked for."""


class Values:
    """JSON values by number: equal ones have the same, and only the first of them is held."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value."""
        key = marshal.dumps(value, 2)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.held)
            self.held.append(value)
        return known

    def numbers(self, term: Term) -> tuple[int, ...]:
        """The numbers of a term's values."""
        if not term.numbers:
            term.numbers = tuple(map(self.number, term.values))
        return term.numbers


class Candidate(NamedTuple):
    """A call that may be tried."""

    rank: float
    tool: str
    terms: tuple[Term, ...]
    uses: int
    score: float


class Filling(NamedTuple):
    """Terms for some parameters of a call."""

    terms: tuple[Term, ...]
    uses: int
    score: float


Groups = dict[int, list[Filling]]
"""Fillings by what they use, the best first."""
NOTHING: Groups = {0: [Filling((), 0, 0.0)]}
"""The one way to fill no parameter."""


def grouped(fillings: Iterable[Filling]) -> Groups:
    """Fillings by what they use, the best first."""
    groups: Groups = {}
    for filling in fillings:
        groups.setdefault(filling.uses, []).append(filling)
    for group in groups.values():
        group.sort(key=lambda filling: -filling.score)
    return groups


def gives(term: Term, wanted: Sequence[Any]) -> bool:
    """Whether a term gives the known answers, those of the first cases."""
    return all(json_equal(ours, theirs) for ours, theirs in zip(term.values, wanted, strict=False))


def is_large(term: Term) -> bool:
    """Whether a term is a list or an object."""
    return isinstance(term.values[0], (list, dict))


def texts(terms: Sequence[Term]) -> list[Term]:
    """The terms that are texts in every case."""
    return [term for term in terms if all(isinstance(value, str) for value in term.values)]

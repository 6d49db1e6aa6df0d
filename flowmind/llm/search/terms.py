"""What a search builds: terms, and the ways to fill the parameters of a call with them."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowmind.llm.search.program import Source
from tools_registry.schema import json_equal


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


def identity(values: list[Any], uses: int) -> tuple[int, bytes]:
    """What two terms have in common that need not both be kept."""
    return uses, marshal.dumps(values, 2)


def gives(term: Term, wanted: Sequence[Any]) -> bool:
    """Whether a term gives the known answers, those of the first cases."""
    return all(json_equal(ours, theirs) for ours, theirs in zip(term.values, wanted, strict=False))


def is_large(term: Term) -> bool:
    """Whether a term is a list or an object."""
    return isinstance(term.values[0], (list, dict))


def texts(terms: Sequence[Term]) -> list[Term]:
    """The terms that are texts in every case."""
    return [term for term in terms if all(isinstance(value, str) for value in term.values)]

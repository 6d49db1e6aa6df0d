"""Terms, which a search builds, and fillings of the parameters of a call with terms."""

from __future__ import annotations

import marshal
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowmind.llm.search.program import Source
from tools_registry.specs.schema import json_equal


@dataclass
class Term:
    """An expression with its value in each case."""

    source: Source
    values: list[Any]
    size: int
    """The number of different calls in it."""
    score: float
    """Its rank among terms with the same uses; higher is more promising."""
    uses: int = 0
    """The inputs and named constants in it, as bits of `Uses`."""
    idle: bool = False
    """Whether it is a call that returns one of its arguments in every case."""
    inside: tuple[Term, ...] = ()
    """The calls in it and the fields of their results; a further call may use them again."""
    fits: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether it fits a parameter, by the parameter's shape."""
    numbers: tuple[int, ...] = ()
    """The numbers of its values in `Values`; empty until they are needed."""


class Values:
    """JSON values by number. Equal values have the same number, and the first of them is kept."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value."""
        key = marshal.dumps(value, 2)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.values)
            self.values.append(value)
        return known

    def numbers(self, term: Term) -> tuple[int, ...]:
        """The numbers of the values of a term."""
        if not term.numbers:
            term.numbers = tuple(map(self.number, term.values))
        return term.numbers


_AGAIN = 0.7
"""The penalty for each named constant that is used twice."""
_AGAIN_INPUT = 0.25
"""The penalty for each input that is used twice."""
_INPUT = 1.5
"""The weight of an input."""


class Uses:
    """Sets of inputs and named constants, each set as the bits of an integer.

    Args:
        inputs: The names of the inputs.
        weights: The weight of each named constant, by its `repr`. Other constants weigh nothing.
    """

    def __init__(self, inputs: Iterable[str], weights: Mapping[str, float]) -> None:
        self._weights = {**{f"input {name}": _INPUT for name in inputs}}
        self._inputs = (1 << len(self._weights)) - 1
        self._weights |= weights
        self._bits = {name: 1 << at for at, name in enumerate(self._weights)}
        self._known: dict[int, float] = {}
        self._repeated: dict[int, float] = {}

    def of_input(self, name: str) -> int:
        """The set of one input."""
        return self._bits[f"input {name}"]

    def of_constants(self, names: Iterable[str]) -> int:
        """The set of named constants, each by its `repr`."""
        uses = 0
        for name in names:
            uses |= self._bits[name]
        return uses

    def weight(self, uses: int) -> float:
        """The sum of the weights in a set."""
        weight = self._known.get(uses)
        if weight is None:
            parts = (part for part, bit in zip(self._weights.values(), self._bits.values(), strict=True) if uses & bit)
            weight = self._known[uses] = math.fsum(parts)
        return weight

    def penalty(self, uses: int) -> float:
        """The penalty for using the inputs and constants of a set twice."""
        penalty = self._repeated.get(uses)
        if penalty is None:
            penalty = _AGAIN * self.weight(uses & ~self._inputs) + _AGAIN_INPUT * (uses & self._inputs).bit_count()
            self._repeated[uses] = penalty
        return penalty


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
"""Fillings by their uses, the best first."""
NOTHING: Groups = {0: [Filling((), 0, 0.0)]}
"""The only filling of no parameter."""


def grouped(fillings: Iterable[Filling]) -> Groups:
    """Fillings by their uses, the best first."""
    groups: Groups = {}
    for filling in fillings:
        groups.setdefault(filling.uses, []).append(filling)
    for group in groups.values():
        group.sort(key=lambda filling: -filling.score)
    return groups


def gives(term: Term, wanted: Sequence[Any]) -> bool:
    """Whether a term has the known answers in the first cases."""
    return all(json_equal(value, answer) for value, answer in zip(term.values, wanted, strict=False))


def is_large(term: Term) -> bool:
    """Whether a term is a list or an object."""
    return isinstance(term.values[0], (list, dict))


def texts(terms: Sequence[Term]) -> list[Term]:
    """The terms that are texts in every case."""
    return [term for term in terms if all(isinstance(value, str) for value in term.values)]

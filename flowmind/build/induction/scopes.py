"""Scopes, and what the search says about them: features, candidates, and the context that all modules share.

A scope has the variables at one visit of a place, as the emitted workflow has them: one flat scope, so that in a round
of a loop the variables of the body still have the values of the round before (None in the first round).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from flowmind.build.induction.reading import Reading


class Scope(dict[str, Any]):
    """The variables at one visit of a place.

    Args:
        variables: The variables.
        trace: The number of the trace, from 0.
        key: Identifies the visit: scopes with equal keys have equal variables and reasons.
        reasons: The tests that have ended repetitions before: what follows is likely to make them again.
    """

    __slots__ = ("key", "reasons", "trace")

    def __init__(self, variables: Mapping[str, Any], trace: int, key: Hashable, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(variables)
        self.trace = trace
        self.key = key
        self.reasons = reasons

    def with_variables(self, key: Hashable, **variables: Any) -> Scope:
        """A scope with more variables."""
        return Scope({**self, **variables}, self.trace, (self.key, key), self.reasons)


class PureCall(NamedTuple):
    """A call of a pure tool that computes a variable which an expression reads."""

    tool: str
    args: tuple[tuple[str, str], ...]
    """Each argument with its expression."""
    output: str
    """The variable."""


class Candidate(NamedTuple):
    """An expression that explains a value or a decision at all visits."""

    bits: float
    """The length of its description; the lower, the likelier."""
    text: str
    """The expression, in the workflow's expression language."""
    before: tuple[PureCall, ...] = ()
    """Calls of pure tools that must stand before it."""


class Chosen(NamedTuple):
    """The elements of a list that meet a test: `[item for item in source if test]`."""

    item: str
    source: str
    test: str


class Feature(NamedTuple):
    """An expression with its value at each scope of a list of scopes."""

    bits: float
    text: str
    values: tuple[Any, ...]
    """UNSET where it has no value: a variable or a key is absent."""
    keys: tuple[Hashable, ...]
    """The values in canonical form (`canonical`)."""
    before: tuple[PureCall, ...] = ()
    chosen: Chosen | None = None
    """If its values are those elements of a list that meet a test: how they are chosen."""


Explain = Callable[["Context", Sequence[Scope], Sequence[Any], str, int], tuple[Candidate, ...]]
"""`explain`, for the modules on which it rests: the expressions that give a value at each visit."""


@dataclass
class Context:
    """What the modules of one search share."""

    reading: Reading
    """The task's text."""
    texts_of_inputs: tuple[frozenset[str], ...] = ()
    """For each trace the texts in its inputs: a constant equal to one of them is suspicious."""
    marks: tuple[str, ...] = ()
    """Texts that all calls of a tool have as an argument: conditions may look for them."""
    memo: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    effort: int = 0
    """Work done so far, in vectors compared. It bounds the search in place of a clock, so that results repeat."""
    limit: int = 1_500_000
    totals: tuple[Candidate, ...] = ()
    """Computed numbers and lists that explain values of a first program: they cost little in others.

    Their bits are those above the likeliest expression for the same value.
    """
    siblings: tuple[Candidate, ...] = ()
    """The expressions of the other numbers of an object, of which one is being explained."""
    brief: bool = False
    """Whether values and conditions are explained without aggregates and case distinctions: for a first look."""
    items: dict[str, str] = field(default_factory=dict[str, str])
    """The variables with the elements of loops, each with its list."""
    rows: dict[str, bool] = field(default_factory=dict[str, bool])
    """The variables with the rows of loops, each with whether its last round is the deciding one."""
    repeated: set[str] = field(default_factory=set[str])
    """The variables with the rows of repetitions."""
    empty: set[str] = field(default_factory=set[str])
    """Those of loops that may have no round."""
    carried: set[str] = field(default_factory=set[str])
    """The variables that have values of the round before, and none in the first round."""

    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _known: dict[int, tuple[Any, int]] = field(default_factory=dict[int, tuple[Any, int]])

    @contextmanager
    def share(self, part: float = 0.5) -> Generator[None]:
        """A part of the work that is left, for one of several ways."""
        around = self.limit
        self.limit = min(around, self.effort + int(max(0, around - self.effort) * part))
        try:
            yield
        finally:
            self.limit = around

    @property
    def exhausted(self) -> bool:
        """Whether the search should only finish what it has begun."""
        return self.effort >= self.limit

    def scope(self, variables: Mapping[str, Any], trace: int, reasons: tuple[str, ...] = ()) -> Scope:
        """A scope whose key is shared by all scopes of the trace with equal variables and reasons.

        So what is found at some visits is known wherever the same visits stand again: in another way to read the runs,
        or in another loop around them.
        """
        parts = frozenset((name, self._number(value)) for name, value in variables.items())
        key = self._numbers.setdefault((trace, parts, reasons), len(self._numbers))
        return Scope(variables, trace, key, reasons)

    def _number(self, value: Any) -> int:
        """A number that values share exactly if they are equal as JSON."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        key: Hashable
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value)
            key = ("object", frozenset((name, self._number(part)) for name, part in fields.items()))
        elif isinstance(value, list):
            key = ("list", tuple(self._number(part) for part in cast(list[Any], value)))
        else:
            return self._numbers.setdefault(("atom", canonical(value)), len(self._numbers))
        number = self._numbers.setdefault(key, len(self._numbers))
        self._known[id(cast(Any, value))] = cast(Any, value), number  # so that no other value gets its id
        return number


def canonical(value: Any) -> Hashable:
    """A key that two values share exactly if they are equal as JSON. Floats are rounded to nine digits."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return (0, value)
    if isinstance(value, int | float):
        return (1, int(value) if float(value).is_integer() else round(value, 9))
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return (2, tuple(sorted((key, canonical(part)) for key, part in fields.items())))
    if isinstance(value, list):
        return (3, tuple(canonical(part) for part in cast(list[Any], value)))
    return (4, repr(value))

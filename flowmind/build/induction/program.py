"""Structured programs: the result of the search, and the input of emission.

Every variable is named as in the emitted workflow. A block is a sequence of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from flowmind.build.induction.scopes import Candidate


class Record(NamedTuple):
    """A visit of a place: the variables before it, and the value that it had."""

    variables: Mapping[str, Any]
    value: Any


@dataclass(frozen=True)
class Slot:
    """A value or a decision of the program, with all expressions that explain it, the likeliest first."""

    candidates: tuple[Candidate, ...]
    """Empty if nothing explains it."""
    steps: tuple[tuple[int, int], ...] = ()
    """The steps that show it, each as trace and step, both from 1. The answer counts as a step after the last one."""
    omitted: tuple[Candidate, ...] = ()
    """Of an optional argument: the conditions under which it is left out, the likeliest first. Empty if it is always
    given."""
    records: tuple[Record, ...] = ()
    """If nothing explains it: what an expression would have to give."""

    @property
    def bits(self) -> float:
        """The bits of the likeliest candidate."""
        return sum(group[0].bits for group in (self.candidates, self.omitted) if group)


@dataclass(frozen=True)
class CallStep:
    """Calls a tool; `output` is set to its result."""

    tool: str
    output: str
    args: dict[str, Slot]


@dataclass(frozen=True)
class If:
    """Runs one of two blocks. Variables that only one of them sets are None after the other."""

    condition: Slot
    then: Block
    otherwise: Block


@dataclass(frozen=True)
class State:
    """A variable that a loop changes at the end of each round, after its calls and before its test."""

    name: str
    start: Slot
    """The value before the first round, over the variables before the loop."""
    update: Slot
    """The next value, over the variables of the round and the value so far. It reads no other state."""


@dataclass(frozen=True)
class ForEach:
    """Runs a block for each element of a list.

    After it `rows` is set, and `stopped` if it may end early. The other variables of the body are not.
    """

    source: Slot
    """A list."""
    item: str
    """The variable of the element."""
    body: Block
    rows: str
    """The variable with the list of the finished rounds: for each an object of `item` and of the variables that the
    body sets. In the body it has the rounds so far."""
    index: str = ""
    """The variable with the number of the round among those that are not skipped, from 0; empty if nothing reads it."""
    where: Slot | None = None
    """A condition over `item` and the variables before the loop: other elements are skipped."""
    stop: Slot | None = None
    """A condition at the end of a round: the loop ends. The round counts as finished."""
    stopped: str = ""
    """The variable that tells whether `stop` ended the loop."""
    states: tuple[State, ...] = ()


@dataclass(frozen=True)
class DoWhile:
    """Runs a block, and again while a condition holds at its end.

    Before the first round the variables of the body are None. After it they have the values of the last round, and
    `rows` the list of all rounds: for each an object of the variables that the body sets.
    """

    body: Block
    again: Slot
    rows: str
    index: str = ""
    """The variable with the number of the round, from 0; empty if nothing reads it."""
    states: tuple[State, ...] = ()
    first: bool = False
    """Whether `again` is tested before each round, also the first, so that there may be none: a while loop. Then the
    variables of the body are not set after it."""


@dataclass(frozen=True)
class Return:
    """Ends the program with an answer, also inside of a branch or a loop."""

    value: Slot


Step = CallStep | If | ForEach | DoWhile | Return
Block = tuple[Step, ...]


@dataclass(frozen=True)
class StructuredProgram:
    """A program that explains the traces."""

    body: Block
    bits: float
    """The length of its description, of the calls, and of what it leaves unexplained."""
    left_out: tuple[str, ...] = ()
    """Tools whose calls were left out because nothing needs their results."""

"""How often workflows answer, and how often their answers are wrong: outcomes, risk against coverage, calibration.

A workflow with rivals is a selective predictor: it abstains (doubt) where a rival disagrees with it. Its confidence in
an answer is the number of bits by which the likeliest rival that disagrees is longer; without such a rival it is
unlimited. Counting only the rivals within a number of bits gives more answers with more risk. Source of risk, coverage
and the area under their curve: El-Yaniv and Wiener, JMLR 2010; Geifman and El-Yaniv, NeurIPS 2017.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from math import inf
from typing import Literal, get_args

from flowmind.evaluation.statistics import Rate, rate
from tools_registry.specs.spec import Record

Outcome = Literal["right", "doubt", "failed", "wrong"]
"""What came of an unseen input.

`right`: the right answer, and the right writes. `doubt`: rivals disagreed, and no wrong write was made before.
`failed`: an error or no workflow, and no wrong write. `wrong`: anything else, that is a wrong answer or write which
nothing tells (*silently wrong*).
"""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Unseen(Record):
    """A workflow on an unseen input."""

    right: bool = False
    """Whether the workflow without its rivals gives the right answer, and makes the right writes."""
    answered: bool = False
    """Whether the workflow without its rivals gives an answer."""
    bits: float | None = None
    """The fewest bits of a rival that disagrees; None if none does."""
    wrong_write: bool = False
    """Whether a wrong write was made: a call of a tool that may change something, which is not among the right ones. If
    rivals disagree, before they did."""
    wrong_write_alone: bool = False
    """Whether the workflow without its rivals makes a wrong write."""

    @property
    def outcome(self) -> Outcome:
        """What came of it."""
        if self.wrong_write:
            return "wrong"
        if self.bits is not None:
            return "doubt"
        return "right" if self.right else "wrong" if self.answered else "failed"


def outcomes(tested: Iterable[Unseen]) -> dict[Outcome, int]:
    """The number of each outcome."""
    counts = Counter(one.outcome for one in tested)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


class Point(Record):
    """The risk at a coverage."""

    coverage: float
    """The share of inputs with an answer, or with a wrong write and an error after it, 0 to 1."""
    risk: float
    """The share of these whose answer or writes are wrong, 0 to 1."""
    bits: float | None
    """Rivals with at most so many bits above the workflow were counted; None for all rivals."""


def curve(tested: Sequence[Unseen]) -> tuple[Point, ...]:
    """Risk against coverage, from the least coverage (all rivals count) to the greatest (none does)."""
    answered = sorted((one for one in tested if one.answered or one.wrong_write_alone), key=_confidence, reverse=True)
    points: list[Point] = []
    count = wrong = 0
    for confidence, group in groupby(answered, _confidence):
        same = list(group)
        count += len(same)
        wrong += sum(not one.right for one in same)
        bits = None if confidence == inf else confidence
        points.append(Point(coverage=count / len(tested), risk=wrong / count, bits=bits))
    return tuple(points)


def _confidence(one: Unseen) -> float:
    return inf if one.bits is None else one.bits


def area(points: Sequence[Point]) -> float:
    """The area under a curve divided by its greatest coverage: the mean risk, 0 to 1. 0 is best.

    Below the least coverage the risk is that of the first point.
    """
    if not points:
        return 0.0
    covered = points[0].coverage * points[0].risk
    for one, other in pairwise(points):
        covered += (other.coverage - one.coverage) * (one.risk + other.risk) / 2
    return covered / points[-1].coverage


def coverage_at(points: Sequence[Point], risk: float) -> float:
    """The greatest coverage whose risk is not above a limit; 0 if there is none."""
    return max((point.coverage for point in points if point.risk <= risk), default=0.0)


class Calibrated(Record):
    """The workflows with a share of traces that were predicted by the others, and what became of them."""

    name: str
    workflows: int
    right: Rate
    """Those that are right on all unseen inputs."""
    silent: Rate
    """Those with an input on which they are silently wrong."""


Foretold = tuple[int, int, Sequence[Unseen]]
"""Of one workflow: the traces that were predicted right when they were left out, all traces, and the unseen inputs."""


def calibration(workflows: Iterable[Foretold]) -> tuple[Calibrated, ...]:
    """How far *predicted* can be trusted: by all, some or none of the traces, the share of right workflows."""
    groups: dict[str, list[Sequence[Unseen]]] = {"all": [], "some": [], "none": []}
    for predicted, traces, tested in workflows:
        if traces:
            groups["all" if predicted == traces else "some" if predicted else "none"].append(tested)
    return tuple(
        Calibrated(
            name=name,
            workflows=len(group),
            right=rate(sum(all(one.outcome == "right" for one in tested) for tested in group), len(group)),
            silent=rate(sum(any(one.outcome == "wrong" for one in tested) for tested in group), len(group)),
        )
        for name, group in groups.items()
        if group
    )

"""The outcome of a case in words that are true of it, and the ranking of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from experiments.loading import PASSED, Cases, Loaded, Test, grouped
from experiments.naming import shown_mode
from experiments.record import CaseRecord
from flowmind.evaluation.statistics import McNemar, holm, mcnemar

OUTCOMES = {
    "passed": "passed all held-out tests",
    "wrong": "wrong on held-out tests",
    "unsound": "workflow not sound",
    "none": "no workflow",
    "error": "error of the endpoint",
}
"""The outcomes of a case, by name."""
_NAMED = 3
"""The most runs that a sentence names."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case."""

    outcome: str
    """A key of `OUTCOMES`."""
    passed: int
    """The number of held-out tests that were passed."""
    tests: int

    @property
    def words(self) -> str:
        """Such as `wrong on held-out tests (3 of 5)`; without tests, what is said of the answer of an execution."""
        if not self.tests and self.outcome in ("passed", "wrong"):
            return f"executed {'right' if self.outcome == 'passed' else 'wrong'}"
        wrong = self.tests - self.passed
        if self.outcome == "wrong":
            return f"wrong on held-out tests ({wrong} of {self.tests})"
        if self.outcome == "passed":
            return f"passed all {self.tests} held-out tests" if self.tests > 1 else "passed its held-out test"
        return OUTCOMES[self.outcome]

    @property
    def sign(self) -> str:
        """One character: the number of passed tests if some failed."""
        if self.outcome == "wrong" and self.tests:
            return str(self.passed) if self.passed < 10 else "+"
        return {"passed": "✓", "wrong": "✗", "unsound": "△", "none": "–", "error": "!"}[self.outcome]

    @property
    def shade(self) -> str:
        """The class of its colour: the share of passed tests in four steps for a wrong workflow."""
        if self.outcome != "wrong":
            return self.outcome
        share = self.passed / self.tests if self.tests else 0.0
        return f"wrong w{min(3, int(4 * share))}"


def verdict(record: CaseRecord) -> Verdict:
    """The outcome of a case; that of a mode which executes only is the outcome of the execution."""
    passed = sum(score.passed for score in record.tests)
    if record.error is not None:
        outcome = "error"
    elif record.guided:
        outcome = "passed" if record.exec_correct else "wrong"
    elif record.passed:
        outcome = "passed"
    elif record.graph_valid:
        outcome = "wrong"
    else:
        outcome = "unsound" if record.problems else "none"
    return Verdict(outcome, passed, len(record.tests))


def solved(record: CaseRecord) -> bool | None:
    """Whether the workflow is right on every example; None if the run did not try it on them."""
    if "solved" in record.scores:
        return record.holds("solved")
    derivation = record.derivation
    if derivation is None or not derivation.examples:
        return None
    return record.graph_valid and derivation.whole


# Which run is best


def compare(records: Sequence[CaseRecord], others: Sequence[CaseRecord], test: Test = PASSED) -> McNemar:
    """The McNemar test of two sets of records on the cases that both have; seeds are paired in order.

    Args:
        records, others: The records.
        test: What is compared; by default whether all held-out tests were passed.
    """
    first, second = _by_case(records), _by_case(others)
    pairs = [
        (test(mine), test(theirs))
        for id in first.keys() & second.keys()
        for mine, theirs in zip(first[id], second[id], strict=False)
    ]
    return mcnemar(pairs)


def _by_case(records: Iterable[CaseRecord]) -> dict[str, list[CaseRecord]]:
    by_case: dict[str, list[CaseRecord]] = {}
    for record in records:
        by_case.setdefault(record.id, []).append(record)
    return by_case


def best(runs: Sequence[Loaded]) -> str:
    """The runs that pass the most cases, ties included, and the differences that are more than chance.

    A difference is claimed only where the exact McNemar test on the same cases has p below 0.05, corrected for the
    number of runs that are compared (Holm). Runs with gold traces are left out.
    """
    cells = [cell for cell in grouped([run for run in runs if not run.gold]) if cell.records]
    if len({cell.runs[0].model for cell in cells}) == 1:  # one model: the modes tell the runs apart
        cells = [replace(cell, names=(shown_mode(cell.runs[0].mode, cell.runs[0].variant),)) for cell in cells]
    if not cells:
        return "No run that executed has a completed case."
    if len(cells) == 1:
        return f"{cells[0].label} passes {_count(cells[0], ' cases')}."
    most = max(_share(cell) for cell in cells)
    leaders = [cell for cell in cells if _share(cell) == most]
    others = [cell for cell in cells if _share(cell) < most]
    gold = any(run.gold for run in runs)
    among = "Of the runs that executed, " if gold else ""
    if not others:
        every = f"all {len(cells)}" if gold else f"All {len(cells)} runs"
        return f"{among}{every} pass the same share of cases: {_each(leaders)}."
    verb = "passes" if len(leaders) == 1 else "pass"
    return f"{among}{_listed(leaders)} {verb} the most cases, {_each(leaders)}{_separated(leaders, others)}."


def _share(cell: Cases) -> float:
    return cell.rate().count / len(cell.records)


def _count(cell: Cases, noun: str = "") -> str:
    runs = f" ({len(cell.runs)} runs)" if len(cell.runs) > 1 else ""
    return f"{cell.rate().count} of {len(cell.records)}{noun}{runs}"


def _each(cells: Sequence[Cases]) -> str:
    """The counts of runs that pass the same share."""
    counts = list(dict.fromkeys(map(_count, cells)))
    return f"{counts[0]} each" if len(counts) == 1 and len(cells) > 1 else " and ".join(counts)


def _listed(cells: Sequence[Cases]) -> str:
    names = [cell.label for cell in cells[:_NAMED]]
    if len(cells) > _NAMED:
        return f"{', '.join(names)} and {len(cells) - _NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _separated(leaders: Sequence[Cases], others: Sequence[Cases]) -> str:
    """What can be said about the differences to the other runs."""
    tests = [[compare(leader.records, other.records) for leader in leaders] for other in others]
    shared = [(other, max(test.p for test in row)) for other, row in zip(others, tests, strict=True) if row[0].cases]
    corrected = holm([p for _, p in shared])
    clear = [(other, p) for (other, _), p in zip(shared, corrected, strict=True) if p < 0.05]
    open_ = [(other, p) for (other, _), p in zip(shared, corrected, strict=True) if p >= 0.05]
    apart = [other for other, row in zip(others, tests, strict=True) if not row[0].cases]
    parts: list[str] = []
    if clear:
        parts.append(f"; significantly more than {_listed([cell for cell, _ in clear])} ({_p('<', clear)})")
    if open_:
        differs = f"the difference to {_listed([cell for cell, _ in open_])} is not significant"
        parts.append(f"; {differs} ({_p('≥', open_)})")
    if apart:
        parts.append(f"; {_listed(apart)} ran on other cases and cannot be compared")
    return "".join(parts)


def _p(sign: str, tests: Sequence[tuple[Cases, float]]) -> str:
    values = [p for _, p in tests]
    value = max(values) if sign == "<" else min(values)
    if value > 0.995:
        return "p = 1"
    if len(values) == 1:
        return f"p = {value:.2f}" if value >= 0.01 else f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"
    if sign == "<":
        return f"p ≤ {value:.3f}" if value >= 0.001 else "p < 0.001"
    return f"p ≥ {value:.2f}"

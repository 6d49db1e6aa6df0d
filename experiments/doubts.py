"""Tables about doubt: what came of unseen inputs, risk against coverage, and how far predictions can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments import figures
from experiments.loading import Cases, Loaded, grouped, having
from experiments.tables import Table, Value, table
from flowmind.evaluation.coverage import Point, Unseen, area, calibration, coverage_at, curve, outcomes
from flowmind.evaluation.statistics import rate

_LIMITS = (0.01, 0.05)
"""The risks whose coverage is shown."""


def tested(cases: Cases) -> list[Unseen]:
    """All held-out tests of some cases."""
    return [score.unseen for record in cases.records for score in record.tests]


def doubt(runs: Sequence[Loaded]) -> Table | None:
    """What came of the held-out tests: right, doubt, failed, silently wrong; by category."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        names = sorted({record.category for record in cell.records} - {""})
        groups = [("all", cell), *((name, cell.where(having(category=name))) for name in names if len(names) > 1)]
        rows += [(cell.label, name, *_outcomes(group)) for name, group in groups if tested(group)]
    says = (
        "Each held-out test is one of four. `right`: the right answer, and the right writes. `doubt`: rivals of the "
        "workflow disagree with it, or too few of its traces were predicted (`--predict`), so the run ends without an "
        "answer. `failed`: an error, or no workflow. `silently "
        "wrong`: a wrong answer or a wrong write that nothing tells. A write is wrong if the gold does not make it. "
        "Fully right workflows are right on every test. In all other tables a doubt is a test that was not passed."
    )
    head = (
        "run", "category", "workflows", "fully right", "tests", "right", "doubt", "failed", "silently wrong",
        "wrong writes",
    )  # fmt: skip
    return table("doubt", "Right, in doubt, silently wrong", head, rows, says)


def _outcomes(cases: Cases) -> tuple[Value, ...]:
    every = tested(cases)
    counts = outcomes(every)
    shares = (rate(counts[name], len(every)) for name in ("right", "doubt", "failed", "wrong"))
    writes = sum(one.wrong_write for one in every)
    return cases.count(having(graph_valid=True)), cases.rate(), len(every), *shares, writes


def risk_coverage(runs: Sequence[Loaded]) -> Table | None:
    """Risk against coverage of the runs whose workflows have rivals, with the curves."""
    rows: list[tuple[Value, ...]] = []
    lines: dict[str, Sequence[Point]] = {}
    for cell in grouped(runs):
        every = tested(cell)
        points = curve(every)
        if not points or not any(score.compared for record in cell.records for score in record.tests):
            continue
        lines[cell.label] = points
        least, most = points[0], points[-1]
        shares = (least.coverage, least.risk, most.coverage, most.risk, area(points))
        limits = (coverage_at(points, limit) for limit in _LIMITS)
        rows.append((cell.label, len(every), *(f"{100 * share:.1f}" for share in (*shares, *limits))))
    says = (
        "Coverage is the share of held-out tests with an answer, risk the share of these that are wrong, in percent. "
        "With all rivals a run answers where none of them disagrees; without rivals it always answers. Between the "
        "two, only rivals count whose description is at most so many bits longer. Area: the mean risk over the "
        "coverages; 0 is best."
    )
    head = (
        "run", "tests", "coverage, all rivals", "risk", "coverage, no rivals", "risk without", "area",
        *(f"coverage at risk ≤ {100 * limit:.0f} %" for limit in _LIMITS),
    )  # fmt: skip
    return table("risk_coverage", "Risk against coverage", head, rows, says, figure=figures.curves(lines))


def calibrated(runs: Sequence[Loaded]) -> Table | None:
    """How many workflows are right, by the traces that were predicted when they were left out."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        foretold = [
            (forecast.predicted, len(forecast.predictions), [score.unseen for score in record.tests])
            for record in cell.records
            if record.derivation is not None and (forecast := record.derivation.forecast) is not None
        ]
        rows += [
            (cell.label, group.name, group.workflows, group.right, group.silent) for group in calibration(foretold)
        ]
    says = (
        "Each trace is left out in turn, and the workflow of the others is run on its inputs. The table shows the "
        "workflows for which all, some or none of the traces were predicted in this way: how many of them are right on "
        "all held-out tests, and how many are silently wrong on one. Only runs with `--predict` have rows."
    )
    head = ("run", "traces predicted", "workflows", "right on all tests", "silently wrong on a test")
    return table("calibration", "What a prediction is worth", head, rows, says)


ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "doubt": doubt,
    "risk_coverage": risk_coverage,
    "calibration": calibrated,
}

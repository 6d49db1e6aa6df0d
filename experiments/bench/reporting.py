"""The report on benchmarks, as Markdown and as JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.bench.measuring import Measured, Outcome, Reached, Spread
from experiments.provenance import surroundings
from experiments.tables import markdown as table
from tools_registry.specs.spec import Record

PACKAGES = (
    "flowmind-es", "aiohttp", "httpx", "json-repair", "langgraph", "openai", "pydantic", "pydantic-monty",
    "RestrictedPython",
)  # fmt: skip


class Report(Record):
    """All benchmarks that were measured together."""

    machine: dict[str, Any]
    """Python, platform, processor, cores and git revision."""
    versions: dict[str, str | None]
    """The versions of `PACKAGES`; None if a package is not installed."""
    outcomes: tuple[Outcome, ...]


def report_on(outcomes: Sequence[Outcome]) -> Report:
    """A report, with the description of this machine and the installed versions."""
    machine = surroundings(PACKAGES)
    versions = machine.pop("packages")
    machine |= {"processor": _processor(), "cores": len(os.sched_getaffinity(0))}
    return Report(machine=machine, versions=versions, outcomes=tuple(outcomes))


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def markdown(report: Report) -> str:
    """The machine, a table of the goals, and a table of everything that was measured."""
    versions = ", ".join(f"{name} {number or 'absent'}" for name, number in report.versions.items())
    goals = [_goal_row(outcome, goal) for outcome in report.outcomes for goal in outcome.goals]
    rows = [_row(outcome, measured) for outcome in report.outcomes for measured in outcome.contenders]
    parts = [
        "Python {python}, {platform}, {cores} cores of {processor}; ".format(**report.machine) + f"{versions}.",
        "Values are medians of interleaved rounds, with the least and the greatest; a ratio is the median of the "
        "rounds' ratios.",
        table(["goal", "wanted", "measured", "range", "met"], goals),
        table(["work", "contender", "median", "range", "unit"], rows),
    ]
    return "\n\n".join(parts) + "\n"


def _goal_row(outcome: Outcome, goal: Reached) -> list[str]:
    suffix = f" {outcome.unit}" if goal.kind in ("over", "within") else "×"
    sign = "≥" if goal.kind == "faster" else "≤"
    slower = "more than" if outcome.unit == "KB" else "slower than"
    what = {"faster": ", faster than ", "slower": f", {slower} ", "over": ", over ", "within": ""}[goal.kind]
    head = [f"{outcome.name}: {goal.ours}{what}{goal.peer}", f"{sign} {number(goal.bound)}{suffix}"]
    if goal.spread is None:
        return [*head, "–", "–", "not measured"]
    measured = f"{number(goal.spread.median)}{suffix}"
    return [*head, measured, _range(goal.spread), "met" if goal.met else "**not met**"]


def _row(outcome: Outcome, measured: Measured) -> list[str]:
    unit = f"{outcome.each} per second" if outcome.unit == "per second" else f"{outcome.unit} {outcome.each}"
    if measured.spread is None:
        return [outcome.title, measured.name, measured.note, "–", unit]
    return [outcome.title, measured.name, number(measured.spread.median), _range(measured.spread), unit]


def _range(spread: Spread) -> str:
    return f"{number(spread.low)} – {number(spread.high)}"


def number(value: float) -> str:
    """A number with three significant digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

"""What was measured, as Markdown and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.bench.measuring import Measured, Outcome, Reached, Spread
from tools_registry.specs.spec import Record

PACKAGES = (
    "flowmind-es", "aiohttp", "httpx", "json-repair", "langgraph", "openai", "pydantic", "pydantic-monty",
    "RestrictedPython",
)  # fmt: skip


class Machine(Record):
    """Where it was measured."""

    python: str
    system: str
    processor: str
    cores: int


class Report(Record):
    """A whole run."""

    machine: Machine
    versions: dict[str, str | None]
    """None: not installed."""
    outcomes: tuple[Outcome, ...]


def report_on(outcomes: Sequence[Outcome]) -> Report:
    """A report, with this machine and the versions installed here."""
    machine = Machine(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
    )
    return Report(machine=machine, versions={name: _version(name) for name in PACKAGES}, outcomes=tuple(outcomes))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    names = (line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name"))
    return next(names, "unknown")


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def markdown(report: Report) -> str:
    """Two tables: the goals, then everything that was measured."""
    machine = report.machine
    versions = ", ".join(f"{name} {number or 'absent'}" for name, number in report.versions.items())
    goals = [_goal_row(outcome, goal) for outcome in report.outcomes for goal in outcome.goals]
    rows = [_row(outcome, one) for outcome in report.outcomes for one in outcome.contenders]
    parts = [
        f"Python {machine.python}, {machine.system}, {machine.cores} cores of {machine.processor}; {versions}.",
        "Values are medians of interleaved rounds, with the least and the greatest; a ratio is the median of the "
        "rounds' ratios.",
        _table(["goal", "wanted", "measured", "range", "met"], goals),
        _table(["work", "contender", "median", "range", "unit"], rows),
    ]
    return "\n\n".join(parts) + "\n"


def _goal_row(outcome: Outcome, goal: Reached) -> list[str]:
    suffix = f" {outcome.unit}" if goal.kind == "over" else "×"
    sign = "≥" if goal.kind == "faster" else "≤"
    what = {"faster": "faster than", "slower": "slower than", "over": "over"}[goal.kind]
    head = [f"{outcome.name}: {goal.ours}, {what} {goal.peer}", f"{sign} {number(goal.bound)}{suffix}"]
    if goal.spread is None:
        return [*head, "–", "–", "not measured"]
    measured = f"{number(goal.spread.median)}{suffix}"
    return [*head, measured, _range(goal.spread), "met" if goal.met else "**not met**"]


def _row(outcome: Outcome, one: Measured) -> list[str]:
    unit = f"{outcome.each} per second" if outcome.unit == "per second" else f"{outcome.unit} {outcome.each}"
    if one.spread is None:
        return [outcome.title, one.name, one.note, "–", unit]
    return [outcome.title, one.name, number(one.spread.median), _range(one.spread), unit]


def _range(spread: Spread) -> str:
    return f"{number(spread.low)} – {number(spread.high)}"


def number(value: float) -> str:
    """Three digits that count, no exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""The records that stages pass on: instances, gold workflows, and the report of each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field

from flowmind.trace.task import Example, Task
from tools_registry.specs.spec import Record

NAME = "flowbench_synth"
REVISION = 2
"""Grows when a seed gives other files. Revision 2: each wording has its own id, names and descriptions of inputs."""
FILES = ("instances.jsonl", "tests.jsonl", "gold.jsonl", "tools.jsonl")
"""The files of a benchmark that its manifest has hashes of."""
TOOLS = {"easy": (7, 9), "medium": (18, 20), "hard": (28, 30)}
"""Tools offered, by difficulty (FlowMind, appendix A, table 4)."""


class BuildError(Exception):
    """The benchmark cannot be built with these settings."""


class Gold(Record):
    """The reference solution of an instance."""

    id: str
    workflow: dict[str, Any]
    trace: dict[str, Any]
    """The gold workflow's run on the first example."""


class Instance(Record):
    """A task with its tests and its gold workflow; the benchmark stores them in three files."""

    task: Task
    tests: tuple[Example, ...]
    gold: Gold


class Stage(Record):
    """The report of a stage: the numbers of items that it received, kept and dropped."""

    stage: str
    unit: str
    given: int
    kept: int
    dropped: dict[str, int] = Field(default_factory=dict[str, int])
    """The number of dropped items by reason."""
    notes: tuple[str, ...] = ()
    """One line for each dropped item."""


def stage(name: str, unit: str, kept: int, dropped: Iterable[tuple[str, str]] = ()) -> Stage:
    """The report of a stage. `dropped` has the name of each dropped item and the reason."""
    lost: Sequence[tuple[str, str]] = list(dropped)
    return Stage(
        stage=name,
        unit=unit,
        given=kept + len(lost),
        kept=kept,
        dropped=dict(Counter(reason for _, reason in lost)),
        notes=tuple(f"{what}: {reason}" for what, reason in lost),
    )


def stage_table(stages: Iterable[Stage]) -> str:
    """The reports of the stages as a Markdown table."""
    lines = ["| stage | given | kept | dropped for |", "| --- | --- | --- | --- |"]
    for report in stages:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in report.dropped.items()) or "nothing"
        lines.append(f"| {report.stage} | {report.given} {report.unit} | {report.kept} | {reasons} |")
    return "\n".join(lines)

"""The first screen of the report: the numbers of each run, and the grid of tasks and runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any

from experiments import figures, paper
from experiments.analyses import levels
from experiments.casebook import Case
from experiments.costs import Cost, cost
from experiments.folder import Run
from experiments.loading import Cases, Loaded, Test, having
from experiments.naming import shown_model
from experiments.record import CaseRecord
from experiments.verdicts import OUTCOMES, Verdict, solved, verdict
from flowmind.evaluation.statistics import Rate, rate

_EXCERPT = 280
"""The most characters of a task's text in the list of cases."""


@dataclass(frozen=True)
class RunEntry:
    """A run as the report lists it."""

    key: str
    """A letter that stands for the run."""
    name: str
    model: str
    mode: str
    """Mode and variant, and what else tells the run from others."""
    folder: str
    benchmark: str
    cases: int
    errors: int
    when: str
    details: tuple[tuple[str, str], ...]
    """Headings with text: settings, versions, servers."""
    passed: Rate
    tests: Rate
    sound: Rate
    solved: Rate | None
    """None if the run did not try its workflows on the examples."""
    outcomes: dict[str, int]
    paper: float | None
    """The paper's case pass rate for the same model and mode."""
    paper_model: str
    cost: Cost

    @property
    def interval(self) -> str:
        """The drawing of its rates."""
        return figures.interval(self.passed, self.tests, self.paper)

    @property
    def bar(self) -> str:
        """The drawing of its outcomes."""
        return figures.bar(self.outcomes)

    @property
    def told(self) -> str:
        """Its outcomes in words."""
        return ", ".join(f"{number} {OUTCOMES[name]}" for name, number in self.outcomes.items() if number)


@dataclass(frozen=True)
class Row:
    """A task of the grid."""

    id: str
    difficulty: str
    flow: str
    query: str
    cells: tuple[Verdict | None, ...]
    """By run; None if the run does not have the task."""

    @property
    def passes(self) -> int:
        """The number of runs that pass it."""
        return sum(cell is not None and cell.outcome == "passed" for cell in self.cells)

    @property
    def outcomes(self) -> str:
        """The outcomes of all runs, and `differ` if some pass and some do not."""
        names = {cell.outcome for cell in self.cells if cell is not None}
        mixed = {"differ"} if "passed" in names and len(names) > 1 else set[str]()
        kinds = {"all"} if names == {"passed"} else {"nobody"} if "passed" not in names else set[str]()
        return " ".join(sorted(names | mixed | kinds))


def run_names(runs: Sequence[Loaded]) -> list[str]:
    """A unique name for each run: its label; where labels are equal, also the seed, the folder or a number."""
    names = [run.label for run in runs]
    seeds, folders = [f"seed {run.seed}" for run in runs], [run.folder.name for run in runs]
    for words in (seeds, folders, [f"number {number}" for number in range(1, len(runs) + 1)]):
        names = [f"{name}, {word}" if names.count(name) > 1 else name for name, word in zip(names, words, strict=True)]
    return names


def run_entries(runs: Sequence[Loaded], names: Sequence[str]) -> list[RunEntry]:
    """The runs as the report lists them."""
    theirs = {(row["model"], row["mode"]): float(row["case_pass_rate"]) for row in paper.rows("table1_main")}
    return [
        _entry(key_of(place), name, run, None if run.variant else theirs.get((run.model, run.mode)))
        for place, (name, run) in enumerate(zip(names, runs, strict=True))
    ]


def key_of(place: int) -> str:
    """The letter of a run; numbers follow Z."""
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)


def _entry(key: str, name: str, run: Loaded, theirs: float | None) -> RunEntry:
    manifest = Run(run.folder).manifest
    records, known = run.records, [answer for record in run.records if (answer := solved(record)) is not None]
    tests = [score.passed for record in records for score in record.tests]
    verdicts = [verdict(record).outcome for record in run.everything]
    built = len(records) if run.builds else 0
    model = shown_model(run.model)
    return RunEntry(
        key, name, model, name.removeprefix(f"{model} "), run.folder.name, manifest["benchmark"]["name"],
        len(run.everything), run.errors, _when(run.everything), _details(run, manifest),
        passed=rate(sum(record.passed for record in records), built),
        tests=rate(sum(tests), len(tests)),
        sound=rate(sum(record.graph_valid for record in records), built),
        solved=rate(sum(known), len(known)) if known else None,
        outcomes={outcome: verdicts.count(outcome) for outcome in OUTCOMES},
        paper=theirs,
        paper_model=run.model,
        cost=cost(run),
    )  # fmt: skip


def _details(run: Loaded, manifest: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    versions = {"python": manifest.get("python"), **manifest.get("packages", {})}
    versions |= {key: manifest[key] for key in ("git", "platform") if manifest.get(key)}
    details = {
        "Settings": run.settings, "Versions": versions, "Servers": manifest.get("servers"),
        "Benchmark": manifest["benchmark"], "Isolation": manifest.get("isolation"),
    }  # fmt: skip
    return tuple((key, json.dumps(value, ensure_ascii=False, indent=1)) for key, value in details.items() if value)


def _when(records: Sequence[CaseRecord]) -> str:
    """The time from the start of the first case to the end of the last, in UTC."""
    begun = [record.started_at for record in records if record.started_at]
    if not begun:
        return "not recorded"
    ended = max(record.started_at + record.seconds for record in records)
    first, last = (datetime.fromtimestamp(moment, UTC) for moment in (min(begun), ended))
    until = last.strftime("%H:%M UTC" if first.date() == last.date() else "%Y-%m-%d %H:%M UTC")
    return f"{first:%Y-%m-%d %H:%M} to {until}"


def blocks(cases: Sequence[Case], runs: int) -> list[tuple[str, list[Row]]]:
    """The rows of the grid by category, in the order of the cases."""
    tasks: dict[str, list[Case]] = {}
    for case in cases:
        tasks.setdefault(case.record.id, []).append(case)
    groups: dict[str, list[Row]] = {}
    for id, same in tasks.items():
        record = same[0].record
        groups.setdefault(record.category.replace("_", " ") or "cases", []).append(_row(id, same, runs))
    return list(groups.items())


def _row(id: str, cases: Sequence[Case], runs: int) -> Row:
    cells: list[Verdict | None] = [None] * runs
    for case in cases:
        cells[case.run] = verdict(case.record)
    query = next((case.stages.task.query for case in cases if case.stages.task), "")
    excerpt = query if len(query) <= _EXCERPT else f"{query[:_EXCERPT]}…"
    record = cases[0].record
    return Row(id, record.difficulty, record.task.control_flow, excerpt, tuple(cells))


def breakdown(runs: Sequence[Loaded]) -> list[tuple[str, list[tuple[Rate, str] | None]]]:
    """Passed cases by difficulty, category and control flow: a name, and for each run the rate with its drawing."""
    records = [record for run in runs for record in run.everything]
    categories = dict.fromkeys(record.category for record in records if record.category)
    flows = sorted({record.task.control_flow for record in records} - {""})
    groups: list[tuple[str, Test]] = [
        *((level, having(difficulty=level)) for level in levels(records)),
        *((name.replace("_", " "), having(category=name)) for name in categories),
        *((name, _flowing(name)) for name in flows),
    ]
    return [(name, [_share(run, test) for run in runs]) for name, test in groups]


def _flowing(name: str) -> Test:
    return lambda record: record.task.control_flow == name


def _share(run: Loaded, test: Test) -> tuple[Rate, str] | None:
    cases = Cases((), (run,), run.records).where(test)
    return (cases.rate(), figures.share(cases.rate())) if cases.records and run.builds else None


def cost_notes(entries: Sequence[RunEntry]) -> list[tuple[str, list[str]]]:
    """Why runs have no cost, each reason with the letters of the runs."""
    notes: dict[str, list[str]] = {}
    for entry in entries:
        notes.setdefault(entry.cost.note or "no case was completed", []).append(entry.key)
    return list(notes.items())


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")

"""The first table of a report on dialogues: a line for each run, with counts and intervals."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.dialogue.summing import DialogueSummary, summarize
from experiments.dialogue.tables import DialogueRun, comparable, notes_of, shown_bound
from experiments.tables import Table, shown
from flowmind.base.files import dump_json
from flowmind.evaluation.statistics import Rate

_RATES = {
    "session": {
        "success_rate": "success %",
        "task_progress": "progress %",
        "tool_f1": "tool F1",
        "sessions_with_violation": "with a violation %",
        "stopped_rate": "stopped %",
        "wrongly_refused_rate": "wrongly refused %",
    },
    "turn": {"success_rate": "pass %", "tool_f1": "tool F1", "parameter_f1": "parameter F1", "node_accuracy": "node %"},
}


def run_names(runs: Sequence[DialogueRun]) -> list[str]:
    """The names of runs; those that are equal otherwise are followed by the name of the folder."""
    names = [f"{run.model}, {run.method}, {run.settings['format']}, {run.form}" for run in runs]
    counts = Counter(names)
    return [
        f"{name} ({run.folder.resolve().name})" if counts[name] > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]


def run_tables(runs: Sequence[DialogueRun]) -> list[Table]:
    """A table for each build of the data and each simulated user, with a line for each run."""
    names = dict(zip((run.folder for run in runs), run_names(runs), strict=True))
    groups = [
        (level, group) for level in _RATES for group in comparable([r for r in runs if r.settings["level"] == level])
    ]
    return [_table(number, level, group, names) for number, (level, group) in enumerate(groups, 1)]


def _table(number: int, level: str, runs: Sequence[DialogueRun], names: dict[Path, str]) -> Table:
    build = hashlib.sha256(dump_json(runs[0].data).encode()).hexdigest()[:8]
    says = f"Data: {runs[0].data['name']}, build {build}. Simulated user: {runs[0].user}."
    if level == "turn":
        says = f"Data: {runs[0].data['name']}, build {build}. Turns of recorded sessions."
    summaries = [summarize(run.everything, run.settings, "") for run in runs]
    columns = {
        name: title
        for name, title in _RATES[level].items()
        if any(getattr(summary, name) is not None for summary in summaries)
    }
    head = ("run", f"{level}s", *columns.values(), *(("violations",) if level == "session" else ()))
    rows = tuple(
        (names[run.folder], str(summary.sessions), *(_cell(summary, name) for name in columns), *_violations(summary))
        for run, summary in zip(runs, summaries, strict=True)
    )
    title = f"Runs of {level}s"
    return Table(f"{level}s-{number}", title, head, rows, says, notes_of(runs))


def _violations(summary: DialogueSummary) -> tuple[str, ...]:
    return () if summary.level == "turn" else (shown(summary.violations),)


def _cell(summary: DialogueSummary, name: str) -> str:
    bound = summary.intervals.get(name)
    if bound is None:
        return shown(getattr(summary, name))
    return shown(bound) if isinstance(bound, Rate) else shown_bound(bound)

"""Tables, as Markdown: what an analysis makes, and the main rates of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from experiments.metrics import Group, Summary
from experiments.naming import GOLD, shown_mode, shown_model
from experiments.record import CaseRecord
from flowmind.evaluation.statistics import Mean, Rate, rate

Test = Callable[[CaseRecord], bool]
PAPER = "paper: "
"""Begins the names of rows that are the paper's."""
ABOUT_GOLD = (
    "Runs with gold traces executed nothing: traces of the gold workflows stood for executions. They show what "
    "summarizing reaches where every execution is right, and are no rivals of runs that executed."
)

_NOTES = {"search": "`search` is no language model: it finds tool sequences by search over the examples."}


@dataclass(frozen=True)
class Table:
    """A table as text, with its source in the paper and what it says."""

    key: str
    """Such as `table1`: what configurations and pages name it by."""
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    says: str = ""
    """In plain words, what the data show and what they do not."""
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table in Markdown, under its title."""
        lines = [f"### {self.title}", "", *_table(self.head, self.rows)]
        lines += [f"\n{text}" for text in (self.says, *self.notes) if text]
        return "\n".join(lines) + "\n"


def shown(found: Rate) -> str:
    """A rate with its count and interval."""
    return _rate(found) if found.of else "–"


def share(records: Sequence[CaseRecord], test: Test) -> Rate:
    """The rate of cases of a kind."""
    return rate(sum(map(test, records)), len(records))


def tests_passed(records: Sequence[CaseRecord]) -> Rate:
    """The rate of tests passed."""
    scores = [score for record in records for score in record.tests]
    return rate(sum(score.passed for score in scores), len(scores))


def number(value: float | None, digits: int = 1) -> str:
    """A figure; what is not known as a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def summary_table(summaries: Sequence[Summary]) -> str:
    """The main rates of runs, with counts and 95 % intervals."""
    head = (
        "model", "mode", "cases", "case pass", "test pass", "exec complete", "exec correct", "graph valid", "both",
        "output tokens", "seconds",
    )  # fmt: skip
    rows = [
        (
            shown_model(item.model),
            shown_mode(item.mode, item.variant),
            str(item.cases),
            _rate(item.intervals["case_pass_rate"]),
            _rate(item.intervals["test_pass_rate"]),
            _rate(item.intervals["exec_complete"]),
            _rate(item.intervals["exec_correct"]),
            _rate(item.intervals["graph_valid"]),
            _rate(item.intervals["both"]),
            "not reported" if item.tokens.total is None else f"{item.tokens.total:.0f}",
            f"{item.wall_s:.0f}",
        )
        for item in summaries
    ]
    lines = [
        *_table(head, rows),
        "",
        "Rates in percent (count of all) with 95 % Wilson intervals; tokens a case.",
    ]
    lines += [note for name, note in _NOTES.items() if any(item.model == name for item in summaries)]
    lines += [ABOUT_GOLD] if any(GOLD in item.variant for item in summaries) else []
    for item in summaries:
        name = f"{item.model} {shown_mode(item.mode, item.variant)}"
        if item.scores:
            means = ", ".join(f"{score} {_mean(mean)}" for score, mean in item.scores.items())
            lines.append(f"{name}: means of further scores with 95 % intervals: {means}.")
        if item.errors:
            lines.append(
                f"{name}: {item.errors} more cases were not tried to their end, for want of an "
                "answer from the model's endpoint; they are in no rate, and the same command tries them again."
            )
    return "\n".join(lines) + "\n"


def group_table(summary: Summary) -> str:
    """The rates of a run by difficulty and category."""
    head = (
        f"{summary.model} {shown_mode(summary.mode, summary.variant)}",
        "cases",
        "case pass",
        "test pass",
        "exec complete",
        "graph valid",
        "both",
    )
    groups = {**summary.by_difficulty, **summary.by_category}
    return "\n".join(_table(head, [_group(name, group) for name, group in groups.items()])) + "\n"


def _group(name: str, group: Group) -> tuple[str, ...]:
    rates = (group.case_pass_rate, group.test_pass_rate, group.exec_complete, group.graph_valid, group.both)
    return (name, str(group.cases), *(f"{value:.1f}" for value in rates))


def _rate(found: Rate) -> str:
    exact = 100 * found.count / found.of if found.of else 0.0  # `percent` is rounded already
    return f"{exact:.1f} ({found.count}/{found.of}) [{found.low:.0f}, {found.high:.0f}]"


def _mean(mean: Mean) -> str:
    return f"{mean.mean:.2f}" + ("" if mean.low is None else f" [{mean.low:.2f}, {mean.high:.2f}]")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join(' --- ' for _ in head)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]

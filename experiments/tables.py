"""Tables of text: how values are written in cells, the record of a table, and its Markdown."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.loading import Cases, Loaded, grouped
from experiments.metrics import Summary
from experiments.naming import GOLD, label, shown_mode, shown_model
from flowmind.evaluation.statistics import Correlation, Mean, Rate

PAPER = "paper: "
"""The prefix of the names of rows that hold the paper's values."""
ABOUT_GOLD = (
    "Runs with gold traces executed nothing: they use traces of the gold workflows instead. They show what "
    "summarizing reaches when every execution is right. Do not compare them with runs that executed."
)
_NOTES = {"search": "`search` is not a language model: it finds tool sequences by search over the examples."}

Value = str | int | float | Rate | Mean | Correlation | None


@dataclass(frozen=True)
class Table:
    """A table of text."""

    key: str
    """Such as `table1`: its name in grid files and in the report."""
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    says: str = ""
    """An explanation of what the table shows, and what it does not show."""
    notes: tuple[str, ...] = ()
    figure: str = ""
    """An SVG drawing that the HTML report shows with it."""

    def markdown(self) -> str:
        """The table in Markdown, under its title."""
        texts = "".join(f"\n\n{text}" for text in (self.says, *self.notes) if text)
        return f"### {self.title}\n\n{markdown(self.head, self.rows)}{texts}\n"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, without a newline at its end."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def shown(value: Value, digits: int = 1) -> str:
    """A value as the text of a cell; None and a rate of no cases are a dash.

    Args:
        value: Rates are shown with their count, and rates, means and correlations with their interval.
        digits: Decimals of a number that is not an integer.
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.{digits}f}"
        case Rate():
            return _rate(value) if value.of else "–"
        case Mean():
            low, high = (shown(bound, digits) for bound in (value.low, value.high))
            return shown(value.mean, digits) + ("" if value.low is None else f" [{low}, {high}]")
        case Correlation():
            return f"{value.r:.2f} [{value.low:.2f}, {value.high:.2f}]"
        case _:
            return str(value)


def table(
    key: str,
    title: str,
    head: tuple[str, ...],
    rows: Iterable[Sequence[Value]],
    says: str,
    notes: tuple[str, ...] = (),
    figure: str = "",
) -> Table | None:
    """A table of values; None if it has no row."""
    texts = tuple(tuple(map(shown, row)) for row in rows)
    return Table(key, title, head, texts, says, notes, figure) if texts else None


def _rate(value: Rate) -> str:
    exact = 100 * value.count / value.of if value.of else 0.0  # `percent` is rounded already
    return f"{exact:.1f} ({value.count}/{value.of}) [{value.low:.0f}, {value.high:.0f}]"


@dataclass(frozen=True)
class Column:
    """A column of an analysis."""

    title: str
    value: Callable[[Cases], Value]
    paper: str = ""
    """The key of the paper's value."""
    digits: int = 1
    """Decimals of its numbers."""


@dataclass(frozen=True)
class Analysis:
    """A table that has a row for each group of cases, followed by the paper's rows."""

    key: str
    title: str
    columns: tuple[Column, ...]
    """All but the first, which holds the names."""
    says: str | Callable[[Sequence[Loaded]], str]
    cases: Callable[[Sequence[Loaded]], Iterable[Cases]] = grouped
    paper: Sequence[tuple[str, dict[str, Any]]] = ()
    """The name and the values of each row of the paper."""
    notes: tuple[str, ...] = ()
    names: str = "run"
    """The title of the first column."""
    needs_cases: bool = False
    """Whether the table is omitted if it would have the paper's rows only."""

    def __call__(self, runs: Sequence[Loaded]) -> Table | None:
        """The table of some runs; None if it would have no row."""
        rows = [
            (part.label, *(shown(column.value(part), column.digits) for column in self.columns))
            for part in self.cases(runs)
        ]
        if rows or not self.needs_cases:
            rows += [
                (PAPER + name, *(shown(row.get(column.paper), column.digits) for column in self.columns))
                for name, row in self.paper
            ]
        head = (self.names, *(column.title for column in self.columns))
        says = self.says if isinstance(self.says, str) else self.says(runs)
        return Table(self.key, self.title, head, tuple(rows), says, self.notes) if rows else None


def kind(place: int, title: str, paper: str = "") -> Column:
    """The column with one of the further names of the cases, such as their kind."""
    return Column(title, lambda part: part.names[place], paper)


def size(title: str = "cases", paper: str = "") -> Column:
    """The column with the number of cases."""
    return Column(title, lambda part: len(part.records), paper)


# The main rates of runs

_RATES = {
    "case_pass_rate": "case pass", "test_pass_rate": "test pass", "exec_complete": "exec complete",
    "exec_correct": "exec correct", "graph_valid": "graph valid", "both": "both",
}  # fmt: skip


def summary_table(summaries: Sequence[Summary]) -> str:
    """The main rates of runs in Markdown, with counts and 95 % intervals."""
    rows = [
        (
            shown_model(item.model),
            shown_mode(item.mode, item.variant),
            str(item.cases),
            *(shown(item.intervals[key]) for key in _RATES),
            _tokens(item.input_tokens.total, "not reported"),
            _tokens(item.tokens.total, "not reported"),
            f"{item.wall_s:.0f}",
            _money(item.cost),
        )
        for item in summaries
    ]
    head = ("model", "mode", "cases", *_RATES.values(), "input tokens", "output tokens", "seconds", "cost")
    about = "Rates in percent (count of all) with 95 % Wilson intervals; tokens a case"
    return "\n".join([markdown(head, rows), f"\n{about}.{_about_cost(summaries)}", *_notes(summaries)]) + "\n"


TERMINAL = 100
"""The most characters of a line of `terminal_table`."""
_EXPLAINED = (
    "case pass: cases that pass all held-out tests. test pass: held-out tests passed. right: the agent's own answer is "
    "right. sound: the workflow passes `check`. solved: it is right on every example. in, out: tokens a case."
)


def terminal_table(summaries: Sequence[Summary]) -> str:
    """The main rates of runs for a terminal: aligned columns of at most `TERMINAL` characters, and what they mean."""
    priced = any(item.cost is not None for item in summaries)
    doubted = any(item.outcomes.get("doubt") or item.wrong_writes for item in summaries)
    names = "case pass", "test pass", *_DOUBTS[: 2 * doubted], "right", "sound", "solved", "in", "out", "seconds"
    head = (*names, *(["cost"] if priced else []))
    rows = [
        (
            *(_count(item.intervals[key]) for key in ("case_pass_rate", "test_pass_rate")),
            *(_percent(item.intervals.get(key)) for key in ("doubt", "silently_wrong")[: 2 * doubted]),
            *(_percent(item.intervals.get(key), 0) for key in ("exec_correct", "graph_valid", "solved")),
            _thousands(item.input_tokens.total),
            _thousands(item.tokens.total),
            f"{item.wall_s:.0f}",
            *([_money(item.cost)] if priced else []),
        )
        for item in summaries
    ]
    labels = [label(item.model, item.mode, item.variant) for item in summaries]
    texts = [_EXPLAINED + _about_doubt(summaries, doubted) + _about_cost(summaries), *_notes(summaries)]
    filled = [textwrap.fill(text, TERMINAL, break_on_hyphens=False) for text in texts]
    return "\n".join(
        [columns(("run", *head), [(name, *row) for name, row in zip(labels, rows, strict=True)]), "", *filled]
    )


_DOUBTS = ("doubt", "silent")


def _about_doubt(summaries: Sequence[Summary], doubted: bool) -> str:
    if not doubted:
        return ""
    writes = sum(item.wrong_writes for item in summaries)
    return (
        " doubt: tests in which rivals of the workflow disagree with it. silent: tests that are wrong, and nothing "
        f"tells it. Tests with a wrong write: {writes}."
    )


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal, at most `TERMINAL` characters wide; long names in the first column are wrapped."""
    widths = [max(map(len, column)) for column in list(zip(head, *rows, strict=True))[1:]]
    space = max(10, TERMINAL - sum(widths) - 2 * len(widths))
    names = [textwrap.wrap(row[0], space) or [""] for row in (head, *rows)]
    left = max(len(part) for part in itertools.chain(*names))
    lines: list[str] = []
    for (name, *more), (_, *cells) in zip(names, (head, *rows), strict=True):
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        lines += ["  ".join([name.ljust(left), *aligned]), *more]
    return "\n".join(lines)


def _count(value: Rate) -> str:
    return f"{value.count}/{value.of} {_percent(value)}" if value.of else "–"


def _percent(value: Rate | None, digits: int = 1) -> str:
    return f"{100 * value.count / value.of:.{digits}f}%" if value is not None and value.of else "–"


def _tokens(mean: float | None, unknown: str = "–") -> str:
    return unknown if mean is None else f"{mean:.0f}"


def _thousands(mean: float | None) -> str:
    """Tokens a case, from 10,000 on in thousands."""
    return _tokens(mean) if mean is None or mean < 10_000 else f"{mean / 1_000:.0f}k"


def _money(cost: float | None) -> str:
    return "–" if cost is None else f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def _about_cost(summaries: Sequence[Summary]) -> str:
    if all(item.cost is None for item in summaries):
        return ""
    return " cost: of the whole run, from the price of tokens, without discounts."


def _notes(summaries: Sequence[Summary]) -> list[str]:
    """Notes that a reader of the runs needs."""
    lines = [note for name, note in _NOTES.items() if any(item.model == name for item in summaries)]
    lines += [ABOUT_GOLD] if any(GOLD in item.variant for item in summaries) else []
    for item in summaries:
        name = f"{item.model} {shown_mode(item.mode, item.variant)}"
        if item.scores:
            means = ", ".join(f"{score} {shown(mean, 2)}" for score, mean in item.scores.items())
            lines.append(f"{name}: means of further scores with 95 % intervals: {means}.")
        if item.errors:
            count = "1 more case" if item.errors == 1 else f"{item.errors} more cases"
            lines.append(
                f"{name}: {count} ended with an error of the model's endpoint. No rate counts such a case. The same "
                "command runs it again."
            )
    return lines


def terminal_groups(summary: Summary) -> str:
    """The rates of a run by difficulty and category, for a terminal."""
    titles = ("cases", "case pass", "test pass", "right", "sound")
    keys = ("case_pass_rate", "test_pass_rate", "exec_correct", "graph_valid")
    groups = {**summary.by_difficulty, **summary.by_category}.items()
    rows = [(name, str(group.cases), *(f"{getattr(group, key):.1f}%" for key in keys)) for name, group in groups]
    return columns((label(summary.model, summary.mode, summary.variant), *titles), rows) + "\n"


def group_table(summary: Summary) -> str:
    """The rates of a run by difficulty and category, in Markdown."""
    titles = {key: title for key, title in _RATES.items() if key != "exec_correct"}
    head = (f"{summary.model} {shown_mode(summary.mode, summary.variant)}", "cases", *titles.values())
    groups = {**summary.by_difficulty, **summary.by_category}.items()
    rows = [(name, str(group.cases), *(shown(getattr(group, key)) for key in titles)) for name, group in groups]
    return markdown(head, rows) + "\n"

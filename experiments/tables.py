"""Tables of runs, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowmind.evaluation.metrics import Group, Summary
from flowmind.evaluation.statistics import Rate

_NOTES = {"search": "`search` is no language model: it finds tool sequences by search over the examples."}


def summary_table(summaries: Sequence[Summary]) -> str:
    """The main rates of runs, with counts and 95 % intervals."""
    head = (
        "model", "mode", "cases", "case pass", "test pass", "exec complete", "exec correct", "graph valid", "both",
        "output tokens", "seconds",
    )  # fmt: skip
    rows = [
        (
            f"{item.model} (no LLM)" if item.model == "search" else item.model,
            item.mode,
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
    for item in summaries:
        if item.errors:
            lines.append(
                f"{item.model} {item.mode}: {item.errors} more cases were not tried to their end, for want of an "
                "answer from the model's endpoint; they are in no rate, and the same command tries them again."
            )
    return "\n".join(lines) + "\n"


def group_table(summary: Summary) -> str:
    """The rates of a run by difficulty and category."""
    head = (
        f"{summary.model} {summary.mode}",
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


def _rate(rate: Rate) -> str:
    return f"{rate.percent:.1f} ({rate.count}/{rate.of}) [{rate.low:.0f}, {rate.high:.0f}]"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join(' --- ' for _ in head)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]

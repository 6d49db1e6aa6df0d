"""The metrics of a run by source and by the paper's groups, and its tables beside the paper's.

The average is the plain mean of the four groups, as in the paper: its averages in table 1 are the means of its groups.
The paper does not say how the sources of a group are combined; here every row of a group has the same weight.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from experiments.tables import Table, markdown
from experiments.worfbench.recording import RowRecord
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_model, read_text
from flowmind.evaluation.encoder import DEFAULT
from flowmind.evaluation.statistics import Mean, Rate, mean_of, rate
from flowmind.evaluation.worfeval import Definition, Part
from flowmind.formats.worfbench_rows import GROUPS, HELD_OUT
from tools_registry.specs.spec import Record

_BOW = "bow"
_AVERAGE = "average of the groups"


class Cell(Record):
    """The metrics of some rows. F1 scores are in percent; a mean of no rows is None."""

    rows: int
    """Scored rows. Rows without an answer because of an infrastructure error are in no mean."""
    lost: int
    f1_chain: Mean | None
    f1_graph: Mean | None
    malformed: Rate
    output_tokens: float | None
    """The mean of a row; None if the server did not report them."""
    seconds: float | None
    """The mean of a row from the request to the reply, including the time that the request waits for its turn."""


class Facts(Record):
    """The settings of a run that its summary repeats."""

    model: str
    data: str
    gold_chain: bool
    definition: Definition
    encoder: str
    """`bow`, or the sentence encoder's name."""
    temperature: float


class Summary(Facts):
    """The metrics of a run."""

    rows: int
    lost: int
    sources: dict[str, Cell]
    groups: dict[str, Cell]
    held_out: tuple[str, ...] = HELD_OUT
    """The sources that are in no group because they are held out."""
    average: Cell | None
    """Over the four groups, with equal weights; None if one of them has no row."""


def summarize(records: Sequence[RowRecord], facts: Facts) -> Summary:
    """The metrics of a run; equal records give equal metrics."""
    inside = [source for sources in GROUPS.values() for source in sources]
    names = {record.source for record in records}
    order = [name for name in (*inside, *HELD_OUT, *sorted(names - {*inside, *HELD_OUT})) if name in names]
    chosen = {name: [record for record in records if record.source in sources] for name, sources in GROUPS.items()}
    return Summary(
        **facts.model_dump(),
        rows=sum(record.error is None for record in records),
        lost=sum(record.error is not None for record in records),
        sources={name: _cell([record for record in records if record.source == name]) for name in order},
        groups={name: _cell(group) for name, group in chosen.items() if group},
        held_out=tuple(sorted({*HELD_OUT, *(record.source for record in records if record.held_out)})),
        average=_average(list(chosen.values())),
    )


def _cell(records: Sequence[RowRecord]) -> Cell:
    scored = [record for record in records if record.error is None]
    return Cell(
        rows=len(scored),
        lost=len(records) - len(scored),
        f1_chain=_within(_mean(scored, _chain)),
        f1_graph=_within(_mean(scored, _graph)),
        malformed=rate(sum(record.malformed is not None for record in scored), len(scored)),
        output_tokens=_tokens(scored),
        seconds=round(statistics.fmean(record.seconds for record in scored), 2) if scored else None,
    )


def _chain(record: RowRecord) -> Part | None:
    return record.chain


def _graph(record: RowRecord) -> Part | None:
    return record.graph


def _mean(records: Sequence[RowRecord], part: Callable[[RowRecord], Part | None]) -> Mean | None:
    values = [100 * score.f1 for record in records if (score := part(record)) is not None]
    return mean_of(values) if values else None


def _within(mean: Mean | None) -> Mean | None:
    """The mean with its interval cut to the range from 0 to 100."""
    if mean is None or mean.low is None or mean.high is None:
        return mean
    return mean.model_copy(update={"low": max(0.0, mean.low), "high": min(100.0, mean.high)})


def _tokens(records: Sequence[RowRecord]) -> float | None:
    counts = [record.output_tokens for record in records]
    known = [count for count in counts if count is not None]
    return round(statistics.fmean(known), 1) if known and len(known) == len(counts) else None


def _average(groups: Sequence[Sequence[RowRecord]]) -> Cell | None:
    means = [(_mean(group, _chain), _mean(group, _graph)) for group in groups]
    chains, graphs = [chain for chain, _ in means if chain], [graph for _, graph in means if graph]
    if len(chains) < len(groups) or len(graphs) < len(groups):
        return None
    whole = _cell([record for group in groups for record in group])
    chain, graph = _within(mean_of_means(chains)), _within(mean_of_means(graphs))
    return whole.model_copy(update={"f1_chain": chain, "f1_graph": graph})


def mean_of_means(means: Sequence[Mean]) -> Mean:
    """The plain mean of independent means; its interval is that of their sum, divided by their number."""
    middle, of = statistics.fmean(mean.mean for mean in means), sum(mean.of for mean in means)
    halves = [mean.high - mean.mean for mean in means if mean.high is not None]
    if len(halves) < len(means):
        return Mean(mean=round(middle, 2), low=None, high=None, of=of)
    half = math.hypot(*halves) / len(means)
    return Mean(mean=round(middle, 2), low=round(middle - half, 2), high=round(middle + half, 2), of=of)


# The paper's values


@cache
def published() -> dict[str, Any]:
    """The paper's values (`reference/worfbench.json`)."""
    return parse_json(read_text(Path(__file__).parents[1] / "reference" / "worfbench.json"))


def known_as(model: str) -> str | None:
    """The paper's name for a model that is named by this name or by its checkpoint; None if the paper lacks it."""
    last = model.rpartition("/")[2].lower()
    for row in published()["table1"]["rows"]:
        if last in (row["model"].lower(), row["checkpoint"].lower()):
            return row["model"]
    return None


# Tables


def tables(summary: Summary) -> str:
    """Both tables of a run and notes on their comparison, as Markdown."""
    return "\n".join((_own(summary), "", _beside(summary), "", *_notes(summary))) + "\n"


def read_summary(folder: Path) -> Summary:
    """The summary of a run.

    Raises:
        InputError: If there is none, or it cannot be read.
    """
    path = folder / "summary.json"
    if not path.exists():
        raise InputError(f"{path}: the run is not finished; the command that started it continues it")
    return read_model(path, Summary)


def own_table(summary: Summary, key: str = "worfbench") -> Table:
    """The metrics of a run by source and group, beside the paper's of the same model."""
    scores = ("F1 graph",) if summary.gold_chain else ("F1 chain", "F1 graph")
    known = known_as(summary.model)
    paper = _published_of(known, summary.gold_chain) if known else {}
    head = (
        summary.model,
        "rows",
        *scores,
        *([f"paper: {known}"] if paper else []),
        "malformed",
        "output tokens",
        "seconds",
    )
    cells = [
        *((f"{_words(group)}: {source}", source, cell) for source, cell, group in _with_group(summary)),
        *((_words(group), group, cell) for group, cell in summary.groups.items()),
        *([(_AVERAGE, "average", summary.average)] if summary.average else []),
    ]
    rows = [
        (
            label,
            str(cell.rows),
            *(_interval(mean) for mean in ((cell.f1_graph,) if summary.gold_chain else (cell.f1_chain, cell.f1_graph))),
            *([paper.get(name, "")] if paper else []),
            f"{cell.malformed.percent:.1f} % ({cell.malformed.count})",
            "not reported" if cell.output_tokens is None else f"{cell.output_tokens:.0f}",
            "–" if cell.seconds is None else f"{cell.seconds:.1f}",
        )
        for label, name, cell in cells
    ]
    says = " ".join(note.removeprefix("- ") for note in _notes(summary))
    return Table(key, f"WorFBench: {summary.model} on {summary.data}", head, tuple(rows), says)


def _own(summary: Summary) -> str:
    """The table in Markdown, groups and average in bold."""
    table, bold = own_table(summary), {*map(_words, summary.groups), _AVERAGE}
    return markdown(table.head, [(f"**{name}**" if name in bold else name, *row) for name, *row in table.rows])


def _with_group(summary: Summary) -> Iterable[tuple[str, Cell, str]]:
    for source, cell in summary.sources.items():
        group = next((name for name, sources in GROUPS.items() if source in sources), "held out")
        yield source, cell, group if source in summary.held_out or group != "held out" else "other"


def _beside(summary: Summary) -> str:
    """The groups of this run above those of all models of the paper."""
    names = (*GROUPS, "average")
    own = [summary.groups.get(name) if name in GROUPS else summary.average for name in names]
    key = "table5" if summary.gold_chain else "table1"
    reference = published()[key]
    head = (f"{reference['values']}", *map(_words, names))
    mine = (f"**{summary.model}, this run**", *(_pair(cell, summary.gold_chain) for cell in own))
    theirs = [(row["model"], *(_plain(row[name]) for name in names)) for row in reference["rows"]]
    return markdown(head, [mine, *theirs])


def _published_of(model: str, gold_chain: bool) -> dict[str, str]:
    """The paper's values of a model by group and source, as text."""
    keys = ("table5",) if gold_chain else ("table1", "table2")
    rows = [row for key in keys for row in published()[key]["rows"] if row["model"] == model]
    return {name: _plain(value) for row in rows for name, value in row.items() if name not in ("model", "checkpoint")}


def _pair(cell: Cell | None, graph_only: bool) -> str:
    if cell is None or cell.f1_chain is None or cell.f1_graph is None:
        return "–"
    return _plain(cell.f1_graph.mean if graph_only else [cell.f1_chain.mean, cell.f1_graph.mean])


def _plain(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float | int) else ", ".join(f"{score:.2f}" for score in value)


def _interval(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    return f"{mean.mean:.1f}" + ("" if mean.low is None else f" [{mean.low:.0f}, {mean.high:.0f}]")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _notes(summary: Summary) -> list[str]:
    settings = published()["settings"]
    notes = [
        "F1 in percent with 95 % intervals; a reply that cannot be read is malformed and scores zero. The average is "
        "that of the four groups, and held-out sources are in none, as in the paper.",
        f"The paper's values (table {'5' if summary.gold_chain else '1 and 2'}) are of other worked examples: two of "
        "each source's own tasks, where this run shows the same two invented ones to every source.",
    ]
    if summary.encoder.rpartition("/")[2] != DEFAULT.rpartition("/")[2]:
        notes.append(
            f"Similarity here is {'the cosine of word counts (bow)' if summary.encoder == _BOW else summary.encoder}, "
            f"the paper's is {settings['encoder']}: scores are not the same measure."
        )
    if summary.definition == "paper":
        notes.append(
            "Scored by the paper's definition; its values come from its published code: `--definition reference`."
        )
    if summary.temperature != settings["temperature"]:
        notes.append(f"Temperature {summary.temperature:g} here, {settings['temperature']} in the paper.")
    if summary.rows + summary.lost < settings["test_rows"]:
        notes.append(
            f"{summary.rows + summary.lost} rows of the {settings['test_rows']} that the paper's test set has."
        )
    if summary.lost:
        notes.append(
            f"{summary.lost} more rows have no answer from the model's endpoint; they are in no mean, and the same "
            "command asks them again."
        )
    return [f"- {note}" for note in notes]

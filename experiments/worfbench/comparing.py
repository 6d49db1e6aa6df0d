"""Tables over several runs on WorFBench: the gold chain, held-out sources, and what a gain carries over to.

They follow the paper's table 5 (appendix A.4) and table 2 (section 3.2). Runs are compared if they have the same rows,
definition and similarity; differences are paired by row.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.folder import RunFolder
from experiments.tables import Table
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.summing import Summary, known_as, mean_of_means, published, read_summary
from flowmind.evaluation.statistics import Mean, mean_of
from flowmind.formats.worfbench_rows import GROUPS, HELD_OUT

HELD_IN = "held in"
Score = Callable[[RowRecord], float]


@dataclass(frozen=True)
class ReadRun:
    """A finished run on WorFBench."""

    folder: Path
    summary: Summary
    sha256: str
    """The digest of its rows."""
    records: dict[str, RowRecord]
    """The scored rows by id."""

    @classmethod
    def read(cls, folder: Path) -> ReadRun:
        """Reads a run's folder.

        Raises:
            InputError: If the run is not finished, or cannot be read.
        """
        run = RunFolder(folder, RowRecord)
        summary = read_summary(folder)
        records = {id: record for id, record in run.records().items() if record.error is None}
        return cls(folder, summary, str(run.manifest.get("benchmark", {}).get("sha256", "")), records)

    @property
    def measure(self) -> tuple[str, str, str]:
        """What two runs must share to be compared."""
        return self.sha256, self.summary.definition, self.summary.encoder

    @property
    def label(self) -> str:
        """The model, and the folder."""
        return f"{self.summary.model} ({self.folder.name})"

    @cached_property
    def parts(self) -> dict[str, list[str]]:
        """The ids of the rows of each group and of each held-out source, which come last; parts without rows are left
        out. Sources in no group make a part of their own."""
        parts: dict[str, list[str]] = defaultdict(list)
        for record in self.records.values():
            group = next((name for name, sources in GROUPS.items() if record.source in sources), record.source)
            parts[group].append(record.id)
        inside = [name for name in (*GROUPS, *parts) if name in parts and name not in self.held_out]
        return {name: parts[name] for name in (*dict.fromkeys(inside), *self.held_out)}

    @cached_property
    def held_out(self) -> list[str]:
        """The held-out sources that have rows."""
        records = self.records.values()
        return list(dict.fromkeys(record.source for record in records if _is_held_out(record)))

    @property
    def held_in(self) -> list[str]:
        """The parts that are not held out."""
        return [name for name in self.parts if name not in self.held_out]

    def mean(self, part: str, score: Score) -> Mean | None:
        """The mean of a score over a part; that of `HELD_IN` is the plain mean of the parts that are not held out."""
        return _averaged(self, part, lambda id: score(self.records[id]))


def _is_held_out(record: RowRecord) -> bool:
    return record.held_out or record.source in HELD_OUT


def _chain(record: RowRecord) -> float:
    return 100 * record.chain.f1 if record.chain else 0.0


def _graph(record: RowRecord) -> float:
    return 100 * record.graph.f1 if record.graph else 0.0


def _averaged(run: ReadRun, part: str, value: Callable[[str], float | None]) -> Mean | None:
    """The mean of a value over the rows of a part that have one."""
    if part == HELD_IN:
        means = [_averaged(run, name, value) for name in run.held_in]
        known = [mean for mean in means if mean is not None]
        return mean_of_means(known) if known and len(known) == len(means) else None
    values = [made for id in run.parts.get(part, ()) if (made := value(id)) is not None]
    return mean_of(values) if values else None


def _difference(run: ReadRun, other: ReadRun, part: str, score: Score) -> Mean | None:
    """The mean of the differences of a score, second minus first, over the rows that both runs have."""

    def value(id: str) -> float | None:
        return score(other.records[id]) - score(run.records[id]) if id in other.records else None

    return _averaged(run, part, value)


def comparisons(folders: Sequence[Path]) -> list[Table]:
    """The tables that can be made of some runs; a table without rows is left out.

    Raises:
        InputError: If a run cannot be read.
    """
    runs = [ReadRun.read(folder) for folder in folders]
    by_measure: dict[tuple[str, str, str], list[ReadRun]] = defaultdict(list)
    for run in runs:
        by_measure[run.measure].append(run)
    tables: list[Table] = []
    for number, alike in enumerate(by_measure.values(), 1):
        key = f"-{number}" if len(by_measure) > 1 else ""
        free = [run for run in alike if not run.summary.gold_chain]
        given = [run for run in alike if run.summary.gold_chain]
        for place, pair in enumerate(_pairs(free, given), 1):
            tables.append(gold_chain_table(*pair, f"worfbench-table5{key}-{place}"))
        tables += held_out_tables(free, f"worfbench-table2{key}")
        for place, other in enumerate(free[1:], 1):
            tables.append(gain_table(free[0], other, f"worfbench-gain{key}-{place}"))
    return [table for table in tables if table.rows]


def _pairs(free: Sequence[ReadRun], given: Sequence[ReadRun]) -> Iterator[tuple[ReadRun, ReadRun]]:
    """For each run with the gold chain the first one of the same model without it."""
    for run in given:
        partner = next((other for other in free if other.summary.model == run.summary.model), None)
        if partner is not None:
            yield partner, run


def gold_chain_table(free: ReadRun, given: ReadRun, key: str) -> Table:
    """F1 of the graph without and with the gold steps, on the same rows (the paper's table 5)."""
    known = known_as(free.summary.model)
    paper = _paper_gold_chain(known) if known else {}
    head = (free.summary.model, "rows", "without", "with", "difference", *(["paper: without, with"] if paper else []))
    rows: list[tuple[str, ...]] = []
    for part in (*free.parts, HELD_IN):
        ids = [id for name in (free.held_in if part == HELD_IN else [part]) for id in free.parts[name]]
        shared = [id for id in ids if id in given.records]
        if not shared:
            continue
        without, with_ = (
            _averaged(free, part, lambda id, run=run: _graph(run.records[id]) if id in given.records else None)
            for run in (free, given)
        )
        difference = _difference(free, given, part, _graph)
        cells = (_words(part), str(len(shared)), _cell(without), _cell(with_), _cell(difference, signed=True))
        rows.append((*cells, *([paper.get(part, "")] if paper else [])))
    return Table(
        key,
        f"The gold chain given: {free.summary.model} on {free.summary.data}",
        head,
        tuple(rows),
        "F1 of the graph in percent, without and with the gold steps, on the rows that both runs have; the difference "
        "is paired by row, with a 95 % interval (Student's t). " + _HELD_IN_SAYS,
    )


def _paper_gold_chain(model: str) -> dict[str, str]:
    """The paper's values by part."""
    given = next((row for row in published()["table5"]["rows"] if row["model"] == model), None)
    free = next((row for row in published()["table1"]["rows"] if row["model"] == model), None)
    if given is None or free is None:
        return {}
    names = {**{name: name for name in GROUPS}, HELD_IN: "average"}
    return {part: f"{free[name][1]:.2f}, {given[name]:.2f}" for part, name in names.items()}


def held_out_tables(runs: Sequence[ReadRun], key: str) -> Iterator[Table]:
    """F1 on held-in groups and on held-out sources (the paper's table 2)."""
    sources = list(dict.fromkeys(source for run in runs for source in run.held_out))
    if not sources:
        return
    head = ("model", "held in", *map(_words, sources), "held in minus held out")
    rows = [
        (run.label, *(_both(run, part) for part in (HELD_IN, *sources)), _cell(_gap(run), signed=True)) for run in runs
    ]
    if set(sources) <= {*HELD_OUT}:
        for kind, mark in (("rows", ""), ("trained", ", trained")):
            for row in published()["table2"][kind]:
                outside = sum(row[source][1] for source in sources) / len(sources)
                cells = (f"{row[name][0]:.2f}, {row[name][1]:.2f}" for name in ("held_in", *sources))
                rows.append((f"paper: {row['model']}{mark}", *cells, f"{row['held_in'][1] - outside:+.2f}"))
    yield Table(
        key,
        f"Held-in groups and held-out sources: {runs[0].summary.data}",
        head,
        tuple(rows),
        "F1 of the chain and of the graph in percent with 95 % intervals; the last column is of the graph, and counts "
        "all held-out sources alike. " + _HELD_IN_SAYS,
    )


def _both(run: ReadRun, part: str) -> str:
    return f"{_cell(run.mean(part, _chain))}, {_cell(run.mean(part, _graph))}"


def _gap(run: ReadRun) -> Mean | None:
    """The mean of the held-in parts minus that of the held-out sources; the two are independent."""
    inside = run.mean(HELD_IN, _graph)
    means = [mean for source in run.held_out if (mean := run.mean(source, _graph)) is not None]
    if inside is None or not means:
        return None
    outside = mean_of_means(means)
    middle, of = round(inside.mean - outside.mean, 2), inside.of + outside.of
    if inside.high is None or outside.high is None:
        return Mean(mean=middle, low=None, high=None, of=of)
    half = math.hypot(inside.high - inside.mean, outside.high - outside.mean)
    return Mean(mean=middle, low=round(middle - half, 2), high=round(middle + half, 2), of=of)


def gain_table(first: ReadRun, other: ReadRun, key: str) -> Table:
    """What another run gains over the first one, by group and held-out source: whether a gain carries over."""
    rows: list[tuple[str, ...]] = []
    for part in (*first.held_in, HELD_IN, *first.held_out):
        chain, graph = (_difference(first, other, part, score) for score in (_chain, _graph))
        if chain is not None and graph is not None:
            rows.append((_words(part), str(graph.of), _cell(chain, signed=True), _cell(graph, signed=True)))
    return Table(
        key,
        f"Gain of {other.label} over {first.label}",
        ("part", "rows", "F1 chain", "F1 graph"),
        tuple(rows),
        "Differences in percentage points on the rows that both runs have, paired by row, with 95 % intervals. In the "
        f"paper, training gains {_paper_gains()}. " + _HELD_IN_SAYS,
    )


def _paper_gains() -> str:
    """What the paper's trained models gain in F1 of the graph (table 2)."""
    table = published()["table2"]
    before: dict[str, Any] = {row["model"]: row for row in table["rows"]}
    told: list[str] = []
    for row in table["trained"]:
        gains = [f"{row[part][1] - before[row['model']][part][1]:+.2f} {_words(part)}" for part in _PAPER_PARTS]
        told.append(f"{', '.join(gains)} ({row['model']}, F1 graph)")
    return "; ".join(told)


_PAPER_PARTS = ("held_in", *HELD_OUT)
_HELD_IN_SAYS = (
    "`held in` is the plain mean of the groups, as in the paper; sources in no group that are not held out count as "
    "groups."
)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(mean: Mean | None, signed: bool = False) -> str:
    if mean is None:
        return "–"
    sign = "+" if signed else ""
    return f"{mean.mean:{sign}.1f}" + (
        "" if mean.low is None or mean.high is None else f" [{mean.low:{sign}.1f}, {mean.high:{sign}.1f}]"
    )

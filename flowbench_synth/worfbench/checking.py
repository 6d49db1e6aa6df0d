"""Checks rows: their form and their graphs, and in a built folder also against the recorded calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from flowbench_synth.worfbench.builder import CALLS, PARTS, BuildOptions
from flowbench_synth.worfbench.cases import CallsRecord
from flowbench_synth.worfbench.faults import FAULTS, Fault, Graph, faults_of, shown
from flowbench_synth.worfbench.retrieval import read_tools_text, strangers
from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, read_model
from flowmind.evaluation.encoder import sentence_encoder
from flowmind.evaluation.worfeval import Similarity, bag_of_words
from flowmind.formats.worfbench_rows import StoredRow, read_stored_rows

_SHOWN_IDS = 8


class _Manifest(BaseModel):
    settings: BuildOptions = Field(default_factory=BuildOptions)


@dataclass
class CheckReport:
    """What a check found."""

    place: str
    rows: int = 0
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]])
    """By the row's id; `row 7` for a row without one."""
    tools_read: int = 0
    """The rows whose tools can be read."""
    steps: int = 0
    """The steps of these rows."""
    unlike: int = 0
    """The steps of these that have no word in common with any tool."""

    def add(self, id: str, faults: Sequence[Fault]) -> None:
        """Adds the faults of a row."""
        if faults:
            self.faults.setdefault(id, []).extend(faults)

    def ids(self) -> dict[str, list[str]]:
        """The ids of the rows with each fault, in the order of `FAULTS`."""
        by_code: dict[str, list[str]] = defaultdict(list)
        for id, faults in self.faults.items():
            for code in dict.fromkeys(fault.code for fault in faults):
                by_code[code].append(id)
        return {code: by_code[code] for code in FAULTS if code in by_code}

    def document(self) -> dict[str, Any]:
        """The report as a JSON value."""
        return {
            "place": self.place,
            "rows": self.rows,
            "faulty": len(self.faults),
            "faults": {code: {"count": len(ids), "ids": ids} for code, ids in self.ids().items()},
            "about": {id: [fault._asdict() for fault in faults] for id, faults in self.faults.items()},
            "tools": {"rows_read": self.tools_read, "steps": self.steps, "steps_unlike_any_tool": self.unlike},
        }

    def lines(self) -> Iterator[str]:
        """The report for a reader."""
        for code, ids in self.ids().items():
            more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
            yield f"{code}: {len(ids)} ({FAULTS[code]}): {', '.join(ids[:_SHOWN_IDS])}{more}"
        yield (
            f"tools can be read in {self.tools_read} of {self.rows} rows; {self.unlike} of their {self.steps} steps "
            "have no word in common with any tool"
        )
        verdict = f"{len(self.faults)} faulty" if self.faults else "no fault"
        yield f"{self.place}: {self.rows} rows, {verdict}"


def check(path: Path) -> CheckReport:
    """Checks a file of rows, or a folder that was built.

    Raises:
        InputError: If it cannot be read.
    """
    return _check_folder(path) if path.is_dir() else _check_file(path)


def _check_file(path: Path) -> CheckReport:
    report = CheckReport(str(path))
    for _ in _checked(path, report, set()):
        pass
    return report


def _checked(path: Path, report: CheckReport, ids: set[str]) -> Iterator[tuple[StoredRow, Graph | None]]:
    """The rows of a file that can be read, with their graphs; their own faults are added to the report."""
    for number, entry in enumerate(read_stored_rows(path).entries, 1):
        report.rows += 1
        if isinstance(entry, ValueError):
            report.add(f"{path.name}, row {number}", [Fault("format", str(entry))])
            continue
        graph, faults = faults_of(entry)
        if entry.id in ids:
            faults.append(Fault("duplicate_id", entry.id))
        ids.add(entry.id)
        report.add(entry.id, faults)
        tools = read_tools_text(entry.tools)
        if tools and graph:
            rows = bag_of_words(graph.steps, list(tools.values()))
            report.tools_read += 1
            report.steps += len(graph.steps)
            report.unlike += sum(not any(row) for row in rows)
        yield entry, graph


def _check_folder(folder: Path) -> CheckReport:
    for name in (CALLS, "manifest.json"):
        if not (folder / name).exists():
            raise InputError(f"{folder}: there is no {name}; give a folder that `worfbench build` wrote, or a file")
    settings = read_model(folder / "manifest.json", _Manifest).settings
    similar: Similarity = bag_of_words if settings.similarity == "bow" else sentence_encoder(settings.similarity)
    records = {record.id: record for record in read_lines(folder / CALLS, CallsRecord)}
    report = CheckReport(str(folder))
    ids: set[str] = set()
    for part in PARTS:
        path = folder / f"{part}.jsonl"
        if not path.exists() or not path.read_bytes().strip():
            continue
        for row, graph in _checked(path, report, ids):
            record = records.get(row.id)
            if record is None:
                report.add(row.id, [Fault("no_record", "")])
            else:
                report.add(row.id, [*_against(row, graph, record, part, similar)])
    for id in records.keys() - ids:
        report.add(id, [Fault("no_row", "")])
    return report


def _against(
    row: StoredRow, graph: Graph | None, record: CallsRecord, part: str, similar: Similarity
) -> Iterator[Fault]:
    """The differences of a row from its recorded calls."""
    tools = read_tools_text(row.tools)
    if row.source != record.source or part != record.part:
        yield Fault("other_task", f"source {row.source}, part {part}")
    if row.task.split() != record.task.split():
        yield Fault("other_task", "the task")
    if list(tools) != list(record.offered):
        yield Fault("other_task", "the tools")
    if graph is None:
        return
    chain = record.chain()
    if graph.steps != tuple(" ".join(step.split()) for step in chain.steps):
        yield Fault("other_steps", f"{len(graph.steps)} steps, {len(chain.steps)} recorded")
    if set(graph.edges) != set(chain.edges):
        count = len(chain.steps)
        lost, more = sorted({*chain.edges} - {*graph.edges}), sorted({*graph.edges} - {*chain.edges})
        yield Fault("other_edges", f"missing: {shown(lost, count) or 'none'}; more: {shown(more, count) or 'none'}")
    own = [call.call.tool for call in record.trace.calls]
    if tools and len(own) == len(graph.steps) and (found := strangers(graph.steps, own, tools, similar)):
        yield Fault("not_retrieved", found[0])

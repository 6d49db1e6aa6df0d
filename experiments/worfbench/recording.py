"""What a row leaves behind, and the folder of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from experiments.folder import Run
from flowmind.base import checksums as store
from flowmind.base.files import write_text
from flowmind.evaluation.worfeval import Part, StepGraph
from tools_registry.specs.spec import Record


class RowRecord(Record):
    """A row: both graphs under the names that `flowmind worfeval` reads, the scores, and what the reply cost."""

    id: str
    source: str
    gold_graph: StepGraph
    pred_graph: StepGraph | None = None
    pred_text: str = ""
    """The reply as it came."""
    malformed: str | None = None
    """Why the reply cannot be read; the row scores zero."""
    chain: Part | None = None
    graph: Part | None = None
    finish: Literal["stop", "length", "context"] = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    started_at: float
    seconds: float
    error: str | None = None
    """The endpoint failed: the row has no scores, is counted apart, and is asked again by the next run."""


class Folder:
    """The folder of a run: manifest, records, summary."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = Run(path)

    def records(self) -> dict[str, RowRecord]:
        """The records by row, the last of each; a last line that is not finished is left out.

        Raises:
            InputError: If a line is damaged.
        """
        return {record.id: record for record in store.read(self.run.records_path, RowRecord)}

    def keep(self, record: RowRecord) -> None:
        """Adds a record."""
        store.append(self.run.records_path, record.model_dump(mode="json"), "record", sync=True)

    def put_in_order(self, records: Sequence[RowRecord]) -> None:
        """Writes the records once each in the given order: equal runs have equal files, however they went."""
        text = "".join(store.line(record.model_dump(mode="json")) for record in records)
        path = self.run.records_path
        if not path.exists() or path.read_bytes() != text.encode():
            write_text(path, text, "order")

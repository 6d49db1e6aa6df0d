"""The record of a row. A row with an error has no scores, is counted separately, and is asked again by the next run."""

from __future__ import annotations

from typing import Literal

from experiments.record import Kept
from flowmind.evaluation.worfeval import Part, StepGraph


class RowRecord(Kept):
    """A row: both graphs under the names that `flowmind worfeval` reads, the scores, and the cost of the reply."""

    source: str
    held_out: bool = False
    """Whether none of the source's rows is in a training set."""
    gold_graph: StepGraph
    pred_graph: StepGraph | None = None
    pred_text: str = ""
    """The unchanged reply."""
    malformed: str | None = None
    """The reason why the reply cannot be read; the row scores zero."""
    chain: Part | None = None
    graph: Part | None = None
    finish: Literal["stop", "length", "context"] = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    started_at: float
    seconds: float

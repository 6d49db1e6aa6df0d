"""The record of one case of a run: a line of `records.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, model_validator

from flowmind.build.derivation import Derivation
from flowmind.evaluation.coverage import Unseen
from flowmind.evaluation.executions import Integrity
from flowmind.protocols import Evaluation
from tools_registry.specs.spec import Record

FailureMode = Literal["none", "exec_only", "graph_only", "both_partial", "empty"]
"""The missing part of a case: none; the graph; the execution; a part of both; everything (or an error ended it).

Source: FlowMind, appendix E.5, table 11."""


class Kept(Record):
    """The base of the record that a run keeps of each case."""

    id: str
    """The id of the instance."""
    error: str | None = None
    """The failure of the infrastructure that ended the case, such as a failing endpoint; never a wrong answer."""


class Score(Record):
    """The result of one held-out test. It is written when the case is over; no agent sees it."""

    passed: bool
    """Whether it is right. A doubt is not."""
    input: dict[str, Any] = Field(default_factory=dict)
    expected: Any = None
    actual: Any = None
    error: str | None = None
    """The error of the run, or where the rivals of the workflow disagreed with it (`doubt: …`)."""
    compared: Unseen | None = None
    """The comparison of the workflow with its rivals; None if it has none, or there was no workflow to run."""

    @property
    def unseen(self) -> Unseen:
        """The test as the measures of doubt see it."""
        return self.compared or Unseen(right=self.passed, answered=self.error is None)


class TaskFacts(Record):
    """The properties of a task that the analyses count."""

    control_flow: str = ""
    words: int = 0
    """The length of its text in words."""
    tools: int = 0
    """The number of tools that are offered."""
    examples: int = 0


class CallCounts(Record):
    """The tool calls of a case, in all its stages."""

    business: int = 0
    business_failed: int = 0
    graph: int = 0
    graph_failed: int = 0


class ParseCounts(Record):
    """The number of replies of the model by how they were read; see `Turn.parse`."""

    clean: int = 0
    recovered: int = 0
    reprompted: int = 0
    failed: int = 0

    def __add__(self, other: ParseCounts) -> ParseCounts:
        return ParseCounts(
            clean=self.clean + other.clean,
            recovered=self.recovered + other.recovered,
            reprompted=self.reprompted + other.reprompted,
            failed=self.failed + other.failed,
        )


class StageUsage(Record):
    """The replies, tokens and seconds of one stage."""

    turns: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    """The sum that the server reported; None if it reported no count for some turn."""
    seconds: float = 0.0
    """Time spent waiting for the model."""
    stop: tuple[str, ...] = ()
    """How each trace of the stage ended."""


class StructureFacts(Record):
    """The similarity of a case's workflow to the gold workflow (`flowmind.evaluation.structure`)."""

    nodes: float = 0.0
    """F1 of the nodes with their arguments, 0 to 1. The next three are F1 scores as well."""
    tools: float = 0.0
    edges: float = 0.0
    branches: float = 0.0
    equivalent: bool = False
    """Whether it is known to give the same answers."""
    covered: float = 0.0
    """The share of the gold workflow's paths that it has."""
    spurious: float = 0.0
    """The share of its own paths that the gold workflow does not have."""
    diff: tuple[str, ...] = ()
    """The first lines of the differences."""


class GuideFacts(Record):
    """The workflow that the agent of a case was given, and how it was worked through."""

    steps: int
    retrievable: int = 0
    """The steps that call one of the tools of the task, and no other, as far as the source says."""
    first: int = 0
    """Of these, those whose tool is the most similar one."""
    third: int = 0
    """Of these, those whose tool is among the three most similar ones."""
    seconds: tuple[float, ...] = ()
    """The time that each step waited for the model, and at last the answer; empty for agents that do not work through
    the steps, and if not all steps were finished."""
    path: float = 0.0
    """The critical path of these times: what they would take if every step began when those that it needs are done."""


_FLAGS = ("exec_complete", "exec_correct", "graph_valid", "passed")


class CaseRecord(Kept):
    """One case of a run."""

    category: str = ""
    difficulty: str = ""
    task: TaskFacts = Field(default_factory=TaskFacts)
    scores: dict[str, Evaluation] = Field(default_factory=dict[str, Evaluation])
    """The scores of all evaluators, by name."""
    tests: tuple[Score, ...] = ()
    problems: tuple[str, ...] = ()
    structure: StructureFacts | None = None
    """None if the case has no workflow, or the benchmark has no gold workflow for the task."""
    derivation: Derivation | None = None
    integrity: Integrity = "incomplete"
    """The best of its executions."""
    calls: CallCounts = Field(default_factory=CallCounts)
    guide: GuideFacts | None = None
    """None if the agent was given no workflow."""
    failure_mode: FailureMode = "none"
    coerced: int = 0
    parse: ParseCounts = Field(default_factory=ParseCounts)
    execute: StageUsage = Field(default_factory=StageUsage)
    summarize: StageUsage = Field(default_factory=StageUsage)
    started_at: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0
    """From the start of the case to its last test, including the waiting time of an earlier attempt."""

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, data: Any) -> Any:
        """Reads a record of version 1, which had a field for each of five scores."""
        if not isinstance(data, Mapping):
            return data
        fields = dict(cast(Mapping[str, Any], data))
        scores: dict[str, Any] = {name: {"value": float(fields.pop(name))} for name in _FLAGS if name in fields}
        if "mti" in fields:
            kind = fields.pop("mti")
            scores["mti"] = {"value": float(kind is not None), "reason": kind or ""}
        return {**fields, "scores": {**scores, **fields.get("scores", {})}}

    def holds(self, name: str) -> bool:
        """Whether a score is 1; False if the case does not have it."""
        return name in self.scores and self.scores[name].value == 1.0

    @property
    def exec_complete(self) -> bool:
        """Whether an execution called a business tool successfully and ended by `finish`."""
        return self.holds("exec_complete")

    @property
    def exec_correct(self) -> bool:
        """Whether a complete execution gave the expected answer."""
        return self.holds("exec_correct")

    @property
    def graph_valid(self) -> bool:
        """Whether there is a workflow that passes `check`."""
        return self.holds("graph_valid")

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return self.holds("passed")

    @property
    def guided(self) -> bool:
        """Whether the mode executes only."""
        return "informed" in self.scores

    @property
    def mti(self) -> str | None:
        """The kind of mixed tool invocation; None if there was none."""
        return self.scores["mti"].reason if self.holds("mti") else None

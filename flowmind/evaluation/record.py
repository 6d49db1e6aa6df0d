"""The record: what one case of a run left behind, one line of `records.jsonl`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tools_registry.specs.spec import Record as Base

FailureMode = Literal["none", "exec_only", "graph_only", "both_partial", "empty"]
"""What a case lacks: nothing; a graph; an execution; something of both; everything (or an error ended it)."""


Integrity = Literal["complete", "errors", "incomplete"]
"""Of an execution: it ended by `finish` and no call failed; it did and some failed; it did not end by `finish`."""


class Score(Base):
    """One held-out test. It is written when the case is over; no agent sees it."""

    passed: bool
    input: dict[str, Any] = Field(default_factory=dict)
    expected: Any = None
    actual: Any = None
    error: str | None = None


class TaskFacts(Base):
    """What of a task the analyses count."""

    control_flow: str = ""
    words: int = 0
    """Of its text."""
    tools: int = 0
    """Offered."""
    examples: int = 0


class CallCounts(Base):
    """The tool calls of a case, in all its stages."""

    business: int = 0
    business_failed: int = 0
    graph: int = 0
    graph_failed: int = 0


class ParseCounts(Base):
    """How the model's replies were read."""

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


class StageUsage(Base):
    """What a stage used."""

    turns: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    """As the server reported them; None if it did not for some turn."""
    seconds: float = 0.0
    """Waited for the model."""
    stop: tuple[str, ...] = ()
    """How each trace of the stage ended."""


class StructureFacts(Base):
    """The workflow of a case against the gold one by their form, as `flowmind.evaluation.structure` compares them."""

    nodes: float = 0.0
    """F1 of the nodes with what they read, 0 to 1; so are the next three."""
    tools: float = 0.0
    edges: float = 0.0
    branches: float = 0.0
    equivalent: bool = False
    """It is known to give the same answers."""
    covered: float = 0.0
    """The share of gold's paths that it has."""
    spurious: float = 0.0
    """The share of its own paths that gold has not."""
    diff: tuple[str, ...] = ()
    """The first lines of what differs."""


class Derivation(Base):
    """How a workflow was derived from traces, where not an agent alone built it."""

    summarizer: str
    executions: int = 0
    """Traces that were made or taken."""
    built_from: int = 0
    """Traces that the workflow was induced from."""
    examples: int = 0
    draft_right: int = 0
    """Examples that the likeliest sound draft of the first derivation solves, as it is."""
    guesses: int = 0
    """Conditions of the workflow for which several candidates agree with the traces, or none does."""
    right: int = 0
    """Examples that the workflow solves in the end."""
    verified: int = 0
    """Examples that it solves and that it was not built from."""
    rounds: int = 0
    """Of mending."""
    mends: tuple[str, ...] = ()
    """What was done: `execute`, `negation`, `candidate`, `question`, `edit`, `probe`."""
    asked: int = 0
    """Questions that a model was asked."""
    open: tuple[str, ...] = ()
    """What is left open: questions that the traces do not answer."""
    leaked: tuple[str, ...] = ()
    """Constants of the workflow that equal a value of a case and that the task does not name."""
    idle: tuple[str, ...] = ()
    """Inputs that never change the output."""
    unexplained: int = 0
    """Values in the traces that were worked out without a tool."""
    unsettled: tuple[str, ...] = ()
    """Inputs that should move the output by their origins, and did not."""
    source: str = "agent"
    """`gold` if gold traces stood for executions."""

    @property
    def whole(self) -> bool:
        """Every example is solved."""
        return self.right == self.examples


class CaseRecord(Base):
    """One case of a run."""

    id: str
    """The instance's."""
    category: str = ""
    difficulty: str = ""
    task: TaskFacts = Field(default_factory=TaskFacts)
    exec_complete: bool = False
    exec_correct: bool = False
    graph_valid: bool = False
    tests: tuple[Score, ...] = ()
    passed: bool = False
    """All tests passed."""
    problems: tuple[str, ...] = ()
    structure: StructureFacts | None = None
    """None where there is no workflow, or the benchmark has no gold one."""
    derivation: Derivation | None = None
    integrity: Integrity = "incomplete"
    """The best of its rollouts."""
    calls: CallCounts = Field(default_factory=CallCounts)
    mti: str | None = None
    failure_mode: FailureMode = "none"
    coerced: int = 0
    parse: ParseCounts = Field(default_factory=ParseCounts)
    execute: StageUsage = Field(default_factory=StageUsage)
    summarize: StageUsage = Field(default_factory=StageUsage)
    error: str | None = None
    """What kept the case from being tried to its end, such as a failing endpoint; never a wrong answer."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0
    """From the start of the case to its last test; what an earlier attempt had waited for is counted, too."""

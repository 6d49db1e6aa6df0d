"""The trace: what an agent or a workflow did, step by step. Everything before writes it, everything after reads it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from tools_registry.spec import Observation, Record, ToolCall, ToolError

StopReason = Literal["finish", "error", "turns", "failures", "unparsed", "tokens", "seconds", "context", "model_error"]
"""Why a trace ends: `finish` is the only good end; `error` is a workflow's, the others are an agent's budgets."""


class Origin(Record):
    """Where a value of a trace came from.

    `input`: an input of the case or a path into it (`name`, `path`). `output`: what an earlier tool step gave, or a
    path into it (`step`, `path`). `text`: a value that the task's text names. `literal`: a plain constant, the same in
    all traces. `made`: a list or object that is put together from `parts`. `unexplained`: none of these: whoever made
    the trace worked it out without a tool, so nothing can be derived from it.
    """

    kind: Literal["input", "output", "text", "literal", "made", "unexplained"]
    name: str | None = None
    """The input."""
    step: int | None = None
    """The earlier step: its place in `Trace.tool_steps`, from 0."""
    path: tuple[str | int, ...] = ()
    """Keys and indices into the input or the step's value."""
    parts: dict[str, Origin] = Field(default_factory=dict)
    """By key; of a list by index, written as text."""


class PlanStep(Record):
    """A plan, made without calling tools."""

    kind: Literal["plan"] = "plan"
    analysis: str = ""
    steps: tuple[str, ...]
    turn: int | None = None


class ToolStep(Record):
    """A tool call and what it gave."""

    kind: Literal["tool"] = "tool"
    call: ToolCall
    observation: Observation
    node: str | None = None
    """The workflow's node (in a map's body `map.step`), if a workflow called."""
    reasoning: str = ""
    """What the agent said to it, if an agent called."""
    phase: int = 0
    """The part of the stage: the step of the plan that was being executed, 0 without a plan."""
    turn: int | None = None
    origins: dict[str, Origin] = Field(default_factory=dict)
    """Where each argument came from, once provenance was worked out."""


class ConditionStep(Record):
    """A condition that was evaluated."""

    kind: Literal["condition"] = "condition"
    node: str
    expr: str
    value: bool


class AssignStep(Record):
    """A variable that a node set without a tool: an assignment, or the collected list of a map."""

    kind: Literal["assign"] = "assign"
    node: str
    output: str
    value: Any


class ModelStep(Record):
    """The answer of a workflow's `llm` node."""

    kind: Literal["llm"] = "llm"
    node: str
    prompt: str
    value: str


class FailedStep(Record):
    """A node other than a tool that could not be evaluated."""

    kind: Literal["failed"] = "failed"
    node: str
    error: ToolError


Step = Annotated[PlanStep | ToolStep | ConditionStep | AssignStep | ModelStep | FailedStep, Field(discriminator="kind")]


class Turn(Record):
    """One reply of a model: its text as it came, how it was read, and what it cost."""

    text: str
    parse: Literal["clean", "recovered", "reprompted", "failed"]
    """`clean`: strict JSON; `recovered`: found in other text or repaired; `reprompted`: unusable, so that the
    model was asked again; `failed`: unusable, and no question was left."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0


class Trace(Record):
    """The record of one execution by an agent, or of one run of a workflow."""

    inputs: dict[str, Any] = Field(default_factory=dict)
    """What it worked on."""
    steps: tuple[Step, ...] = ()
    stop: StopReason
    answer: Any = None
    """The final value, if it stopped with `finish`, or was handed in before the stage went on."""
    origin: Origin | None = None
    """Where the answer came from, once provenance was worked out."""
    handed_in: bool = False
    """The agent had ended its execution with an answer before it was asked for the workflow (`enhanced-react`)."""
    error: ToolError | None = None
    """Why it stopped otherwise."""
    turns: tuple[Turn, ...] = ()
    """The model's replies, if a model was asked."""

    @property
    def ok(self) -> bool:
        """Whether it came to its end."""
        return self.stop == "finish"

    @property
    def executed(self) -> bool:
        """Whether the execution came to its end, whatever became of a workflow built after it."""
        return self.ok or self.handed_in

    @property
    def tool_steps(self) -> tuple[ToolStep, ...]:
        """The tool calls, in order."""
        return tuple(step for step in self.steps if isinstance(step, ToolStep))

    @property
    def output_tokens(self) -> int:
        """The output tokens of all turns, as far as the server reported them."""
        return sum(turn.output_tokens or 0 for turn in self.turns)

    def dump(self) -> dict[str, Any]:
        """The trace as a JSON value, defaults left out."""
        body = self.model_dump(mode="json", exclude_defaults=True)
        steps = zip(self.steps, body.pop("steps", []), strict=True)
        return {**body, "steps": [{"kind": step.kind, **dumped} for step, dumped in steps]}

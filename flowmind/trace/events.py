"""The trace: what an agent or a workflow did, step by step. Everything before writes it, everything after reads it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from tools_registry.specs.spec import Observation, Record, ToolCall, ToolError

StopReason = Literal["finish", "error", "turns", "failures", "unparsed", "tokens", "seconds", "context", "model_error"]
"""Why a trace ends: `finish` is the only good end; `error` is a workflow's, the others are an agent's budgets."""


class Origin(Record):
    """Where a value of a trace came from.

    `input`: an input of the case or a path into it (`name`, `path`). `output`: what an earlier tool step gave, or a
    path into it (`step`, `path`). `text`: a value that the task's text names. `literal`: a plain constant, the same in
    all traces. `made`: a list or object that is put together from `parts`. `computed`: an expression over inputs and
    outputs (`expr`), found when a workflow was derived from all traces. `unexplained`: none of these: the agent
    computed it without a tool.
    """

    kind: Literal["input", "output", "text", "literal", "made", "computed", "unexplained"]
    name: str | None = None
    """The input."""
    step: int | None = None
    """The earlier step: its place in `Trace.calls`, from 0."""
    path: tuple[str | int, ...] = ()
    """Keys and indices into the input or the step's value."""
    parts: dict[str, Origin] = Field(default_factory=dict)
    """By key; of a list by index, written as text."""
    expr: str = ""
    """What is computed, for a reader."""


class Said(Record):
    """Words of a user or an agent, in a dialogue or an imported conversation."""

    kind: Literal["said"] = "said"
    role: Literal["system", "user", "agent"]
    text: str
    turn: int | None = None


class Planned(Record):
    """A plan, made without calling tools."""

    kind: Literal["planned"] = "planned"
    analysis: str = ""
    steps: tuple[str, ...]
    turn: int | None = None


class Called(Record):
    """A tool call and its observation."""

    kind: Literal["called"] = "called"
    call: ToolCall
    observation: Observation
    node: str | None = None
    """The workflow's node (`map.step` in the body of a map), if a workflow called."""
    reasoning: str = ""
    """The agent's reasoning for this call, if an agent called."""
    phase: int = 0
    """The step of the plan that was being executed; 0 without a plan."""
    turn: int | None = None
    origins: dict[str, Origin] = Field(default_factory=dict)
    """The origin of each argument, once provenance is known."""


class Refused(Record):
    """A tool call that a controller or a person did not allow. The tool was not called."""

    kind: Literal["refused"] = "refused"
    call: ToolCall
    by: str
    """The name of the controller, or `approval`."""
    reason: str
    node: str | None = None
    reasoning: str = ""
    phase: int = 0
    turn: int | None = None


class Evaluated(Record):
    """A condition that was evaluated."""

    kind: Literal["evaluated"] = "evaluated"
    node: str
    expr: str
    value: bool


class Assigned(Record):
    """A variable that a node set without a tool: an assignment, or the collected list of a map."""

    kind: Literal["assigned"] = "assigned"
    node: str
    output: str
    value: Any


class Asked(Record):
    """A model's answer to a workflow's `llm` node."""

    kind: Literal["asked"] = "asked"
    node: str
    prompt: str
    value: str


class Failed(Record):
    """A node other than a tool that could not be evaluated."""

    kind: Literal["failed"] = "failed"
    node: str
    error: ToolError


Event = Annotated[
    Said | Planned | Called | Refused | Evaluated | Assigned | Asked | Failed, Field(discriminator="kind")
]

_VERSION_1 = {"plan": "planned", "tool": "called", "condition": "evaluated", "assign": "assigned", "llm": "asked"}
"""The kinds of version 1, whose traces had `steps` instead of `events`."""


def _renamed(row: Any) -> Any:
    """A step of version 1 as an event; anything else as it is."""
    if not isinstance(row, dict):
        return row
    step = cast(dict[str, Any], row)
    kind = step.get("kind")
    return {**step, "kind": _VERSION_1.get(str(kind), kind)}


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
    events: tuple[Event, ...] = ()
    """What happened, in order."""
    stop: StopReason
    answer: Any = None
    """The final value, if it stopped with `finish`, or was handed in before the stage went on."""
    origin: Origin | None = None
    """Where the answer came from, once provenance is known."""
    handed_in: bool = False
    """The agent had ended its execution with an answer before it was asked for the workflow (`enhanced-react`)."""
    error: ToolError | None = None
    """Why it stopped otherwise."""
    turns: tuple[Turn, ...] = ()
    """The model's replies, if a model was asked."""

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, data: Any) -> Any:
        """Reads a trace that version 1 wrote."""
        if not isinstance(data, dict) or "steps" not in data or "events" in data:
            return cast(Any, data)
        body = dict(cast(dict[str, Any], data))
        rows: list[Any] = list(body.pop("steps") or ())
        return {**body, "events": [_renamed(row) for row in rows]}

    @property
    def ok(self) -> bool:
        """Whether it came to its end."""
        return self.stop == "finish"

    @property
    def executed(self) -> bool:
        """Whether the execution came to its end, whatever became of a workflow built after it."""
        return self.ok or self.handed_in

    @property
    def calls(self) -> tuple[Called, ...]:
        """The tool calls, in order."""
        return tuple(event for event in self.events if isinstance(event, Called))

    @property
    def output_tokens(self) -> int:
        """The output tokens of all turns, as far as the server reported them."""
        return sum(turn.output_tokens or 0 for turn in self.turns)

    def dump(self) -> dict[str, Any]:
        """The trace as a JSON value, defaults left out."""
        body = self.model_dump(mode="json", exclude_defaults=True)
        events = zip(self.events, body.pop("events", []), strict=True)
        return {**body, "events": [{"kind": event.kind, **dumped} for event, dumped in events]}

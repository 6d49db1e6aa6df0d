"""The seams, on one screen: `ChatModel`, `Agent`, `Controller`, `Evaluator`, `Map`, and what passes through them.

The seam `Environment` comes from below: `tools_registry.sandbox.environment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field

from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import Record, ToolCall, ToolSpec

Stage = Literal["execute", "summarize", "single"]
"""What a conversation is for: business tools, graph tools, or both at once."""


class Message(Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(Record):
    """What a model is asked."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    """The tools that may be called now; sent along only where native tool calls are switched on."""
    reply: Literal["action", "plan", "text"] = "text"
    """The form of the reply that the messages ask for; becomes a schema where JSON mode is switched on."""
    stop: tuple[str, ...] = ()
    max_tokens: int = 2_048
    temperature: float = 0.0
    seed: int | None = None
    rollout: int = 0
    """Which execution of the task asks; replies are never shared between rollouts."""


class Reply(Record):
    """What a model said."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    """Native tool calls, where they are switched on."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    """As the server reports them; None if it does not, never a guess."""
    finish: Literal["stop", "length", "context"] = "stop"
    """`length`: cut off by `max_tokens`. `context`: the request is longer than the model's context, there is no reply,
    and `text` is what the server said."""
    seconds: float | None = None
    """How long it took, where whoever asked has measured it: a reply that is replayed keeps its time."""


class ChatModel(Protocol):
    """A language model, or what stands in for one."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers a conversation.

        Raises:
            ModelFailure: If the endpoint failed on this request, after retries.
            ModelUnavailable: If it cannot serve at all (no such model, no permission).
        """
        ...


class Brief(Record):
    """What an agent is told to do, apart from how."""

    stage: Stage
    task: str
    """The opening message: tools, task, examples; for the summarizer the traces."""
    inputs: dict[str, Any] = Field(default_factory=dict)
    """What the agent works on, for its trace."""
    output: dict[str, Any] = Field(default_factory=dict)
    """JSON Schema of the answer, if it is known."""
    must_build: bool = False
    """Ask once more for a workflow if the stage ends without one (`enhanced-react`)."""


class Agent(Protocol):
    """Works on a brief by calling a sandbox's tools."""

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Works until it finishes or a budget ends; the trace says which, nothing is lost."""
        ...


class Verdict(Record):
    """What a controller says to an action."""

    allowed: bool
    reason: str = ""


class Controller(Protocol):
    """Keeps an agent to a procedure: a pure function of the action and what came before."""

    @property
    def name(self) -> str:
        """The name that traces and tables give it."""
        ...

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether the action may be taken now."""
        ...


class Evaluation(Record):
    """A score, and the reason for it."""

    value: float
    reason: str = ""

    @classmethod
    def of(cls, flag: bool, reason: str = "") -> Evaluation:
        """The score 1 or 0 of something that holds or does not."""
        return cls(value=float(flag), reason=reason)


class Outcome(Record):
    """Everything that one case left, as evaluators see it. It does not say which model or mode produced it."""

    task: Task
    tests: tuple[Example, ...] = ()
    """The held-out tests."""
    executions: tuple[Trace, ...] = ()
    """The traces of the execute stage."""
    worked: tuple[int, ...] = ()
    """For each execution the example that it worked on, from 0; -1 if none, or if the answer had been given to it.
    Empty if execution k worked on example k."""
    summary: Trace | None = None
    """The trace of the summarize stage."""
    workflow: Workflow | None = None
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds in the workflow."""
    runs: tuple[Trace, ...] = ()
    """The runs of a sound workflow on the tests, one for each; empty if there is no sound workflow."""


class Evaluator(Protocol):
    """Judges a case."""

    def evaluate(self, outcome: Outcome) -> Mapping[str, Evaluation]:
        """The scores by name."""
        ...


Emit = Callable[[dict[str, Any]], None]
"""Takes a line that must be kept at once, such as a reply of a model, while its case is still being worked on."""
CaseT = TypeVar("CaseT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)


class Map(Protocol[CaseT, ResultT]):
    """Evaluates cases somewhere: in this process, in other processes, or on other machines.

    Whoever has the map decides the order of the cases, and writes all files.
    """

    @property
    def at_once(self) -> int:
        """The number of cases that may be evaluated at the same time, now."""
        ...

    async def evaluate(self, case: CaseT, emit: Emit) -> ResultT:
        """The result of one case.

        Raises:
            FlowMindError: If no case can be evaluated any more, such as `ModelUnavailable`.
        """
        ...

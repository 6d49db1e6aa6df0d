"""The seams, on one screen: `ChatModel`, `Agent`, `User`, `Controller`, `Adviser`, `Evaluator`, `Map`.

The seam `Environment` comes from below: `tools_registry.sandbox.environment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from pydantic import Field

from flowmind.trace.events import Act, Event, Trace
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import Record, ToolCall, ToolSpec

if TYPE_CHECKING:  # a run of a saved workflow needs no tasks
    from flowmind.trace.outcome import CaseOutcome

Stage = Literal["execute", "summarize", "single", "dialogue"]
"""The stage of a conversation: `execute` has business tools, `summarize` graph tools, `single` both, `dialogue`
business tools and a user."""


class Message(Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class KnownStep(Record):
    """A step of a workflow that an agent is given."""

    text: str
    """The step in words."""
    tools: tuple[str, ...] = ()
    """The tools that it calls; empty if it calls none, or the source does not say which."""


class Knowledge(Record):
    """A workflow that an agent is given as prior knowledge of a task (WorFBench, section 4.1)."""

    text: str
    """The workflow as the agent reads it."""
    steps: tuple[KnownStep, ...]
    """The steps; a step follows those that it depends on."""
    edges: tuple[tuple[int, int], ...] = ()
    """Dependencies as pairs of indices into `steps`: the second step needs the first."""


class Brief(Record):
    """The work that an agent is given."""

    stage: Stage
    task: str
    """The opening message: tools, task and examples; for the summarizer also the traces."""
    inputs: dict[str, Any] = Field(default_factory=dict)
    """The input that the agent works on."""
    output: dict[str, Any] = Field(default_factory=dict)
    """JSON Schema of the answer, if it is known."""
    references: bool = False
    """Whether the agent may pass values by name (`+refs`); see `flowmind.trace.references`."""
    must_build: bool = False
    """Ask once more for a workflow if the stage ends without one (`enhanced-react`)."""
    query: str = ""
    """The task's own text, without tools and examples."""
    input_schema: dict[str, Any] = Field(default_factory=dict)
    """JSON Schema of the inputs."""
    examples: tuple[tuple[dict[str, Any], Any], ...] = ()
    """The examples in `task`: pairs of an input and its answer."""
    traces: tuple[Trace, ...] = ()
    """The traces in `task`: inputs, calls and answers."""
    knowledge: Knowledge | None = None
    """The workflow that the agent is given to work by."""


class Episode(Record):
    """The content of an agent's messages as data."""

    brief: Brief
    events: tuple[Event, ...] = ()
    """The events of the stage so far."""
    plan: tuple[str, ...] = ()
    """The steps of the plan, if they are carried out one by one."""
    phase: int = 0
    """The step of the plan, or of a chain of steps, to carry out now, from 0."""
    among: tuple[ToolSpec, ...] = ()
    """All tools of the stage, if the request offers only the one that was chosen for a step."""


class ChatRequest(Record):
    """A request to a model."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    """The tools that may be called now. They are sent to a server only if native tool calls are switched on."""
    reply: Literal["action", "plan", "text"] = "text"
    """The form of the reply that the messages ask for. In JSON mode it is sent as a schema."""
    stop: tuple[str, ...] = ()
    max_tokens: int = 2_048
    temperature: float = 0.0
    seed: int | None = None
    rollout: int = 0
    """The number of the task's execution that asks. Replies are not shared between rollouts."""
    episode: Episode | None = Field(default=None, exclude=True)
    """The content of the messages as data, if an agent asks. It is never serialized: it is not sent to a server, and it
    is not part of the key of a recorded exchange."""


class Reply(Record):
    """The reply of a model."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    """Native tool calls, if they are switched on."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    """As the server reports them; None if it does not."""
    finish: Literal["stop", "length", "context"] = "stop"
    """`length`: `max_tokens` cut the reply off. `context`: the request exceeds the model's context; there is no reply,
    and `text` is the message of the server."""
    seconds: float | None = None
    """The duration of the request, if it was recorded; a replayed reply has the recorded duration."""


class ChatModel(Protocol):
    """A language model or a substitute for one."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers a conversation.

        Raises:
            ModelFailure: If the endpoint failed on this request after all attempts.
            ModelUnavailable: If the endpoint serves no request (no such model, no permission).
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections of this event loop. A later request opens new ones."""
        ...


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


class Adviser(Protocol):
    """Tells an agent before a decision what the procedure asks for now: a pure function of what came before."""

    @property
    def name(self) -> str:
        """The name that traces and tables give it."""
        ...

    def advise(self, trace: Trace) -> str:
        """The advice, or an empty text if there is none."""
        ...


class Utterance(Record):
    """What a user says."""

    text: str
    acts: tuple[Act, ...] = ()
    """The acts of a simulated user."""
    over: bool = False
    """Whether the user ends the session with it."""
    intervention: int | None = None
    """The number, from 0, of the session's intervention that it carries out."""


class User(Protocol):
    """Talks to an agent: a person, or a simulation."""

    @property
    def name(self) -> str:
        """The name that tables give it."""
        ...

    async def reply(self, trace: Trace) -> Utterance:
        """The next text of the user; the first one if the trace has no text yet.

        A simulated user is a function of the trace: the same trace gets the same reply.

        Raises:
            ModelFailure: If a model that plays the user failed.
        """
        ...


class Evaluation(Record):
    """A score, and the reason for it."""

    value: float
    reason: str = ""

    @classmethod
    def of(cls, flag: bool, reason: str = "") -> Evaluation:
        """The score 1 or 0 of something that holds or does not."""
        return cls(value=float(flag), reason=reason)


class Evaluator(Protocol):
    """Judges a case."""

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
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

    @property
    def attempts(self) -> int:
        """How often a case may be evaluated before it counts as failed, if the process that works on it is lost."""
        ...

    async def evaluate(self, case: CaseT, emit: Emit) -> ResultT:
        """The result of one case.

        Raises:
            FlowMindError: If no case can be evaluated any more, such as `ModelUnavailable`.
        """
        ...

"""The tools of a stream as functions, over a world that can change, with a log of the writes that were made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from experiments.drift.changes import UNCHANGED, Change
from flowmind.base.files import dump_json
from flowmind.run.running import prepare
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox
from tools_registry.sandbox.stateful import STATE, state_digest, without_state
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolCall, ToolSource, ToolSpec
from tools_registry.specs.values import CaseError, copy_json

Fault = Literal["", "after", "lost"]
"""A failure after a write: every call after the first write fails, or the reply of the first write is lost."""
_BUDGET = 20_000


@dataclass(frozen=True)
class Request:
    """A request."""

    inputs: dict[str, Any]
    state: dict[str, Any] | None = None
    """The database at its start, if the tools have one."""


class Tools(Protocol):
    """Answers calls."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools."""
        ...

    def begin(self, request: Request) -> None:
        """A request begins."""
        ...

    def call(self, name: str, args: dict[str, Any]) -> Any:
        """The result of a call.

        Raises:
            CaseError: If the tool fails.
        """
        ...


class SandboxTools:
    """The tools of a benchmark. They are pure functions, so that the same call is made once.

    Args:
        tools: The tools; with the parameter `db` if requests have a state.
        sandbox: Runs them.
    """

    def __init__(self, tools: Sequence[ToolSource], sandbox: LocalSandbox) -> None:
        self._sandbox = sandbox
        self._stateful = bool(tools) and all(STATE in tool.spec.names for tool in tools)
        self.specs = {tool.spec.name: without_state(tool.spec) if self._stateful else tool.spec for tool in tools}
        self._state: Any = None
        self._digest = ""
        self._known: dict[str, tuple[Any, Any]] = {}

    def begin(self, request: Request) -> None:
        """As `Tools.begin`."""
        self._state, self._digest = request.state, state_digest(request.state)

    def call(self, name: str, args: dict[str, Any]) -> Any:
        """As `Tools.call`."""
        key = f"{self._digest} {name} {dump_json(args)}"
        if key not in self._known:
            passed = {STATE: self._state, **args} if self._stateful else args
            (self._known[key],) = self._sandbox.values([(name, passed)])
        value, error = self._known[key]
        if error is not None:
            raise CaseError(*error)
        if self._stateful:
            self._state, self._digest = value[STATE], state_digest(value[STATE])
            value = value["result"]
        return copy_json(value)


class World:
    """The tools of a stream, as they are now.

    Args:
        tools: Answers the calls.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.change: Change = UNCHANGED
        self.written: list[ToolCall] = []
        """The writes of the request that were made, with the names that tools had at first."""
        self._fault: Fault = ""

    def begin(self, request: Request, fault: Fault = "") -> None:
        """A request begins."""
        self._tools.begin(request)
        self.written = []
        self._fault = fault

    def functions(self) -> list[Callable[..., Any]]:
        """The tools as functions, with the names that they have now."""
        return [
            as_function(spec.model_copy(update={"name": self.change.name(name)}), self._caller(name))
            for name, spec in self._tools.specs.items()
        ]

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools with the names that they had at first."""
        return self._tools.specs

    def _caller(self, name: str) -> Callable[[dict[str, Any]], Any]:
        return lambda args: self._called(name, args)

    def _called(self, name: str, args: dict[str, Any]) -> Any:
        if self._fault == "after" and self.written:
            raise CaseError("tool_error", f"{name}: the service is not available")
        value = self._tools.call(name, args)
        if self._tools.specs[name].effect == "write":
            self.written.append(ToolCall(tool=name, args=args))
            if self._fault == "lost":
                raise CaseError("tool_error", f"{name}: the connection was lost before the reply")
        return self.change.done(name, value)


class Expected(NamedTuple):
    """What is right for a request."""

    answer: Any
    written: tuple[ToolCall, ...]


class Outcome(NamedTuple):
    """What an agent did with a request."""

    trace: Trace
    """Its calls and its answer."""
    written: tuple[ToolCall, ...]
    """The writes that were made."""

    @property
    def ok(self) -> bool:
        """Whether it answered."""
        return self.trace.ok

    @property
    def expected(self) -> Expected:
        """It, as what is right."""
        return Expected(self.trace.answer, self.written)

    def differs(self, other: Outcome) -> bool:
        """Whether another agent answered or wrote otherwise."""
        same = self.ok == other.ok and json_equal(self.trace.answer, other.trace.answer)
        return not same or not same_writes(self.written, other.written)


def same_writes(one: Sequence[ToolCall], other: Sequence[ToolCall]) -> bool:
    """Whether writes are the same, in the same order."""
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(
        mine.tool == theirs.tool and json_equal(mine.args, theirs.args) for mine, theirs in pairs
    )


class Agent:
    """An agent that works by a workflow.

    Args:
        workflow: What it does.
        world: The world.
        functions: What `World.functions` returned, recorded or not; by default it is called.
        aware: Whether the agent knows how the world has changed, and understands results as they were.
    """

    def __init__(
        self,
        workflow: Workflow,
        world: World,
        functions: Sequence[Callable[..., Any]] | None = None,
        aware: bool = True,
    ) -> None:
        self._world = world
        self._aware = aware
        pairs = zip(world.specs.items(), functions or world.functions(), strict=True)
        self._tools = FunctionEnvironment(
            [as_function(spec, self._reader(name, function)) for (name, spec), function in pairs]
        )
        self._prepared = prepare(workflow, self._tools)

    def outcome(self, request: Request) -> Outcome:
        """What it does with a request."""
        self._world.begin(request)
        ran = self._prepared.run_one(copy_json(request.inputs), self._tools, _BUDGET)
        return Outcome(ran.trace, tuple(self._world.written))

    def answer(self, inputs: Mapping[str, Any]) -> Any:
        """Its answer to a request that has begun.

        Raises:
            AgentFailed: If it has none.
        """
        ran = self._prepared.run_one(inputs, self._tools, _BUDGET)
        if ran.error is not None:
            raise AgentFailed(ran.error.message)
        return ran.answer

    def _reader(self, name: str, function: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        if not self._aware:
            return lambda args: function(**args)
        return lambda args: self._world.change.undone(name, function(**args))


class AgentFailed(Exception):
    """The agent did not answer."""


def as_function(spec: ToolSpec, call: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    """A function with the name and the parameters of a spec. An optional argument that is null is not passed on.

    Args:
        spec: The spec.
        call: Takes the arguments.
    """

    def function(**given: Any) -> Any:
        return call({name: value for name, value in given.items() if value is not None or name in required})

    required = frozenset(spec.required)
    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if name in required else None
        )
        for name in spec.names
    ]
    function.__name__ = function.__qualname__ = spec.name
    vars(function).update(__signature__=inspect.Signature(parameters), spec=spec)
    return function

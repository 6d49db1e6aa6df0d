"""Wrappers: environments around another environment. They compose, as ASGI middleware does.

    environment = Guarded(Approved(FunctionEnvironment([find, refund]), ask), controller)

A wrapper overrides `call`, and names in `awaited` the tools that may only be reached through it. A compiled workflow
with such a tool is run call by call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from flowmind.protocols import Controller
from flowmind.trace.events import Called, Event, Refused, Trace
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

Ask = Callable[[ToolCall, ToolSpec], "bool | str | Awaitable[bool | str]"]
"""Answers whether a call may be made: True, or False, or the reason for refusing it."""


class Wrapper:
    """An environment that passes everything on. Wrappers derive from it and override what they change.

    Args:
        inner: The wrapped environment.
    """

    def __init__(self, inner: Environment) -> None:
        self.inner = inner

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools of the wrapped environment."""
        return self.inner.specs

    @property
    def awaited(self) -> Collection[str]:
        """All tools: every call goes through `call`. A wrapper that looks at fewer tools names those."""
        return frozenset(self.specs)

    async def call(self, call: ToolCall) -> Observation:
        """Passes the call on."""
        return await self.inner.call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Passes a compiled workflow on; it calls no tool of `awaited`."""
        return self.inner.run(program, cases, budget)


class Guarded(Wrapper):
    """A controller checks every call against what has passed before. A refused call does not reach the tool.

    Args:
        inner: The wrapped environment.
        controller: Its verdict is a function of the call and of the trace so far.
        inputs: The inputs of the case, for that trace.
    """

    def __init__(self, inner: Environment, controller: Controller, inputs: Mapping[str, Any] | None = None) -> None:
        super().__init__(inner)
        self.controller = controller
        self._inputs = dict(inputs or {})
        self._events: list[Event] = []

    @property
    def trace(self) -> Trace:
        """The calls and refusals so far."""
        return Trace(inputs=self._inputs, events=tuple(self._events), stop="turns")

    async def call(self, call: ToolCall) -> Observation:
        """Calls the tool if the controller allows it."""
        verdict = self.controller.check(call, self.trace)
        if not verdict.allowed:
            by = self.controller.name
            self._events.append(Refused(call=call, by=by, reason=verdict.reason))
            return Observation.refused(verdict.reason, by)
        observation = await self.inner.call(call)
        self._events.append(Called(call=call, observation=observation))
        return observation


class Approved(Wrapper):
    """Asks before each call of a tool that is not marked `effect="read"`: an unmarked tool may write.

    Args:
        inner: The wrapped environment.
        ask: Called with the call and the tool's spec, sync or async.
    """

    def __init__(self, inner: Environment, ask: Ask) -> None:
        super().__init__(inner)
        self._ask = ask
        self._writing = frozenset(name for name, spec in inner.specs.items() if spec.effect != "read")

    @property
    def awaited(self) -> Collection[str]:
        """The tools that need approval, and those of the wrapped environment."""
        return self._writing | frozenset(self.inner.awaited)

    async def call(self, call: ToolCall) -> Observation:
        """Calls the tool if it reads, or if the call is approved."""
        if call.tool in self._writing:
            answer = self._ask(call, self.specs[call.tool])
            answer = await answer if inspect.isawaitable(answer) else answer
            if answer is not True:
                return Observation.refused(
                    answer if isinstance(answer, str) else "the call was not approved", "approval"
                )
        return await self.inner.call(call)

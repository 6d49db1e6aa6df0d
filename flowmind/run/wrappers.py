"""Environments that wrap another environment. They compose, like ASGI middleware.

    environment = Guarded(Approved(FunctionEnvironment([find, refund]), ask), controller)

A wrapper overrides `call`. Its `awaited` has the tools that must go through `call`; a workflow with such a tool is run
call by call. A wrapper whose calls do not depend on their order has an attribute `overlapping`: the tools whose calls
may run beside others (`flowmind.run.parallel`).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.texts import did_you_mean
from flowmind.protocols import Controller
from flowmind.trace.events import Called, Event, Refused, Trace
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

Ask = Callable[[ToolCall, ToolSpec], "bool | str | Awaitable[bool | str]"]
"""Decides whether a call may be made: True, False, or the reason for a refusal."""


def overlapping_of(environment: Environment) -> Collection[str]:
    """The tools of an environment whose calls may run beside others.

    Raises:
        InputError: If the environment does not say it. Its calls may depend on their order.
    """
    names: Collection[str] | None = getattr(environment, "overlapping", None)
    if names is None:
        kind = type(environment).__name__
        raise InputError(
            f"parallel: the calls of {kind} may depend on their order, so they are made one after the other; if they "
            f"do not, give {kind} an attribute `overlapping`, the names of the tools whose calls may run beside others"
        )
    return names


class Wrapper:
    """The base class: an environment that passes everything on to another one.

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
        """All tools. A wrapper that intercepts fewer tools overrides this."""
        return frozenset(self.specs)

    async def call(self, call: ToolCall) -> Observation:
        """Passes the call on."""
        return await self.inner.call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Passes a compiled workflow on; none of its tools is in `awaited`."""
        return self.inner.run(program, cases, budget)


class Guarded(Wrapper):
    """Asks a controller before every call. A refused call does not reach the tool.

    Args:
        inner: The wrapped environment.
        controller: Decides from the call and the trace so far.
        inputs: The inputs of the case, for the trace.
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
    """Asks before each call of a tool that is not marked `effect="read"`, or of the tools that are named.

    Args:
        inner: The wrapped environment.
        ask: Called with the call and the tool's spec, sync or async. A mapping has a function for each tool that needs
            approval.

    Raises:
        InputError: If the mapping names a tool that does not exist, or has something else than functions.
    """

    def __init__(self, inner: Environment, ask: Ask | Mapping[str, Ask]) -> None:
        super().__init__(inner)
        if isinstance(ask, Mapping):
            self._asks: dict[str, Ask] = dict(cast(Mapping[str, Ask], ask))
        else:
            self._asks = {name: ask for name, spec in inner.specs.items() if spec.effect != "read"}
        for name, function in self._asks.items():
            if name not in inner.specs:
                raise InputError(f"approve: there is no tool {name!r}{did_you_mean(name, inner.specs)}")
            if not callable(cast(Any, function)):
                raise InputError(f"approve: give a function of a call and a spec, not {type(function).__name__}")

    @property
    def awaited(self) -> Collection[str]:
        """The tools that need approval, and those of the wrapped environment."""
        return frozenset(self._asks) | frozenset(self.inner.awaited)

    @property
    def overlapping(self) -> Collection[str]:
        """Those of the wrapped environment that need no approval."""
        return frozenset(overlapping_of(self.inner)) - self._asks.keys()

    async def refusal(self, call: ToolCall) -> Observation | None:
        """Asks, if the tool needs approval; the observation if the call is refused."""
        if call.tool not in self._asks:
            return None
        answer = self._asks[call.tool](call, self.specs[call.tool])
        answer = await answer if inspect.isawaitable(answer) else answer
        if answer is True:
            return None
        return Observation.refused(answer if isinstance(answer, str) else "the call was not approved", "approval")

    async def call(self, call: ToolCall) -> Observation:
        """Calls the tool if it needs no approval, or if the call is approved."""
        return await self.refusal(call) or await self.inner.call(call)


class Only(Wrapper):
    """Offers some of the tools of another environment.

    Args:
        inner: The wrapped environment.
        names: The tools to offer; each is a tool of the wrapped environment.
    """

    def __init__(self, inner: Environment, names: Sequence[str]) -> None:
        super().__init__(inner)
        self._specs = {name: inner.specs[name] for name in names}

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The offered tools."""
        return self._specs

    @property
    def awaited(self) -> Collection[str]:
        """Those of the offered tools that the wrapped environment awaits."""
        return self._specs.keys() & frozenset(self.inner.awaited)

    @property
    def overlapping(self) -> Collection[str]:
        """Those of the offered tools that may overlap in the wrapped environment."""
        return self._specs.keys() & frozenset(overlapping_of(self.inner))

    async def call(self, call: ToolCall) -> Observation:
        """Passes on a call of an offered tool."""
        if call.tool not in self._specs:
            return Observation.failed("unknown_tool", f"there is no tool {call.tool!r}")
        return await self.inner.call(call)


class Faulty(Wrapper):
    """Lets calls fail: a failed call has the error `unavailable` and does not reach the tool.

    Args:
        inner: The wrapped environment.
        rate: The share of calls that fail, between 0 and 1.
        seed: With `session` and the number of the call it decides which calls fail.
        session: The id of the session.
    """

    def __init__(self, inner: Environment, rate: float, seed: int = 0, session: str = "") -> None:
        super().__init__(inner)
        self._rate = rate
        self._seed = f"{seed}/{session}"
        self._calls = 0

    async def call(self, call: ToolCall) -> Observation:
        """Passes a call on, unless it fails."""
        self._calls += 1
        if Random(f"{self._seed}/{self._calls}").random() < self._rate:
            return Observation.failed("unavailable", f"{call.tool} does not answer at the moment; try again")
        return await self.inner.call(call)

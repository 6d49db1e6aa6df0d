"""An environment with a state: its tools are pure functions of a database and their arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec
from tools_registry.specs.values import copy_json

if TYPE_CHECKING:
    from tools_registry.sandbox.crosscheck import Trier

STATE = "db"
"""The parameter through which a tool takes the state, and the field in which it returns it."""
_MOST_REMEMBERED = 20_000


def state_digest(state: Any) -> str:
    """The SHA-256 digest of a state, in hexadecimal."""
    return hashlib.sha256(json.dumps(state, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class Remembered:
    """The results of pure tools by state and call, shared by sessions that begin in the same state."""

    def __init__(self) -> None:
        self.results: dict[tuple[str, str], tuple[Observation, Any, str]] = {}
        """By digest of the state and the call: the observation, the state after the call, and its digest."""


class StatefulEnvironment:
    """Tools that share a state.

    A tool is a pure function `(db, ...) -> {"db": ..., "result": ...}`. The environment hides `db` from the specs,
    passes the state to each call, and keeps the state that the call returns. After an error the state is unchanged.

    Args:
        inner: The tools, with the parameter `db`.
        state: The state at the start. It is copied.
        remembered: Results that other environments over the same tools share. Tools are pure, so the same call in the
            same state is made once.
    """

    def __init__(self, inner: Environment, state: Any, remembered: Remembered | None = None) -> None:
        self._inner = inner
        self.specs: Mapping[str, ToolSpec] = {name: without_state(spec) for name, spec in inner.specs.items()}
        self._state: Any = copy_json(state)
        self._digest: str = state_digest(state)
        self._remembered = remembered or Remembered()

    @property
    def awaited(self) -> Collection[str]:
        """All tools: a compiled workflow cannot pass the state on."""
        return frozenset(self.specs)

    @property
    def state(self) -> Any:
        """The state now. It must not be changed."""
        return self._state

    @property
    def digest(self) -> str:
        """The digest of the state now."""
        return self._digest

    def fork(self) -> StatefulEnvironment:
        """A copy in the same state. Calls of the copy do not change this environment."""
        return StatefulEnvironment(self._inner, self._state, self._remembered)

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool on the state."""
        if call.tool in self.specs and STATE in call.args:
            return Observation.failed("invalid_arguments", f"{call.tool} has no parameter {STATE!r}")
        key = (self._digest, json.dumps([call.tool, call.args], sort_keys=True))
        known = self._remembered.results
        if key not in known:
            if len(known) >= _MOST_REMEMBERED:
                known.clear()
            known[key] = await self._called(call)
        observation, state, digest = known[key]
        self._state, self._digest = state, digest
        return observation

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs programs that call no tool: all tools are in `awaited`."""
        return self._inner.run(program, cases, budget)

    async def _called(self, call: ToolCall) -> tuple[Observation, Any, str]:
        stateful = ToolCall(tool=call.tool, args={STATE: self._state, **call.args})
        observation = await self._inner.call(stateful if call.tool in self.specs else call)
        if not observation.ok:
            return observation, self._state, self._digest
        value: Any = observation.value
        if type_of(value) is not dict or value.keys() != {STATE, "result"}:
            failed = Observation.failed("tool_error", f'{call.tool} returned no object with "{STATE}" and "result"')
            return failed, self._state, self._digest
        return Observation(value=value["result"]), value[STATE], state_digest(value[STATE])


class StatefulCases:
    """Tools with a state that begins anew in each run: the state of the case that has the inputs of the run.

    Who runs something in an environment calls `begun` first. Calls without that are made in the first state, and what
    they change is not kept.

    Args:
        inner: The tools, with the parameter `db`.
        cases: Inputs with the state at their start, at least one. Runs with other inputs begin in the first state.
    """

    def __init__(self, inner: Environment, cases: Sequence[tuple[Mapping[str, Any], Any]]) -> None:
        self._inner = inner
        self._states = {_key(inputs): state for inputs, state in reversed(cases)}
        self._first = cases[0][1]
        self._remembered = Remembered()
        self.specs: Mapping[str, ToolSpec] = {name: without_state(spec) for name, spec in inner.specs.items()}

    @property
    def awaited(self) -> Collection[str]:
        """All tools: a compiled workflow cannot pass the state on."""
        return frozenset(self.specs)

    def begun(self, inputs: Mapping[str, Any]) -> StatefulEnvironment:
        """The environment of one run."""
        state = self._states.get(_key(inputs), self._first)
        return StatefulEnvironment(self._inner, state, self._remembered)

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool in the first state."""
        return await self.begun({}).call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs programs that call no tool."""
        return self._inner.run(program, cases, budget)


class StatefulTrials:
    """Trial calls in several states: a call is made in the first state in which it gives a value. No state is kept.

    Args:
        inner: The tools, with the parameter `db`; makes calls in bulk.
        states: The states, at least one.
    """

    awaited: Collection[str] = ()

    def __init__(self, inner: Trier, states: Sequence[Any]) -> None:
        self._inner = inner
        self._states = states
        self.specs: Mapping[str, ToolSpec] = {name: without_state(spec) for name, spec in inner.specs.items()}

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool."""
        ((value, error),) = self.values([(call.tool, call.args)])
        return Observation(value=value) if error is None else Observation.failed(*error)

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """(value, None) or (None, (type, message)) for each call."""
        results: list[tuple[Any, Any]] = [(None, ("tool_error", "no state"))] * len(calls)
        left = list(range(len(calls)))
        for state in self._states:
            made = self._inner.values([(calls[place][0], {STATE: state, **calls[place][1]}) for place in left])
            for place, (value, error) in zip(left, made, strict=True):
                results[place] = (None if error is not None else value["result"], error)
            left = [place for place in left if results[place][1] is not None]
            if not left:
                break
        return results

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs programs that call no tool."""
        return self._inner.run(program, cases, budget)


def begun(environment: Environment, inputs: Mapping[str, Any]) -> Environment:
    """The environment for a run with these inputs: one of its own if the state begins anew in each run."""
    return environment.begun(inputs) if isinstance(environment, StatefulCases) else environment


def _key(inputs: Mapping[str, Any]) -> str:
    return json.dumps(inputs, sort_keys=True)


def without_state(spec: ToolSpec) -> ToolSpec:
    """The spec of a tool as its callers see it: without the parameter `db`, and with the result alone.

    The schema of the result is that of the field `result` if the tool's schema has it.
    """
    properties = {name: field for name, field in spec.parameters.get("properties", {}).items() if name != STATE}
    required = [name for name in spec.parameters.get("required", []) if name != STATE]
    parameters = {**spec.parameters, "properties": properties, "required": required}
    returns = dict(spec.returns.get("properties", {}).get("result", {}))
    if description := spec.returns.get("description"):
        returns["description"] = description
    return spec.model_copy(update={"parameters": parameters, "returns": returns})

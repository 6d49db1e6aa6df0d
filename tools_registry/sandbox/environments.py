"""Where tools run: `LocalSandbox` for untrusted source in worker processes, `FunctionEnvironment` for one's own.

Agents, workflows and evaluators know only the `Environment` protocol, and do not notice the difference.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError, validate_call
from pydantic_core import to_jsonable_python

from flowmind.workflow.program import Outcome, Program, Tool, load, run_brief, run_case
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.workers import Limits, WorkerFailure, WorkerPool
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import (
    Observation,
    Record,
    ToolCall,
    ToolSpec,
    admitted,
    spec_from_source,
    spec_of,
    specs_from_source,
)
from tools_registry.specs.values import CaseError, clean, describe

__all__ = [
    "FunctionEnvironment",
    "Limits",
    "LocalSandbox",
    "ToolSource",
    "WorkerPool",
]


class ToolSource(Record):
    """Untrusted source of one tool, with its spec."""

    spec: ToolSpec
    source: str

    @classmethod
    def parse(cls, source: str, name: str | None = None) -> ToolSource:
        """Reads the spec off the source.

        Raises:
            SpecError: If the source defines no such function or a parameter has no JSON type.
        """
        return cls(spec=spec_from_source(source, name), source=source)

    @classmethod
    def parse_all(cls, source: str) -> list[ToolSource]:
        """A tool for each function at the top level of a file; each keeps the whole file as its source.

        Raises:
            SpecError: If there is no function, or a parameter has no JSON type.
        """
        return [ToolSource(spec=spec, source=source) for spec in specs_from_source(source)]


class LocalSandbox(Closing):
    """Untrusted tools: compiled under the policy and run in worker processes with limits.

    Args:
        tools: The tools' sources.
        pool: Workers to use; without one, the sandbox has a worker of its own, stopped by `close`.
    """

    awaited: Collection[str] = ()

    def __init__(self, tools: Sequence[ToolSource], pool: WorkerPool | None = None) -> None:
        self.specs: Mapping[str, ToolSpec] = {tool.spec.name: tool.spec for tool in tools}
        self._pool = pool or WorkerPool(1)
        self._own_pool = pool is None
        self._tools = {tool.spec.name: {"source": tool.source, "parameters": tool.spec.parameters} for tool in tools}
        self._set = hashlib.sha256(json.dumps(self._tools, sort_keys=True).encode()).hexdigest()

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool in a fresh case; errors are typed and part of the observation."""
        return (await asyncio.to_thread(self.calls, [call]))[0]

    def calls(self, calls: Sequence[ToolCall]) -> list[Observation]:
        """Independent calls in one round trip, each a case of its own."""
        results = [self._refused(call.args) for call in calls]
        todo = [index for index, result in enumerate(results) if result is None]
        replies = self.values([(calls[index].tool, calls[index].args) for index in todo])
        for index, (value, error) in zip(todo, replies, strict=True):
            results[index] = Observation(value=value) if error is None else Observation.failed(*error)
        return [result for result in results if result is not None]

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """`calls` without records, for tens of thousands of them: arguments must be strict JSON already.

        Gives (value, None) or (None, (type, message)) for each.
        """
        return [(value, error) for value, error in self._batch("calls", [list(call) for call in calls], {})]

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow on cases in one round trip; each case has its own deadline and namespace."""
        key = hashlib.sha256(json.dumps(program).encode()).hexdigest()
        about = {
            "program": key,
            "source": program.source,
            "constants": program.constants,
            "tools": program.tools,
            "signatures": program.signatures,
            "budget": budget,
        }
        outcomes: list[Outcome] = []
        for answer, error, steps, at in self._batch("run", list(cases), about):
            place = at if at < len(program.labels) else -1
            outcomes.append(Outcome(answer, tuple(error) if error else None, steps, place))
        return outcomes

    def close(self) -> None:
        """Stops the sandbox's own worker."""
        if self._own_pool:
            self._pool.close()

    def _refused(self, args: dict[str, Any]) -> Observation | None:
        """What keeps arguments from crossing to the worker."""
        try:
            clean(args)
        except CaseError as error:
            return Observation.failed("invalid_arguments", error.message)
        return None

    def _batch(self, op: str, items: list[Any], about: dict[str, Any], again: bool = True) -> list[Any]:
        """One request for all items; if the worker fails on it, one request each, so that only the guilty fail.

        A worker that was killed from outside is nobody's fault: the request is made once more.
        """
        if not items:
            return []
        field = "calls" if op == "calls" else "cases"
        try:
            with self._pool.borrow() as worker:
                if self._set not in worker.loaded:
                    worker.request({"op": "tools", "set": self._set, "tools": self._tools}, 30.0)
                    worker.loaded.add(self._set)
                reply = worker.request({"op": op, "set": self._set, field: items, **about}, self._pool.limits.seconds)
                if not (type_of(reply) is list and len(reply) == len(items) and all(map(_SHAPES[op], reply))):
                    worker.stop()
                    raise WorkerFailure("crash", "the tool worker sent a reply of another shape")
                return reply
        except WorkerFailure as failure:
            if failure.lost and again:
                return self._batch(op, items, about, again=False)
            if len(items) > 1:
                return [self._batch(op, [item], about)[0] for item in items]
            error = (failure.type, str(failure))
            return [[None, error]] if op == "calls" else [[None, error, [], -1]]


def _is_error(error: Any) -> bool:
    return error is None or (type_of(error) is list and [type(part) for part in error] == [str, str])


def _is_result(reply: Any) -> bool:
    return type_of(reply) is list and len(reply) == 2 and _is_error(reply[1])


def _is_outcome(reply: Any) -> bool:
    if type_of(reply) is not list or len(reply) != 4:
        return False
    _, error, steps, at = reply
    return _is_error(error) and type_of(steps) is list and type_of(at) is int


_SHAPES: dict[str, Callable[[Any], bool]] = {"calls": _is_result, "run": _is_outcome}
"""What a worker may answer; it is believed in nothing else."""

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and named arguments of a call."""


class FunctionEnvironment:
    """A user's own functions: trusted, run in this process, sync or async, I/O allowed.

    Arguments are checked against the spec, then converted to the annotated types (pydantic models, dates…).
    Results are converted to JSON. A sync function is called directly, in the thread of the caller.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        specs = [spec_of(function) for function in functions]
        self.specs: Mapping[str, ToolSpec] = {spec.name: spec for spec in specs}
        self._functions = {spec.name: function for spec, function in zip(specs, functions, strict=True)}
        self._converters = {spec.name: _converter(function) for spec, function in zip(specs, functions, strict=True)}
        self.awaited: Collection[str] = frozenset(
            spec.name for spec, function in zip(specs, functions, strict=True) if inspect.iscoroutinefunction(function)
        )
        """The tools that are coroutine functions; `run` cannot call them."""

    async def call(self, call: ToolCall) -> Observation:
        """Calls one function; what it raises becomes the observation's error."""
        try:
            if call.tool not in self.specs:
                raise CaseError("unknown_tool", f"there is no tool {call.tool!r}")
            result = self._invoke(call.tool, call.args)
            if inspect.isawaitable(result):
                result = await result
            return Observation(value=_to_json(result))
        except CaseError as error:
            return Observation.failed(error.type, error.message)
        except Exception as error:
            return Observation.failed("tool_error", describe(error))

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow in this process. Workflows with async tools go through `call` instead."""
        run = load(program.source, program.constants)
        tools: list[Tool] = [self._tool(name) for name in program.tools]
        if program.signatures:
            tools = [_by_name(tool, names) for tool, names in zip(tools, program.signatures, strict=True)]
        go = run_brief if program.signatures else run_case
        return [go(run, inputs, tools, budget) for inputs in cases]

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Independent calls that change nothing: (value, None) or (None, (type, message)) for each.

        Tools that write, and async ones, are refused: this is for trying.
        """
        return [self._try(name, args) for name, args in calls]

    def _try(self, name: str, args: dict[str, Any]) -> tuple[Any, Any]:
        if name in self.awaited or (name in self.specs and self.specs[name].effect == "write"):
            return None, ("refused", f"tool {name!r} is not tried")
        try:
            return _to_json(self._invoke(name, args)), None
        except CaseError as error:
            return None, (error.type, error.message)
        except Exception as error:
            return None, ("tool_error", describe(error))

    def _tool(self, name: str) -> Tool:
        def call(args: dict[str, Any]) -> Any:
            return _to_json(self._invoke(name, args))

        return call

    def _invoke(self, name: str, args: dict[str, Any]) -> Any:
        positional, named = self._converted(name, admitted(self.specs, name, args))
        return self._functions[name](*positional, **named)

    def _converted(self, name: str, args: dict[str, Any]) -> Arguments:
        try:
            return self._converters[name](**args)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise CaseError("invalid_arguments", f"{place}: {first['msg']}") from None


def _converter(function: Callable[..., Any]) -> Callable[..., Arguments]:
    """Gives a function's arguments, converted to its annotations, without calling it."""

    @functools.wraps(function)
    def given(*positional: Any, **named: Any) -> Arguments:
        return positional, named

    return validate_call(given)


def _by_name(tool: Tool, names: Sequence[str]) -> Tool:
    return lambda *values: tool(dict(zip(names, values, strict=True)))


def _to_json(result: Any) -> Any:
    try:
        return clean(to_jsonable_python(result))
    except ValueError as error:
        raise CaseError("not_json", describe(error)) from None

"""`FunctionEnvironment`: a user's own functions, run in this process."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError, validate_call
from pydantic_core import to_jsonable_python

from flowmind.workflow.program import Outcome, Program, Tool, load, run_brief, run_case
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec, admitted, spec_of
from tools_registry.specs.values import CaseError, clean, describe

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

"""`FunctionEnvironment`: a user's own functions, run in this process."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError, validate_call
from pydantic_core import to_jsonable_python

from flowmind.workflow.program import Outcome, Program, Run, Tool, load, run_brief, run_case
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.callables import is_async, named, signature_of
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec, admitted, spec_of
from tools_registry.specs.values import CaseError, clean, describe, positional

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and named arguments of a call."""
_PROGRAMS = 64
"""Programs that an environment keeps loaded."""


class FunctionEnvironment:
    """A user's own functions: trusted, run in this process, sync or async, I/O allowed.

    Arguments are checked against the spec, then converted to the annotated types (pydantic models, dates…).
    Results are converted to JSON. A sync function is called directly, in the thread of the caller.

    Args:
        functions: Whatever `spec_of` takes.

    Raises:
        SpecError: If one of them cannot be a tool.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        by_name = {spec.name: (spec, function) for spec, function in ((spec_of(tool), tool) for tool in functions)}
        self.specs: Mapping[str, ToolSpec] = {name: spec for name, (spec, _) in by_name.items()}
        self.functions = {name: named(tool).function for name, (_, tool) in by_name.items()}
        self._converters: dict[str, Callable[..., Arguments]] = {}
        self._programs: dict[int, tuple[Program, Run, list[Tool]]] = {}
        self.awaited: Collection[str] = frozenset(name for name, tool in self.functions.items() if is_async(tool))
        """The async tools; `run` cannot call them."""

    async def call(self, call: ToolCall) -> Observation:
        """Calls one function; what it raises becomes the observation's error."""
        try:
            result = self._invoke(call.tool, call.args)
            if inspect.isawaitable(result):
                result = await result
            return Observation(value=to_json(result))
        except CaseError as error:
            return Observation.failed(error.type, error.message)
        except Exception as error:
            return Observation.failed("tool_error", describe(error))

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow in this process. Workflows with async tools go through `call` instead."""
        run, tools = self._loaded(program)
        run_one = run_brief if program.signatures else run_case
        return [run_one(run, inputs, tools, budget) for inputs in cases]

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Independent calls that change nothing: (value, None) or (None, (type, message)) for each.

        Tools that write, and async ones, are refused: this is for trying.
        """
        return [self._try(name, args) for name, args in calls]

    def _try(self, name: str, args: dict[str, Any]) -> tuple[Any, Any]:
        if name in self.awaited or (name in self.specs and self.specs[name].effect == "write"):
            return None, ("refused", f"tool {name!r} is not tried")
        try:
            return self._call_checked(name, args), None
        except CaseError as error:
            return None, (error.type, error.message)
        except Exception as error:
            return None, ("tool_error", describe(error))

    def _loaded(self, program: Program) -> tuple[Run, list[Tool]]:
        """The function of a program, and its tools. A program is known by its identity, as its constants may change."""
        loaded = self._programs.get(id(program))
        if loaded is None or loaded[0] is not program:
            if len(self._programs) >= _PROGRAMS:
                self._programs.clear()
            loaded = program, load(program.source, program.constants), self._tools(program)
            self._programs[id(program)] = loaded
        return loaded[1:]

    def _tools(self, program: Program) -> list[Tool]:
        if not program.signatures:
            return [functools.partial(self._call_checked, name) for name in program.tools]
        pairs = zip(program.tools, program.signatures, strict=True)
        return [self._positional(name, parameters) for name, parameters in pairs]

    def _positional(self, name: str, names: Sequence[str]) -> Tool:
        """A tool that takes its arguments in order; arguments of plain types are passed on as they are."""
        checked = functools.partial(self._call_checked, name)
        if name not in self.specs:
            return positional(checked, checked, [None], names, _unchanged)
        function = self.functions[name]
        parameters = signature_of(function, name).parameters
        complete = set(self.specs[name].required) <= set(names) <= parameters.keys()
        tests = [_test(parameters[parameter].annotation) for parameter in names] if complete else [None]
        return positional(function, checked, tests, names, _unchanged, to_json)

    def _call_checked(self, name: str, args: dict[str, Any]) -> Any:
        return to_json(self._invoke(name, args))

    def _invoke(self, name: str, args: dict[str, Any]) -> Any:
        positional, named = self._converted(name, admitted(self.specs, name, args))
        return self.functions[name](*positional, **named)

    def _converted(self, name: str, args: dict[str, Any]) -> Arguments:
        try:
            if name not in self._converters:
                self._converters[name] = _converter(self.functions[name], name)
            return self._converters[name](**args)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise CaseError("invalid_arguments", f"{place}: {first['msg']}") from None


def _unchanged(error: Exception) -> Exception:
    return error


def _test(annotation: Any) -> str | None:
    """What a value must be to pass pydantic's conversion unchanged, as source; None if only pydantic knows."""
    plain = annotation in (int, float, str, bool) if isinstance(annotation, type) else False
    return f"type({{0}}) is {annotation.__name__}" if plain else None


def _converter(function: Callable[..., Any], name: str) -> Callable[..., Arguments]:
    """Gives a function's arguments, converted to its annotations, without calling it."""

    def given(*positional: Any, **named: Any) -> Arguments:
        return positional, named

    signature = signature_of(function, name)
    annotated = {
        key: part.annotation for key, part in signature.parameters.items() if part.annotation is not part.empty
    }
    vars(given).update(__signature__=signature, __name__=name)
    given.__annotations__ = annotated
    return validate_call(given)


def to_json(result: Any) -> Any:
    """The result of a function as strict JSON; dates, sets, dataclasses and pydantic models are converted.

    Raises:
        CaseError: `not_json` or `too_large`.
    """
    try:
        return clean(result)
    except CaseError:
        pass
    try:
        return clean(to_jsonable_python(result))
    except ValueError as error:
        raise CaseError("not_json", describe(error)) from None

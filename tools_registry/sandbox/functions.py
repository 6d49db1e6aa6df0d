"""A user's functions as tools: their specs, and `FunctionEnvironment`, which calls them in this process."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import TypeAdapter, ValidationError, validate_call
from pydantic_core import to_jsonable_python

from flowmind.workflow.program import Outcome, Program, Run, Tool, load, run_brief, run_case
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.schema import JSONSchema, within_subset
from tools_registry.specs.spec import (
    Effect,
    Observation,
    SpecError,
    ToolCall,
    ToolSpec,
    admitted,
    make_spec,
    read_doc,
    tool_identifier,
)
from tools_registry.specs.values import CaseError, clean, describe, positional

F = TypeVar("F", bound=Callable[..., Any])
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and named arguments of a call."""
_PROGRAMS = 64
"""The programs that an environment keeps loaded."""
_INJECTED = frozenset({"run_manager", "callbacks", "config"})
"""Parameters of LangChain's methods that LangChain passes itself."""
_KINDS = "a function, or a tool of LangChain, pydantic-ai or an MCP server"


class NamedFunction(NamedTuple):
    """A tool as a function."""

    function: Callable[..., Any]
    name: str
    effect: str
    doc: str
    """Its docstring, or its description."""
    notes: Mapping[str, str]
    """Descriptions of parameters that are not in `doc`."""


def tool(*, effect: Effect = "read", name: str | None = None) -> Callable[[F], F]:
    """Marks a function as a tool: `@tool(effect="write")` if a call changes something."""

    def mark(function: F) -> F:
        function.__flowmind_tool__ = (name, effect)  # pyright: ignore[reportFunctionMemberAccess]
        return function

    return mark


def spec_of(tool: Any) -> ToolSpec:
    """The spec of a user's tool, from its type hints and docstring (any common style).

    Args:
        tool: A function, method, `functools.partial` or other callable; a tool object of LangChain, pydantic-ai or an
            MCP server; a spec, or an object with a `spec`.

    Raises:
        SpecError: If it is something else, or a parameter cannot be passed by name (`*args`, `**kwargs`) or has no JSON
            type.
    """
    if isinstance(tool, ToolSpec):
        return tool
    if isinstance(spec := getattr(tool, "spec", None), ToolSpec):
        return spec
    function, name, effect, text, notes = named_function(tool)
    signature = signature_of(function, name)
    fields: dict[str, JSONSchema] = {}
    required: list[str] = []
    for parameter in signature.parameters.values():
        fields[parameter.name] = _schema_of(parameter.annotation, name)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            fields[parameter.name] = {**fields[parameter.name], "default": _json_default(parameter, name)}
    returns = within_subset(_schema_of(signature.return_annotation, name))
    return make_spec(name, read_doc(text), fields, required, returns, cast(Effect, effect), notes)


def specs_of(tools: Any) -> Mapping[str, ToolSpec]:
    """The specs of tools, by name.

    Args:
        tools: Tools as `spec_of` takes them: one, a list or a dict by name; or an environment.

    Raises:
        SpecError: If something cannot be a tool.
    """
    if hasattr(tools, "specs"):
        return tools.specs
    if isinstance(tools, Mapping):
        return {name: spec_of(spec) for name, spec in cast(Mapping[str, Any], tools).items()}
    listed = cast(Sequence[Any], tools) if isinstance(tools, Sequence) else [tools]
    return {spec.name: spec for spec in map(spec_of, listed)}


def named_function(tool: Any) -> NamedFunction:
    """A tool as a function with a name. Tools of libraries are recognized by their attributes.

    Raises:
        SpecError: If it cannot be a tool.
    """
    name, effect = getattr(tool, "__flowmind_tool__", (None, "read"))
    if type(getattr(tool, "name", None)) is str and not inspect.isroutine(tool):
        return _function_of_library(tool, name or tool.name, effect)
    if not callable(tool):
        raise SpecError(f"{tool!r:.80} cannot be a tool; give {_KINDS}")
    inner: Any = tool
    while isinstance(inner, functools.partial):
        inner = cast(Any, inner).func
        mark = getattr(inner, "__flowmind_tool__", (None, effect))
        name, effect = name or mark[0], mark[1]
    described = inner
    if not hasattr(inner, "__name__"):
        described = inner if type(inner).__doc__ else type(inner).__call__
    name = name or getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>":
        raise SpecError("a lambda has no name; define the tool with def")
    return NamedFunction(tool, tool_identifier(name), effect, inspect.getdoc(described) or "", {})


def _function_of_library(tool: Any, name: str, effect: str) -> NamedFunction:
    """The function of a tool: `func`, `coroutine` or `_run` (LangChain), `function` (pydantic-ai) or `fn` (MCP)."""
    if getattr(tool, "takes_ctx", False) or getattr(tool, "context_kwarg", None):
        raise SpecError(f"tool {name!r} takes the context of a run; give a function of its arguments alone")
    candidates = [getattr(tool, key, None) for key in ("func", "coroutine", "function", "fn", "_run")]
    function = next((candidate for candidate in candidates if callable(candidate)), None)
    if function is None:
        raise SpecError(f"tool {name!r} has no function to call; give {_KINDS}")
    schemas = (tool, "args_schema"), (tool, "parameters"), (getattr(tool, "function_schema", None), "json_schema")
    schema: Any = next(filter(None, (getattr(holder, key, None) for holder, key in schemas)), None)
    text = str(getattr(tool, "description", None) or inspect.getdoc(function) or "")
    return NamedFunction(_without_injected(function), tool_identifier(name), effect, text, _notes(schema))


def _notes(arguments: Any) -> dict[str, str]:
    """The descriptions of parameters in a pydantic class or a JSON Schema."""
    schema: Any = arguments.model_json_schema() if hasattr(arguments, "model_json_schema") else arguments or {}
    fields: dict[str, Any] = schema.get("properties", {})
    return {name: field["description"] for name, field in fields.items() if field.get("description")}


def _without_injected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without the parameters that LangChain passes itself."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    parameters = [parameter for name, parameter in signature.parameters.items() if name not in _INJECTED]
    if len(parameters) == len(signature.parameters):
        return function
    call = functools.partial(function)
    call.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    return call


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def signature_of(function: Callable[..., Any], name: str) -> inspect.Signature:
    """A function's signature with evaluated annotations; every parameter can be passed by its name.

    Raises:
        SpecError: If the annotations cannot be evaluated, or a parameter cannot be passed by name.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise SpecError(f"tool {name!r}: its annotations cannot be read: {error}") from None
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise SpecError(f"tool {name!r}: parameter {parameter.name!r} must be passed by its name")
    return signature


def _json_default(parameter: inspect.Parameter, name: str) -> Any:
    try:
        return clean(to_jsonable_python(parameter.default))
    except (CaseError, ValueError) as error:
        raise SpecError(f"tool {name!r}: the default of {parameter.name!r} is no JSON value: {error}") from None


def _schema_of(annotation: Any, name: str) -> JSONSchema:
    if annotation in (inspect.Parameter.empty, Any):
        return {}
    try:
        return _without_titles(TypeAdapter(annotation).json_schema())
    except Exception as error:  # pydantic raises several unrelated classes here
        raise SpecError(f"tool {name!r}: annotation {annotation!r} has no JSON type: {error}") from None


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, dict):
        items = cast(dict[str, Any], schema)
        return {
            key: _titles_off_each(item) if key in ("properties", "$defs") else _without_titles(item)
            for key, item in items.items()
            if key != "title"
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast(list[Any], schema)]
    return schema


def _titles_off_each(schemas: dict[str, Any]) -> dict[str, Any]:
    """Named schemas without their titles; a name may be `title` itself."""
    return {name: _without_titles(schema) for name, schema in schemas.items()}


class FunctionEnvironment:
    """A user's functions: trusted, run in this process, sync or async, I/O allowed.

    Arguments are checked against the spec, then converted to the annotated types (pydantic models, dates…). Results are
    converted to JSON. A sync function is called directly, in the thread of the caller.

    Args:
        functions: The tools; see `spec_of`.

    Raises:
        SpecError: If one of them cannot be a tool.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        by_name = {spec.name: (spec, function) for spec, function in ((spec_of(tool), tool) for tool in functions)}
        self.specs: Mapping[str, ToolSpec] = {name: spec for name, (spec, _) in by_name.items()}
        self.functions = {name: named_function(tool).function for name, (_, tool) in by_name.items()}
        self._converters: dict[str, Callable[..., Arguments]] = {}
        self._programs: dict[int, tuple[Program, Run, list[Tool]]] = {}
        self.awaited: Collection[str] = frozenset(name for name, tool in self.functions.items() if is_async(tool))
        """The async tools; `run` cannot call them."""

    async def call(self, call: ToolCall) -> Observation:
        """Calls one function. An exception that it raises becomes the observation's error."""
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
        """Runs a compiled workflow in this process. Async tools can only be called by `call`."""
        run, tools = self._loaded(program)
        run_one = run_brief if program.signatures else run_case
        return [run_one(run, inputs, tools, budget) for inputs in cases]

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Trial calls, independent of one another: (value, None) or (None, (type, message)) for each.

        Calls of tools that write and of async tools are refused.
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
        """The function of a program, and its tools. The key is the program's identity: its constants are mutable."""
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
        """A tool that takes its arguments by position; arguments of plain types are passed on unchanged."""
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
    """Source of a test that a value passes pydantic's conversion unchanged; None if only pydantic can decide."""
    plain = annotation in (int, float, str, bool) if isinstance(annotation, type) else False
    return f"type({{0}}) is {annotation.__name__}" if plain else None


def _converter(function: Callable[..., Any], name: str) -> Callable[..., Arguments]:
    """A function that returns its arguments converted to the annotations of another function."""

    def converted(*positional: Any, **named: Any) -> Arguments:
        return positional, named

    signature = signature_of(function, name)
    annotated = {
        key: part.annotation for key, part in signature.parameters.items() if part.annotation is not part.empty
    }
    vars(converted).update(__signature__=signature, __name__=name)
    converted.__annotations__ = annotated
    return validate_call(converted)


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

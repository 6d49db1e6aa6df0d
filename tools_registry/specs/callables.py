"""Whatever a user passes as a tool, as a function with a name: functions, methods, partials, tools of other libraries.

Tools of LangChain and pydantic-ai are recognized by their attributes; neither library is imported.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

_INJECTED = frozenset({"run_manager", "callbacks", "config"})
"""Parameters of LangChain's methods that LangChain itself passes."""


class SpecError(ValueError):
    """A function cannot be a tool; the message names the function and what would mend it."""


class Named(NamedTuple):
    """A tool as a function."""

    function: Callable[..., Any]
    name: str
    effect: str
    doc: str
    """Its docstring, or its description."""
    notes: Mapping[str, str]
    """Descriptions of parameters that are not in `doc`."""


def named(tool: Any) -> Named:
    """A tool as a function with a name.

    Args:
        tool: A function, method, `functools.partial` or other callable; or a tool of LangChain or pydantic-ai.

    Raises:
        SpecError: If it is nothing of these.
    """
    name, effect = getattr(tool, "__flowmind_tool__", (None, "read"))
    if type(getattr(tool, "name", None)) is str and not inspect.isroutine(tool):
        return _of_library(tool, name or tool.name, effect)
    if not callable(tool):
        raise SpecError(f"{tool!r:.80} cannot be a tool; give a function, or a tool of LangChain or pydantic-ai")
    inner: Any = tool
    while isinstance(inner, functools.partial):
        inner = cast(Any, inner).func
        mark = getattr(inner, "__flowmind_tool__", (None, effect))
        name, effect = name or mark[0], mark[1]
    if not hasattr(inner, "__name__"):
        described = inner if type(inner).__doc__ else type(inner).__call__
        return Named(tool, name or type(inner).__name__, effect, inspect.getdoc(described) or "", {})
    return Named(tool, name or inner.__name__, effect, inspect.getdoc(inner) or "", {})


def _of_library(tool: Any, name: str, effect: str) -> Named:
    """A tool object: LangChain's have `func`, `coroutine` or `_run`, those of pydantic-ai have `function`."""
    if getattr(tool, "takes_ctx", False):
        raise SpecError(f"tool {name!r} takes the context of an agent's run; give a function of its arguments alone")
    candidates = [getattr(tool, key, None) for key in ("func", "coroutine", "function", "_run")]
    function = next((candidate for candidate in candidates if callable(candidate)), None)
    if function is None:
        raise SpecError(f"tool {name!r} has no function to call; give the function itself")
    text = str(getattr(tool, "description", None) or inspect.getdoc(function) or "")
    return Named(_without_injected(function), name, effect, text, _notes(getattr(tool, "args_schema", None)))


def _notes(arguments: Any) -> dict[str, str]:
    """The descriptions of parameters in a pydantic class or a JSON Schema."""
    schema: dict[str, Any] = (
        arguments.model_json_schema() if hasattr(arguments, "model_json_schema") else dict(arguments or {})
    )
    fields: dict[str, Any] = schema.get("properties", {})
    return {name: field["description"] for name, field in fields.items() if field.get("description")}


def _without_injected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without the parameters that LangChain passes itself."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    kept = [parameter for name, parameter in signature.parameters.items() if name not in _INJECTED]
    if len(kept) == len(signature.parameters):
        return function
    call = functools.partial(function)
    call.__signature__ = signature.replace(parameters=kept)  # pyright: ignore[reportAttributeAccessIssue]
    return call


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def signature_of(function: Callable[..., Any], name: str) -> inspect.Signature:
    """A function's signature with evaluated annotations; every parameter can be passed by its name.

    Raises:
        SpecError: If the annotations cannot be evaluated, or a parameter has no name of its own.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise SpecError(f"tool {name!r}: its annotations cannot be read: {error}") from None
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise SpecError(f"tool {name!r}: parameter {parameter.name!r} must be passed by its name")
    return signature

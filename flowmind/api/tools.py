"""The tools that a user passes, as an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from flowmind.base.errors import InputError
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.specs.sources import ToolSource
from tools_registry.specs.spec import SpecError, spec_of

Tool = Callable[..., Any] | ToolSource
"""A function of the user's, or the source of a tool for the sandbox."""
Tools = Tool | Sequence[Tool] | Mapping[str, Tool]
"""One tool, a list of tools, or a dict of them by name."""


def environment_of(tools: Tools | Environment) -> Environment:
    """An environment with a user's own functions (trusted, in this process) or tool sources (untrusted, in workers).

    An environment is returned as it is.

    Raises:
        InputError: If there is no tool, if functions and sources are mixed, if two tools have one name, or if something
            cannot be a tool.
    """
    if hasattr(tools, "specs") and hasattr(tools, "awaited"):
        return cast(Environment, tools)
    listed = tool_list(cast(Tools, tools))
    functions = [tool for tool in listed if not isinstance(tool, ToolSource)]
    sources = [tool for tool in listed if isinstance(tool, ToolSource)]
    if bool(functions) == bool(sources):
        raise InputError("tools: give functions or tool sources, at least one, and not both kinds")
    require_distinct([tool_name(tool) for tool in listed])
    return FunctionEnvironment(functions) if functions else LocalSandbox(sources)


def tool_list(tools: Tools) -> list[Tool]:
    """The tools as a list.

    Raises:
        InputError: If a dict has a tool under a key that is not its name.
    """
    if isinstance(tools, Mapping):
        by_name = cast(Mapping[str, Tool], tools)
        for key, tool in by_name.items():
            if (name := tool_name(tool)) != key:
                raise InputError(f"tools: the tool with the key {key!r} has the name {name!r}; use its name as the key")
        return list(by_name.values())
    return list(cast(Sequence[Tool], tools)) if isinstance(tools, Sequence) else [tools]


def tool_name(tool: Tool) -> str:
    """The name of a tool.

    Raises:
        InputError: If it cannot be a tool.
    """
    try:
        return tool.spec.name if isinstance(tool, ToolSource) else spec_of(tool).name
    except SpecError as error:
        raise InputError(str(error)) from None


def require_distinct(names: Sequence[str]) -> None:
    """Refuses two tools with one name.

    Raises:
        InputError: With the name.
    """
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"two tools have the name {twice[0]!r}; names are unique")

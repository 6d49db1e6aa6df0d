"""Tools files: Python files whose functions are tools and run in the sandbox."""

from __future__ import annotations

import ast
from importlib import import_module

from tools_registry.specs.spec import SpecError, ToolSource


def tools_of_file(source: str) -> list[ToolSource]:
    """The tools of a file, checked by the rules of the sandbox without executing them.

    Raises:
        SpecError: If the file defines no function, a function cannot be a tool, or the sandbox refuses the source.
    """
    tools = ToolSource.parse_all(source)
    policy = import_module("tools_registry.sandbox.language.policy")  # takes 50 ms, and the catalog does not need it
    try:
        policy.compile_tools(tools[0].source)
    except policy.RefusedSource as error:
        raise SpecError(str(error)) from None
    for node in ast.parse(tools[0].source).body:
        if isinstance(node, ast.ImportFrom) and node.module in policy.FACADES:
            facade = policy.FACADES[node.module]
            for alias in node.names:
                if not hasattr(facade, alias.name):
                    raise SpecError(f"line {node.lineno}: tools cannot import {alias.name!r} from {node.module!r}")
    return tools

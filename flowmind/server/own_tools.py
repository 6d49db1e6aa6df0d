"""The tools of a Python file as functions of this process."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import read_text
from tools_registry.specs.marks import Mark
from tools_registry.specs.values import describe


def own_tools(path: Path) -> list[Callable[..., Any]]:
    """Executes a Python file and returns its functions. Trusted files only: the code can do whatever you can.

    A function is a tool if the file defines it and its name does not begin with `_`, or if it is marked with `@tool`.

    Raises:
        InputError: If the file cannot be read or executed, or defines no function.
    """
    read_text(path)
    name = f"flowmind_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: the name of a file with tools ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic models look for their module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: the file cannot be imported: {describe(error)}") from error
    functions = {id(value): value for value in vars(module).values() if inspect.isfunction(value)}
    tools = [function for function in functions.values() if _is_tool(function, name)]
    if not tools:
        raise InputError(f"{path}: the file defines no function")
    return tools


def _is_tool(function: Any, module: str) -> bool:
    marked = isinstance(getattr(function, "__flowmind_tool__", None), Mark)
    return marked or (function.__module__ == module and not function.__name__.startswith("_"))

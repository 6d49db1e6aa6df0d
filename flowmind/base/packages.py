"""The packages of this distribution: makes sure that other packages with their names are not loaded instead."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).resolve().parents[2]
"""The folder that the packages are in."""


def run_program(name: str, module: str) -> int:
    """Runs the `main` of a module as a program.

    `python -m` puts the working directory first on `sys.path`. It is removed, so that a folder such as `experiments`
    in it does not hide the package of this name.

    Args:
        name: The name of the program, for messages.
        module: The module with the function `main() -> int`.

    Returns:
        The exit code; 2 if another package hides one that the program needs.
    """
    if sys.path and Path(sys.path[0]).resolve() == Path.cwd() != _HOME:
        del sys.path[0]
    for package in ("tools_registry", module.partition(".")[0]):
        if message := hidden(package):
            print(f"{name}: {message}", file=sys.stderr)
            return 2
    return importlib.import_module(module).main()


def hidden(package: str) -> str:
    """The message if another package is loaded for one of this distribution; empty if not."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    places = [Path(place).resolve() for place in (spec and spec.submodule_search_locations) or ()]
    if _HOME / package in places:
        return ""
    other = places[0] if places else spec.origin if spec else None
    if other is None:
        return f"FlowMind's package {package!r} is missing in {_HOME}; install flowmind-es again"
    return (
        f"{other} hides FlowMind's package {package!r}; rename it, take its folder off PYTHONPATH, or work in another "
        "folder"
    )

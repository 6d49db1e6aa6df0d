"""The policy for tool source: it is compiled under guards and runs in a namespace that contains nothing else.

Each step is a module: the size and shape of the text (`gate`), the syntax (`rewriting`), the operations on a value by
its exact type (`guards`, `classes`), and the modules that `import` returns (`facades`). The policy is not a security
boundary; the worker process is.
"""

from __future__ import annotations

import codecs
import decimal
import importlib
import types
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tools_registry.sandbox.language import facades, gate, guards, hints
from tools_registry.sandbox.language.gate import RefusedSource
from tools_registry.sandbox.language.guards import BUILTINS, GUARDS, METHODS
from tools_registry.sandbox.language.rewriting import compile_tree

__all__ = [
    "BUILTINS",
    "FACADES",
    "GUARDS",
    "MAX_SOURCE",
    "METHODS",
    "RefusedSource",
    "ToolCode",
    "bare_namespace",
    "begin_case",
    "compile_bare",
    "compile_tools",
    "namespace",
    "preload",
    "self_test",
]
FACADES = facades.FACADES
MAX_SOURCE = gate.MAX_BYTES


class ToolCode(NamedTuple):
    """Compiled tool source."""

    code: types.CodeType
    stateless: bool
    """Whether nothing at its top level can change, so that one namespace can serve any number of cases."""


def compile_tools(source: str, name: str = "tool") -> ToolCode:
    """Compiles untrusted source to a code object for a `namespace()`.

    Args:
        source: Imports, constants, functions and classes at top level.
        name: The name of the source in messages.

    Raises:
        RefusedSource: If the source is too large, does not parse, or is outside the policy.
    """
    tree = gate.parse(source)
    for module, names, line in gate.imported(tree):
        if module not in facades.NAMES:
            raise RefusedSource(f"line {line}: {_no_import(module)}")
        for name in names:
            if name != "*" and name not in facades.offered(module):
                raise RefusedSource(f"line {line}: {hints.no_name(module, name)}")
    stateless = gate.is_stateless(tree)
    return ToolCode(compile_tree(tree, name), stateless)


_ABSENT = {name: hints.absent(name) for name in hints.NAMES}


def namespace() -> dict[str, Any]:
    """New globals for tool code: the guards and the allowed builtins."""
    return {"__builtins__": {**_ABSENT, **BUILTINS, "__import__": _import}, **GUARDS}


_DECIMALS = decimal.Context()


def begin_case() -> None:
    """Resets what a case must not inherit from an earlier one: the context of decimal arithmetic."""
    decimal.setcontext(_DECIMALS.copy())


def compile_bare(source: str, name: str = "tool") -> ToolCode:
    """Compiles source without a policy, for an audit with the language layer off.

    Raises:
        RefusedSource: If it does not parse.
    """
    try:
        return ToolCode(compile(source, f"<{name}>", "exec", dont_inherit=True), stateless=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RefusedSource(f"source does not parse: {error}") from None


def bare_namespace() -> dict[str, Any]:
    """Globals with all builtins and imports of Python, for `compile_bare`."""
    return {"__builtins__": __builtins__, "__name__": "tool"}


_C_IMPORTS = frozenset({"time", "_strptime"})
_ENCODINGS = "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 latin-1 cp1252 unicode_escape"


def _no_import(name: str) -> str:
    return f"tools cannot import {name!r}; {hints.MODULES.get(name) or 'they can import ' + ', '.join(facades.NAMES)}"


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """The façade that an import statement binds.

    C code imports `time` to format a date. It passes a list as `fromlist`, which no statement does, and takes the
    module from `sys.modules` itself, so an empty façade is enough.
    """
    if name in _C_IMPORTS and type(fromlist) is list:
        return guards.facade(name, {})
    if level or name not in facades.NAMES:
        raise ImportError(_no_import(name))
    if name == "random":
        return globals.setdefault("_random_", None) or _keep_random(globals)
    return FACADES[name if fromlist else name.partition(".")[0]]


def _keep_random(scope: dict[str, Any]) -> guards.Facade:
    scope["_random_"] = facades.random_facade()
    return scope["_random_"]


def preload() -> None:
    """Imports the modules and codecs that tools may need after the process can no longer read files."""
    importlib.import_module("_strptime")
    for name in _ENCODINGS.split():
        codecs.lookup(name)


_ATTACKS = """
import statistics
import json
from functools import reduce

def attribute(): return reduce(getattr, ["__class__", "__base__"], ())
def format_walk(): return '{0._real}'.format(1)
def facade(): return statistics.sys
def frame(): return (n for n in [1]).send.real
def write(): json.dumps = len
def write_item(): (1, 2)[0] = 3
def own_write(): statistics.mean.n = 1
def builtin(): return getattr(len, '__self__')
def imports():
    import os
def subclass():
    class A(str): pass
"""
_REFUSED = ("def tool(): return ().__base__", "def tool(_getattr_): return 1", "import os", "async def tool(): pass")


def self_test() -> None:
    """Tests that the guards are on.

    Raises:
        RuntimeError: If source that must be refused is not.
    """
    preload()
    for source in _REFUSED:
        try:
            compile_tools(source)
        except RefusedSource:
            continue
        raise RuntimeError(f"the tool policy is off: {source!r} compiles")
    scope = namespace()
    exec(compile_tools(_ATTACKS).code, scope)
    for name in _ATTACKS.split("def ")[1:]:
        attack = cast(Callable[[], Any], scope[name.partition("(")[0]])
        try:
            attack()
        except (AttributeError, ValueError, NameError, ImportError, TypeError):
            continue
        raise RuntimeError(f"the tool policy is off: {attack.__name__!r} went through")

"""Proposes marks for the functions of a Python file, from their names and their syntax. Nothing is executed.

A function reads if nothing in it can change something outside: it calls only functions without side effects, and
changes only values of its own. When in doubt, `write` is proposed, because only tools that read are called on trial.
"""

from __future__ import annotations

import ast
import datetime
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from tools_registry.sandbox.language.policy import BUILTINS, FACADES
from tools_registry.specs.marks import Effect, Mark, Markings

Function = ast.FunctionDef | ast.AsyncFunctionDef
_CHANGING = frozenset(
    """
    accept activate allocate approve archive assign ban book buy cancel change charge clear close commit confirm
    create deactivate decline delete deploy disable disconnect email enable enqueue erase escalate execute
    fire grant hire install invite invoice issue kill launch lock mark modify move notify overwrite pay ping place post
    publish purchase push put reboot refund register reject release reply reschedule reserve reset restart restore
    revoke rollback save schedule sell send ship spend store submit subscribe terminate transfer trigger uninstall
    unlock unsubscribe update upload withdraw write
    """.split()  # noqa: SIM905
)
"""Verbs that a name begins with if the function probably changes something."""
_MUTATORS = frozenset(
    """
    add append appendleft clear difference_update discard extend extendleft insert intersection_update move_to_end pop
    popitem popleft remove reverse rotate setdefault sort subtract symmetric_difference_update update
    """.split()  # noqa: SIM905
)
"""Methods that change the object that they are called on."""
_KINDS = (
    str, bytes, int, float, bool, list, tuple, dict, set, frozenset, datetime.datetime, datetime.timedelta, Decimal,
    Counter, deque,
    re.Pattern, re.Match,
)  # fmt: skip
_PUBLIC = frozenset(name for kind in _KINDS for name in dir(kind) if not name.startswith("__"))
_METHODS = (_PUBLIC | {"model_dump"}) - _MUTATORS
"""Methods of values that change nothing."""
_MODULES = frozenset(FACADES) | {"random", "time", "__future__"}
"""Modules whose functions change nothing."""
_PURE = frozenset(BUILTINS) - {"print", "setattr", "delattr", "open", "input", "exec", "eval"}
"""Builtins that change nothing."""
_PLAIN = frozenset("abs all any bool float format int isinstance len range repr round str sum type".split())  # noqa: SIM905
"""Builtins whose results have no part of their arguments."""
_FRESH = frozenset(
    [
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "list",
        "map",
        "reversed",
        "set",
        "sorted",
        "tuple",
        "zip",
        "copy",
        "items",
        "keys",
        "values",
    ]
)
"""Functions and methods whose results are new containers with the same parts."""
_OWN, _HOLDS, _SHARED = 0, 1, 2
"""A value of the function; a container of its own that holds values of the module; maybe a value of the module."""


class Proposal(NamedTuple):
    """A function of a file with its mark and the one that is proposed."""

    node: Function
    present: Mark | None
    effect: Effect
    reason: str


def proposals(tree: ast.Module) -> list[Proposal]:
    """A proposal for each function at top level but helpers: names that begin with `_`, without a mark.

    Raises:
        SpecError: If a mark of the file cannot be read.
    """
    marks = Markings(tree).marks
    module = _Module(tree)
    made: list[Proposal] = []
    for node in tree.body:
        if isinstance(node, Function) and (node in marks or not node.name.startswith("_")):
            why = _verb(node.name) or module.change(node.name)
            effect: Effect = "write" if why else "read"
            made.append(Proposal(node, marks.get(node), effect, why or "it changes nothing outside of it"))
    return made


def _verb(name: str) -> str | None:
    """The reason that a function's name gives to say that it changes something."""
    first = re.split(r"_|(?<=[a-z])(?=[A-Z])", name.strip("_"), maxsplit=1)[0].lower()
    return f"its name begins with {first!r}" if first in _CHANGING else None


class _Module:
    """The names of a file, and which of its functions change something."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions: dict[str, Function] = {}
        self.methods: set[str] = set()
        self.facades: set[str] = set()
        """Names of modules whose functions change nothing."""
        self.pure: set[str] = set(_PURE)
        """Names whose calls change nothing."""
        self.data: set[str] = set()
        """Names of values that are written out in the file."""
        self._changes: dict[str, str | None] = {}
        for node in tree.body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[node.name] = node
                case ast.ClassDef():
                    self._add_class(node)
                case ast.Import():
                    known = [alias for alias in node.names if alias.name in _MODULES]
                    self.facades |= {alias.asname or alias.name.partition(".")[0] for alias in known}
                case ast.ImportFrom() if node.module in _MODULES:
                    self.pure |= {alias.asname or alias.name for alias in node.names}
                case ast.Assign(targets=targets, value=value) if self._is_data(value):
                    self.data |= {name for target in targets for name in _names(target)}
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if self._is_data(value):
                    self.data.add(name)
                case _:
                    pass

    def change(self, name: str) -> str | None:
        """The thing that a function may change; None if it changes nothing. A function that calls itself is read."""
        if name not in self._changes:
            self._changes[name] = None
            self._changes[name] = _Body(self, self.functions[name]).change()
        return self._changes[name]

    def _add_class(self, node: ast.ClassDef) -> None:
        """Adds a class; it is pure if its methods change nothing but their object."""
        methods = [part for part in node.body if isinstance(part, Function)]
        self.pure.add(node.name)
        if any(_Body(self, method).change() for method in methods):
            self.pure.remove(node.name)
        else:
            self.methods |= {method.name for method in methods}

    def _is_data(self, value: ast.expr) -> bool:
        """Whether a value is written out, or made by functions that change nothing."""
        names = [part.id for part in ast.walk(value) if isinstance(part, ast.Name)]
        return all(name in self.pure | self.facades | self.data for name in names)


class _Body:
    """The body of a function. `parameters` are its own values, because a tool gets copies."""

    def __init__(self, module: _Module, function: Function, parameters: int = _OWN) -> None:
        self.module = module
        self.nodes = [part for statement in function.body for part in ast.walk(statement)]
        outer = [part for part in self.nodes if isinstance(part, ast.Global | ast.Nonlocal)]
        self.outer = {name for part in outer for name in part.names}
        self.parameters = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
        lasting = _with_lasting_defaults(function.args)
        inner = {part.arg for part in self.nodes if isinstance(part, ast.arg)}
        self.levels = dict.fromkeys(self.parameters, parameters) | dict.fromkeys(inner - self.parameters, _SHARED)
        """The local names, with the level of their values."""
        self.levels |= dict.fromkeys(lasting, _SHARED)
        for part in self.nodes:
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id not in self.outer:
                self.levels.setdefault(part.id, _OWN)
            if isinstance(part, Function | ast.ExceptHandler) and part.name:
                self.levels.setdefault(part.name, _OWN)
        while self._raise_levels():
            pass

    def change(self) -> str | None:
        """The first reason to say that the function changes something."""
        return next(self._changes(), None)

    def _raise_levels(self) -> bool:
        """Raises the levels of names that are bound to shared values; whether one was raised."""
        before = dict(self.levels)
        for part in self.nodes:
            match part:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bind(target, self._level(value))
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value)
                    | ast.NamedExpr(target=target, value=value)
                    | ast.AugAssign(target=target, value=value)
                    | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
                ):
                    self._bind(target, self._level(value))
                case (
                    ast.For(target=target, iter=value)
                    | ast.AsyncFor(target=target, iter=value)
                    | ast.comprehension(target=target, iter=value)
                ):
                    self._bind(target, _SHARED if self._level(value) else _OWN)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args):
                    if method in _MUTATORS and any(map(self._level, args)):  # a container takes shared values in
                        self._bind(ast.Name(name), _HOLDS)
                case _:
                    pass
        return self.levels != before

    def _bind(self, target: ast.expr, level: int) -> None:
        """Raises the levels of the names in a target. A shared value inside a container makes its name hold it."""
        inside = not isinstance(target, ast.Name)
        for name in _names(target):
            if name in self.levels:
                unpacked = _SHARED if isinstance(target, ast.Tuple | ast.List) and level else min(level, _HOLDS)
                self.levels[name] = max(self.levels[name], unpacked if inside else level)

    def _level(self, value: ast.expr) -> int:
        """The kind of a value: of the function, a container that holds values of the module, or one of the module."""
        match value:
            case ast.Name(id=name):
                return self.levels.get(name, _OWN if name in self.module.pure else _SHARED)
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.UnaryOp() | ast.Lambda():
                return _OWN
            case ast.Subscript(value=inner) | ast.Attribute(value=inner):
                return _SHARED if self._level(inner) else _OWN
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._result(name, args)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args) if (
                name in self.module.facades and name not in self.levels
            ):
                return self._result(method, args)
            case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args):
                return self._result(method, [inner, *args])
            case ast.IfExp(body=one, orelse=other):
                return max(self._level(one), self._level(other))
            case ast.BoolOp(values=values):
                return max(map(self._level, values))
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self._level(inner)
            case _:
                parts = (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
                return _HOLDS if any(map(self._level, parts)) else _OWN

    def _result(self, name: str, args: Sequence[ast.expr]) -> int:
        """The level of a call's result."""
        if name in _PLAIN or name == "deepcopy" or not any(map(self._level, args)):
            return _OWN
        return _HOLDS if name in _FRESH else _SHARED

    def _changes(self) -> Iterator[str]:
        if self.outer:
            yield f"it assigns the global {min(self.outer)!r}"
        module = self.module
        known = module.pure | module.facades | module.data | module.functions.keys() | self.levels.keys()
        called = {part.func for part in self.nodes if isinstance(part, ast.Call)}
        for part in self.nodes:
            match part:
                case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                    if self._level(part.value) == _SHARED:
                        yield f"it changes {_root(part)!r}, which may be a value of the file"
                case ast.AugAssign(target=ast.Name(id=name)) if self.levels.get(name) == _SHARED:
                    yield f"it may change a value of the file through {name!r}"
                case ast.Call():
                    yield from self._call(part)
                case ast.Name(id=name) if part not in called and name in module.functions and name not in self.levels:
                    if why := _verb(name) or _Body(module, module.functions[name], _SHARED).change():
                        yield f"it passes on {name!r}: {why}"
                case ast.Attribute(value=inner, attr=method, ctx=ast.Load()) if part not in called:
                    if (method in _MUTATORS or _verb(method)) and self._level(inner) == _SHARED:
                        yield f"it passes on {ast.unparse(part)!r}, which may change something"
                case ast.Name(id=name, ctx=ast.Load()) if name not in known:
                    yield f"it uses {name!r}, which may change something"
                case ast.Import() | ast.ImportFrom():
                    yield "it imports a module"
                case ast.Yield() | ast.YieldFrom():
                    yield "it is a generator"
                case _:
                    pass

    def _call(self, call: ast.Call) -> Iterator[str]:
        module = self.module
        match call.func:
            case ast.Name(id=name) if name in module.functions and name not in self.levels:
                if why := _verb(name) or module.change(name):
                    yield f"it calls {name!r}: {why}"
                elif any(map(self._level, call.args)) and _Body(module, module.functions[name], _SHARED).change():
                    yield f"{name!r} may change a value of the file"
            case ast.Name(id=name):
                if name in self.parameters or name not in module.pure | self.levels.keys():
                    yield f"it calls {name!r}, which may change something"
            case ast.Attribute(value=ast.Name(id=name)) if name in module.facades and name not in self.levels:
                pass
            case ast.Attribute(value=inner, attr=method):
                if method in _MUTATORS and self._level(inner) == _SHARED:
                    yield f"it changes {_root(inner)!r}, which may be a value of the file"
                elif method not in _METHODS | _MUTATORS | module.methods:
                    yield f"it calls {ast.unparse(call.func)!r}, which may change something"
            case ast.Subscript(value=ast.Name(id=name)) if name in module.pure:  # dict[str, int]()
                pass
            case _:
                yield f"it calls {ast.unparse(call.func)!r}, which may change something"


def _with_lasting_defaults(arguments: ast.arguments) -> set[str]:
    """The parameters whose defaults are objects that can change and outlast a call."""
    plain = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    pairs = [
        *zip(plain, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {part.arg for part, default in pairs if not isinstance(default, ast.Constant | ast.UnaryOp | None)}


def _names(target: ast.expr) -> Iterator[str]:
    yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _root(value: ast.expr) -> str:
    while isinstance(value, ast.Subscript | ast.Attribute):
        value = value.value
    return ast.unparse(value)

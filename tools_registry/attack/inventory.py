"""What tool code can reach, enumerated by introspection of the policy.

The walk starts at the builtins and modules that tool code is given. It reads every attribute that the guard allows, and
calls every callable with simple arguments. For each exact type of value it keeps an expression that yields it. Forms of
class statements that the policy accepts are defined, and their readable methods listed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

from tools_registry.sandbox.language import guards, policy
from tools_registry.sandbox.language.rewriting import METHOD_DUNDERS
from tools_registry.specs.schema import type_of

DEPTH = 3
"""Attributes and calls between a name and the last value of the walk."""
TEXT = "'a %s {} $x %(x)s'"
"""A text with a field of each way of formatting."""
_ARGUMENTS = (
    "", "3", TEXT, "[1, 2]", "'a{}b', 2", "{'a': 1}", "b'ab'", "lambda x: x, [1]", "'a', 'b'", "[1, 2], [3, 5]",
    "2020, 1, 2", "lambda x: x", "'%Y', '2020'", "[(1, 2)]", "'E', 'x y'", "0.5",
)  # fmt: skip
_FORMS = (
    "@dataclasses.dataclass\nclass {0}:\n    x: object = 1", "class {0}:\n    x: object = 1",
    "@dataclasses.dataclass(frozen=True, order=True)\nclass {0}:\n    x: object = 1",
    "class {0}(typing.NamedTuple):\n    x: object = 1", "class {0}(typing.Protocol):\n    x: object = 1",
    "class {0}(abc.ABC):\n    x: object = 1", "class {0}(typing.TypedDict):\n    x: object",
    "class {0}(str, enum.Enum):\n    A = 'a'", "class {0}(int, enum.Enum):\n    A = 1",
    "class {0}(typing.Generic[typing.TypeVar('T')]):\n    x: object = 1",
    "@functools.total_ordering\nclass {0}:\n    x: object = 1\n    def __lt__(self, other):\n        return True",
    "class {0}(collections.namedtuple('Base', 'x y', defaults=(1, 2))):\n    z: object = 1",
    "{0} = collections.namedtuple('{0}', 'x y', defaults=(1, 2))", "{0} = dataclasses.make_dataclass('{0}', ['x'])",
)  # fmt: skip
_DERIVED = (
    "class {0}({1}):\n    A = 1",
    "class {0}({1}):\n    A = 'a'",
    "{0} = {1}('{0}', 'A B')",
    "class {0}({1}):\n    x: object = 1",
)
"""Definitions of classes to try, also with each class as {1}; a body may follow those that are statements."""


class Form(NamedTuple):
    """A form of a class that the policy accepts."""

    template: str
    kind: type
    member: str
    """The instance of the class `{0}`, as an expression."""
    readable: tuple[str, ...]
    """Attributes that can be read from the class."""


class Inventory(NamedTuple):
    """All that the walk reached."""

    modules: tuple[str, ...]
    callables: dict[str, Any]
    """Expression and value of each callable, classes and methods of sample values among them."""
    keywords: dict[str, tuple[str, ...]]
    """The parameters that a callable takes by name, as far as they are known."""
    samples: dict[type, str]
    """For each exact type of a value, the shortest expression that yields one."""
    values: dict[type, Any]
    forms: tuple[Form, ...]
    attributes: int
    """Pairs of value and attribute that can be read."""

    def line(self) -> str:
        """The counts, in a line."""
        classes = sum(isinstance(value, type) for value in self.callables.values())
        return (
            f"{len(self.modules)} modules, {len(self.callables)} callables ({classes} classes), {len(self.samples)} "
            f"types of values, {self.attributes} readable attributes, {len(METHOD_DUNDERS)} special methods, "
            f"{len(self.forms)} forms of classes"
        )


def head(modules: tuple[str, ...]) -> str:
    """The import statements for the modules, one each line."""
    return "".join(f"import {name}\n" for name in modules)


def execute(source: str) -> dict[str, Any]:
    """The globals after the execution of source in the language of tools.

    Raises:
        RefusedSource: If the policy refuses it.
        Exception: What its top level raises.
    """
    scope = policy.namespace()
    exec(policy.compile_tools(source).code, scope)
    return scope


def enumerate_all() -> Inventory:
    """Walks what tool code can reach."""
    modules = tuple(name for name in sorted({*sys.stdlib_module_names, *policy.FACADES}) if _imports(name))
    scope = execute(head(modules))
    callables: dict[str, Any] = {}
    values: dict[type, tuple[str, Any]] = {}
    attributes = 0
    offered = scope["__builtins__"]
    level = [(name, offered[name]) for name in sorted(offered) if not name.startswith("_")]
    level += [(name, _module(scope, name)) for name in modules]
    known: dict[int, Any] = {}  # keeps the values alive, so that ids stay their own
    for depth in range(DEPTH + 1):
        below: list[tuple[str, Any]] = []
        for expression, value in level:
            kind = type_of(value)
            fresh = kind not in values
            if fresh:
                values[kind] = expression, value
            if id(value) in known or not (fresh or callable(value) or issubclass(kind, FACADES)):
                continue
            known[id(value)] = value
            readable = [(f"{_atom(expression)}.{name}", part) for name, part in read(value)]
            attributes += len(readable)
            below += readable
            if callable(value):
                callables.setdefault(expression, value)
                below += _results(expression, value) if depth < DEPTH else ()
        level = below
    return Inventory(
        modules=modules,
        callables=callables,
        keywords={name: _keywords(value) for name, value in callables.items()},
        samples={kind: expression for kind, (expression, value) in values.items() if _ends(value)},
        values={kind: value for kind, (_, value) in values.items()},
        forms=tuple(_forms(modules, [name for name, value in callables.items() if isinstance(value, type)])),
        attributes=attributes,
    )


FACADES = tuple({type_of(module).__mro__[-2] for module in policy.FACADES.values()})
"""The classes of façades."""


@functools.cache
def _module_names() -> frozenset[str]:
    """The names of the real modules; a façade may not list what it offers."""
    return frozenset(name for module in policy.FACADES for name in dir(sys.modules.get(module)) if name[:1] != "_")


def _imports(module: str) -> bool:
    try:
        execute(f"import {module}\n")
    except Exception:
        return False
    return True


def _module(scope: dict[str, Any], name: str) -> Any:
    first, *rest = name.split(".")
    value = scope[first]
    for part in rest:
        value = guards.get_attribute(value, part)
    return value


def _atom(expression: str) -> str:
    return expression if expression.replace(".", "").replace("_", "").isalnum() else f"({expression})"


def read(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that the guard lets tool code read, in order of name."""
    names: set[str] = set() if inspect.isroutine(value) else set(METHOD_DUNDERS)
    with contextlib.suppress(Exception):
        names.update(name for name in dir(value) if not name.startswith("__"))
    if isinstance(value, FACADES):
        names.update(_module_names())
    for name in sorted(names):
        with contextlib.suppress(Exception):
            yield name, guards.get_attribute(value, name)


def _results(expression: str, function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The values that calls with simple arguments return."""
    for arguments in _ARGUMENTS:
        with contextlib.suppress(Exception), _brief():
            given = eval(f"({arguments}{',' if arguments else ''})", {"__builtins__": {}}, {})
            yield f"{_atom(expression)}({arguments})", function(*given)


@contextlib.contextmanager
def _brief() -> Generator[None]:
    """Ends a call that takes longer than a fifth of a second."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _ends(value: Any) -> bool:
    """Whether an iterator ends."""
    try:
        return not hasattr(value, "__next__") or sum(1 for _ in itertools.islice(value, 10_000)) < 10_000
    except Exception:
        return True


def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return ()
    return tuple(part.name for part in parameters if part.kind in (part.POSITIONAL_OR_KEYWORD, part.KEYWORD_ONLY))


def _forms(modules: tuple[str, ...], classes: list[str]) -> Iterator[Form]:
    known: set[tuple[Any, ...]] = set()
    derived = [
        text.replace("{1}", name) for name in classes for text in _DERIVED if name.replace(".", "").isidentifier()
    ]
    for template in [*_FORMS, *derived]:
        with contextlib.suppress(Exception):
            kind = execute(f"{head(modules)}{template.format('Own')}\n")["Own"]
            readable = tuple(name for name, _ in read(kind) if not _is_guard(name))
            shape = (type_of(kind), "class " in template, hasattr(kind, "A"), readable)
            if isinstance(kind, type) and (template in _FORMS or shape not in known):
                known.add(shape)
                yield Form(template, kind, "{0}.A" if hasattr(kind, "A") else "{0}()", readable)


def _is_guard(name: str) -> bool:
    return name[:1] == "_" == name[-1:] and name not in METHOD_DUNDERS

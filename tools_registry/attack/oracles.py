"""What counts as a finding: host objects, addresses, forbidden methods of classes, and changed state of the host."""

from __future__ import annotations

import contextlib
import gc
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from tools_registry.attack.inventory import FACADES, Form, Inventory
from tools_registry.sandbox.language import guards, policy
from tools_registry.sandbox.language.rewriting import METHOD_DUNDERS
from tools_registry.specs.schema import type_of

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{8,}|(?<![\w.])\d{13,16}(?![\w.])")
_FORBIDDEN: frozenset[type] = frozenset(
    {types.FrameType, types.TracebackType, types.CodeType, types.ModuleType, types.CellType, types.CoroutineType}
    | {types.AsyncGeneratorType, types.GetSetDescriptorType, types.MemberDescriptorType}
)
_MUTABLE: frozenset[type] = frozenset({dict, list, set, bytearray})
_DESCRIPTORS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType, types.MethodType)
_ALIASES = (types.GenericAlias, types.UnionType)
_HEAP = 1 << 9
"""The flag of types that a class statement made; iterators written in C have nothing to read."""
_MARGIN = 1 << 28
_PARTS = 20
_LEVELS = 3


class Hit(NamedTuple):
    """What an oracle says."""

    oracle: str
    detail: str


class Judge:
    """Decides whether tool code may hold a value. Takes a snapshot of the host's objects when it is created.

    Args:
        inventory: All that the policy hands out.
    """

    def __init__(self, inventory: Inventory) -> None:
        values = [*inventory.callables.values(), *inventory.values.values()]
        self._offered = {id(value) for value in values}
        self._codes = {code for value in values if (code := _code_of(value)) is not None}
        self._codes |= {code for form in inventory.forms for code in _codes_of(form.kind)}
        self._names = {_name(value) for value in values if isinstance(value, _BOUND)}
        self._types = (
            set(inventory.values) | set(policy.METHODS) | {value for value in values if isinstance(value, type)}
        )
        self._classes = {id(kind): kind for kind in _all_classes()}
        self._containers = {id(value): value for value in _host_containers() if id(value) not in self._offered}
        self._reference = _references(inventory.forms)
        self._ranges: list[tuple[int, int]] = []
        self.scope: dict[str, Any] = {}
        """The globals of the tool that is judged."""

    def begin(self, scope: dict[str, Any]) -> None:
        """Judges values of tools with these globals, from now on."""
        self.scope = scope
        self._ranges = _writable_memory()

    def hit(self, value: Any, level: int = 0) -> Hit | None:
        """What is wrong with a value that tool code holds; None if nothing is."""
        kind = type_of(value)
        if kind in (str, int):
            return self._of_number_or_text(value)
        if value is None or kind in (float, bool, bytes):
            return None
        if kind in _FORBIDDEN:
            return None if id(value) in self._offered else Hit("host object", _name(value))
        if id(value) in self._containers or value is self.scope:
            return Hit("host container", kind.__name__)
        if kind in (list, tuple, set, frozenset, dict, types.MappingProxyType) and level < _LEVELS:
            return self._of_parts(value, level)
        if issubclass(kind, type):
            return self._of_class(value)
        if kind is types.FunctionType:
            return None if self._is_known(value) else Hit("host function", _name(value))
        if isinstance(value, _BOUND):
            return self._of_bound(value)
        if isinstance(value, _DESCRIPTORS):
            return None if id(value) in self._offered else Hit("host descriptor", _name(value))
        if issubclass(kind, BaseException):
            return self._of_error(value, level)
        return self._of_instance(kind)

    def _of_number_or_text(self, value: Any) -> Hit | None:
        if type_of(value) is int:
            shown = self._is_address(value) or self._is_address(value * 16)
            return Hit("address", "a number") if shown else None
        for text in _ADDRESS.findall(value):
            if self._is_address(int(text, 0)):
                return Hit("address", "in a text")
        return None

    def _is_address(self, number: int) -> bool:
        return any(low <= number < high for low, high in self._ranges)

    def _of_parts(self, value: Any, level: int) -> Hit | None:
        if type_of(value) is types.MappingProxyType and "__module__" in value:
            return Hit("host container", "namespace of a class")
        parts: list[Any] = [*value.keys(), *value.values()] if hasattr(value, "keys") else list(value)
        return next((hit for part in parts[:_PARTS] if (hit := self.hit(part, level + 1))), None)

    def _of_class(self, kind: Any) -> Hit | None:
        if id(kind) not in self._classes:
            return self._of_instance(kind)
        if kind in (type, *type.__subclasses__(type)):
            return Hit("host object", "metaclass")
        known = kind is object or kind in self._types or id(kind) in self._offered or issubclass(kind, Exception)
        return None if known else Hit("host class", _name(kind))

    def _of_instance(self, kind: Any) -> Hit | None:
        """An instance of a class: of one that the tool defined, or of one that the policy hands out."""
        if issubclass(kind, FACADES):
            return None
        if id(kind) in self._classes:
            known = (
                kind in self._types or kind in _ALIASES or (hasattr(kind, "__next__") and not kind.__flags__ & _HEAP)
            )
            return None if known else Hit("host object", kind.__qualname__)
        for base in kind.__mro__:
            for name, value in cast(Any, vars(base)).items() if id(base) not in self._classes else ():
                if (
                    name[:1] == "_" == name[-1:]
                    and name not in METHOD_DUNDERS | _CACHES
                    and self._is_defined(name, value)
                ):
                    return Hit("forbidden method", name)
        return None

    def _is_defined(self, name: str, value: Any) -> bool:
        """Whether a special name of a class comes from the tool."""
        kinds = self._reference.get(name)
        return (
            kinds is None or type_of(value) not in kinds or any(_code_is(part, self.scope) for part in _inside(value))
        )

    def _of_error(self, error: BaseException, level: int) -> Hit | None:
        if not isinstance(error, Exception):
            return Hit("host exception", type_of(error).__name__)
        if level >= _LEVELS:
            return None
        readable: list[Any] = []
        for read in (lambda: guards.get_attribute(error, "args"), lambda: policy.BUILTINS["str"](error)):
            with contextlib.suppress(Exception):
                readable.append(read())
        return self._of_parts(readable, level)

    def _is_known(self, function: types.FunctionType) -> bool:
        own = function.__globals__ is self.scope
        return own or id(function) in self._offered or function.__code__ in self._codes

    def _of_bound(self, method: Any) -> Hit | None:
        owner = method.__self__
        if id(method) in self._offered:
            return None
        if type_of(method) is types.MethodType:
            return self.hit(method.__func__)
        if owner is None or type_of(owner) is types.ModuleType:
            return Hit("host function", _name(method))
        kinds = owner.__mro__ if isinstance(owner, type) else type_of(owner).__mro__
        listed = any(method.__name__ in policy.METHODS.get(kind, ()) for kind in kinds)
        own = any(id(kind) not in self._classes for kind in kinds) and method.__name__ in METHOD_DUNDERS
        return None if listed or own or _name(method) in self._names else Hit("host method", _name(method))


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{type_of(value).__name__} {name}".strip() if type(name) is str else type_of(value).__name__


def _code_of(value: Any) -> types.CodeType | None:
    value = getattr(value, "__func__", value)
    return value.__code__ if type_of(value) is types.FunctionType else None


def _codes_of(kind: type) -> Iterator[types.CodeType]:
    for base in kind.__mro__:
        for value in vars(base).values():
            for part in _inside(value):
                if (code := _code_of(part)) is not None:
                    yield code


def _inside(value: Any) -> Iterator[Any]:
    """A value and the functions of a descriptor."""
    yield value
    if isinstance(value, staticmethod | classmethod):
        yield cast(Any, value).__func__
    if isinstance(value, property):
        yield from (value.fget, value.fset, value.fdel)


def _code_is(value: Any, scope: dict[str, Any]) -> bool:
    return type_of(value) is types.FunctionType and value.__globals__ is scope


def _references(forms: tuple[Form, ...]) -> dict[str, set[type]]:
    """The types of the special names that classes of the tool have without its doing."""
    kinds: dict[str, set[type]] = {}
    for form in forms:
        for base in form.kind.__mro__:
            for name, value in vars(base).items():
                kinds.setdefault(name, set()).add(type_of(value))
    return kinds


def _all_classes() -> Iterator[type]:
    """All classes of this process."""
    known: set[int] = set()
    todo: list[type] = [object]
    while todo:
        kind = todo.pop()
        if id(kind) not in known:
            known.add(id(kind))
            yield kind
            todo += type.__subclasses__(kind)


def _host_containers() -> list[Any]:
    """The mutable containers of this process; the collector lists some only as parts."""
    known = [value for value in gc.get_objects() if type_of(value) in _MUTABLE]
    known += [part for value in gc.get_objects() for part in gc.get_referents(value) if type_of(part) in _MUTABLE]
    return known


def _writable_memory() -> list[tuple[int, int]]:
    """The address ranges in which objects may lie, where /proc shows them: the heap, and all other mappings."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return []
    rows = [line.split(maxsplit=2) for line in maps.read_text(encoding="ascii", errors="replace").splitlines()]
    pairs = [[int(end, 16) for end in row[0].split("-")] for row in rows if row[1].startswith("rw")]
    return [(low - _MARGIN, high + _MARGIN) for low, high in pairs]


# Changed state.

_CACHES = frozenset(
    {
        "_cache",
        "_cache2",
        "__warningregistry__",
        "_abc_impl",
        "_regex_cache",
        "_TimeRE_cache",
        "__slotnames__",
        "__annotations__",
    }
)
_OURS = ("__main__", "platform", "threading", "tqdm", "tools_registry.attack", "tools_registry.sandbox.workers",
         "tools_registry.sandbox.zygotes")  # fmt: skip
_LANGUAGE = "tools_registry.sandbox.language"
_WATCHED = frozenset(
    name.partition(".")[0] for name in (*policy.FACADES, "random", "builtins", "_strptime", "RestrictedPython", "sys")
)
_BIGGEST = 5_000


class State:
    """The state of the host that tool code must not change, as it is now.

    It consists of the namespaces of a worker's modules and, for those that tools and the policy use, their functions,
    classes and containers. Caches and numbers are left out.
    """

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}
        self._parts: list[tuple[str, Callable[[], dict[Any, Any]], dict[Any, Any]]] = []
        near = (*sys.stdlib_module_names, "RestrictedPython", "tools_registry", "flowmind")
        for name in sorted(
            name for name in sys.modules if name.partition(".")[0] in near and not name.startswith(_OURS)
        ):
            space = getattr(sys.modules[name], "__dict__", {})
            self._watch(name, lambda space=space: space)
            if name.partition(".")[0] in _WATCHED or name.startswith(_LANGUAGE):
                for key, value in tuple(space.items()):
                    self._add(f"{name}.{key}", value, name)

    def changed(self) -> list[str]:
        """The names of what is different now."""
        return [
            label
            for label, read, before in self._parts
            if not (len(now := read()) == len(before) and all(map(operator.is_, now.values(), before.values())))
            and not _is_same(now, before)
        ]

    def _watch(self, label: str, read: Callable[[], dict[Any, Any]]) -> None:
        self._parts.append((label, read, dict(read())))

    def _add(self, label: str, value: Any, module: str) -> None:
        kind = type_of(value)
        if id(value) in self._known or label.rpartition(".")[2] in _CACHES:
            return
        self._known[id(value)] = value
        if kind is types.FunctionType:
            self._watch(label, lambda: _parts_of(value))
            self._add(f"{label}.__kwdefaults__", value.__kwdefaults__, module)
            for cell in value.__closure__ or ():
                with contextlib.suppress(ValueError):  # an empty cell
                    self._add(f"{label}.__closure__", cell.cell_contents, module)
            for key, part in tuple(value.__dict__.items()):
                self._add(f"{label}.{key}", part, module)
        elif issubclass(kind, type) and value.__module__ == module:
            self._watch(label, lambda: cast(Any, vars(value)))
            for key, part in tuple(cast(Any, vars(value)).items()):
                self._add(f"{label}.{key}", part, module)
        elif kind is dict and len(value) < _BIGGEST:
            self._watch(label, lambda: value)
            for key, part in tuple(value.items()):
                self._add(f"{label}[{key!r:.40}]", part, module)
        elif kind in (list, set) and len(value) < _BIGGEST:
            self._watch(label, lambda: _numbered(value))
        elif kind.__module__.startswith(_LANGUAGE) and hasattr(kind, "__slots__"):
            self._watch(label, lambda: _slots(value))
            for slot, part in _slots(value).items():
                self._add(f"{label}.{slot}", part, module)


def _numbered(values: Any) -> dict[Any, Any]:
    return dict(zip(range(len(values)), values, strict=True))


def _parts_of(function: types.FunctionType) -> dict[Any, Any]:
    names = ("__code__", "__defaults__", "__kwdefaults__")
    return {**function.__dict__, **{name: getattr(function, name) for name in names}}


def _slots(value: Any) -> dict[Any, Any]:
    kind = type_of(value)
    slots = [name for name in kind.__slots__ if name in vars(kind)]
    return {name: part for name in slots if (part := _slot(value, vars(kind)[name])) is not None}


def _slot(value: Any, descriptor: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return None


def _is_same(now: Any, before: dict[Any, Any]) -> bool:
    return _steady(now) == _steady(before)


def _steady(space: Any) -> set[tuple[Any, int]]:
    """Names and identities of values, without caches and numbers."""
    return {
        (key if type_of(key) in (str, int) else id(key), id(value))
        for key, value in space.items()
        if type_of(value) is not int and not (type_of(key) is str and key in _CACHES)
    }

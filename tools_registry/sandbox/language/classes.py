"""Classes that tool source defines: ordinary classes, dataclasses, named tuples, enums and abstract classes.

Guards recognize these classes by their metaclass, one of the two in this module. `dataclasses`, `enum` and
`collections.namedtuple` do the work. Default texts and hashes contain no addresses; a hash is made from the class and
the number of the instance.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import itertools
import keyword
import types
import typing
import weakref
from collections.abc import Callable, Mapping
from typing import Any, cast

from tools_registry.sandbox.language.rewriting import METHOD_DUNDERS
from tools_registry.sandbox.language.texts import Text
from tools_registry.specs.schema import type_of

_BODY = METHOD_DUNDERS | {
    "__module__", "__qualname__", "__doc__", "__annotations__", "__classcell__", "__static_attributes__",
    "__firstlineno__", "__orig_bases__",
}  # fmt: skip
"""The special names that the body of a class may contain."""
_ANNOTATIONS = {
    "field": object, "class": typing.ClassVar, "init": dataclasses.InitVar, "kw_only": dataclasses.KW_ONLY,
}  # fmt: skip
"""The neutral annotations that real dataclasses read, by the kind that the rewriter notes."""
_MIXED = (int, str, float)
"""Builtin types that an enum can mix in."""


def attributes_of(owner: Any) -> dict[str, Any]:
    """The `__dict__` of a class or an instance. The `__dict__` of a class is read-only."""
    return owner.__dict__


class ToolClass(type):
    """The metaclass of the classes that tool source defines."""

    def __hash__(cls) -> int:
        return hash(cls.__qualname__)

    def __getitem__(cls, parts: Any) -> Any:  # `Stack[int]()`
        return cls

    __iter__ = None

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


class ToolEnum(ToolClass, enum.EnumMeta):
    """The metaclass of enums."""

    def __new__(cls, name: str, bases: Any, body: Any, **options: Any) -> Any:
        for key, value in body.items():
            if key not in _REPLACEABLE and type_of(value) not in _MEMBER_VALUES:
                _check_replaced(bases, key)
        return super().__new__(cls, name, bases, body, **options)

    def __setattr__(cls, name: str, value: Any) -> None:
        if not (name.startswith("_") or type_of(value) is enum.property or isinstance(value, cls)):
            _check_replaced(cls.__mro__, name)
        super().__setattr__(name, value)

    __hash__ = ToolClass.__hash__
    __iter__ = cast(Any, enum.EnumMeta.__iter__)
    __getitem__ = cast(Any, enum.EnumMeta.__getitem__)
    __repr__ = cast(Any, enum.EnumMeta.__repr__)

    def __call__(cls: Any, *values: Any, start: int = 1, type: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if is_shared(cls) and len(values) < 2:
            raise TypeError(f"{cls.__name__} has no members")
        if len(values) < 2 or cls._member_map_:
            return enum.EnumMeta.__call__(cls, *values)
        title, names = values
        if type not in (None, Text, *_MIXED):
            raise TypeError("an enum can mix in int, str and float")
        pairs = _named(title, names)
        make = cast(Any, enum.EnumMeta.__call__)
        return make(cls, title, pairs, start=start, type=str if type is Text else type, module="tool")

    def __contains__(cls: Any, value: Any) -> bool:
        return isinstance(value, cls) or any(member._value_ == value for member in cls)

    def __instancecheck__(cls, value: Any) -> bool:
        return cls.__subclasscheck__(type_of(value))

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, enum.Enum) if cls is ENUM else type.__subclasscheck__(cls, kind)


class ToolProtocol(ToolClass):
    """The metaclass of protocols and of the classes that inherit from them."""

    __hash__ = ToolClass.__hash__

    def __instancecheck__(cls: Any, value: Any) -> bool:
        names = attributes_of(cls).get("_checked_")
        kind = type_of(value)
        if names is None or cls in kind.__mro__:
            return type.__instancecheck__(cls, value)
        return all(hasattr(kind, name) or name in getattr(value, "__dict__", ()) for name in names)


def runtime_checkable(kind: Any) -> Any:
    """`typing.runtime_checkable`: `isinstance` compares the names of a protocol of the tool."""
    _check_own(kind, "runtime_checkable")
    if PROTOCOL not in kind.__bases__:
        raise TypeError("runtime_checkable is for protocols")
    lineage = kind.__mro__[: kind.__mro__.index(PROTOCOL)]
    names = {name for base in lineage for name in (*attributes_of(base), *attributes_of(base)["__annotations__"])}
    type.__setattr__(
        kind, "_checked_", tuple(name for name in names if not name.startswith("_") or name in METHOD_DUNDERS)
    )
    return kind


def _named(title: Any, names: Any) -> list[Any]:
    """The members of `Enum("Color", "RED GREEN")`.

    Raises:
        ValueError: If a name is not an identifier or begins with an underscore.
    """
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    entries: list[Any] = list(names.items() if type_of(names) is dict else names)
    pairs = [entry if type_of(entry) is str else _pair(*entry) for entry in entries]  # read once
    given: list[Any] = [title, *(pair if type_of(pair) is str else pair[0] for pair in pairs)]
    for name in given:
        if type_of(name) is not str or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise ValueError("names of an enum must be identifiers that do not begin with an underscore")
    return pairs


_REPLACEABLE = {"__str__", "__repr__", "__format__", "__init__", "__doc__", "__module__", "__new__"}
_MEMBER_VALUES = {str, int, float, bool, tuple, enum.auto}


def _check_replaced(bases: tuple[Any, ...], name: str) -> None:
    """Refuses an attribute by which a member would not behave as the `str`, `int` or `float` that it is.

    Raises:
        TypeError: If a builtin type of an enum has this attribute.
    """
    for kind in _MIXED:
        if hasattr(kind, name) and any(issubclass(base, kind) for base in bases):
            raise TypeError(f"an enum cannot replace {name!r} of {kind.__name__}")


def check_member(owner: Any, name: str) -> None:
    """Refuses to set an attribute of a member of an enum, if its `str`, `int` or `float` has it.

    Raises:
        TypeError: If it has.
    """
    if type(type_of(owner)) is ToolEnum:
        _check_replaced(type_of(owner).__mro__, name)


def _pair(name: Any, value: Any) -> tuple[Any, Any]:
    return name, value


OWN: frozenset[type] = frozenset({ToolClass, ToolEnum, ToolProtocol})
"""The metaclasses of the classes of tools; guards compare them by exact type."""


def _counting() -> dict[str, Any]:
    """The attributes by which a class numbers its instances."""
    return {"_count_": itertools.count(1), "_numbers_": {}}


def _root(title: str, **body: Any) -> Any:
    return ToolClass(title, (), {"__module__": "tool", "__slots__": (), **body})


def _hash_by_number(self: Any) -> int:
    """Hashes the class and the number of an instance, which it gets at its first hash."""
    kind: Any = type_of(self)
    key = id(self)
    numbers: dict[int, tuple[int, Any]] | None = attributes_of(kind).get("_numbers_")
    if numbers is None or not hasattr(self, "__weakref__"):  # a class that all cases share, or one with slots
        return hash(kind.__qualname__)
    if key not in numbers:
        numbers[key] = (next(kind._count_), weakref.ref(self, lambda gone: _forget(numbers, key)))
    return hash((kind.__qualname__, numbers[key][0]))


def _forget(numbers: dict[int, tuple[int, Any]], key: int) -> None:
    numbers.pop(key, None)


def _show_without_address(self: Any) -> str:
    kind = type_of(self)
    return f"<{kind.__module__}.{kind.__qualname__} object>"


def _make_dict(cls: type, *arguments: Any, **named: Any) -> dict[str, Any]:
    return dict(*arguments, **named)


def _no_default(self: Any, value: Any) -> Any:
    raise TypeError(f"Object of type {type_of(value).__name__} is not JSON serializable")


PLAIN: Any = _root("object", __hash__=_hash_by_number, __repr__=_show_without_address)
ABSTRACT: Any = ToolClass("ABC", (PLAIN,), {"__module__": "tool", "__slots__": ()})
NAMED_TUPLE: Any = ToolClass("NamedTuple", (PLAIN,), {"__module__": "tool", "__slots__": ()})
PROTOCOL: Any = ToolProtocol("Protocol", (PLAIN,), {"__module__": "tool", "__slots__": ()})
TYPED_DICT: Any = ToolClass("TypedDict", (PLAIN,), {"__module__": "tool", "__slots__": (), "__new__": _make_dict})


JSON_ENCODER: Any = ToolClass("JSONEncoder", (PLAIN,), {"__module__": "tool", "__slots__": (), "default": _no_default})


class ENUM(enum.Enum, metaclass=ToolEnum):
    pass


class INT_ENUM(enum.IntEnum, metaclass=ToolEnum):  # noqa: N801
    pass


class STR_ENUM(enum.StrEnum, metaclass=ToolEnum):  # noqa: N801
    pass


class FLAG(enum.Flag, metaclass=ToolEnum):
    pass


class INT_FLAG(enum.IntFlag, metaclass=ToolEnum):  # noqa: N801
    pass


_ENUMS: tuple[Any, ...] = (ENUM, INT_ENUM, STR_ENUM, FLAG, INT_FLAG)
for _kind, _title in zip(_ENUMS, ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"), strict=True):
    type.__setattr__(_kind, "__name__", _title)
    type.__setattr__(_kind, "__qualname__", _title)
    type.__setattr__(_kind, "__module__", "tool")
SHARED: tuple[Any, ...] = (PLAIN, ABSTRACT, NAMED_TUPLE, TYPED_DICT, PROTOCOL, JSON_ENCODER, *_ENUMS)
"""The classes that all cases share, so that tools may not write to them."""


def is_own_class(kind: Any) -> bool:
    """Whether a value is a class that this tool's source defined."""
    return type_of(kind) in OWN and not is_shared(kind)


def is_shared(kind: Any) -> bool:
    """Whether all cases share a class."""
    return any(kind is shared for shared in SHARED)


class ClassBuilder:
    """What a class statement calls instead of a metaclass. It restricts the bases and the special names."""

    __slots__ = ()

    def __prepare__(self, name: str, bases: tuple[Any, ...], /, **options: Any) -> Any:
        return ToolEnum.__prepare__(name, _real(bases)) if _is_enum(bases) else {}

    def __call__(self, name: str, bases: tuple[Any, ...], body: dict[str, Any], /, **options: Any) -> Any:
        bases = _real(bases)
        if TYPED_DICT in bases:
            options.pop("total", None)
        if (NAMED_TUPLE in bases or _is_enum(bases)) and (options or any(map(_makes, (body, *map(vars, bases))))):
            raise TypeError(f"class {name} cannot have __new__, __init_subclass__ or options")
        for key in body:
            if key.startswith("__") and key.endswith("__") and key not in _BODY:
                raise TypeError(f"class {name} cannot define {key}")
        notes: dict[str, str] = body.get("__annotations__", {})
        if NAMED_TUPLE in bases:
            return _named_tuple_class(name, list(notes), body)
        if "__new__" in body:
            body["__new__"] = _makes_own(body["__new__"])
        annotations = {field: _ANNOTATIONS[kind] for field, kind in notes.items()}
        if _is_enum(bases):
            _check_enum(name, bases)
            return ToolEnum(name, bases, cast(Any, body))
        for base in bases:
            if not (type(base) in OWN or base is object or issubclass(base, Exception)):
                raise TypeError(
                    f"class {name} may inherit from its own classes and from exceptions only; keep a {base.__name__} "
                    "in an attribute"
                )
        bases = tuple(PLAIN if base is object else base for base in bases) or (PLAIN,)
        body.pop("__orig_bases__", None)
        metaclass = ToolProtocol if PROTOCOL in [part for base in bases for part in base.__mro__] else ToolClass
        kind: Any = metaclass(name, bases, {**body, **_counting(), "__annotations__": annotations}, **options)
        if ABSTRACT in kind.__mro__:
            kind.__abstractmethods__ = frozenset()
            abc.update_abstractmethods(kind)
        return kind


def _makes(body: Mapping[str, Any]) -> bool:
    """Whether the body of a class of the tool determines how instances or derived classes are made."""
    return any(is_own_function(_plain_function(body.get(name))) for name in ("__new__", "__init_subclass__"))


def _plain_function(value: Any) -> Any:
    return value.__func__ if type_of(value) in (classmethod, staticmethod) else value


def _makes_own(function: Any) -> Any:
    """A `__new__` of a tool that returns instances of the tool's classes only: the library sets their attributes."""
    function = _plain_function(function)
    if not is_own_function(function):
        raise TypeError("__new__ is a function that the tool defines")

    def make(kind: Any, /, *arguments: Any, **named: Any) -> Any:
        instance = function(kind, *arguments, **named)
        if type(type_of(instance)) not in (ToolClass, ToolProtocol) or not is_own_class(type_of(instance)):
            raise TypeError("__new__ returns an instance of a class that the tool defines")
        return instance

    return make


def new_instance(here: Any, make: Any) -> Callable[..., Any]:
    """`__new__` of `object` or of an exception, for classes that the tool derived from `here`."""

    def new(kind: Any, *arguments: Any, **named: Any) -> Any:
        if not is_own_class(kind) or type_of(kind) is ToolEnum or here not in kind.__mro__:
            raise TypeError("__new__ makes instances of the tool's own classes")
        return make(kind, *arguments, **named)

    return new


def _real(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(str if base is Text else base for base in bases)


def _is_enum(bases: tuple[Any, ...]) -> bool:
    return any(type(base) is ToolEnum for base in bases)


def _check_enum(name: str, bases: tuple[Any, ...]) -> None:
    if not all(type(base) in OWN or base in _MIXED for base in bases):
        raise TypeError(f"enum {name} may mix in int, str, float and its own classes only")
    mixed = any(issubclass(base, _MIXED) for base in bases)
    if mixed and not all(base in _MIXED or is_shared(base) or issubclass(base, _MIXED) for base in bases):
        raise TypeError(f"enum {name} can mix in a builtin type or a class, not both")


def abstract_method(function: Any) -> Any:
    """`abc.abstractmethod`, for functions that the tool defines."""
    if not is_own_function(function) or "." not in function.__qualname__:  # others serve later cases
        raise TypeError("abstractmethod is for methods that the tool defines")
    return abc.abstractmethod(function)


def is_own_function(function: Any) -> bool:
    """Whether a value is a function that tool source defined."""
    return (
        type_of(function) is types.FunctionType and type_of(function.__globals__.get("__metaclass__")) is ClassBuilder
    )


# Named tuples.


def named_tuple(
    typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None, module: Any = None
) -> Any:
    """`collections.namedtuple`, as a class of the tool."""
    base: Any = collections.namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
        typename, field_names, rename=rename, defaults=defaults, module="tool"
    )
    return _own_tuple(base, {})


def _named_tuple_class(name: str, fields: list[str], body: dict[str, Any]) -> Any:
    """The class of `class Point(NamedTuple):`, with fields, defaults and methods."""
    defaults = [body[field] for field in fields if field in body]
    if any(field in body for field in fields[: len(fields) - len(defaults)]):
        raise TypeError(f"a field of {name} without a default follows one with a default")
    base: Any = collections.namedtuple(  # pyright: ignore[reportUntypedNamedTuple]
        name, fields, defaults=defaults, module="tool"
    )
    return _own_tuple(base, {key: value for key, value in body.items() if key not in fields})


def _own_tuple(base: Any, body: dict[str, Any]) -> Any:
    """A class of the tool with the fields among its own attributes, where guards look for them."""
    names = (*base._fields, "_asdict", "_fields", "_field_defaults", "_make", "_replace")
    inner: dict[str, Any] = {name: attributes_of(base)[name] for name in names}
    inner |= {"__module__": "tool", "__qualname__": base.__name__, "__slots__": ()}
    return ToolClass(base.__name__, (base,), inner | body | _counting())


# Dataclasses and decorators of classes.


def _check_own(kind: Any, title: str) -> None:
    if type_of(kind) is ToolEnum or not is_own_class(kind):
        raise TypeError(f"{title} is for classes that the tool defines")


def data_class(cls: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass` for classes of tools."""
    if cls is None:
        return functools.partial(data_class, **options)
    _check_own(cls, "dataclass")
    if cls.__doc__ is None:
        type.__setattr__(cls, "__doc__", cls.__name__)  # without a text, dataclasses writes one with default values
    return cast(Any, dataclasses.dataclass(**options))(cls)


def total_ordering(kind: Any) -> Any:
    """`functools.total_ordering` for classes of tools."""
    _check_own(kind, "total_ordering")
    return functools.total_ordering(kind)


def unique(kind: Any) -> Any:
    """`enum.unique`."""
    if type_of(kind) is not ToolEnum:
        raise TypeError("unique is for enums")
    return enum.unique(kind)


class Dispatch:
    """`functools.singledispatch`. The rewriter gives `register` the class that the function's annotation names."""

    __slots__ = ("_function",)

    def __init__(self, function: Any) -> None:
        if not is_own_function(function):
            raise TypeError("singledispatch is for functions that the tool defines")
        self._function = functools.singledispatch(function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._function(*arguments, **named)

    def register(self, kind: Any, function: Any = None) -> Any:
        """`f.register(kind)`, as a decorator or with the function."""
        if function is None:
            return functools.partial(self.register, kind)
        if not is_own_function(function):
            raise TypeError("register is for functions that the tool defines")
        self._function.register(str if kind is Text else kind, function)
        return function


# Context managers.


class Manager:
    """What a `with` statement enters: a manager whose `__exit__` gets no traceback.

    A traceback leads to frames. `__exit__` does not see or suppress GeneratorExit, with which a generator is closed.
    """

    __slots__ = ("_exit", "_manager")

    def __init__(self, manager: Any) -> None:
        kind = type_of(manager)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise TypeError(f"{kind.__name__!r} object does not support the context manager protocol")
        self._manager = manager
        self._exit: Callable[..., Any] = kind.__exit__

    def __enter__(self) -> Any:
        return type_of(self._manager).__enter__(self._manager)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if kind is None or issubclass(kind, Exception):
            return self._exit(self._manager, kind, error, None)
        self._exit(self._manager, None, None, None)
        return False

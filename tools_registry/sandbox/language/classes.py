"""Classes that tool source defines: ordinary classes, dataclasses, named tuples, enums and abstract classes.

Guards recognize these classes by their metaclass, one of the two in this module. Their default texts and hashes contain
no addresses; a hash is made from the class and the number of the instance. `dataclasses`, `enum` and `abc` are not
used, because they execute text, import many modules, or modify the class in other ways.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import keyword
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

from tools_registry.specs.schema import type_of


def attributes_of(owner: Any) -> dict[str, Any]:
    """The `__dict__` of a class or an instance. The `__dict__` of a class is read-only."""
    return owner.__dict__


def _counting() -> dict[str, Any]:
    """The attributes by which a class numbers its instances."""
    return {"_count_": itertools.count(1), "_numbers_": {}}


class ToolClass(type):
    """The metaclass of the classes that tool source defines. It restricts their bases."""

    def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> Any:
        fields = [field for field, kind in body.get("_annotated_", ()) if kind == "field"]
        if NAMED_TUPLE in bases:
            return _named_tuple_class(name, fields, body)
        for base in bases:
            if not (type(base) in OWN or base is object or issubclass(base, Exception)):
                raise TypeError(f"class {name} may inherit from its own classes and from exceptions only")
        bases = tuple(PLAIN if base is object else base for base in bases) or (PLAIN,)
        if "__exit__" in body:
            body["__exit__"] = _without_traceback(body["__exit__"])
        new_class = super().__new__(cls, name, bases, {**body, **_counting()})
        if ABSTRACT in new_class.__mro__:
            _note_abstract_methods(new_class)
        return new_class

    def __hash__(cls) -> int:
        return hash(cls.__qualname__)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


def _members(kind: Any) -> dict[str, Any]:
    """All names of an enum with their members, including aliases."""
    return attributes_of(kind)["_members_"]


class ToolEnum(ToolClass):
    """The metaclass of enums."""

    def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> Any:
        mixed = [base for base in bases if base in (int, str)]
        value_type = next((kind for kind in (int, str) for base in bases if issubclass(base, kind)), None)
        if any(attributes_of(base).get("_members_") for base in bases):
            raise TypeError(f"class {name} cannot extend an enum that has members")
        if not all(type(base) in OWN or base in mixed for base in bases):
            raise TypeError(f"enum {name} may mix in int, str and its own classes only")
        if value_type and any(callable(body[key]) for key in body.keys() & set(dir(value_type)) - {"__str__"}):
            raise TypeError(f"enum {name} cannot replace methods of {value_type.__name__}")
        members = {key: value for key, value in body.items() if _is_member(key, value)}
        rest: dict[str, Any] = {key: value for key, value in body.items() if key not in members}
        rest |= {**_counting(), "_members_": {}}
        new_class = type.__new__(cls, name, (*mixed, *(base for base in bases if base not in mixed)), rest)
        for key, value in members.items():
            _add_member(new_class, value_type, key, value)
        return new_class

    __hash__ = ToolClass.__hash__

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        if not _members(cls) and len(arguments) == 2 and not named:
            return _enum_from_names(cls, *arguments)
        if len(arguments) != 1 or named:
            raise TypeError(f"{cls.__name__} is looked up by one value")
        for member in _members(cls).values():
            if member is arguments[0] or member._value_ == arguments[0]:
                return member
        raise ValueError(f"{arguments[0]!r} is not a valid {cls.__qualname__}")

    def __iter__(cls) -> Iterator[Any]:
        return (member for name, member in _members(cls).items() if member._name_ == name)

    def __reversed__(cls) -> Iterator[Any]:
        return reversed([*iter(cls)])

    def __len__(cls) -> int:
        return sum(1 for _ in iter(cls))

    def __bool__(cls) -> bool:
        return True

    def __contains__(cls, member: Any) -> bool:
        return isinstance(member, cls)

    def __getitem__(cls, name: str) -> Any:
        return _members(cls)[name]

    def __setattr__(cls, name: str, value: Any) -> None:
        raise AttributeError(f"enum {cls.__name__} cannot be changed")

    def __repr__(cls) -> str:
        return f"<enum {cls.__name__!r}>"


OWN: frozenset[type] = frozenset({ToolClass, ToolEnum})
"""The metaclasses of the classes of tools; guards compare them by exact type."""


def is_shared(kind: Any) -> bool:
    """Whether all cases share a class, so that tools may not write to it."""
    return "_shared_" in attributes_of(kind)


def _root(metaclass: type, title: str, bases: tuple[type, ...] = (), /, **body: Any) -> Any:
    body = {"__module__": "tool", "_shared_": True, **_counting(), **body}
    return cast(Any, type).__new__(metaclass, title, bases, body)


def _hash_by_number(self: Any) -> int:
    """Hashes the class and the number of an instance, which it gets at its first hash."""
    kind: Any = type_of(self)
    key = id(self)
    numbers: dict[int, tuple[int, Any]] = kind._numbers_
    if key not in numbers:
        numbers[key] = (next(kind._count_), weakref.ref(self, lambda gone: _forget(numbers, key)))
    return hash((kind.__qualname__, numbers[key][0]))


def _forget(numbers: dict[int, tuple[int, Any]], key: int) -> None:
    numbers.pop(key, None)


def _show_without_address(self: Any) -> str:
    kind = type_of(self)
    return f"<{kind.__module__}.{kind.__qualname__} object>"


PLAIN: Any = _root(ToolClass, "object", __hash__=_hash_by_number, __repr__=_show_without_address)
ABSTRACT: Any = _root(ToolClass, "ABC", (PLAIN,))
NAMED_TUPLE: Any = _root(ToolClass, "NamedTuple", (PLAIN,))


def _make_dict(cls: type, *arguments: Any, **named: Any) -> dict[str, Any]:
    return dict(*arguments, **named)


TYPED_DICT: Any = _root(ToolClass, "TypedDict", (PLAIN,), __new__=_make_dict)


def _without_traceback(leave: Any) -> Any:
    """`__exit__` of a tool's class, called without the traceback, which would lead to frames."""

    def leave_quietly(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        if kind is None or issubclass(kind, Exception):
            return leave(self, kind, error, None)
        leave(self, None, None, None)  # a generator is closed; tools may not see or suppress GeneratorExit
        return False

    return leave_quietly


def abstract_method(function: Any) -> Any:
    """`abc.abstractmethod`, for functions that the tool defines."""
    if type(function) is not types.FunctionType or function.__globals__.get("__metaclass__") is not ToolClass:
        raise TypeError("abstractmethod is for functions that the tool defines")
    cast(Any, function).__isabstractmethod__ = True
    return function


def _note_abstract_methods(kind: Any) -> None:
    names: set[str] = {name for base in kind.__mro__ for name in attributes_of(base)}
    kind.__abstractmethods__ = frozenset(
        name for name in names if getattr(getattr(kind, name, None), "__isabstractmethod__", False)
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
    inner: dict[str, Any] = {
        name: attributes_of(base)[name] for name in (*base._fields, "_asdict", "_fields", "_field_defaults", "_make")
    }
    inner |= {
        "_replace": attributes_of(base)["_replace"],
        "__module__": "tool",
        "__qualname__": base.__name__,
        "__slots__": (),
    }
    return type.__new__(ToolClass, base.__name__, (base,), inner | body | _counting())


# Dataclasses.


class _Missing:
    """The type of `MISSING`, which marks a field without a default."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<dataclasses.MISSING>"


MISSING: Any = _Missing()


class FrozenInstanceError(AttributeError):
    """A field of a frozen dataclass was assigned to."""


class Field:
    """A field of a dataclass, as `field()` returns and `fields()` lists it."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "hash",
        "init",
        "init_only",
        "kw_only",
        "metadata",
        "name",
        "repr",
    )

    def __init__(
        self,
        *,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
        metadata: Any = None,
        kw_only: Any = MISSING,
    ) -> None:
        if default is not MISSING and default_factory is not MISSING:
            raise ValueError("cannot specify both default and default_factory")
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.hash, self.compare = init, repr, hash, compare
        self.metadata: Any = {} if metadata is None else metadata
        self.kw_only = kw_only
        self.init_only = False
        """Whether the field is passed to `__post_init__` instead of the instance (InitVar)."""

    def __repr__(self) -> str:
        return f"Field(name={self.name!r})"


def data_class(cls: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass` for classes of tools; `slots`, `weakref_slot` and `match_args` have no effect."""
    if cls is None:
        return functools.partial(_make_data_class, options=options)
    return _make_data_class(cls, options=options)


_OPTIONS = {
    "init": True, "repr": True, "eq": True, "order": False, "unsafe_hash": False, "frozen": False,
    "match_args": True, "kw_only": False, "slots": False, "weakref_slot": False,
}  # fmt: skip


def _make_data_class(cls: Any, *, options: dict[str, bool]) -> Any:
    if type(cls) is not ToolClass or is_shared(cls):
        raise TypeError("dataclass is for classes that the tool defines")
    if unknown := set(options) - set(_OPTIONS):
        raise TypeError(f"dataclass() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    on = {**_OPTIONS, **options}
    if on["order"] and not on["eq"]:
        raise ValueError("eq must be true if order is true")
    fields = _collect_fields(cls, on["kw_only"])
    body = attributes_of(cls)
    explicit_hash = "__hash__" in body and not (body["__hash__"] is None and "__eq__" in body)
    attributes: dict[str, Any] = {"_data_": fields, "_frozen_": on["frozen"]}
    if on["init"]:
        attributes["__init__"] = _initializer(cls, list(fields.values()))
    if on["repr"]:
        shown_names = [field.name for field in fields.values() if field.repr and not field.init_only]
        attributes["__repr__"] = _representation(shown_names)
    compared = [field.name for field in fields.values() if field.compare and not field.init_only]
    if on["eq"]:
        attributes["__eq__"] = _comparison(compared, lambda left, right: left == right)
    if on["order"]:
        attributes["__lt__"] = _comparison(compared, lambda left, right: left < right)
        attributes["__le__"] = _comparison(compared, lambda left, right: left <= right)
        attributes["__gt__"] = _comparison(compared, lambda left, right: left > right)
        attributes["__ge__"] = _comparison(compared, lambda left, right: left >= right)
    attributes = {name: value for name, value in attributes.items() if name not in attributes_of(cls)}
    if on["frozen"]:
        attributes["__setattr__"] = attributes["__delattr__"] = _refuse_change
    if on["unsafe_hash"] or (on["eq"] and not explicit_hash):
        hashed = [
            field.name
            for field in fields.values()
            if not field.init_only and (field.compare if field.hash is None else field.hash)
        ]
        attributes["__hash__"] = _hasher(hashed) if on["frozen"] or on["unsafe_hash"] else None
    for name, value in attributes.items():
        type.__setattr__(cls, name, value)
    return cls


def _collect_fields(cls: Any, all_by_name: bool) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(attributes_of(base).get("_data_", {}))
    by_name = all_by_name
    for name, kind in attributes_of(cls).get("_annotated_", ()):
        if kind == "kw_only":
            by_name = True
        if kind in ("class", "kw_only"):
            continue
        default = attributes_of(cls).get(name, MISSING)
        field = default if type(default) is Field else Field(default=default)
        if type(field.default) in (list, dict, set):
            kind_name = type(field.default).__name__
            raise ValueError(
                f"mutable default <class '{kind_name}'> for field {name} is not allowed: use default_factory"
            )
        if field.default is not MISSING:
            type.__setattr__(cls, name, field.default)
        elif default is not MISSING:
            type.__delattr__(cls, name)
        field.name, field.init_only = name, kind == "init"
        field.kw_only = by_name if field.kw_only is MISSING else field.kw_only
        fields[name] = field
    earlier = ""
    for field in fields.values():
        if not field.init or field.kw_only:
            continue
        if field.default is not MISSING or field.default_factory is not MISSING:
            earlier = field.name
        elif earlier:
            raise TypeError(f"non-default argument {field.name!r} follows default argument")
    return fields


def _initializer(cls: Any, fields: list[Field]) -> Callable[..., None]:
    positional = [field.name for field in fields if field.init and not field.kw_only]
    named_too = {field.name for field in fields if field.init}
    label = f"{cls.__name__}.__init__()"

    def initialize(self: Any, /, *arguments: Any, **named: Any) -> None:
        if len(arguments) > len(positional):
            most = len(positional) + 1
            raise TypeError(f"{label} takes {most} positional arguments but {len(arguments) + 1} were given")
        for name in named:
            if name not in named_too:
                raise TypeError(f"{label} got an unexpected keyword argument {name!r}")
            if name in positional[: len(arguments)]:
                raise TypeError(f"{label} got multiple values for argument {name!r}")
        values = {**dict(zip(positional, arguments, strict=False)), **named}
        lacking = [field.name for field in fields if field.init and field.name not in values and _has_none(field)]
        if lacking:
            names = " and ".join(repr(name) for name in lacking)
            some = "argument" if len(lacking) == 1 else "arguments"
            raise TypeError(f"{label} missing {len(lacking)} required positional {some}: {names}")
        passed: list[Any] = []
        for field in fields:
            if field.name in values:
                value = values[field.name]
            elif field.default_factory is not MISSING:
                value = field.default_factory()
            elif field.default is not MISSING:
                value = field.default
            else:
                continue
            if field.init_only:
                passed.append(value)
            else:
                object.__setattr__(self, field.name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__(*passed)

    return initialize


def _has_none(field: Field) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _representation(names: list[str]) -> Callable[[Any], str]:
    def represent(self: Any) -> str:
        return f"{type_of(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return represent


def _values(owner: Any, names: list[str]) -> tuple[Any, ...]:
    return tuple(getattr(owner, name) for name in names)


def _comparison(names: list[str], compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return compare(_values(self, names), _values(other, names))

    return compared


def _hasher(names: list[str]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(_values(self, names))

    return hashed


def _refuse_change(self: Any, name: str, *value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _fields_of(value: Any) -> dict[str, Field] | None:
    kind: Any = value if type_of(value) in OWN else type_of(value)
    return getattr(kind, "_data_", None) if type(kind) in OWN else None


def data_fields(value: Any) -> tuple[Field, ...]:
    """`dataclasses.fields`."""
    fields = _fields_of(value)
    if fields is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(field for field in fields.values() if not field.init_only)


def is_data_class(value: Any) -> bool:
    """`dataclasses.is_dataclass`."""
    return _fields_of(value) is not None


def _is_instance(value: Any) -> bool:
    return type(value) not in OWN and _fields_of(value) is not None


def as_dict(value: Any, *, dict_factory: Any = dict) -> Any:
    """`dataclasses.asdict`."""
    if not _is_instance(value):
        raise TypeError("asdict() should be called on dataclass instances")
    return _plain(value, lambda pairs: dict_factory([(name, part) for name, part in pairs]))


def as_tuple(value: Any, *, tuple_factory: Any = tuple) -> Any:
    """`dataclasses.astuple`."""
    if not _is_instance(value):
        raise TypeError("astuple() should be called on dataclass instances")
    return _plain(value, lambda pairs: tuple_factory([part for _, part in pairs]))


def _plain(value: Any, build: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    if _is_instance(value):
        return build([(field.name, _plain(getattr(value, field.name), build)) for field in data_fields(value)])
    if isinstance(value, tuple) and hasattr(cast(Any, value), "_fields"):
        return type(cast(Any, value))(*[_plain(part, build) for part in cast(Any, value)])
    if isinstance(value, list | tuple):
        return type(cast(Any, value))([_plain(part, build) for part in cast(Any, value)])
    if isinstance(value, dict):
        pairs = [(_plain(key, build), _plain(part, build)) for key, part in cast(dict[Any, Any], value).items()]
        return dict(pairs)
    return copy.deepcopy(value)


def replace(value: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`."""
    if not _is_instance(value):
        raise TypeError("replace() should be called on dataclass instances")
    for field in data_fields(value):
        if field.init and field.name not in changes:
            changes[field.name] = getattr(value, field.name)
    return type(value)(**changes)


# Enums.


class Auto:
    """`enum.auto()`: the number after the greatest so far, or the lower-case name in an enum of strings."""

    __slots__ = ()


def _is_member(name: str, value: Any) -> bool:
    described = isinstance(value, property | staticmethod | classmethod | functools.cached_property | type)
    return not described and not name.startswith("_") and (not callable(value) or isinstance(value, functools.partial))


def _add_member(kind: Any, mixed: type | None, name: str, value: Any) -> None:
    members: dict[str, Any] = _members(kind)
    if type(value) is Auto:
        last = [member._value_ for member in members.values() if isinstance(member._value_, int)]
        value = name.lower() if mixed is str else (max(last) if last else 0) + 1
    for member in members.values():
        if type(member._value_) is type(value) and member._value_ == value:
            members[name] = member
            type.__setattr__(kind, name, member)
            return
    arguments: tuple[Any, ...] = value if type_of(value) is tuple else (value,)
    member = object.__new__(kind) if mixed is None else mixed.__new__(kind, *arguments)
    attributes_of(member).update(_name_=name, _value_=value if mixed is None else mixed(*arguments))
    bodies = [attributes_of(base) for base in kind.__mro__]
    initialize: Any = next((body["__init__"] for body in bodies if "__init__" in body), None)
    if initialize is not None and initialize is not object.__init__ and mixed is None:
        initialize(member, *arguments)
    members[name] = member
    type.__setattr__(kind, name, member)


def _enum_from_names(kind: Any, name: str, names: Any) -> Any:
    """`Enum("Color", "RED GREEN")`."""
    if type(names) is str:
        names = names.replace(",", " ").split()
    numbered = names if type_of(names) is dict else ((member, number) for number, member in enumerate(names, 1))
    body: dict[Any, Any] = dict(numbered)
    if not all(type(key) is str and key.isidentifier() and not keyword.iskeyword(key) for key in body):
        raise ValueError("names of an enum must be identifiers")
    return ToolEnum(name, (kind,), {"__module__": "tool", "__qualname__": name, **body})


def _member_text(self: Any) -> str:
    return f"{type(self).__name__}.{self._name_}"


def _member_representation(self: Any) -> str:
    return f"<{type(self).__name__}.{self._name_}: {self._value_!r}>"


def _itself(self: Any, *memo: Any) -> Any:
    return self


def _member_name(self: Any) -> str:
    return self._name_


def _member_value(self: Any) -> Any:
    return self._value_


def _format_member(self: Any, spec: str) -> str:
    return format(str(self), spec)


def _hash_member(self: Any) -> int:
    return hash(self._name_)


_MEMBER: dict[str, Any] = {
    "name": property(_member_name),
    "value": property(_member_value),
    "__repr__": _member_representation,
    "__copy__": _itself,
    "__deepcopy__": _itself,
    "_members_": {},
}
ENUM: Any = _root(
    ToolEnum,
    "Enum",
    (PLAIN,),
    **_MEMBER,
    __str__=_member_text,
    __format__=_format_member,
    __hash__=_hash_member,
)
INT_ENUM: Any = _root(
    ToolEnum, "IntEnum", (int, ENUM), __str__=int.__repr__, __format__=int.__format__, __hash__=int.__hash__,
    __repr__=_member_representation, _members_={},
)  # fmt: skip
STR_ENUM: Any = _root(
    ToolEnum, "StrEnum", (str, ENUM), __str__=str.__str__, __format__=str.__format__, __hash__=str.__hash__,
    __repr__=_member_representation, _members_={},
)  # fmt: skip


def unique(kind: Any) -> Any:
    """`enum.unique`."""
    if type(kind) is not ToolEnum:
        raise TypeError("unique is for enums")
    aliases = [name for name, member in _members(kind).items() if member._name_ != name]
    if aliases:
        raise ValueError(f"duplicate values found in {kind!r}: {', '.join(aliases)}")
    return kind

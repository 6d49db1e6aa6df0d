"""Operations on values at run time, by exact type.

`str`, `list`, `dict` and other types have listed methods, classes of the tool have their own attributes, and façades of
modules have listed names. Everything else is refused. A function that is read through a class checks its first
argument, unless the tool's own source defined it.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import decimal
import enum
import types
from collections.abc import Callable
from typing import Any, NoReturn, cast

from tools_registry.sandbox.language import texts
from tools_registry.sandbox.language.attributes import (
    CLASS_METHODS,
    CLASS_WRAPPED,
    ERROR_PARTS,
    METHODS,
    STR_FORMATS,
    WRAPPED,
    PlainContext,
)
from tools_registry.sandbox.language.classes import (
    OWN,
    ClassBuilder,
    Manager,
    ToolClass,
    ToolEnum,
    check_member,
    is_own_class,
    is_own_function,
    new_instance,
)
from tools_registry.sandbox.language.rewriting import INSPECT_ATTRIBUTES, METHOD_DUNDERS, is_private
from tools_registry.sandbox.language.texts import Text
from tools_registry.specs.schema import type_of


class Facade:
    """The value that `import NAME` binds: the listed names of a module, read-only. It has no state of its own."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a module cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a module cannot be changed")

    def __repr__(self) -> str:
        raise TypeError("a module cannot be converted to text")


def facade(title: str, names: dict[str, Any], hints: dict[str, str] | None = None) -> Facade:
    """A façade that offers some names; only the closure of its class refers to them.

    Args:
        title: The name of the module.
        names: The values by name.
        hints: What to write instead of names that are not offered.
    """

    def read(self: Any, name: str) -> Any:
        if name in names:
            return names[name]
        raise AttributeError(f"module {title!r} offers no {name!r} to tools{(hints or {}).get(name, '')}")

    kind = type("Facade", (Facade,), {"__slots__": (), "__getattribute__": read})
    return kind()


_WRITABLE: frozenset[type] = frozenset({decimal.Context, PlainContext, collections.defaultdict})
_ROOT_METHODS = frozenset(
    {"__init__", "__str__", "__repr__", "__eq__", "__ne__", "__setattr__", "__format__", "__new__", "__init_subclass__"}
)
"""The methods of `object`, of exceptions and of enums that `super()` offers."""


# Reading.


def get_attribute(owner: Any, name: str) -> Any:
    """`owner.name` in tool code.

    Raises:
        AttributeError: If tools cannot read this attribute of a value of this type.
    """
    kind = type_of(owner)
    metaclass = type(kind)
    if metaclass is type:
        listed = METHODS.get(kind)
        if listed is not None:
            if name in listed:
                return getattr(owner, name)
        elif issubclass(kind, Facade):
            return getattr(owner, name)
    if name[:2] == "__" and name[-2:] == "__":
        return _special(owner, name)
    if metaclass in OWN:
        if name in getattr(owner, "__dict__", ()) or _is_open(kind.__mro__, name):
            return getattr(owner, name)
        if name in STR_FORMATS and issubclass(kind, str):
            return STR_FORMATS[name](owner)
        if name == "args" and issubclass(kind, BaseException):
            return _error_part(owner, name)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
    if kind in METHODS:
        if name in METHODS[kind]:
            return getattr(owner, name)
        if kind in WRAPPED and name in WRAPPED[kind]:
            return WRAPPED[kind][name](owner)
    elif kind in OWN:
        if _is_open(owner.__mro__, name):
            return _through_class(owner, getattr(owner, name))
        raise AttributeError(f"type object {owner.__name__!r} has no attribute {name!r}")
    elif kind is super:
        return _above(owner, name)
    elif kind is types.FunctionType:
        if name in owner.__dict__ and is_own_function(owner):
            return owner.__dict__[name]
        raise AttributeError(f"'function' object offers no attribute {name!r} to tools")
    elif isinstance(owner, type):
        return _type_attribute(str if owner is Text else owner, name)
    elif issubclass(kind, BaseException) and (name == "args" or name in ERROR_PARTS.get(kind, ())):
        return _error_part(owner, name)
    return _refuse_attribute(owner, name)


def _refuse_attribute(owner: Any, name: str) -> NoReturn:
    kind = type_of(owner)
    label = cast(type[Any], owner).__name__ if isinstance(owner, type) else kind.__name__
    raise AttributeError(f"{label!r} offers no attribute {name!r} to tools")


def _is_open(lineage: tuple[type, ...], name: str) -> bool:
    """Whether the first class with this name belongs to the tool, or lists it for its instances."""
    for base in lineage:
        if name in base.__dict__:
            return type(base) in OWN or name in METHODS.get(base, ())
    return False


def _error_part(error: BaseException, name: str) -> Any:
    """A part of an exception. The text of an error may contain the address of a value.

    Raises:
        TypeError: If it does.
    """
    part = getattr(error, name)
    for text in cast(tuple[Any, ...], part) if type_of(part) is tuple else (part,):
        texts.shown(text)
    return part


def _through_class(kind: Any, function: Any) -> Any:
    """A function that was read through a class, with a check of its first argument.

    Functions of the tool's own source and of C are returned as they are; those of C check it themselves.
    """
    if type_of(function) is types.GetSetDescriptorType:
        raise AttributeError(f"read this attribute from an instance of {kind.__name__}")
    if type_of(function) is not types.FunctionType or is_own_function(function):
        return function

    def method(*arguments: Any, **named: Any) -> Any:
        if not arguments or not any(base is kind for base in type_of(arguments[0]).__mro__):
            raise TypeError(f"a method of {kind.__name__} needs an instance of {kind.__name__}")
        return texts.shown(function(*arguments, **named))

    return method


def _type_attribute(owner: Any, name: str) -> Any:
    if name in METHODS.get(owner, ()) or name in CLASS_METHODS.get(owner, ()):
        value = getattr(owner, name)
        return _refuse_attribute(owner, name) if type_of(value) is property else _through_class(owner, value)
    if name in CLASS_WRAPPED.get(owner, ()):
        return CLASS_WRAPPED[owner][name]
    return _refuse_attribute(owner, name)


def _above(owner: Any, name: str) -> Any:
    """An attribute of `super()`: of a base class of the tool, a listed one, or one of `_ROOT_METHODS`."""
    here, lineage = owner.__thisclass__, owner.__self_class__.__mro__
    if type(here) in OWN and here in lineage:
        for base in lineage[lineage.index(here) + 1 :]:
            if name in base.__dict__:
                root = base in (object, enum.Enum) or issubclass(base, BaseException)
                if type(base) in OWN or name in METHODS.get(base, ()) or (root and name in _ROOT_METHODS):
                    value = getattr(owner, name)
                    return _through_class(here, value) if owner.__self__ is owner.__self_class__ else value
                break
    raise AttributeError(f"'super' object has no attribute {name!r}")


# Special names.


def _special(owner: Any, name: str) -> Any:
    """A name between double underscores.

    Raises:
        AttributeError: If tools cannot read it.
    """
    if name in _REFLECTION:
        return _REFLECTION[name](owner)
    kind = type_of(owner)
    if name == "__hash__" and not isinstance(owner, type) and kind is not super:
        return None if kind.__hash__ is None else lambda: address_free_hash(owner)
    if name == "__setattr__" and owner is object:
        return set_plainly
    if name == "__setattr__" and kind is super:
        instance = cast(Any, owner).__self__

        def set_above(name: str, value: Any) -> None:
            set_plainly(instance, name, value)

        return set_above
    if name not in METHOD_DUNDERS:
        return _refuse_attribute(owner, name)
    if kind is super and name == "__hash__":
        return _hash_above(cast(Any, owner))
    if name == "__new__" and owner is object:
        return new_instance(object, object.__new__)
    if kind is super:
        value = _above(owner, name)
        if name == "__new__" and not is_own_function(value):
            return new_instance(cast(Any, owner).__thisclass__, value)
    elif type(kind) in OWN and _defines(kind.__mro__, name):
        value = getattr(owner, name)
    elif isinstance(owner, type) and (
        (kind in OWN and _defines(owner.__mro__, name)) or (name == "__init__" and issubclass(owner, Exception))
    ):
        if name == "__hash__":
            return _hash_of(owner)
        value = _through_class(owner, getattr(owner, name))
    elif name in METHODS.get(owner if isinstance(owner, type) else kind, ()):
        return getattr(owner, name)
    else:
        return _refuse_attribute(owner, name)
    return texts.checked_result(value) if name in _TEXT_METHODS else value


_TEXT_METHODS = frozenset({"__repr__", "__str__", "__format__"})


def _defines(lineage: tuple[type, ...], name: str) -> bool:
    for base in lineage:
        if name in base.__dict__:
            return type(base) in OWN
    return False


def _type(value: Any, /) -> Any:
    """`type`, of one value."""
    kind = type_of(value)
    if kind is str:
        return Text
    if _is_known_type(kind):
        return kind
    raise TypeError(f"the type of a {kind.__name__} is not available to tools")


_TYPED: frozenset[type] = frozenset(METHODS) | {type(None), enumerate, zip, map, filter, reversed}


def _is_known_type(kind: type) -> bool:
    return type(kind) in OWN or kind in _TYPED or issubclass(kind, Exception)


def _title(value: Any) -> str:
    """`kind.__name__`, and that of a function of the tool."""
    if is_own_function(value):
        return value.__name__
    if not isinstance(value, type) or not (value is Text or value is object or _is_known_type(value)):
        raise AttributeError("only classes and the tool's own functions have a name for tools")
    return value.__name__


def _type_name(value: Any) -> str:
    """`type(value).__name__`."""
    return type_of(value).__name__


def _raised(error: Any, name: str) -> Any:
    """`error.__cause__`; what ends a generator stays unseen."""
    if not isinstance(error, Exception):
        return _refuse_attribute(error, name)
    earlier = getattr(error, name)
    return earlier if isinstance(earlier, Exception) else None


def _doc(value: Any) -> Any:
    if is_own_function(value) or is_own_class(value):
        return value.__doc__
    return _refuse_attribute(value, "__doc__")


def _vars(owner: Any, /) -> dict[str, Any]:
    """A copy of the attributes. Writing to an instance has to use `write`, which refuses special names."""
    kind = type_of(owner)
    if type(kind) in OWN and hasattr(owner, "__dict__"):
        return dict(owner.__dict__)
    raise TypeError("vars() is for instances of a tool's own classes")


def _members(owner: Any) -> dict[str, Any]:
    if type_of(owner) is ToolEnum:
        return dict(owner.__members__)
    return _refuse_attribute(owner, "__members__")


_REFLECTION: dict[str, Callable[[Any], Any]] = {
    "__class__": _type, "__name__": _title, "__qualname__": _title, "__doc__": _doc, "__dict__": _vars,
    "__members__": _members,
    "__cause__": lambda error: _raised(error, "__cause__"), "__context__": lambda error: _raised(error, "__context__"),
}  # fmt: skip


# Writing.


def write(owner: Any, name: str) -> Any:
    """Returns the owner if tool code may set its attributes.

    Raises:
        TypeError: If it may not.
    """
    kind = type_of(owner)
    check_member(owner, name)
    if type(kind) in OWN or kind in _WRITABLE or is_own_class(owner) or is_own_function(owner):
        return owner
    raise TypeError(f"a tool cannot change a {kind.__name__}")


def augment(owner: Any, name: str) -> Any:
    """Returns the owner in `owner.name += 1`, if tool code may read and set the attribute."""
    kind = type_of(owner)
    lineage = kind.__mro__ if type(kind) in OWN else owner.__mro__ if kind in OWN else ()
    if name in getattr(owner, "__dict__", ()) or any(name in base.__dict__ for base in lineage if type(base) in OWN):
        function = lineage and getattr(owner if kind in OWN else kind, name, None)
        if type_of(function) is not types.FunctionType or is_own_function(function):
            return write(owner, name)
    if (kind in _WRITABLE and name in METHODS[kind]) or (is_own_function(owner) and name in owner.__dict__):
        return owner
    return _refuse_attribute(owner, name)


def set_plainly(owner: Any, name: str, value: Any, /) -> None:
    """`object.__setattr__`, for instances of the tool's classes, such as frozen dataclasses."""
    check_name(name, reading=False)
    check_member(owner, name)
    if type(type_of(owner)) not in OWN:
        raise TypeError(f"a tool cannot change a {type_of(owner).__name__}")
    object.__setattr__(owner, name, value)


def update(owner: Any) -> Callable[..., None]:
    """`owner.__dict__.update`."""

    def update_fields(*pairs: Any, **named: Any) -> None:
        for name, value in dict(*pairs, **named).items():
            _set_attribute(owner, name, value)

    return update_fields


# Patterns.


class Constant:
    """The value of a dotted name in a pattern, read as tool code reads it."""

    __slots__ = ("value",)

    def __init__(self, owner: Any, name: str) -> None:
        self.value = get_attribute(owner, name)


def matchable(kind: Any, reads: bool) -> Any:
    """Returns the class of a pattern.

    Args:
        kind: The class.
        reads: Whether the pattern reads attributes, which is for the tool's own classes.

    Raises:
        TypeError: If it cannot be used in this way.
    """
    if type_of(kind) is ToolClass if reads else isinstance(kind, type):
        return kind
    raise TypeError("a class pattern with attributes needs a class that the tool defines")


# Builtins.


def check_name(name: Any, reading: bool) -> None:
    """Refuses a name that tools cannot use for an attribute.

    Raises:
        TypeError: If it is not a string.
        AttributeError: If it is special.
    """
    if type_of(name) is not str:
        raise TypeError("the name of an attribute must be a string")
    if (
        name.startswith("_")
        and not is_private(name)
        and not (reading and (name in METHOD_DUNDERS or name == "__name__"))
    ):
        raise AttributeError(f"tools cannot use the attribute {name!r}")


def attribute(owner: Any, name: str, *default: Any) -> Any:
    """`getattr`."""
    check_name(name, reading=True)
    if len(default) > 1:
        raise TypeError("getattr expected at most 3 arguments")
    try:
        return get_attribute(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _read_part(owner: Any, name: str) -> Any:
    if name in INSPECT_ATTRIBUTES:
        raise AttributeError(name)
    return attribute(owner, name)


texts.read = _read_part


def _has_attribute(owner: Any, name: str, /) -> bool:
    if type_of(name) is str and name in METHOD_DUNDERS:
        return hasattr(type_of(owner), name)
    try:
        attribute(owner, name)
    except AttributeError:
        return False
    return True


def _set_attribute(owner: Any, name: str, value: Any, /) -> None:
    check_name(name, reading=False)
    setattr(write(owner, name), name, value)


def _delete_attribute(owner: Any, name: str, /) -> None:
    check_name(name, reading=False)
    delattr(write(owner, name), name)


def address_free_hash(value: Any, /) -> int:
    """`hash`, for values whose hash does not depend on an address.

    Raises:
        TypeError: If it does.
    """
    kind = type_of(value)
    if isinstance(value, tuple | frozenset):
        base: Any = tuple if isinstance(value, tuple) else frozenset
        for part in base.__iter__(value):
            address_free_hash(part)
    elif type(kind) in OWN:
        if issubclass(kind, BaseException):
            raise TypeError("tools cannot hash an exception")
        return _hash_through(kind, value)
    elif value is None:
        return hash("None")
    elif kind not in OWN and (kind not in METHODS or kind.__hash__ is object.__hash__):
        raise TypeError(f"tools cannot hash a {kind.__name__}")
    return hash(cast(Any, value))


def _hash_through(kind: Any, value: Any) -> int:
    """`Kind.__hash__(value)`."""
    if type(kind) not in OWN or not any(base is kind for base in type_of(value).__mro__):
        raise TypeError(f"tools cannot hash a {type_of(value).__name__} as another class")
    if issubclass(kind, enum.Flag) and value._name_ is None:  # `hash(None)` is an address
        return hash((kind.__qualname__, value._value_))
    if dataclasses.is_dataclass(kind) and not is_own_function(kind.__hash__) and kind.__hash__ is not None:
        fields = dataclasses.fields(kind)
        parts = [getattr(value, part.name) for part in fields if (part.compare if part.hash is None else part.hash)]
        return address_free_hash(tuple(parts))
    return cast(Any, kind).__hash__(value)


def _hash_of(kind: Any) -> Callable[[Any], int]:
    """`Kind.__hash__`."""

    def hash_of(value: Any) -> int:
        return _hash_through(kind, value)

    return hash_of


def _hash_above(owner: Any) -> Callable[[], int]:
    """`super().__hash__`."""
    instance, lineage = owner.__self__, owner.__self_class__.__mro__
    above = lineage[lineage.index(owner.__thisclass__) + 1 :]
    base = next(base for base in above if "__hash__" in base.__dict__)
    return lambda: _hash_through(base, instance)


def _subclass(kind: Any, bases: Any, /) -> bool:
    return issubclass(str if kind is Text else kind, bases)


def _print(*values: Any, **options: Any) -> None:
    """Discards the output."""


_BUILTINS = """
    None False True Ellipsis NotImplemented abs all any bin bool bytearray bytes callable chr complex dict divmod
    enumerate filter float frozenset hex int isinstance iter len list map max min next object oct ord pow
    property range reversed round set slice sorted staticmethod classmethod sum super tuple zip __build_class__
    ArithmeticError AssertionError AttributeError BufferError ConnectionError EOFError Exception FileNotFoundError
    FloatingPointError ImportError IndexError KeyError LookupError ModuleNotFoundError NameError NotImplementedError
    FileExistsError IOError OSError OverflowError PermissionError RecursionError RuntimeError StopIteration SyntaxError
    TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError
    ZeroDivisionError
"""
BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _BUILTINS.split()},
    "ascii": texts.show_ascii,
    "delattr": _delete_attribute,
    "format": texts.format_value,
    "getattr": attribute,
    "hasattr": _has_attribute,
    "hash": address_free_hash,
    "issubclass": _subclass,
    "print": _print,
    "repr": texts.show,
    "setattr": _set_attribute,
    "str": Text,
    "type": _type,
    "vars": _vars,
}
GUARDS: dict[str, Any] = {
    "__metaclass__": ClassBuilder(),
    "__name__": "tool",
    "_augment_": augment,
    "_constant_": Constant,
    "_getattr_": get_attribute,
    "_manager_": Manager,
    "_matchable_": matchable,
    "_percent_": texts.percent,
    "_percent_in_place_": texts.percent_in_place,
    "_shown_": texts.checked,
    "_type_name_": _type_name,
    "_update_": update,
    "_write_": write,
}
"""The functions that rewritten code calls, by names that are refused in tool source."""

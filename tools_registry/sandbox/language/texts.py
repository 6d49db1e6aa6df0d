"""Text that tools make of values: a text with the address of an object is refused.

Functions, iterators and plain objects show their address in `str`, `repr`, formats and the messages of errors. Every
conversion of a value goes through this module. Strings are not conversions and are never refused.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import functools
import re
import string
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

from tools_registry.specs.schema import type_of

_ADDRESS = re.compile(r" (?:at|@) 0x[0-9a-fA-F]{6,}[>,;:]")
_ATOMS: frozenset[type] = frozenset(
    {int, float, bool, str, type(None), bytes, decimal.Decimal}
    | {datetime.date, datetime.datetime, datetime.time, datetime.timedelta}
)
"""Types whose values have no parts with an address."""


def shown(text: Any) -> Any:
    """Checks a text that was made from a value.

    Raises:
        TypeError: If the text contains the address of a function, an iterator or a plain object.
    """
    if type_of(text) in (str, bytes) and _shows_address(text):
        raise TypeError("functions, iterators and plain objects cannot be converted to text in tools")
    return text


def _shows_address(text: Any) -> bool:
    if type_of(text) is bytes:
        text = text.decode("latin-1")
    return " 0x" in text and _ADDRESS.search(text) is not None


class Shown:
    """A value that is about to be formatted; what it is converted to is checked."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __format__(self, spec: str) -> str:
        return self._shown(format(self._value, spec))

    def __str__(self) -> str:
        return self._shown(str(self._value))

    def __repr__(self) -> str:
        return self._shown(repr(self._value))

    def _shown(self, text: str) -> str:
        return text if type_of(self._value) in _ATOMS else shown(text)

    def __int__(self) -> int:
        return int(self._value)

    def __index__(self) -> int:
        return self._value.__index__()

    def __float__(self) -> float:
        return float(self._value)

    def __bytes__(self) -> bytes:
        return bytes(self._value)

    def __getitem__(self, key: Any) -> Any:
        return Shown(self._value[key])

    def __getattr__(self, name: str) -> Any:  # of a field `{0.name}`
        return Shown(read(self._value, name))


def _no_reader(owner: Any, name: str) -> Any:
    raise AttributeError(name)


read: Callable[[Any, str], Any] = _no_reader
"""How tool code reads an attribute; `guards` sets it."""


def checked(value: Any) -> Any:
    """A value for a format: itself if it is a number or a text, otherwise a `Shown`."""
    return value if type_of(value) in _ATOMS else Shown(value)


def percent(left: Any, right: Any) -> Any:
    """`left % right`.

    Raises:
        TypeError: If the text contains an address.
    """
    if type(left) is int or type(left) is float or not isinstance(left, str | bytes | bytearray):
        return left % right
    return left % (tuple(map(checked, cast(tuple[Any, ...], right))) if isinstance(right, tuple) else checked(right))


def percent_in_place(left: Any, right: Any) -> Any:
    """`left %= right`."""
    if isinstance(left, str | bytes | bytearray):
        return percent(left, right)
    left %= right
    return left


_FIELD = re.compile(r"\w*(?:\.[^\W_]\w*|\[[^\[\]{}]*\])*")


@functools.lru_cache(maxsize=512)
def _reads_parts(text: str) -> bool:
    """Whether fields of a format read parts of values (`{0.name}`, `{0[key]}`).

    Raises:
        ValueError: If the name of a part begins with an underscore.
    """
    reads = False
    for _, field, spec, _ in string.Formatter().parse(text):
        if field is not None and _FIELD.fullmatch(field) is None:
            raise ValueError("a format field is a name or number, with parts that do not begin with an underscore")
        reads = reads or "." in (field or "") or "[" in (field or "")
        if spec and "{" in spec:
            reads = _reads_parts(spec) or reads
    return reads


def format_of(text: Any) -> Callable[..., str]:
    """`text.format`."""
    plain = str.__str__(text)
    convert = Shown if _reads_parts(plain) else checked

    def format(*values: Any, **named: Any) -> str:
        return plain.format(*map(convert, values), **{name: convert(value) for name, value in named.items()})

    return format


def format_map_of(text: Any) -> Callable[[Any], str]:
    """`text.format_map`."""
    plain = str.__str__(text)
    _reads_parts(plain)
    return lambda mapping: plain.format_map(cast(Any, Shown(mapping)))


def substitute_of(substitute: Callable[..., str]) -> Callable[..., str]:
    """`Template.substitute` and `Template.safe_substitute`."""

    def substitute_shown(mapping: Any = None, /, **named: Any) -> str:
        return substitute(Shown(collections.ChainMap(named, {} if mapping is None else mapping)))

    return substitute_shown


def row_of(writer: Any) -> Callable[[Any], Any]:
    """`writerow` of a writer of `csv`, which converts the values to text."""
    return lambda row: writer.writerow(_checked_row(row))


def rows_of(writer: Any) -> Callable[[Any], Any]:
    """`writerows` of a writer of `csv`."""
    return lambda rows: writer.writerows([_checked_row(row) for row in rows])


def _checked_row(row: Any) -> Any:
    return [checked(value) for value in row]


def show(value: Any, /) -> str:
    """`repr`."""
    return repr(checked(value))


def show_ascii(value: Any, /) -> str:
    """`ascii`."""
    return ascii(checked(value))


def format_value(value: Any, spec: str = "", /) -> str:
    """`format`."""
    return format(checked(value), spec)


def checked_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is checked if it is a text."""
    return lambda *arguments, **named: shown(function(*arguments, **named))


class _TextType(type):
    """The metaclass of `Text`: `isinstance` and `issubclass` are those of `str`, a call returns a checked `str`."""

    __instancecheck__ = cast(Any, str).__instancecheck__
    __subclasscheck__ = cast(Any, str).__subclasscheck__

    def __call__(cls, value: Any = "", *decoding: Any, **named: Any) -> str:
        if decoding or named:
            return str(value, *decoding, **named)
        return str(value) if type_of(value) in _ATOMS else shown(str(value))

    def __iter__(cls) -> Iterator[NoReturn]:
        raise TypeError("'type' object is not iterable")

    def __repr__(cls) -> str:
        return "<class 'str'>"


class Text(str, metaclass=_TextType):
    """`str` in tools: `type(x)` of a string gives it, a class that inherits from it inherits from `str`."""

    __slots__ = ()


Text.__name__ = Text.__qualname__ = "str"
Text.__module__ = "builtins"

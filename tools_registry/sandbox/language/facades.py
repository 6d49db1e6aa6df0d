"""The modules that tools can import, as read-only façades with listed names.

The contents of a façade cannot be changed and keep no state between cases. `random`, which has state, is created for
each namespace with the same seed.
"""

from __future__ import annotations

import base64
import bisect
import calendar
import cmath
import collections
import contextlib
import copy
import datetime
import decimal
import fractions
import functools
import hashlib
import heapq
import itertools
import json
import math
import numbers
import operator
import re
import statistics
import string
import textwrap
import types
import unicodedata
from collections import abc as collections_abc
from collections.abc import Callable
from typing import Any

from tools_registry.sandbox.language import classes
from tools_registry.sandbox.language.guards import RANDOM, Facade, Random, attribute
from tools_registry.specs.schema import type_of


class _Hint:
    """The value of the names of `typing`: usable in type aliases, without effect."""

    __slots__ = ("_root",)
    __iter__ = None

    def __init__(self, root: type | None = None) -> None:
        self._root = root

    def __getitem__(self, parts: Any) -> _Hint:
        return self

    def __call__(self, *arguments: Any, **named: Any) -> _Hint:
        return self

    def __or__(self, other: Any) -> _Hint:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return "<a type hint>"

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        """The bases of a class that inherits from it."""
        return () if self._root is None else (self._root,)


def _same(value: Any) -> Any:
    return value


def _cast(kind: Any, value: Any) -> Any:
    return value


def _new_type(name: str, kind: Any) -> Callable[[Any], Any]:
    return _same


def _wraps(function: Any, assigned: Any = (), updated: Any = ()) -> Callable[[Any], Any]:
    """`functools.wraps` without effect; the original writes attributes of its argument."""
    return _same


def _total_ordering(kind: Any) -> Any:
    if type(kind) not in classes.OWN or classes.is_shared(kind):
        raise TypeError("total_ordering is for classes that the tool defines")
    return functools.total_ordering(kind)


def _attrgetter(*names: str) -> Callable[[Any], Any]:
    def read(value: Any, name: str) -> Any:
        for part in name.split("."):
            value = attribute(value, part)
        return value

    if not names or any(type(name) is not str for name in names):
        raise TypeError("attribute name must be a string")
    if len(names) == 1:
        return lambda value: read(value, names[0])
    return lambda value: tuple(read(value, name) for name in names)


def _methodcaller(name: str, /, *arguments: Any, **named: Any) -> Callable[[Any], Any]:
    return lambda value: attribute(value, name)(*arguments, **named)


def _plain_flags(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """A function of `re` with checked arguments, because `re` caches patterns across cases by equality.

    Args:
        function: The function.
        place: The position of `flags` among its arguments.
    """

    def call(pattern: Any, *arguments: Any, **named: Any) -> Any:
        flags = named.get("flags", arguments[place - 1] if len(arguments) >= place else 0)
        if type_of(flags) not in (int, re.RegexFlag) or type_of(pattern) not in (str, bytes, re.Pattern):
            raise TypeError("a pattern must be a string, and its flags a number")
        if not all(type_of(value) in (str, bytes, int, re.RegexFlag) or callable(value) for value in arguments):
            raise TypeError("expected string or bytes-like object")
        return function(pattern, *arguments, **named)

    return call


def _plain_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `textwrap` for `str` only, because it passes objects that all cases share to its argument."""

    def call(text: str, *arguments: Any, **named: Any) -> Any:
        if type_of(text) is not str:
            raise TypeError("expected a string")
        return function(text, *arguments, **named)

    return call


def _context_manager(function: Any) -> Any:
    if type(function) is not types.FunctionType or not function.__code__.co_flags & _GENERATOR:
        raise TypeError("contextmanager is for generator functions")
    return contextlib.contextmanager(function)


def _copy(value: Any) -> Any:
    return copy.copy(value)


def _deepcopy(value: Any) -> Any:
    return copy.deepcopy(value)


class DecimalContext:
    """`decimal.localcontext`, the only way to change decimal arithmetic, because its effect ends.

    It has no effect after a new namespace was created: a generator that holds it may be closed in a later case.
    """

    _fresh = decimal.Context()
    _case = 0

    def __init__(self, context: decimal.Context | None = None) -> None:
        self._inside = (decimal.getcontext() if context is None else context).copy()

    def __enter__(self) -> decimal.Context:
        self._entered, self._outside = DecimalContext._case, decimal.getcontext()
        decimal.setcontext(self._inside)
        return self._inside

    def __exit__(self, *error: object) -> None:
        if self._entered == DecimalContext._case:
            decimal.setcontext(self._outside)

    @classmethod
    def reset(cls) -> None:
        """Restores the default context at the start of a case."""
        cls._case += 1
        decimal.setcontext(cls._fresh.copy())


_GENERATOR = 0x20
"""The code flag of generator functions."""
_HASHES = {name: getattr(hashlib, name) for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")}


def _new_hash(name: str, data: bytes = b"") -> Any:
    if name not in _HASHES:
        raise ValueError(f"unsupported hash type {name!r}; tools can use {', '.join(_HASHES)}")
    return _HASHES[name](data)


def _pick(module: types.ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


def _public(module: types.ModuleType) -> dict[str, Any]:
    """The public names of a module written in C, which are functions, types and numbers."""
    return {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}


_HINTS = """
    Annotated Any AnyStr Awaitable Callable ClassVar Collection Container Counter DefaultDict Deque Dict Final FrozenSet
    Generator Hashable Iterable Iterator List Literal LiteralString Mapping MutableMapping MutableSequence MutableSet
    Never NewType NoReturn Optional OrderedDict ParamSpec Pattern Match Protocol Generic Required NotRequired Self
    Sequence Set Sized Tuple Type TypeAlias TypeGuard TypeVar Union SupportsFloat SupportsInt Reversible Text
"""
_ABSTRACT = """
    Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MutableMapping
    MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
"""
_ABC = _pick(collections_abc, _ABSTRACT)
_OFFERED: dict[str, dict[str, Any]] = {
    "abc": {"ABC": _Hint(classes.ABSTRACT), "abstractmethod": classes.abstract_method},
    "base64": _pick(
        base64,
        "b64encode b64decode standard_b64encode standard_b64decode urlsafe_b64encode urlsafe_b64decode b32encode "
        "b32decode b16encode b16decode a85encode a85decode b85encode b85decode",
    ),
    "bisect": _pick(bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
    "calendar": {
        **_pick(
            calendar,
            "isleap leapdays monthrange weekday timegm MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY",
        ),
        **{name: tuple(getattr(calendar, name)) for name in ("month_name", "month_abbr", "day_name", "day_abbr")},
        "monthcalendar": calendar.Calendar().monthdayscalendar,
    },
    "cmath": _public(cmath),
    "collections": {
        **_pick(collections, "ChainMap Counter OrderedDict defaultdict deque"),
        "abc": Facade("collections.abc", _ABC),
        "namedtuple": classes.named_tuple,
    },
    "collections.abc": _ABC,
    "contextlib": {**_pick(contextlib, "nullcontext suppress"), "contextmanager": _context_manager},
    "copy": {"copy": _copy, "deepcopy": _deepcopy},
    "dataclasses": {
        "dataclass": classes.data_class,
        "field": classes.Field,
        "fields": classes.data_fields,
        "asdict": classes.as_dict,
        "astuple": classes.as_tuple,
        "replace": classes.replace,
        "is_dataclass": classes.is_data_class,
        "FrozenInstanceError": classes.FrozenInstanceError,
        "MISSING": classes.MISSING,
        "InitVar": _Hint(),
        "KW_ONLY": _Hint(),
    },
    "datetime": _pick(datetime, "UTC date datetime time timedelta timezone MINYEAR MAXYEAR"),
    "decimal": {
        **_pick(
            decimal,
            "Context Decimal DecimalException DivisionByZero Inexact InvalidOperation Overflow ROUND_05UP "
            "ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded "
            "Underflow",
        ),
        "localcontext": DecimalContext,
    },
    "enum": {
        "Enum": classes.ENUM,
        "IntEnum": classes.INT_ENUM,
        "StrEnum": classes.STR_ENUM,
        "auto": classes.Auto,
        "unique": classes.unique,
    },
    "fractions": _pick(fractions, "Fraction"),
    "functools": {
        **_pick(functools, "cache cached_property cmp_to_key lru_cache partial reduce"),
        "total_ordering": _total_ordering,
        "wraps": _wraps,
    },
    "hashlib": {**_HASHES, "new": _new_hash},
    "heapq": _pick(heapq, "heappush heappop heapify heapreplace heappushpop merge nlargest nsmallest"),
    "itertools": _public(itertools),
    "json": _pick(json, "loads dumps JSONDecodeError"),
    "math": _public(math),
    "numbers": _pick(numbers, "Complex Integral Number Rational Real"),
    "operator": {
        **_pick(
            operator,
            "abs add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert is_ is_not "
            "itemgetter le lshift lt mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor",
        ),
        "attrgetter": _attrgetter,
        "methodcaller": _methodcaller,
    },
    "re": {
        **_pick(re, "escape error Pattern Match A ASCII I IGNORECASE M MULTILINE S DOTALL U UNICODE X VERBOSE"),
        **{
            name: _plain_flags(getattr(re, name), place)
            for name, place in {
                "compile": 1,
                "match": 2,
                "search": 2,
                "fullmatch": 2,
                "findall": 2,
                "finditer": 2,
                "split": 3,
                "sub": 4,
                "subn": 4,
            }.items()
        },
    },
    "statistics": _pick(
        statistics,
        "mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped mode multimode "
        "quantiles pstdev pvariance stdev variance correlation covariance linear_regression NormalDist "
        "StatisticsError",
    ),
    "string": _pick(
        string,
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation "
        "whitespace capwords Template",
    ),
    "textwrap": {
        name: _plain_text(getattr(textwrap, name)) for name in ("dedent", "fill", "indent", "shorten", "wrap")
    },
    "typing": {
        **dict.fromkeys(_HINTS.split(), _Hint()),
        "NamedTuple": _Hint(classes.NAMED_TUPLE),
        "NewType": _new_type,
        "TYPE_CHECKING": False,
        "TypedDict": _Hint(classes.TYPED_DICT),
        "cast": _cast,
        "final": _same,
        "overload": _same,
        "override": _same,
        "runtime_checkable": _same,
    },
    "unicodedata": _pick(
        unicodedata,
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup "
        "mirrored name normalize numeric",
    ),
}
FACADES: dict[str, Facade] = {name: Facade(name, names) for name, names in _OFFERED.items()}
NAMES: tuple[str, ...] = tuple(sorted([*FACADES, "random"]))
"""The modules that tools can import."""


def random_facade() -> Facade:
    """The façade of `random` with a new, seeded generator."""
    generator = Random()
    return Facade("random", {**{name: getattr(generator, name) for name in RANDOM}, "Random": Random})

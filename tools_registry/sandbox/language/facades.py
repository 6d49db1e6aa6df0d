"""The modules that tools can import, as read-only façades with listed names.

The contents of a façade cannot be changed and keep no state between cases. `random`, which has state, is created for
each namespace with the same seed.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import calendar
import cmath
import collections
import colorsys
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import enum
import fractions
import functools
import graphlib
import hashlib
import heapq
import hmac
import html
import io
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
import urllib.parse
import zlib
from collections import abc as collections_abc
from collections.abc import Callable
from typing import Any

from tools_registry.sandbox.language import classes, hints, texts
from tools_registry.sandbox.language.attributes import RANDOM, Random, get_context
from tools_registry.sandbox.language.guards import Facade, attribute, facade
from tools_registry.specs.schema import type_of


class _Hint:
    """The value of the names of `typing`: usable in type aliases, without effect."""

    __slots__ = ()
    __iter__ = None

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
        return ()


def _base(root: type) -> _Hint:
    """A name that stands for a class in the bases of another."""

    def entries(self: Any, bases: Any) -> tuple[type, ...]:
        return () if root in bases else (root,)

    return type("_Hint", (_Hint,), {"__slots__": (), "__mro_entries__": entries})()


def _same(value: Any) -> Any:
    return value


def _cast(kind: Any, value: Any) -> Any:
    return value


def _new_type(name: str, kind: Any) -> Callable[[Any], Any]:
    return _same


def _wraps(function: Any, assigned: Any = (), updated: Any = ()) -> Callable[[Any], Any]:
    """`functools.wraps`, which names the functions of the tool only; the original writes to any argument."""

    def name(wrapper: Any) -> Any:
        nested = classes.is_own_function(wrapper) and "<locals>" in wrapper.__qualname__  # others serve later cases
        if nested and classes.is_own_function(function):
            for attribute in ("__name__", "__qualname__", "__doc__"):
                setattr(wrapper, attribute, getattr(function, attribute))
        return wrapper

    return name


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


def _plain_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of text for `str` only, because it passes objects that all cases share to its argument."""
    strict = _no_lookalikes(function)

    def call(text: str, *arguments: Any, **named: Any) -> Any:
        if type_of(text) is not str:
            raise TypeError("expected a string")
        return strict(text, *arguments, **named)

    return call


def _no_lookalikes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps arguments by equality, as `re` does, and so serves them to later cases."""

    def call(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()):
            if type(type_of(value)) in classes.OWN and not isinstance(value, str):
                raise TypeError("expected a string, a number or a function")
        return function(*arguments, **named)

    return call


def _dumps(value: Any, *, cls: Any = None, **options: Any) -> str:
    """`json.dumps`; an encoder of the tool's own is asked for what JSON does not know."""
    if cls is not None:
        if not classes.is_own_class(cls) or not issubclass(cls, classes.JSON_ENCODER):
            raise TypeError("an encoder inherits from json.JSONEncoder")
        options["default"] = cls().default
    return json.dumps(value, **options)


def _context_manager(function: Any) -> Any:
    if not classes.is_own_function(function) or not function.__code__.co_flags & _GENERATOR:
        raise TypeError("contextmanager is for generator functions")
    return contextlib.contextmanager(function)


def _copy(value: Any) -> Any:
    return value if type_of(value) is types.MethodType else copy.copy(value)  # a copy would be read without a guard


def _deepcopy(value: Any) -> Any:
    return copy.deepcopy(value)


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
    Never NewType NoReturn Optional OrderedDict ParamSpec Pattern Match Generic Required NotRequired Self
    Sequence Set Sized Tuple Type TypeAlias TypeGuard TypeVar Union SupportsFloat SupportsInt Reversible Text
"""
_ABSTRACT = """
    Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MutableMapping
    MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
"""
_URLS: dict[str, Any] = {
    **{
        name: _plain_text(getattr(urllib.parse, name))
        for name in [
            "parse_qs",
            "parse_qsl",
            "quote",
            "quote_plus",
            "unquote",
            "unquote_plus",
            "urljoin",
            "urlparse",
            "urlsplit",
        ]
    },
}
_ABC = _pick(collections_abc, _ABSTRACT)
_UNUSED_FLAGS = {"DEBUG", "LOCALE", "L", "TEMPLATE", "T"}
_OFFERED: dict[str, dict[str, Any]] = {
    "abc": {
        "ABC": _base(classes.ABSTRACT),
        "ABCMeta": _base(classes.ABSTRACT),
        "abstractmethod": classes.abstract_method,
    },
    "base64": _pick(
        base64,
        "b64encode b64decode standard_b64encode standard_b64decode urlsafe_b64encode urlsafe_b64decode b32encode "
        "b32decode b16encode b16decode a85encode a85decode b85encode b85decode",
    ),
    "binascii": _pick(binascii, "crc32 hexlify unhexlify Error"),
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
        "abc": facade("collections.abc", _ABC),
        "namedtuple": classes.named_tuple,
    },
    "collections.abc": _ABC,
    "colorsys": _pick(colorsys, "rgb_to_hsv hsv_to_rgb rgb_to_hls hls_to_rgb rgb_to_yiq yiq_to_rgb"),
    "contextlib": {**_pick(contextlib, "nullcontext suppress"), "contextmanager": _context_manager},
    "csv": _pick(csv, "reader writer DictReader Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONNUMERIC QUOTE_NONE"),
    "copy": {"copy": _copy, "deepcopy": _deepcopy},
    "dataclasses": {
        **_pick(dataclasses, "field fields asdict astuple replace is_dataclass FrozenInstanceError MISSING"),
        "dataclass": classes.data_class,
        "InitVar": _Hint(),
        "KW_ONLY": _Hint(),
    },
    "datetime": _pick(datetime, "UTC date datetime time timedelta timezone MINYEAR MAXYEAR"),
    "decimal": {
        **_pick(
            decimal,
            "Context Decimal DecimalException DivisionByZero Inexact InvalidOperation Overflow ROUND_05UP "
            "ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded "
            "Underflow localcontext",
        ),
        "getcontext": get_context,
    },
    "difflib": _pick(difflib, "SequenceMatcher get_close_matches unified_diff"),
    "enum": {
        "Enum": classes.ENUM,
        "IntEnum": classes.INT_ENUM,
        "StrEnum": classes.STR_ENUM,
        "Flag": classes.FLAG,
        "IntFlag": classes.INT_FLAG,
        "auto": enum.auto,
        "unique": classes.unique,
    },
    "fractions": _pick(fractions, "Fraction"),
    "functools": {
        **_pick(functools, "cache cached_property cmp_to_key lru_cache partial partialmethod reduce"),
        "singledispatch": classes.Dispatch,
        "total_ordering": classes.total_ordering,
        "wraps": _wraps,
    },
    "graphlib": _pick(graphlib, "TopologicalSorter CycleError"),
    "hashlib": {**_HASHES, "new": _new_hash},
    "heapq": _pick(heapq, "heappush heappop heapify heapreplace heappushpop merge nlargest nsmallest"),
    "hmac": _pick(hmac, "new compare_digest digest"),
    "html": {name: _plain_text(getattr(html, name)) for name in ("escape", "unescape")},
    "io": _pick(io, "StringIO"),
    "itertools": _public(itertools),
    "json": {**_pick(json, "loads JSONDecodeError"), "dumps": _dumps, "JSONEncoder": classes.JSON_ENCODER},
    "math": _public(math),
    "numbers": _pick(numbers, "Complex Integral Number Rational Real"),
    "operator": {
        **_pick(
            operator,
            "abs add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert is_ is_not "
            "itemgetter le lshift lt mul ne neg not_ or_ pos pow rshift sub truediv truth xor",
        ),
        "attrgetter": _attrgetter,
        "methodcaller": _methodcaller,
        "mod": texts.percent,
    },
    "re": {
        **_pick(re, "escape error Pattern Match"),
        **{name: int(flag) for name, flag in re.RegexFlag.__members__.items() if name not in _UNUSED_FLAGS},
        **{
            name: _no_lookalikes(getattr(re, name))
            for name in ["compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"]
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
        "NamedTuple": _base(classes.NAMED_TUPLE),
        "NewType": _new_type,
        "TYPE_CHECKING": False,
        "TypedDict": _base(classes.TYPED_DICT),
        "cast": _cast,
        "final": _same,
        "overload": _same,
        "override": _same,
        "runtime_checkable": classes.runtime_checkable,
        "Protocol": _base(classes.PROTOCOL),
    },
    "urllib": {"parse": facade("urllib.parse", _URLS)},
    "urllib.parse": _URLS,
    "zlib": _pick(zlib, "adler32 crc32"),
    "unicodedata": _pick(
        unicodedata,
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup "
        "mirrored name normalize numeric",
    ),
}
FACADES: dict[str, Facade] = {name: facade(name, names, hints.PARTS.get(name)) for name, names in _OFFERED.items()}
NAMES: tuple[str, ...] = tuple(sorted([*FACADES, "random"]))
"""The modules that tools can import."""


def offered(name: str) -> frozenset[str]:
    """The names that a module offers to tools."""
    return frozenset([*RANDOM, "Random"] if name == "random" else _OFFERED[name])


def random_facade() -> Facade:
    """The façade of `random` with a new, seeded generator."""
    generator = Random()
    names = {name: getattr(generator, name) for name in RANDOM}
    return facade("random", {**names, "Random": Random}, hints.PARTS["random"])

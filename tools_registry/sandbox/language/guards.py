"""Operations on values at run time, by exact type.

`str`, `list`, `dict` and other types have listed methods, classes of the tool have their own attributes, and façades of
modules have listed names. Everything else is refused.
"""

from __future__ import annotations

import abc
import builtins
import collections
import datetime
import decimal
import fractions
import functools
import hashlib
import heapq
import itertools
import json
import random
import re
import statistics
import string
import time
import types
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import Any, NoReturn, cast

from tools_registry.sandbox.language.classes import OWN, Auto, Field, ToolEnum, is_shared
from tools_registry.sandbox.language.rewriting import MAX_WIDTH, METHOD_DUNDERS, check_width, is_private
from tools_registry.specs.schema import type_of

NOW = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
"""The time that tools see: `datetime.now()`, `date.today()`."""
_UTC = datetime.UTC


class Facade:
    """The value that `import NAME` binds: the listed names of a module, read-only."""

    __slots__ = ("_names", "_title")

    def __init__(self, title: str, names: dict[str, Any]) -> None:
        object.__setattr__(self, "_title", title)
        object.__setattr__(self, "_names", names)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a module cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a module cannot be changed")

    def __getattribute__(self, name: str) -> Any:
        names = object.__getattribute__(self, "_names")
        if name in names:
            return names[name]
        title = object.__getattribute__(self, "_title")
        raise AttributeError(f"module {title!r} offers no {name!r} to tools")

    def __repr__(self) -> str:
        raise TypeError("a module cannot be converted to text")


# Text: without addresses and huge widths.

_ATOMS = frozenset({int, float, bool, str, type(None)})
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{8,}")
_STAR = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\*|\d*\.\*)")


def shown(text: Any) -> Any:
    """Checks a text that was made from values.

    Raises:
        TypeError: If the text contains the address of a function, an iterator or a plain object.
    """
    if " at 0x" in text and _ADDRESS.search(text):
        raise TypeError("functions, iterators and plain objects cannot be converted to text in tools")
    return text


def text_of(value: Any = "", *decoding: Any, **named: Any) -> str:
    """`str`."""
    if decoding or named:
        return str(value, *decoding, **named)
    if type_of(value) in _ATOMS:
        return str(value)
    return shown(str(value))


def _repr(value: Any, /) -> str:
    return shown(repr(value))


def _ascii(value: Any, /) -> str:
    return shown(ascii(value))


def _format_value(value: Any, spec: str = "", /) -> str:
    check_width(spec)
    return shown(format(value, spec))


def width(value: Any) -> Any:
    """Checks a value that is part of a format specification.

    Raises:
        ValueError: If it specifies a width beyond `MAX_WIDTH`.
    """
    if type_of(value) is int:
        if value >= MAX_WIDTH:
            raise ValueError(f"a width or precision beyond {MAX_WIDTH}")
    elif type_of(value) is str:
        check_width(value)
    return value


def percent(text: str, values: Any) -> str:
    """`text % values`, where `text` is a literal in the source.

    Raises:
        ValueError: If a width given as a value is beyond `MAX_WIDTH`.
    """
    if "*" in text and _STAR.search(text):
        for value in cast(tuple[Any, ...], values) if type_of(values) is tuple else ():
            width(value)
    return shown(text % values)


class _Fields(string.Formatter):
    """`str.format` with nested fields (`{:{}}`); checks the widths that come from values."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        key = int(field_name) if field_name.isdigit() else field_name
        return self.get_value(key, args, kwargs), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        check_width(format_spec)
        return format(value, format_spec)


@functools.lru_cache(maxsize=512)
def _is_simple(text: str) -> bool:
    """Whether the fields of a format contain no other fields.

    Raises:
        ValueError: If a field accesses a part of a value (`{0.name}`, `{0[key]}`) or specifies a huge width.
    """
    simple = True
    for _, field, spec, _ in string.Formatter().parse(text):
        if field is None:
            continue
        if "." in field or "[" in field:
            raise ValueError("a format field is a plain name or number")
        if spec:
            check_width(spec)
            if "{" in spec:
                simple = False
                _is_simple(spec)
    return simple


def _format_of(text: str) -> Callable[..., str]:
    if _is_simple(text):
        return lambda *values, **named: shown(text.format(*values, **named))
    return lambda *values, **named: shown(_Fields().vformat(text, values, named))


def _format_map_of(text: str) -> Callable[[Any], str]:
    def format_map(mapping: Any) -> str:
        if type_of(mapping) not in (dict, collections.defaultdict, collections.Counter, collections.OrderedDict):
            raise TypeError("format_map takes a dictionary")
        _is_simple(text)
        return shown(_Fields().vformat(text, (), mapping))

    return format_map


def _with_plain_text(substitute: Callable[..., Any]) -> Callable[..., Any]:
    """A pattern's `sub` with checked arguments, because `re` caches templates across cases by equality."""

    def substituted(repl: Any, *arguments: Any, **named: Any) -> Any:
        if type_of(repl) not in (str, bytes) and not callable(repl):
            raise TypeError("a replacement is a string or a function")
        return substitute(repl, *arguments, **named)

    return substituted


# Time: frozen, and independent of the time zone of the machine.


def _aware(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=_UTC)


def _now(tz: Any = None) -> datetime.datetime:
    return NOW.replace(tzinfo=None) if tz is None else NOW.astimezone(tz)


def _from_timestamp(seconds: Any, tz: Any = None) -> datetime.datetime:
    moment = datetime.datetime.fromtimestamp(seconds, _UTC)
    return moment.replace(tzinfo=None) if tz is None else moment.astimezone(tz)


def _date_from_timestamp(seconds: Any) -> datetime.date:
    return _from_timestamp(seconds).date()


def _in_zone(moment: datetime.datetime) -> Callable[..., datetime.datetime]:
    def astimezone(tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return _aware(moment).astimezone(tz or _UTC)

    return astimezone


def _strptime(text: str, pattern: str) -> datetime.datetime:
    if type_of(text) is not str or type_of(pattern) is not str:
        raise TypeError("strptime() takes two strings")
    return datetime.datetime.strptime(text, pattern)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STR = _words(
    """
    capitalize casefold center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit
    isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition
    removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title translate upper zfill __len__ __contains__ __getitem__
    """
)
_BYTES = (_STR - _words("casefold encode isdecimal isidentifier isnumeric isprintable")) | {"decode", "hex", "fromhex"}
_LIST = _words("append clear copy count extend index insert pop remove reverse sort __len__ __contains__ __getitem__")
_DICT = _words(
    "clear copy fromkeys get items keys pop popitem setdefault update values __len__ __contains__ __getitem__"
)
_SET = _words(
    """
    add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset issuperset
    pop remove symmetric_difference symmetric_difference_update union update __len__ __contains__
    """
)
_INT = _words("bit_length bit_count numerator denominator real imag conjugate as_integer_ratio to_bytes")
_DATE = _words("year month day weekday isoweekday isocalendar isoformat strftime replace toordinal timetuple ctime")
_CLOCK = _words("hour minute second microsecond isoformat strftime replace tzinfo fold utcoffset tzname dst")
_DECIMAL = _words(
    """
    quantize normalize to_integral_value to_integral_exact to_integral as_tuple as_integer_ratio is_zero is_signed
    is_nan is_infinite is_finite copy_abs copy_negate copy_sign sqrt adjusted compare scaleb exp ln log10 max min fma
    remainder_near same_quantum to_eng_string number_class shift real imag conjugate
    """
)
_ERROR_PARTS: dict[type, frozenset[str]] = {
    StopIteration: frozenset({"value"}),
    json.JSONDecodeError: _words("msg pos lineno colno"),
    re.error: _words("msg pos lineno colno"),
    UnicodeDecodeError: _words("encoding start end reason"),
    UnicodeEncodeError: _words("encoding start end reason"),
}
RANDOM = _words(
    """
    random randint randrange choice choices shuffle sample uniform triangular betavariate expovariate gammavariate gauss
    lognormvariate normalvariate paretovariate vonmisesvariate weibullvariate getrandbits randbytes seed
    """
)
_SEED = 0


class Random(random.Random):
    """A generator that does not take a seed from the system."""

    def seed(self, a: Any = None, version: int = 2) -> None:
        super().seed(_SEED if a is None else a, version)


METHODS: dict[type, frozenset[str]] = {
    str: _STR,
    bytes: _BYTES,
    bytearray: _BYTES | _LIST - {"sort"},
    int: _INT,
    bool: _INT,
    float: _words("is_integer as_integer_ratio hex real imag conjugate"),
    complex: _words("real imag conjugate"),
    list: _LIST,
    tuple: _words("count index __len__ __contains__ __getitem__"),
    dict: _DICT,
    set: _SET,
    frozenset: _SET & frozenset(dir(frozenset)),
    range: _words("start stop step count index __len__ __contains__ __getitem__"),
    slice: _words("start stop step indices"),
    type(_ for _ in ()): _words("send close"),
    types.MappingProxyType: _words("get items keys values copy"),
    property: _words("getter setter deleter"),
    collections.Counter: _DICT | _words("most_common elements subtract total"),
    collections.defaultdict: _DICT | {"default_factory"},
    collections.OrderedDict: _DICT | {"move_to_end"},
    collections.ChainMap: _words("get items keys values pop new_child parents maps"),
    collections.deque: _LIST - {"sort"} | _words("appendleft popleft extendleft rotate maxlen"),
    datetime.date: _DATE,
    datetime.datetime: _DATE | _CLOCK | _words("date time timetz utctimetuple"),
    datetime.time: _CLOCK,
    datetime.timedelta: _words("days seconds microseconds total_seconds"),
    datetime.timezone: _words("utcoffset tzname dst"),
    type(datetime.date(2000, 1, 1).isocalendar()): _words("year week weekday"),
    time.struct_time: frozenset(name for name in dir(time.struct_time) if name.startswith("tm_")),
    statistics.LinearRegression: _words("slope intercept"),
    statistics.NormalDist: _words("mean median mode stdev variance pdf cdf inv_cdf quantiles overlap zscore"),
    re.Pattern: _words("match search fullmatch findall finditer split pattern groups groupindex flags"),
    re.Match: _words(
        "group groups groupdict start end span expand lastindex lastgroup string pos endpos re regs __getitem__"
    ),
    decimal.Decimal: _DECIMAL,
    decimal.DecimalTuple: _words("sign digits exponent"),
    decimal.Context: _words("prec rounding Emin Emax copy create_decimal divide sqrt"),
    fractions.Fraction: _words("numerator denominator limit_denominator as_integer_ratio real imag conjugate"),
    string.Template: _words("substitute safe_substitute template"),
    Random: RANDOM,
    Field: _words("name default default_factory init repr hash compare metadata kw_only"),
    type(hashlib.sha256()): _words("hexdigest digest update copy name digest_size block_size"),
    type(functools.lru_cache(maxsize=1)(len)): _words("cache_clear cache_info"),
    type(functools.lru_cache(maxsize=1)(len).cache_info()): _words("hits misses maxsize currsize"),
}
"""The attributes that tools can read, by exact type."""
WRAPPED: dict[type, dict[str, Callable[[Any], Any]]] = {
    str: {"format": _format_of, "format_map": _format_map_of},
    re.Pattern: {
        "sub": lambda pattern: _with_plain_text(pattern.sub),
        "subn": lambda pattern: _with_plain_text(pattern.subn),
    },
    datetime.datetime: {
        "timestamp": lambda moment: _aware(moment).timestamp,
        "astimezone": _in_zone,
    },
}
"""Further attributes, by exact type, with the functions that implement them."""
_CLASS_METHODS: dict[Any, frozenset[str]] = {
    **{kind: METHODS[kind] for kind in (str, bytes, list, dict, set, frozenset, tuple)},
    int: _INT | {"from_bytes"},
    datetime.date: _DATE | _words("fromisoformat fromordinal fromisocalendar min max resolution"),
    datetime.datetime: METHODS[datetime.datetime]
    | _words("fromisoformat fromordinal fromisocalendar combine min max resolution"),
    datetime.time: _words("fromisoformat min max isoformat"),
    datetime.timedelta: _words("min max resolution total_seconds"),
    datetime.timezone: _words("utc min max"),
    itertools.chain: _words("from_iterable"),
    collections.Counter: METHODS[collections.Counter],
    collections.OrderedDict: METHODS[collections.OrderedDict],
    decimal.Decimal: _DECIMAL | {"from_float"},
    fractions.Fraction: _words("from_float from_decimal"),
    statistics.NormalDist: _words("from_samples"),
    float: METHODS[float] | {"fromhex"},
}
_CLASS_WRAPPED: dict[Any, dict[str, Any]] = {
    datetime.date: {
        "today": NOW.date,
        "fromtimestamp": _date_from_timestamp,
    },
    datetime.datetime: {
        "now": _now,
        "today": _now,
        "utcnow": _now,
        "fromtimestamp": _from_timestamp,
        "utcfromtimestamp": _from_timestamp,
        "strptime": _strptime,
    },
}

_NONE: dict[str, Any] = {}
_ORDERED = collections.OrderedDict[str, int]()
_ITERATORS: set[type] = {
    type(iterator)
    for iterator in cast(tuple[Any, ...], (
        iter([]), iter(()), iter(_NONE), iter(_NONE.values()), iter(_NONE.items()), iter(set[int]()), iter(""),
        iter("é"), iter(b""), iter(bytearray()), iter(range(0)), iter(range(2**70)), reversed([]), reversed(_NONE),
        reversed(_NONE.values()), reversed(_NONE.items()), _NONE.keys(), _NONE.values(), _NONE.items(),
        (part for part in ()), re.finditer("", ""), iter(collections.deque[int]()), reversed(collections.deque[int]()),
        next(itertools.groupby("a"))[1], *itertools.tee(()), heapq.merge(), _ORDERED.keys(), _ORDERED.values(),
        _ORDERED.items(), iter(_ORDERED), reversed(range(0)), reversed(range(2**70)), iter(int, 0),
    ))
}  # fmt: skip
_ITERABLE: frozenset[type] = frozenset(
    {str, bytes, bytearray, list, tuple, dict, set, frozenset, range, enumerate, zip, map, filter, reversed}
    | {collections.Counter, collections.defaultdict, collections.OrderedDict, collections.deque, collections.ChainMap}
    | {KeysView, ValuesView, ItemsView, types.MappingProxyType}
    | {type(datetime.date(2000, 1, 1).isocalendar()), decimal.DecimalTuple, time.struct_time}
    | {statistics.LinearRegression, type(functools.lru_cache(maxsize=1)(len).cache_info())}
    | {kind for kind in vars(itertools).values() if isinstance(kind, type)}
    | _ITERATORS
)
_ITEM_WRITABLE: frozenset[type] = frozenset(
    {list, dict, bytearray, collections.Counter, collections.defaultdict, collections.OrderedDict, collections.deque}
    | {collections.ChainMap}
)
_WRITABLE: frozenset[type] = frozenset({decimal.Context, collections.defaultdict})
_ROOT_METHODS = frozenset({"__init__", "__str__", "__repr__", "__eq__", "__ne__", "__enter__", "__exit__"})
"""The methods of `object` and of exceptions that `super()` offers."""


def get_attribute(owner: Any, name: str) -> Any:
    """`owner.name` in tool code.

    Raises:
        AttributeError: If tools cannot read this attribute of a value of this type.
    """
    kind = type_of(owner)
    if type(kind) in OWN:
        return getattr(owner, name) if _has_own(owner, kind, name) else _inherited(owner, kind, name)
    listed = METHODS.get(kind)
    if listed is not None:
        if name in listed:
            return getattr(owner, name)
        if kind in WRAPPED and name in WRAPPED[kind]:
            return WRAPPED[kind][name](owner)
    elif kind is Facade:
        return getattr(owner, name)
    elif kind in OWN:
        return _class_attribute(owner, name)
    elif kind is super:
        return _above(owner, name)
    elif kind is type or kind is abc.ABCMeta:
        return _type_attribute(owner, name)
    elif issubclass(kind, BaseException) and (name == "args" or name in _ERROR_PARTS.get(kind, ())):
        return getattr(owner, name)
    return _refuse_attribute(owner, name)


def _refuse_attribute(owner: Any, name: str) -> NoReturn:
    kind = type_of(owner)
    label = cast(type[Any], owner).__name__ if isinstance(owner, type) else kind.__name__
    raise AttributeError(f"{label!r} offers no attribute {name!r} to tools")


def _in_lineage(lineage: tuple[type, ...], name: str) -> bool:
    """Whether the first class with this name belongs to the tool, and tools can read the name."""
    for base in lineage:
        if name in base.__dict__:
            return type(base) in OWN and (name[:2] != "__" or name in METHOD_DUNDERS)
    return False


def _has_own(owner: Any, kind: type, name: str) -> bool:
    """Whether an instance of a tool's class has the attribute itself or from a class of the tool."""
    attributes = getattr(owner, "__dict__", ())
    return (name in attributes and name[:2] != "__") or _in_lineage(kind.__mro__, name)


def _inherited(owner: Any, kind: type, name: str) -> Any:
    """An attribute that an instance of a tool's class has from a builtin base, such as an exception's `args`."""
    if isinstance(owner, BaseException) and name == "args":
        return owner.args
    for base in (int, str, tuple):
        if issubclass(kind, base) and name in METHODS[base]:
            return getattr(owner, name)
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


def _class_attribute(owner: Any, name: str) -> Any:
    if _in_lineage(owner.__mro__, name) or (name == "__init__" and issubclass(owner, Exception)):
        return getattr(owner, name)
    raise AttributeError(f"type object {owner.__name__!r} has no attribute {name!r}")


def _type_attribute(owner: Any, name: str) -> Any:
    if name in _CLASS_METHODS.get(owner, ()):
        return getattr(owner, name)
    if name in _CLASS_WRAPPED.get(owner, ()):
        return _CLASS_WRAPPED[owner][name]
    if name == "__init__" and issubclass(owner, Exception):
        return getattr(owner, name)
    return _refuse_attribute(owner, name)


def _above(owner: Any, name: str) -> Any:
    """An attribute of `super()`: of a base class of the tool, or one of `_ROOT_METHODS`."""
    here, lineage = owner.__thisclass__, owner.__self_class__.__mro__
    if type(here) in OWN and here in lineage and (not name.startswith("__") or name in METHOD_DUNDERS):
        for base in lineage[lineage.index(here) + 1 :]:
            if name in base.__dict__:
                root = base is object or issubclass(base, BaseException)
                if type(base) in OWN or (root and name in _ROOT_METHODS):
                    return getattr(owner, name)
                break
    raise AttributeError(f"'super' object has no attribute {name!r}")


def own(owner: Any, name: str) -> Any:
    """Returns the owner if it is a tool's class, or an instance of one, with this attribute.

    Raises:
        AttributeError: If it is not.
    """
    kind = type_of(owner)
    if type(kind) in OWN and _has_own(owner, kind, name):
        return owner
    if kind in OWN and _in_lineage(owner.__mro__, name) and not name.startswith("__"):
        return owner
    if kind in _WRITABLE and name in METHODS[kind]:
        return owner
    return _refuse_attribute(owner, name)


def write(owner: Any) -> Any:
    """Returns the owner if tool code may set its attributes.

    Raises:
        TypeError: If it may not.
    """
    kind = type_of(owner)
    if type(kind) in OWN or kind in _WRITABLE or (kind in OWN and not is_shared(owner)):
        return owner
    raise TypeError(f"a tool cannot change a {kind.__name__}")


def augment(owner: Any, name: str) -> Any:
    """Returns the owner in `owner.name += 1`, if tool code may read and set the attribute."""
    return write(own(owner, name))


def write_item(owner: Any) -> Any:
    """Returns the owner if tool code may set its items.

    Raises:
        TypeError: If it may not.
    """
    kind = type_of(owner)
    if kind in _ITEM_WRITABLE or type(kind) in OWN:
        return owner
    raise TypeError(f"{kind.__name__!r} object does not support item assignment")


def get_iterator(values: Any) -> Any:
    """Returns the iterable of a loop.

    Raises:
        TypeError: If tools cannot iterate over a value of this type.
    """
    kind = type_of(values)
    if kind in _ITERABLE or type(kind) in OWN or kind is ToolEnum:
        return values
    raise TypeError(f"{kind.__name__!r} object is not iterable")


# Builtins.


def _check_name(name: Any, reading: bool) -> None:
    if type_of(name) is not str:
        raise TypeError("the name of an attribute must be a string")
    if name.startswith("_") and not is_private(name) and not (reading and name in METHOD_DUNDERS):
        raise AttributeError(f"tools cannot use the attribute {name!r}")


def attribute(owner: Any, name: str, *default: Any) -> Any:
    """`getattr`."""
    _check_name(name, reading=True)
    if len(default) > 1:
        raise TypeError("getattr expected at most 3 arguments")
    try:
        return get_attribute(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _has_attribute(owner: Any, name: str, /) -> bool:
    if type_of(name) is str and name in METHOD_DUNDERS:
        return hasattr(type_of(owner), name)
    try:
        attribute(owner, name)
    except AttributeError:
        return False
    return True


def _set_attribute(owner: Any, name: str, value: Any, /) -> None:
    _check_name(name, reading=False)
    setattr(write(owner), name, value)


def _delete_attribute(owner: Any, name: str, /) -> None:
    _check_name(name, reading=False)
    delattr(write(owner), name)


def _vars(owner: Any, /) -> dict[str, Any]:
    """A copy of the attributes. Writing to an instance has to use `write`, which refuses special names."""
    kind = type_of(owner)
    if type(kind) in OWN and hasattr(owner, "__dict__"):
        return dict(owner.__dict__)
    raise TypeError("vars() is for instances of a tool's own classes")


def update(owner: Any) -> Callable[..., None]:
    """`owner.__dict__.update`."""

    def update_fields(*pairs: Any, **named: Any) -> None:
        for name, value in dict(*pairs, **named).items():
            _set_attribute(owner, name, value)

    return update_fields


_TYPED: frozenset[type] = (
    frozenset(METHODS) | {type(None), Auto} | (_ITERABLE - _ITERATORS)
)  # results of `type(x)`, besides the tool's own classes and exceptions


def _is_known_type(kind: type) -> bool:
    return type(kind) in OWN or kind in _TYPED or issubclass(kind, BaseException)


def _type(value: Any, /) -> type[Any]:
    kind = type_of(value)
    if _is_known_type(kind):
        return kind
    raise TypeError(f"the type of a {kind.__name__} is not available to tools")


def type_title(kind: Any) -> str:
    """`kind.__name__`.

    Raises:
        AttributeError: If `kind` is not a class that tools can use.
    """
    if not isinstance(kind, type) or not _is_known_type(kind):
        raise AttributeError("only a class has a name for tools")
    return kind.__name__


def _hash(value: Any, /) -> int:
    """`hash`, for values whose hash does not depend on an address."""
    kind = type_of(value)
    if kind is tuple:
        return hash(tuple(_hash(part) for part in value))
    if value is None:
        return hash("None")
    if kind in METHODS or type(kind) in OWN or kind in OWN:
        return hash(value)
    raise TypeError(f"tools cannot hash a {kind.__name__}")


def _print(*values: Any, **options: Any) -> None:
    """Discards the output."""


_BUILTINS = """
    None False True Ellipsis NotImplemented abs all any bin bool bytearray bytes callable chr complex dict divmod
    enumerate filter float frozenset hex int isinstance issubclass iter len list map max min next object oct ord pow
    property range reversed round set slice sorted staticmethod classmethod str sum super tuple zip __build_class__
    ArithmeticError AssertionError AttributeError BufferError ConnectionError EOFError Exception FileNotFoundError
    FloatingPointError ImportError IndexError KeyError LookupError ModuleNotFoundError NameError NotImplementedError
    OSError OverflowError PermissionError RecursionError RuntimeError StopIteration TimeoutError TypeError
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError
"""
BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _BUILTINS.split()},
    "ascii": _ascii,
    "delattr": _delete_attribute,
    "format": _format_value,
    "getattr": attribute,
    "hasattr": _has_attribute,
    "hash": _hash,
    "print": _print,
    "repr": _repr,
    "setattr": _set_attribute,
    "type": _type,
    "vars": _vars,
}
GUARDS: dict[str, Any] = {
    "_augment_": augment,
    "_getattr_": get_attribute,
    "_getiter_": get_iterator,
    "_name_": type_title,
    "_own_": own,
    "_percent_": percent,
    "_shown_": shown,
    "_text_": text_of,
    "_update_": update,
    "_type_": _type,
    "_vars_": _vars,
    "_width_": width,
    "_write_": write,
    "_write_item_": write_item,
}

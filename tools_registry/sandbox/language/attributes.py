"""The attributes that tools can read, by exact type of the value: the tables of `guards`."""

from __future__ import annotations

import collections
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
import hmac
import io
import itertools
import json
import random
import re
import statistics
import string
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from tools_registry.sandbox.language import texts
from tools_registry.sandbox.language.classes import Dispatch
from tools_registry.specs.schema import type_of

NOW = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
"""The time that tools see: `datetime.now()`, `date.today()`."""
_UTC = datetime.UTC


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
ERROR_PARTS: dict[type, frozenset[str]] = {
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


class PlainContext(decimal.Context):
    """What `decimal.getcontext` gives: a copy of the context, because a tool changes it for a `with` block only."""

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, name, None) != value:
            raise TypeError("use `with decimal.localcontext() as context: context.prec = ...`")


def get_context() -> PlainContext:
    current = decimal.getcontext()
    return PlainContext(current.prec, current.rounding, current.Emin, current.Emax)


_CONTEXT = _words("prec rounding Emin Emax copy create_decimal divide sqrt")
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
    re.Pattern: _words("match search fullmatch findall finditer split sub subn pattern groups flags"),
    re.Match: _words(
        "group groups groupdict start end span expand lastindex lastgroup string pos endpos re regs __getitem__"
    ),
    decimal.Decimal: _DECIMAL,
    decimal.DecimalTuple: _words("sign digits exponent"),
    decimal.Context: _CONTEXT,
    fractions.Fraction: _words("numerator denominator limit_denominator as_integer_ratio real imag conjugate"),
    string.Template: _words("template"),
    Dispatch: _words("register"),
    functools.partial: _words("func args keywords"),
    PlainContext: _CONTEXT,
    io.StringIO: _words("write read readline readlines getvalue seek tell truncate close"),
    type(csv.reader([])): _words("line_num"),
    type(csv.writer(io.StringIO())): frozenset(),
    csv.DictReader: _words("fieldnames line_num"),
    difflib.SequenceMatcher: _words("ratio quick_ratio get_matching_blocks get_opcodes find_longest_match"),
    difflib.Match: _words("a b size count index"),
    graphlib.TopologicalSorter: _words("add prepare is_active get_ready done static_order"),
    hmac.HMAC: _words("hexdigest digest update copy name digest_size block_size"),
    urllib.parse.ParseResult: _words("scheme netloc path params query fragment hostname port username password geturl"),
    urllib.parse.SplitResult: _words("scheme netloc path query fragment hostname port username password geturl"),
    Random: RANDOM,
    dataclasses.Field: _words("name default default_factory init repr hash compare kw_only"),
    enum.Enum: _words("name value"),
    enum.Flag: _words("name value"),
    type(hashlib.sha256()): _words("hexdigest digest update copy name digest_size block_size"),
    type(functools.lru_cache(maxsize=1)(len)): _words("cache_clear cache_info"),
    type(functools.lru_cache(maxsize=1)(len).cache_info()): _words("hits misses maxsize currsize"),
}
"""The attributes that tools can read, by exact type."""
STR_FORMATS: dict[str, Callable[[Any], Any]] = {"format": texts.format_of, "format_map": texts.format_map_of}
WRAPPED: dict[type, dict[str, Callable[[Any], Any]]] = {
    str: STR_FORMATS,
    re.Pattern: {"groupindex": lambda pattern: dict(pattern.groupindex)},  # a proxy gives its dictionary to `==`
    dataclasses.Field: {"metadata": lambda field: dict(field.metadata)},
    type(csv.writer(io.StringIO())): {"writerow": texts.row_of, "writerows": texts.rows_of},
    string.Template: {
        "substitute": lambda template: texts.substitute_of(template.substitute),
        "safe_substitute": lambda template: texts.substitute_of(template.safe_substitute),
    },
    datetime.datetime: {
        "timestamp": lambda moment: _aware(moment).timestamp,
        "astimezone": _in_zone,
    },
}
"""Further attributes, by exact type, with the functions that implement them."""
CLASS_METHODS: dict[Any, frozenset[str]] = {
    int: _words("from_bytes"),
    float: _words("fromhex"),
    datetime.date: _words("fromisoformat fromordinal fromisocalendar min max resolution"),
    datetime.datetime: _words("fromisoformat fromordinal fromisocalendar combine min max resolution"),
    datetime.time: _words("fromisoformat min max"),
    datetime.timedelta: _words("min max resolution"),
    datetime.timezone: _words("utc min max"),
    itertools.chain: _words("from_iterable"),
    decimal.Decimal: _words("from_float"),
    fractions.Fraction: _words("from_float from_decimal"),
    statistics.NormalDist: _words("from_samples"),
}
"""Further attributes that tools can read of a class, besides those of its instances."""
CLASS_WRAPPED: dict[Any, dict[str, Any]] = {
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

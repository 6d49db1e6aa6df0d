"""What tool source may do: the one door to RestrictedPython.

Three steps turn untrusted source into a code object: a gate on size and shape, rewrites that let ordinary code
through (annotations are dropped, `d[k] += 1` is spelled out), and RestrictedPython's transformer. At run time
its guards allow by **exact type**: `str`, `list`, `dict` and a few others have named methods, classes defined
by the tool have their own attributes, everything else has none. No real module ever enters a tool's namespace:
`import math` binds a read-only façade with listed names. A language layer alone is no boundary; the worker
process (`tools_registry.worker`) is the second one.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import calendar
import collections
import copy
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import re
import statistics
import string
import textwrap
import time
import types
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from RestrictedPython import Guards
from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.transformer import RestrictingNodeTransformer

from tools_registry.schema import type_of

MAX_SOURCE = 32_000
MAX_BRACKETS = 60
MAX_NODES = 5_000


class RefusedSource(ValueError):
    """Tool source is outside the policy; the message says what and on which line."""


class ToolCode(NamedTuple):
    """Compiled tool source."""

    code: types.CodeType
    stateless: bool
    """Nothing at its top level can change, so one namespace serves any number of cases."""


def compile_tools(source: str, name: str = "tool") -> ToolCode:
    """Compiles untrusted source to a code object that is safe to run in a `namespace()`.

    Args:
        source: Imports, constants, functions and classes at top level.
        name: What to call the source in messages.

    Raises:
        RefusedSource: If the source is too large, does not parse, or is outside the policy.
    """
    tree = _parse(source)
    for node in tree.body:
        _check_shape(node)
    stateless = _is_stateless(tree)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    try:
        tree = ast.fix_missing_locations(_Rewrite(taken).visit(tree))
        result = compile_restricted_exec(tree, filename=f"<{name}>", policy=_Policy)
    except (SyntaxError, RecursionError, ValueError) as error:
        raise RefusedSource(str(error)) from None
    if result.code is None:
        raise RefusedSource("; ".join(result.errors[:3]))
    return ToolCode(result.code, stateless)


def _is_stateless(tree: ast.Module) -> bool:
    """Only imports and plain functions at top level, with constant defaults, no decorator and no `global`.

    Functions and façades cannot be written to, so such source has nowhere to keep anything between calls.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            if node.decorator_list or not all(isinstance(default, ast.Constant) for default in defaults):
                return False
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            return False
    return not any(isinstance(node, ast.Global) for node in ast.walk(tree))


def _parse(source: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise RefusedSource(f"source has {len(source)} characters, at most {MAX_SOURCE} are allowed")
    depth = 0
    for character in source:
        depth += (character in "([{") - (character in ")]}")
        if depth > MAX_BRACKETS:
            raise RefusedSource(f"brackets are nested deeper than {MAX_BRACKETS}")
    try:
        tree = ast.parse(source)
        nodes = sum(1 for _ in ast.walk(tree))
    except SyntaxError as error:
        raise RefusedSource(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RefusedSource(f"source does not parse: {error}") from None
    if nodes > MAX_NODES:
        raise RefusedSource(f"source has {nodes} syntax nodes, at most {MAX_NODES} are allowed")
    return tree


def _check_shape(node: ast.stmt) -> None:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    if not docstring and not isinstance(node, allowed):
        kind = type(node).__name__
        raise RefusedSource(
            f"line {node.lineno}: {kind} at top level; only imports, constants, functions and classes may stand there"
        )


class _Rewrite(ast.NodeTransformer):
    """Ordinary Python that RestrictedPython refuses, in words that it accepts."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.count = 0

    def fresh(self, role: str) -> str:
        while True:
            self.count += 1
            if (name := f"aug{self.count}_{role}") not in self.taken:
                return name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        arguments = node.args
        spread = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *spread]:
            argument.annotation = None
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return ast.Pass() if node.module == "__future__" else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Name):
            return node
        owner, value = self.fresh("owner"), self.fresh("value")
        lines: list[ast.stmt] = [_assign(ast.Name(owner, ast.Store()), target.value)]

        def place(ctx: ast.expr_context) -> ast.expr:
            held = ast.Name(owner, ast.Load())
            if isinstance(target, ast.Attribute):
                return ast.Attribute(held, target.attr, ctx)
            return ast.Subscript(held, ast.Name(index, ast.Load()), ctx)

        index = self.fresh("index")
        if isinstance(target, ast.Subscript):
            lines.append(_assign(ast.Name(index, ast.Store()), _index(target.slice)))
        lines.append(_assign(ast.Name(value, ast.Store()), place(ast.Load())))
        lines.append(ast.AugAssign(ast.Name(value, ast.Store()), node.op, node.value))
        lines.append(_assign(place(ast.Store()), ast.Name(value, ast.Load())))
        return [ast.fix_missing_locations(ast.copy_location(line, node)) for line in lines]


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target], value=value)


def _index(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.Slice):
        return node
    parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return ast.Call(ast.Name("slice", ast.Load()), parts, [])


class _Policy(RestrictingNodeTransformer):
    """RestrictedPython's allow-list, with `nonlocal` and `match` (no class patterns) added."""

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:  # noqa: N802
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:  # noqa: N802
        if not isinstance(node.value, ast.Constant | ast.UnaryOp):
            self.error(node, "a match pattern compares with constants only")
        return node

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:  # noqa: N802
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:  # noqa: N802
        self.check_name(node, node.rest)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:  # noqa: N802
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:  # noqa: N802
        self.check_name(node, node.name)
        return self.node_contents_visit(node)


# What a tool can reach at run time: façades, methods by exact type, builtins.


class Facade:
    """What `import NAME` binds: listed names of a module, read-only."""

    __slots__ = ("_names", "_title")

    def __init__(self, title: str, names: dict[str, Any]) -> None:
        object.__setattr__(self, "_title", title)
        object.__setattr__(self, "_names", names)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a module cannot be changed")

    def __getattribute__(self, name: str) -> Any:
        names = object.__getattribute__(self, "_names")
        if name in names:
            return names[name]
        title = object.__getattribute__(self, "_title")
        raise AttributeError(f"module {title!r} offers no {name!r} to tools")


class ToolClass(type):
    """The metaclass of classes that tool source defines: it marks them, and limits what they inherit from."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> ToolClass:
        for base in bases:
            if not (type(base) is ToolClass or issubclass(base, Exception)):
                raise TypeError(f"class {name} may inherit from its own classes and from exceptions only")
        return super().__new__(cls, name, bases, body)


def _strptime(text: str, pattern: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, pattern)


class _Fields(string.Formatter):
    """`str.format` without attribute or item lookup in its fields."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "." in field_name or "[" in field_name:
            raise ValueError("a format field is a plain name or number")
        return self.get_value(int(field_name) if field_name.isdigit() else field_name, args, kwargs), field_name


def _format(text: str) -> Callable[..., str]:
    return lambda *args, **kwargs: _Fields().vformat(text, args, kwargs)


def _memoize(function: Any = None, maxsize: Any = None, typed: bool = False) -> Any:
    """A stand-in for `functools.lru_cache`, whose real wrapper would carry attributes."""
    if not callable(function):
        return _memoize
    known: dict[Any, Any] = {}

    def remembered(*args: Any, **named: Any) -> Any:
        key = (args, tuple(named.items()))
        if key not in known:
            known[key] = function(*args, **named)
        return known[key]

    return remembered


def _copy(value: Any) -> Any:
    return copy.copy(value)


def _deepcopy(value: Any) -> Any:
    return copy.deepcopy(value)


class _Hint:
    """What a name of `typing` is bound to: it can be written in type aliases and does nothing."""

    __slots__ = ()

    def __getitem__(self, parts: Any) -> _Hint:
        return self

    def __or__(self, other: Any) -> _Hint:
        return self

    __ror__ = __or__


class _TypedDict(_Hint):
    """`TypedDict`: a class that inherits from it has no base."""

    __slots__ = ()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()


def _pick(module: types.ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


def _public(module: types.ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}


_TYPING = "Any Callable Dict Iterable Iterator List Literal Mapping Optional Sequence Set Tuple Union"
FACADES: dict[str, Facade] = {
    name: Facade(name, names)
    for name, names in {
        "math": _public(math),
        "statistics": _pick(
            statistics,
            "mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped mode multimode "
            "quantiles pstdev pvariance stdev variance correlation covariance linear_regression StatisticsError",
        ),
        "re": _pick(
            re,
            "compile match search fullmatch findall finditer split sub subn escape error A ASCII I IGNORECASE M "
            "MULTILINE S DOTALL X VERBOSE",
        ),
        "json": _pick(json, "loads dumps JSONDecodeError"),
        "datetime": _pick(datetime, "date datetime time timedelta timezone MINYEAR MAXYEAR"),
        "itertools": _public(itertools),
        "collections": _pick(collections, "Counter OrderedDict defaultdict deque"),
        "functools": {
            **_pick(functools, "reduce partial cmp_to_key"),
            "lru_cache": _memoize,
            "cache": _memoize,
        },
        "string": _pick(
            string,
            "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation "
            "whitespace capwords",
        ),
        "bisect": _public(bisect),
        "heapq": _pick(heapq, "heappush heappop heapify heapreplace heappushpop merge nlargest nsmallest"),
        "operator": _pick(
            operator,
            "add sub mul truediv floordiv mod neg pos pow lt le eq ne ge gt and_ or_ xor not_ truth itemgetter "
            "contains countOf indexOf",
        ),
        "decimal": _pick(
            decimal,
            "Decimal InvalidOperation ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN "
            "ROUND_HALF_UP ROUND_UP",
        ),
        "fractions": _pick(fractions, "Fraction"),
        "textwrap": _pick(textwrap, "dedent fill indent shorten wrap"),
        "unicodedata": _pick(unicodedata, "category combining decimal digit name normalize numeric"),
        "calendar": _pick(calendar, "isleap leapdays monthrange weekday"),
        "copy": {"copy": _copy, "deepcopy": _deepcopy},
        "typing": {**dict.fromkeys(_TYPING.split(), _Hint()), "TypedDict": _TypedDict()},
    }.items()
}

_STR = frozenset(
    [
        "capitalize",
        "casefold",
        "center",
        "count",
        "encode",
        "endswith",
        "expandtabs",
        "find",
        "format",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "maketrans",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "translate",
        "upper",
        "zfill",
    ]
)
_LIST = frozenset(["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"])
_DICT = frozenset(
    ["clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"]
)
_SET = frozenset(
    [
        "add",
        "clear",
        "copy",
        "difference",
        "difference_update",
        "discard",
        "intersection",
        "intersection_update",
        "isdisjoint",
        "issubset",
        "issuperset",
        "pop",
        "remove",
        "symmetric_difference",
        "symmetric_difference_update",
        "union",
        "update",
    ]
)
_DATE = frozenset(
    [
        "year",
        "month",
        "day",
        "weekday",
        "isoweekday",
        "isocalendar",
        "isoformat",
        "strftime",
        "replace",
        "toordinal",
        "timetuple",
        "ctime",
    ]
)
_TIME = frozenset(["hour", "minute", "second", "microsecond", "isoformat", "strftime", "replace", "tzinfo"])
_DECIMAL = frozenset(
    [
        "quantize",
        "normalize",
        "to_integral_value",
        "to_integral_exact",
        "as_tuple",
        "is_zero",
        "is_signed",
        "is_nan",
        "is_finite",
        "copy_abs",
        "sqrt",
        "adjusted",
        "compare",
        "scaleb",
        "exp",
        "ln",
        "log10",
        "max",
        "min",
    ]
)
METHODS: dict[type, frozenset[str]] = {
    str: _STR,
    bytes: frozenset({"decode", "hex"}),
    int: frozenset({"bit_length", "bit_count", "numerator", "denominator", "is_integer", "conjugate", "real"}),
    float: frozenset({"is_integer", "as_integer_ratio", "hex", "real"}),
    bool: frozenset({"bit_length"}),
    list: _LIST,
    tuple: frozenset({"count", "index"}),
    dict: _DICT,
    set: _SET,
    frozenset: _SET & frozenset(dir(frozenset)),
    range: frozenset({"start", "stop", "step", "count", "index"}),
    slice: frozenset({"start", "stop", "step", "indices"}),
    collections.Counter: _DICT | {"most_common", "elements", "subtract", "total"},
    collections.defaultdict: _DICT,
    collections.OrderedDict: _DICT | {"move_to_end"},
    collections.deque: _LIST - {"sort"} | {"appendleft", "popleft", "extendleft", "rotate", "maxlen"},
    datetime.date: _DATE,
    datetime.datetime: _DATE | _TIME | {"date", "time"},
    datetime.time: _TIME,
    datetime.timedelta: frozenset({"days", "seconds", "microseconds", "total_seconds"}),
    type(datetime.date(2000, 1, 1).isocalendar()): frozenset({"year", "week", "weekday"}),
    time.struct_time: frozenset(name for name in dir(time.struct_time) if name.startswith("tm_")),
    statistics.LinearRegression: frozenset({"slope", "intercept"}),
    re.Pattern: frozenset(
        [
            "match",
            "search",
            "fullmatch",
            "findall",
            "finditer",
            "split",
            "sub",
            "subn",
            "pattern",
            "groups",
            "groupindex",
            "flags",
        ]
    ),
    re.Match: frozenset(
        ["group", "groups", "groupdict", "start", "end", "span", "expand", "lastindex", "lastgroup", "string", "pos"]
    ),
    decimal.Decimal: _DECIMAL,
    decimal.DecimalTuple: frozenset({"sign", "digits", "exponent"}),
    fractions.Fraction: frozenset({"numerator", "denominator", "limit_denominator", "as_integer_ratio"}),
}
_CLASS_METHODS: dict[Any, frozenset[str]] = {
    **{kind: METHODS[kind] - {"format"} for kind in (str, list, dict, set, int, float)},
    datetime.date: _DATE | {"fromisoformat", "fromordinal", "fromisocalendar", "min", "max"},
    datetime.datetime: _DATE | {"fromisoformat", "fromordinal", "combine", "strptime", "min", "max"},
    datetime.time: frozenset({"fromisoformat", "min", "max"}),
    datetime.timedelta: frozenset({"min", "max"}),
    datetime.timezone: frozenset({"utc"}),
    bytes: frozenset({"fromhex"}),
    itertools.chain: frozenset({"from_iterable"}),
    collections.Counter: frozenset({"fromkeys"}),
}
_NONE: dict[str, Any] = {}
_ITERATORS: set[type] = {
    type(made)
    for made in cast(tuple[Any, ...], (
        iter([]), iter(()), iter(_NONE), iter(_NONE.values()), iter(_NONE.items()), iter(set[int]()), iter(""),
        iter(range(0)), iter(range(2**70)), reversed([]), reversed(_NONE), reversed(_NONE.values()),
        reversed(_NONE.items()), _NONE.keys(), _NONE.values(), _NONE.items(), (part for part in ()),
        re.finditer("", ""), iter(collections.deque[int]()), next(itertools.groupby("a"))[1], *itertools.tee(()),
        heapq.merge(), collections.OrderedDict[str, int]().keys(), collections.OrderedDict[str, int]().values(),
        collections.OrderedDict[str, int]().items(), iter(collections.OrderedDict[str, int]()),
    ))
}  # fmt: skip
_ITERABLE: frozenset[type] = frozenset(
    {str, bytes, list, tuple, dict, set, frozenset, range, enumerate, zip, map, filter, reversed}
    | {collections.Counter, collections.defaultdict, collections.OrderedDict, collections.deque}
    | {type(datetime.date(2000, 1, 1).isocalendar()), decimal.DecimalTuple}
    | {time.struct_time, statistics.LinearRegression}
    | {kind for kind in vars(itertools).values() if isinstance(kind, type)}
    | _ITERATORS
)
_WRITABLE: frozenset[type] = frozenset(
    {list, dict, collections.Counter, collections.defaultdict, collections.OrderedDict, collections.deque}
)


def _getattr(owner: Any, name: str) -> Any:
    kind = type_of(owner)
    listed = METHODS.get(kind)
    if listed is not None and name in listed:
        return _format(owner) if name == "format" and kind is str else getattr(owner, name)
    if kind is Facade:
        return getattr(owner, name)
    if kind is type and name in _CLASS_METHODS.get(owner, ()):
        return _strptime if name == "strptime" else getattr(owner, name)
    if type(kind) is ToolClass or kind is ToolClass:
        return _own_attribute(owner, kind, name)
    if isinstance(owner, BaseException) and name == "args":
        return owner.args
    label = (cast(type[Any], owner) if kind is type else kind).__name__
    raise AttributeError(f"{label!r} offers no attribute {name!r} to tools")


def _own_attribute(owner: Any, kind: type, name: str) -> Any:
    lineage = (owner if kind is ToolClass else kind).__mro__
    own = kind is not ToolClass and name in getattr(owner, "__dict__", {})
    if own or name == "args" or any(type(base) is ToolClass and name in vars(base) for base in lineage):
        return getattr(owner, name)
    raise AttributeError(f"{kind.__name__!r} has no attribute {name!r}")


def _write(owner: Any) -> Any:
    kind = type_of(owner)
    if kind in _WRITABLE or type(kind) is ToolClass:
        return owner
    raise TypeError(f"a tool cannot change a {kind.__name__}")


def _getiter(values: Any) -> Any:
    kind = type_of(values)
    if kind in _ITERABLE or type(kind) is ToolClass:
        return values
    raise TypeError(f"{kind.__name__!r} object is not iterable")


_OPERATOR = cast(Any, operator)
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": _OPERATOR.iadd, "-=": _OPERATOR.isub, "*=": _OPERATOR.imul, "/=": _OPERATOR.itruediv,
    "//=": _OPERATOR.ifloordiv, "%=": _OPERATOR.imod, "**=": _OPERATOR.ipow, "<<=": _OPERATOR.ilshift,
    ">>=": _OPERATOR.irshift, "|=": _OPERATOR.ior, "^=": _OPERATOR.ixor, "&=": _OPERATOR.iand,
}  # fmt: skip


def _inplace(operation: str, left: Any, right: Any) -> Any:
    return _IN_PLACE[operation](left, right)


def _apply(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


_C_IMPORTS = frozenset({"time", "_strptime"})


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Facade:
    """What an import statement binds; and lets C code through, which imports `time` to format a date.

    C code passes a list as `fromlist`, which no statement does, and takes the module from `sys.modules` itself.
    """
    if name in _C_IMPORTS and type(fromlist) is list:
        return Facade(name, {})
    if level or name not in FACADES:
        raise ImportError(f"tools cannot import {name!r}; they can import {', '.join(sorted(FACADES))}")
    return FACADES[name]


def _type(value: Any) -> type[Any]:
    kind = type_of(value)
    if issubclass(kind, type):
        raise TypeError("the type of a class is not available to tools")
    return kind


class _Print:
    """Swallows what a tool prints."""

    def __init__(self, getattr_: Any = None) -> None:
        pass

    def _call_print(self, *values: Any, **options: Any) -> None:
        pass

    def __call__(self) -> str:
        return ""


_BUILTINS = """
    None False True abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float format
    frozenset hex int isinstance issubclass iter len list map max min next oct ord pow property range repr reversed
    round set slice sorted staticmethod classmethod str sum tuple zip __build_class__
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError
    NotImplementedError OverflowError RecursionError RuntimeError StopIteration TypeError UnicodeDecodeError
    UnicodeEncodeError UnicodeError ValueError ZeroDivisionError FloatingPointError ImportError
"""
BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _BUILTINS.split()},
    "type": _type,
    "__import__": _import,
}
_GUARDS: dict[str, Any] = {
    "_getattr_": _getattr,
    "_getitem_": operator.getitem,
    "_getiter_": _getiter,
    "_write_": _write,
    "_inplacevar_": _inplace,
    "_apply_": _apply,
    "_unpack_sequence_": cast(Any, Guards).guarded_unpack_sequence,
    "_iter_unpack_sequence_": cast(Any, Guards).guarded_iter_unpack_sequence,
    "_print_": _Print,
    "__metaclass__": ToolClass,
    "__name__": "tool",
}


def namespace() -> dict[str, Any]:
    """Fresh globals for tool code: the guards and the allowed builtins, nothing from an earlier case."""
    return {"__builtins__": BUILTINS.copy(), **_GUARDS}


def self_test() -> None:
    """Proves that the guards are on.

    Raises:
        RuntimeError: If source that must be refused gets through.
    """
    attacks: Iterable[str] = (
        "def tool():\n    return ().__class__",
        "def tool():\n    return '{0.real}'.format(1)",
        "import statistics\ndef tool():\n    return statistics.sys",
        "def tool():\n    return open('x')",
        "import os\ndef tool():\n    return os",
    )
    for source in attacks:
        scope = namespace()
        try:
            exec(compile_tools(source).code, scope)
            cast(Callable[[], Any], scope["tool"])()
        except (RefusedSource, AttributeError, ValueError, NameError, ImportError):
            continue
        raise RuntimeError(f"the tool policy is off: {source!r} went through")

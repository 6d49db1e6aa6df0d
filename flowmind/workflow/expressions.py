"""The condition language: a small subset of Python expressions, checked against an allow-list when loaded.

`translate` turns an expression into Python source that the compiled workflow contains; `HELPERS` are the
functions which that source calls. On the subset the result equals CPython's, except that size, steps and
exponents are capped. Unknown names and everything outside the subset are errors at load time, with the column.
Division by zero, a missing key or a wrong type are errors of the case, never "false".

An expression ends within a few hundredths of a second, whatever it is and whatever its values are. One operation is
bounded by the size of what it gives. Where operations can multiply (a comprehension, or more than `MAX_BULK` of
them on values of any size), the source counts steps in a `Fuel`; plain comparisons and arithmetic count nothing.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import GeneratorType
from typing import Any, NoReturn

from tools_registry.specs.schema import type_of
from tools_registry.specs.values import CaseError

MAX_TEXT = 2_000
MAX_NODES = 300
MAX_DEPTH = 40
MAX_INT_BITS = 4_096
MAX_EXPONENT = 64
MAX_DIGITS = 400
MAX_ITERATIONS = 100_000
MAX_LENGTH = 1_000_000
MAX_SEARCH = 10_000_000
"""The product of two lengths, for methods that compare each character with each."""
MAX_STEPS = 1_000_000
MAX_BULK = 32

TYPES = ("int", "float", "str", "bool", "list", "dict")
FUNCTIONS = [
    "len",
    "sum",
    "min",
    "max",
    "abs",
    "round",
    "any",
    "all",
    "sorted",
    "str",
    "int",
    "float",
    "bool",
    "isinstance",
]
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        [
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "title",
            "capitalize",
            "startswith",
            "endswith",
            "removeprefix",
            "removesuffix",
            "split",
            "splitlines",
            "find",
            "rfind",
            "count",
            "index",
            "isdigit",
            "isalpha",
            "isalnum",
            "isnumeric",
            "isspace",
            "isupper",
            "islower",
            "istitle",
            "replace",
            "join",
        ]
    ),
    dict: frozenset({"get", "keys", "values", "items"}),
    list: frozenset({"count", "index"}),
}
_METHOD_NAMES = frozenset[str]().union(*METHODS.values())
_GUARDED = {"replace", "join", "rfind", "strip", "lstrip", "rstrip"}
"""Methods whose cost their arguments decide."""
_CONSUMERS = {"sum", "min", "max", "any", "all", "sorted"}
_BULKY = {*_CONSUMERS, "str", "int", "float", "round"}

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "x_add", ast.Sub: "x_sub", ast.Mult: "x_mul", ast.Div: "x_div", ast.FloorDiv: "x_floordiv",
    ast.Mod: "x_mod", ast.Pow: "x_pow",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.Not: "not ", ast.USub: "-", ast.UAdd: "+"}
_HINTS: dict[type[ast.AST], str] = {
    ast.Attribute: "attributes are not available; write order['total'] for a field",
    ast.JoinedStr: "f-strings are not available",
    ast.Lambda: "lambda is not available",
    ast.NamedExpr: "assignment is not available; use an assign node",
    ast.DictComp: "only list comprehensions and generators with one `for` are available",
    ast.SetComp: "only list comprehensions and generators with one `for` are available",
    ast.Set: "sets are not available; write a list",
    ast.Starred: "unpacking is not available",
    ast.Tuple: "tuples are not available; write a list",
}


class ExpressionError(ValueError):
    """An expression is outside the language; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"column {column}: {message}")
        self.column = column


def parse(text: str) -> ast.expr:
    """Parses an expression and checks it against the allow-list.

    Raises:
        ExpressionError: With the column of what is outside the language.
    """
    if not text.strip():
        raise ExpressionError("the expression is empty", 1)
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"{len(text)} characters, at most {MAX_TEXT} are allowed", MAX_TEXT)
    if any(ord(character) < 32 for character in text):
        raise ExpressionError("line breaks and control characters are not allowed", 1)
    margin = len(text) - len(text.lstrip())
    try:
        tree = _parsed(text.strip())
    except SyntaxError as error:
        column = error.offset or len(text.strip()) + 1  # 0 where more should have come
        raise ExpressionError(f"not a Python expression: {error.msg}", margin + column) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not a Python expression: {error}", 1) from None
    _check_size(tree)
    _count_columns_in(text, tree)
    _check(tree)
    return tree


def _parsed(text: str) -> ast.expr:
    if "\\" not in text:
        return ast.parse(text, mode="eval").body
    with warnings.catch_warnings():  # an escape that Python does not know is two characters, and a warning
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


def names(text: str) -> frozenset[str]:
    """The variables that an expression reads.

    Raises:
        ExpressionError: If the expression is outside the language.
    """
    return _free(parse(text), frozenset())


def translate(text: str, variables: Mapping[str, str]) -> str:
    """Python source of an expression, for `HELPERS` in scope.

    Args:
        text: The expression.
        variables: For each variable in scope, the Python name that holds it.

    Raises:
        ExpressionError: If the expression is outside the language or names an unknown variable.
    """
    tree = parse(text)
    heavy = _bulk(tree) > MAX_BULK
    loops = sum(isinstance(node, ast.ListComp | ast.GeneratorExp) for node in ast.walk(tree))
    writer = _Writer(variables, heavy, alone=loops == 1)
    source = writer.weighed(writer.write(tree)) if not _is_scalar(tree) else writer.write(tree)
    return f"((fuel := x_fuel()) and {source})" if "fuel." in source else source


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression for given variables.

    Raises:
        ExpressionError: If it is outside the language.
        CaseError: `expression_error` if these values give no result.
    """
    renamed = {name: f"v_{name}" for name in values}
    source = translate(text, renamed)
    scope: dict[str, Any] = {"__builtins__": {}, **HELPERS, **{renamed[key]: values[key] for key in values}}
    try:
        value = eval(source, scope)
    except CaseError:
        raise
    except Exception as error:
        raise CaseError("expression_error", f"{type(error).__name__}: {error}") from None
    if type(value) in _VIEWS:
        raise CaseError("expression_error", f"{type(value).__name__} is no value of its own; write a list of it")
    return value


def _refuse(node: ast.AST, message: str) -> NoReturn:
    raise ExpressionError(message, getattr(node, "col_offset", 0) + 1)


def _count_columns_in(text: str, tree: ast.expr) -> None:
    """Turns the parser's columns, bytes of the stripped text, into characters of the text as given.

    Names must stand there as the parser has them: it takes letters that look alike, such as a wide `n`, for one.
    """
    stripped = text.lstrip()
    margin, encoded = len(text) - len(stripped), stripped.encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            written = encoded[node.col_offset : node.end_col_offset].decode()
            node.col_offset = margin + len(encoded[: node.col_offset].decode())
            if isinstance(node, ast.Name) and written != node.id:
                _refuse(node, f"name {written!r} is not available; names are of ASCII letters, digits and _")
            if isinstance(node, ast.Attribute) and not written.endswith(node.attr):
                _refuse(node, f"{written!r} is not available; names are of ASCII letters, digits and _")


def _check_size(tree: ast.expr) -> None:
    stack: list[tuple[ast.AST, int]] = [(tree, 1)]
    count = 0
    while stack:
        node, depth = stack.pop()
        if not isinstance(node, ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop):
            count += 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            _refuse(node, f"too long or nested too deeply (at most {MAX_NODES} parts, depth {MAX_DEPTH})")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _check(node: ast.expr, used_up: bool = False) -> None:
    """Refuses what is outside the language.

    Args:
        node: A part of an expression.
        used_up: Whether it stands where something goes through its elements at once.
    """
    match node:
        case ast.Constant(value=value):
            if value is not None and type(value) not in (bool, int, float, str):
                _refuse(node, f"a constant of type {type(value).__name__} is not available")
        case ast.Name(id=name):
            if not name.isascii() or name.startswith("_"):
                _refuse(node, f"name {name!r} is not available")
        case ast.BoolOp() | ast.IfExp() | ast.List():
            pass
        case ast.UnaryOp(op=op):
            if type(op) not in _UNARY:
                _refuse(node, "operator ~ is not available")
        case ast.BinOp(op=op):
            if type(op) not in _BINARY:
                _refuse(node, f"operator {type(op).__name__} is not available; use + - * / // % **")
        case ast.Compare(ops=ops, comparators=right):
            for op, other in zip(ops, right, strict=True):
                if isinstance(op, ast.Is | ast.IsNot) and not _is_none(other):
                    _refuse(node, "`is` compares with None only; use == for values")
        case ast.Dict(keys=keys):
            if any(key is None for key in keys):
                _refuse(node, "unpacking is not available")
        case ast.Subscript(slice=index):
            if isinstance(index, ast.Tuple):
                _refuse(index, "one index at a time")
            if isinstance(index, ast.Constant) and str(index.value).startswith("__"):
                _refuse(index, f"key {index.value!r} is not available")
        case ast.Slice():
            pass
        case ast.ListComp(generators=loops) | ast.GeneratorExp(generators=loops):
            if isinstance(node, ast.GeneratorExp) and not used_up:
                _refuse(node, "a generator stands only where it is used up, as in sum(...); write a list: [...]")
            _check_loop(node, loops)
            _check(loops[0].iter, used_up=True)
            for part in (node.elt, *loops[0].ifs):
                _check(part)
            return
        case ast.Call():
            _check_call(node)
            return
        case _:
            _refuse(node, _HINTS.get(type(node), f"{type(node).__name__} is not available"))
    for child in _children(node):
        _check(child)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _check_loop(node: ast.expr, loops: list[ast.comprehension]) -> None:
    if len(loops) != 1 or loops[0].is_async or not isinstance(loops[0].target, ast.Name):
        _refuse(node, "a comprehension has one `for` with one name")
    if loops[0].target.id.startswith("_") and loops[0].target.id != "_":
        _refuse(loops[0].target, f"name {loops[0].target.id!r} is not available")


def _check_call(node: ast.Call) -> None:
    if node.keywords:
        _refuse(node, "named arguments are not available here")
    match node.func:
        case ast.Name(id=name):
            if name not in FUNCTIONS:
                _refuse(node, f"function {name!r} is not available; available: {', '.join(FUNCTIONS)}")
            if name == "isinstance":
                _check_isinstance(node)
                return
        case ast.Attribute(attr=name, value=owner):
            if name not in _METHOD_NAMES:
                _refuse(node, f"method {name!r} is not available; available: {', '.join(sorted(_METHOD_NAMES))}")
            _check(owner)
        case _:
            _refuse(node, "only listed functions and methods can be called")
    for argument in node.args:
        alone = len(node.args) == 1 or (name == "sum" and argument is node.args[0])
        _check(argument, used_up=alone and name in (*_CONSUMERS, "join"))


def _check_isinstance(node: ast.Call) -> None:
    kinds = node.args[1] if len(node.args) == 2 else None
    listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    if not all(isinstance(kind, ast.Name) and kind.id in TYPES for kind in listed):
        _refuse(node, f"isinstance takes a value and one or several of {', '.join(TYPES)}")
    _check(node.args[0])


def _children(node: ast.expr) -> Iterable[ast.expr]:
    """The expressions right below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child


def _free(node: ast.expr, bound: frozenset[str]) -> frozenset[str]:
    if isinstance(node, ast.Name):
        return frozenset({node.id}) - bound
    if isinstance(node, ast.Call):
        parts: list[ast.expr] = node.args[:1] if _calls(node, "isinstance") else list(node.args)
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
        return frozenset[str]().union(*(_free(part, bound) for part in parts))
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        loop = node.generators[0]
        target = loop.target.id if isinstance(loop.target, ast.Name) else ""
        inner = [_free(part, bound | {target}) for part in (node.elt, *loop.ifs)]
        return _free(loop.iter, bound).union(*inner)
    return frozenset[str]().union(*(_free(child, bound) for child in _children(node)))


def _calls(node: ast.Call, name: str) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == name


def _bulk(tree: ast.expr) -> int:
    """How many operations there are in an expression whose cost grows with their values."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                count += not (_is_number(left) or _is_number(right))
            case ast.Compare(left=left, comparators=right):
                count += not any(isinstance(side, ast.Constant) for side in (left, *right))
            case ast.Call(func=ast.Name(id=name)):
                count += name in _BULKY
            case ast.Call() | ast.Slice():
                count += 1
            case ast.List(elts=parts) | ast.Dict(values=parts):
                count += sum(not isinstance(part, ast.Constant) for part in parts)
            case _:
                pass
    return count


def _is_number(node: ast.expr) -> bool:
    """Whether a part is a small number that stands there."""
    return isinstance(node, ast.Constant) and (
        isinstance(node.value, float) or (isinstance(node.value, int) and node.value.bit_length() < 64)
    )


def _is_scalar(node: ast.expr) -> bool:
    """Whether a part can be seen to be no list, object or text, whatever its values are."""
    match node:
        case ast.Constant() | ast.Compare() | ast.UnaryOp():
            return True
        case ast.BinOp(left=left, op=op, right=right):
            return not isinstance(op, ast.Add) or _is_number(left) or _is_number(right)
        case ast.Call(func=ast.Name(id=name)):
            return name in ("len", "abs", "round", "any", "all", "int", "float", "bool", "isinstance")
        case _:
            return False


def _is_of_constants(node: ast.expr) -> bool:
    """Whether a part is a constant or a list of them."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.List) and all(isinstance(part, ast.Constant) for part in node.elts)
    )


def _held_parts(node: ast.expr, target: str) -> int:
    """How often an element of a loop may hold what was gone through; 2 where that, or anything else, may repeat."""
    if _is_scalar(node):
        return 0
    if isinstance(node, ast.List):
        return sum(_held_parts(part, target) for part in node.elts)
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return sum(_held_parts(part, target) for part in node.values)
    while isinstance(node, ast.Subscript):
        node = node.value
    return 1 if isinstance(node, ast.Name) and node.id == target else 2


def _steps(node: ast.ListComp | ast.GeneratorExp) -> int:
    """What a round of a loop costs: one step, and one for each operation and each part of a list in it."""
    inner = [part for root in (node.elt, *node.generators[0].ifs) for part in ast.walk(root)]
    count = 1 + sum(isinstance(part, ast.expr) and not isinstance(part, ast.Name | ast.Constant) for part in inner)
    return count + sum(len(list(_children(part))) for part in inner if isinstance(part, ast.List | ast.Dict))


class _Writer:
    """Writes a checked expression as Python source over `HELPERS`.

    Args:
        variables: For each variable in scope, the Python name that holds it.
        counting: Whether the parts are run so often that what they do is taken off `fuel`.
        alone: Whether the expression has one loop.
    """

    def __init__(self, variables: Mapping[str, str], counting: bool, alone: bool = False) -> None:
        self.variables = dict(variables)
        self.counting = counting
        self.alone = alone

    def write(self, node: ast.expr | None) -> str:
        match node:
            case None:
                return "None"
            case ast.Constant(value=float(value)) if math.isinf(value):
                return "(1e999)"
            case ast.Constant(value=value):
                return f"({value!r})" if type(value) in (int, float) else repr(value)
            case ast.Name(id=name):
                if name not in self.variables:
                    known = ", ".join(sorted(self.variables)) or "none"
                    _refuse(node, f"unknown variable {name!r}; in scope: {known}")
                return self.variables[name]
            case ast.BoolOp(op=op, values=values):
                word = " and " if isinstance(op, ast.And) else " or "
                return f"({word.join(self.write(value) for value in values)})"
            case ast.UnaryOp(op=op, operand=operand):
                return f"({_UNARY[type(op)]}{self.write(operand)})"
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(left, op, right)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.write(body)} if {self.write(test)} else {self.write(orelse)})"
            case ast.List(elts=elements):
                return f"[{', '.join(self.write(element) for element in elements)}]"
            case ast.Dict(keys=keys, values=values):
                pairs = [f"{self.write(key)}: {self.write(value)}" for key, value in zip(keys, values, strict=True)]
                return f"{{{', '.join(pairs)}}}"
            case ast.Subscript(value=value, slice=index):
                source = f"{self.held(value)}[{self.index(index)}]"
                return self.weighed(source) if isinstance(index, ast.Slice) else source
            case ast.ListComp():
                return f"[{self.loop(node, kept=True)}]"
            case ast.GeneratorExp():
                return f"({self.loop(node, kept=True)})"
            case ast.Call():
                return self.call(node)
            case _:
                raise AssertionError(f"an unchecked {type(node).__name__} reached the writer")

    def held(self, node: ast.expr) -> str:
        """A part of which something is asked that Python warns of where it sees a constant."""
        source = self.write(node)
        fixed = isinstance(node, ast.Constant | ast.UnaryOp | ast.List | ast.ListComp)
        return f"x_held({source})" if fixed else source

    def weighed(self, source: str, long: bool = True) -> str:
        """A part whose size counts; `long` where that of a number does not."""
        if not self.counting:
            return source
        if long and source.isidentifier():  # most are numbers: asked here, that takes a third of the time
            return f"({source} if x_type({source}) in x_light else fuel.weigh({source}))"
        return f"fuel.weigh({source})"

    def binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        sides = [self.write(left), self.write(right)]
        name = _BINARY[type(op)]
        if self.counting and not (_is_number(left) or _is_number(right)):
            if isinstance(op, ast.Add | ast.Mult):
                name = name.replace("x_", "fuel.")
            elif isinstance(op, ast.FloorDiv | ast.Mod):
                sides[0] = self.weighed(sides[0], long=False)
        source = f"{name}({', '.join(sides)})"
        return self.weighed(source) if isinstance(op, ast.Pow) else source

    def compare(self, node: ast.Compare) -> str:
        parts = [node.left, *node.comparators]
        within = [isinstance(op, ast.In | ast.NotIn) for op in node.ops]
        if self.counting and within == [True] and not _is_of_constants(parts[1]):
            word = "not " if isinstance(node.ops[0], ast.NotIn) else ""
            return f"({word}fuel.holds({self.write(parts[0])}, {self.write(parts[1])}))"
        asks_none = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        sources = [self.held(part) if asks_none else self.write(part) for part in parts]
        shown = sources[0]
        for place, op in enumerate(node.ops):
            right = parts[place + 1]
            light = _is_of_constants(right) or (not within[place] and (_is_scalar(parts[place]) or _is_scalar(right)))
            other = sources[place + 1] if light else self.weighed(sources[place + 1])
            if not light and len(parts) == 2 and sources[0].isidentifier():  # one side is enough
                shown, other = self.weighed(sources[0]), sources[1]
            shown += f" {_COMPARE[type(op)]} {other}"
        return f"({shown})"

    def index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice):
            return ":".join(self.write(part) if part else "" for part in (node.lower, node.upper, node.step))
        return self.write(node)

    def loop(self, node: ast.ListComp | ast.GeneratorExp, kept: bool) -> str:
        """A loop.

        Args:
            node: The comprehension or generator.
            kept: Whether its elements are kept or compared, so that what they hold counts.
        """
        loop = node.generators[0]
        assert isinstance(loop.target, ast.Name)
        source, name = self.write(loop.iter), loop.target.id
        inner = _Writer({**self.variables, name: f"c_{name}"}, counting=True)
        element = inner.write(node.elt)
        if kept and _held_parts(node.elt, name) > 1:
            element = inner.weighed(element)
        tests = "".join(f" if {inner.write(test)}" for test in loop.ifs)
        steps = _steps(node)
        light = self.alone and steps * MAX_ITERATIONS <= MAX_STEPS and "fuel." not in element + tests
        over = f"x_iter({source})" if light else f"fuel.over({source}, {steps})"
        return f"{element} for c_{name} in {over}{tests}"

    def call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            arguments = [self.write(node.func.value), repr(name), *(self.write(argument) for argument in node.args)]
            if self.counting and name in ("count", "index"):
                return f"fuel.search({', '.join(arguments)})"
            return self.called("x_guarded" if name in _GUARDED else "x_method", arguments)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "isinstance":
            kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            listed = ", ".join(f"t_{kind.id}" for kind in kinds if isinstance(kind, ast.Name))
            return f"x_isinstance({self.write(node.args[0])}, ({listed},))"
        kept = name in ("min", "max", "sorted") or len(node.args) > 1
        arguments = [
            f"({self.loop(argument, kept)})" if isinstance(argument, ast.GeneratorExp) else self.write(argument)
            for argument in node.args
        ]
        if name not in _BULKY:
            return f"x_{name}({', '.join(arguments)})"
        return self.called(f"x_{name}", arguments)

    def called(self, function: str, arguments: list[str]) -> str:
        if self.counting:
            return f"fuel.call({', '.join([function, *arguments])})"
        return f"{function}({', '.join(arguments)})"


# What translated expressions call. Values are JSON values, lists of them, or dict views: exact builtin types.

_EMPTY: dict[str, Any] = {}
_VALUES, _ITEMS = type_of(_EMPTY.values()), type_of(_EMPTY.items())
_VIEWS = frozenset({type_of(_EMPTY.keys()), _VALUES, _ITEMS})
_NUMBERS = frozenset({int, float, bool})
_LIGHT = frozenset({int, float, bool, type(None)})
_WIDE = 1 << 64
_INT_BOUND = 1 << MAX_INT_BITS


def _limit(value: Any) -> Any:
    kind = type_of(value)
    if kind is int:
        if not -_INT_BOUND < value < _INT_BOUND:
            raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    elif kind in (str, list, tuple) and len(value) > MAX_LENGTH:
        raise CaseError("too_large", f"a value longer than {MAX_LENGTH}")
    return value


def _add(left: Any, right: Any) -> Any:
    return _limit(left + right)


def _subtract(left: Any, right: Any) -> Any:
    if type(left) in _VIEWS:
        raise TypeError("- subtracts numbers only")
    return left - right


def _divide(left: Any, right: Any) -> Any:
    return left / right


def _floor_divide(left: Any, right: Any) -> Any:
    return left // right


def _multiply(left: Any, right: Any) -> Any:
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return _limit(left * right)
    raise TypeError("* multiplies numbers only")


def _modulo(left: Any, right: Any) -> Any:
    if type(left) is str:
        raise TypeError("% is the remainder of numbers; it does not format text")
    return left % right


def _power(left: Any, right: Any) -> Any:
    if abs(right) > MAX_EXPONENT:
        raise CaseError("too_large", f"an exponent beyond {MAX_EXPONENT}")
    if type(left) is int and type(right) is int and (left.bit_length() - 1) * right >= MAX_INT_BITS:
        raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    result = left**right
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is not a real number")
    return _limit(result)


def _held(value: Any) -> Any:
    return value


def _iterate(values: Any) -> Any:
    if len(values) > MAX_ITERATIONS:
        raise CaseError("too_large", f"a comprehension over more than {MAX_ITERATIONS} elements")
    return values


def _method(owner: Any, name: str, *arguments: Any) -> Any:
    kind = type_of(owner)
    if name not in METHODS.get(kind, ()):
        raise TypeError(f"{kind.__name__} has no method {name!r} here")
    return _limit(getattr(owner, name)(*arguments))


def _guarded(owner: Any, name: str, *arguments: Any) -> Any:
    """A method of text that takes long, or gives much, for some arguments."""
    if type(owner) is str and arguments:
        if name == "join":
            parts: list[Any] = list(arguments[0])
            _fits(sum(len(part) for part in parts if type(part) is str) + len(owner) * max(0, len(parts) - 1))
            arguments = (parts, *arguments[1:])
        elif name == "replace":
            _fits(_replaced(owner, *arguments))
        elif type(arguments[0]) is str and len(owner) * len(arguments[0]) > MAX_SEARCH:
            raise CaseError("too_large", f"{name}: two texts whose lengths multiply to more than {MAX_SEARCH}")
    return _method(owner, name, *arguments)


def _replaced(owner: str, old: Any, new: Any = None, most: Any = -1) -> int:
    """How long a text becomes; 0 where that is an error anyway."""
    if type(old) is not str or type(new) is not str or not isinstance(most, int):
        return 0
    times = owner.count(old)
    return len(owner) + (times if most < 0 else min(times, most)) * (len(new) - len(old))


def _fits(length: int) -> None:
    if length > MAX_LENGTH:
        raise CaseError("too_large", f"a value longer than {MAX_LENGTH}")


def _size(value: Any, most: int, shift: int) -> int:
    """The parts of a value, and its characters divided by two to the power of `shift`; ends beyond `most`."""
    total, todo = 1, [value]
    while todo and total <= most:
        part = todo.pop()
        kind = type_of(part)
        if kind is str:
            total += 2 + (len(part) >> shift)
        elif kind is dict:
            total += 10 + 2 * len(part)
            todo += part
            if not {*map(type, part.values())} <= _LIGHT:
                todo += part.values()
        elif kind in (list, tuple) or kind in _VIEWS:
            total += 10 + len(part)
            if not {*map(type, part)} <= _LIGHT:
                todo += part
    return total


def _sorted(values: Any) -> list[Any]:
    if hasattr(values, "__len__") and len(values) > MAX_ITERATIONS:
        raise CaseError("too_large", f"sorting more than {MAX_ITERATIONS} elements")
    return sorted(values)


def _sum(values: Any, *start: Any) -> Any:
    if len(start) != 1 or type(start[0]) not in (list, tuple):
        return _limit(sum(values, *start))
    joined: list[Any] = list(start[0])  # Python copies what it has at each step
    for part in values:
        if type(part) is not type(start[0]):
            raise TypeError(f"can only concatenate {type(start[0]).__name__} to {type(start[0]).__name__}")
        joined += part
        _fits(len(joined))
    return joined if type(start[0]) is list else tuple(joined)


def _round(value: Any, *digits: Any) -> Any:
    if any(type(count) is int and abs(count) > MAX_DIGITS for count in digits):
        raise CaseError("too_large", f"rounding to more than {MAX_DIGITS} digits")
    return round(value, *digits)


def _int(*arguments: Any) -> int:
    return _limit(int(*arguments))


def _str(*arguments: Any) -> str:
    if arguments and type(arguments[0]) not in (str, *_NUMBERS):
        _fits(_size(arguments[0], MAX_LENGTH, 0))
    return _limit(str(*arguments))


class Fuel:
    """The steps that an evaluation has left: each is a few hundredths of a microsecond of work."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Takes steps off.

        Raises:
            CaseError: `too_large` if fewer are left.
        """
        self.left -= steps
        if self.left < 0:
            raise CaseError("too_large", f"an evaluation of more than {MAX_STEPS} steps")

    def over(self, values: Any, steps: int) -> Iterable[Any]:
        """What a loop goes through, at so many steps a round."""
        if type_of(values) is GeneratorType:
            return self._counted(values, steps)
        self.spend(len(_iterate(values)) * steps)
        return values

    def _counted(self, values: Iterable[Any], steps: int) -> Iterator[Any]:
        for value in values:
            self.spend(steps)
            yield value

    def weigh(self, value: Any) -> Any:
        """A value, for which as many steps are taken off as it has parts."""
        kind = type_of(value)
        if kind is int:
            self.spend(value.bit_length() >> 6)
        elif kind not in _LIGHT and (kind is not str or len(value) >= 32):
            self.spend(_size(value, self.left, 5))
        return value

    def add(self, left: Any, right: Any) -> Any:
        """The sum, its parts taken off."""
        made = left + right
        return made if type(made) is float else self.weigh(_limit(made))

    def mul(self, left: Any, right: Any) -> Any:
        """The product, taken off where it is long."""
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            made = left * right
            return made if type(made) is float or -_WIDE < made < _WIDE else self.weigh(_limit(made))
        raise TypeError("* multiplies numbers only")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives; the parts of its arguments and of its result are taken off."""
        for argument in arguments:
            self.weigh(argument)
        return self.weigh(function(*arguments))

    def holds(self, value: Any, values: Any) -> bool:
        """Whether `values` hold a value."""
        self._compared(value, values)
        return value in values

    def search(self, owner: Any, name: str, *arguments: Any) -> Any:
        """What a method gives that compares a value with all that its owner holds."""
        for argument in arguments[:1]:
            self._compared(argument, owner)
        return _method(owner, name, *arguments)

    def _compared(self, value: Any, values: Any) -> None:
        """Takes off a comparison with each of some values: none costs more than the parts of the one."""
        kind = type_of(values)
        if kind in (str, _ITEMS):
            self.weigh(values if kind is str else value)
        elif kind in (list, tuple, _VALUES):
            self.spend(len(values) * (1 if type(value) in _NUMBERS else 4 * _size(value, self.left, 7)) >> 2)


HELPERS: dict[str, Any] = {
    "x_add": _add,
    "x_sub": _subtract,
    "x_mul": _multiply,
    "x_div": _divide,
    "x_floordiv": _floor_divide,
    "x_mod": _modulo,
    "x_pow": _power,
    "x_fuel": Fuel,
    "x_iter": _iterate,
    "x_held": _held,
    "x_type": type,
    "x_light": _LIGHT,
    "x_method": _method,
    "x_guarded": _guarded,
    "x_isinstance": isinstance,
    "x_len": len,
    "x_sum": _sum,
    "x_min": min,
    "x_max": max,
    "x_abs": abs,
    "x_round": _round,
    "x_any": any,
    "x_all": all,
    "x_sorted": _sorted,
    "x_str": _str,
    "x_int": _int,
    "x_float": float,
    "x_bool": bool,
    "t_int": int,
    "t_float": float,
    "t_str": str,
    "t_bool": bool,
    "t_list": list,
    "t_dict": dict,
}

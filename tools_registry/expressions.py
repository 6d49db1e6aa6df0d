"""The condition language: a small subset of Python expressions, checked against an allow-list when loaded.

`translate` turns an expression into Python source that the compiled workflow contains; `HELPERS` are the
functions which that source calls. On the subset the result equals CPython's, except that size, steps and
exponents are capped. Unknown names and everything outside the subset are errors at load time, with the column.
Division by zero, a missing key or a wrong type are errors of the case, never "false".
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from types import GeneratorType
from typing import Any, NoReturn

from tools_registry.runtime import CaseError
from tools_registry.schema import type_of

MAX_TEXT = 2_000
MAX_NODES = 300
MAX_DEPTH = 40
MAX_INT_BITS = 4_096
MAX_EXPONENT = 64
MAX_ITERATIONS = 100_000
MAX_LENGTH = 1_000_000

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
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"not a Python expression: {error.msg}", margin + (error.offset or 1)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not a Python expression: {error}", 1) from None
    _check_size(tree)
    _count_columns_in(text, tree)
    _check(tree)
    return tree


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
    return _Writer(variables).write(parse(text))


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
        return eval(source, scope)
    except CaseError:
        raise
    except Exception as error:
        raise CaseError("expression_error", f"{type(error).__name__}: {error}") from None


def _refuse(node: ast.AST, message: str) -> NoReturn:
    raise ExpressionError(message, getattr(node, "col_offset", 0) + 1)


def _count_columns_in(text: str, tree: ast.expr) -> None:
    """Turns the parser's columns, bytes of the stripped text, into characters of the text as given."""
    stripped = text.lstrip()
    margin, encoded = len(text) - len(stripped), stripped.encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset = margin + len(encoded[: node.col_offset].decode())


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


def _check(node: ast.expr) -> None:
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
            _check_loop(node, loops)
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
        _check(argument)


def _check_isinstance(node: ast.Call) -> None:
    kinds = node.args[1] if len(node.args) == 2 else None
    listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    if not all(isinstance(kind, ast.Name) and kind.id in TYPES for kind in listed):
        _refuse(node, f"isinstance takes a value and one or several of {', '.join(TYPES)}")
    _check(node.args[0])


def _children(node: ast.expr) -> Iterable[ast.expr]:
    """The expressions below a node that are evaluated (not the targets of comprehensions)."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        loop = node.generators[0]
        yield from (node.elt, loop.iter, *loop.ifs)
        return
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


class _Writer:
    """Writes a checked expression as Python source over `HELPERS`."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = dict(variables)

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
                return f"{_BINARY[type(op)]}({self.write(left)}, {self.write(right)})"
            case ast.Compare(left=left, ops=ops, comparators=right):
                rest = [f" {_COMPARE[type(op)]} {self.write(other)}" for op, other in zip(ops, right, strict=True)]
                return f"({self.write(left)}{''.join(rest)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.write(body)} if {self.write(test)} else {self.write(orelse)})"
            case ast.List(elts=elements):
                return f"[{', '.join(self.write(element) for element in elements)}]"
            case ast.Dict(keys=keys, values=values):
                pairs = [f"{self.write(key)}: {self.write(value)}" for key, value in zip(keys, values, strict=True)]
                return f"{{{', '.join(pairs)}}}"
            case ast.Subscript(value=value, slice=index):
                return f"{self.write(value)}[{self.index(index)}]"
            case ast.ListComp():
                return f"[{self.loop(node)}]"
            case ast.GeneratorExp():
                return f"({self.loop(node)})"
            case ast.Call():
                return self.call(node)
            case _:
                raise AssertionError(f"an unchecked {type(node).__name__} reached the writer")

    def index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice):
            return ":".join(self.write(part) if part else "" for part in (node.lower, node.upper, node.step))
        return self.write(node)

    def loop(self, node: ast.ListComp | ast.GeneratorExp) -> str:
        loop = node.generators[0]
        assert isinstance(loop.target, ast.Name)
        source, name = self.write(loop.iter), loop.target.id
        inner = _Writer({**self.variables, name: f"c_{name}"})
        tests = "".join(f" if {inner.write(test)}" for test in loop.ifs)
        return f"{inner.write(node.elt)} for c_{name} in x_iter({source}){tests}"

    def call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Attribute):
            arguments = "".join(f", {self.write(argument)}" for argument in node.args)
            return f"x_method({self.write(node.func.value)}, {node.func.attr!r}{arguments})"
        assert isinstance(node.func, ast.Name)
        if node.func.id == "isinstance":
            kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            listed = ", ".join(f"t_{kind.id}" for kind in kinds if isinstance(kind, ast.Name))
            return f"x_isinstance({self.write(node.args[0])}, ({listed},))"
        return f"x_{node.func.id}({', '.join(self.write(argument) for argument in node.args)})"


# What translated expressions call. Values are JSON values, lists of them, or dict views: exact builtin types.


def _limit(value: Any) -> Any:
    kind = type_of(value)
    if kind is int and value.bit_length() > MAX_INT_BITS:
        raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    if kind in (str, list) and len(value) > MAX_LENGTH:
        raise CaseError("too_large", f"a value longer than {MAX_LENGTH}")
    return value


def _add(left: Any, right: Any) -> Any:
    return _limit(left + right)


def _subtract(left: Any, right: Any) -> Any:
    return left - right


def _divide(left: Any, right: Any) -> Any:
    return left / right


def _floor_divide(left: Any, right: Any) -> Any:
    return left // right


def _multiply(left: Any, right: Any) -> Any:
    if type(left) in (str, list) or type(right) in (str, list):
        raise TypeError("* multiplies numbers only")
    return _limit(left * right)


def _modulo(left: Any, right: Any) -> Any:
    if type(left) is str:
        raise TypeError("% is the remainder of numbers; it does not format text")
    return left % right


def _power(left: Any, right: Any) -> Any:
    if abs(right) > MAX_EXPONENT:
        raise CaseError("too_large", f"an exponent beyond {MAX_EXPONENT}")
    result = left**right
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is not a real number")
    return _limit(result)


def _iterate(values: Any) -> Iterable[Any]:
    if type_of(values) is not GeneratorType and len(values) > MAX_ITERATIONS:
        raise CaseError("too_large", f"a comprehension over more than {MAX_ITERATIONS} elements")
    return values


def _method(owner: Any, name: str, *arguments: Any) -> Any:
    kind = type_of(owner)
    if name not in METHODS.get(kind, ()):
        raise TypeError(f"{kind.__name__} has no method {name!r} here")
    if name == "replace" and len(owner) * max(1, len(arguments[1])) > MAX_LENGTH:
        raise CaseError("too_large", f"a text longer than {MAX_LENGTH}")
    return _limit(getattr(owner, name)(*arguments))


def _sorted(values: Any) -> list[Any]:
    return sorted(_iterate(values)) if hasattr(values, "__len__") else sorted(values)


def _sum(values: Any, *start: Any) -> Any:
    return _limit(sum(values, *start))


def _round(value: Any, *digits: Any) -> Any:
    if any(type(count) is int and abs(count) > MAX_INT_BITS for count in digits):
        raise CaseError("too_large", f"rounding to more than {MAX_INT_BITS} digits")
    return round(value, *digits)


def _int(*arguments: Any) -> int:
    return _limit(int(*arguments))


HELPERS: dict[str, Callable[..., Any] | type] = {
    "x_add": _add,
    "x_sub": _subtract,
    "x_mul": _multiply,
    "x_div": _divide,
    "x_floordiv": _floor_divide,
    "x_mod": _modulo,
    "x_pow": _power,
    "x_iter": _iterate,
    "x_method": _method,
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
    "x_str": str,
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

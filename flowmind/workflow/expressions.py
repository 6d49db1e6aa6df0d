"""The condition language: a small subset of Python expressions, checked against an allow-list when it is loaded.

`translate` turns an expression into Python source that calls the helpers of `flowmind.workflow.expression_runtime`. On
the subset the result equals CPython's, except that sizes, steps and exponents are limited. Unknown names and everything
outside the subset are errors at load time, with the column. Division by zero, a missing key or a wrong type are errors
of the case; they never count as false.
"""

from __future__ import annotations

import ast
import functools
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from flowmind.workflow.expression_runtime import HELPERS, MAX_ITERATIONS, MAX_STEPS, METHODS, VIEWS
from tools_registry.specs.values import CaseError

MAX_TEXT = 2_000
MAX_NODES = 300
MAX_DEPTH = 40
MAX_BULK = 32
"""Operations on values of any size in an expression that counts no steps."""

TYPES = ("int", "float", "str", "bool", "list", "dict")
FUNCTIONS = [
    "len", "sum", "min", "max", "abs", "round", "any", "all", "sorted", "str", "int", "float", "bool", "isinstance",
]  # fmt: skip
_METHOD_NAMES = frozenset[str]().union(*METHODS.values())
_GUARDED = {"replace", "join", "rfind", "strip", "lstrip", "rstrip"}
"""Methods whose cost depends on their arguments."""
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
        column = error.offset or len(text.strip()) + 1  # the offset is 0 if the text ends too early
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
    with warnings.catch_warnings():  # Python warns of an unknown escape and keeps its two characters
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


@functools.lru_cache(4_096)
def names(text: str) -> frozenset[str]:
    """The variables that an expression reads.

    Raises:
        ExpressionError: If the expression is outside the language.
    """
    return _free(parse(text), frozenset())


def is_allowed(text: str) -> bool:
    """Whether a text is an expression of the language, within its limits."""
    try:
        parse(text)
    except ExpressionError:
        return False
    return True


def translate(text: str, variables: Mapping[str, str]) -> str:
    """The Python source of an expression; it needs `HELPERS` in scope.

    Args:
        text: The expression.
        variables: For each variable in scope its Python name.

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
    """The value of an expression.

    Args:
        text: The expression.
        values: The variables.

    Raises:
        ExpressionError: If the expression is outside the language.
        CaseError: `expression_error` if it has no value for these variables.
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
    if type(value) in VIEWS:
        raise CaseError("expression_error", f"{type(value).__name__} is no value of its own; write a list of it")
    return value


def _refuse(node: ast.AST, message: str) -> NoReturn:
    raise ExpressionError(message, getattr(node, "col_offset", 0) + 1)


def _count_columns_in(text: str, tree: ast.expr) -> None:
    """Converts the parser's columns, which count bytes of the stripped text, to characters of the original text.

    A name that the parser has normalized, such as one with a full-width letter, is refused.
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
    """Refuses a part that is outside the language.

    Args:
        node: A part of an expression.
        used_up: Whether the place consumes its elements at once; a generator is allowed there.
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
    """The expressions that are direct parts of a node."""
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
    """The number of operations of an expression whose cost grows with the size of their values."""
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
    """Whether a part is a literal number of less than 64 bits."""
    return isinstance(node, ast.Constant) and (
        isinstance(node.value, float) or (isinstance(node.value, int) and node.value.bit_length() < 64)
    )


def _is_scalar(node: ast.expr) -> bool:
    """Whether a part has a form whose value is never a list or an object, and a text only if it is a constant."""
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
    """Whether a part is a constant or a list of constants."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.List) and all(isinstance(part, ast.Constant) for part in node.elts)
    )


def _held_parts(node: ast.expr, target: str) -> int:
    """How often the element of a comprehension may contain the loop's variable; 2 if other values may repeat in it."""
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
    """The steps that a round of a loop costs: one, and one for each operation and each part of a list in it."""
    inner = [part for root in (node.elt, *node.generators[0].ifs) for part in ast.walk(root)]
    count = 1 + sum(isinstance(part, ast.expr) and not isinstance(part, ast.Name | ast.Constant) for part in inner)
    return count + sum(len(list(_children(part))) for part in inner if isinstance(part, ast.List | ast.Dict))


class _Writer:
    """Writes a checked expression as Python source over `HELPERS`.

    Args:
        variables: For each variable in scope its Python name.
        counting: Whether the source counts steps in `fuel`, because its parts may run often.
        alone: Whether the expression has exactly one loop.
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
        """The source of a part in a place where Python warns of a constant: a call hides it."""
        source = self.write(node)
        fixed = isinstance(node, ast.Constant | ast.UnaryOp | ast.List | ast.ListComp)
        return f"x_held({source})" if fixed else source

    def weighed(self, source: str, long: bool = True) -> str:
        """Source that also counts the size of the value, that of a number only if not `long`."""
        if not self.counting:
            return source
        if long and source.isidentifier():  # most values are numbers; an inline test takes a third of the time
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
        source = sources[0]
        for place, op in enumerate(node.ops):
            right = parts[place + 1]
            light = _is_of_constants(right) or (not within[place] and (_is_scalar(parts[place]) or _is_scalar(right)))
            other = sources[place + 1] if light else self.weighed(sources[place + 1])
            if not light and len(parts) == 2 and sources[0].isidentifier():  # one side is enough
                source, other = self.weighed(sources[0]), sources[1]
            source += f" {_COMPARE[type(op)]} {other}"
        return f"({source})"

    def index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice):
            return ":".join(self.write(part) if part else "" for part in (node.lower, node.upper, node.step))
        return self.write(node)

    def loop(self, node: ast.ListComp | ast.GeneratorExp, kept: bool) -> str:
        """A loop.

        Args:
            node: The comprehension or generator.
            kept: Whether its elements are stored or compared, so that their sizes count.
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

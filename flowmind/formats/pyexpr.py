"""Expressions of the condition language as readable Python that means the same.

The language is a subset of Python, so most expressions stay as they are. The executor refuses some operations that
Python allows: a text times a number, a remainder of a text, powers that are not real or too large. Strict code calls a
small function for these, unless the types rule them out. Types come from the schema of the inputs, from constants and
from operations. The return type of a tool is not used, because nothing checks it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, cast

from flowmind.formats.pytree import call, constant, named
from flowmind.workflow import expressions
from flowmind.workflow.expression_runtime import MAX_EXPONENT

Type = Mapping[str, Any]
"""A type, as a JSON schema: `{}` is anything. `integer` means an int, `number` an int or a float."""
ANY: Type = {}
INT: Type = {"type": "integer"}
NUMBER: Type = {"type": "number"}
BOOL: Type = {"type": "boolean"}
STR: Type = {"type": "string"}
LIST: Type = {"type": "array"}
OBJECT: Type = {"type": "object"}
VIEW: Type = {"type": "view"}

_NUMERIC = ("integer", "number", "boolean")
_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(), ast.IsNot: ast.Is(),
}  # fmt: skip
_RESULTS: dict[str, Type] = {
    "len": INT, "abs": NUMBER, "any": BOOL, "all": BOOL, "str": STR, "int": INT, "float": NUMBER, "bool": BOOL,
    "isinstance": BOOL, "find": INT, "rfind": INT, "count": INT, "index": INT, "split": {"type": "array", "items": STR},
    "splitlines": {"type": "array", "items": STR}, "keys": {"type": "view", "items": STR}, "values": VIEW,
    "items": {"type": "view", "pairs": True},
    **dict.fromkeys(
        ["lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "removeprefix", "removesuffix",
         "replace", "join"],
        STR,
    ),
    **dict.fromkeys(
        ["startswith", "endswith", "isdigit", "isalpha", "isalnum", "isnumeric", "isspace", "isupper", "islower",
         "istitle"],
        BOOL,
    ),
}  # fmt: skip


class Expr(NamedTuple):
    """An expression of Python."""

    node: ast.expr
    type: Type = ANY
    exact: bool = True
    """Whether it is strict JSON for all values, apart from limits of size."""
    doubtful: bool = False
    """Whether it is arithmetic that Python allows for texts and the executor refuses."""


def kind(type: Type) -> str:
    """The JSON type of all values of a type; empty if there may be several."""
    names = type.get("type", "")
    if isinstance(names, str):
        return names
    return "number" if set(cast(list[str], names)) <= {"integer", "number"} else ""


def is_number(type: Type) -> bool:
    """Whether all values are numbers (True and False are)."""
    return kind(type) in _NUMERIC


def join(one: Type, other: Type) -> Type:
    """The most precise type that covers two types."""
    if one == other:
        return one
    first, second = kind(one), kind(other)
    if first in ("integer", "number") and second in ("integer", "number"):
        return NUMBER
    if first != second or not first:
        return ANY
    if first == "array":
        return {"type": "array", "items": join(one.get("items", ANY), other.get("items", ANY))}
    if first == "object":
        ours, theirs = one.get("properties", ANY), other.get("properties", ANY)
        shared = {name: join(part, theirs[name]) for name, part in ours.items() if name in theirs}
        required = tuple(name for name in one.get("required", ()) if name in other.get("required", ()))
        return {"type": "object", "properties": shared, "required": required}
    return {"type": first}


def type_of_input(schema: Any, whole: bool = False) -> Type:
    """The type of values that fit a schema. 2.0 fits `integer`, so `integer` gives `number`, unless `whole`."""
    if not isinstance(schema, dict) or "type" not in schema:
        return ANY
    known = kind(cast(Type, schema))
    fields = cast(dict[str, Any], schema)
    match known:
        case "integer" | "number":
            return INT if whole and known == "integer" else NUMBER
        case "array":
            return {"type": "array", "items": type_of_input(fields.get("items"), whole)}
        case "object":
            parts: dict[str, Any] = fields.get("properties", {})
            known_parts = {name: type_of_input(part, whole) for name, part in parts.items()}
            return {"type": "object", "properties": known_parts, "required": tuple(fields.get("required", ()))}
        case _:
            return {"type": known} if known else ANY


def type_of_value(value: Any) -> Type:
    """The type of a JSON value."""
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return NUMBER
        case str():
            return STR
        case list():
            items = [type_of_value(part) for part in cast(list[Any], value)]
            found = items[0] if items else ANY
            for item in items[1:]:
                found = join(found, item)
            return {"type": "array", "items": found} if items else LIST
        case dict():
            fields = cast(dict[str, Any], value)
            parts = {name: type_of_value(part) for name, part in fields.items()}
            return {"type": "object", "properties": parts, "required": tuple(parts)}
        case _:
            return {"type": "null"}


def step_into(type: Type, step: str | int) -> Type:
    """The type of the value at a key or an index."""
    if isinstance(step, int):
        return type.get("items", ANY) if kind(type) == "array" else ANY
    return type.get("properties", {}).get(step, ANY) if kind(type) == "object" else ANY


@dataclass(frozen=True)
class Scope:
    """The context of an expression: names, types and the helper functions it may use."""

    names: Callable[[str], ast.expr]
    """What stands for a variable."""
    targets: Callable[[str], str]
    """The name of a comprehension's own variable."""
    types: Mapping[str, Type]
    strict: bool = True
    """Whether the code fails where the executor fails; otherwise only the values agree."""


def value_of(text: str, scope: Scope) -> Expr:
    """Writes an expression whose value is assigned: strict JSON, or an error."""
    tree = expressions.parse(text)
    found = _Writer(scope).write(tree)
    # `items` gives tuples, which become lists.
    pairs = any(isinstance(node, ast.Attribute) and node.attr == "items" for node in ast.walk(tree))
    if (found.exact or not (scope.strict or pairs)) and not found.doubtful:
        return found
    calculated = isinstance(found.node, ast.BinOp | ast.UnaryOp) and is_number(found.type)
    function = "_number" if found.doubtful or calculated else "_json"
    return Expr(call(function, found.node), found.type)


def test_of(text: str, scope: Scope, negated: bool = False) -> Expr:
    """Writes an expression as a condition, or its negation."""
    node = expressions.parse(text)
    writer = _Writer(scope)
    return writer.certain(writer.write(_negated(node) if negated else node))


def _negated(node: ast.expr) -> ast.expr:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right) if type(op) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(op)]], right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case _:
            return ast.UnaryOp(ast.Not(), node)


def both(one: Expr, other: Expr) -> Expr:
    """The conjunction of two conditions."""
    parts: list[ast.expr] = []
    for test in (one.node, other.node):
        parts += test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return Expr(ast.BoolOp(ast.And(), parts), BOOL)


def as_truth(test: Expr) -> ast.expr:
    """A condition as `True` or `False`."""
    return test.node if kind(test.type) == "boolean" else call("bool", test.node)


class _Writer:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.local: dict[str, Expr] = {}

    def certain(self, found: Expr) -> Expr:
        """Wraps doubtful arithmetic: the result is a number, or an error."""
        if not found.doubtful:
            return found
        return Expr(call("_arithmetic", found.node), NUMBER, found.exact)

    def write(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.local.get(name) or Expr(self.scope.names(name), self.scope.types.get(name, ANY))
            case ast.BoolOp(op=op, values=values):
                parts = self.all_of(values)
                return Expr(ast.BoolOp(op, _nodes(parts)), _joined(parts), _all_exact(parts))
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.write(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(self.write(left), op, self.write(right), right)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                first, then, other = self.all_of([test, body, orelse])
                whole = ast.IfExp(first.node, then.node, other.node)
                return Expr(whole, join(then.type, other.type), then.exact and other.exact)
            case ast.List(elts=elements):
                parts = self.all_of(elements)
                type = {"type": "array", "items": _joined(parts)} if parts else LIST
                return Expr(ast.List(_nodes(parts)), type, _all_exact(parts))
            case ast.Dict(keys=keys, values=values):
                return self.object(self.all_of([key for key in keys if key is not None]), self.all_of(values))
            case ast.Subscript(value=owner, slice=index):
                return self.subscript(self.certain(self.write(owner)), index)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise AssertionError(f"an unchecked {node.__class__.__name__} reached the writer")

    def all_of(self, nodes: Iterable[ast.expr]) -> list[Expr]:
        return [self.certain(self.write(node)) for node in nodes]

    def constant(self, value: Any) -> Expr:
        node = constant(value)
        if isinstance(value, str):
            exact = value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
            return Expr(node, STR, exact)
        if isinstance(value, float) and math.isinf(value):
            return Expr(node, NUMBER, False)
        return Expr(node, type_of_value(value))

    def unary(self, op: ast.unaryop, operand: Expr) -> Expr:
        if isinstance(op, ast.Not):
            return Expr(ast.UnaryOp(op, self.certain(operand).node), BOOL)
        result = INT if kind(operand.type) in ("integer", "boolean") else NUMBER
        return Expr(ast.UnaryOp(op, operand.node), result, operand.exact, operand.doubtful)

    def binary(self, left: Expr, op: ast.operator, right: Expr, at_right: ast.expr) -> Expr:
        numbers = is_number(left.type) and is_number(right.type)
        whole = numbers and "number" not in (kind(left.type), kind(right.type))
        doubtful = left.doubtful or right.doubtful
        exact = left.exact and right.exact
        strict = self.scope.strict
        type = INT if whole else NUMBER
        match op:
            case ast.Pow():
                return self.power(self.certain(left), self.certain(right), at_right)
            case ast.Add():
                type = type if numbers else _added(left.type, right.type)
                exact = exact and (whole or kind(type) in ("string", "array"))
            case ast.Sub():
                exact = exact and whole
            case ast.Mult():
                exact = exact and whole
                doubtful = doubtful or (strict and not numbers)
            case ast.Mod():
                doubtful = doubtful or (strict and not is_number(left.type))
            case _:
                type = type if isinstance(op, ast.FloorDiv) else NUMBER
                exact = exact and (type == INT or _shrinks(at_right))
        return Expr(ast.BinOp(left.node, op, right.node), type, exact, doubtful)

    def power(self, base: Expr, exponent: Expr, node: ast.expr) -> Expr:
        small = isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= MAX_EXPONENT
        if self.scope.strict and not small:
            return Expr(call("_power", base.node, exponent.node), NUMBER, False)
        result = INT if small and kind(base.type) in ("integer", "boolean") else NUMBER
        # Powers outgrow what a variable may hold.
        return Expr(ast.BinOp(base.node, ast.Pow(), exponent.node), result, False)

    def compare(self, node: ast.Compare) -> Expr:
        sides = [self.write(part) for part in (node.left, *node.comparators)]
        ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
        # Python itself refuses to order a text and a number.
        safe = len(sides) == 2 and ordered and any(is_number(side.type) and not side.doubtful for side in sides)
        left, *others = (side.node if safe else self.certain(side).node for side in sides)
        return Expr(ast.Compare(left, node.ops, others), BOOL)

    def object(self, keys: list[Expr], values: list[Expr]) -> Expr:
        exact = _all_exact([*keys, *values]) and all(kind(key.type) == "string" for key in keys)
        return Expr(ast.Dict([*_nodes(keys)], _nodes(values)), OBJECT, exact)

    def subscript(self, owner: Expr, index: ast.expr) -> Expr:
        if isinstance(index, ast.Slice):
            bounds = (part and self.certain(self.write(part)).node for part in (index.lower, index.upper, index.step))
            return Expr(ast.Subscript(owner.node, ast.Slice(*bounds)), owner.type, owner.exact)
        inner = self.certain(self.write(index))
        if kind(owner.type) == "string":
            type: Type = STR
        elif isinstance(index, ast.Constant) and isinstance(index.value, str):
            type = step_into(owner.type, index.value)
        else:
            type = owner.type.get("items", ANY) if kind(owner.type) == "array" else ANY
        return Expr(ast.Subscript(owner.node, inner.node), type, owner.exact)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Expr:
        loop = node.generators[0]
        assert isinstance(loop.target, ast.Name)
        over = self.certain(self.write(loop.iter))
        inner = _Writer(self.scope)
        target = named(self.scope.targets(loop.target.id))
        inner.local = {**self.local, loop.target.id: Expr(target, *_elements(over))}
        value = inner.certain(inner.write(node.elt))
        generators = [ast.comprehension(target, over.node, _nodes(inner.all_of(loop.ifs)), 0)]
        if isinstance(node, ast.ListComp):
            type: Type = {"type": "array", "items": value.type}
            return Expr(ast.ListComp(value.node, generators), type, value.exact)
        type = {"type": "generator", "items": value.type, "loose": not value.exact}
        return Expr(ast.GeneratorExp(value.node, generators), type, False)

    def call(self, node: ast.Call) -> Expr:
        typed = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        arguments = self.all_of(node.args[:1] if typed else node.args)
        if isinstance(node.func, ast.Attribute):
            return self.method(self.certain(self.write(node.func.value)), node.func.attr, arguments)
        assert isinstance(node.func, ast.Name)
        nodes = [*_nodes(arguments), *(node.args[1:] if typed else [])]
        return Expr(call(node.func.id, *nodes), *_called(node.func.id, arguments))

    def method(self, owner: Expr, method: str, arguments: list[Expr]) -> Expr:
        doubtful = not owner.exact and kind(owner.type) not in ("string", "array")
        checked = self.scope.strict and method in ("count", "index") and doubtful
        function = ast.Attribute(call("_sequence", owner.node) if checked else owner.node, method)
        exact = owner.exact and _all_exact(arguments) and method not in ("keys", "values", "items")
        return Expr(ast.Call(function, _nodes(arguments), []), _RESULTS.get(method, ANY), exact)


def _nodes(parts: Iterable[Expr]) -> list[ast.expr]:
    return [part.node for part in parts]


def _joined(parts: Sequence[Expr]) -> Type:
    """The type that covers those of some expressions."""
    return reduce(join, (part.type for part in parts)) if parts else ANY


def _all_exact(parts: Iterable[Expr]) -> bool:
    return all(part.exact for part in parts)


def _added(left: Type, right: Type) -> Type:
    kinds = {kind(left), kind(right)}
    if "array" in kinds:
        return {"type": "array", "items": join(left.get("items", ANY), right.get("items", ANY))}
    if "string" in kinds:
        return STR
    return NUMBER if kinds & set(_NUMERIC) else ANY


def _shrinks(node: ast.expr) -> bool:
    """Whether a divisor is a constant that makes no number larger."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) >= 1


def _elements(over: Expr) -> tuple[Type, bool]:
    """The type of the elements of an iterable, and whether they are strict JSON."""
    shape = kind(over.type)
    if shape == "view":
        return over.type.get("items", ANY), not over.type.get("pairs", False)
    if shape == "generator":
        return over.type.get("items", ANY), not over.type["loose"]
    if shape in ("string", "object"):
        return STR, over.exact
    return over.type.get("items", ANY), over.exact


def _called(name: str, arguments: list[Expr]) -> tuple[Type, bool]:
    """The type of a function's result, and whether it is strict JSON."""
    if name in ("len", "any", "all", "bool", "isinstance", "str", "int"):
        return _RESULTS[name], True
    if name == "round":
        return (INT, True) if len(arguments) == 1 else (NUMBER, _all_exact(arguments))
    if name in ("abs", "float"):
        whole = name == "abs" and bool(arguments) and kind(arguments[0].type) in ("integer", "boolean")
        return (INT if whole else NUMBER), name == "abs" and _all_exact(arguments)
    if not arguments:
        return ANY, False
    items, exact = _elements(arguments[0])
    if name == "sum":
        whole = kind(items) in ("integer", "boolean") and len(arguments) == 1
        return (INT, exact) if whole else (NUMBER if is_number(items) and len(arguments) == 1 else ANY, False)
    if name == "sorted":
        return {"type": "array", "items": items}, exact
    if len(arguments) > 1:
        found = arguments[0].type
        for argument in arguments[1:]:
            found = join(found, argument.type)
        return found, _all_exact(arguments)
    return items, exact

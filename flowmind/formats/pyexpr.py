"""Expressions of the condition language as readable Python that means the same.

The language is a subset of Python, so most expressions stay as they are. The executor refuses some operations that
Python allows: a text times a number, a remainder of a text, powers that are not real or too large. Strict code calls a
small function for these, unless the types rule them out. Types come from the schema of the inputs, from constants and
from operations. The return type of a tool is not used, because nothing checks it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from flowmind.formats.pylayout import text as string
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
_WORDS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(), ast.IsNot: ast.Is(),
}  # fmt: skip
_TERNARY, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)
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
    """An expression as source."""

    source: str
    binds: int = _ATOM
    """Its precedence; an expression gets parentheses where a higher one is required."""
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

    names: Callable[[str], str]
    """The Python source that stands for a variable."""
    targets: Callable[[str], str]
    """The name of a comprehension's own variable."""
    types: Mapping[str, Type]
    use: Callable[[str], str]
    """Records that a function of `pyruntime` is used, and returns its name."""
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
    number = found.doubtful or (is_number(found.type) and found.binds in (_SUM, _PRODUCT, _SIGN, _POWER))
    function = scope.use("_number" if number else "_json")
    return Expr(f"{function}({found.source})", _ATOM, found.type)


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
    return Expr(f"{_held(one, _AND)} and {_held(other, _AND)}", _AND, BOOL)


def as_truth(test: Expr) -> str:
    """A condition as `True` or `False`."""
    return test.source if kind(test.type) == "boolean" else f"bool({test.source})"


def clause(test: Expr) -> str:
    """A condition in the form that the `if` of a comprehension takes."""
    return _held(test, _OR)


def _held(found: Expr, place: int) -> str:
    return found.source if found.binds >= place else f"({found.source})"


class _Writer:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.local: dict[str, Expr] = {}

    def certain(self, found: Expr) -> Expr:
        """Wraps doubtful arithmetic: the result is a number, or an error."""
        if not found.doubtful:
            return found
        return Expr(f"{self.scope.use('_arithmetic')}({found.source})", _ATOM, NUMBER, found.exact)

    def write(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.local.get(name) or Expr(self.scope.names(name), _ATOM, self.scope.types.get(name, ANY))
            case ast.BoolOp(op=op, values=values):
                return self.logic(op, [self.certain(self.write(value)) for value in values])
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.write(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(self.write(left), op, self.write(right), right)
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                first, then, other = (self.certain(self.write(part)) for part in (test, body, orelse))
                source = f"{_held(then, _OR)} if {_held(first, _OR)} else {_held(other, _TERNARY)}"
                return Expr(source, _TERNARY, join(then.type, other.type), then.exact and other.exact)
            case ast.List(elts=elements):
                return self.listed([self.certain(self.write(element)) for element in elements])
            case ast.Dict(keys=keys, values=values):
                return self.object([key for key in keys if key is not None], values)
            case ast.Subscript(value=owner, slice=index):
                return self.subscript(self.certain(self.write(owner)), index)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise AssertionError(f"an unchecked {type(node).__name__} reached the writer")

    def constant(self, value: Any) -> Expr:
        if isinstance(value, str):
            exact = value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
            return Expr(string(value), _ATOM, STR, exact)
        if isinstance(value, float) and math.isinf(value):
            return Expr("1e999", _ATOM, NUMBER, False)
        return Expr(repr(value), _ATOM, type_of_value(value))

    def logic(self, op: ast.boolop, parts: list[Expr]) -> Expr:
        place = _AND if isinstance(op, ast.And) else _OR
        word = " and " if isinstance(op, ast.And) else " or "
        found = parts[0].type
        for part in parts[1:]:
            found = join(found, part.type)
        source = word.join(_held(part, place + 1) for part in parts)
        return Expr(source, place, found, all(part.exact for part in parts))

    def unary(self, op: ast.unaryop, operand: Expr) -> Expr:
        if isinstance(op, ast.Not):
            return Expr(f"not {_held(self.certain(operand), _NOT)}", _NOT, BOOL)
        sign = "-" if isinstance(op, ast.USub) else "+"
        result = INT if kind(operand.type) in ("integer", "boolean") else NUMBER
        return Expr(sign + _held(operand, _SIGN), _SIGN, result, operand.exact, operand.doubtful)

    def binary(self, left: Expr, op: ast.operator, right: Expr, at_right: ast.expr) -> Expr:
        numbers = is_number(left.type) and is_number(right.type)
        whole = numbers and "number" not in (kind(left.type), kind(right.type))
        doubtful = left.doubtful or right.doubtful
        exact = left.exact and right.exact
        strict = self.scope.strict
        word = _WORDS[type(op)]
        match op:
            case ast.Pow():
                return self.power(self.certain(left), self.certain(right), at_right)
            case ast.Add():
                place, found = _SUM, INT if whole else NUMBER if numbers else _added(left.type, right.type)
                exact = exact and (whole or kind(found) in ("string", "array"))
            case ast.Sub():
                place, found, exact = _SUM, INT if whole else NUMBER, exact and whole
            case ast.Mult():
                place, found, exact = _PRODUCT, INT if whole else NUMBER, exact and whole
                doubtful = doubtful or (strict and not numbers)
            case ast.Mod():
                place, found = _PRODUCT, INT if whole else NUMBER
                doubtful = doubtful or (strict and not is_number(left.type))
            case _:
                place, found = _PRODUCT, INT if whole and isinstance(op, ast.FloorDiv) else NUMBER
                exact = exact and (found == INT or _shrinks(at_right))
        source = f"{_held(left, place)} {word} {_held(right, place + 1)}"
        return Expr(source, place, found, exact, doubtful)

    def power(self, base: Expr, exponent: Expr, node: ast.expr) -> Expr:
        small = isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= MAX_EXPONENT
        if self.scope.strict and not small:
            return Expr(f"{self.scope.use('_power')}({base.source}, {exponent.source})", _ATOM, NUMBER, False)
        plain = all(part.source.isidentifier() or part.source.isdigit() for part in (base, exponent))
        word = "**" if plain else " ** "
        result = INT if small and kind(base.type) in ("integer", "boolean") else NUMBER
        # Powers outgrow what a variable may hold.
        return Expr(f"{_held(base, _ATOM)}{word}{_held(exponent, _SIGN)}", _POWER, result, False)

    def compare(self, node: ast.Compare) -> Expr:
        sides = [self.write(part) for part in (node.left, *node.comparators)]
        ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
        # Python itself refuses to order a text and a number.
        safe = len(sides) == 2 and ordered and any(is_number(side.type) and not side.doubtful for side in sides)
        shown = [_held(side if safe else self.certain(side), _COMPARE + 1) for side in sides]
        rest = [f" {_WORDS[type(op)]} {side}" for op, side in zip(node.ops, shown[1:], strict=True)]
        return Expr(shown[0] + "".join(rest), _COMPARE, BOOL)

    def listed(self, parts: list[Expr]) -> Expr:
        found = parts[0].type if parts else ANY
        for part in parts[1:]:
            found = join(found, part.type)
        source = f"[{', '.join(part.source for part in parts)}]"
        return Expr(source, _ATOM, {"type": "array", "items": found} if parts else LIST, _all_exact(parts))

    def object(self, keys: list[ast.expr], values: list[ast.expr]) -> Expr:
        pairs = [
            (self.certain(self.write(key)), self.certain(self.write(value)))
            for key, value in zip(keys, values, strict=True)
        ]
        exact = all(key.exact and value.exact and kind(key.type) == "string" for key, value in pairs)
        return Expr(f"{{{', '.join(f'{key.source}: {value.source}' for key, value in pairs)}}}", _ATOM, OBJECT, exact)

    def subscript(self, owner: Expr, index: ast.expr) -> Expr:
        held = _held(owner, _ATOM)
        if isinstance(index, ast.Slice):
            return Expr(f"{held}[{self.slice(index)}]", _ATOM, owner.type, owner.exact)
        inner = self.certain(self.write(index))
        if kind(owner.type) == "string":
            found: Type = STR
        elif isinstance(index, ast.Constant) and isinstance(index.value, str):
            found = step_into(owner.type, index.value)
        else:
            found = owner.type.get("items", ANY) if kind(owner.type) == "array" else ANY
        return Expr(f"{held}[{inner.source}]", _ATOM, found, owner.exact)

    def slice(self, node: ast.Slice) -> str:
        bounds = [part and self.certain(self.write(part)) for part in (node.lower, node.upper, node.step)]
        plain = all(bound is None or bound.source.lstrip("-").isalnum() for bound in bounds)
        shown = [bound.source if bound else "" for bound in bounds]
        if node.step is None:
            shown.pop()
        if plain:
            return ":".join(shown)
        return " : ".join(shown).strip() if shown[0] else ":" + " : ".join(shown)[2:].rstrip()

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, bare: bool = False) -> Expr:
        loop = node.generators[0]
        assert isinstance(loop.target, ast.Name)
        over = self.certain(self.write(loop.iter))
        inner = _Writer(self.scope)
        name = self.scope.targets(loop.target.id)
        inner.local = {**self.local, loop.target.id: Expr(name, _ATOM, *_elements(over))}
        value = inner.certain(inner.write(node.elt))
        tests = "".join(f" if {_held(inner.certain(inner.write(test)), _OR)}" for test in loop.ifs)
        source = f"{value.source} for {name} in {_held(over, _OR)}{tests}"
        if isinstance(node, ast.ListComp):
            return Expr(f"[{source}]", _ATOM, {"type": "array", "items": value.type}, value.exact)
        source = source if bare else f"({source})"
        return Expr(source, _ATOM, {"type": "generator", "items": value.type, "loose": not value.exact}, False)

    def call(self, node: ast.Call) -> Expr:
        alone = len(node.args) == 1
        arguments = [
            self.comprehension(part, alone) if isinstance(part, ast.GeneratorExp) else self.certain(self.write(part))
            for part in node.args
            if not _is_types(node, part)
        ]
        if isinstance(node.func, ast.Attribute):
            return self.method(self.certain(self.write(node.func.value)), node.func.attr, arguments)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        sources = [part.source for part in arguments]
        if name == "isinstance":
            sources.append(ast.unparse(node.args[1]))
        found, exact = _called(name, arguments)
        return Expr(f"{name}({', '.join(sources)})", _ATOM, found, exact)

    def method(self, owner: Expr, name: str, arguments: list[Expr]) -> Expr:
        held = _held(owner, _ATOM)
        if (
            self.scope.strict
            and name in ("count", "index")
            and not owner.exact
            and kind(owner.type) not in ("string", "array")
        ):
            held = f"{self.scope.use('_sequence')}({owner.source})"
        if owner.source.lstrip("-").isdigit():
            held = f"({owner.source})"
        exact = owner.exact and _all_exact(arguments) and name not in ("keys", "values", "items")
        return Expr(f"{held}.{name}({', '.join(part.source for part in arguments)})", _ATOM,
                    _RESULTS.get(name, ANY), exact)  # fmt: skip


def _is_types(node: ast.Call, part: ast.expr) -> bool:
    """Whether an argument is the second one of `isinstance`."""
    return isinstance(node.func, ast.Name) and node.func.id == "isinstance" and part is node.args[1]


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

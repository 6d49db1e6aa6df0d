"""Conditions as criteria of Arazzo: what its simple conditions say exactly, and nothing else."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from typing import Any

from flowmind.base.files import dump_json
from flowmind.workflow import expressions
from flowmind.workflow.document import Assign, Condition, End, Literal_, LLMNode, Map, Start, ToolNode, Var, Workflow
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec

_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
_SIGN: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=",
}  # fmt: skip


def criteria(expr: str, kinds: Mapping[str, str], values: Mapping[str, Any], holds: bool) -> tuple[str, ...]:
    """Criteria that are all met if, and only if, an expression is true (or false); none if there are none.

    Numbers are compared, and variables that are true or false. Texts are not, as Arazzo compares them without regard to
    case; and neither the operator `!` nor negative numbers are used, which not every reader has.

    Args:
        expr: An expression.
        kinds: `kinds_of` the workflow.
        values: For each variable a runtime expression, or a constant that is no text.
        holds: Whether it is to be true.
    """
    tree = expressions.parse(expr)
    while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        tree, holds = tree.operand, not holds
    every = isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) == holds
    parts = tree.values if every and isinstance(tree, ast.BoolOp) else [tree]
    found = [_criterion(part, kinds, values, holds) for part in parts]
    return () if None in found else tuple(_bare(text) for text in found if text is not None)


def _bare(text: str) -> str:
    """A criterion without the parentheses around all of it."""
    return text[1:-1] if text.startswith("(") and text.find(")") == len(text) - 1 else text


def _criterion(tree: ast.expr, kinds: Mapping[str, str], values: Mapping[str, Any], holds: bool) -> str | None:
    match tree:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _criterion(operand, kinds, values, not holds)
        case ast.BoolOp(op=op, values=parts):
            every = isinstance(op, ast.And) == holds
            return _joined((_criterion(part, kinds, values, holds) for part in parts), every)
        case ast.Compare(left=left, ops=ops, comparators=right):
            numbers = [_number(side, kinds, values) for side in (left, *right)]
            pairs = zip(numbers[:-1], ops, numbers[1:], strict=True)
            return _joined((_compared(one, op, other, holds) for one, op, other in pairs), holds)
        case ast.Name(id=name) if isinstance(values[name], str):
            truth = "true" if holds else "false"
            forms = {"boolean": f"{values[name]} == {truth}", "number": f"{values[name]} {'!=' if holds else '=='} 0"}
            return forms.get(kinds.get(name, ""))
        case _:
            return None


def _compared(one: str | None, op: ast.cmpop, other: str | None, holds: bool) -> str | None:
    sign = _SIGN.get(type(op) if holds else _INVERSE.get(type(op), type(op)))
    if sign is None or one is None or other is None or not (one + other).count("$"):
        return None
    return f"{one} {sign} {other}"


def _number(tree: ast.expr, kinds: Mapping[str, str], values: Mapping[str, Any]) -> str | None:
    match tree:
        case ast.Constant(value=value):
            return _literal(value)
        case ast.Name(id=name) if kinds.get(name) == "number":
            return values[name] if isinstance(values[name], str) else _literal(values[name])
        case _:
            return None


def _literal(value: Any) -> str | None:
    """A number without sign and exponent, as text."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    text = dump_json(value)
    return None if "e" in text else text


def _joined(parts: Iterable[str | None], every: bool) -> str | None:
    found = list(parts)
    texts = [part for part in found if part is not None]
    if len(texts) < len(found):
        return None
    return texts[0] if len(texts) == 1 else f"({(' && ' if every else ' || ').join(texts)})"


def kinds_of(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> dict[str, str]:
    """Which variables are numbers and which are true or false, whatever sets them; `other` for the rest."""
    kinds: dict[str, str] = {}
    inputs: dict[str, Any] = workflow.inputs.get("properties", {})
    while True:
        seen: dict[str, set[str]] = {name: {_kind_of_schema(schema)} for name, schema in inputs.items()}
        for node in workflow.nodes:
            if not isinstance(node, Start | Condition | End):
                kind = _kind_of_node(node, kinds, specs)
                seen.setdefault(node.output, set()).update({kind} if kind else ())
        found = {name: min(held) if len(held) == 1 else "other" for name, held in seen.items() if held}
        if found == kinds:
            return kinds
        kinds = found


def _kind_of_schema(schema: JSONSchema) -> str:
    kinds = {"integer": "number", "number": "number", "boolean": "boolean"}
    return kinds.get(str(schema.get("type")), "other")


def _kind_of_node(
    node: ToolNode | Assign | Map | LLMNode, kinds: Mapping[str, str], specs: Mapping[str, ToolSpec]
) -> str | None:
    """The kind of what a node sets; None while that hangs on a variable of which nothing is known yet."""
    match node:
        case ToolNode(tool=tool):
            return _kind_of_schema(specs[tool].returns) if tool in specs else "other"
        case Assign(expr=str(expr)):
            return _kind_of_expression(expressions.parse(expr), kinds)
        case Assign(value=Var(var=name, path=())):
            return kinds.get(name)
        case Assign(value=Literal_(value=value)):
            return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "other"
        case _:
            return "other"


_GIVES = {
    **dict.fromkeys(("len", "abs", "round", "int", "float", "sum"), "number"),
    **dict.fromkeys(("any", "all", "bool", "isinstance"), "boolean"),
}


def _kind_of_expression(tree: ast.expr, kinds: Mapping[str, str]) -> str | None:
    match tree:
        case ast.Constant(value=value):
            return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "other"
        case ast.Name(id=name):
            return kinds.get(name)
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return "boolean"
        case ast.Call(func=ast.Name(id=name)):
            return _GIVES.get(name, "other")
        case ast.BinOp(left=left, right=right):
            parts = {_kind_of_expression(left, kinds), _kind_of_expression(right, kinds)}
        case ast.UnaryOp(operand=operand):
            parts = {_kind_of_expression(operand, kinds)}
        case ast.IfExp(body=body, orelse=orelse):
            parts = {_kind_of_expression(body, kinds), _kind_of_expression(orelse, kinds)}
            return "boolean" if parts == {"boolean"} else _numeric(parts)
        case ast.BoolOp(values=values):
            parts = {_kind_of_expression(value, kinds) for value in values}
            return "boolean" if parts == {"boolean"} else _numeric(parts)
        case _:
            return "other"
    return _numeric(parts)


def _numeric(parts: set[str | None]) -> str | None:
    """What comes of computing with these kinds: a number of numbers, and else anything."""
    known = parts - {None}
    return "other" if known - {"number"} else "number" if known else None

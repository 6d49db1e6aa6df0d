"""Bindings, expressions and steps in plain English, for readers who know no code."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from flowmind.base.files import dump_json
from flowmind.formats.notation import escaped
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    End,
    ListOf,
    Literal_,
    LLMNode,
    Map,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
    show_binding,
)
from tools_registry.specs.spec import ToolSpec

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Gt: "is greater than", ast.GtE: "is at least", ast.Lt: "is less than", ast.LtE: "is at most",
    ast.Eq: "is equal to", ast.NotEq: "is not equal to", ast.In: "is in", ast.NotIn: "is not in",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_CALCULATED: dict[type[ast.operator], str] = {
    ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "divided by",
}  # fmt: skip
_ONE: dict[str, str] = {
    "len": "the length of {}", "sum": "the sum of {}", "min": "the smallest of {}", "max": "the largest of {}",
    "abs": "{} without its sign", "sorted": "{} sorted", "all": "every one of {}", "any": "any of {}",
}  # fmt: skip
ENTRY = "the entry of"
"""The beginning of an entry at a variable position or key; positions count from 0."""
_MAX_WORDS = 160
"""Characters; a longer phrase is harder to read than the expression."""


class Phrase(NamedTuple):
    """An expression in words."""

    text: str
    in_words: bool
    """False if it stands as code, between backticks."""


def say_value(expr: str) -> Phrase:
    """The value of an expression in words: `years + 1` as `years plus 1`."""
    return _say(expr, _value)


def say_test(expr: str) -> Phrase:
    """A condition in words: `len(rows) > 0` as `rows is not empty`."""
    return _say(expr, _test)


def _say(expr: str, words: Callable[[ast.expr], str | None]) -> Phrase:
    try:
        said = words(expressions.parse(expr))
    except expressions.ExpressionError:
        said = None
    if said is None or len(said) > _MAX_WORDS:
        return Phrase(f"`{expr.strip()}`", False)
    return Phrase(said, True)


def _test(node: ast.expr) -> str | None:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_test(value) for value in values]
            if None in parts:
                return None
            inner = [
                f"({part})" if isinstance(value, ast.BoolOp) else part
                for part, value in zip(parts, values, strict=True)
            ]
            return (" and " if isinstance(op, ast.And) else " or ").join(map(str, inner))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            said = _test(operand)
            return said and f"it is not so that {said if not isinstance(operand, ast.BoolOp) else f'({said})'}"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Compare(
            left=low, ops=[ast.Lt() | ast.LtE() as first, ast.Lt() | ast.LtE() as second], comparators=[middle, high]
        ):
            parts = [_value(part) for part in (low, middle, high)]
            if None in parts:
                return None
            turned = "is greater than" if isinstance(first, ast.Lt) else "is at least"
            return f"{parts[1]} {turned} {parts[0]} and {_COMPARED[type(second)]} {parts[2]}"
        case _:
            said = _value(node)
            return said and f"{said} is true"


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> str | None:
    match left, op, right:
        case ast.Call(func=ast.Name(id="len"), args=[counted]), ast.Gt() | ast.NotEq(), ast.Constant(value=0):
            said = _value(counted)
            return said and f"{said} is not empty"
        case ast.Call(func=ast.Name(id="len"), args=[counted]), ast.Eq(), ast.Constant(value=0):
            said = _value(counted)
            return said and f"{said} is empty"
        case ast.BinOp(left=number, op=ast.Mod(), right=ast.Constant(value=2)), ast.Eq(), ast.Constant(
            value=0 | 1 as rest
        ):
            said = _value(number)
            return said and f"{said} is {'odd' if rest else 'even'}"
        case _:
            one, other = _value(left), _value(right)
            return one and other and f"{one} {_COMPARED[type(op)]} {other}"


def _value(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=None):
            return "nothing"
        case ast.Constant(value=float(value)) if math.isinf(value):
            return None
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return f"-{value}"
        case ast.List(elts=[]):
            return "an empty list"
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            said = _value(owner)
            return said and f"the {key} of {said}" if key.isidentifier() else None
        case ast.Subscript(value=owner, slice=ast.Constant(value=int(place))):
            said = _value(owner)
            return said and f"{_place(place)} of {said}"
        case ast.Subscript(value=owner, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            said = _value(owner)
            return said and f"the last item of {said}"
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Name(id=key)):
            return f"{ENTRY} {owner} at {key}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATED and not _nests(left, right):
            one, other = _value(left), _value(right)
            return one and other and f"{one} {_CALCULATED[type(op)]} {other}"
        case ast.Call(func=ast.Name(id=function), args=[only]) if function in _ONE and not _nests(only):
            said = _value(only)
            return said and _ONE[function].format(said)
        case _:
            return None


def _constant(value: object) -> str:
    return escaped(dump_json(value))


def _nests(*nodes: ast.expr) -> bool:
    """Whether words would leave the grouping of an expression open."""
    return any(isinstance(node, ast.BinOp) for node in nodes)


def _place(index: int) -> str:
    return {0: "the first item", 1: "the second item", 2: "the third item", -1: "the last item"}.get(
        index, f"item {index + 1}" if index >= 0 else f"item {-index} from the end"
    )


def say_binding(binding: Binding) -> str:
    """A binding: `order.items[0]` as `the first item of the items of order`."""
    match binding:
        case Var(var=name, path=path):
            said = name
            for step in path:
                field = step if isinstance(step, str) and step.isidentifier() else _constant(step)
                said = f"{_place(step)} of {said}" if isinstance(step, int) else f"the {field} of {said}"
            return said
        case Literal_(value=None):
            return "nothing"
        case Literal_(value=[]):
            return "an empty list"
        case Literal_(value=value) if value == {}:
            return "an empty table"
        case Literal_(value=value):
            return _constant(value)
        case ListOf(list=()):
            return "an empty list"
        case ListOf(list=parts) if any(isinstance(part, ListOf | ObjectOf) for part in parts):
            return show_binding(binding)
        case ListOf(list=parts):
            return f"the list of {listed([say_binding(part) for part in parts])}"
        case ObjectOf(object=fields):
            return listed([f"{name} = {say_binding(part)}" for name, part in fields.items()])


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def say_step(node: ToolNode | Assign | LLMNode | End, specs: Mapping[str, ToolSpec], named: bool = True) -> str:
    """A node as a sentence; with the names of tools if `named`."""
    match node:
        case ToolNode(output=output):
            return f"{say_call(node, specs, named)}. Call the result {output}."
        case LLMNode(prompt=prompt, args=args, output=output):
            given = [f"{say_binding(part)} for {{{name}}}" for name, part in args.items()]
            put = f", putting {listed(given)}" if given else ""
            return f"Ask the language model {_constant(prompt)}{put}. Call its reply {output}."
        case Assign(value=value, expr=expr, output=output):
            return _say_assign(output, expr, value)
        case End(output=output):
            return f"The answer is {say_binding(output)}."


def _say_assign(output: str, expr: str | None, value: Binding | None) -> str:
    if expr is None:
        return f"Set {output} to {say_binding(cast(Binding, value))}."
    for sign, words in (("+", "Add {} to {}."), ("-", "Subtract {} from {}.")):
        change = expr.strip().removeprefix(f"{output} {sign} ")
        if change != expr.strip() and change.isalnum():
            return words.format(change, output)
    return f"Set {output} to {say_value(expr).text}."


def say_call(node: ToolNode, specs: Mapping[str, ToolSpec], named: bool = True) -> str:
    """A call in words: the tool's description, its name if `named`, and the arguments."""
    about = headline(specs.get(node.tool))
    given = listed([f"{name} = {_given(part)}" for name, part in node.args.items()])
    given = f" with {given}" if given else ""
    if not named:
        return f"{about or node.tool.replace('_', ' ').capitalize()}{given and ','}{given}"
    return f"{about} ({node.tool}{given})" if about else f"Use {node.tool}{given}"


def _given(binding: Binding) -> str:
    """A binding as an argument; an object is put in brackets."""
    said = say_binding(binding)
    return f"({said})" if isinstance(binding, ObjectOf) else said


def headline(spec: ToolSpec | None) -> str:
    """The first sentence of a tool's description, without its full stop."""
    first = spec.description.partition("\n")[0].strip() if spec else ""
    return first.removesuffix(".")


def say_over(node: Map) -> str:
    """The list of a map in words, with its filter."""
    where = f", but only those for which {say_test(node.where).text}" if node.where is not None else ""
    return f"each {node.item} in {say_binding(node.over)}{where}"


def say_map(node: Map, specs: Mapping[str, ToolSpec], named: bool = True) -> str:
    """A map in one paragraph; with the names of tools if `named`."""
    steps = " ".join(say_step(step, specs, named) for step in node.body)
    body = f" {steps}" if steps else ""
    return f"For {say_over(node)}:{body} Add {say_binding(node.collect)} to the list {node.output}."


def guesses(workflow: Workflow) -> dict[str, str]:
    """The nodes that words do not express completely, each with what is missing."""
    notes: dict[str, str] = {}
    for node in workflow.nodes:
        steps = node.body if isinstance(node, Map) else (node,)
        exprs = [step.expr for step in steps if isinstance(step, Assign) and step.expr is not None]
        tests = [node.where] if isinstance(node, Map) and node.where is not None else []
        tests += [node.expr] if node.kind == "condition" else []
        if not all(say_value(expr).in_words for expr in exprs) or not all(say_test(expr).in_words for expr in tests):
            notes[node.id] = "its expression stands as code"
        elif any(_truth(expr) for expr in tests):
            notes[node.id] = "that zero, nothing and what is empty count as not true is not said"
    return notes


def _truth(expr: str) -> bool:
    """Whether a condition asks for the truth of a value that need not be a boolean."""
    todo: list[ast.expr] = [expressions.parse(expr)]
    while todo:
        match todo.pop():
            case ast.BoolOp(values=values):
                todo += values
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                todo.append(operand)
            case ast.Compare():
                pass
            case _:
                return True
    return False

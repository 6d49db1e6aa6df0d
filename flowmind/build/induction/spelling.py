"""Expressions as the parts of a workflow: bindings, renamed variables, and names for values."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If, Return, Slot, State, Step
from flowmind.workflow.document import Binding, ListOf, Literal_, ObjectOf, Var
from flowmind.workflow.expressions import FUNCTIONS, TYPES, ExpressionError, names

RESERVED = frozenset([*keyword.kwlist, *FUNCTIONS, *TYPES])
_LONGEST = 40
NO_CONSTANT: Any = object()
_TOTALS = ("sum(", "max(", "min(", "round(")


@lru_cache(maxsize=4096)
def reads_of(text: str) -> frozenset[str]:
    """The variables that an expression reads; all its names if it is too long for a workflow, which `check` refuses."""
    try:
        return names(text)
    except ExpressionError:
        return frozenset(node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name))


def parsed(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


def constant_of(node: ast.expr) -> Any:
    """The value of an expression of constants; `NO_CONSTANT` for other expressions."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return NO_CONSTANT


def binding_of(node: ast.expr) -> Binding | None:
    """The binding that is equal to an expression; None if there is none."""
    if (value := constant_of(node)) is not NO_CONSTANT:
        return Literal_(value=value)
    match node:
        case ast.Name(id=name):
            return Var(var=name)
        case ast.Subscript(value=owner, slice=ast.Constant(value=str() | int() as key)) if not isinstance(key, bool):
            inner = binding_of(owner)
            return Var(var=inner.var, path=(*inner.path, key)) if isinstance(inner, Var) else None
        case ast.List(elts=parts):
            made = [binding_of(part) for part in parts]
            return None if None in made else ListOf(list=tuple(cast(list[Binding], made)))
        case ast.Dict():
            fields = fields_of(node)
            made = {key: binding_of(part) for key, part in fields.items()}
            whole = len(fields) == len(node.keys) and None not in made.values()
            return ObjectOf(object=cast(dict[str, Binding], made)) if whole else None
        case _:
            return None


def fields_of(node: ast.Dict) -> dict[str, ast.expr]:
    """The parts of an object by key; empty if a key is no constant text."""
    pairs = list(zip(node.keys, node.values, strict=True))
    fields = {key.value: part for key, part in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return fields if len(fields) == len(pairs) else {}


class _Renamer(ast.NodeTransformer):
    def __init__(self, changed: Mapping[str, str]) -> None:
        self.changed = changed

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=self.changed.get(node.id, node.id), ctx=node.ctx)


def renamed(text: str, changed: Mapping[str, str]) -> str:
    """An expression with other names of variables."""
    if not any(name in text for name in changed):
        return text
    return ast.unparse(_Renamer(changed).visit(parsed(text)))


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """A form that expressions share which differ only in the order of sides and arms, and in negations."""
    return ast.unparse(_Normal().visit(parsed(text)))


_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip


class _Normal(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.visit(node.operand)
        return _negated(inner) if isinstance(node.op, ast.Not) else ast.UnaryOp(op=node.op, operand=inner)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            return self.generic_visit(node)  # type: ignore[return-value]
        return _sided(self.visit(node.left), type(node.ops[0]), self.visit(node.comparators[0]))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(op=node.op, values=sorted(map(self.visit, node.values), key=ast.unparse))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test, then, otherwise = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        other = _negated(test)
        if ast.unparse(other) < ast.unparse(test):
            test, then, otherwise = other, otherwise, then
        return ast.IfExp(test=test, body=then, orelse=otherwise)


def opposite_of(text: str) -> str:
    """A condition that holds where another one does not."""
    match parsed(text):
        case ast.Compare(left=left, ops=[test], comparators=[right]):
            return ast.unparse(ast.Compare(left=left, ops=[_INVERSE[type(test)]()], comparators=[right]))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return ast.unparse(inner)
        case _:
            return f"not ({text})"


def parts_of(text: str) -> list[str]:
    """The conditions that are joined by `and` or by `or`."""
    tree = parsed(text)
    return list(map(ast.unparse, tree.values)) if isinstance(tree, ast.BoolOp) else [text]


def compared_in(text: str) -> frozenset[str]:
    """The comparisons in an expression."""
    return frozenset(ast.unparse(node) for node in ast.walk(parsed(text)) if isinstance(node, ast.Compare))


def listed_in(text: str) -> list[str]:
    """For `x in ['a', 'b']` and its opposite the conditions `x == 'a'` and `x == 'b'`."""
    match parsed(text):
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.List(elts=parts)]):
            return [f"{ast.unparse(left)} == {ast.unparse(part)}" for part in parts]
        case _:
            return []


def _sided(left: ast.expr, test: type[ast.cmpop], right: ast.expr) -> ast.Compare:
    if test in (ast.Gt, ast.GtE):
        left, test, right = right, ast.Lt if test is ast.Gt else ast.LtE, left
    elif test in (ast.Eq, ast.NotEq) and ast.unparse(right) < ast.unparse(left):
        left, right = right, left
    return ast.Compare(left=left, ops=[test()], comparators=[right])


def _negated(node: ast.expr) -> ast.expr:
    match node:
        case ast.Compare(left=left, ops=[test], comparators=[right]):
            return _sided(left, _INVERSE[type(test)], right)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            return ast.BoolOp(op=other, values=sorted(map(_negated, values), key=ast.unparse))
        case _:
            return ast.UnaryOp(op=ast.Not(), operand=node)


def swapped(text: str, certain: int | None) -> Iterator[str]:
    """An expression with the last element of a list in place of the first, or the other way round, one at a time.

    Args:
        text: The expression.
        certain: An index that stays.
    """
    tree = parsed(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and (index := constant_of(node.slice)) in (0, -1) and index != certain:
            before, node.slice = node.slice, parsed("-1" if index == 0 else "0")
            yield ast.unparse(tree)
            node.slice = before


_ABSENCE = re.compile(r"[\w\[\]']+ is (?:not )?None")


def tests_in(text: str) -> frozenset[str]:
    """The conditions in an expression, of choices and of comprehensions, but those of absence alone."""
    nodes = list(ast.walk(parsed(text))) if " if " in text else []
    tests = [node.test for node in nodes if isinstance(node, ast.IfExp)]
    tests += [test for node in nodes if isinstance(node, ast.comprehension) for test in node.ifs]
    return frozenset(test for test in map(ast.unparse, tests) if not _ABSENCE.fullmatch(test))


def aggregates_in(text: str) -> list[str]:
    """The aggregates in an expression that need nothing but variables of the workflow."""
    if " for " not in text:
        return []
    tree = ast.parse(text, mode="eval")
    parts = [ast.get_source_segment(text, node) or "" for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [part for part in parts if " for " in part and part.startswith(_TOTALS) and not part.endswith(", [])")]


def of_rounds(text: str, rows: str) -> list[str]:
    """The aggregates that an expression has for each of the rows of a loop, in terms of the variables of a round."""
    found: list[str] = []
    for node in ast.walk(parsed(text)) if rows in text else ():
        if isinstance(node, ast.ListComp | ast.GeneratorExp) and ast.unparse(node.generators[0].iter) == rows:
            own = _OfRound(node.generators[0].target).visit(node.elt)
            found += aggregates_in(ast.unparse(own))
    return found


class _OfRound(ast.NodeTransformer):
    def __init__(self, row: ast.expr) -> None:
        self.row = ast.unparse(row)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if name == self.row:
                return ast.Name(id=key, ctx=ast.Load())
            case _:
                return self.generic_visit(node)  # type: ignore[return-value]


def telling(node: ast.expr, otherwise: str) -> str:
    """A name for the value of an expression: the last key that it reads, or another name."""
    keys = [
        part.slice.value
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
    ]
    return keys[0] if keys else otherwise


def plural(word: str) -> str:
    """A name for a list of things."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    if word.endswith(("ss", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word}_list" if word.endswith("s") else f"{word}s"


def free_name(wish: str, taken: Collection[str]) -> str:
    """A name of a variable that is not taken."""
    name = re.sub(r"\W+", "_", wish, flags=re.ASCII).strip("_")[:_LONGEST]
    name = name if name[:1].isalpha() else f"value_{name}".rstrip("_")
    name = f"{name}_value" if name in RESERVED else name
    return name if name not in taken else next(made for k in range(2, 10_000) if (made := f"{name}_{k}") not in taken)


def variable_of(name: str) -> str:
    """The variable of an input in expressions: an input may be named like a keyword, such as `from`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def variables_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The values of inputs by the variables that expressions read."""
    return {variable_of(name): value for name, value in inputs.items()}


# Programs


def slots(block: Block) -> Iterator[Slot]:
    """The values and decisions of a block, in the order of its steps."""
    for step in block:
        match step:
            case CallStep(args=args):
                yield from args.values()
            case If(condition=condition, then=then, otherwise=otherwise):
                yield condition
                yield from slots((*then, *otherwise))
            case ForEach(source=source, where=where, body=body, stop=stop, states=states):
                yield source
                yield from (state.start for state in states)
                yield from (where,) if where else ()
                yield from slots(body)
                yield from (state.update for state in states)
                yield from (stop,) if stop else ()
            case DoWhile(body=body, again=again, states=states):
                yield from (state.start for state in states)
                yield from slots(body)
                yield from (state.update for state in states)
                yield again
            case Return(value=value):
                yield value


def calls_in(block: Block) -> Iterator[CallStep]:
    """The calls of a block, also in branches and loops."""
    for step in block:
        match step:
            case CallStep():
                yield step
            case If(then=then, otherwise=otherwise):
                yield from calls_in((*then, *otherwise))
            case ForEach(body=body) | DoWhile(body=body):
                yield from calls_in(body)
            case Return():
                pass


def values_in(block: Block) -> Iterator[Slot]:
    """The values of a block that are no conditions: arguments and answers."""
    for step in block:
        match step:
            case CallStep(args=args):
                yield from args.values()
            case If(then=then, otherwise=otherwise):
                yield from values_in((*then, *otherwise))
            case ForEach(body=body) | DoWhile(body=body):
                yield from values_in(body)
            case Return(value=value):
                yield value


def rows_of(block: Block) -> list[str]:
    """The variables with the rows of the loops of a block."""
    found: list[str] = []
    for step in block:
        match step:
            case If(then=then, otherwise=otherwise):
                found += rows_of((*then, *otherwise))
            case ForEach(body=body, rows=rows) | DoWhile(body=body, rows=rows):
                found += [rows, *rows_of(body)]
            case _:
                pass
    return found


def changed(block: Block, change: Callable[[Slot], Slot]) -> Block:
    """A block with other slots."""

    def carried(states: Sequence[State]) -> tuple[State, ...]:
        return tuple(State(state.name, change(state.start), change(state.update)) for state in states)

    def one(step: Step) -> Step:
        match step:
            case CallStep(tool=tool, output=output, args=args):
                return CallStep(tool, output, {name: change(slot) for name, slot in args.items()})
            case If(condition=condition, then=then, otherwise=otherwise):
                return If(change(condition), changed(then, change), changed(otherwise, change))
            case ForEach(source=source, body=body, where=where, stop=stop):
                decisions = {"where": change(where) if where else None, "stop": change(stop) if stop else None}
                inside = {"body": changed(body, change), "states": carried(step.states)}
                return replace(step, source=change(source), **inside, **decisions)
            case DoWhile(body=body, again=again):
                return replace(step, body=changed(body, change), again=change(again), states=carried(step.states))
            case Return(value=value):
                return Return(change(value))

    return tuple(map(one, block))


def texts_of(slot: Slot) -> Iterator[str]:
    """The expressions of the likeliest candidates of a slot, with the arguments of their pure calls."""
    for group in (slot.omitted, slot.candidates):
        for candidate in group[:1]:
            yield candidate.text
            yield from (text for call in candidate.before for _, text in call.args)


def reads_in_slot(slot: Slot) -> frozenset[str]:
    """The variables that the likeliest expressions of a slot read."""
    return frozenset[str]().union(*map(reads_of, texts_of(slot)))


def reads_in(block: Block) -> frozenset[str]:
    """The variables that the expressions of a block read."""
    return frozenset[str]().union(*map(reads_in_slot, slots(block)))


def assigned(block: Block) -> list[str]:
    """The variables that a block sets, also those of the rounds of loops."""
    found: list[str] = []
    for step in block:
        match step:
            case CallStep(output=name):
                found.append(name)
            case If(then=then, otherwise=otherwise):
                found += [*assigned(then), *assigned(otherwise)]
            case ForEach():
                found += [step.item, step.index, *assigned(step.body), step.rows, step.stopped]
                found += [state.name for state in step.states]
            case DoWhile():
                found += [step.index, *assigned(step.body), step.rows, *(state.name for state in step.states)]
            case Return():
                pass
    pure = [call.output for slot in slots(block) for made in slot.candidates[:1] for call in made.before]
    return [name for name in dict.fromkeys([*found, *pure]) if name]

"""Mutants of gold workflows of the suite `api`: those of the first suite, and texts, fields and writes that differ."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from flowbench_synth.mutants import Mutant, mutants
from flowmind.trace.events import Trace
from flowmind.workflow.checking import check
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    ListOf,
    Literal_,
    Map,
    Node,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.spec import ToolSpec

Siblings = Mapping[str, str]
"""For a field of results another field that stands beside it and has a value of the same kind."""
_OTHER = "other"


def all_mutants(workflow: Workflow, specs: Mapping[str, ToolSpec], traces: Sequence[Trace]) -> list[Mutant]:
    """The mutants of a gold workflow that pass `check`.

    Args:
        workflow: The gold workflow.
        specs: The tools that the task offers.
        traces: Gold runs; fields are exchanged for those that stand beside them in the results.
    """
    beside = siblings(traces)
    found = [mutant for mutant in mutants(workflow, specs, specs) if not _rounds_finer(mutant.what)]
    for index, node in enumerate(workflow.nodes):
        for what, changed in _changes(node, beside, specs):
            nodes = (*workflow.nodes[:index], changed, *workflow.nodes[index + 1 :])
            found.append(Mutant(f"{node.id}: {what}", workflow.model_copy(update={"nodes": nodes})))
    known: set[str] = {workflow.document}
    fresh: list[Mutant] = []
    for mutant in found:
        if mutant.workflow.document not in known and not check(mutant.workflow, specs):
            known.add(mutant.workflow.document)
            fresh.append(mutant)
    return fresh


def siblings(traces: Sequence[Trace]) -> Siblings:
    """For each field of the results another one, by the order of their names."""
    beside: dict[str, set[str]] = {}
    for trace in traces:
        for step in trace.calls:
            for record in _records(step.observation.value):
                for name, value in record.items():
                    others = [key for key, other in record.items() if key != name and type(other) is type(value)]
                    beside.setdefault(name, set()).update(others)
    return {name: min(others) for name, others in sorted(beside.items()) if others}


def _records(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        record = cast("dict[str, Any]", value)
        yield record
        for part in record.values():
            yield from _records(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _records(part)


def _changes(node: Node, beside: Siblings, specs: Mapping[str, ToolSpec]) -> Iterator[tuple[str, Node]]:
    match node:
        case ToolNode():
            if specs[node.tool].effect == "write":
                yield f"{node.tool} left out", Assign(id=node.id, value=Literal_(value={}), output=node.output)
            yield from _tool(node, beside)
        case Condition(expr=expr) | Assign(expr=str(expr)):
            for text in _expressions(expr, beside):
                yield f"{expr} becomes {text}", node.model_copy(update={"expr": text})
        case Assign(value=value) if value is not None:
            for what, other in _bindings(value, beside):
                yield what, node.model_copy(update={"value": other})
        case End(output=output):
            for what, other in _bindings(output, beside):
                yield what, node.model_copy(update={"output": other})
        case Map():
            for text in _expressions(node.where or "True", beside):
                yield f"{node.where} becomes {text}", node.model_copy(update={"where": text})
            for what, other in _bindings(node.over, beside):
                yield what, node.model_copy(update={"over": other})
            for at, step in enumerate(node.body):
                for what, changed in _changes(step, beside, specs):
                    body = (*node.body[:at], changed, *node.body[at + 1 :])
                    yield what, node.model_copy(update={"body": body})
        case _:
            pass


def _tool(node: ToolNode, beside: Siblings) -> Iterator[tuple[str, Node]]:
    for name, binding in node.args.items():
        for what, other in _bindings(binding, beside):
            yield f"{name}: {what}", node.model_copy(update={"args": {**node.args, name: other}})


def _bindings(binding: Binding, beside: Siblings) -> Iterator[tuple[str, Binding]]:
    match binding:
        case Literal_(value=str(value)):
            yield f"{value!r} becomes {value + _OTHER!r}", Literal_(value=value + _OTHER)
        case Var(var=name, path=path):
            for at, key in enumerate(path):
                if isinstance(key, str) and key in beside:
                    yield f"{key} becomes {beside[key]}", Var(var=name, path=(*path[:at], beside[key], *path[at + 1 :]))
        case ListOf(list=parts):
            for at, part in enumerate(parts):
                for what, other in _bindings(part, beside):
                    yield what, ListOf(list=(*parts[:at], other, *parts[at + 1 :]))
        case ObjectOf(object=fields):
            for name, part in fields.items():
                for what, other in _bindings(part, beside):
                    yield what, ObjectOf(object={**fields, name: other})
        case _:
            pass


def _expressions(text: str, beside: Siblings) -> Iterator[str]:
    """The expressions with one text constant, one fraction, one field or one number of decimals changed."""
    for number in range(len(_fractions(ast.parse(text, mode="eval")))):
        tree = ast.parse(text, mode="eval")
        _fractions(tree)[number].value *= 1.1
        yield ast.unparse(tree)
    for number in range(len(_digits(ast.parse(text, mode="eval")))):
        tree = ast.parse(text, mode="eval")
        digits: Any = _digits(tree)[number]
        digits.value -= 1
        yield ast.unparse(tree)
    for number in range(len(_texts(ast.parse(text, mode="eval")))):
        tree = ast.parse(text, mode="eval")
        constant, is_field = _texts(tree)[number]
        if not is_field:
            constant.value += _OTHER
        elif constant.value in beside:
            constant.value = beside[constant.value]
        else:
            continue
        yield ast.unparse(tree)


def _digits(tree: ast.Expression) -> list[ast.Constant]:
    """The numbers of decimals that an expression rounds to."""
    return [
        node.args[1]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "round" and len(node.args) == 2
        if isinstance(node.args[1], ast.Constant)
    ]


def _fractions(tree: ast.Expression) -> list[Any]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)]


def _rounds_finer(what: str) -> bool:
    """Whether a mutant only rounds to more decimals, which changes nothing where a value has no more of them."""
    before, becomes, after = what.partition(": ")[2].partition(" becomes ")
    if not becomes or "round(" not in before:
        return False
    trees = [ast.parse(text, mode="eval") for text in (before, after)]
    for tree in trees:
        for digits in _digits(tree):
            digits.value = 0
    return ast.unparse(trees[0]) == ast.unparse(trees[1])


def _texts(tree: ast.Expression) -> list[tuple[Any, bool]]:
    """The text constants of an expression, each with whether it is a key."""
    keys = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    texts: Collection[ast.AST] = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [(node, id(node) in keys) for node in texts]

"""Other procedures for a task: its gold workflow with one thing changed, as when a rule or a text is replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, cast

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
    Workflow,
)
from tools_registry.specs.spec import ToolSpec


def procedures(gold: Workflow, specs: Mapping[str, ToolSpec]) -> list[Workflow]:
    """The workflows that differ from one in a constant, in the arms of a condition, or in two fields of the answer.

    Args:
        gold: The workflow.
        specs: Its tools.
    """
    found = [
        gold.model_copy(update={"nodes": (*gold.nodes[:at], changed, *gold.nodes[at + 1 :])})
        for at, node in enumerate(gold.nodes)
        for changed in _nodes(node)
    ]
    for condition in gold.nodes:
        if isinstance(condition, Condition):
            edges = tuple(
                edge.model_copy(update={"when": not edge.when}) if edge.source == condition.id else edge
                for edge in gold.edges
            )
            found.append(gold.model_copy(update={"edges": edges}))
    return [workflow for workflow in found if not check(workflow, specs)]


def _nodes(node: Node) -> Iterator[Node]:
    """A node with one thing changed."""
    match node:
        case ToolNode(args=args):
            for name, binding in args.items():
                yield from (node.model_copy(update={"args": {**args, name: other}}) for other in _bindings(binding))
        case Condition(expr=str(expr)) | Assign(expr=str(expr)):
            yield from (node.model_copy(update={"expr": other}) for other in _expressions(expr))
        case Assign(value=value) if value is not None:
            yield from (node.model_copy(update={"value": other}) for other in _bindings(value))
        case End(output=output):
            yield from (node.model_copy(update={"output": other}) for other in _bindings(output))
        case Map(where=where, body=body):
            yield from (node.model_copy(update={"where": other}) for other in _expressions(where or "True"))
            for at, step in enumerate(body):
                for other in _nodes(step):
                    yield node.model_copy(update={"body": (*body[:at], other, *body[at + 1 :])})
        case _:
            pass


def _bindings(binding: Binding) -> Iterator[Binding]:
    match binding:
        case Literal_(value=value):
            yield from (Literal_(value=other) for other in _constants(value))
        case ListOf(list=parts):
            for at, part in enumerate(parts):
                yield from (ListOf(list=(*parts[:at], other, *parts[at + 1 :])) for other in _bindings(part))
        case ObjectOf(object=fields):
            for name, part in fields.items():
                yield from (ObjectOf(object={**fields, name: other}) for other in _bindings(part))
            if len(names := list(fields)) > 1:
                first, second = names[:2]
                yield ObjectOf(object={**fields, first: fields[second], second: fields[first]})
        case _:
            pass


def _expressions(text: str) -> Iterator[str]:
    """An expression with one constant changed. The names of fields stay."""
    count = len(_places(ast.parse(text, mode="eval")))
    for number in range(count):
        for choice in range(len(_constants(_places(ast.parse(text, mode="eval"))[number].value))):
            tree = ast.parse(text, mode="eval")
            constant = _places(tree)[number]
            constant.value = _constants(constant.value)[choice]
            yield ast.unparse(tree)


def _places(tree: ast.Expression) -> list[ast.Constant]:
    keys = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in keys]


def _constants(value: Any) -> list[Any]:
    """Other constants of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 2 * value]
    if isinstance(value, float):
        return [value * 1.5]
    return [f"{value} (new)"] if isinstance(value, str) else cast(list[Any], [])

"""Mutants: small wrong versions of a gold workflow. Examples and tests are chosen so that they distinguish them.

A mutant drops a call (its result is one of its arguments), replaces its tool, changes a constant or a comparison,
exchanges the arms of a branch, or drops the filter of a map.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from flowmind.workflow.checking import check
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    Literal_,
    Map,
    Node,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.spec import ToolSpec

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
}  # fmt: skip


class Mutant(NamedTuple):
    """A changed workflow with a description of the change."""

    what: str
    workflow: Workflow


def mutants(workflow: Workflow, specs: Mapping[str, ToolSpec], offered: Collection[str]) -> list[Mutant]:
    """The mutants of a workflow that pass `check`.

    Args:
        workflow: The gold workflow.
        specs: All tools.
        offered: The tools that may replace others.
    """
    candidates: list[Mutant] = []
    for index, node in enumerate(workflow.nodes):
        for what, changed in _changes(node, specs, offered):
            nodes = (*workflow.nodes[:index], changed, *workflow.nodes[index + 1 :])
            candidates.append(Mutant(f"{node.id}: {what}", workflow.model_copy(update={"nodes": nodes})))
        if isinstance(node, Condition):
            edges = tuple(
                edge.model_copy(update={"when": not edge.when}) if edge.source == node.id else edge
                for edge in workflow.edges
            )
            candidates.append(Mutant(f"{node.id}: arms exchanged", workflow.model_copy(update={"edges": edges})))
    return [mutant for mutant in candidates if not check(mutant.workflow, specs)]


def _changes(node: Node, specs: Mapping[str, ToolSpec], offered: Collection[str]) -> Iterator[tuple[str, Node]]:
    match node:
        case ToolNode():
            yield from _tool(node, specs, offered)
        case Condition(expr=expr) | Assign(expr=str(expr)):
            for text in _expressions(expr):
                yield f"{expr} becomes {text}", node.model_copy(update={"expr": text})
        case Assign(value=Literal_(value=value)):
            for other in _values(value):
                yield f"{value!r} becomes {other!r}", node.model_copy(update={"value": Literal_(value=other)})
        case Map():
            if node.where is not None:
                yield "filter dropped", node.model_copy(update={"where": None})
                for text in _expressions(node.where):
                    yield f"{node.where} becomes {text}", node.model_copy(update={"where": text})
            for at, step in enumerate(node.body):
                for what, changed in _changes(step, specs, offered):
                    body = (*node.body[:at], changed, *node.body[at + 1 :])
                    yield f"{step.id}: {what}", node.model_copy(update={"body": body})
        case _:
            pass


def _tool(node: ToolNode, specs: Mapping[str, ToolSpec], offered: Collection[str]) -> Iterator[tuple[str, Node]]:
    for name, binding in node.args.items():
        if isinstance(binding, Var):
            yield f"{node.tool} dropped for {name}", Assign(id=node.id, value=binding, output=node.output)
        for what, other in _bindings(binding):
            args = {**node.args, name: other}
            yield f"{name}: {what}", node.model_copy(update={"args": args})
    for tool in sorted(offered):
        if tool != node.tool and set(specs[tool].names) == set(node.args):
            yield f"{node.tool} becomes {tool}", node.model_copy(update={"tool": tool})


def _bindings(binding: Binding) -> Iterator[tuple[str, Binding]]:
    if isinstance(binding, Literal_):
        for other in _values(binding.value):
            yield f"{binding.value!r} becomes {other!r}", Literal_(value=other)


def _values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 1.1]
    return []


def _expressions(text: str) -> Iterator[str]:
    """The expressions with one comparison or one number changed."""
    plain = ast.unparse(ast.parse(text, mode="eval"))
    for number in range(len(_places(ast.parse(text, mode="eval")))):
        tree = ast.parse(text, mode="eval")
        node, at = _places(tree)[number]
        if isinstance(node, ast.Compare):
            node.ops[at] = _COMPARISONS.get(type(node.ops[at]), node.ops[at])
        else:
            node.value += 1
        if (changed := ast.unparse(tree)) != plain:
            yield changed


def _places(tree: ast.Expression) -> list[tuple[Any, int]]:
    """The comparisons and integers of an expression, each as a node and the index of its operator."""
    places: list[tuple[Any, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            places += [(node, at) for at in range(len(node.ops))]
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            places.append((node, 0))
    return places

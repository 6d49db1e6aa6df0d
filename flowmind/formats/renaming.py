"""Other names for the variables of an expression, the rest of its text left as it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flowmind.workflow import expressions


def rename(expr: str, new: Mapping[str, str]) -> str:
    """An expression with other names for its variables.

    Functions, methods, types and the names that comprehensions bind stay as they are.

    Raises:
        ExpressionError: If it is outside the language.
    """
    for at, name in sorted(_uses(expressions.parse(expr), frozenset()), reverse=True):
        if name in new and expr.startswith(name, at):
            expr = expr[:at] + new[name] + expr[at + len(name) :]
    return expr


def _uses(node: ast.AST, bound: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Where an expression reads its variables: column from 0, and name."""
    match node:
        case ast.Name(id=name):
            if name not in bound:
                yield node.col_offset, name
            return
        case ast.ListComp(generators=[loop]) | ast.GeneratorExp(generators=[loop]):
            inner = bound | {loop.target.id} if isinstance(loop.target, ast.Name) else bound
            yield from _uses(loop.iter, bound)
            for part in (node.elt, *loop.ifs):
                yield from _uses(part, inner)
            return
        case ast.Call(func=ast.Name(id=function), args=args):
            parts: list[ast.expr] = args[:1] if function == "isinstance" else args
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            parts = [owner, *args]
        case _:
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    for part in parts:
        yield from _uses(part, bound)

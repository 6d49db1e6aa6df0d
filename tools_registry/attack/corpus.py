"""Attempts made from the attacks of a corpus: their names, attributes, texts and base classes are swapped."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tools_registry.sandbox import audit

_SWAPS = 3
"""The most changes of a source."""


def read(path: Path) -> tuple[str, ...]:
    """The sources of the tools in a file of attacks, as the audit reads it.

    Raises:
        AuditError: If the file cannot be used.
    """
    sources = [row.source for row in audit.read(path) if row.surface == "tool" and row.severity != "benign"]
    usable = tuple(source for source in sources if _tree(source) is not None and len(source) < 5_000)
    if not usable:
        raise audit.AuditError(f"{path}: has no attack that defines a function `tool`")
    return usable


def mutated(sources: Sequence[str], random: Random, value: Callable[[], str], names: Sequence[str]) -> str:
    """The body of a function that defines a changed attack, perhaps after the definitions of another, and calls it.

    Args:
        sources: The attacks.
        random: The source of choices.
        value: A new expression in place of a name.
        names: New attributes and texts.
    """
    body: list[ast.stmt] = []
    for source in random.sample(sources, min(len(sources), random.choice((1, 1, 2)))):
        tree = _tree(source)
        assert tree is not None
        body += tree.body
    tree = ast.Module(body, [])
    for _ in range(random.randint(0, _SWAPS)):
        places = [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Constant | ast.ClassDef | ast.Call)
        ]
        if places:
            _swap(places[random.randrange(len(places))], random, value, names)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        given = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        function.body[:0] = ast.parse(f"note('', ({''.join(f'{name}, ' for name in given)}))").body
    tool = next(node for node in reversed(body) if isinstance(node, ast.FunctionDef) and node.name == "tool")
    count = len(tool.args.args) - len(tool.args.defaults)
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\nreturn tool({', '.join(['TEXT'] * count)})"


def _tree(source: str) -> ast.Module | None:
    """The syntax tree of a source that defines a function `tool`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if any(isinstance(node, ast.FunctionDef) and node.name == "tool" for node in tree.body) else None


def _swap(node: Any, random: Random, value: Callable[[], str], names: Sequence[str]) -> None:
    name = names[random.randrange(len(names))]
    match node:
        case ast.Attribute():
            node.attr = name
        case ast.Constant() if isinstance(node.value, str):
            node.value = name
        case ast.ClassDef():
            node.bases = [_expression(value())]
        case ast.Call() if node.args:
            node.args[random.randrange(len(node.args))] = _expression(value())
        case _:
            pass


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body

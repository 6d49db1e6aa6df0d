"""Python built as a syntax tree: templates, whose names in capitals stand for parts, and constants.

A template is text of the exporter. What comes from a workflow enters a tree in three ways only: as the value of a
constant (`constant`, `docstring`), as the text of a comment (`Remark`), or as an identifier, which is checked.
"""

from __future__ import annotations

import ast
import keyword
import math
import unicodedata
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, cast

Part = str | ast.expr | Sequence[ast.AST]
"""What takes the place of a name in a template: an identifier, an expression, or several nodes."""

Parameter = tuple[ast.arg, ast.expr | None]
"""A parameter with its default."""


class Remark(ast.stmt):
    """A comment on a line of its own; without text, an empty line."""

    def __init__(self, text: str = "", beside: bool = False) -> None:
        super().__init__()
        self.text = text
        self.beside = beside
        """Whether it is written behind the first line of the next statement, where there is room."""


def quote(template: str, **parts: Part) -> list[ast.stmt]:
    """The statements of a template, with parts in the places of names.

    Args:
        template: Python; a name that is a key of `parts` is a place. Several nodes take the place of a statement
            (`BODY`), of arguments (`*ARGS`) or of named arguments (`**FIELDS`).
        parts: By the names in the template.

    Raises:
        ValueError: If a text is no identifier.
    """
    tree = _Filled(parts).visit(deepcopy(_parsed(template)))
    return cast(list[ast.stmt], tree.body)


def quoted(template: str, **parts: Part) -> ast.expr:
    """The expression of a template, with parts in the places of names, as for `quote`."""
    (statement,) = quote(template, **parts)
    return cast(ast.Expr, statement).value


@cache
def _parsed(template: str) -> ast.Module:
    return ast.parse(template)


class _Filled(ast.NodeTransformer):
    """Puts parts into the copy of a template; what is put in is not visited."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    def visit(self, node: ast.AST) -> Any:
        match node:
            case (
                ast.Expr(value=ast.Name(id=place))
                | ast.Starred(value=ast.Name(id=place))
                | ast.keyword(arg=None, value=ast.Name(id=place))
            ) if isinstance(part := self.parts.get(place), Sequence) and not isinstance(part, str):
                return part
            case ast.Name(id=place) if isinstance(part := self.parts.get(place), ast.expr):
                return part
            case _:
                pass
        for key in ("id", "name", "arg"):
            if isinstance(part := self.parts.get(getattr(node, key, "")), str):
                setattr(node, key, identifier(part))
        return self.generic_visit(node)


def is_identifier(text: str) -> bool:
    """Whether a text can be a name in Python, and stays as it is: Python reads `ﬁ` as `fi`."""
    same = unicodedata.normalize("NFKC", text) == text
    return same and text.isidentifier() and text != "__debug__" and not keyword.iskeyword(text)


def identifier(text: str) -> str:
    """The text itself, which is checked.

    Raises:
        ValueError: If it is no identifier, or a keyword.
    """
    if not is_identifier(text):
        raise ValueError(f"{text!r} is no identifier of Python")
    return text


def named(text: str) -> ast.Name:
    """A name as an expression."""
    return ast.Name(identifier(text))


def constant(value: Any) -> ast.expr:
    """A JSON value as an expression."""
    match value:
        case dict():
            fields = cast(Mapping[str, Any], value)
            return ast.Dict([*map(constant, fields)], [*map(constant, fields.values())])
        case list():
            return ast.List([*map(constant, cast(Sequence[Any], value))])
        case int() | float() if math.copysign(1, value) < 0:
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        case _:
            return ast.Constant(value)


def call(function: str, *arguments: ast.expr) -> ast.expr:
    """The call of a function with arguments by their places."""
    return ast.Call(named(function), [*arguments], [])


def table(fields: Mapping[str, ast.expr]) -> ast.expr:
    """A dict with texts for keys."""
    return ast.Dict([*map(constant, fields)], [*fields.values()])


def parameter(called: str, hint: ast.expr | None = None) -> ast.arg:
    """A parameter of a function."""
    return ast.arg(identifier(called), hint)


def function(
    called: str,
    parameters: Sequence[Parameter],
    body: Sequence[ast.stmt],
    gives: ast.expr | None = None,
    only_named: Sequence[ast.arg] = (),
    rest: ast.arg | None = None,
) -> ast.stmt:
    """The definition of a function.

    Args:
        called: Its name.
        parameters: Each with its default; those without one come first.
        body: Its statements.
        gives: The type of its result.
        only_named: Parameters that are given by name.
        rest: The parameter that takes all others.
    """
    defaults = [default for _, default in parameters if default is not None]
    arguments = ast.arguments(
        [], [one for one, _ in parameters], None, [*only_named], [None for _ in only_named], rest, defaults
    )
    return ast.FunctionDef(identifier(called), arguments, [*body], [], gives)


def docstring(lines: Sequence[str]) -> list[ast.stmt]:
    """A docstring of lines with any text; none for lines without text."""
    text = "\n".join(map(_printable, lines)).strip()
    return [ast.Expr(ast.Constant(text))] if text else []


def _printable(line: str) -> str:
    """A line without what an editor or Python may take for the end of one."""
    return "".join(character if character.isprintable() else " " for character in line).rstrip()

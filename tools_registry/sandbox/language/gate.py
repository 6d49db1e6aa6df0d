"""Checks of tool source before it is compiled: size, depth, and the statements at top level."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAX_BYTES = 32_000
MAX_BRACKETS = 60
MAX_NODES = 5_000
MAX_DEPTH = 80
MAX_FINALLY = 4
_STATEFUL = {"random"}
"""Modules whose state belongs to a namespace."""
_TOP = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


class RefusedSource(ValueError):
    """Tool source is outside the policy. The message says what is wrong and on which line."""


def parse(source: str) -> ast.Module:
    """Parses tool source and drops `if __name__ == "__main__":`.

    Raises:
        RefusedSource: If the source is too large or too deep, does not parse, or has another statement at top level.
    """
    _check_text(source)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise RefusedSource(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RefusedSource(f"source does not parse: {error}") from None
    _check_size(tree)
    tree.body = [node for node in tree.body if not _never_runs(node)]
    for node in tree.body:
        _check_top(node)
    return tree


def imported(tree: ast.Module) -> Iterator[tuple[str, list[str], int]]:
    """The modules that are imported at top level, each with the names that are taken from it and its line."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, [], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = [alias.name for alias in node.names]
            yield "." * node.level + (node.module or ""), names, node.lineno


def is_stateless(tree: ast.Module) -> bool:
    """Whether one namespace can serve any number of cases, because nothing in it can change.

    This is the case if the top level contains only imports of modules without state, and functions with constant
    defaults and without decorators or `global`, and if no attribute is set, because functions have attributes.
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            if node.decorator_list or not all(isinstance(default, ast.Constant) for default in defaults):
                return False
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            return False
    return not any(_keeps_state(node) for node in ast.walk(tree))


def _keeps_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name in _STATEFUL for alias in node.names)
    if isinstance(node, ast.Attribute):
        return not isinstance(node.ctx, ast.Load) or node.attr == "__dict__"  # functions of the tool have attributes
    if isinstance(node, ast.Name):
        return node.id in ("setattr", "delattr")
    return isinstance(node, ast.Global) or (isinstance(node, ast.ImportFrom) and node.module in _STATEFUL)


def _check_text(source: str) -> None:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise RefusedSource("source has a lone surrogate; it must be UTF-8 text") from None
    if size > MAX_BYTES:
        raise RefusedSource(f"source has {size} bytes, at most {MAX_BYTES} are allowed")
    depth = 0
    for character in source:
        if character in "([{":
            depth += 1
            if depth > MAX_BRACKETS:
                raise RefusedSource(f"brackets are nested deeper than {MAX_BRACKETS}")
        elif character in ")]}":
            depth -= 1


def _check_size(tree: ast.Module) -> None:
    """Counts nodes and depth with an explicit stack, so that no source can exhaust Python's stack."""
    stack: list[tuple[ast.AST, int, int]] = [(tree, 1, 0)]
    count = 0
    while stack:
        node, depth, finals = stack.pop()
        count += 1
        line = getattr(node, "lineno", 1)
        if count > MAX_NODES:
            raise RefusedSource(f"source has more than {MAX_NODES} syntax nodes")
        if depth > MAX_DEPTH:
            raise RefusedSource(f"line {line}: nested deeper than {MAX_DEPTH}")
        # The compiler emits a `finally` block twice, so nested ones double in size with each level.
        last = node.finalbody if isinstance(node, ast.Try) else []
        if last and finals == MAX_FINALLY:
            raise RefusedSource(f"line {line}: `finally` is nested deeper than {MAX_FINALLY}")
        stack.extend((child, depth + 1, finals + (child in last)) for child in ast.iter_child_nodes(node))


def _never_runs(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":` or `if TYPE_CHECKING:`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    match node.test:
        case ast.Compare(left=ast.Name("__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]):
            return True
        case ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
        case _:
            return False


def _check_top(node: ast.stmt) -> None:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not docstring and not isinstance(node, (*_TOP, ast.Pass)):
        kind = type(node).__name__
        raise RefusedSource(
            f"line {node.lineno}: {kind} at top level; only imports, constants, functions and classes may stand there"
        )

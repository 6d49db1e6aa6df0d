"""Tools files: Python files whose functions are tools and run in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from importlib import import_module

from tools_registry.specs.spec import SpecError, ToolSource


def tools_of_file(source: str) -> list[ToolSource]:
    """The tools of a file, checked by the rules of the sandbox without executing them.

    Raises:
        SpecError: If the file defines no tool, a function cannot be a tool, or the sandbox refuses the source.
    """
    tools = ToolSource.parse_all(source)
    policy = import_module("tools_registry.sandbox.language.policy")  # takes 50 ms, and the catalog does not need it
    try:
        policy.compile_tools(tools[0].source)
    except policy.RefusedSource as error:
        raise SpecError(str(error)) from None
    body = ast.parse(tools[0].source).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module in policy.FACADES:
            facade = policy.FACADES[node.module]
            for alias in node.names:
                if not hasattr(facade, alias.name):
                    raise SpecError(f"line {node.lineno}: tools cannot import {alias.name!r} from {node.module!r}")
    for name, line in _undefined(body, policy.BUILTINS):
        raise SpecError(f"line {line}: the name {name!r} is not defined in the sandbox")
    return tools


def _undefined(body: list[ast.stmt], builtins: Collection[str]) -> Iterator[tuple[str, int]]:
    """The names that are read while the file is defined, and that nothing defines before; each with its line."""
    known = {*builtins, "__name__"}
    for node in body:
        if isinstance(node, ast.If):  # `if __name__ == "__main__":` and `if TYPE_CHECKING:` never run
            continue
        names = [part for part in _evaluated(node) if isinstance(part, ast.Name)]
        known |= {part.id for part in names if isinstance(part.ctx, ast.Store)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            known |= {part.name for part in ast.walk(node) if isinstance(part, ast.FunctionDef | ast.ClassDef)}
        yield from ((part.id, part.lineno) for part in names if isinstance(part.ctx, ast.Load) and part.id not in known)
        if isinstance(node, ast.Import | ast.ImportFrom):
            known |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that are evaluated with it: without the bodies of functions, and annotations."""
    parts: list[ast.AST | None]
    match node:
        case ast.FunctionDef():
            parts = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        case ast.Lambda():
            parts = [*node.args.defaults, *node.args.kw_defaults]
        case ast.AnnAssign():
            parts = [node.target, node.value]
        case _:
            yield node
            parts = [*ast.iter_child_nodes(node)]
    for part in parts:
        if part is not None:
            yield from _evaluated(part)

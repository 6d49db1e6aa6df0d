"""Gathering: what a loop keeps of its rounds, as simple as what is read of it.

The search keeps all variables of all rounds in `rows`, and reads them by comprehensions. A workflow gathers only what
is read: `[row["order"]["id"] for row in rows]` becomes a list to which each round appends, or which a map collects.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from flowmind.build.induction.spelling import parsed, plural, reads_of, telling

_Comprehension = ast.ListComp | ast.GeneratorExp


class Kept(NamedTuple):
    """A variable that each round of a loop changes."""

    name: str
    initial: Any
    update: str
    """The expression of its new value."""
    condition: str = ""
    """Only rounds for which it holds change the variable."""


@dataclass
class Gathered:
    """What a loop keeps of its rounds."""

    kept: list[Kept] = field(default_factory=list[Kept])
    rewritten: dict[str, str] = field(default_factory=dict[str, str])
    """For parts of expressions what stands in their place."""
    collected: str = ""
    """Of a map, the expression that it collects."""

    @property
    def names(self) -> list[str]:
        """The variables that are set after the loop."""
        return [kept.name for kept in self.kept]

    def keep_rows(self, rows: str, variables: Sequence[str]) -> None:
        """Keeps rows with some of the variables of a round."""
        record = f"{{{', '.join(f'{name!r}: {name}' for name in variables)}}}"
        self.kept, self.rewritten = [Kept(rows, [], f"{rows} + [{record}]")], {}
        self.collected = record if self.collected else ""


class Round(NamedTuple):
    """A loop, and who reads its rows."""

    rows: str
    """The variable with the rows."""
    variables: Sequence[str]
    """Of a row."""
    stable: Collection[str]
    """Variables that do not change from the loop to its readers."""
    readers: Sequence[str]
    """The expressions that read the rows."""
    fresh: Callable[[str], str]
    """Gives a name of a variable that is not taken."""


class _Use(NamedTuple):
    """A comprehension over rows, or their number, in terms of the variables of a round."""

    text: str
    """The whole expression."""
    element: str
    """Empty if only the number counts."""
    condition: str
    joined: bool
    """Whether the elements are lists, which are joined."""


def of_graph(loop: Round) -> Gathered:
    """What a loop of the graph keeps."""
    gathered, uses = Gathered(), _Uses(loop)
    if not uses.all_told:
        gathered.keep_rows(loop.rows, uses.variables)
        return gathered
    known: dict[tuple[str, str, bool], str] = {}
    for use in uses.found:
        key = use[1:]
        if key not in known:
            name = known[key] = loop.fresh(_name_of(use, loop.rows))
            added = "1" if not use.element else use.element if use.joined else f"[{use.element}]"
            gathered.kept.append(Kept(name, [] if use.element else 0, f"{name} + {added}", use.condition))
        gathered.rewritten[use.text] = known[key]
    return gathered


def of_map(loop: Round, last: str) -> Gathered:
    """What a map collects; its last result if nothing is read."""
    gathered, uses = Gathered(collected=last), _Uses(loop)
    elements = {use.element for use in uses.found if use.element} or {last}
    if not loop.readers:
        return gathered
    if not uses.all_told or len(elements) != 1 or any(use.condition for use in uses.found):
        gathered.keep_rows(loop.rows, uses.variables)
        return gathered
    gathered.collected = elements.pop()
    name = loop.fresh(_name_of(_Use("", gathered.collected, "", False), loop.rows))
    gathered.kept = [Kept(name, [], "")]
    for use in uses.found:
        number = f"sum({name}, [])" if use.joined else name
        gathered.rewritten[use.text] = number if use.element else f"len({name})"
    return gathered


def _name_of(use: _Use, rows: str) -> str:
    if not use.element:
        return "count"
    wish = telling(parsed(use.element), use.element if use.element.isidentifier() else rows)
    return wish if use.joined else plural(wish)


def rewritten(text: str, table: Mapping[str, str]) -> str:
    """An expression that reads what loops keep in place of their rows."""
    return ast.unparse(_Rewriter(table).visit(parsed(text))) if table else text


class _Rewriter(ast.NodeTransformer):
    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Call | _Comprehension):
            after = self.table.get(ast.unparse(node))
            if after is not None:
                return parsed(after)
        return self.generic_visit(node)


class _Uses:
    """How the rows of a loop are read."""

    def __init__(self, loop: Round) -> None:
        self.loop = loop
        self.found: list[_Use] = []
        self.all_told = True
        """Whether each use is a comprehension over the variables of a round."""
        self._keys: set[str] = set()
        self._whole = False
        for text in loop.readers:
            self._find(parsed(text))

    @property
    def variables(self) -> list[str]:
        """The variables of rows that are read; all of them if that cannot be told."""
        named = [name for name in self.loop.variables if name in self._keys and not self._whole]
        return named or list(self.loop.variables)

    def _find(self, node: ast.AST) -> None:
        rows = self.loop.rows
        match node:
            case ast.Name(id=name) if name == rows:
                self.all_told, self._whole = False, True
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id=name)), slice=ast.Constant(value=str(key))) if (
                name == rows
            ):
                self.all_told = False
                self._keys.add(key)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name == rows:
                self.found.append(_Use(ast.unparse(node), "", "", False))
            case ast.Call(func=ast.Name(id="len" | "sum" as name), args=[loop]) if self._over(loop) and (
                name == "len" or (isinstance(loop.elt, ast.Constant) and loop.elt.value == 1)
            ):
                self._add(node, loop, counts=True)
            case ast.Call(func=ast.Name(id="sum"), args=[loop, ast.List(elts=[])]) if self._over(loop):
                self._add(node, loop, joined=True)
            case _ if self._over(node):
                self._add(node, node)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._find(child)

    def _over(self, loop: ast.AST) -> TypeGuard[_Comprehension]:
        """Whether a node is a comprehension over the rows."""
        source = loop.generators[0].iter if isinstance(loop, _Comprehension) else None
        return isinstance(source, ast.Name) and source.id == self.loop.rows

    def _add(self, node: ast.AST, loop: _Comprehension, counts: bool = False, joined: bool = False) -> None:
        target, tests = loop.generators[0].target, loop.generators[0].ifs
        assert isinstance(target, ast.Name)
        told = [self._told(part, target.id) for part in (loop.elt, *tests)]
        self.all_told = self.all_told and None not in told
        element, *conditions = [text or "" for text in told]
        condition = conditions[0] if len(conditions) == 1 else " and ".join(f"({text})" for text in conditions)
        self.found.append(_Use(ast.unparse(node), "" if counts else element, condition, joined))

    def _told(self, node: ast.expr, row: str) -> str | None:
        """A part of a comprehension as an expression over the variables of a round; None if there is none."""
        teller = _Teller(row, {*self.loop.variables, self.loop.rows})
        text = ast.unparse(teller.visit(parsed(ast.unparse(node))))
        self._keys |= teller.keys
        self._whole = self._whole or teller.whole
        if teller.whole or teller.captured or not reads_of(text) <= {*self.loop.variables, *self.loop.stable}:
            return None
        return text


class _Teller(ast.NodeTransformer):
    """Replaces `row["name"]` by `name`."""

    def __init__(self, row: str, variables: Collection[str]) -> None:
        self.row = row
        self.variables = variables
        self.keys: set[str] = set()
        self.whole = False
        """Whether the row is also read as a whole."""
        self.captured = False
        """Whether a name would change its meaning."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key))) if owner == self.row:
                self.keys.add(key)
                return ast.Name(id=key, ctx=ast.Load())
            case _:
                return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.whole = self.whole or node.id == self.row
        self.captured = self.captured or node.id in self.variables
        return node

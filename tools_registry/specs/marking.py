"""Writes marks into Python files. Everything else in a file keeps its bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from tools_registry.specs.marks import Effect, Markings, SpecError


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def with_marks(data: bytes, effects: Mapping[str, Effect]) -> bytes:
    """The content of a Python file with these marks.

    Args:
        data: The content, in UTF-8.
        effects: The effects of functions at top level, by the functions' names. A function that is marked `read` or
            `write` keeps its mark.

    Raises:
        SpecError: If the content does not parse, or a mark in it cannot be read.
    """
    file = _File(data)
    for edit in sorted(file.edits(effects), key=lambda edit: edit.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


def parse(data: bytes) -> ast.Module:
    """The syntax tree of a Python file in UTF-8.

    Raises:
        SpecError: If it does not parse.
    """
    try:
        return ast.parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise SpecError("the file is not UTF-8 text") from None
    except SyntaxError as error:
        raise SpecError(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SpecError(f"the file does not parse: {error}") from None


class _File:
    def __init__(self, data: bytes) -> None:
        self.tree = parse(data)
        self.markings = Markings(self.tree)
        self.data = data
        self.lines = data.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.bom = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.newline = "\r\n" if self.lines and self.lines[0].endswith(b"\r\n") else "\n"

    def edits(self, effects: Mapping[str, Effect]) -> Iterator[_Edit]:
        """The changes; the import comes last, so that it is inserted before a mark at the same place."""
        decorator, importing = self._decorator()
        changed = False
        for node in self.tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in effects:
                continue
            mark = self.markings.marks.get(node)
            if mark is not None and mark.effect != "unknown":
                continue
            changed = True
            effect = effects[node.name]
            if mark is None:
                line = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                start = max(self.starts[line - 1], self.bom)
                yield _Edit(start, start, f'@{decorator}(effect="{effect}"){self.newline}')
            else:
                name = "" if mark.name is None else f', name="{mark.name}"'
                (present,) = [part for part in node.decorator_list if part in self.markings.decorators]
                call = ast.unparse(cast(ast.Call, present).func)
                yield _Edit(*self._place(present), f'{call}(effect="{effect}"{name})')
        if changed and importing:
            yield self._import(importing)

    def _place(self, node: ast.expr) -> tuple[int, int]:
        """The first byte of a node, and the one after it."""
        bom = [self.bom if line == 1 else 0 for line in (node.lineno, cast(int, node.end_lineno))]
        start = self.starts[node.lineno - 1] + node.col_offset + bom[0]
        return start, self.starts[cast(int, node.end_lineno) - 1] + cast(int, node.end_col_offset) + bom[1]

    def _decorator(self) -> tuple[str, str]:
        """The decorator, and the import that it needs; empty if the file has it."""
        if self.markings.names:
            return min(self.markings.names), ""
        if self.markings.modules:
            return f"{min(self.markings.modules)}.tool", ""
        return (
            ("flowmind.tool", "import flowmind")
            if "tool" in _bound(self.tree)
            else ("tool", "from flowmind import tool")
        )

    def _import(self, statement: str) -> _Edit:
        """The import: after the imports at the top, or the docstring, or the comments at the top."""
        new = self.newline
        head = _head(self.tree)
        if head is None:
            line = 0
            while line < len(self.lines) and self.lines[line].removeprefix(b"\xef\xbb\xbf").startswith(b"#"):
                line += 1
            if line and not self.lines[line].strip():
                text = f"{new}{statement}{new}"
            else:
                line = sum(comment.startswith(b"#!") or b"coding" in comment for comment in self.lines[: min(line, 2)])
                text = f"{statement}{new}{new}{new}"
            place = max(self.starts[line], self.bom)
        else:
            place = self.starts[cast(int, head.end_lineno)]
            text = f"{statement}{new}" if isinstance(head, ast.Import | ast.ImportFrom) else f"{new}{statement}{new}"
            if not self.data[:place].endswith((b"\n", b"\r")):
                text = new + text
        return _Edit(place, place, text)


def _head(tree: ast.Module) -> ast.stmt | None:
    """The last of the imports at the top of a file; without imports its docstring."""
    head: ast.stmt | None = None
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        head = node
    return head


def _bound(tree: ast.Module) -> set[str]:
    """The names that are bound at top level."""
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        else:
            bound |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bound

"""The catalog: documented, atomic tools in four categories, read as source and run in the sandbox.

Each module holds functions of one theme; each function stands alone, with at least three checked examples in its
docstring. `load` reads them as syntax: nothing of the catalog is imported to be used as a tool.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from tools_registry.specs.marks import Mark
from tools_registry.specs.spec import Record, SpecError, ToolSource, ToolSpec, spec_from_ast

Category = Literal["mathematical_computation", "data_processing", "string_manipulation", "logical_reasoning"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
FOLDERS: Mapping[str, Category] = {
    "mathematics": "mathematical_computation",
    "data": "data_processing",
    "strings": "string_manipulation",
    "logic": "logical_reasoning",
}


class Example(Record):
    """A checked example of a tool, from its docstring."""

    args: dict[str, Any]
    result: Any


class CatalogTool(ToolSource):
    """A tool of the catalog."""

    category: Category
    theme: str
    """The module that holds it."""
    examples: tuple[Example, ...]


class Catalog(Mapping[str, CatalogTool]):
    """The tools by name; a tool's spec and examples are read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._found: dict[str, tuple[Path, Category, ast.FunctionDef, list[str]]] = {}
        self._read: dict[str, CatalogTool] = {}
        for name, category in FOLDERS.items():
            for path in sorted((folder / name).glob("*.py")):
                self._index(path, category)

    def _index(self, path: Path, category: Category) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                if node.name in self._found:
                    raise ValueError(f"tool {node.name!r} stands twice in the catalog")
                self._found[node.name] = (path, category, node, imports)

    def __getitem__(self, name: str) -> CatalogTool:
        if name not in self._read:
            path, category, node, imports = self._found[name]
            self._read[name] = _tool(node, imports, category, path.stem)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class Specs(Mapping[str, ToolSpec]):
    """The specs of a catalog's tools by name."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> ToolSpec:
        return self._catalog[name].spec

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog)

    def __len__(self) -> int:
        return len(self._catalog)


@cache
def load() -> Catalog:
    """All tools of the catalog."""
    return Catalog(Path(__file__).parent)


def specs() -> Specs:
    """The specs of all tools."""
    return Specs(load())


def tools_in(source: str, category: Category, theme: str) -> Iterator[CatalogTool | tuple[str, str]]:
    """The functions of a source text as tools; of one that cannot be a tool its name and the reason."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "source", "it does not parse"
        return
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            try:
                yield _tool(node, imports, category, theme)
            except SpecError:
                yield node.name, "a parameter or result has no JSON type"
            except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
                yield node.name, "an example cannot be read"


def _tool(node: ast.FunctionDef, imports: list[str], category: Category, theme: str) -> CatalogTool:
    spec = spec_from_ast(node, Mark("read"))
    return CatalogTool(
        spec=spec,
        source="\n".join([*_used(imports, node), _without_docstring(node)]) + "\n",
        category=category,
        theme=theme,
        examples=_examples(ast.get_docstring(node) or "", spec),
    )


def _used(imports: list[str], node: ast.FunctionDef) -> list[str]:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return [line for line in imports if names & set(line.replace(",", " ").split())]


def _without_docstring(node: ast.FunctionDef) -> str:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    fields: dict[str, Any] = {**dict(ast.iter_fields(node)), "body": body or [ast.Pass()]}
    return ast.unparse(ast.copy_location(ast.FunctionDef(**fields), node))


def _examples(docstring: str, spec: ToolSpec) -> tuple[Example, ...]:
    found: list[Example] = []
    for example in doctest.DocTestParser().get_examples(docstring):
        call = ast.parse(example.source, mode="eval").body
        if not isinstance(call, ast.Call):
            continue
        given = dict(zip(spec.names, map(ast.literal_eval, call.args), strict=False))
        given |= {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
        found.append(Example(args=given, result=ast.literal_eval(example.want or "None")))
    return tuple(found)

"""Reads gold workflows that are written as the body of a Python function.

    order = get_order(order_id=order_id)
    if order["status"] != "shipped":
        return {"status": order["status"], "eta": None}
    shipment = get_shipment(shipment_id=order["shipment_id"])
    return {"status": order["status"], "eta": shipment["eta"]}

Statements: `x = expression`, `x += …`, `out.append(…)`, a call of a tool with named arguments (with or without
`x = …`), `x = [tool(…) for row in rows if …]`, `if`, `while`, `for`, `break`, `continue`, `return`. Expressions are
those of workflows, and f-strings. A tool is called as a statement only, never inside an expression.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    Map,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.schema import JSONSchema


def read_gold(name: str, source: str, inputs: JSONSchema, tools: Collection[str]) -> Workflow:
    """The workflow that a body describes.

    Args:
        name: The name of the workflow.
        source: The body.
        inputs: The schema of the inputs.
        tools: The names of the tools.

    Raises:
        ValueError: If the body has another statement, or a path ends without `return`.
    """
    lines = textwrap.indent(textwrap.dedent(source).strip("\n"), "    ")
    body = ast.parse(f"def workflow():\n{lines}\n").body[0]
    assert isinstance(body, ast.FunctionDef)
    builder = _Builder(name, frozenset(tools))
    builder.add(Start(id="start"))
    builder.block(body.body)
    if builder.loose:
        raise ValueError(f"{name}: a path ends without return")
    return Workflow(name=name, inputs=inputs, nodes=tuple(builder.nodes), edges=tuple(builder.edges))


Loose = list[tuple[str, bool | None]]
"""Open ends that the next node is connected to: ids of nodes, with the arm of a condition."""


@dataclass
class _Exits:
    """The open ends that leave the rounds of a loop."""

    leave: Loose = field(default_factory=list[tuple[str, bool | None]])
    again: Loose = field(default_factory=list[tuple[str, bool | None]])


class _Plain(ast.NodeTransformer):
    """f-strings become sums of texts, which workflows can say."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.visit(part.value)
                parts.append(ast.Call(ast.Name("str", ast.Load()), [value], []))
            else:
                parts.append(part)
        joined = parts[0]
        for part in parts[1:]:
            joined = ast.BinOp(joined, ast.Add(), part)
        return joined


@dataclass
class _Builder:
    name: str
    tools: frozenset[str]
    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[Edge] = field(default_factory=list[Edge])
    loose: Loose = field(default_factory=list[tuple[str, bool | None]])
    exits: list[_Exits] = field(default_factory=list[_Exits])
    taken: set[str] = field(default_factory=set[str])

    def fresh(self, stem: str) -> str:
        """A name that no node and no helper variable has."""
        names = [stem, *(f"{stem}_{number}" for number in range(2, 1_000))]
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        return name

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        self.join(node.id)
        self.loose = [(node.id, None)]
        return node.id

    def join(self, target: str) -> None:
        for source, arm in self.loose:
            self.edges.append(Edge.model_validate({"from": source, "to": target, "when": arm}))
        self.loose = []

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=output)], value=value):
                self.assign(output, value)
            case ast.AugAssign(target=ast.Name(id=output), op=op, value=value):
                self.assign(output, ast.BinOp(ast.Name(output, ast.Load()), op, value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=output), attr="append"), args=[value])):
                grown = ast.List([value], ast.Load())
                self.assign(output, ast.BinOp(ast.Name(output, ast.Load()), ast.Add(), grown))
            case ast.Expr(value=ast.Call(func=ast.Name(id=tool)) as value) if tool in self.tools:
                self.assign(self.fresh(f"{tool}_result"), value)
            case ast.If(test=test, body=body, orelse=otherwise):
                self.branch(test, body, otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                self.loop(test, body)
            case ast.For(target=ast.Name(id=item), iter=over, body=body, orelse=[]):
                self.each(item, over, body)
            case ast.Break():
                self.exits[-1].leave += self.loose
                self.loose = []
            case ast.Continue():
                self.exits[-1].again += self.loose
                self.loose = []
            case ast.Return(value=value) if value is not None:
                self.add(End(id=self.fresh("end"), output=self.binding(value)))
                self.loose = []
            case _:
                raise ValueError(f"{self.name}: the body has {ast.unparse(node)!r}")

    def assign(self, output: str, value: ast.expr) -> None:
        match value:
            case ast.Call(func=ast.Name(id=tool)) if tool in self.tools:
                self.add(self.call(tool, value, output))
            case ast.ListComp(elt=ast.Call(func=ast.Name(id=tool)) as inner, generators=[loop]) if tool in self.tools:
                assert isinstance(loop.target, ast.Name)
                where = " and ".join(f"({_text(test)})" if len(loop.ifs) > 1 else _text(test) for test in loop.ifs)
                over = self.binding(loop.iter)
                step = self.call(tool, inner, self.fresh(f"{tool}_result"), inside=True)
                each = Map(
                    id=self.fresh(output), over=over, item=loop.target.id, where=where or None, body=(step,),
                    collect=Var(var=step.output), output=output,
                )  # fmt: skip
                self.add(each)
            case _:
                bound = _binding(value)
                id = self.fresh(f"set_{output}")
                if bound is not None:
                    self.add(Assign(id=id, value=bound, output=output))
                else:
                    self.add(Assign(id=id, expr=_text(value), output=output))

    def call(self, tool: str, value: ast.Call, output: str, inside: bool = False) -> ToolNode:
        if value.args or any(part.arg is None or (inside and _binding(part.value) is None) for part in value.keywords):
            raise ValueError(f"{self.name}: {ast.unparse(value)!r} needs named arguments without expressions")
        args = {str(part.arg): self.binding(part.value) for part in value.keywords}
        return ToolNode(id=self.fresh(output), tool=tool, args=args, output=output)

    def binding(self, value: ast.expr) -> Binding:
        """A binding; what is none is computed first."""
        bound = _binding(value)
        if bound is not None:
            return bound
        if isinstance(value, ast.Dict):
            keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
            return ObjectOf(object={str(key): self.binding(part) for key, part in zip(keys, value.values, strict=True)})
        name = self.fresh("value")
        self.add(Assign(id=f"set_{name}", expr=_text(value), output=name))
        return Var(var=name)

    def branch(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        check = self.add(Condition(id=self.fresh("check"), expr=_text(test)))
        self.loose = [(check, True)]
        self.block(body)
        ends = self.loose
        self.loose = [(check, False)]
        self.block(otherwise)
        self.loose = ends + self.loose

    def loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        exits = _Exits()
        always = isinstance(test, ast.Constant) and test.value is True
        first, check = len(self.nodes), ""
        if not always:
            check = self.add(Condition(id=self.fresh("more"), expr=_text(test)))
            self.loose = [(check, True)]
        self.exits.append(exits)
        self.block(body)
        self.exits.pop()
        self.loose += exits.again
        self.join(self.nodes[first].id)
        self.loose = exits.leave + ([(check, False)] if check else [])

    def each(self, item: str, over: ast.expr, body: Sequence[ast.stmt]) -> None:
        rows, at = self.fresh(f"{item}_rows"), self.fresh(f"{item}_at")
        self.assign(rows, over)
        self.assign(at, ast.Constant(0))
        head = f"{item} = {rows}[{at}]\n{at} = {at} + 1"
        self.loop(ast.parse(f"{at} < len({rows})", mode="eval").body, [*ast.parse(head).body, *body])


def _text(node: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(_Plain().visit(node)))


def _binding(node: ast.expr) -> Binding | None:
    """A constant, a variable with a path, or a list or object of such; None for other expressions."""
    path: list[str | int] = []
    inner = node
    while isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
        key: Any = inner.slice.value
        path.insert(0, key)
        inner = inner.value
    if isinstance(inner, ast.Name) and all(isinstance(key, str) or key >= 0 for key in path):
        return Var(var=inner.id, path=tuple(path))
    if path:
        return None
    match node:
        case ast.Constant(value=value):
            return Literal_(value=value)
        case ast.List(elts=parts):
            bound = [_binding(part) for part in parts]
            whole = [part for part in bound if part is not None]
            return ListOf(list=tuple(whole)) if len(whole) == len(bound) else None
        case ast.Dict(keys=keys, values=values):
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            inner_parts = [_binding(part) for part in values]
            found = {str(name): part for name, part in zip(names, inner_parts, strict=True) if part is not None}
            return ObjectOf(object=found) if len(found) == len(values) else None
        case _:
            return None

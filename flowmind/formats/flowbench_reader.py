"""Reads workflow knowledge in the form of code, as `to_flowbench_code` writes it: a procedure, then a stub per tool.

Only the syntax tree is read; nothing is executed. Statements are calls of tools, assignments, `if`, `pass` and
`return`. A loop is refused, because the code does not say its bound.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pydantic import ValidationError

from flowmind.base.errors import InputError
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.schema import SchemaError

OUTCOME = "outcome"
"""The field of a returned object whose constant becomes the id of the end."""
_MOST_CHARACTERS = 1_000_000


def from_flowbench_code(text: str) -> Workflow:
    """The workflow of a procedure in code; its inputs are the parameters, of any type.

    Raises:
        InputError: If the code cannot be read exactly, with its line.
    """
    if len(text) > _MOST_CHARACTERS:
        raise InputError(f"the code has {len(text)} characters; at most {_MOST_CHARACTERS} are read")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the code does not parse: {error}") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise InputError("line 1: expected the procedure, def name(inputs):")
    procedure, *others = functions
    stubs = {node.name: [argument.arg for argument in node.args.args] for node in others if _is_stub(node)}
    builder = _Builder(stubs)
    try:
        builder.block([node for node in procedure.body if not _is_text(node)])
        if builder.loose:
            _refuse(procedure.body[-1], "the procedure goes on behind its last statement; end it with return")
        description, notes = _docstring(procedure)
        return Workflow(
            name=procedure.name,
            description=description,
            inputs=_inputs(procedure, notes),
            nodes=tuple(builder.nodes),
            edges=tuple(builder.edges),
        )
    except (ValidationError, SchemaError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"the code has no form as a workflow: {first}") from None
    except RecursionError:
        raise InputError("the code nests too deeply") from None


def _refuse(node: ast.AST, message: str) -> NoReturn:
    raise InputError(f"line {getattr(node, 'lineno', 1)}: {message}")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_stub(node: ast.FunctionDef) -> bool:
    """Whether a function has no body but `...`."""
    body = [line for line in node.body if not _is_text(line)]
    return all(
        isinstance(line, ast.Pass)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and line.value.value is ...)
        for line in body
    )


def _docstring(procedure: ast.FunctionDef) -> tuple[str, dict[str, str]]:
    """The description of the procedure, and those of its inputs (`name: text`)."""
    names = {argument.arg for argument in procedure.args.args}
    described: list[str] = []
    notes: dict[str, str] = {}
    for line in (ast.get_docstring(procedure) or "").splitlines():
        name, colon, note = line.strip().partition(": ")
        if colon and name in names and name not in notes:
            notes[name] = note
        else:
            described.append(line.strip())
    return "\n".join(described).strip(), notes


def _inputs(procedure: ast.FunctionDef, notes: Mapping[str, str]) -> dict[str, Any]:
    names = [argument.arg for argument in procedure.args.args]
    properties: dict[str, dict[str, Any]] = {
        name: {"description": notes[name]} if name in notes else {} for name in names
    }
    optional = names[len(names) - len(procedure.args.defaults) :]
    for name, default in zip(optional, procedure.args.defaults, strict=True):
        binding = _binding(default)
        if isinstance(binding, Literal_):
            properties[name]["default"] = binding.value
    return {"type": "object", "properties": properties, "required": names[: len(names) - len(optional)]}


def _variable(name: str) -> str:
    """The name of a variable; the writer marks one that nothing reads with `_`."""
    return name.lstrip("_") or name


class _Builder:
    """Lays statements out as nodes and edges."""

    def __init__(self, stubs: Mapping[str, Sequence[str]]) -> None:
        self.stubs = stubs
        self.nodes: list[Node] = [Start(id="start")]
        self.edges: list[Edge] = []
        self.ids = {"start"}
        self.loose: list[tuple[str, bool | None]] = [("start", None)]
        """The nodes and arms that lead to the next statement."""

    def name(self, stem: str) -> str:
        """Makes an id that no node has."""
        name, count = stem[:58], 1
        while name in self.ids:
            count += 1
            name = f"{stem[:58]}_{count}"
        self.ids.add(name)
        return name

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        for source, when in self.loose:
            self.edges.append(Edge.model_validate({"from": source, "to": node.id, "when": when}))
        self.loose = [(node.id, None)]

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if not self.loose:
                _refuse(statement, "this statement is never reached")
            self.statement(statement)

    def statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Pass():
                pass
            case ast.Return(value=value):
                self.end(ast.Constant(None) if value is None else value)
            case ast.If(test=test, body=body, orelse=orelse):
                self.choice(test, body, orelse)
            case ast.Assign(targets=[ast.Name(id=output)], value=value):
                self.set(_variable(output), value)
            case ast.For() | ast.While():
                _refuse(statement, "a loop; code with loops is not read")
            case _:
                forms = "name = tool(…), name = …, if …:, pass, return …"
                _refuse(statement, f"{ast.unparse(statement)[:60]!r} is not read; the statements are {forms}")

    def set(self, output: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in self.stubs:
            args = self.arguments(value, self.stubs[value.func.id])
            self.add(ToolNode(id=self.name(output), tool=value.func.id, args=args, output=output))
            return
        binding = _binding(value)
        if binding is not None:
            self.add(Assign(id=self.name(output), value=binding, output=output))
        else:
            self.add(Assign(id=self.name(output), expr=_expression(value), output=output))

    def arguments(self, call: ast.Call, parameters: Sequence[str]) -> dict[str, Binding]:
        """The arguments of a call by name; `**{"a": x}` is read as well."""
        if len(call.args) > len(parameters):
            _refuse(call, "the call has more arguments than the function has parameters")
        given: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = keyword.value
            elif isinstance(keyword.value, ast.Dict):
                given |= _fields(keyword.value)
            else:
                _refuse(call, "arguments are written name=value")
        bindings = {name: _binding(value) for name, value in given.items()}
        args = {name: binding for name, binding in bindings.items() if binding is not None}
        if missing := [name for name in bindings if name not in args]:
            _refuse(call, f"the argument {missing[0]!r} is an expression; assign it to a variable first")
        return args

    def choice(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        name = self.name("if")
        self.add(Condition(id=name, expr=_expression(test)))
        self.loose = [(name, True)]
        self.block(body)
        after = self.loose
        self.loose = [(name, False)]
        self.block(orelse)
        self.loose = [*after, *self.loose]

    def end(self, value: ast.expr) -> None:
        output = _binding(value)
        if output is None:  # an end returns a binding, so the expression becomes a variable
            self.set("result", value)
            output = Var(var="result")
        self.add(End(id=self.name(_outcome(output)), output=output))
        self.loose = []


def _outcome(output: Binding) -> str:
    """The constant `outcome` of a returned object, or `end`."""
    match output:
        case ObjectOf(object={"outcome": Literal_(value=str() as name)}):
            return name
        case _:
            return "end"


def _fields(value: ast.Dict) -> dict[str, ast.expr]:
    fields: dict[str, ast.expr] = {}
    for key, part in zip(value.keys, value.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            _refuse(value, "the keys of an object are texts")
        fields[key.value] = part
    return fields


def _binding(node: ast.expr) -> Binding | None:
    """The binding that an expression is; None if it computes something."""
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return Literal_(value=value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Literal_(value=-value)
        case ast.Name(id=name):
            return Var(var=_variable(name))
        case ast.Subscript():
            return _path(node)
        case ast.List(elts=parts):
            bindings = [_binding(part) for part in parts]
            listed = tuple(binding for binding in bindings if binding is not None)
            return _plain(ListOf(list=listed)) if len(listed) == len(parts) else None
        case ast.Dict():
            fields = {key: _binding(part) for key, part in _fields(node).items()}
            known = {key: binding for key, binding in fields.items() if binding is not None}
            return _plain(ObjectOf(object=known)) if len(known) == len(fields) else None
        case _:
            return None


def _plain(binding: ListOf | ObjectOf) -> Binding:
    """A list or object of constants as a constant, but for an object with an outcome."""
    if isinstance(binding, ListOf):
        parts = [part.value for part in binding.list if isinstance(part, Literal_)]
        return Literal_(value=parts) if len(parts) == len(binding.list) else binding
    values = {key: part.value for key, part in binding.object.items() if isinstance(part, Literal_)}
    constant = len(values) == len(binding.object) and OUTCOME not in values
    return Literal_(value=values) if constant else binding


def _path(node: ast.expr) -> Var | None:
    """A variable, or a path of constants into it."""
    path: list[str | int] = []
    while isinstance(node, ast.Subscript):
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str | int)):
            return None
        path.insert(0, node.slice.value)
        node = node.value
    return Var(var=_variable(node.id), path=tuple(path)) if isinstance(node, ast.Name) else None


def _expression(node: ast.expr) -> str:
    text = ast.unparse(node)
    try:
        expressions.parse(text)
    except expressions.ExpressionError as error:
        _refuse(node, f"the expression {text[:60]!r}: {error}")
    return text

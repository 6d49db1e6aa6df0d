"""Shared by the exporters to Python: names, type hints, bindings, calls, and the layout of the module."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from string import Formatter
from typing import Any, cast

from flowmind.base.errors import InputError, InvalidWorkflow
from flowmind.formats import pyruntime
from flowmind.formats.fidelity import Note
from flowmind.formats.pyexpr import (
    ANY,
    Expr,
    Scope,
    Type,
    join,
    kind,
    step_into,
    type_of_input,
    type_of_value,
    value_of,
)
from flowmind.formats.pylayout import WIDTH, flat, source_of
from flowmind.formats.pytree import Remark, call, constant, docstring, is_identifier, named, quote, quoted, table
from flowmind.workflow import expressions
from flowmind.workflow.checking import check
from flowmind.workflow.document import (
    Assign,
    Binding,
    BodyStep,
    Condition,
    ListOf,
    Literal_,
    LLMNode,
    Map,
    Node,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
    bindings,
    reads,
)
from flowmind.workflow.graph import Flow
from tools_registry.sandbox.functions import spec_of
from tools_registry.specs.spec import ToolSpec

_BUILTINS = frozenset(dir(builtins)) | frozenset(keyword.kwlist)
_NOTES = ("title", "description", "default", "examples", "format", "$schema", "$id")
HOMES: Mapping[str, Sequence[str]] = {
    "collections": ("Counter", "OrderedDict", "defaultdict"),
    "collections.abc": ("Callable", "Mapping"),
    "typing": ("Any", "Literal"),
}
"""What a module imports by name, if it uses it: by the modules, the standard library's first."""
IMPORTED = ("math", *(member for members in HOMES.values() for member in members))
"""Names that nothing else in a module may have."""
_ROUNDS = 8
_DOCUMENTED = 84
"""Columns of a line of a docstring, without its indent."""


def require_sound(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
    """Refuses a workflow that does not pass `check`; unknown tools are allowed.

    Raises:
        InvalidWorkflow: With all problems.
    """
    problems = [problem for problem in check(workflow, specs) if problem.code != "unknown_tool"]
    if problems:
        raise InvalidWorkflow("; ".join(str(problem) for problem in problems))


class Names:
    """Python names for variables and tools: all different, and never a keyword, a builtin or reserved."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.taken = {*_BUILTINS, *pyruntime.NAMES, *reserved}
        self.given: dict[str, str] = {}

    def fresh(self, wanted: str) -> str:
        """Reserves a free name: the wanted one if possible."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "value"
        name = f"n{name}" if name[0].isdigit() else name
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def of(self, variable: str, wanted: str | None = None) -> str:
        """The name of a variable."""
        if variable not in self.given:
            self.given[variable] = self.fresh(wanted or variable)
        return self.given[variable]


def specs_for(
    workflow: Workflow,
    tools: Mapping[str, Callable[..., Any]],
    llm: Callable[[str], str] | None,
    specs: Mapping[str, ToolSpec] | None,
) -> Mapping[str, ToolSpec]:
    """The specs of the functions that a workflow calls, or `specs` if given.

    Raises:
        InputError: If a tool is missing or a coroutine function, or `llm` is missing and the workflow has `llm` nodes.
    """
    for name in workflow.tool_names:
        if name not in tools:
            raise InputError(f"the workflow calls {name!r}, which is not among the tools")
        if inspect.iscoroutinefunction(tools[name]):
            raise InputError(f"tool {name!r} is a coroutine function; give one that returns its result")
    if llm is None and asks_model(workflow):
        raise InputError("the workflow has llm nodes: give `llm`, which answers a prompt with text")
    return specs if specs is not None else {name: spec_of(tools[name]) for name in workflow.tool_names}


def called_with(
    workflow: Workflow, tools: Mapping[str, Callable[..., Any]], llm: Callable[[str], str] | None
) -> dict[str, Any]:
    """The arguments of an exported function other than the inputs: tools and model, if the workflow needs them."""
    return ({"tools": tools} if workflow.tool_names else {}) | ({"llm": llm} if asks_model(workflow) else {})


def asks_model(workflow: Workflow) -> bool:
    """Whether a workflow has `llm` nodes."""
    return any(isinstance(node, LLMNode) for node in workflow.nodes)


def read_in(workflow: Workflow) -> frozenset[str]:
    """All variables that are read, including those inside maps and comprehensions."""
    variables: set[str] = set()
    for step in workflow.every_node:
        if isinstance(step, Assign) and step.value == Var(var=step.output):
            continue
        variables |= {name for binding in bindings(step) for name in reads(binding)}
        texts = [step.expr] if isinstance(step, Condition | Assign) else []
        if isinstance(step, Map):
            variables |= set(reads(step.collect))
            texts.append(step.where)
        for text in texts:
            variables |= expressions.names(text) if text is not None else set()
    return frozenset(variables)


def outputs_of(node: Node) -> list[str]:
    """The variables that a node sets; for a map, those of a round come first."""
    match node:
        case Map(item=item, body=body, output=output):
            return [item, *(step.output for step in body), output]
        case ToolNode(output=output) | Assign(output=output) | LLMNode(output=output):
            return [output]
        case _:
            return []


def in_order(flow: Flow) -> list[str]:
    """The reachable nodes in topological order, without back edges."""
    back = {(edge.source, edge.target) for edge in flow.back_edges}
    order: list[str] = []
    seen: set[str] = set()
    todo: list[tuple[str, bool]] = [(flow.start, False)] if flow.start is not None else []
    while todo:
        name, done = todo.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            todo.append((name, True))
            todo += [(after, False) for after in flow.order.successors(name) if (name, after) not in back]
    return order[::-1]


def module_name(workflow: Workflow) -> str:
    """The workflow's name as a Python identifier."""
    return re.sub(r"\W+", "_", workflow.name, flags=re.ASCII).strip("_") or "workflow"


def required_of(workflow: Workflow) -> list[str]:
    """The names of the required inputs."""
    required = workflow.inputs.get("required", [])
    return [name for name in workflow.input_names if name in required]


def field_of(workflow: Workflow, name: str) -> dict[str, Any]:
    """The schema of an input."""
    field = workflow.inputs.get("properties", {}).get(name, {})
    return cast(dict[str, Any], field) if isinstance(field, dict) else {}


def hint(schema: Any) -> ast.expr:
    """A schema as a type hint."""
    if not isinstance(schema, dict):
        return named("Any")
    fields = cast(dict[str, Any], schema)
    if "enum" in fields and fields["enum"] and all(type(one) in (str, int, bool) for one in fields["enum"]):
        options = [constant(one) for one in fields["enum"]]
        return quoted("Literal[OPTIONS]", OPTIONS=options[0] if len(options) == 1 else ast.Tuple(options))
    if "anyOf" in fields:
        return _union(hint(option) for option in fields["anyOf"])
    names = fields.get("type", "")
    if isinstance(names, list):
        return _union(hint({**fields, "type": one}) for one in cast(list[str], names))
    match names:
        case "array":
            return quoted("list[ITEMS]", ITEMS=hint(fields.get("items")))
        case "object":
            return quoted("dict[str, VALUES]", VALUES=hint(fields.get("additionalProperties")))
        case "null":
            return ast.Constant(None)
        case _:
            plain = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
            return named(plain.get(str(names), "Any"))


def may_be_none(hinted: ast.expr) -> ast.expr:
    """A type hint that allows `None`, too."""
    return _union([hinted, ast.Constant(None)])


def _union(hints: Iterable[ast.expr]) -> ast.expr:
    options: dict[str, ast.expr] = {}
    for one in hints:
        options |= {flat(part): part for part in _options(one)}
    if "Any" in options:
        return options["Any"]
    first, *others = sorted(options.values(), key=lambda one: isinstance(one, ast.Constant))
    return reduce(lambda one, other: ast.BinOp(one, ast.BitOr(), other), others, first)


def _options(hinted: ast.expr) -> list[ast.expr]:
    if isinstance(hinted, ast.BinOp):
        return [*_options(hinted.left), *_options(hinted.right)]
    return [hinted]


def checked_part(schema: Any) -> Any:
    """A schema without titles, descriptions and other keys that no check uses."""
    if isinstance(schema, list):
        return [checked_part(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    checked: dict[str, Any] = {}
    for key, part in cast(dict[str, Any], schema).items():
        if key in ("properties", "$defs"):
            checked[key] = {name: checked_part(inner) for name, inner in part.items()}
        elif key in ("enum", "const", "required"):
            checked[key] = part
        elif key not in _NOTES:
            checked[key] = checked_part(part)
    return checked


class Code:
    """Writes parts of a workflow as Python expressions."""

    def __init__(self, workflow: Workflow, names: Names, strict: bool = True) -> None:
        self.workflow = workflow
        self.names = names
        self.strict = strict
        self.types: dict[str, Type] = {}
        self.types = self._types()

    def variable(self, variable: str) -> ast.expr:
        """What reads a variable."""
        return named(self.names.of(variable))

    @property
    def scope(self) -> Scope:
        """The context in which expressions are written."""
        return Scope(self.variable, self.names.of, self.types, self.strict)

    def _types(self) -> dict[str, Type]:
        """The type of each variable, over all values that it is set to."""
        rounds = 0
        while True:
            types = {name: type_of_input(field_of(self.workflow, name)) for name in required_of(self.workflow)}
            for step in self.workflow.every_node:
                for name, type in self.given(step):
                    types[name] = join(types[name], type) if name in types else type
            if types == self.types:
                return types
            rounds += 1
            if rounds > _ROUNDS:
                # `x = [x]` nests more deeply in every round.
                types = {name: type if self.types.get(name) == type else ANY for name, type in types.items()}
            self.types = types

    def given(self, step: Node | BodyStep) -> Iterator[tuple[str, Type]]:
        """The variables that a step sets, with their types."""
        match step:
            case Assign(value=value, expr=expr, output=output):
                if expr is not None:
                    if expressions.names(expr) <= self.types.keys():
                        yield output, value_of(expr, self.scope).type
                elif value is not None and (type := self.type_of(value)) is not None:
                    yield output, type
            case Map(over=over, item=item, output=output):
                yield output, {"type": "array"}
                if (type := self.type_of(over)) is not None:
                    yield item, type.get("items", ANY) if kind(type) == "array" else ANY
            case ToolNode(output=output) | LLMNode(output=output):
                yield output, ANY
            case _:
                pass

    def type_of(self, binding: Binding) -> Type | None:
        """The type of a binding; None if it reads a variable without a type yet."""
        match binding:
            case Var(var=name, path=path):
                schema = self.types.get(name)
                for step in path if schema is not None else ():
                    schema = step_into(schema or ANY, step)
                return schema
            case Literal_(value=value):
                return type_of_value(value)
            case ListOf(list=parts):
                types = [type for part in parts if (type := self.type_of(part)) is not None]
                items = types[0] if types else ANY
                for type in types[1:]:
                    items = join(items, type)
                return {"type": "array", "items": items} if len(types) == len(parts) else None
            case ObjectOf(object=fields):
                found_of = {name: self.type_of(part) for name, part in fields.items()}
                known = {name: type for name, type in found_of.items() if type is not None}
                whole = {"type": "object", "properties": known, "required": tuple(known)}
                return whole if len(known) == len(fields) else None

    def binding(self, binding: Binding) -> ast.expr:
        """A binding as an expression."""
        match binding:
            case Var(var=variable, path=path):
                return self.path(variable, path)
            case Literal_(value=value):
                return constant(value)
            case ListOf(list=parts):
                return ast.List([*map(self.binding, parts)])
            case ObjectOf(object=fields):
                return table({key: self.binding(part) for key, part in fields.items()})

    def path(self, variable: str, path: Sequence[str | int]) -> ast.expr:
        """A path into a variable; strict code checks an index that might be applied to a text."""
        node, type = self.variable(variable), self.types.get(variable, ANY)
        whole = call("_at", node, *map(constant, path))
        for step in path:
            if self.strict and not isinstance(step, str) and kind(type) != "array":
                return whole
            node, type = ast.Subscript(node, constant(step)), step_into(type, step)
        return node

    def value(self, node: Assign) -> ast.expr:
        """The value of an assign node."""
        if node.expr is not None:
            return value_of(node.expr, self.scope).node
        assert node.value is not None
        return self.binding(node.value)

    def list_of(self, binding: Binding) -> ast.expr:
        """A binding that must be a list; strict code checks that it is."""
        node = self.binding(binding)
        if not self.strict or kind(self.type_of(binding) or ANY) == "array":
            return node
        return call("_list", node)

    def call(self, function: ast.expr, args: Mapping[str, Binding]) -> ast.expr:
        """A call with named arguments."""
        values = {called: self.binding(binding) for called, binding in args.items()}
        if all(map(is_identifier, values)):
            return ast.Call(function, [], [ast.keyword(called, value) for called, value in values.items()])
        return ast.Call(function, [], [ast.keyword(None, table(values))])

    def prompt(self, node: LLMNode, function: str) -> ast.expr:
        """A call of the language model; `str.format` puts the arguments into the prompt, which stays a constant."""
        parts = list(Formatter().parse(node.prompt))
        asked = {field for _, field, _, _ in parts if field is not None}
        # An argument that the prompt does not use is evaluated only if that can fail.
        args = {
            field: binding
            for field, binding in node.args.items()
            if field in asked or not (isinstance(binding, Literal_) or (isinstance(binding, Var) and not binding.path))
        }
        if args or asked:
            return call(function, self.call(ast.Attribute(constant(node.prompt), "format"), args))
        return call(function, constant("".join(literal for literal, *_ in parts)))

    def below(self, tree: Sequence[ast.stmt], specs: Mapping[str, ToolSpec]) -> list[ast.stmt]:
        """What a module needs below its code: the schemas of inputs and arguments, and functions."""
        functions = pyruntime.needed(pyruntime.names_in(tree))
        names = pyruntime.names_in(functions)
        lines: list[ast.stmt] = []
        if "_INPUTS" in names:
            lines += quote("_INPUTS: dict[str, Any] = SCHEMA", SCHEMA=constant(checked_part(self.workflow.inputs)))
        if "_PARAMETERS" in names:
            tools = {tool: checked_part(specs[tool].parameters) if tool in specs else True
                     for tool in self.workflow.tool_names}  # fmt: skip
            lines += quote("_PARAMETERS: dict[str, Any] = SCHEMAS", SCHEMAS=constant(tools))
        remark = Remark("What follows makes a run mean what it means in the workflow.")
        return [remark, *lines, *functions] if functions else []


def comprehension(collected: ast.expr, item: str, over: ast.expr, where: Expr | None) -> ast.expr:
    """A list of one value for each element of another: a comprehension, or the elements themselves."""
    if where is None and isinstance(collected, ast.Name) and collected.id == item:
        listed = isinstance(over, ast.List) or (isinstance(over, ast.Call) and flat(over.func) == "_list")
        return over if listed else call("list", over)
    tests = [where.node] if where is not None else []
    return ast.ListComp(collected, [ast.comprehension(named(item), over, tests, 0)])


def looping(target: str, over: ast.expr, body: Sequence[ast.stmt]) -> ast.stmt:
    """A `for` statement."""
    return ast.For(named(target), over, [*body], [])


def paragraphs(text: str, indent: str = "", width: int = _DOCUMENTED) -> list[str]:
    """A text in lines; lines behind the first of each paragraph are indented."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False) or [""]
    return lines


def about(workflow: Workflow) -> list[str]:
    """The description of a workflow, or its name."""
    return paragraphs(workflow.description.strip() or f"The workflow {workflow.name}.")


def documented_tools(workflow: Workflow, specs: Mapping[str, ToolSpec], indent: str) -> list[str]:
    """A line for each tool: its signature."""
    lines: list[str] = []
    for name in workflow.tool_names:
        signature = specs[name].signature() if name in specs else f"{name}(…)"
        lines += paragraphs(f"{indent}{signature}", indent + "    ")
    return lines


def module(
    tree: Sequence[ast.stmt], opening: str = "", width: float = WIDTH, homes: Mapping[str, Sequence[str]] = HOMES
) -> str:
    """The source of a module: a docstring, the imports that its names need, and its code."""
    used = pyruntime.names_in(tree)
    imports: list[ast.stmt] = [ast.Import([ast.alias("math")])] if "math" in used else []
    for home, members in homes.items():
        if needed := [ast.alias(member) for member in members if member in used]:
            imports.append(ast.ImportFrom(home, needed, 0))
    return source_of([*docstring([opening]), *imports, *tree], width)


def shared_notes(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> list[Note]:
    """Notes on the checks that the generated code leaves out."""
    notes: list[Note] = []
    for step in workflow.every_node:
        if isinstance(step, ToolNode) and step.tool not in specs and workflow.by_id.get(step.id) is step:
            note = f"the schema of {step.tool!r} is not known: its arguments are not checked"
            notes.append(Note(part=step.id, note=note))
    looping = any(isinstance(node, Map | Condition) for node in workflow.nodes)
    if looping or any(isinstance(node, Assign) and node.expr for node in workflow.nodes):
        note = "the step budget, and what expressions may grow to, are not limited as in a run"
        notes.append(Note(part="limits", note=note))
    return notes

"""Shared by the exporters to Python: names, type hints, bindings, calls, and the layout of the module."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    clause,
    join,
    kind,
    step_into,
    type_of_input,
    type_of_value,
    value_of,
)
from flowmind.formats.pylayout import Comprehension, Group, Source, constant, docstring, flat, named, statement
from flowmind.formats.pylayout import text as string
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
IMPORTED = ("Any", "Callable", "Mapping", "Literal", "Counter", "OrderedDict", "defaultdict", "math")
"""Names that a module may import, which nothing else in it may have."""
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


def hint(schema: Any) -> str:
    """A schema as a type hint."""
    if not isinstance(schema, dict):
        return "Any"
    fields = cast(dict[str, Any], schema)
    if "enum" in fields and fields["enum"] and all(type(one) in (str, int, bool) for one in fields["enum"]):
        return f"Literal[{', '.join(flat(constant(one)) for one in fields['enum'])}]"
    if "anyOf" in fields:
        return _union(hint(option) for option in fields["anyOf"])
    names = fields.get("type", "")
    if isinstance(names, list):
        return _union(hint({**fields, "type": name}) for name in cast(list[str], names))
    match names:
        case "array":
            return f"list[{hint(fields.get('items'))}]"
        case "object":
            return f"dict[str, {hint(fields.get('additionalProperties'))}]"
        case _:
            plain = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
            return plain.get(str(names), "Any")


def _union(hints: Iterable[str]) -> str:
    names = list(dict.fromkeys(hints))
    return "Any" if "Any" in names else " | ".join(sorted(names, key=lambda one: one == "None"))


def imports_of_hints(lines: Iterable[str]) -> set[str]:
    """The import lines for the type hints in some lines, without `Any`."""
    homes = {"collections.abc": ("Callable", "Mapping"), "typing": ("Literal", "NotRequired")}
    code = "\n".join(lines)
    return {f"from {home} import {name}" for home, names in homes.items() for name in names if f"{name}[" in code}


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
    """Writes parts of a workflow as Python expressions, and records the functions that they use."""

    def __init__(self, workflow: Workflow, names: Names, strict: bool = True) -> None:
        self.workflow = workflow
        self.names = names
        self.strict = strict
        self.used: set[str] = set()
        self.types: dict[str, Type] = {}
        self.types = self._types()
        self.used = set()

    def use(self, function: str) -> str:
        """Records that a function of `pyruntime` is used, and returns its name."""
        self.used.add(function)
        return function

    def variable(self, name: str) -> str:
        """The source that reads a variable."""
        return self.names.of(name)

    @property
    def scope(self) -> Scope:
        """The context in which expressions are written."""
        return Scope(self.variable, self.names.of, self.types, self.use, self.strict)

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

    def binding(self, binding: Binding) -> Source:
        """A binding as an expression."""
        match binding:
            case Var(var=name, path=path):
                return self.path(name, path)
            case Literal_(value=value):
                return constant(value)
            case ListOf(list=parts):
                return Group("[", tuple(map(self.binding, parts)), "]")
            case ObjectOf(object=fields):
                parts = (named(f"{string(key)}: ", self.binding(part)) for key, part in fields.items())
                return Group("{", tuple(parts), "}")

    def path(self, name: str, path: Sequence[str | int]) -> Source:
        """A path into a variable; strict code checks an index that might be applied to a text."""
        steps = [flat(constant(step)) for step in path]
        type = self.types.get(name, ANY)
        for step in path:
            if self.strict and not isinstance(step, str) and kind(type) != "array":
                return Group(f"{self.use('_at')}(", (self.variable(name), *steps), ")")
            type = step_into(type, step)
        return self.variable(name) + "".join(f"[{step}]" for step in steps)

    def value(self, node: Assign) -> Source:
        """The value of an assign node."""
        if node.expr is not None:
            return value_of(node.expr, self.scope).source
        assert node.value is not None
        return self.binding(node.value)

    def list_of(self, binding: Binding) -> str:
        """A binding that must be a list; strict code checks that it is."""
        source = flat(self.binding(binding))
        if not self.strict or kind(self.type_of(binding) or ANY) == "array":
            return source
        return f"{self.use('_list')}({source})"

    def call(self, function: str, args: Mapping[str, Binding]) -> Source:
        """A call with named arguments."""
        values = {name: self.binding(binding) for name, binding in args.items()}
        if all(name.isidentifier() and not keyword.iskeyword(name) for name in values):
            return Group(f"{function}(", tuple(named(f"{name}=", value) for name, value in values.items()), ")")
        fields = tuple(named(f"{string(name)}: ", value) for name, value in values.items())
        return Group(f"{function}(", (named("**", Group("{", fields, "}")),), ")")

    def prompt(self, node: LLMNode, function: str) -> Source:
        """A call of the language model; `str.format` puts the arguments into the prompt, which stays a constant."""
        parts = list(Formatter().parse(node.prompt))
        asked = {name for _, name, _, _ in parts if name is not None}
        # An argument that the prompt does not use is evaluated only if that can fail.
        args = {
            name: binding
            for name, binding in node.args.items()
            if name in asked or not (isinstance(binding, Literal_) or (isinstance(binding, Var) and not binding.path))
        }
        question: Source = string("".join(literal for literal, *_ in parts))
        if args or asked:
            question = self.call(f"{string(node.prompt)}.format", args)
        return Group(f"{function}(", (question,), ")")

    def constants(self, specs: Mapping[str, ToolSpec]) -> list[str]:
        """The schemas that inputs and arguments are checked against."""
        lines: list[str] = []
        if "_input" in self.used:
            lines += statement(0, constant(checked_part(self.workflow.inputs)), "_INPUTS: dict[str, Any] = ")
        if "_tool" in self.used:
            tools = {name: checked_part(specs[name].parameters) if name in specs else True
                     for name in self.workflow.tool_names}  # fmt: skip
            lines += [""] if lines else []
            lines += statement(0, constant(tools), "_PARAMETERS: dict[str, Any] = ")
        return lines

    def helpers(self, specs: Mapping[str, ToolSpec]) -> list[str]:
        """The lines below the code: schemas and functions."""
        needed = pyruntime.needed(self.used)
        lines = self.constants(specs)
        if lines or needed:
            lines = ["", "", "# What follows makes a run mean what it means in the workflow.", "", *lines]
        for name in needed:
            lines += ["", "", *pyruntime.source_of(name)]
        return lines

    def imports(self) -> set[str]:
        """The imports that the functions below need."""
        return pyruntime.imports_of(pyruntime.needed(self.used))


def comprehension(collected: Source, item: str, over: str, where: Expr | None) -> Source:
    """A list of one value for each element of another: a comprehension, or the elements themselves."""
    if where is None and collected == item:
        return over if over.startswith(("_list(", "[")) else f"list({over})"
    tests = () if where is None else (f"if {clause(where)}",)
    return Comprehension((flat(collected), f"for {item} in {over}", *tests))


def sorted_imports(lines: Iterable[str]) -> list[str]:
    """Import lines in the usual order, those of one module in one, the standard library's first."""
    plain: set[str] = set()
    members: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            members.setdefault(module, set()).update(names.split(", "))
        else:
            plain.add(line)
    merged = {
        module: f"from {module} import {', '.join(sorted(names, key=_rank))}"
        for module, names in sorted(members.items())
    }
    own = [line for module, line in merged.items() if module.partition(".")[0] in sys.stdlib_module_names]
    others = [line for line in merged.values() if line not in own]
    return [*sorted(plain), *own, *([""] if others else []), *others]


def _rank(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


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


def module(imports: Iterable[str], code: Sequence[str], opening: str = "") -> str:
    """A module of its parts.

    Raises:
        SyntaxError: If the code is not Python, which is a defect of the exporter.
    """
    opened = [*docstring(0, [opening]), ""] if opening else []
    imported = sorted_imports(imports)
    lines = [*opened, *imported, *(["", ""] if imported else []), *code]
    text = "\n".join(lines) + "\n"
    ast.parse(text)
    return text


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

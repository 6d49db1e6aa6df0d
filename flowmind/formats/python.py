"""Workflows as Python: a function with ifs and loops as a person would write it, and a stub for each tool.

The function gives the same answers as a run. The strict form also fails where a run fails: it checks inputs and
arguments against their schemas, passes copies to tools, takes plain JSON from them, and counts rounds. A third form is
the code style of FlowBench, which has no type hints.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from flowmind.formats.fidelity import Export, Note, report
from flowmind.formats.pycode import (
    IMPORTED,
    Code,
    Names,
    about,
    asks_model,
    called_with,
    comprehension,
    documented_tools,
    field_of,
    hint,
    in_order,
    may_be_none,
    module,
    module_name,
    outputs_of,
    paragraphs,
    read_in,
    require_sound,
    required_of,
    shared_notes,
    specs_for,
)
from flowmind.formats.pyexpr import Expr, as_truth, both, test_of
from flowmind.formats.pylayout import INDENT, WIDTH, Layout
from flowmind.formats.pytree import (
    Parameter,
    Remark,
    call,
    constant,
    docstring,
    function,
    is_identifier,
    named,
    parameter,
    quote,
    quoted,
)
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import (
    Assign,
    Condition,
    Edge,
    End,
    Literal_,
    LLMNode,
    Map,
    Node,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from flowmind.workflow.graph import Flow, analyse
from flowmind.workflow.nesting import (
    Again,
    Block,
    Do,
    If,
    Item,
    Leave,
    Loop,
    Return,
    guard_of,
    loop_counters,
    readable,
    rounds_of,
)
from tools_registry.specs.schema import type_label
from tools_registry.specs.spec import ToolSpec

Form = Literal["clean", "strict", "untyped"]
_RAISES = (
    "Exception: Where a run of the workflow fails: an input or argument that does not fit, an error of a tool or an "
    "expression, a loop beyond its bound."
)


def to_python(workflow: Workflow, specs: Mapping[str, ToolSpec], strict: bool = False) -> Export:
    """A workflow as the source of a Python module that needs the standard library only.

    The module has one function for the workflow, and a function without a body for each tool: fill these in, or use
    `to_function`. The strict module has no stubs: its function takes `tools`, a mapping of callables, and `llm`, if
    the workflow asks a model.

    Tools get JSON values as they are. A sandbox of functions would turn them into what the functions are annotated
    with (2.0 into 2 for an int, an object into a pydantic model), and dates in results into texts.

    Args:
        workflow: A workflow that passes `check`.
        specs: The tools by name. Arguments of a tool without a spec are not checked.
        strict: Whether the module checks what a run checks, and raises where a run fails.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """
    require_sound(workflow, specs)
    writer = PythonWriter(workflow, specs, "strict" if strict else "clean")
    return Export(writer.module(), report(["inputs"], workflow, writer.notes()))


def to_function(
    workflow: Workflow,
    tools: Mapping[str, Callable[..., Any]],
    llm: Callable[[str], str] | None = None,
    specs: Mapping[str, ToolSpec] | None = None,
    strict: bool = False,
) -> Callable[..., Any]:
    """The function of the module that `to_python` writes, with tools in the place of its stubs.

    It takes the inputs as keyword arguments, by the names that the workflow gives them.

    Args:
        workflow: A workflow that passes `check`.
        tools: Plain functions by the names of the tools.
        llm: Answers a prompt with text, for `llm` nodes.
        specs: The tools' specs, if not those of the functions' own signatures.
        strict: As for `to_python`.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
        InputError: If a tool is missing, or `llm` for a workflow that asks a model.
    """
    known = specs_for(workflow, tools, llm, specs)
    require_sound(workflow, known)
    writer = PythonWriter(workflow, known, "strict" if strict else "clean")
    scope: dict[str, Any] = {"__name__": writer.function}
    exec(compile(writer.module(), f"<{writer.function}>", "exec", dont_inherit=True), scope)
    more = called_with(workflow, tools, llm) if strict else {}
    if not strict:
        scope.update(
            {stub: tools[tool] for tool, stub in writer.tools.items()} | ({} if llm is None else {writer.llm: llm})
        )

    def function(**inputs: Any) -> Any:
        given = {writer.parameters.get(name, name): value for name, value in inputs.items()}
        return scope[writer.function](**given, **more)

    return function


class PythonWriter:
    """Writes a workflow as Python in one of its forms."""

    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec], form: Form) -> None:
        self.workflow = workflow
        self.specs = specs
        self.strict = form == "strict"
        self.typed = form != "untyped"
        self.width = WIDTH if self.typed else math.inf
        """Columns of a line; FlowBench's style keeps each statement on one line."""
        self.flow: Flow = analyse(workflow)
        self.asks = asks_model(workflow)
        self.name_all()
        self.code = Code(workflow, self.names, self.strict)
        self.loops = loop_counters(self.flow)
        self.counters: dict[int, str] = {}
        for number in sorted({loop.number for loop in self.loops.values()}):
            self.counters[number] = self.names.fresh("rounds" if not number else f"rounds_{number + 1}")
        self.step = self.names.fresh("step")
        self.block = readable(workflow)
        self.depth = 1
        """How deep the statements that are being written are indented."""

    def name_all(self) -> None:
        """Names of Python for the function, its parameters, variables and tools; a stub keeps the tool's name."""
        workflow = self.workflow
        names = self.names = Names([*IMPORTED, *(["tools", "llm"] if self.strict else [])])
        self.tools: dict[str, str] = {}
        if not self.strict:
            self.llm = names.fresh("llm") if self.asks else "llm"
            self.tools = {tool: names.fresh(tool) for tool in workflow.tool_names}
        self.function = Names([*IMPORTED, *self.tools.values(), "llm"]).fresh(module_name(workflow))
        self.parameters = {name: names.of(name) for name in workflow.input_names}
        self.read = read_in(workflow)
        for node in workflow.nodes:
            for output in outputs_of(node):
                names.of(output, output if output in self.read else f"_{output}")
        if self.strict:
            self.llm = "llm"
            self.tools = {
                tool: names.fresh(f"{tool}_tool" if tool in names.taken else tool) for tool in workflow.tool_names
            }

    def notes(self) -> list[Note]:
        """Notes on what the strict or the clean form does not keep."""
        notes = shared_notes(self.workflow, self.specs) if self.strict else []
        if self.block is None:
            notes += [
                Note(part=edge.label, note="the graph has no nested form: a loop goes from node to node by name")
                for edge in self.workflow.edges
            ]
        if renamed := [f"{name} is {new}" for name, new in self.parameters.items() if name != new]:
            notes.append(Note(part="names", note=f"parameters are renamed: {', '.join(renamed)}"))
        if not self.strict:
            noted = {note.part for note in notes}
            notes += [note for note in self.bounds() if note.part not in noted]
            return [*notes, Note(part="checks", note="inputs, arguments, results and limits: --strict checks them")]
        about_inputs: list[str] = []
        if self.workflow.inputs.get("additionalProperties", True) is not False:
            about_inputs.append("an input that the schema does not name is an error")
        if set(self.parameters) - set(required_of(self.workflow)):
            about_inputs.append("None stands for an optional input that is left out")
        if {"anyOf", "enum", "const", "$ref"} & self.workflow.inputs.keys():
            about_inputs.append("each input is checked for itself, not all of them together")
        return notes + ([Note(part="inputs", note="; ".join(about_inputs))] if about_inputs else [])

    def bounds(self) -> list[Note]:
        """The bounds of loops that the clean form does not keep."""
        stated = "its bound stands in a comment"
        return [
            Note(
                part=edge.label, note=f"its bound of {loop.bound} rounds is not said" if edge.bound is None else stated
            )
            for edge, loop in self.loops.items()
        ]

    def module(self) -> str:
        """The source of the module."""
        tree = [self.main(), *([] if self.strict else self.stubs())]
        tree += self.code.below(tree, self.specs)
        return module(tree, f"The workflow {self.workflow.name}, as Python." if self.typed else "", self.width)

    def main(self) -> ast.stmt:
        """The function of the workflow."""
        workflow = self.workflow
        required = required_of(workflow)
        parameters = [self.parameter(self.parameters[name], field_of(workflow, name)) for name in required]
        for name in workflow.input_names:
            if name not in required:
                field = field_of(workflow, name)
                parameters.append(self.optional(self.parameters[name], field, {} if self.strict else field))
        only_named: list[ast.arg] = []
        if self.strict and self.tools:
            only_named.append(parameter("tools", quoted("Mapping[str, Callable[..., Any]]")))
        if self.strict and self.asks:
            only_named.append(parameter("llm", quoted("Callable[[str], str]")))
        body = [*self.docstring(), *self.opening(), *self.body()]
        return function(self.function, parameters, body, named("Any") if self.typed else None, only_named)

    def parameter(self, called: str, schema: Any) -> Parameter:
        """A parameter that must be given."""
        return parameter(called, hint(schema) if self.typed else None), None

    def optional(self, called: str, schema: Any, field: Mapping[str, Any]) -> Parameter:
        """A parameter that may be left out; its default is `None`, but for a constant that `field` has."""
        default = field.get("default")
        default = None if isinstance(default, list | dict) else default
        kind = hint(schema)
        kind = may_be_none(kind) if default is None else kind
        return parameter(called, kind if self.typed else None), constant(default)

    def opening(self) -> list[ast.stmt]:
        """What is done with inputs and tools before the first node."""
        lines: list[ast.stmt] = []
        required = required_of(self.workflow)
        for name in self.workflow.input_names:
            given = named(self.parameters[name])
            default = self.workflow.input_defaults.get(name)
            preset = name in self.workflow.input_defaults and (self.strict or isinstance(default, list | dict))
            if preset:
                lines += quote("if GIVEN is None:\n    GIVEN = DEFAULT", GIVEN=given, DEFAULT=constant(default))
            if not self.strict:
                continue
            checked = call("_input", constant(name), given)
            if not preset and name not in required:
                lines += quote("if GIVEN is not None:\n    CHECKED", GIVEN=given, CHECKED=checked)
            else:
                lines += quote("GIVEN = CHECKED" if name in self.read else "CHECKED", GIVEN=given, CHECKED=checked)
        for tool, name in self.tools.items() if self.strict else ():
            lines += quote("TOOL = _tool(tools, NAME)", TOOL=name, NAME=constant(tool))
        return [*lines, Remark()] if self.strict and (self.parameters or self.tools) else lines

    def described_inputs(self) -> Iterable[tuple[str, str]]:
        """The parameters that have a description, with it."""
        for name in self.workflow.input_names:
            note = " ".join(str(field_of(self.workflow, name).get("description", "")).split())
            other = f" (The input {name!r}.)" if self.parameters[name] != name else ""
            if note or other or self.strict:
                yield self.parameters[name], f"{note or 'An input.'}{other}"

    def docstring(self) -> list[ast.stmt]:
        """The description of the workflow and its inputs; in the strict form also the tools and the errors."""
        inputs = list(self.described_inputs())
        if not self.typed:
            return docstring(
                [*self.workflow.description.strip().splitlines(), *(f"{name}: {note}" for name, note in inputs)]
            )
        described = [line for name, note in inputs for line in paragraphs(f"{INDENT}{name}: {note}", INDENT * 2)]
        if self.strict and self.tools:
            described += [f"{INDENT}tools: Functions by name; each is called with named arguments:"]
            described += documented_tools(self.workflow, self.specs, INDENT * 2)
        if self.strict and self.asks:
            described += [f"{INDENT}llm: Answers a prompt with text."]
        lines = [*about(self.workflow), *(["", "Args:", *described] if described else [])]
        raises = ["", "Raises:", *paragraphs(f"{INDENT}{_RAISES}", INDENT * 2)] if self.strict else []
        return docstring([*lines, *raises])

    def stubs(self) -> list[ast.stmt]:
        """A function for each tool and for the model: what it takes and what it does, without a body."""
        body = quote("raise NotImplementedError" if self.typed else "...")
        stubs: list[ast.stmt] = []
        for tool, name in self.tools.items():
            spec = self.specs.get(tool) or self.unknown(tool)
            about = [spec.description.partition("\n")[0]]
            note = str(spec.returns.get("description", ""))
            if note and self.typed:
                about += ["", "Returns:", *paragraphs(f"    {note}", " " * 4)]
            elif note:
                about.append(f"Returns {type_label(spec.returns)}: {note}")
            gives = hint(spec.returns) if self.typed else None
            stubs.append(function(name, self.taken(spec), [*docstring(about), *body], gives, rest=self.others(spec)))
        if self.asks:
            template = "def LLM(prompt: str) -> str: BODY" if self.typed else "def LLM(prompt): BODY"
            stubs += quote(template, LLM=self.llm, BODY=[*docstring(["Answers a prompt with text."]), *body])
        return stubs

    def unknown(self, tool: str) -> ToolSpec:
        """A spec for a tool without one, from the arguments of its calls."""
        calls = [step for step in self.workflow.every_node if isinstance(step, ToolNode) and step.tool == tool]
        names = list(dict.fromkeys(name for step in calls for name in step.args))
        return ToolSpec(name=tool, parameters={"properties": {name: {} for name in names}, "required": names})

    def taken(self, spec: ToolSpec) -> list[Parameter]:
        """The parameters of a stub."""
        fields: Mapping[str, Any] = spec.parameters.get("properties", {})
        names = [name for name in fields if is_identifier(name)]
        required = [self.parameter(name, fields[name]) for name in names if name in spec.required]
        return required + [
            self.optional(name, fields[name], fields[name]) for name in names if name not in spec.required
        ]

    def others(self, spec: ToolSpec) -> ast.arg | None:
        """The parameter of a stub for those whose names Python does not take."""
        fields = spec.parameters.get("properties", {})
        if all(map(is_identifier, fields)):
            return None
        return parameter(Names(fields).fresh("others"), named("Any") if self.typed else None)

    def body(self) -> list[ast.stmt]:
        """The nodes as statements."""
        return self.states() if self.block is None else self.items(self.block, False)

    def inside(self, block: Block, looping: bool) -> list[ast.stmt]:
        """The statements of a block below a header, which has one at least."""
        self.depth += 1
        statements = self.items(block, looping)
        self.depth -= 1
        return statements or [ast.Pass()]

    def items(self, block: Block, looping: bool) -> list[ast.stmt]:
        """The statements of a block.

        Args:
            block: The block.
            looping: Whether it is the end of a loop's body, where the next round comes by itself.
        """
        statements: list[ast.stmt] = []
        for place, item in enumerate(block):
            statements += self.item(item, looping and place == len(block) - 1)
        return statements

    def item(self, item: Item, looping: bool) -> list[ast.stmt]:
        match item:
            case Do(node=node):
                return self.node(node)
            case Return(node=node):
                return [ast.Return(self.code.binding(node.output))]
            case Leave():
                return [ast.Break()]
            case Again(edge=edge):
                return [*self.count(edge), *([] if looping else [ast.Continue()])]
            case Loop():
                return self.loop(item)
            case If():
                return self.branch(item, looping)

    def count(self, edge: Edge) -> list[ast.stmt]:
        """The strict form counts the round of a back edge, and sets the counters of inner loops to zero."""
        if not self.strict:
            return []
        number, head, bound, inner = self.loops[edge]
        return [
            *quote(
                "COUNTER += 1\nif COUNTER > BOUND:\n    raise RuntimeError(PROBLEM)",
                COUNTER=self.counters[number],
                BOUND=constant(bound),
                PROBLEM=constant(f"the loop at {head} ran more than {bound} rounds"),
            ),
            *self.reset(inner),
        ]

    def begin(self, head: str) -> list[ast.stmt]:
        """The strict form sets the counters of a loop to zero where it is entered."""
        return self.reset(sorted({loop.number for loop in self.loops.values() if loop.head == head and self.strict}))

    def reset(self, numbers: Iterable[int]) -> list[ast.stmt]:
        return [line for number in numbers for line in quote("COUNTER = 0", COUNTER=self.counters[number])]

    def loop(self, loop: Loop) -> list[ast.stmt]:
        guard = guard_of(loop.body)
        head = self.test(guard.node, guard.negated).node if guard else ast.Constant(True)
        body = guard.body if guard else loop.body
        bounds = {edge.bound for edge in rounds_of(loop.body)} - {None}
        remark = [Remark(f"at most {bounds.pop()} times", True)] if not self.strict and len(bounds) == 1 else []
        return [*self.begin(loop.head), *remark, ast.While(head, self.inside(body, True), [])]

    def test(self, node: Condition, negated: bool = False) -> Expr:
        return test_of(node.expr, self.code.scope, negated)

    def branch(self, item: If, looping: bool) -> list[ast.stmt]:
        """Writes an `if`: nested ones become `and` or `elif`, and an arm that leaves needs no `else`."""
        if looping and not self.strict:
            item = If(item.node, _without_again(item.then), _without_again(item.otherwise))
        match item:
            case If(node=node, then=(Return(node=End(output=Literal_(value=bool(yes)))),),
                    otherwise=(Return(node=End(output=Literal_(value=bool(no)))),)) if yes is not no:  # fmt: skip
                return [ast.Return(as_truth(self.test(node, no)))]
            case If(then=(), otherwise=()) if not self.strict:
                return []
            case If(node=node, then=(), otherwise=()):
                return quote("_ = TEST", TEST=self.test(node).node)
            case If(node=node, then=(), otherwise=otherwise):
                test, then, otherwise = self.test(node, True), otherwise, ()
            case If(node=node, then=then, otherwise=otherwise):
                test = self.test(node)
        while not otherwise and len(then) == 1 and isinstance(then[0], If) and _plain(then[0]):
            inner = then[0]
            test = both(test, self.test(inner.node, not inner.then))
            then = inner.then or inner.otherwise
        body = self.inside(then, looping)
        if _leaves(then):
            return [ast.If(test.node, body, []), *self.items(otherwise, looping)]
        if len(otherwise) == 1 and isinstance(otherwise[0], If):
            rest = self.branch(otherwise[0], looping)
            if not rest or (len(rest) == 1 and isinstance(rest[0], ast.If)):
                return [ast.If(test.node, body, rest)]
        return [ast.If(test.node, body, self.inside(otherwise, looping) if otherwise else [])]

    def node(self, node: Node) -> list[ast.stmt]:
        """The statements of a node that goes on."""
        match node:
            case ToolNode():
                return self.set(node.output, self.call(node))
            case Assign():
                return self.set(node.output, self.code.value(node))
            case LLMNode():
                return self.set(node.output, self.code.prompt(node, self.llm))
            case Map():
                return self.map(node)
            case _:
                return []

    def call(self, node: ToolNode) -> ast.expr:
        return self.code.call(named(self.tools[node.tool]), node.args)

    def set(self, output: str, value: ast.expr) -> list[ast.stmt]:
        name = self.names.of(output)
        return [] if isinstance(value, ast.Name) and value.id == name else quote("NAME = VALUE", NAME=name, VALUE=value)

    def map(self, node: Map) -> list[ast.stmt]:
        item, over = self.names.of(node.item), self.code.list_of(node.over)
        where = None if node.where is None else test_of(node.where, self.code.scope)
        collect = self.code.binding(node.collect)
        match node.body:
            case ():
                return self.set(node.output, comprehension(collect, item, over, where))
            case (ToolNode(output=result) as step,) if node.collect == Var(var=result):
                statements = self.set(node.output, comprehension(self.call(step), item, over, where))
                if all(len(line) <= WIDTH for line in Layout(self.width).block(statements, self.depth)):
                    return statements
            case _:
                pass
        output = self.names.of(node.output)
        # The list may be read under the name that the result gets.
        rows = self.names.fresh(f"{output}_found") if node.output in node_reads(node) else output
        body = [line for step in node.body for line in self.node(step)]
        body += quote("ROWS.append(COLLECT)", ROWS=rows, COLLECT=collect)
        body = body if where is None else [ast.If(where.node, body, [])]
        statements = quote("ROWS = []\nfor ITEM in OVER:\n    BODY", ROWS=rows, ITEM=item, OVER=over, BODY=body)
        return [*statements, *([] if rows == output else quote("OUTPUT = ROWS", OUTPUT=output, ROWS=rows))]

    def states(self) -> list[ast.stmt]:
        """Writes a graph without a nested form: a loop over the name of the next node."""
        assert self.flow.start is not None
        self.depth = 4
        nodes = (self.workflow.by_id[name] for name in in_order(self.flow))
        cases = [
            ast.match_case(ast.MatchValue(constant(node.id)), None, self.state(node))
            for node in nodes
            if not isinstance(node, Start)
        ]
        first = self.enter(self.flow.start, *self.flow.order.successors(self.flow.start))
        return [*first, *quote("while True:\n    BODY", BODY=[ast.Match(named(self.step), cases)])]

    def state(self, node: Node) -> list[ast.stmt]:
        if isinstance(node, End):
            return [ast.Return(self.code.binding(node.output))]
        if isinstance(node, Condition):
            arms = {edge.when: edge.target for edge in self.workflow.after(node.id)}
            yes, no = (
                self.enter(node.id, self.flow.jumps.get((node.id, arms[when]), arms[when])) for when in (True, False)
            )
            return [ast.If(self.test(node).node, yes, no)]
        return [*self.node(node), *self.enter(node.id, *self.flow.order.successors(node.id))]

    def enter(self, source: str, target: str) -> list[ast.stmt]:
        """Writes the step from a node to the next."""
        back = [edge for edge in self.flow.back_edges if (edge.source, edge.target) == (source, target)]
        before = self.count(back[0]) if back else self.begin(target)
        return [*before, *quote("STEP = TARGET", STEP=self.step, TARGET=constant(target))]


def _plain(item: If) -> bool:
    """Whether an if has one arm only and can become part of the one around it."""
    return bool(item.then) != bool(item.otherwise)


def _without_again(block: Block) -> Block:
    """A block at the end of a loop's body without the jump to the next round, which follows anyway."""
    return block[:-1] if block and isinstance(block[-1], Again) else block


def _leaves(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Return | Leave)

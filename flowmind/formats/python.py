"""Workflows as Python: a function with ifs and loops as a person would write it, and a stub for each tool.

The function gives the same answers as a run. The strict form also fails where a run fails: it checks inputs and
arguments against their schemas, passes copies to tools, takes plain JSON from them, and counts rounds. A third form is
the code style of FlowBench, which has no type hints.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    imports_of_hints,
    in_order,
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
from flowmind.formats.pylayout import (
    INDENT,
    WIDTH,
    Group,
    Source,
    constant,
    docstring,
    flat,
    statement,
)
from flowmind.formats.pylayout import text as string
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
        scope.update({stub: tools[tool] for tool, stub in writer.tools.items()} | {writer.llm: llm})

    def function(**inputs: Any) -> Any:
        named = {writer.parameters.get(name, name): value for name, value in inputs.items()}
        return scope[writer.function](**named, **more)

    return function


class PythonWriter:
    """Writes a workflow as Python in one of its forms."""

    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec], form: Form) -> None:
        self.workflow = workflow
        self.specs = specs
        self.strict = form == "strict"
        self.typed = form != "untyped"
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

    def line(self, depth: int, source: Source, head: str = "", tail: str = "") -> list[str]:
        """Writes a statement; FlowBench's style keeps it on one line."""
        return statement(depth, source, head, tail) if self.typed else [INDENT * depth + head + flat(source) + tail]

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
        stubs = [] if self.strict else self.stubs()
        lines = [*self.header(), *self.opening(), *self.body(), *stubs]
        lines += self.code.helpers(self.specs)
        if not self.typed:
            return module(self.code.imports(), lines)
        code = [line for line in lines if "Any" in line or "[" in line]
        imports = {"from typing import Any", *self.code.imports(), *imports_of_hints(code)}
        return module(imports, lines, f"The workflow {self.workflow.name}, as Python.")

    def header(self) -> list[str]:
        """The first line of the function, with its parameters."""
        required = required_of(self.workflow)
        parts: list[Source] = [
            self.parameter(self.parameters[name], field_of(self.workflow, name)) for name in required
        ]
        for name in self.workflow.input_names:
            if name not in required:
                field = field_of(self.workflow, name)
                parts.append(self.optional(self.parameters[name], field, {} if self.strict else field))
        if self.strict:
            parts += ["*"] if self.tools or self.asks else []
            parts += ["tools: Mapping[str, Callable[..., Any]]"] if self.tools else []
            parts += ["llm: Callable[[str], str]"] if self.asks else []
        tail = " -> Any:" if self.typed else ":"
        return self.line(0, Group("(", tuple(parts), ")"), f"def {self.function}", tail)

    def parameter(self, name: str, schema: Any) -> str:
        """A parameter that must be given."""
        return f"{name}: {hint(schema)}" if self.typed else name

    def optional(self, name: str, schema: Any, field: Mapping[str, Any]) -> Source:
        """A parameter that may be left out; its default is `None`, but for a constant that `field` has."""
        default = field.get("default")
        default = None if isinstance(default, list | dict) else default
        if not self.typed:
            return f"{name}={flat(constant(default))}"
        kind = hint(schema)
        kind = kind if kind == "Any" or kind.endswith("None") or default is not None else f"{kind} | None"
        return f"{name}: {kind} = {flat(constant(default))}"

    def opening(self) -> list[str]:
        """The docstring, and what is done with inputs and tools before the first node."""
        lines = self.docstring()
        required = required_of(self.workflow)
        for name in self.workflow.input_names:
            parameter = self.parameters[name]
            default = self.workflow.input_defaults.get(name)
            preset = name in self.workflow.input_defaults and (self.strict or isinstance(default, list | dict))
            checked = Group(f"{self.code.use('_input')}(", (string(name), parameter), ")") if self.strict else parameter
            if preset:
                lines += [f"{INDENT}if {parameter} is None:", *self.line(2, constant(default), f"{parameter} = ")]
            if self.strict and not preset and name not in required:
                lines += [f"{INDENT}if {parameter} is not None:", *self.line(2, checked)]
            elif self.strict:
                lines += self.line(1, checked, f"{parameter} = " if name in self.read else "")
        for tool, name in self.tools.items() if self.strict else ():
            lines += self.line(1, Group(f"{self.code.use('_tool')}(", ("tools", string(tool)), ")"), f"{name} = ")
        return [*lines, ""] if self.strict and (self.parameters or self.tools) else lines

    def described_inputs(self) -> Iterable[tuple[str, str]]:
        """The parameters that have a description, with it."""
        for name in self.workflow.input_names:
            note = " ".join(str(field_of(self.workflow, name).get("description", "")).split())
            other = f" (The input {name!r}.)" if self.parameters[name] != name else ""
            if note or other or self.strict:
                yield self.parameters[name], f"{note or 'An input.'}{other}"

    def docstring(self) -> list[str]:
        """The description of the workflow and its inputs; in the strict form also the tools and the errors."""
        inputs = list(self.described_inputs())
        if not self.typed:
            lines = [*self.workflow.description.strip().splitlines(), *(f"{name}: {note}" for name, note in inputs)]
            return docstring(1, lines) if lines else []
        described = [line for name, note in inputs for line in paragraphs(f"{INDENT}{name}: {note}", INDENT * 2)]
        if self.strict and self.tools:
            described += [f"{INDENT}tools: Functions by name; each is called with named arguments:"]
            described += documented_tools(self.workflow, self.specs, INDENT * 2)
        if self.strict and self.asks:
            described += [f"{INDENT}llm: Answers a prompt with text."]
        lines = [*about(self.workflow), *(["", "Args:", *described] if described else [])]
        raises = ["", "Raises:", *paragraphs(f"{INDENT}{_RAISES}", INDENT * 2)] if self.strict else []
        return docstring(1, [*lines, *raises])

    def stubs(self) -> list[str]:
        """A function for each tool and for the model: what it takes and what it does, without a body."""
        body = f"{INDENT}raise NotImplementedError" if self.typed else f"{INDENT}..."
        lines: list[str] = []
        for tool, name in self.tools.items():
            spec = self.specs.get(tool) or self.unknown(tool)
            about = [spec.description.partition("\n")[0]]
            note = str(spec.returns.get("description", ""))
            if note and self.typed:
                about += ["", "Returns:", *paragraphs(f"    {note}", " " * 4)]
            elif note:
                about.append(f"Returns {type_label(spec.returns)}: {note}")
            tail = f" -> {hint(spec.returns)}:" if self.typed else ":"
            lines += ["", "", *self.line(0, Group("(", self.taken(spec), ")"), f"def {name}", tail)]
            lines += docstring(1, about) if any(about) else []
            lines.append(body)
        if self.asks:
            lines += ["", "", f"def {self.llm}(prompt{': str) -> str' if self.typed else ')'}:"]
            lines += [*docstring(1, ["Answers a prompt with text."]), body]
        return lines

    def unknown(self, tool: str) -> ToolSpec:
        """A spec for a tool without one, from the arguments of its calls."""
        calls = [step for step in self.workflow.every_node if isinstance(step, ToolNode) and step.tool == tool]
        names = list(dict.fromkeys(name for step in calls for name in step.args))
        return ToolSpec(name=tool, parameters={"properties": {name: {} for name in names}, "required": names})

    def taken(self, spec: ToolSpec) -> tuple[Source, ...]:
        """The parameters of a stub; those whose names Python does not take are taken together."""
        fields: Mapping[str, Any] = spec.parameters.get("properties", {})
        names = [name for name in fields if name.isidentifier() and not keyword.iskeyword(name)]
        required = [self.parameter(name, fields[name]) for name in names if name in spec.required]
        rest = [self.optional(name, fields[name], fields[name]) for name in names if name not in spec.required]
        others = "**others: Any" if self.typed else "**others"
        return (*required, *rest, *([others] if len(names) < len(fields) else []))

    def body(self) -> list[str]:
        """The nodes as lines."""
        return self.states() if self.block is None else self.items(self.block, 1, False)

    def inside(self, block: Block, depth: int, looping: bool) -> list[str]:
        """The lines of a block below a header, which has one at least."""
        return self.items(block, depth, looping) or [f"{INDENT * depth}pass"]

    def items(self, block: Block, depth: int, looping: bool) -> list[str]:
        """The lines of a block.

        Args:
            block: The block.
            depth: How deep it is indented.
            looping: Whether it is the end of a loop's body, where the next round comes by itself.
        """
        lines: list[str] = []
        for place, item in enumerate(block):
            last = place == len(block) - 1
            lines += self.item(item, depth, looping and last)
        return lines

    def item(self, item: Item, depth: int, looping: bool) -> list[str]:
        match item:
            case Do(node=node):
                return self.node(node, depth)
            case Return(node=node):
                return self.line(depth, self.code.binding(node.output), "return ")
            case Leave():
                return [INDENT * depth + "break"]
            case Again(edge=edge):
                return [*self.count(edge, depth), *([] if looping else [INDENT * depth + "continue"])]
            case Loop():
                return self.loop(item, depth)
            case If():
                return self.branch(item, depth, looping)

    def count(self, edge: Edge, depth: int) -> list[str]:
        """The strict form counts the round of a back edge, and sets the counters of inner loops to zero."""
        if not self.strict:
            return []
        number, head, bound, inner = self.loops[edge]
        counter, margin = self.counters[number], INDENT * depth
        lines = [f"{margin}{counter} += 1", f"{margin}if {counter} > {bound}:"]
        problem = f"the loop at {head} ran more than {bound} rounds"
        lines += self.line(depth + 1, Group("RuntimeError(", (string(problem),), ")"), "raise ")
        return lines + [f"{margin}{self.counters[other]} = 0" for other in inner]

    def begin(self, head: str, depth: int) -> list[str]:
        """The strict form sets the counters of a loop to zero where it is entered."""
        numbers = sorted({loop.number for loop in self.loops.values() if loop.head == head and self.strict})
        return [f"{INDENT * depth}{self.counters[number]} = 0" for number in numbers]

    def loop(self, loop: Loop, depth: int) -> list[str]:
        lines = self.begin(loop.head, depth)
        guard = guard_of(loop.body)
        head = self.test(guard.node, guard.negated) if guard else Expr("True")
        body = guard.body if guard else loop.body
        lines += self.line(depth, head.source, "while ", ":")
        if not self.strict and len(bounds := {edge.bound for edge in rounds_of(loop.body)} - {None}) == 1:
            lines = _commented(lines, f"at most {bounds.pop()} times", INDENT * depth)
        return [*lines, *self.inside(body, depth + 1, True)]

    def test(self, node: Condition, negated: bool = False) -> Expr:
        return test_of(node.expr, self.code.scope, negated)

    def branch(self, item: If, depth: int, looping: bool) -> list[str]:
        """Writes an `if`: nested ones become `and` or `elif`, and an arm that leaves needs no `else`."""
        if looping and not self.strict:
            item = If(item.node, _without_again(item.then), _without_again(item.otherwise))
        match item:
            case If(node=node, then=(Return(node=End(output=Literal_(value=bool(yes)))),),
                    otherwise=(Return(node=End(output=Literal_(value=bool(no)))),)) if yes is not no:  # fmt: skip
                return self.line(depth, as_truth(self.test(node, no)), "return ")
            case If(then=(), otherwise=()) if not self.strict:
                return []
            case If(node=node, then=(), otherwise=()):
                return self.line(depth, self.test(node).source, "_ = ")
            case If(node=node, then=(), otherwise=otherwise):
                test, then, otherwise = self.test(node, True), otherwise, ()
            case If(node=node, then=then, otherwise=otherwise):
                test = self.test(node)
        while not otherwise and len(then) == 1 and isinstance(then[0], If) and _plain(then[0]):
            inner = then[0]
            test = both(test, self.test(inner.node, not inner.then))
            then = inner.then or inner.otherwise
        lines = self.line(depth, test.source, "if ", ":")
        leaves = _leaves(then)
        lines += self.inside(then, depth + 1, looping)
        if leaves:
            return lines + self.items(otherwise, depth, looping)
        if len(otherwise) == 1 and isinstance(otherwise[0], If):
            rest = self.branch(otherwise[0], depth, looping)
            if not rest:
                return lines
            if rest[0].startswith(f"{INDENT * depth}if ") and _one_statement(rest, depth):
                return [*lines, f"{INDENT * depth}el{rest[0].lstrip()}", *rest[1:]]
        return [*lines, *self.otherwise(otherwise, depth, looping)]

    def otherwise(self, block: Block, depth: int, looping: bool) -> list[str]:
        return [f"{INDENT * depth}else:", *self.inside(block, depth + 1, looping)] if block else []

    def node(self, node: Node, depth: int) -> list[str]:
        """The lines of a node that goes on."""
        match node:
            case ToolNode(tool=tool, args=args):
                return self.set(node.output, self.code.call(self.tools[tool], args), depth)
            case Assign():
                return self.set(node.output, self.code.value(node), depth)
            case LLMNode():
                return self.set(node.output, self.code.prompt(node, self.llm), depth)
            case Map():
                return self.map(node, depth)
            case _:
                return []

    def set(self, output: str, source: Source, depth: int) -> list[str]:
        name = self.names.of(output)
        return [] if source == name else self.line(depth, source, f"{name} = ")

    def map(self, node: Map, depth: int) -> list[str]:
        item, over = self.names.of(node.item), self.code.list_of(node.over)
        where = None if node.where is None else test_of(node.where, self.code.scope)
        collect = self.code.binding(node.collect)
        match node.body:
            case ():
                return self.set(node.output, comprehension(collect, item, over, where), depth)
            case (ToolNode(tool=tool, args=args, output=result),) if node.collect == Var(var=result):
                call = self.code.call(self.tools[tool], args)
                lines = self.set(node.output, comprehension(call, item, over, where), depth)
                if all(len(line) <= WIDTH for line in lines):
                    return lines
            case _:
                pass
        output = self.names.of(node.output)
        # The list may be read under the name that the result gets.
        rows = self.names.fresh(f"{output}_found") if node.output in node_reads(node) else output
        lines = self.line(depth, "[]", f"{rows} = ")
        lines += self.line(depth, over, f"for {item} in ", ":")
        inner = depth + 1
        if where is not None:
            lines += self.line(inner, where.source, "if ", ":")
            inner += 1
        for step in node.body:
            lines += self.node(step, inner)
        lines += self.line(inner, Group(f"{rows}.append(", (collect,), ")"))
        return lines if rows == output else [*lines, f"{INDENT * depth}{output} = {rows}"]

    def states(self) -> list[str]:
        """Writes a graph without a nested form: a loop over the name of the next node."""
        assert self.flow.start is not None
        lines = self.enter(self.flow.start, *self.flow.order.successors(self.flow.start), depth=1)
        lines += [f"{INDENT}while True:", f"{INDENT * 2}match {self.step}:"]
        for name in in_order(self.flow):
            node = self.workflow.by_id[name]
            if not isinstance(node, Start):
                lines.append(f"{INDENT * 3}case {string(name)}:")
                lines += self.state(node)
        return lines

    def state(self, node: Node) -> list[str]:
        if isinstance(node, End):
            return self.line(4, self.code.binding(node.output), "return ")
        if isinstance(node, Condition):
            arms = {edge.when: edge.target for edge in self.workflow.after(node.id)}
            return [
                *self.line(4, self.test(node).source, "if ", ":"),
                *self.enter(node.id, self.flow.jumps.get((node.id, arms[True]), arms[True]), depth=5),
                f"{INDENT * 4}else:",
                *self.enter(node.id, self.flow.jumps.get((node.id, arms[False]), arms[False]), depth=5),
            ]
        return [*self.node(node, 4), *self.enter(node.id, *self.flow.order.successors(node.id), depth=4)]

    def enter(self, source: str, target: str, depth: int) -> list[str]:
        """Writes the step from a node to the next."""
        for edge in self.flow.back_edges:
            if (edge.source, edge.target) == (source, target):
                return [*self.count(edge, depth), f"{INDENT * depth}{self.step} = {string(target)}"]
        return [*self.begin(target, depth), f"{INDENT * depth}{self.step} = {string(target)}"]


def _plain(item: If) -> bool:
    """Whether an if has one arm only and can become part of the one around it."""
    return bool(item.then) != bool(item.otherwise)


def _without_again(block: Block) -> Block:
    """A block at the end of a loop's body without the jump to the next round, which follows anyway."""
    return block[:-1] if block and isinstance(block[-1], Again) else block


def _leaves(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Return | Leave)


def _one_statement(lines: Sequence[str], depth: int) -> bool:
    """Whether lines are one `if` with its arms, so that `elif` can take its place."""
    margin = INDENT * depth
    return all(
        line.startswith((margin + INDENT, f"{margin}elif ", f"{margin}else:", f"{margin})"))
        for line in lines[1:]
    )  # fmt: skip


def _commented(lines: Sequence[str], comment: str, margin: str) -> list[str]:
    """Lines with a comment: behind the only one of them, where there is room for it, or above."""
    if len(lines) == 1 and len(lines[0]) + len(comment) + 4 <= WIDTH:
        return [f"{lines[0]}  # {comment}"]
    return [f"{margin}# {comment[0].upper()}{comment[1:]}.", *lines]

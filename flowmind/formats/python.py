"""Workflows as Python source: one function with real ifs and loops, standard library only.

The function takes the inputs under their own names, the tools as a mapping of callables, and, if a model is asked,
`llm`. It gives the answer that a run gives, and raises where a run fails: inputs and arguments are checked against
their schemas, tools get copies and give plain JSON, loops count their rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowmind.formats.fidelity import Export, Note
from flowmind.formats.pycode import (
    IMPORTED,
    Code,
    Names,
    about,
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
    report,
    require_sound,
    required_of,
    shared_notes,
    tools_of,
)
from flowmind.formats.pyexpr import Expr, as_truth, both, clause, test_of
from flowmind.formats.pylayout import INDENT, Comprehension, Group, Source, constant, docstring, flat, statement
from flowmind.formats.pylayout import text as string
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import (
    DEFAULT_BOUND,
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
    Workflow,
)
from flowmind.workflow.graph import Flow, analyse, loop_nodes
from flowmind.workflow.nesting import Again, Block, Do, If, Item, Leave, Loop, Return, nested
from tools_registry.specs.spec import ToolSpec

_RAISES = (
    "Exception: Where a run of the workflow fails: an input or argument that does not fit, an error of a tool or an "
    "expression, a loop beyond its bound."
)


def to_python(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as the source of a Python module with one public function.

    Tools get JSON values as they are. A sandbox of functions would turn them into what the functions are annotated
    with (2.0 into 2 for an int, an object into a pydantic model), and dates in results into texts.

    Args:
        workflow: A workflow that passes `check`.
        specs: The tools by name. Arguments of a tool without a spec are not checked.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """
    require_sound(workflow, specs)
    writer = _Writer(workflow, specs)
    text = writer.module()
    return Export(text, report(workflow, writer.notes()))


def python_names(workflow: Workflow) -> dict[str, str]:
    """The parameters of the function that `to_python` writes, by the inputs' names; `""` gives the function's name."""
    writer = _Writer(workflow, {})
    return {"": writer.function, **writer.parameters}


class _Writer:
    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
        self.workflow = workflow
        self.specs = specs
        self.flow: Flow = analyse(workflow)
        self.function = Names(IMPORTED).fresh(module_name(workflow))
        names = Names([*IMPORTED, "tools", "llm"])
        self.names = names
        self.parameters = {name: names.of(name) for name in workflow.input_names}
        self.read = read_in(workflow)
        for node in workflow.nodes:
            for output in outputs_of(node):
                names.of(output, output if output in self.read else f"_{output}")
        self.tools = {tool: names.fresh(f"{tool}_tool" if tool in names.taken else tool) for tool in tools_of(workflow)}
        self.code = Code(workflow, names)
        self.counters: dict[Edge, str] = {}
        for edge in self.flow.back_edges:
            self.counters[edge] = names.fresh("rounds" if not self.counters else f"rounds_{len(self.counters) + 1}")
        self.step = names.fresh("step")
        self.block = nested(workflow)

    def notes(self) -> list[Note]:
        notes = shared_notes(self.workflow, self.specs)
        if self.block is None:
            notes += [
                Note(part=edge.label, note="the graph is no nested code: a loop goes from node to node by name")
                for edge in self.workflow.edges
            ]
        if renamed := [f"{name} is {new}" for name, new in self.parameters.items() if name != new]:
            notes.append(Note(part="names", note=f"parameters are renamed: {', '.join(renamed)}"))
        about_inputs: list[str] = []
        if self.workflow.inputs.get("additionalProperties", True) is not False:
            about_inputs.append("an input that the schema does not name is an error")
        if set(self.parameters) - set(required_of(self.workflow)):
            about_inputs.append("None stands for an optional input that is left out")
        if {"anyOf", "enum", "const", "$ref"} & self.workflow.inputs.keys():
            about_inputs.append("each input is checked for itself, not all of them together")
        return notes + ([Note(part="inputs", note="; ".join(about_inputs))] if about_inputs else [])

    def module(self) -> str:
        lines = [*self.header(), *self.opening(), *self.body()]
        helpers = self.code.helpers(self.specs)
        imports = {"from typing import Any", *self.code.imports(), *imports_of_hints(self.header())}
        return module(imports, [*lines, *helpers], f"The workflow {self.workflow.name}, as Python.")

    def header(self) -> list[str]:
        required = required_of(self.workflow)
        parts: list[Source] = [f"{self.parameters[name]}: {hint(field_of(self.workflow, name))}" for name in required]
        for name in self.workflow.input_names:
            if name not in required:
                kind = hint(field_of(self.workflow, name))
                kind = kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"
                parts.append(f"{self.parameters[name]}: {kind} = None")
        if self.tools or self.asks:
            parts.append("*")
        if self.tools:
            parts.append("tools: Mapping[str, Callable[..., Any]]")
        if self.asks:
            parts.append("llm: Callable[[str], str]")
        return statement(0, Group("(", tuple(parts), ")"), f"def {self.function}", " -> Any:")

    @property
    def asks(self) -> bool:
        return any(isinstance(node, LLMNode) for node in self.workflow.nodes)

    def opening(self) -> list[str]:
        """The docstring and what is done with inputs and tools before the first node."""
        lines = about(self.workflow)
        described: list[str] = []
        for name in self.workflow.input_names:
            note = " ".join(str(field_of(self.workflow, name).get("description", "")).split()) or "An input."
            other = f" (The input {name!r}.)" if self.parameters[name] != name else ""
            described += paragraphs(f"    {self.parameters[name]}: {note}{other}", " " * 8)
        if self.tools:
            described += ["    tools: Functions by name; each is called with named arguments:"]
            described += documented_tools(self.workflow, self.specs, " " * 8)
        if self.asks:
            described += ["    llm: Answers a prompt with text."]
        if described:
            lines += ["", "Args:", *described]
        lines += ["", "Raises:"]
        lines += paragraphs(f"{INDENT}{_RAISES}", INDENT * 2)
        found = docstring(1, lines)
        required = required_of(self.workflow)
        for name in self.workflow.input_names:
            parameter = self.parameters[name]
            source = Group(f"{self.code.use('_input')}(", (string(name), parameter), ")")
            if name in required:
                found += statement(1, source, f"{parameter} = " if name in self.read else "")
            elif name in self.workflow.input_defaults:
                default = constant(self.workflow.input_defaults[name])
                found += [f"{INDENT}if {parameter} is None:", *statement(2, default, f"{parameter} = ")]
                found += statement(1, source, f"{parameter} = " if name in self.read else "")
            else:
                found += [f"{INDENT}if {parameter} is not None:", *statement(2, source)]
        for tool, name in self.tools.items():
            found += statement(1, Group(f"{self.code.use('_tool')}(", ("tools", string(tool)), ")"), f"{name} = ")
        return [*found, ""] if self.parameters or self.tools else found

    def body(self) -> list[str]:
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
                return statement(depth, self.code.binding(node.output), "return ")
            case Leave():
                return [INDENT * depth + "break"]
            case Again(edge=edge):
                return [*self.count(edge, depth), *([] if looping else [INDENT * depth + "continue"])]
            case Loop():
                return self.loop(item, depth)
            case If():
                return self.branch(item, depth, looping)

    def count(self, edge: Edge, depth: int) -> list[str]:
        """What a back edge does: it counts, and loops inside begin anew."""
        counter, bound, margin = self.counters[edge], edge.bound or DEFAULT_BOUND, INDENT * depth
        problem = f"the loop at {edge.target} ran more than {bound} rounds"
        lines = [f"{margin}{counter} += 1", f"{margin}if {counter} > {bound}:"]
        lines += statement(depth + 1, Group("RuntimeError(", (string(problem),), ")"), "raise ")
        return lines + [f"{margin}{self.counters[inner]} = 0" for inner in self.inner(edge)]

    def inner(self, edge: Edge) -> list[Edge]:
        """The loops with the same first node that lie inside a loop."""
        nodes = loop_nodes(self.flow.order, edge)
        shared = [other for other in self.flow.back_edges if other.target == edge.target and other != edge]
        return [other for other in shared if loop_nodes(self.flow.order, other) < nodes]

    def begin(self, head: str, depth: int) -> list[str]:
        """Loops that are entered count from zero."""
        return [f"{INDENT * depth}{name} = 0" for edge, name in self.counters.items() if edge.target == head]

    def loop(self, loop: Loop, depth: int) -> list[str]:
        lines = self.begin(loop.head, depth)
        match loop.body:
            case (If(node=node, then=then, otherwise=(Leave(),)), *rest):
                head, body = self.test(node), (*then, *rest)
            case (If(node=node, then=(Leave(),), otherwise=otherwise), *rest):
                head, body = self.test(node, True), (*otherwise, *rest)
            case body:
                head = Expr("True")
        return [*lines, *statement(depth, head.source, "while ", ":"), *self.inside(body, depth + 1, True)]

    def test(self, node: Condition, negated: bool = False) -> Expr:
        return test_of(node.expr, self.code.scope, negated)

    def branch(self, item: If, depth: int, looping: bool) -> list[str]:
        """An if, with `and` for one inside another, `elif`, and no `else` behind what has left."""
        match item:
            case If(node=node, then=(Return(node=End(output=Literal_(value=bool(yes)))),),
                    otherwise=(Return(node=End(output=Literal_(value=bool(no)))),)) if yes is not no:  # fmt: skip
                return statement(depth, as_truth(self.test(node, no)), "return ")
            case If(node=node, then=(), otherwise=()):
                return statement(depth, self.test(node).source, "_ = ")
            case If(node=node, then=(), otherwise=otherwise):
                test, then, otherwise = self.test(node, True), otherwise, ()
            case If(node=node, then=then, otherwise=otherwise):
                test = self.test(node)
        while not otherwise and len(then) == 1 and isinstance(then[0], If) and _plain(then[0]):
            inner = then[0]
            test = both(test, self.test(inner.node, not inner.then))
            then = inner.then or inner.otherwise
        lines = statement(depth, test.source, "if ", ":")
        leaves = _leaves(then)
        lines += self.inside(then, depth + 1, looping)
        if leaves:
            return lines + self.items(otherwise, depth, looping)
        if len(otherwise) == 1 and isinstance(otherwise[0], If):
            rest = self.branch(otherwise[0], depth, looping)
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
                return self.set(node.output, self.code.prompt(node, "llm"), depth)
            case Map():
                return self.map(node, depth)
            case _:
                return []

    def set(self, output: str, source: Source, depth: int) -> list[str]:
        name = self.names.of(output)
        return [] if source == name else statement(depth, source, f"{name} = ")

    def map(self, node: Map, depth: int) -> list[str]:
        item, over = self.names.of(node.item), self.code.list_of(node.over)
        where = None if node.where is None else test_of(node.where, self.code.scope)
        collect = self.code.binding(node.collect)
        if not node.body:
            if where is None and collect == item:
                return self.set(node.output, over if over.startswith(("_list(", "[")) else f"list({over})", depth)
            tests = () if where is None else (f"if {clause(where)}",)
            clauses = (flat(collect), f"for {item} in {over}", *tests)
            return self.set(node.output, Comprehension(clauses), depth)
        output = self.names.of(node.output)
        # The list may be read under the name that the result gets.
        found = self.names.fresh(f"{output}_found") if node.output in node_reads(node) else output
        lines = statement(depth, "[]", f"{found} = ")
        lines += statement(depth, over, f"for {item} in ", ":")
        inner = depth + 1
        if where is not None:
            lines += statement(inner, where.source, "if ", ":")
            inner += 1
        for step in node.body:
            lines += self.node(step, inner)
        lines += statement(inner, Group(f"{found}.append(", (collect,), ")"))
        return lines if found == output else [*lines, f"{INDENT * depth}{output} = {found}"]

    def states(self) -> list[str]:
        """The graph as it is: one loop, in which each node says which comes next."""
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
            return statement(4, self.code.binding(node.output), "return ")
        if isinstance(node, Condition):
            arms = {edge.when: edge.target for edge in self.workflow.after(node.id)}
            return [
                *statement(4, self.test(node).source, "if ", ":"),
                *self.enter(node.id, self.flow.jumps.get((node.id, arms[True]), arms[True]), depth=5),
                f"{INDENT * 4}else:",
                *self.enter(node.id, self.flow.jumps.get((node.id, arms[False]), arms[False]), depth=5),
            ]
        return [*self.node(node, 4), *self.enter(node.id, *self.flow.order.successors(node.id), depth=4)]

    def enter(self, source: str, target: str, depth: int) -> list[str]:
        """The step from a node to the next."""
        for edge in self.flow.back_edges:
            if (edge.source, edge.target) == (source, target):
                return [*self.count(edge, depth), f"{INDENT * depth}{self.step} = {string(target)}"]
        return [*self.begin(target, depth), f"{INDENT * depth}{self.step} = {string(target)}"]


def _plain(item: If) -> bool:
    """Whether an if has one arm only and can become part of the one around it."""
    return bool(item.then) != bool(item.otherwise)


def _leaves(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], Return | Leave)


def _one_statement(lines: Sequence[str], depth: int) -> bool:
    """Whether lines are one `if` with its arms, so that `elif` can take its place."""
    margin = INDENT * depth
    return all(
        line.startswith((margin + INDENT, f"{margin}elif ", f"{margin}else:", f"{margin})"))
        for line in lines[1:]
    )  # fmt: skip

"""Workflows as LangGraph graphs: a `StateGraph` with a node for each node, as source and as a compiled graph.

The variables are the keys of the state. A condition notes which of its edges is taken, and a conditional edge follows
it; a back edge is an edge. Forked paths follow one another in the order of their edges, as in a run: LangGraph would
merge the writes of parallel branches, and run the join once for each of them. The node at the source of a back edge
counts the rounds, so bounds are kept. LangGraph is imported only when a graph is compiled.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from typing import Any

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
    outputs_of,
    paragraphs,
    read_in,
    require_sound,
    required_of,
    shared_notes,
    specs_for,
)
from flowmind.formats.pyexpr import as_truth, test_of
from flowmind.formats.pylayout import INDENT, Group, Source, constant, docstring, named, statement
from flowmind.formats.pylayout import text as string
from flowmind.workflow.document import (
    Assign,
    BodyStep,
    Condition,
    End,
    LLMNode,
    Map,
    Node,
    Start,
    ToolNode,
    Workflow,
)
from flowmind.workflow.graph import Flow, analyse
from flowmind.workflow.nesting import loop_counters
from tools_registry.specs.spec import ToolSpec

STEPS = 100_000
"""Steps that a graph may take: its recursion limit, as many as a run has in its budget."""
_OWN = (
    "tools", "llm", "state", "graph", "State", "Answer", "Inputs", "TypedDict", "NotRequired", "StateGraph", "START",
    "END", "build_graph", "following",
)  # fmt: skip
ANSWER = "answer"
"""The key of the state that holds the answer."""


def to_langgraph_source(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as the source of a module whose `build_graph(tools)` gives a compiled graph.

    `build_graph(tools).invoke(inputs)["answer"]` is the answer; where a run fails, it raises.

    Args:
        workflow: A workflow that passes `check`.
        specs: The tools by name. Arguments of a tool without a spec are not checked.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """
    require_sound(workflow, specs)
    writer = _Writer(workflow, specs)
    return Export(writer.module(), report(["inputs"], workflow, writer.notes()))


def to_langgraph(
    workflow: Workflow,
    tools: Mapping[str, Callable[..., Any]],
    llm: Callable[[str], str] | None = None,
    specs: Mapping[str, ToolSpec] | None = None,
) -> Any:
    """A workflow as a compiled LangGraph graph: `to_langgraph(workflow, tools).invoke(inputs)["answer"]`.

    Args:
        workflow: A workflow that passes `check`.
        tools: Plain functions by the names of the tools.
        llm: Answers a prompt with text, for `llm` nodes.
        specs: The tools' specs, if not those of the functions' own signatures.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
        InputError: If a tool or the model is missing, or a tool is a coroutine function.
        SpecError: If a function cannot be a tool.
    """
    known = specs_for(workflow, tools, llm, specs)
    scope: dict[str, Any] = {"__name__": "flowmind_langgraph"}
    source = to_langgraph_source(workflow, known).text
    # LangGraph reads the types of the state, which must not be text: the future import above is not for them.
    exec(compile(source, "<flowmind_langgraph>", "exec", dont_inherit=True), scope)
    return scope["build_graph"](**called_with(workflow, tools, llm))


class _Code(Code):
    """Expressions that read the state; variables of a map's rounds are local."""

    local: frozenset[str] = frozenset()

    def variable(self, name: str) -> str:
        """The source that reads a variable."""
        return self.names.of(name) if name in self.local else f"state[{string(name)}]"


class _Writer:
    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
        self.workflow = workflow
        self.specs = specs
        self.flow: Flow = analyse(workflow)
        names = Names([*IMPORTED, *_OWN])
        self.tools = {tool: names.fresh(tool) for tool in workflow.tool_names}
        self.nodes = in_order(self.flow)
        self.functions = {name: names.fresh(name) for name in self.nodes}
        self.names = names
        self.read = read_in(workflow)
        self.code = _Code(workflow, names)
        outputs = [outputs_of(node)[-1] for node in workflow.nodes if outputs_of(node)]
        self.keys = list(dict.fromkeys([*workflow.input_names, *outputs, ANSWER]))
        own = Names(self.keys)
        self.taken = own.fresh("taken")
        self.loops = loop_counters(self.flow)
        self.counters: dict[int, str] = {}
        for number in sorted({loop.number for loop in self.loops.values()}):
            self.counters[number] = own.fresh("rounds" if not number else f"rounds_{number + 1}")
        # A node cannot be called like a key of the state.
        keys = {*self.keys, self.taken, *self.counters.values()}
        taken = {*keys, *(name for name in self.nodes if name not in keys)}
        self.titles: dict[str, str] = {}
        for name in self.nodes:
            title = name
            while name in keys and title in taken:
                title += "_node"
            taken.add(title)
            self.titles[name] = title

    def notes(self) -> list[Note]:
        notes = [note for note in shared_notes(self.workflow, self.specs) if note.part != "limits"]
        if len(notes) != len(shared_notes(self.workflow, self.specs)):
            note = f"{STEPS} nodes may run, where a run counts rounds of maps, too; sizes are not limited"
            notes.append(Note(part="limits", note=note))
        notes.append(Note(part="inputs", note="an input that the schema does not name is left out of the state"))
        laid = {(name, after) for name in self.nodes for after in self.flow.order.successors(name)}
        back = {(edge.source, edge.target) for edge in self.flow.back_edges}
        for edge in self.workflow.edges:
            if (edge.source, edge.target) not in laid | back:
                notes.append(Note(part=edge.label, note="forked paths follow one another in the order of their edges"))
        return notes

    def module(self) -> str:
        lines = [*self.state(), "", "", *self.build()]
        helpers = self.code.helpers(self.specs)
        imports = {
            "from typing import Any, TypedDict",
            "from langgraph.graph import END, START, StateGraph",
            *self.code.imports(),
            *imports_of_hints(lines),
        }
        return module(imports, [*lines, *helpers], f"The workflow {self.workflow.name}, as a LangGraph graph.")

    def state(self) -> list[str]:
        """The types of the state, of the inputs and of the answer."""
        inputs = self.workflow.input_names
        hints = {name: hint(field_of(self.workflow, name)) for name in inputs}
        required = required_of(self.workflow)
        given = {name: kind if name in required else f"NotRequired[{kind}]" for name, kind in hints.items()}
        # An input whose variable is set again may hold anything then.
        later = {name for node in self.workflow.nodes for name in outputs_of(node)[-1:]} | {ANSWER}
        keys = {name: "Any" if name in later else hints[name] for name in self.keys}
        keys |= {self.taken: "bool"} if any(isinstance(node, Condition) for node in self.workflow.nodes) else {}
        keys |= dict.fromkeys(self.counters.values(), "int")
        return [
            *_typed("Inputs", "What a run begins with.", given),
            *_typed("State", "The variables, and what the graph itself needs to know.", keys, ", total=False"),
            *_typed("Answer", "What a run ends with.", {ANSWER: "Any"})[:-2],
        ]

    def build(self) -> list[str]:
        asks = asks_model(self.workflow)
        parts: list[Source] = ["tools: Mapping[str, Callable[..., Any]]"] if self.tools else []
        parts += ["llm: Callable[[str], str]"] if asks else []
        lines = statement(0, Group("(", tuple(parts), ")"), "def build_graph", " -> Any:")
        described = ["    tools: Functions by name; each is called with named arguments:"] if self.tools else []
        described += documented_tools(self.workflow, self.specs, " " * 8)
        described += ["    llm: Answers a prompt with text."] if asks else []
        note = f"At most {STEPS} nodes run (the graph's `recursion_limit`)."
        lines += docstring(
            1,
            [
                *about(self.workflow),
                "",
                *paragraphs(f'`build_graph(...).invoke(inputs)["{ANSWER}"]` is the answer. {note}'),
                *(["", "Args:", *described] if described else []),
            ],
        )
        for tool, name in self.tools.items():
            lines += statement(1, Group(f"{self.code.use('_tool')}(", ("tools", string(tool)), ")"), f"{name} = ")
        for name in self.nodes:
            lines += ["", *self.function(self.workflow.by_id[name])]
        if any(isinstance(self.workflow.by_id[name], Condition) for name in self.nodes):
            lines += ["", f"{INDENT}def following(state: State) -> bool:"]
            lines += [f"{INDENT * 2}return state[{string(self.taken)}]"]
        schemas = ("State", "input_schema=Inputs", "output_schema=Answer")
        lines += ["", *statement(1, Group("StateGraph(", schemas, ")"), "graph = ")]
        for name in self.nodes:
            lines += self.added("add_node", string(self.titles[name]), self.functions[name])
        for name in self.nodes:
            lines += self.edges(self.workflow.by_id[name])
        limit = Group("with_config(", (f"recursion_limit={STEPS:_}",), ")")
        return [*lines, *statement(1, named("graph.compile().", limit), "return ")]

    def added(self, what: str, *parts: Source) -> list[str]:
        return statement(1, Group(f"graph.{what}(", parts, ")"))

    def edges(self, node: Node) -> list[str]:
        title = string(self.titles[node.id])
        match node:
            case Start():
                first = self.added("add_edge", "START", title)
                return [*first, *self.added("add_edge", title, self.next(node))]
            case End():
                return self.added("add_edge", title, "END")
            case Condition():
                arms = self.arms(node)
                ways = Group("{", tuple(f"{when}: {string(self.titles[arms[when]])}" for when in (True, False)), "}")
                return self.added("add_conditional_edges", title, "following", ways)
            case _:
                return self.added("add_edge", title, self.next(node))

    def next(self, node: Node) -> str:
        (after,) = self.flow.order.successors(node.id)
        return string(self.titles[after])

    def arms(self, node: Condition) -> dict[bool, str]:
        """The targets of a condition's edges, forks laid out."""
        back = {(edge.source, edge.target) for edge in self.flow.back_edges}
        targets: dict[bool, str] = {}
        for edge in self.workflow.after(node.id):
            way = (edge.source, edge.target)
            targets[bool(edge.when)] = edge.target if way in back else self.flow.jumps.get(way, edge.target)
        return targets

    def function(self, node: Node) -> list[str]:
        """The function of a node, which returns the changes of the state."""
        lines = [f"{INDENT}def {self.functions[node.id]}(state: State) -> State:"]
        match node:
            case Start():
                return [*lines, *self.start(node)]
            case Condition():
                return [*lines, *self.condition(node)]
            case End(output=output):
                return [*lines, *self.gives({ANSWER: self.code.binding(output)})]
            case Map():
                before, collected = self.map(node)
                return [*lines, *before, *self.gives({node.output: collected, **self.goes(node)})]
            case ToolNode(tool=tool, args=args, output=output):
                return [*lines, *self.gives({output: self.code.call(self.tools[tool], args), **self.goes(node)})]
            case Assign(output=output):
                return [*lines, *self.gives({output: self.code.value(node), **self.goes(node)})]
            case LLMNode(output=output):
                return [*lines, *self.gives({output: self.code.prompt(node, "llm"), **self.goes(node)})]

    def gives(self, update: Mapping[str, Source], depth: int = 2) -> list[str]:
        parts = tuple(named(f"{string(key)}: ", source) for key, source in update.items())
        return statement(depth, Group("{", parts, "}"), "return ")

    def goes(self, node: Node) -> dict[str, Source]:
        """The changes of the state when the only edge out of a node is taken."""
        (after,) = self.flow.order.successors(node.id)
        return self.taking(node.id, after)

    def taking(self, source: str, target: str) -> dict[str, Source]:
        """The changes of the state when an edge is taken: a back edge counts, an entered loop starts from zero."""
        for edge, (number, head, bound, inner) in self.loops.items():
            if (edge.source, edge.target) == (source, target):
                counter = self.counters[number]
                parts = (f"state[{string(counter)}]", str(bound), string(head))
                counted = Group(f"{self.code.use('_round')}(", parts, ")")
                return {counter: counted, **{self.counters[other]: "0" for other in inner}}
        return {self.counters[loop.number]: "0" for loop in self.loops.values() if loop.head == target}

    def start(self, node: Start) -> list[str]:
        bound = self.workflow.bound_inputs
        lines: list[str] = []
        for name in self.workflow.input_names:
            if name not in bound:
                lines += [f"{INDENT * 2}if {string(name)} in state:", *statement(3, self.checked(name))]
        return [*lines, *self.gives({**{name: self.checked(name) for name in bound}, **self.goes(node)})]

    def checked(self, name: str) -> Source:
        defaults = self.workflow.input_defaults
        value: Source = f"state[{string(name)}]"
        if name in defaults:
            value = Group("state.get(", (string(name), constant(defaults[name])), ")")
        return Group(f"{self.code.use('_input')}(", (string(name), value), ")")

    def condition(self, node: Condition) -> list[str]:
        test = test_of(node.expr, self.code.scope)
        arms = self.arms(node)
        changes = {when: self.taking(node.id, after) for when, after in arms.items()}
        if not any(changes.values()):
            return self.gives({self.taken: as_truth(test)})
        return [
            *statement(2, test.source, "if ", ":"),
            *self.gives({self.taken: "True", **changes[True]}, 3),
            *self.gives({self.taken: "False", **changes[False]}),
        ]

    def map(self, node: Map) -> tuple[list[str], Source]:
        """The lines before a map's result, and the result."""
        over = self.code.list_of(node.over)
        self.code.local = frozenset({node.item, *(step.output for step in node.body)})
        item = self.names.of(node.item, node.item if node.item in self.read else f"_{node.item}")
        where = None if node.where is None else test_of(node.where, self.code.scope)
        collect = self.code.binding(node.collect)
        lines: list[str] = []
        result: Source = comprehension(collect, item, over, where)
        if node.body:
            result = self.names.of(f"{node.id}.", "found")
            lines, depth = [*statement(2, "[]", f"{result} = "), *statement(2, over, f"for {item} in ", ":")], 3
            if where is not None:
                lines += statement(depth, where.source, "if ", ":")
                depth += 1
            for step in node.body:
                name = self.names.of(step.output, step.output if step.output in self.read else f"_{step.output}")
                lines += statement(depth, self.step(step), f"{name} = ")
            lines += statement(depth, Group(f"{result}.append(", (collect,), ")"))
        self.code.local = frozenset()
        return lines, result

    def step(self, step: BodyStep) -> Source:
        """The value of a step in a map's body."""
        if isinstance(step, ToolNode):
            return self.code.call(self.tools[step.tool], step.args)
        return self.code.value(step)


def _typed(name: str, about: str, keys: Mapping[str, str], total: str = "") -> list[str]:
    """A typed dict, and the blank lines behind it."""
    if not any(keyword.iskeyword(key) for key in keys):
        fields = [line for key, kind in keys.items() for line in statement(1, kind, f"{key}: ")]
        head = f"class {name}(TypedDict{total}):"
        return [head, *docstring(1, [about]), *([""] if fields else []), *fields, "", ""]
    fields_of = Group("{", tuple(f"{string(key)}: {kind}" for key, kind in keys.items()), "}")
    parts: list[Source] = [string(name), fields_of, *([total.lstrip(", ")] if total else [])]
    return [*statement(0, Group("TypedDict(", tuple(parts), ")"), f"{name} = "), "", ""]

"""Workflow knowledge in the styles of FlowBench (Xiao et al.): as Python-like code, and as a Mermaid flowchart.

In code every action is a function of its own, in a flowchart every state says what is done in it, and its edges say
when they are taken. The third style, natural language, is `text.to_text`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from flowmind.formats.fidelity import Export, Fidelity, Note
from flowmind.formats.pruning import readable
from flowmind.formats.renaming import rename
from flowmind.formats.text import fidelity
from flowmind.formats.words import guesses, listed, say_map, say_step, say_test
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    LLMNode,
    Map,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from flowmind.workflow.graph import Flow, analyse
from flowmind.workflow.nesting import Again, Block, Do, If, Item, Leave, Loop, Return
from tools_registry.specs.schema import type_label
from tools_registry.specs.spec import ToolSpec

_ASK = "ask_model"


def to_flowbench_code(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow that passes `check` as Python: a procedure, and a function without a body for each tool."""
    flow = analyse(workflow)
    block = readable(workflow)
    writer = _Code(workflow, specs)
    lines = [*writer.head(), *(writer.dispatch(flow) if block is None else writer.block(block, 1))]
    lines += writer.functions()
    return Export("\n".join(lines) + "\n", _code_fidelity(workflow, flow, writer))


class _Code:
    """Nodes as lines of Python."""

    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
        self.workflow = workflow
        self.specs = specs
        self.calls = [step for node in workflow.nodes for step in _steps(node) if isinstance(step, ToolNode)]
        self.tools: dict[str, str] = {}
        for step in self.calls:
            if step.tool not in self.tools:
                self.tools[step.tool] = _fresh(step.tool, {_ASK, *self.tools.values(), *expressions.FUNCTIONS})
        self.title = _fresh(workflow.name, {_ASK, *self.tools.values(), *expressions.FUNCTIONS})
        taken = {_ASK, self.title, *self.tools.values(), *expressions.FUNCTIONS, *expressions.TYPES}
        self.names: dict[str, str] = {}
        for name in dict.fromkeys(_variables(workflow)):
            self.names[name] = _fresh(name, taken)
            taken.add(self.names[name])
        self.renamed = {name: new for name, new in self.names.items() if new != name}

    def head(self) -> list[str]:
        required = self.workflow.inputs.get("required", [])
        inputs = [self.names[name] + ("" if name in required else "=None") for name in self.workflow.input_names]
        inputs.sort(key=lambda name: name.endswith("=None"))
        lines = [f"def {self.title}({', '.join(inputs)}):"]
        notes = [
            f"{self.names[name]}: {' '.join(str(field['description']).split())}"
            for name, field in self.workflow.inputs.get("properties", {}).items()
            if field.get("description")
        ]
        return lines + _docstring([*self.workflow.description.strip().splitlines(), *notes])

    def functions(self) -> list[str]:
        """A function for each tool: what it takes and what it does, not how."""
        lines: list[str] = []
        for tool, name in self.tools.items():
            spec = self.specs.get(tool)
            if spec is None:
                args = list(dict.fromkeys(arg for step in self.calls if step.tool == tool for arg in step.args))
                lines += ["", "", f"def {name}({_parameters(args, args, {})}):", "    ..."]
                continue
            fields: dict[str, Any] = spec.parameters.get("properties", {})
            about = [spec.description.partition("\n")[0]]
            about += (
                [f"Returns {type_label(spec.returns)}: {note}"] if (note := spec.returns.get("description")) else []
            )
            lines += ["", "", f"def {name}({_parameters(spec.names, spec.required, fields)}):"]
            lines += [*_docstring([line for line in about if line]), "    ..."]
        if any(isinstance(node, LLMNode) for node in self.workflow.nodes):
            lines += ["", "", f"def {_ASK}(prompt, /, **values):"]
            lines += [*_docstring(["Put the values into the prompt, and give the language model's reply."]), "    ..."]
        return lines

    def block(self, block: Block, depth: int) -> list[str]:
        """Nested code as lines."""
        lines = [line for item in block for line in self.item(item, depth)]
        return lines or [f"{'    ' * depth}pass"]

    def item(self, item: Item, depth: int) -> list[str]:
        indent = "    " * depth
        match item:
            case Do(node=node):
                return [indent + line for line in self.node(node)]
            case Return(node=node):
                return [f"{indent}return {self.binding(node.output)}"]
            case Leave():
                return [f"{indent}break"]
            case Again(edge=edge):
                return [f"{indent}continue{_rounds(edge)}"]
            case Loop(body=body):
                return self.loop(body, depth)
            case If(node=node, then=then, otherwise=otherwise):
                return self.choice("if", node, then, otherwise, depth)

    def choice(self, word: str, node: Condition, then: Block, otherwise: Block, depth: int) -> list[str]:
        indent, test = "    " * depth, self.expression(node.expr)
        if not then and otherwise:
            test, then, otherwise = f"not ({test})", otherwise, then
        lines = [f"{indent}{word} {test}:", *self.block(then, depth + 1)]
        match otherwise:
            case ():
                return lines
            case (If(node=inner, then=yes, otherwise=no),):
                return lines + self.choice("elif", inner, yes, no, depth)
            case _:
                return [*lines, f"{indent}else:", *self.block(otherwise, depth + 1)]

    def loop(self, body: Block, depth: int) -> list[str]:
        test = "True"
        match body:
            case (If(node=node, then=then, otherwise=(Leave(),)),):
                test, body = self.expression(node.expr), then
            case (If(node=node, then=(Leave(),), otherwise=otherwise),):
                test, body = f"not ({self.expression(node.expr)})", otherwise
            case _:
                pass
        note = ""
        if isinstance(body[-1], Again):
            note = _rounds(body[-1].edge)
        body = _trimmed(body)
        return [f"{'    ' * depth}while {test}:{note}", *self.block(body, depth + 1)]

    def node(self, node: Node) -> list[str]:
        match node:
            case ToolNode(tool=tool, args=args, output=output):
                return [f"{self.names[output]} = {self.tools[tool]}({self.arguments(args)})"]
            case LLMNode(prompt=prompt, args=args, output=output):
                given = ", ".join(filter(None, (repr(prompt), self.arguments(args))))
                return [f"{self.names[output]} = {_ASK}({given})"]
            case Assign(value=value, expr=expr, output=output):
                right = self.expression(expr) if expr is not None else self.binding(cast(Binding, value))
                return [f"{self.names[output]} = {right}"]
            case Map():
                return self.map(node)
            case _:
                raise AssertionError(f"a {node.kind} node is no statement")

    def map(self, node: Map) -> list[str]:
        """A map as a loop; the list is not named before it is whole, because the loop may read an older one."""
        body = [line for step in node.body for line in self.node(step)]
        name, collect = self.names[node.output], self.binding(node.collect)
        over = f"for {self.names[node.item]} in {self.binding(node.over)}"
        if not body:
            where = f" if {self.expression(node.where)}" if node.where is not None else ""
            return [f"{name} = [{collect} {over}{where}]"]
        rows = _fresh(f"{node.output}_so_far", set(self.names.values()))
        where = [f"    if not ({self.expression(node.where)}):", "        continue"] if node.where is not None else []
        inside = [f"    {line}" for line in [*body, f"{rows}.append({collect})"]]
        return [f"{rows} = []", f"{over}:", *where, *inside, f"{name} = {rows}"]

    def dispatch(self, flow: Flow) -> list[str]:
        """A graph without a nested form: the name of the next step, and what is done in it."""
        assert flow.start is not None
        (first,) = flow.order.successors(flow.start)
        lines = [f"    step = {first!r}", "    while True:"]
        word = "if"
        for node in self.workflow.nodes:
            if isinstance(node, Start):
                continue
            lines.append(f"        {word} step == {node.id!r}:")
            word = "elif"
            match node:
                case End(output=output):
                    inside = [f"return {self.binding(output)}"]
                case Condition(expr=expr):
                    arms = {edge.when: edge.target for edge in self.workflow.after(node.id)}
                    ways = [flow.jumps.get((node.id, arms[arm]), arms[arm]) for arm in (True, False)]
                    inside = [f"step = {ways[0]!r} if {self.expression(expr)} else {ways[1]!r}"]
                case _:
                    (target,) = flow.order.successors(node.id)
                    inside = [*self.node(node), f"step = {target!r}"]
            lines += [f"            {line}" for line in inside]
        return lines

    def arguments(self, args: Mapping[str, Binding]) -> str:
        plain = [f"{name}={self.binding(part)}" for name, part in args.items() if _is_name(name)]
        other = [f"{name!r}: {self.binding(part)}" for name, part in args.items() if not _is_name(name)]
        return ", ".join([*plain, *([f"**{{{', '.join(other)}}}"] if other else [])])

    def binding(self, binding: Binding) -> str:
        match binding:
            case Var(var=name, path=path):
                return self.names.get(name, name) + "".join(f"[{part!r}]" for part in path)
            case Literal_(value=value):
                return repr(value)
            case ListOf(list=parts):
                return f"[{', '.join(map(self.binding, parts))}]"
            case ObjectOf(object=fields):
                return f"{{{', '.join(f'{name!r}: {self.binding(part)}' for name, part in fields.items())}}}"

    def expression(self, expr: str) -> str:
        return rename(expr, self.renamed).strip() if self.renamed else expr.strip()


def _steps(node: Node) -> Sequence[Node]:
    return node.body if isinstance(node, Map) else (node,)


def _variables(workflow: Workflow) -> list[str]:
    found = list(workflow.input_names)
    for node in workflow.nodes:
        if isinstance(node, Map):
            found += [node.item, *(step.output for step in node.body)]
        if not isinstance(node, Start | Condition | End):
            found.append(node.output)
    return found


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _fresh(name: str, taken: set[str]) -> str:
    """A Python name that is not taken."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    name = name if name.isidentifier() else f"_{name}"
    while name in taken or keyword.iskeyword(name):
        name += "_"
    return name


def _parameters(names: Sequence[str], required: Sequence[str], fields: Mapping[str, Any]) -> str:
    first = [name for name in names if name in required and _is_name(name)]
    rest = [f"{name}={fields[name].get('default')!r}" for name in names if name not in required and _is_name(name)]
    others = ["**others"] if not all(map(_is_name, names)) else []
    return ", ".join([*first, *rest, *others])


def _docstring(lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    safe = [line.replace("\\", "\\\\").replace('"""', "'''").rstrip() for line in lines]
    if safe[-1].endswith('"'):
        safe[-1] += " "
    if len(safe) == 1:
        return [f'    """{safe[0]}"""']
    return [f'    """{safe[0]}', *(f"    {line}" if line else "" for line in safe[1:]), '    """']


def _trimmed(body: Block) -> Block:
    """A loop's body without the jumps that go without saying at its end, but for those whose bound must be told."""
    match body[-1:]:
        case (Again(),):
            return body[:-1]
        case (If(node=node, then=then, otherwise=otherwise),):
            arms = [arm if _tells_bound(arm) else _trimmed(arm) for arm in (then, otherwise)]
            return (*body[:-1], If(node, arms[0], arms[1]))
        case _:
            return body


def _tells_bound(block: Block) -> bool:
    match block[-1:]:
        case (Again(edge=edge),):
            return edge.bound is not None
        case _:
            return False


def _rounds(edge: Edge) -> str:
    return "" if edge.bound is None else f"  # at most {edge.bound} times"


def _code_fidelity(workflow: Workflow, flow: Flow, writer: _Code) -> Fidelity:
    notes = [Note(part="inputs", note="their types are not said")] if workflow.input_names else []
    notes += [Note(part=fork.node, note="its forked paths stand one after the other") for fork in flow.forks]
    for edge in flow.back_edges:
        note = "its bound of 10000 rounds is not said" if edge.bound is None else "its bound stands in a comment"
        notes.append(Note(part=edge.label, note=note))
    kinds = {"variable": writer.renamed, "tool": {name: new for name, new in writer.tools.items() if name != new}}
    for kind, renamed in kinds.items():
        notes += [Note(part=f"{kind} {name}", note=f"is called {new}") for name, new in renamed.items()]
    changed = {note.part for note in notes}
    parts = [*workflow.by_id, *(edge.label for edge in workflow.edges)]
    return Fidelity(kept=tuple(part for part in parts if part not in changed), approximated=tuple(notes))


# Flowcharts


def to_flowbench_flowchart(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow that passes `check` as a Mermaid flowchart in words.

    A condition belongs to the state before it where that leads to nothing else, as in "…, and check whether …".
    """
    hosts = _hosts(workflow)
    states = [node for node in workflow.nodes if node.id not in hosts]
    states.sort(key=lambda node: not isinstance(node, Start))
    names = {node.id: f"S{place:03d}" for place, node in enumerate(states)}
    tests = {host: cast(Condition, workflow.by_id[test]) for test, host in hosts.items()}
    lines = ["flowchart TD"]
    lines += [f"    {names[node.id]}{_state(node, tests.get(node.id), workflow, specs)}" for node in states]
    for edge in workflow.edges:
        if hosts.get(edge.target) == edge.source:
            continue
        source = names[hosts.get(edge.source, edge.source)]
        label = _edge_label(edge, workflow)
        arrow = f"-- {_quoted(label)} -->" if label else "-->"
        lines.append(f"    {source} {arrow} {names[edge.target]}")
    return Export("\n".join(lines) + "\n", _chart_fidelity(workflow))


def _chart_fidelity(workflow: Workflow) -> Fidelity:
    flow = analyse(workflow)
    forks = {fork.node for fork in flow.forks}
    told = fidelity(workflow, flow)
    words = guesses(workflow)
    notes = [note for note in told.approximated if note.part not in forks]
    notes += [Note(part=part, note=words[part]) for part in words if part in forks]
    return Fidelity(kept=(*told.kept, *sorted(forks - words.keys())), approximated=tuple(notes))


def _hosts(workflow: Workflow) -> dict[str, str]:
    """The conditions that belong to the state before them."""
    found: dict[str, str] = {}
    for node in workflow.nodes:
        entering = [edge for edge in workflow.edges if edge.target == node.id]
        if isinstance(node, Condition) and len(entering) == 1:
            before = workflow.by_id[entering[0].source]
            if not isinstance(before, Start | Condition) and len(workflow.after(before.id)) == 1:
                found[node.id] = before.id
    return found


def _state(node: Node, test: Condition | None, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> str:
    check = f" Check whether {say_test(test.expr).text}." if test else ""
    match node:
        case Start():
            given = f"Start: {listed(workflow.input_names)} given" if workflow.input_names else "Start"
            return f"([{_quoted(given)}])"
        case End():
            return f"([{_quoted(say_step(node, specs))}])"
        case Condition(expr=expr):
            return f"{{{_quoted(f'Check whether {say_test(expr).text}')}}}"
        case Map():
            return f"[{_quoted(say_map(node, specs) + check)}]"
        case _:
            return f"[{_quoted(say_step(node, specs) + check)}]"


def _edge_label(edge: Edge, workflow: Workflow) -> str:
    bound = f"at most {edge.bound} times" if edge.bound is not None else ""
    source = workflow.by_id[edge.source]
    way = ""
    if isinstance(source, Condition):
        way = say_test(source.expr).text if edge.when else "otherwise"
    elif len(paths := workflow.after(edge.source)) > 1:
        way = f"path {paths.index(edge) + 1} of {len(paths)}, all are taken"
    return ", ".join(filter(None, (way, bound)))


def _quoted(text: str) -> str:
    """Text between quotes; what Mermaid would read as its own goes in as an entity code."""
    special = {'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}
    return '"' + "".join(special.get(character, character) for character in text) + '"'

"""Compiles a checked workflow to one Python function with a step budget and a full trace.

Nodes that always follow one another become straight-line code. Where the control flow joins or turns back, the
function dispatches on a block number, so every reducible graph has a translation of its own size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flowmind.graph import Flow, analyse, loop_nodes
from flowmind.workflow import (
    DEFAULT_BOUND,
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
from tools_registry import expressions
from tools_registry.program import Program


def compile_workflow(workflow: Workflow, asynchronous: bool = False, traced: bool = True) -> Program:
    """The program of a workflow that passes `check`.

    Args:
        workflow: A sound workflow; of another one the result is undefined.
        asynchronous: Generate a coroutine function that awaits its tools and the model of `llm` nodes.
        traced: Report every step; without it a run leaves its answer or error alone.
    """
    return _compiled(workflow.document, asynchronous, traced)


@lru_cache(maxsize=256)
def _compiled(document: str, asynchronous: bool, traced: bool) -> Program:
    return _Compiler(Workflow.model_validate_json(document), asynchronous, traced).program()


def needs_model(workflow: Workflow) -> bool:
    """Whether a workflow has `llm` nodes."""
    return any(isinstance(node, LLMNode) for node in workflow.nodes)


class _Compiler:
    def __init__(self, workflow: Workflow, asynchronous: bool, traced: bool) -> None:
        self.workflow = workflow
        self.traced = traced
        self.wait = "await " if asynchronous else ""
        self.shape: Flow = analyse(workflow)
        self.labels: list[str] = [node.id for node in workflow.nodes]
        self.number = {name: index for index, name in enumerate(self.labels)}
        self.tools: list[str] = []
        self.constants: list[Any] = []
        self.lines: list[str] = []
        self.depth = 0
        self.back = {(edge.source, edge.target): edge for edge in self.shape.back_edges}
        self.blocks = self.make_blocks()
        self.block_of = {block[0]: index for index, block in enumerate(self.blocks)}

    def program(self) -> Program:
        body_at = self.depth = 2
        loops = range(len(self.back))
        if len(self.blocks) == 1:
            self.block(0)
        else:
            self.emit("b = 0")
            self.emit("while True:")
            self.depth += 1
            self.dispatch(0, len(self.blocks))
        body, self.lines, self.depth = self.lines, [], 0
        self.emit(f"{'async ' if self.wait else ''}def run(inputs, tools, budget, log):")
        self.depth = 1
        if self.tools:
            self.emit(f"{', '.join(f't{index}' for index in range(len(self.tools)))}, = tools")
        self.emit("a = None")
        self.emit("at = ~0")
        for index in loops:
            self.emit(f"n{index} = 0")
        self.emit("try:")
        self.lines += body
        self.emit("except Exception as error:")
        self.depth = body_at
        self.emit("raise fail(at, a, error) from None")
        source = "\n".join(self.lines) + "\n"
        return Program(source, self.constants, tuple(self.tools), tuple(self.labels))

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def log(self, step: str) -> None:
        if self.traced:
            self.emit(f"log(({step}))")

    def make_blocks(self) -> list[list[str]]:
        """Chains of nodes that always follow one another, the start's first."""
        order, start = self.shape.order, self.shape.start
        assert start is not None

        def leads(name: str) -> bool:
            before = list(order.predecessors(name))
            return len(before) != 1 or order.out_degree(before[0]) != 1 or (before[0], name) in self.back

        blocks: list[list[str]] = []
        for name in [start, *(node.id for node in self.workflow.nodes if node.id != start)]:
            if name not in self.shape.reached or (name != start and not leads(name)):
                continue
            block = [name]
            while order.out_degree(block[-1]) == 1:
                (following,) = order.successors(block[-1])
                if leads(following):
                    break
                block.append(following)
            blocks.append(block)
        return blocks

    def dispatch(self, low: int, high: int) -> None:
        """A binary decision on the block number."""
        if high - low == 1:
            self.block(low)
            return
        middle = (low + high) // 2
        self.emit(f"if b < {middle}:")
        self.depth += 1
        self.dispatch(low, middle)
        self.depth -= 1
        self.emit("else:")
        self.depth += 1
        self.dispatch(middle, high)
        self.depth -= 1

    def block(self, index: int) -> None:
        names = self.blocks[index]
        self.emit(f"at = {~self.number[names[0]]}")
        self.spend(len(names))
        for name in names:
            self.node(self.workflow.by_id[name])
        last = self.workflow.by_id[names[-1]]
        if isinstance(last, End):
            return
        if isinstance(last, Condition):
            arms = {edge.when: edge for edge in self.workflow.after(last.id)}
            self.emit("if c:")
            self.depth += 1
            self.goto(last.id, arms[True].target)
            self.depth -= 1
            self.emit("else:")
            self.depth += 1
            self.goto(last.id, arms[False].target)
            self.depth -= 1
            return
        edges = self.workflow.after(last.id)
        if len(edges) == 1:
            self.goto(last.id, edges[0].target)
        else:
            (target,) = self.shape.order.successors(last.id)
            self.enter(target)

    def spend(self, steps: int) -> None:
        self.emit(f"budget -= {steps}")
        self.emit("if budget < 0:")
        self.emit("    raise CaseError('step_limit', 'the step budget is used up')")

    def goto(self, source: str, target: str) -> None:
        edge = self.back.get((source, target))
        if edge is None:
            self.enter(self.shape.jumps.get((source, target), target))
            return
        counter = f"n{self.counter(edge)}"
        bound = edge.bound or DEFAULT_BOUND
        self.emit(f"{counter} += 1")
        self.emit(f"if {counter} > {bound}:")
        self.emit(f"    at = {~self.number[target]}")
        self.emit(f"    raise CaseError('iteration_limit', 'the loop at {target} ran more than {bound} rounds')")
        for inner in self.inner_loops(edge):
            self.emit(f"n{self.counter(inner)} = 0")
        self.emit(f"b = {self.block_of[target]}")
        self.emit("continue")

    def inner_loops(self, edge: Edge) -> list[Edge]:
        """The loops with the same first node that lie inside a loop: each of its rounds begins them anew."""
        nodes = loop_nodes(self.shape.order, edge)
        shared = [other for other in self.shape.back_edges if other.target == edge.target and other != edge]
        return [other for other in shared if loop_nodes(self.shape.order, other) < nodes]

    def enter(self, target: str) -> None:
        """Goes on at a node from outside its loops, so that they count from zero."""
        for edge in self.shape.back_edges:
            if edge.target == target:
                self.emit(f"n{self.counter(edge)} = 0")
        self.emit(f"b = {self.block_of[target]}")
        self.emit("continue")

    def counter(self, edge: Edge) -> int:
        return self.shape.back_edges.index(edge)

    def node(self, node: Node) -> None:
        number = self.number[node.id]
        match node:
            case Start():
                for name in self.workflow.input_names:
                    if name in self.workflow.inputs.get("required", []):
                        self.emit(f"v_{name} = inputs[{name!r}]")
            case ToolNode():
                self.tool(node, number)
            case LLMNode(prompt=prompt, args=args, output=output):
                self.evaluating(number)
                self.emit(f"a = {self.arguments(args)}")
                self.emit(f"at = {number}")
                self.emit(f"v_{output} = await llm({self.constant(prompt)}, a)")
                self.log(f"{number}, a, v_{output}")
            case Condition(expr=expr):
                self.evaluating(number)
                self.emit(f"c = True if {self.expression(expr)} else False")
                self.log(f"{number}, None, c")
            case Assign():
                self.assign(node, number)
            case Map():
                self.map(node, number)
            case End(output=output):
                self.evaluating(number)
                self.emit(f"return copy({self.binding(output)})")

    def evaluating(self, number: int) -> None:
        self.emit(f"at = {~number}")

    def tool(self, node: ToolNode, number: int) -> None:
        if node.tool not in self.tools:
            self.tools.append(node.tool)
        if any(not _is_plain(binding) for binding in node.args.values()):
            self.evaluating(number)
        self.emit(f"a = {self.arguments(node.args)}")
        self.emit(f"at = {number}")
        self.emit(f"v_{node.output} = {self.wait}t{self.tools.index(node.tool)}(a)")
        self.log(f"{number}, a, v_{node.output}")

    def assign(self, node: Assign, number: int) -> None:
        self.evaluating(number)
        if node.expr is not None:
            self.emit(f"v_{node.output} = clean({self.expression(node.expr)})")
        else:
            assert node.value is not None
            self.emit(f"v_{node.output} = {self.binding(node.value)}")
        self.log(f"{number}, None, v_{node.output}")

    def map(self, node: Map, number: int) -> None:
        self.evaluating(number)
        self.emit(f"s{number} = {self.binding(node.over)}")
        self.emit(f"if type(s{number}) is not list:")
        self.emit(f"    raise CaseError('wrong_type', 'map {node.id} needs a list')")
        self.emit(f"o{number} = []")
        self.emit(f"for v_{node.item} in s{number}:")
        self.depth += 1
        self.evaluating(number)
        self.spend(1 + len(node.body))
        if node.where is not None:
            self.emit(f"if not {self.expression(node.where)}:")
            self.emit("    continue")
        for step in node.body:
            self.labels.append(f"{node.id}.{step.id}")
            inner = len(self.labels) - 1
            if isinstance(step, ToolNode):
                self.tool(step, inner)
            else:
                self.assign(step, inner)
        self.evaluating(number)
        self.emit(f"o{number}.append({self.binding(node.collect)})")
        self.depth -= 1
        self.emit(f"v_{node.output} = o{number}")
        self.log(f"{number}, None, o{number}")

    def arguments(self, args: dict[str, Binding]) -> str:
        return "{" + ", ".join(f"{name!r}: {self.binding(binding)}" for name, binding in args.items()) + "}"

    def binding(self, binding: Binding) -> str:
        match binding:
            case Var(var=name, path=()):
                return f"v_{name}"
            case Var(var=name, path=path):
                return f"follow(v_{name}, {path!r})"
            case Literal_(value=value):
                return repr(value) if value is None or type(value) is bool else self.constant(value)
            case ListOf(list=parts):
                return "[" + ", ".join(self.binding(part) for part in parts) + "]"
            case ObjectOf(object=fields):
                return self.arguments(fields)

    def constant(self, value: Any) -> str:
        if type(value) is int and abs(value) < 1 << 60:
            return f"({value})"
        self.constants.append(value)
        return f"K[{len(self.constants) - 1}]"

    def expression(self, text: str) -> str:
        return expressions.translate(text, {name: f"v_{name}" for name in expressions.names(text)})


def _is_plain(binding: Binding) -> bool:
    """Whether reading a binding cannot fail."""
    return isinstance(binding, Literal_) or (isinstance(binding, Var) and not binding.path)


__all__: Sequence[str] = ("compile_workflow", "needs_model")

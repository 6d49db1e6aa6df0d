"""A notation for gold workflows: nested steps, which `flow` turns into a `Workflow`.

flow("mean_of_evens", {"numbers": NUMBERS}, [
    call("evens", "filter_even", items=var("numbers")),
    when("len(evens) > 0", [call("result", "mean", items=var("evens"))], [let("result", 0)]),
    answer("result"),
])
"""

from __future__ import annotations

from collections.abc import Sequence
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


def var(name: str, *path: str | int) -> Var:
    """A variable, or a path into it: `var("order", "items", 0)`."""
    return Var(var=name, path=path)


def lit(value: Any) -> Literal_:
    """A constant."""
    return Literal_(value=value)


def listing(*parts: Any) -> ListOf:
    """A list of bindings; plain values are constants."""
    return ListOf(list=tuple(_binding(part) for part in parts))


def record(**fields: Any) -> ObjectOf:
    """An object of bindings; plain values are constants."""
    return ObjectOf(object={name: _binding(part) for name, part in fields.items()})


@dataclass(frozen=True)
class Call:
    """A call of a tool whose result is stored in a variable."""

    output: str
    tool: str
    args: dict[str, Binding]


@dataclass(frozen=True)
class Let:
    """An assignment of a binding or an expression to a variable."""

    output: str
    value: Binding | None
    expr: str | None = None


@dataclass(frozen=True)
class When:
    """A branch."""

    expr: str
    then: Sequence[Step]
    otherwise: Sequence[Step]


@dataclass(frozen=True)
class Loop:
    """A loop that runs while its condition is true, which is tested before each round, or after it (`after`)."""

    expr: str
    body: Sequence[Step]
    after: bool = False


@dataclass(frozen=True)
class Each:
    """A map over a list."""

    output: str
    over: Binding
    item: str
    body: Sequence[Call | Let]
    collect: Binding
    where: str | None


@dataclass(frozen=True)
class Answer:
    """The end of the workflow, with its answer."""

    output: Binding


Step = Call | Let | When | Loop | Each | Answer


def call(output: str, tool: str, /, **args: Any) -> Call:
    """`output = tool(**args)`; an argument is a binding or a plain value (a constant)."""
    return Call(output, tool, {name: _binding(part) for name, part in args.items()})


def let(output: str, value: Any) -> Let:
    """`output = value`, a binding or a constant."""
    return Let(output, _binding(value))


def compute(output: str, expr: str) -> Let:
    """`output = <expression>`, in the condition language."""
    return Let(output, None, expr)


def when(expr: str, then: Sequence[Step], otherwise: Sequence[Step] = ()) -> When:
    """`then` if the expression is true, else `otherwise`; both continue with the next step unless they answer."""
    return When(expr, then, otherwise)


def loop_while(expr: str, body: Sequence[Step]) -> Loop:
    """The body, repeated while the expression is true; zero rounds are possible."""
    return Loop(expr, body)


def repeat_while(expr: str, body: Sequence[Step]) -> Loop:
    """The body, repeated while the expression is true; there is at least one round."""
    return Loop(expr, body, after=True)


def each(
    output: str,
    over: str | Binding,
    item: str,
    body: Sequence[Call | Let],
    collect: str | Binding,
    where: str | None = None,
) -> Each:
    """`output = [collect for item in over if where]`; the body runs for each element."""
    source = var(over) if isinstance(over, str) else over
    return Each(output, source, item, body, var(collect) if isinstance(collect, str) else collect, where)


def answer(output: str | Binding) -> Answer:
    """The end of the workflow: its answer is the value of a variable or a binding."""
    return Answer(var(output) if isinstance(output, str) else output)


def _binding(value: Any) -> Binding:
    return value if isinstance(value, Var | Literal_ | ListOf | ObjectOf) else Literal_(value=value)


def flow(name: str, inputs: dict[str, JSONSchema], steps: Sequence[Step], description: str = "") -> Workflow:
    """The workflow that nested steps describe.

    Raises:
        ValueError: If a path does not end with an answer.
    """
    builder = _Builder()
    builder.add(Start(id="start"))
    builder.steps(steps)
    if builder.loose:
        raise ValueError(f"flow {name!r}: a path ends without an answer")
    schema: JSONSchema = {"type": "object", "properties": inputs, "required": list(inputs)}
    schema["additionalProperties"] = False
    return Workflow(
        name=name,
        description=description,
        inputs=schema,
        nodes=tuple(builder.nodes),
        edges=tuple(builder.edges),
    )


@dataclass
class _Builder:
    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[Edge] = field(default_factory=list[Edge])
    loose: list[tuple[str, bool | None]] = field(default_factory=list[tuple[str, bool | None]])
    """The open ends that the next node is connected to: ids of nodes, with the arm of a condition."""

    def fresh(self, stem: str) -> str:
        taken = {node.id for node in self.nodes}
        if stem not in taken:
            return stem
        return next(name for number in range(2, 10_000) if (name := f"{stem}_{number}") not in taken)

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        self.join(node.id)
        self.loose = [(node.id, None)]
        return node.id

    def join(self, target: str) -> None:
        for source, arm in self.loose:
            self.edges.append(Edge.model_validate({"from": source, "to": target, "when": arm}))
        self.loose = []

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        match step:
            case Call(output=output, tool=tool, args=args):
                self.add(ToolNode(id=self.fresh(output), tool=tool, args=args, output=output))
            case Let(output=output, value=value, expr=expr):
                self.add(Assign(id=self.fresh(f"set_{output}"), value=value, expr=expr, output=output))
            case When(expr=expr, then=then, otherwise=otherwise):
                test = self.add(Condition(id=self.fresh("check"), expr=expr))
                self.loose = [(test, True)]
                self.steps(then)
                ends = self.loose
                self.loose = [(test, False)]
                self.steps(otherwise)
                self.loose = ends + self.loose
            case Loop(expr=expr, body=body, after=False):
                test = self.add(Condition(id=self.fresh("more"), expr=expr))
                self.loose = [(test, True)]
                self.steps(body)
                self.join(test)
                self.loose = [(test, False)]
            case Loop(expr=expr, body=body):
                first = len(self.nodes)
                self.steps(body)
                test = self.add(Condition(id=self.fresh("again"), expr=expr))
                self.loose = [(test, True)]
                self.join(self.nodes[first].id)
                self.loose = [(test, False)]
            case Each(output=output, over=over, item=item, body=body, collect=collect, where=where):
                parts = tuple(self.body_step(part) for part in body)
                self.add(
                    Map(
                        id=self.fresh(output), over=over, item=item, where=where, body=parts, collect=collect,
                        output=output,
                    )
                )  # fmt: skip
            case Answer(output=output):
                self.add(End(id=self.fresh("end"), output=output))
                self.loose = []

    def body_step(self, step: Call | Let) -> ToolNode | Assign:
        if isinstance(step, Call):
            return ToolNode(id=step.output, tool=step.tool, args=step.args, output=step.output)
        return Assign(id=f"set_{step.output}", value=step.value, expr=step.expr, output=step.output)

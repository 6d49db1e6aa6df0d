"""What workflows do on an input, up to the first call that may change something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from flowmind.base.files import dump_json
from flowmind.build.verification.work import Work
from flowmind.run.compiler import needs_model
from flowmind.run.examples import run_safely, short
from flowmind.workflow.checking import check
from flowmind.workflow.document import (
    Assign,
    Binding,
    Edge,
    End,
    Literal_,
    Map,
    Node,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.spec import ToolSpec
from tools_registry.words import with_words

_TOOL, _ARGS = "flowmind:tool", "flowmind:args"
"""The keys of an answer that stands for a call."""


class Behaviour(NamedTuple):
    """What a workflow does on an input: it answers, or it calls a tool that may change something."""

    key: str
    """Equal for equal behaviours."""
    text: str
    tool: str = ""
    """The tool that may change something; empty if it answers."""


async def behaviours(work: Work, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> list[Behaviour | None] | None:
    """What a workflow does on some inputs; None for an input on which it ends in an error.

    Only tools that are marked `read` are called. None if the workflow cannot be run so far.
    """
    reading = until_change(workflow, work.environment.specs)
    if reading is None or not cases:
        return None if reading is None else []
    runs = await run_safely(reading, cases, work.environment, (), budget=work.budget)
    return [None if run.error is not None else _behaviour(run.answer) for run in runs]


def _behaviour(answer: Any) -> Behaviour:
    if isinstance(answer, dict) and _TOOL in answer:
        call = cast(dict[str, Any], answer)
        return Behaviour(dump_json(call), f"{call[_TOOL]}({_told(call[_ARGS])}) is called", call[_TOOL])
    calls = cast(list[Any], answer) if isinstance(answer, list) else []
    if calls and isinstance(calls[0], dict) and _TOOL in calls[0]:
        first = _behaviour(calls[0]).text
        more = f", and {len(calls) - 1} times more" if len(calls) > 1 else ""
        return Behaviour(dump_json(calls), f"{first}{more}", cast(dict[str, Any], calls[0])[_TOOL])
    return Behaviour(dump_json(answer), f"the answer is {short(answer)}")


def _told(args: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in args.items())


def until_change(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Workflow | None:
    """The workflow with an end in place of each call of a tool that is not marked `read`; the end gives the call.

    None if nothing sound is left, or if it needs a model.
    """
    specs = with_words(specs, workflow.tool_names)
    nodes: list[Node] = []
    stops: dict[str, str] = {}
    for node in workflow.nodes:
        if isinstance(node, ToolNode) and _changes(node, specs):
            nodes.append(End(id=node.id, output=_call(node)))
            stops[node.id] = ""
        elif isinstance(node, Map) and any(_changes(step, specs) for step in node.body):
            nodes += [_until_change(node, specs), End(id=f"{node.id}_end", output=Var(var=node.output))]
            stops[node.id] = f"{node.id}_end"
        else:
            nodes.append(node)
    edges = [edge for edge in workflow.edges if edge.source not in stops]
    edges += [Edge.model_validate({"from": source, "to": target}) for source, target in stops.items() if target]
    reached = _reached(next((node.id for node in nodes if node.kind == "start"), ""), edges)
    left = {
        "nodes": tuple(node for node in nodes if node.id in reached),
        "edges": tuple(edge for edge in edges if edge.source in reached),
        "evidence": (),
        "rivals": (),
    }
    cut = workflow.model_copy(update=left)
    return None if needs_model(cut) or check(cut, specs) else cut


def _changes(step: object, specs: Mapping[str, ToolSpec]) -> bool:
    return isinstance(step, ToolNode) and specs[step.tool].effect != "read"


def _call(node: ToolNode) -> Binding:
    return ObjectOf(object={_TOOL: Literal_(value=node.tool), _ARGS: ObjectOf(object=node.args)})


def _until_change(node: Map, specs: Mapping[str, ToolSpec]) -> Map:
    """A map that collects the first calls that may change something."""
    body: list[ToolNode | Assign] = []
    for step in node.body:
        if isinstance(step, ToolNode) and _changes(step, specs):
            body.append(Assign(id=step.id, value=_call(step), output=step.output))
            return node.model_copy(update={"body": tuple(body), "collect": Var(var=step.output)})
        body.append(step)
    return node


def _reached(start: str, edges: Sequence[Edge]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        for edge in edges:
            if edge.source == at and edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    return reached


class Dispute(NamedTuple):
    """An input on which a workflow and its rivals do different things."""

    inputs: dict[str, Any]
    main: Behaviour
    others: tuple[Behaviour, ...]
    """The different ones of the rivals."""

    @property
    def told(self) -> str:
        """What they do."""
        return ", or ".join([self.main.text, *(other.text for other in self.others)])

    def __str__(self) -> str:
        return f"for {short(self.inputs)}: {self.told}"


class Agreement(NamedTuple):
    """A workflow against its rivals on some inputs."""

    compared: int
    """The inputs on which the workflow does not end in an error."""
    disputes: tuple[Dispute, ...]


async def compared(
    work: Work, workflow: Workflow, rivals: Sequence[Workflow], cases: Sequence[dict[str, Any]]
) -> Agreement:
    """Runs a workflow and its rivals. A rival that ends in an error on an input is left out there."""
    own = await behaviours(work, workflow, cases)
    if own is None:
        return Agreement(0, ())
    rows = [row for rival in rivals if (row := await behaviours(work, rival, cases)) is not None]
    disputes: list[Dispute] = []
    for number, (case, main) in enumerate(zip(cases, own, strict=True)):
        if main is None:
            continue
        others = {other.key: other for row in rows if (other := row[number]) is not None and other.key != main.key}
        if others:
            disputes.append(Dispute(case, main, tuple(others.values())))
    return Agreement(sum(main is not None for main in own), tuple(disputes))

"""The origins of values in traces, corrected by a workflow that reproduces them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.verification.guesses import memorised
from flowmind.build.verification.inputs import is_number
from flowmind.build.verification.visits import visits
from flowmind.trace.constants import Text, read_text
from flowmind.trace.events import Called, Event, Origin, Trace
from flowmind.trace.origins import has_holes
from flowmind.workflow.document import (
    Assign,
    Binding,
    BodyStep,
    End,
    ListOf,
    Literal_,
    Map,
    Node,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
    reads,
    show_binding,
)
from tools_registry.specs.schema import json_equal

CONSTANT = ("literal", "text")


def with_workflow(
    traces: Sequence[Trace], workflow: Workflow, runs: Mapping[int, Trace], query: str
) -> tuple[Trace, ...]:
    """Traces with origins, corrected by a workflow.

    The values of single traces do not show everything. An argument that no input and no result equals may be computed
    from them, such as `name.title()`; an answer that is the same in all traces may be gathered by a loop. If the
    workflow explains such a value, its origin becomes the workflow's: an input, an output, or `computed`. An expression
    with a number that the text does not name, such as `3 * total`, may fit by chance and explains nothing.

    Args:
        traces: With the origins of `with_origins`.
        workflow: The workflow.
        runs: For the index of a trace that it reproduces, its run on the trace's inputs.
        query: The task's text.
    """
    cases = {dump_json(trace.inputs): trace.inputs for trace in traces}
    if memorised(workflow, query, [*cases.values()]):
        return tuple(traces)
    sources = _Sources(workflow, read_text(query))
    return tuple(
        sources.corrected(trace, runs[number]) if number in runs else trace for number, trace in enumerate(traces)
    )


class _Sources:
    """The sources of the values of a workflow."""

    def __init__(self, workflow: Workflow, text: Text) -> None:
        self._workflow = workflow
        self._text = text
        self._steps: dict[str, Node | BodyStep] = {}
        for node in workflow.nodes:
            self._steps[node.id] = node
            if isinstance(node, Map):
                self._steps |= {f"{node.id}.{step.id}": step for step in node.body}

    def corrected(self, trace: Trace, run: Trace) -> Trace:
        """A trace with corrected origins."""
        events: list[Event] = []
        made = [step for step in run.calls if step.observation.ok]
        last: dict[str, int] = {}
        index = 0
        for event in trace.events:
            if isinstance(event, Called):
                same = next((one for one in made if one.call.tool == event.call.tool and _equal(one, event)), None)
                node = self._steps.get(same.node or "") if same is not None else None
                if same is not None and isinstance(node, ToolNode):
                    made.remove(same)
                    origins = {
                        name: self._corrected(origin, node.args.get(name), last)
                        for name, origin in event.origins.items()
                    }
                    event = event.model_copy(update={"origins": origins})
                    last[node.output] = index
                index += 1
            events.append(event)
        origin = trace.origin
        end = [self._workflow.by_id[node] for node, _ in visits(self._workflow, run)][-1:]
        if origin is not None and end and isinstance(end[0], End) and json_equal(run.answer, trace.answer):
            origin = self._corrected(origin, end[0].output, last)
        return trace.model_copy(update={"events": tuple(events), "origin": origin})

    def _corrected(self, origin: Origin, binding: Binding | None, last: Mapping[str, int]) -> Origin:
        """The workflow's origin of a value that is unexplained, or taken for a constant that it reads elsewhere."""
        if binding is None or self._invents(binding):
            return origin
        parts = _parts(binding)
        if origin.kind == "made" and parts is not None and parts.keys() == origin.parts.keys():
            fixed = {key: self._corrected(part, parts[key], last) for key, part in origin.parts.items()}
            return origin.model_copy(update={"parts": fixed})
        constant = origin.kind in CONSTANT and self._varies(binding)
        return self._origin(binding, last) if constant or has_holes(origin) else origin

    def _origin(self, binding: Binding, last: Mapping[str, int]) -> Origin:
        parts = _parts(binding)
        if parts is not None:
            return Origin(kind="made", parts={key: self._origin(part, last) for key, part in parts.items()})
        if isinstance(binding, Literal_):
            return Origin(kind="literal")
        assert isinstance(binding, Var)
        if binding.var in self._workflow.input_names:
            return Origin(kind="input", name=binding.var, path=binding.path)
        setters = list(self._setters(binding.var))
        if all(isinstance(node, ToolNode) for node in setters) and binding.var in last:
            return Origin(kind="output", step=last[binding.var], path=binding.path)
        told = [_told(node) for node in setters]
        return Origin(kind="computed", expr=" or ".join(dict.fromkeys(told)) or binding.var)

    def _setters(self, name: str) -> Iterator[Node | BodyStep]:
        return (node for node in self._steps.values() if getattr(node, "output", None) == name)

    def _varies(self, binding: Binding) -> bool:
        """Whether a value depends on an input or a result."""
        return any(self._read(name, frozenset()) for name in reads(binding))

    def _read(self, name: str, seen: frozenset[str]) -> bool:
        if name in self._workflow.input_names:
            return True
        for node in self._setters(name):
            if not isinstance(node, Assign):
                return True
            inner = set(reads(node.value)) if node.value is not None else _names(node.expr or "")
            if any(self._read(other, seen | {name}) for other in inner - seen - {name}):
                return True
        return False

    def _invents(self, binding: Binding) -> bool:
        """Whether a value is computed with a number other than 0 and 1 that the text does not name, or is no value."""
        for name in reads(binding):
            for node in self._setters(name):
                if (
                    isinstance(node, Assign)
                    and node.expr is not None
                    and any(map(self._unnamed, _constants(node.expr)))
                ):
                    return True
        return False

    def _unnamed(self, value: Any) -> bool:
        return is_number(value) and value not in (0, 1) and not self._text.names(value)


def _equal(one: Called, other: Called) -> bool:
    return other.observation.ok and json_equal(one.call.args, other.call.args)


def _told(node: Node | BodyStep) -> str:
    match node:
        case Assign(expr=str(expr)):
            return expr
        case Assign(value=value) if value is not None:
            return show_binding(value)
        case Map(collect=collect):
            return f"{show_binding(collect)} of each round of {node.id}"
        case _:
            return f"the result of {node.id}"


def _names(expr: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expr, mode="eval")) if isinstance(node, ast.Name)}


def _constants(expr: str) -> list[Any]:
    tree = ast.parse(expr, mode="eval")
    keys = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in keys]


def _parts(binding: Binding) -> dict[str, Binding] | None:
    match binding:
        case ObjectOf(object=fields):
            return dict(fields)
        case ListOf(list=parts):
            return {str(place): part for place, part in enumerate(parts)}
        case _:
            return None

"""Certifies the knowledge of scenarios: the formats that can be read run as the workflow does; all name every part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flowbench_synth.dialogue.world import World, place_of
from flowmind.base.errors import InputError
from flowmind.dialogue.prompting import knowledge_of
from flowmind.formats.catalog import FORMATS
from flowmind.formats.flowbench_reader import from_flowbench_code
from flowmind.trace.events import Trace
from flowmind.workflow.checking import check
from flowmind.workflow.document import Condition, End, Literal_, ToolNode, Workflow
from flowmind.workflow.expressions import parse
from tools_registry.specs.spec import Record, ToolSpec

KNOWLEDGE = ("text", "code", "flowchart", "pdl")


class Certificate(Record):
    """The certificate of a scenario's knowledge."""

    scenario: str
    goals: int
    """The goals on which the read formats were run."""
    problems: tuple[str, ...] = ()


def certify(
    name: str,
    workflow: Workflow,
    goals: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    world: World,
    specs: Mapping[str, ToolSpec],
) -> Certificate:
    """Certifies the knowledge of a scenario.

    Args:
        name: The scenario.
        workflow: Its workflow.
        goals: Values of the slots with the state before the goal; they arrive at every end.
        world: The tools.
        specs: The specs of the tools, without the state.
    """
    mine = {tool: specs[tool] for tool in workflow.tool_names}
    problems: list[str] = []
    for form in KNOWLEDGE:
        text = knowledge_of(workflow, mine, form)
        problems += [f"{form}: {part} is not in it" for part in _missing(text, workflow, mine)]
        problems += [f"{form}: {problem}" for problem in _differences(form, text, workflow, goals, world, mine)]
    return Certificate(scenario=name, goals=len(goals), problems=tuple(problems))


def uncertified(certificates: Iterable[Certificate]) -> list[str]:
    """The problems of certificates, one line each."""
    return [f"{row.scenario}: {problem}" for row in certificates for problem in row.problems]


def _missing(text: str, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    """The tools, parameters, constants and ends that a text does not name."""
    words = set(re.findall(r"\w+", text))
    for name, spec in specs.items():
        if name not in words:
            yield f"the tool {name!r}"
        yield from (f"the parameter {part!r} of {name!r}" for part in spec.names if part not in words)
    yield from (f"the slot {name!r}" for name in workflow.input_names if name not in words)
    for value in _constants(workflow):
        if not set(re.findall(r"\w+", str(value))) <= words | {str(value)}:
            yield f"the constant {value!r}"
    yield from (f"the end {node.id!r}" for node in workflow.nodes if isinstance(node, End) and node.id not in words)


def _constants(workflow: Workflow) -> list[Any]:
    """The texts and numbers in conditions and in arguments of calls."""
    values: list[Any] = []
    for node in workflow.nodes:
        if isinstance(node, Condition):
            values += [part.value for part in ast.walk(parse(node.expr)) if isinstance(part, ast.Constant)]
        if isinstance(node, ToolNode):
            values += [binding.value for binding in node.args.values() if isinstance(binding, Literal_)]
    return [value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]


def _differences(
    form: str,
    text: str,
    workflow: Workflow,
    goals: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    world: World,
    specs: Mapping[str, ToolSpec],
) -> Iterator[str]:
    """What a workflow that was read from a text does otherwise."""
    reader = {"pdl": FORMATS["pdl"].importer, "code": from_flowbench_code}.get(form)
    if reader is None:
        return
    try:
        read = reader(text)
    except InputError as error:
        yield f"it cannot be read: {error}"
        return
    if broken := check(read, specs):
        yield f"what is read back is broken: {broken[0]}"
        return
    for slots, state in goals:
        (right, after), (other, otherwise) = (world.run(item, slots, place_of(state)) for item in (workflow, read))
        if _effect(right) != _effect(other) or after.digest != otherwise.digest:
            yield f"on {dict(slots)!r} it gives {_effect(other)!r} instead of {_effect(right)!r}"
            return


def _effect(trace: Trace) -> tuple[Any, ...]:
    return trace.answer, [event.call for event in trace.calls], trace.error

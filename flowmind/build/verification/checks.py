"""What can be said against a workflow without knowing any answer."""

from __future__ import annotations

from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.induction.reading import read
from flowmind.build.verification.work import Work
from flowmind.trace.task import Task
from flowmind.workflow.document import Literal_, ToolNode, Workflow, variables
from tools_registry.specs.schema import json_equal

NAMED = 0.9
"""How far the text must name a constant (`Reading.said`) for it to be the task's own."""


def leaks(workflow: Workflow, task: Task) -> tuple[str, ...]:
    """The constants of a workflow that equal a whole input of an example and that the task does not name.

    Truth values and small whole numbers are too common to tell.
    """
    reading = read(task.query)
    values = [value for example in task.examples for value in example.input.values()]
    found: list[str] = []
    for node in workflow.nodes:
        if not isinstance(node, ToolNode):
            continue
        for name, binding in node.args.items():
            if not isinstance(binding, Literal_):
                continue
            held: Any = binding.value
            if held is None or isinstance(held, bool) or held in (0, 1, 2):
                continue
            named = not isinstance(held, list | dict) and reading.said(held) >= NAMED
            if not named and any(json_equal(held, value) for value in values):
                found.append(f"{node.id}.{name}: {dump_json(held)}")
    return tuple(found)


async def influence(work: Work, workflow: Workflow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs that never change the output, and those of them that the workflow reads all the same.

    Each input is exchanged with that of another example, and with values near it.
    """
    if work.writing(workflow):  # other inputs would change something
        return (), ()
    idle: list[str] = []
    examples = [example.input for example in work.task.examples]
    for name in work.task.inputs.get("properties", {}):
        pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for case in examples:
            for other in examples:
                if name in case and name in other and not json_equal(case[name], other[name]):
                    pairs.append((case, {**case, name: other[name]}))
        if not pairs:
            continue
        cases = [case for pair in pairs for case in pair]
        answers = [dump_json(run.answer) if run.error is None else "error" for run in await work.ran(workflow, cases)]
        if all(one == other for one, other in zip(answers[::2], answers[1::2], strict=True)):
            idle.append(name)
    return tuple(idle), tuple(name for name in idle if name in variables(workflow))

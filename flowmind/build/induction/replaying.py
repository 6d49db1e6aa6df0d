"""Replay: the calls of one trace, one after the other, with their data flow, as a trace compiler writes them.

The workflow has no branches and no loops. It is the baseline for induction.
"""

from __future__ import annotations

from flowmind.build.induction.binding import bind
from flowmind.build.induction.emitting import Emitter
from flowmind.build.induction.planning import fill
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import Run
from flowmind.build.induction.structure import layouts
from flowmind.build.induction.walking import walk
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema


def straight(run: Run, inputs: JSONSchema, name: str, query: str = "") -> Workflow:
    """The workflow that repeats the calls of a trace in order.

    Args:
        run: The trace.
        inputs: JSON Schema of the inputs.
        name: The workflow's name.
        query: The task's text, which distinguishes constants from inputs.
    """
    reading = read(query)
    layout = next(layouts([run]))
    bound = bind(walk([run], layout, list(inputs.get("properties", {}))), reading.said, reading.constants)
    assert bound is not None, "without a limit every layout is bound"
    return Emitter(fill(bound), inputs, name).write()

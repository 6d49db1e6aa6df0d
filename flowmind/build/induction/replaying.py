"""Replay: the calls of one trace in a row, with the data flow that it shows. What a trace compiler makes.

No branch and no loop comes out of it; it is the baseline that induction is measured against.
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
    """The workflow that makes a trace's calls in their order.

    Args:
        run: The trace.
        inputs: JSON Schema of the inputs.
        name: The workflow's name.
        query: The task's text, if constants are to be told from inputs by it.
    """
    reading = read(query)
    layout = next(layouts([run]))
    bound = bind(walk([run], layout, list(inputs.get("properties", {}))), reading.said, reading.constants)
    assert bound is not None, "without a limit every layout is bound"
    return Emitter(fill(bound), inputs, name).write()

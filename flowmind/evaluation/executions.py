"""What can be said of one execution from its trace alone.

Sources: exec_complete: FlowMind, section 4.1; mixed tool invocation: section 4.3.3; integrity: section 4.4, figure 5.
"""

from __future__ import annotations

from typing import Literal

from flowmind.trace.events import Trace
from flowmind.workflow.graph_tools import GRAPH_TOOLS

Integrity = Literal["complete", "errors", "incomplete"]
"""`complete`: the execution ended by `finish` and no call failed; `errors`: it ended by `finish` and some calls failed;
`incomplete`: it did not end by `finish`."""


def is_complete(trace: Trace) -> bool:
    """Whether an execution called at least one business tool successfully and ended by `finish`.

    A workflow that is asked for after that `finish` does not change the result.
    """
    called = any(event.observation.ok and event.call.tool not in GRAPH_TOOLS for event in trace.calls)
    return called and trace.executed


def integrity(trace: Trace) -> Integrity:
    """Whether an execution ended by `finish`, and whether all its business calls succeeded."""
    if not trace.executed:
        return "incomplete"
    business = [event for event in trace.calls if event.call.tool not in GRAPH_TOOLS]
    return "complete" if all(event.observation.ok for event in business) else "errors"


def mixed_tool_invocation(trace: Trace) -> str | None:
    """The kind of mixed tool invocation in a trace, or None.

    Business tools first and graph tools after a completed execution is clean. A graph call before the first of the
    business calls is `front_loaded`, a business call after a graph call `interleaved`, and a change to graph tools
    in an unfinished execution `interrupted`. Phases are those of the plan; a trace without a plan is one phase.
    """
    phases: dict[int, list[bool]] = {}
    for event in trace.calls:
        phases.setdefault(event.phase, []).append(event.call.tool in GRAPH_TOOLS)
    for graph_calls in phases.values():
        if True not in graph_calls or False not in graph_calls:
            continue
        first_graph = graph_calls.index(True)
        if False in graph_calls[first_graph:]:
            return "interleaved" if False in graph_calls[:first_graph] else "front_loaded"
        if not trace.executed:
            return "interrupted"
    return None

"""Coverage of a workflow by its runs: the arms taken, and whether loops ran zero, one or many rounds."""

from __future__ import annotations

from collections import Counter
from typing import cast

from flowmind.trace.events import Assigned, Evaluated, Planned, Refused, Said, Trace
from flowmind.workflow.document import ToolNode, Workflow

Part = tuple[str, str, object]


def tool_calls(workflow: Workflow) -> list[ToolNode]:
    """The tool nodes of a workflow, those in the bodies of maps included."""
    return [node for node in workflow.every_node if isinstance(node, ToolNode)]


def signature(trace: Trace) -> frozenset[Part]:
    """The arms that a run took, how often each node ran (one or many), and how long each collected list is."""
    runs = Counter(step.node for step in trace.events if not isinstance(step, Evaluated | Planned | Said | Refused))
    parts: set[Part] = {("arm", step.node, step.value) for step in trace.events if isinstance(step, Evaluated)}
    parts |= {("runs", str(node), "many" if count > 1 else "one") for node, count in runs.items()}
    for step in trace.events:
        if isinstance(step, Assigned) and isinstance(value := step.value, list):
            length = len(cast(list[object], value))
            parts.add(("list", step.node, "many" if length > 1 else length))
    return frozenset(parts)

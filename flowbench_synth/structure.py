"""What kind of program a workflow is, for the difficulty levels (FlowMind, appendix A, table 4)."""

from __future__ import annotations

from flowbench_synth.blueprint import ControlFlow
from flowmind.graph import analyse, loop_nodes
from flowmind.workflow import Condition, Map, Workflow


def control_flow(workflow: Workflow) -> ControlFlow:
    """Linear, branch, iteration, or both: a condition that leaves a loop counts as part of the iteration."""
    shape = analyse(workflow)
    exits: set[str] = set()
    for edge in shape.back_edges:
        nodes = loop_nodes(shape.order, edge)
        for name in nodes:
            targets = {out.target for out in workflow.after(name)}
            if isinstance(workflow.by_id[name], Condition) and not targets <= nodes:
                exits.add(name)
    conditions = {node.id for node in workflow.nodes if isinstance(node, Condition)}
    iterates = bool(shape.back_edges) or any(isinstance(node, Map) for node in workflow.nodes)
    branches = bool(conditions - exits)
    if branches and iterates:
        return "branch+iteration"
    return "branch" if branches else "iteration" if iterates else "linear"

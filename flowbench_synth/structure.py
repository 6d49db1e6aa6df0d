"""The control flow of a workflow, which determines its difficulty (FlowMind, appendix A, table 4)."""

from __future__ import annotations

from collections import defaultdict

from flowbench_synth.blueprint import ControlFlow
from flowmind.workflow.document import Condition, Map, Workflow
from flowmind.workflow.graph import analyse, loop_nodes


def control_flow(workflow: Workflow) -> ControlFlow:
    """Linear, branch, iteration, or both: a condition that leaves a loop counts as part of the iteration."""
    shape = analyse(workflow)
    loops: dict[str, set[str]] = defaultdict(set)
    for edge in shape.back_edges:
        loops[edge.target] |= loop_nodes(shape.order, edge)
    conditions = {node.id for node in workflow.nodes if isinstance(node, Condition)}
    ways = {name: {edge.target for edge in workflow.after(name)} for name in conditions}
    exits = {name for nodes in loops.values() for name in conditions & nodes if not ways[name] <= nodes}
    iterates = bool(loops) or any(isinstance(node, Map) for node in workflow.nodes)
    branches = bool(conditions - exits)
    if branches and iterates:
        return "branch+iteration"
    return "branch" if branches else "iteration" if iterates else "linear"

"""Mermaid flowcharts, drawn from the graph itself, edge for edge."""

from __future__ import annotations

from flowmind.describing import describe_node
from flowmind.errors import InputError
from flowmind.workflow import Condition, End, LLMNode, Map, Node, Start, Workflow


def to_mermaid(workflow: Workflow) -> str:
    """A workflow as a Mermaid flowchart.

    Node ids become `n0`, `n1`, … in the document's order, because Mermaid reserves words such as `end`.

    Raises:
        InputError: If an edge leads to or from a node that does not exist.
    """
    names = {node.id: f"n{index}" for index, node in enumerate(workflow.nodes)}
    lines = ["flowchart TD"]
    lines += [f"    {names[node.id]}{_shape(node, workflow)}" for node in workflow.nodes]
    for edge in workflow.edges:
        if lost := {edge.source, edge.target} - names.keys():
            raise InputError(f"edge {edge.label}: there is no node {min(lost)!r}")
        label = "" if edge.when is None else f"|{str(edge.when).lower()}|"
        lines.append(f"    {names[edge.source]} -->{label} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _shape(node: Node, workflow: Workflow) -> str:
    text = _quoted(describe_node(node, workflow))
    match node:
        case Start() | End():
            return f"([{text}])"
        case Condition():
            return f"{{{text}}}"
        case Map():
            return f"[[{text}]]"
        case LLMNode():
            return f">{text}]"
        case _:
            return f"[{text}]"


def _quoted(text: str) -> str:
    """Text between quotes; what Mermaid would read as its own goes in as an entity code."""
    special = {'"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}
    return '"' + "".join(special.get(character, character) for character in text) + '"'

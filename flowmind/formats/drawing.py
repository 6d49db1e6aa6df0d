"""A drawing of a workflow, in the form of the other formats."""

from __future__ import annotations

from collections.abc import Mapping

from flowmind.formats.fidelity import Export, Fidelity, Note
from flowmind.formats.svg import to_svg
from flowmind.workflow.describing import MAX_LITERAL
from flowmind.workflow.document import Literal_, Workflow, bindings, show_binding
from tools_registry.specs.spec import ToolSpec


def to_drawing(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """An SVG file, drawn from the graph edge for edge."""
    cut = {
        node.id
        for node in workflow.nodes
        for binding in bindings(node)
        if isinstance(binding, Literal_) and len(show_binding(binding)) > MAX_LITERAL
    }
    kept = [name for name in workflow.by_id if name not in cut]
    notes = tuple(Note(part=name, note="a long constant is cut") for name in sorted(cut))
    lost = (Note(part="inputs", note="only their names are drawn"),)
    return Export(
        to_svg(workflow),
        Fidelity(kept=(*kept, *(e.label for e in workflow.edges)), approximated=notes, lost=lost),
    )

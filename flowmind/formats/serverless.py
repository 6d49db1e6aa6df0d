"""The CNCF Serverless Workflow DSL, version 1.0: https://github.com/serverlessworkflow/specification

Each node is one task. The variables are the workflow's context: a task that sets one exports it, expressions read
`$context.name` (and `$name` for the element of a map). Edges are flow directives (`then`), those of loops too. Forked
paths stand one after the other, in the order that defines a run, and not in a `fork`, whose branches would race. Tools
are functions that the runtime must know by their names, and so is `llm`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.formats.fidelity import Export, Fidelity
from flowmind.formats.serverless_tasks import TaskWriter
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSpec


def to_serverless(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as a document of the DSL, in JSON (which is YAML, too).

    Raises:
        InputError: If two nodes have one id, or an edge leads to or from a node that does not exist.
    """
    if twice := [name for name, count in Counter(node.id for node in workflow.nodes).items() if count > 1]:
        raise InputError(f"node {twice[0]}: two nodes have this id; a task has a name of its own")
    for edge in workflow.edges:
        if lost := {edge.source, edge.target} - workflow.by_id.keys():
            raise InputError(f"edge {edge.label}: there is no node {min(lost)!r}")
    writer = TaskWriter(workflow)
    text = dump_json(writer.document(), indent=2) + "\n"
    odd = {note.part for note in (*writer.near, *writer.lost)}
    parts = ("name", "description", "inputs", *workflow.by_id, *(edge.label for edge in workflow.edges))
    kept = tuple(part for part in parts if part not in odd)
    return Export(text, Fidelity(kept=kept, approximated=tuple(writer.near), lost=tuple(writer.lost)))

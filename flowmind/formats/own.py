"""FlowMind's own document, in the form of the other formats."""

from __future__ import annotations

from collections.abc import Mapping

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, validate
from flowmind.formats.fidelity import Export, report
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSpec


def to_own(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """The document itself."""
    return Export(workflow.to_json(), report([], workflow))


def from_own(text: str) -> Workflow:
    """The workflow of a document.

    Raises:
        InputError: With the field and what would be right.
    """
    try:
        return validate(Workflow, parse_json(text))
    except ValueError as error:
        raise InputError(str(error)) from None

"""The published JSON Schemas. `python -m flowmind.workflow.schemas` generates them from the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowmind.base.files import dump_json, write_text
from flowmind.workflow.document import SCHEMA, Workflow

WORKFLOW = Path(__file__).parent / "workflow-1.json"


def workflow_schema() -> dict[str, Any]:
    """The JSON Schema of a workflow document."""
    body = Workflow.model_json_schema(by_alias=True)
    for record in body["$defs"].values():
        # The tag of a union is required; pydantic leaves it out because the field has a default.
        if "const" in record["properties"].get("kind", {}):
            record["required"] = ["kind", *record["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **body}


def main() -> None:
    """Writes the schemas to their files."""
    write_text(WORKFLOW, dump_json(workflow_schema(), indent=1) + "\n")

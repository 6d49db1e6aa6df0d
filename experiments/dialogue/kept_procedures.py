"""The procedures of a run of dialogues, kept in its folder so that its sessions can be shown without the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from flowmind.base.checksums import read_document, write_document
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json
from flowmind.dialogue.procedures.procedure import Procedure, procedure_of
from flowmind.trace.scenario import DialogueData
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Record, ToolSpec

PROCEDURES = "procedures.json"


class KeptProcedure(Record):
    """The procedure of a scenario, with the specs of its tools."""

    title: str
    workflow: Workflow
    specs: tuple[ToolSpec, ...]

    @property
    def procedure(self) -> Procedure:
        """The procedure, as controllers read it."""
        return procedure_of(self.workflow, {spec.name: spec for spec in self.specs})


_Kept = TypeAdapter(dict[str, KeptProcedure])


def keep_procedures(folder: Path, data: DialogueData) -> None:
    """Writes the authors' procedures of all scenarios to the folder of a run, unless it has them.

    Raises:
        InputError: If they cannot be written.
    """
    if (folder / PROCEDURES).exists():
        return
    rows = {
        scenario.id: {
            "title": scenario.title,
            "workflow": parse_json(scenario.workflow.to_json()),
            "specs": [spec.model_dump(mode="json") for spec in data.specs_of(scenario.tools).values()],
        }
        for scenario in data.scenarios.values()
    }
    write_document(folder / PROCEDURES, {"procedures": rows}, "manifest", root=folder)


def read_procedures(folder: Path) -> Mapping[str, KeptProcedure]:
    """The procedures of a run by the id of their scenario; none if an earlier version made the run.

    Raises:
        InputError: If the file is damaged.
    """
    path, remedy = folder / PROCEDURES, "remove the file; the same command writes it again"
    if not path.exists():
        return {}
    body = read_document(path, remedy)
    try:
        return _Kept.validate_python(body["procedures"])
    except (ValidationError, KeyError, TypeError):
        raise InputError(f"{path}: no procedures can be read from it; {remedy}") from None

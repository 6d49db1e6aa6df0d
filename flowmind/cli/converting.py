"""Reads workflows from files of any format, for all commands that take a workflow."""

from __future__ import annotations

from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.files import read_text
from flowmind.formats.catalog import FORMATS, format_of
from flowmind.workflow.document import Workflow


def read_workflow(path: Path, form: str | None = None) -> Workflow:
    """The workflow in a file.

    Args:
        path: The file.
        form: Its format, a key of `FORMATS`; None for the format of the file's name, or JSON.

    Raises:
        InputError: With the file, the place and what would be right.
    """
    text = read_text(path)
    form = form or format_of(path.name) or "json"
    importer = FORMATS[form].importer
    if importer is None:
        readable = ", ".join(name for name, one in FORMATS.items() if one.reads)
        raise InputError(f"{path}: {form} can be written but not read; formats to read: {readable}")
    try:
        return importer(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None

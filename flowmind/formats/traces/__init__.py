"""Reads recorded runs of agents as traces: `READERS` has a reader for each format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import validate
from flowmind.base.secrets import Redaction
from flowmind.base.texts import did_you_mean
from flowmind.formats.conversation import fields_of
from flowmind.formats.traces.anthropic import ANTHROPIC
from flowmind.formats.traces.atif import ATIF
from flowmind.formats.traces.containers import document_of
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.inspect import INSPECT
from flowmind.formats.traces.langchain import LANGCHAIN
from flowmind.formats.traces.langfuse import LANGFUSE
from flowmind.formats.traces.mcp_log import MCP_LOG
from flowmind.formats.traces.mlflow import MLFLOW
from flowmind.formats.traces.openai import OPENAI
from flowmind.formats.traces.openinference import OPENINFERENCE
from flowmind.formats.traces.otlp import OTEL
from flowmind.formats.traces.own import FLOWMIND
from flowmind.formats.traces.parts import Lines, at, rows_of
from flowmind.formats.traces.pydantic_ai import PYDANTIC_AI
from flowmind.formats.traces.tau2 import TAU2
from flowmind.trace.events import Trace
from tools_registry.specs.spec import ToolSpec

READERS: dict[str, Reader] = {
    "flowmind": FLOWMIND,
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC_AI,
    "otel": OTEL,
    "openinference": OPENINFERENCE,
    "mlflow": MLFLOW,
    "langfuse": LANGFUSE,
    "inspect": INSPECT,
    "atif": ATIF,
    "mcp-log": MCP_LOG,
    "tau2": TAU2,
}
_KEYS = 6
"""The keys of an unknown document that an error names."""


def read(path: Path, form: str | None = None, redact: Iterable[str] = ()) -> list[Imported]:
    """The traces in a file: JSON, JSON Lines, an `.eval` archive, or a SQLite database; also compressed by gzip.

    Secrets are removed: keys of known forms, the values of fields such as `password`, and what `redact` matches.

    Args:
        path: The file.
        form: The format, a key of `READERS`. By default the structure of the document decides.
        redact: Regular expressions of further texts to remove.

    Raises:
        InputError: If the file cannot be read, with the place and what would be right.
    """
    redaction = Redaction(redact)
    if form is not None and form not in READERS:
        raise InputError(
            f"{form!r} is no format of traces{did_you_mean(form, READERS)}; known are {', '.join(READERS)}"
        )
    document = document_of(path)
    try:
        name = recognised(document) if form is None else form
        if isinstance(document, Lines) and document.cut and name != "mcp-log":
            raise ValueError(document.cut)
        found = [redacted(one, redaction) for one in READERS[name].read(document)]
    except RecursionError:
        raise InputError(f"{path}: nested too deeply") from None
    except (ValueError, InputError) as error:
        joint = ", " if str(error).startswith(("line ", "entry ")) else ": "
        raise InputError(f"{path}{joint}{error}") from None
    if not found:
        raise InputError(f"{path}: there is no trace in it")
    return found


def recognised(document: Any) -> str:
    """The format of a document: a key of `READERS`.

    Raises:
        ValueError: If no reader recognises it.
    """
    for name, reader in READERS.items():
        if reader.recognises(document):
            return name
    first = next((row for _, row in rows_of(document)), None)
    if {"messages", "role"} & fields_of(first).keys():
        return "openai"  # its reader says what is wrong with the messages
    keys = ", ".join(map(repr, [*fields_of(first)][:_KEYS]))
    about = f"; it begins with an object that has {keys}" if keys else ""
    raise ValueError(f"it has none of the known formats, which are {', '.join(READERS)}{about}")


def redacted(imported: Imported, redaction: Redaction) -> Imported:
    """A trace without secrets."""
    with at(""):
        trace = validate(Trace, redaction.value(imported.trace.dump()))
        specs = {
            name: validate(ToolSpec, redaction.value(spec.model_dump(mode="json")))
            for name, spec in imported.specs.items()
        }
    lost = tuple(map(redaction.text, imported.lost))
    return Imported(trace, specs, lost, imported.given)

"""The formats that a workflow can be written in and read from, in one dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple, cast

from flowmind.formats.fidelity import Export
from flowmind.workflow import Workflow
from tools_registry.spec import ToolSpec

Exporter = Callable[[Workflow, Mapping[str, ToolSpec]], Export]
Importer = Callable[[str], Workflow]


class Format(NamedTuple):
    """A format and where its functions are; they are loaded when they are asked for."""

    about: str
    module: str
    writes: str
    """The name of the exporter."""
    reads: str | None = None
    """The name of the importer, where there is one."""
    suffix: str = ".txt"
    """How files of the format end."""

    @property
    def exporter(self) -> Exporter:
        """Writes a workflow, given the specs of its tools (those that are known)."""
        return cast(Exporter, getattr(import_module(self.module), self.writes))

    @property
    def importer(self) -> Importer | None:
        """Reads a workflow back."""
        return cast(Importer, getattr(import_module(self.module), self.reads)) if self.reads else None

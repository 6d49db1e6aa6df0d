"""Settings of several commands. The docstrings of the fields are the help texts of the flags."""

from __future__ import annotations

from pydantic import ConfigDict, ValidationInfo, field_validator

from tools_registry.sandbox.isolation import Level, SandboxKind
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.spec import Record


class ModelOptions(Record):
    """The model."""

    model_config = ConfigDict(use_attribute_docstrings=True, protected_namespaces=())

    model: str = "search"
    """name of the model; `flowmind models` lists the known ones"""
    base_url: str | None = None
    """URL of the model's server; by default OPENAI_BASE_URL"""


class SandboxOptions(Record):
    """The sandbox of the tools."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    sandbox: SandboxKind = "auto"
    """run tools in isolated processes (local), in monty (needs the extra monty), or in both and compare the results;
    auto takes local where it reaches --require-isolation, else monty"""
    require_isolation: Level = "kernel"
    """least isolation of local processes; below it tools run in monty or not at all; `flowmind doctor` shows the level
    of this machine"""
    isolation: Isolating | None = None
    """a process for each batch of calls and cases, or for each call and each case (default batch; exp scores with case
    if the tools of the benchmark are not the catalog's)"""

    @field_validator("require_isolation")
    @classmethod
    def _of_processes(cls, least: Level, info: ValidationInfo) -> Level:
        if info.data.get("sandbox") == "monty" and least in ("kernel", "full"):
            raise ValueError("monty workers have no kernel isolation; use local")
        return least

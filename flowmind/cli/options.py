"""Settings of several commands. The docstrings of the fields are the help texts of the flags."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from tools_registry.sandbox.isolation import Level
from tools_registry.specs.spec import Record

SandboxKind = Literal["local", "monty", "both"]


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

    sandbox: SandboxKind = "local"
    """run tools in isolated processes, in monty (needs the extra monty), or in both and compare the results"""
    require_isolation: Level | None = None
    """stop if the isolation of tools is weaker than this level; `flowmind doctor` shows the level of this machine"""

"""Settings of several commands. The docstrings of the fields are the help texts of the flags."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

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


class BatchOptions(Record):
    """A run of a workflow on many inputs."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    inputs: Path | None = None
    """file with the inputs of many cases, one a row: .jsonl, .csv (each also with .gz) or .parquet"""
    results: Path | None = None
    """file for the results of --inputs, in the order of the rows: .jsonl or .parquet; the same command goes on with a
    file that is not complete"""
    map: Literal["local", "processes", "ray"] = "local"
    """where the rows of --inputs are run: from this process, in processes, or in a Ray cluster (needs the extra ray)"""
    workers: int | None = Field(default=None, ge=1, le=1_000)
    """number of sandboxes that work at the same time (default 1 with local, else one for each core of this machine or
    of the cluster)"""
    ray_address: str | None = None
    """address of a Ray cluster, HOST:PORT or auto; by default RAY_ADDRESS, else a cluster on this machine"""
    fail_fast: bool = False
    """end with exit code 1 at the first row of --inputs that has an error"""

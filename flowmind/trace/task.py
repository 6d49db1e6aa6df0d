"""The task: a benchmark item, or a task of one's own. Its tests live apart from it, and never reach an agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, field_validator, model_validator

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_lines, read_numbered
from tools_registry import catalog
from tools_registry.specs.schema import JSONSchema, check_schema, type_label, validator
from tools_registry.specs.sources import ToolSource
from tools_registry.specs.spec import Record, ToolSpec, strict_json


class Example(Record):
    """An input with its answer, shown to the agent."""

    input: dict[str, Any]
    output: Any

    _strict = field_validator("input", "output")(strict_json)


class Task(Record):
    """What an agent is given: text, inputs, the names of its tools, examples."""

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")
    category: str = ""
    difficulty: str = ""
    control_flow: str = ""
    query: str
    """The task in natural language."""
    inputs: JSONSchema
    """JSON Schema of the inputs: an object."""
    output: JSONSchema = Field(default_factory=dict)
    """JSON Schema of the answer."""
    tools: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Task:
        check_schema(self.inputs)
        fits = validator(self.inputs)
        for number, example in enumerate(self.examples, 1):
            if (problem := fits(example.input)) is not None:
                raise ValueError(f"example {number} of {self.id!r} does not fit the inputs: {problem}")
        return self

    def text(self) -> str:
        """Task, inputs and examples as an agent reads them."""
        lines = ["Task:", self.query.strip(), "", "Inputs:"]
        for name, field in self.inputs.get("properties", {}).items():
            note = f": {field['description']}" if field.get("description") else ""
            lines.append(f"- {name} ({type_label(field)}){note}")
        if self.examples:
            lines += ["", "Examples:"]
        for example in self.examples:
            lines += [f"Input: {dump_json(example.input)}", f"Output: {dump_json(example.output)}"]
        return "\n".join(lines)


class TaskFile(Record):
    """A task of one's own, as `flowmind solve` reads it."""

    id: str = Field(default="task", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")
    query: str
    """The task in natural language."""
    inputs: JSONSchema | None = None
    """JSON Schema of the inputs; without it, one is read off the examples."""
    examples: tuple[Example, ...]


class HeldOut(Record):
    """The held-out tests of a task, seen by the evaluator alone."""

    id: str
    tests: tuple[Example, ...]


Row = TypeVar("Row", Task, HeldOut)


class SourceRow(Record):
    """A line of `tool_sources.jsonl`."""

    name: str
    source: str


def benchmark_tools(folder: Path) -> Mapping[str, ToolSource]:
    """The tools of a benchmark: the catalog, or those that lie beside the tasks with their sources.

    Raises:
        InputError: With file, line, field and reason.
    """
    path = folder / "tool_sources.jsonl"
    if not path.exists():
        return catalog.load()
    sources = {row.name: row.source for row in read_lines(path, SourceRow)}
    specs = list(read_lines(folder / "tools.jsonl", ToolSpec))
    if missing := [spec.name for spec in specs if spec.name not in sources]:
        raise InputError(f"{path}: no source of {missing[0]!r}")
    return {spec.name: ToolSource(spec=spec, source=sources[spec.name]) for spec in specs}


class Benchmark(Record):
    """Tasks with their held-out tests."""

    tasks: tuple[Task, ...]
    tests: dict[str, tuple[Example, ...]]

    @classmethod
    def load(cls, folder: Path) -> Benchmark:
        """Reads `instances.jsonl` and `tests.jsonl` of a benchmark's folder.

        Raises:
            InputError: With file, line, field and reason.
        """
        tasks = _by_id(folder / "instances.jsonl", Task)
        held = _by_id(folder / "tests.jsonl", HeldOut)
        tests = {id: row.tests for id, row in held.items()}
        for id in tasks:
            if not tests.get(id):
                raise InputError(f"{folder / 'tests.jsonl'}: no tests for {id!r}")
        return cls(tasks=tuple(tasks.values()), tests=tests)


def _by_id(path: Path, kind: type[Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    lines: dict[str, int] = {}
    for number, row in read_numbered(path, kind):
        if row.id in found:
            raise InputError(
                f"{path}, line {number}: id {row.id!r} stands twice (first in line {lines[row.id]}); ids are unique"
            )
        found[row.id], lines[row.id] = row, number
    if not found:
        raise InputError(f"{path}: no record in it")
    return found

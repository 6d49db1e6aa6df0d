"""The task: an item of a benchmark, or a user's query with examples. The tests of a task are stored apart from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import Field, field_validator, model_validator

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_lines, read_numbered, validate
from tools_registry import catalog
from tools_registry.sandbox.functions import to_json
from tools_registry.specs.schema import JSONSchema, check_schema, type_label, type_name, validator
from tools_registry.specs.spec import Record, ToolSource, ToolSpec, strict_json
from tools_registry.specs.values import CaseError

if TYPE_CHECKING:
    from tools_registry.sandbox.workers import Isolating


class Example(Record):
    """An input with its answer, shown to the agent."""

    input: dict[str, Any]
    output: Any

    _strict = field_validator("input", "output")(strict_json)


class Task(Record):
    """A task: text, inputs, the names of its tools, examples."""

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")
    category: str = ""
    difficulty: str = ""
    control_flow: str = ""
    query: str
    """The task in natural language."""
    inputs: JSONSchema
    """JSON Schema of the inputs, an object."""
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
        """The task, its inputs and its examples as text for an agent."""
        lines = ["Task:", self.query.strip(), "", "Inputs:"]
        for name, field in self.inputs.get("properties", {}).items():
            note = f": {field['description']}" if field.get("description") else ""
            lines.append(f"- {name} ({type_label(field)}){note}")
        if self.examples:
            lines += ["", "Examples:"]
        for example in self.examples:
            lines += [f"Input: {dump_json(example.input)}", f"Output: {dump_json(example.output)}"]
        return "\n".join(lines)


ExampleLike = tuple[dict[str, Any], Any] | Mapping[str, Any] | Example
"""An example: a pair of input and output, a dict with `input` and `output`, or an `Example`."""


def make_task(query: str, examples: Sequence[ExampleLike], inputs: JSONSchema | None = None, id: str = "task") -> Task:
    """A task from a query and examples.

    Args:
        query: The task in words.
        examples: At least one.
        inputs: JSON Schema of the inputs; by default it is inferred from the examples.
        id: The name of the task and its workflow.

    Raises:
        InputError: If there is no example, an example does not fit the inputs, or two examples have different inputs
            and there is no schema.
    """
    rows = examples_of(examples)
    if not rows:
        raise InputError("give at least one example: the agent works on an example to make a trace")
    try:
        fields = {"id": id, "query": query, "inputs": inputs or infer_inputs(rows), "examples": tuple(rows)}
        task = validate(Task, fields)
    except ValueError as error:
        raise InputError(str(error)) from None
    _require_same_inputs(rows, inputs)
    for name in task.inputs.get("properties", {}):
        if not _VARIABLE.fullmatch(name):
            raise InputError(f"input {name!r} cannot be a variable; name it with letters, digits and _")
    return task


_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


def _require_same_inputs(examples: Sequence[Example], inputs: JSONSchema | None) -> None:
    """Refuses inputs that are not in the schema; without a schema, inputs that are not in every example."""
    names = inputs.get("properties", {}) if inputs else examples[0].input
    place = "the schema of the inputs" if inputs else "example 1"
    for number, example in enumerate(examples, 1):
        if extra := [name for name in example.input if name not in names]:
            known = ", ".join(names) or "none"
            raise InputError(f"example {number}: {place} has no input {extra[0]!r}; it has {known}")
        if not inputs and (missing := [name for name in names if name not in example.input]):
            raise InputError(f"example {number}: the input {missing[0]!r} of example 1 is missing")


def examples_of(examples: Any) -> list[Example]:
    """Examples from any of their forms.

    Raises:
        InputError: If they are not a list, or one of them has none of the forms.
    """
    if not isinstance(examples, list | tuple):
        raise InputError("examples: give a list of pairs (input, output) or of dicts with input and output")
    rows = cast(Sequence[ExampleLike], examples)
    return [example_of(example, number) for number, example in enumerate(rows, 1)]


def example_of(example: ExampleLike, number: int = 1) -> Example:
    """An example from any of its forms. Its values become JSON as the results of functions do: a date becomes text.

    Raises:
        InputError: If it has none of them.
    """
    if isinstance(example, Example):
        return example
    fields: Any = example
    if _is_pair(fields):
        fields = dict(zip(("input", "output"), fields, strict=True))
    try:
        return validate(Example, to_json(fields))
    except CaseError as error:
        raise InputError(f"example {number}: {error}") from None
    except ValueError as error:
        raise InputError(
            f'example {number}: {error}; give a pair (input, output) or {{"input": ..., "output": ...}}'
        ) from None


def name_of(query: str, tools: Iterable[str]) -> str:
    """A name for a workflow: the first words of the query, or without a query the names of its tools.

    Raises:
        InputError: If the query is no text.
    """
    if not isinstance(cast(Any, query), str):
        raise InputError(f"query: give the task in words, not {type(query).__name__}")
    words = re.findall(r"[a-z][a-z0-9]*", query.lower())
    chosen = [word for word in words if word not in _COMMON][:5] or list(tools)[:3]
    return "_".join(chosen)[:60].strip("_") or "workflow"


_COMMON = frozenset(
    "a an and are as at by for from give if in into is it its of on or return the then to with".split()  # noqa: SIM905
)


def infer_inputs(examples: Sequence[Example]) -> JSONSchema:
    """The schema of the inputs of examples; an input of every example is required."""
    names = list(dict.fromkeys(name for example in examples for name in example.input))
    properties: dict[str, JSONSchema] = {}
    for name in names:
        kinds = sorted({type_name(example.input[name]) for example in examples if name in example.input})
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        properties[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    required = [name for name in names if all(name in example.input for example in examples)]
    return {"type": "object", "properties": properties, "required": required}


class TaskFile(Record):
    """A user's task, as `flowmind solve` reads it."""

    id: str = Field(default="", pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})?$")
    """The name of the task and its workflow; by default it is made from the query and the tools."""
    query: str
    """The task in natural language."""
    inputs: JSONSchema | None = None
    """JSON Schema of the inputs; by default it is inferred from the examples."""
    examples: tuple[Example, ...]
    """In the file, pairs `[input, output]` or objects."""

    @field_validator("examples", mode="before")
    @classmethod
    def _of_pairs(cls, examples: Any) -> Any:
        if not isinstance(examples, list):
            return examples
        rows = cast(list[Any], examples)
        return [dict(zip(("input", "output"), row, strict=True)) if _is_pair(row) else row for row in rows]


def _is_pair(row: Any) -> bool:
    return isinstance(row, list | tuple) and len(cast(Sequence[Any], row)) == 2


class HeldOut(Record):
    """The held-out tests of a task, for the evaluator only."""

    id: str
    tests: tuple[Example, ...]


Row = TypeVar("Row", Task, HeldOut)


class SourceRow(Record):
    """A line of `tool_sources.jsonl`."""

    name: str
    source: str


def benchmark_tools(folder: Path) -> Mapping[str, ToolSource]:
    """The tools of a benchmark: its `tool_sources.jsonl`, or the catalog if there is no such file.

    Raises:
        InputError: With file, line, field and reason.
    """
    path = folder / "tool_sources.jsonl"
    if not path.exists():
        return catalog.load()
    sources = {row.name: row.source for row in read_lines(path, SourceRow)}
    specs = list(read_lines(folder / "tools.jsonl", ToolSpec))
    if missing := [spec.name for spec in specs if spec.name not in sources]:
        raise InputError(f"{path}: the source of {missing[0]!r} is missing")
    return {spec.name: ToolSource(spec=spec, source=sources[spec.name]) for spec in specs}


def isolation_for(tools: Mapping[str, ToolSource]) -> Isolating:
    """The isolation that scoring with the tools of a benchmark needs.

    `batch` for the tools of the catalog. Others may have been written by a model; a hostile one could falsify the
    results of later cases in its process, so each case has its own.
    """
    known = catalog.load()
    if tools is known or all(name in known and known[name].source == tools[name].source for name in tools):
        return "batch"
    return "case"


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
        held_out = _by_id(folder / "tests.jsonl", HeldOut)
        tests = {id: row.tests for id, row in held_out.items()}
        for id in tasks:
            if not tests.get(id):
                raise InputError(f"{folder / 'tests.jsonl'}: no tests for {id!r}")
        return cls(tasks=tuple(tasks.values()), tests=tests)


def _by_id(path: Path, kind: type[Row]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    lines: dict[str, int] = {}
    for number, row in read_numbered(path, kind):
        if row.id in rows:
            raise InputError(
                f"{path}, line {number}: id {row.id!r} stands twice (first in line {lines[row.id]}); ids are unique"
            )
        rows[row.id], lines[row.id] = row, number
    if not rows:
        raise InputError(f"{path}: no record in it")
    return rows

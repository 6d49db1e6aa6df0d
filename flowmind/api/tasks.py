"""Tasks from a query and examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import validate
from flowmind.trace.task import Example, Task
from tools_registry.specs.schema import JSONSchema, type_name

Shown = tuple[dict[str, Any], Any] | Mapping[str, Any] | Example
"""An example: a pair of input and output, a dict with `input` and `output`, or an `Example`."""


def make_task(query: str, examples: Sequence[Shown], inputs: JSONSchema | None = None, id: str = "task") -> Task:
    """A task of a user's own.

    Args:
        query: The task in words.
        examples: At least one.
        inputs: JSON Schema of the inputs; by default it is inferred from the examples.
        id: The name of the task and of its workflow.

    Raises:
        InputError: If there is no example, an example does not fit the inputs, or two examples have different inputs
            and no schema says which are optional.
    """
    if not examples:
        raise InputError("give at least one example: executing means working one through the tools")
    rows = [example_of(example, number) for number, example in enumerate(examples, 1)]
    try:
        fields = {"id": id, "query": query, "inputs": inputs or infer_inputs(rows), "examples": tuple(rows)}
        task = validate(Task, fields)
    except ValueError as error:
        raise InputError(str(error)) from None
    _require_same_inputs(rows, inputs)
    return task


def _require_same_inputs(examples: Sequence[Example], inputs: JSONSchema | None) -> None:
    """Refuses inputs that no schema declares, or without a schema, that not every example has."""
    names = inputs.get("properties", {}) if inputs else examples[0].input
    place = "the schema of the inputs" if inputs else "example 1"
    for number, example in enumerate(examples, 1):
        if extra := [name for name in example.input if name not in names]:
            known = ", ".join(names) or "none"
            raise InputError(f"example {number}: {place} has no input {extra[0]!r}; it has {known}")
        if not inputs and (missing := [name for name in names if name not in example.input]):
            raise InputError(f"example {number}: the input {missing[0]!r} of example 1 is missing")


def example_of(example: Shown, number: int = 1) -> Example:
    """An example of any accepted form.

    Raises:
        InputError: If it has another form.
    """
    if isinstance(example, Example):
        return example
    fields: Any = example
    if isinstance(example, Sequence) and len(example) == 2:
        fields = {"input": example[0], "output": example[1]}
    try:
        return validate(Example, fields)
    except ValueError as error:
        raise InputError(
            f'example {number}: {error}; give a pair (input, output) or {{"input": ..., "output": ...}}'
        ) from None


def name_of(query: str, tools: Iterable[str]) -> str:
    """A name for a workflow: the first words of the task, or the tools that it may call."""
    words = re.findall(r"[a-z][a-z0-9]*", query.lower())
    chosen = [word for word in words if word not in _COMMON][:5] or list(tools)[:3]
    return "_".join(chosen)[:60].strip("_") or "workflow"


_COMMON = frozenset(
    "a an and are as at by for from give if in into is it its of on or return the then to with".split()  # noqa: SIM905
)


def infer_inputs(examples: Sequence[Example]) -> JSONSchema:
    """The schema of inputs, read off examples: an input that stands in all of them is required."""
    names = list(dict.fromkeys(name for example in examples for name in example.input))
    properties: dict[str, JSONSchema] = {}
    for name in names:
        kinds = sorted({type_name(example.input[name]) for example in examples if name in example.input})
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        properties[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    required = [name for name in names if all(name in example.input for example in examples)]
    return {"type": "object", "properties": properties, "required": required}

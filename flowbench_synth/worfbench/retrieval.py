"""Tools by similarity: distractors for a task, and whether a step retrieves its own tool (section 2.3)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from flowbench_synth.worfbench.chains import in_words
from flowmind.base.files import dump_json, parse_json
from flowmind.evaluation.worfeval import Similarity
from tools_registry.specs.schema import type_label
from tools_registry.specs.spec import ToolSpec

MARKER = "The tools you can use:"
"""The line before the tools of a row."""


def document_of(spec: ToolSpec) -> str:
    """A tool as text for a retriever: its name in words, its description, and the names of its parameters."""
    return document(spec.name, spec.description, spec.names)


def document(name: str, description: str, parameters: Iterable[str]) -> str:
    """A tool as text for a retriever."""
    return ". ".join(filter(None, (in_words(name), description, " ".join(map(in_words, parameters)))))


def distractors(
    task: str, own: Sequence[str], library: Mapping[str, ToolSpec], count: int, similar: Similarity
) -> list[str]:
    """The tools of a library that are most similar to a task and not among its own; of equal ones the first by name.

    Args:
        task: The text of the task, which is the query (section 2.2).
        own: The tools of the task.
        library: All tools.
        count: The number of distractors.
        similar: The similarity of two texts.
    """
    others = sorted(library.keys() - set(own))
    if not others or count <= 0:
        return []
    row = similar([task], [document_of(library[name]) for name in others])[0]
    ranked = sorted(zip(others, row, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return [name for name, _ in ranked[:count]]


def retrieved(steps: Sequence[str], tools: Mapping[str, str], similar: Similarity) -> list[str]:
    """For each step the tool whose text is most similar to it; of equal ones the first.

    Args:
        steps: The sentences, which are the queries.
        tools: The texts of the tools by name.
        similar: The similarity of two texts.
    """
    names = list(tools)
    rows = similar(steps, [tools[name] for name in names])
    return [names[max(range(len(names)), key=row.__getitem__)] for row in rows]


def strangers(steps: Sequence[str], own: Sequence[str], tools: Mapping[str, str], similar: Similarity) -> list[str]:
    """The steps that do not retrieve their own tool, each with the tool that it retrieves.

    Args:
        steps: The sentences.
        own: The tool of each step.
        tools: The texts of the tools by name.
        similar: The similarity of two texts.
    """
    found = retrieved(steps, tools, similar)
    return [
        f"step {number} retrieves {other}, not {name}"
        for number, (name, other) in enumerate(zip(own, found, strict=True), 1)
        if name != other
    ]


def tools_text(specs: Iterable[ToolSpec]) -> str:
    """Tools as they stand in a row: a JSON list of names, descriptions, and parameters with types."""
    return dump_json(
        [
            {
                "name": spec.name,
                "description": spec.description,
                "parameters": {
                    name: _parameter(field) for name, field in spec.parameters.get("properties", {}).items()
                },
            }
            for spec in specs
        ]
    )


def _parameter(field: dict[str, Any]) -> str:
    about = " ".join(str(field.get("description", "")).split())
    return ". ".join(filter(None, (type_label(field), about)))


def read_tools_text(text: str) -> dict[str, str]:
    """The texts of the tools of a row by name; empty if they are not a list of objects with names.

    Lists of JSON and of Python are read, with the names of fields of the published rows.
    """
    try:
        value: Any = parse_json(text)
    except ValueError:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {}
    rows = cast(list[Any], value) if isinstance(value, list) else []
    tools: dict[str, str] = {}
    for row in rows:
        fields = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
        name = fields.get("name", fields.get("api_name"))
        if not isinstance(name, str):
            return {}
        about = fields.get("description", fields.get("api_description", ""))
        given: Any = fields.get("parameters")
        names = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        inner: Any = names.get("properties") if names.get("type") == "object" else None
        names = cast("dict[str, Any]", inner) if isinstance(inner, dict) else names
        tools[name] = document(name, str(about), map(str, names))
    return tools

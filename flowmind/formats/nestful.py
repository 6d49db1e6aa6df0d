"""NESTFUL (Basu et al., 2024): annotated sequences of nested tool calls, read as linear workflows.

A record has a question (`input`) and calls (`output`), each with a `name`, `arguments` and a `label`. Two versions are
about. In the first a label is `var1`, `$var1.price$` is a field of that call's result and `$var1$` the whole, and a
last pseudo call `var_result` collects the answer. In the second a label is `$var_1` or `$var1`, what a reference names
behind it is an output parameter of the tool (`$var_1.result$`: the whole result, if there is only one), and the last
call's result is the answer; arguments whose names the tool does not know are passed by position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.workflow.document import (
    Assign,
    Binding,
    Edge,
    End,
    ListOf,
    Literal_,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from tools_registry.specs.schema import JSONSchema, SchemaError, validator
from tools_registry.specs.spec import ToolSpec

COLLECT = "var_result"
"""The pseudo call that collects the answer."""
_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)((?:\.[^.$\[\]]+|\[\d+\])*)\$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_TYPES = {
    "string": "string", "str": "string", "integer": "integer", "int": "integer", "number": "number",
    "float": "number", "int or float": "number", "boolean": "boolean", "bool": "boolean", "array": "array",
    "list": "array", "object": "object", "dict": "object",
}  # fmt: skip
_PARAMETERS = ("parameters", "query_parameters", "path_parameters", "arguments")
_RESULTS = ("output_parameters", "output_parameter")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


def nestful_specs(tools: Iterable[Mapping[str, Any]]) -> dict[str, ToolSpec]:
    """The tools of a NESTFUL specification by name, in any of its layouts.

    Types are read as far as they name a JSON type; a parameter is required if the specification says so. The result is
    an object of the output parameters, as records of the first version have it.

    Raises:
        InputError: If a tool has no name.
    """
    found: dict[str, ToolSpec] = {}
    for number, tool in enumerate(tools, 1):
        name = tool.get("name")
        if not isinstance(name, str):
            raise InputError(f"tool {number} of the NESTFUL specification has no name")
        parameters = {"type": "object", "additionalProperties": False, **_object(tool, _PARAMETERS)}
        returns = {"type": "object", **_object(tool, _RESULTS)}
        found[name] = ToolSpec(
            name=name, description=str(tool.get("description", "")), parameters=parameters, returns=returns
        )
    return found


def _object(tool: Mapping[str, Any], keys: Sequence[str]) -> JSONSchema:
    fields: dict[str, JSONSchema] = {}
    required: list[str] = []
    for key in keys:
        held = _fields(tool.get(key))
        if "properties" in held and held.get("type", "object") == "object":
            required += held.get("required", [])
            held = _fields(held["properties"])
        for name, about in held.items():
            fields[name] = _schema(about)
            if _fields(about).get("required") is True:
                required.append(name)
    return {"properties": fields, "required": required}


def _fields(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _schema(written: Any) -> JSONSchema:
    """What a specification says of a value, as far as it can be read."""
    about = _fields(written)
    named = str(about.get("type", "")).lower()
    made: JSONSchema = {"description": str(about["description"])} if about.get("description") else {}
    if kind := _TYPES.get("list" if named.startswith("list of") else named):
        made["type"] = kind
    if properties := _fields(about.get("properties")):
        made["properties"] = {name: _schema(part) for name, part in properties.items()}
    if items := _fields(about.get("items")):
        made["items"] = _schema(items)
    return made


def problems(record: Mapping[str, Any], specs: Mapping[str, ToolSpec] | None = None) -> tuple[str, ...]:
    """What is wrong with a record's annotation, a line each; empty if `from_nestful` can read it.

    Labels and what refers to them are always looked at; with specs also the tools, the arguments and their types, and
    the fields that references name.
    """
    return tuple(_read(record, specs).problems)


def from_nestful(
    record: Mapping[str, Any], specs: Mapping[str, ToolSpec] | None = None, name: str = "nestful"
) -> Workflow:
    """The workflow of a record: its calls one after the other, its constants in them, no inputs.

    A text with a reference inside is put together by an assignment before the call.

    Args:
        record: With `input` and `output`.
        specs: The tools that it calls, as `nestful_specs` gives them; without them a reference of the second version
            is the whole result.
        name: The workflow's name.

    Raises:
        InputError: If the annotation is wrong, with the first problem.
    """
    read = _read(record, specs)
    if read.problems:
        more = f" (and {len(read.problems) - 1} more)" if len(read.problems) > 1 else ""
        raise InputError(f"NESTFUL record {name!r}: {read.problems[0]}{more}")
    nodes: list[Node] = [Start(id="start"), *read.nodes, End(id="end", output=read.answer)]
    edges = [Edge.model_validate({"from": one.id, "to": two.id}) for one, two in pairwise(nodes)]
    inputs: JSONSchema = {"type": "object", "properties": {}, "required": []}
    about = str(record.get("input", ""))
    return Workflow(name=name, description=about, inputs=inputs, nodes=tuple(nodes), edges=tuple(edges))


@dataclass
class _Reading:
    specs: Mapping[str, ToolSpec] | None
    labels: list[str]
    """Of all calls, in order."""
    whole: bool = False
    """The second version: a reference names an output parameter."""
    nodes: list[Node] = field(default_factory=list[Node])
    results: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """For each label read so far, its variable and its tool."""
    answer: Binding = field(default_factory=lambda: Literal_(value=None))
    problems: list[str] = field(default_factory=list[str])

    def call(self, number: int, call: Mapping[str, Any]) -> None:
        """Reads a call."""
        tool, label = call["name"], self.labels[number]
        where = f"call {number + 1} ({tool})"
        given: dict[str, Any] = call.get("arguments") or {}
        if tool == COLLECT:
            fields = {key: self.binding(value, f"{where}, {key!r}", f"answer_{key}") for key, value in given.items()}
            self.answer = ObjectOf(object=fields)
            return
        spec = None if self.specs is None else self.specs.get(tool)
        if spec is None and self.specs is not None:
            self.problems.append(f"{where}: there is no such tool")
        if spec is not None:
            given = self.named(given, spec)
            self.problems += [f"{where}: {problem}" for problem in _misfits(given, spec)]
        output = label if _NAME.fullmatch(label) else f"step{number + 1}"
        args = {
            key: self.binding(value, f"{where}, argument {key!r}", f"{output}_{index}")
            for index, (key, value) in enumerate(given.items(), 1)
        }
        if label in self.results:
            self.problems.append(f"{where}: label {label!r} stands twice")
        else:
            self.results[label] = (output, tool)
            self.nodes.append(ToolNode(id=output, tool=tool, args=args, output=output))
            self.answer = Var(var=output)

    def named(self, given: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
        """The arguments by the tool's names; of the second version by position, if it knows none of theirs."""
        if not self.whole or set(given) & set(spec.names) or len(given) > len(spec.names):
            return given
        return dict(zip(spec.names, given.values(), strict=False))

    def binding(self, value: Any, where: str, name: str) -> Binding:
        """An argument with its references."""
        if isinstance(value, list):
            parts = [self.binding(part, where, f"{name}_{index}") for index, part in enumerate(cast(list[Any], value))]
            return Literal_(value=value) if _constant(parts) else ListOf(list=tuple(parts))
        if isinstance(value, dict):
            held = enumerate(cast(dict[str, Any], value).items())
            fields = {key: self.binding(part, where, f"{name}_{index}") for index, (key, part) in held}
            return Literal_(value=value) if _constant(fields.values()) else ObjectOf(object=fields)
        if not isinstance(value, str) or not _REFERENCE.search(value):
            return Literal_(value=value)
        if alone := _REFERENCE.fullmatch(value):
            return self.reference(alone, where)
        return self.text(value, where, name)

    def text(self, value: str, where: str, name: str) -> Binding:
        """A text with references inside, as an assignment."""
        parts: list[str] = []
        at = 0
        for found in _REFERENCE.finditer(value):
            read = self.reference(found, where)
            before, at = value[at : found.start()], found.end()
            parts += [repr(before)] if before else []
            if isinstance(read, Var):
                parts.append(f"str({read.var}{''.join(f'[{step!r}]' for step in read.path)})")
        parts += [repr(value[at:])] if value[at:] else []
        self.nodes.append(Assign(id=name, expr=" + ".join(parts), output=name))
        return Var(var=name)

    def reference(self, found: re.Match[str], where: str) -> Binding:
        """A reference; one that leads nowhere is a problem, and null."""
        label, path = found[1], [field or int(index) for field, index in _STEP.findall(found[2])]
        if label not in self.results:
            problem = "a label that comes later" if label in self.labels else "a label that no call has"
            self.problems.append(f"{where}: {found[0]} refers to {label!r}, {problem}")
            return Literal_(value=None)
        output, tool = self.results[label]
        spec = (self.specs or {}).get(tool)
        if spec is not None and (problem := _unresolved(path, spec)):
            self.problems.append(f"{where}: {found[0]}: {problem}")
        if self.whole and path:
            path = _position(path[0], spec) + path[1:]
        return Var(var=output, path=tuple(path))


def _read(record: Mapping[str, Any], specs: Mapping[str, ToolSpec] | None) -> _Reading:
    calls = record.get("output")
    if not isinstance(calls, list) or not calls:
        return _Reading(specs, [], problems=["there are no calls under 'output'"])
    listed = cast(list[dict[str, Any]], calls)
    if unnamed := [number for number, call in enumerate(listed, 1) if not isinstance(call.get("name"), str)]:
        return _Reading(specs, [], problems=[f"call {unnamed[0]} has no name"])
    labels = [str(call.get("label", "")) for call in listed]
    whole = any(label.startswith("$") for label in labels)
    reading = _Reading(specs, [label.strip("$") for label in labels], whole)
    for number, call in enumerate(listed):
        reading.call(number, call)
    return reading


def _constant(parts: Iterable[Binding]) -> bool:
    return all(isinstance(part, Literal_) for part in parts)


def _misfits(given: Mapping[str, Any], spec: ToolSpec) -> Iterator[str]:
    """What arguments have against the tool's parameters."""
    for name in spec.required:
        if name not in given:
            yield f"argument {name!r} is missing"
    fields: dict[str, JSONSchema] = spec.parameters.get("properties", {})
    for name, value in given.items():
        if name not in fields:
            yield f"there is no argument {name!r} (there are {_listed(fields)})"
        elif not _REFERENCE.search(str(value)):
            try:
                problem = validator(fields[name])(value)
            except SchemaError:
                problem = None
            if problem is not None:
                yield f"argument {name!r}: {problem}"


def _unresolved(path: Sequence[str | int], spec: ToolSpec) -> str:
    """Why a path leads nowhere in a tool's result; empty if it does, or if the specification does not say."""
    schema: JSONSchema = spec.returns
    shown = spec.name
    for step in path:
        fields = schema.get("properties", {})
        kind = schema.get("type", "array" if isinstance(step, int) else "object")
        if isinstance(step, int) != (kind == "array"):
            wanted = "a number in brackets" if kind == "array" else "a field"
            return f"{shown} gives {'a list' if kind == 'array' else f'no list but {kind}'}: {step!r} is not {wanted}"
        if isinstance(step, str) and fields and step not in fields:
            return f"{shown} gives no {step!r} (it gives {_listed(fields)})"
        schema = schema.get("items", {}) if isinstance(step, int) else fields.get(step, {})
        shown = f"{step!r} of {spec.name}"
    return ""


def _position(name: str | int, spec: ToolSpec | None) -> list[str | int]:
    """Where an output parameter is in the result of a function: it is the whole, or an element of a tuple."""
    names = [] if spec is None else list(spec.returns.get("properties", {}))
    return [] if len(names) < 2 or name not in names else [names.index(str(name))]


def _listed(names: Iterable[str]) -> str:
    """Names for a message; of many the first eight."""
    shown = list(names)
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") or "none"

"""Parameters of tools: their types and roles, read from schemas and descriptions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from flowmind.base.files import dump_json
from tools_registry.specs.schema import Validator, type_of, validator
from tools_registry.specs.spec import ToolSpec

Role = Literal["options", "field", "new field", "plain"]
_PYTHON: dict[str, tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""The Python types of each JSON type. They exclude most values before the schema is checked."""
_FIELD = re.compile(r"\bnames? of .*\b(?:fields?|columns?)\b|\b(?:field|column) names?\b|^the key (?:to|whose|of)\b")
_NEW = re.compile(r"\bfield for\b|\bnew\b|\bfield to (?:add|write|hold)\b")


@dataclass(frozen=True)
class Parameter:
    """One required parameter of a tool."""

    tool: str
    name: str
    role: Role
    """`field`: the name of an existing field; `new field`: the name of a field that the call adds; `options`: an enum
    or a boolean."""
    options: tuple[Any, ...]
    takes_texts: bool
    fills: bool
    """Whether it takes an object whose fields replace placeholders of another parameter."""
    types: tuple[type, ...] | None
    check: Validator
    shape: str
    """Its schema as JSON; parameters with equal shapes take the same values."""

    def takes(self, value: Any) -> bool:
        """Whether a value fits the schema."""
        return (self.types is None or type_of(value) in self.types) and self.check(value) is None


def parameters(spec: ToolSpec) -> list[Parameter]:
    """The required parameters of a tool."""
    definitions = spec.parameters.get("$defs")
    result: list[Parameter] = []
    properties = cast(dict[str, dict[str, Any]], spec.parameters.get("properties", {}))
    holes = any("placeholder" in str(schema.get("description", "")) for schema in properties.values())
    for name in spec.required:
        schema = properties[name]
        options = tuple(schema.get("enum", (True, False) if schema.get("type") == "boolean" else ()))
        texts = schema.get("type") == "array" and schema.get("items", {}).get("type") == "string"
        full = {**schema, "$defs": definitions} if definitions else schema
        types = _PYTHON.get(str(schema.get("type")))
        shape = dump_json({key: part for key, part in full.items() if key != "description"})
        role = _role(schema, options, texts)
        fills = holes and schema.get("type") == "object"
        result.append(Parameter(spec.name, name, role, options, texts, fills, types, validator(full), shape))
    return result


def _role(schema: dict[str, Any], options: tuple[Any, ...], texts: bool) -> Role:
    about = str(schema.get("description", "")).lower()
    if options:
        return "options"
    if not (texts or schema.get("type") == "string") or not _FIELD.search(about):
        return "plain"
    return "new field" if _NEW.search(about) else "field"

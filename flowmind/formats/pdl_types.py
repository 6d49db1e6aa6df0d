"""Types of slots as a reader writes them: `list[integer]`, `string | null`, `{name: string, age?: integer}`.

A schema that this language cannot express is written as JSON.
"""

from __future__ import annotations

import re
from typing import Any, cast

from flowmind.base.files import dump_json, parse_json
from tools_registry.specs.schema import JSONSchema, check_schema

_SIMPLE = ("integer", "number", "string", "boolean", "null", "object", "list")
_OTHER_NAMES = {
    "int": "integer", "float": "number", "str": "string", "text": "string", "bool": "boolean", "dict": "object",
    "array": "list", "none": "null",
}  # fmt: skip
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|\"(?:[^\"\\]|\\.)*\"|[\[\]{}|:,?])")
_MAX_DEPTH = 40


def write_type(schema: JSONSchema) -> str:
    """Writes a schema as a type; the empty schema gives an empty text."""
    if not schema:
        return ""
    text = _write(schema)
    try:
        return text if read_type(text) == schema else dump_json(schema)
    except ValueError:
        return dump_json(schema)


def read_type(text: str) -> JSONSchema:
    """Reads a type as a schema.

    Raises:
        ValueError: If the text is not a type.
    """
    if text.startswith("{") and text[1:].lstrip()[:1] in ('"', "}"):
        try:
            schema = parse_json(text)
        except ValueError:
            schema = None
        if isinstance(schema, dict):
            check_schema(schema)
            return cast(JSONSchema, schema)
    if text in ("", "any"):
        return {}
    reader = _Reader(text)
    found = reader.union()
    if reader.peek():
        raise ValueError(f"unexpected {reader.peek()!r} in the type {text[:60]!r}")
    return found


def _write(schema: Any) -> str:
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join("list" if one == "array" else str(one) for one in cast(list[Any], kind))
    if "anyOf" in schema:
        return " | ".join(map(_write, schema["anyOf"]))
    if kind == "array":
        return f"list[{_write(schema['items'])}]" if "items" in schema else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_write(schema['additionalProperties'])}"
    if kind == "object" and schema.get("properties"):
        required = schema.get("required", [])
        fields = [
            f"{_key(name)}{'' if name in required else '?'}: {_write(part)}"
            for name, part in schema["properties"].items()
        ]
        return f"{{{', '.join(fields)}}}"
    return str(kind)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else dump_json(name)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(
                    f"{text[:60]!r} is not a type; types are such as integer, list[string], {{name: string}}"
                )
            self.tokens.append(match[1])
            at = match.end()
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def take(self, wanted: str) -> None:
        token = self.next()
        if token != wanted:
            raise ValueError(f"expected {wanted!r}, found {token or 'the end'!r} in the type {self.text[:60]!r}")

    def union(self) -> JSONSchema:
        """Reads a type, or several with bars between them."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError("the type nests too deeply")
        options = [self.one()]
        while self.peek() == "|":
            self.next()
            options.append(self.one())
        self.depth -= 1
        if len(options) == 1:
            return options[0]
        names = [option["type"] for option in options if list(option) == ["type"]]
        return {"type": names} if len(names) == len(options) else {"anyOf": options}

    def one(self) -> JSONSchema:
        word = self.next()
        name = _OTHER_NAMES.get(word.lower(), word)
        if name == "{":
            return self.fields()
        if name == "any":
            return {}
        if name not in _SIMPLE:
            raise ValueError(f"{word or 'nothing'!r} is not a type; types are {', '.join(_SIMPLE)}, any")
        if name == "list" and self.peek() == "[":
            self.next()
            items = self.union()
            self.take("]")
            return {"type": "array", "items": items}
        if name == "object" and self.peek() == "of":
            self.next()
            return {"type": "object", "additionalProperties": self.one()}
        return {"type": "array" if name == "list" else name}

    def fields(self) -> JSONSchema:
        properties: dict[str, JSONSchema] = {}
        required: list[str] = []
        while self.peek() != "}":
            if properties:
                self.take(",")
            word = self.next()
            name = parse_json(word) if word.startswith('"') else word
            if name in properties or not re.match(r"[A-Za-z_\"]", word):
                raise ValueError(f"{word or 'the end'!r} is not a new field in the type {self.text[:60]!r}")
            if self.peek() == "?":
                self.next()
            else:
                required.append(name)
            self.take(":")
            properties[name] = self.union()
        self.take("}")
        schema: JSONSchema = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {})

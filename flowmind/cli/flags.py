"""Flags of the fields of a settings model, with their types, choices, bounds, defaults and help texts."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from flowmind.base.errors import InputError

M = TypeVar("M", bound=BaseModel)
_FEW = 6
"""The most choices that are shown beside the flag; longer lists are in the help text."""
_TYPES: dict[str, Any] = {"integer": int, "number": float}


class Parser(Protocol):
    """A parser, or a group of its flags."""

    def add_argument(self, *names: str, **options: Any) -> Any:
        """As `argparse.ArgumentParser.add_argument`."""
        ...


def add_flags(parser: Parser, model: type[BaseModel], *names: str, also: Mapping[str, str] | None = None) -> None:
    """Adds a flag for each field of a model: `--max-turns` for `max_turns`.

    A flag that the user omits is not in the parsed options, so that the model's default applies.

    Args:
        parser: The parser, or a group of it.
        model: A model whose fields have descriptions.
        names: The fields; all by default.
        also: By field a second name of its flag.
    """
    properties = _properties(model)
    for name in names or properties:
        field = properties[name]
        kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
        flags = [flag_of(name), *([also[name]] if also and name in also else [])]
        parser.add_argument(*flags, default=argparse.SUPPRESS, help=_help(field, kinds[0]), **_kind(kinds))


@functools.cache
def _properties(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schemas of a model's fields."""
    return model.model_json_schema()["properties"]


def flag_of(name: str) -> str:
    """The flag of a field."""
    return f"--{name.replace('_', '-')}"


def _kind(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """The options of `add_argument` for the type of a field."""
    kind = kinds[0]
    if kind.get("type") == "boolean":
        return {"action": argparse.BooleanOptionalAction}
    if "enum" in kind:
        return {"choices": kind["enum"], "metavar": "NAME"} if len(kind["enum"]) > _FEW else {"choices": kind["enum"]}
    if kind.get("type") == "array":
        path = kind["items"].get("format") == "path"
        return {"action": "append", "type": Path if path else str, "metavar": "PATH" if path else "TEXT"}
    if kind.get("format") == "path":
        return {"type": Path, "metavar": "PATH"}
    metavar = {"integer": "N", "number": "X"}.get(kind.get("type", ""), "TEXT")
    return {"type": _TYPES.get(kind.get("type", ""), str) if len(kinds) == 1 else str, "metavar": metavar}


def _help(field: dict[str, Any], kind: dict[str, Any]) -> str:
    """The description of a field, its bounds and its default."""
    notes = [f"{kind['minimum']:g} to {kind['maximum']:g}"] if {"minimum", "maximum"} <= kind.keys() else []
    default = field.get("default")
    if (isinstance(default, str) and default) or (isinstance(default, float | int) and not isinstance(default, bool)):
        notes.append(f"default {default if isinstance(default, str) else f'{default:g}'}")
    text = " ".join(field["description"].split())
    if len(kind.get("enum", ())) > _FEW:
        text = f"{text}: {', '.join(kind['enum'])}"
    return (f"{text} ({', '.join(notes)})" if notes else text).replace("%", "%%")


def read_flags(model: type[M], options: argparse.Namespace | dict[str, Any]) -> M:
    """The settings in parsed options.

    Raises:
        InputError: If a value is not allowed, with the flag and the allowed values.
    """
    given = options if isinstance(options, dict) else vars(options)
    try:
        return model.model_validate({name: value for name, value in given.items() if name in model.model_fields})
    except ValidationError as error:
        raise InputError(explained(error)) from None


def explained(error: ValidationError) -> str:
    """The first invalid field as a flag, with the reasons."""
    first, *others = error.errors(include_url=False)
    messages = [first["msg"], *(other["msg"] for other in others if other["loc"][0] == first["loc"][0])]
    reasons = [message.removeprefix("Value error, ") for message in messages]
    return f"{flag_of(str(first['loc'][0]))}: {'; '.join(dict.fromkeys(reasons))}"

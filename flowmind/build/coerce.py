"""Reads the bindings that a model writes. Small models write `2` for `{"value": 2}`: it is accepted, and counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flowmind.trace.constants import Text, read_text
from flowmind.workflow.document import Binding, ListOf, Literal_, ObjectOf, Var
from tools_registry.specs.schema import json_equal

_NO_TEXT = read_text("")
_LONG = 12
"""From this length on, in characters, a text is hardly equal to an input's value by chance."""

_PATH = re.compile(r"[A-Za-z][A-Za-z0-9_]*((\.[A-Za-z0-9_]+)|(\[(-?\d+|'[^']*'|\"[^\"]*\")\]))*")
_PART = re.compile(r"\.([A-Za-z0-9_]+)|\[(-?\d+|'[^']*'|\"[^\"]*\")\]")


@dataclass
class Reader:
    """Reads bindings for one place of a draft."""

    scope: Collection[str]
    """The variables in scope."""
    outputs: Mapping[str, str]
    """The variable that each node sets. A node's id is read as that variable."""
    cases: Sequence[Mapping[str, Any]] = ()
    """The inputs of the traces. A constant that equals one of their values is read as the input."""
    text: Text = _NO_TEXT
    """The task's text. A short constant that it names stays a constant."""
    coerced: int = 0
    """The number of values that were read as something other than their literal form."""

    def binding(self, value: Any) -> Binding:
        """The binding that a value stands for."""
        binding = self._read(value)
        if isinstance(binding, Literal_) and (name := self._copied(binding.value)):
            self.coerced += 1
            return Var(var=name)
        return binding

    def _copied(self, value: Any) -> str | None:
        """The input that had this value in a case.

        A number or a short text is read as an input only if the task's text does not name it, and if only one input
        has it. Otherwise it may as well be a constant.
        """
        if not value or isinstance(value, bool):
            return None
        equal = {name for case in self.cases for name, own in case.items() if json_equal(own, value)}
        names = sorted(name for name in equal if name in self.scope and name not in self.outputs.values())
        long = isinstance(value, list | dict) or len(str(value)) >= _LONG
        if not long and (len(names) > 1 or self.text.names(value)):
            return None
        return names[0] if names else None

    def _read(self, value: Any) -> Binding:
        if isinstance(value, dict):
            return self._object(cast(dict[str, Any], value))
        if isinstance(value, list):
            return self._list(cast(list[Any], value))
        self.coerced += 1
        if isinstance(value, str) and (variable := self.variable(value)) is not None:
            return variable
        return Literal_(value=value)

    def variable(self, text: str) -> Var | None:
        """The variable, or path into one, that a text names; None if it names nothing in scope."""
        text = text.strip().removeprefix("$").strip("{}").strip()
        if not _PATH.fullmatch(text):
            return None
        name = re.split(r"[.\[]", text, maxsplit=1)[0]
        path = tuple(_step(part) for part in _PART.finditer(text))
        if name in self.scope:
            return Var(var=name, path=path)
        if name in self.outputs:
            if path and path[0] in ("output", "result", self.outputs[name]):
                path = path[1:]
            return Var(var=self.outputs[name], path=path)
        return None

    def _object(self, value: dict[str, Any]) -> Binding:
        keys = set(value)
        if "var" in keys and keys <= {"var", "path"}:
            return self._var(value)
        if keys == {"value"}:
            return Literal_(value=value["value"])
        if keys in ({"literal"}, {"const"}, {"constant"}):
            self.coerced += 1
            return Literal_(value=next(iter(value.values())))
        if keys == {"list"} and isinstance(value["list"], list):
            return ListOf(list=tuple(self.binding(part) for part in cast(list[Any], value["list"])))
        if keys == {"object"} and isinstance(value["object"], dict):
            return self._fields(cast(dict[str, Any], value["object"]))
        self.coerced += 1
        fields = self._fields(value)
        return Literal_(value=_value(fields)) if _constant(fields) else fields

    def _fields(self, value: dict[str, Any]) -> ObjectOf:
        return ObjectOf(object=self.fields(value))

    def fields(self, value: dict[str, Any]) -> dict[str, Binding]:
        """The bindings that the values of an object stand for."""
        return {str(name): self.binding(part) for name, part in value.items()}

    def _var(self, value: dict[str, Any]) -> Binding:
        name = value["var"]
        if not isinstance(name, str):
            self.coerced += 1
            return Literal_(value=name)
        variable = self.variable(name)
        self.coerced += variable is not None and variable.var != name
        path = value.get("path") or ()
        if isinstance(path, str):
            self.coerced += 1
            path = tuple(_step(part) for part in _PART.finditer("." + path if path[:1] not in ".[" else path))
        if variable is None:
            return Var.model_validate({"var": name, "path": path})
        return Var(var=variable.var, path=(*variable.path, *tuple(path)))

    def _list(self, value: list[Any]) -> Binding:
        self.coerced += 1
        parts = ListOf(list=tuple(self.binding(part) for part in value))
        return Literal_(value=_value(parts)) if _constant(parts) else parts


def _step(match: re.Match[str]) -> str | int:
    if match[1] is not None:
        return int(match[1]) if match[1].isdigit() else match[1]
    return match[2][1:-1] if match[2][0] in "'\"" else int(match[2])


def _value(binding: Binding) -> Any:
    """The value of a constant binding, without the wrappers that constants were written in."""
    match binding:
        case ListOf(list=parts):
            return [_value(part) for part in parts]
        case ObjectOf(object=fields):
            return {name: _value(part) for name, part in fields.items()}
        case _:
            assert isinstance(binding, Literal_)
            return binding.value


def _constant(binding: Binding) -> bool:
    match binding:
        case Literal_():
            return True
        case ListOf(list=parts):
            return all(map(_constant, parts))
        case ObjectOf(object=fields):
            return all(map(_constant, fields.values()))
        case _:
            return False

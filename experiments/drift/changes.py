"""How a world changes: a field is renamed, retyped or added, a tool renamed, a value multiplied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, cast, get_args

Kind = Literal["none", "renamed", "retyped", "added", "tool", "scaled", "procedure", "failure"]
"""`none`: nothing changes. A field is `renamed`, `retyped`, `added`; a `tool` is renamed; a number is multiplied by 100
(`scaled`); the agent works by another `procedure`; calls fail after a write (`failure`)."""
KINDS: tuple[Kind, ...] = get_args(Kind)
ABOUT_FIELDS: tuple[Kind, ...] = ("renamed", "retyped", "scaled")
EACH = "[]"
"""In a path, the elements of a list."""
_FACTOR = 100
_NEW_FIELD = "revision"

Path = tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A change of a world."""

    kind: Kind = "none"
    tool: str = ""
    """The tool that it is about; for `added` all of them."""
    path: Path = ()
    """The field of its results."""

    def name(self, tool: str) -> str:
        """The name of a tool now."""
        return f"{tool}_v2" if self.kind == "tool" and tool == self.tool else tool

    def done(self, tool: str, value: Any) -> Any:
        """A result as it is now."""
        return _with_field(value) if self.kind == "added" else self._changed(tool, value, back=False)

    def undone(self, tool: str, value: Any) -> Any:
        """A result of now as an agent understands it: as it was. A new field stays."""
        return self._changed(tool, value, back=True)

    def _changed(self, tool: str, value: Any, back: bool) -> Any:
        if tool != self.tool or self.kind not in ABOUT_FIELDS:
            return value
        if self.kind != "renamed":
            return _at(value, self.path, (_BACK if back else _FORWARD)[self.kind])
        old, new = self.path[-1], f"new_{self.path[-1]}"
        if back:
            old, new = new, old
        return _at(value, self.path[:-1], lambda record: _renamed(record, old, new))

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.tool, ".".join(self.path))))


UNCHANGED = Change()


def atoms(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The texts, numbers and truth values in a value, with their paths."""
    if isinstance(value, dict):
        for key, part in cast(dict[str, Any], value).items():
            yield from atoms(part, (*path, key))
    elif isinstance(value, list):
        for part in cast(list[Any], value):
            yield from atoms(part, (*path, EACH))
    elif value is not None:
        yield path, value


def takes(kind: Kind, path: Path, value: Any) -> bool:
    """Whether a field can change in this way."""
    if kind == "renamed":
        return bool(path) and path[-1] != EACH
    return kind == "retyped" or (isinstance(value, int | float) and not isinstance(value, bool))


def has_record(value: Any) -> bool:
    """Whether there is an object in a value."""
    parts = cast(list[Any], value) if isinstance(value, list) else []
    return isinstance(value, dict) or any(map(has_record, parts))


def _at(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """The value with what stands at a path changed."""
    if not path:
        return change(value)
    key, rest = path[0], path[1:]
    if key == EACH and isinstance(value, list):
        return [_at(part, rest, change) for part in cast(list[Any], value)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {name: _at(part, rest, change) if name == key else part for name, part in fields.items()}
    return value


def _renamed(record: Any, old: str, new: str) -> Any:
    if not isinstance(record, dict):
        return record
    return {new if name == old else name: part for name, part in cast(dict[str, Any], record).items()}


def _with_field(value: Any) -> Any:
    """The value with one more field in each of its objects."""
    if isinstance(value, list):
        return [_with_field(part) for part in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    return {**{name: _with_field(part) for name, part in fields.items()}, _NEW_FIELD: len(json.dumps(fields))}


def _retyped(value: Any) -> Any:
    """A text as a list, a number or a truth value as a text."""
    if isinstance(value, str):
        return [value]
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _typed_back(value: Any) -> Any:
    if isinstance(value, list):
        return cast(list[Any], value)[0]
    return json.loads(value) if isinstance(value, str) else value


def _multiplied(value: Any) -> Any:
    if not _is_number(value):
        return value
    return value * _FACTOR if isinstance(value, int) else float(Decimal(str(value)) * _FACTOR)


def _divided(value: Any) -> Any:
    if not _is_number(value):
        return value
    exact = Decimal(str(value)) / _FACTOR
    return int(exact) if isinstance(value, int) else float(exact)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FORWARD: dict[Kind, Callable[[Any], Any]] = {"retyped": _retyped, "scaled": _multiplied}
_BACK: dict[Kind, Callable[[Any], Any]] = {"retyped": _typed_back, "scaled": _divided}

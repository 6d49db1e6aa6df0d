"""`Imported`: a trace that was read from a recording, with what the recording says of the tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowmind.trace.events import Trace
from tools_registry.specs.spec import ToolSpec


@dataclass(frozen=True)
class Imported:
    """A trace that was read from a recording."""

    trace: Trace
    """Its `source` names the format."""
    specs: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """The tools that the recording describes, by name."""
    lost: tuple[str, ...] = ()
    """What the recording has and the trace has not, a line each."""
    given: bool = False
    """Whether the recording states the inputs of the case."""


class Reader(NamedTuple):
    """How a format is read."""

    title: str
    """The name of the format for people."""
    recognises: Callable[[Any], bool]
    """Whether a document has this format, by its structure. At most one reader recognises a document."""
    read: Callable[[Any], Iterator[Imported]]
    """The traces of a document. It raises `ValueError` with the place and what would be right."""


class Unreadable(ValueError):
    """A recording cannot be read; the message has the place, the problem and what would be right."""

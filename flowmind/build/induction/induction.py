"""`Induction`: the likeliest workflow of some traces, with its rivals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from flowmind.build.induction.program import Record
from flowmind.build.induction.runs import Run
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec


@dataclass(frozen=True)
class Request:
    """The input of induction."""

    runs: Sequence[Run]
    specs: Mapping[str, ToolSpec]
    inputs: JSONSchema
    """Of the workflow."""
    query: str
    """The task's text."""
    name: str
    """Of the workflow."""
    chosen: Mapping[str, str] = field(default_factory=dict[str, str])
    """For ids of places the expression that stands there, whatever its bits: the answers of a person or a model."""
    excluded: Collection[str] = ()
    """Documents (`Workflow.document`) of workflows that were refuted."""


@dataclass(frozen=True)
class Alternative:
    """One of the expressions, or structures, that explain the traces at a place."""

    text: str
    bits: float
    """Above the likeliest one."""
    workflow: Workflow
    """The whole workflow with this alternative."""


@dataclass(frozen=True)
class Place:
    """A place of the workflow where several alternatives explain the traces."""

    id: str
    """The id of a condition, `node.argument`, `node.output` for an answer, or `structure`."""
    kind: Literal["condition", "value", "structure"]
    alternatives: tuple[Alternative, ...]
    """The likeliest first; it is the one in the workflow."""


@dataclass(frozen=True)
class Hole:
    """A place whose values nothing explains."""

    id: str
    """As of `Place`: `refund.cents`."""
    records: tuple[Record, ...] = ()
    """Its visits. Empty for a condition."""


@dataclass(frozen=True)
class Induction:
    """A workflow that was induced."""

    workflow: Workflow
    """With the evidence for its parts, and its rivals."""
    bits: float
    places: tuple[Place, ...] = ()
    holes: tuple[Hole, ...] = ()
    """The places whose values nothing explains."""
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds."""
    refused: tuple[str, ...] = ()
    """The values without a source that tools would get which may change something."""
    left_out: tuple[str, ...] = ()
    """Tools whose calls were left out because nothing needs their results."""

    @property
    def unexplained(self) -> tuple[str, ...]:
        """The ids of the holes."""
        return tuple(hole.id for hole in self.holes)

    @property
    def sound(self) -> bool:
        """Whether the workflow passes `check`, and no tool that may change something gets a guess."""
        return not self.problems and not self.refused

"""The report of an exporter: which parts of a workflow were kept, approximated or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Record


class Note(Record):
    """A part of a workflow that another format does not keep."""

    part: str
    """A node's id, an edge (`any -> mean (true)`), or a part of the whole (`inputs`)."""
    note: str
    """The difference."""


class Fidelity(Record):
    """Which parts of a workflow another format keeps.

    *Kept*: the other form does the same, or reading it back gives the same. *Approximated*: present with a difference.
    *Lost*: absent.
    """

    kept: tuple[str, ...] = ()
    """Parts, as in `Note.part`."""
    approximated: tuple[Note, ...] = ()
    lost: tuple[Note, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether everything was kept."""
        return not self.approximated and not self.lost

    def summary(self) -> str:
        """The report as one line: how much was approximated and lost, and why."""
        groups = (("approximated", self.approximated), ("lost", self.lost))
        return "; ".join(f"{kind} {_counted(notes)}" for kind, notes in groups if notes)


class Export(NamedTuple):
    """A workflow in another format."""

    text: str
    fidelity: Fidelity


def _counted(notes: Sequence[Note]) -> str:
    """The number of parts, with the reason that most of them have."""
    (reason, _), *others = Counter(note.note for note in notes).most_common()
    more = f"; and {len(others)} other reason{'s' if len(others) > 1 else ''}" if others else ""
    return f"{notes[0].part if len(notes) == 1 else f'{len(notes)} parts'} ({reason}{more})"


def report(
    parts: Iterable[str], workflow: Workflow, approximated: Iterable[Note] = (), lost: Iterable[Note] = ()
) -> Fidelity:
    """The report of an exporter that keeps everything but what the notes are about.

    Args:
        parts: What is kept of the whole, such as `inputs`.
        workflow: The workflow, whose nodes and edges are parts, too.
        approximated: Notes on parts that are present with a difference.
        lost: Notes on parts that are absent.
    """
    near, gone = tuple(approximated), tuple(lost)
    changed = {note.part for note in (*near, *gone)}
    names = (*parts, *workflow.by_id, *(edge.label for edge in workflow.edges))
    return Fidelity(kept=tuple(name for name in names if name not in changed), approximated=near, lost=gone)

"""What an exporter says beside its text: which parts of a workflow were kept, approximated or lost."""

from __future__ import annotations

from typing import NamedTuple

from tools_registry.specs.spec import Record


class Note(Record):
    """A part of a workflow that another format does not hold as it is."""

    part: str
    """A node's id, an edge as messages name it (`any -> mean (true)`), or what it is of the whole (`inputs`)."""
    note: str
    """What became of it."""


class Fidelity(Record):
    """What became of a workflow in another format.

    *Kept*: the reader of the format does the same, or reading it back gives the same. *Approximated*: there, but
    not to the letter. *Lost*: not there.
    """

    kept: tuple[str, ...] = ()
    """Parts, as in `Note.part`."""
    approximated: tuple[Note, ...] = ()
    lost: tuple[Note, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether everything was kept."""
        return not self.approximated and not self.lost

    def lines(self) -> list[str]:
        """The report as a reader sees it: one line for what was kept, one for every other part."""
        return [
            f"kept: {', '.join(self.kept) or 'nothing'}",
            *(f"approximated: {note.part}: {note.note}" for note in self.approximated),
            *(f"lost: {note.part}: {note.note}" for note in self.lost),
        ]


class Export(NamedTuple):
    """A workflow in another format."""

    text: str
    fidelity: Fidelity

"""FlowMind's own traces, as `Trace.dump` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowmind.base.files import validate
from flowmind.formats.conversation import fields_of
from flowmind.formats.openai_messages import is_trace
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import at, entries, record
from flowmind.trace.events import Said, Trace


def imported(entry: Any) -> Imported:
    """A trace of an entry. An imported trace keeps its recording.

    Raises:
        ValueError: If it is none.
    """
    trace = validate(Trace, record(entry, "it"))
    asked = any(isinstance(event, Said) and event.role == "user" for event in trace.events)
    return Imported(trace, given=bool(trace.inputs) or not asked)


def _read(document: Any) -> Iterator[Imported]:
    for place, entry in entries(document, lambda value: False):
        with at(place):
            yield imported(entry)


def _recognises(document: Any) -> bool:
    listed = [entry for _, entry in entries(document, lambda value: False)]
    return bool(listed) and all(is_trace(entry) and isinstance(fields_of(entry).get("stop"), str) for entry in listed)


FLOWMIND = Reader("traces of FlowMind", _recognises, _read)

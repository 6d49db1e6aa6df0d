"""The slots that the calls of an episode show by their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowmind.dialogue.procedures.mentions import mentioned
from flowmind.dialogue.procedures.procedure import Procedure
from flowmind.trace.events import Called
from flowmind.workflow.document import Binding, Var


def counted(procedure: Procedure, calls: Sequence[Called]) -> tuple[Called, ...]:
    """The calls that count for a procedure: the successful ones of its tools."""
    return tuple(made for made in calls if made.observation.ok and made.call.tool in procedure.nodes)


def latest(procedure: Procedure, calls: Sequence[Called]) -> dict[str, Any]:
    """The slots that calls show, each with its latest value."""
    return {slot: values[-1] for slot, values in _shown(procedure, calls).items()}


def last_said(procedure: Procedure, calls: Sequence[Called], said: Sequence[str]) -> dict[str, Any]:
    """The slots that calls show; of several values the one that the user mentioned last.

    Args:
        procedure: The procedure.
        calls: The calls of an episode.
        said: The texts of the user, in order.
    """
    return {
        slot: max(enumerate(values), key=lambda placed: (_mention(placed[1], said), placed[0]))[1]
        for slot, values in _shown(procedure, calls).items()
    }


def _shown(procedure: Procedure, calls: Sequence[Called]) -> dict[str, list[Any]]:
    """The values of each slot in the arguments of calls, in order.

    An argument that has different slots at several nodes of its tool shows none.
    """
    values: dict[str, list[Any]] = {}
    for made in counted(procedure, calls):
        nodes = procedure.nodes[made.call.tool]
        for name, value in made.call.args.items():
            slots = {_slot(node.args.get(name)) for node in nodes}
            if len(slots) == 1 and (slot := slots.pop()) in procedure.slots:
                values.setdefault(slot, []).append(value)
    return values


def _slot(binding: Binding | None) -> str:
    return binding.var if isinstance(binding, Var) and not binding.path else ""


def _mention(value: Any, said: Sequence[str]) -> int:
    """The number, from 1, of the last text that mentions a value; 0 if none does."""
    if value is None or isinstance(value, bool):
        return 0
    return next((place for place in range(len(said), 0, -1) if mentioned(value, said[place - 1])), 0)


def written(procedure: Procedure, calls: Sequence[Called]) -> dict[str, Any]:
    """The latest values of the slots, and for a write those of the write."""
    writes = [made for made in counted(procedure, calls) if made.call.tool in procedure.writes]
    return {**latest(procedure, calls), **latest(procedure, writes[-1:])}

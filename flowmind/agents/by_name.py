"""Values by name: the references in an agent's calls and answer, and the names of the results (`+refs`).

Without `Brief.references` a text is a text, and observations have no names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowmind.protocols import Brief
from flowmind.trace.events import Called, Event, Origin, Refused
from flowmind.trace.references import BadReference, Resolved, resolve, resolve_call
from tools_registry.specs.spec import Observation, ToolCall

TOLD = 4
"""The call of a tool on its own result from which on the agent is told."""


def named_call(
    call: ToolCall, brief: Brief, events: Sequence[Event]
) -> tuple[ToolCall, dict[str, Origin], Observation | None]:
    """A call with the values that it names, the origins that it states, and the failure of a reference if one fails."""
    if not brief.references:
        return call, {}, None
    try:
        return *resolve_call(call, brief.inputs, _results(events)), None
    except BadReference as error:
        return call, {}, Observation.failed("reference", str(error))


def named_value(value: Any, brief: Brief, events: Sequence[Event]) -> Resolved:
    """An answer with the values that it names.

    Raises:
        BadReference: If a reference stands for no value.
    """
    return resolve(value, brief.inputs, _results(events)) if brief.references else Resolved(value, None)


def numbered(text: str, brief: Brief, events: Sequence[Event]) -> str:
    """The text of the next observation, with the name that the agent may use for its result."""
    name = f"Observation ${len(_results(events)) + 1}:"
    return text.replace("Observation:", name, 1) if brief.references else text


def chained(events: Sequence[Event], step: Called | Refused) -> int:
    """The number of calls of a tool before a call of it, each of which gave the next one its whole result, by name.

    The other arguments of these calls are the same.
    """
    calls = [event for event in [*events, step] if isinstance(event, Called)]
    before = 0
    for number in range(len(calls) - 1, 0, -1):
        earlier, later = calls[number - 1], calls[number]
        passed = {name for name, origin in later.stated.items() if _is_result(origin, number - 1)}
        alike = (earlier.call.tool, earlier.phase) == (later.call.tool, later.phase)
        if not (passed and alike and _without(earlier, passed) == _without(later, passed)):
            break
        before += 1
    return before


def _results(events: Sequence[Event]) -> list[Observation]:
    return [event.observation for event in events if isinstance(event, Called)]


def _is_result(origin: Origin, step: int) -> bool:
    """Whether a value is the whole result of a call, or has it as a part."""
    whole = origin.kind == "output" and origin.step == step and not origin.path
    return whole or any(_is_result(part, step) for part in origin.parts.values())


def _without(step: Called, names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in step.call.args.items() if name not in names}

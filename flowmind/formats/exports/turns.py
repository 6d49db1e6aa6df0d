"""The turns of an agent's trace, for formats that have one entry a turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowmind.trace.events import Called, Planned, Refused, Said, Trace, Turn


@dataclass
class AgentTurn:
    """One reply of an agent's model, with what came before it."""

    before: list[Said] = field(default_factory=list[Said])
    """The texts of the user and the system."""
    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[Called | Refused] = field(default_factory=list[Called | Refused])
    reply: Turn | None = None
    """The reply of the model, if it was kept."""


def is_workflow(trace: Trace) -> bool:
    """Whether a workflow ran, and no agent: an event names a node."""
    return any(getattr(event, "node", None) for event in trace.events)


def call_ids(trace: Trace) -> dict[int, str]:
    """The ids of a trace's calls, by the identities of their events; a call without one is named by its number."""
    events = [event for event in trace.events if isinstance(event, Called | Refused)]
    given = {id(event): event.id for event in events if isinstance(event, Called)}
    return {id(event): given.get(id(event)) or f"call_{number}" for number, event in enumerate(events)}


def agent_turns(trace: Trace) -> list[AgentTurn]:
    """The turns of an agent, in order. A call without the number of a turn is a turn of its own."""
    turns = {number: AgentTurn(reply=reply) for number, reply in enumerate(trace.turns)}
    unnumbered: list[AgentTurn] = []
    for event in trace.events:
        if not isinstance(event, Said | Planned | Called | Refused):
            continue
        if event.turn is None:
            unnumbered.append(AgentTurn())
        turn = unnumbered[-1] if event.turn is None else turns.setdefault(event.turn, AgentTurn())
        match event:
            case Said(role="agent"):
                turn.texts += filter(None, [event.text])
            case Said():
                turn.before.append(event)
            case Planned():
                turn.texts += filter(None, [event.analysis, *event.steps])
            case Called() | Refused():
                turn.calls.append(event)
        if isinstance(event, Called | Refused) or (isinstance(event, Said) and event.role == "agent"):
            turn.thoughts += filter(None, [event.reasoning])
    return [turns[number] for number in sorted(turns)] + unnumbered

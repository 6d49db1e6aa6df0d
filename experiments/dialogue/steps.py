"""The steps of a session as a page shows them: the events, and where in a procedure the agent was at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.dialogue.procedures.due import due, episode
from flowmind.dialogue.procedures.procedure import Procedure
from flowmind.trace.events import Called, Event, Refused, Said, Trace
from flowmind.trace.scenario import CONFIRMED
from flowmind.workflow.document import ToolNode, Workflow
from tools_registry.specs.spec import ToolCall

_CONSENT = {"affirm": True, "deny": False}


@dataclass(frozen=True)
class Sight:
    """The procedure of a scenario and the number of its drawing."""

    procedure: Procedure
    workflow: Workflow
    drawing: int

    def nodes_of(self, tool: str) -> list[str]:
        """The nodes that call a tool."""
        return [node.id for node in self.workflow.nodes if isinstance(node, ToolNode) and node.tool == tool]


def steps_of(
    trace: Trace, scenarios: Sequence[str], sights: Mapping[str, Sight], licensed: Mapping[int, bool]
) -> Iterator[dict[str, Any]]:
    """The steps of a session.

    Args:
        trace: The session.
        scenarios: The scenarios of the session's goals.
        sights: The procedures, by the id of their scenario; the nodes of other scenarios are not given.
        licensed: By the index of a call's event, whether the procedure allows the call.
    """
    focus = scenarios[0] if scenarios else ""
    advised: set[int] = set()
    for place, event in enumerate(trace.events):
        step = _step(event)
        if step is None:
            continue
        focus = _focus(event, scenarios, sights, focus)
        turn = event.turn if isinstance(event, Said | Called | Refused) else None
        if step["lane"] != "user" and turn is not None and turn < len(trace.turns) and turn not in advised:
            advised.add(turn)
            step["advice"] = trace.turns[turn].advice
        if place in licensed:
            step["licensed"] = licensed[place]
        yield step | _nodes(sights.get(focus), focus, trace.events[: place + 1], licensed.get(place, True))


def _focus(event: Event, scenarios: Sequence[str], sights: Mapping[str, Sight], now: str) -> str:
    """The scenario that an event belongs to; the one before, if the event does not show another."""
    if isinstance(event, Called | Refused):
        fitting = [id for id in scenarios if id in sights and sights[id].nodes_of(event.call.tool)]
        return now if now in fitting or not fitting else fitting[0]
    named = [act.scenario for act in event.acts if act.scenario in scenarios] if isinstance(event, Said) else []
    return named[-1] if named else now


def _nodes(sight: Sight | None, scenario: str, events: Sequence[Event], licensed: bool) -> dict[str, Any]:
    """The nodes that the episode has passed, those that are due, and those of a call that the procedure forbids."""
    if sight is None:
        return {"at": None}
    event, procedure, known = events[-1], sight.procedure, _known(events, scenario)
    if isinstance(event, Said) and event.role == "agent":
        calls = episode(procedure, events[:-1])
        answers = due(procedure, known, calls, infer=True)
        if answers and all(step.kind == "answer" for step in answers):
            ends = [step.node for step in answers]
            return {"at": sight.drawing, "passed": [*_passed(sight, calls), *ends], "due": [], "wrong": []}
    calls = episode(procedure, events)
    forbidden = isinstance(event, Refused) or (isinstance(event, Called) and not licensed)
    wrong = sight.nodes_of(event.call.tool) if forbidden and isinstance(event, Called | Refused) else []
    return {
        "at": sight.drawing,
        "passed": [node for node in _passed(sight, calls) if node not in wrong],
        "due": list(dict.fromkeys(step.node for step in due(procedure, known, calls, infer=True))),
        "wrong": wrong,
    }


def _passed(sight: Sight, calls: Sequence[Called]) -> list[str]:
    made = dict.fromkeys(call.call.tool for call in calls if call.observation.ok)
    return [node for tool in made for node in sight.nodes_of(tool)]


def _known(events: Sequence[Event], scenario: str) -> dict[str, Any]:
    """The values that a simulated user has given, None for those that it does not have."""
    known: dict[str, Any] = {}
    for act in (act for event in events if isinstance(event, Said) for act in event.acts):
        if act.scenario not in ("", scenario):
            continue
        if act.kind in ("inform", "correct", "unknown") and act.slot:
            known[act.slot] = act.value
        elif act.kind in _CONSENT:
            known[CONFIRMED] = _CONSENT[act.kind]
    return known


def _step(event: Event) -> dict[str, Any] | None:
    """An event as the page's script reads it; None for one that is not shown."""
    match event:
        case Said(role="user"):
            return {"lane": "user", "text": event.text, "intervention": event.intervention}
        case Said(role="agent"):
            return {
                "lane": "agent",
                "text": event.text,
                "answer": event.answer,
                "reasoning": event.reasoning,
                "verdicts": event.verdicts,
            }
        case Called():
            error = event.observation.error
            return {
                "lane": "world",
                **_call(event.call),
                "value": event.observation.value if error is None else f"{error.type}: {error.message}",
                "failed": error is not None,
                "reasoning": event.reasoning,
                "verdicts": event.verdicts,
            }
        case Refused():
            return {
                "lane": "refused",
                **_call(event.call),
                "by": event.by,
                "reason": event.reason,
                "reasoning": event.reasoning,
                "verdicts": event.verdicts,
            }
        case _:
            return None


def _call(call: ToolCall) -> dict[str, Any]:
    return {"tool": call.tool, "args": call.args}

"""What a procedure asks for now: the walk from its start through the calls of an episode.

An *episode* is the part of a session since the last text of the agent that was said while an answer was due. The state
of the world changes by writes only, so a read holds until the next write.

The idea of dependencies between the nodes of a procedure is that of FlowAgent, section 4.2. The walk differs from it in
that it reads the arguments and the results of calls, not only the names of the tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowmind.dialogue.procedures.procedure import Procedure
from flowmind.dialogue.procedures.shown import last_said, latest, written
from flowmind.dialogue.procedures.walking import Due, State, Walk, agreed, walk
from flowmind.trace.events import Called, Event, Said
from flowmind.trace.scenario import CONFIRMED
from tools_registry.specs.spec import ToolCall


def due(
    procedure: Procedure, known: Mapping[str, Any], calls: Sequence[Called], infer: bool = False
) -> tuple[Due, ...]:
    """What a procedure asks for now; several steps where it forks, none if it cannot be walked.

    Args:
        procedure: The procedure.
        known: The slots that the user has given, by name; None for a value that the user does not have.
        calls: The calls of the episode, as `episode` gives them. Failed calls do not count.
        infer: Take slots that are not known from the arguments of the calls, and take consent as given.
    """
    if procedure.workflow is None or not procedure.walkable:
        return ()
    shown = {**written(procedure, calls), CONFIRMED: True} if infer else procedure.workflow.input_defaults
    return walk(procedure, {**shown, **known}, calls, infer).due


def progress(procedure: Procedure, calls: Sequence[Called]) -> Walk:
    """The walk with the slots that the calls of an episode show; consent counts as given and as denied."""
    return walk(procedure, written(procedure, calls), calls, infer=True)


def user_texts(events: Sequence[Event]) -> list[str]:
    """The texts of the user, in order."""
    return [event.text for event in events if isinstance(event, Said) and event.role == "user"]


def episode(procedure: Procedure, events: Sequence[Event]) -> tuple[Called, ...]:
    """The calls since the agent last said something while an answer of the procedure was due.

    Whether an answer was due is inferred from the calls, and from the values that the user mentioned. All calls, if the
    procedure cannot be walked.
    """
    return episodes(procedure, events)[-1]


def episodes(procedure: Procedure, events: Sequence[Event]) -> tuple[tuple[Called, ...], ...]:
    """The calls of all episodes, in order; those of the present one come last."""
    done: list[tuple[Called, ...]] = []
    calls: list[Called] = []
    said: list[str] = []
    for event in events:
        if isinstance(event, Called):
            calls.append(event)
        elif isinstance(event, Said) and event.role == "user":
            said.append(event.text)
        elif isinstance(event, Said) and event.role == "agent" and calls and _answers(procedure, calls, said):
            done.append(tuple(calls))
            calls = []
    return (*done, tuple(calls))


def _answers(procedure: Procedure, calls: Sequence[Called], said: Sequence[str]) -> bool:
    """Whether nothing but an answer is due, by one of the readings of the calls."""
    for slots in _readings(procedure, calls, said):
        steps = due(procedure, slots, calls, infer=True)
        if steps and all(step.kind == "answer" for step in steps):
            return True
    return False


def _readings(procedure: Procedure, calls: Sequence[Called], said: Sequence[str]) -> list[dict[str, Any]]:
    """The slots that calls may be about: their latest values, those said last, and those of the last write."""
    readings: list[dict[str, Any]] = []
    for slots in (latest(procedure, calls), last_said(procedure, calls, said), written(procedure, calls)):
        if slots not in readings:
            readings.append(slots)
    return readings


class Approach(NamedTuple):
    """How near a procedure is to a call: the walk with the slots that the call's arguments give."""

    walk: Walk
    reached: bool
    """Whether the walk comes to a node that makes the call."""
    repeated: bool
    """Whether the call is a write that the episode has made already."""


def approach(procedure: Procedure, call: ToolCall, calls: Sequence[Called], said: Sequence[str] = ()) -> Approach:
    """Whether a procedure that can be walked makes a call after the calls of an episode.

    Consent counts as given or denied, as the call needs it. A value that a slot cannot have leads nowhere. Of several
    nodes that call the tool the best counts, and so of several values of the slots that the call does not take.

    Args:
        procedure: The procedure.
        call: The call that is proposed.
        calls: The calls of the episode.
        said: The texts of the user.
    """
    defaults = procedure.defaults.get(call.tool, {})
    best: Approach | None = None
    for node in procedure.nodes.get(call.tool, ()):
        given = agreed(node, call.args, {}, defaults, infer=True) or {}
        own = {name: value for name, value in given.items() if name in procedure.slots}
        fits = procedure.misfit(own) is None
        for slots in _readings(procedure, calls, said):
            walked = walk(procedure, {**slots, **own}, calls, infer=True)
            states = [
                state
                for visited, state in walked.visits
                if fits
                and visited.id == node.id
                and agreed(node, call.args, state.values, defaults, infer=True) is not None
            ]
            repeated = bool(states) and all(_made(procedure, call, walked, state) for state in states)
            near = Approach(walked, bool(states), repeated)
            if best is None or (near.reached, not near.repeated) > (best.reached, not best.repeated):
                best = near
    return best or Approach(progress(procedure, calls), False, False)


def _made(procedure: Procedure, call: ToolCall, walked: Walk, state: State) -> bool:
    """Whether the episode has a write of the tool that the walk has not passed as another node's."""
    return call.tool in procedure.writes and any(
        made.call.tool == call.tool and index not in state.writes for index, made in enumerate(walked.calls)
    )

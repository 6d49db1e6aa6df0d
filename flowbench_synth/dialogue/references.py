"""Reference sessions: an agent without a language model with a user without one, and a record for each of its turns.

Only sessions that succeed are references, and only those in which no call failed and each call is one of the gold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from flowbench_synth.dialogue.sessions import Drawn
from flowmind.dialogue.following.follow import FollowModel
from flowmind.dialogue.holding import hold
from flowmind.dialogue.methods import METHODS
from flowmind.dialogue.procedures.due import due, episode
from flowmind.dialogue.procedures.procedure import Procedure, procedure_of
from flowmind.dialogue.procedures.walking import Due
from flowmind.dialogue.users.agenda import Agenda, AgendaUser
from flowmind.dialogue.users.spotting import hear
from flowmind.evaluation.dialogue import score_session
from flowmind.trace.events import Called, Event, Refused, Said, Trace
from flowmind.trace.scenario import CONFIRMED, DialogueData, Reference, Session, SessionGold, state_changes
from flowmind.trace.telling import tells
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.stateful import Remembered, without_state
from tools_registry.specs.spec import ToolSpec

SHARE = 6
"""Of so many sessions one is a reference, in both forms."""
_TRIES = 3
"""For each reference so many sessions are tried."""
FORMAT = "pdl"
"""The knowledge of the agent."""


def references_of(drawn: Sequence[Drawn], data: DialogueData, tools: Environment, seed: int) -> list[Reference]:
    """The turns of reference sessions of a role, in the order of the sessions.

    Args:
        drawn: The sessions of the role.
        data: The same sessions with their scenarios, databases and tools.
        tools: The tools, with the parameter `db`.
        seed: The seed of the benchmark.
    """
    wanted = -(-len(drawn) // SHARE)
    order = Random(f"{seed}/references/{drawn[0].session.id}").sample(range(len(drawn)), len(drawn)) if drawn else []
    kept: dict[int, list[Reference]] = {}
    maker = _Maker(data, tools, seed)
    for index in order[: _TRIES * wanted]:
        turns = maker.turns(drawn[index].session, drawn[index].gold)
        if turns:
            kept[index] = turns
        if len(kept) == wanted:
            break
    return [turn for index in sorted(kept) for turn in kept[index]]


class _Maker:
    def __init__(self, data: DialogueData, tools: Environment, seed: int) -> None:
        self._data = data
        self._tools = tools
        self._seed = seed
        self._remembered = Remembered()
        self._specs: Mapping[str, ToolSpec] = {name: without_state(tool.spec) for name, tool in data.tools.items()}
        self._procedures = {
            name: procedure_of(scenario.workflow, self._specs) for name, scenario in data.scenarios.items()
        }

    def turns(self, session: Session, gold: SessionGold) -> list[Reference]:
        """The turns of a session in both forms; none if one of them is no reference."""
        turns: list[Reference] = []
        for oow in (False, True):
            user = AgendaUser(session, self._data.scenarios, self._seed, oow)
            trace = self._held(session, gold, user)
            if trace is None:
                return []
            turns += self._records(session, trace, user, oow)
        return turns

    def _held(self, session: Session, gold: SessionGold, user: AgendaUser) -> Trace | None:
        """The trace of a session; None if it is no reference."""
        method = METHODS["react"]
        held = hold(session, self._data, FollowModel(), method, FORMAT, user, self._tools, remembered=self._remembered)
        result = asyncio.run(held)
        changes = state_changes(self._data.start(session), result.state)
        score = score_session(result.trace, gold, result.digest, changes, self._specs)
        right = [call for item in gold.golds[: score.fired + 1] for goal in item.goals for call in goal.calls]
        clean = all(event.observation.ok and event.call in right for event in result.trace.calls)
        refused = any(isinstance(event, Refused) for event in result.trace.events)
        return result.trace if score.success and clean and not refused and result.trace.ok else None

    def _records(self, session: Session, trace: Trace, user: AgendaUser, oow: bool) -> Iterator[Reference]:
        form = "oow" if oow else "iw"
        number = 0
        for place, event in enumerate(trace.events):
            if not (isinstance(event, Called) or (isinstance(event, Said) and event.role == "agent")):
                continue
            number += 1
            before = trace.events[:place]
            agenda = user.agenda(Trace(events=before, stop="finish"))
            last = [said for said in before if isinstance(said, Said) and said.role == "user"][-1]
            common: dict[str, Any] = {
                "id": f"{session.id}.{form}.{number}",
                "session": session.id,
                "oow": oow,
                "fired": last.intervention is not None,
                "events": tuple(bare(earlier) for earlier in before),
            }
            procedure = self._procedures[agenda.scenario.id]
            if isinstance(event, Called):
                yield Reference(**common, call=event.call, node=_node(_due(procedure, agenda)))
            else:
                yield Reference(**common, **self._said(event, procedure, agenda))

    def _said(self, event: Said, procedure: Procedure, agenda: Agenda) -> dict[str, Any]:
        """The gold text of a turn with what it asks and tells. The agent asks for one slot at a time."""
        heard = hear(event.text, agenda.scenario, agenda.slots)
        facts: dict[str, Any] = {}
        if agenda.end is not None and (event.answer or not agenda.finished):
            facts = {name: value for name, value in agenda.end.facts.items() if tells(event.text, value)}
        steps = _due(procedure, agenda)
        wanted = [slot for slot in heard.asked if any(slot in step.missing for step in steps)]
        return {
            "text": event.text,
            "answer": event.answer,
            "asks": (*wanted[:1], *([CONFIRMED] if heard.consent else [])),
            "tells": facts,
            "node": _node(steps),
        }


def bare(event: Event) -> Event:
    """An event without the agent's reasoning, which is no part of what happened."""
    return event.model_copy(update={"reasoning": ""}) if isinstance(event, Said | Called) else event


def _due(procedure: Procedure, agenda: Agenda) -> tuple[Due, ...]:
    return due(procedure, known_slots(agenda), episode(procedure, agenda.events[agenda.opened :]))


def _node(steps: Sequence[Due]) -> str:
    """The node that is due; empty if there is none, or several."""
    nodes = {step.node for step in steps}
    return nodes.pop() if len(nodes) == 1 else ""


def known_slots(agenda: Agenda) -> dict[str, Any]:
    """The values that the user has given, with its answer to the last proposal."""
    known: dict[str, Any] = {}
    for event in agenda.events:
        for act in event.acts if isinstance(event, Said) else ():
            if act.kind in ("inform", "correct", "unknown") and act.slot in agenda.scenario.slots:
                if known.get(act.slot) != act.value:
                    known.pop(CONFIRMED, None)
                known[act.slot] = act.value
            elif act.kind in ("affirm", "deny"):
                known[CONFIRMED] = act.kind == "affirm"
            elif act.kind == "open":
                known.pop(CONFIRMED, None)
    return known

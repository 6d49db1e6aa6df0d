"""What a user of a session knows before it speaks: a fold over what was said and called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from flowmind.dialogue.users.goals import StandingGoal, concerned, goals_after
from flowmind.dialogue.users.reaching import Course, Reached
from flowmind.dialogue.users.renderings import spoken
from flowmind.dialogue.users.spotting import Heard, contradicted, hear, parroted
from flowmind.trace.events import Act, ActKind, Called, Event, Said
from flowmind.trace.scenario import CONFIRMED, Intervention, Scenario, Session
from flowmind.trace.telling import tells

_GIVING: tuple[ActKind, ...] = ("inform", "correct", "unknown")
_NEWS: frozenset[ActKind] = frozenset(
    {"open", "inform", "correct", "affirm", "deny", "request", "cancel", "add", "unknown"}
)
_UNSETTLING = ("vague", "partial", "wrong_value")
"""Interventions after which the agent no longer knows the slot that it asked for."""


@dataclass(frozen=True)
class Agenda:
    """What a user knows before a text: the session so far, and what it makes of it."""

    scenario: Scenario
    """Of the goal that is worked on."""
    number: int
    """The goal that is worked on, from 0."""
    goals: tuple[StandingGoal, ...]
    events: tuple[Event, ...]
    text: str
    """What the agent said since the user's last text."""
    heard: Heard
    opened: int
    """The index of the user's text that named the goal."""
    changed: int
    """The index of the user's last text that named the goal or changed a value."""
    fired: int
    """Interventions so far."""
    given: Mapping[str, int]
    """For each slot about which the agent was told what holds now, the index of the user's text that told it."""
    acts: tuple[Act, ...]
    """The user's acts since the goal was named."""
    end: Reached | None
    """The end of the procedure that the calls lead to."""
    untold: tuple[str, ...]
    """The facts of this end that the agent has not told."""
    quiet: int
    """The user's last texts without progress."""

    @property
    def slots(self) -> dict[str, Any]:
        """The user's values."""
        return self.goals[self.number].goal.slots

    @property
    def finished(self) -> bool:
        """Whether the goal is given up, or the user was told all."""
        return self.goals[self.number].dropped or (self.end is not None and not self.untold)

    @property
    def acts_of_last_text(self) -> tuple[Act, ...]:
        """The acts of the user's last text."""
        return user_texts(self.events)[-1].acts

    def names(self, title: str) -> bool:
        """Whether the agent has used the title of a goal since this one was named."""
        return any(tells(text, title) for text in _agent_texts(self.events[self.opened :]))

    @cached_property
    def was_proposed(self) -> bool:
        """Whether the agent has asked for consent since the user last changed a value."""
        texts = _agent_texts(self.events[self.changed :])
        return any(hear(text, self.scenario, self.slots).consent for text in texts)

    @cached_property
    def wrong(self) -> tuple[str, ...]:
        """The slots for which the agent's text has another value than the user's."""
        results = _results(self.events)
        said = [event.text for event in user_texts(self.events)]

        def is_wrong(slot: str) -> bool:
            value = self.slots.get(slot)
            parrots = value is not None and parroted(self.text, slot, self.scenario, value, said)
            return parrots or contradicted(self.text, slot, self.scenario, self.slots, results)

        return tuple(filter(is_wrong, self.scenario.slots))


def agenda_of(
    session: Session, scenarios: Mapping[str, Scenario], courses: Mapping[str, Course], events: Sequence[Event]
) -> Agenda:
    """What a user knows before its next text.

    Args:
        session: The session.
        scenarios: By id.
        courses: The workflows of the scenarios, by id.
        events: The session so far; the user has spoken at least once.
    """
    fired = sum(said.intervention is not None for said in user_texts(events))
    goals = goals_after(session, fired)
    openings = [index for index, event in enumerate(events) if _acts(event, "open")]
    number, opened = len(openings) - 1, openings[-1]
    goal = goals[number].goal
    scenario = scenarios[goal.scenario]
    changed = max([opened, *(index for index, event in enumerate(events) if _changes(session, event))])
    answered = any(_acts(event, "affirm", "deny") and not _acts(event, "correct") for event in events[changed:])
    values = {slot: value for slot, value in goal.slots.items() if slot != CONFIRMED or answered}
    given = _given(session, goal.slots, events, opened)
    end = courses[goal.scenario].reached(values, given, events, changed)
    text = "\n".join(_agent_texts(events[last_text(events) + 1 :]))
    return Agenda(
        scenario=scenario,
        number=number,
        goals=goals,
        events=tuple(events),
        text=text,
        heard=hear(text, scenario, goal.slots, given),
        opened=opened,
        changed=changed,
        fired=fired,
        given=given,
        acts=tuple(act for event in events[opened:] if isinstance(event, Said) for act in event.acts),
        end=end,
        untold=_untold(end, events, opened) if end else (),
        quiet=_quiet(events),
    )


def due_intervention(session: Session, course: Course, agenda: Agenda) -> int | None:
    """The number of the intervention that is due, if one is."""
    number = agenda.fired
    if number >= len(session.interventions) or agenda.goals[agenda.number].dropped:
        return None
    intervention = session.interventions[number]
    change = intervention.change
    switches = intervention.type != "irrelevant_answering" and not (change and change.add and not change.slots)
    bound = change is not None or intervention.trigger.on == "asked"
    if switches and course.written(agenda.events, agenda.opened):
        return None
    if bound and concerned(session, number) != agenda.number:
        return None
    return number if _triggered(intervention, agenda) else None


def is_progress(acts: Sequence[Act], agenda: Agenda) -> bool:
    """Whether acts say something new, or calls since the user's last text did."""
    new = any(act.kind in _NEWS and act not in agenda.acts for act in acts)
    return new or bool(_new_calls(agenda.events, last_text(agenda.events), len(agenda.events)))


def _changes(session: Session, event: Event) -> bool:
    """Whether a text of the user names a goal, corrects a value, or carries out a change."""
    if not isinstance(event, Said) or event.role != "user":
        return False
    changed = event.intervention is not None and session.interventions[event.intervention].change is not None
    return changed or bool(_acts(event, "correct", "open"))


def _given(session: Session, slots: Mapping[str, Any], events: Sequence[Event], opened: int) -> dict[str, int]:
    given: dict[str, int] = {}
    for index in range(opened, len(events)):
        event = events[index]
        if isinstance(event, Said) and event.intervention is not None:
            intervention = session.interventions[event.intervention]
            if intervention.subtype in _UNSETTLING:
                given.pop(intervention.trigger.name, None)
        for act in _acts(event, *_GIVING):
            given.pop(act.slot, None)
            if act.value == slots.get(act.slot):
                given[act.slot] = index
    return given


def _quiet(events: Sequence[Event]) -> int:
    """The number of the user's last texts that brought nothing new, and before which no call did."""
    quiet, before = 0, -1
    known: set[str] = set()
    for index, event in enumerate(events):
        if not isinstance(event, Said) or event.role != "user":
            continue
        if _acts(event, "open"):
            known = set()
        acts = {act.model_dump_json() for act in event.acts if act.kind in _NEWS}
        news = acts - known or event.intervention is not None or _new_calls(events, before, index)
        quiet = 0 if news else quiet + 1
        known |= acts
        before = index
    return quiet


def user_texts(events: Sequence[Event]) -> list[Said]:
    """The user's texts."""
    return [event for event in events if isinstance(event, Said) and event.role == "user"]


def _agent_texts(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Said) and event.role == "agent"]


def last_text(events: Sequence[Event]) -> int:
    """The index of the user's last text."""
    return max(
        (index for index, event in enumerate(events) if isinstance(event, Said) and event.role == "user"), default=-1
    )


def _acts(event: Event, *kinds: ActKind) -> list[Act]:
    return [act for act in event.acts if act.kind in kinds] if isinstance(event, Said) and event.role == "user" else []


def _new_calls(events: Sequence[Event], before: int, index: int) -> list[Event]:
    """The successful calls between two events that were not made before."""
    earlier = [event.call for event in events[: max(before, 0)] if isinstance(event, Called)]
    return [
        event
        for event in events[before + 1 : index]
        if isinstance(event, Called) and event.observation.ok and event.call not in earlier
    ]


def _untold(end: Reached, events: Sequence[Event], opened: int) -> tuple[str, ...]:
    """The facts that no text of the agent has told after the last call and after the goal was named."""
    texts = _agent_texts(events[max(end.last, opened) + 1 :])
    return tuple(
        fact for fact, value in end.facts.items() if not any(tells(text, value) for text in texts) or not texts
    )


def _triggered(intervention: Intervention, agenda: Agenda) -> bool:
    trigger, heard = intervention.trigger, agenda.heard
    if trigger.on == "turn":
        return len(user_texts(agenda.events)) + 1 >= trigger.turn and not agenda.finished
    if trigger.on == "asked":
        return trigger.name in heard.asked and not agenda.finished
    if trigger.on == "consent":
        return heard.consent and not agenda.finished
    mine = {spoken(value).casefold() for value in agenda.slots.values() if value is not None}
    results = {
        leaf for leaf in _results(agenda.events[agenda.opened :]) if len(leaf) > 1 and leaf.casefold() not in mine
    }
    return any(tells(agenda.text, leaf) for leaf in results)


def _results(events: Sequence[Event]) -> set[str]:
    """The values that calls returned."""
    values = [event.observation.value for event in events if isinstance(event, Called)]
    return {spoken(leaf) for value in values for leaf in _leaves(value)}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        parts = cast("Any", value)
        for part in parts.values() if isinstance(value, dict) else parts:
            yield from _leaves(part)
    elif value is not None and not isinstance(value, bool):
        yield value

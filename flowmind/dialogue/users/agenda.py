"""The simulated user without a model: an agenda of dialogue acts (Schatzmann et al. 2007).

The user has goals: values of slots, and facts that it wants to be told. Before each text it computes its agenda from
the session so far: what the agent's last text asks for, what of the goals is open, and which intervention is due.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from flowmind.dialogue.users.goals import StandingGoal, goals_after
from flowmind.dialogue.users.reaching import Course
from flowmind.dialogue.users.renderings import mentions, spoken
from flowmind.dialogue.users.spotting import hear
from flowmind.dialogue.users.user_state import Agenda, agenda_of, due_intervention, is_progress, last_text, user_texts
from flowmind.dialogue.users.wording import Wording, joined
from flowmind.protocols import Utterance
from flowmind.trace.events import Act, ActKind, Said, Trace
from flowmind.trace.scenario import CONFIRMED, FactWords, Scenario, Session, SlotWords
from flowmind.trace.telling import tells

PATIENCE = 3
"""A user gives up at the third text of an agent in a row that brings no progress."""
_MOST_ACTS = {"brief": 1, "plain": 2, "talkative": 3}
_TALKS_ON = 0.4
"""The rate at which a talkative user volunteers a value beside the one it was asked for."""


@dataclass
class _Text:
    """A text in the making."""

    most: int
    """The most acts that are no mere courtesy."""
    sentences: list[str] = field(default_factory=list[str])
    acts: list[Act] = field(default_factory=list[Act])

    @property
    def full(self) -> bool:
        return len(self.acts) >= self.most

    def add(self, sentence: str, *acts: Act) -> None:
        self.sentences.append(sentence)
        self.acts.extend(acts)


class AgendaUser:
    """A user with goals, a profile and interventions, who speaks without a model.

    It gives the values that it is asked for, agrees to a proposal only if nothing in it contradicts its goal, asks for
    facts that it was not told, and volunteers the next value if the agent asks nothing. It invents nothing, gives up
    after `PATIENCE` texts without progress, and says goodbye when it was told all facts of all its goals. It reads the
    agent's texts and the results of calls, never an agent's `answer`.

    Args:
        session: The session.
        scenarios: By id, those of the session's goals among them.
        seed: Of its choice of words.
        oow: Whether it carries out the session's interventions.
    """

    name = "agenda"

    def __init__(self, session: Session, scenarios: Mapping[str, Scenario], seed: int = 0, oow: bool = False) -> None:
        self.session = session
        self.scenarios = scenarios
        self.oow = oow
        self._seed = seed
        self._courses = {id: Course(scenario.workflow) for id, scenario in scenarios.items()}

    async def reply(self, trace: Trace) -> Utterance:
        """The next text."""
        return self.says(trace)

    def says(self, trace: Trace) -> Utterance:
        """The next text, at once."""
        wording = self.wording(trace)
        if not user_texts(trace.events):
            return self._opens(wording, 0, goals_after(self.session, 0))
        agenda = self.agenda(trace)
        if (due := self.due_intervention(agenda)) is not None:
            return self.carries_out(agenda, due)
        if agenda.finished:
            return self._goes_on(agenda, wording)
        text = _Text(_MOST_ACTS[self.session.profile.style])
        self._fill(text, agenda, wording)
        if agenda.quiet >= PATIENCE - 1 and not is_progress(text.acts, agenda):
            return Utterance(text=wording.gives_up(), acts=(self._act("bye", agenda),), over=True)
        return Utterance(text=joined(text.sentences), acts=tuple(text.acts))

    def wording(self, trace: Trace) -> Wording:
        """The wording of the next text."""
        said = [event.text for event in user_texts(trace.events)]
        random = Random(f"{self._seed}/{self.session.id}/{len(said)}")
        return Wording(self.session.profile.style, random, said)

    def agenda(self, trace: Trace) -> Agenda:
        """What the user knows before its next text; it has said one already."""
        return agenda_of(self.session, self.scenarios, self._courses, trace.events)

    def due_intervention(self, agenda: Agenda) -> int | None:
        """The number of the intervention that is due, if one is."""
        return due_intervention(self.session, self._courses[agenda.scenario.id], agenda) if self.oow else None

    def _opens(
        self, wording: Wording, number: int, goals: Sequence[StandingGoal], lead: str | None = None
    ) -> Utterance:
        goal = goals[number].goal
        scenario = self.scenarios[goal.scenario]
        text = _Text(_MOST_ACTS[self.session.profile.style])
        act = Act(kind="open", scenario=scenario.id)
        announced = number >= len(self.session.goals)
        text.add(wording.opens(scenario, lead is None, announced), act)
        if lead is None:
            self._talks_on(text, wording, scenario, goal.slots, self._awaited(0))
        thanks = [Act(kind="thank", scenario=scenario.id)] if lead else []
        return Utterance(text=joined((lead or "", *text.sentences)), acts=(*thanks, *text.acts))

    def carries_out(self, agenda: Agenda, number: int) -> Utterance:
        """The text of an intervention, with its acts."""
        intervention = self.session.interventions[number]
        change, text = intervention.change, intervention.text
        acts: list[Act] = []
        slots = goals_after(self.session, number + 1)[agenda.number].goal.slots
        changed = change.slots if change else {}
        if change and change.cancel:
            acts.append(self._act("cancel", agenda))
        if change and change.add:
            acts.append(Act(kind="add", scenario=change.add.scenario))
            if agenda.finished and agenda.number == len(agenda.goals) - 1:
                acts.append(Act(kind="open", scenario=change.add.scenario))
        if CONFIRMED in changed and agenda.heard.consent:
            acts.append(self._act("affirm" if changed[CONFIRMED] else "deny", agenda))
        new = [value for name, value in changed.items() if name != CONFIRMED]
        for slot, words in agenda.scenario.slots.items():
            if slot not in changed and slots.get(slot) in new:
                continue
            if slots.get(slot) is not None and _states(text, slots[slot], words, slot in changed):
                kind = "correct" if slot in changed else "inform"
                acts.append(self._act(kind, agenda, slot, slots[slot]))
        return Utterance(text=text, acts=tuple(acts) or (self._act("other", agenda),), intervention=number)

    def _goes_on(self, agenda: Agenda, wording: Wording) -> Utterance:
        """Names the next goal, or says goodbye."""
        following = agenda.number + 1
        if following < len(agenda.goals):
            lead = wording.thanks() if agenda.end else "All right."
            return self._opens(wording, following, agenda.goals, lead)
        if agenda.goals[agenda.number].dropped:
            return Utterance(text=wording.leaves(), acts=(self._act("bye", agenda),), over=True)
        lead = (
            wording.declines_offer()
            if agenda.heard.more or agenda.heard.aim or agenda.heard.consent
            else wording.thanks()
        )
        acts = (self._act("thank", agenda), self._act("bye", agenda))
        return Utterance(text=joined((lead, wording.says_goodbye())), acts=acts, over=True)

    def _fill(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        """Pops acts from the agenda."""
        taken_back = self._misspoken(agenda)
        asked = [slot for slot in agenda.heard.asked if slot not in taken_back]
        for slot in taken_back:
            words = agenda.scenario.slots[slot]
            text.add(
                wording.takes_back(words, agenda.slots[slot]), self._act("correct", agenda, slot, agenda.slots[slot])
            )
        if agenda.end is not None and not text.full:
            self._requests(text, agenda, wording)
        elif agenda.heard.consent and not set(asked) - agenda.given.keys():
            self._answers_proposal(text, agenda, wording)
        elif asked:
            self._informs(text, asked, agenda, wording)
        elif (agenda.heard.aim or agenda.heard.more) and not text.acts:
            self._insists(text, agenda, wording)
        elif not text.acts:
            self._keeps_going(text, agenda, wording)

    def _answers_proposal(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        if agenda.wrong:
            text.add(wording.denies(), self._act("deny", agenda))
            for slot in agenda.wrong:
                words, value = agenda.scenario.slots[slot], agenda.slots[slot]
                text.add(wording.corrects(words, value), self._act("correct", agenda, slot, value))
            return
        course = self._courses[agenda.scenario.id]
        open_ = [
            slot
            for slot in course.proposed
            if slot not in agenda.given
            and agenda.slots.get(slot) is not None
            and not mentions(agenda.text, agenda.slots[slot])
        ]
        if open_ or not course.writes:
            text.add(wording.accepts(), self._act("other", agenda))
            text.most += 1
            self._volunteers(text, agenda, wording)
        elif agenda.slots.get(CONFIRMED, True):
            text.add(wording.affirms(), self._act("affirm", agenda))
        else:
            text.add(wording.declines(), self._act("deny", agenda))

    def _informs(self, text: _Text, asked: Sequence[str], agenda: Agenda, wording: Wording) -> None:
        asked = [slot for slot in asked if slot not in agenda.given] or asked
        room = asked[: max(1, text.most - len(text.acts))]
        first = not text.acts
        if first and not agenda.given.keys() & asked and agenda.slots.get(room[0]) is not None:
            text.sentences.append(wording.sure())
        for slot in room:
            words, value = agenda.scenario.slots[slot], agenda.slots.get(slot)
            sole = first and len(asked) == 1
            if value is None:
                text.add(wording.unknown(words, sole), self._act("unknown", agenda, slot))
            else:
                again = slot in agenda.given
                sentence = wording.informs(words, value, sole, asked=True, again=again)
                text.add(sentence, self._act("inform", agenda, slot, value))
        known = {*agenda.given, *asked, *self._awaited(agenda.fired)}
        self._talks_on(text, wording, agenda.scenario, agenda.slots, known)

    def _requests(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        assert agenda.end is not None
        if agenda.heard.consent or agenda.heard.more or agenda.heard.aim:
            text.sentences.append(wording.declines_offer())
        for fact in agenda.untold[: max(1, text.most - len(text.acts))]:
            words = agenda.scenario.facts.get(fact) or FactWords(label=fact.replace("_", " "))
            times = sum(act.kind == "request" and act.slot == fact for act in agenda.acts)
            inexact = mentions(agenda.text, agenda.end.facts[fact])
            text.add(wording.requests(words, times, inexact), self._act("request", agenda, fact))

    def _keeps_going(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        """What to say if the agent asked for nothing that the user knows."""
        if agenda.heard.waiting and not agenda.heard.question:
            text.add(wording.waits(), self._act("other", agenda))
            return
        if agenda.heard.question and (other := self._other_goal(agenda)) is not None:
            text.sentences.append(wording.keeps_apart(other > agenda.number))
            if not agenda.given:
                self._states_aim(text, agenda, wording)
                text.most += 1
        if agenda.heard.offer:
            text.add(wording.accepts(), self._act("other", agenda))
            text.most += 1
        self._volunteers(text, agenda, wording)
        corrected = [act for act in agenda.acts_of_last_text if act.kind == "correct"]
        if not text.acts and agenda.heard.question:
            for act in corrected:
                text.add(wording.corrects(agenda.scenario.slots[act.slot], act.value), act)
        if not text.acts:
            strange = agenda.heard.question and not agenda.heard.more and not agenda.heard.waiting
            text.add(
                wording.unknown(None, True) if strange else wording.pokes(),
                self._act("unknown" if strange else "other", agenda),
            )

    def _other_goal(self, agenda: Agenda) -> int | None:
        """The number of another goal that the agent's text asks for a slot of."""
        for number, standing in enumerate(agenda.goals):
            scenario = self.scenarios[standing.goal.scenario]
            if scenario.id != agenda.scenario.id and hear(agenda.text, scenario, standing.goal.slots).asked:
                return number
        return None

    def _insists(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        """Says what it wants to an agent that asks for it, or that takes the goal for finished."""
        if agenda.given and not agenda.heard.aim:
            text.sentences.append(wording.is_not_done())
            self._volunteers(text, agenda, wording)
            if not text.acts and agenda.slots.get(CONFIRMED) and agenda.was_proposed:
                text.add(wording.still_agrees(), self._act("affirm", agenda))
        if not text.acts:
            self._states_aim(text, agenda, wording)

    def _states_aim(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        titled = agenda.names(agenda.scenario.title)
        text.add(wording.states_aim(agenda.scenario, titled), self._act("other", agenda))

    def _volunteers(self, text: _Text, agenda: Agenda, wording: Wording) -> None:
        for slot in _next_slots(agenda.scenario, agenda.slots, agenda.given):
            if not text.full:
                words, value = agenda.scenario.slots[slot], agenda.slots[slot]
                sentence = wording.informs(words, value, sole=False, asked=False)
                text.add(sentence, self._act("inform", agenda, slot, value))
                return

    def _talks_on(
        self,
        text: _Text,
        wording: Wording,
        scenario: Scenario,
        slots: Mapping[str, Any],
        without: Collection[str],
    ) -> None:
        """Lets a talkative user give a value that nobody asked for."""
        following = list(_next_slots(scenario, slots, without))
        if self.session.profile.style == "talkative" and not text.full and following and wording.chance(_TALKS_ON):
            words, value = scenario.slots[following[0]], slots[following[0]]
            sentence = wording.informs(words, value, sole=False, asked=False)
            text.add(sentence, Act(kind="inform", slot=following[0], value=value, scenario=scenario.id))

    def _awaited(self, fired: int) -> set[str]:
        """The slots that interventions to come wait to be asked for."""
        coming = self.session.interventions[fired:] if self.oow else ()
        return {intervention.trigger.name for intervention in coming if intervention.trigger.on == "asked"}

    def _misspoken(self, agenda: Agenda) -> list[str]:
        """The slot of which the user's last text gave a wrong value."""
        last = agenda.events[last_text(agenda.events)]
        if not isinstance(last, Said) or last.intervention is None:
            return []
        intervention = self.session.interventions[last.intervention]
        slot = intervention.trigger.name
        right = agenda.slots.get(slot)
        wrong = intervention.subtype == "wrong_value" and slot in agenda.scenario.slots and right is not None
        return [slot] if wrong and slot not in agenda.given else []

    def _act(self, kind: ActKind, agenda: Agenda, slot: str = "", value: Any = None) -> Act:
        return Act(kind=kind, slot=slot, value=value, scenario=agenda.scenario.id)


def _states(text: str, value: Any, words: SlotWords, changed: bool) -> bool:
    """Whether an intervention's text gives the value of a slot: it has the value, and says what it is of."""
    return tells(text, value) and (changed or len(spoken(value)) >= 4 or words.label.casefold() in text.casefold())


def _next_slots(scenario: Scenario, slots: Mapping[str, Any], given: Collection[str]) -> Iterator[str]:
    """The slots with a value that the user has not given, in the order of the scenario."""
    return (slot for slot in scenario.slots if slot not in given and slots.get(slot) is not None)

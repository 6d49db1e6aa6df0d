"""The simulated user without a model: its goals, what it spots in texts of agents, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from agent_sentences import ASKED, CONSENTS, HOTEL, NEITHER, SLOTS, VALUES, WRONG
from clerk import Clerk, hold

from flowmind.dialogue.users.agenda import AgendaUser
from flowmind.dialogue.users.goals import concerned, goals_after
from flowmind.dialogue.users.spotting import contradicted, hear, parroted
from flowmind.dialogue.users.wording import Wording
from flowmind.protocols import Utterance
from flowmind.trace.events import Act, Called, Event, Said, Trace
from flowmind.trace.scenario import Change, Goal, Intervention, Profile, Session, SlotWords, Trigger
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.specs.spec import Observation, ToolCall

MORE = HOTEL.model_copy(update={"id": "second_room", "opens": ("Hi, my friend needs a room as well.",)})
SCENARIOS = {"book_room": HOTEL, "second_room": MORE}


def find_rooms(hotel: str, arrival: str) -> dict[str, Any]:
    """Find the free rooms of a hotel.

    Args:
        hotel: Name of the hotel.
        arrival: Day as YYYY-MM-DD.

    Returns:
        The numbers of the free rooms.
    """
    return {"free": [f"R-{len(hotel)}1", f"R-{int(arrival[-2:])}7"]}


def book_room(
    hotel: str,
    arrival: str,
    departure: str,
    guests: int,
    room: str,
    budget: int,
    dinner: str | None,
    name: str,
    customer: str,
) -> dict[str, Any]:
    """Book a room.

    Args:
        hotel: Name of the hotel.
        arrival: Day as YYYY-MM-DD.
        departure: Day as YYYY-MM-DD.
        guests: Number of guests.
        room: Kind of room.
        budget: Highest price.
        dinner: Time of dinner.
        name: Name on the booking.
        customer: Customer number.

    Returns:
        The code of the booking.
    """
    return {"code": f"HB-{7731 + guests}"}


ENVIRONMENT = FunctionEnvironment([find_rooms, book_room])


def goal(scenario: str, **slots: Any) -> Goal:
    return Goal(scenario=scenario, slots=slots)


def intervention(
    on: Any,
    name: str = "",
    /,
    turn: int = 0,
    change: Change | None = None,
    type: Any = "intent_switching",
    subtype: str = "detail",
    text: str = "Something else.",
) -> Intervention:
    trigger = Trigger(on=on, name=name, turn=turn)
    return Intervention(trigger=trigger, type=type, subtype=subtype, change=change, text=text)


def session(*goals: Goal, interventions: Sequence[Intervention] = (), style: Any = "plain") -> Session:
    return Session(
        id="s",
        profile=Profile(persona="A person.", style=style),
        goals=goals or (goal("book_room", **VALUES),),
        interventions=tuple(interventions),
        max_turns=15,
    )


def user(*goals: Goal, interventions: Sequence[Intervention] = (), style: Any = "plain", seed: int = 0) -> AgendaUser:
    held = session(*goals, interventions=interventions, style=style)
    return AgendaUser(held, SCENARIOS, seed, oow=bool(interventions))


def clerk(seed: int = 0, forgets: bool = False, mistaken: Mapping[str, Any] | None = None) -> Clerk:
    return Clerk(SCENARIOS, ENVIRONMENT, seed, forgets, mistaken)


def talk(speaker: AgendaUser, *answers: str | Event) -> Utterance:
    """What a user says after an agent's texts and calls, each text answered by the user."""
    events: list[Event] = []
    utterance = speaker.says(Trace(stop="turns"))
    events.append(Said(role="user", text=utterance.text, acts=utterance.acts))
    for answer in answers:
        if not isinstance(answer, str):
            events.append(answer)
            continue
        events.append(Said(role="agent", text=answer))
        utterance = speaker.says(Trace(events=tuple(events), stop="turns"))
        said = Said(role="user", text=utterance.text, acts=utterance.acts, intervention=utterance.intervention)
        events.append(said)
    return utterance


def told(*events: Event) -> list[str]:
    return [event.text for event in events if isinstance(event, Said) and event.role == "user"]


def acts(events: Sequence[Event], kind: str) -> list[Act]:
    return [act for event in events if isinstance(event, Said) for act in event.acts if act.kind == kind]


def call(tool: str, value: Any, /, **args: Any) -> Called:
    return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value))


def test_goals_follow_the_interventions() -> None:
    interventions = (
        intervention("asked", "day", change=Change(slots={"day": "Friday"})),
        intervention("told", change=Change(cancel=True)),
        intervention("turn", turn=4, change=Change(add=goal("b", size=3))),
    )
    held = session(goal("a", day="Monday", time="10:00"), goal("b", size=1), interventions=interventions)
    assert [standing.goal for standing in goals_after(held, 0)] == list(held.goals)
    assert goals_after(held, 1)[0].goal.slots == {"day": "Friday", "time": "10:00"}
    assert [standing.dropped for standing in goals_after(held, 2)] == [True, False]
    assert [standing.goal.slots for standing in goals_after(held, 3)][1:] == [{"size": 1}, {"size": 3}]
    assert held.goals[0].slots["day"] == "Monday"


def test_an_intervention_concerns_the_goal_that_has_its_slots() -> None:
    interventions = (
        intervention("asked", "size", change=Change(slots={"size": 2})),
        intervention("told", change=Change(cancel=True)),
        intervention("told", change=Change(cancel=True)),
    )
    held = session(goal("a", day="Monday"), goal("b", size=1), interventions=interventions)
    assert [concerned(held, number) for number in range(3)] == [1, 0, 1]
    assert goals_after(held, 1)[1].goal.slots == {"size": 2}
    assert [standing.dropped for standing in goals_after(held, 3)] == [True, True]


@pytest.mark.parametrize(("text", "asked"), ASKED)
def test_slots_are_spotted_in_texts_of_agents(text: str, asked: set[str]) -> None:
    heard = hear(text, HOTEL, VALUES)
    assert set(heard.asked) == asked
    assert not heard.consent


@pytest.mark.parametrize("text", CONSENTS)
def test_requests_for_consent_are_spotted(text: str) -> None:
    heard = hear(text, HOTEL, VALUES)
    assert heard.consent
    assert not heard.asked


@pytest.mark.parametrize("text", NEITHER)
def test_other_texts_ask_for_neither(text: str) -> None:
    heard = hear(text, HOTEL, VALUES)
    assert (heard.asked, heard.consent) == ((), False)


@pytest.mark.parametrize(("text", "wrong"), WRONG)
def test_wrong_values_in_proposals_are_spotted(text: str, wrong: set[str]) -> None:
    assert {slot for slot in SLOTS if contradicted(text, slot, HOTEL, VALUES)} == wrong


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("style", ["brief", "plain", "talkative"])
def test_a_session_ends_when_everything_was_told(style: Any, seed: int) -> None:
    events, over = hold(user(style=style, seed=seed), clerk(seed, forgets=seed % 2 == 0), most=40)
    assert over
    assert [event.call.args for event in events if isinstance(event, Called)][-1] == {
        name: value for name, value in VALUES.items() if name != "confirmed"
    }
    assert [act.kind for act in events[-1].acts][-1] == "bye"  # type: ignore[union-attr]
    assert len(acts(events, "affirm")) == 1
    assert len(acts(events, "request")) == (seed % 2 == 0)
    assert {act.slot for act in acts(events, "inform")} == set(SLOTS)


def test_the_same_trace_gets_the_same_text() -> None:
    events, _ = hold(user(seed=3), clerk(3), most=40)
    assert hold(user(seed=3), clerk(3), most=40)[0] == events
    assert told(*hold(user(seed=4), clerk(3), most=40)[0]) != told(*events)
    last = Trace(events=tuple(events[:-1]), stop="turns")
    assert asyncio.run(user(seed=3).reply(last)).text == told(*events)[-1]


def test_values_are_told_in_full_and_several_with_their_labels() -> None:
    assert talk(user(), "How many guests will there be?").acts[0].value == 2
    several = talk(user(seed=5), "I need your customer number and the number of guests.")
    assert "C-20417" in several.text and "2" in several.text
    assert [act.slot for act in several.acts] == ["customer", "guests"]
    brief = talk(user(style="brief"), "What is your customer number?")
    assert brief.text == "C-20417"
    brief = talk(user(style="brief"), "I need your customer number and the number of guests.")
    assert brief.text == "Customer number: C-20417."


def test_it_invents_nothing() -> None:
    wanting = user(goal("book_room", **{**VALUES, "dinner": None}))
    reply = talk(wanting, "At what time would you like to have dinner?")
    assert [act.kind for act in reply.acts] == ["unknown"]
    assert "know" in reply.text
    known = [f"And the {words.label}?" for words in SLOTS.values()]
    reply = talk(user(), *known, "What is your favourite colour?")
    assert [act.kind for act in reply.acts] == ["unknown"]


def test_a_mistake_in_a_proposal_is_corrected_and_then_agreed_to() -> None:
    events, over = hold(user(), clerk(1, mistaken={"arrival": "2026-03-06"}), most=40)
    assert over
    assert [act.slot for act in acts(events, "correct")] == ["arrival"]
    assert [act.kind for act in [*acts(events, "deny"), *acts(events, "affirm")]] == ["deny", "affirm"]
    booking = [event.call.args for event in events if isinstance(event, Called)][-1]
    assert booking["arrival"] == "2026-03-05"


def test_a_user_who_does_not_agree_is_told_what_there_is() -> None:
    events, over = hold(user(goal("book_room", **{**VALUES, "confirmed": False})), clerk(2), most=40)
    assert over
    assert not acts(events, "affirm")
    assert len(acts(events, "deny")) == 1
    assert [event.call.tool for event in events if isinstance(event, Called)] == ["find_rooms"]


def test_a_proposal_before_the_values_are_known_gets_no_consent() -> None:
    reply = talk(user(), "Would you like me to book a room?")
    assert not [act for act in reply.acts if act.kind in ("affirm", "deny")]
    assert [act.slot for act in reply.acts if act.kind == "inform"] == ["hotel"]


def test_a_user_gives_up_after_three_texts_without_progress() -> None:
    known = [f"And the {words.label}?" for words in SLOTS.values()]
    stuck = ["Hm."] * 2
    assert not talk(user(), *known, *stuck).over
    last = talk(user(), *known, *stuck, "Hm.")
    assert last.over and [act.kind for act in last.acts] == ["bye"]


def test_a_user_volunteers_the_next_value() -> None:
    assert [act.slot for act in talk(user(), "I can do that.").acts] == ["hotel"]
    assert [act.slot for act in talk(user(), "I can do that.", "Good.").acts] == ["arrival"]


def test_a_user_names_its_goal_when_asked_for_it() -> None:
    first = talk(user())
    for question in ("How can I help you today?", "What can I do for you: Book a room or Cancel a room?"):
        reply = talk(user(), question)
        assert [act.kind for act in reply.acts] == ["other"]
        assert "room" in reply.text and reply.text != first.text


def test_a_result_that_the_user_did_not_ask_for_ends_nothing() -> None:
    wrong = call("find_rooms", {"free": ["R-1", "R-2"]}, hotel="the usual", arrival="soon")
    reply = talk(user(goal("book_room", **{**VALUES, "confirmed": False})), wrong, "The free rooms are R-1 and R-2.")
    assert not reply.over
    assert [act.slot for act in reply.acts] == ["hotel"]


def test_goals_come_one_after_another() -> None:
    goals = (goal("book_room", **VALUES), goal("second_room", **{**VALUES, "guests": 1, "name": "Ann Lee"}))
    events, over = hold(user(*goals), clerk(5), most=60)
    assert over
    assert [act.scenario for act in acts(events, "open")] == ["book_room", "second_room"]
    bookings = [
        event.call.args["guests"] for event in events if isinstance(event, Called) and event.call.tool == "book_room"
    ]
    assert bookings == [2, 1]
    second = next(text for text in told(*events) if "My friend" in text)
    assert "Hi" not in second


def test_a_change_is_carried_out_once_and_before_the_write() -> None:
    change = Change(slots={"arrival": "2026-03-07"})
    texts = "Actually, make the check-in date 2026-03-07."
    events, over = hold(user(interventions=[intervention("consent", change=change, text=texts)]), clerk(), most=40)
    assert over
    assert [event.intervention for event in events if isinstance(event, Said) and event.intervention is not None] == [0]
    assert [(act.slot, act.value) for act in acts(events, "correct")] == [("arrival", "2026-03-07")]
    tools = [event.call for event in events if isinstance(event, Called)]
    assert tools[-1].args["arrival"] == "2026-03-07"
    assert [call.tool for call in tools] == ["find_rooms", "find_rooms", "book_room"]


def test_nothing_is_switched_after_the_write() -> None:
    change = Change(slots={"arrival": "2026-03-07"})
    late = user(interventions=[intervention("turn", turn=2, change=change)])
    booked = call(
        "book_room", {"code": "HB-1"}, **{name: value for name, value in VALUES.items() if name != "confirmed"}
    )
    assert talk(late, booked, "Done.").intervention is None
    assert talk(late, "Which hotel?").intervention == 0


def test_a_change_waits_for_its_goal() -> None:
    goals = (goal("book_room", **VALUES), goal("second_room", **{**VALUES, "pet": "dog"}))
    later = user(*goals, interventions=[intervention("asked", "hotel", change=Change(slots={"pet": "cat"}))])
    assert talk(later, "Which hotel?").intervention is None


def test_a_goal_that_is_given_up_is_not_taken_up_again() -> None:
    stop = intervention("asked", "customer", change=Change(cancel=True), text="Never mind, I stay at home.")
    events, over = hold(user(interventions=[stop]), clerk(7), most=40)
    assert over
    assert len(acts(events, "cancel")) == 1
    assert not [event for event in events if isinstance(event, Called) and event.call.tool == "book_room"]


def test_a_further_goal_is_worked_on_after_the_first() -> None:
    further = Change(add=goal("second_room", **{**VALUES, "guests": 1}))
    wish = intervention(
        "asked", "hotel", change=further, text="One more thing for later. My friend needs a room as well."
    )
    events, over = hold(user(interventions=[wish]), clerk(8), most=60)
    assert over
    assert [act.kind for act in acts(events, "add")] == ["add"]
    assert [act.scenario for act in acts(events, "open")] == ["book_room", "second_room"]


def test_a_wrong_value_is_taken_back() -> None:
    slip = intervention(
        "asked", "customer", type="irrelevant_answering", subtype="wrong_value", text="It is C-9999999, I think."
    )
    reply = talk(user(interventions=[slip]), "What is your customer number?", "I cannot find that. Which hotel is it?")
    assert [(act.kind, act.slot) for act in reply.acts] == [("correct", "customer"), ("inform", "hotel")]
    reply = talk(user(interventions=[slip]), "What is your customer number?", "I need your customer number, please.")
    assert [(act.kind, act.slot) for act in reply.acts] == [("correct", "customer")]


def test_a_value_that_the_user_spoilt_is_no_longer_given() -> None:
    vague = intervention("asked", "hotel", type="irrelevant_answering", subtype="partial", text="Grand something.")
    speaker = user(goal("book_room", **{**VALUES, "confirmed": False}), interventions=[vague])
    wrong = call("find_rooms", {"free": ["R-1", "R-2"]}, hotel="Grand something", arrival="2026-03-05")
    reply = talk(speaker, "Which hotel?", wrong, "The free rooms are R-1 and R-2.")
    assert not reply.over and "Grand Plaza" in reply.text


def test_a_talkative_user_does_not_give_away_what_an_intervention_waits_for() -> None:
    shift = intervention("asked", "hotel", type="irrelevant_answering", subtype="topic_shift", text="Nice weather.")
    for seed in range(8):
        speaker = user(interventions=[shift], style="talkative", seed=seed)
        assert "hotel" not in {act.slot for act in talk(speaker).acts}
        assert talk(speaker, "Which hotel?").intervention == 0


def test_an_article_fits_its_value() -> None:
    words = SlotWords(label="gearbox", says=("It has a {value} gearbox.",))
    wording = Wording("plain", Random(0))
    assert wording.informs(words, "automatic", sole=True, asked=True) == "It has an automatic gearbox."
    assert wording.informs(words, "manual", sole=True, asked=True) == "It has a manual gearbox."


def test_what_would_you_like_asks_for_the_slot_that_says_so() -> None:
    slots = {**HOTEL.slots, "room": SlotWords(label="dish", spotted=("what would you like",))}
    dishes = HOTEL.model_copy(update={"slots": slots})
    assert hear("What would you like?", dishes, VALUES).asked == ("room",)
    assert hear("What would you like?", HOTEL, VALUES).aim


def test_every_element_of_a_fact_must_be_told() -> None:
    known = [f"And the {words.label}?" for words in SLOTS.values()]
    speaker = user(goal("book_room", **{**VALUES, "confirmed": False}))
    found = call("find_rooms", {"free": ["R-11", "1250"]}, hotel="Grand Plaza", arrival="2026-03-05")
    assert (
        talk(speaker, *known, found, "Shall I go ahead?", "Fine. Rooms 1250 and R-1 are free.").acts[0].kind
        == "request"
    )
    reply = talk(speaker, *known, found, "Shall I go ahead?", "Fine. Free are **R-11** and 1,250. Anything else?")
    assert reply.over and [act.kind for act in reply.acts] == ["thank", "bye"]


def test_goodbye_is_no_consent() -> None:
    speaker = user(goal("book_room", **{**VALUES, "confirmed": False}))
    found = call("find_rooms", {"free": ["R-11"]}, hotel="Grand Plaza", arrival="2026-03-05")
    reply = talk(speaker, "Hm.", found, "Shall I book R-11?", "R-11 is free. Would you like me to book another day?")
    assert not [act for act in reply.acts if act.kind == "affirm"]


def test_a_code_that_a_tool_returned_contradicts_no_slot() -> None:
    text = "I found the offer B-77120. Shall I go ahead?"
    assert contradicted(text, "customer", HOTEL, VALUES)
    assert not contradicted(text, "customer", HOTEL, VALUES, {"B-77120"})
    assert contradicted("Customer number: B-77120. Is that right?", "customer", HOTEL, VALUES, {"B-77120"})


def test_a_proposal_with_the_sentence_of_the_user_as_a_value_is_corrected() -> None:
    said = ["I want to stay at Grand Plaza."]
    assert parroted("Hotel: I want to stay at Grand Plaza. Guests: 2.", "hotel", HOTEL, "Grand Plaza", said)
    assert not parroted("Hotel: Grand Plaza. Guests: 2.", "hotel", HOTEL, "Grand Plaza", said)
    assert not parroted("Hotel: Grand Plaza in Lyon", "hotel", HOTEL, "Grand Plaza", said)


def test_a_correction_is_repeated_when_the_agent_asks_what_to_change() -> None:
    known = [f"And the {words.label}?" for words in SLOTS.values()]
    proposal = "Number of guests: 5. Shall I go ahead?"
    reply = talk(user(), *known, proposal, "I am sorry. Which of the values should I change?")
    assert [(act.kind, act.slot) for act in reply.acts] == [("correct", "guests")]


def test_a_listed_value_is_compared_with_its_own_slot() -> None:
    same = {**VALUES, "arrival": "2026-03-08"}
    text = "Check-in date: 2026-03-05. Check-out date: 2026-03-08. Shall I go ahead?"
    assert contradicted(text, "arrival", HOTEL, same)
    assert not contradicted(text, "departure", HOTEL, same)


def test_one_is_not_many() -> None:
    single = user(goal("book_room", **{**VALUES, "guests": 1}))
    assert "are 1" not in talk(single, "How many guests are you?").text


def test_a_user_insists_on_what_it_agreed_to() -> None:
    known = [f"And the {words.label}?" for words in SLOTS.values()]
    reply = talk(user(), *known, "Shall I book it?", "I have not booked it. Is there anything else I can do for you?")
    assert [act.kind for act in reply.acts] == ["affirm"]


def test_a_question_for_another_goal_is_answered_with_the_own() -> None:
    pets = {name: words for name, words in HOTEL.slots.items() if name == "customer"}
    pets["pet"] = SlotWords(label="pet's name")
    other = HOTEL.model_copy(update={"id": "pets", "slots": pets})
    goals = (goal("book_room", **VALUES), goal("pets", pet="Rex", customer="C-20417"))
    speaker = AgendaUser(session(*goals), {"book_room": HOTEL, "pets": other})
    reply = talk(speaker, "What is your pet's name?")
    assert "room" in reply.text
    assert [(act.kind, act.slot) for act in reply.acts] == [("other", ""), ("inform", "hotel")]


def test_consent_that_is_taken_back_is_a_denial() -> None:
    change = Change(slots={"confirmed": False})
    doubt = intervention("consent", subtype="confirmation", change=change, text="No, wait. Please do not do it.")
    events, over = hold(user(interventions=[doubt]), clerk(9), most=40)
    assert over
    assert [act.kind for act in [*acts(events, "affirm"), *acts(events, "deny")]] == ["deny"]
    assert [event.call.tool for event in events if isinstance(event, Called)] == ["find_rooms"]


def test_without_interventions_the_session_is_in_workflow() -> None:
    held = session(interventions=[intervention("turn", turn=2)])
    reply = talk(AgendaUser(held, SCENARIOS, 0, oow=False), "Which hotel?")
    assert reply.intervention is None

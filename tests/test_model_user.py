"""Users that a model plays."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from agent_sentences import HOTEL, VALUES

from flowmind.base.errors import ModelFailure
from flowmind.dialogue.users.agenda import AgendaUser
from flowmind.dialogue.users.model_user import MARKER, FreeUser, WordedUser
from flowmind.llm.testing import ScriptedChat
from flowmind.protocols import User, Utterance
from flowmind.trace.events import Act, Said, Trace
from flowmind.trace.scenario import Change, Goal, Intervention, Profile, Session, Trigger

SCENARIOS = {"book_room": HOTEL}
OPEN = Said(role="user", text="Hello, I need a hotel room.", acts=(Act(kind="open", scenario="book_room"),))


def session(*interventions: Intervention, **slots: Any) -> Session:
    return Session(
        id="s",
        profile=Profile(persona="You are a baker from Lyon.", style="plain", details="You travel with your dog."),
        goals=(Goal(scenario="book_room", slots={**VALUES, **slots}),),
        interventions=interventions,
        max_turns=15,
    )


def switch(text: str = "Actually, make the check-in date 2026-03-07.") -> Intervention:
    return Intervention(
        trigger=Trigger(on="asked", name="hotel"),
        type="intent_switching",
        subtype="detail",
        change=Change(slots={"arrival": "2026-03-07"}),
        text=text,
    )


def after(*texts: str, acts: Sequence[Act] = ()) -> Trace:
    said = [Said(role="agent", text=text) for text in texts]
    return Trace(events=(OPEN.model_copy(update={"acts": (*OPEN.acts, *acts)}), *said), stop="turns")


def reply(user: User, trace: Trace) -> Utterance:
    return asyncio.run(user.reply(trace))


def worded(model: ScriptedChat, *interventions: Intervention) -> WordedUser:
    return WordedUser(AgendaUser(session(*interventions), SCENARIOS, 0, oow=bool(interventions)), model)


def test_a_model_words_what_the_agenda_decides() -> None:
    model = ScriptedChat(['"We would love to stay at the Grand Plaza!"'])
    utterance = reply(worded(model), after("Which hotel would you like?"))
    assert utterance.text == "We would love to stay at the Grand Plaza!"
    assert [(act.kind, act.slot) for act in utterance.acts] == [("inform", "hotel")]
    prompt = model.requests[0].messages[0].content
    assert "a baker from Lyon" in prompt and "Which hotel would you like?" in prompt and "Grand Plaza" in prompt


@pytest.mark.parametrize(
    "wording",
    [
        "We would love to stay at the Plaza.",
        "The Grand Plaza, for 4 people.",
        "The Grand Plaza. My number is C-999.",
        "",
        "<think>The Grand Plaza",
        "The Grand Plaza " * 30,
    ],
)
def test_a_wording_that_loses_or_adds_a_value_is_dropped(wording: str) -> None:
    user = worded(ScriptedChat([wording]))
    trace = after("Which hotel would you like?")
    assert reply(user, trace) == user.agenda.says(trace)


@pytest.mark.parametrize(("wording", "kept"), [("Yes, go for it!", True), ("No, better not.", False), ("Hm.", False)])
def test_a_wording_keeps_a_yes(wording: str, kept: bool) -> None:
    given = [Act(kind="inform", slot=slot, value=value, scenario="book_room") for slot, value in VALUES.items()]
    utterance = reply(worded(ScriptedChat([wording])), after("Shall I book it?", acts=given))
    assert [act.kind for act in utterance.acts] == ["affirm"]
    assert (utterance.text == wording) == kept


def test_the_text_of_an_intervention_is_not_reworded() -> None:
    utterance = reply(worded(ScriptedChat([]), switch()), after("Which hotel would you like?"))
    assert utterance.text == "Actually, make the check-in date 2026-03-07."
    assert utterance.intervention == 0


def free(model: ScriptedChat, *interventions: Intervention, **slots: Any) -> FreeUser:
    return FreeUser(session(*interventions, **slots), SCENARIOS, model, oow=bool(interventions))


def test_a_free_user_is_told_who_it_is_and_what_it_wants() -> None:
    model = ScriptedChat(["Hello! I am looking for a room."])
    utterance = reply(free(model, dinner=None), Trace(stop="turns"))
    assert [act.kind for act in utterance.acts] == ["open"]
    prompt = model.requests[0].messages[0].content
    for part in (
        "a baker from Lyon",
        "with your dog",
        "check-in date: 2026-03-05",
        "time of dinner: you do not have one",
    ):
        assert part in prompt
    assert MARKER in prompt and "$" not in prompt


def test_a_free_user_sees_the_conversation_from_its_side() -> None:
    model = ScriptedChat(["C-20417."])
    utterance = reply(free(model), after("What is your customer number?"))
    roles = [message.role for message in model.requests[0].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert [(act.kind, act.slot) for act in utterance.acts] == [("inform", "customer")]


def test_a_free_user_ends_with_a_marker_but_never_at_a_request_for_consent() -> None:
    bye = f"Thanks, goodbye! {MARKER}"
    utterance = reply(free(ScriptedChat([bye])), after("Your room is booked."))
    assert utterance.over and utterance.text == "Thanks, goodbye!"
    utterance = reply(free(ScriptedChat([f"Yes, please. {MARKER}"])), after("Shall I book it?"))
    assert not utterance.over
    assert [act.kind for act in utterance.acts] == ["affirm"]


def test_a_free_user_that_says_nothing_is_replaced_by_the_agenda() -> None:
    utterance = reply(free(ScriptedChat(["<think>What should I say?</think>"])), after("Which hotel?"))
    assert "Grand Plaza" in utterance.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Oh, could we come on 2026-03-07 instead?", "Oh, could we come on 2026-03-07 instead?"),
        ("Oh, could we come later?", "Actually, make the check-in date 2026-03-07."),
    ],
)
def test_a_free_user_carries_out_an_intervention(text: str, said: str) -> None:
    model = ScriptedChat([text])
    utterance = reply(free(model, switch()), after("Which hotel would you like?"))
    assert (utterance.text, utterance.intervention) == (said, 0)
    assert [(act.kind, act.value) for act in utterance.acts] == [("correct", "2026-03-07")]
    assert "make the check-in date 2026-03-07" in model.requests[0].messages[-1].content


def test_the_prompt_has_the_values_after_a_change() -> None:
    model = ScriptedChat(["The Grand Plaza."])
    changed = Said(role="user", text="Actually, make it 2026-03-07.", intervention=0)
    trace = Trace(
        events=(OPEN, Said(role="agent", text="Which hotel?"), changed, Said(role="agent", text="Fine. Which hotel?")),
        stop="turns",
    )
    reply(free(model, switch()), trace)
    assert "check-in date: 2026-03-07" in model.requests[0].messages[0].content


def test_a_failure_of_the_model_is_raised() -> None:
    with pytest.raises(ModelFailure):
        reply(free(ScriptedChat([ModelFailure("the endpoint is down")])), Trace(stop="turns"))

"""The embedded model `follow`, in whole conversations of a role of the dialogue benchmark with a scripted user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from flowbench_synth.dialogue.blueprint import RoleBlueprint
from flowbench_synth.dialogue.domains.medical_consultant import ROLE
from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.cli.main import main
from flowmind.dialogue.embedded import embedded_model
from flowmind.dialogue.following.follow import FollowModel
from flowmind.dialogue.following.requests import action_in, read_request
from flowmind.dialogue.holding import OWN_TOOLS, Talker
from flowmind.dialogue.methods import METHODS
from flowmind.dialogue.prompting import task_text
from flowmind.dialogue.session import DialogueEnvironment
from flowmind.llm.choosing import model_named
from flowmind.llm.models import find
from flowmind.protocols import ChatModel, ChatRequest, Controller, Message, Reply, Utterance, Verdict
from flowmind.trace.events import Called, Refused, Said, Trace
from flowmind.trace.scenario import Scenario
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import Remembered, StatefulEnvironment
from tools_registry.specs.spec import ToolCall

BOOKING, RESULTS = "schedule_medical_consultation", "obtain_diagnostic_results"


class Scripted:
    """A user who says given texts, and leaves after the last one."""

    name = "scripted"

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    async def reply(self, trace: Trace) -> Utterance:
        said = sum(isinstance(event, Said) and event.role == "user" for event in trace.events)
        return Utterance(text=self.texts[said], over=said + 1 == len(self.texts))


class Keeping:
    """A model that keeps its requests and replies."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.name = model.name
        self.asked: list[tuple[ChatRequest, Reply]] = []

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await self.model.complete(request)
        self.asked.append((request, reply))
        return reply

    async def aclose(self) -> None:
        await self.model.aclose()


def scenarios_of(role: RoleBlueprint, tools: Sequence[str], *ids: str) -> list[Scenario]:
    return [
        Scenario(
            id=blueprint.id, domain=role.domain, role=role.id, title=blueprint.title, background=role.background,
            tools=tuple(tools), database=role.id, time=role.time,
            slots={name: slot.words for name, slot in blueprint.slots.items()}, facts=dict(blueprint.facts),
            workflow=blueprint.workflow,
        )
        for blueprint in role.scenarios
        if blueprint.id in ids
    ]  # fmt: skip


class Desk:
    """The role's tools and database."""

    def __init__(self, sandbox: LocalSandbox) -> None:
        self.sandbox = sandbox
        self.remembered = Remembered()
        self.database = ROLE.database(Random(0))

    def talk(
        self,
        *texts: str,
        ids: Sequence[str] = (BOOKING,),
        format: str = "pdl",
        controllers: Sequence[Controller] = (),
        model: ChatModel | None = None,
    ) -> Trace:
        """Holds a session and returns its trace."""
        world = StatefulEnvironment(self.sandbox, self.database, self.remembered)
        environment = DialogueEnvironment(world, Scripted(texts), controllers, 30)
        briefing = task_text(scenarios_of(ROLE, list(world.specs), *ids), environment.specs, format, own=OWN_TOOLS)
        talker = Talker(model or FollowModel(), METHODS["react"])
        return asyncio.run(talker.talk(environment, briefing, 30))

    def free(self) -> dict[str, str]:
        """A place with free times, as a user would ask for it."""
        for hospital, row in self.database["hospitals"].items():
            for department, days in row["departments"].items():
                for day, times in days.items():
                    if len(times) > 1:
                        return {"hospital": hospital, "department": department, "date": day, "time": times[1]}
        raise AssertionError


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with LocalSandbox(ROLE.tools) as sandbox:
        yield Desk(sandbox)


def calls(trace: Trace) -> list[tuple[str, dict[str, Any]]]:
    return [(event.call.tool, event.call.args) for event in trace.calls]


def says(trace: Trace) -> list[str]:
    return [event.text for event in trace.events if isinstance(event, Said) and event.role == "agent"]


def answers(trace: Trace) -> list[str]:
    return [event.answer for event in trace.events if isinstance(event, Said) and event.answer]


def asked_for(place: dict[str, str]) -> list[str]:
    return [
        "Hello, I need to see a doctor.",
        place["hospital"],
        place["department"],
        place["date"],
        place["time"],
        "P12345",
    ]


def test_it_asks_what_is_missing_proposes_books_and_tells_the_reference(desk: Desk) -> None:
    place = desk.free()
    trace = desk.talk(*asked_for(place), "Yes, please.", "Thanks, goodbye.")
    booked = {**place, "patient": "P12345"}
    assert calls(trace) == [
        ("find_hospital", {"hospital": place["hospital"]}),
        ("find_slots", {name: place[name] for name in ("hospital", "department", "date")}),
        ("book_consultation", booked),
    ]
    assert says(trace)[0] == "What is the name of the hospital?"
    assert place["time"] in says(trace)[3], "the free times are told before it asks for one"
    proposal = says(trace)[5]
    assert all(value in proposal for value in booked.values())
    assert proposal.endswith("Shall I go ahead?")
    reference = trace.calls[-1].observation.value["reference"]
    assert f"Reference: {reference}." in says(trace)[6]
    assert answers(trace) == ["appointment_booked"]
    assert trace.stop == "finish"


def test_knowledge_as_code_gives_the_same_calls(desk: Desk) -> None:
    texts = [*asked_for(desk.free()), "Yes, please.", "Goodbye."]
    assert calls(desk.talk(*texts, format="code")) == calls(desk.talk(*texts))
    assert calls(desk.talk(*texts, format="ensemble")) == calls(desk.talk(*texts))


@pytest.mark.parametrize("format", ["none", "names", "text", "flowchart"])
def test_in_another_format_it_knows_no_procedure(desk: Desk, format: str) -> None:
    trace = desk.talk(
        "Hello, I need to see a doctor.", "Elmwood Clinic", "cardiology", "2026-03-05", "Bye.", format=format
    )
    assert [tool for tool, _ in calls(trace)] == ["find_hospital", "find_slots"], "it goes on, though it is not listed"
    assert answers(trace) == []


def test_a_correction_at_the_proposal_is_looked_up_again(desk: Desk) -> None:
    place = desk.free()
    trace = desk.talk(*asked_for(place), "No, make it 2026-03-12 instead.", "bye")
    assert [args["date"] for tool, args in calls(trace) if tool == "find_slots"] == [place["date"], "2026-03-12"]
    assert "book_consultation" not in [tool for tool, _ in calls(trace)]


def test_a_refusal_ends_with_the_facts_of_that_end(desk: Desk) -> None:
    place = desk.free()
    trace = desk.talk(*asked_for(place), "No, I would rather not.", "bye")
    assert answers(trace) == ["not_booked"]
    free = desk.database["hospitals"][place["hospital"]]["departments"][place["department"]][place["date"]]
    assert all(time in says(trace)[-1] for time in free)


def test_a_complaint_is_no_refusal(desk: Desk) -> None:
    trace = desk.talk(*asked_for(desk.free()), "No, that is wrong.", "The time should be 07:15.", "yes", "bye")
    assert "Which of the values should I change?" in says(trace)[6]
    assert calls(trace)[-1][1]["time"] == "07:15"
    assert answers(trace) == ["time_taken"]


def test_a_digression_is_answered_briefly_and_the_question_comes_again(desk: Desk) -> None:
    trace = desk.talk("I need an appointment.", "By the way, did you see the match?", "Can you skip that?", "Bye.")
    first, second, third = says(trace)[:3]
    assert second.endswith(first)
    assert second != first
    assert third.startswith("I am afraid that I cannot leave out a step.")
    assert calls(trace) == []


def test_a_text_that_cannot_be_a_value_is_named(desk: Desk) -> None:
    trace = desk.talk("I need an appointment.", "Harbour Hospital", "gardening", "dermatology", "bye")
    assert "gardening" in says(trace)[2]
    assert says(trace)[3].startswith("What is the day")


def test_a_fact_is_told_again(desk: Desk) -> None:
    trace = desk.talk("Hi, an appointment.", "Elmwood Clinic", "What was the help line again?", "bye")
    assert answers(trace) == ["hospital_not_listed"]
    assert desk.database["help_line"] in says(trace)[-1]


def test_a_goal_can_be_given_up(desk: Desk) -> None:
    trace = desk.talk("I need an appointment.", "Harbour Hospital", "Never mind, I don't need it any more.", "bye")
    assert says(trace)[-1].startswith("All right, I leave it.")
    assert answers(trace) == []


def test_a_value_that_the_user_does_not_have_is_null_if_it_may_be(desk: Desk) -> None:
    place = desk.free()
    trace = desk.talk(*asked_for(place)[:4], "I don't know.", "P12345", "yes", "bye")
    assert calls(trace)[-1] == ("book_consultation", {**place, "time": None, "patient": "P12345"})
    needed = desk.talk("I need an appointment.", "I do not know.", "bye")
    assert says(needed)[1].endswith("I need it to go on. What is the name of the hospital?")


def test_it_takes_the_procedure_that_the_user_means_and_then_the_other(desk: Desk) -> None:
    trace = desk.talk(
        "Hello, I am waiting for a result.", "P12345", "blood count", "One more thing. I need an appointment.",
        "Elmwood Clinic", "That was all, bye.", ids=(BOOKING, RESULTS),
    )  # fmt: skip
    assert [tool for tool, _ in calls(trace)] == ["find_results", "find_hospital"]
    assert answers(trace) == ["examination_unknown", "hospital_not_listed"]


def test_it_asks_which_procedure_is_meant(desk: Desk) -> None:
    trace = desk.talk("Hello!", "Obtain diagnostic results", "bye", ids=(BOOKING, RESULTS))
    assert "Schedule a Medical Consultation or Obtain Diagnostic Results" in says(trace)[0]
    assert says(trace)[1].startswith("What is the patient number")


def test_it_is_a_function_of_the_messages(desk: Desk) -> None:
    kept = Keeping(FollowModel())
    desk.talk(*asked_for(desk.free()), "Yes.", "Bye.", model=kept)
    assert len(kept.asked) > 8
    for request, reply in reversed(kept.asked):
        plain = ChatRequest(messages=request.messages, tools=request.tools)
        assert asyncio.run(FollowModel().complete(plain)) == reply


class Refusing:
    """Refuses the first booking, and says what to do instead."""

    name = "refusing"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        refused = any(isinstance(event, Refused) for event in trace.events)
        return Verdict(allowed=action.tool != "book_consultation" or refused, reason=self.reason)


def test_after_a_refusal_it_does_what_the_feedback_says(desk: Desk) -> None:
    instead = {"action": "find_hospital", "action_input": {"hospital": "Harbour Hospital"}}
    refusing = Refusing(f"look again. Possible now: {json.dumps(instead)}")
    trace = desk.talk(*asked_for(desk.free()), "Yes.", "Bye.", controllers=[refusing])
    after = [event for event in trace.events if isinstance(event, Called | Refused)][-3:]
    assert [event.call.tool for event in after] == ["book_consultation", "find_hospital", "book_consultation"]
    assert action_in("no JSON here {") is None


def test_a_request_is_read_back(desk: Desk) -> None:
    kept = Keeping(FollowModel())
    desk.talk("Hi.", "Elmwood Clinic", "bye", model=kept, ids=(BOOKING, RESULTS), format="ensemble")
    *before, last = kept.asked[-1][0].messages
    advised = Message(role="user", content=f"{last.content}\n\nAdvice: path: say goodbye.")
    read = read_request(ChatRequest(messages=(*before, advised)))
    assert [known.title for known in read.knowledge] == [blueprint.title for blueprint in ROLE.scenarios]
    assert [form for form, _ in read.knowledge[0].texts] == ["text", "code", "flowchart"]
    assert read.today is not None
    assert read.today.isoformat() == "2026-03-02"
    assert isinstance(read.events[0], Said)
    assert read.events[0].text == "Hi."
    assert isinstance(read.events[-1], Said | Called)
    assert "Advice" not in str(read.events)


def test_it_is_a_known_model_that_solves_no_tasks(capsys: pytest.CaptureFixture[str], desk: Desk) -> None:
    assert find("follow").kind == find("slips:0.75").kind == "embedded"
    assert find("slips:2").kind == "endpoint"
    assert "no language model" in find("follow").note
    with pytest.raises(ModelUnavailable, match="talks to users"):
        model_named("follow", desk.sandbox)
    assert (embedded_model("follow") or FollowModel()).name == "follow"
    with pytest.raises(InputError, match="does not talk"):
        embedded_model("search")
    assert main(["models"]) == 0
    assert "slips:0.3" in capsys.readouterr().out

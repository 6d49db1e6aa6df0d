"""Sessions: the loop, refusals, advice, limits and traces, with a scripted model in the world of a role."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from flowbench_synth.dialogue.blueprint import ScenarioBlueprint
from flowbench_synth.dialogue.domains.medical_consultant import RESULTS, ROLE, SCHEDULE
from flowmind.agents.prompts import conversation
from flowmind.agents.replies import read_action
from flowmind.base.errors import InputError, ModelFailure
from flowmind.dialogue.holding import OWN_TOOLS, Talker, hold, scenarios_of
from flowmind.dialogue.methods import CONTROLLER_NAMES, METHODS, Method, method_named
from flowmind.dialogue.prompting import FORMATS, briefing, knowledge_of, task_text, tools_text, with_outcomes
from flowmind.dialogue.session import DialogueEnvironment, answers_given
from flowmind.formats.flowbench_reader import from_flowbench_code
from flowmind.llm.testing import ScriptedChat, action
from flowmind.protocols import Controller, Utterance, Verdict
from flowmind.run.wrappers import Faulty, Only
from flowmind.trace.events import Act, Called, Refused, Said, Trace
from flowmind.trace.scenario import DialogueData, Goal, Profile, Scenario, Session
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import StatefulEnvironment, without_state
from tools_registry.specs.spec import ToolCall


class Lines:
    """A user who says prepared texts, and then goodbye."""

    name = "lines"

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.traces: list[Trace] = []

    async def reply(self, trace: Trace) -> Utterance:
        self.traces.append(trace)
        said = sum(isinstance(event, Said) and event.role == "user" for event in trace.events)
        if said < len(self.texts):
            return Utterance(text=self.texts[said], acts=(Act(kind="inform"),))
        return Utterance(text="Goodbye.", over=True)


class Broken:
    """A user whose model fails."""

    name = "broken"

    def __init__(self, good: int) -> None:
        self.good = good

    async def reply(self, trace: Trace) -> Utterance:
        if len(trace.events) >= self.good:
            raise ModelFailure("the user's model is down")
        return Utterance(text="Hello")


class Never:
    """A controller that refuses some tools, and advises."""

    def __init__(self, name: str, *tools: str) -> None:
        self.name = name
        self.tools = tools

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        refused = action.tool in self.tools
        return Verdict(allowed=not refused, reason=f"{self.name} says no after {len(trace.events)}." if refused else "")

    def advise(self, trace: Trace) -> str:
        return f"{self.name} has seen {len(trace.events)}."


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(ROLE.tools) as local:
        yield local


def scenario(blueprint: ScenarioBlueprint) -> Scenario:
    tools = tuple(dict.fromkeys(node.tool for node in blueprint.workflow.nodes if node.kind == "tool"))
    return Scenario(
        id=blueprint.id, domain=ROLE.domain, role=ROLE.id, title=blueprint.title, background=ROLE.background,
        tools=tools, database=ROLE.id, time=ROLE.time, slots={}, facts={}, workflow=blueprint.workflow,
    )  # fmt: skip


DATABASE = ROLE.database(Random("0"))
SLOTS = SCHEDULE.ends["appointment_booked"](Random("a"), DATABASE)
SESSION = Session(
    id="s", profile=Profile(persona="A patient."), goals=(Goal(scenario=SCHEDULE.id, slots=SLOTS),), max_turns=15
)
DATA = DialogueData(
    name="d",
    scenarios={SCHEDULE.id: scenario(SCHEDULE), RESULTS.id: scenario(RESULTS)},
    sessions={"s": SESSION},
    databases={ROLE.id: DATABASE},
    tools={tool.spec.name: tool for tool in ROLE.tools},
)
PLACE = {key: SLOTS[key] for key in ("hospital", "department", "date")}
FOUND = action("find_hospital", "look", hospital=SLOTS["hospital"])
TIMES = action("find_slots", **PLACE)
BOOKED = action("book_consultation", **PLACE, time=SLOTS["time"], patient=SLOTS["patient"])


def say(text: str, answer: str = "") -> str:
    return action("respond", "talk", text=text, **({"answer": answer} if answer else {}))


def hold_session(
    sandbox: LocalSandbox, user: Any, *replies: str, controllers: Sequence[Controller] = (), **options: Any
) -> Any:
    model = ScriptedChat(replies)
    method = Method(format="pdl", controllers=("path",))

    def make(*_: Any) -> Sequence[Controller]:
        return controllers

    result = asyncio.run(hold(SESSION, DATA, model, method, "", user, sandbox, make, **options))
    return result, model


def test_a_session_is_held_to_its_end_and_changes_the_world(sandbox: LocalSandbox) -> None:
    user = Lines("I need an appointment.", "All of it.", "Yes.")
    replies = (say("What do you need?"), FOUND, TIMES, say("Shall I?"), BOOKED, say("Done: MC.", "appointment_booked"))
    result, model = hold_session(sandbox, user, *replies)
    trace = result.trace
    kinds = [(event.kind, getattr(event, "role", "")) for event in trace.events]
    user_said, agent_said, called = ("said", "user"), ("said", "agent"), ("called", "")
    assert kinds == [
        user_said, agent_said, user_said, called, called, agent_said, user_said, called, agent_said, user_said,
    ]  # fmt: skip
    assert (trace.stop, trace.answer, len(trace.turns)) == ("finish", ["appointment_booked"], 6)
    (booking,) = result.state["bookings"].values()
    assert booking == {**PLACE, "time": SLOTS["time"], "patient": SLOTS["patient"]}
    assert DATABASE["bookings"] == {}
    assert [event.turn for event in trace.events] == [0, 0, 1, 1, 2, 3, 4, 4, 5, 6]
    assert isinstance(trace.events[3], Called) and trace.events[3].reasoning == "look"
    first = model.requests[0].messages[-1].content
    assert first.endswith("\n\nUser: I need an appointment.")
    assert "Procedure: Schedule a Medical Consultation\n```pdl\nName: schedule_medical_consultation" in first
    assert model.requests[1].messages[-1].content == 'Observation: {"user":"All of it."}'
    assert {tool.name for tool in model.requests[0].tools} == {
        "find_hospital", "find_slots", "book_consultation", "respond", "finish"
    }  # fmt: skip


def test_refusals_arrive_at_once_and_every_verdict_is_kept(sandbox: LocalSandbox) -> None:
    controllers = (Never("one", "book_consultation"), Never("two"), Never("three", "book_consultation", "respond"))
    result, model = hold_session(
        sandbox, Lines("Hi"), BOOKED, say("Hm."), FOUND, action("finish"), controllers=controllers
    )
    refused, unsaid, called = result.trace.events[1:]
    assert isinstance(refused, Refused) and isinstance(unsaid, Refused) and isinstance(called, Called)
    assert refused.by == "one, three" and refused.reason == "one says no after 1. three says no after 1."
    assert refused.verdicts == {"one": "one says no after 1.", "two": "", "three": "three says no after 1."}
    assert unsaid.call.args == {"text": "Hm."}
    assert called.verdicts == {"one": "", "two": "", "three": ""}
    observed = model.requests[1].messages[-1].content
    assert observed.startswith(
        "Observation: error: one says no after 1. three says no after 1.\n\nAdvice: one has seen"
    )
    assert result.state == DATABASE
    assert result.trace.stop == "finish"


def test_advice_ends_the_last_message_only_and_is_kept_with_the_turn(sandbox: LocalSandbox) -> None:
    result, model = hold_session(
        sandbox, Lines("Hi"), "nothing readable", FOUND, action("finish"), controllers=(Never("one"),)
    )
    advice = ["one has seen 1.", "one has seen 1.", "one has seen 2."]
    assert [turn.advice for turn in result.trace.turns] == advice
    for request, text in zip(model.requests, advice, strict=True):
        contents = [message.content for message in request.messages]
        assert contents[-1].endswith(f"\n\nAdvice: {text}")
        assert not any("Advice:" in content for content in contents[:-1])
    assert [turn.parse for turn in result.trace.turns] == ["reprompted", "clean", "clean"]


def test_the_controllers_of_a_method_keep_the_agent_to_the_procedure(sandbox: LocalSandbox) -> None:
    replies = (BOOKED, say("It is R12345.", "appointment_booked"), FOUND, action("finish"))
    user = Lines("I need an appointment at " + SLOTS["hospital"])
    result = asyncio.run(hold(SESSION, DATA, ScriptedChat(replies), METHODS["flowagent+"], "", user, sandbox))
    refused, unsaid, called = result.trace.events[1:]
    assert isinstance(refused, Refused) and isinstance(unsaid, Refused) and isinstance(called, Called)
    assert list(refused.verdicts) == list(CONTROLLER_NAMES) == list(called.verdicts)
    assert {*refused.by.split(", ")} == {"dependencies", "path", "consent", "grounding"}
    assert {*unsaid.by.split(", ")} == {"dependencies", "path", "grounding"}
    assert {*called.verdicts.values()} == {""}
    assert "Due now: " in result.trace.turns[0].advice and result.state == DATABASE
    free = asyncio.run(hold(SESSION, DATA, ScriptedChat(replies), METHODS["react"], "pdl", user, sandbox))
    assert [event.kind for event in free.trace.events] == ["said", "called", "said", "said"]


@pytest.mark.parametrize(
    ("stages", "advised", "refused"), [(("pre",), True, False), (("post",), False, True), ((), False, False)]
)
def test_the_stages_of_a_method(sandbox: LocalSandbox, stages: tuple[Any, ...], advised: bool, refused: bool) -> None:
    world = StatefulEnvironment(sandbox, DATABASE)
    model = ScriptedChat([FOUND, action("finish")])
    talker = Talker(model, Method(format="pdl", stages=stages), (Never("one", "find_hospital"),))
    environment = DialogueEnvironment(world, Lines("Hi"), talker.refusing)
    trace = asyncio.run(talker.talk(environment, "Role: test", 15))
    assert ("Advice" in model.requests[0].messages[-1].content) == advised
    assert isinstance(trace.events[1], Refused) == refused


def test_the_limits_of_a_session(sandbox: LocalSandbox) -> None:
    endless = Lines(*(["More."] * 50))
    result, model = hold_session(sandbox, endless, *[say(f"Text {number}.") for number in range(20)])
    assert (result.trace.stop, len(model.requests)) == ("turns", 15)
    refuse = (Never("one", "respond"),)
    result, model = hold_session(sandbox, endless, *[say("Text.")] * 9, controllers=refuse)
    assert (result.trace.stop, len(model.requests)) == ("failures", 5)
    wrong = action("find_hospital", nothing=1)
    result, model = hold_session(sandbox, endless, *[wrong, wrong, wrong, say("Sorry.")] * 20)
    assert (result.trace.stop, len(model.requests)) == ("turns", 45)


def test_the_agent_can_end_a_session_or_hand_it_over(sandbox: LocalSandbox) -> None:
    refuse = (Never("one", "handoff"),)
    replies = (action("handoff"), action("handoff", reason="not my trade"))
    result, model = hold_session(sandbox, Lines("Hi", "Hm"), *replies, controllers=refuse, handoff=True)
    assert (result.trace.stop, len(model.requests)) == ("finish", 2)
    failed, handed = result.trace.calls
    assert failed.observation.error is not None and failed.observation.error.type == "invalid_arguments"
    assert (handed.call.tool, handed.call.args) == ("handoff", {"reason": "not my trade"})
    result, _ = hold_session(sandbox, Lines("Hi", "Hm"), action("handoff", reason="x"), action("finish"))
    assert result.trace.calls[0].observation.error is not None
    assert result.trace.calls[0].observation.error.type == "unknown_tool"


def test_a_user_whose_model_fails_ends_the_session(sandbox: LocalSandbox) -> None:
    for good, said in ((0, 0), (1, 2)):
        result, _ = hold_session(sandbox, Broken(good), say("Hello."))
        assert (result.trace.stop, len(result.trace.events)) == ("model_error", said)
        assert result.trace.error is not None and result.trace.error.type == "user_model_error"


def test_texts_are_mended_and_answers_listed(sandbox: LocalSandbox) -> None:
    replies = (
        action("respond", message="Which one?", answer=None),
        action("respond"),
        say("It rains.", "answer_out_of_workflow_questions"),
        "Thought: nothing is left.\nResponse: Bye then.",
    )
    result, model = hold_session(sandbox, Lines("Hi", "Hm", "And?"), *replies)
    said = [event.text for event in result.trace.events if isinstance(event, Said) and event.role == "agent"]
    assert said == ["Which one?", "It rains.", "Bye then."]
    assert "respond(text: string" in model.requests[2].messages[-1].content
    assert answers_given(result.trace.events) == []
    assert result.trace.turns[3].parse == "recovered"


def test_a_call_after_the_end_does_nothing(sandbox: LocalSandbox) -> None:
    environment = DialogueEnvironment(StatefulEnvironment(sandbox, DATABASE), Lines())
    assert asyncio.run(environment.open()) == "Goodbye."
    observation = asyncio.run(environment.call(ToolCall(tool="find_hospital", args={"hospital": "A"})))
    assert observation.error is not None and observation.error.type == "over"
    assert [event.kind for event in environment.events] == ["said"]


def test_a_business_tool_cannot_have_a_name_of_the_session() -> None:
    def respond(text: str) -> str:
        """Say it."""
        return text

    with pytest.raises(InputError, match="'respond' is the name of a tool of the session"):
        DialogueEnvironment(FunctionEnvironment([respond]), Lines("Hi"))


# The prompt


@pytest.mark.parametrize("format", list(FORMATS))
def test_the_task_message_of_each_format(format: str) -> None:
    specs = {tool.spec.name: without_state(tool.spec) for tool in ROLE.tools}
    text = task_text([DATA.scenarios[SCHEDULE.id], DATA.scenarios[RESULTS.id]], specs, format, "Hello")
    assert text.startswith(f"Role: {ROLE.background}\nTime: {ROLE.time}\n\nTools:\nfind_hospital(")
    assert text.endswith("\n\nUser: Hello")
    for part in FORMATS[format]:
        assert text.count(f"```{part}\n") == 2
    assert len(re.findall(r"\nProcedure: \w", text)) == (0 if format in ("none", "names") else 2)
    assert ("Look whether a hospital takes part" in text) == (format != "names")
    assert ("is known to the user only" in text) == (format not in ("none", "names"))


@pytest.mark.parametrize("format", ["text", "code", "flowchart", "pdl"])
def test_all_formats_name_tools_parameters_constants_and_outcomes(format: str) -> None:
    specs = {tool.spec.name: without_state(tool.spec) for tool in ROLE.tools}
    for blueprint in ROLE.scenarios:
        text = knowledge_of(blueprint.workflow, specs, format)
        for node in blueprint.workflow.nodes:
            if node.kind == "tool":
                assert node.tool in text
                assert all(name in text for name in node.args)
            if node.kind == "end":
                assert node.id in text
        assert all(slot in text for slot in blueprint.slots)


@pytest.mark.parametrize("format", ["text", "code", "flowchart", "pdl", "ensemble"])
@pytest.mark.parametrize("output", [{"var": "n"}, {"object": {"double": {"var": "n"}}}])
def test_a_workflow_whose_ends_have_no_outcome_gets_them_in_its_knowledge(format: str, output: Any) -> None:
    workflow = SCHEDULE.workflow.model_validate(
        {
            "name": "w", "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "nodes": [{"id": "start", "kind": "start"}, {"id": "told_you", "kind": "end", "output": output}],
            "edges": [{"from": "start", "to": "told_you"}],
        }
    )  # fmt: skip
    text = knowledge_of(workflow, {}, format)
    assert text.count("outcome") >= len(FORMATS[format]) and "told_you" in text
    assert ("double" in text) == ("object" in output)
    if format == "code":
        assert list(from_flowbench_code(text).by_id) == ["start", "told_you"]
    assert with_outcomes(SCHEDULE.workflow) == SCHEDULE.workflow


def test_a_briefing_without_a_background() -> None:
    assert briefing("", "", tools_text({}, "none"), []) == "Role: You help the user with your tools.\n\nTools:\n"
    assert briefing("", "", "", [("a", "")]).endswith("Tools:\n")


def find_item(kind: str) -> Any:
    """Look whether an item is in the shop.

    Returns:
        `there`, and `shelf` if it is, `back` if it is lent.
    """
    return {"there": True, "shelf": "C4", "back": None}


def lend_item(kind: str, member: str, days: int) -> Any:
    """Lend an item to a member.

    Returns:
        The number of the loan, as `slip`.
    """
    return {"slip": "L7702"}


def test_a_real_session_has_the_worked_example_word_for_word() -> None:
    parts = conversation("dialogue_react")[1:]
    observed = [json.loads(part.content.removeprefix("Observation: ")) for part in parts[2::2]]
    opening, _, first = parts[0].content.partition("\n\nUser: ")
    user = Lines(first, *[value["user"] for value in observed if "user" in value])
    environment = DialogueEnvironment(FunctionEnvironment([find_item, lend_item]), user)
    replies = [part.content for part in parts if part.role == "assistant"]
    model = ScriptedChat(replies)
    trace = asyncio.run(Talker(model, METHODS["react"]).talk(environment, opening, 15))
    assert (trace.stop, trace.answer) == ("finish", ["loan_made"])
    assert model.requests[-1].messages[-len(parts) + 1 :] == parts[:-1]
    assert [turn.parse for turn in trace.turns] == ["clean"] * len(replies)
    role, _, rest = opening.partition("\n\nTools:\n")
    tools = tools_text(environment.specs, "none", OWN_TOOLS)
    assert (
        briefing(role.removeprefix("Role: "), "", tools, []) == f"{role}\n\nTools:\n{rest}".partition("\n\nThe way")[0]
    )


def test_the_methods_and_their_parts() -> None:
    assert METHODS["flowagent-post"].stages == ("pre",) and METHODS["flowagent-post-pre"].stages == ()
    assert method_named("react").changed("ensemble").format == "ensemble"
    changed = method_named("flowagent").changed(controllers=("path",), stages=("post",))
    assert (changed.controllers, changed.stages) == (("path",), ("post",))
    with pytest.raises(InputError, match="unknown method 'other'"):
        method_named("other")
    with pytest.raises(InputError, match="unknown controller 'p'; take one of: dependencies"):
        method_named("react").changed(controllers=("p",))


def test_the_scenarios_of_a_session_include_those_that_an_intervention_adds() -> None:
    change: dict[str, Any] = {"add": {"scenario": RESULTS.id, "slots": {}}}
    added = {"trigger": {"on": "turn", "turn": 2}, "type": "intent_switching", "subtype": "addition", "text": "Also"}
    session = Session.model_validate({**SESSION.model_dump(), "interventions": [{**added, "change": change}]})
    assert [row.id for row in scenarios_of(session, DATA)] == [SCHEDULE.id, RESULTS.id]


# Environments


def test_calls_fail_at_a_rate_and_always_the_same_ones(sandbox: LocalSandbox) -> None:
    async def outcomes(rate: float, session: str) -> list[bool]:
        environment = Faulty(StatefulEnvironment(sandbox, DATABASE), rate, 7, session)
        call = ToolCall(tool="find_hospital", args={"hospital": "Harbour Hospital"})
        observations = [await environment.call(call) for _ in range(60)]
        assert {row.error.type for row in observations if row.error} <= {"unavailable"}
        return [row.ok for row in observations]

    first = asyncio.run(outcomes(0.3, "a"))
    assert first == asyncio.run(outcomes(0.3, "a")) != asyncio.run(outcomes(0.3, "b"))
    assert 5 < first.count(False) < 32
    assert all(asyncio.run(outcomes(0.0, "a"))) and not any(asyncio.run(outcomes(1.0, "a")))


def test_an_environment_offers_some_tools_only(sandbox: LocalSandbox) -> None:
    some = Only(sandbox, ["find_hospital"])
    assert list(some.specs) == ["find_hospital"] and not some.awaited
    observation = asyncio.run(some.call(ToolCall(tool="find_slots")))
    assert observation.error is not None and observation.error.type == "unknown_tool"


# Replies in the form of the papers


def test_replies_with_labels_are_read() -> None:
    text = 'Thought: I look.\nAction: find_hospital\nAction Input: {"hospital": "A", "name": "B"}'
    read, how = read_action(text)
    assert (read.call.tool, read.call.args, read.reasoning, how) == (
        "find_hospital", {"hospital": "A", "name": "B"}, "I look.", "recovered",
    )  # fmt: skip
    read, how = read_action("Thought: two\nlines\nResponse: Hello,\nwhat is it?", says=True)
    assert (read.call.args, read.reasoning, how) == ({"text": "Hello,\nwhat is it?"}, "two\nlines", "recovered")
    read, _ = read_action(
        "<think>\nAction: wrong\n</think>\n**Action:** `list_all`\n**Action Input:** ```json\n{}\n```"
    )
    assert (read.call.tool, read.call.args) == ("list_all", {})
    read, how = read_action('Response: so {"action": "go", "action_input": {}}', says=True)
    assert (read.call.tool, how) == ("go", "recovered")
    for unreadable in ("Response: Hello.", "Action: x\nAction Input: none at all", "Thought: hm"):
        with pytest.raises(ValueError, match="no JSON object"):
            read_action(unreadable)

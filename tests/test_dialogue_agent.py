"""`DialogueAgent`: procedures of every kind, sessions text by text, canned answers, handoff, failing tools."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowbench_synth.dialogue.domains.medical_consultant import ROLE, SCHEDULE
from flowmind import DialogueAgent, RunnableWorkflow, ToolSource
from flowmind.base.errors import InputError, InvalidWorkflow, ModelFailure, ModelUnavailable
from flowmind.formats.catalog import FORMATS
from flowmind.llm.testing import ScriptedChat, action
from flowmind.protocols import Utterance
from flowmind.trace.events import Said, Trace
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import StatefulEnvironment, without_state

DATABASE = ROLE.database(Random("0"))
SLOTS = SCHEDULE.ends["appointment_booked"](Random("a"), DATABASE)
SPECS = {tool.spec.name: without_state(tool.spec) for tool in ROLE.tools}
PDL = FORMATS["pdl"].export(SCHEDULE.workflow, SPECS).text
PLACE = {key: SLOTS[key] for key in ("hospital", "department", "date")}
FOUND = action("find_hospital", hospital=SLOTS["hospital"])
TIMES = action("find_slots", **PLACE)
BOOKED = action("book_consultation", **PLACE, time=SLOTS["time"], patient=SLOTS["patient"])


def say(text: str, answer: str = "") -> str:
    return action("respond", text=text, answer=answer)


def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return 2 * n


DOUBLE = {
    "name": "doubling",
    "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "nodes": [
        {"id": "start", "kind": "start"},
        {"id": "twice", "kind": "tool", "tool": "double", "args": {"n": {"var": "n"}}, "output": "m"},
        {"id": "told", "kind": "end", "output": {"object": {"outcome": {"value": "told"}, "double": {"var": "m"}}}},
    ],
    "edges": [{"from": "start", "to": "twice"}, {"from": "twice", "to": "told"}],
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(ROLE.tools) as local:
        yield local


def agent_of(*replies: Any, **options: Any) -> DialogueAgent:
    options = {"workflow": json_workflow(), "tools": double, "controllers": (), **options}
    return DialogueAgent(model=ScriptedChat(replies), **options)


def json_workflow() -> Any:
    from flowmind import Workflow

    return Workflow.model_validate(DOUBLE)


def test_a_session_goes_on_text_by_text() -> None:
    agent = agent_of(
        say("Which number?"), action("double", n=4), say("It is 8.", "told"), say("Bye."), action("finish")
    )
    with agent.session() as session:
        assert session.say("Hello") == "Which number?"
        assert session.say("It is 4.") == "It is 8."
        assert [event.kind for event in session.trace.events] == ["said", "said", "said", "called", "said"]
        assert not session.over
        assert session.say("Thanks") == "Bye."
        assert session.say("Bye") == ""
        assert session.over
        assert (session.trace.stop, session.trace.answer, len(session.trace.turns)) == ("finish", ["told"], 5)
        with pytest.raises(InputError, match=r"the session has ended \(finish\)"):
            session.say("Again")


def test_a_session_works_in_async_code_and_keeps_to_one_loop() -> None:
    agent = agent_of(say("Which?"), say("Really?"))

    async def talk() -> Trace:
        session = agent.session()
        assert await session.asay("Hello") == "Which?"
        with pytest.raises(InputError, match="begun with asay"):
            session.say("4")
        assert await session.asay("4") == "Really?"
        await session.aclose()
        return session.trace

    trace = asyncio.run(talk())
    assert trace.stop == "finish"
    assert [event.text for event in trace.events if isinstance(event, Said)] == ["Hello", "Which?", "4", "Really?"]

    async def mixed() -> None:
        with agent_of(say("Which?"), say("Really?")).session() as session:
            assert await asyncio.to_thread(session.say, "Hello") == "Which?"
            assert await session.asay("4") == "Really?"

    asyncio.run(mixed())


def test_two_sessions_know_nothing_of_one_another() -> None:
    agent = agent_of(say("One?"), say("Two?"), say("One again."))
    with agent.session() as first, agent.session() as second:
        assert (first.say("Hi 1"), second.say("Hi 2"), first.say("Hm 1")) == ("One?", "Two?", "One again.")
        assert [event.text for event in second.trace.events if isinstance(event, Said)] == ["Hi 2", "Two?"]


def test_a_session_that_is_closed_early_keeps_its_events() -> None:
    session = agent_of(say("Which?")).session()
    assert session.say("Hi") == "Which?"
    session.close()
    session.close()
    assert session.over and len(session.trace.events) == 2 and session.trace.stop == "finish"
    unused = agent_of().session()
    unused.close()
    assert (unused.trace.events, unused.trace.stop) == ((), "finish")


def test_errors_of_the_model_reach_the_caller() -> None:
    with agent_of(ModelFailure("no reply")).session() as session, pytest.raises(ModelFailure, match="no reply"):
        session.say("Hi")
    session = agent_of(ModelUnavailable("no server")).session()
    with pytest.raises(ModelUnavailable, match="no server"):
        session.say("Hi")
    assert session.over
    session.close()


class Waiter:
    """A user who says two texts and hangs up."""

    name = "waiter"

    async def reply(self, trace: Trace) -> Utterance:
        said = sum(isinstance(event, Said) and event.role == "user" for event in trace.events)
        return Utterance(text="" if said == 2 else f"Text {said}", over=said == 2)


def test_a_user_of_any_kind_can_be_talked_to() -> None:
    trace = agent_of(say("One?"), say("Two?")).run(Waiter())
    assert (trace.stop, len(trace.events), len(trace.turns)) == ("finish", 4, 2)


@pytest.mark.parametrize("kind", ["path", "text", "pdl path", "workflow", "runnable", "list"])
def test_a_procedure_of_every_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(DOUBLE))
    pdl = FORMATS["pdl"].export(json_workflow(), {}).text
    (tmp_path / "w.pdl").write_text(pdl)
    source = {
        "path": str(path),
        "text": pdl,
        "pdl path": tmp_path / "w.pdl",
        "workflow": json_workflow(),
        "runnable": RunnableWorkflow(json_workflow(), double),
        "list": [path, pdl.replace("doubling", "other")],
    }[kind]
    agent = agent_of(say("Hi"), workflow=source)
    assert [row.workflow is not None for row in agent.procedures] == [True] * (2 if kind == "list" else 1)
    assert agent.briefing.count("```pdl\nName: doubling") == 1 and agent.notes == ()
    assert ("```pdl\nName: other" in agent.briefing) == (kind == "list")


FREE = """Name: talk
Desc: Talk about numbers.
SLOTs:
- name: n
  desc: a number
  type: integer
APIs:
- name: double
  request: [n]
  precondition: []
ANSWERs:
- name: told
  desc: The double.
  precondition: [double]
Procedure: |
  Ask for a number and double it, unless the user is in a hurry.
"""


def test_a_document_whose_procedure_is_text_has_no_path() -> None:
    agent = agent_of(workflow=FREE, controllers=None)
    assert len(agent.notes) == 1 and agent.notes[0].startswith("path is off for talk: its procedure is text only")
    assert f"Procedure: talk\n```pdl\n{FREE.strip()}\n```" in agent.briefing
    assert "```" not in agent_of(workflow=FREE, format="names").briefing
    with pytest.raises(InputError, match="format 'code': talk is known as text only"):
        agent_of(workflow=FREE, format="code")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workflow": "missing.json"}, "missing.json"),
        ({"workflow": "Name: x\nnonsense"}, "workflow: line 2"),
        ({"workflow": "Name: x\nProcedure: |\n  [y] = API.no(", "format": "text"}, "is known as text only"),
        ({"method": "other"}, "unknown method 'other'"),
        ({"controllers": ("p",)}, "unknown controller 'p'"),
        ({"stages": ("mid",)}, "unknown stage 'mid'"),
        ({"format": "xml"}, "unknown format 'xml'"),
        ({"answers": {"other": "x"}}, "answers: there is no answer 'other'; the answers are told"),
        ({"answers": {"told": "It is {n}."}}, "answers.told: the answer has no fact 'n'; its facts are double"),
        ({"answers": {"told": "It is {double"}}, "answers.told: "),
        ({"answers": {"told": "It is {double[0]}"}}, "is not the name of a fact"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        agent_of(**options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_workflow_must_pass_check_and_search_does_not_talk() -> None:
    def other(n: int) -> int:
        """Another tool."""
        return n

    with pytest.raises(InvalidWorkflow, match="double"):
        agent_of(tools=other)
    with pytest.raises(InputError, match="the model 'search' writes workflows and does not talk"):
        DialogueAgent(json_workflow(), double, "search")


def test_a_canned_answer_is_rendered_with_its_facts() -> None:
    replies = (say("Hm.", "told"), action("double", n=21), say("Whatever.", "told"))
    with agent_of(*replies, answers={"told": "The double is {double}. {{ok}}"}).session() as session:
        assert session.say("Hi") == "Hm."
        assert session.say("21") == "The double is 42. {ok}"
        said = session.trace.events[-1]
        assert isinstance(said, Said) and said.answer == "told"


def test_handoff_and_failing_tools() -> None:
    replies = (action("double", n=1), action("handoff", reason="it fails"))
    agent = agent_of(*replies, handoff=True, fail_tools=1.0)
    assert "handoff(reason: string)" in agent.briefing
    with agent.session() as session:
        assert session.say("Hi") == ""
        failed, handed = session.trace.calls
        assert failed.observation.error is not None and failed.observation.error.type == "unavailable"
        assert (handed.call.tool, session.trace.stop) == ("handoff", "finish")


def test_tools_in_sandboxed_source() -> None:
    source = ToolSource.parse("def double(n: int) -> int:\n    return 2 * n\n")
    with agent_of(action("double", n=4), say("8"), tools=source).session() as session:
        assert session.say("Hi") == "8"
        assert session.trace.calls[0].observation.value == 8


def test_an_agent_in_the_world_of_a_role(sandbox: LocalSandbox) -> None:
    world = StatefulEnvironment(sandbox, DATABASE)
    replies = (FOUND, TIMES, say("Shall I go ahead?"), BOOKED, say("Done.", "appointment_booked"))
    template = {"appointment_booked": "Booked. Your reference is {reference}."}
    agent = agent_of(*replies, workflow=SCHEDULE.workflow, tools=world, answers=template, background=ROLE.background)
    with agent.session() as session:
        assert session.say("I need an appointment.") == "Shall I go ahead?"
        (told,) = {session.say("Yes.")}
        assert told == f"Booked. Your reference is {next(iter(world.state['bookings']))}."


def test_functions_share_a_state() -> None:
    def count_up(db: dict[str, int], amount: int) -> dict[str, Any]:
        """Count up."""
        total = db["total"] + amount
        return {"db": {"total": total}, "result": {"total": total}}

    workflow = "Name: c\nSLOTs:\n- name: amount\n  type: integer\n  source: input\nProcedure: |\n"
    workflow += "  [sum] = API.count_up(amount=amount)\n  ANSWER.counted({total: sum.total})\n"
    agent = DialogueAgent(workflow, count_up, "follow", state={"total": 40})
    with agent.session() as session:
        assert "42" in session.say("The amount is 2.")


def test_a_session_that_nobody_closes_ends_quietly() -> None:
    script = "from flowmind import DialogueAgent\n" + (
        "def double(amount: int) -> int:\n    'Double a number.'\n    return 2 * amount\n"
        "text = 'Name: d\\nSLOTs:\\n- name: amount\\n  source: input\\nProcedure: |\\n'\n"
        "text += '  [twice] = API.double(amount=amount)\\n  ANSWER.doubled({twice: twice})\\n'\n"
        "session = DialogueAgent(text, double, 'follow').session()\n"
        "print(session.say('Hello.'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout and not done.stderr

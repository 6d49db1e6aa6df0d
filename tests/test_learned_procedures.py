"""Conversations with users as executions of a task, and the procedures that are learned from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowmind.api.summarizing import summarize
from flowmind.cli import main as cli
from flowmind.dialogue.executions import as_execution, executions_of
from flowmind.formats.openai_messages import read_traces
from flowmind.trace.events import Act, Called, Event, Said, Trace
from flowmind.workflow.document import Condition, Workflow
from flowmind.workflow.preconditions import preconditions
from tools_registry.sandbox.stateful import without_state
from tools_registry.specs.spec import Observation, ToolCall, ToolSource, ToolSpec

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "bike_repair"


def user(text: str, *acts: Act) -> Said:
    return Said(role="user", text=text, acts=acts)


def agent(text: str) -> Said:
    return Said(role="agent", text=text)


def called(tool: str, value: Any, **args: Any) -> Called:
    return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value))


def spec(name: str, effect: Any = "read", **fields: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": fields, "required": list(fields)}
    return ToolSpec(name=name, parameters=parameters, effect=effect)


TEXT = {"type": "string"}
SPECS = {
    "find": spec("find", place=TEXT),
    "price": spec("price", room=TEXT, place=TEXT),
    "book": spec("book", "write", place=TEXT, room=TEXT),
}


def dialogue(*events: Event) -> Trace:
    return Trace(events=events, stop="finish")


def conversation(place: str, room: str, reply: str, *rest: Event) -> Trace:
    return dialogue(
        user("Hello."),
        agent("Where to?"),
        user(f"To {place}, please."),
        called("find", {"room": room, "free": True}, place=place),
        agent(f"I would book this: {place}, {room}. Is that right?"),
        user(reply),
        *rest,
    )


def test_slots_are_what_users_said_and_consent_is_read() -> None:
    yes = conversation(
        "Bonn", "R-1", "Yes.", called("book", {"code": "B1"}, place="Bonn", room="R-1"), agent("It is B1.")
    )
    no = conversation("Ulm", "R-2", "No, rather not.")
    bare = dialogue(
        user("To Kiel."), called("find", {"room": None, "free": False}, place="Kiel"), agent("Nothing is free.")
    )
    made = executions_of([yes, no, bare], SPECS)
    assert list(made.inputs["properties"]) == ["place", "confirmed"], "the room comes from a result"
    assert [(run.inputs["place"], run.inputs["confirmed"]) for run in made.traces] == [
        ("Bonn", True),
        ("Ulm", False),
        ("Kiel", True),
        ("Kiel", False),
    ]
    assert made.traces[0].answer == {"outcome": "told_code", "code": "B1"}
    assert any("each counts twice" in note for note in made.notes)


def test_a_value_that_the_user_changed_later_leaves_no_call() -> None:
    first, second = called("find", {"room": "R-1"}, place="Bonn"), called("find", {"room": "R-2"}, place="Ulm")
    trace = dialogue(user("To Bonn."), first, agent("R-1 in Bonn?"), user("Sorry, to Ulm."), second, agent("Then R-2."))
    (run,) = executions_of([trace], {"find": SPECS["find"]}).traces
    assert run.inputs == {"place": "Ulm"} and [call.call.args for call in run.calls] == [{"place": "Ulm"}]
    assert as_execution(trace, {"place": "Bonn"}).calls[0].call.args == {"place": "Bonn"}


def test_a_slot_that_a_dialogue_did_not_reach_has_a_value_of_another_one() -> None:
    whole = dialogue(user("To Bonn, room R-7."), called("price", 9, place="Bonn", room="R-7"), agent("It is 9."))
    bare = dialogue(user("To Kiel."), called("find", {"room": None, "free": False}, place="Kiel"), agent("No."))
    slots = [run.inputs for run in executions_of([whole, bare], {"find": SPECS["find"]}).traces]
    assert slots == [{"place": "Bonn", "room": "R-7"}, {"place": "Kiel", "room": "R-7"}]


def test_what_was_never_seen_is_said() -> None:
    traces = [conversation("Bonn", "R-1", "No."), conversation("Ulm", "R-2", "No.")]
    notes = executions_of(traces, SPECS).notes
    assert "never seen: what follows if find.free is false" in notes
    assert any(note.startswith("answers seen: told_room") for note in notes)


def test_two_parameters_of_one_name_with_different_values_are_two_slots() -> None:
    trace = dialogue(
        user("From Bonn to Ulm."),
        called("find", 1, place="Bonn"),
        called("price", 2, place="Ulm", room="x"),
        agent("2."),
    )
    slots = executions_of([trace], SPECS).traces[0].inputs
    assert (slots["find_place"], slots["price_place"]) == ("Bonn", "Ulm")


@pytest.fixture(scope="module")
def learned() -> Workflow:
    sources = ToolSource.parse_all((EXAMPLE / "tools.py").read_text(encoding="utf-8"))
    specs = [without_state(source.spec) for source in sources]
    traces = read_traces(EXAMPLE / "conversations.jsonl")
    result = summarize(traces, specs, query="Book a repair.", dialogues=True)
    assert result.solved
    return result.document


def test_ten_conversations_give_the_procedure(learned: Workflow) -> None:
    assert set(learned.input_names) == {"bike", "service", "date", "time", "confirmed"}
    needs = preconditions(learned)
    assert needs["book_repair"] == ("find_times",) and needs["find_times"] == ("find_bike",)
    tests = [node.expr for node in learned.nodes if isinstance(node, Condition)]
    assert tests[0] == "bike_result['known']"
    assert tests[-1].split(" and ")[0] == "confirmed", "consent decides about the write"
    assert None not in learned.inputs["properties"]["service"]["enum"], "no way depends on what was not said"


def test_the_command_learns_and_the_agent_keeps_to_it(
    learned: Workflow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, tools = tmp_path / "repair.json", str(EXAMPLE / "tools.py")
    told = [str(EXAMPLE / "conversations.jsonl"), "--dialogues", "--tools", tools, "--query", "Book a repair."]
    assert cli.main(["summarize", *told, "--out", str(path)]) == 0
    assert Workflow.model_validate(json.loads(path.read_text())).nodes == learned.nodes
    assert "slots inferred from the calls: bike, service, date, time" in capsys.readouterr().err
    state, script = str(EXAMPLE / "state.json"), str(EXAMPLE / "script.toml")
    assert cli.main(["chat", str(path), "--tools", tools, "--state", state, "--script", script]) == 0
    assert "2 of 2 passed" in capsys.readouterr().out
    assert cli.main(["chat", str(path), "--tools", tools, "--script", script]) == 2
    assert "find_bike takes a state as 'db'; give it with --state FILE" in capsys.readouterr().err

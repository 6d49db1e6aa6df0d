"""Recorded dialogues in the forms of STAR and SGD; those here are our own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError
from flowmind.formats.sgd import read_sgd
from flowmind.formats.star import read_star
from flowmind.trace.events import Called, Said
from flowmind.trace.recorded_dialogues import RecordedDialogues, RecordedWorld, world_of
from flowmind.workflow.checking import check
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec


def field(name: str, kind: str = "ShortString", **more: Any) -> dict[str, Any]:
    return {"Name": name, "Type": kind, "ReadableName": name.lower(), **more}


@pytest.fixture
def star(tmp_path: Path) -> RecordedDialogues:
    request = field("RequestType", "RequestType", Categories=["Check", "Book"])
    api = {
        "input": [field("Boat"), field("Hours", "Integer"), request],
        "output": [field("Message")],
        "required": ["Boat", "RequestType"],
    }
    graph = {"hello": "ask_boat", "ask_boat": "query_check", "available": "ask_ok", "yes": "query_book"}
    (tmp_path / "apis" / "apis").mkdir(parents=True)
    (tmp_path / "apis" / "apis" / "boat_rent.json").write_text(json.dumps(api))
    (tmp_path / "tasks" / "boat_rent").mkdir(parents=True)
    task = {"task": "boat_rent", "graph": graph, "replies": {}}
    (tmp_path / "tasks" / "boat_rent" / "boat_rent.json").write_text(json.dumps(task))
    events = [
        {"Agent": "User", "Action": "utter", "Text": "Hello, I would like the Heron."},
        {"Agent": "Wizard", "Action": "request_suggestions", "Text": "not said"},
        query("Check", '"Heron"', "api.is_equal_to(2)"),
        item(Message="Available"),
        {"Agent": "Wizard", "Action": "pick_suggestion", "ActionLabel": "ask_ok", "Text": "It is free. Take it?"},
        {"Agent": "UserGuide", "Action": "instruct", "Text": "change your mind"},
        {"Agent": "User", "Action": "utter", "Text": "Do you also sell oars?"},
        {"Agent": "Wizard", "Action": "utter", "Text": "No."},
        {"Agent": "User", "Action": "utter", "Text": "Then yes."},
        query("Book", '"Heron"', "api.is_at_most(3)"),
        item(Message="Booked: H-7"),
        {"Agent": "Wizard", "Action": "pick_suggestion", "ActionLabel": "rented", "Text": "Booked: H-7"},
        {"Agent": "User", "Action": "complete"},
    ]
    scenario = {"UserTask": "Rent a boat.", "WizardCapabilities": [{"Task": "boat_rent"}]}
    row = {"DialogueID": 7, "Scenario": scenario, "Events": events}
    (tmp_path / "dialogues.jsonl").write_text(json.dumps(row) + "\n")
    return read_star(tmp_path)


def query(request: str, boat: str, hours: str) -> dict[str, Any]:
    constraints = [{"Boat": boat}, {"Hours": hours}, {"RequestType": f'"{request}"'}]
    return {"Agent": "Wizard", "Action": "query", "APIName": "boat_rent", "Constraints": constraints}


def item(**fields: Any) -> dict[str, Any]:
    return {"Agent": "KnowledgeBase", "Action": "return_item", "APIName": "boat_rent", "Item": fields}


def test_star_is_read_as_sessions_tools_and_a_workflow(star: RecordedDialogues) -> None:
    assert list(star.data.specs) == ["boat_rent_check", "boat_rent_book"]
    assert [spec.effect for spec in star.data.specs.values()] == ["read", "write"]
    workflow = star.data.scenarios["boat_rent"].workflow
    assert check(workflow, star.data.specs) == []
    events = star.data.recordings["star-7"]
    assert [event.call.args for event in events if isinstance(event, Called)] == [
        {"Boat": "Heron", "Hours": 2},
        {"Boat": "Heron", "Hours": {"at_most": 3}},
    ]
    assert [said.intervention for said in events if isinstance(said, Said) and said.role == "user"] == [None, 0, None]
    assert "not said" not in str(events)
    (goal,) = star.golds["star-7"].golds[0].goals
    assert goal.facts == {"Message": "Booked: H-7"} and goal.outcome == "rented"
    assert len(star.references) == 5 and star.references[2].fired


def test_a_recorded_world_answers_what_was_recorded(star: RecordedDialogues) -> None:
    session = star.data.sessions["star-7"]
    world = world_of(star.data, session)
    assert world is not None

    def call(tool: str, **args: Any) -> Any:
        return asyncio.run(world.call(ToolCall(tool=tool, args=args)))

    assert call("boat_rent_check", Boat=" heron", Hours="2").value == {"Message": "Available"}
    assert world.state == {"ledger": {}}, "a check changes nothing"
    assert call("boat_rent_check", Boat="Egret", Hours=2).error.type == "not_recorded"
    assert call("boat_row").error.type == "unknown_tool"
    assert call("boat_rent_book", Boat="Heron", Hours={"at_most": 3}).ok
    assert world.digest == star.golds["star-7"].golds[0].digest
    call("boat_rent_book", Boat="Egret", Hours=1)
    assert world.digest != star.golds["star-7"].golds[0].digest, "a write that nobody made is no success"


def test_equal_calls_are_answered_in_their_order() -> None:
    call = ToolCall(tool="look", args={"at": "sky"})
    events = [Called(call=call, observation=Observation(value=value)) for value in ("grey", "blue")]
    spec = ToolSpec(name="look", parameters={"type": "object", "properties": {"at": {"type": "string"}}})
    world = RecordedWorld({"look": spec}, events, ())
    assert [asyncio.run(world.call(call)).value for _ in range(3)] == ["grey", "blue", "blue"]


def test_star_without_its_tasks_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "dialogues.jsonl").write_text("")
    with pytest.raises(InputError, match="no description of an API"):
        read_star(tmp_path)
    with pytest.raises(InputError, match=r"dialogues\.jsonl"):
        read_star(tmp_path / "none")


def test_sgd_is_read_as_intents(tmp_path: Path) -> None:
    slots = [{"name": name, "description": f"The {name}"} for name in ("city", "day", "price")]
    intents: list[Any] = [
        {"name": "FindRoom", "description": "Find a room", "is_transactional": False, "required_slots": ["city"],
         "optional_slots": {"day": "today"}, "result_slots": ["price"]},
        {"name": "BookRoom", "description": "Book a room", "is_transactional": True, "required_slots": ["city", "day"],
         "optional_slots": {}, "result_slots": []},
    ]  # fmt: skip
    schema: list[Any] = [{"service_name": "Rooms_1", "description": "Rooms", "slots": slots, "intents": intents}]
    (tmp_path / "my_schema.json").write_text(json.dumps(schema))
    opened = {
        "service": "Rooms_1",
        "actions": [{"act": "INFORM_INTENT", "canonical_values": ["FindRoom"], "values": []}],
    }
    request = {"method": "FindRoom", "parameters": {"city": "Bonn", "day": "today"}}
    frame = {"service": "Rooms_1", "actions": [], "service_call": request, "service_results": [{"price": "40"}]}
    turns = [
        {"speaker": "USER", "utterance": "A room in Bonn.", "frames": [opened]},
        {"speaker": "SYSTEM", "utterance": "One costs 40.", "frames": [frame]},
    ]
    row = {"dialogue_id": "1_1", "services": ["Rooms_1"], "turns": turns}
    (tmp_path / "dialogues.jsonl").write_text(json.dumps(row) + "\n")
    read = read_sgd(tmp_path)
    (session,) = read.data.sessions.values()
    assert session.goals[0].slots == {"city": "Bonn", "day": "today"}
    assert read.data.scenarios["Rooms_1_FindRoom"].opens == ("A room in Bonn.",)
    assert read.golds[session.id].golds[0].goals[0].facts == {"price": "40"}
    world = world_of(read.data, session)
    assert world is not None
    plain = ToolCall(tool="Rooms_1_FindRoom", args={"city": "Bonn"})
    assert asyncio.run(world.call(plain)).value == [{"price": "40"}], "the default of the day counts as no argument"
    assert [reference.call is None for reference in read.references] == [False, True]

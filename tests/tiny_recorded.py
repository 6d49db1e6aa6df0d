"""Dialogues of our own in the published formats of SGD and STAR, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


# SGD


def write_sgd(folder: Path) -> Path:
    """A service that finds and reserves bicycles, and two dialogues."""
    names = {"town": "town of the station", "day": "day of the ride", "kind": "kind of bicycle"}
    service: dict[str, Any] = {
        "service_name": "Bicycles_1",
        "description": "Bicycles to borrow",
        "slots": [{"name": name, "description": text} for name, text in names.items()],
        "intents": [
            {
                "name": "FindBicycle",
                "description": "Look for a bicycle",
                "is_transactional": False,
                "required_slots": ["town"],
                "optional_slots": {"kind": "dontcare"},
            },
            {
                "name": "ReserveBicycle",
                "description": "Reserve a bicycle",
                "is_transactional": True,
                "required_slots": ["town", "day"],
                "optional_slots": {},
            },
        ],
    }
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps([service]), encoding="utf-8")
    found = _agent(
        "There is one at Mill Bridge.",
        "FindBicycle",
        {"town": "Aarhus"},
        [{"station": "Mill Bridge", "town": "Aarhus"}],
    )
    reserved = _agent(
        "It is reserved, your code is QX4411.", "ReserveBicycle", {"town": "Aarhus", "day": "Tuesday"},
        [{"code": "QX4411"}],
    )  # fmt: skip
    _write(
        folder / "dialogues.jsonl",
        _sgd("1", [_user("I want to ride a tandem in Aarhus.", "FindBicycle"), found, _user("Thanks, bye.")]),
        _sgd(
            "2",
            [
                _user("Please reserve me a bicycle.", "ReserveBicycle"),
                _agent("In which town, and on which day?"),
                _user("Aarhus, on Tuesday."),
                _agent("Aarhus on Tuesday. Shall I reserve it?"),
                _user("Yes, please."),
                reserved,
                _user("Great, goodbye."),
            ],
        ),
    )
    return folder


def _sgd(key: str, turns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"dialogue_id": f"0_{key}", "key": f"own/{key}", "services": ["Bicycles_1"], "turns": turns}


def _user(text: str, intent: str = "") -> dict[str, Any]:
    actions = [{"act": "INFORM_INTENT", "slot": "intent", "values": [intent], "canonical_values": [intent]}]
    frames = [{"service": "Bicycles_1", "actions": actions if intent else []}]
    return {"speaker": "USER", "utterance": text, "frames": frames}


def _agent(text: str, method: str = "", args: Any = None, results: Any = None) -> dict[str, Any]:
    frame: dict[str, Any] = {"service": "Bicycles_1", "actions": []}
    if method:
        frame |= {"service_call": {"method": method, "parameters": args}, "service_results": results}
    return {"speaker": "SYSTEM", "utterance": text, "frames": [frame]}


# STAR


def write_star(folder: Path) -> Path:
    """An API that finds a garden, and two dialogues; in the second one the user is told to leave the procedure."""
    api = {
        "input": [
            {"Name": "Village", "Type": "String", "ReadableName": "Village"},
            {"Name": "Trees", "Type": "Integer", "ReadableName": "Number of trees"},
        ],
        "output": [{"Name": "Gate", "Type": "String"}],
        "required": ["Village", "Trees"],
    }
    apis = folder / "apis" / "apis"
    apis.mkdir(parents=True)
    (apis / "garden_search.json").write_text(json.dumps(api), encoding="utf-8")
    graph = {"hello": "ask_village", "ask_village": "ask_trees", "ask_trees": "query", "query": "garden_inform_found"}
    task = folder / "tasks" / "garden_search"
    task.mkdir(parents=True)
    (task / "garden_search.json").write_text(json.dumps({"graph": graph}), encoding="utf-8")
    search = {
        "Agent": "Wizard",
        "Action": "query",
        "APIName": "garden_search",
        "Constraints": [{"Village": 'api.is_equal_to("Ryd")'}, {"Trees": 'api.is_equal_to("7")'}],
    }
    item = {"Agent": "KnowledgeBase", "Action": "return_item", "Item": {"APIName": "garden_search", "Gate": "G52"}}
    begin = [_said("User", "Hello, I look for a quiet garden."), _said("Wizard", "In which village?", "ask_village")]
    middle = [_said("User", "In Ryd."), _said("Wizard", "How many trees should it have?", "ask_trees")]
    told = [search, item, _said("Wizard", "There is one, take gate G52.", "garden_inform_found")]
    end = [_said("User", "Thank you, goodbye.")]
    guided = [{"Agent": "UserGuide", "Action": "instruct", "Text": "Speak of something else."}]
    aside = [*guided, _said("User", "What a rainy day."), _said("Wizard", "Indeed. How many trees?", "ask_trees")]
    _write(
        folder / "dialogues.jsonl",
        _star(1, [*begin, *middle, _said("User", "7 trees."), *told, *end]),
        _star(2, [*begin, *middle, *aside, _said("User", "7, please."), *told, *end]),
    )
    return folder


def _said(who: str, text: str, label: str = "") -> dict[str, Any]:
    return {"Agent": who, "Action": "utter", "Text": text, **({"ActionLabel": label} if label else {})}


def _star(id: int, events: list[dict[str, Any]]) -> dict[str, Any]:
    scenario = {"WizardCapabilities": [{"Task": "garden_search"}], "UserTask": "Find a garden."}
    return {"DialogueID": id, "Scenario": scenario, "Events": events}

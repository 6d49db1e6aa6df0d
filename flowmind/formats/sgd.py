"""Reads the Schema-Guided Dialogue dataset (Rastogi et al., 2020): recorded dialogues with calls of services.

An intent of a service is a scenario: its slots are the intent's slots, its only tool is the service's method. An intent
that is transactional writes, and asks for consent before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_text
from flowmind.trace.events import Called, Event, Said
from flowmind.trace.recorded_dialogues import RecordedDialogue, RecordedDialogues, read_rows, recorded_data
from flowmind.trace.scenario import CONFIRMED, OUTCOME, FactWords, Goal, Profile, Scenario, Session, SlotWords
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

_TURNS = {"single": 20, "cross": 40}


class _Intent(NamedTuple):
    """An intent of a service."""

    service: Mapping[str, Any]
    intent: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id of the scenario, and the name of the tool."""
        return f"{self.service['service_name']}_{self.intent['name']}"

    @property
    def writes(self) -> bool:
        return bool(self.intent["is_transactional"])

    @property
    def required(self) -> list[str]:
        return list(self.intent["required_slots"])

    @property
    def slots(self) -> list[str]:
        return [*self.required, *(name for name in self.intent["optional_slots"] if name not in self.required)]

    def described(self, name: str) -> str:
        slot = next((slot for slot in self.service["slots"] if slot["name"] == name), None)
        return str(slot["description"]) if slot else name.replace("_", " ")

    def spec(self) -> ToolSpec:
        """The tool."""
        defaults: Mapping[str, Any] = self.intent["optional_slots"]
        properties: dict[str, Any] = {}
        for name in self.slots:
            properties[name] = {"type": "string", "description": self.described(name)}
            if name not in self.required:
                properties[name] |= {"default": str(defaults[name])}
        return ToolSpec(
            name=self.id,
            description=f"{self.intent['description']}.",
            parameters={"type": "object", "properties": properties, "required": self.required},
            effect="write" if self.writes else "read",
        )


def read_sgd(folder: Path, split: str = "") -> RecordedDialogues:
    """Reads a folder with `dialogues.jsonl.gz` or `dialogues.jsonl`, and `*schema.json` in it or in its `shared`.

    Args:
        folder: The folder.
        split: The part of the dialogues to read, if `index.jsonl` names parts.

    Raises:
        InputError: If a file is missing or cannot be read.
    """
    intents = _intents(folder / "shared" if (folder / "shared").is_dir() else folder)
    rows = read_rows(folder, "key", split)
    openings: dict[str, list[str]] = defaultdict(list)
    fields: dict[str, set[str]] = defaultdict(set)
    dialogues = [_dialogue(row, number, intents, openings, fields) for number, row in enumerate(rows)]
    used = {scenario for dialogue in dialogues for scenario in dialogue.session.scenarios}
    chosen = {id: intent for id, intent in intents.items() if id in used}
    scenarios = {id: _scenario(intent, openings[id], fields[id]) for id, intent in chosen.items()}
    specs = {id: intent.spec() for id, intent in chosen.items()}
    return recorded_data(f"sgd-{split}" if split else "sgd", scenarios, specs, dialogues)


def _intents(folder: Path) -> dict[str, _Intent]:
    """The intents of all schemas of the dataset; those of its variants (SGD-X) are left out."""
    intents: dict[str, _Intent] = {}
    for path in sorted(folder.glob("*schema.json")):
        if path.name.startswith("sgd_x"):
            continue
        for service in cast("list[dict[str, Any]]", parse_json(read_text(path))):
            for row in service["intents"]:
                intent = _Intent(service, row)
                intents.setdefault(intent.id, intent)
    if not intents:
        raise InputError(f"{folder}: no file *schema.json in it")
    return intents


def _dialogue(
    row: Mapping[str, Any],
    number: int,
    intents: Mapping[str, _Intent],
    openings: dict[str, list[str]],
    fields: dict[str, set[str]],
) -> RecordedDialogue:
    events: list[Event] = []
    values: dict[str, dict[str, Any]] = {}
    for turn in row["turns"]:
        if turn["speaker"] == "USER":
            events.append(Said(role="user", text=turn["utterance"]))
            for id in _opened(turn, intents):
                if turn["utterance"] not in openings[id]:
                    openings[id].append(turn["utterance"])
            continue
        for frame in turn["frames"]:
            if "service_call" in frame:
                called = _called(frame)
                events.append(called)
                values[called.call.tool] = {**values.get(called.call.tool, {}), **called.call.args}
                for result in frame.get("service_results", []):
                    fields[called.call.tool] |= result.keys()
        events.append(Said(role="agent", text=turn["utterance"]))
    goals = tuple(_goal(intents[id], given) for id, given in values.items() if id in intents)
    session = Session(
        id=f"sgd-{number}-{re.sub(r'[^A-Za-z0-9_.-]', '-', str(row.get('key', row['dialogue_id'])))}",
        profile=Profile(persona=f"A user of {', '.join(row['services'])}."),
        goals=goals,
        max_turns=_TURNS["single" if len(goals) == 1 else "cross"],
    )
    answers = {goal.scenario: "done" for goal in goals}
    return RecordedDialogue(session=session, events=tuple(events), answers=answers)


def _opened(turn: Mapping[str, Any], intents: Mapping[str, _Intent]) -> Iterator[str]:
    """The scenarios that a text of a user begins."""
    for frame in turn["frames"]:
        for action in frame["actions"]:
            if action["act"] == "INFORM_INTENT":
                for value in action["canonical_values"] or action["values"]:
                    if (id := f"{frame['service']}_{value}") in intents:
                        yield id


def _called(frame: Mapping[str, Any]) -> Called:
    request = frame["service_call"]
    call = ToolCall(tool=f"{frame['service']}_{request['method']}", args=dict(request["parameters"]))
    return Called(call=call, observation=Observation(value=list(frame.get("service_results", []))))


def _goal(intent: _Intent, given: Mapping[str, Any]) -> Goal:
    slots: dict[str, Any] = {name: given.get(name) for name in intent.slots}
    return Goal(scenario=intent.id, slots={**slots, CONFIRMED: True} if intent.writes else slots)


def _scenario(intent: _Intent, openings: Sequence[str], fields: Iterable[str]) -> Scenario:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(intent.intent["name"])).lower()
    service = str(intent.service["service_name"])
    return Scenario(
        id=intent.id,
        domain=service.partition("_")[0],
        role=service,
        title=f"{service}: {name}",
        background=f"{intent.service['description']}.",
        opens=tuple(openings[:5]) or (f"I would like to {name}.",),
        workflow=Workflow.model_validate(_workflow(intent)),
        tools=(intent.id,),
        database="",
        time="2019-03-01 09:00",
        slots={slot: SlotWords(label=slot.replace("_", " ")) for slot in intent.slots},
        facts={field: FactWords(label=field.replace("_", " ")) for field in sorted(fields)},
    )


def _workflow(intent: _Intent) -> dict[str, Any]:
    """The call of the intent's method, behind the user's consent if it writes."""
    slots: dict[str, Any] = {}
    for name in intent.slots:
        kind: Any = "string" if name in intent.required else ["string", "null"]
        slots[name] = {"type": kind, "description": intent.described(name)}
    args = {name: {"var": name} for name in slots}
    nodes: list[dict[str, Any]] = [{"id": "start", "kind": "start"}]
    edges: list[dict[str, Any]] = []
    before: dict[str, Any] = {"from": "start"}
    if intent.writes:
        slots[CONFIRMED] = {"type": "boolean", "description": "whether the user agrees to the proposal"}
        nodes += [
            {"id": "proposal", "kind": "assign", "value": {"object": args}, "output": "proposal"},
            {"id": "consent", "kind": "condition", "expr": CONFIRMED},
            {"id": "not_wanted", "kind": "end", "output": {"object": {OUTCOME: {"value": "not_wanted"}}}},
        ]
        edges += [
            {"from": "start", "to": "proposal"},
            {"from": "proposal", "to": "consent"},
            {"from": "consent", "to": "not_wanted", "when": False},
        ]
        before = {"from": "consent", "when": True}
    output = {"object": {OUTCOME: {"value": "done"}, "results": {"var": "results"}}}
    nodes += [
        {"id": "call", "kind": "tool", "tool": intent.id, "args": args, "output": "results"},
        {"id": "done", "kind": "end", "output": output},
    ]
    edges += [{**before, "to": "call"}, {"from": "call", "to": "done"}]
    inputs = {"type": "object", "properties": slots, "required": list(slots), "additionalProperties": False}
    return {
        "schema": "flowmind/workflow@1",
        "name": intent.id,
        "description": f"{intent.intent['description']}.",
        "inputs": inputs,
        "nodes": nodes,
        "edges": edges,
    }

"""Reads the rows that FlowBench (Xiao et al., 2024) publishes for its turn level.

A row has `id` (`<session>_agent_turn<n>`), `messages` (the first is the prompt with the workflow knowledge), `apis`,
and the gold turn: `gt_thought` with `Action` and `Action Input`, or `gt_response`. The prompt of a row stays the
agent's background, so its knowledge is that of the row, whatever format is asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_text
from flowmind.formats.tool_schema import specs_of_openai_tools
from flowmind.trace.events import Called, Event, Said
from flowmind.trace.recorded_dialogues import RecordedDialogues
from flowmind.trace.scenario import DialogueData, Goal, Gold, Profile, Reference, Scenario, Session, SessionGold
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.stateful import state_digest
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

_ACTION = re.compile(r"Action:\s*(?:functions\.)?([\w.-]+)\s*\n\s*Action Input:\s*(\{.*\})", re.DOTALL)
_RESPONSE = re.compile(r"Response:\s*(.*)", re.DOTALL)
_TURN = re.compile(r"_agent_turn.*")
_EMPTY: dict[str, Any] = {
    "schema": "flowmind/workflow@1",
    "name": "unknown",
    "inputs": {"type": "object", "properties": {}},
    "nodes": [{"id": "start", "kind": "start"}, {"id": "end", "kind": "end", "output": {"value": None}}],
    "edges": [{"from": "start", "to": "end"}],
}
"""The rows have their workflows as text only."""


def read_flowbench_rows(path: Path) -> RecordedDialogues:
    """The turns of a JSON Lines file, or of all such files of a folder.

    Raises:
        InputError: With file, line and reason.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: no file *.jsonl in it")
    scenarios: dict[str, Scenario] = {}
    sessions: dict[str, Session] = {}
    specs: dict[str, ToolSpec] = {}
    references: list[Reference] = []
    for file, number, row in _rows(files):
        try:
            scenario = _scenario(row, specs)
            scenarios.setdefault(scenario.id, scenario)
            session = re.sub(r"[^\w.-]", "-", _TURN.sub("", str(row["id"])))
            sessions.setdefault(session, _session(session, scenario.id))
            references.append(_reference(row, session))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}, line {number}: not a row of FlowBench's turn level: {error}") from None
    gold = Gold(goals=(), digest=state_digest({}), changes=())
    data = DialogueData(
        name=path.stem,
        scenarios=scenarios,
        sessions=sessions,
        databases={"": {}},
        tools={},
        specs=specs,
        recordings={
            id: tuple(event for turn in references if turn.session == id for event in turn.events) for id in sessions
        },
    )
    golds = {id: SessionGold(id=id, golds=(gold,)) for id in sessions}
    return RecordedDialogues(data=data, golds=golds, references=tuple(references))


def _rows(files: Sequence[Path]) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    for file in files:
        for number, line in enumerate(read_text(file).splitlines(), 1):
            if line.strip():
                try:
                    yield file, number, cast("dict[str, Any]", parse_json(line))
                except ValueError as error:
                    raise InputError(f"{file}, line {number}: {error}") from None


def _scenario(row: Mapping[str, Any], specs: dict[str, ToolSpec]) -> Scenario:
    prompt = str(row["messages"][0]["content"])
    own = specs_of_openai_tools([cast("dict[str, Any]", api) for api in row["apis"]])
    specs.update(own)
    return Scenario(
        id=f"prompt-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}",
        domain="flowbench",
        role="flowbench",
        title="FlowBench",
        background=prompt,
        workflow=Workflow.model_validate(_EMPTY),
        tools=tuple(own),
        database="",
        time="",
        slots={},
        facts={},
    )


def _session(id: str, scenario: str) -> Session:
    goal = Goal(scenario=scenario, slots={})
    return Session(id=id, profile=Profile(persona=""), goals=(goal,), max_turns=20)


def _reference(row: Mapping[str, Any], session: str) -> Reference:
    shared: dict[str, Any] = {
        "id": re.sub(r"[^\w.-]", "-", str(row["id"])),
        "session": session,
        "oow": False,
        "events": tuple(_events(row["messages"][1:])),
    }
    thought: Any = row.get("gt_thought")
    body = cast("dict[str, Any]", thought) if isinstance(thought, dict) else {}
    if body.get("Action"):
        args: Any = body.get("Action Input") or "{}"
        args = parse_json(args) if isinstance(args, str) else args
        return Reference(**shared, call=ToolCall(tool=str(body["Action"]), args=args))
    return Reference(**shared, text=str(row.get("gt_response", "")))


def _events(messages: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    call: ToolCall | None = None
    for message in messages:
        role, content = message["role"], str(message.get("content") or "")
        if role == "user":
            yield Said(role="user", text=content)
        elif role == "assistant":
            call = _called(message, content)
            if call is None:
                said = _RESPONSE.search(content)
                yield Said(role="agent", text=said[1].strip() if said else content)
        elif call is not None:
            yield Called(call=call, observation=Observation(value=_value(content)))
            call = None


def _called(message: Mapping[str, Any], content: str) -> ToolCall | None:
    native = message.get("function_call")
    if native:
        return ToolCall(tool=str(native["name"]), args=json.loads(native.get("arguments") or "{}"))
    action = _ACTION.search(content)
    return ToolCall(tool=action[1], args=json.loads(action[2])) if action else None


def _value(content: str) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return content

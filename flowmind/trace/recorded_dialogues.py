"""Recorded dialogues as sessions: a world that answers what was recorded, golds, and the turns as references."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import read_bytes, read_text
from flowmind.trace.events import Called, Event, Said
from flowmind.trace.scenario import (
    DialogueData,
    GoalGold,
    Gold,
    Reference,
    Session,
    SessionGold,
    StateChange,
    state_changes,
)
from flowmind.trace.telling import tells
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.stateful import state_digest
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec

LEDGER = "ledger"
"""The only table of a recorded world: the calls that count, by their text."""


class RecordedDialogue(Record):
    """A dialogue that people held, in the terms of a benchmark."""

    session: Session
    events: tuple[Event, ...]
    """What was said and called."""
    answers: dict[str, str]
    """For each scenario, the answer that was given last."""


class RecordedDialogues(Record):
    """Recorded dialogues as a benchmark."""

    data: DialogueData
    golds: dict[str, SessionGold]
    references: tuple[Reference, ...]


def read_rows(folder: Path, key: str, split: str = "") -> list[dict[str, Any]]:
    """The rows of `dialogues.jsonl.gz` or `dialogues.jsonl` of a folder.

    Args:
        folder: The folder.
        key: The field that identifies a row.
        split: The part of the rows to read, which `index.jsonl` names for each key.

    Raises:
        InputError: If a file is missing or cannot be read.
    """
    packed, plain = folder / "dialogues.jsonl.gz", folder / "dialogues.jsonl"
    path = packed if packed.exists() else plain
    try:
        text = gzip.decompress(read_bytes(path)).decode() if path == packed else read_text(path)
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not split:
            return rows
        path = folder / "index.jsonl"
        index = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
        parts = {row[key]: row["split"] for row in index}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise InputError(f"{path}: no dialogues could be read: {error}") from None
    return [row for row in rows if parts.get(row[key]) == split]


class RecordedWorld:
    """An environment that answers calls with the results of a recorded dialogue.

    A call is answered with the recorded result of an equal call, wherever it stood; equal calls are answered in their
    order, and the last result stays. Any other call fails with `not_recorded`. Calls are equal if their arguments are,
    as texts, trimmed and casefolded; None and an argument's default count as no argument. The state is a ledger of the
    calls that count.

    Args:
        specs: The tools.
        events: The recorded dialogue.
        counted: The tools whose calls enter the ledger.
    """

    def __init__(self, specs: Mapping[str, ToolSpec], events: Iterable[Event], counted: Collection[str]) -> None:
        self.specs = dict(specs)
        self._counted = frozenset(counted)
        self._results: dict[str, list[Observation]] = {}
        """The results that are left, by call; the last one stays."""
        for event in events:
            if isinstance(event, Called):
                self._results.setdefault(_key(event.call, specs), []).append(event.observation)
        self._ledger: dict[str, Any] = {}

    @property
    def awaited(self) -> Collection[str]:
        """All tools."""
        return frozenset(self.specs)

    @property
    def state(self) -> dict[str, Any]:
        """The ledger."""
        return {LEDGER: self._ledger}

    @property
    def digest(self) -> str:
        """The digest of the state."""
        return state_digest(self.state)

    async def call(self, call: ToolCall) -> Observation:
        """Answers a call, and enters it into the ledger if it counts."""
        if call.tool not in self.specs:
            return Observation.failed("unknown_tool", f"there is no tool {call.tool!r}")
        key = _key(call, self.specs)
        results = self._results.get(key, [])
        observation = results.pop(0) if len(results) > 1 else results[0] if results else None
        if observation is not None and not observation.ok:
            return observation
        if call.tool in self._counted:
            self._ledger = {**self._ledger, key: True}
        if observation is None:
            return Observation.failed("not_recorded", "the recorded dialogue has no such call")
        return observation

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Never called: all tools are in `awaited`."""
        raise NotImplementedError


def world_of(data: DialogueData, session: Session) -> RecordedWorld | None:
    """The world of a session of recorded dialogues; None for a session of a benchmark whose tools can be called."""
    if session.id not in data.recordings:
        return None
    events = data.recordings[session.id]
    names = {name for scenario in session.scenarios for name in data.scenarios[scenario].tools}
    specs = {name: data.specs[name] for name in data.specs if name in names}
    return RecordedWorld(specs, events, counted_tools(specs, events))


def counted_tools(specs: Mapping[str, ToolSpec], events: Iterable[Event]) -> set[str]:
    """The tools whose calls are the result of a dialogue: those that write, or all if it calls none that writes."""
    used = {event.call.tool for event in events if isinstance(event, Called) and event.observation.ok}
    writing = {name for name, spec in specs.items() if spec.effect == "write"}
    return writing if used & writing else set(specs)


def recorded_data(
    name: str,
    scenarios: Mapping[str, Any],
    specs: Mapping[str, ToolSpec],
    dialogues: Sequence[RecordedDialogue],
) -> RecordedDialogues:
    """A benchmark of recorded dialogues, with golds and references.

    Args:
        name: The name of the source.
        scenarios: By id.
        specs: The tools by name.
        dialogues: The dialogues.
    """
    data = DialogueData(
        name=name,
        scenarios=dict(scenarios),
        sessions={dialogue.session.id: dialogue.session for dialogue in dialogues},
        databases={"": {LEDGER: {}}},
        tools={},
        specs=dict(specs),
        recordings={dialogue.session.id: dialogue.events for dialogue in dialogues},
    )
    golds = {dialogue.session.id: _gold(dialogue, data) for dialogue in dialogues}
    references = tuple(reference for dialogue in dialogues for reference in _references(dialogue))
    return RecordedDialogues(data=data, golds=golds, references=references)


def _gold(dialogue: RecordedDialogue, data: DialogueData) -> SessionGold:
    session = dialogue.session
    made = [event for event in dialogue.events if isinstance(event, Called) and event.observation.ok]
    counted = counted_tools(_specs_of(session, data), dialogue.events)
    ledger = {_key(event.call, data.specs): True for event in made if event.call.tool in counted}
    goals: list[GoalGold] = []
    for scenario in session.scenarios:
        tools = data.scenarios[scenario].tools
        own = [event for event in made if event.call.tool in tools]
        goals.append(
            GoalGold(
                scenario=scenario,
                calls=tuple(event.call for event in own),
                outcome=dialogue.answers.get(scenario, ""),
                facts=_facts(own[-1], dialogue.events) if own else {},
            )
        )
    changes: tuple[StateChange, ...] = state_changes({LEDGER: {}}, {LEDGER: ledger})
    gold = Gold(goals=tuple(goals), digest=state_digest({LEDGER: ledger}), changes=changes)
    return SessionGold(id=session.id, golds=(gold,) * (len(session.interventions) + 1))


def _specs_of(session: Session, data: DialogueData) -> dict[str, ToolSpec]:
    names = {name for scenario in session.scenarios for name in data.scenarios[scenario].tools}
    return {name: data.specs[name] for name in data.specs if name in names}


def _facts(last: Called, events: Sequence[Event]) -> dict[str, Any]:
    """The values of the last result that the recorded agent told after it, by field."""
    begin = next(place for place, event in enumerate(events) if event is last)
    texts = [event.text for event in events[begin:] if isinstance(event, Said) and event.role == "agent"]
    value: Any = last.observation.value
    rows = cast("list[Any]", value) if isinstance(value, list) else [value]
    row = cast("dict[str, Any]", rows[0]) if rows and isinstance(rows[0], dict) else {}
    facts: dict[str, Any] = {}
    for name, field in row.items():
        is_plain = isinstance(field, str | int | float) and not isinstance(field, bool)
        if is_plain and str(field).strip() and any(tells(text, field) for text in texts):
            facts[name] = field
    return facts


def _references(dialogue: RecordedDialogue) -> Iterable[Reference]:
    session, events = dialogue.session, dialogue.events
    for place, event in enumerate(events):
        is_text = isinstance(event, Said) and event.role == "agent"
        if not is_text and not isinstance(event, Called):
            continue
        before = [earlier for earlier in events[:place] if isinstance(earlier, Said) and earlier.role == "user"]
        common: dict[str, Any] = {
            "id": f"{session.id}.{place}",
            "session": session.id,
            "oow": bool(session.interventions),
            "fired": bool(before) and before[-1].intervention is not None,
            "events": events[:place],
        }
        if isinstance(event, Called):
            yield Reference(**common, call=event.call)
        elif isinstance(event, Said):
            yield Reference(**common, text=event.text, answer=event.answer)


def _key(call: ToolCall, specs: Mapping[str, ToolSpec]) -> str:
    spec = specs.get(call.tool)
    fields: dict[str, dict[str, Any]] = spec.parameters["properties"] if spec else {}
    given = {name: _plain(value) for name, value in call.args.items() if value is not None}
    args = {name: value for name, value in given.items() if value != _plain(fields.get(name, {}).get("default", ...))}
    return json.dumps([call.tool, args], sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str | int | float):
        return str(value).strip().casefold()
    if isinstance(value, list):
        return [_plain(part) for part in cast("list[Any]", value)]
    return value

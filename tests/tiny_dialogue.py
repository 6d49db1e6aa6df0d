"""A small dialogue benchmark for tests: the two scenarios of the medical consultant, with sessions and golds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from flowbench_synth.dialogue.domains.medical_consultant import ROLE
from flowmind.dialogue.users.goals import goals_after
from flowmind.run.running import arun
from flowmind.trace.scenario import (
    CONFIRMED,
    OUTCOME,
    DatabaseRow,
    DialogueData,
    Goal,
    GoalGold,
    Gold,
    Intervention,
    Profile,
    Scenario,
    ScenarioRow,
    Session,
    SessionGold,
    state_changes,
)
from flowmind.trace.task import SourceRow
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import Remembered, StatefulEnvironment, state_digest

SCHEDULE, RESULTS = (scenario.id for scenario in ROLE.scenarios)
DATABASE = ROLE.database(Random("tests"))
REMEMBERED = Remembered()


def goal(scenario: str, end: str, seed: int = 0) -> Goal:
    """A goal whose user arrives at an end."""
    blueprint = next(row for row in ROLE.scenarios if row.id == scenario)
    slots = blueprint.ends[end](Random(f"{end}{seed}"), DATABASE)
    if CONFIRMED in blueprint.workflow.input_names:
        slots[CONFIRMED] = end not in blueprint.denied
    return Goal(scenario=scenario, slots=slots)


def session(id: str, *goals: Goal, interventions: Iterable[Intervention] = ()) -> Session:
    """A session of a plain user."""
    most = 15 if len(goals) == 1 else 20
    person = Profile(persona="A patient.", style="plain")
    return Session(id=id, profile=person, goals=goals, interventions=tuple(interventions), max_turns=most)


def data_of(sessions: Sequence[Session]) -> DialogueData:
    """The benchmark of some sessions."""
    scenarios: dict[str, Scenario] = {}
    for blueprint in ROLE.scenarios:
        scenarios[blueprint.id] = Scenario(
            id=blueprint.id,
            domain=ROLE.domain,
            role=ROLE.id,
            title=blueprint.title,
            background=ROLE.background,
            opens=tuple(blueprint.opens),
            cancels=tuple(blueprint.cancels),
            tools=tuple(sorted(blueprint.workflow.tool_names)),
            database=ROLE.id,
            time=ROLE.time,
            slots={name: slot.words for name, slot in blueprint.slots.items()},
            facts=dict(blueprint.facts),
            workflow=blueprint.workflow,
        )
    return DialogueData(
        name="tiny",
        scenarios=scenarios,
        sessions={row.id: row for row in sessions},
        databases={ROLE.id: DATABASE},
        tools={tool.spec.name: tool for tool in ROLE.tools},
    )


async def golds_of(data: DialogueData, inner: LocalSandbox) -> dict[str, SessionGold]:
    """The golds, by running the workflows on the goals."""
    golds: dict[str, SessionGold] = {}
    for row in data.sessions.values():
        forms = [await _gold(row, fired, data, inner) for fired in range(len(row.interventions) + 1)]
        golds[row.id] = SessionGold(id=row.id, golds=tuple(forms))
    return golds


async def _gold(row: Session, fired: int, data: DialogueData, inner: Any) -> Gold:
    start = data.start(row)
    world, goals = StatefulEnvironment(inner, start, REMEMBERED), list[GoalGold]()
    for standing in goals_after(row, fired):
        scenario = standing.goal.scenario
        if standing.dropped:
            goals.append(GoalGold(scenario=scenario, calls=(), outcome="", facts={}, dropped=True))
            continue
        trace = await arun(data.scenarios[scenario].workflow, standing.goal.slots, world)
        assert trace.ok, trace.error
        facts = {name: value for name, value in trace.answer.items() if name != OUTCOME}
        calls = tuple(event.call for event in trace.calls)
        goals.append(GoalGold(scenario=scenario, calls=calls, outcome=trace.answer[OUTCOME], facts=facts))
    return Gold(goals=tuple(goals), digest=state_digest(world.state), changes=state_changes(start, world.state))


def write(folder: Path, sessions: Sequence[Session]) -> Path:
    """Writes the files of a benchmark."""
    data = data_of(sessions)
    with LocalSandbox(ROLE.tools) as sandbox:
        golds = asyncio.run(golds_of(data, sandbox))
    (folder / "workflows").mkdir(parents=True)
    for scenario in data.scenarios.values():
        (folder / "workflows" / f"{scenario.id}.json").write_text(scenario.workflow.to_json(), encoding="utf-8")
    rows = [
        ScenarioRow(**{name: getattr(row, name) for name in ScenarioRow.model_fields})
        for row in data.scenarios.values()
    ]
    _lines(folder / "scenarios.jsonl", rows)
    _lines(folder / "sessions.jsonl", data.sessions.values())
    _lines(folder / "databases.jsonl", [DatabaseRow(id=ROLE.id, state=DATABASE)])
    _lines(folder / "gold.jsonl", golds.values())
    _lines(folder / "tools.jsonl", [tool.spec for tool in data.tools.values()])
    _lines(
        folder / "tool_sources.jsonl", [SourceRow(name=name, source=tool.source) for name, tool in data.tools.items()]
    )
    return folder


def _lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(row.model_dump_json(by_alias=True) + "\n" for row in rows), encoding="utf-8")

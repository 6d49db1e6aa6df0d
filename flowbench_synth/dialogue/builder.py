"""Builds the dialogue benchmark: scenarios, databases, sessions, golds, references, and the audit of all of them.

The same seed gives the same bytes: each random generator is seeded with the benchmark's seed and the session's id, the
roles share nothing, and no file contains a time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tqdm

from flowbench_synth.dialogue.audit import Audited, SessionAudit, audit_role, unreached, unsound
from flowbench_synth.dialogue.blueprint import RoleBlueprint, ScenarioBlueprint
from flowbench_synth.dialogue.card import card
from flowbench_synth.dialogue.conventions import role_problems, shared_names, specs_of
from flowbench_synth.dialogue.golds import drawn_goal
from flowbench_synth.dialogue.knowledge import Certificate, certify, uncertified
from flowbench_synth.dialogue.references import references_of
from flowbench_synth.dialogue.roles import missing, role_of, roles
from flowbench_synth.dialogue.sessions import Drawn, Planned, SessionMaker, plan
from flowbench_synth.dialogue.summary import statistics
from flowbench_synth.dialogue.world import world_of
from flowbench_synth.instance import BuildError
from flowmind import __version__
from flowmind.base.files import dump_json, write_text
from flowmind.base.folders import opened
from flowmind.base.processes import collect_seldom
from flowmind.trace.scenario import DialogueData, Reference, Scenario
from tools_registry.sandbox.isolation import Level

NAME = "flowbench_dialogue"
REVISION = 1
"""Grows when a seed gives other files."""


class BuiltRole(NamedTuple):
    """What is built for a role."""

    role: str
    database: dict[str, Any]
    """The state for conversations that are no session of the benchmark."""
    sessions: list[Drawn]
    audits: list[SessionAudit]
    certificates: list[Certificate]
    references: list[Reference]


def build(
    seed: int, out: Path, domains: Collection[str] = (), quiet: bool = False, require: Level = "kernel"
) -> dict[str, Any]:
    """Writes the benchmark of a seed to a folder and returns its manifest.

    Args:
        seed: The same seed gives the same files.
        out: The folder.
        domains: The domains to build; by default all.
        quiet: Whether no progress is shown.
        require: The least isolation of the processes that run tools.

    Raises:
        BuildError: If a role breaks a convention, a session cannot be drawn, or the audit finds a problem.
        OSError: If the folder cannot be written.
    """
    chosen = [role for role in roles() if not domains or role.domain in domains]
    if not chosen:
        raise BuildError("there is no role in these domains")
    if problems := [problem for role in chosen for problem in role_problems(role)] + shared_names(chosen):
        raise BuildError(problems[0])
    planned = plan(chosen, seed)
    built = list(_in_parallel(chosen, planned, seed, require, quiet))
    audits = [audit for item in built for audit in item.audits]
    certificates = [row for item in built for row in item.certificates]
    golds = [drawn.gold for item in built for drawn in item.sessions]
    workflows = {item.id: item.workflow for role in chosen for item in role.scenarios}
    if problems := [*unsound(audits), *uncertified(certificates), *unreached(workflows, golds)]:
        raise BuildError("; ".join(problems[:3]))
    return write(out, seed, chosen, built, planned)


def _in_parallel(
    chosen: Sequence[RoleBlueprint], planned: Sequence[Planned], seed: int, require: Level, quiet: bool
) -> Iterator[BuiltRole]:
    work = partial(built_role, seed=seed, require=require)
    rows = [(role.id, [item for item in planned if item.role == role.id]) for role in chosen]
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        parts = pool.map(work, *zip(*rows, strict=True))
        yield from tqdm.tqdm(parts, total=len(rows), desc="building", unit="role", disable=quiet or None)


def built_role(name: str, planned: Sequence[Planned], seed: int, require: Level) -> BuiltRole:
    """The sessions of a role, their audit, and the certificates of its scenarios.

    Raises:
        BuildError: If a session cannot be drawn.
    """
    role = role_of(name)
    database = role.database(Random(f"{seed}/{role.id}"))
    workflows = {scenario.id: scenario.workflow for scenario in role.scenarios}
    specs = specs_of(role)
    with world_of(role.tools, require=require) as world:
        maker = SessionMaker(role, seed, world)
        sessions = [maker.made(item) for item in planned]
        certificates = [
            certify(item.id, item.workflow, _goals(item, role, database, seed), world, specs) for item in role.scenarios
        ]
        references = references_of(sessions, _data(role, sessions), world.tools, seed)
    with world_of(role.tools, require=require) as other:
        items = [Audited(item.session, item.database, item.gold) for item in sessions]
        audits = audit_role(items, workflows, other, specs)
    return BuiltRole(name, database, sessions, audits, certificates, references)


def _data(role: RoleBlueprint, sessions: Sequence[Drawn]) -> DialogueData:
    """A role with its sessions, as an agent's run reads them."""
    return DialogueData(
        name=NAME,
        scenarios={scenario.id: scenario_of(role, scenario) for scenario in role.scenarios},
        sessions={item.session.id: item.session for item in sessions},
        databases={item.session.database: item.database for item in sessions},
        tools={tool.spec.name: tool for tool in role.tools},
    )


def _goals(
    scenario: ScenarioBlueprint, role: RoleBlueprint, database: dict[str, Any], seed: int
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Slots that arrive at each end, with the database."""
    goals: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for end in scenario.ends:
        goal = drawn_goal(scenario, end, database, Random(f"{seed}/{scenario.id}/{end}"))
        goals.append((goal.slots, database))
    return goals


def write(
    out: Path, seed: int, chosen: Sequence[RoleBlueprint], built: Sequence[BuiltRole], planned: Sequence[Planned]
) -> dict[str, Any]:
    """Writes the files of a benchmark and returns its manifest."""
    order = {item.id: number for number, item in enumerate(planned)}
    drawn = sorted((item for part in built for item in part.sessions), key=lambda item: order[item.session.id])
    scenarios = [scenario_of(role, scenario) for role in chosen for scenario in role.scenarios]
    tools = [tool for role in chosen for tool in role.tools]
    turns = [turn for part in built for turn in part.references]
    turns.sort(key=lambda turn: order[turn.session])
    databases: list[dict[str, Any]] = [{"id": part.role, "state": part.database} for part in built]
    databases += [{"id": item.session.database, "state": item.database} for item in drawn]
    texts = {
        "scenarios.jsonl": _lines(item.model_dump(mode="json", exclude={"workflow"}) for item in scenarios),
        "tools.jsonl": _lines(tool.spec.model_dump(mode="json") for tool in tools),
        "tool_sources.jsonl": _lines({"name": tool.spec.name, "source": tool.source} for tool in tools),
        "databases.jsonl": _lines(databases),
        "sessions.jsonl": _lines(item.session.model_dump(mode="json") for item in drawn),
        "gold.jsonl": _lines(item.gold.model_dump(mode="json") for item in drawn),
        "references.jsonl": _lines(_reference_row(turn) for turn in turns),
        **{f"workflows/{item.id}.json": item.workflow.document for item in scenarios},
    }
    _remove_stale(out, texts)
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(out / name, text)
    audits = [audit for part in built for audit in part.audits]
    manifest: dict[str, Any] = {
        "name": NAME,
        "seed": seed,
        "version": __version__,
        "revision": REVISION,
        "missing": missing(chosen),
        "sha256": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()},
        "statistics": statistics(scenarios, [item.session for item in drawn], [item.gold for item in drawn]),
        "references": {"sessions": len({turn.session for turn in turns}), "turns": len(turns)},
        "rejected_draws": sum(item.rejected for item in drawn),
        "knowledge": [row.model_dump(mode="json") for part in built for row in part.certificates],
        "audit": [row.model_dump(mode="json") for row in sorted(audits, key=lambda row: order[row.id])],
    }
    write_text(out / "manifest.json", dump_json(manifest, indent=1) + "\n")
    write_text(out / "README.md", card(manifest))
    return manifest


def _remove_stale(out: Path, texts: Collection[str]) -> None:
    """Removes the workflows of an earlier build that this one does not have."""
    if (out / "manifest.json").is_file():
        with opened(out / "workflows", out, create=True) as folder:
            for path in sorted((out / "workflows").glob("*.json")):
                if f"workflows/{path.name}" not in texts:
                    folder.remove(path.name)


def scenario_of(role: RoleBlueprint, scenario: ScenarioBlueprint) -> Scenario:
    """A scenario as the benchmark stores it."""
    workflow = scenario.workflow
    return Scenario(
        id=scenario.id,
        domain=role.domain,
        role=role.title,
        title=scenario.title,
        background=role.background,
        opens=tuple(scenario.opens),
        cancels=tuple(scenario.cancels),
        tools=tuple(workflow.tool_names),
        database=role.id,
        time=role.time,
        slots={name: slot.words for name, slot in scenario.slots.items()},
        facts=dict(scenario.facts),
        workflow=workflow,
    )


def _reference_row(turn: Reference) -> dict[str, Any]:
    """A turn as a JSON value; its events without defaults."""
    events = [{"kind": event.kind, **event.model_dump(mode="json", exclude_defaults=True)} for event in turn.events]
    return {**turn.model_dump(mode="json", exclude={"events"}), "events": events}


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(dump_json(row) + "\n" for row in rows)

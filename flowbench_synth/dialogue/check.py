"""Checks a built dialogue benchmark: whether its files are as they were built, and its audit once more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import tqdm

from flowbench_synth.dialogue.audit import Audited, SessionAudit, audit_role, unreached, unsound
from flowbench_synth.dialogue.builder import NAME
from flowbench_synth.dialogue.card import card
from flowbench_synth.dialogue.conventions import procedure_problems
from flowbench_synth.dialogue.knowledge import Certificate, certify, uncertified
from flowbench_synth.dialogue.roles import COMPOSITION, roles
from flowbench_synth.dialogue.summary import statistics
from flowbench_synth.dialogue.world import world_of
from flowmind.base.checksums import digest
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_lines, read_text
from flowmind.base.processes import collect_seldom
from flowmind.trace.scenario import DialogueData, Reference, Scenario, SessionGold
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.stateful import without_state
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.spec import ToolSource


class Checked(NamedTuple):
    """The result of a check."""

    problems: list[str]
    audits: list[SessionAudit]


class _Group(NamedTuple):
    """The scenarios that share a database, with their tools and sessions."""

    scenarios: list[Scenario]
    tools: list[ToolSource]
    database: dict[str, Any]
    sessions: list[Audited]


def check(folder: Path, quiet: bool = False, require: Level = "kernel") -> Checked:
    """Checks a built benchmark.

    Args:
        folder: The benchmark.
        quiet: Whether no progress is shown.
        require: The least isolation of the processes that run tools.

    Raises:
        InputError: If the folder has no manifest of a dialogue benchmark.
    """
    manifest = _manifest(folder)
    problems = [*_files(folder, manifest), *_readme(folder, manifest)]
    try:
        data = DialogueData.load(folder)
        golds = data.golds(folder)
        problems += _strangers(data, golds, folder)
    except InputError as error:
        return Checked([*problems, str(error)], [])
    problems += _counts(data, golds, manifest)
    problems += _references(folder, data, manifest)
    problems += _procedures(data)
    problems += unreached({name: item.workflow for name, item in data.scenarios.items()}, golds.values())
    groups = list(_groups(data, golds))
    audits: list[SessionAudit] = []
    work = partial(_audited, isolation=_isolation(data), require=require)
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        parts = pool.map(work, groups)
        for rows, certificates in tqdm.tqdm(
            parts, total=len(groups), desc="checking", unit="role", disable=quiet or None
        ):
            audits += rows
            problems += uncertified(certificates)
    problems += unsound(audits)
    problems += _audit_rows(audits, manifest)
    return Checked(list(dict.fromkeys(problems)), audits)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(manifest, dict) or cast("dict[str, Any]", manifest).get("name") != NAME:
        raise InputError(
            f"{path}: not the manifest of a dialogue benchmark; `flowbench_synth dialogue build` writes one"
        )
    known = cast("dict[str, Any]", manifest)
    for field, kind in {"sha256": dict, "statistics": dict, "audit": list, "knowledge": list, "missing": list}.items():
        if not isinstance(known.get(field), kind):
            raise InputError(f"{path}: the field {field!r} is missing or of another type; build the benchmark again")
    return known


def _files(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """The files that are missing, were changed, or do not belong to the benchmark."""
    hashes: dict[str, Any] = manifest["sha256"]
    for name, expected in hashes.items():
        path = folder / name
        if not path.is_file():
            yield f"{path}: the file is missing"
            continue
        try:
            if digest(path) != expected:
                yield f"{path}: the file was changed; its sha256 is not the one in manifest.json"
        except InputError as error:
            yield str(error)
    for path in sorted((folder / "workflows").glob("*")):
        if f"workflows/{path.name}" not in hashes:
            yield f"{path}: the file is not in manifest.json"


def _readme(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    path = folder / "README.md"
    try:
        if read_text(path) != card(manifest):
            yield f"{path}: the card does not fit manifest.json"
    except InputError as error:
        yield str(error)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        yield f"{folder / 'manifest.json'}: the card cannot be made from it ({error!r})"


def _strangers(data: DialogueData, golds: dict[str, SessionGold], folder: Path) -> Iterator[str]:
    for name in golds.keys() - data.sessions.keys():
        yield f"{folder / 'gold.jsonl'}: {name!r} is no session"
    for name, scenario in data.scenarios.items():
        if lacking := [tool for tool in scenario.tools if tool not in data.tools]:
            raise InputError(f"{folder / 'tools.jsonl'}: the tool {lacking[0]!r} of {name!r} is missing")
        if scenario.database not in data.databases:
            raise InputError(f"{folder / 'databases.jsonl'}: the database {scenario.database!r} is missing")


def _counts(data: DialogueData, golds: dict[str, SessionGold], manifest: dict[str, Any]) -> Iterator[str]:
    sessions = list(data.sessions.values())
    counts = statistics(list(data.scenarios.values()), sessions, [golds[item.id] for item in sessions])
    for part, value in counts.items():
        if manifest["statistics"].get(part) != value:
            yield f"manifest.json: the statistics {part!r} are not those of the files"
    if manifest["missing"]:
        return
    for domain, share in COMPOSITION.items():
        group = counts["by_domain"].get(domain, {})
        have = tuple(group.get(field, 0) for field in ("roles", "scenarios", "single", "cross"))
        if have != tuple(share):
            yield f"{domain}: {have} roles, scenarios, single and cross sessions; there should be {tuple(share)}"


def _references(folder: Path, data: DialogueData, manifest: dict[str, Any]) -> Iterator[str]:
    if "references.jsonl" not in manifest["sha256"]:
        return
    path = folder / "references.jsonl"
    try:
        rows = list(read_lines(path, Reference))
    except InputError as error:
        yield str(error)
        return
    if len(rows) != manifest.get("references", {}).get("turns"):
        yield f"{path}: {len(rows)} turns, and manifest.json counts {manifest.get('references', {}).get('turns')}"
    for row in rows:
        if row.session not in data.sessions:
            yield f"{path}: {row.id!r} names the session {row.session!r}, which is not in sessions.jsonl"


def _procedures(data: DialogueData) -> Iterator[str]:
    specs = {name: without_state(tool.spec) for name, tool in data.tools.items()}
    for name, scenario in data.scenarios.items():
        yield from (f"{name}: {problem}" for problem in procedure_problems(scenario.workflow, scenario.facts, specs))


def _groups(data: DialogueData, golds: dict[str, SessionGold]) -> Iterator[_Group]:
    for database in dict.fromkeys(item.database for item in data.scenarios.values()):
        scenarios = [item for item in data.scenarios.values() if item.database == database]
        names = {item.id for item in scenarios}
        tools = dict.fromkeys(tool for item in scenarios for tool in item.tools)
        mine = [item for item in data.sessions.values() if item.goals[0].scenario in names]
        sessions = [Audited(item, data.start(item), golds[item.id]) for item in mine]
        yield _Group(scenarios, [data.tools[tool] for tool in tools], data.databases[database], sessions)


def _isolation(data: DialogueData) -> Isolating:
    """`batch` for the tools of our own roles; others may have been written by anybody."""
    own = {tool.spec.name: tool.source for role in roles() for tool in role.tools}
    return "batch" if all(own.get(name) == tool.source for name, tool in data.tools.items()) else "case"


def _audited(group: _Group, isolation: Isolating, require: Level) -> tuple[list[SessionAudit], list[Certificate]]:
    specs = {tool.spec.name: without_state(tool.spec) for tool in group.tools}
    workflows = {item.id: item.workflow for item in group.scenarios}
    with world_of(group.tools, isolation=isolation, require=require) as world:
        audits = audit_role(group.sessions, workflows, world, specs)
        goals = {name: _goals(name, group.sessions) for name in workflows}
        certificates = [certify(name, workflows[name], goals[name], world, specs) for name in workflows]
    return audits, certificates


def _goals(scenario: str, sessions: Sequence[Audited]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The values of slots and the state of single sessions of a scenario."""
    alone = [item for item in sessions if item.session.scenarios == (scenario,)]
    return [(item.session.goals[0].slots, item.database) for item in alone]


def _audit_rows(audits: Sequence[SessionAudit], manifest: dict[str, Any]) -> Iterator[str]:
    rows = {audit.id: audit.model_dump(mode="json") for audit in audits}
    listed = cast("list[dict[str, Any]]", [row for row in manifest["audit"] if isinstance(row, dict)])
    stored = {str(row.get("id")): row for row in listed}
    for name in sorted({*rows, *stored}):
        if rows.get(name) != stored.get(name) and not rows.get(name, {}).get("problems"):
            yield f"manifest.json: the audit of {name!r} is not that of its files"

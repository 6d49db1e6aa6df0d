"""Builds the suite `api`: databases, cases, golds, traces, and the audit of all of them.

The same seed gives the same bytes: each random generator is seeded with the suite's seed, the world or task and the
number of the case, and no file contains a time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tqdm

from flowbench_synth.api.audit import EXAMPLES, SHOWN, TESTS, ApiAudit, alike, audit_task, called
from flowbench_synth.api.blueprint import ApiTask, Family, Sampler, World
from flowbench_synth.api.card import card, statistics
from flowbench_synth.api.families.catalog import families
from flowbench_synth.dialogue.world import World as Stage
from flowbench_synth.dialogue.world import place_of, world_of
from flowbench_synth.features import control_flow
from flowbench_synth.instance import BuildError, Gold
from flowmind import __version__
from flowmind.base.files import dump_json, write_text
from flowmind.base.processes import collect_seldom
from flowmind.trace.events import Trace
from flowmind.trace.scenario import state_changes
from flowmind.trace.stateful import (
    CASES,
    NAME,
    REVISION,
    Case,
    CaseRow,
    StatefulTask,
    TaskRow,
    judged_state,
    state_of,
    writes_of,
)
from flowmind.trace.task import Example, HeldOut, Task
from flowmind.workflow.checking import check
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.stateful import without_state
from tools_registry.specs.values import copy_json

ATTEMPTS = 60
"""Draws of one case."""
DRAWS = 20
"""Draws of all cases of a task."""


class Drawn(NamedTuple):
    """A case with its gold run."""

    example: Example
    row: CaseRow
    trace: Trace
    state: dict[str, Any]
    """At the start."""


class Constructed(NamedTuple):
    """The cases of a task that passed their audit."""

    examples: list[Drawn]
    tests: list[Drawn]
    audit: ApiAudit
    rejected: int
    """The number of draws before that did not pass it."""


class BuiltTask(NamedTuple):
    """A task with its cases."""

    family: str
    task: ApiTask
    examples: list[Drawn]
    tests: list[Drawn]


def build(
    seed: int, out: Path, quiet: bool = False, require: Level = "kernel", chosen: Sequence[Family] | None = None
) -> dict[str, Any]:
    """Writes the suite of a seed to a folder and returns its manifest.

    Args:
        seed: The same seed gives the same files.
        out: The folder.
        quiet: Whether no progress is shown.
        require: The least isolation of the processes that run tools.
        chosen: The families; by default all.

    Raises:
        BuildError: If a case cannot be drawn, or the audit finds a problem.
        OSError: If the folder cannot be written.
    """
    wanted = families() if chosen is None else chosen
    pairs = [(family.name, task) for family in wanted for task in family.tasks]
    if chosen is None:
        results = list(_in_parallel(len(pairs), seed, require, quiet))
    else:  # tasks of other modules are not found by other processes
        results = [constructed(name, task, seed, require) for name, task in pairs]
    built = [BuiltTask(*pair, result.examples, result.tests) for pair, result in zip(pairs, results, strict=True)]
    tasks = [_data(item) for item in built]
    if problems := alike(tasks):
        raise BuildError(problems[0])
    manifest = {
        "name": NAME,
        "seed": seed,
        "version": __version__,
        "revision": REVISION,
        "sha256": _write(out, built, _databases(built, seed)),
        "families": {family.name: family.title for family in wanted},
        "statistics": statistics(tasks),
        "rejected_draws": sum(result.rejected for result in results),
        "audit": [result.audit.model_dump(mode="json") for result in results],
    }
    write_text(out / "manifest.json", dump_json(manifest, indent=1) + "\n")
    write_text(out / "README.md", card(manifest))
    return manifest


def _in_parallel(count: int, seed: int, require: Level, quiet: bool) -> Iterator[Constructed]:
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        parts = pool.map(partial(_constructed_at, seed=seed, require=require), range(count))
        yield from tqdm.tqdm(parts, total=count, desc="building", unit="task", disable=quiet or None)


def _constructed_at(place: int, seed: int, require: Level) -> Constructed:
    name, task = [(family.name, task) for family in families() for task in family.tasks][place]
    return constructed(name, task, seed, require)


def constructed(family: str, task: ApiTask, seed: int, require: Level = "kernel") -> Constructed:
    """The cases of a task. They are drawn again until the audit finds no problem.

    Raises:
        BuildError: If the gold workflow is not sound, a case cannot be drawn, or no draw passes the audit.
    """
    specs = {tool.spec.name: without_state(tool.spec) for tool in task.world.tools}
    if problems := check(task.workflow, specs):
        raise BuildError(f"{task.name}: {problems[0]}")
    reason = ""
    with world_of(task.world.tools, require=require) as stage:
        for draw in range(DRAWS):
            item = _Drawing(task, family, seed, stage, draw).built()
            audit = audit_task(_data(item), require)
            if not audit.problems:
                return Constructed(item.examples, item.tests, audit, draw)
            reason = audit.problems[0]
    raise BuildError(f"{task.name}: none of {DRAWS} draws passes the audit; the last one: {reason}")


def database(world: World, seed: int, number: int) -> dict[str, Any]:
    """A database of a world; equal numbers give equal databases."""
    state = world.database(Random(f"{seed}/{world.name}/{number}"))
    return state_of(copy_json(state), ())


class _Drawing:
    """Draws the cases of a task; no two have the same inputs."""

    def __init__(self, task: ApiTask, family: str, seed: int, stage: Stage, draw: int) -> None:
        self._task, self._family, self._stage = task, family, stage
        self._seed, self._draw = seed, f"/{draw}" if draw else ""
        self._specs = {tool.spec.name: without_state(tool.spec) for tool in task.world.tools}
        self._known: set[str] = set()

    def built(self) -> BuiltTask:
        arms = list(self._task.arms.items())
        if not 1 <= len(arms) <= SHOWN:
            raise BuildError(f"{self._task.name}: {len(arms)} arms, of which five traces cannot show all")
        every = [*arms, *self._task.tests_only.items()]
        examples = [self._drawn(number, *arms[number % len(arms)]) for number in range(EXAMPLES)]
        tests = [self._drawn(EXAMPLES + number, *every[number % len(every)]) for number in range(TESTS)]
        return BuiltTask(self._family, self._task, examples, tests)

    def _drawn(self, number: int, arm: str, sampler: Sampler) -> Drawn:
        reason = ""
        for attempt in range(ATTEMPTS):
            random = Random(f"{self._seed}/{self._task.name}/{number}/{attempt}{self._draw}")
            start = database(self._task.world, self._seed, number)
            state = copy_json(start)
            try:
                inputs = sampler(random, state)
            except (ValueError, KeyError, IndexError) as error:
                reason = f"its sampler fails: {type(error).__name__}: {error}"
                continue
            if dump_json(inputs) in self._known:
                reason = "no other inputs can be drawn"
                continue
            changes = state_changes(start, copy_json(state))
            begin = state_of(start, changes)
            trace, place = self._stage.run(self._task.workflow, inputs, place_of(begin))
            if not trace.ok:
                reason = f"gold fails on {dump_json(inputs)}: {trace.error}"
                continue
            self._known.add(dump_json(inputs))
            row = CaseRow(
                arm=arm,
                database=f"{self._task.world.name}-{number}",
                changes=changes,
                writes=writes_of(trace, self._specs),
                digest=judged_state(place.state),
            )
            return Drawn(Example(input=inputs, output=trace.answer), row, called(trace), begin)
        raise BuildError(f"{self._task.name}, case {number} of the arm {arm!r}: {reason}")


def _data(item: BuiltTask) -> StatefulTask:
    """A task as it is read from the files."""
    return StatefulTask(
        task=_task(item),
        family=item.family,
        split=item.task.split,
        world=item.task.world.name,
        casual=item.task.casual,
        gold=item.task.workflow,
        tools=tuple(item.task.world.tools),
        examples=tuple(map(_case, item.examples)),
        tests=tuple(map(_case, item.tests)),
        traces=tuple(drawn.trace for drawn in item.examples),
    )


def _case(drawn: Drawn) -> Case:
    row = drawn.row
    return Case(drawn.example.input, drawn.example.output, row.arm, drawn.state, row.writes, row.digest)


def _databases(built: Sequence[BuiltTask], seed: int) -> list[dict[str, Any]]:
    worlds = {item.task.world.name: item.task.world for item in built}
    return [
        {"id": f"{name}-{number}", "state": database(world, seed, number)}
        for name, world in worlds.items()
        for number in range(EXAMPLES + TESTS)
    ]


def _write(out: Path, built: Sequence[BuiltTask], databases: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Writes the files of the data, and gives their hashes."""
    tools = {tool.spec.name: tool for item in built for tool in item.task.world.tools}
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        "instances.jsonl": (_task(item).model_dump(mode="json") for item in built),
        "tests.jsonl": (_held_out(item).model_dump(mode="json") for item in built),
        "gold.jsonl": (_gold(item).model_dump(mode="json") for item in built),
        "tools.jsonl": (tool.spec.model_dump(mode="json") for tool in tools.values()),
        "tool_sources.jsonl": ({"name": name, "source": tool.source} for name, tool in tools.items()),
        CASES: (_row(item).model_dump(mode="json") for item in built),
        "databases.jsonl": databases,
        "traces.jsonl": (_traces(item) for item in built),
    }
    out.mkdir(parents=True, exist_ok=True)
    hashes: dict[str, str] = {}
    for name, lines in rows.items():
        text = "".join(dump_json(line) + "\n" for line in lines)
        write_text(out / name, text)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    return hashes


def _task(item: BuiltTask) -> Task:
    task = item.task
    calls = max(len(drawn.trace.calls) for drawn in item.examples)
    return Task(
        id=task.name,
        category=item.family,
        difficulty="easy" if calls <= 3 else "medium" if calls <= 6 else "hard",
        control_flow=control_flow(task.workflow),
        query=task.precise,
        inputs=task.schema,
        tools=tuple(tool.spec.name for tool in task.world.tools),
        examples=tuple(drawn.example for drawn in item.examples),
    )


def _held_out(item: BuiltTask) -> HeldOut:
    return HeldOut(id=item.task.name, tests=tuple(drawn.example for drawn in item.tests))


def _gold(item: BuiltTask) -> Gold:
    return Gold(id=item.task.name, workflow=item.task.workflow.dump(), trace=_dumped(item.examples[0].trace))


def _row(item: BuiltTask) -> TaskRow:
    return TaskRow(
        id=item.task.name,
        family=item.family,
        split=item.task.split,
        world=item.task.world.name,
        casual=item.task.casual,
        arms=tuple(item.task.arms),
        examples=tuple(drawn.row for drawn in item.examples),
        tests=tuple(drawn.row for drawn in item.tests),
    )


def _traces(item: BuiltTask) -> dict[str, Any]:
    return {"id": item.task.name, "traces": [_dumped(drawn.trace) for drawn in item.examples]}


def _dumped(trace: Trace) -> dict[str, Any]:
    """A trace as a JSON value; its events without defaults."""
    events = [{"kind": event.kind, **event.model_dump(mode="json", exclude_defaults=True)} for event in trace.events]
    return {**trace.model_dump(mode="json", exclude={"events"}, exclude_defaults=True), "events": events}

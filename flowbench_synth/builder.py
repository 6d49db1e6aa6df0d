"""Builds the benchmark in four stages: tool synthesis, tool quality checks, task and workflow synthesis, filtering.

The same seed gives the same bytes: each random generator is seeded with the benchmark's seed and the instance's id, no
file contains a time, and the worker processes share nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import tqdm

from flowbench_synth.audit import TaskAudit, audit_task, own_pools, solved_by_search
from flowbench_synth.card import card, figures
from flowbench_synth.composition import SIZE, Slot, plan
from flowbench_synth.instance import NAME, REVISION, TOOLS, BuildError, Instance, Stage, stage
from flowbench_synth.quality import check_tools
from flowbench_synth.tasks import ATTEMPTS, FewInputs, all_blueprints, make_instance
from flowmind import __version__
from flowmind.base.files import dump_json, write_text
from flowmind.base.processes import collect_seldom
from flowmind.trace.task import Example, HeldOut, Task
from flowmind.workflow.document import Workflow
from tools_registry import catalog
from tools_registry.catalog import CATEGORIES, CatalogTool, Category
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.workers import Isolating, WorkerPool

SOURCES = "tool_sources.jsonl"
"""A further file of a benchmark whose tools are not those of the catalog."""


class Constructed(NamedTuple):
    """An instance that passed its audit."""

    instance: Instance
    audit: TaskAudit
    rejected: tuple[str, ...] = ()
    """The reason why each earlier attempt was dropped."""
    solved: bool = False
    """Whether the `search` model solves the instance."""


def build(
    seed: int,
    out: Path,
    size: int = SIZE,
    categories: Sequence[Category] = CATEGORIES,
    quiet: bool = False,
    isolation: Isolating = "batch",
    require: Level = "kernel",
) -> dict[str, Any]:
    """Writes the benchmark of a seed, made from blueprints, to a folder and returns its manifest.

    Raises:
        BuildError: If no attempt at an instance passes its audit.
        OSError: If the folder cannot be written.
    """
    slots = plan(all_blueprints(), seed, size, categories)
    candidates = list(catalog.load().values())
    options: dict[str, Any] = {"isolation": isolation, "require": require}
    with WorkerPool(1, **options) as first, WorkerPool(1, **options) as second:
        tools, lost = check_tools(candidates, (first, second))
    if lost:
        raise BuildError(f"tool {lost[0][0]!r}: {lost[0][1]}")
    results = list(_in_parallel(partial(construct, seed=seed, **options), slots, quiet))
    rejected = [(slot.id, reason) for slot, result in zip(slots, results, strict=True) for reason in result.rejected]
    stages = [
        stage("tool synthesis", "tools", len(candidates)),
        stage("tool quality checks", "tools", len(tools), lost),
        stage("task and workflow synthesis", "instances", len(results) + len(rejected)),
        stage("instance filtering", "instances", len(results), rejected),
    ]
    return write(out, seed, "blueprints", results, tools, stages)


def construct(slot: Slot, seed: int, isolation: Isolating = "batch", require: Level = "kernel") -> Constructed:
    """The instance of a slot, with its audit and whether `search` solves it.

    Raises:
        BuildError: If no attempt passes its audit.
    """
    pools = own_pools(isolation, require)
    audited = drawn(slot, seed, pools)
    solved = solved_by_search(audited.instance.task, audited.instance.tests, catalog.load(), pools[0])
    return audited._replace(solved=solved)


def drawn(slot: Slot, seed: int, pools: tuple[WorkerPool, WorkerPool] | None = None) -> Constructed:
    """The instance of a slot; it is drawn again until its audit finds no problem.

    Raises:
        BuildError: If no attempt passes its audit.
    """
    blueprint = next(item for item in all_blueprints() if item.id == slot.blueprint)
    rejected: list[str] = []
    first, second = pools or own_pools()
    for attempt in range(ATTEMPTS):
        try:
            instance, kills = make_instance(blueprint, seed, first, slot, attempt)
        except FewInputs as error:
            rejected.append(str(error))
            continue
        workflow = Workflow.model_validate(instance.gold.workflow)
        audit = audit_task(instance.task, instance.tests, workflow, catalog.load(), (first, second), kills=kills)
        if not audit.problems:
            return Constructed(instance, audit, tuple(rejected))
        rejected.append("; ".join([audit.problems[0], *audit.survivors]))
    raise BuildError(f"{slot.id}: none of {ATTEMPTS} attempts passes the audit; the last one: {rejected[-1]}")


def _in_parallel(work: Callable[[Slot], Constructed], slots: Sequence[Slot], quiet: bool) -> Iterator[Constructed]:
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        yield from tqdm.tqdm(pool.map(work, slots), total=len(slots), desc="building", unit="task", disable=quiet)


def write(
    out: Path,
    seed: int,
    backend: str,
    results: Sequence[Constructed],
    tools: Sequence[CatalogTool],
    stages: Sequence[Stage],
) -> dict[str, Any]:
    """Writes the files of a benchmark and returns its manifest."""
    instances = [result.instance for result in results]
    known = {tool.spec.name: tool for tool in tools}
    named = sorted({name for instance in instances for name in instance.task.tools})
    lines: dict[str, list[Any]] = {
        "instances.jsonl": [instance.task.model_dump(mode="json") for instance in instances],
        "tests.jsonl": [
            HeldOut(id=instance.task.id, tests=instance.tests).model_dump(mode="json") for instance in instances
        ],
        "gold.jsonl": [instance.gold.model_dump(mode="json") for instance in instances],
        "tools.jsonl": [known[name].spec.model_dump(mode="json") for name in named],
    }
    if backend != "blueprints":
        lines[SOURCES] = [{"name": name, "source": known[name].source} for name in named]
    out.mkdir(parents=True, exist_ok=True)
    hashes: dict[str, str] = {}
    for name, rows in lines.items():
        text = "".join(dump_json(row) + "\n" for row in rows)
        write_text(out / name, text)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    manifest: dict[str, Any] = {
        "name": NAME,
        "seed": seed,
        "backend": backend,
        "version": __version__,
        "revision": REVISION,
        "sha256": hashes,
        "statistics": statistics([instance.task for instance in instances], [i.tests for i in instances]),
        "stages": [report.model_dump(mode="json") for report in stages],
        "search_floor": _floor([(result.instance.task.difficulty, result.solved) for result in results]),
        "audit": [result.audit.model_dump(mode="json") for result in results],
    }
    write_text(out / "manifest.json", dump_json(manifest, indent=1) + "\n")
    for name, drawing in figures([instance.task for instance in instances]).items():
        write_text(out / name, drawing)
    write_text(out / "README.md", card(manifest))
    return manifest


def _floor(rows: Sequence[tuple[str, bool]]) -> dict[str, dict[str, int]]:
    """By difficulty the number of instances that `search` solves, and of all instances."""
    by_level = {level: [solved for name, solved in rows if name == level] for level in TOOLS}
    return {level: {"solved": sum(solved), "of": len(solved)} for level, solved in by_level.items() if solved}


def statistics(tasks: Sequence[Task], tests: Sequence[Sequence[Example]]) -> dict[str, Any]:
    """Counts and averages over the instances of a benchmark, by category and by difficulty."""

    def count(rows: list[tuple[Task, Sequence[Example]]]) -> dict[str, Any]:
        total = len(rows)
        return {
            "instances": total,
            "tests": sum(len(cases) for _, cases in rows),
            "examples": sum(len(task.examples) for task, _ in rows),
            "tools_avg": round(sum(len(task.tools) for task, _ in rows) / total, 1),
            "words_avg": round(sum(len(task.query.split()) for task, _ in rows) / total, 1),
        }

    rows = list(zip(tasks, tests, strict=True))
    categories = dict.fromkeys(task.category for task in tasks)
    levels = [level for level in TOOLS if any(task.difficulty == level for task in tasks)]
    return {
        "all": count(rows),
        "tools": len({name for task in tasks for name in task.tools}),
        "by_category": {name: count([row for row in rows if row[0].category == name]) for name in categories},
        "by_difficulty": {level: count([row for row in rows if row[0].difficulty == level]) for level in levels},
    }

"""Proves a built benchmark sound: its files are what the manifest says, and every task passes its audit again."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import tqdm

from flowbench_synth.builder import FILES, own_pools
from flowbench_synth.filtering import TaskAudit, audit_task
from flowbench_synth.instance import Gold
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_lines, read_text, validate
from flowmind.base.processes import collect_seldom
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools
from flowmind.workflow.document import Workflow

Item = tuple[Task, tuple[Example, ...], dict[str, Any] | None]


def audit(folder: Path, quiet: bool = False) -> tuple[list[str], list[TaskAudit]]:
    """The faults in the files of a built benchmark, and the audit of each task.

    Raises:
        InputError: If a file is missing or cannot be read.
    """
    manifest = _manifest(folder)
    problems = _hashes(folder, manifest)
    sized = manifest.get("backend", "blueprints") == "blueprints"
    benchmark = Benchmark.load(folder)
    gold = {row.id: row.workflow for row in read_lines(folder / "gold.jsonl", Gold)}
    items: list[Item] = [(task, benchmark.tests[task.id], gold.get(task.id)) for task in benchmark.tasks]
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        work = pool.map(partial(_audit, folder, sized), items)
        audits = list(tqdm.tqdm(work, total=len(items), desc="checking", unit="task", disable=quiet))
    return problems, audits


def _audit(folder: Path, sized: bool, item: Item) -> TaskAudit:
    task, tests, gold = item
    about: dict[str, Any] = {"id": task.id, "difficulty": task.difficulty}
    if gold is None:
        return TaskAudit(**about, problems=("there is no gold workflow",))
    try:
        workflow = validate(Workflow, gold)
    except ValueError as error:
        return TaskAudit(**about, problems=(f"the gold workflow is no workflow: {error}",))
    return audit_task(task, tests, workflow, benchmark_tools(folder), own_pools(), sized)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = parse_json(read_text(folder / "manifest.json"))
        manifest["sha256"] = {name: str(manifest["sha256"][name]) for name in FILES} | manifest["sha256"]
        return manifest
    except (ValueError, KeyError, TypeError) as error:
        reason = error if type(error) is ValueError else f"no field sha256 with a hash for each of {', '.join(FILES)}"
        raise InputError(f"{folder / 'manifest.json'}: {reason}") from None


def _hashes(folder: Path, manifest: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    for name, digest in manifest["sha256"].items():
        read_text(folder / name)
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            problems.append(f"{name}: the file is not the one that was built (its sha256 differs)")
    return problems

"""Proves a built benchmark sound: its files are what the manifest says, and every gold passes every test."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import tqdm

from flowbench_synth.builder import FILES, TOOLS, Gold
from flowbench_synth.coverage import tool_calls
from flowbench_synth.structure import control_flow
from flowmind.checking import check
from flowmind.errors import InputError
from flowmind.executor.running import run_batch
from flowmind.files import dump_json, parse_json, read_lines, read_text, validate
from flowmind.task import Benchmark, Task
from flowmind.trace import Trace
from flowmind.workflow import Workflow
from tools_registry import catalog
from tools_registry.sandbox import LocalSandbox, WorkerPool
from tools_registry.schema import json_equal


def audit(folder: Path, quiet: bool = False) -> list[str]:
    """Everything that is wrong with a built benchmark, each line naming the file or the task.

    Raises:
        InputError: If a file is missing or cannot be read.
    """
    problems = _hashes(folder)
    benchmark = Benchmark.load(folder)
    gold = {row.id: row for row in read_lines(folder / "gold.jsonl", Gold)}
    with WorkerPool(1) as first, WorkerPool(1) as second:
        for task in tqdm.tqdm(benchmark.tasks, desc="checking", unit="task", disable=quiet):
            if task.id not in gold:
                problems.append(f"{task.id}: there is no gold workflow")
                continue
            tests = [(test.input, test.output) for test in benchmark.tests[task.id]]
            problems += [f"{task.id}: {problem}" for problem in _task(task, tests, gold[task.id], (first, second))]
    return problems


def _hashes(folder: Path) -> list[str]:
    try:
        manifest = parse_json(read_text(folder / "manifest.json"))
        wanted = {name: str(manifest["sha256"][name]) for name in FILES}
    except (ValueError, KeyError, TypeError) as error:
        reason = error if type(error) is ValueError else f"no field sha256 with a hash for each of {', '.join(FILES)}"
        raise InputError(f"{folder / 'manifest.json'}: {reason}") from None
    problems: list[str] = []
    for name in FILES:
        read_text(folder / name)
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != wanted[name]:
            problems.append(f"{name}: the file is not the one that was built (its sha256 differs)")
    return problems


def _task(
    task: Task, tests: list[tuple[dict[str, Any], Any]], gold: Gold, pools: tuple[WorkerPool, WorkerPool]
) -> list[str]:
    try:
        workflow = validate(Workflow, gold.workflow)
    except ValueError as error:
        return [f"the gold workflow is no workflow: {error}"]
    specs = {name: catalog.specs()[name] for name in task.tools if name in catalog.specs()}
    if problems := check(workflow, specs):
        return [f"gold: {problem}" for problem in problems]
    found = _structure(task, workflow)
    tools = [catalog.load()[node.tool] for node in {node.tool: node for node in tool_calls(workflow)}.values()]
    examples = [(example.input, example.output) for example in task.examples]
    cases = [case for case, _ in (*tests, *examples)]
    runs: list[list[Trace]] = [run_batch(workflow, cases, LocalSandbox(tools, pool)) for pool in pools]
    if runs[0] != runs[1]:
        found.append("gold gives different traces in two workers")
    for number, (trace, (_, wanted)) in enumerate(zip(runs[0], (*tests, *examples), strict=True), 1):
        label = f"test {number}" if number <= len(tests) else f"example {number - len(tests)}"
        if not trace.ok or not json_equal(trace.answer, wanted):
            got = trace.answer if trace.ok else trace.error
            found.append(f"{label}: gold gives {got!r}, the file says {wanted!r}")
    return found + _leaks(tests, examples)


def _structure(task: Task, workflow: Workflow) -> list[str]:
    found: list[str] = []
    if (shape := control_flow(workflow)) != task.control_flow:
        found.append(f"the gold's control flow is {shape}, the task says {task.control_flow}")
    low, high = TOOLS.get(task.difficulty, (1, 1_000))
    if not low <= len(task.tools) <= high:
        found.append(f"{len(task.tools)} tools are offered, {task.difficulty} tasks have {low} to {high}")
    return found


def _leaks(tests: list[tuple[dict[str, Any], Any]], examples: list[tuple[dict[str, Any], Any]]) -> list[str]:
    found: list[str] = []
    seen = {dump_json(case) for case, _ in examples}
    if any(dump_json(case) in seen for case, _ in tests):
        found.append("a test's input equals an example's")
    if len({dump_json(wanted) for _, wanted in tests}) < 2:
        found.append("all tests have one answer")
    return found

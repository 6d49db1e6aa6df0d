"""The audit of a task of the suite `api`, and of a built suite."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import tqdm

from flowbench_synth.api.mutants import all_mutants
from flowbench_synth.audit import KILLED, MUTANT_BUDGET
from flowbench_synth.dialogue.world import World, place_of, world_of
from flowmind.base.checksums import digest
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_text
from flowmind.base.processes import collect_seldom
from flowmind.trace.events import Trace
from flowmind.trace.stateful import FILES, NAME, Case, StatefulTask, judge, load
from flowmind.workflow.checking import check
from flowmind.workflow.document import Binding, End, Literal_, ObjectOf, Start, ToolNode, Workflow
from tools_registry.sandbox.isolation import Level
from tools_registry.specs.spec import Record

EXAMPLES = 10
TESTS = 20
SHOWN = 5
"""The number of examples that show every arm."""
MOST = TESTS // 2
"""The most tests that a trivial agent may get right: an arm may answer that nothing is to be done."""
_LONG = 3
"""The fewest characters of an answer that a text may leak."""


class ApiAudit(Record):
    """The audit of one task."""

    id: str
    problems: tuple[str, ...] = ()
    mutants: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()
    trivial: dict[str, int] = {}  # noqa: RUF012
    """For each trivial agent the number of tests that it gets right. The agents answer the commonest answer of the
    examples without a call (`constant`), null (`nothing`), or make the calls of the first example and give its answer
    (`replay`)."""


def audit_task(task: StatefulTask, require: Level = "kernel") -> ApiAudit:
    """Audits one task with workers of its own."""
    if broken := [f"gold: {problem}" for problem in check(task.gold, task.specs)]:
        return ApiAudit(id=task.id, problems=tuple(broken))
    problems = [*_texts(task), *_cases(task)]
    with world_of(task.tools, require=require) as world, world_of(task.tools, require=require) as other:
        problems += _golden(task, world, other)
        trivial = {name: _right(task, workflow, world) for name, workflow in _trivial(task).items()}
        problems += [
            f"the trivial agent {name!r} is right on {right} tests" for name, right in trivial.items() if right > MOST
        ]
        changed = all_mutants(task.gold, task.specs, task.traces)
        survivors = [mutant.what for mutant in changed if _right(task, mutant.workflow, world, whole=True) == TESTS]
    killed = len(changed) - len(survivors)
    if 100 * killed < KILLED * len(changed):
        problems.append(f"tests kill {killed} of {len(changed)} mutants; these are left: {'; '.join(survivors)}")
    return ApiAudit(
        id=task.id,
        problems=tuple(problems),
        mutants=len(changed),
        killed=killed,
        survivors=tuple(survivors),
        trivial=trivial,
    )


def _right(task: StatefulTask, workflow: Workflow, world: World, whole: bool = False) -> int:
    """The number of tests that a workflow gets right; with `whole` it stops at the first other one."""
    right = 0
    for case in task.tests:
        trace, place = world.run(workflow, case.input, place_of(case.state), MUTANT_BUDGET)
        good = judge(case, trace, place.state, task.specs).kind == "right"
        if whole and not good:
            return right
        right += good
    return right


def _trivial(task: StatefulTask) -> dict[str, Workflow]:
    """The trivial agents, as workflows."""
    answers = [dump_json(case.answer) for case in task.examples]
    commonest = max(sorted(set(answers)), key=answers.count)
    calls = [step.call for step in task.traces[0].calls]
    return {
        "nothing": _plain(task, (), None),
        "constant": _plain(task, (), parse_json(commonest)),
        "replay": _plain(task, [(call.tool, call.args) for call in calls], task.traces[0].answer),
    }


def _plain(task: StatefulTask, calls: Iterable[tuple[str, dict[str, Any]]], answer: Any) -> Workflow:
    nodes: list[Any] = [Start(id="start")]
    for number, (tool, args) in enumerate(calls):
        bound: dict[str, Binding] = {name: Literal_(value=value) for name, value in args.items()}
        nodes.append(ToolNode(id=f"call_{number}", tool=tool, args=bound, output=f"result_{number}"))
    output = ObjectOf(object={}) if answer == {} else Literal_(value=answer)
    nodes.append(End(id="end", output=output))
    edges = [{"from": one.id, "to": two.id} for one, two in pairwise(nodes)]
    return Workflow.model_validate({"name": task.id, "inputs": task.inputs, "nodes": nodes, "edges": edges})


def _golden(task: StatefulTask, world: World, other: World) -> list[str]:
    """Gold runs twice, and gives what the data says."""
    problems: list[str] = []
    for kind, cases in (("example", task.examples), ("test", task.tests)):
        for number, case in enumerate(cases, 1):
            trace, place = world.run(task.gold, case.input, place_of(case.state))
            if (trace, place) != other.run(task.gold, case.input, place_of(case.state)):
                problems.append(f"{kind} {number}: gold gives different runs in two workers")
            if (verdict := judge(case, trace, place.state, task.specs)).kind != "right":
                problems.append(f"{kind} {number}: gold is {verdict.kind}")
            if kind == "example" and called(trace) != task.traces[number - 1]:
                problems.append(f"example {number}: its trace is not that of the gold")
    return problems


def called(trace: Trace) -> Trace:
    """A trace with its calls and answer only, as an agent leaves it."""
    steps = tuple(step.model_copy(update={"node": None}) for step in trace.calls)
    return Trace(inputs=trace.inputs, events=steps, stop=trace.stop, answer=trace.answer, error=trace.error)


def _cases(task: StatefulTask) -> list[str]:
    problems: list[str] = []
    if (len(task.examples), len(task.tests), len(task.traces)) != (EXAMPLES, TESTS, EXAMPLES):
        problems.append(f"{len(task.examples)} examples, {len(task.tests)} tests, {len(task.traces)} traces")
    inputs = [dump_json(case.input) for case in (*task.examples, *task.tests)]
    if len(set(inputs)) < len(inputs):
        problems.append("two cases have the same inputs")
    arms = {case.arm for case in task.examples}
    for count in (SHOWN, EXAMPLES):
        if missing := sorted(arms - {case.arm for case in task.examples[:count]}):
            problems.append(f"the first {count} examples do not show {', '.join(missing)}")
    if missing := sorted(arms - {case.arm for case in task.tests}):
        problems.append(f"no test shows {', '.join(missing)}")
    return problems


def _texts(task: StatefulTask) -> list[str]:
    problems: list[str] = []
    for register in ("precise", "casual"):
        text = task.query(register)
        if len(text.split()) < 5:
            problems.append(f"the {register} text has fewer than five words")
        problems += [
            f"the {register} text names the tool {name!r}" for name in task.specs if re.search(rf"\b{name}\b", text)
        ]
        problems += [f"the {register} text has the value {value!r} of a case" for value in _leaks(task, text)]
    if task.query("precise") == task.query("casual"):
        problems.append("its two texts are the same")
    return problems


def _leaks(task: StatefulTask, text: str) -> list[str]:
    """Values of inputs, and ids in answers, that stand in a text; choices of an input may."""
    fields = task.inputs["properties"]
    values = {
        value
        for case in (*task.examples, *task.tests)
        for name, value in case.input.items()
        if isinstance(value, str) and "enum" not in fields[name]
    }
    values |= {value for case in (*task.examples, *task.tests) for value in _leaves(case) if re.search(r"\d{3}", value)}
    return sorted(value for value in values if len(value) >= _LONG and value in text)


def _leaves(case: Case) -> list[str]:
    return re.findall(r'"([^"]+)"', dump_json(case.answer))


def alike(tasks: Sequence[StatefulTask]) -> list[str]:
    """The pairs of tasks whose golds make the same calls on the same conditions."""
    known: dict[str, str] = {}
    problems: list[str] = []
    for task in tasks:
        document = dump_json([*task.gold.dump()["nodes"]])
        if document in known:
            problems.append(f"{task.id}: its gold is that of {known[document]}")
        known[document] = task.id
    return problems


def audit_suite(tasks: Sequence[StatefulTask], quiet: bool = False, require: Level = "kernel") -> list[ApiAudit]:
    """The audits of tasks, in processes."""
    with ProcessPoolExecutor(os.cpu_count(), initializer=collect_seldom) as pool:
        parts = pool.map(partial(audit_task, require=require), tasks)
        return list(tqdm.tqdm(parts, total=len(tasks), desc="auditing", unit="task", disable=quiet or None))


def check_suite(folder: Path, quiet: bool = False, require: Level = "kernel") -> tuple[list[str], list[ApiAudit]]:
    """The problems of a built suite, and the audits of its tasks.

    Raises:
        InputError: If the folder does not hold the suite, or a file cannot be read.
    """
    manifest = read_manifest(folder)
    problems = [
        f"{name}: it is not the file that was built (its sha256 differs from manifest.json)"
        for name in FILES
        if digest(folder / name) != manifest["sha256"].get(name)
    ]
    tasks = load(folder)
    audits = audit_suite(tasks, quiet, require)
    problems += [f"{audit.id}: {problem}" for audit in audits for problem in audit.problems]
    return problems + alike(tasks), audits


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of the suite.

    Raises:
        InputError: If the folder has none, or that of another benchmark.
    """
    path = folder / "manifest.json"
    try:
        manifest = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("name") != NAME:  # pyright: ignore[reportUnknownMemberType]
        raise InputError(f"{path}: not the manifest of the suite api")
    return manifest  # pyright: ignore[reportUnknownVariableType]

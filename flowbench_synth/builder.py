"""Builds the benchmark: blueprints and a seed → instances, tests, gold workflows, tools, manifest, card.

Same seed, same bytes: everything random comes from a generator that is seeded by the benchmark's seed and the
blueprint's id, and no file carries a time.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import tqdm

from flowbench_synth import blueprints
from flowbench_synth.blueprint import Blueprint, Params
from flowbench_synth.card import card
from flowbench_synth.coverage import Part, signature, tool_calls
from flowbench_synth.flow import flow
from flowbench_synth.mutants import mutants
from flowmind import __version__
from flowmind.checking import check
from flowmind.executor.compiler import compile_workflow
from flowmind.executor.running import run_batch
from flowmind.files import dump_json, write_text
from flowmind.task import Example, HeldOut, Task
from flowmind.trace import Trace
from flowmind.workflow import Workflow
from tools_registry import catalog
from tools_registry.sandbox import LocalSandbox, WorkerPool
from tools_registry.schema import JSONSchema, json_equal, type_of
from tools_registry.spec import Record

NAME = "flowbench_synth"
TESTS = 5
EXAMPLES = 3
"""One is worked by the agent, which leaves two that show both arms of a branch."""
MUTANT_BUDGET = 2_000
"""Steps of a mutant's run: a changed condition can make a loop endless."""
CANDIDATES = 80
"""Inputs drawn for each instance, of which examples and tests are chosen."""
TOOLS = {"easy": (7, 9), "medium": (18, 20), "hard": (28, 30)}
"""Tools offered, by difficulty (FlowMind, appendix A, table 4)."""
FILES = ("instances.jsonl", "tests.jsonl", "gold.jsonl", "tools.jsonl")


class BuildError(Exception):
    """A blueprint cannot be built into a sound instance."""


class Gold(Record):
    """The reference solution of an instance."""

    id: str
    workflow: dict[str, Any]
    trace: dict[str, Any]
    """The gold workflow's run on the first example."""


class Instance(Record):
    """Everything of one instance, before it is split over the files."""

    task: Task
    tests: tuple[Example, ...]
    gold: Gold


def all_blueprints() -> list[Blueprint]:
    """The authored tasks, in a fixed order."""
    found: list[Blueprint] = []
    for module in sorted(pkgutil.iter_modules(blueprints.__path__), key=lambda module: module.name):
        found += importlib.import_module(f"flowbench_synth.blueprints.{module.name}").BLUEPRINTS
    order = {name: rank for rank, name in enumerate(catalog.CATEGORIES)}
    levels = {name: rank for rank, name in enumerate(TOOLS)}
    return sorted(found, key=lambda item: (order[item.category], levels[item.difficulty], item.id))


def build(seed: int, out: Path, quiet: bool = False) -> dict[str, Any]:
    """Writes the benchmark of a seed to a folder; gives its manifest.

    Raises:
        BuildError: If a blueprint cannot be made sound with this seed.
        OSError: If the folder cannot be written.
    """
    instances: list[Instance] = []
    with WorkerPool(1) as pool:
        for blueprint in tqdm.tqdm(all_blueprints(), desc="building", unit="task", disable=quiet):
            instances.append(make_instance(blueprint, seed, pool))
    named = sorted({name for instance in instances for name in instance.task.tools})
    lines: dict[str, list[Any]] = {
        "instances.jsonl": [instance.task.model_dump(mode="json") for instance in instances],
        "tests.jsonl": [
            HeldOut(id=instance.task.id, tests=instance.tests).model_dump(mode="json") for instance in instances
        ],
        "gold.jsonl": [instance.gold.model_dump(mode="json") for instance in instances],
        "tools.jsonl": [catalog.load()[name].spec.model_dump(mode="json") for name in named],
    }
    out.mkdir(parents=True, exist_ok=True)
    hashes: dict[str, str] = {}
    for name in FILES:
        text = "".join(dump_json(line) + "\n" for line in lines[name])
        write_text(out / name, text)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    manifest = {
        "name": NAME,
        "seed": seed,
        "version": __version__,
        "sha256": hashes,
        "statistics": statistics([instance.task for instance in instances], [i.tests for i in instances]),
    }
    write_text(out / "manifest.json", dump_json(manifest, indent=1) + "\n")
    write_text(out / "README.md", card(manifest))
    return manifest


def make_instance(blueprint: Blueprint, seed: int, pool: WorkerPool) -> Instance:
    """An instance of a blueprint: parameters, wording, inputs, answers, tools.

    Raises:
        BuildError: If the gold workflow is not sound, or too few different inputs come up.
    """
    rng = Random(f"{NAME}/{seed}/{blueprint.id}")
    params: Params = {name: rng.choice(list(values)) for name, values in blueprint.params.items()}
    workflow = gold_workflow(blueprint, params)
    used = sorted({node.tool for node in tool_calls(workflow)})
    sandbox = LocalSandbox([catalog.load()[name] for name in used], pool)
    cases = _draw(blueprint, params, rng)
    traces = run_batch(workflow, cases, sandbox)
    for case, trace in zip(cases, traces, strict=True):
        expected = blueprint.oracle(case, params)
        if not trace.ok or not json_equal(trace.answer, expected):
            got = trace.answer if trace.ok else trace.error
            raise BuildError(f"{blueprint.id}: on {dump_json(case)} gold gives {got!r}, the oracle {expected!r}")
    offered = _offered(blueprint, used, rng)
    parts = _parts(workflow, cases, traces, offered, pool)
    order = list(range(len(cases)))
    rng.shuffle(order)
    shown = _cover(sorted(order, key=lambda index: idle_steps(traces[index])), traces, parts, EXAMPLES)
    held = _cover([index for index in order if index not in shown], traces, parts, TESTS)
    shown = [shown[1], shown[0], *shown[2:]]  # the agent works the first and sees the others
    task = Task(
        id=blueprint.id,
        category=blueprint.category,
        difficulty=blueprint.difficulty,
        control_flow=blueprint.control_flow,
        query=rng.choice(list(blueprint.texts)).format(**params),
        inputs=workflow.inputs,
        output=_answer_schema([trace.answer for trace in traces]),
        tools=offered,
        examples=tuple(Example(input=cases[index], output=traces[index].answer) for index in shown),
    )
    tests = tuple(Example(input=cases[index], output=traces[index].answer) for index in held)
    first = traces[shown[0]].dump()
    return Instance(task=task, tests=tests, gold=Gold(id=blueprint.id, workflow=workflow.dump(), trace=first))


def gold_workflow(blueprint: Blueprint, params: Params) -> Workflow:
    """The gold workflow for given parameters.

    Raises:
        BuildError: If it does not pass `check`.
    """
    workflow = flow(blueprint.id, dict(blueprint.inputs), blueprint.steps(params))
    if problems := check(workflow, catalog.specs()):
        raise BuildError(f"{blueprint.id}: {'; '.join(map(str, problems))}")
    return workflow


def _draw(blueprint: Blueprint, params: Params, rng: Random) -> list[dict[str, Any]]:
    """Different inputs, in the order drawn."""
    found: dict[str, dict[str, Any]] = {}
    for _ in range(10 * CANDIDATES):
        case = blueprint.sample(rng, params)
        found.setdefault(dump_json(case), case)
        if len(found) == CANDIDATES:
            break
    if len(found) < 4 * TESTS:
        raise BuildError(f"{blueprint.id}: only {len(found)} different inputs came up")
    return list(found.values())


def _parts(
    workflow: Workflow,
    cases: Sequence[dict[str, Any]],
    traces: Sequence[Trace],
    offered: Sequence[str],
    pool: WorkerPool,
) -> list[frozenset[Part]]:
    """What each input covers: what the gold's run on it does, and the mutants that answer it differently."""
    sandbox = LocalSandbox([catalog.load()[name] for name in offered], pool)
    covered = [set(signature(trace)) for trace in traces]
    for number, mutant in enumerate(mutants(workflow, catalog.specs(), offered)):
        outcomes = sandbox.run(compile_workflow(mutant.workflow, traced=False), cases, MUTANT_BUDGET)
        for index, outcome in enumerate(outcomes):
            if outcome.error or not json_equal(outcome.answer, traces[index].answer):
                covered[index].add(("kills", mutant.what, number))
    return [frozenset(parts) for parts in covered]


def idle_steps(trace: Trace) -> int:
    """The calls of a run that change nothing: their result equals an argument, or is empty.

    An example in which a rule of the task has no effect does not show that rule, so examples with few idle steps
    are preferred. Tests are drawn without regard to it.
    """
    return sum(
        step.observation.value in ([], {}, "", 0)
        or any(json_equal(step.observation.value, value) for value in step.call.args.values())
        for step in trace.tool_steps
    )


def _cover(order: Sequence[int], traces: Sequence[Trace], parts: Sequence[frozenset[Part]], count: int) -> list[int]:
    """Greedily the inputs that add most: parts not covered yet, then answers not given yet.

    Of equals the first in the order is taken.
    """
    chosen: list[int] = []
    covered: set[Part] = set()
    answers: set[str] = set()
    while len(chosen) < count:
        left = [index for index in order if index not in chosen]
        best = max(
            left,
            key=lambda index: (len(parts[index] - covered), dump_json(traces[index].answer) not in answers),
        )
        chosen.append(best)
        covered |= parts[best]
        answers.add(dump_json(traces[best].answer))
    return chosen


def _answer_schema(answers: Iterable[Any]) -> JSONSchema:
    kinds = {_kind(answer) for answer in answers}
    if "number" in kinds:
        kinds.discard("integer")
    names = sorted(kinds)
    return {"type": names[0] if len(names) == 1 else names}


def _kind(answer: Any) -> str:
    from_type = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }
    return from_type.get(type_of(answer), "null")


def _offered(blueprint: Blueprint, used: Sequence[str], rng: Random) -> tuple[str, ...]:
    """The tools that the agent sees: the gold's, near misses, and others of the category, shuffled."""
    size = rng.randint(*TOOLS[blueprint.difficulty])
    names = list(dict.fromkeys([*used, *blueprint.neighbours]))
    if len(names) > size:
        names = [*used, *rng.sample([name for name in names if name not in used], max(0, size - len(used)))]
    others = [
        name for name, tool in catalog.load().items() if tool.category == blueprint.category and name not in names
    ]
    names += rng.sample(others, size - len(names))
    rng.shuffle(names)
    return tuple(names)


def statistics(tasks: Sequence[Task], tests: Sequence[Sequence[Example]]) -> dict[str, Any]:
    """Counts of a benchmark: by category, by difficulty, tools and text length."""

    def count(rows: list[tuple[Task, Sequence[Example]]]) -> dict[str, Any]:
        total = len(rows)
        return {
            "instances": total,
            "tests": sum(len(held) for _, held in rows),
            "examples": sum(len(task.examples) for task, _ in rows),
            "tools_avg": round(sum(len(task.tools) for task, _ in rows) / total, 1),
            "words_avg": round(sum(len(task.query.split()) for task, _ in rows) / total, 1),
        }

    rows = list(zip(tasks, tests, strict=True))
    return {
        "all": count(rows),
        "tools": len({name for task in tasks for name in task.tools}),
        "by_category": {
            name: count([row for row in rows if row[0].category == name])
            for name in dict.fromkeys(task.category for task in tasks)
        },
        "by_difficulty": {
            name: count([row for row in rows if row[0].difficulty == name])
            for name in TOOLS
            if any(task.difficulty == name for task in tasks)
        },
    }

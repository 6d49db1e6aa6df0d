"""Stage 4, instance filtering: the audit of one task. The same code passes a new instance and checks a built one.

Golden answers hold twice, in two workers; tests differ from the examples and from one another, and take every branch;
agents that do nothing worth the name solve no task; and the tests tell the gold from small wrong versions of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from flowbench_synth.coverage import Part, signature, tool_calls
from flowbench_synth.instance import TOOLS
from flowbench_synth.mutants import mutants
from flowbench_synth.structure import control_flow
from flowmind.base.files import dump_json
from flowmind.run.compiler import compile_workflow
from flowmind.run.running import run_batch
from flowmind.trace.constants import read_text
from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import check
from flowmind.workflow.document import Condition, Workflow
from tools_registry.sandbox.environments import LocalSandbox, ToolSource, WorkerPool
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record

KILLED = 95.0
"""Percent of a gold workflow's mutants that its tests must tell from it."""
MUTANT_BUDGET = 2_000
"""Steps of a mutant's run at most: a changed condition can make a loop endless."""
_CONSTANTS: tuple[Any, ...] = (0, 1, -1, "", [], {}, True, False)
_CALLS = 300
"""Ways to call one tool that are tried."""


class TaskAudit(Record):
    """The audit of one task."""

    id: str
    difficulty: str
    problems: tuple[str, ...] = ()
    mutants: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()
    trivial: dict[str, float] = Field(default_factory=dict[str, float])
    """For each trivial agent the percentage of tests that its best attempt passes. The agents answer null (`nothing`),
    one plain value (`constant`), the answer of an example (`copy`), an input (`echo`), or the result of one call on
    inputs and constants of the text (`one_tool`, tried on all tests only if it passes the first)."""

    @property
    def solved_by(self) -> tuple[str, ...]:
        """The trivial agents that solve the task."""
        return tuple(name for name, passed in self.trivial.items() if passed == 100.0)


def audit_task(
    task: Task,
    tests: Sequence[Example],
    workflow: Workflow,
    tools: Mapping[str, ToolSource],
    pools: tuple[WorkerPool, WorkerPool],
    sized: bool = True,
) -> TaskAudit:
    """Everything that can be said against a task.

    Args:
        task: The task as agents see it.
        tests: Its held-out tests.
        workflow: Its gold workflow.
        tools: The tools by name.
        pools: Two sets of workers.
        sized: Whether the number of offered tools has to be that of the difficulty.
    """
    about: dict[str, Any] = {"id": task.id, "difficulty": task.difficulty}
    missing = [name for name in task.tools if name not in tools]
    specs = {name: tools[name].spec for name in task.tools if name in tools}
    broken = [f"there is no tool {name!r}" for name in missing]
    broken += [f"gold: {problem}" for problem in check(workflow, specs)]
    if broken:
        return TaskAudit(**about, problems=tuple(broken))
    problems = [*_structure(task, workflow, sized), *_text(task, tools), *_leaks(tests, task.examples)]
    offered = [tools[name] for name in task.tools]
    boxes = [LocalSandbox(offered, pool) for pool in pools]
    cases = [example.input for example in (*tests, *task.examples)]
    runs = [run_batch(workflow, cases, box) for box in boxes]
    if runs[0] != runs[1]:
        problems.append("gold gives different traces in two workers")
    problems += _golden(tests, task.examples, runs[0])
    problems += _arms(workflow, runs[0][: len(tests)])
    killed, survivors = _mutants(workflow, specs, tests, runs[0][: len(tests)], boxes[0])
    total = killed + len(survivors)
    if total and 100 * killed < KILLED * total:
        problems.append(f"tests kill {killed} of {total} mutants, at least {KILLED:g} % are wanted")
    found = TaskAudit(
        **about,
        mutants=total,
        killed=killed,
        survivors=tuple(survivors),
        trivial=dict(_trivial(task, tests, boxes[0])),
    )
    problems += [f"an agent that knows nothing solves it ({name})" for name in found.solved_by]
    return found.model_copy(update={"problems": tuple(problems)})


def _structure(task: Task, workflow: Workflow, sized: bool) -> list[str]:
    found: list[str] = []
    if (shape := control_flow(workflow)) != task.control_flow:
        found.append(f"the gold's control flow is {shape}, the task says {task.control_flow}")
    low, high = TOOLS.get(task.difficulty, (1, 1_000))
    if sized and not low <= len(task.tools) <= high:
        found.append(f"{len(task.tools)} tools are offered, {task.difficulty} tasks have {low} to {high}")
    if task.difficulty == "easy" and not 2 <= len(tool_calls(workflow)) <= 4:
        found.append(f"gold has {len(tool_calls(workflow))} calls, easy tasks have 2 to 4")
    return found


def _text(task: Task, tools: Mapping[str, ToolSource]) -> list[str]:
    words = set(re.findall(r"\w+", task.query))
    return [f"the text names the tool {name!r}" for name in sorted(words & tools.keys()) if "_" in name]


def _leaks(tests: Sequence[Example], examples: Sequence[Example]) -> list[str]:
    found: list[str] = []
    shown = {dump_json(example.input) for example in examples}
    held = [dump_json(test.input) for test in tests]
    if shown & set(held):
        found.append("a test's input equals an example's")
    if len(set(held)) < len(held):
        found.append("two tests have the same input")
    if len({dump_json(test.output) for test in tests}) < 2:
        found.append("all tests have one answer")
    return found


def _golden(tests: Sequence[Example], examples: Sequence[Example], traces: Sequence[Trace]) -> Iterator[str]:
    for number, (trace, example) in enumerate(zip(traces, (*tests, *examples), strict=True), 1):
        label = f"test {number}" if number <= len(tests) else f"example {number - len(tests)}"
        if not trace.ok or not json_equal(trace.answer, example.output):
            got = trace.answer if trace.ok else trace.error
            yield f"{label}: gold gives {got!r}, the file says {example.output!r}"


def _arms(workflow: Workflow, traces: Sequence[Trace]) -> Iterator[str]:
    """The arms of conditions that no test takes."""
    taken: set[Part] = {part for trace in traces for part in signature(trace) if part[0] == "arm"}
    for node in workflow.nodes:
        if isinstance(node, Condition):
            for value in (True, False):
                if ("arm", node.id, value) not in taken:
                    yield f"no test takes {node.id!r} as {str(value).lower()}"


def mutant_budget(traces: Sequence[Trace]) -> int:
    """Steps that a mutant may take on inputs for which the gold left these traces; one that takes more is endless.

    It need not be exact, but it counts: what an endless loop collects grows with every round.
    """
    return min(MUTANT_BUDGET, 100 + 4 * max((len(trace.events) for trace in traces), default=0))


def _mutants(
    workflow: Workflow,
    specs: Mapping[str, Any],
    tests: Sequence[Example],
    traces: Sequence[Trace],
    box: LocalSandbox,
) -> tuple[int, list[str]]:
    """The number of mutants that the tests kill, and the survivors."""
    killed, survivors = 0, list[str]()
    cases, budget = [test.input for test in tests], mutant_budget(traces)
    for mutant in mutants(workflow, specs, specs):
        outcomes = box.run(compile_workflow(mutant.workflow, brief=True), cases, budget)
        pairs = zip(outcomes, tests, strict=True)
        if all(not outcome.error and json_equal(outcome.answer, test.output) for outcome, test in pairs):
            survivors.append(mutant.what)
        else:
            killed += 1
    return killed, survivors


def _trivial(task: Task, tests: Sequence[Example], box: LocalSandbox) -> Iterator[tuple[str, float]]:
    names = list(task.inputs.get("properties", {}))
    yield "nothing", _best([[None] * len(tests)], tests)
    yield "constant", _best([[value] * len(tests) for value in _CONSTANTS], tests)
    yield "copy", _best([[example.output] * len(tests) for example in task.examples], tests)
    echoes = [[test.input[name] for test in tests] for name in names]
    yield "echo", _best([*echoes, [test.input for test in tests]], tests)
    attempts = [attempt for tool in task.tools for attempt in _single_calls(task, tool, names, box)]
    first = _answers(attempts, tests[:1], box)
    promising = [way for way, given in zip(attempts, first, strict=True) if _best([given], tests[:1])]
    answers = _answers(promising, tests, box)
    yield "one_tool", _best(answers, tests)


_NO_ANSWER = object()
Way = tuple[str, dict[str, tuple[bool, Any]]]
"""A tool, and for each parameter an input's name (True), or a value (False)."""


def _answers(ways: Sequence[Way], tests: Sequence[Example], box: LocalSandbox) -> list[list[Any]]:
    """The results of each way to call a tool on each test."""
    calls = [
        (tool, {field: test.input[source] if given else source for field, (given, source) in args.items()})
        for tool, args in ways
        for test in tests
    ]
    values = iter(box.values(calls))
    return [
        [value if error is None else _NO_ANSWER for _, (value, error) in zip(tests, values, strict=False)] for _ in ways
    ]


def _best(attempts: Sequence[Sequence[Any]], tests: Sequence[Example]) -> float:
    """The percent of tests that the best attempt passes."""
    passed = [
        sum(
            answer is not _NO_ANSWER and json_equal(answer, test.output)
            for answer, test in zip(given, tests, strict=True)
        )
        for given in attempts
    ]
    return 100.0 * max(passed, default=0) / len(tests)


def _single_calls(task: Task, tool: str, names: Sequence[str], box: LocalSandbox) -> Iterator[Way]:
    """Ways to call one tool: each parameter gets an input, or a number or quoted text of the task's text."""
    spec = box.specs[tool]
    constants = [constant.value for constant in read_text(task.query).constants if constant.kind != "words"]
    sources = [*((True, name) for name in names), *((False, value) for value in dict.fromkeys(constants))]
    ways = itertools.product(sources, repeat=len(spec.required))
    with_input = (way for way in ways if any(given for given, _ in way))
    for way in itertools.islice(with_input, _CALLS):
        yield tool, dict(zip(spec.required, way, strict=True))

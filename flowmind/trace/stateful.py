"""The data of the suite `api` as it is stored, and its use: states of cases, gold runs, and what is right.

Five lines run a workflow on the tests of a task:

    with opened(Path("api")) as suite:
        for task in suite.tasks:
            for case in task.tests:
                environment = suite.environment(task, case)
                print(judge(case, await arun(workflow, case.input, environment), environment.state, task.specs).kind)
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel

from flowmind.base.errors import InputError
from flowmind.base.files import read_lines
from flowmind.trace.events import Trace
from flowmind.trace.scenario import DatabaseRow, StateChange
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import StatefulEnvironment, state_digest, without_state
from tools_registry.sandbox.workers import WorkerPool
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import Record, ToolCall, ToolSource, ToolSpec
from tools_registry.specs.values import copy_json

NAME = "flowbench_api"
REVISION = 2
"""Grows when a seed gives other files. Revision 2: 120 tasks instead of 56."""
CASES = "cases.jsonl"
FILES = (
    "instances.jsonl", "tests.jsonl", "gold.jsonl", "tools.jsonl", "tool_sources.jsonl", CASES, "databases.jsonl",
    "traces.jsonl",
)  # fmt: skip
"""The files of the suite that its manifest has hashes of."""
CLOCK = "clock"
"""The table that is no part of the state that a run is judged by."""
Kind = Literal["right", "wrong", "wrong_write", "failed"]


class CaseRow(Record):
    """What a case has besides its input and answer."""

    arm: str
    """The name of its sampler."""
    database: str
    """The id of the database that it starts from."""
    changes: tuple[StateChange, ...] = ()
    """The rows of that database that are different in this case."""
    writes: tuple[ToolCall, ...]
    """The calls of tools that write, in their order."""
    digest: str
    """The digest of the state at the end, without the table `clock`."""


class TaskRow(Record):
    """A line of `cases.jsonl`: what a task has besides its line in `instances.jsonl`."""

    id: str
    family: str
    split: Literal["tune", "report"]
    world: str
    casual: str
    """The text of the task as a person would type it."""
    arms: tuple[str, ...]
    examples: tuple[CaseRow, ...]
    tests: tuple[CaseRow, ...]


class TracesRow(Record):
    """A line of `traces.jsonl`: the gold runs on the examples, with calls and answers only."""

    id: str
    traces: tuple[Trace, ...]


class _GoldRow(BaseModel):
    id: str
    workflow: Workflow


@dataclass(frozen=True)
class Case:
    """A case: inputs, the state at the start, and what is right."""

    input: dict[str, Any]
    answer: Any
    arm: str
    state: dict[str, Any]
    """It must not be changed."""
    writes: tuple[ToolCall, ...]
    digest: str


@dataclass(frozen=True)
class StatefulTask:
    """A task with its cases."""

    task: Task
    """Its text is the precise one; its examples are all ten."""
    family: str
    split: Literal["tune", "report"]
    world: str
    casual: str
    gold: Workflow
    tools: tuple[ToolSource, ...]
    """With the parameter `db`."""
    examples: tuple[Case, ...]
    tests: tuple[Case, ...]
    traces: tuple[Trace, ...]
    """The gold runs on the examples."""

    @property
    def id(self) -> str:
        """The name of the task."""
        return self.task.id

    @property
    def inputs(self) -> JSONSchema:
        """The schema of the inputs."""
        return self.task.inputs

    @cached_property
    def specs(self) -> dict[str, ToolSpec]:
        """The tools as an agent sees them."""
        return {tool.spec.name: without_state(tool.spec) for tool in self.tools}

    def query(self, register: str = "precise") -> str:
        """The text of the task: `precise`, or `casual`."""
        return self.casual if register == "casual" else self.task.query

    def runs(self, count: int = 5) -> tuple[Trace, ...]:
        """The gold runs on the first examples: inputs, calls with results, answers. Five show every arm."""
        return self.traces[:count]


class Verdict(Record):
    """What a run on a case is worth.

    `right`: answer, writes and state are those of the gold. `wrong_write`: it made a call that writes and that the gold
    does not make at this place. `failed`: it ended in an error, without such a call. `wrong`: anything else.
    """

    kind: Kind
    answer: bool
    writes: bool
    state: bool


def judged_state(state: Mapping[str, Any]) -> str:
    """The digest of a state without the table `clock`."""
    return state_digest({table: rows for table, rows in state.items() if table != CLOCK})


def writes_of(trace: Trace, specs: Mapping[str, ToolSpec]) -> tuple[ToolCall, ...]:
    """The successful calls of tools that write."""
    return tuple(
        step.call
        for step in trace.calls
        if step.observation.ok and step.call.tool in specs and specs[step.call.tool].effect == "write"
    )


def judge(case: Case, trace: Trace, state: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> Verdict:
    """Compares a run with the gold of its case.

    Args:
        case: The case.
        trace: The run.
        state: The state after it.
        specs: The tools.
    """
    wrong_write = has_wrong_write(case, trace, specs)
    facts = {
        "answer": trace.ok and json_equal(trace.answer, case.answer),
        "writes": not wrong_write and len(writes_of(trace, specs)) == len(case.writes),
        "state": judged_state(state) == case.digest,
    }
    kind: Kind = "wrong"
    if all(facts.values()):
        kind = "right"
    elif wrong_write:
        kind = "wrong_write"
    elif not trace.ok:
        kind = "failed"
    return Verdict(kind=kind, **facts)


def has_wrong_write(case: Case, trace: Trace, specs: Mapping[str, ToolSpec]) -> bool:
    """Whether a run made a call that writes and that the gold does not make at this place."""
    made = writes_of(trace, specs)
    pairs = zip(made, case.writes, strict=False)
    return len(made) > len(case.writes) or not all(_equal(one, other) for one, other in pairs)


def _equal(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and json_equal(one.args, other.args)


def state_of(database: Mapping[str, Any], changes: Sequence[StateChange]) -> dict[str, Any]:
    """A database with other rows."""
    state: dict[str, Any] = copy_json(dict(database))
    for change in changes:
        if not change.key:
            state[change.table] = change.after
        elif change.after is None:
            del state[change.table][change.key]
        else:
            state[change.table][change.key] = change.after
    return {name: _in_order(rows) for name, rows in state.items()}


def _in_order(table: Any) -> Any:
    """A table with its rows in the order of their keys."""
    if not isinstance(table, dict):
        return table
    rows = cast("dict[str, Any]", table)
    return {key: rows[key] for key in sorted(rows)}


@dataclass(frozen=True)
class Suite:
    """The tasks of the suite, and the workers that run their tools."""

    tasks: tuple[StatefulTask, ...]
    pool: WorkerPool

    def environment(self, task: StatefulTask, case: Case) -> StatefulEnvironment:
        """The tools of a task on the state at the start of a case; `state` of it is the state after a run."""
        return StatefulEnvironment(self._sandbox(task), case.state)

    def _sandbox(self, task: StatefulTask) -> Environment:
        return LocalSandbox(task.tools, self.pool)


@contextmanager
def opened(folder: Path, require: Level = "kernel") -> Generator[Suite]:
    """The suite in a folder, with a worker for its tools.

    Raises:
        InputError: As `load`.
        SandboxUnavailable: If the tools are isolated less than is required.
    """
    tasks = load(folder)
    with WorkerPool(1, require=require) as pool:
        yield Suite(tuple(tasks), pool)


def is_suite(folder: Path) -> bool:
    """Whether a folder holds the suite `api`."""
    return (folder / CASES).is_file()


def load(folder: Path) -> list[StatefulTask]:
    """The tasks of the suite in a folder.

    Raises:
        InputError: With file, line, field and reason.
    """
    benchmark = Benchmark.load(folder)
    tools = benchmark_tools(folder)
    rows = {row.id: row for row in read_lines(folder / CASES, TaskRow)}
    databases = {row.id: row.state for row in read_lines(folder / "databases.jsonl", DatabaseRow)}
    golds = {row.id: row.workflow for row in read_lines(folder / "gold.jsonl", _GoldRow)}
    traces = {row.id: row.traces for row in read_lines(folder / "traces.jsonl", TracesRow)}
    found: list[StatefulTask] = []
    for task in benchmark.tasks:
        for name, known in ((CASES, rows), ("gold.jsonl", golds), ("traces.jsonl", traces)):
            if task.id not in known:
                raise InputError(f"{folder / name}: no line for {task.id!r}")
        row = rows[task.id]
        found.append(
            StatefulTask(
                task=task,
                family=row.family,
                split=row.split,
                world=row.world,
                casual=row.casual,
                gold=golds[task.id],
                tools=tuple(tools[name] for name in task.tools),
                examples=_cases(folder, task.examples, row.examples, databases),
                tests=_cases(folder, benchmark.tests[task.id], row.tests, databases),
                traces=traces[task.id],
            )
        )
    return found


def _cases(
    folder: Path, examples: Sequence[Example], rows: Sequence[CaseRow], databases: Mapping[str, dict[str, Any]]
) -> tuple[Case, ...]:
    if len(examples) != len(rows):
        raise InputError(f"{folder / CASES}: {len(rows)} cases, where there are {len(examples)} inputs")
    cases: list[Case] = []
    for example, row in zip(examples, rows, strict=True):
        if row.database not in databases:
            raise InputError(f"{folder / 'databases.jsonl'}: no database {row.database!r}")
        state = state_of(databases[row.database], row.changes)
        cases.append(Case(example.input, example.output, row.arm, state, row.writes, row.digest))
    return tuple(cases)

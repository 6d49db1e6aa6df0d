"""The tasks and tools of a benchmark, as a run shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.evaluating import CaseStates
from experiments.options import RunOptions
from flowmind.base.errors import InputError
from flowmind.trace.stateful import StatefulTask, is_suite, load
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools, isolation_for
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.spec import ToolSource

SHOWN = 5
"""Examples of a task of the suite `api` that are shown; they show every arm."""


@dataclass(frozen=True)
class Materials:
    """The tasks and tools of a run."""

    tools: dict[str, ToolSource]
    benchmark: Benchmark
    states: Mapping[str, CaseStates] = field(default_factory=dict[str, CaseStates])
    """By task, if the tools have a state."""

    @property
    def isolation(self) -> tuple[Isolating, str]:
        """The isolation that the tools need, and the reason."""
        isolation = isolation_for(self.tools)
        return isolation, "the tools are the catalog's" if isolation == "batch" else "the tools are not the catalog's"


def read_materials(options: RunOptions) -> Materials:
    """The tasks and tools of a benchmark.

    Raises:
        InputError: If they cannot be read, a task names a tool that is not there, or an option is of another benchmark.
    """
    if is_suite(options.bench):
        return _of_suite(load(options.bench), options)
    for name, plain in (("wording", "precise"), ("split", "all")):
        if getattr(options, name) != plain:
            raise InputError(f"--{name} {getattr(options, name)}: only the suite api has it, not {options.bench}")
    tools, benchmark = dict(benchmark_tools(options.bench)), Benchmark.load(options.bench)
    for task in benchmark.tasks:
        for name in task.tools:
            if name not in tools:
                raise InputError(
                    f"{options.bench / 'instances.jsonl'}: {task.id!r} names the tool {name!r}, which is not known"
                )
    tasks = tuple(_with(task, options.shown) for task in benchmark.tasks)
    return Materials(tools, benchmark.model_copy(update={"tasks": tasks}))


def _of_suite(rows: Sequence[StatefulTask], options: RunOptions) -> Materials:
    chosen = [row for row in rows if options.split in ("all", row.split)]
    shown = options.shown or SHOWN
    tasks = tuple(_with(row.task.model_copy(update={"query": row.query(options.wording)}), shown) for row in chosen)
    tests = {row.id: tuple(Example(input=case.input, output=case.answer) for case in row.tests) for row in chosen}
    tools = {tool.spec.name: tool for row in chosen for tool in row.tools}
    states = {row.id: CaseStates(row.examples[:shown], row.tests) for row in chosen}
    return Materials(tools, Benchmark(tasks=tasks, tests=tests), states)


def _with(task: Task, shown: int | None) -> Task:
    """A task that shows its first examples only."""
    return task if shown is None else task.model_copy(update={"examples": task.examples[:shown]})

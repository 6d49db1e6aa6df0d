"""The tasks of a benchmark with streams of requests, and the changes that matter to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import TypeVar

from experiments.drift.changes import ABOUT_FIELDS, UNCHANGED, Change, Kind, atoms, has_record, takes
from experiments.drift.procedures import procedures
from experiments.drift.worlds import Agent, Outcome, Request, World
from experiments.golds import read_golds
from flowmind.base.errors import InputError
from flowmind.build.verification.inputs import inputs_like
from flowmind.trace.stateful import is_suite, load
from flowmind.trace.task import Benchmark, Task, benchmark_tools
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSource

T = TypeVar("T")
MATTERS = 0.5
"""The least share of the requests after half time for which a change must matter."""
_PROBED = 6
"""The requests on which changes are tried before one is chosen."""
_MOST_TRIED = 40
"""The changes of one kind that are tried."""


@dataclass(frozen=True)
class StreamTask:
    """A task with the requests that its stream is drawn from."""

    task: Task
    gold: Workflow
    tools: tuple[ToolSource, ...]
    requests: tuple[Request, ...]

    @property
    def id(self) -> str:
        """The name of the task."""
        return self.task.id


def has_flow(task: Task, flows: Sequence[str]) -> bool:
    """Whether a task has one of these control flows; `branch+iteration` has both."""
    return not flows or task.control_flow in flows or not set(task.control_flow.split("+")).isdisjoint(flows)


def read_tasks(folder: Path, flows: Sequence[str] = (), split: str = "", limit: int | None = None) -> list[StreamTask]:
    """The tasks of a benchmark, or of the suite `api`.

    Args:
        folder: The folder of the benchmark.
        flows: Only tasks with one of these control flows.
        split: Only tasks of this half of the suite `api`.
        limit: The number of tasks, spread evenly over them.

    Raises:
        InputError: If the benchmark cannot be read, has no gold workflows, or no such task.
    """
    if is_suite(folder):
        tasks = [
            StreamTask(
                one.task,
                one.gold,
                one.tools,
                tuple(Request(case.input, case.state) for case in one.examples + one.tests),
            )
            for one in load(folder)
            if split in ("", one.split)
        ]
    elif split:
        raise InputError(f"--split: {folder} is not the suite `api`, and has no halves")
    else:
        tasks = _plain_tasks(folder)
    chosen = [task for task in tasks if has_flow(task.task, flows)]
    if not chosen:
        known = ", ".join(sorted({task.task.control_flow for task in tasks})) or "none"
        raise InputError(f"{folder}: no gold workflow of such a task; control flows with one: {known}")
    return spread(chosen, limit)


def spread(items: Sequence[T], limit: int | None) -> list[T]:
    """At most so many items, spread evenly over all."""
    count = min(limit or len(items), len(items))
    return [items[number * len(items) // count] for number in range(count)]


def _plain_tasks(folder: Path) -> list[StreamTask]:
    benchmark, golds, tools = Benchmark.load(folder), read_golds(folder), benchmark_tools(folder)
    found: list[StreamTask] = []
    for task in benchmark.tasks:
        if missing := [name for name in task.tools if name not in tools]:
            raise InputError(f"{folder}: task {task.id!r} has a tool {missing[0]!r} that is not there")
        if task.id in golds:
            shown = [Request(example.input) for example in task.examples]
            held_out = [Request(test.input) for test in benchmark.tests[task.id]]
            sources = tuple(tools[name] for name in task.tools)
            found.append(StreamTask(task, golds[task.id], sources, (*shown, *held_out)))
    return found


def stream(task: StreamTask, world: World, count: int) -> list[Request]:
    """The requests of a stream: two examples, then the other examples, the tests, and inputs near limits, mixed.

    Inputs near limits are made for tasks without a state. Requests to which the gold workflow has no answer are left
    out, as are equal ones.

    Args:
        task: The task.
        world: Its tools.
        count: The number of requests.
    """
    random = Random(task.id)
    rest = list(task.requests[2:])
    if task.requests[0].state is not None:
        random.shuffle(rest)
        near: list[Request] = []
    else:
        made = (Request(inputs) for _, inputs in zip(range(count), inputs_like(task.task), strict=False))
        near = list(made)
        random.shuffle(near)
    mixed = chain.from_iterable(zip_longest(rest, near))
    gold = Agent(task.gold, world)
    chosen: list[Request] = []
    for request in (*task.requests[:2], *filter(None, mixed)):
        if request not in chosen and gold.outcome(request).ok:
            chosen.append(request)
        if len(chosen) == count:
            break
    return chosen


def chosen_change(
    kind: Kind, task: StreamTask, world: World, later: Sequence[Request]
) -> tuple[Change, Workflow] | None:
    """A change of a kind, with the procedure of the agent after it; None if no change of this kind matters.

    Of the changes that are possible the one is taken that matters for most of the requests after half time. A change of
    a field matters if the gold workflow, run as before, fails or answers or writes otherwise; another procedure matters
    if it answers or writes otherwise.

    Args:
        kind: The kind.
        task: The task.
        world: Its tools, unchanged.
        later: The requests after half time.
    """
    gold = Agent(task.gold, world)
    plain = [gold.outcome(request) for request in later]
    if kind == "none":
        return UNCHANGED, task.gold
    if kind == "added":
        has = any(has_record(step.observation.value) for outcome in plain for step in outcome.trace.calls)
        return (Change(kind), task.gold) if has else None
    if kind == "tool":
        used = Counter(step.call.tool for outcome in plain for step in outcome.trace.calls)
        return (Change(kind, used.most_common(1)[0][0]), task.gold) if used else None
    if kind == "failure":
        return (Change(kind), task.gold) if any(outcome.written for outcome in plain) else None
    if kind in ABOUT_FIELDS:
        options = [(change, task.gold) for change in _fields(kind, plain)]
    else:
        options = [(Change(kind), workflow) for workflow in procedures(task.gold, world.specs)]

    Random(task.id).shuffle(options)
    options = options[:_MOST_TRIED]

    def matters(option: tuple[Change, Workflow], most: int) -> int:
        world.change, workflow = option
        agent = Agent(workflow, world, aware=False)
        others = [agent.outcome(request) for request in later[:most]]
        world.change = UNCHANGED
        if kind == "procedure" and not all(other.ok for other in others):
            return 0
        return sum(one.differs(other) for one, other in zip(plain, others, strict=False))

    best = max(options, key=lambda option: matters(option, _PROBED), default=None)
    return None if best is None or matters(best, len(later)) < MATTERS * len(later) else best


def _fields(kind: Kind, plain: Sequence[Outcome]) -> Iterator[Change]:
    """The changes of fields of results."""
    found: dict[Change, None] = {}
    for outcome in plain:
        for step in outcome.trace.calls:
            for path, value in atoms(step.observation.value):
                if takes(kind, path, value):
                    found[Change(kind, step.call.tool, path)] = None
    yield from found

"""The search floor: what the embedded `search` model solves, that is, what needs no language at all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from flowmind.api.solving import solve
from flowmind.build.settings import Settings
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import Thinker
from flowmind.run.running import run_batch
from flowmind.trace.task import Example, Task
from tools_registry.sandbox.environments import LocalSandbox, ToolSource, WorkerPool
from tools_registry.specs.schema import json_equal

BUDGET = 10_000
"""Tool calls that the search may try for one task: a sixth of what it may try in an experiment."""


def solved_by_search(
    task: Task, tests: Sequence[Example], tools: Mapping[str, ToolSource], pool: WorkerPool, budget: int = BUDGET
) -> bool:
    """Whether `search` with `es-react` makes a workflow that passes all tests of a task."""
    sandbox = LocalSandbox([tools[name] for name in task.tools], pool)
    model = SearchModel(Thinker(sandbox.values, budget))
    solution = asyncio.run(solve(task, sandbox, model, Settings(mode="es-react")))
    if solution.workflow is None or not solution.graph_valid:
        return False
    traces = run_batch(solution.workflow, [test.input for test in tests], sandbox)
    return all(trace.ok and json_equal(trace.answer, test.output) for trace, test in zip(traces, tests, strict=True))

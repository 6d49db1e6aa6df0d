"""The gold workflows of a benchmark, and the comparison of a workflow with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from experiments.record import StructureFacts
from flowmind.base.files import read_lines
from flowmind.build.executions import Demonstrate
from flowmind.evaluation.structure import compare
from flowmind.run.running import arun, needs_waiting, run_batch
from flowmind.trace.events import Called, Trace
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import ToolSpec

_LINES = 20
"""The most lines of a diff that a record keeps."""


class GoldRow(BaseModel):
    """A line of `gold.jsonl`; its trace is not read."""

    id: str
    workflow: Workflow


def read_golds(folder: Path) -> dict[str, Workflow]:
    """The gold workflows by task; none if the benchmark has no such file.

    Raises:
        InputError: With file, line, field and reason.
    """
    path = folder / "gold.jsonl"
    return {row.id: row.workflow for row in read_lines(path, GoldRow)} if path.exists() else {}


def demonstration(gold: Workflow, sandbox: Environment) -> Demonstrate:
    """Makes traces of a gold workflow with the calls and the answer only, like those of an agent.

    Nodes, conditions and assignments are left out, so that values computed between two calls are unexplained.
    """

    async def demonstrate(inputs: dict[str, Any], budget: int = DEFAULT_BUDGET) -> Trace:
        if needs_waiting(gold, sandbox):
            trace = await arun(gold, inputs, sandbox, budget=budget)
        else:
            trace = (await asyncio.to_thread(run_batch, gold, [inputs], sandbox, budget))[0]
        steps = tuple(Called(call=step.call, observation=step.observation) for step in trace.calls)
        return Trace(inputs=inputs, events=steps, stop=trace.stop, answer=trace.answer, error=trace.error)

    return demonstrate


def structure(workflow: Workflow, gold: Workflow, specs: Mapping[str, ToolSpec]) -> StructureFacts:
    """Compares a workflow with the gold workflow of its task; all scores are zero if it is not sound.

    Raises:
        InputError: If the gold workflow is not sound.
    """
    comparison = compare(workflow, gold, specs)
    return StructureFacts(
        nodes=round(comparison.nodes.f1, 4),
        tools=round(comparison.tools.f1, 4),
        edges=round(comparison.edges.f1, 4),
        branches=round(comparison.branches.f1, 4),
        equivalent=comparison.equivalent,
        covered=round(comparison.paths.coverage, 4),
        spurious=round(comparison.paths.spurious_share, 4),
        diff=comparison.diff[:_LINES] or ((comparison.problem,) if comparison.problem else ()),
    )

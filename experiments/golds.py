"""The gold workflows of a benchmark, and how far a workflow resembles them."""

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
from flowmind.run.running import run_batch
from flowmind.trace.events import Called, Trace
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import ToolSpec

_LINES = 20
"""Of a diff that are kept in a record."""


class GoldRow(BaseModel):
    """A line of `gold.jsonl`; its trace is left alone."""

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
    """Makes gold traces as an agent would leave them: the calls and the answer, and nothing of the gold workflow.

    Its nodes, conditions and assignments are left out; what it computes between two calls is unexplained in them.
    """

    async def demonstrate(inputs: dict[str, Any], budget: int = DEFAULT_BUDGET) -> Trace:
        trace = (await asyncio.to_thread(run_batch, gold, [inputs], sandbox, budget))[0]
        steps = tuple(Called(call=step.call, observation=step.observation) for step in trace.calls)
        return Trace(inputs=inputs, events=steps, stop=trace.stop, answer=trace.answer, error=trace.error)

    return demonstrate


def structure(workflow: Workflow, gold: Workflow, specs: Mapping[str, ToolSpec]) -> StructureFacts:
    """A workflow against the gold one of its task; zero throughout if it is not sound.

    Raises:
        InputError: If the gold one is not sound.
    """
    found = compare(workflow, gold, specs)
    return StructureFacts(
        nodes=round(found.nodes.f1, 4),
        tools=round(found.tools.f1, 4),
        edges=round(found.edges.f1, 4),
        branches=round(found.branches.f1, 4),
        equivalent=found.equivalent,
        covered=round(found.paths.coverage, 4),
        spurious=round(found.paths.spurious_share, 4),
        diff=found.diff[:_LINES] or ((found.problem,) if found.problem else ()),
    )

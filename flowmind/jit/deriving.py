"""Derives a version from the executions of an agent, in this process or in another one. It calls no tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from flowmind.api.summarizing import summarize
from flowmind.base.errors import FlowMindError
from flowmind.base.processes import answer_questions
from flowmind.jit.attempts import Rules, rehearse
from flowmind.jit.knowledge import Knowledge, spec_digests
from flowmind.jit.versions import Version, VersionRecord, version_id
from flowmind.recording.boundary import finished
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import Record, ToolSpec
from tools_registry.specs.values import describe

FEWEST = 2
"""The executions that a version needs."""
_UNGUARDED = Rules(frozenset())


class Job(Record):
    """What a version is derived from."""

    handle: str
    query: str
    inputs: JSONSchema
    specs: dict[str, ToolSpec]
    traces: tuple[Trace, ...]


class Derived(Record):
    """The result of a derivation."""

    workflow: Workflow | None = None
    knowledge: Knowledge = Knowledge()
    problem: str = ""
    """Why there is no workflow."""
    report: str = ""
    """What the workflow rests on."""
    seconds: float = 0.0
    traces: int = 0
    """The executions that it was derived from."""


def derive(job: Job) -> Derived:
    """Derives a workflow from all executions, or from the newer half if they do not have one in common."""
    began = time.perf_counter()
    newer = job.traces[len(job.traces) // 2 :]
    windows = [job.traces, newer] if FEWEST <= len(newer) < len(job.traces) else [job.traces]
    problem = ""
    for traces in windows:
        derived = _derived(job, traces)
        if derived.workflow is not None:
            return derived.model_copy(update={"seconds": time.perf_counter() - began})
        problem = problem or derived.problem
    return Derived(problem=problem, seconds=time.perf_counter() - began, traces=len(job.traces))


def _derived(job: Job, traces: Sequence[Trace]) -> Derived:
    try:
        result = summarize(
            list(traces), list(job.specs.values()), query=job.query, inputs=job.inputs, name=job.handle, predict=False
        )
        workflow = result.document
    except FlowMindError as error:
        return Derived(problem=str(error))
    known = Knowledge(tools=spec_digests(job.specs, workflow.tool_names))
    record = VersionRecord(
        id=version_id(workflow), handle=job.handle, state="shadow", made=0, workflow=workflow, knowledge=known
    )
    version = Version(record, job.specs, job.query)
    for number, trace in enumerate(traces, 1):
        rehearsal = finished(rehearse(version, trace, _UNGUARDED))
        if rehearsal.verdict != "agreed":
            halt = rehearsal.attempt.halt
            reason = rehearsal.difference or (halt.reason if halt else "")
            return Derived(problem=f"no workflow does what all executions did; execution {number}: {reason}")
        known = known.with_steps(rehearsal.attempt.steps, version.reading)
    return Derived(workflow=workflow, knowledge=known, report=result.report(), traces=len(traces))


def derive_safely(job: Job) -> Derived:
    """Derives a workflow; an exception is a problem of the result."""
    try:
        return derive(job)
    except Exception as error:
        return Derived(problem=f"the derivation failed: {describe(error)}", traces=len(job.traces))


@contextmanager
def _prepared(_: Any) -> Generator[Callable[[Any, Callable[[Any], None]], Any]]:
    yield lambda job, _: derive_safely(job)


def main() -> None:
    """Answers jobs from standard input, as a helper process."""
    answer_questions(_prepared)

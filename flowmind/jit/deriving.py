"""Derives a version from the executions of an agent, in this process or in another one. It calls no tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from flowmind.api.summarizing import summarize
from flowmind.base.errors import FlowMindError
from flowmind.base.processes import answer_questions
from flowmind.formats.traces.templates import FEWEST as FEWEST_REQUESTS
from flowmind.formats.traces.templates import Request, Template, phrasings, template_of
from flowmind.jit.attempts import Rules, rehearse
from flowmind.jit.knowledge import Knowledge, spec_digests
from flowmind.jit.versions import Version, VersionRecord, read_request, version_id
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
    request: str = ""
    """The parameter with the request, if requests are in prose."""


class Derived(Record):
    """The result of a derivation."""

    workflow: Workflow | None = None
    knowledge: Knowledge = Knowledge()
    template: Template | None = None
    """The template of the requests, if they are in prose."""
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
    if job.request:
        return _of_phrasing(job)
    newer = job.traces[len(job.traces) // 2 :]
    windows = [job.traces, newer] if FEWEST <= len(newer) < len(job.traces) else [job.traces]
    problem = ""
    for traces in windows:
        derived = _derived(job, traces)
        if derived.workflow is not None:
            return derived.model_copy(update={"seconds": time.perf_counter() - began})
        problem = problem or derived.problem
    return Derived(problem=problem, seconds=time.perf_counter() - began, traces=len(job.traces))


def _of_phrasing(job: Job) -> Derived:
    """Derives a workflow from the executions with the most frequent phrasing of the request."""
    requests = [
        Request(
            str(trace.inputs.get(job.request, "")),
            [pair for step in trace.calls if step.observation.ok for pair in step.call.args.items()],
        )
        for trace in job.traces
    ]
    members = max(phrasings(requests), key=lambda members: (len(members), members[-1]))
    template = template_of([requests[number] for number in members])
    if template is None:
        problem = f"no {FEWEST_REQUESTS} requests have one phrasing; {len(members)} are alike"
        return Derived(problem=problem, traces=len(job.traces))
    traces: list[Trace] = []
    for trace in job.traces:
        if (inputs := read_request(template, job.request, trace.inputs)) is not None:
            traces.append(trace.model_copy(update={"inputs": inputs}))
    others = {name: field for name, field in job.inputs.get("properties", {}).items() if name != job.request}
    slots = template.inputs()
    needed = [name for name in job.inputs.get("required", ()) if name != job.request]
    schema: JSONSchema = {
        **slots, "properties": {**others, **slots["properties"]}, "required": [*needed, *slots["required"]]
    }  # fmt: skip
    inner = job.model_copy(update={"request": "", "inputs": schema, "traces": tuple(traces)})
    return derive(inner).model_copy(update={"template": template})


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

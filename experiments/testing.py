"""Runs workflows on held-out inputs, together with their rivals, for the scores of tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.record import Score
from flowmind.evaluation.coverage import Unseen
from flowmind.evaluation.evaluators import exact_match
from flowmind.protocols import ChatModel
from flowmind.run.doubt import Guard, Guarded
from flowmind.run.running import arun, needs_waiting, prepare, run_batch
from flowmind.trace.events import Trace
from flowmind.trace.stateful import Case as StatefulCase
from flowmind.trace.stateful import has_wrong_write, judge
from flowmind.trace.task import Example
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.stateful import StatefulCases


class ComparedRun(NamedTuple):
    """The run of a workflow on a test."""

    trace: Trace
    """The run. It ends in doubt where rivals disagree with the workflow."""
    alone: Trace
    """The run of the workflow without its rivals."""
    bits: float | None = None
    """The fewest bits of a rival that disagrees; None if none does."""
    compared: bool = False
    """Whether the workflow can be in doubt."""


async def run_tests(
    workflow: Workflow, cases: Sequence[dict[str, Any]], environment: Environment, model: ChatModel | None = None
) -> list[ComparedRun]:
    """The runs of a workflow on held-out inputs, in one environment.

    With rivals each run goes on after a doubt, calls of tools that change something included: this is for measuring, in
    environments that may be changed.

    Args:
        workflow: A sound workflow.
        cases: The inputs.
        environment: The tools.
        model: Answers `llm` nodes.

    Raises:
        ModelFailure: If the model's endpoint failed.
    """
    if not workflow.doubtful:
        if needs_waiting(workflow, environment):
            traces = [await arun(workflow, case, environment, model) for case in cases]
        else:
            traces = await asyncio.to_thread(run_batch, workflow, cases, environment)
        return [ComparedRun(trace, trace) for trace in traces]
    guard = Guard(prepare(workflow, environment), environment)
    if guard.waits:
        runs = [await guard.arun(case, environment, model, ending="watch") for case in cases]
    else:
        runs = await asyncio.to_thread(guard.run, cases, environment, ending="watch")
    return [_test_run(run) for run in runs]


class JudgedRun(NamedTuple):
    """The run of a workflow on a test that has a state, and what it is worth."""

    run: ComparedRun
    right: bool
    """Whether the workflow without its rivals is right in its answer, its writes and the state at the end."""
    wrong_writes: tuple[bool, bool]
    """Whether the run made a wrong write, and whether the workflow without its rivals did."""


async def run_in_states(
    workflow: Workflow,
    cases: Sequence[StatefulCase],
    environment: StatefulCases,
    model: ChatModel | None = None,
) -> list[JudgedRun]:
    """The runs of a workflow on held-out tests, each in a state of its own.

    Raises:
        ModelFailure: If the model's endpoint failed.
    """
    judged: list[JudgedRun] = []
    for case in cases:
        own = environment.begun(case.input)
        run = (await run_tests(workflow, [case.input], own, model))[0]
        verdict = judge(case, run.alone, own.state, own.specs)
        wrong = [has_wrong_write(case, trace, own.specs) for trace in (run.trace, run.alone)]
        judged.append(JudgedRun(run, verdict.kind == "right", (wrong[0], wrong[1])))
    return judged


def _test_run(run: Guarded) -> ComparedRun:
    bits = [rival.bits for disagreement in run.disagreements for rival in disagreement.rivals]
    return ComparedRun(run.cut, run.trace.model_copy(update={"doubt": None}), min(bits, default=None), True)


def score_of(
    run: ComparedRun, test: Example, right: bool | None = None, wrong_writes: tuple[bool, bool] = (False, False)
) -> Score:
    """The score of a test.

    Args:
        run: The run.
        test: The test.
        right: Whether the workflow without its rivals is right; by default whether it gives the expected answer.
        wrong_writes: Whether the run made a wrong write, and whether the workflow without its rivals did.
    """
    if right is None:
        right = exact_match(run.alone, test.output).value == 1.0
    error = f"{run.trace.error.type}: {run.trace.error.message}" if run.trace.error else None
    compared = None
    if run.compared or wrong_writes != (False, False):
        compared = Unseen(
            right=right,
            answered=run.alone.ok,
            bits=run.bits,
            wrong_write=wrong_writes[0],
            wrong_write_alone=wrong_writes[1],
        )
    return Score(
        passed=right and run.trace.ok,
        input=test.input,
        expected=test.output,
        actual=run.trace.answer,
        error=error,
        compared=compared,
    )

"""What the evidence of a workflow is worth: each trace predicted from the others, and where rivals disagree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.derivation import Forecast, Prediction, Way
from flowmind.build.induction.induce import induce_in_thread
from flowmind.build.verification.behaviour import compared
from flowmind.build.verification.inputs import inputs_like
from flowmind.build.verification.questions import Question, recorded_runs
from flowmind.build.verification.trials import Best
from flowmind.build.verification.visits import tell_way, ways
from flowmind.build.verification.work import Work
from flowmind.run.examples import short
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import json_equal

MOST = 10
"""Traces of which each is predicted from the others; with more, that is left out."""
CALLS = 120
"""Calls in these traces, at most."""
SAMPLED = 60
"""Generated inputs on which rivals are compared."""
NEAR = 60
"""Combinations of the traces' inputs on which rivals are compared."""
_DIFFERENT = ("not_recorded", "left_out")
"""Errors of a run that makes other calls than were recorded."""


async def forecast(work: Work, best: Best, asked: Sequence[Question], leave_out: bool) -> Forecast:
    """What can be said of a workflow that was induced, beyond the traces that it was fitted to.

    Args:
        work: The task and its traces.
        best: The workflow.
        asked: The questions that are open.
        leave_out: Whether each trace is predicted from the others, which takes an induction each.
    """
    workflow = best.workflow
    rivals = [workflow.rival(rival) for rival in workflow.rivals]
    sampled = list(islice(inputs_like(work.task, work.settings.seed), SAMPLED)) if rivals else []
    agreement = await compared(work, workflow, rivals, sampled)
    near = await compared(work, workflow, rivals, list(islice(_neighbours(work), NEAR)) if rivals else [])
    # without marks every run ends at its first call here, which shows little
    marked = any(spec.effect != "unknown" for spec in work.environment.specs.values())
    written = [one for one in near.disputes if marked and (one.main.tool or any(other.tool for other in one.others))]
    lone = tuple(_lone(workflow, await recorded_runs(work, workflow)))
    needed = [f"a trace in which {one.shown.setting}: {_either(one)}" for one in asked if one.shown is not None]
    needed += [
        f"two more traces with other values at {one.id}" for one in asked if one.kind == "value" and not one.shown
    ]
    if not any(one.shown is not None for one in asked):
        needed += [f"a trace with the inputs {short(one.inputs)}: {one.told}" for one in agreement.disputes[:1]]
    needed += [f"{'one more trace' if way.trace else 'two traces'} in which {way.told}" for way in lone]
    return Forecast(
        predictions=await predictions(work) if leave_out else (),
        rivals=len(rivals),
        sampled=agreement.compared if marked else 0,
        agreed=agreement.compared - len(agreement.disputes) if marked else 0,
        lone=lone,
        disputed=tuple(map(str, written)),
        needed=tuple(dict.fromkeys(needed)),
    )


def _either(question: Question) -> str:
    assert question.shown is not None
    return ", or ".join(question.shown.effects)


def evidence_needed(refused: Sequence[str], places: Sequence[str]) -> tuple[str, ...]:
    """The traces that are missing where no workflow is sound.

    Args:
        refused: The values that tools would be given by a guess, a line each that starts with the place.
        places: The places that nothing explains.
    """
    found = [f"two more traces with other values of {line.partition(':')[0]}, and their source" for line in refused]
    found += [f"two more traces with other values at {place}, and their source" for place in places if not refused]
    return tuple(dict.fromkeys(found)) or ("more traces, two at least for each way that the task can take",)


async def predictions(work: Work) -> tuple[Prediction, ...]:
    """Each trace left out in turn, and predicted by the workflow of the others; empty if there are too many, or one.

    Answers to questions hold for these workflows, too: they are knowledge that does not come from the traces.
    """
    runs = work.runs()
    if not 2 <= len(runs) <= MOST or sum(len(run.calls) for run in runs) > CALLS:
        return ()
    request = work.request(work.chosen)
    without = [replace(request, runs=[run for run in runs if run is not left]) for left in runs]
    if work.inducer is induce_in_thread:  # threads would take turns, and all their memory at once
        found = [await work.inducer(one) for one in without]
    else:
        found = await asyncio.gather(*map(work.inducer, without))
    made: list[Prediction] = []
    for left, inductions in zip(runs, found, strict=True):
        sound = next((one.workflow for one in inductions if one.sound), None)
        made.append(await _prediction(work, sound, left.number))
    return tuple(made)


async def _prediction(work: Work, workflow: Workflow | None, place: int) -> Prediction:
    trace = work.traces[place]
    if workflow is None:
        return Prediction(number=place + 1, right=False, doubt=True)
    main = await _outcome(work, workflow, trace)
    right = main is not None and json_equal(main, ["", trace.answer])
    for rival in workflow.rivals:
        other = await _outcome(work, workflow.rival(rival), trace)
        if other is not None and not json_equal(other, main):
            return Prediction(number=place + 1, right=right, doubt=True)
    return Prediction(number=place + 1, right=right)


async def _outcome(work: Work, workflow: Workflow, trace: Trace) -> list[Any] | None:
    """What a workflow does on a trace's inputs: no error and its answer, or that it makes other calls, and null. None
    if it ends in an error."""
    (run,) = await work.ran(workflow, [trace.inputs])
    if run.error is None:
        return ["", run.answer]
    return [run.error.type, None] if run.error.type in _DIFFERENT else None


def _neighbours(work: Work) -> Iterator[dict[str, Any]]:
    """The traces' inputs, and those with one value of another trace."""
    cases = [trace.inputs for place, trace in enumerate(work.traces) if work.right(place)]
    yield from cases
    seen = {dump_json(case) for case in cases}
    for case in cases:
        for other in cases:
            for name in case:
                mixed = {**case, name: other.get(name, case[name])}
                if (key := dump_json(mixed)) not in seen:
                    seen.add(key)
                    yield mixed


def _lone(workflow: Workflow, runs: Mapping[int, Trace]) -> Iterator[Way]:
    """The ways out of conditions that one trace took, or none."""
    for (node, way), taken in ways(workflow, runs).items() if len(runs) > 1 else ():
        if len(taken) < 2:
            yield Way(told=tell_way(workflow, node, way), trace=min(taken) + 1 if taken else 0)

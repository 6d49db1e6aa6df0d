"""Probes: inputs of our own making are executed where candidates disagree, and the workflow is derived again."""

from __future__ import annotations

from flowmind.files import dump_json
from flowmind.induction.probing import inputs_like
from flowmind.verification.candidates import Best, choose, with_conditions
from flowmind.verification.work import Work
from flowmind.workflow import Workflow
from tools_registry.schema import json_equal


async def probe(work: Work, best: Best, most: int) -> Best:
    """Executes up to so many inputs, and derives again after each that the workflow does not solve.

    Where an agent executes, only inputs are tried on which candidates disagree: an execution costs, and nobody can say
    that its answer is right. A gold trace is right and costs nothing: any input may show an arm that no example took.
    """
    done = 0
    for inputs in inputs_like(work.task, work.reading, work.settings.seed):
        if done >= most:
            break
        if work.demonstrate is None and not await _disputed(work, best, inputs):
            continue
        trace = await work.probe(inputs)
        if not trace.ok:
            continue
        done += 1
        work.mends.append("probe")
        own = (await work.run_on(best.workflow, [inputs]))[0]
        if own.error is None and json_equal(own.answer, trace.answer):
            continue
        found = await choose(work)
        if found is not None and len(found.failures) <= len(best.failures):
            found.first = best.first
            best = found
    return best


async def _disputed(work: Work, best: Best, inputs: dict[str, object]) -> bool:
    """Whether the candidates give several answers."""
    answers = [(await work.run_on(one, [inputs]))[0] for one in await _rivals(work, best)]
    return len({dump_json(trace.answer) if trace.error is None else "error" for trace in answers}) > 1


async def _rivals(work: Work, best: Best) -> list[Workflow]:
    """The workflow, and those with the next candidate of one of its conditions."""
    found = [best.workflow]
    if best.draft is None:
        return found
    for place, decision in best.draft.plan.decisions.items():
        for number, (candidates, _) in enumerate(decision.ways):
            for one in candidates[1:3]:
                changed = await with_conditions(work, best.draft, {**work.answers, (place, number): one.expr}, "")
                if changed is not None and not changed.failures:
                    found.append(changed.workflow)
    return found

"""Drafts, and their conditions exchanged, tried on the examples."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from flowmind.checking import check
from flowmind.induction.conditions import negated
from flowmind.induction.emitting import Emitter
from flowmind.induction.inducing import Draft, drafts
from flowmind.induction.structure import Key
from flowmind.stages import rounds_of
from flowmind.verification.work import CounterExample, Work
from flowmind.workflow import Workflow

MENDED = 4
"""Drafts whose conditions are varied."""
VARIED = 5
"""Other candidates of a condition that are tried."""


@dataclass
class Best:
    """The workflow that solves most examples so far."""

    workflow: Workflow
    failures: list[CounterExample]
    draft: Draft | None = None
    """What it was induced as; None if an agent built or changed it."""
    emitter: Emitter | None = None
    mend: str = ""
    first: int = 0
    """Examples that the likeliest draft solved."""


async def choose(work: Work) -> Best | None:
    """The draft that solves most examples, other candidates of its conditions included."""
    runs = work.runs()
    work.built_from = len(runs)
    if not runs:
        return None
    made = await asyncio.to_thread(drafts, runs, work.business.specs, work.task.inputs, work.reading, work.task.id)
    best: Best | None = None
    first: int | None = None
    sound = [draft for draft in made if draft.sound]
    for draft in sound:
        failures = await work.failures(draft.workflow)
        first = len(work.task.examples) - len(failures) if first is None else first
        if best is None or len(failures) < len(best.failures):
            best = Best(draft.workflow, failures, draft, draft.emitter, "", first)
        if not failures:
            return best
    for draft in sound[:MENDED]:
        if rounds_of(work.settings):
            better = await vary(work, draft)
            if better is not None and (best is None or len(better.failures) < len(best.failures)):
                better.first = first or 0
                best = better
                if not better.failures:
                    break
    if best is not None and best.mend:
        work.mends.append(best.mend)
    return best


async def vary(work: Work, draft: Draft) -> Best | None:
    """The draft with one condition changed: its negation, or the next candidates."""
    best: Best | None = None
    for place, decision in draft.plan.decisions.items():
        for number, (found, _) in enumerate(decision.ways):
            options = [(negated(found[0].expr), "negation")] if found else []
            options += [(one.expr, "candidate") for one in found[1 : 1 + VARIED]]
            for expr, mend in options:
                changed = await with_conditions(work, draft, {**work.answers, (place, number): expr}, mend)
                if changed is not None and (best is None or len(changed.failures) < len(best.failures)):
                    best = changed
                    if not changed.failures:
                        return best
    return best


async def with_conditions(work: Work, draft: Draft, choice: dict[tuple[Key, int], str], mend: str) -> Best | None:
    """The draft with other conditions; None if it is not sound then."""
    emitter = Emitter(draft.plan, work.task.inputs, work.task.id, choice)
    workflow = emitter.write()
    if check(workflow, work.business.specs):
        return None
    return Best(workflow, await work.failures(workflow), draft, emitter, mend)

"""Drafts, and their conditions exchanged, tried on the examples."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from flowmind.build.induction.conditions import negated
from flowmind.build.induction.emitting import Emitter
from flowmind.build.induction.inducing import Induced, Loops
from flowmind.build.induction.structure import Key
from flowmind.build.settings import rounds_of
from flowmind.build.verification.work import CounterExample, Work
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow

MENDED = 4
"""Drafts whose conditions are varied."""
VARIED = 5
"""Other candidates of a condition that are tried."""
SOLVED = (0, 0)
"""The rank of a workflow that solves everything it is tried on."""


@dataclass
class Best:
    """The workflow that solves most examples so far."""

    workflow: Workflow
    failures: list[CounterExample]
    draft: Induced | None = None
    """What it was induced as; None if an agent built or changed it."""
    emitter: Emitter | None = None
    mend: str = ""
    first: int = 0
    """Examples that the likeliest draft solved."""
    missed: list[int] = field(default_factory=list[int])
    """Traces of probes to whose answers it does not come."""
    loops: Sequence[Loops] = ()
    """Of the likeliest drafts."""
    read: tuple[str, ...] = ()
    """The calls behind which a model read a way in the task that no trace took."""

    @property
    def rank(self) -> tuple[int, int]:
        """The less, the better: examples first, which are known to be right."""
        return len(self.failures), len(self.missed)


LIKELY = 3
"""Drafts of the derivation before whose loops are looked at first."""


async def choose(work: Work, before: Best | None = None) -> Best | None:
    """The draft that solves most examples, other candidates of its conditions included.

    Args:
        work: The task and its traces.
        before: What was derived from fewer traces: its loops are looked at first, and others if that is no better.
    """
    if before is not None and before.loops:
        found = await _chosen(work, before.loops)
        if found is not None and found.rank < before.rank:
            return found
    return await _chosen(work, None)


async def _chosen(work: Work, among: Collection[Loops] | None) -> Best | None:
    work.built_from = len(work.runs())
    if not work.built_from:
        return None
    made = await work.drafts(among)
    likely = tuple(dict.fromkeys(draft.plan.loops for draft in made[:LIKELY]))
    best: Best | None = None
    first: int | None = None
    sound = [draft for draft in made if draft.sound]
    for draft in sound:
        failures = await work.failures(draft.workflow)
        first = len(work.task.examples) - len(failures) if first is None else first
        missed = await work.missed(draft.workflow)
        found = Best(draft.workflow, failures, draft, draft.emitter, "", first, missed, likely)
        if best is None or found.rank < best.rank:
            best = found
        if best.rank == SOLVED:
            return best
    for draft in sound[:MENDED]:
        if rounds_of(work.settings):
            better = await vary(work, draft)
            if better is not None and (best is None or better.rank < best.rank):
                better.first, better.loops = first or 0, likely
                best = better
                if best.rank == SOLVED:
                    break
    if best is not None and best.mend:
        work.mends.append(best.mend)
    return best


async def vary(work: Work, draft: Induced) -> Best | None:
    """The draft with one condition changed: its negation, or the next candidates."""
    best: Best | None = None
    for place, decision in draft.plan.decisions.items():
        for number, (found, _) in enumerate(decision.ways):
            options = [(negated(found[0].expr), "negation")] if found else []
            options += [(one.expr, "candidate") for one in found[1 : 1 + VARIED]]
            for expr, mend in options:
                changed = await with_conditions(work, draft, {**work.answers, (place, number): expr}, mend)
                if changed is not None and (best is None or changed.rank < best.rank):
                    best = changed
                    if best.rank == SOLVED:
                        return best
    return best


async def with_conditions(work: Work, draft: Induced, choice: dict[tuple[Key, int], str], mend: str) -> Best | None:
    """The draft with other conditions; None if it is not sound then."""
    emitter = Emitter(draft.plan, work.task.inputs, work.task.id, choice)
    workflow = emitter.write()
    if check(workflow, work.environment.specs):
        return None
    failures, missed = await work.failures(workflow), await work.missed(workflow)
    return Best(workflow, failures, draft, emitter, mend, missed=missed)

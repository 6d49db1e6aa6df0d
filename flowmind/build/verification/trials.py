"""Trials: workflows that were induced are run on the examples, and the likeliest one that solves them is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import product

from flowmind.base.files import dump_json
from flowmind.build.induction.induction import Alternative, Induction, Place
from flowmind.build.settings import rounds_of
from flowmind.build.verification.work import CounterExample, Work, bare
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow, variables
from tools_registry.specs.schema import json_equal

TRIED = 40
"""Workflows that are tried at most each time that one is chosen."""
SOLVED = (0, 0)
"""The rank of a workflow that solves everything it is tried on."""


@dataclass
class Best:
    """The workflow that solves the most examples so far."""

    workflow: Workflow
    failures: list[CounterExample]
    induction: Induction | None = None
    """The induction that gave it; None if an agent built or changed it."""
    mend: str = ""
    first: int = 0
    """Examples that the likeliest workflow solved."""
    missed: list[int] = field(default_factory=list[int])
    """The indexes of the probes whose answers it does not give."""
    answered: frozenset[str] = frozenset()
    """The ids of the questions that a person answered."""
    read: tuple[str, ...] = ()
    """The calls behind which a branch was added that a model read in the task and no trace took."""

    @property
    def rank(self) -> tuple[int, int]:
        """The lower, the better. Examples count first, because their answers are known to be right."""
        return len(self.failures), len(self.missed)


async def choose(work: Work) -> Best | None:
    """The likeliest workflow of those that solve the most examples and probes.

    Alternatives at the places of a workflow and workflows of another structure are tried in the order of their bits.
    If none solves all examples, those that were tried are excluded, and the next ones are induced.
    """
    work.built_from = len(work.runs())
    if not work.built_from:
        return None
    inductions = await work.inductions()
    sound = [induction for induction in inductions if induction.sound]
    work.refused = () if sound else next((one.refused for one in inductions if one.refused), ())
    work.unsound = () if sound or work.refused or not inductions else inductions[0].problems
    work.holes = () if sound or not inductions else inductions[0].holes
    mending = rounds_of(work.settings) > 0
    best = await _first(work, _candidates(sound, mending), None)
    if best is not None and best.failures and mending:
        tried = [workflow for one in sound for workflow in (one.workflow, *_others(one))]
        more = [one for one in await work.inductions(excluded=tried) if one.sound]
        best = await _first(work, _candidates(more, mending), best)
    if best is not None and best.mend:
        work.mends.append(best.mend)
    return best


def _others(induction: Induction) -> list[Workflow]:
    return [one.workflow for place in induction.places for one in place.alternatives[1:]]


def _candidates(inductions: Iterable[Induction], mending: bool) -> list[Induction]:
    """The inductions, and those with another alternative at one place, the likeliest first."""
    found = [(induction.bits, induction) for induction in inductions]
    if mending:
        found += [
            (induction.bits + other.bits, adopted(induction, place, [other]))
            for _, induction in tuple(found)
            for place in induction.places
            for other in place.alternatives[1:]
        ]
    return [induction for _, induction in sorted(found, key=lambda pair: pair[0])][:TRIED]


async def _first(work: Work, candidates: Iterable[Induction], best: Best | None) -> Best | None:
    """The first of the candidates that solve the most, unless `best` solves as much."""
    first = best.first if best is not None else None
    for place, induction in enumerate(candidates):
        if place and check(induction.workflow, work.environment.specs):
            continue
        candidate = await tried(work, induction, best)
        if first is None:
            first = len(work.task.examples) - len(candidate.failures)
        candidate.first = first
        if best is None or candidate.rank < best.rank:
            candidate.mend = "candidate" if best is not None and best.failures else ""
            best = candidate
        if best.rank == SOLVED:
            break
    return best


async def tried(work: Work, induction: Induction, against: Best | None = None) -> Best:
    """A sound workflow with its failures; on probes it is tried only if it solves as many examples as another one."""
    failures = await work.failures(induction.workflow)
    candidate = Best(induction.workflow, failures, induction)
    if against is None or len(failures) <= len(against.failures):
        candidate.missed = await work.missed(induction.workflow)
    return candidate


def adopted(induction: Induction, place: Place, allowed: list[Alternative]) -> Induction:
    """The induction with the first of some alternatives of a place in its workflow, and the others as its rivals.

    The alternatives of other places are kept where they can stand in the new workflow too.
    """
    old, bits = induction.workflow, allowed[0].bits
    new = allowed[0].workflow
    new = old if bare(new) == bare(old) else new.model_copy(update={"rivals": ()})
    places: list[Place] = []
    for other in induction.places:
        if other.id == place.id:
            mine = [replace(one, bits=max(one.bits - bits, 0.0)) for one in allowed]
        else:
            moved = [
                (one, one.workflow if new is old else _moved(old, one.workflow, new)) for one in other.alternatives
            ]
            mine = [replace(one, workflow=workflow) for one, workflow in moved if workflow is not None]
        if len(mine) > 1:
            places.append(Place(other.id, other.kind, tuple(mine)))
    return with_places(replace(induction, workflow=new, bits=induction.bits + bits), places)


def with_places(induction: Induction, places: Iterable[Place]) -> Induction:
    """The induction with other places; its workflow has their alternatives as rivals."""
    places, own = tuple(places), induction.workflow
    rivals = tuple(
        own.rival_of(bare(one.workflow), place.id, one.text, max(one.bits, 0.0))
        for place in places
        for one in place.alternatives[1:]
    )
    return replace(induction, workflow=own.model_copy(update={"rivals": rivals}), places=places)


def _moved(old: Workflow, changed: Workflow, new: Workflow) -> Workflow | None:
    """A new workflow with the change from the old one to another; None if the change cannot stand in it."""
    ids = [node.id for node in old.nodes]
    if any(one.edges != old.edges or [node.id for node in one.nodes] != ids for one in (changed, new)):
        return None
    changes = {
        after.id: after
        for before, after, own in zip(old.nodes, changed.nodes, new.nodes, strict=True)
        if before != after and before == own
    }
    if len(changes) < sum(before != after for before, after in zip(old.nodes, changed.nodes, strict=True)):
        return None
    return new.model_copy(update={"nodes": tuple(changes.get(node.id, node) for node in new.nodes)})


async def keeps_up(work: Work, workflow: Workflow, best: Best) -> bool:
    """Whether a workflow is sound, and solves as many examples and probes as the best one."""
    if check(workflow, work.environment.specs) or len(await work.failures(workflow)) > len(best.failures):
        return False
    return len(await work.missed(workflow)) <= len(best.missed)


async def settled(work: Work, best: Best) -> Best:
    """The workflow without the rivals that fail on an example or a probe which it solves."""
    if best.induction is None:
        return best
    places: list[Place] = []
    for place in best.induction.places:
        kept = list(place.alternatives[:1])
        for other in place.alternatives[1:]:
            if await keeps_up(work, other.workflow, best):
                kept.append(other)
        if len(kept) > 1:
            places.append(replace(place, alternatives=tuple(kept)))
    if len(places) == len(best.induction.places) and tuple(places) == best.induction.places:
        return best
    induction = with_places(replace(best.induction, workflow=best.workflow), places)
    return replace(best, workflow=induction.workflow, induction=induction)


async def influence(work: Work, workflow: Workflow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs that never change the output, and those of them that the workflow reads all the same.

    Each input is replaced by that of another example.
    """
    if work.unmarked(workflow):  # other inputs could change something
        return (), ()
    idle: list[str] = []
    examples = [example.input for example in work.task.examples]
    for name in work.task.inputs.get("properties", {}):
        having = [case for case in examples if name in case]
        pairs = [
            (case, {**case, name: other[name]})
            for case, other in product(having, repeat=2)
            if not json_equal(case[name], other[name])
        ]
        if not pairs:
            continue
        cases = [case for pair in pairs for case in pair]
        answers = [dump_json(run.answer) if run.error is None else "error" for run in await work.ran(workflow, cases)]
        if answers[::2] == answers[1::2]:
            idle.append(name)
    return tuple(idle), tuple(name for name in idle if name in variables(workflow))

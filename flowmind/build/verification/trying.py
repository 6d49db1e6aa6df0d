"""Probes: inputs of our own making are executed where candidates disagree, and the workflow is derived again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.induction.planning import variants
from flowmind.build.induction.probing import inputs_like
from flowmind.build.verification.candidates import Best, choose, with_conditions
from flowmind.build.verification.work import Work
from flowmind.trace.events import Trace
from flowmind.workflow.document import ToolNode, Workflow

TRIED = 150
"""Inputs that are looked at for a disagreement."""
RIVALS = 10
"""Candidates that are held against each other, the workflow itself included."""
EQUAL = 2
"""Of them with another condition in the same place."""
LOOKED_AT = 8
"""Candidates of a condition that are tried to find these."""
ENOUGH = 16
"""Traces from which no more are asked for: what they do not show, more of them will not show either."""
CALLS = 120
"""And so are so many calls in all of them: the search takes longer with each."""
PATIENCE = 3
"""Probes that are derived from one after the other without any gain before the derivation stays as it is."""


async def probe(work: Work, best: Best | None, most: int) -> Best | None:
    """Executes up to so many inputs, and derives again from those that the workflow does not solve, one at a time.

    Where an agent executes, only inputs are tried on which candidates disagree: an execution costs, and nobody can say
    that its answer is right. A gold trace is right and costs nothing: inputs on which candidates disagree take turns
    with any inputs, since any may show an arm that no example took.
    """
    cases = list(inputs_like(work.task, work.reading, work.settings.seed))
    split = 0 if not work.trusted else len(cases) - min(TRIED, len(cases) // 2)
    dispute = _Dispute(work, cases[split : split + TRIED])
    left = chain(cases[:split], dispute.rest() if work.trusted else ())
    done = 0
    while done < most:
        begun = done
        some = list(islice(left, (most - done + 1) // 2))
        for inputs in some:
            done += await _executed(work, inputs)
        if work.trusted:
            best = await _derived_again(work, best)
        while (
            best is not None and done < most and work.may_execute and (inputs := await dispute.next(best)) is not None
        ):
            if await _executed(work, inputs):
                done += 1
                best = await _derived_again(work, best)
        if not work.trusted or best is None or (done == begun and not some):
            break
    return best


async def _executed(work: Work, inputs: dict[str, Any]) -> bool:
    """Executes an input; False if that came to nothing."""
    if not await work.probe(inputs):
        return False
    work.mends.append("probe")
    return True


async def _derived_again(work: Work, best: Best | None) -> Best | None:
    """The workflow, derived from one more probe that it does not solve, and again, as long as that brings something."""
    if best is not None:
        best.missed = await work.missed(best.workflow)
    vain = 0
    while vain < (PATIENCE if best is not None else PATIENCE + 1) and (best is None or best.missed):
        left = work.spare.intersection(best.missed) if best is not None else work.spare
        if not left or work.built_from >= ENOUGH or sum(len(run.calls) for run in work.runs()) > CALLS:
            break
        # the shortest shows what is missing with the least beside it; in vain, more of them
        ordered = sorted(left, key=lambda place: (len(work.traces[place].calls), place))
        work.spare.difference_update(ordered[: vain + 1])
        found = await choose(work, best)
        vain += 1
        if found is not None and (best is None or found.rank < best.rank):
            found.first = best.first if best is not None else 0
            best = found
            vain = 0
    return best


class _Dispute:
    """What candidates make of inputs that nobody executed; each is run once on each input."""

    def __init__(self, work: Work, cases: Sequence[dict[str, Any]]) -> None:
        self._work, self._cases = work, list(cases)
        self._answers: dict[str, list[str]] = {}
        self._used: set[int] = set()
        self._seen: set[str] = set()

    async def next(self, best: Best) -> dict[str, Any] | None:
        """The first input on which the candidates give several answers, or that shows something new; None without one.

        Each input is given once.
        """
        rows = [await self._on_all(one) for one in await _rivals(self._work, best)]
        for place, (values, *answers) in enumerate(zip(await self._new(best), *rows, strict=True)):
            if place not in self._used and (values or len({*answers}) > 1):
                self._used.add(place)
                self._seen |= values
                return self._cases[place]
        return None

    def rest(self) -> Iterator[dict[str, Any]]:
        """The inputs that were not given yet."""
        for place, case in enumerate(self._cases):
            if place not in self._used:
                self._used.add(place)
                yield case

    async def _new(self, best: Best) -> list[set[str]]:
        """For each input the values, seen in no trace on the same way, of results that nothing in the workflow reads.

        Such a call was made for something that the traces do not show yet, a condition most likely.
        """
        waiting = best.draft.plan.waiting if best.draft is not None else frozenset[str]()
        calls = [node for node in best.workflow.nodes if isinstance(node, ToolNode)]
        names = {node.id: node.output for node in calls if node.output in waiting}
        if not names:
            return [set() for _ in self._cases]
        runs = await self._work.run_on(best.workflow, [trace.inputs for trace in self._work.traces])
        known = {value for run in runs for value in _values(run, names)} | self._seen
        return [
            {*_values(run, names)} - known if run.error is None else set()
            for run in await self._work.run_on(best.workflow, self._cases)
        ]

    async def _on_all(self, workflow: Workflow) -> list[str]:
        key = workflow.model_dump_json()
        if key not in self._answers:
            runs = await self._work.ran(workflow, self._cases)
            self._answers[key] = [dump_json(run.answer) if run.error is None else "error" for run in runs]
        return self._answers[key]


def _values(run: Trace, names: Mapping[str, str]) -> Iterator[str]:
    """What calls of some nodes gave, with the way that the run took."""
    way = " ".join(dict.fromkeys(step.node or "" for step in run.calls))
    for step in run.calls:
        if (name := names.get(step.node or "")) is not None:
            yield f"{name}: {dump_json(step.observation.value)} on {way}"


async def _rivals(work: Work, best: Best) -> list[Workflow]:
    """The workflow, and those with another condition or value in one place that solve as much."""
    found = [best.workflow]
    if best.draft is None:
        return found
    for place, decision in best.draft.plan.decisions.items():
        for number, (candidates, _) in enumerate(decision.ways):
            equal = 0
            for one in candidates[1:LOOKED_AT]:
                changed = await with_conditions(work, best.draft, {**work.answers, (place, number): one.expr}, "")
                if changed is not None and changed.rank <= best.rank:
                    found.append(changed.workflow)
                    equal += 1
                if equal == EQUAL:
                    break
    for plan in variants(best.draft.plan):
        if len(found) >= RIVALS:
            break
        changed = await with_conditions(work, replace(best.draft, plan=plan), work.answers, "")
        if changed is not None and changed.rank <= best.rank:
            found.append(changed.workflow)
    return found[:RIVALS]

"""Probes: generated inputs are executed where rivals disagree, and the workflow is derived again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.verification.inputs import inputs_like
from flowmind.build.verification.questions import unread_calls
from flowmind.build.verification.trials import Best, choose, keeps_up
from flowmind.build.verification.work import Work, bare
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow

TRIED = 150
"""Inputs that are looked at for a disagreement."""
RIVALS = 12
"""Workflows that are compared, the chosen one included."""
LOOKED_AT = 30
"""Rivals that are tried to find these."""
ENOUGH = 16
"""Traces from which a workflow is derived at most; more of them seldom show anything new."""
CALLS = 120
"""Calls in all these traces at most: the search takes longer with each."""
PATIENCE = 3
"""Derivations without a gain after which the workflow stays as it is."""


async def probe(work: Work, best: Best | None, most: int) -> Best | None:
    """Executes generated inputs, and derives the workflow again from those that it does not solve, one at a time.

    An agent executes only inputs on which rivals disagree, because its executions cost and may be wrong. Gold
    traces are right and cost nothing: inputs on which rivals disagree alternate with any inputs, because any input
    may take an arm that no example took.

    Args:
        work: The task and its traces.
        best: The workflow so far.
        most: Maximum number of executions.
    """
    cases = list(inputs_like(work.task, work.settings.seed))
    split = 0 if not work.trusted else len(cases) - min(TRIED, len(cases) // 2)
    dispute = _Dispute(work, cases[split : split + TRIED])
    remaining = chain(cases[:split], dispute.rest() if work.trusted else ())
    done = 0
    while done < most:
        begun = done
        batch = list(islice(remaining, (most - done + 1) // 2))
        for inputs in batch:
            done += await _executed(work, inputs)
        if work.trusted:
            best = await _derived_again(work, best)
        while (
            best is not None and done < most and work.may_execute and (inputs := await dispute.next(best)) is not None
        ):
            if await _executed(work, inputs):
                done += 1
                best = await _derived_again(work, best)
        if not work.trusted or best is None or (done == begun and not batch):
            break
    return best


async def _executed(work: Work, inputs: dict[str, Any]) -> bool:
    """Executes an input; False if it has no answer."""
    if not await work.probe(inputs):
        return False
    work.mends.append("probe")
    return True


async def _derived_again(work: Work, best: Best | None) -> Best | None:
    """The workflow, derived again from one more probe that it does not solve, as long as that solves more."""
    if best is not None:
        best.missed = await work.missed(best.workflow)
    vain = 0
    while vain < (PATIENCE if best is not None else PATIENCE + 1) and (best is None or best.missed):
        unsolved = work.spare.intersection(best.missed) if best is not None else work.spare
        if not unsolved or work.built_from >= ENOUGH or sum(len(run.calls) for run in work.runs()) > CALLS:
            break
        # the shortest trace shows what is missing most clearly; without a gain, longer ones are added
        ordered = sorted(unsolved, key=lambda place: (len(work.traces[place].calls), place))
        work.spare.difference_update(ordered[: vain + 1])
        candidate = await choose(work)
        vain += 1
        if candidate is not None and (best is None or candidate.rank < best.rank):
            candidate.first = best.first if best is not None else 0
            best = candidate
            vain = 0
    return best


class _Dispute:
    """The answers of rivals on generated inputs; each is run once on each input."""

    def __init__(self, work: Work, cases: Sequence[dict[str, Any]]) -> None:
        self._work, self._cases = work, list(cases)
        self._answers: dict[str, list[str]] = {}
        self._used: set[int] = set()
        self._seen: set[str] = set()

    async def next(self, best: Best) -> dict[str, Any] | None:
        """The first input on which the rivals give several answers, or with a new value; None if there is none.

        Each input is returned once.
        """
        rows = [await self._on_all(rival) for rival in await _rivals(self._work, best)]
        for place, (values, *answers) in enumerate(zip(await self._new(best), *rows, strict=True)):
            if place not in self._used and (values or len({*answers}) > 1):
                self._used.add(place)
                self._seen |= values
                return self._cases[place]
        return None

    def rest(self) -> Iterator[dict[str, Any]]:
        """The inputs that were not returned yet."""
        for place, case in enumerate(self._cases):
            if place not in self._used:
                self._used.add(place)
                yield case

    async def _new(self, best: Best) -> list[set[str]]:
        """For each input the new values of results that nothing in the workflow reads.

        A value is new if no trace has it on the same path. A call whose result is not read most likely serves a
        condition that the traces do not show yet.
        """
        names = {node.id: node.output for node in unread_calls(best.workflow)}
        if not names:
            return [set() for _ in self._cases]
        runs = await self._work.run_on(best.workflow, [trace.inputs for trace in self._work.traces])
        known = {value for run in runs for value in _values(run, names)} | self._seen
        return [
            {*_values(run, names)} - known if run.error is None else set()
            for run in await self._work.run_on(best.workflow, self._cases)
        ]

    async def _on_all(self, workflow: Workflow) -> list[str]:
        key = bare(workflow).document
        if key not in self._answers:
            runs = await self._work.ran(workflow, self._cases)
            self._answers[key] = [dump_json(run.answer) if run.error is None else "error" for run in runs]
        return self._answers[key]


def _values(run: Trace, names: Mapping[str, str]) -> Iterator[str]:
    """The results of calls of some nodes, with the path that the run took."""
    way = " ".join(dict.fromkeys(step.node or "" for step in run.calls))
    for step in run.calls:
        if (name := names.get(step.node or "")) is not None:
            yield f"{name}: {dump_json(step.observation.value)} on {way}"


async def _rivals(work: Work, best: Best) -> list[Workflow]:
    """The workflow, and its likeliest rivals that solve as many examples and probes."""
    found = [best.workflow]
    if best.induction is None:
        return found
    others = [other for place in best.induction.places for other in place.alternatives[1:]]
    for other in sorted(others, key=lambda one: one.bits)[:LOOKED_AT]:
        if len(found) >= RIVALS:
            break
        if await keeps_up(work, other.workflow, best):
            found.append(other.workflow)
    return found

"""Two sandboxes side by side: every call is made in both, and what differs is written down.

Two interpreters that were written apart seldom share a fault. The answers are the first sandbox's: a run that is
cross-checked leaves the same records as one that is not.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal, Protocol

from flowmind.workflow.program import Outcome, Program, Run, load, run_brief, run_case
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.sandbox.monty import MontySandbox, bound
from tools_registry.specs.spec import Observation, Record, ToolCall
from tools_registry.specs.values import CaseError, copy_json

PER_TOOL = 5
"""Differences of a tool that are kept, the shortest ones; all are counted."""
WORKFLOW = "(workflow)"
"""Stands for the tool where a case was ended as a whole; its inputs are the arguments then."""

Verdict = Literal["agree", "value differs", "one failed", "both failed", "not runnable"]


class Trier(Environment, Protocol):
    """A sandbox that tries calls in bulk."""

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """(value, None) or (None, (type, message)) for each."""
        ...


_NOT_COMPARED = {"local": {"refused_by"}, "monty": {"refused_by"}}


class Difference(Record):
    """A call that went one way here and another way there."""

    tool: str
    args: dict[str, Any]
    kind: Verdict
    local: Observation
    monty: Observation

    @property
    def line(self) -> str:
        """The difference as a line of JSON."""
        return json.dumps(self.model_dump(mode="json", exclude=_NOT_COMPARED), ensure_ascii=False, sort_keys=True)


def verdict(local: Observation, monty: Observation) -> Verdict:
    """What two answers to one call say about each other.

    Values agree if their JSON texts do, the order of an object's keys apart: 1 and 1.0 differ. Which error it was
    does not count.
    """
    if monty.error is not None and monty.error.type == "refused":
        return "not runnable"
    if local.ok and monty.ok:
        same = json.dumps(local.value, sort_keys=True) == json.dumps(monty.value, sort_keys=True)
        return "agree" if same else "value differs"
    return "one failed" if local.ok or monty.ok else "both failed"


class CrossCheck:
    """What was compared, and what was found. Any number of sandboxes, in any thread, may report to it."""

    def __init__(self) -> None:
        self.counts: Counter[Verdict] = Counter()
        self.lacking: dict[str, str] = {}
        """Why monty cannot run a tool, by the tool's name."""
        self._kept: dict[str, dict[str, Difference]] = {}
        self._lock = threading.Lock()

    def compare(self, tool: str, args: dict[str, Any], local: Observation, monty: Observation) -> None:
        """Counts a call that was made in both sandboxes."""
        kind = verdict(local, monty)
        with self._lock:
            self.counts[kind] += 1
            if kind == "not runnable" and monty.error is not None:
                self.lacking.setdefault(tool, monty.error.message)
            if kind in ("value differs", "one failed"):
                self.keep(Difference(tool=tool, args=args, kind=kind, local=local, monty=monty))

    def keep(self, found: Difference) -> None:
        """Keeps a difference if it is among the shortest of its tool, so that no order of the calls matters."""
        kept = self._kept.setdefault(found.tool, {})
        kept[found.line] = found
        if len(kept) > PER_TOOL:
            del kept[max(kept, key=lambda line: (len(line), line))]

    @property
    def differences(self) -> list[Difference]:
        """The kept differences, by tool, the shortest first."""
        return [
            self._kept[tool][line]
            for tool in sorted(self._kept)
            for line in sorted(self._kept[tool], key=lambda line: (len(line), line))
        ]

    def summary(self) -> str:
        """One line."""
        counts = self.counts
        compared = counts.total() - counts["not runnable"]
        told = (
            f"{compared} calls compared: {counts['agree']} agree, {counts['value differs']} with another value, "
            f"{counts['one failed']} failed on one side, {counts['both failed']} on both"
        )
        if counts["not runnable"]:
            told += f"; {counts['not runnable']} of {len(self.lacking)} tools not runnable on monty"
        return told


class CrossCheckSandbox:
    """Runs everything in a local sandbox and then in monty; what it answers is the local sandbox's.

    Args:
        local, monty: Sandboxes with the same tools. Whoever made them closes them.
        found: Where differences are reported.
    """

    awaited: Collection[str] = ()

    def __init__(self, local: Trier, monty: MontySandbox, found: CrossCheck | None = None) -> None:
        self.specs = local.specs
        self.found = found or CrossCheck()
        self._local = local
        self._monty = monty

    async def call(self, call: ToolCall) -> Observation:
        """Calls a tool in both."""
        local, monty = await asyncio.gather(self._local.call(call), self._monty.call(call))
        self.found.compare(call.tool, call.args, local, monty)
        return local

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Independent calls in both."""
        ours, theirs = self._local.values(calls), self._monty.values(calls)
        for (name, args), mine, other in zip(calls, ours, theirs, strict=True):
            self.found.compare(name, args, _observation(*mine), _observation(*other))
        return ours

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a workflow locally, then makes the calls of each case once more in monty, as one case there.

        A case that was ended from outside, by a limit, has told nothing of its calls: it is run as a whole.
        """
        outcomes = self._local.run(program, cases, budget)
        run = load(program.source, program.constants)
        for inputs, outcome in zip(cases, outcomes, strict=True):
            if outcome.error is not None and outcome.at < 0:
                (other,) = self._monty.run(program, [inputs], budget)
                self.found.compare(WORKFLOW, inputs, _observation(*outcome[:2]), _observation(*other[:2]))
            else:
                self._again(calls_of(run, program, inputs, outcome, budget))
        return outcomes

    def _again(self, calls: Sequence[tuple[str, dict[str, Any], Observation]]) -> None:
        """The calls of one case; where one ends the session, nothing can be said of those behind it."""
        with self._monty.case() as case:
            for name, args, local in calls:
                try:
                    monty = Observation(value=case.call(name, args))
                except CaseError as error:
                    monty = Observation.failed(error.type, error.message)
                self.found.compare(name, args, local, monty)
                if case.ended:
                    return


def calls_of(
    run: Run, program: Program, inputs: dict[str, Any], outcome: Outcome, budget: int
) -> list[tuple[str, dict[str, Any], Observation]]:
    """The calls of a case that was run: names, arguments and answers, in their order.

    Args:
        run: The loaded program.
        program: The program, brief or full.
        inputs, outcome, budget: Of the case.
    """
    steps = outcome.steps if program.signatures else [step[2] for step in outcome.steps if step[1] is not None]
    failing = outcome.error is not None and not program.signatures and outcome.steps[-1][1] is not None
    given = iter(steps[:-1] if failing else steps)
    calls: list[tuple[str, dict[str, Any], Observation]] = []

    def answer(name: str, args: dict[str, Any]) -> Any:
        held = copy_json(args)
        for value in given:
            calls.append((name, held, Observation(value=value)))
            return copy_json(value)
        error = outcome.error or ("crash", "the run has no such call")
        calls.append((name, held, Observation.failed(*error)))
        raise CaseError(*error)

    go = run_brief if program.signatures else run_case
    go(run, inputs, bound(answer, program), budget)
    return calls


def _observation(value: Any, error: Any) -> Observation:
    return Observation(value=value) if error is None else Observation.failed(*error)

"""The tokens that building workflows cost, and those that running the agent instead would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.loading import Loaded
from experiments.record import CaseRecord, StageUsage
from flowmind.build.settings import SINGLE


@dataclass(frozen=True)
class Cost:
    """The tokens of a run; each pair is input and output tokens."""

    cases: int
    passed: int
    """The number of workflows that passed all held-out tests."""
    build: tuple[int, int] | None = None
    """Of all cases, successful or not; None if they were not recorded."""
    call: tuple[float, float] | None = None
    """Of one execution by the agent, on average; None if they are not known."""
    note: str = ""
    """Why tokens are missing."""


def cost(run: Loaded) -> Cost:
    """The cost of a run. Cases that ended with an error of the endpoint are left out."""
    cases, passed = len(run.records), sum(record.passed for record in run.records)
    execute, summarize = _tokens(run.records, "execute"), _tokens(run.records, "summarize")
    if execute is None or summarize is None:
        return Cost(cases, passed, note="tokens not recorded")
    build = (execute[0] + summarize[0], execute[1] + summarize[1])
    if run.model == "search":
        return Cost(cases, passed, build, note="search is not a language model: it uses no tokens")
    if run.gold:
        return Cost(cases, passed, build, note="gold traces: no agent was run")
    if not run.builds:
        return Cost(cases, passed, build, note="executes only: no workflow is built")
    if run.mode in SINGLE:
        return Cost(cases, passed, build, note="single stage: its tokens are not separated into solving and building")
    executions = sum(len(record.execute.stop) for record in run.records)
    call = (execute[0] / executions, execute[1] / executions) if executions else None
    return Cost(cases, passed, build, call)


def _tokens(records: Sequence[CaseRecord], stage: str) -> tuple[int, int] | None:
    """The input and output tokens of a stage in all cases; None if some are not known."""
    usages: list[StageUsage] = [getattr(record, stage) for record in records]
    sums = [0, 0]
    for usage in usages:
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        sums[0] += usage.input_tokens
        sums[1] += usage.output_tokens
    return sums[0], sums[1]

"""The metrics over many cases: rates in percent with their counts and 95 % Wilson intervals, means with 95 % intervals.

Sources: CRate, TRate, exec_complete, graph_valid: FlowMind, section 4.1; failure modes: appendix E.5, table 11.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pydantic import Field

from experiments.record import CaseRecord, FailureMode, ParseCounts, StageUsage
from flowmind.evaluation.coverage import outcomes
from flowmind.evaluation.statistics import Mean, Rate, mean_of, percent, rate
from flowmind.llm.models import Price
from tools_registry.specs.spec import Record

_OWN = ("exec_complete", "exec_correct", "graph_valid", "solved", "passed", "mti")
"""The scores that `Summary` has fields for."""


class Group(Record):
    """The rates of a group of cases."""

    cases: int
    case_pass_rate: float
    tests: int
    test_pass_rate: float
    exec_complete: float
    exec_correct: float
    graph_valid: float
    both: float
    mti_rate: float


class StageTokens(Record):
    """Mean tokens a case; None where the server did not report them."""

    execute: float | None
    summarize: float | None
    total: float | None


class Summary(Record):
    """The metrics of a run."""

    model: str
    mode: str
    variant: str = ""
    """The settings that differ from those of the mode, in words."""
    benchmark: str
    cases: int
    case_pass_rate: float
    tests: int
    test_pass_rate: float
    exec_complete: float
    exec_correct: float
    graph_valid: float
    both: float
    solved: float | None = None
    """The share of cases whose workflow is right on every example; None if a workflow was not run on the examples."""
    outcomes: dict[str, int] = Field(default_factory=dict[str, int])
    """The held-out tests that are right, in doubt, failed, and wrong without doubt."""
    wrong_writes: int = 0
    """The held-out tests with a call that changes something and that the gold does not make."""
    mti_rate: float
    mti_kinds: dict[str, int]
    failure_modes: dict[str, int]
    errors: int
    """Cases that ended with an infrastructure error: they are in no rate, and not among `cases`."""
    tokens: StageTokens
    """Output tokens."""
    input_tokens: StageTokens
    cost: float | None = None
    """The price of the tokens of all cases in US dollars, without discounts; None if price or tokens are not known."""
    by_category: dict[str, Group]
    by_difficulty: dict[str, Group]
    intervals: dict[str, Rate]
    """The rates again, with count and interval."""
    scores: dict[str, Mean] = Field(default_factory=dict[str, Mean])
    """The means of the scores without a separate field: those of evaluators that were added."""
    coerced: int
    parse: ParseCounts
    wall_s: float


def failure_mode(exec_complete: bool, graph_valid: bool, passed: bool, anything: bool, error: bool) -> FailureMode:
    """The failure mode of a case. `anything`: whether a business or graph call succeeded."""
    if passed:
        return "none"
    if error or not anything:
        return "empty"
    if exec_complete and not graph_valid:
        return "exec_only"
    if graph_valid and not exec_complete:
        return "graph_only"
    return "both_partial"


def group(records: Sequence[CaseRecord]) -> Group:
    """The rates of some cases."""
    total = len(records)
    tests = [test for record in records for test in record.tests]
    return Group(
        cases=total,
        case_pass_rate=percent(_count(records, lambda record: record.passed), total),
        tests=len(tests),
        test_pass_rate=percent(sum(test.passed for test in tests), len(tests)),
        exec_complete=percent(_count(records, lambda record: record.exec_complete), total),
        exec_correct=percent(_count(records, lambda record: record.exec_correct), total),
        graph_valid=percent(_count(records, lambda record: record.graph_valid), total),
        both=percent(_count(records, lambda record: record.exec_complete and record.graph_valid), total),
        mti_rate=percent(_count(records, lambda record: record.mti is not None), total),
    )


def summarize_records(
    records: Sequence[CaseRecord],
    model: str,
    mode: str,
    benchmark: str,
    variant: str = "",
    price: Price | None = None,
) -> Summary:
    """The metrics of a run; the order of the records does not change them.

    A case that ended with an infrastructure error is not a wrong answer: it is counted separately, and in no rate.
    """
    everything = records
    records = [record for record in everything if record.error is None]
    whole = group(records)
    counted: dict[str, Callable[[CaseRecord], bool]] = {
        "case_pass_rate": lambda record: record.passed,
        "exec_complete": lambda record: record.exec_complete,
        "exec_correct": lambda record: record.exec_correct,
        "graph_valid": lambda record: record.graph_valid,
        "both": lambda record: record.exec_complete and record.graph_valid,
        "mti_rate": lambda record: record.mti is not None,
    }
    intervals = {name: rate(_count(records, test), _judged(records, name)) for name, test in counted.items()}
    passed = sum(test.passed for record in records for test in record.tests)
    intervals["test_pass_rate"] = rate(passed, whole.tests)
    unseen = [test.unseen for record in records for test in record.tests]
    told = outcomes(unseen)
    intervals["doubt"], intervals["silently_wrong"] = (rate(told[name], len(unseen)) for name in ("doubt", "wrong"))
    if records and all("solved" in record.scores for record in records):
        intervals["solved"] = rate(_count(records, lambda record: record.holds("solved")), len(records))
    return Summary(
        **whole.model_dump(),
        solved=intervals["solved"].percent if "solved" in intervals else None,
        model=model,
        mode=mode,
        variant=variant,
        benchmark=benchmark,
        outcomes={**told},
        wrong_writes=sum(one.wrong_write for one in unseen),
        mti_kinds=_tally(record.mti for record in records if record.mti),
        failure_modes=_tally(record.failure_mode for record in records),
        errors=len(everything) - len(records),
        tokens=_tokens(records, lambda stage: stage.output_tokens),
        input_tokens=_tokens(records, lambda stage: stage.input_tokens),
        cost=_cost(records, price),
        by_category=_by(records, lambda record: record.category),
        by_difficulty=_by(records, lambda record: record.difficulty),
        intervals=intervals,
        scores=_means(records),
        coerced=sum(record.coerced for record in records),
        parse=sum((record.parse for record in records), ParseCounts()),
        wall_s=round(_covered(everything), 1),
    )


_BUILT = ("case_pass_rate", "graph_valid", "both")
"""The rates that count only cases whose mode builds a workflow."""


def _judged(records: Sequence[CaseRecord], name: str) -> int:
    """The number of cases that a rate counts."""
    return sum(not record.guided for record in records) if name in _BUILT else len(records)


def _means(records: Sequence[CaseRecord]) -> dict[str, Mean]:
    """The means of all scores but those that have rates."""
    values: dict[str, list[float]] = {}
    for record in records:
        for name, score in record.scores.items():
            values.setdefault(name, []).append(score.value)
    return {name: mean_of(values[name]) for name in sorted(values.keys() - {*_OWN})}


def _count(records: Sequence[CaseRecord], test: Callable[[CaseRecord], bool]) -> int:
    return sum(map(test, records))


def _tally(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _by(records: Sequence[CaseRecord], key: Callable[[CaseRecord], str]) -> dict[str, Group]:
    names = sorted({key(record) for record in records} - {""}, key=_rank)
    return {name: group([record for record in records if key(record) == name]) for name in names}


def _rank(name: str) -> tuple[int, str]:
    levels = ("easy", "medium", "hard")
    return (levels.index(name) if name in levels else 0, name)


def _tokens(records: Sequence[CaseRecord], count: Callable[[StageUsage], int | None]) -> StageTokens:
    execute = _mean([count(record.execute) for record in records])
    summarize = _mean([count(record.summarize) for record in records])
    total = None if execute is None or summarize is None else round(execute + summarize, 1)
    return StageTokens(execute=execute, summarize=summarize, total=total)


def _mean(counts: Sequence[int | None]) -> float | None:
    total = _sum(counts)
    return None if total is None or not counts else round(total / len(counts), 1)


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _cost(records: Sequence[CaseRecord], price: Price | None) -> float | None:
    stages = [stage for record in records for stage in (record.execute, record.summarize)]
    read, written = (_sum([stage.input_tokens for stage in stages]), _sum([stage.output_tokens for stage in stages]))
    if price is None or read is None or written is None or not records:
        return None
    return round(price.of(read, written), 6)


def _covered(records: Sequence[CaseRecord]) -> float:
    """Seconds in which at least one case was being worked on."""
    spans = sorted((record.started_at, record.started_at + record.seconds) for record in records)
    total, until = 0.0, -math.inf
    for begin, end in spans:
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total

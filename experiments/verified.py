"""Tables about the derivation and verification of workflows: gains, costs and losses, computed from records.

All runs have rows. A value that only a derivation records is a dash in the row of another run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from experiments import paper
from experiments.loading import PASSED, Cases, Loaded, grouped
from experiments.record import CaseRecord, StageUsage
from experiments.tables import PAPER, Analysis, Column, Table, Value, size, table
from flowmind.build.derivation import Derivation
from flowmind.build.settings import SINGLE
from flowmind.evaluation.statistics import correlation, rate

Measure = Callable[[StageUsage], float | None]


def solved_at_first(derivation: Derivation) -> bool:
    """Whether the first draft solved every example, unchanged."""
    return derivation.draft_right == derivation.examples


def guessed(derivation: Derivation) -> bool:
    """Whether a condition is a guess: several candidates agree with the traces, or none does."""
    return derivation.guesses > 0


def _derived(records: Sequence[CaseRecord]) -> list[tuple[CaseRecord, Derivation]]:
    return [(record, record.derivation) for record in records if record.derivation is not None]


# Execution against workflow

_PAIRS = ((True, True), (True, False), (False, True), (False, False))


def quadrants(runs: Sequence[Loaded]) -> Table | None:
    """Right and wrong executions against right and wrong workflows, before and after verification."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        if derived := _derived(cell.records):
            first = [(record.exec_correct, solved_at_first(derivation)) for record, derivation in derived]
            last = [(record.exec_correct, derivation.whole) for record, derivation in derived]
            rows.append((cell.label, "examples, first draft", *_quadrants(first)))
            rows.append((cell.label, "examples, in the end", *_quadrants(last)))
        tested = [(record.exec_correct, record.passed) for record in cell.records]
        rows.append((cell.label, "held-out tests", *_quadrants(tested)))
    theirs = {(row["execution"], row["graph"]): int(row["cases"]) for row in paper.rows("table8_quadrants_es_react")}
    both, right = theirs[True, True], theirs[True, True] + theirs[True, False]
    share = f"{100 * both / right:.1f} ({both}/{right})"
    rows.append((f"{PAPER}qwen3-8b es-react", "its graph", *(theirs[pair] for pair in _PAIRS), share))
    says = (
        "The execution is right if one of the case's executions gave the answer of its example. The last column is the "
        "share of right executions whose workflow is right, with its Wilson interval: the success rate of the "
        "summarizer. `held-out tests` is the final judgement; the other two show how it came about."
    )
    notes = (
        "`first draft` judges the most likely sound draft of the first derivation, before verification: it is right if "
        "it solves all examples. `in the end` judges the workflow after all repairs (another condition, execution, "
        "question, probe or edit). Both are measured on the examples that the workflow was derived from or repaired "
        "with, and say nothing about new inputs.",
        "The paper's row is from its table 8, which defines right executions and graphs in another way.",
    )
    split = ("both right", "only execution", "only workflow", "neither")
    head = ("run", "workflow judged by", *split, "workflows of right executions")
    return table("quadrants", "Right executions and right workflows", head, rows, says, notes)


def _quadrants(pairs: Sequence[tuple[bool, bool]]) -> tuple[Value, ...]:
    counts = Counter(pairs)
    return *(counts[pair] for pair in _PAIRS), rate(counts[True, True], counts[True, True] + counts[True, False])


# Losses

EXECUTED_WRONG = "executed wrong"
NO_DRAFT = "executed right, no sound draft"
NOT_MENDED = "draft wrong on the examples, not mended"
GUESS_WRONG = "right on all examples, tests fail: a condition was a guess"
TESTS_FAIL = "right on all examples, tests fail: no condition was open"
UNTRIED = "sound, tests fail: never run on the examples"
FAILED = "not tried to its end (infrastructure)"
_LOSSES = (EXECUTED_WRONG, NO_DRAFT, NOT_MENDED, GUESS_WRONG, TESTS_FAIL, UNTRIED)


def loss_of(record: CaseRecord) -> str | None:
    """The first stage at which a completed case went wrong; None if it passed."""
    if record.passed:
        return None
    if not record.exec_correct:
        return EXECUTED_WRONG
    if not record.graph_valid:
        return NO_DRAFT
    if record.derivation is None:
        return UNTRIED
    if not record.derivation.whole:
        return NOT_MENDED
    return GUESS_WRONG if guessed(record.derivation) else TESTS_FAIL


def losses(runs: Sequence[Loaded]) -> Table | None:
    """The stages in which cases were lost, with the ids of the cases."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        for loss in _LOSSES:
            if lost := [record.id for record in cell.records if loss_of(record) == loss]:
                rows.append((cell.label, loss, len(lost), rate(len(lost), len(cell.records)), _ids(lost)))
        if failed := [record.id for record in cell.everything if record.error is not None]:
            rows.append((cell.label, FAILED, len(failed), None, _ids(failed)))
    says = (
        "Each case that did not pass, under the first stage that failed. Shares are of all completed cases. Where a "
        "workflow solves every example and fails a test, the examples did not distinguish it from the right one. A "
        "condition is a guess if several candidates agree with the traces, or none does."
    )
    head = ("run", "lost where", "cases", "share", "which")
    return table("losses", "Where cases were lost", head, rows, says)


def _ids(ids: Sequence[str]) -> str:
    """Ids, once each; with a count where several seeds lost the same case."""
    return ", ".join(id if count == 1 else f"{id} (×{count})" for id, count in Counter(ids).items())


# Costs


def _output(stage: StageUsage) -> float | None:
    return stage.output_tokens


def _input(stage: StageUsage) -> float | None:
    return stage.input_tokens


def _tokens(stage: StageUsage) -> float | None:
    known = stage.input_tokens, stage.output_tokens
    return None if None in known else sum(count or 0 for count in known)


def _waited(stage: StageUsage) -> float | None:
    return stage.seconds


def _both(record: CaseRecord, measure: Measure) -> float | None:
    """The cost of both stages; None if one of them is not known."""
    execute, summarize = measure(record.execute), measure(record.summarize)
    return None if execute is None or summarize is None else execute + summarize


def _total(records: Sequence[CaseRecord], measure: Measure) -> float | None:
    values = [_both(record, measure) for record in records]
    return None if None in values else sum(value or 0.0 for value in values)


def _per(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count


def _each(measure: Measure) -> Callable[[Cases], float | None]:
    return lambda cases: _per(_total(cases.records, measure), len(cases.records))


def _each_right(measure: Measure) -> Callable[[Cases], float | None]:
    return lambda cases: _per(_total(cases.records, measure), cases.count(PASSED))


def _seconds(cases: Cases) -> float:
    return sum(record.seconds for record in cases.records)


def _executions(cases: Cases) -> float | None:
    return _per(sum(len(record.execute.stop) for record in cases.records), len(cases.records))


def _asked(cases: Cases) -> int | None:
    derivations = [record.derivation for record in cases.records if record.derivation is not None]
    return sum(derivation.asked for derivation in derivations) if derivations else None


COSTS = Analysis(
    "costs", "What a right workflow costs",
    (
        size(),
        Column("right workflows", lambda cases: cases.count(PASSED)),
        Column("output tokens a case", _each(_output), digits=0),
        Column("input tokens a case", _each(_input), digits=0),
        Column("seconds waited a case", _each(_waited)),
        Column("seconds in all a case", lambda cases: _per(_seconds(cases), len(cases.records))),
        Column("output tokens, each right", _each_right(_output), digits=0),
        Column("input tokens, each right", _each_right(_input), digits=0),
        Column("seconds in all, each right", lambda cases: _per(_seconds(cases), cases.count(PASSED))),
        Column("executions a case", _executions, digits=2),
        Column("questions asked", _asked),
    ),
    "Means over the completed cases. `Each right` divides the sum over all cases, failed ones included, by the number "
    "of right workflows. Tokens are as the server reports them. Seconds waited are the time until the model's "
    "replies; seconds in all are the time from the start of a case to its last test, which includes the time of "
    "other cases that run at once.",
)  # fmt: skip


def breakeven(runs: Sequence[Loaded]) -> Table | None:
    """After how many runs a workflow is cheaper than the agent that made it."""
    measures = {"output tokens": _output, "all tokens": _tokens, "seconds": _waited}
    rows: list[tuple[Value, ...]] = []
    for cell in grouped([run for run in runs if not run.gold and run.mode not in SINGLE]):
        right = cell.where(PASSED).records
        alone = [_alone(right, measure) for measure in measures.values()]
        charged = [_charged(cell.records, right, measure) for measure in measures.values()]
        if any(value is not None for value in alone):
            rows.append((cell.label, len(right), *alone, *charged))
    says = (
        "After how many runs a workflow is cheaper than its agent: the cost of its case (both stages, all executions) "
        "divided by the cost of one execution by the agent in that case. Means over right workflows. The last three "
        "columns add the cost of the cases without a right workflow."
    )
    notes = (
        "Assumptions: a run of the workflow costs nothing (it asks no model), the agent spends on a new input what it "
        "spent on the examples, and both are equally often right. Seconds are those waited for the model; the time of "
        "induction, of the tools and of a human review is not counted. Single-stage modes and gold traces are left "
        "out: they have no separate execution to compare with.",
    )
    head = (
        "run", "right workflows", *(f"runs, {name}" for name in measures),
        *(f"with losses, {name}" for name in measures),
    )  # fmt: skip
    return table("breakeven", "Runs until a workflow pays", head, rows, says, notes)


def _once(record: CaseRecord, measure: Measure) -> float | None:
    """The mean cost of one execution by the agent; None if it is not known."""
    return _per(measure(record.execute), len(record.execute.stop)) or None


def _alone(right: Sequence[CaseRecord], measure: Measure) -> float | None:
    """The mean cost of the cases with a right workflow, each in executions of that case."""
    pairs = [(_both(record, measure), _once(record, measure)) for record in right]
    ratios = [total / once for total, once in pairs if total is not None and once is not None]
    return fmean(ratios) if ratios else None


def _charged(records: Sequence[CaseRecord], right: Sequence[CaseRecord], measure: Measure) -> float | None:
    """The cost of all cases divided by the number of right workflows, in executions of the cases of these."""
    each, known = _per(_total(records, measure), len(right)), [_once(record, measure) for record in right]
    costs = [once for once in known if once is not None]
    return None if each is None or not costs else each / fmean(costs)


# Checks that need no answer

CHECKS: dict[str, Callable[[Derivation], bool]] = {
    "a constant leaked from an example": lambda derivation: bool(derivation.leaked),
    "an input never changes the output": lambda derivation: bool(derivation.idle),
    "such an input, though the workflow reads it": lambda derivation: bool(derivation.unsettled),
    "a value was worked out without a tool": lambda derivation: derivation.unexplained > 0,
    "a condition is a guess": guessed,
    "an example is not solved": lambda derivation: not derivation.whole,
}
"""Warnings about a derivation that need no held-out test."""


def checks(runs: Sequence[Loaded]) -> Table | None:
    """How warnings about a derivation go together with wrong workflows."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        derived = [(record, derivation) for record, derivation in _derived(cell.records) if record.graph_valid]
        for name, check in CHECKS.items() if derived else ():
            pairs = [(check(derivation), not record.passed) for record, derivation in derived]
            wrong = {side: [failed for warned, failed in pairs if warned == side] for side in (True, False)}
            rates = [rate(sum(failed), len(failed)) for failed in wrong.values()]
            goes = correlation([(float(warned), float(failed)) for warned, failed in pairs])
            rows.append((cell.label, name, len(pairs), len(wrong[True]), *rates, goes))
    says = (
        "The sound derived workflows: how many have a warning, and the shares with and without the warning that fail a "
        "held-out test. A warning is informative where the two shares differ. The correlation of warning and failure "
        "is phi, with Fisher's interval; it is undefined where a value does not vary."
    )
    head = ("run", "check", "workflows", "warned", "wrong, warned", "wrong, not warned", "correlation")
    return table("checks", "Warnings and wrong workflows", head, rows, says)


ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "quadrants": quadrants, "losses": losses, "costs": COSTS, "breakeven": breakeven, "checks": checks,
}  # fmt: skip

"""What deriving and verifying workflows gains, costs, and still loses: tables from records alone.

They take every run, so that agents stand beside derivations; what only a derivation records is a dash elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from experiments import paper
from experiments.loading import Loaded, cells, pooled
from experiments.record import CaseRecord, StageUsage
from experiments.tables import PAPER, Table, number, share, shown
from flowmind.build.derivation import Derivation
from flowmind.build.settings import SINGLE
from flowmind.evaluation.statistics import correlation, rate

Measure = Callable[[StageUsage], float | None]


def solved_at_first(found: Derivation) -> bool:
    """Whether the likeliest draft of the first derivation solved every example, as it was."""
    return found.draft_right == found.examples


def guessed(found: Derivation) -> bool:
    """Whether a condition is a guess: several agree with the traces, or none does."""
    return found.guesses > 0


def _derived(records: Sequence[CaseRecord]) -> list[tuple[CaseRecord, Derivation]]:
    return [(record, record.derivation) for record in records if record.derivation is not None]


# Execution against workflow


def quadrants(runs: Sequence[Loaded]) -> Table:
    """Right and wrong executions against right and wrong workflows, before and after verification."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        held = _derived(records)
        if held:
            first = [(record.exec_correct, solved_at_first(found)) for record, found in held]
            last = [(record.exec_correct, found.whole) for record, found in held]
            rows.append((label, "examples, first draft", *_quadrants(first)))
            rows.append((label, "examples, in the end", *_quadrants(last)))
        rows.append((label, "held-out tests", *_quadrants([(one.exec_correct, one.passed) for one in records])))
    theirs = {(row["execution"], row["graph"]): int(row["cases"]) for row in paper.rows("table8_quadrants_es_react")}
    both, lost = theirs[True, True], theirs[True, False]
    counts = (str(theirs[pair]) for pair in ((True, True), (True, False), (False, True), (False, False)))
    kept = f"{100 * both / (both + lost):.1f} ({both}/{both + lost})"
    rows.append((f"{PAPER}qwen3-8b es-react", "its graph", *counts, kept))
    said = (
        "An execution is right if one of the case's executions came to its example's answer. The last column is the "
        "share of right executions that became right workflows, with its Wilson interval: what the summarizer makes "
        "of what it is given. `held-out tests` is the measure; the other two say how it came about."
    )
    notes = (
        "`first draft` is what there would be without verification: all examples solved by the likeliest sound draft "
        "of the first derivation, before a condition is exchanged, another execution, a question, a "
        "probe or an edit. `in the end` is after these. Both are measured on the very examples that the workflow was "
        "derived from or mended on, so neither speaks of new inputs.",
        "The paper's row is its table 8, which judges execution and graph in its own way.",
    )
    split = ("both right", "only execution", "only workflow", "neither")
    head = ("run", "workflow judged by", *split, "workflows of right executions")
    return Table("quadrants", "Right executions and right workflows", head, tuple(rows), said, notes)


def _quadrants(pairs: Sequence[tuple[bool, bool]]) -> tuple[str, ...]:
    counted = Counter(pairs)
    order = ((True, True), (True, False), (False, True), (False, False))
    both, lost = counted[True, True], counted[True, False]
    return (*(str(counted[pair]) for pair in order), shown(rate(both, both + lost)))


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
    """Where a case that was tried to its end was lost: the first stage that failed; None if it passed."""
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
    """Where cases were lost, with their ids."""
    rows: list[tuple[str, ...]] = []
    for label, held in cells(runs).items():
        records = [record for run in held for record in run.records]
        for kind in _LOSSES:
            lost = [record.id for record in records if loss_of(record) == kind]
            if lost:
                rows.append((label, kind, str(len(lost)), shown(rate(len(lost), len(records))), _ids(lost)))
        failed = [record.id for run in held for record in run.everything if record.error is not None]
        if failed:
            rows.append((label, FAILED, str(len(failed)), "–", _ids(failed)))
    if not rows:
        return None
    said = (
        "Each case that did not pass, at the first place where it went wrong; shares are of all cases that were tried "
        "to their end. A workflow that solves every example and fails the tests was not told apart by the examples: "
        "where a condition was a guess, the traces agreed with several conditions or with none."
    )
    head = ("run", "lost where", "cases", "share", "which")
    return Table("losses", "Where cases were lost", head, tuple(rows), said)


def _ids(ids: Sequence[str]) -> str:
    """Ids, once each; with how often, where several seeds lost the same case."""
    counted = Counter(ids)
    return ", ".join(id if count == 1 else f"{id} (×{count})" for id, count in counted.items())


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
    """Of both stages; None if one is not known."""
    execute, summarize = measure(record.execute), measure(record.summarize)
    return None if execute is None or summarize is None else execute + summarize


def _total(records: Sequence[CaseRecord], measure: Measure) -> float | None:
    found = [_both(record, measure) for record in records]
    return None if None in found else sum(value or 0.0 for value in found)


def _per(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count


def costs(runs: Sequence[Loaded]) -> Table:
    """Tokens, seconds, executions and questions, a case and for each right workflow."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        right, count = sum(record.passed for record in records), len(records)
        said, read = _total(records, _output), _total(records, _input)
        waited, whole = _total(records, _waited), sum(record.seconds for record in records)
        held = _derived(records)
        asked = str(sum(found.asked for _, found in held)) if held else "–"
        executions = sum(len(record.execute.stop) for record in records)
        rows.append(
            (
                label, str(count), str(right), number(_per(said, count), 0), number(_per(read, count), 0),
                number(_per(waited, count)), number(_per(whole, count)), number(_per(said, right), 0),
                number(_per(read, right), 0), number(_per(whole, right)), number(_per(executions, count), 2), asked,
            )
        )  # fmt: skip
    says = (
        "Means over the cases that were tried to their end; for each right workflow the sum over all cases, lost ones "
        "too, is shared among those that passed. Tokens are as the server reports them. Seconds waited are those for "
        "the model's replies; seconds in all go from a case's start to its last test, other cases at the same time "
        "included."
    )
    head = (
        "run", "cases", "right workflows", "output tokens a case", "input tokens a case", "seconds waited a case",
        "seconds in all a case", "output tokens, each right", "input tokens, each right", "seconds in all, each right",
        "executions a case", "questions asked",
    )  # fmt: skip
    return Table("costs", "What a right workflow costs", head, tuple(rows), says)


def breakeven(runs: Sequence[Loaded]) -> Table | None:
    """After how many runs a workflow is cheaper than the agent that made it."""
    measures: tuple[Measure, ...] = (_output, _tokens, _waited)
    rows: list[tuple[str, ...]] = []
    for label, held in cells(runs).items():
        if held[0].gold or held[0].mode in SINGLE:
            continue
        records = [record for run in held for record in run.records]
        right = [record for record in records if record.passed]
        alone = [number(_mean(_ratios(right, measure))) for measure in measures]
        charged = [number(_charged(records, right, measure)) for measure in measures]
        if any(value != "–" for value in alone):
            rows.append((label, str(len(right)), *alone, *charged))
    if not rows:
        return None
    said = (
        "For each right workflow, what its case cost (both stages, all executions) over what one execution by the "
        "agent costs in that case: from so many runs on the workflow is cheaper. Means over right workflows. The last "
        "three columns also charge it with all cases that came to no right workflow."
    )
    notes = (
        "It assumes that a run of the workflow costs nothing (it asks no model), that the agent would spend on each "
        "new input what it spent on the examples, and that agent and workflow are equally right there. The time of "
        "induction and of the tools is left out of the seconds, which are those waited for the model, and nothing is "
        "charged for looking a workflow over. Single-stage modes and gold traces have no execution of their own to "
        "compare with.",
    )
    head = (
        "run", "right workflows", "runs, output tokens", "runs, all tokens", "runs, seconds",
        "with losses, output tokens", "with losses, all tokens", "with losses, seconds",
    )  # fmt: skip
    return Table("breakeven", "Runs until a workflow pays", head, tuple(rows), said, notes)


def _once(record: CaseRecord, measure: Measure) -> float | None:
    """What one execution by the agent cost, on average; None if that is not known."""
    total = measure(record.execute)
    return _per(total, len(record.execute.stop)) or None


def _ratios(records: Sequence[CaseRecord], measure: Measure) -> list[float]:
    pairs = [(_both(record, measure), _once(record, measure)) for record in records]
    return [total / once for total, once in pairs if total is not None and once is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _charged(records: Sequence[CaseRecord], right: Sequence[CaseRecord], measure: Measure) -> float | None:
    """All that a run cost, shared among its right workflows, in executions of those cases."""
    total, each = _total(records, measure), [once for record in right if (once := _once(record, measure)) is not None]
    return None if total is None or not each else total / len(right) / fmean(each)


# Checks that need no answer

CHECKS: dict[str, Callable[[Derivation], bool]] = {
    "a constant leaked from an example": lambda found: bool(found.leaked),
    "an input never changes the output": lambda found: bool(found.idle),
    "such an input, though the workflow reads it": lambda found: bool(found.unsettled),
    "a value was worked out without a tool": lambda found: found.unexplained > 0,
    "a condition is a guess": guessed,
    "an example is not solved": lambda found: not found.whole,
}
"""What can be said about a derivation without a held-out test."""


def checks(runs: Sequence[Loaded]) -> Table | None:
    """How warnings about a derivation go together with wrong workflows."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        held = [(record, found) for record, found in _derived(records) if record.graph_valid]
        for name, check in CHECKS.items():
            if not held:
                continue
            warned = [record for record, found in held if check(found)]
            clean = [record for record, found in held if not check(found)]
            goes = correlation([(float(check(found)), float(not record.passed)) for record, found in held])
            told = "–" if goes is None else f"{goes.r:.2f} [{goes.low:.2f}, {goes.high:.2f}]"
            wrong = (shown(share(warned, _wrong)), shown(share(clean, _wrong)))
            rows.append((label, name, str(len(held)), str(len(warned)), *wrong, told))
    if not rows:
        return None
    said = (
        "Over the sound workflows that were derived: how many a check warns of, and how many of those with and "
        "without the warning fail a held-out test. A check is worth reading where the two differ. The correlation of "
        "warning and failing is that of two yes-or-no values (phi), with Fisher's interval; there is none where "
        "nothing varies."
    )
    head = ("run", "check", "workflows", "warned", "wrong, warned", "wrong, not warned", "correlation")
    return Table("checks", "Warnings and wrong workflows", head, tuple(rows), said)


def _wrong(record: CaseRecord) -> bool:
    return not record.passed


ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "quadrants": quadrants, "losses": losses, "costs": costs, "breakeven": breakeven, "checks": checks,
}  # fmt: skip

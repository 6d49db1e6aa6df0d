"""The metrics of a run of dialogues: sums over sessions or turns. A metric without a denominator is None, never 0."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Field

from experiments.dialogue.recording import Held, SessionRecord, TurnRecord
from experiments.record import ParseCounts
from experiments.tables import markdown, shown
from flowmind.dialogue.licensing import Compliance
from flowmind.evaluation.dialogue import Counts, SessionScore, pass_hat
from flowmind.evaluation.failures import CLASSES
from flowmind.evaluation.statistics import Rate, Share, kappa, rate, ratio
from tools_registry.specs.spec import Record

DialogueRecord = SessionRecord | TurnRecord
Interval = Rate | Share


class Cell(Record):
    """The metrics of some sessions or turns. Rates and F1 scores are in percent."""

    sessions: int
    """Sessions, or turns at turn level. Those that the infrastructure ended are in none of the metrics."""
    lost: int = 0
    """Those that the infrastructure ended."""
    success_rate: float | None = None
    """Sessions: the end state is right and the facts were told. Turns: the pass rate."""
    task_progress: float | None = None
    """The mean over sessions of the checks that hold."""
    tool_precision: float | None = None
    tool_precision_proposed: float | None = None
    """The precision with refused calls and calls that reached no tool."""
    tool_recall: float | None = None
    tool_f1: float | None = None
    """By tool and arguments (FlowBench)."""
    tool_f1_names: float | None = None
    """By the sets of tools of a session (FlowAgent)."""
    parameter_f1: float | None = None
    """Of turns."""
    node_accuracy: float | None = None
    """Of turns, if nodes are asked for."""
    violations: int | None = None
    """Executed calls that are not licensed."""
    violations_a_session: float | None = None
    sessions_with_violation: int | None = None
    stopped_rate: float | None = None
    """Of the calls that are not licensed, the share that was refused."""
    wrongly_refused_rate: float | None = None
    """Of the licensed calls, the share that `dependencies` or `path` refused."""
    unconsented_writes: int | None = None
    """Executed writes that the user had not agreed to; None if the user's acts are not known."""
    invented_values: int | None = None
    """Codes that the agent told or wrote and nobody had given it."""
    recovery_rate: float | None = None
    """Of the interventions, the share after which the agent came back to the goal within two turns."""
    turns: float | None = None
    """The mean number of texts and executed calls of the agent."""
    replies: float | None = None
    """The mean number of the model's replies."""
    output_tokens: float | None = None
    """The mean; None if the server did not report them."""


class JudgedCell(Record):
    """What a judge says of the sessions or turns that it judged."""

    judge: str
    judged: int
    success_rate: float | None = None
    task_progress: float | None = None
    response_score: float | None = None
    """The mean, from 0 to 10."""
    kappa: float | None = None
    """Cohen's kappa with success by state and facts."""


class DialogueSummary(Cell):
    """The metrics of a run."""

    suite: Literal["dialogue"] = "dialogue"
    level: Literal["session", "turn"]
    model: str
    method: str
    format: str
    controllers: tuple[str, ...]
    stages: tuple[str, ...]
    user: str
    """The simulated user, with its model if it has one."""
    oow: bool
    scope: str | None
    data: str
    seed: int
    trials: int
    fail_tools: float
    procedures: str | None
    """The folder of other procedures than the authors', with a digest."""
    fired: Cell | None = None
    """The sessions in which an intervention was carried out, or the turns right after one."""
    judged: JudgedCell | None = None
    pass_k: dict[str, float] = Field(default_factory=dict)
    """pass^k, by k, if sessions were held several times."""
    failures: dict[str, int] = Field(default_factory=dict)
    """The failed sessions by class."""
    stops: dict[str, int] = Field(default_factory=dict)
    refusals: dict[str, int] = Field(default_factory=dict)
    """The refused calls and texts by controller."""
    parse: ParseCounts = Field(default_factory=ParseCounts)
    intervals: dict[str, Interval] = Field(default_factory=dict[str, Interval])
    """95 % intervals: Wilson for shares of sessions, turns and calls; bootstrap over scenarios for F1 and progress."""
    by_domain: dict[str, Cell] = Field(default_factory=dict)
    by_scope: dict[str, Cell] = Field(default_factory=dict)


def summarize(records: Sequence[DialogueRecord], settings: Mapping[str, Any], data: str) -> DialogueSummary:
    """The metrics of a run; the order of the records does not change them.

    Args:
        records: The records of sessions, or of turns.
        settings: The settings of the run's manifest.
        data: The name of the data.
    """
    known = {name: settings[name] for name in ("level", "model", "method", "format", "oow", "scope", "seed", "trials")}
    records = sorted(records, key=lambda record: record.id)
    whole = [record for record in records if record.error is None]
    user = f"{settings['user']} ({settings['user_model']})" if settings.get("user_model") else settings["user"]
    return DialogueSummary(
        **cell(records).model_dump(),
        **known,
        controllers=tuple(settings["controllers"]),
        stages=tuple(settings["stages"]),
        user="recorded" if settings["level"] == "turn" else user,
        data=data,
        fail_tools=settings.get("fail_tools", 0.0),
        procedures=settings.get("procedures"),
        fired=_fired(records),
        judged=_judged(whole, settings.get("judge")),
        pass_k=_pass_k(whole, settings["trials"]),
        failures=_failures(whole),
        stops=_tally(record.stop for record in whole),
        refusals=_refusals(whole),
        parse=sum((record.cost.parse for record in whole), ParseCounts()),
        intervals=intervals(whole),
        by_domain=_by(records, lambda record: record.domain),
        by_scope=_by(records, lambda record: record.scope),
    )


def cell(records: Sequence[DialogueRecord]) -> Cell:
    """The metrics of some sessions, or of some turns."""
    whole = [record for record in records if record.error is None]
    sessions = [record for record in whole if isinstance(record, SessionRecord)]
    turns = [record for record in whole if isinstance(record, TurnRecord)]
    shared = {
        "sessions": len(whole),
        "lost": len(records) - len(whole),
        "replies": _mean([record.cost.replies for record in whole]),
        "output_tokens": _mean([record.cost.output_tokens for record in whole]),
    }
    return _turn_cell(turns, shared) if turns else _session_cell(sessions, shared)


def _session_cell(records: Sequence[SessionRecord], shared: Mapping[str, Any]) -> Cell:
    scores = [record.score for record in records if record.score is not None]
    compliance = [record.compliance for record in records if record.compliance is not None]
    calls, names = sum_counts(score.calls for score in scores), sum_counts(score.names for score in scores)
    proposed = sum(score.proposed for score in scores)
    recovered = [flag for record in records for flag in record.recovered]
    return Cell(
        **shared,
        success_rate=share(sum(score.success for score in scores), len(scores)),
        task_progress=_rounded(_mean_progress(scores)),
        tool_precision=_rounded(calls.precision),
        tool_precision_proposed=share(calls.matched, proposed),
        tool_recall=_rounded(calls.recall),
        tool_f1=_rounded(calls.f1),
        tool_f1_names=_rounded(names.f1),
        turns=_mean([score.turns for score in scores]),
        recovery_rate=share(sum(recovered), len(recovered)),
        **_compliance_fields(compliance),
    )


def _compliance_fields(compliance: Sequence[Compliance]) -> dict[str, Any]:
    if not compliance:
        return {}
    violations = sum(row.violations for row in compliance)
    unconsented = [row.unconsented for row in compliance if row.unconsented is not None]
    return {
        "violations": violations,
        "violations_a_session": round(violations / len(compliance), 3),
        "sessions_with_violation": sum(row.violations > 0 for row in compliance),
        "stopped_rate": share(sum(row.stopped for row in compliance), sum(row.unlicensed for row in compliance)),
        "wrongly_refused_rate": share(
            sum(row.wrongly_refused for row in compliance), sum(row.licensed for row in compliance)
        ),
        "unconsented_writes": sum(unconsented) if unconsented else None,
        "invented_values": sum(row.invented for row in compliance),
    }


def _turn_cell(records: Sequence[TurnRecord], shared: Mapping[str, Any]) -> Cell:
    scores = [record.score for record in records if record.score is not None]
    calls = sum_counts(score.calls for score in scores)
    nodes = [score.node for score in scores if score.node is not None]
    return Cell(
        **shared,
        success_rate=share(sum(score.passed for score in scores), len(scores)),
        tool_precision=_rounded(calls.precision),
        tool_recall=_rounded(calls.recall),
        tool_f1=_rounded(calls.f1),
        tool_f1_names=_rounded(sum_counts(score.names for score in scores).f1),
        parameter_f1=_rounded(sum_counts(score.parameters for score in scores).f1),
        node_accuracy=share(sum(nodes), len(nodes)),
    )


def intervals(records: Sequence[DialogueRecord], names: Collection[str] = ()) -> dict[str, Interval]:
    """The intervals of the metrics of completed sessions or turns; those without a denominator are left out.

    Args:
        records: The sessions or turns.
        names: The metrics; all by default.
    """
    made = {name: _INTERVALS[name](records) for name in _INTERVALS if not names or name in names}
    return {name: bound for name, bound in made.items() if bound is not None}


def _rate(count: int, of: int) -> Rate | None:
    return rate(count, of) if of else None


def _compliance_of(records: Sequence[DialogueRecord]) -> list[Compliance]:
    return [row.compliance for row in records if isinstance(row, SessionRecord) and row.compliance is not None]


def _f1(name: str) -> Callable[[Sequence[DialogueRecord]], Interval | None]:
    return lambda records: ratio(_grouped(records, partial(_f1_parts, name=name)))


def _of_calls(above: str, below: str) -> Callable[[Sequence[DialogueRecord]], Interval | None]:
    def bound(records: Sequence[DialogueRecord]) -> Rate | None:
        rows = _compliance_of(records)
        return _rate(sum(getattr(row, above) for row in rows), sum(getattr(row, below) for row in rows))

    return bound


def _with_violation(records: Sequence[DialogueRecord]) -> Rate | None:
    rows = _compliance_of(records)
    return _rate(sum(row.violations > 0 for row in rows), len(rows))


def passed(record: DialogueRecord) -> bool:
    """Whether a session succeeded, or a turn passed."""
    if record.score is None:
        return False
    return record.score.success if isinstance(record.score, SessionScore) else record.score.passed


def _f1_parts(record: DialogueRecord, name: str) -> tuple[float, float]:
    counts: Counts | None = getattr(record.score, name, None)
    return (0, 0) if counts is None else (2 * counts.matched, counts.given + counts.gold)


def _progress_parts(record: DialogueRecord) -> tuple[float, float]:
    score = record.score
    if not isinstance(score, SessionScore) or not score.checks:
        return 0, 0
    return score.met / score.checks, 1


_INTERVALS: dict[str, Callable[[Sequence[DialogueRecord]], Interval | None]] = {
    "success_rate": lambda records: _rate(sum(map(passed, records)), len(records)),
    "tool_f1": _f1("calls"),
    "tool_f1_names": _f1("names"),
    "parameter_f1": _f1("parameters"),
    "task_progress": lambda records: ratio(_grouped(records, _progress_parts)),
    "sessions_with_violation": _with_violation,
    "stopped_rate": _of_calls("stopped", "unlicensed"),
    "wrongly_refused_rate": _of_calls("wrongly_refused", "licensed"),
}


def _grouped(
    records: Sequence[DialogueRecord], parts: Callable[[DialogueRecord], tuple[float, float]]
) -> list[tuple[float, float]]:
    """The sums of two parts by scenario."""
    sums: dict[str, tuple[float, float]] = {}
    for record in records:
        one, other = sums.get(record.scenario, (0, 0))
        above, below = parts(record)
        sums[record.scenario] = one + above, other + below
    return list(sums.values())


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """The sum of counts."""
    return sum(counts, Counts())


def share(count: int, of: int) -> float | None:
    """A share in percent; None of nothing."""
    return round(100 * count / of, 2) if of else None


def _mean_progress(scores: Sequence[SessionScore]) -> float | None:
    values = [100 * score.met / score.checks for score in scores if score.checks]
    return statistics.fmean(values) if values else None


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.fmean(known), 2) if known and len(known) == len(values) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _fired(records: Sequence[DialogueRecord]) -> Cell | None:
    chosen = [record for record in records if was_fired(record)]
    return cell(chosen) if chosen else None


def was_fired(record: DialogueRecord) -> bool:
    """Whether an intervention was carried out: in the session, or by the text before the turn."""
    if isinstance(record, TurnRecord):
        return record.fired
    return record.score is not None and record.score.fired > 0


def _judged(records: Sequence[DialogueRecord], judge: str | None) -> JudgedCell | None:
    if judge is None:
        return None
    verdicts = [(record, record.judged) for record in records if record.judged is not None]
    successes = [(passed(record), row.success) for record, row in verdicts if row.success is not None]
    progress = [row.progress for _, row in verdicts if row.progress is not None]
    responses = [row.response for _, row in verdicts if row.response is not None]
    return JudgedCell(
        judge=judge,
        judged=len(verdicts),
        success_rate=share(sum(judged for _, judged in successes), len(successes)),
        task_progress=round(statistics.fmean(progress), 2) if progress else None,
        response_score=round(statistics.fmean(responses), 2) if responses else None,
        kappa=kappa(successes),
    )


def _pass_k(records: Sequence[DialogueRecord], trials: int) -> dict[str, float]:
    """pass^k over the sessions of which all executions were completed."""
    sessions: dict[str, list[bool]] = {}
    for record in records:
        if isinstance(record, SessionRecord):
            sessions.setdefault(record.session, []).append(passed(record))
    counts = [sum(flags) for flags in sessions.values() if len(flags) == trials]
    values = {str(k): pass_hat(counts, trials, k) for k in range(1, trials + 1)} if trials > 1 else {}
    return {k: round(value, 2) for k, value in values.items() if value is not None}


def _failures(records: Sequence[DialogueRecord]) -> dict[str, int]:
    found = Counter(record.failure for record in records if isinstance(record, SessionRecord))
    return {name: found[name] for name in CLASSES if found[name]}


def _refusals(records: Sequence[DialogueRecord]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for record in records:
        if isinstance(record, SessionRecord):
            total.update(record.refusals)
    return dict(sorted(total.items()))


def _tally(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _by(records: Sequence[DialogueRecord], key: Callable[[Held], str]) -> dict[str, Cell]:
    names = sorted({key(record) for record in records})
    return {name: cell([record for record in records if key(record) == name]) for name in names}


# The table of a run


_COLUMNS: dict[str, str] = {
    "sessions": "sessions",
    "success_rate": "success %",
    "task_progress": "progress %",
    "tool_precision": "tool P",
    "tool_recall": "tool R",
    "tool_f1": "tool F1",
    "tool_f1_names": "tool F1, names",
    "parameter_f1": "parameter F1",
    "node_accuracy": "node %",
    "violations": "violations",
    "sessions_with_violation": "sessions with one",
    "stopped_rate": "stopped %",
    "wrongly_refused_rate": "wrongly refused %",
    "turns": "turns",
}
"""The columns of a run's table, by field; columns without any value are left out."""


def tables(summary: DialogueSummary) -> str:
    """The tables of a run, as Markdown."""
    rows: dict[str, Cell] = {**summary.by_domain, **summary.by_scope, "all": summary}
    if summary.fired is not None:
        rows["with an intervention carried out"] = summary.fired
    kept = [name for name in _COLUMNS if any(getattr(row, name) is not None for row in rows.values())]
    words = {"sessions": "turns", "success_rate": "pass %"} if summary.level == "turn" else {}
    head = (title(summary), *(words.get(name, _COLUMNS[name]) for name in kept))
    body = [(label, *(shown(getattr(row, name)) for name in kept)) for label, row in rows.items()]
    lines = [markdown(head, body), "", *(f"- {note}" for note in notes(summary))]
    return "\n".join(lines) + "\n"


def title(summary: DialogueSummary) -> str:
    """Model, method and format of a run."""
    kind = f" with the procedures of {summary.procedures}" if summary.procedures else ""
    form = "out of workflow" if summary.oow else "in workflow"
    return f"{summary.model}, {summary.method}, {summary.format}{kind}; {form}; user: {summary.user}"


def notes(summary: DialogueSummary) -> list[str]:
    """What a reader of a run's table must know."""
    lines: list[str] = []
    if summary.model.partition(":")[0] in ("follow", "slips"):
        lines.append(f"`{summary.model}` is no language model: it reads the procedure by a parser.")
    lines += [f"{name}: {interval(bound)}" for name, bound in summary.intervals.items()]
    if summary.judged is not None:
        judged = summary.judged
        lines.append(
            f"judged by {judged.judge}: {judged.judged}; success {shown(judged.success_rate)} %, progress "
            f"{shown(judged.task_progress)} %, response {shown(judged.response_score)}, kappa with the state check "
            f"{shown(judged.kappa, 2)}"
        )
    if summary.pass_k:
        lines.append("; ".join(f"pass^{k} {value:.1f} %" for k, value in summary.pass_k.items()))
    if summary.failures:
        lines.append("failed sessions: " + ", ".join(f"{name} {count}" for name, count in summary.failures.items()))
    if summary.lost:
        lines.append(f"{summary.lost} more had no answer from a model's endpoint; the same command makes them again.")
    return lines


def interval(bound: Interval) -> str:
    """A metric with its interval, as text."""
    if isinstance(bound, Rate):
        return f"{bound.percent:.1f} % ({bound.count} of {bound.of}), 95 % interval {bound.low:.1f} to {bound.high:.1f}"
    return f"{bound.percent:.1f}, 95 % interval {bound.low:.1f} to {bound.high:.1f} ({bound.groups} scenarios)"

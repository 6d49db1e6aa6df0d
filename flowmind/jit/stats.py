"""What a handle has done: rates with intervals, reasons of fallbacks, and savings."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.evaluation.statistics import Rate, rate
from flowmind.jit.store import RunRecord, Store

_SHOWN = 120


@dataclass(frozen=True)
class Stats:
    """The numbers of a handle. `print` shows them in lines, a notebook as a table. Rates are in percent."""

    handle: str
    requests: int
    kinds: dict[str, int]
    """The requests by what became of them, as `RunRecord.kind`."""
    fallbacks: dict[str, int]
    """The requests that a guard took from a version, by guard."""
    rehearsals: Rate
    """The rehearsals that agreed, of those that were finished."""
    guarded: dict[str, int]
    """The rehearsals that a guard stopped, by guard."""
    audits: Rate
    """The audited answers that were wrong."""
    audits_failed: int
    """The audits that could not be made."""
    agent_seconds: float | None
    """The mean duration of the agent's own executions; None if there are none."""
    agent_tokens: float | None
    """The mean tokens of those that told them."""
    hit_seconds: float | None
    """The mean duration of a hit."""
    own_seconds: float
    """What the workflows cost: derivations, runs, runs that a guard stopped, and audits."""
    own_tokens: int
    """The tokens of audits."""
    fixed_seconds: float
    """The part of `own_seconds` that derivations took."""
    versions: list[str] = field(default_factory=list[str])
    """The versions in use, in words."""

    @property
    def hits(self) -> int:
        """The requests that a version answered."""
        return self.kinds.get("hit", 0)

    @property
    def taken(self) -> int:
        """The requests for which a version was live."""
        return self.hits + sum(self.fallbacks.values())

    @property
    def hit_rate(self) -> Rate:
        """The hits, of all requests that were answered or stopped."""
        return rate(self.hits, self.requests)

    @property
    def live_hit_rate(self) -> Rate:
        """The hits, of the requests for which a version was live."""
        return rate(self.hits, self.taken)

    @property
    def saved_seconds(self) -> float | None:
        """Hits × the mean of the agent's own executions − the own cost; None without such executions."""
        return None if self.agent_seconds is None else self.hits * self.agent_seconds - self.own_seconds

    @property
    def saved_tokens(self) -> float | None:
        """The same in tokens; None if the agent tells none."""
        return None if self.agent_tokens is None else self.hits * self.agent_tokens - self.own_tokens

    @property
    def break_even(self) -> int | None:
        """The number of hits from which on derivations have paid; None if a hit saves nothing or nothing is known."""
        if self.agent_seconds is None or self.hit_seconds is None or self.agent_seconds <= self.hit_seconds:
            return None
        return math.ceil(self.fixed_seconds / (self.agent_seconds - self.hit_seconds))

    def line(self) -> str:
        """The most important numbers in one line."""
        return f"{self.requests} requests, {self.hits} hits ({self.hit_rate.percent:g} %)"

    def rows(self) -> Iterator[tuple[str, str]]:
        """The numbers with their names."""
        yield "requests", f"{self.requests} ({_counted(self.kinds)})"
        yield "hits", _shown(self.hit_rate)
        yield "hits while a version was live", _shown(self.live_hit_rate)
        yield "fallbacks", _counted(self.fallbacks)
        yield "rehearsals that agreed", _shown(self.rehearsals)
        yield "rehearsals that a guard stopped", _counted(self.guarded)
        failed = f", {self.audits_failed} could not be made" if self.audits_failed else ""
        yield "wrong in audits", f"{_shown(self.audits)}{failed}"
        yield "saved seconds", _number(self.saved_seconds)
        yield "saved tokens", _number(self.saved_tokens)
        yield "mean seconds of the agent", _number(self.agent_seconds)
        yield "mean seconds of a hit", _number(self.hit_seconds)
        yield "own cost in seconds", _number(self.own_seconds)
        yield "hits to break even", "unknown" if self.break_even is None else str(self.break_even)
        yield "versions", "; ".join(self.versions) or "none"

    def __str__(self) -> str:
        rows = list(self.rows())
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{self.handle}", *(f"  {name:<{width}}  {value}" for name, value in rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table><caption>{html.escape(self.handle)}</caption>{cells}</table>"


def stats_of(store: Store, handle: str) -> Stats:
    """The numbers of a handle.

    Raises:
        InputError: If there is no such handle.
    """
    store.handle(handle)
    one = (handle,)
    with store.reading() as database:
        kinds = dict(database.execute(
            "select kind, count(*) from runs where handle = ? group by kind order by count(*) desc, kind", one
        ).fetchall())  # fmt: skip
        guards = dict(database.execute(
            "select guard, count(*) from runs where handle = ? and guard is not null group by guard "
            "order by count(*) desc, guard", one
        ).fetchall())  # fmt: skip
        verdicts = dict(database.execute(
            "select verdict, count(*) from runs where handle = ? and verdict is not null group by verdict", one
        ).fetchall())  # fmt: skip
        guarded = dict(
            database.execute(
                "select substr(difference, 1, instr(difference, ':') - 1) as halted, count(*) from runs "
                "where handle = ? and verdict = 'guarded' group by halted order by count(*) desc, halted",
                one,
            ).fetchall()
        )
        run_seconds, hit_seconds, hits = database.execute(
            "select coalesce(sum(seconds), 0), coalesce(sum(iif(kind = 'hit', seconds, 0)), 0), sum(kind = 'hit') "
            "from runs where handle = ?", one
        ).fetchone()  # fmt: skip
        audits, wrong, failed, audit_seconds, audit_tokens = database.execute(
            "select count(right), coalesce(sum(right = 0), 0), coalesce(sum(right is null), 0), "
            "coalesce(sum(seconds), 0), coalesce(sum(tokens), 0) from audits where handle = ?", one
        ).fetchone()  # fmt: skip
    fixed = sum(float(event.detail["seconds"]) for event in store.events(handle) if "seconds" in event.detail)
    count, seconds, told, tokens = store.agent_cost(handle)
    agreed, disagreed = verdicts.get("agreed", 0), verdicts.get("disagreed", 0)
    return Stats(
        handle=handle,
        requests=sum(kinds.values()),
        kinds=kinds,
        fallbacks=guards,
        rehearsals=rate(agreed, agreed + disagreed),
        guarded=guarded,
        audits=rate(wrong, audits),
        audits_failed=failed,
        agent_seconds=seconds / count if count else None,
        agent_tokens=tokens / told if told else None,
        hit_seconds=hit_seconds / hits if hits else None,
        own_seconds=fixed + run_seconds + audit_seconds,
        own_tokens=audit_tokens,
        fixed_seconds=fixed,
        versions=[
            f"{record.id} {record.state}, {record.knowledge.traces} traces"
            for record in store.versions(handle)
            if record.state != "retired"
        ],
    )


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _shown(share: Rate) -> str:
    if not share.of:
        return "none"
    return f"{share.count} of {share.of} = {share.percent:.1f} % [{share.low:.1f}, {share.high:.1f}]"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.3g}" if abs(value) < 1_000 else f"{value:,.0f}"


_WORDS = {
    "agent": "the agent answered; no version was live",
    "hit": "the workflow answered",
    "fallback": "a guard gave the request to the agent, before any write",
    "stopped": "the run was stopped after a write",
    "handover": "the agent went on after a write, over the journal",
    "refused": "the agent was needed, and the mode is frozen",
    "failed": "the agent raised an exception",
    "open": "the run began and has not ended",
    "open handover": "the run was stopped after a write, and the agent has not ended",
}


def explained(store: Store, id: str) -> str:
    """What became of a run, in lines.

    Raises:
        InputError: If there is no such run.
    """
    run = store.run(id)
    if run is None:
        raise InputError(f"{store.path or 'the store'}: there is no run {id!r}")
    return "\n".join(_lines(store, run))


def _lines(store: Store, run: RunRecord) -> Iterator[str]:
    at = datetime.fromtimestamp(run.at, UTC).isoformat(timespec="seconds")
    yield f"run {run.id} of {run.handle}, {at}: {_WORDS.get(run.kind, run.kind)}"
    yield f"inputs: {_cut(dump_json(run.inputs))}"
    if run.version is not None:
        yield f"version {run.version} ran for {run.seconds * 1_000:.1f} ms"
    for number, (node, tool, args, value, error, write, seconds) in enumerate(store.calls(run.id), 1):
        outcome = f"error: {error}" if error else _cut(dump_json(value))
        took = f"{' (write)' if write else ''}, {seconds * 1_000:.1f} ms"
        yield f"  {number}. {node}: {tool}({_cut(dump_json(args))}) → {outcome}{took}"
    if run.guard is not None:
        yield f"guard {run.guard}{f' at {run.node}' if run.node else ''}: {run.reason}"
    elif run.reason:
        yield f"reason: {run.reason}"
    if run.agent_seconds is not None:
        tokens = f", {run.tokens} tokens" if run.tokens is not None else ""
        yield f"the agent took {run.agent_seconds:.3g} s{tokens}"
    if run.shadow is not None:
        yield f"rehearsal of version {run.shadow}: {run.verdict}{f': {run.difference}' if run.difference else ''}"
    if run.error is not None:
        yield f"error: {run.error}"
    if run.kind in ("agent", "hit", "fallback", "handover"):
        yield f"answer: {_cut(dump_json(run.answer))}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""Tables of streams: hits, wrong answers among the accepted, fallbacks by guard, and what became of changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from experiments.drift.changes import KINDS, Kind
from experiments.drift.serving import Served, Stream, TaskStreams
from experiments.tables import markdown, shown
from flowmind.evaluation.statistics import Rate, rate
from flowmind.jit.guards import GUARDS
from tools_registry.specs.spec import Record

SOON = 12
"""A change is noticed soon if it is noticed within so many requests."""
SETTINGS = {"all": "guards", "none": "no guards"}


class Row(Record):
    """The streams of one group."""

    group: str
    """The control flow, or the change."""
    guards: str
    streams: int
    requests: int
    hits: Rate
    """The requests that the workflow answered."""
    wrong: Rate
    """The wrong ones among them: answer or writes."""
    stopped: int
    """The requests that were stopped after a write."""
    repeated: int
    """The writes that were made again."""
    fallbacks: dict[str, int]
    """The requests that a guard gave to the agent or stopped, by guard."""
    slow: int = 0
    """The streams that derived no more versions, because it took too long."""
    hits_before: Rate | None = None
    """Of a change: the hits of the same requests without it."""
    soon: Rate | None = None
    """Of a change: the streams in which it was noticed within `SOON` requests."""
    until_noticed: float | None = None
    """Of a change: the mean number of requests until it was noticed, where it was."""


class Summary(Record):
    """All tables."""

    tasks: int
    flows: tuple[Row, ...]
    changes: tuple[Row, ...]

    def text(self) -> str:
        """The tables in Markdown."""
        parts = [f"{self.tasks} tasks."]
        if self.flows:
            parts += [_plain_table(self.flows), _guards_table(self.flows)]
        if self.changes:
            parts.append(_changes_table(self.changes))
        return "\n\n".join(parts) + "\n"


class _Pair(NamedTuple):
    """A stream with a change, and the one of the same task without."""

    changed: Stream
    plain: Stream


def summary_of(records: Sequence[TaskStreams]) -> Summary:
    """The tables of streams."""
    flows = sorted({record.control_flow for record in records})
    groups: list[tuple[str, Callable[[str], bool]]] = [(flow, flow.__eq__) for flow in flows]
    if len(flows) > 1:
        groups.append(("not linear", lambda flow: flow != "linear"))
        groups.append(("all", lambda flow: True))
    plain: list[Row] = []
    for name, has in groups:
        for guards in SETTINGS:
            streams = [
                stream
                for record in records
                if has(record.control_flow)
                for stream in record.streams
                if stream.kind == "none" and stream.guards == guards
            ]
            if streams:
                plain.append(_row(name, guards, streams, [served for stream in streams for served in stream.served]))
    changed = [
        _changed(kind, guards, pairs)
        for kind in KINDS
        for guards in SETTINGS
        if (pairs := _pairs(records, kind, guards))
    ]
    return Summary(
        tasks=len(records),
        flows=tuple(plain),
        changes=tuple(changed) if any(row.group != "none" for row in changed) else (),
    )


def _pairs(records: Iterable[TaskStreams], kind: Kind, guards: str) -> list[_Pair]:
    found: list[_Pair] = []
    for record in records:
        by_kind = {stream.kind: stream for stream in record.streams if stream.guards == guards}
        if kind in by_kind and "none" in by_kind and by_kind[kind].half < len(by_kind[kind].served):
            found.append(_Pair(by_kind[kind], by_kind["none"]))
    return found


def _row(group: str, guards: str, streams: Sequence[Stream], served: Sequence[Served]) -> Row:
    hits = [one for one in served if one.kind == "hit"]
    return Row(
        group=group,
        guards=guards,
        streams=len(streams),
        requests=len(served),
        hits=rate(len(hits), len(served)),
        wrong=rate(sum(not one.right for one in hits), len(hits)),
        stopped=sum(one.kind == "stopped" for one in served),
        repeated=sum(one.repeated for one in served),
        fallbacks=dict(Counter(one.guard for one in served if one.guard)),
        slow=sum(stream.was_slow for stream in streams),
    )


def _changed(kind: Kind, guards: str, pairs: Sequence[_Pair]) -> Row:
    """The requests after half time."""
    later = [served for pair in pairs for served in pair.changed.served[pair.changed.half :]]
    before = [served for pair in pairs for served in pair.plain.served[pair.plain.half :]]
    row = _row(kind, guards, [pair.changed for pair in pairs], later)
    noticed = [noticed_after(pair.changed, pair.plain) for pair in pairs if _answers(pair.plain)]
    counts = [count for count in noticed if count is not None]
    return row.model_copy(
        update={
            "hits_before": rate(sum(one.kind == "hit" for one in before), len(before)),
            "soon": None if kind == "none" else rate(sum(count <= SOON for count in counts), len(noticed)),
            "until_noticed": sum(counts) / len(counts) if counts and kind != "none" else None,
        }
    )


def noticed_after(changed: Stream, plain: Stream) -> int | None:
    """The number of requests until a change was noticed, from 1; None if it was not.

    It is noticed by the first request that goes otherwise than without the change: a guard stops it, or an audit
    contradicts it. A wrong answer that nothing contradicts notices nothing.
    """
    for number, (one, other) in enumerate(zip(changed.served, plain.served, strict=True)):
        if number >= changed.half and _seen(one) != _seen(other):
            return number - changed.half + 1
    return None


def _answers(stream: Stream) -> bool:
    """Whether a version answers any request after half time."""
    return any(one.kind == "hit" for one in stream.served[stream.half :])


def _seen(served: Served) -> tuple[str, str, bool]:
    """What shows of a request: what became of it, and whether an audit contradicts it."""
    return served.kind, served.guard, served.audit is False


def _plain_table(rows: Sequence[Row]) -> str:
    head = ("control flow", "", "streams", "requests", "hits", "wrong among accepted", "stopped", "slow")
    return markdown(
        head,
        [
            (
                row.group, SETTINGS[row.guards], str(row.streams), str(row.requests), shown(row.hits), shown(row.wrong),
                str(row.stopped), str(row.slow),
            )
            for row in rows
        ],
    )  # fmt: skip


def _guards_table(rows: Sequence[Row]) -> str:
    guards = [guard for guard in GUARDS if any(guard in row.fallbacks for row in rows)]
    cells = [(row.group, SETTINGS[row.guards], *(str(row.fallbacks.get(guard, 0)) for guard in guards)) for row in rows]
    return markdown(("requests that a guard took from the workflow", "", *guards), cells)


def _changes_table(rows: Sequence[Row]) -> str:
    head = (
        "change", "", "streams", "hits", "hits without it", "wrong among accepted", f"noticed within {SOON}",
        "requests until noticed", "stopped", "repeated writes",
    )  # fmt: skip
    cells = [
        (
            row.group, SETTINGS[row.guards], str(row.streams), shown(row.hits), shown(row.hits_before),
            shown(row.wrong), shown(row.soon), shown(row.until_noticed), str(row.stopped), str(row.repeated),
        )
        for row in rows
    ]  # fmt: skip
    return markdown(head, cells)

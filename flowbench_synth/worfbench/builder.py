"""Builds rows in the form of WorFBench from traces (Qiao et al., sections 2.2 and 2.3).

The filters come in the order of the paper. Equal traces, settings and replies give equal files: random choices are
seeded with the build's seed and the name of the source or row, and no file contains a time.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

import tqdm
from pydantic import Field

from flowbench_synth.instance import BuildError
from flowbench_synth.worfbench.asking import ChainWriter, Unusable
from flowbench_synth.worfbench.cases import Backend, CallsRecord, TracedCase, TraceSource
from flowbench_synth.worfbench.chains import Chain, UnknownEffect, chain_of, successful
from flowbench_synth.worfbench.faults import FAULTS, LEAST, Graph, faults_of, graph_faults
from flowbench_synth.worfbench.retrieval import MARKER, distractors, document_of, strangers, tools_text
from flowmind import __version__
from flowmind.base.errors import InputError, ModelFailure
from flowmind.base.files import dump_json, write_text
from flowmind.evaluation.encoder import SentenceEncoder
from flowmind.evaluation.statistics import percent
from flowmind.evaluation.worfeval import Similarity
from flowmind.formats.node_edge import to_text
from flowmind.formats.worfbench_rows import read_row
from flowmind.protocols import ChatModel
from tools_registry.specs.spec import Record, ToolSpec

NAME = "flowbench_worfbench"
CALLS = "calls.jsonl"
"""The calls that rows were made of. Models that are evaluated do not see it."""
PARTS: tuple[Literal["train", "test"], ...] = ("train", "test")
PAPER_LOSSES = {"retrieval": 15.36, "topological order": 29.77}
"""What the paper's filters take away, in percent (section 2.3)."""
_EXAMPLES = 3
_GROUNDS = 8
Item = TypeVar("Item")
Part = Literal["train", "test"]


class BuildOptions(Record):
    """The settings of a build."""

    backend: Backend = "rules"
    model: str = ""
    """The name of the model (with the backend `llm`)."""
    seed: int = 0
    distractors: int = Field(default=5, ge=0)
    """The number of similar tools of other tasks that are mixed into the tools of a row."""
    per_source: int | None = Field(default=None, ge=1)
    """The most rows of a source."""
    test_share: float = Field(default=0.2, ge=0, le=1)
    """The share of the rows of a source that are test rows."""
    held_out: tuple[str, ...] = ()
    """Sources all of whose rows are test rows."""
    unknown_effect: UnknownEffect = "write"
    """What a tool is taken for whose effect is not known."""
    similarity: str = "bow"
    """The measure of the retrieval: `bow`, or the name of a sentence encoder."""


class FilterReport(Record):
    """What a filter took away."""

    filter: str
    given: int
    kept: int
    lost: int
    percent: float
    """Of the given rows."""
    paper: float | None
    """What the same filter of the paper took away, in percent."""
    reasons: dict[str, int]
    examples: tuple[str, ...]


@dataclass
class Draft:
    """A row in the making."""

    id: str
    source: str
    case: TracedCase
    specs: Mapping[str, ToolSpec]
    """The tools of its source."""
    offered: tuple[ToolSpec, ...] = ()
    steps: tuple[str, ...] = ()
    chain: Chain | None = None
    part: Part = "train"


@dataclass
class _Funnel:
    """The drafts that are left, and what each filter took away."""

    drafts: list[Draft]
    reports: list[FilterReport] = field(default_factory=list[FilterReport])

    def sift(
        self, name: str, reason: Callable[[Draft], str | tuple[str, str]], lost: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Drops the drafts that have a reason.

        Args:
            name: The name of the filter.
            reason: The reason to drop a draft, or the reason and what it is about in this draft; empty to keep it.
            lost: What was lost before there was a draft: ids with reasons.
        """
        reasons: Counter[str] = Counter()
        examples: list[str] = []
        kept: list[Draft] = []
        found = [(draft, reason(draft)) for draft in self.drafts]
        told = [(id, reason, "") for id, reason in lost]
        for draft, why in found:
            if not why:
                kept.append(draft)
                continue
            short, about = why if isinstance(why, tuple) else (why, "")
            told.append((draft.id, short, about))
        for id, short, about in told:
            if reasons[short] < _EXAMPLES:
                examples.append(f"{id}: {short}{f' ({about})' if about else ''}")
            reasons[short] += 1
        given = len(kept) + len(told)
        report = FilterReport(
            filter=name, given=given, kept=len(kept), lost=len(told), percent=percent(len(told), given),
            paper=PAPER_LOSSES.get(name), reasons=dict(reasons.most_common()), examples=tuple(examples[:_GROUNDS]),
        )  # fmt: skip
        self.drafts = kept
        self.reports.append(report)


def build(
    sources: Sequence[TraceSource],
    options: BuildOptions,
    out: Path,
    similar: Similarity,
    model: ChatModel | None = None,
    at_once: int = 8,
    quiet: bool = False,
) -> dict[str, Any]:
    """Writes the rows of traces to a folder and returns its manifest.

    Args:
        sources: The traces.
        options: The settings.
        out: The folder.
        similar: The similarity of two texts, for the retrieval.
        model: Writes steps and edges; needed by the backend `llm`.
        at_once: The number of traces that the model works on at the same time.
        quiet: Whether no progress is shown.

    Raises:
        BuildError: If no row is left.
        InputError: If two traces have the same id.
        ModelUnavailable: If the model stops answering; replies are kept.
        OSError: If the folder cannot be written.
    """
    funnel = _Funnel([])
    repeated = _begin(funnel, sources, options)
    library: dict[str, ToolSpec] = {}
    for source in sources:
        library = {**source.specs, **library}
    out.mkdir(parents=True, exist_ok=True)
    work = _filter(funnel, library, options, out, similar, model, at_once, quiet)
    unanswered = asyncio.run(work)
    _balance(funnel, options)
    if not funnel.drafts:
        reports = [report.model_dump(mode="json") for report in funnel.reports]
        raise BuildError(f"no row passed all filters\n{filter_table(reports)}")
    _split(funnel.drafts, options)
    return _write(out, sources, options, funnel, repeated, unanswered)


def _begin(funnel: _Funnel, sources: Sequence[TraceSource], options: BuildOptions) -> int:
    """Makes the drafts; returns the number of repeated calls that are left out."""
    repeats = 0
    lost: list[tuple[str, str]] = []
    for source in sources:
        lost += [(f"{source.name}_{id}", reason) for id, reason in source.lost]
        for case in source.cases:
            trace, repeated = successful(case.trace, source.specs, options.unknown_effect)
            repeats += repeated
            case = case.model_copy(update={"trace": trace})
            funnel.drafts.append(Draft(f"{source.name}_{case.id}", source.name, case, source.specs))
    ids = Counter(draft.id for draft in funnel.drafts)
    if twice := [id for id, count in ids.items() if count > 1]:
        raise InputError(f"--from: two traces have the id {twice[0]!r}; give the sources other names, as in NAME=PATH")

    def reason(draft: Draft) -> str:
        if len(draft.case.trace.calls) < LEAST:
            return f"fewer than {LEAST} successful calls"
        if not draft.case.task.strip():
            return "the trace states no task"
        return "" if draft.case.tools else "there are no tools"

    funnel.sift("traces", reason, lost)
    return repeats


async def _filter(
    funnel: _Funnel,
    library: Mapping[str, ToolSpec],
    options: BuildOptions,
    out: Path,
    similar: Similarity,
    model: ChatModel | None,
    at_once: int,
    quiet: bool,
) -> int:
    """The filters from the node chain to quality control; returns the number of rows that the model did not answer."""
    writer = ChainWriter(model, out, options.seed, at_once) if model is not None else None
    unanswered: set[str] = set()
    if isinstance(similar, SentenceEncoder):
        similar.learn([*(draft.case.task for draft in funnel.drafts), *map(document_of, library.values())])
    for draft in funnel.drafts:
        draft.offered = _offered(draft, library, options, similar)
    try:
        sentences = await _sentences(funnel.drafts, writer, options, quiet)
        funnel.sift("node chain", lambda draft: _took(draft, sentences[draft.id], unanswered))
        if isinstance(similar, SentenceEncoder):
            similar.learn(text for draft in funnel.drafts for text in _texts(draft))
        funnel.sift("retrieval", lambda draft: _not_retrieved(draft, similar))
        if writer is not None:
            chains = await _chains(funnel.drafts, writer, quiet)
            funnel.sift("edges", lambda draft: _took(draft, chains[draft.id], unanswered))
    finally:
        if writer is not None:
            await writer.aclose()
    funnel.sift("topological order", _out_of_order)
    funnel.sift("quality control", _faulty)
    return len(unanswered)


def _texts(draft: Draft) -> Iterator[str]:
    """The texts of a draft that are compared for the retrieval."""
    yield from draft.steps
    yield from map(document_of, draft.offered)


def _offered(
    draft: Draft, library: Mapping[str, ToolSpec], options: BuildOptions, similar: Similarity
) -> tuple[ToolSpec, ...]:
    """The tools of a row in a random order: those of its task, and similar tools of other tasks."""
    called = [call.call.tool for call in draft.case.trace.calls]
    own = list(dict.fromkeys([*draft.case.tools, *called]))
    more = distractors(draft.case.task, own, library, options.distractors, similar)
    specs = [*(draft.specs[name] for name in own if name in draft.specs), *(library[name] for name in more)]
    Random(f"{options.seed}/{draft.id}").shuffle(specs)
    return tuple(specs)


Written = tuple[str, ...] | Chain | Unusable | ModelFailure


def _took(draft: Draft, written: Written, unanswered: set[str]) -> str:
    """Puts the written text into the draft. Returns the reason if there is none."""
    match written:
        case ModelFailure():
            unanswered.add(draft.id)
            return "the model's endpoint failed"
        case Unusable():
            return str(written)
        case Chain():
            draft.chain = written
        case _:
            draft.steps = written
    return ""


async def _sentences(
    drafts: Sequence[Draft], writer: ChainWriter | None, options: BuildOptions, quiet: bool
) -> dict[str, Written]:
    if writer is None:
        for draft in tqdm.tqdm(drafts, desc="reading", unit="trace", disable=quiet or None):
            case = draft.case
            draft.chain = chain_of(case.trace, case.task, draft.specs, options.unknown_effect)
        return {draft.id: draft.chain.steps for draft in drafts if draft.chain is not None}
    return await _with_bar("writing steps", "trace", drafts, lambda draft, done: writer.steps(draft.case, done), quiet)


async def _chains(drafts: Sequence[Draft], writer: ChainWriter, quiet: bool) -> dict[str, Written]:
    return await _with_bar(
        "writing edges", "trace", drafts, lambda draft, done: writer.chain(draft.case, draft.steps, done), quiet
    )


async def _with_bar(
    what: str,
    unit: str,
    drafts: Sequence[Draft],
    work: Callable[[Draft, Callable[[], Any]], Coroutine[Any, Any, Written]],
    quiet: bool,
) -> dict[str, Written]:
    """The results of a job for each draft. If one raises, the others end as well."""
    with tqdm.tqdm(total=len(drafts), desc=what, unit=unit, disable=quiet or None) as bar:
        tasks = [asyncio.ensure_future(work(draft, bar.update)) for draft in drafts]
        try:
            results = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
    return {draft.id: result for draft, result in zip(drafts, results, strict=True)}


def _not_retrieved(draft: Draft, similar: Similarity) -> str | tuple[str, str]:
    steps = draft.steps
    own = [call.call.tool for call in draft.case.trace.calls]
    tools = {spec.name: document_of(spec) for spec in draft.offered}
    found = strangers(steps, own, tools, similar)
    return ("a step does not retrieve its own tool", found[0]) if found else ""


def _out_of_order(draft: Draft) -> str | tuple[str, str]:
    assert draft.chain is not None
    faults = graph_faults(Graph(draft.chain.steps, draft.chain.edges))
    return next(((FAULTS[fault.code], fault.about) for fault in faults if fault.code in ("cycle", "order")), "")


def _faulty(draft: Draft) -> str | tuple[str, str]:
    """The first fault that `worfbench check` would find in the row."""
    row = read_row(row_of(draft, held_out=False))
    assert not isinstance(row, ValueError), row
    _, faults = faults_of(row)
    return (FAULTS[faults[0].code], faults[0].about) if faults else ""


def _balance(funnel: _Funnel, options: BuildOptions) -> None:
    """At most `per_source` rows of a source, drawn by the seed."""
    by_source: dict[str, list[str]] = defaultdict(list)
    for draft in funnel.drafts:
        by_source[draft.source].append(draft.id)
    most = options.per_source
    chosen: set[str] = set()
    for name, ids in by_source.items():
        chosen.update(ids if most is None or len(ids) <= most else _random(options, name).sample(ids, most))
    funnel.sift("balance", lambda draft: "" if draft.id in chosen else f"more than {most} rows of the source")


def _split(drafts: Sequence[Draft], options: BuildOptions) -> None:
    """Divides the rows of each source by the seed. Rows with the same task are in the same part."""
    for name in dict.fromkeys(draft.source for draft in drafts):
        mine = [draft for draft in drafts if draft.source == name]
        tasks: dict[str, list[Draft]] = defaultdict(list)
        for draft in mine:
            tasks[draft.case.task].append(draft)
        groups = list(tasks.values())
        _random(options, name).shuffle(groups)
        wanted = len(mine) if name in options.held_out else round(options.test_share * len(mine))
        taken = 0
        for group in groups:
            part = "test" if taken < wanted else "train"
            taken += len(group) if part == "test" else 0
            for draft in group:
                draft.part = part


def _random(options: BuildOptions, name: str) -> Random:
    return Random(f"{NAME}/{options.seed}/{name}")


# Files


def row_of(draft: Draft, held_out: bool) -> dict[str, Any]:
    """A row in the reduced form of WorFBench."""
    assert draft.chain is not None
    return {
        "id": draft.id,
        "source": draft.source,
        "task_type": draft.source,
        "task": draft.case.task,
        "tools_marker": MARKER,
        "tools_text": tools_text(draft.offered),
        "gold": to_text(("START", *draft.chain.steps, "END"), draft.chain.edges),
        "held_out": held_out,
    }


def _record_of(draft: Draft, options: BuildOptions) -> CallsRecord:
    assert draft.chain is not None
    called = dict.fromkeys(call.call.tool for call in draft.case.trace.calls)
    written = draft.chain if options.backend == "llm" else Chain((), (), {})
    return CallsRecord(
        id=draft.id,
        source=draft.source,
        place=draft.case.place,
        part=draft.part,
        backend=options.backend,
        task=draft.case.task,
        offered=tuple(spec.name for spec in draft.offered),
        trace=draft.case.trace,
        specs=tuple(draft.specs[name] for name in called if name in draft.specs),
        unknown_effect=options.unknown_effect,
        reasons=draft.chain.reasons,
        steps=written.steps,
        edges=written.edges,
    )


def _write(
    out: Path, sources: Sequence[TraceSource], options: BuildOptions, funnel: _Funnel, repeated: int, unanswered: int
) -> dict[str, Any]:
    lines: dict[str, list[Any]] = {f"{part}.jsonl": [] for part in PARTS}
    lines[CALLS] = []
    for draft in funnel.drafts:
        lines[f"{draft.part}.jsonl"].append(row_of(draft, draft.source in options.held_out))
        record = _record_of(draft, options)
        body = record.model_dump(mode="json", exclude_defaults=True, exclude={"trace"})
        lines[CALLS].append({**body, "trace": record.trace.dump()})
    hashes: dict[str, str] = {}
    for name, rows in lines.items():
        text = "".join(dump_json(row) + "\n" for row in rows)
        write_text(out / name, text)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    manifest: dict[str, Any] = {
        "name": NAME,
        "version": __version__,
        "settings": options.model_dump(mode="json"),
        "sources": {source.name: _about(source, funnel.drafts) for source in sources},
        "filters": [report.model_dump(mode="json") for report in funnel.reports],
        "repeated_calls": repeated,
        "unanswered": unanswered,
        "sha256": hashes,
    }
    write_text(out / "manifest.json", dump_json(manifest, indent=1) + "\n")
    return manifest


def _about(source: TraceSource, drafts: Sequence[Draft]) -> dict[str, Any]:
    mine = [draft for draft in drafts if draft.source == source.name]
    parts = {part: sum(draft.part == part for draft in mine) for part in PARTS}
    return {"path": source.path, "traces": len(source.cases) + len(source.lost), "tools": len(source.specs), **parts}


def filter_table(reports: Sequence[Mapping[str, Any]]) -> str:
    """What each filter took away, as a Markdown table beside the paper's losses.

    Args:
        reports: `filters` of a manifest.
    """
    lines = ["| filter | rows in | lost | lost % | paper % | reasons |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for report in reports:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in report["reasons"].items()) or "–"
        paper = "–" if report["paper"] is None else f"{report['paper']:.2f}"
        counts = f"{report['given']} | {report['lost']} | {report['percent']:.2f} | {paper}"
        lines.append(f"| {report['filter']} | {counts} | {reasons} |")
    return "\n".join(lines)

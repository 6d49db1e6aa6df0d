"""Runs dialogues: sessions or turns at the same time, one record each, resumed by the same command."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import tqdm

from experiments.dialogue.evaluating import DialogueCase, DialogueResult, evaluate, failed
from experiments.dialogue.kept_procedures import keep_procedures
from experiments.dialogue.options import DialogueOptions
from experiments.dialogue.recording import SessionRecord, TurnRecord
from experiments.dialogue.services import DialogueServices, require_talkers
from experiments.dialogue.sources import Materials, chosen_references, chosen_sessions, read_materials
from experiments.dialogue.summing import DialogueSummary, summarize, tables
from experiments.driver import Count, drive, kept_in, require_answers, work_through
from experiments.folder import RunFolder
from experiments.progress import Bar, CaseBar, shown, typed_command
from experiments.provenance import PACKAGES, surroundings
from experiments.runner import WORTH_A_PROCESS
from experiments.shards import dealt, place, shard_named
from flowmind.base import checksums as store
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import write_text
from flowmind.base.folders import require_name
from flowmind.base.processes import HelperEnded
from flowmind.cli.flags import read_flags
from flowmind.llm.recorded import Stored, Timing, end_case, exchange_file, keep_exchange
from flowmind.maps.local import LocalMap
from flowmind.maps.processes import ProcessMap
from flowmind.maps.sending import run_to_end, send
from flowmind.protocols import ChatModel, Map

DialogueRecord = SessionRecord | TurnRecord


class DialogueFolder(RunFolder[Any]):
    """The folder of a run of dialogues; it has traces and exchanges as well.

    Args:
        folder: The folder.
        level: Whether its records are of sessions or of turns.
    """

    def __init__(self, folder: Path, level: str) -> None:
        super().__init__(folder, SessionRecord if level == "session" else TurnRecord, free=("limit",))

    def exchanges(self, id: str) -> Path:
        """The file with the exchanges of a case."""
        return self._place("exchanges", f"{id}.jsonl")

    def traces(self, id: str) -> Path:
        """The file with the trace of a session."""
        return self._place("traces", f"{id}.json")

    def keep_report(self, id: str, text: str) -> None:
        """Stores the traceback of the defect that ended a case."""
        write_text(self._place("errors", f"{id}.txt"), text, root=self.folder)

    def _place(self, kind: str, name: str) -> Path:
        """A file of a case.

        Raises:
            InputError: If the id of the case cannot be part of a file's name.
        """
        try:
            return self.folder / kind / require_name(name)
        except ValueError as error:
            raise InputError(f"{self.folder}: {error}") from None


def run_dialogues(
    options: DialogueOptions,
    out: Path,
    bar: Bar | None = None,
    materials: Materials | None = None,
    models: Mapping[str, ChatModel] | None = None,
) -> DialogueSummary:
    """Holds the remaining sessions or turns of a run and writes its summary.

    Args:
        options: The settings.
        out: The run's folder; a shard writes in a folder in it.
        bar: Shows the progress; by default a bar on standard error.
        materials: The data, if it was read already.
        models: Models that replace those of the options (`agent`, `user`, `judge`), for tests.

    Raises:
        InputError: If the data cannot be read, or the folder holds another run.
        ModelUnavailable: If a model cannot be reached, or no case could be completed; what is complete is kept.
    """
    require_talkers(options)
    materials = materials or read_materials(options)
    shard = shard_named(options.shard)
    cases = dealt(cases_of(options, materials), shard)
    out = place(out, shard)
    most = options.concurrency if isinstance(options.concurrency, int) else 1_000
    workers = min(most, os.cpu_count() or 1)
    run = DialogueFolder(out, options.level)
    with DialogueServices(options, materials.data, materials.followed, workers, models=models) as services:
        services.open()
        count = 1 if services.remote or models else _processes(most, len(cases))
        with run.locked():
            manifest = _manifest(options, materials, services)
            if shard is not None:
                manifest |= shard.manifest((case.id for case in cases), typed_command())
            run.begin(manifest)
            keep_procedures(out, materials.data)
            _require_within(run, options, cases)
            tqdm.tqdm.write(services.sandboxes.choice.line, file=sys.stderr)
            work = _Work(run, options, services, cases, tuple(options.reuse))
            with _progress(bar) as progress, _mapped(services, count) as case_map:
                try:
                    with kept_in(out):
                        run_to_end(work.complete(case_map, progress))
                except BaseException:
                    with suppress(FlowMindError, OSError):  # the error that ended the work is the one to report
                        settle(run, [case.id for case in cases])
                    raise
                summary = settle(run, [case.id for case in cases])
    with kept_in(out):
        errors = [record.error for record in run.records().values()]
        require_answers(services.where, summary.sessions, errors, options.level)
    return summary


def _require_within(run: DialogueFolder, options: DialogueOptions, cases: Sequence[DialogueCase]) -> None:
    """Requires that the cases of a run have those that its folder has records of.

    Raises:
        InputError: If they do not, because the limit is lower than before.
    """
    recorded = run.records().keys()
    if not recorded <= {case.id for case in cases}:
        if options.shard is not None:
            raise InputError(
                f"--limit {options.limit}: {run.folder} has cases that are in other shards with this limit; give "
                "another --out"
            )
        raise InputError(
            f"--limit {options.limit}: {run.folder} has {len(recorded)} records already; give --limit "
            f"{len(recorded)} or more, or another --out"
        )


def replay_dialogues(source: Path, out: Path, given: DialogueOptions, bar: Bar | None = None) -> DialogueSummary:
    """Computes the records of a run again from its exchanges; no model is asked.

    Args:
        source: A run's folder.
        out: The folder of the new records; may be the same folder.
        given: The data that it ran on, and the isolation of the tools; their sandbox is that of the run.
        bar: Shows the progress; by default a bar on standard error.

    Raises:
        InputError: If the data is another, or the exchanges do not answer all requests.
    """
    stored = read_manifest(source)
    options = options_of(stored, given)
    if options.chosen()["procedures"] != stored["settings"].get("procedures"):
        raise InputError(f"--procedures: the run has {stored['settings'].get('procedures')}; give the same folder")
    materials = read_materials(options)
    if materials.build != stored["benchmark"]:
        raise InputError(f"--data {given.data}: not the data of this run, which is {stored['benchmark']['name']}")
    cases = cases_of(options, materials)
    run, before = DialogueFolder(out, options.level), DialogueFolder(source, options.level)
    with (
        DialogueServices(options, materials.data, materials.followed, os.cpu_count() or 1, silent=True) as services,
        run.locked(),
    ):
        run.begin(stored)
        keep_procedures(out, materials.data)
        work = _Work(run, options, services, cases, replayed=before)
        done = [case for case in cases if work.stored(case).timing is not None]
        with _progress(bar) as progress, _mapped(services, _processes(1_000, len(done))) as case_map:
            run_to_end(work.rebuild(done, case_map, progress))
        return settle(run, [case.id for case in cases])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run of dialogues.

    Raises:
        InputError: If the folder holds no such run.
    """
    if not (folder / "manifest.json").exists():
        raise InputError(f"{folder}: no run in it (a run has a manifest.json)")
    manifest = DialogueFolder(folder, "session").manifest
    if not str(manifest["settings"].get("mode", "")).startswith("dialogue-"):
        raise InputError(f"{folder}: the run is not one of `flowmind dialogue`")
    return manifest


def options_of(manifest: Mapping[str, Any], given: DialogueOptions | None = None) -> DialogueOptions:
    """The options of a stored run, with the data and the isolation of other options."""
    settings = dict(manifest["settings"])
    for name in ("controllers", "stages"):
        settings[name] = ",".join(settings[name])
    fields = {name: value for name, value in settings.items() if name in DialogueOptions.model_fields}
    fields.pop("procedures", None)
    isolation = manifest.get("isolation", {})
    own = (given or DialogueOptions()).model_dump(include={"data", "procedures", "require_isolation", "isolation"})
    return read_flags(DialogueOptions, {"sandbox": isolation.get("sandbox", "auto"), **fields, **own})


def cases_of(options: DialogueOptions, materials: Materials) -> list[DialogueCase]:
    """The cases of a run, in the order of the data.

    Raises:
        InputError: If there is none.
    """
    data = materials.data
    if options.level == "turn":
        return [
            DialogueCase(row.id, data.sessions[row.session], materials.golds[row.session], reference=row)
            for row in chosen_references(materials, options)
        ]
    return [
        DialogueCase(session.id if trial == 0 else f"{session.id}.{trial}", session, materials.golds[session.id], trial)
        for session in chosen_sessions(data, options)
        for trial in range(options.trials)
    ]


def _manifest(options: DialogueOptions, materials: Materials, services: DialogueServices) -> dict[str, Any]:
    return {
        "settings": options.chosen(),
        "benchmark": materials.build,
        "servers": services.servers,
        "isolation": services.sandboxes.choice.document(),
        **surroundings(PACKAGES),
    }


def _processes(at_once: int, cases: int) -> int:
    """The number of processes for a number of cases; below 2 if cores or cases are too few."""
    return min(at_once, os.cpu_count() or 1, cases // WORTH_A_PROCESS)


@contextmanager
def _mapped(services: DialogueServices, count: int) -> Generator[Map[DialogueCase, DialogueResult]]:
    if count < 2:
        yield LocalMap(evaluate, services, services.limit)
    else:
        processes: ProcessMap[DialogueCase, DialogueResult] = ProcessMap(evaluate, services, count)
        with processes:
            yield processes


def _progress(bar: Bar | None) -> AbstractContextManager[Bar]:
    return shown(CaseBar(unit="session")) if bar is None else nullcontext(bar)


@dataclass
class _Work:
    """The cases of a run. This is the only writer of the run's folder."""

    run: DialogueFolder
    options: DialogueOptions
    services: DialogueServices
    cases: Sequence[DialogueCase]
    lenders: Sequence[Path] = ()
    """Folders of runs whose exchanges may answer as well."""
    replayed: DialogueFolder | None = None
    """The run whose exchanges answer everything, on replay."""
    passed: int = 0
    errors: int = 0
    kept: dict[str, DialogueRecord] = field(default_factory=dict[str, DialogueRecord])

    async def complete(self, case_map: Map[DialogueCase, DialogueResult], bar: Bar) -> None:
        """Evaluates the cases that have no record yet.

        Raises:
            ModelUnavailable: If a model cannot serve at all, or has failed too many consecutive cases.
        """
        done = {id: record for id, record in self.run.records().items() if record.error is None}
        self.passed = sum(map(_passed, done.values()))
        todo = [case for case in self.cases if case.id not in done]
        bar.begin(f"{self.options.method} {self.options.model}", len(self.cases), len(self.cases) - len(todo))

        def keep(case: DialogueCase, result: DialogueResult, running: int) -> None:
            self._keep(case, result)
            self.run.keep_record(result.record)
            self._advance(bar, result, running)

        try:
            await drive(todo, lambda: case_map.at_once, partial(self._case, case_map), keep, self.services.where)
        finally:
            await self.services.disconnect()

    async def rebuild(
        self, cases: Sequence[DialogueCase], case_map: Map[DialogueCase, DialogueResult], bar: Bar
    ) -> None:
        """Computes the records of cases from their exchanges, and writes them when all are complete."""
        bar.begin("replay", len(cases), 0)

        async def process(case: DialogueCase, running: Count) -> None:
            result = await self._case(case_map, case)
            self._keep(case, result)
            self.kept[case.id] = result.record
            self._advance(bar, result, running())

        await work_through(cases, lambda: case_map.at_once, process)
        self.run.write_records([self.kept[case.id] for case in cases])

    def stored(self, case: DialogueCase) -> Stored:
        """The exchanges of a case so far; on replay, those of the run that is replayed."""
        if self.replayed is None:
            return exchange_file(self.run.exchanges(case.id), self.run.folder)
        return Stored.read(self.replayed.exchanges(case.id))

    async def _case(self, case_map: Map[DialogueCase, DialogueResult], case: DialogueCase) -> DialogueResult:
        """Evaluates a case, and writes each exchange as soon as it is complete."""
        path = (self.replayed or self.run).exchanges(case.id)
        try:
            emit = partial(keep_exchange, path, root=self.run.folder)
            result = await send(case_map, partial(self._given, case), emit)
        except HelperEnded as ended:
            reason = f"the process of the case has ended ({ended})"
            return DialogueResult(failed(self._given(case), self.services, reason))
        if result.traceback:
            self.run.keep_report(case.id, result.traceback)
        if self.replayed is None:
            timing = Timing(started_at=result.record.started_at, seconds=result.record.seconds)
            end_case(path, timing, self.run.folder)
        return result

    def _given(self, case: DialogueCase) -> DialogueCase:
        """The case with the exchanges so far."""
        path = (self.replayed or self.run).exchanges(case.id)
        return DialogueCase(
            case.id,
            case.session,
            case.gold,
            case.trial,
            case.reference,
            self.stored(case),
            tuple(Stored.read(lender / "exchanges" / path.name) for lender in self.lenders),
            self.replayed is not None,
            str(path),
        )

    def _keep(self, case: DialogueCase, result: DialogueResult) -> None:
        if result.document is not None:
            store.write_document(self.run.traces(case.id), result.document, "trace", self.run.folder)

    def _advance(self, bar: Bar, result: DialogueResult, running: int) -> None:
        self.passed += _passed(result.record)
        self.errors += result.error is not None
        bar.advance(self.passed, self.errors, running)


def _passed(record: DialogueRecord) -> bool:
    if record.score is None:
        return False
    return record.score.success if isinstance(record, SessionRecord) else record.score.passed


def settle(run: DialogueFolder, ids: Sequence[str]) -> DialogueSummary:
    """Puts the records in the order of the cases and writes the summary: equal runs leave equal files."""
    run.put_in_order(ids)
    return summarize_dialogues(run.folder)


def summarize_dialogues(folder: Path) -> DialogueSummary:
    """Computes the summary of a run again from its records, and writes `summary.json` and `summary.md`.

    Raises:
        InputError: If the folder holds no run of dialogues.
    """
    manifest = read_manifest(folder)
    run = DialogueFolder(folder, manifest["settings"]["level"])
    summary = summarize(list(run.records().values()), manifest["settings"], manifest["benchmark"]["name"])
    run.write_summary(summary, tables(summary))
    return summary

"""The folder of a run: its files are written so that a killed process loses no completed work, and read back."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from experiments.metrics import Summary, summarize_records
from experiments.naming import variant_of
from experiments.record import CaseRecord, Kept
from flowmind.api.solving import Solution
from flowmind.base import checksums as store
from flowmind.base import crash_points as faults
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_model, validate, write_text
from flowmind.base.folders import LOCK, is_name, locked, opened, require_name, sweep
from flowmind.build.settings import Settings
from flowmind.llm.models import Price, find
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow


class _Subject(BaseModel):
    model: str
    mode: str


class _Named(BaseModel):
    name: str


class _Manifest(BaseModel):
    """The fields that every manifest has."""

    settings: _Subject
    benchmark: _Named


class Stages(BaseModel):
    """The content of a case's file under `traces/`."""

    task: Task | None = None
    traces: tuple[Trace, ...] = ()
    summary: Trace | None = None
    problems: tuple[Problem, ...] = ()
    tests: tuple[Trace | None, ...] = ()
    """The runs of the workflow on the held-out tests; None for a run that was too long to keep."""


_MOST_KEPT = 100_000
"""The most characters of the stored run of a test."""
K = TypeVar("K", bound=Kept)
_BEFORE = {"pick": "first"}
"""Settings that older manifests do not have, with the values that they had."""
_ISOLATION = {"sandbox": "local", "level": None, "isolation": "batch"}
"""What the manifest keeps of the isolation of an earlier part of the run if it was another; with the older defaults."""


class RunFolder(Generic[K]):
    """The folder of a run: its manifest, its records, its summary.

    Args:
        folder: The folder.
        kind: The type of a record.
        free: Settings that may change when the run goes on.
    """

    def __init__(self, folder: Path, kind: type[K], free: Collection[str] = ()) -> None:
        self.folder = folder
        self._free = free
        self.records_path = folder / "records.jsonl"
        self._kind = kind

    @contextmanager
    def locked(self) -> Generator[None]:
        """Locks the folder for this process, and removes what a killed process left unfinished.

        Raises:
            InputError: If another process has locked it, or the records are no regular file.
        """
        faults.arm(os.environ)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder, LOCK))
            except BlockingIOError:
                raise InputError(f"{self.folder}: another process is running in this folder") from None
            sweep(self.folder)
            store.cut_torn_line(self.records_path)
            yield

    def begin(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, or checks that the folder holds this run.

        A stored manifest is changed only where settings that may change, the price, the isolation or the cases of
        shards are others.

        Raises:
            InputError: If it holds another run.
        """
        path = self.folder / "manifest.json"
        if not self.exists:
            store.write_document(path, manifest, "manifest")
            return
        self.require_same(manifest)
        updated = {**self.manifest, "settings": {**self.manifest["settings"], **self._free_settings(manifest)}}
        updated |= {key: manifest[key] for key in ("price", "dealt", "shards") if manifest.get(key)}
        now, before = manifest.get("isolation", {}), self.manifest.get("isolation", {})
        if now and any(now.get(name, plain) != before.get(name, plain) for name, plain in _ISOLATION.items()):
            updated["isolation"] = {**now, "before": before}
        if updated != self.manifest:
            store.write_document(path, updated, "manifest")
            del self.manifest

    def require_same(self, manifest: Mapping[str, Any]) -> None:
        """Requires that the folder holds the run of a manifest, or the same shard of it.

        Raises:
            InputError: If it holds another run.
        """
        settings = _completed(self.manifest["settings"], manifest["settings"]) | self._free_settings(manifest)
        stored = {**self.manifest, "settings": settings}
        for key in ("settings", "benchmark"):
            if stored.get(key) != manifest[key]:
                name = _difference(stored.get(key), manifest[key])
                raise InputError(
                    f"{self.folder}: the folder holds another run ({key}: {name}); give another --out or remove it"
                )
        parts = [f"shard {part}" if part else "a whole run" for part in (stored.get("shard"), manifest.get("shard"))]
        if parts[0] != parts[1]:
            raise InputError(f"{self.folder}: the folder holds {parts[0]}, not {parts[1]}; give another --out")

    def _free_settings(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in manifest["settings"].items() if name in self._free}

    @property
    def exists(self) -> bool:
        """Whether a run has begun in this folder."""
        return (self.folder / "manifest.json").exists()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            InputError: If there is none, or it cannot be read.
        """
        path = self.folder / "manifest.json"
        manifest = store.read_document(path, "without it, the run's command writes it again")
        try:
            validate(_Manifest, manifest)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        return manifest

    def records(self) -> dict[str, K]:
        """The records by case, the last of each; an unfinished last line is left out.

        Raises:
            InputError: If a line is damaged.
        """
        return {record.id: record for record in store.read(self.records_path, self._kind)}

    def keep_record(self, record: K) -> None:
        """Adds a record, after all other files of the case: a case with a record is complete."""
        store.append(self.records_path, record.model_dump(mode="json"), "record", sync=True)

    def put_in_order(self, ids: Iterable[str]) -> list[K]:
        """Writes each record once, in the order of the ids, so that equal runs have equal files.

        Returns:
            The records in this order, without ids that have none.
        """
        records = self.records()
        ordered = [records[id] for id in ids if id in records]
        self.write_records(ordered)
        return ordered

    def write_records(self, records: Iterable[K]) -> None:
        """Writes the records, unless the file has them already."""
        text = "".join(store.line(record.model_dump(mode="json")) for record in records)
        if not self.records_path.exists() or self.records_path.read_bytes() != text.encode():
            write_text(self.records_path, text, "order")

    def write_summary(self, summary: BaseModel, tables: str) -> None:
        """Writes `summary.json` and `summary.md`."""
        text = dump_json(summary.model_dump(mode="json"), indent=1) + "\n"
        write_text(self.folder / "summary.json", text, "summary")
        write_text(self.folder / "summary.md", tables, "summary")


class Run(RunFolder[CaseRecord]):
    """The folder of a run on the benchmark; it has traces, workflows and exchanges as well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, CaseRecord, free=("limit",))

    @property
    def price(self) -> Price | None:
        """The price that was set for the run, else the list price of its model; None if neither is known.

        Raises:
            InputError: If it cannot be read.
        """
        stored = self.manifest.get("price")
        try:
            return validate(Price, stored) if stored else find(self.manifest["settings"]["model"]).price
        except ValueError as error:
            raise InputError(f"{self.folder / 'manifest.json'}: price: {error}") from None

    def exchanges(self, id: str) -> Path:
        """The file with the exchanges of a case."""
        return self._file("exchanges", f"{id}.jsonl")

    def verify(self, ids: Iterable[str]) -> None:
        """Requires that the exchanges of finished cases are as they were written.

        Raises:
            InputError: If a line is damaged; the line says how to restore it.
        """
        for id in filter(is_name, ids):
            remedy = (
                f"remove that line and the line of {id!r} in {self.records_path}, and the run's command restores them"
            )
            store.verify(self.exchanges(id), remedy)

    def _file(self, kind: str, name: str) -> Path:
        """A file of a case.

        Raises:
            InputError: If the id of the case cannot be part of a file's name.
        """
        try:
            return self.folder / kind / require_name(name)
        except ValueError as error:
            raise InputError(f"{self.folder}: {error}") from None

    def keep_case(self, task: Task, solution: Solution, tests: Iterable[Trace] = ()) -> None:
        """Stores the traces and the workflow of a case, and the runs of the workflow on the held-out tests."""
        stages = solution.model_dump(mode="json", include={"traces", "summary", "problems"})
        document = {"task": task.model_dump(mode="json"), **stages, "tests": [_kept(trace) for trace in tests]}
        store.write_document(self._file("traces", f"{task.id}.json"), document, "trace", self.folder)
        path = self._file("workflows", f"{task.id}.json")
        if solution.workflow is not None:
            write_text(path, solution.workflow.to_json(), "workflow", self.folder)
        elif path.exists():
            with opened(path.parent, self.folder) as folder:
                folder.remove(path.name)

    def keep_report(self, id: str, traceback: str) -> None:
        """Stores the traceback of the defect that ended a case."""
        write_text(self._file("errors", f"{id}.txt"), traceback, root=self.folder)

    def summarize(self) -> Summary:
        """Makes the summary from the records.

        Raises:
            InputError: If the folder holds no run.
        """
        settings, name = self.manifest["settings"], self.manifest["benchmark"]["name"]
        records = self.records()
        ordered = [records[id] for id in sorted(records)]
        return summarize_records(ordered, settings["model"], settings["mode"], name, variant_of(settings), self.price)

    def stages(self, id: str) -> Stages:
        """The task and the traces of a case; empty if it has none.

        Raises:
            InputError: If they cannot be read.
        """
        if not is_name(id):  # a record that this project did not write: it has no files
            return Stages()
        path = self._file("traces", f"{id}.json")
        if not path.exists():
            return Stages()
        document = store.read_document(path, f"`flowmind exp --replay {self.folder}` makes it again")
        try:
            return validate(Stages, document)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None

    def workflow(self, id: str) -> Workflow | None:
        """The workflow of a case; None if it has none.

        Raises:
            InputError: If it cannot be read.
        """
        if not is_name(id):
            return None
        path = self._file("workflows", f"{id}.json")
        return read_model(path, Workflow) if path.exists() else None


def _kept(trace: Trace) -> dict[str, Any] | None:
    """The run of a test as it is stored; None if it is longer than `_MOST_KEPT`."""
    document = trace.dump()
    return document if len(dump_json(document)) <= _MOST_KEPT else None


def _completed(stored: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """The settings of a stored run, with the defaults of settings that did not exist when it was started."""
    defaults = {**Settings().model_dump(mode="json"), **_BEFORE}
    return {**{key: value for key, value in defaults.items() if key in current}, **stored}


def _difference(stored: Any, current: Any) -> str:
    fields = cast(dict[str, Any], stored) if isinstance(stored, dict) else None
    for key in current:
        if fields is None or fields.get(key) != current[key]:
            old = cast(Any, stored) if fields is None else fields.get(key)
            return f"{key} was {dump_json(old)}, is {dump_json(current[key])}"
    return "it has other keys"

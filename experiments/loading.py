"""Runs that are read back for analysis: their settings and their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.folder import Run
from experiments.naming import departs, is_gold, label, variant_of
from experiments.record import CaseRecord
from experiments.shards import Shard, shards_in
from flowmind.base.errors import InputError
from flowmind.build.settings import GUIDED
from flowmind.evaluation.statistics import Rate, rate

ALIASES = {"es-rr": "es-react", "es-pp": "es-pe"}
Test = Callable[[CaseRecord], bool]


def having(**fields: Any) -> Test:
    """The test whether the fields of a record have these values."""
    return lambda record: all(getattr(record, name) == value for name, value in fields.items())


PASSED = having(passed=True)
FAILED = having(passed=False)


@dataclass(frozen=True)
class Loaded:
    """A run: its folder, its settings, and its records."""

    folder: Path
    settings: dict[str, Any]
    everything: tuple[CaseRecord, ...]

    @classmethod
    def read(cls, folder: Path) -> Loaded:
        """Reads a run's folder.

        Raises:
            InputError: If the folder holds no run, or its records cannot be read.
        """
        run = Run(folder)
        return cls(folder, run.manifest["settings"], tuple(run.records().values()))

    @property
    def model(self) -> str:
        """The model's name."""
        return self.settings["model"]

    @property
    def mode(self) -> str:
        """The mode; aliases are resolved (`es-rr` is `es-react`)."""
        name = str(self.settings["mode"])
        return ALIASES.get(name, name)

    @property
    def seed(self) -> int:
        """The seed that was passed to the model."""
        return int(self.settings.get("seed", 0))

    @property
    def rollouts(self) -> int:
        """Executions a case."""
        return int(self.settings.get("rollouts", 1))

    @property
    def variant(self) -> str:
        """The settings that differ from those of the mode, in words; empty if there are none."""
        return variant_of(self.settings)

    @property
    def as_its_mode(self) -> bool:
        """Whether the workflows are derived as the mode says, from the run's own executions."""
        return not departs(self.settings)

    @property
    def builds(self) -> bool:
        """Whether the mode builds workflows; others execute only."""
        return self.mode not in GUIDED

    @property
    def gold(self) -> bool:
        """Whether the run used traces of gold workflows instead of executions."""
        return is_gold(self.settings)

    @property
    def label(self) -> str:
        """Model, mode and variant, as tables and legends show them."""
        return label(self.model, self.mode, self.variant)

    @cached_property
    def records(self) -> tuple[CaseRecord, ...]:
        """The completed cases: all but those that ended with an infrastructure error."""
        return tuple(record for record in self.everything if record.error is None)

    @property
    def errors(self) -> int:
        """The number of cases that ended with an infrastructure error."""
        return len(self.everything) - len(self.records)


@dataclass(frozen=True)
class Cases:
    """Completed cases of one or more runs, from which a row of a table is computed."""

    names: tuple[str, ...]
    """The first cells of the row: usually the label of the runs, and the kind of the cases."""
    runs: tuple[Loaded, ...]
    records: tuple[CaseRecord, ...]

    @property
    def label(self) -> str:
        """The first name."""
        return self.names[0]

    @cached_property
    def everything(self) -> list[CaseRecord]:
        """All records of the runs, infrastructure errors included."""
        return [record for run in self.runs for record in run.everything]

    @property
    def tests(self) -> Rate:
        """The share of the held-out tests that were passed."""
        scores = [score.passed for record in self.records for score in record.tests]
        return rate(sum(scores), len(scores))

    def where(self, test: Test, *names: str) -> Cases:
        """The cases that pass a test; the names are added to those of the row."""
        return replace(self, names=(*self.names, *names), records=tuple(filter(test, self.records)))

    def count(self, test: Test) -> int:
        """The number of cases that pass a test."""
        return sum(map(test, self.records))

    def rate(self, test: Test = PASSED) -> Rate:
        """The share of cases that pass a test; by default, the share that passed all held-out tests."""
        return rate(self.count(test), len(self.records))


def load(folders: Iterable[Path]) -> list[Loaded]:
    """Reads runs; a folder that contains run folders stands for all of them, in the order of their names.

    Runs on WorFBench and of dialogues have other records and are left out; see `worfbench_runs`, `dialogue_runs`.

    Raises:
        InputError: If a folder holds no run at all.
    """
    return [Loaded.read(path) for path in _run_folders(folders) if not _suite(path)]


def worfbench_runs(folders: Iterable[Path]) -> list[Path]:
    """The folders of runs on WorFBench.

    Raises:
        InputError: If a folder holds no run at all.
    """
    return [path for path in _run_folders(folders) if _suite(path) == "worfbench"]


def dialogue_runs(folders: Iterable[Path]) -> list[Path]:
    """The folders of runs of dialogues.

    Raises:
        InputError: If a folder holds no run at all.
    """
    return [path for path in _run_folders(folders) if _suite(path) == "dialogue"]


def _run_folders(folders: Iterable[Path]) -> list[Path]:
    paths: dict[Path, Path] = {}
    for folder in folders:
        inner = [folder] if (folder / "manifest.json").exists() else _runs_in(folder)
        if not inner:
            remedy = (
                f"`flowmind merge {folder}` puts its shards together"
                if shards_in(folder)
                else "`flowmind exp` makes one"
            )
            raise InputError(f"{folder}: no run in it (a run has a manifest.json); {remedy}")
        for path in inner:
            paths.setdefault(path.resolve(), path)
    return list(paths.values())


def _runs_in(folder: Path) -> list[Path]:
    paths = (path.parent for path in folder.glob("*/manifest.json") if (path.parent / "records.jsonl").exists())
    return sorted(path for path in paths if Shard.in_folder(path) is None)


def _suite(folder: Path) -> str:
    """`worfbench` or `dialogue`; empty for a run of `flowmind exp`."""
    suite = str(Run(folder).manifest["settings"]["mode"]).partition("-")[0]
    return suite if suite in ("worfbench", "dialogue") else ""


def grouped(runs: Sequence[Loaded], key: Callable[[Loaded], str] = lambda run: run.label) -> list[Cases]:
    """Runs with equal keys together; by default those that differ only in their seed."""
    groups: dict[str, list[Loaded]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return [Cases((name,), tuple(runs), tuple(r for run in runs for r in run.records)) for name, runs in groups.items()]

"""Runs read back for analysis: their records, and what was set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.folder import Run
from experiments.metrics import Group, Summary, group
from experiments.naming import departs, is_gold, label, variant_of
from experiments.record import CaseRecord
from flowmind.base.errors import InputError

ALIASES = {"es-rr": "es-react", "es-pp": "es-pe"}


@dataclass(frozen=True)
class Loaded:
    """A run: its folder, what was set, and its records."""

    folder: Path
    settings: dict[str, Any]
    everything: tuple[CaseRecord, ...]

    @classmethod
    def read(cls, folder: Path) -> Loaded:
        """Reads a run's folder.

        Raises:
            InputError: If it holds no run, or its records cannot be read.
        """
        run = Run(folder)
        records = run.records()
        return cls(folder, run.manifest["settings"], tuple(records[id] for id in records))

    @property
    def model(self) -> str:
        """The model's name."""
        return self.settings["model"]

    @property
    def mode(self) -> str:
        """The mode, under its plain name."""
        name = str(self.settings["mode"])
        return ALIASES.get(name, name)

    @property
    def seed(self) -> int:
        """The seed that was passed to the model."""
        return int(self.settings.get("seed", 0))

    @property
    def variant(self) -> str:
        """The settings in which the run is not a plain one, in words; empty for a plain one."""
        return variant_of(self.settings)

    @property
    def as_its_mode(self) -> bool:
        """Whether its workflows are derived as its mode says, from executions of its own."""
        return not departs(self.settings)

    @property
    def gold(self) -> bool:
        """Whether traces of gold workflows stood for executions."""
        return is_gold(self.settings)

    @property
    def label(self) -> str:
        """Model, mode and variant, as rows and legends show them."""
        return label(self.model, self.mode, self.variant)

    @cached_property
    def records(self) -> tuple[CaseRecord, ...]:
        """The cases that were tried to their end: those that the infrastructure failed are counted apart."""
        return tuple(record for record in self.everything if record.error is None)

    @property
    def errors(self) -> int:
        """The cases that the infrastructure failed."""
        return len(self.everything) - len(self.records)

    @cached_property
    def rates(self) -> Group:
        """The rates of all its cases."""
        return group(self.records)

    @cached_property
    def summary(self) -> Summary:
        """The summary."""
        return Run(self.folder).summarize()

    def where(self, test: Callable[[CaseRecord], bool]) -> tuple[CaseRecord, ...]:
        """The tried cases of one kind."""
        return tuple(filter(test, self.records))


def load(folders: Iterable[Path]) -> list[Loaded]:
    """Reads runs; a folder that holds runs stands for all of them, in the order of their names.

    Raises:
        InputError: If a folder holds no run.
    """
    found: dict[Path, Loaded] = {}
    for folder in folders:
        inner = [folder] if (folder / "manifest.json").exists() else _runs_in(folder)
        if not inner:
            raise InputError(f"{folder}: no run in it (a run has a manifest.json); `flowmind exp` makes one")
        found |= {one.resolve(): Loaded.read(one) for one in inner}
    return list(found.values())


def _runs_in(folder: Path) -> list[Path]:
    found = sorted(path.parent for path in folder.glob("*/manifest.json") if (path.parent / "records.jsonl").exists())
    return [one for one in found if not str(Run(one).manifest["settings"]["mode"]).startswith("worfbench")]


def cells(runs: Sequence[Loaded]) -> dict[str, list[Loaded]]:
    """Runs that differ in their seed only, under their common label."""
    found: dict[str, list[Loaded]] = {}
    for run in runs:
        found.setdefault(run.label, []).append(run)
    return found


def pooled(runs: Sequence[Loaded]) -> list[tuple[str, tuple[CaseRecord, ...]]]:
    """Each cell of the grid with the records of all its seeds."""
    return [
        (label, tuple(itertools.chain.from_iterable(run.records for run in held)))
        for label, held in cells(runs).items()
    ]

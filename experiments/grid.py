"""Grids of runs: models × modes × seeds × variants, declared in a TOML file."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, Field, field_validator, model_validator

from experiments.analyses import ANALYSES
from experiments.benches import ensure_benchmark
from experiments.endpoints import served, startable
from experiments.materials import read_materials
from experiments.metrics import Summary
from experiments.naming import folder_name
from experiments.options import BUDGETS, GOLD, NO_KNOWLEDGE, Experiment, RunOptions
from experiments.picking import Pick
from experiments.progress import CaseBar, shown
from experiments.runner import run_experiment
from experiments.shards import dealt
from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.base.files import TOO_LONG, read_text, validate
from flowmind.base.folders import require_name
from flowmind.build.settings import MODES, Mode, Settings
from flowmind.llm.replicas import reach_all
from tools_registry.specs.spec import Record

_MOST_BYTES = 1_000_000
_ELSEWHERE = {"model": "models", "mode": "modes", "seed": "seeds", "limit": "limit", "pick": "pick", "bench": "bench"}
"""Settings that are set at the top of a grid file, with their keys there."""
SETTABLE = tuple(name for name in Experiment.model_fields if name not in (*_ELSEWHERE, *BUDGETS, "reuse", "shard"))
"""Settings that `[settings]` and `[variants.NAME]` may set."""


class Grid(Record):
    """A grid file."""

    title: str
    analyses: tuple[str, ...] = ()
    """Keys of `ANALYSES`: the tables of a report on this grid."""
    models: tuple[str, ...] = Field(min_length=1)
    modes: tuple[Mode, ...] = ()
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    limit: int | None = Field(default=None, ge=1)
    pick: Pick = "spread"
    bench: Path | None = None
    settings: Experiment = Experiment()
    """Settings of all runs, from `SETTABLE`."""
    variants: dict[str, Experiment] = Field(default_factory=dict[str, Experiment])
    """Settings that replace those of `settings`; each run is made once for each variant."""
    runs: dict[str, Experiment] = Field(default_factory=dict[str, Experiment])
    """Instead of modes and variants: runs with a mode and settings of their own. The `knowledge` of a run may be the
    name of a run before it."""

    @field_validator("analyses")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in ANALYSES:
                raise ValueError(f"{name!r} is none of {', '.join(ANALYSES)}")
        return names

    @field_validator("settings")
    @classmethod
    def _all_set(cls, settings: Experiment) -> Experiment:
        return cls._settable(settings)

    @classmethod
    def _settable(cls, settings: Experiment, *also: str) -> Experiment:
        for name in settings.model_fields_set - {*also}:
            if name in _ELSEWHERE:
                raise ValueError(f"{name!r} is set by {_ELSEWHERE[name]!r} at the top of the file")
            if name not in SETTABLE:
                raise ValueError(f"{name!r} cannot be set in a grid; set one of {', '.join(SETTABLE)}")
        return settings

    @field_validator("runs")
    @classmethod
    def _each_with_a_mode(cls, runs: dict[str, Experiment]) -> dict[str, Experiment]:
        for name, settings in runs.items():
            if require_name(name) in (GOLD, NO_KNOWLEDGE):
                raise ValueError(f"{name}: this name is a value of knowledge; give the run another one")
            if "mode" not in settings.model_fields_set:
                raise ValueError(f"{name}: a run needs a mode, one of {', '.join(MODES)}")
            cls._settable(settings, "mode")
        return runs

    @model_validator(mode="after")
    def _modes_or_runs(self) -> Grid:
        if bool(self.modes) == bool(self.runs) or (self.runs and self.variants):
            raise ValueError("modes: give modes, with or without variants, or runs")
        return self

    @field_validator("variants")
    @classmethod
    def _all_settable(cls, variants: dict[str, Experiment]) -> dict[str, Experiment]:
        for name, settings in variants.items():
            require_name(name)
            cls._settable(settings)
        return variants

    @classmethod
    def read(cls, path: Path) -> Grid:
        """Reads a TOML file.

        Raises:
            InputError: If the file is not a grid; the line names the file, the key and what would be right.
        """
        try:
            document = tomllib.loads(read_text(path, _MOST_BYTES))
            _require_known(document)
            return validate(cls, document)
        except RecursionError:
            raise InputError(f"{path}: nested too deeply") from None
        except ValueError as error:
            long = "set_int_max_str_digits" in str(error)
            raise InputError(f"{path}: {TOO_LONG if long else error}") from None

    def part(self, models: Sequence[str] = (), modes: Sequence[str] = (), limit: int | None = None) -> Grid:
        """The grid with only these models and modes, and at most `limit` tasks.

        Runs whose workflows the remaining ones are given stay.

        Raises:
            InputError: If a model or mode is not in the grid.
        """
        every = self.modes or tuple(dict.fromkeys(run.mode for run in self.runs.values()))
        for flag, names, present in (("model", models, self.models), ("mode", modes, every)):
            if missing := [name for name in names if name not in present]:
                raise InputError(f"--{flag}: {missing[0]!r} is not in the grid, which has {', '.join(present)}")
        update: dict[str, Any] = {"limit": limit or self.limit}
        if models:
            update["models"] = tuple(name for name in self.models if name in models)
        if modes:
            update["modes"] = tuple(name for name in self.modes if name in modes)
            sources = {run.knowledge for run in self.runs.values() if run.mode in modes}
            update["runs"] = {name: run for name, run in self.runs.items() if run.mode in modes or name in sources}
        return self.model_copy(update=update)

    @property
    def set_names(self) -> set[str]:
        """The settings that the grid sets for some of its runs."""
        every = (*self.variants.values(), *self.runs.values())
        return self.settings.model_fields_set.union(*(settings.model_fields_set for settings in every)) - {"mode"}


def _require_known(document: dict[str, Any]) -> None:
    """Requires that all keys exist.

    Raises:
        ValueError: If a key does not exist; the line names the key and what would be right.
    """
    tables: dict[str, Any] = {"": document, "settings.": document.get("settings")}
    for key in ("variants", "runs"):
        if isinstance(document.get(key), dict):
            tables |= {f"{key}.{name}.": table for name, table in document[key].items()}
    for place, table in tables.items():
        known = [*SETTABLE, *_ELSEWHERE] if place else [*Grid.model_fields]
        for key in cast(dict[str, Any], table) if isinstance(table, dict) else ():
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise ValueError(f"{place}{key}: there is no such setting; {advice}")


class Cell(Record):
    """One run of a grid."""

    name: str
    """The name of its folder; equal runs of several grids have the same folder."""
    options: RunOptions
    settings: Settings


def cells(grid: Grid, base: RunOptions) -> Iterator[Cell]:
    """The runs of a grid; the runs of one model follow one another.

    Args:
        grid: The grid.
        base: Settings that the grid overrides: endpoints, concurrency, the benchmark.
    """
    variants = grid.variants or {"": Experiment()}
    tasks = f"{grid.pick}{grid.limit}" if grid.limit else ""

    def cell(model: str, seed: int, variant: str, *parts: dict[str, Any]) -> Cell:
        fixed: dict[str, Any] = {"model": model, "seed": seed, "limit": grid.limit, "pick": grid.pick}
        settings = {name: value for part in (_explicit(base), _explicit(grid.settings), *parts, fixed)
                    for name, value in part.items()}  # fmt: skip
        experiment = Experiment(**settings)
        name = folder_name(experiment.model_dump(), variant, tasks)
        return Cell(name=name, options=experiment.run_options, settings=experiment.settings)

    for model, mode, (variant, own), seed in itertools.product(grid.models, grid.modes, variants.items(), grid.seeds):
        yield cell(model, seed, variant, _explicit(own), {"mode": mode})
    for model, seed in itertools.product(grid.models, grid.seeds):
        made: dict[str, str] = {}
        for name, run in grid.runs.items():
            own = _explicit(run)
            source = {"knowledge": made[run.knowledge]} if own.get("knowledge") in made else {}
            one = cell(model, seed, "", own, source)
            made[name] = one.name
            yield one


def _explicit(settings: BaseModel) -> dict[str, Any]:
    return settings.model_dump(exclude_unset=True)


def folders(grid: Grid, base: RunOptions, root: Path) -> list[Path]:
    """The folders of a grid's runs."""
    return [root / cell.name for cell in cells(grid, base)]


def run_grid(grid: Grid, base: RunOptions, root: Path) -> tuple[list[Summary], list[str]]:
    """Completes all runs of a grid. If a model fails, its remaining runs are skipped.

    Args:
        grid: The grid.
        base: Settings that the grid overrides.
        root: The folder that the folders of the runs are in.

    Returns:
        The summaries, and a line for each model that failed.

    Raises:
        ModelUnavailable: If a model cannot be reached before the first run starts.
        InputError: If the benchmark cannot be read, or a folder holds another run.
    """
    every = list(cells(grid, base))
    by_model = {model: list(group) for model, group in itertools.groupby(every, lambda cell: cell.options.model)}
    for model, group in by_model.items():
        _require(model, _stages(group), alone=len(by_model) == 1)
    ensure_benchmark(base.bench)
    cases = {cell.options.split: len(read_materials(cell.options).benchmark.tasks) for cell in every}
    total = sum(len(dealt(range(cases[cell.options.split])[: grid.limit], base.part)) for cell in every)
    summaries: list[Summary] = []
    problems: list[str] = []
    with shown(CaseBar(grid.title, total)) as bar:
        for model, group in by_model.items():
            try:
                with served(model, *_stages(group)) as started:
                    for cell in group:
                        update: dict[str, Any] = {"base_url": (started,) if started else cell.options.base_url}
                        if cell.options.knowledge in {other.name for other in group}:
                            update["knowledge"] = str(root / cell.options.knowledge)
                        options = cell.options.model_copy(update=update)
                        summaries.append(run_experiment(options, cell.settings, root / cell.name, bar))
            except ModelUnavailable as error:
                problems.append(str(error) if model in str(error) else f"{model}: {error}")
    return summaries, problems


def _stages(group: Sequence[Cell]) -> list[tuple[str | None, ...]]:
    """The URLs of the servers that the runs of a model use, by stage."""
    return list(dict.fromkeys(urls for cell in group for urls in cell.options.urls.values()))


def _require(model: str, stages: Sequence[tuple[str | None, ...]], alone: bool) -> None:
    """Requires that a model answers, or that a server for it can be started on this machine later.

    Raises:
        ModelUnavailable: If neither is the case; the line says how to run the other models.
    """
    try:
        for urls in stages:
            if not all(startable(model, url) for url in urls):
                reach_all(model, urls)
    except ModelUnavailable as error:
        raise ModelUnavailable(f"{error}{'' if alone else '; --model NAME runs a part of the grid'}") from None

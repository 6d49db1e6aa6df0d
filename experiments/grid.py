"""Grids of runs as files: models × modes × seeds × variants, one progress view for all of them."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import tqdm
from pydantic import Field, field_validator

from experiments.analyses import ANALYSES
from experiments.endpoints import served, startable
from experiments.naming import folder_part
from experiments.runner import RunOptions, run_experiment
from flowmind.agents.turns import Budget
from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.base.files import read_text, validate
from flowmind.build.settings import Mode, Settings, Summarizer, TraceSelection, TraceSource
from flowmind.evaluation.metrics import Summary
from flowmind.llm.models import reach
from flowmind.trace.task import Benchmark
from tools_registry.specs.spec import Record


class Choice(Record):
    """What a configuration may set for its runs; what it leaves out stays as it is."""

    rollouts: int | None = None
    trace_selection: TraceSelection | None = None
    summarizer: Summarizer | None = None
    verify: int | None = Field(default=None, ge=0, le=20)
    probe: int | None = Field(default=None, ge=0, le=50)
    traces: TraceSource | None = None
    temperature: float | None = None
    json_mode: Literal["off", "object", "schema", "object-schema"] | None = None
    native_tools: bool | None = None
    max_turns: int | None = Field(default=None, ge=1)
    reply_tokens: int | None = Field(default=None, ge=1)
    turn_limit: int | None = None
    token_limit: int | None = None
    time_limit: float | None = None
    timeout: float | None = None

    def over(self, other: Choice) -> Choice:
        """This choice, and where it says nothing the other one."""
        return Choice(**{**other.model_dump(exclude_none=True), **self.model_dump(exclude_none=True)})


class Grid(Record):
    """A configuration: which runs it makes, and which analyses they are for."""

    title: str
    analyses: tuple[str, ...] = ()
    """Keys of `ANALYSES`: what a report of this grid shows first."""
    models: tuple[str, ...] = Field(min_length=1)
    modes: tuple[Mode, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    limit: int | None = Field(default=None, ge=1)
    pick: Literal["first", "spread"] = "first"
    bench: Path | None = None
    settings: Choice = Choice()
    variants: dict[str, Choice] = Field(default_factory=dict[str, Choice])
    """Each makes every run once more under its name; without any, the runs are plain."""

    @field_validator("analyses")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in ANALYSES:
                raise ValueError(f"{name!r} is none of {', '.join(ANALYSES)}")
        return names

    @classmethod
    def read(cls, path: Path) -> Grid:
        """Reads a TOML file.

        Raises:
            InputError: With file, field and reason.
        """
        try:
            return validate(cls, tomllib.loads(read_text(path)))
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None

    def part(self, models: Sequence[str] = (), modes: Sequence[str] = (), limit: int | None = None) -> Grid:
        """The part of a grid with only these models and modes, and perhaps fewer cases.

        Raises:
            InputError: If one of them is not in the grid.
        """
        for name, chosen, held in (("model", models, self.models), ("mode", modes, self.modes)):
            if missing := [one for one in chosen if one not in held]:
                raise InputError(f"--{name}: {missing[0]!r} is not in the grid, which has {', '.join(held)}")
        update: dict[str, Any] = {"limit": limit or self.limit}
        if models:
            update["models"] = tuple(one for one in self.models if one in models)
        if modes:
            update["modes"] = tuple(one for one in self.modes if one in modes)
        return self.model_copy(update=update)


class Cell(Record):
    """One run of a grid."""

    name: str
    """The name of its folder; equal runs of several grids share it."""
    options: RunOptions
    settings: Settings


def cells(grid: Grid, base: RunOptions) -> Iterator[Cell]:
    """The runs of a grid, those of one model together.

    Args:
        grid: The configuration.
        base: What the command line says: endpoints, concurrency, where the benchmark is.
    """
    variants = grid.variants or {"": Choice()}
    for model, mode, (variant, choice), seed in itertools.product(
        grid.models, grid.modes, variants.items(), grid.seeds
    ):
        chosen = choice.over(grid.settings).model_dump(exclude_none=True)
        stage = Budget(turns=chosen.pop("max_turns", 30), reply_tokens=chosen.pop("reply_tokens", 1_024))
        options = {key: chosen.pop(key) for key in ("json_mode", "native_tools", "timeout") if key in chosen}
        settings = Settings(mode=mode, seed=seed, execute_budget=stage, summarize_budget=stage, **chosen)
        derived = folder_part(settings.model_dump())
        parts = [model.replace("/", "_"), mode, variant, derived, f"seed{seed}" if seed else ""]
        if grid.limit:
            parts.append(f"{grid.pick}{grid.limit}")
        yield Cell(
            name="-".join(filter(None, parts)),
            options=base.model_copy(update={**options, "model": model, "limit": grid.limit, "pick": grid.pick}),
            settings=settings,
        )


def folders(grid: Grid, base: RunOptions, root: Path) -> list[Path]:
    """The folders of a grid's runs."""
    return [root / cell.name for cell in cells(grid, base)]


class GridBar:
    """One progress view for all runs of a grid."""

    def __init__(self, total: int, title: str) -> None:
        self._bar = tqdm.tqdm(total=total, desc=title, unit="case")
        self._name = ""

    def begin(self, name: str, total: int, done: int) -> None:
        """A run starts; what was done before counts as done."""
        self._name = name
        self._bar.update(done)

    def advance(self, passed: int, failed: int, at_once: int) -> None:
        """A case is over."""
        lost = f", errors={failed}" if failed else ""
        self._bar.set_postfix_str(f"{self._name}: passed={passed}{lost}, at once={at_once}")
        self._bar.update()

    def close(self) -> None:
        """Leaves the last line on the screen."""
        self._bar.close()


def run_grid(grid: Grid, base: RunOptions, root: Path) -> tuple[list[Summary], list[str]]:
    """Runs what is left of all runs of a grid.

    A model that fails in the middle ends its own runs only.

    Args:
        grid: The configuration.
        base: What the command line says.
        root: Where the runs' folders are.

    Returns:
        The summaries, and a line for each model whose runs did not come to their end.

    Raises:
        ModelUnavailable: If a model cannot be reached, before anything starts.
        InputError: If the benchmark cannot be read, or a folder holds another run.
    """
    held = list(cells(grid, base))
    cases = len(Benchmark.load(base.bench).tasks)
    require(grid, base)
    summaries: list[Summary] = []
    problems: list[str] = []
    bar = GridBar(len(held) * min(cases, grid.limit or cases), grid.title)
    try:
        for model, of_model in itertools.groupby(held, key=lambda cell: cell.options.model):
            try:
                with served(model, base.base_url) as started:
                    for cell in of_model:
                        options = cell.options.model_copy(update={"base_url": started or base.base_url})
                        summaries.append(run_experiment(options, cell.settings, root / cell.name, bar))
            except ModelUnavailable as error:
                problems.append(f"{model}: {error}")
    finally:
        bar.close()
    return summaries, problems


def require(grid: Grid, base: RunOptions) -> None:
    """Asks for every model of a grid: it answers, or a server can be started here when its turn comes.

    Raises:
        ModelUnavailable: If one cannot be had; the line says how to run the others.
    """
    for model in grid.models:
        try:
            if not startable(model, base.base_url):
                reach(model, base.base_url)
        except ModelUnavailable as error:
            more = "; --model NAME runs a part of the grid" if len(grid.models) > 1 else ""
            raise ModelUnavailable(f"{error}{more}") from None

"""Grids of runs of dialogues: models × settings, declared in a TOML file with `suite = "dialogue"`."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from experiments.dialogue.options import DialogueOptions
from experiments.dialogue.running import run_dialogues
from experiments.dialogue.services import require_talkers
from experiments.dialogue.tables import TABLES
from experiments.endpoints import served
from experiments.naming import named
from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.base.files import TOO_LONG, read_text, validate
from flowmind.cli.flags import flag_of, read_flags
from tools_registry.specs.spec import Record

_MOST_BYTES = 1_000_000
_PLACES = (
    "data", "shard", "base_url", "user_base_url", "judge_base_url", "concurrency", "timeout", "reuse", "sandbox",
    "require_isolation", "isolation", "procedures",
)  # fmt: skip
"""Settings of the machine, which a grid leaves to the flags."""
SETTABLE = tuple(name for name in DialogueOptions.model_fields if name not in (*_PLACES, "model"))
"""Settings that `[settings]` and `[runs.NAME]` may set."""


class DialogueGrid(Record):
    """A grid file."""

    suite: Literal["dialogue"]
    title: str
    tables: tuple[str, ...] = Field(min_length=1)
    """Keys of `experiments.dialogue.tables.TABLES`."""
    models: tuple[str, ...] = Field(min_length=1)
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of all runs, from `SETTABLE`."""
    runs: dict[str, dict[str, Any]] = Field(min_length=1)
    """Settings of each run; each is made with each model."""

    @field_validator("tables")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in TABLES:
                raise ValueError(f"{name!r} is none of {', '.join(TABLES)}")
        return names

    @field_validator("settings", "runs")
    @classmethod
    def _settable(cls, tables: dict[str, Any]) -> dict[str, Any]:
        for name, value in tables.items():
            for key in cast("dict[str, Any]", value) if isinstance(value, dict) else (name,):
                if key not in SETTABLE:
                    near = difflib.get_close_matches(key, SETTABLE, 1)
                    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(SETTABLE)}"
                    raise ValueError(f"{key!r}: there is no such setting; {advice}")
        return tables

    @classmethod
    def read(cls, path: Path) -> DialogueGrid:
        """Reads a TOML file.

        Raises:
            InputError: If the file is not a grid of dialogues.
        """
        try:
            return validate(cls, tomllib.loads(read_text(path, _MOST_BYTES)))
        except RecursionError:
            raise InputError(f"{path}: nested too deeply") from None
        except ValueError as error:
            long = "set_int_max_str_digits" in str(error)
            raise InputError(f"{path}: {TOO_LONG if long else error}") from None


def cells(
    grid: DialogueGrid, given: DialogueOptions, explicit: Collection[str] = ()
) -> Iterator[tuple[str, DialogueOptions]]:
    """The runs of a grid with the names of their folders; equal runs of several grids have the same folder.

    Args:
        grid: The grid.
        given: Settings of the machine; those of the sessions override the grid's if they are explicit.
        explicit: The names of settings that were given as flags.

    Raises:
        InputError: If the grid and a flag set the same setting, or the model of a flag is not in the grid.
    """
    fixed = {*grid.settings, *(name for run in grid.runs.values() for name in run)} - {"limit", "seed", "trials"}
    if both := sorted(fixed & {*explicit}):
        raise InputError(f"{flag_of(both[0])}: the grid sets {both[0]} itself; leave the flag out, or change the file")
    if "model" in explicit and given.model not in grid.models:
        raise InputError(f"--model: {given.model!r} is not in the grid, which has {', '.join(grid.models)}")
    own = given.model_dump(include={name for name in given.model_fields_set if name in (*_PLACES, *explicit)})
    done: set[str] = set()
    for model in (given.model,) if "model" in explicit else grid.models:
        for settings in grid.runs.values():
            options = read_flags(DialogueOptions, {**grid.settings, **settings, **own, "model": model})
            if (name := named(folder_name(options))) not in done:
                done.add(name)
                yield name, options


def folder_name(options: DialogueOptions) -> str:
    """The name of a run's folder: model, method and format, followed by settings that differ from the defaults."""
    method = options.kept
    parts = [options.model.replace(":", ""), options.method, method.format]
    if options.controllers is not None:
        parts.append("+".join(method.controllers) or "uncontrolled")
    if options.stages is not None:
        parts.append("+".join(method.stages) or "unstaged")
    plain = DialogueOptions()
    if options.procedures is not None:
        parts.append(options.procedures.resolve().name)
    for name, form in _NAMED.items():
        if (value := getattr(options, name)) != getattr(plain, name):
            parts.append(form.format(str(value).replace("/", "_").replace(":", "")))
    return "-".join(parts)


_NAMED = {
    "level": "{}", "oow": "oow", "scope": "{}", "user": "{}", "user_model": "{}", "judge": "judge_{}",
    "trials": "trials{}", "seed": "seed{}", "limit": "limit{}", "fail_tools": "fail{}", "handoff": "handoff",
    "nodes": "nodes", "temperature": "t{}", "json_mode": "json_{}",
}  # fmt: skip
"""The parts of a folder's name, by setting."""


def run_grid(path: Path, given: DialogueOptions, explicit: Collection[str], root: Path) -> tuple[list[Path], list[str]]:
    """Completes the runs of a grid. If a model fails, its remaining runs are skipped.

    Returns:
        The folders of the runs, and a line for each model that failed.

    Raises:
        InputError: If the grid or the data cannot be read, or a folder holds another run.
    """
    every = list(cells(DialogueGrid.read(path), given, explicit))
    for _, options in every:
        require_talkers(options)
    folders: list[Path] = []
    problems: list[str] = []
    for model in dict.fromkeys(options.model for _, options in every):
        try:
            with served(model, [given.base_url]) as url:
                for name, options in _of(every, model):
                    run_dialogues(options.model_copy(update={"base_url": url or options.base_url}), root / name)
                    folders.append(root / name)
        except ModelUnavailable as error:
            problems.append(str(error) if model in str(error) else f"{model}: {error}")
    return folders, problems


def _of(every: Sequence[tuple[str, DialogueOptions]], model: str) -> list[tuple[str, DialogueOptions]]:
    return [(name, options) for name, options in every if options.model == model]

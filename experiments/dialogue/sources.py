"""The data of a run: a dialogue benchmark with its golds and references, and the digests that identify it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.benches import build_once
from experiments.dialogue.options import DialogueOptions
from flowmind.base.checksums import digest
from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, read_model
from flowmind.formats.flowbench_rows import read_flowbench_rows
from flowmind.formats.sgd import read_sgd
from flowmind.formats.star import read_star
from flowmind.trace.recorded_dialogues import RecordedDialogues
from flowmind.trace.scenario import DialogueData, Reference, Session, SessionGold
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow

DEFAULT = Path("dialogues")
"""The folder of the data that is built when it does not exist."""
BUILD = ("-m", "flowbench_synth.cli", "dialogue", "build", "--seed", "0")
"""The arguments of Python that build it."""
FILES = (
    "scenarios.jsonl", "tools.jsonl", "tool_sources.jsonl", "databases.jsonl", "sessions.jsonl", "gold.jsonl",
    "references.jsonl",
)  # fmt: skip
"""The files whose digests identify a build, besides those of the workflows."""


@dataclass(frozen=True)
class Materials:
    """The data of a run."""

    data: DialogueData
    golds: Mapping[str, SessionGold]
    references: tuple[Reference, ...]
    """Empty if no turns are run."""
    build: dict[str, Any]
    """The name of the data, and the SHA-256 digests of its files."""
    followed: DialogueData
    """The data with the workflows that the agent is given and kept to."""


Read = Callable[[Path, bool], Materials]
"""Reads the data of a folder, with the references if the second argument is true."""


def read_built(folder: Path, references: bool) -> Materials:
    """Reads a folder that `flowbench_synth dialogue build` wrote.

    Raises:
        InputError: With file, line, field and reason.
    """
    if not (folder / "sessions.jsonl").exists():
        raise InputError(
            f"--data {folder}: no dialogue benchmark in this folder (no file sessions.jsonl); build one with "
            f"`flowbench_synth dialogue build --out {folder}`"
        )
    data = DialogueData.load(folder)
    turns = tuple(read_lines(folder / "references.jsonl", Reference)) if references else ()
    return Materials(data, data.golds(folder), turns, _build(folder), data)


def _build(folder: Path) -> dict[str, Any]:
    paths = [path for name in FILES if (path := folder / name).exists()]
    paths += sorted((folder / "workflows").glob("*.json"))
    name = folder.resolve().name
    return {"name": name, "sha256": {str(path.relative_to(folder)): digest(path) for path in paths}}


def ensure_dialogues(data: str) -> None:
    """Builds the default data if its folder is missing or empty; shows the progress on standard error.

    Raises:
        InputError: If it cannot be built.
    """
    if data == str(DEFAULT):
        build_once(DEFAULT, BUILD, f"flowmind: {DEFAULT}: building the dialogue benchmark, once (some minutes)")


def recorded(read: Callable[[Path], RecordedDialogues]) -> Read:
    """A reader of recorded dialogues."""

    def materials(folder: Path, references: bool) -> Materials:
        dialogues = read(folder)
        names = ("dialogues.jsonl.gz", "dialogues.jsonl")
        paths = [folder] if folder.is_file() else [path for name in names if (path := folder / name).exists()]
        paths = paths or sorted(folder.glob("*.jsonl"))
        build = {"name": dialogues.data.name, "sha256": {path.name: digest(path) for path in paths}}
        turns = dialogues.references if references else ()
        return Materials(dialogues.data, dialogues.golds, turns, build, dialogues.data)

    return materials


SOURCES: dict[str, Read] = {
    "star": recorded(read_star),
    "sgd": recorded(read_sgd),
    "rows": recorded(read_flowbench_rows),
}
"""Readers of other data, by the word before the colon of `--data`."""


def read_materials(options: DialogueOptions) -> Materials:
    """The data of a run.

    Raises:
        InputError: If it cannot be read, or has nothing of what the options ask for.
    """
    kind, colon, place = options.data.partition(":")
    if colon and kind in SOURCES:
        materials = SOURCES[kind](Path(place), options.level == "turn")
    elif colon and not Path(options.data).exists():
        known = ", ".join([*(f"{name}:DIR" for name in SOURCES), "DIR"])
        raise InputError(f"--data {options.data}: there is no such source; take one of: {known}")
    else:
        materials = read_built(Path(options.data), options.level == "turn")
    if options.procedures is None:
        return materials
    return replace(materials, followed=_with_procedures(materials.data, options.procedures))


def _with_procedures(data: DialogueData, folder: Path) -> DialogueData:
    """The data with other workflows.

    Raises:
        InputError: If the folder has none, or one that no scenario has the name of, or one that is not sound.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise InputError(f"--procedures {folder}: no workflow in this folder (<scenario>.json)")
    scenarios = dict(data.scenarios)
    for path in paths:
        if path.stem not in scenarios:
            raise InputError(f"--procedures {path}: no scenario of the data has the id {path.stem!r}")
        scenario = scenarios[path.stem]
        workflow = read_model(path, Workflow)
        specs = data.specs_of(scenario.tools)
        if problems := check(workflow, specs):
            raise InputError(f"--procedures {path}: {problems[0]}")
        scenarios[path.stem] = scenario.model_copy(update={"workflow": workflow})
    return data.model_copy(update={"scenarios": scenarios})


def chosen_sessions(data: DialogueData, options: DialogueOptions) -> list[Session]:
    """The sessions of a run: those of the scope, up to the limit; one of each scenario in turn.

    Raises:
        InputError: If there is none.
    """
    fitting = [row for row in data.sessions.values() if options.scope in (None, row.scope)]
    if options.oow:
        fitting = [row for row in fitting if row.interventions]
    if not fitting:
        form = " with interventions" if options.oow else ""
        raise InputError(f"--data {options.data}: no {options.scope or ''} session{form} in it".replace("  ", " "))
    chosen = {row.id for row in in_turn(fitting, [row.goals[0].scenario for row in fitting])[: options.limit]}
    return [row for row in fitting if row.id in chosen]


def chosen_references(materials: Materials, options: DialogueOptions) -> list[Reference]:
    """The turns of a run: those of the form and the scope, up to the limit; one of each scenario in turn.

    Raises:
        InputError: If there is none.
    """
    sessions = materials.data.sessions
    fitting = [
        row
        for row in materials.references
        if row.oow == options.oow and options.scope in (None, sessions[row.session].scope)
    ]
    if not fitting:
        raise InputError(f"--data {options.data}: no reference turn of these sessions in it")
    scenarios = [sessions[row.session].goals[0].scenario for row in fitting]
    chosen = {row.id for row in in_turn(_stepped(fitting), _stepped(scenarios))[: options.limit]}
    return [row for row in fitting if row.id in chosen]


def _stepped(rows: Sequence[Any]) -> list[Any]:
    """Rows in steps of seven, so that a small part of the turns has turns from all parts of sessions."""
    return [row for begin in range(7) for row in rows[begin::7]]


def in_turn(rows: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Rows so that each key has one in turn; the order within a key is kept."""
    lanes: dict[str, list[Any]] = {}
    for row, key in zip(rows, keys, strict=True):
        lanes.setdefault(key, []).append(row)
    longest = max(map(len, lanes.values()), default=0)
    return [lane[index] for index in range(longest) for lane in lanes.values() if index < len(lane)]

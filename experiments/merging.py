"""Puts the shards of a run together: the folder becomes that of a run that one process made."""

from __future__ import annotations

import filecmp
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, cast

import tqdm

from experiments.dialogue.running import DialogueFolder, summarize_dialogues
from experiments.dialogue.summing import tables as session_tables
from experiments.folder import Run, RunFolder
from experiments.record import Kept
from experiments.runner import summarize_run
from experiments.shards import Shard, shards_in, without_shard
from experiments.tables import terminal_table
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.running import summarize_rows
from experiments.worfbench.summing import tables as row_tables
from flowmind.base import checksums as store
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_text, reading, write_all, write_text
from flowmind.base.folders import LINK, opened

MACHINE = ("platform", "servers", "isolation")
"""Fields of a manifest that may differ from shard to shard, as they may from one part of a resumed run to the next."""
_DIFFERENCES = "crosscheck.jsonl"
_OWN = {"manifest.json", "records.jsonl", "summary.json", "summary.md", _DIFFERENCES}
"""Files of a shard that are not copied."""
_BLOCK = 1_000_000
_FEW = 5
"""The most cases that an error names."""


class Merged(NamedTuple):
    """A merged run."""

    folder: Path
    tables: str
    """Its metrics for the terminal."""
    errors: int
    """The number of cases that ended with an infrastructure error."""


class _Part(NamedTuple):
    """A shard that is read."""

    shard: Shard
    folder: RunFolder[Any]
    records: dict[str, Kept]

    @property
    def cases(self) -> list[str]:
        """The ids of its cases, in their order."""
        return cast(list[str], self.folder.manifest["dealt"]["cases"])


def sharded(folder: Path) -> list[Path]:
    """The folders of runs that have shards: the folder itself, or folders in it.

    Raises:
        InputError: If there is none.
    """
    inner = sorted(folder.iterdir()) if folder.is_dir() else []
    if runs := [path for path in (folder, *inner) if path.is_dir() and shards_in(path)]:
        return runs
    raise InputError(f"{folder}: no shards in it (folders such as shard-1-of-8); `flowmind exp --shard K/N` makes them")


def merge(folder: Path) -> Merged:
    """Puts the shards of a run together, and shows the progress on standard error.

    The files of the cases are copied, then the records, the manifest and the summary are written. Until the manifest is
    there, the folder holds no run; an interrupted merge is repeated from the start. The shards are not changed. A case
    that failed in its shard and was finished in the merged run later is kept as it is there.

    Args:
        folder: The folder with the shards.

    Raises:
        InputError: If shards differ in their settings, a shard or a case is missing or there twice, a shard is being
            worked on, a file is damaged, or the folder holds another run.
    """
    found = shards_in(folder)
    _require_all(folder, found)
    with ExitStack() as stack:
        for path in found.values():
            stack.enter_context(RunFolder(path, Kept).locked())
        parts = [_read(shard, found[shard]) for shard in sorted(found, key=lambda shard: shard.number)]
        manifest = _common(parts)
        _require_cases(parts)
        target = _opened(folder, manifest["settings"])
        stack.enter_context(target.locked())
        records = {id: part.records[id] for part in parts for id in part.records}
        kept = _kept(target, manifest, records)
        files = [(part.folder.folder, place) for part in parts for place in _files(part, kept)]
        for source, place in tqdm.tqdm(files, desc=f"merging {folder.name}", unit="file"):
            _copy(source / place, folder / place, folder)
        _join_differences(parts, folder)
        records |= kept
        target.write_records([records[id] for id in _in_turn(parts)])
        target.begin(manifest)
        tables = _summarize(folder, manifest["settings"])
    return Merged(folder, tables, sum(record.error is not None for record in records.values()))


def _opened(folder: Path, settings: Mapping[str, Any]) -> RunFolder[Any]:
    """The folder of a run with these settings, or of a shard of it."""
    suite = _suite(settings)
    if suite == "dialogue":
        return DialogueFolder(folder, settings["level"])
    return RunFolder(folder, RowRecord) if suite == "worfbench" else Run(folder)


def _summarize(folder: Path, settings: Mapping[str, Any]) -> str:
    """Writes the summary of a run; returns the tables for the terminal."""
    suite = _suite(settings)
    if suite == "dialogue":
        return session_tables(summarize_dialogues(folder))
    return row_tables(summarize_rows(folder)) if suite == "worfbench" else terminal_table([summarize_run(folder)])


def _suite(settings: Mapping[str, Any]) -> str:
    return str(settings["mode"]).partition("-")[0]


def _require_all(folder: Path, found: Mapping[Shard, Path]) -> None:
    """Requires every shard of one division.

    Raises:
        InputError: If there are several divisions, or a shard is missing.
    """
    if len(counts := sorted({shard.of for shard in found})) > 1:
        raise InputError(
            f"{folder}: shards of {counts[0]} and of {counts[1]} parts; move those of one division elsewhere"
        )
    begun = {shard.number: path for shard, path in found.items() if (path / "manifest.json").exists()}
    if not begun:
        raise InputError(f"{folder}: no shard has begun")
    if missing := [Shard(number=number, of=counts[0]) for number in range(1, counts[0] + 1) if number not in begun]:
        dealt = RunFolder(next(iter(begun.values())), Kept).manifest.get("dealt", {})
        names = ", ".join(map(str, missing[:_FEW])) + (" …" if len(missing) > _FEW else "")
        raise InputError(
            f"{folder}: {len(missing)} of {counts[0]} shards missing: {names}; make the first with "
            f"`{missing[0].command(dealt.get('command', 'flowmind exp'))}`"
        )


def _read(shard: Shard, path: Path) -> _Part:
    """A shard with its records, after its files are verified.

    Raises:
        InputError: If the folder holds another shard, or a file is damaged.
    """
    manifest = RunFolder(path, Kept).manifest
    folder = _opened(path, manifest["settings"])
    if manifest.get("shard") != str(shard) or not isinstance(manifest.get("dealt"), dict):
        raise InputError(f"{path}: its manifest is that of {manifest.get('shard') or 'no shard'}, not of {shard}")
    part = _Part(shard, folder, folder.records())
    remedy = f"remove that line and the line of this case in {folder.records_path}; `{_again(part)}` restores them"
    for file in sorted((path / "exchanges").glob("*.jsonl")):
        store.verify(file, remedy)
    return part


def _again(part: _Part) -> str:
    return part.shard.command(str(part.folder.manifest["dealt"].get("command", "flowmind exp")))


def _common(parts: Sequence[_Part]) -> dict[str, Any]:
    """The manifest of the run. If machines differed, it has in `shards` the fields of those that differ from the first.

    Raises:
        InputError: If shards differ in anything else; with all differences of the first two that differ.
    """
    first, *others = (without_shard(part.folder.manifest) for part in parts)
    machines: dict[str, Any] = {}
    for part, other in zip(parts[1:], others, strict=True):
        differences = list(_differences(first, other))
        if wrong := [text for key, text in differences if key not in MACHINE]:
            raise InputError(
                f"{part.folder.folder} is no part of the same run as {parts[0].folder.folder}: {'; '.join(wrong)}"
            )
        if keys := {key for key, _ in differences}:
            machines[str(part.shard)] = {key: other.get(key) for key in MACHINE if key in keys}
    return {**first, "shards": machines} if machines else first


def _differences(first: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys in which two manifests differ, each with the values of both in words."""
    for key in dict.fromkeys([*first, *other]):
        mine, theirs = first.get(key), other.get(key)
        if mine == theirs:
            continue
        if isinstance(mine, dict) and isinstance(theirs, dict):
            pair = cast("tuple[dict[str, Any], dict[str, Any]]", (mine, theirs))
            inner = ((key, f"{key}.{text}") for _, text in _differences(*pair))
            yield from inner
        else:
            yield key, f"{key} is {_shown(theirs)} instead of {_shown(mine)}"


def _shown(value: Any) -> str:
    text = dump_json(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _require_cases(parts: Sequence[_Part]) -> None:
    """Requires that each case is in one shard, and has a record.

    Raises:
        InputError: If one is twice, or missing, or belongs to no shard; with the cases and the command that makes them.
    """
    owners: dict[str, _Part] = {}
    for part in parts:
        for id in part.cases:
            if id in owners:
                raise InputError(f"{part.folder.folder}: {id!r} is a case of {owners[id].folder.folder} as well")
            owners[id] = part
    for part in parts:
        if foreign := [id for id in part.records if owners.get(id) is not part]:
            raise InputError(f"{part.folder.records_path}: {_named(foreign)} belong to no case of this shard")
    for part in parts:
        if missing := [id for id in part.cases if id not in part.records]:
            raise InputError(
                f"{part.folder.folder}: {len(missing)} of {len(part.cases)} cases missing: {_named(missing)}; make "
                f"them with `{_again(part)}`"
            )


def _named(ids: list[str]) -> str:
    return ", ".join(map(repr, ids[:_FEW])) + (" …" if len(ids) > _FEW else "")


def _in_turn(parts: Sequence[_Part]) -> Iterable[str]:
    """The ids of the cases in the order in which the whole run has them."""
    rounds = itertools.zip_longest(*(part.cases for part in parts))
    return [id for dealt in rounds for id in dealt if id is not None]


def _kept(target: RunFolder[Any], manifest: dict[str, Any], records: Mapping[str, Kept]) -> dict[str, Kept]:
    """The records of an earlier merge that are newer than those of the shards.

    Raises:
        InputError: If the folder holds another run, or cases that no shard has, or other records.
    """
    if not target.exists:
        return {}
    target.require_same(manifest)
    kept: dict[str, Kept] = {}
    for id, record in target.records().items():
        if id in records and (record == records[id] or record.error is not None):
            continue
        if id not in records or records[id].error is None:
            what = "of a case that no shard has" if id not in records else "that is not the one of its shard"
            raise InputError(
                f"{target.records_path}: a record {what} ({id!r}), which a merge would lose; move the shards to "
                "another folder and merge them there"
            )
        kept[id] = record
    return kept


def _files(part: _Part, kept: Collection[str]) -> Iterator[Path]:
    """The files of a shard that are copied, below its folder; not those of cases that the merged run keeps."""
    source = part.folder.folder
    for place in sorted(path.relative_to(source) for path in source.rglob("*") if path.is_symlink() or path.is_file()):
        inside = len(place.parts) > 1
        if place.name.startswith(".") or (place.stem in kept if inside else place.name in _OWN):
            continue
        yield place


def _copy(source: Path, target: Path, root: Path) -> None:
    """Copies a file, unless it is there already.

    Raises:
        InputError: If one of them is a link, or it cannot be copied.
    """
    try:
        if source.is_symlink():
            raise InputError(f"{source}: {LINK}")
        if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
            return
        with (
            reading(source) as content,
            opened(target.parent, root, create=True) as folder,
            folder.replacing(target.name) as file,
        ):
            while part := content.read(_BLOCK):
                write_all(file, part)
    except OSError as error:
        raise InputError(f"{error.filename or target}: {error.strerror or error}") from None


def _join_differences(parts: Sequence[_Part], folder: Path) -> None:
    """Writes the differences between two sandboxes that the shards found, each once."""
    paths = [part.folder.folder / _DIFFERENCES for part in parts]
    if present := [path for path in paths if path.exists()]:
        lines = dict.fromkeys(line for path in present for line in read_text(path).splitlines(keepends=True))
        write_text(folder / _DIFFERENCES, "".join(lines))

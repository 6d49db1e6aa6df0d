"""`flowmind jit`: the versions and runs in a store of `flowmind.jit`."""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, write_text
from flowmind.base.outputs import require_file

if TYPE_CHECKING:
    from flowmind.jit.store import Store
    from flowmind.jit.versions import VersionRecord
    from tools_registry.specs.spec import ToolSpec

_ARGUMENTS = {
    "ls": (0, 1, "[HANDLE]", "list the versions, and check the log of events"),
    "show": (1, 1, "VERSION", "draw a version, with its evidence"),
    "diff": (2, 2, "VERSION VERSION", "show what changed between two versions"),
    "stats": (0, 1, "[HANDLE]", "hits, fallbacks by guard, agreement and savings"),
    "runs": (0, 1, "[HANDLE]", "list the latest runs"),
    "explain": (1, 1, "RUN", "show what became of a run"),
    "promote": (1, 1, "VERSION", "make a version live; needs --by"),
    "retire": (1, 1, "VERSION", "take a version out of use"),
    "derive": (0, 1, "[HANDLE]", "derive a version from the stored executions"),
    "export": (1, 1, "VERSION", "write the document of a version"),
    "gc": (0, 0, "", "delete runs that are older than --keep-days"),
}
_NAMING = """A version is named by its id or the beginning of it. The name of a handle stands for its live
version, else for the one in shadow; for promote, for the one in shadow."""
_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags, and a list of the actions."""
    width = max(len(f"{name} {names}") for name, (_, _, names, _) in _ARGUMENTS.items())
    lines = [f"  {f'{name} {names}':<{width}}  {help}" for name, (_, _, names, help) in _ARGUMENTS.items()]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["actions:", *lines, "", _NAMING])
    parser.add_argument("action", choices=list(_ARGUMENTS), metavar="ACTION", help="what to do, see below")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a handle, versions or a run")
    parser.add_argument("--store", type=Path, default=Path("flows.db"), metavar="FILE", help="default flows.db")
    parser.add_argument("--by", default="", metavar="NAME", help="promote: who answers for the version")
    parser.add_argument("--reason", default="", metavar="TEXT", help="retire: why")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="runs: how many; default 20")
    parser.add_argument("--keep-days", type=float, metavar="N", help="gc: the days that runs are kept")
    parser.add_argument("--out", type=Path, metavar="FILE", help="export: write to this file")
    parser.add_argument("--json", action="store_true", help="ls, stats, runs, diff: print JSON")


def run(options: argparse.Namespace) -> int:
    """Does what is asked; 1 if two versions differ."""
    least, most, names, _ = _ARGUMENTS[options.action]
    if not least <= len(options.names) <= most:
        raise InputError(f"jit {options.action}: give {names or 'no name'}, not {len(options.names)} names")
    require_file("--out", options.out, options.store)
    from flowmind.jit.store import Store

    store = Store(options.store, make=False)
    try:
        return _ACTIONS[options.action](store, options)
    finally:
        store.close()


def _ls(store: Store, options: argparse.Namespace) -> int:
    events = store.verify_events()
    handles = [options.names[0]] if options.names else store.handles()
    rows: list[dict[str, Any]] = []
    for handle in handles:
        store.handle(handle)
        for record in store.versions(handle):
            agreed, count = store.rehearsed(record)
            rows.append({
                "version": record.id, "handle": handle, "state": record.state, "traces": record.knowledge.traces,
                "rehearsals": count, "agreed": agreed, "derived": _time(record.made), "by": record.by,
                "reason": record.reason,
            })  # fmt: skip
    if options.json:
        print(dump_json({"events": events, "handles": handles, "versions": rows}, indent=1))
        return 0
    header = ("version", "handle", "state", "traces", "agreed", "derived", "note")
    cells = [
        (
            row["version"], row["handle"], row["state"], str(row["traces"]), f"{row['agreed']} of {row['rehearsals']}",
            row["derived"], f"by {row['by']}" if row["state"] == "live" else row["reason"],
        )
        for row in rows
    ]  # fmt: skip
    print("\n".join(_table([header, *cells])))
    if lonely := [handle for handle in handles if all(row["handle"] != handle for row in rows)]:
        print(f"without a version: {', '.join(lonely)}")
    print(f"{events} events; their hashes are intact")
    return 0


def _show(store: Store, options: argparse.Namespace) -> int:
    from flowmind.cli.converting import rivals_line
    from flowmind.formats.terminal import to_terminal

    record = _version(store, options.names[0])
    known = record.knowledge
    print(f"version {record.id} of {record.handle}: {record.state}{f', by {record.by}' if record.by else ''}")
    print(f"derived {_time(record.made)} in {record.seconds:.2f} s, from {known.traces} traces")
    print(to_terminal(record.workflow, shutil.get_terminal_size((160, 24)).columns), end="")
    print(f"\nways taken: {_counts(known.arms)}")
    print(f"calls made: {_counts(known.visits)}")
    if rivals := rivals_line(record.workflow):
        print(f"rivals: {rivals}")
    if record.reason:
        print(f"retired: {record.reason}")
    return 0


def _diff(store: Store, options: argparse.Namespace) -> int:
    from flowmind.cli.diff import compared

    before, after = (_version(store, name) for name in options.names)
    return compared(before.workflow, after.workflow, _specs(store, after.handle), options.json)


def _stats(store: Store, options: argparse.Namespace) -> int:
    from flowmind.jit.stats import stats_of

    stats = [stats_of(store, handle) for handle in ([_handle(store, options)] if options.names else store.handles())]
    if options.json:
        print(dump_json([{"handle": each.handle, **dict(each.rows())} for each in stats], indent=1))
    else:
        print("\n\n".join(map(str, stats)) or "no handles")
    return 0


def _runs(store: Store, options: argparse.Namespace) -> int:
    if options.limit < 1:
        raise InputError(f"--limit: {options.limit} is not a number of runs; give 1 or more")
    if options.names:
        store.handle(options.names[0])
    runs = store.runs(options.names[0] if options.names else "", options.limit)
    if options.json:
        print(dump_json([run._asdict() for run in runs], indent=1))
        return 0
    header = ("run", "handle", "at", "what", "guard", "inputs", "rehearsal")
    cells = [
        (
            run.id, run.handle, _time(run.at), run.kind, run.guard or "", _cut(dump_json(run.inputs)),
            run.verdict or "",
        )
        for run in runs
    ]  # fmt: skip
    print("\n".join(_table([header, *cells])))
    return 0


def _explain(store: Store, options: argparse.Namespace) -> int:
    from flowmind.jit.stats import explained

    print(explained(store, options.names[0]))
    return 0


def _promote(store: Store, options: argparse.Namespace) -> int:
    from flowmind.jit.engine import promote

    if not options.by.strip():
        raise InputError("jit promote: say who answers for the version, with --by NAME")
    record = _version(store, options.names[0], ("shadow",))
    promote(store, record, options.by)
    print(f"version {record.id} of {record.handle} is live")
    return 0


def _retire(store: Store, options: argparse.Namespace) -> int:
    record = _version(store, options.names[0])
    store.move(record, "retired", reason=options.reason or "retired by hand")
    print(f"version {record.id} of {record.handle} is retired")
    return 0


def _derive(store: Store, options: argparse.Namespace) -> int:
    from flowmind.jit.learning import derive_stored

    handle = _handle(store, options)
    derived, record = derive_stored(store, handle)
    if record is None:
        print(f"{handle}: {derived}")
        return 1
    print(f"version {record.id} of {handle} is {record.state}, from {record.knowledge.traces} traces")
    return 0


def _export(store: Store, options: argparse.Namespace) -> int:
    text = _version(store, options.names[0]).workflow.to_json()
    if options.out is None:
        print(text, end="")
    else:
        write_text(options.out, text)
    return 0


def _gc(store: Store, options: argparse.Namespace) -> int:
    days = options.keep_days
    if days is None or not math.isfinite(days) or days <= 0:
        raise InputError("jit gc: say how many days runs are kept, with --keep-days N")
    count = store.clean(days)
    store.compact()
    print(f"{count} runs deleted")
    return 0


_ACTIONS: dict[str, Callable[[Any, argparse.Namespace], int]] = {
    "ls": _ls, "show": _show, "diff": _diff, "stats": _stats, "runs": _runs, "explain": _explain,
    "promote": _promote, "retire": _retire, "derive": _derive, "export": _export, "gc": _gc,
}  # fmt: skip


def _version(store: Store, name: str, states: Sequence[str] = ("live", "shadow")) -> VersionRecord:
    """The version with this id; or that of the handle with this name in the first of the states that it has one in."""
    from flowmind.jit.versions import chosen_version

    records = store.versions()
    if name not in store.handles() or any(record.id.startswith(name) for record in records):
        return chosen_version(records, name, str(store.path))
    own = [record for record in records if record.handle == name]
    state = next((state for state in states if any(record.state == state for record in own)), states[-1])
    return chosen_version(own, "", name, (state,))


def _handle(store: Store, options: argparse.Namespace) -> str:
    """The named handle; without a name the only one.

    Raises:
        InputError: If there is none, or several and no name.
    """
    handles = store.handles()
    if options.names:
        store.handle(options.names[0])
        return options.names[0]
    if len(handles) != 1:
        raise InputError(f"jit {options.action}: name the handle; there are {', '.join(handles) or 'none'}")
    return handles[0]


def _specs(store: Store, handle: str) -> dict[str, ToolSpec]:
    from tools_registry.specs.spec import ToolSpec

    specs = [ToolSpec.model_validate(spec) for spec in store.handle(handle)[2]]
    return {spec.name: spec for spec in specs}


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

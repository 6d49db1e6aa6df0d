"""`flowmind traces`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, write_text
from flowmind.base.outputs import require_file
from flowmind.base.texts import one_line
from flowmind.cli.arguments import add_out
from flowmind.formats.traces import READERS
from flowmind.formats.traces.cases import ANSWER_RULES

if TYPE_CHECKING:
    from flowmind.formats.traces.imported import Imported
    from flowmind.trace.events import Trace

_TO = ("flowmind", "openai")
_SHOWN = 160
_COLUMNS = ("#", "id", "format", "inputs", "calls", "stop", "lost")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags, and a list of the formats."""
    width = max(map(len, READERS))
    lines = [f"  {name:<{width}}  {reader.title}" for name, reader in READERS.items()]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["formats:", *lines])
    parser.add_argument("action", choices=["ls", "show", "convert"], metavar="ls|show|convert", help="what to do")
    parser.add_argument(
        "traces", type=Path, metavar="PATH", help="recorded runs: JSON, JSON Lines, .eval, or SQLite; also as .gz"
    )
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="show: the number or the id of a trace; default 1")
    add_reading(parser)
    parser.add_argument("--to", choices=_TO, default="flowmind", help="convert: the format to write; default flowmind")
    add_out(parser, "convert: write to this file instead of standard output")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that say how recordings are read."""
    parser.add_argument(
        "--from", dest="form", choices=[*READERS], metavar="FORMAT",
        help=f"format of the recordings: {', '.join(READERS)}; by default their structure decides",
    )  # fmt: skip
    parser.add_argument(
        "--redact", action="append", metavar="REGEX",
        help="remove texts that match, besides keys and passwords; can be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--answer", choices=ANSWER_RULES,
        help="what the answer of a run is; by default the recorded one if it is a value and not prose, else the calls "
        "that write (effects) if there are any, else the last result",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Lists, shows or converts the traces."""
    from flowmind.formats.traces import read

    if options.trace is not None and options.action != "show":
        raise InputError(f"{options.trace!r}: only show takes a trace")
    if options.out is not None and options.action != "convert":
        raise InputError(f"--out: {options.action} writes no file; convert does")
    require_file("--out", options.out, options.traces)
    imported = read(options.traces, options.form, options.redact or ())
    if options.action == "convert":
        return _convert(imported, options)
    if options.action == "ls":
        print("\n".join(_table(imported)))
    else:
        number = _chosen(imported, options.trace or "1", options.traces)
        print("\n".join(_lines(number, imported[number])))
    return 0


def _convert(imported: Sequence[Imported], options: argparse.Namespace) -> int:
    from flowmind.formats.tool_schema import specs_of_traces
    from flowmind.formats.traces.cases import NoInputs, cases_of

    specs = specs_of_traces(one.trace for one in imported)
    for one in imported:
        specs |= one.specs
    traces = [one.trace for one in imported]
    notes: list[str] = []
    try:
        cases = cases_of(imported, specs, options.answer)
        traces = [trace for number, trace in enumerate(cases.traces) if number not in cases.left_out]
        notes += [f"trace {number + 1} is left out: {reason}" for number, reason in sorted(cases.left_out.items())]
        notes += cases.notes
    except NoInputs as error:
        if options.answer is not None:
            raise InputError(f"{options.traces}: {error}") from None
        notes.append(f"the traces are written without inputs: {error}")
    lines = [dump_json(_written(trace, options.to)) for trace in traces]
    text = "".join(f"{line}\n" for line in lines)
    if options.out is None:
        print(text, end="")
    else:
        write_text(options.out, text)
    for note in notes:
        print(one_line(note), file=sys.stderr)
    return 0


def _written(trace: Trace, form: str) -> dict[str, Any]:
    """A trace in a format that is written."""
    from flowmind.formats.openai_messages import messages_of_trace

    if form == "flowmind":
        return trace.dump()
    answer = {"answer": trace.answer} if trace.executed else {}
    success = {} if trace.success is None else {"success": trace.success}
    id = {"id": trace.source.id} if trace.source and trace.source.id else {}
    inputs = {"inputs": trace.inputs} if trace.inputs else {}
    return {**id, **inputs, "messages": messages_of_trace(trace), **answer, **success}


def _table(imported: Sequence[Imported]) -> Iterator[str]:
    """A line for each trace under the names of the columns."""
    rows = [_COLUMNS, *(_row(number, one) for number, one in enumerate(imported, 1))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(number: int, one: Imported) -> tuple[str, ...]:
    trace, source = one.trace, one.trace.source
    failed = sum(not call.observation.ok for call in trace.calls)
    calls = f"{len(trace.calls)}" + (f" ({failed} failed)" if failed else "")
    inputs = ", ".join(trace.inputs) if one.given else "not stated"
    return (
        str(number), _short(source.id if source else "", 40) or "-", source.format if source else "flowmind",
        _short(inputs, 40) or "none", calls, trace.stop, _short("; ".join(one.lost), 80) or "-",
    )  # fmt: skip


def _chosen(imported: Sequence[Imported], name: str, path: Path) -> int:
    """The index of a trace by its number or its id.

    Raises:
        InputError: If there is none.
    """
    ids = [one.trace.source.id if one.trace.source else "" for one in imported]
    if name in ids:
        return ids.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(imported):
        return int(name) - 1
    raise InputError(f"{path}: there is no trace {name!r}; give a number from 1 to {len(imported)}, or an id of `ls`")


def _lines(number: int, one: Imported) -> Iterator[str]:
    """A trace for a reader: its recording, its events, and its answer."""
    from flowmind.trace.events import Called, Planned, Refused, Said

    trace, source = one.trace, one.trace.source
    about = source.model_dump(exclude={"request"}, exclude_defaults=True) if source else {"format": "flowmind"}
    yield f"trace {number + 1}: " + ", ".join(f"{name} {value}" for name, value in about.items())
    yield f"inputs: {_short(dump_json(trace.inputs)) if one.given else 'not stated'}"
    turn: int | None = None
    for event in trace.events:
        if isinstance(event, Said | Called | Refused | Planned) and event.turn != turn:
            turn = event.turn
            yield f"turn {turn}"
        match event:
            case Said():
                yield f"  {event.role}: {_short(event.text)}"
            case Called():
                error = event.observation.error
                result = (
                    _short(dump_json(event.observation.value)) if error is None else f"{error.type}: {error.message}"
                )
                seconds = "" if event.seconds is None else f" ({event.seconds:.3g} s)"
                yield f"  {event.call.tool}({_short(dump_json(event.call.args))}){seconds}"
                yield f"    {'→' if error is None else '✗'} {_short(result)}"
            case Refused():
                yield f"  {event.call.tool}({_short(dump_json(event.call.args))})"
                yield f"    refused by {event.by}: {_short(event.reason)}"
            case _:
                yield f"  {event.kind}"
    answer = f", answer {_short(dump_json(trace.answer))}" if trace.executed else ""
    yield f"stop: {trace.stop}{answer}"
    yield from (f"lost: {line}" for line in one.lost)


def _short(text: str, most: int = _SHOWN) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"

"""The report: one HTML file that needs nothing else, with the tables, the figures and every case of some runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from experiments import figures
from experiments.analyses import analyse, table1
from experiments.casebook import casebook, pack, read_cases, signatures
from experiments.folder import Run
from experiments.loading import Loaded, cells
from experiments.record import CaseRecord
from experiments.tables import ABOUT_GOLD, PAPER, Table, share, shown, tests_passed
from flowmind.base.errors import InputError
from flowmind.base.files import write_text
from flowmind.formats import svg

MOST_BYTES = 5_000_000
"""Of a report on 141 cases in 4 modes, or fewer; on more cases as much more."""
_CASES = 564
_CUTS = (4_000, 2_000, 1_000, 500, 250, 120, 60, 30)
"""Characters of one text: the first with which the report is small enough, else the last."""
_EXTRA = ("jinja2", "matplotlib")
_TEMPLATES = Path(__file__).parent / "templates"
_RATE = re.compile(r"([\d.]+)( \([\d/]+\)(?: \[[\d., ]+\])?| \[[\d., ]+\])")
_FIGURE = re.compile(r"[\d.,–-]+")
_ABOUT_INTERVALS = (
    "An interval in brackets is where the rate would lie with 95 % confidence if cases like these were drawn anew. "
    "Where two intervals overlap widely, the data do not tell the two apart; the paired comparison on the same cases "
    "is the sharper one. No interval speaks of another prompt, another server or another benchmark."
)
_ABOUT_PAPER = (
    "The paper's figures stand beside ours in rows of their own. They come from its benchmark, its prompts and single "
    "runs: a difference to ours is not the model's alone."
)
_ABOUT_SEARCH = (
    "`search` is no language model: it finds tool sequences by search over the examples. Its rates say how far that "
    "goes, and nothing of language models."
)


@dataclass(frozen=True)
class Cell:
    """A table's cell: a figure with what is said less loudly beside it, or a text."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Row:
    """A table's row; of the paper's rows the mark is taken off the name."""

    name: str
    paper: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Made:
    """What a run was made of, as the report's head shows it."""

    name: str
    folder: str
    benchmark: str
    cases: int
    errors: int
    when: str
    details: tuple[tuple[str, str], ...]
    """Headings with text: settings, versions, servers."""


def write_report(
    runs: Sequence[Loaded], out: Path, title: str | None = None, analyses: Sequence[str] | None = None
) -> int:
    """Writes the report on some runs; equal runs give equal bytes.

    Args:
        runs: At least one.
        out: The HTML file.
        title: Of the page.
        analyses: Which tables, by their keys; all that the runs have something for, if not given.

    Returns:
        The bytes written.

    Raises:
        InputError: If there is no run, a trace or a workflow cannot be read, or the extra `report` is not installed.
    """
    if any(find_spec(name) is None for name in _EXTRA):
        raise InputError("install the extra report: pip install 'flowmind-es[report]'")
    if not runs:
        raise InputError("no run to report on: name a run's folder")
    names = run_names(runs)
    cases = read_cases(runs)
    tools = signatures(runs, cases)
    content: dict[str, Any] = {
        "title": title or "FlowMind report",
        "made": [_made(name, run) for name, run in zip(names, runs, strict=True)],
        "summary": _summary(runs),
        "rates": _told_rates(runs),
        "figures": figures.draw(runs),
        "tables": analyse(runs, analyses),
        "outcomes": figures.OUTCOMES,
    }
    most = MOST_BYTES * max(1.0, len(cases) / _CASES)
    page = b""
    for cut in _CUTS:
        page = _page(content, pack(casebook(cases, names, tools, cut))).encode("utf-8", "replace")
        if len(page) <= most:
            break
    write_text(out, page.decode())
    return len(page)


def run_names(runs: Sequence[Loaded]) -> list[str]:
    """A name for each run that no other one has: its label, with the seed and the folder where it takes them."""
    names = _told_apart([run.label for run in runs], [f"seed {run.seed}" for run in runs])
    names = _told_apart(names, [run.folder.name for run in runs])
    return _told_apart(names, [f"number {number}" for number in range(1, len(runs) + 1)])


def _told_apart(names: Sequence[str], more: Sequence[str]) -> list[str]:
    return [f"{name}, {word}" if names.count(name) > 1 else name for name, word in zip(names, more, strict=True)]


def _page(content: dict[str, Any], packed: str) -> str:
    """The page; its policy lets nothing run, and nothing style it, but the two texts that it brings."""
    import jinja2

    script, style = _read("report.js"), _read("report.css") + figures.STYLE + svg.STYLE
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = environment.from_string(_read("report.html"))
    return template.render(
        **content, parts=_parts, rows=_rows, columns=_columns, script=script, style=style, policy=policy, packed=packed
    )


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A text as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _parts(text: str) -> list[tuple[str, bool]]:
    """A text in parts, each with whether it stands in backticks."""
    return [(part, number % 2 == 1) for number, part in enumerate(text.split("`")) if part]


def _rows(table: Table) -> list[Row]:
    return [Row(row[0].removeprefix(PAPER), row[0].startswith(PAPER), tuple(map(_cell, row[1:]))) for row in table.rows]


def _cell(text: str) -> Cell:
    found = _RATE.fullmatch(text)
    return Cell(found[1], found[2]) if found else Cell(text)


def _columns(table: Table) -> list[str]:
    """What each column holds: rates with their counts, plain numbers, or text."""
    kinds: list[str] = []
    for place in range(len(table.head)):
        held = [_cell(row[place]) for row in table.rows]
        number = all(_FIGURE.fullmatch(cell.text) for cell in held)
        kinds.append("rate" if any(cell.aside for cell in held) else "number" if number else "text")
    return kinds


def _told_rates(runs: Sequence[Loaded]) -> list[tuple[str, str]]:
    """Of each model and mode what it passes, in a sentence."""
    told: list[tuple[str, str]] = []
    for label, held in cells(runs).items():
        records = _all(run.records for run in held)
        if records:
            cases, tests = shown(share(records, lambda record: record.passed)), shown(tests_passed(records))
            told.append((label, f"passes {_percent(cases)} of its cases and {_percent(tests)} of the tests"))
        else:
            told.append((label, "has no case that was tried to its end"))
    return told


def _percent(rate: str) -> str:
    return rate.replace(" (", " % (", 1)


def _all(groups: Iterable[Sequence[CaseRecord]]) -> list[CaseRecord]:
    return list(chain.from_iterable(groups))


def _summary(runs: Sequence[Loaded]) -> list[str]:
    """What the runs show, in plain words, with what they do not."""
    everything = _all(run.everything for run in runs)
    benchmarks = dict.fromkeys(Run(run.folder).manifest["benchmark"]["name"] for run in runs)
    tasks, errors = len({record.id for record in everything}), sum(run.errors for run in runs)
    counted = f"{_count(len(runs), 'run')}, {_count(len(everything), 'case')} of {_count(tasks, 'task')}"
    told = [f"{counted} of {' and '.join(benchmarks)}. {table1(runs).says}"]
    if errors:
        told.append(
            f"{_count(errors, 'case')} failed for want of an answer from the model's endpoint. That is no wrong "
            "answer: they are in no rate."
        )
    told += [_ABOUT_INTERVALS, _ABOUT_PAPER]
    told += [ABOUT_GOLD] if any(run.gold for run in runs) else []
    return [*told, *([_ABOUT_SEARCH] if any(run.model == "search" for run in runs) else [])]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _made(name: str, run: Loaded) -> Made:
    manifest = Run(run.folder).manifest
    versions = {"python": manifest.get("python"), **manifest.get("packages", {})}
    versions |= {key: manifest[key] for key in ("git", "platform") if manifest.get(key)}
    details = {"Settings": run.settings, "Versions": versions, "Servers": manifest.get("servers", {})}
    details |= {"Benchmark": manifest["benchmark"], "Isolation": manifest.get("isolation")}
    return Made(
        name=name,
        folder=run.folder.name,
        benchmark=manifest["benchmark"]["name"],
        cases=len(run.everything),
        errors=run.errors,
        when=_when(run.everything),
        details=tuple(
            (key, json.dumps(value, ensure_ascii=False, indent=1)) for key, value in details.items() if value
        ),
    )


def _when(records: Sequence[CaseRecord]) -> str:
    """From the first case to the last, in UTC."""
    begun = [record.started_at for record in records if record.started_at]
    if not begun:
        return "not recorded"
    ended = max(record.started_at + record.seconds for record in records)
    first, last = (datetime.fromtimestamp(moment, UTC) for moment in (min(begun), ended))
    until = last.strftime("%H:%M UTC" if first.date() == last.date() else "%Y-%m-%d %H:%M UTC")
    return f"{first:%Y-%m-%d %H:%M} to {until}"

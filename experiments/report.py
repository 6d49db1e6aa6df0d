"""The report on runs: one self-contained HTML file with tables, figures and every case."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.analyses import analyse
from experiments.casebook import casebook, pack, read_cases, signatures
from experiments.folder import Run
from experiments.loading import Loaded
from experiments.overview import blocks, breakdown, cost_notes, count, run_entries, run_names
from experiments.paper import MODELS as PAPER_MODELS
from experiments.tables import ABOUT_GOLD, PAPER, Table
from experiments.verdicts import OUTCOMES, best
from experiments.worfbench.comparing import comparisons
from experiments.worfbench.summing import own_table, read_summary
from flowmind.base.errors import InputError
from flowmind.base.files import write_text
from flowmind.formats import svg

MOST_BYTES = 5_000_000
"""The size limit of a report on up to `_CASES` cases; with more cases it grows in proportion."""
_CASES = 564  # 141 tasks in 4 modes
_CUTS = (4_000, 2_000, 1_000, 500, 250, 120, 60, 30)
"""Limits of the length of one text, in characters; the first that keeps the report within its size is used."""
_EXTRA = ("jinja2",)
_SCRIPTS = ("drawing.js", "overview.js", "case.js", "cost.js", "main.js")
_TEMPLATES = Path(__file__).parent / "templates"
_RATE = re.compile(r"([\d.]+)( \([\d/]+\)(?: \[[\d., ]+\])?| \[[\d., ]+\])")
_P = re.compile("p ([<=≤≥]) ")
_FIGURE = re.compile(r"[\d.,–-]+")
_ABOUT_INTERVALS = (
    "An interval in brackets is a 95 % confidence interval for cases drawn from the same distribution. Where two "
    "intervals overlap widely, the difference is not significant; the paired comparison on the same cases is more "
    "sensitive. The intervals say nothing about another prompt, another server or another benchmark."
)
_ABOUT_ERRORS = (
    "{} ended with an error of the model's endpoint. This is not a wrong answer: the rates do not count them."
)
_ABOUT_PAPER = (
    "The paper's values are in separate rows. They come from the paper's benchmark, its prompts and single runs, so a "
    "difference to these runs is not only due to the model."
)
_ABOUT_SEARCH = (
    "`search` is not a language model: it finds tool sequences by search over the examples. Its rates show what this "
    "search reaches and say nothing about language models."
)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a value, and its count and interval, which are printed smaller."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table; the name of a row of the paper is without the prefix `PAPER`."""

    name: str
    paper: bool
    cells: tuple[Cell, ...]


def write_report(
    runs: Sequence[Loaded],
    out: Path,
    title: str | None = None,
    analyses: Sequence[str] | None = None,
    worfbench: Sequence[Path] = (),
    sessions: str = "",
) -> int:
    """Writes the report on some runs. Equal runs give equal bytes.

    Args:
        runs: Runs on the benchmark.
        out: The HTML file.
        title: The title of the page.
        analyses: The keys of the tables; by default all tables that the runs have data for.
        worfbench: Folders of runs on WorFBench, which have a table each.
        sessions: The name of the file beside it with the sessions of runs of dialogues, which it links to.

    Returns:
        The number of bytes written.

    Raises:
        InputError: If there is no run, a trace or a workflow cannot be read, or the extra `report` is not installed.
    """
    if any(find_spec(name) is None for name in _EXTRA):
        raise InputError("install the extra report: pip install 'flowmind-es[report]'")
    if not runs and not worfbench:
        raise InputError("no run to report on: name a run's folder")
    names, building = run_names(runs), [run for run in runs if run.builds]
    cases = read_cases(runs)
    tools = signatures(runs, cases)
    tables = analyse(runs, analyses) if runs else []
    entries = run_entries(runs, names)
    content: dict[str, Any] = {
        "title": title or "FlowMind report",
        "counts": _counts(runs),
        "lead": _P.sub(_together, best(building)) if building else "",
        "runs": entries,
        "prices": any(entry.cost.call for entry in entries),
        "cost_notes": cost_notes(entries),
        "blocks": blocks(cases, len(runs)),
        "breakdown": breakdown(runs),
        "tables": tables,
        "worfbench": [
            *(own_table(read_summary(folder), f"worfbench-{number}") for number, folder in enumerate(worfbench, 1)),
            *comparisons(worfbench),
        ],
        "papers": _papers(tables),
        "notes": _notes(runs),
        "sessions": sessions,
        "outcomes": OUTCOMES,
    }
    most = MOST_BYTES * max(1.0, len(cases) / _CASES)
    page = b""
    for cut in _CUTS:
        page = _page(content, pack(casebook(cases, names, tools, cut))).encode("utf-8", "replace")
        if len(page) <= most:
            break
    write_text(out, page.decode())
    return len(page)


def _page(content: dict[str, Any], packed: str) -> str:
    """The page. Its content security policy allows only the page's own script and style, by their hashes."""
    import jinja2

    script, style = "".join(map(template, _SCRIPTS)), template("report.css") + template("drawing.css") + svg.STYLE
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    policy = (
        f"default-src 'none'; script-src {hash_of(script)}; style-src {hash_of(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment.from_string(template("report.html"))
    helpers = {
        "parts": parts_of,
        "rows": rows_of,
        "columns": columns_of,
        "paper_model": _paper_model,
        "broken": _broken,
    }
    return page.render(**content, **helpers, script=script, style=style, policy=policy, packed=packed)


def template(name: str) -> str:
    """The text of a template of the page."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """The hash of a script or a style sheet, as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def parts_of(text: str) -> list[tuple[str, bool]]:
    """The parts of a text, each with the flag whether it is in backticks."""
    return [(part, number % 2 == 1) for number, part in enumerate(text.split("`")) if part]


def _together(match: re.Match[str]) -> str:
    """A p-value with spaces at which no line breaks."""
    return match[0].replace(" ", "\u00a0")


def _broken(name: str) -> list[str]:
    """The parts of an identifier, between which a line may break."""
    return re.findall(r"[^_./-]+[_./-]*|[_./-]+", name)


def rows_of(table: Table) -> list[Row]:
    """The rows of a table as the page shows them."""
    return [Row(row[0].removeprefix(PAPER), row[0].startswith(PAPER), tuple(map(_cell, row[1:]))) for row in table.rows]


def _cell(text: str) -> Cell:
    match = _RATE.fullmatch(text)
    return Cell(match[1], match[2]) if match else Cell(text)


def columns_of(table: Table) -> list[str]:
    """The kind of each column: `rate` (with counts), `number` or `text`."""
    kinds: list[str] = []
    for place in range(len(table.head)):
        cells = [_cell(row[place]) for row in table.rows]
        number = all(_FIGURE.fullmatch(cell.text) for cell in cells)
        kinds.append("rate" if any(cell.aside for cell in cells) else "number" if number else "text")
    return kinds


def _papers(tables: Sequence[Table]) -> list[str]:
    """The models that the paper's rows of some tables are about."""
    names = {row.name.split()[0] for table in tables for row in rows_of(table) if row.paper}
    return [name for name in PAPER_MODELS if name in names]


def _paper_model(name: str) -> str:
    """The model of a row of the paper; `any` for a row that is about no model."""
    first = name.split()[0]
    return first if first in PAPER_MODELS else "any"


def _counts(runs: Sequence[Loaded]) -> str:
    """How much the report is about."""
    cases = [record for run in runs for record in run.everything]
    benchmarks = " and ".join(dict.fromkeys(Run(run.folder).manifest["benchmark"]["name"] for run in runs))
    tasks = len({record.id for record in cases})
    return f"{count(len(runs), 'run')}, {count(len(cases), 'case')} of {count(tasks, 'task')} of {benchmarks}"


def _notes(runs: Sequence[Loaded]) -> list[str]:
    """Notes on the limits of the numbers."""
    errors = sum(run.errors for run in runs)
    return [
        *([_ABOUT_ERRORS.format(count(errors, "case"))] if errors else []),
        *([ABOUT_GOLD] if any(run.gold for run in runs) else []),
        *([_ABOUT_SEARCH] if any(run.model == "search" for run in runs) else []),
        _ABOUT_INTERVALS,
        _ABOUT_PAPER,
    ]

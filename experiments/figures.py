"""The report's figures, drawn by matplotlib as SVG that takes its colours and its font from the page."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast
from xml.etree import ElementTree

from experiments import paper
from experiments.analyses import FAILURES
from experiments.loading import Loaded, cells
from experiments.record import CaseRecord
from experiments.tables import share, shown, tests_passed
from flowmind.evaluation.statistics import Rate

Element = ElementTree.Element
Cells = Mapping[str, Sequence[CaseRecord]]
"""The tried cases of each model and mode, of all its seeds."""

OUTCOMES = {"none": "passed", **FAILURES}
"""The outcomes of a case in words."""

_INK, _LINE, _ON = "#333331", "#c8c8c7", "#fffffe"
_SERIES = ("#2a5d8f", "#b3662b", "#71803a", "#8b5a97", "#7b7b7a")
_VARIABLES = {_INK: "--ink", _LINE: "--line", _ON: "--ground"} | {
    colour: f"--series-{number}" for number, colour in enumerate(_SERIES, 1)
}
STYLE = "".join(
    f'.figure [{side}="{colour}"]{{{side}:var({name})}}'
    for colour, name in _VARIABLES.items()
    for side in ("fill", "stroke")
)
"""Rules that put the page's colours in the place of the drawn ones."""
_MARKERS = ("o", "s", "^", "D", "v")
_WIDTH, _ROW, _LINE_HEIGHT = 4.8, 0.46, 0.18
"""Inches: of a figure, of a row at least, and of a line of a row's label."""
_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"


@dataclass(frozen=True)
class Drawing:
    """A figure as a page shows it."""

    key: str
    title: str
    alt: str
    """What it shows, value by value."""
    svg: str
    says: str


def draw(runs: Sequence[Loaded]) -> list[Drawing]:
    """The figures of some runs; one that they have nothing for is left out."""
    held = {label: [*chain.from_iterable(run.records for run in of)] for label, of in cells(runs).items()}
    tried = {label: records for label, records in held.items() if records}
    made = (_rates(runs, tried), _tokens(tried), _failures(tried), _difficulties(tried)) if tried else ()
    return [drawing for drawing in made if drawing is not None]


def _passed(record: CaseRecord) -> bool:
    return record.passed


def _rates(runs: Sequence[Loaded], tried: Cells) -> Drawing:
    """Cases and tests passed, with the paper's rates where it has the same model and mode."""
    series = {
        "cases passed": [share(records, _passed) for records in tried.values()],
        "tests passed": [tests_passed(records) for records in tried.values()],
    }
    theirs = {(row["model"], row["mode"]): float(row["case_pass_rate"]) for row in paper.rows("table1_main")}
    known = {run.label: theirs.get((run.model, run.mode)) if not run.variant else None for run in runs}
    beside = [known[label] for label in tried]
    says = "Cases and tests passed, with 95 % Wilson intervals."
    if any(value is not None for value in beside):
        says += " Crosses are the paper's rates for the same model and mode."
    return _dots("rates", "Rates by mode and model", list(tried), series, says, beside)


def _difficulties(tried: Cells) -> Drawing | None:
    """Cases passed by difficulty."""
    held = {record.difficulty for records in tried.values() for record in records} - {""}
    levels = sorted(held, key=lambda level: (("easy", "medium", "hard", level).index(level), level))
    if not levels:
        return None
    series = {
        level: [share([r for r in records if r.difficulty == level], _passed) for records in tried.values()]
        for level in levels
    }
    says = "Cases passed by difficulty, with 95 % Wilson intervals: within a level they are wide."
    return _dots("difficulty", "Pass rate by difficulty", list(tried), series, says)


def _tokens(tried: Cells) -> Drawing | None:
    """Mean output tokens a case; None if no server reported any."""
    stages = {
        "execute": [[record.execute.output_tokens for record in records] for records in tried.values()],
        "summarize": [[record.summarize.output_tokens for record in records] for records in tried.values()],
    }
    means = {name: [_mean(counts) for counts in rows] for name, rows in stages.items()}
    if not any(value for row in means.values() for value in row):
        return None
    says = "Mean output tokens a case, as the servers report them; a run without a bar has none, or none reported."
    return _bars("tokens", "Output tokens by stage", list(tried), means, "output tokens a case", says)


def _mean(counts: Sequence[int | None]) -> float:
    known = [count for count in counts if count is not None]
    return sum(known) / len(known) if len(known) == len(counts) else 0.0


def _failures(tried: Cells) -> Drawing:
    """What became of all cases."""
    shares = {name: [_share_of(kind, records) for records in tried.values()] for kind, name in OUTCOMES.items()}
    says = (
        "What became of the cases, in percent of all that were tried to their end; the parts follow one another as in "
        "the legend."
    )
    return _bars("failures", "Failure modes", list(tried), shares, "% of cases", says)


def _share_of(kind: str, records: Sequence[CaseRecord]) -> float:
    return share(records, lambda record: record.failure_mode == kind).percent


def _dots(
    key: str,
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[Rate]],
    says: str,
    beside: Sequence[float | None] = (),
) -> Drawing:
    """A row for each label, with a mark and an interval for each series."""
    with _settings():
        figure, axes = _axes(labels, "%")
        for number, (name, rates) in enumerate(series.items()):
            known = [(row, rate) for row, rate in enumerate(rates) if rate.of]
            shift = 0.22 * (number - (len(series) - 1) / 2)
            axes.errorbar(
                [rate.percent for _, rate in known],
                [row + shift for row, _ in known],
                xerr=[
                    [rate.percent - rate.low for _, rate in known],
                    [rate.high - rate.percent for _, rate in known],
                ],
                fmt=_MARKERS[number % len(_MARKERS)],
                color=_SERIES[number % len(_SERIES)],
                label=name,
                capsize=2.5,
                markersize=5,
                linewidth=1.4,
            )
        theirs = [(value, row) for row, value in enumerate(beside) if value is not None]
        if theirs:
            axes.plot([value for value, _ in theirs], [row for _, row in theirs], "x", color=_INK, label="paper")
        axes.set_xlim(-2, 102)
        svg = _saved(figure, axes)
    told = [
        f"{label}: {', '.join(f'{name} {shown(rates[row])}' for name, rates in series.items())}"
        for row, label in enumerate(labels)
    ]
    told += [f"paper, {labels[row]}: {value:.1f}" for value, row in theirs]
    return Drawing(key, title, f"{title}, in percent. {'; '.join(told)}.", _adapted(svg, key), says)


def _bars(
    key: str, title: str, labels: Sequence[str], parts: Mapping[str, Sequence[float]], unit: str, says: str
) -> Drawing:
    """A bar for each label, its parts one after the other."""
    most = max(sum(values) for values in zip(*parts.values(), strict=True))
    with _settings():
        figure, axes = _axes(labels, unit)
        left = [0.0] * len(labels)
        for number, (name, values) in enumerate(parts.items()):
            colour = _SERIES[number % len(_SERIES)]
            rims = [0.8 if value else 0.0 for value in values]
            axes.barh(
                range(len(labels)), values, left=left, height=0.58, color=colour, edgecolor=_ON, linewidth=rims,
                label=name,
            )  # fmt: skip
            for row, value in enumerate(values):
                if value > 0.07 * most:
                    axes.text(left[row] + value / 2, row, f"{value:.0f}", ha="center", va="center", color=_ON)
            left = [begun + value for begun, value in zip(left, values, strict=True)]
        svg = _saved(figure, axes)
    told = [
        f"{label}: {', '.join(f'{name} {values[row]:.1f}' for name, values in parts.items())}"
        for row, label in enumerate(labels)
    ]
    return Drawing(key, title, f"{title}, {unit}. {'; '.join(told)}.", _adapted(svg, key), says)


@contextmanager
def _settings() -> Generator[None]:
    """What all figures have in common; text stays text, in the reader's own font."""
    import matplotlib

    settings: dict[str, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": "flowmind", "text.parse_math": False, "font.size": 9.5,
        "text.color": _INK, "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK, "axes.edgecolor": _INK,
        "grid.color": _LINE, "axes.grid": True, "axes.grid.axis": "x", "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False, "ytick.major.size": 0,
        "legend.frameon": False,
    }  # fmt: skip
    with cast(Any, matplotlib).rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _axes(labels: Sequence[str], unit: str) -> tuple[Any, Any]:
    """A figure with one pair of axes: a row for each label, as high as the longest one needs."""
    from matplotlib.figure import Figure

    lines = [textwrap.wrap(label, 20, break_on_hyphens=False) for label in labels]
    row = max(_ROW, _LINE_HEIGHT * max(map(len, lines)))
    figure = cast(Any, Figure(figsize=(_WIDTH, 0.9 + row * len(labels)), layout="constrained"))
    axes = figure.subplots()
    axes.set_yticks(range(len(labels)), ["\n".join(parts) for parts in lines])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel(unit)
    return figure, axes


def _saved(figure: Any, axes: Any) -> str:
    names = axes.get_legend_handles_labels()[1]
    figure.legend(loc="outside upper left", ncols=3 if max(map(len, names)) < 16 else 2)
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def _adapted(svg: str, key: str) -> str:
    """A figure for a page that allows no style in elements: attributes instead, names of its own, no metadata."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        for rule in element.attrib.pop("style", "").split(";"):
            name, _, value = rule.partition(":")
            element.attrib.update(_attributes(name.strip(), value.strip()))
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
    used = set(re.findall(r"""(?:href="#|url\(#)([^")]+)""", ElementTree.tostring(root, encoding="unicode")))
    for element in root.iter():
        _rename(element, used, key)
    for tag in ("metadata", "style"):
        _drop(root, f"{{{_SVG}}}{tag}")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")
    return ElementTree.tostring(root, encoding="unicode")


def _attributes(name: str, value: str) -> dict[str, str]:
    """A rule of style as attributes; of the font only the size is kept."""
    if name == "font":
        size = re.search(r"[\d.]+px", value)
        return {"font-size": size[0]} if size else {}
    return {name: value} if name and name != "font-family" else {}


def _rename(element: Element, used: set[str], key: str) -> None:
    """Names are unique in the page; those that nothing refers to are left out."""
    name = element.attrib.pop("id", None)
    if name in used:
        element.set("id", f"{key}-{name}")
    for attribute, value in element.attrib.items():
        if attribute == "href":
            element.set(attribute, f"#{key}-{value.removeprefix('#')}")
        elif value.startswith("url(#"):
            element.set(attribute, f"url(#{key}-{value.removeprefix('url(#')}")


def _drop(parent: Element, tag: str) -> None:
    for child in list(parent):
        if child.tag == tag:
            parent.remove(child)
        else:
            _drop(child, tag)

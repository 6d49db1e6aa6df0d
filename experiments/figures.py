"""The figures of the report: SVG drawn by matplotlib, with the colours and the font of the page."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from xml.etree import ElementTree

from experiments import paper
from experiments.analyses import FAILURES, execute_tokens, levels, summarize_tokens
from experiments.loading import Cases, Loaded, grouped, having
from experiments.tables import shown
from flowmind.evaluation.statistics import Rate

Element = ElementTree.Element
OUTCOMES = {"none": "passed", **FAILURES}
"""The outcomes of a case, in words."""

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
"""Rules that replace the colours of a drawing by those of the page."""
_MARKERS = ("o", "s", "^", "D", "v")
_WIDTH, _ROW, _LINE_HEIGHT = 4.8, 0.46, 0.18
"""In inches: the width of a figure, the least height of a row, and the height of a line of a label."""
_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"


@dataclass(frozen=True)
class Drawing:
    """A figure of the page."""

    key: str
    title: str
    alt: str
    """Its values, as text."""
    svg: str
    says: str


def draw(runs: Sequence[Loaded]) -> list[Drawing]:
    """The figures of some runs, without those that the runs have no data for."""
    cells = [cell for cell in grouped(runs) if cell.records]
    drawings = (_rates(cells), _tokens(cells), _failures(cells), _difficulties(cells)) if cells else ()
    return [drawing for drawing in drawings if drawing is not None]


def _labels(cells: Sequence[Cases]) -> list[str]:
    return [cell.label for cell in cells]


def _rates(cells: Sequence[Cases]) -> Drawing:
    """Cases and tests passed, with the paper's rates where it has the same model and mode."""
    series = {
        "cases passed": [cell.rate() for cell in cells],
        "tests passed": [cell.tests for cell in cells],
    }
    theirs = {(row["model"], row["mode"]): float(row["case_pass_rate"]) for row in paper.rows("table1_main")}
    plain = [cell.runs[0] for cell in cells]
    beside = [None if run.variant else theirs.get((run.model, run.mode)) for run in plain]
    says = "Cases and tests passed, with 95 % Wilson intervals."
    if any(value is not None for value in beside):
        says += " Crosses are the paper's rates for the same model and mode."
    return _dots("rates", "Rates by mode and model", _labels(cells), series, says, beside)


def _difficulties(cells: Sequence[Cases]) -> Drawing | None:
    """Cases passed by difficulty."""
    names = levels(record for cell in cells for record in cell.records)
    series = {level: [cell.where(having(difficulty=level)).rate() for cell in cells] for level in names}
    says = "Cases passed by difficulty, with 95 % Wilson intervals. A level has few cases, so the intervals are wide."
    return _dots("difficulty", "Pass rate by difficulty", _labels(cells), series, says) if names else None


def _tokens(cells: Sequence[Cases]) -> Drawing | None:
    """Mean output tokens a case; None if no server reported any."""
    means = {
        "execute": [execute_tokens(cell) or 0.0 for cell in cells],
        "summarize": [summarize_tokens(cell) or 0.0 for cell in cells],
    }
    if not any(value for row in means.values() for value in row):
        return None
    says = "Mean output tokens per case, as the servers report them. A run without a bar has no reported tokens."
    return _bars("tokens", "Output tokens by stage", _labels(cells), means, "output tokens a case", says)


def _failures(cells: Sequence[Cases]) -> Drawing:
    """The outcomes of all cases."""
    shares = {
        words: [cell.rate(having(failure_mode=mode)).percent for cell in cells] for mode, words in OUTCOMES.items()
    }
    says = "The outcomes of the completed cases, in percent; the parts of a bar are in the order of the legend."
    return _bars("failures", "Failure modes", _labels(cells), shares, "% of cases", says)


def _dots(
    key: str,
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[Rate]],
    says: str,
    beside: Sequence[float | None] = (),
) -> Drawing:
    """A figure with a row for each label, and a mark with an interval for each series."""
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
    texts = [
        f"{label}: {', '.join(f'{name} {shown(rates[row])}' for name, rates in series.items())}"
        for row, label in enumerate(labels)
    ]
    texts += [f"paper, {labels[row]}: {value:.1f}" for value, row in theirs]
    return Drawing(key, title, f"{title}, in percent. {'; '.join(texts)}.", _adapted(svg, key), says)


def _bars(
    key: str, title: str, labels: Sequence[str], parts: Mapping[str, Sequence[float]], unit: str, says: str
) -> Drawing:
    """A figure with a stacked bar for each label."""
    most = max(sum(values) for values in zip(*parts.values(), strict=True))
    with _settings():
        figure, axes = _axes(labels, unit)
        starts = [0.0] * len(labels)
        for number, (name, values) in enumerate(parts.items()):
            colour = _SERIES[number % len(_SERIES)]
            rims = [0.8 if value else 0.0 for value in values]
            axes.barh(
                range(len(labels)), values, left=starts, height=0.58, color=colour, edgecolor=_ON, linewidth=rims,
                label=name,
            )  # fmt: skip
            for row, value in enumerate(values):
                if value > 0.07 * most:
                    axes.text(starts[row] + value / 2, row, f"{value:.0f}", ha="center", va="center", color=_ON)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        svg = _saved(figure, axes)
    texts = [
        f"{label}: {', '.join(f'{name} {values[row]:.1f}' for name, values in parts.items())}"
        for row, label in enumerate(labels)
    ]
    return Drawing(key, title, f"{title}, {unit}. {'; '.join(texts)}.", _adapted(svg, key), says)


@contextmanager
def _settings() -> Generator[None]:
    """The settings of all figures. Text stays text, in the font of the page."""
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
    """A figure with one pair of axes, and a row for each label; the longest label sets the height of the rows."""
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
    """The figure with attributes instead of inline styles, unique ids, and without metadata."""
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
    """A style rule as attributes; only the size of a font is kept."""
    if name == "font":
        size = re.search(r"[\d.]+px", value)
        return {"font-size": size[0]} if size else {}
    return {name: value} if name and name != "font-family" else {}


def _rename(element: Element, used: set[str], key: str) -> None:
    """Makes the id of an element unique in the page, or removes an id that is not referenced."""
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

"""The figures of the report: small SVG drawings with the classes and colours of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from flowmind.evaluation.coverage import Point
from flowmind.evaluation.statistics import Rate

_LEFT, _SCALE = 6.0, 2.28
"""The place of 0 %, and the width of a percentage point."""
_WIDTH, _HIGH = 240, 34
_BAR = 200.0
_PLOT_LEFT, _PLOT_RIGHT, _PLOT_TOP, _PLOT_BOTTOM = 40, 390, 8, 150
"""The sides of the curves' axes."""
_ROOM = 15.0
"""The least width of a part that has room for its number."""


def interval(cases: Rate, tests: Rate, paper: float | None = None) -> str:
    """The shares of passed cases (disc) and tests (ring) with their intervals, and the paper's share (cross)."""
    parts = [f'<path class="grid-line" d="M{_at(p)} 2V32"/>' for p in (0, 25, 50, 75, 100)]
    for name, y, rate in (("cases", 11, cases), ("tests", 24, tests)):
        if rate.of:
            parts.append(f'<path class="range {name}" d="M{_at(rate.low)} {y}H{_at(rate.high)}"/>')
            parts.append(f'<circle class="dot {name}" cx="{_at(rate.percent)}" cy="{y}" r="4.5"/>')
    if paper is not None:
        x = _at(paper)
        parts.append(f'<path class="cross" data-paper d="M{x} 6v10M{x} 11m-5 0h10" transform="rotate(45 {x} 11)"/>')
    return _svg(f"0 0 {_WIDTH} {_HIGH}", "interval", parts)


def bar(counts: Mapping[str, int]) -> str:
    """One bar whose parts are counts, by the names of their classes."""
    total, x = sum(counts.values()), 0.0
    parts: list[str] = []
    for name, count in counts.items():
        width = _BAR * count / total if total else 0.0
        if count:
            parts.append(f'<rect class="{name}" x="{x:.1f}" width="{max(width - 1, 0.5):.1f}" height="16"/>')
        if width >= _ROOM:
            parts.append(f'<text class="{name}" x="{x + width / 2:.1f}" y="12" text-anchor="middle">{count}</text>')
        x += width
    return _svg(f"0 0 {_BAR:.0f} 16", "bar", parts)


def share(rate: Rate) -> str:
    """A thin bar as long as the share."""
    return _svg("0 0 100 4", "share", ['<rect class="all" width="100" height="4"/>',
                                       f'<rect class="part" width="{rate.percent:.1f}" height="4"/>'])  # fmt: skip


def curves(lines: Mapping[str, Sequence[Point]]) -> str:
    """Risk (up, to the greatest of all lines) against coverage (to the right, 0 to 100 %), a line for each name.

    A disc marks the least coverage, where all rivals count.
    """
    top = max((point.risk for points in lines.values() for point in points), default=0.0) or 0.01
    parts = [f'<path class="grid-line" d="M{_PLOT_LEFT} {y}H{_PLOT_RIGHT}"/>' for y in (_PLOT_TOP, _PLOT_BOTTOM)]
    parts += [
        _text(_PLOT_LEFT - 4, _PLOT_TOP + 4, f"{100 * top:.0f} %", "end"),
        _text(_PLOT_LEFT - 4, _PLOT_BOTTOM + 4, "0", "end"),
        _text(_PLOT_LEFT, _PLOT_BOTTOM + 16, "0"),
        _text(_PLOT_RIGHT, _PLOT_BOTTOM + 16, "coverage 100 %", "end"),
    ]
    for number, (name, points) in enumerate(lines.items()):
        places = [
            (
                _PLOT_LEFT + (_PLOT_RIGHT - _PLOT_LEFT) * point.coverage,
                _PLOT_BOTTOM - (_PLOT_BOTTOM - _PLOT_TOP) * point.risk / top,
            )
            for point in points
        ]
        if places:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            (x, y), kind = places[0], f"line n{number % 5}"
            parts += [f'<path class="{kind}" d="M{path}"/>', f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>']
        height = _PLOT_BOTTOM + 34 + 15 * number
        parts += [
            f'<path class="line n{number % 5}" d="M{_PLOT_LEFT} {height - 4}h20"/>',
            _text(_PLOT_LEFT + 26, height, name),
        ]
    return _svg(f"0 0 400 {_PLOT_BOTTOM + 26 + 15 * len(lines)}", "curves", parts)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _at(percent: float) -> str:
    return f"{_LEFT + _SCALE * percent:.1f}"


def _svg(box: str, kind: str, parts: list[str]) -> str:
    return f'<svg class="{kind}" viewBox="{box}" aria-hidden="true">{"".join(parts)}</svg>'

"""The page of a day: the requests, what happened, what a person was asked, and the statistics of the handle."""

from collections import Counter
from html import escape

from flowmind.jit import Stats

COLOURS = {"right": "#2f855a", "wrong": "#c53030", "guarded": "#d69e2e", "agent": "#8a94a6"}
LABELS = {
    "right": "answered by the workflow, right", "wrong": "answered by the workflow, wrong",
    "guarded": "given to the agent by a guard", "agent": "answered by the agent; no version was live",
}  # fmt: skip
BAR, HEIGHT = 25, 120
"""The requests of a bar; its height in pixels."""
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: currentColor; font-size: 11px; }
ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
ul.key span { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8a94a666; }
th { font-weight: 600; }
"""


def kind_of(row: dict) -> str:
    """The colour of a request."""
    if row["kind"] == "hit":
        return "right" if row["right"] else "wrong"
    return "guarded" if row["guard"] else "agent"


def chart(rows: list[dict], changes: dict[int, str]) -> str:
    """A bar for each 25 requests, and a line for each change."""
    bars = [Counter(map(kind_of, rows[start : start + BAR])) for start in range(0, len(rows), BAR)]
    width, parts = 20, list[str]()
    for place, counts in enumerate(bars):
        top = HEIGHT + 20
        title = ", ".join(f"{count} {LABELS[kind]}" for kind, count in counts.items())
        parts.append(f"<g><title>requests {place * BAR + 1} to {place * BAR + BAR}: {title}</title>")
        for kind in COLOURS:
            tall = HEIGHT * counts[kind] / BAR
            top -= tall
            if tall:
                parts.append(
                    f'<rect class="{kind}" x="{place * width}" y="{top:.1f}" width="{width - 2}" height="{tall:.1f}" '
                    f'fill="{COLOURS[kind]}"/>'
                )
        parts.append("</g>")
    for number, text in changes.items():
        x = number / BAR * width - 1
        parts.append(f'<line x1="{x}" x2="{x}" y1="14" y2="{HEIGHT + 20}" stroke="currentColor" stroke-dasharray="3"/>')
        parts.append(f'<text x="{x}" y="10" text-anchor="middle">{escape(text)}</text>')
    for number in range(0, len(rows) + 1, 200):
        parts.append(f'<text x="{number / BAR * width}" y="{HEIGHT + 34}" text-anchor="middle">{number}</text>')
    label = "The requests of the day, 25 a bar, by what became of them"
    size = f"-14 0 {len(bars) * width + 28} {HEIGHT + 40}"
    return f'<svg viewBox="{size}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def table(head: tuple[str, ...], rows: list[tuple]) -> str:
    """A table."""
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="table"><table><tr>{names}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'


def page(day: dict, changes: dict[int, str], stats: Stats) -> str:
    """The page, without anything from elsewhere."""
    rows = day["rows"]
    kinds = Counter(map(kind_of, rows))
    key = "".join(
        f'<li><span style="background:{colour}"></span>{LABELS[kind]}: <b>{kinds[kind]}</b></li>'
        for kind, colour in COLOURS.items()
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A day behind flowmind.jit</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>
<h1>A day behind flowmind.jit</h1>
<p>{len(rows)} requests; {escape(day["summary"])}</p>
{chart(rows, changes)}
<ul class="key">{key}</ul>
<h2>What happened</h2>
{table(("request", "what"), [(event["request"], event["what"]) for event in day["events"]])}
<h2>What a person was asked</h2>
{table(("request", "question", "answer"), [(one["request"], one["question"], one["answer"]) for one in day["asked"]])}
<h2>Statistics of the handle</h2>
{table(("number", "value"), list(stats.rows()))}
</body></html>
"""

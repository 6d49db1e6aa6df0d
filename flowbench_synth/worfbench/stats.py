"""Statistics of rows beside the paper's (Qiao et al., appendices A.3 and A.9)."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flowbench_synth.worfbench.builder import PARTS
from flowbench_synth.worfbench.faults import faults_of
from flowbench_synth.worfbench.graphs import Edge, count_orders
from flowmind.base.errors import InputError
from flowmind.evaluation.statistics import percent
from flowmind.formats.worfbench_rows import GROUPS, StoredRow, read_stored_rows

PAPER_MEAN_STEPS = 4.17
"""The mean number of steps of the paper's benchmark (figure 8)."""
PAPER_ORDERS = {5: 86.39, 10: 92.82, 20: 96.01, 50: 98.22, 100: 98.32}
"""The share of the paper's test rows with at most so many topological orders, in percent (table 7)."""
PAPER_TEST_ROWS, PAPER_HELD_OUT = 2146, 33.69
"""The paper's test rows, and the share of them that are of held-out tasks, in percent (appendix A.3)."""


class _Measured(NamedTuple):
    steps: int
    edges: int
    chain: bool
    orders: int
    """Counted up to one more than the table's greatest number; 0 if the graph has a cycle."""


def stats(path: Path) -> dict[str, Any]:
    """The statistics of a file of rows, or of a folder that was built.

    Rows whose gold cannot be read as a graph are counted and left out.

    Raises:
        InputError: If it cannot be read, or no row can be read.
    """
    rows: list[StoredRow] = []
    unread = 0
    parts: dict[str, int] = {}
    for name, file in _files(path):
        entries = read_stored_rows(file).entries
        good = [entry for entry in entries if not isinstance(entry, ValueError)]
        unread += len(entries) - len(good)
        parts[name] = len(good)
        rows += good
    measured = [(row, made) for row in rows if (made := _measured(row)) is not None]
    if not measured:
        raise InputError(f"{path}: no row in it can be read as a graph")
    every = [made for _, made in measured]
    held_out = {row.source for row in rows if row.held_out}
    sources: dict[str, Any] = {}
    by_group: dict[str, list[_Measured]] = defaultdict(list)
    for name in dict.fromkeys(row.source for row in rows):
        group, mine = _group(name, name in held_out), [made for row, made in measured if row.source == name]
        sources[name] = {"group": group, **_summed(mine)}
        by_group[group] += mine
    return {
        "rows": len(measured),
        "unread": unread + len(rows) - len(measured),
        "parts": parts if len(parts) > 1 else {},
        "held_out": sum(row.held_out for row, _ in measured),
        "sources": sources,
        "groups": {name: _summed(by_group[name]) for name in (*GROUPS, "other", "held_out") if by_group[name]},
        "all": _summed(every),
        "steps": dict(sorted(Counter(made.steps for made in every).items())),
        "orders": {most: percent(sum(0 < made.orders <= most for made in every), len(every)) for most in PAPER_ORDERS},
    }


def _files(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        return [("", path)]
    files = [(part, path / f"{part}.jsonl") for part in PARTS if (path / f"{part}.jsonl").exists()]
    if not files:
        raise InputError(f"{path}: there is no train.jsonl and no test.jsonl in this folder")
    return [(part, file) for part, file in files if file.read_bytes().strip()]


def _group(source: str, held_out: bool) -> str:
    inside = next((name for name, sources in GROUPS.items() if source in sources), "other")
    return "held_out" if held_out else inside


def _measured(row: StoredRow) -> _Measured | None:
    graph, _ = faults_of(row)
    if graph is None:
        return None
    count, edges = len(graph.steps), set(graph.edges)
    orders = count_orders(count, edges, max(PAPER_ORDERS) + 1)
    return _Measured(count, len(edges), is_chain(count, graph.edges), orders)


def is_chain(count: int, edges: Sequence[Edge]) -> bool:
    """Whether the edges lead from START over all steps to END, one after the other."""
    return set(edges) == {(step, step + 1) for step in range(count + 1)}


def _summed(rows: Sequence[_Measured]) -> dict[str, Any]:
    if not rows:
        return {"rows": 0}
    return {
        "rows": len(rows),
        "steps_mean": round(statistics.fmean(row.steps for row in rows), 2),
        "steps_most": max(row.steps for row in rows),
        "edges_mean": round(statistics.fmean(row.edges for row in rows), 2),
        "chains": percent(sum(row.chain for row in rows), len(rows)),
    }


def stats_tables(found: dict[str, Any]) -> str:
    """The statistics as Markdown tables."""
    lines = [
        "| source | group | rows | steps, mean | most | edges, mean | chains % |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    groups = [("", {"group": name, **cell}) for name, cell in found["groups"].items()]
    for name, cell in [*found["sources"].items(), *groups, ("all", found["all"])]:
        if cell["rows"]:
            group = cell.get("group", "").replace("_", " ")
            lines.append(
                f"| {name} | {group} | {cell['rows']} | {cell['steps_mean']:.2f} | {cell['steps_most']} | "
                f"{cell['edges_mean']:.2f} | {cell['chains']:.1f} |"
            )
    held = percent(found["held_out"], found["rows"])
    lines += [
        "",
        f"Steps: mean {found['all']['steps_mean']:.2f}, in the paper {PAPER_MEAN_STEPS} (figure 8). Held-out rows: "
        f"{held:.2f} %, in the paper {PAPER_HELD_OUT} % of {PAPER_TEST_ROWS} test rows.",
    ]
    if found["parts"]:
        lines.append("Parts: " + ", ".join(f"{count} {name}" for name, count in found["parts"].items()) + ".")
    lines += ["", "| steps | rows | % |", "| ---: | ---: | ---: |"]
    for steps, count in found["steps"].items():
        lines.append(f"| {steps} | {count} | {percent(count, found['rows']):.2f} |")
    lines += ["", "| topological orders, at most | % | paper (table 7) |", "| ---: | ---: | ---: |"]
    for most, share in found["orders"].items():
        lines.append(f"| {most} | {share:.2f} | {PAPER_ORDERS[most]:.2f} |")
    if found["unread"]:
        lines += ["", f"{found['unread']} rows cannot be read as a graph; `worfbench check` says why."]
    return "\n".join(lines)

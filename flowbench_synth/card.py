"""The dataset card of a built benchmark, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast
from xml.sax.saxutils import escape

from flowbench_synth.audit import SEARCH_BUDGET
from flowbench_synth.instance import TOOLS, Stage, stage_table
from flowmind.trace.task import Task

CANARY = "flowbench_synth canary 6f0d2c1e-7b0a-4a53-9c55-7f1f2f3b9a41"
_TEXT = """\
# flowbench_synth, seed {seed}

A benchmark for agents that call tools, and for workflows built from the traces of these agents. It was built by
`flowbench_synth build --seed {seed}` (version {version}, revision {revision} of the tasks, backend {backend}). The same
seed and revision give the same files. Another seed gives other constants, inputs, offered tools and wordings.
{revisions}
## Composition

{composition}

The tasks offer {tools} different tools in all. Easy tasks are linear and have 2 to 4 calls. Medium tasks branch or
iterate. Hard tasks do both. The numbers of instances, tests, examples and tools are those of the FlowMind paper
(appendix A, tables 3 and 4). The tasks are new.

![Tools offered, by difficulty](tools_by_difficulty.svg)
![Words in the text, by difficulty](words_by_difficulty.svg)

## Tasks and files

A task has a text, named inputs, documented tools and examples. Agents do not see its held-out tests. A workflow
solves a task if its answer to every test equals the golden answer exactly. The golden answers were computed by the
gold workflow in the sandbox{oracle}.

| file | contents |
| --- | --- |
| `instances.jsonl` | task text, inputs, tools, examples |
| `tests.jsonl` | held-out tests |
| `gold.jsonl` | gold workflow, and its trace on the first example |
| `tools.jsonl` | tool specs |
| `manifest.json` | seed, version, revision, sha256 of each file, statistics, yields of the stages, audit of each task |

## Construction

{stages}

## Audit

`flowbench_synth check` repeats the audit. Each gold workflow passes its tests in two workers with equal traces. No
test has the input of an example. The tests take every branch. No text names a tool. Mutants are small wrong versions
of a gold workflow: a dropped call, a replaced tool, a changed constant or comparison, a swapped branch. The tests of
a task kill a mutant if it fails one of them. The trivial agents answer null, a constant, the answer of an example, an
input, or the result of one call.

{audit}

## Search floor

The tasks that the embedded `search` model solves with at most {budget} tool calls for each task, in the mode
es-react. `search` is not a language model. It reads little more of a text than its numbers, so these tasks need no
language model.

{floor}

## Known limits

- The tasks are synthetic and in English.
- Every tool is a pure function without noise, failures or side effects.
- Answers are compared exactly, so a correct procedure with another format of the answer fails.
- The text of a task defines every rule; two or three examples do not show all of them.
- Examples and tests are chosen from drawn inputs so that they kill mutants. They are not a random sample.

## Licence and citation

Apache-2.0. No record describes a real person or company. Cite it as: flowbench_synth, seed {seed}, revision {revision},
of the FlowMind project, after the benchmark of the FlowMind paper ("Execute-Summarize").

Do not train on this benchmark. The following string identifies it in training data: {canary}
"""

_REVISIONS = """
Revision 2: the id of a task, and the names and descriptions of its inputs, fit the story that its text tells. Ids of
tasks differ from those of revision 1; constants, values of inputs, answers and offered tools do not.
"""


def card(manifest: dict[str, Any]) -> str:
    """The dataset card as Markdown."""
    return _TEXT.format(
        seed=manifest["seed"],
        version=manifest["version"],
        revision=manifest["revision"],
        revisions=_REVISIONS if manifest["backend"] == "blueprints" else "",
        backend=manifest["backend"],
        composition=composition_table(manifest["statistics"]),
        tools=manifest["statistics"]["tools"],
        oracle=" and confirmed by an independent calculation" if manifest["backend"] == "blueprints" else "",
        stages=stage_table(Stage.model_validate(row) for row in manifest["stages"]),
        audit=audit_table(manifest["audit"]),
        budget=f"{SEARCH_BUDGET:,}",
        floor=floor_table(manifest["search_floor"]),
        canary=CANARY,
    )


def composition_table(statistics: dict[str, Any]) -> str:
    """Counts by category and difficulty, as a Markdown table."""
    groups = {"all": statistics["all"], **statistics["by_category"], **statistics["by_difficulty"]}
    lines = [
        "| | instances | tests | examples | tools offered (average) | words in the text (average) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, group in groups.items():
        counts = [group[key] for key in ("instances", "tests", "examples", "tools_avg", "words_avg")]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def audit_table(rows: Sequence[dict[str, Any]]) -> str:
    """The killed mutants and the trivial agents' scores by difficulty, as a Markdown table; then the survivors."""
    agents = list(rows[0]["trivial"]) if rows else []
    head = ["", "tasks", "with problems", "mutants", "killed %", *(f"{name}: tests % / tasks" for name in agents)]
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    levels = [level for level in TOOLS if any(row["difficulty"] == level for row in rows)]
    for level in ["all", *levels]:
        group = [row for row in rows if level in ("all", row["difficulty"])]
        total, killed = (sum(row[key] for row in group) for key in ("mutants", "killed"))
        cells = [level, len(group), sum(bool(row["problems"]) for row in group), total]
        cells.append(f"{100 * killed / total:.1f}" if total else "-")
        for name in agents:
            passed = [row["trivial"].get(name, 0.0) for row in group]
            cells.append(f"{sum(passed) / len(passed):.1f} / {sum(share == 100.0 for share in passed)}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    survivors = [f"- {row['id']}: {what}" for row in rows for what in row["survivors"]]
    return "\n".join([*lines, "", "Mutants that survive the tests:", "", *(survivors or ["- none"])])


def floor_table(floor: dict[str, Any]) -> str:
    """The share of tasks that `search` solves by difficulty, as a Markdown table."""
    lines = ["| difficulty | solved | of | % |", "| --- | --- | --- | --- |"]
    rows = {**floor, "all": {key: sum(row[key] for row in floor.values()) for key in ("solved", "of")}}
    for name, row in rows.items():
        lines.append(f"| {name} | {row['solved']} | {row['of']} | {100 * row['solved'] / (row['of'] or 1):.1f} |")
    return "\n".join(lines)


def figures(tasks: Sequence[Task]) -> dict[str, str]:
    """The drawings of the composition: file name → SVG."""
    return {
        "tools_by_difficulty.svg": _strip("Tools offered", tasks, lambda task: len(task.tools)),
        "words_by_difficulty.svg": _strip("Words in the text", tasks, lambda task: len(task.query.split())),
    }


_COLOURS = {"easy": "#4c9f70", "medium": "#d9a441", "hard": "#c0504d"}
_WIDTH, _ROW, _LEFT, _TOP = 640, 70, 80, 40


def _strip(title: str, tasks: Sequence[Task], measure: Callable[[Task], int]) -> str:
    """A row for each difficulty: a bar for the number of tasks with each value, and a line for the mean."""
    levels = [level for level in TOOLS if any(task.difficulty == level for task in tasks)]
    values = {level: [measure(task) for task in tasks if task.difficulty == level] for level in levels}
    top = max(max(row) for row in values.values())
    scale = (_WIDTH - _LEFT - 30) / top
    height = _TOP + _ROW * len(levels) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="{escape(title)} by difficulty">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}, by difficulty (bars: tasks; line: mean)</text>',
    ]
    for row, level in enumerate(levels):
        base = _TOP + _ROW * (row + 1) - 12
        counts = Counter(values[level])
        most = max(counts.values())
        parts.append(f'<text x="8" y="{base - 18}">{level}</text>')
        parts.append(f'<line x1="{_LEFT}" y1="{base}" x2="{_WIDTH - 30}" y2="{base}" stroke="#999999"/>')
        for value, count in sorted(counts.items()):
            tall = 46 * count / most
            parts.append(
                f'<rect x="{_LEFT + value * scale - 2.5:.1f}" y="{base - tall:.1f}" width="5" height="{tall:.1f}" '
                f'fill="{_COLOURS[level]}"><title>{value}: {count} tasks</title></rect>'
            )
        mean = sum(values[level]) / len(values[level])
        x = f"{_LEFT + mean * scale:.1f}"
        parts.append(f'<line x1="{x}" y1="{base - 50}" x2="{x}" y2="{base}" stroke="#222222" stroke-dasharray="3 2"/>')
        parts.append(f'<text x="{x}" y="{base - 52}" text-anchor="middle" font-size="11">{mean:.1f}</text>')
    for tick in _ticks(top):
        x = f"{_LEFT + tick * scale:.1f}"
        parts.append(f'<text x="{x}" y="{height - 14}" text-anchor="middle" font-size="11">{tick}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(top: int) -> list[int]:
    step = next(step for step in cast(tuple[int, ...], (5, 10, 20, 50, 100, 200)) if top / step <= 10 or step == 200)
    return list(range(0, top + 1, step))

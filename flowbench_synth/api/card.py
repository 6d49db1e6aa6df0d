"""The dataset card and the statistics of the suite `api`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowbench_synth.card import CANARY
from flowmind.trace.stateful import StatefulTask

_TEXT = """\
# flowbench_api, seed {seed}

Tasks of agents against interfaces that hold records: orders, tickets, invoices, calendars and others. It was built by
`flowbench_synth build --suite api --seed {seed}` (version {version}, revision {revision}). The same seed and revision
give the same files.

## Composition

{composition}

Half of the tasks of a family are for tuning (`"split": "tune"`), half for reporting (`"split": "report"`). What is
tuned on the tuning half is measured on the reporting half, and nobody looks at that half before.

## Cases

A task has ten examples and twenty tests. Each case has inputs, a database at the start, the answer, the calls of tools
that write, and the digest of the database at the end. The first two, three, five or ten examples are shown to an agent;
five show every arm of the task. The tests take all arms, and further ones that the text decides, such as a value equal
to a limit. No two cases of a task have the same inputs.

A run is right if its answer, its writes in their order, and the state at the end equal those of the gold workflow. The
table `clock` of a database, which counts what passes by itself, is not compared.

Each task has two texts: a precise one (`query` in `instances.jsonl`), and one as a person would type it (`casual` in
`cases.jsonl`).

| file | contents |
| --- | --- |
| `instances.jsonl` | task text, inputs, tools, examples |
| `tests.jsonl` | inputs and answers of the tests |
| `cases.jsonl` | family, half, second text; of each case its arm, database, changed rows, writes, digest |
| `databases.jsonl` | databases at the start |
| `gold.jsonl` | gold workflow, and its trace on the first example |
| `traces.jsonl` | the calls and answers of the gold workflow on the ten examples |
| `tools.jsonl`, `tool_sources.jsonl` | tool specs; sources of the tools, pure functions of the database `db` |
| `manifest.json` | seed, version, revision, sha256 of each file, statistics, audit of each task |

In Python:

```python
from flowbench_synth.api import judge, load, opened

for task in load(Path("api")):  # task.family, task.split, task.specs, task.inputs, task.query("casual")
    traces = task.runs(5)  # gold runs on the first five examples: inputs, calls with results, answers

with opened(Path("api")) as suite:  # with a worker for the tools
    for task in suite.tasks:
        for case in task.tests:
            environment = suite.environment(task, case)  # a state of its own for each run
            trace = await arun(workflow, case.input, environment)
            print(judge(case, trace, environment.state, task.specs).kind)  # right, wrong, wrong_write or failed
```

## Audit

`flowbench_synth check` repeats the audit. Each gold workflow gives the stored answers, writes and states in two
workers. Agents that know nothing (no answer, the commonest answer of the tests, the calls and the answer of the first
example) are right on no test. Mutants are wrong versions of a gold workflow with one constant, comparison, field or
call changed; the tests of a task kill at least 95 % of them. No text names a tool, or an id of a case.

{audit}

## Known limits

- The tasks are synthetic and in English; the worlds are small.
- Tools do not fail at random. Polling counts polls, not seconds.
- Answers are compared exactly.

## Licence and citation

Apache-2.0. No record describes a real person or company. Do not train on this benchmark. The following string
identifies it in training data: {canary}
"""


def card(manifest: Mapping[str, Any]) -> str:
    """The dataset card as Markdown."""
    return _TEXT.format(
        seed=manifest["seed"],
        version=manifest["version"],
        revision=manifest["revision"],
        composition=composition_table(manifest),
        audit=audit_table(manifest["audit"]),
        canary=CANARY,
    )


def statistics(tasks: Sequence[StatefulTask]) -> dict[str, Any]:
    """Counts over the tasks, in all and by family."""

    def count(rows: Sequence[StatefulTask]) -> dict[str, Any]:
        calls = [len(trace.calls) for task in rows for trace in task.traces]
        return {
            "tasks": len(rows),
            "tune": sum(task.split == "tune" for task in rows),
            "report": sum(task.split == "report" for task in rows),
            "write": sum(any(case.writes for case in task.examples) for task in rows),
            "worlds": len({task.world for task in rows}),
            "examples": sum(len(task.examples) for task in rows),
            "tests": sum(len(task.tests) for task in rows),
            "calls_avg": round(sum(calls) / max(len(calls), 1), 1),
            "tools_avg": round(sum(len(task.tools) for task in rows) / max(len(rows), 1), 1),
        }

    names = dict.fromkeys(task.family for task in tasks)
    return {
        "all": count(tasks),
        "by_family": {name: count([task for task in tasks if task.family == name]) for name in names},
    }


def composition_table(manifest: Mapping[str, Any]) -> str:
    """The families as a Markdown table."""
    lines = [
        "| family | tasks | tuning | reporting | that write | worlds | tests | calls of a gold run |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = {**manifest["statistics"]["by_family"], "all": manifest["statistics"]["all"]}
    for name, row in rows.items():
        title = f"{name}: {manifest['families'][name]}" if name in manifest["families"] else f"**{name}**"
        cells = [title, *(row[key] for key in ("tasks", "tune", "report", "write", "worlds", "tests", "calls_avg"))]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def audit_table(audits: Sequence[Mapping[str, Any]]) -> str:
    """The audit in all as a Markdown table."""
    mutants, killed = sum(row["mutants"] for row in audits), sum(row["killed"] for row in audits)
    share = 100 * killed / max(mutants, 1)
    worst = min((100 * row["killed"] / max(row["mutants"], 1) for row in audits), default=0.0)
    problems = sum(len(row["problems"]) for row in audits)
    return (
        "| tasks | problems | mutants | killed | least of a task |\n| --- | --- | --- | --- | --- |\n"
        f"| {len(audits)} | {problems} | {mutants} | {share:.1f} % | {worst:.1f} % |"
    )

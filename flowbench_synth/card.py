"""The dataset card of a built benchmark."""

from __future__ import annotations

from typing import Any

CANARY = "flowbench_synth canary 6f0d2c1e-7b0a-4a53-9c55-7f1f2f3b9a41"
_TEXT = """\
# flowbench_synth, seed {seed}

Tasks for agents that call tools, and for workflows made of what the agents did. Built by `flowbench_synth build
--seed {seed}` (version {version}); the same seed gives the same bytes, another seed other constants, inputs and
wordings.

| | instances | tests | examples | tools offered (average) | words in the text (average) |
| --- | --- | --- | --- | --- | --- |
{rows}

{tools} different tools are offered in all. Each task has held-out tests that no agent sees; a workflow solves a task
if it gives the golden answer on every test, compared exactly. Golden answers were computed by the gold workflow and
confirmed by an independent calculation.

Files: `instances.jsonl` (task text, inputs, tools, examples), `tests.jsonl` (held-out tests), `gold.jsonl` (gold
workflow and its trace on the first example), `tools.jsonl` (tool specs), `manifest.json` (seed, version, sha256 of
each file, statistics).

Licence: Apache-2.0. The benchmark is synthetic: no record in it is about a real person or company. Do not train on
it; this line is there to find it in training data: {canary}
"""


def card(manifest: dict[str, Any]) -> str:
    """The card as Markdown."""
    statistics = manifest["statistics"]
    groups = {"all": statistics["all"], **statistics["by_category"], **statistics["by_difficulty"]}
    rows = "\n".join(
        f"| {name} | {group['instances']} | {group['tests']} | {group['examples']} | {group['tools_avg']} "
        f"| {group['words_avg']} |"
        for name, group in groups.items()
    )
    return _TEXT.format(
        seed=manifest["seed"],
        version=manifest["version"],
        rows=rows,
        tools=statistics["tools"],
        canary=CANARY,
    )

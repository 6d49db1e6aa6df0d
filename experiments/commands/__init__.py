"""The commands that experiments add to `flowmind`: exp, merge, report, worfbench, dialogue and procedures."""

from __future__ import annotations

from flowmind.cli.command import Command

EXP = Command(
    "run the benchmark with a model and a mode, or with a grid of them",
    "experiments.commands.exp",
    "exp --model search --mode es-pe --limit 8",
)
MERGE = Command(
    "put the shards of runs together, which several machines made", "experiments.commands.merge", "merge runs/big"
)
REPORT = Command("print tables and write an HTML report on runs", "experiments.commands.report", "report runs")
WORFBENCH = Command(
    "let a model write workflows for WorFBench, and score them",
    "experiments.commands.worfbench",
    "worfbench rows.jsonl --model qwen3-8b",
)
DIALOGUE = Command(
    "let an agent talk to simulated users, and score the sessions",
    "experiments.commands.dialogue",
    "dialogue --data dialogues --model follow --method flowagent+ --limit 12",
)
PROCEDURES = Command(
    "learn the procedures of scenarios from sessions",
    "experiments.commands.procedures",
    "procedures runs/train --data dialogues --sessions 20 --out learned",
)

"""The commands that experiments add to `flowmind`: exp, report and worfbench."""

from __future__ import annotations

from flowmind.cli.command import Command

EXP = Command("run the benchmark with a model and a mode, or with a grid of them", "experiments.commands.exp")
REPORT = Command("print tables and write an HTML report on runs", "experiments.commands.report")
WORFBENCH = Command("let a model write workflows for WorFBench, and score them", "experiments.commands.worfbench")

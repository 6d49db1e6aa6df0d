"""The commands that experiments add to `flowmind`: exp, report and worfbench."""

from __future__ import annotations

from flowmind.cli.command import Command

EXP = Command("run an experiment on the benchmark: a model and a mode, or a grid of them", "experiments.commands.exp")
REPORT = Command("print tables and write an HTML report of runs, from their records", "experiments.commands.report")
WORFBENCH = Command("let a model write the workflows of WorFBench and score them", "experiments.commands.worfbench")

"""The commands that experiments add to `flowmind`: exp and report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flowmind.cli import MODES
from flowmind.command import Command


def _exp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="search", help="see `flowmind models` (default search)")
    parser.add_argument("--mode", default="es-pe", choices=MODES, help="how tasks are solved (default es-pe)")
    parser.add_argument(
        "--limit", type=int, default=None, help="only the first N tasks, taken in turn from the categories"
    )
    parser.add_argument("--out", type=Path, default=None, help="the run's folder (default runs/<model>-<mode>)")
    parser.add_argument("--bench", type=Path, default=Path("bench"), help="a built benchmark (default bench)")
    parser.add_argument("--concurrency", type=int, default=4, help="cases at once (default 4)")
    parser.add_argument("--seed", type=int, default=0, help="passed to the model (default 0)")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the model (default 0)")
    parser.add_argument("--rollouts", type=int, default=1, help="executions of each task (default 1)")
    parser.add_argument(
        "--trace-selection",
        default="all",
        choices=("all", "all_success", "random_success"),
        help="which of them the summarizer reads (default all)",
    )
    parser.add_argument("--base-url", default=None, help="where the model answers (default OPENAI_BASE_URL)")
    parser.add_argument(
        "--json-mode",
        default="off",
        choices=("off", "object", "schema", "object-schema"),
        help="let the server constrain replies; object-schema is llama.cpp's form (default off)",
    )
    parser.add_argument("--native-tools", action="store_true", help="tool calls through the API instead of text")
    parser.add_argument("--max-turns", type=int, default=30, help="replies of the model in a stage (default 30)")
    parser.add_argument("--reply-tokens", type=int, default=1024, help="output tokens of a reply (default 1024)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one reply, retries included")


def _exp(options: argparse.Namespace) -> int:
    """Asks for the model before the imports that take seconds."""
    from flowmind.llm.models import find, reach

    if find(options.model).kind != "embedded":
        reach(options.model, options.base_url)
    return _experiment(options)


def _experiment(options: argparse.Namespace) -> int:
    from experiments.runner import RunOptions, run_experiment
    from experiments.tables import summary_table
    from flowmind.agents.turns import Budget
    from flowmind.errors import InputError
    from flowmind.pipeline import Settings, mode_of

    budget = Budget(turns=options.max_turns, reply_tokens=options.reply_tokens)
    try:
        settings = Settings(
            mode=mode_of(options.mode),
            rollouts=options.rollouts,
            trace_selection=options.trace_selection,
            seed=options.seed,
            temperature=options.temperature,
            execute_budget=budget,
            summarize_budget=budget,
        )
        run_options = RunOptions(
            model=options.model,
            bench=options.bench,
            limit=options.limit,
            concurrency=options.concurrency,
            base_url=options.base_url,
            json_mode=options.json_mode,
            native_tools=options.native_tools,
            timeout=options.timeout,
        )
    except ValueError as error:
        raise InputError(_flag(error)) from None
    out = options.out or Path("runs") / f"{options.model.replace('/', '_')}-{options.mode}"
    summary = run_experiment(run_options, settings, out)
    print(summary_table([summary]))
    print(f"{out}/summary.json")
    return 0


def _flag(error: ValueError) -> str:
    """The flag that a validation error is about."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"--{str(first['loc'][-1]).replace('_', '-')}: {first['msg']}"


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run's folder")


def _report(options: argparse.Namespace) -> int:
    from experiments.runner import summarize_run
    from experiments.tables import group_table, summary_table

    summaries = [summarize_run(run) for run in options.runs]
    print(summary_table(summaries))
    for summary in summaries:
        print(group_table(summary))
    return 0


EXP = Command("run an experiment: a model and a mode on the benchmark", _exp_arguments, _exp)
REPORT = Command("print the tables of runs, made again from their records", _report_arguments, _report)

if __name__ == "__main__":
    sys.exit("run `flowmind exp` or `flowmind report`")

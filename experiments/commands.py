"""The commands that experiments add to `flowmind`: exp, report and worfbench."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flowmind.cli.command import Command
from flowmind.cli.main import MODES, derivation_arguments, sandbox_argument

if TYPE_CHECKING:
    from experiments.grid import Grid
    from experiments.runner import RunOptions


def _exp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=None, help="see `flowmind models` (default search)")
    parser.add_argument("--mode", default=None, choices=MODES, help="how tasks are solved (default es-pe)")
    parser.add_argument(
        "--config", type=Path, default=None, metavar="FILE",
        help="run the grid of a TOML file (see experiments/configs); --model and --mode then pick a part of it",
    )  # fmt: skip
    parser.add_argument(
        "--replay", type=Path, default=None, metavar="RUN",
        help="make the records of a run again from its exchanges alone, into --out or in place; asks no model",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=int, default=None, help="only the first N tasks, taken in turn from the categories"
    )
    parser.add_argument(
        "--pick", default="first", choices=("first", "spread"),
        help="spread: a limit takes tasks in turn from the kinds of control flow of each category (default first)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=None,
        help="the run's folder (default runs/<model>-<mode>, with -gold, -guided, -verify5 or -probe8 where these are "
        "not the mode's own); with --config the folder of its runs (default runs)",
    )  # fmt: skip
    parser.add_argument("--bench", type=Path, default=Path("bench"), help="a built benchmark (default bench)")
    parser.add_argument(
        "--concurrency", type=_at_once, default="auto", metavar="N",
        help="cases at once; auto: as many as bring more throughput (default auto)",
    )  # fmt: skip
    sandbox_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="passed to the model (default 0)")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the model (default 0)")
    parser.add_argument("--rollouts", type=int, default=1, help="executions of each task (default 1)")
    parser.add_argument(
        "--trace-selection",
        default="all",
        choices=("all", "all_success", "random_success"),
        help="which of them the summarizer reads (default all)",
    )
    derivation_arguments(parser)
    parser.add_argument(
        "--traces", default="agent", choices=("agent", "gold"),
        help="gold: traces of the gold workflow on the examples stand for executions, and tables say so",
    )  # fmt: skip
    parser.add_argument("--base-url", default=None, help="where the model answers (default OPENAI_BASE_URL)")
    parser.add_argument("--execute-base-url", default=None, help="where it answers in the execute stage")
    parser.add_argument("--summarize-base-url", default=None, help="where it answers in the summarize stage")
    parser.add_argument(
        "--json-mode",
        default="off",
        choices=("off", "object", "schema", "object-schema"),
        help="let the server constrain replies; object-schema is llama.cpp's form (default off)",
    )
    parser.add_argument("--native-tools", action="store_true", help="tool calls through the API instead of text")
    parser.add_argument("--max-turns", type=int, default=30, help="replies of the model in a stage (default 30)")
    parser.add_argument("--reply-tokens", type=int, default=1024, help="output tokens of a reply (default 1024)")
    parser.add_argument("--turn-limit", type=int, default=None, help="replies of the model in a case")
    parser.add_argument("--token-limit", type=int, default=None, help="output tokens of a case")
    parser.add_argument("--time-limit", type=float, default=None, help="seconds that a case waits for the model")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one reply, retries included")
    parser.add_argument(
        "--reuse", type=Path, action="append", default=[], metavar="RUN",
        help="take replies to equal requests from another run's exchanges; may be given again",
    )  # fmt: skip


def _at_once(text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdigit() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number from 1 to 1000")
    return int(text)


def _exp(options: argparse.Namespace) -> int:
    """Asks for the model before the imports that take seconds."""
    from experiments.endpoints import served

    if options.replay is not None:
        return _replay(options)
    if options.config is not None:
        return _grid(options)
    options.model = options.model or "search"
    options.mode = options.mode or "es-pe"
    urls = (options.execute_base_url or options.base_url, options.summarize_base_url or options.base_url)
    with served(options.model, *urls) as started:
        options.base_url = started or options.base_url
        return _experiment(options)


def _run_options(options: argparse.Namespace) -> RunOptions:
    from experiments.runner import RunOptions

    return RunOptions(
        model=options.model or "search",
        bench=options.bench,
        limit=options.limit,
        pick=options.pick,
        concurrency=options.concurrency,
        sandbox=options.sandbox,
        require_isolation=options.require_isolation,
        base_url=options.base_url,
        execute_base_url=options.execute_base_url,
        summarize_base_url=options.summarize_base_url,
        json_mode=options.json_mode,
        native_tools=options.native_tools,
        timeout=options.timeout,
        reuse=tuple(options.reuse),
    )


def _experiment(options: argparse.Namespace) -> int:
    from experiments.naming import folder_part
    from experiments.runner import run_experiment
    from experiments.tables import summary_table
    from flowmind.agents.turns import Budget
    from flowmind.base.errors import InputError
    from flowmind.build.settings import Settings, mode_of

    try:
        budget = Budget(turns=options.max_turns, reply_tokens=options.reply_tokens)
        settings = Settings(
            mode=mode_of(options.mode),
            rollouts=options.rollouts,
            trace_selection=options.trace_selection,
            summarizer=options.summarizer,
            verify=options.verify,
            probe=options.probe,
            traces=options.traces,
            seed=options.seed,
            temperature=options.temperature,
            execute_budget=budget,
            summarize_budget=budget,
            turn_limit=options.turn_limit,
            token_limit=options.token_limit,
            time_limit=options.time_limit,
        )
        run_options = _run_options(options)
    except ValueError as error:
        raise InputError(_flag(error)) from None
    parts = (options.model.replace("/", "_"), options.mode, folder_part(settings.model_dump()))
    out = options.out or Path("runs") / "-".join(filter(None, parts))
    summary = run_experiment(run_options, settings, out)
    print(summary_table([summary]))
    print(f"{out}/summary.json")
    return 0


def _replay(options: argparse.Namespace) -> int:
    from experiments.runner import replay
    from experiments.tables import summary_table

    out = options.out or options.replay
    print(summary_table([replay(options.replay, out, options.bench)]))
    print(f"{out}/summary.json")
    return 0


def _read_grid(options: argparse.Namespace) -> Grid:
    from experiments.grid import Grid

    grid = Grid.read(options.config)
    models = (options.model,) if getattr(options, "model", None) else ()
    modes = (options.mode,) if getattr(options, "mode", None) else ()
    if getattr(options, "pick", "first") != "first":
        grid = grid.model_copy(update={"pick": options.pick})
    return grid.part(models, modes, getattr(options, "limit", None))


def _grid(options: argparse.Namespace) -> int:
    """Runs a grid; 1 if a run of it did not come to its end."""
    from experiments.grid import run_grid
    from experiments.tables import summary_table

    grid = _read_grid(options)
    base = _run_options(options)
    base = base.model_copy(update={"bench": grid.bench or options.bench})
    summaries, problems = run_grid(grid, base, options.out or Path("runs"))
    if summaries:
        print(summary_table(summaries))
    for problem in problems:
        print(f"flowmind: {problem}", file=sys.stderr)
    print(_report_line(options))
    return 1 if problems else 0


def _report_line(options: argparse.Namespace) -> str:
    """The command that reports on the runs of a grid as these options made them."""
    words = ["flowmind", "report", "--config", str(options.config)]
    words += ["--limit", str(options.limit)] if options.limit is not None else []
    words += ["--pick", options.pick] if options.pick != "first" else []
    words += ["--root", str(options.out)] if options.out else []
    return shlex.join(words)


def _flag(error: ValueError) -> str:
    """The flag that a validation error is about."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"--{str(first['loc'][-1]).replace('_', '-')}: {first['msg']}"


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", type=Path, nargs="*", metavar="RUN", help="a run's folder, or a folder of runs (default runs)"
    )
    parser.add_argument(
        "--config", type=Path, default=None, metavar="FILE", help="the runs of a grid, as `flowmind exp` made them"
    )
    parser.add_argument("--limit", type=int, default=None, help="with --config: the runs that were made with --limit")
    parser.add_argument(
        "--pick", default="first", choices=("first", "spread"), help="with --config: … and with --pick (default first)"
    )
    parser.add_argument("--root", type=Path, default=Path("runs"), help="with --config: where its runs are")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE",
        help="the HTML file (default report.html in the run's folder, or beside the runs)",
    )  # fmt: skip
    parser.add_argument("--tables", action="store_true", help="only print the tables, as Markdown")


def _report(options: argparse.Namespace) -> int:
    from experiments.analyses import analyse
    from experiments.loading import load
    from experiments.runner import summarize_run
    from experiments.tables import group_table, summary_table

    title, names, folders = None, None, options.runs or [Path("runs")]
    if options.config is not None:
        grid = _read_grid(options)
        title, names, folders = grid.title, grid.analyses or None, _grid_folders(grid, options)
    runs = load(folders)
    summaries = [summarize_run(run.folder) for run in runs]
    print(summary_table(summaries))
    for summary in summaries:
        print(group_table(summary))
    if options.tables:
        print("\n".join(table.markdown() for table in analyse(runs, names)))
        return 0
    from experiments.report import write_report

    out = options.out or _report_path([run.folder for run in runs])
    size = write_report(runs, out, title, names)
    print(f"{out} ({size / 1_000_000:.1f} MB)")
    return 0


def _grid_folders(grid: Grid, options: argparse.Namespace) -> list[Path]:
    from experiments.grid import folders
    from experiments.runner import RunOptions
    from flowmind.base.errors import InputError

    every = folders(grid, RunOptions(model="search", bench=Path("bench")), options.root)
    found = [folder for folder in every if (folder / "records.jsonl").exists()]
    if not found:
        raise InputError(f"{options.config}: none of its runs is in {options.root}; `flowmind exp --config` makes them")
    return found


def _report_path(folders: list[Path]) -> Path:
    """In the folder of a single run; of several, in the folder that holds the first."""
    return (folders[0] if len(folders) == 1 else folders[0].parent) / "report.html"


def _worfbench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, metavar="DATA", help="rows of WorFBench: JSON Lines or JSON, plain or .gz")
    parser.add_argument("--model", required=True, help="see `flowmind models`; one that writes text")
    parser.add_argument("--base-url", default=None, help="where the model answers (default OPENAI_BASE_URL)")
    parser.add_argument("--limit", type=int, default=None, help="only the first N rows, taken in turn from the sources")
    parser.add_argument("--sources", default="", metavar="A,B", help="only rows of these sources (default all)")
    parser.add_argument(
        "--out", type=Path, default=None, help="the run's folder (default runs/worfbench-<model>[-gold-chain])"
    )
    parser.add_argument(
        "--definition", default="paper", choices=("paper", "reference"),
        help="what the WorFBench paper defines, or what its published code computes (default paper)",
    )  # fmt: skip
    parser.add_argument(
        "--similarity", default="bow", choices=("bow", "encoder"),
        help="of steps: by common words, or by a sentence encoder (default bow)",
    )  # fmt: skip
    parser.add_argument("--encoder", default=None, help="model or folder (default the paper's, all-mpnet-base-v2)")
    parser.add_argument(
        "--gold-chain", action="store_true", help="give the gold steps and ask for the edges only (the paper's table 5)"
    )
    parser.add_argument(
        "--concurrency", type=_at_once, default="auto", metavar="N",
        help="rows at once; auto: as many as bring more throughput (default auto)",
    )  # fmt: skip
    parser.add_argument("--reply-tokens", type=int, default=1024, help="output tokens of a reply (default 1024)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one reply, retries included")
    parser.add_argument("--seed", type=int, default=0, help="passed to the model (default 0)")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the model (default 0)")


def _worfbench(options: argparse.Namespace) -> int:
    from experiments.endpoints import served
    from experiments.worfbench.asking import Asking
    from experiments.worfbench.running import Options, prepare, run
    from experiments.worfbench.summing import tables
    from flowmind.base.errors import InputError

    names = ("model", "data", "definition", "similarity", "encoder", "limit", "base_url", "concurrency", "timeout")
    asked = ("gold_chain", "reply_tokens", "temperature", "seed")
    try:
        chosen = Options(
            **{name: getattr(options, name) for name in names},
            sources=tuple(name.strip() for name in options.sources.split(",") if name.strip()),
            asking=Asking(**{name: getattr(options, name) for name in asked}),
        )
    except ValueError as error:
        raise InputError(_flag(error)) from None
    out = options.out
    if out is None:
        kind = "-gold-chain" if options.gold_chain else ""
        out = Path("runs") / f"worfbench-{options.model.replace('/', '_')}{kind}"
    materials = prepare(chosen)
    with served(chosen.model, chosen.base_url) as started:
        summary = run(chosen.model_copy(update={"base_url": started or chosen.base_url}), materials, out)
    print(tables(summary))
    print(f"{out}/summary.json")
    return 0


EXP = Command("run an experiment: a model and a mode, or a grid of them, on the benchmark", _exp_arguments, _exp)
REPORT = Command("tables and an HTML report of runs, made from their records", _report_arguments, _report)
WORFBENCH = Command("let a model write the workflows of WorFBench and score them", _worfbench_arguments, _worfbench)

if __name__ == "__main__":
    sys.exit("run `flowmind exp` or `flowmind report`")

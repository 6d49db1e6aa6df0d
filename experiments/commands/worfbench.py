"""`flowmind worfbench`."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import ValidationError

from experiments.endpoints import served
from experiments.naming import named
from experiments.options import read_concurrency
from experiments.shards import place, shard_named
from flowmind.base.errors import InputError
from flowmind.base.outputs import require_folder
from flowmind.cli.flags import explained
from flowmind.cli.worfeval import add_scoring


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "data", type=Path, metavar="DATA", help="file with rows of WorFBench: JSON Lines or JSON, also as .gz"
    )
    parser.add_argument(
        "--model", required=True, help="name of a language model; `flowmind models` lists the known ones"
    )
    parser.add_argument("--base-url", help="URL of the model's server; by default OPENAI_BASE_URL")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="run at most N rows, taken in turn from the sources (default all)"
    )
    parser.add_argument("--sources", default="", metavar="A,B", help="only rows of these sources (default all)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the run (default runs/worfbench-<model>[-gold-chain])"
    )
    parser.add_argument(
        "--shard", metavar="K/N",
        help="work on one part of the rows only, the K-th of N parts, in a folder of its own; `flowmind merge` puts "
        "the parts together",
    )  # fmt: skip
    add_scoring(parser, ("bow", "encoder"))
    parser.add_argument(
        "--gold-chain",
        action="store_true",
        help="give the model the gold steps and ask only for the edges (table 5 of the paper)",
    )
    parser.add_argument(
        "--concurrency", type=_concurrency, default="auto", metavar="N",
        help="number of rows that run at the same time; auto adapts it to the throughput of the server (default auto)",
    )  # fmt: skip
    parser.add_argument(
        "--reply-tokens", type=int, default=1024, metavar="N", help="most output tokens of one reply (default 1024)"
    )
    parser.add_argument(
        "--timeout", type=float, default=600.0, metavar="X",
        help="most seconds that one reply may take, retries included (default 600)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed that is passed to the model (default 0)")
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="X", help="sampling temperature of the model (default 0)"
    )


def _concurrency(text: str) -> int | str:
    try:
        return read_concurrency(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Runs the rows without a record, and prints the tables."""
    from experiments.worfbench import running
    from experiments.worfbench.asking import Asking
    from experiments.worfbench.summing import tables

    require_folder("--out", options.out)
    names = (
        "model",
        "data",
        "definition",
        "similarity",
        "encoder",
        "limit",
        "shard",
        "base_url",
        "concurrency",
        "timeout",
    )
    asking_names = ("gold_chain", "reply_tokens", "temperature", "seed")
    try:
        chosen = running.Options(
            **{name: getattr(options, name) for name in names},
            sources=tuple(name.strip() for name in options.sources.split(",") if name.strip()),
            asking=Asking(**{name: getattr(options, name) for name in asking_names}),
        )
    except ValidationError as error:
        raise InputError(explained(error)) from None
    out = options.out
    if out is None:
        kind = "-gold-chain" if options.gold_chain else ""
        out = Path("runs") / named(f"worfbench-{options.model}{kind}")
    materials = running.prepare(chosen)
    with served(chosen.model, [chosen.base_url]) as started:
        summary = running.run(chosen.model_copy(update={"base_url": started or chosen.base_url}), materials, out)
    print(tables(summary))
    print(f"{place(out, shard_named(chosen.shard))}/summary.json")
    return 0

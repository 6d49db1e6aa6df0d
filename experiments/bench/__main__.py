"""`python -m experiments.bench`: measures, prints the tables, and with `--json` writes all values as JSON."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import tqdm

from experiments.bench import growth, guarded, inducing, sandboxed, starting, structure, turns, waiting, workflows
from experiments.bench.measuring import Bench, Outcome, measure
from experiments.bench.reporting import markdown, report_on
from flowmind.base.files import write_text
from flowmind.base.folders import opened


def benches(quick: bool = False) -> dict[str, Bench]:
    """All benchmarks by name, in their order."""
    suite = (
        *workflows.benches(),
        *sandboxed.benches(),
        *turns.benches(2 if quick else turns.EPISODES),
        *guarded.benches(),
        *starting.benches(quick),
        *growth.benches(growth.RUNS[:2] if quick else growth.RUNS),
        *structure.benches(),
        *waiting.benches(*((1,) if quick else ())),
        *(inducing.benches((1, 2), (1, 2)) if quick else inducing.benches()),
    )
    return {bench.name: bench for bench in suite}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured, even if goals are not met; 2 bad usage; 130 interrupted."""
    options = _parser().parse_args(arguments)
    chosen = [bench for name, bench in benches(options.quick).items() if not options.only or name in options.only]
    try:
        if options.json is not None:
            _require_writable(options.json)
        report = report_on(_measured(chosen, options.rounds, options.quick))
        if options.json is not None:
            write_text(options.json, report.model_dump_json(indent=1) + "\n")
    except OSError as error:
        print(f"bench: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    print(markdown(report))
    return 0


def _require_writable(path: Path) -> None:
    """Requires, before anything is measured, that a file can be written.

    Raises:
        OSError: If it cannot.
    """
    with opened(path.parent, create=True) as folder:
        os.close(folder.open(path.name, os.O_WRONLY | os.O_CREAT))


def _measured(chosen: Sequence[Bench], rounds: int | None, quick: bool) -> list[Outcome]:
    counts = [1 if quick else rounds or bench.rounds for bench in chosen]
    total = sum(count * len(bench.contenders) for count, bench in zip(counts, chosen, strict=True))
    with tqdm.tqdm(total=total, unit="sample") as bar:
        outcomes: list[Outcome] = []
        for count, bench in zip(counts, chosen, strict=True):
            bar.set_description(bench.name)
            outcomes.append(measure(bench, count, quick, bar.update))
        return outcomes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.bench", description="Measure FlowMind against peers.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values to FILE")
    parser.add_argument("--only", nargs="+", choices=tuple(benches()), metavar="NAME", help=", ".join(benches()))
    parser.add_argument("--rounds", type=_rounds, metavar="N", help="samples of each contender (default 3 to 11)")
    parser.add_argument("--quick", action="store_true", help="one round with little work, to test that everything runs")
    return parser


def _rounds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

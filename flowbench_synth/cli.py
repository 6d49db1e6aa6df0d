"""The command `flowbench_synth`: build, check, stats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flowmind.errors import InputError
from flowmind.files import dump_json, parse_json, read_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: done; 1: the benchmark is not sound; 2: bad usage or bad input; 130: interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (InputError, OSError) as error:
        print(f"flowbench_synth: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("flowbench_synth: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flowbench_synth", description="FlowMind's synthetic benchmark.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="write the benchmark of a seed to a folder")
    build.add_argument("--seed", type=int, default=0, help="same seed, same bytes (default 0)")
    build.add_argument("--out", type=Path, default=Path("bench"), help="the folder (default bench)")
    build.set_defaults(run=_build)
    check = commands.add_parser("check", help="prove that every gold workflow passes every test")
    check.add_argument("folder", type=Path, help="a built benchmark")
    check.set_defaults(run=_check)
    stats = commands.add_parser("stats", help="print the statistics of a built benchmark")
    stats.add_argument("folder", type=Path, help="a built benchmark")
    stats.set_defaults(run=_stats)
    return parser


def _build(options: argparse.Namespace) -> int:
    from flowbench_synth.builder import BuildError, build

    try:
        manifest = build(options.seed, options.out)
    except BuildError as error:
        print(f"flowbench_synth: {error}", file=sys.stderr)
        return 1
    counts = manifest["statistics"]["all"]
    print(f"{options.out}: {counts['instances']} instances, {counts['tests']} tests, {counts['examples']} examples")
    return 0


def _check(options: argparse.Namespace) -> int:
    from flowbench_synth.audit import audit

    problems = audit(options.folder)
    for problem in problems:
        print(problem)
    print(f"{options.folder}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


def _stats(options: argparse.Namespace) -> int:
    path = options.folder / "manifest.json"
    try:
        print(dump_json(parse_json(read_text(path))["statistics"], indent=1))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command `flowbench_synth`: build, check, certify, stats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.base.files import dump_json, parse_json, read_text
from tools_registry.sandbox.errors import SandboxUnavailable

SIZE = 141
CATEGORIES = ("mathematical_computation", "data_processing", "string_manipulation", "logical_reasoning")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: done; 1: the benchmark is not sound; 2: bad usage or bad input; 130: interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (InputError, ModelUnavailable, SandboxUnavailable, OSError) as error:
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
    build.add_argument("--size", type=int, default=SIZE, help=f"instances, in the same proportions (default {SIZE})")
    build.add_argument("--categories", default=",".join(CATEGORIES), help="categories, with commas (default all)")
    build.add_argument(
        "--backend",
        choices=("blueprints", "llm"),
        default="blueprints",
        help="take tasks written by hand, or let a model write tools, tasks and traces (default blueprints)",
    )
    build.add_argument("--model", help="with --backend llm: the model's name")
    build.add_argument("--tools", type=int, default=12, help="with --backend llm: tools to write for each category")
    build.set_defaults(run=_build)
    check = commands.add_parser("check", help="audit a built benchmark: exit code 1 if anything is wrong")
    check.add_argument("folder", type=Path, help="a built benchmark")
    check.set_defaults(run=_check)
    certify = commands.add_parser("certify", help="run the gold workflows in every format: exit code 1 if any differs")
    certify.add_argument("folder", type=Path, help="a built benchmark")
    certify.add_argument("--formats", default=None, help="formats, separated by commas (default all)")
    certify.add_argument("--json", action="store_true", help="print JSON")
    certify.set_defaults(run=_certify)
    stats = commands.add_parser("stats", help="print the statistics of a built benchmark")
    stats.add_argument("folder", type=Path, help="a built benchmark")
    stats.add_argument("--json", action="store_true", help="print JSON")
    stats.set_defaults(run=_stats)
    return parser


def _build(options: argparse.Namespace) -> int:
    from flowbench_synth.card import floor_table
    from flowbench_synth.instance import BuildError, Stage, stage_table

    categories = _categories(options.categories)
    if options.size < 1:
        raise InputError(f"--size {options.size}: a benchmark has at least 1 instance")
    try:
        manifest = _backend(options, categories)
    except BuildError as error:
        print(f"flowbench_synth: {error}", file=sys.stderr)
        return 1
    counts = manifest["statistics"]["all"]
    print(stage_table(Stage.model_validate(row) for row in manifest["stages"]))
    print(f"\nSolved by search, which needs no language:\n\n{floor_table(manifest['search_floor'])}\n")
    print(f"{options.out}: {counts['instances']} instances, {counts['tests']} tests, {counts['examples']} examples")
    return 0


def _backend(options: argparse.Namespace, categories: Sequence[Any]) -> dict[str, Any]:
    if options.backend == "blueprints":
        from flowbench_synth.builder import build

        if options.model:
            raise InputError("--model goes with --backend llm")
        return build(options.seed, options.out, options.size, categories)
    from flowbench_synth.llm_backend import build_with_model

    if not options.model:
        raise InputError("--backend llm needs --model: the name of the model that writes")
    return build_with_model(options.model, options.seed, options.out, options.size, categories, options.tools)


def _categories(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in CATEGORIES]:
        raise InputError(f"--categories: {unknown[0]!r} is none of {', '.join(CATEGORIES)}")
    if not names:
        raise InputError(f"--categories: name at least one of {', '.join(CATEGORIES)}")
    return [name for name in CATEGORIES if name in names]


def _check(options: argparse.Namespace) -> int:
    from flowbench_synth.audit import audit
    from flowbench_synth.card import audit_table

    problems, audits = audit(options.folder)
    problems += [f"{found.id}: {problem}" for found in audits for problem in found.problems]
    print(audit_table([found.model_dump(mode="json") for found in audits]), end="\n\n")
    for problem in problems:
        print(problem)
    print(f"{options.folder}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


def _certify(options: argparse.Namespace) -> int:
    from flowbench_synth.certify import certified_formats, certify, notes, table

    names = [name for name in (options.formats or "").split(",") if name] or certified_formats()
    found = certify(options.folder, names, quiet=options.json)
    if options.json:
        print(dump_json([one.model_dump(mode="json") for one in found], indent=1))
    else:
        print(table(found), *notes(found), sep="\n")
    return 1 if any(one.differences for one in found) else 0


def _stats(options: argparse.Namespace) -> int:
    from flowbench_synth.card import composition_table, floor_table

    path = options.folder / "manifest.json"
    try:
        manifest = parse_json(read_text(path))
        statistics = manifest["statistics"]
        if options.json:
            print(dump_json(statistics, indent=1))
        else:
            print(composition_table(statistics))
            print(f"\nSolved by search:\n\n{floor_table(manifest['search_floor'])}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error if type(error) is ValueError else f"no manifest of a benchmark (field {error})"
        raise InputError(f"{path}: {reason}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())

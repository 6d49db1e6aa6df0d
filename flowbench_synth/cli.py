"""The command `flowbench_synth`: build, check, certify, stats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json, parse_json, read_text
from flowmind.base.outputs import require_folder
from flowmind.base.parsing import Parser
from flowmind.base.texts import one_line, shown_output
from tools_registry.sandbox.errors import SandboxUnavailable

SIZE = 141
MAX_SIZE = 10_000
TOOLS = 12
MAX_TOOLS = 1_000
CATEGORIES = ("mathematical_computation", "data_processing", "string_manipulation", "logical_reasoning")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Exit codes: 0 done, 1 the benchmark is not sound, 2 bad usage or input, 130 interrupted."""
    with shown_output():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        return options.run(options)
    except (FlowMindError, SandboxUnavailable, OSError) as error:
        print(f"flowbench_synth: {one_line(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("flowbench_synth: interrupted", file=sys.stderr)
        return 130


def build_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(prog="flowbench_synth", description="Build and check FlowMind's synthetic benchmark.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build the benchmark of a seed")
    build.add_argument("--seed", type=int, default=0, help="the same seed gives the same files (default 0)")
    build.add_argument(
        "--suite",
        choices=("functions", "api"),
        default="functions",
        help="tasks over pure functions, or tasks against interfaces with a state (default functions)",
    )
    build.add_argument("--out", type=Path, help="the folder to write (default bench; api with --suite api)")
    build.add_argument(
        "--size",
        type=int,
        help=f"number of instances; the proportions of categories stay (default {SIZE})",
    )
    build.add_argument("--categories", help="categories, separated by commas (default all)")
    build.add_argument(
        "--backend",
        choices=("blueprints", "llm"),
        default="blueprints",
        help="source of the tasks: blueprints written by hand, or a model (default blueprints)",
    )
    build.add_argument("--model", help="name of the model (with --backend llm)")
    build.add_argument(
        "--tools",
        type=int,
        help=f"number of tools that the model writes for each category (with --backend llm; default {TOOLS})",
    )
    _add_isolation(build)
    build.set_defaults(run=_build)
    check = commands.add_parser("check", help="audit a built benchmark; exit code 1 if it has a problem")
    check.add_argument("folder", type=Path, metavar="FOLDER", help="a built benchmark")
    _add_isolation(check)
    check.set_defaults(run=_check)
    certify = commands.add_parser(
        "certify", help="run the gold workflows in other formats; exit code 1 if an answer differs"
    )
    certify.add_argument("folder", type=Path, metavar="FOLDER", help="a built benchmark")
    certify.add_argument("--formats", default=None, help="formats, separated by commas (default all)")
    certify.add_argument("--json", action="store_true", help="print JSON")
    _add_isolation(certify)
    certify.set_defaults(run=_certify)
    stats = commands.add_parser("stats", help="print the statistics of a built benchmark")
    stats.add_argument("folder", type=Path, metavar="FOLDER", help="a built benchmark")
    stats.add_argument("--json", action="store_true", help="print JSON")
    stats.set_defaults(run=_stats)
    _add_dialogue(commands.add_parser("dialogue", help="build and check the dialogue benchmark"))
    return parser


def _add_dialogue(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build the dialogue benchmark of a seed")
    build.add_argument("--seed", type=int, default=0, help="the same seed gives the same files (default 0)")
    build.add_argument("--out", type=Path, default=Path("dialogues"), help="the folder to write (default dialogues)")
    build.add_argument(
        "--limit-domains",
        metavar="DOMAINS",
        default="",
        help="build these domains only; names or beginnings of names, separated by commas (default all)",
    )
    build.add_argument("--quiet", action="store_true", help="show no progress and no table")
    _add_requirement(build)
    build.set_defaults(run=_build_dialogues)
    check = commands.add_parser("check", help="check a built dialogue benchmark; exit code 1 if it has a problem")
    check.add_argument("folder", type=Path, metavar="FOLDER", help="a built dialogue benchmark")
    check.add_argument("--quiet", action="store_true", help="show no progress and no table")
    _add_requirement(check)
    check.set_defaults(run=_check_dialogues)


def _add_isolation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--isolation",
        choices=("batch", "case"),
        help="a process for each batch of calls and cases, or for each call and each case (default batch for tools of "
        "the catalog, case for others, such as those that a model wrote)",
    )
    _add_requirement(parser)


def _add_requirement(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--require-isolation",
        choices=("none", "limits", "kernel", "full"),
        default="kernel",
        help="least isolation of the processes that run tools; `flowmind doctor` shows that of this machine "
        "(default kernel)",
    )


def _isolation(options: argparse.Namespace) -> dict[str, Any]:
    """The isolation as arguments of a function; a line on standard error if the kernel does not isolate tools.

    Raises:
        SandboxUnavailable: If the tools are isolated less than is required.
    """
    from tools_registry.sandbox.choosing import choose

    choice = choose("local", options.require_isolation)
    if choice.is_weak:
        print(f"flowbench_synth: {choice.line}", file=sys.stderr)
    given = {"isolation": options.isolation} if getattr(options, "isolation", None) else {}
    return {**given, "require": options.require_isolation}


def _build(options: argparse.Namespace) -> int:
    from flowbench_synth.card import floor_table
    from flowbench_synth.instance import BuildError, Stage, stage_table

    if options.suite == "api":
        return _build_api(options)
    options.out = options.out or Path("bench")
    options.size = SIZE if options.size is None else options.size
    categories = _categories(",".join(CATEGORIES) if options.categories is None else options.categories)
    if not 1 <= options.size <= MAX_SIZE:
        raise InputError(f"--size {options.size}: give a number from 1 to {MAX_SIZE}")
    require_folder("--out", options.out)
    try:
        manifest = _backend(options, categories)
    except BuildError as error:
        print(f"flowbench_synth: {error}", file=sys.stderr)
        return 1
    counts = manifest["statistics"]["all"]
    print(stage_table(Stage.model_validate(row) for row in manifest["stages"]))
    print(f"\nSolved by search, without a language model:\n\n{floor_table(manifest['search_floor'])}\n")
    print(f"{options.out}: {counts['instances']} instances, {counts['tests']} tests, {counts['examples']} examples")
    return 0


def _build_api(options: argparse.Namespace) -> int:
    from flowbench_synth.api.builder import build
    from flowbench_synth.api.card import audit_table, composition_table
    from flowbench_synth.instance import BuildError

    unused = [flag for flag in ("size", "categories", "model", "tools") if getattr(options, flag) is not None]
    if unused or options.backend != "blueprints":
        raise InputError(f"--{[*unused, 'backend'][0]} is not used with --suite api")
    out = options.out or Path("api")
    require_folder("--out", out)
    try:
        manifest = build(options.seed, out, require=_isolation(options)["require"])
    except BuildError as error:
        print(f"flowbench_synth: {one_line(str(error))}", file=sys.stderr)
        return 1
    print(f"{composition_table(manifest)}\n\n{audit_table(manifest['audit'])}\n")
    counts = manifest["statistics"]["all"]
    print(f"{out}: {counts['tasks']} tasks, {counts['tests']} tests, {counts['examples']} examples")
    return 0


def _backend(options: argparse.Namespace, categories: Sequence[Any]) -> dict[str, Any]:
    if options.backend == "blueprints":
        from flowbench_synth.builder import build

        if unused := [flag for flag in ("model", "tools") if getattr(options, flag) is not None]:
            raise InputError(f"--{unused[0]} needs --backend llm")
        return build(options.seed, options.out, options.size, categories, **_isolation(options))
    from flowbench_synth.llm_backend import build_with_model
    from flowmind.llm.models import find

    if not options.model:
        raise InputError("--backend llm needs --model, the name of a model")
    if find(options.model).kind == "embedded":
        raise InputError(f"--model {options.model}: it is not a language model; name a model that is served")
    tools = TOOLS if options.tools is None else options.tools
    if not 1 <= tools <= MAX_TOOLS:
        raise InputError(f"--tools {tools}: give a number from 1 to {MAX_TOOLS}")
    return build_with_model(
        options.model, options.seed, options.out, options.size, categories, tools, **_isolation(options)
    )


def _categories(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in CATEGORIES]:
        raise InputError(f"--categories: {unknown[0]!r} is none of {', '.join(CATEGORIES)}")
    if not names:
        raise InputError(f"--categories: give at least one of {', '.join(CATEGORIES)}")
    return [name for name in CATEGORIES if name in names]


def _check(options: argparse.Namespace) -> int:
    from flowbench_synth.audit import audit
    from flowbench_synth.card import audit_table
    from flowmind.trace.stateful import is_suite

    if is_suite(options.folder):
        return _check_api(options)
    problems, audits = audit(options.folder, **_isolation(options))
    problems += [f"{task.id}: {problem}" for task in audits for problem in task.problems]
    print(audit_table([task.model_dump(mode="json") for task in audits]), end="\n\n")
    for problem in problems:
        print(problem)
    print(f"{options.folder}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


def _check_api(options: argparse.Namespace) -> int:
    from flowbench_synth.api.audit import check_suite
    from flowbench_synth.api.card import audit_table

    problems, audits = check_suite(options.folder, require=_isolation(options)["require"])
    print(audit_table([audit.model_dump(mode="json") for audit in audits]), end="\n\n")
    for problem in problems:
        print(one_line(problem))
    print(f"{options.folder}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


def _certify(options: argparse.Namespace) -> int:
    from flowbench_synth.certify import certified_formats, certify, notes, table
    from flowmind.trace.stateful import is_suite

    if is_suite(options.folder):
        raise InputError(f"{options.folder}: the suite api has a state, which other formats do not run on")
    names = certified_formats()
    if options.formats is not None:
        names = [name.strip() for name in options.formats.split(",") if name.strip()]
    if not names:
        raise InputError(f"--formats: give at least one of {', '.join(certified_formats())}")
    certificates = certify(options.folder, names, quiet=options.json, **_isolation(options))
    if options.json:
        print(dump_json([certificate.model_dump(mode="json") for certificate in certificates], indent=1))
    else:
        print(table(certificates), *notes(certificates), sep="\n")
    return 1 if any(certificate.differences for certificate in certificates) else 0


def _stats(options: argparse.Namespace) -> int:
    from flowbench_synth.api.card import composition_table as api_table
    from flowbench_synth.card import composition_table, floor_table
    from flowmind.trace.stateful import is_suite

    path = options.folder / "manifest.json"
    try:
        manifest = parse_json(read_text(path))
        statistics = manifest["statistics"]
        if options.json:
            print(dump_json(statistics, indent=1))
        elif is_suite(options.folder):
            print(api_table(manifest))
        else:
            print(composition_table(statistics))
            print(f"\nSolved by search:\n\n{floor_table(manifest['search_floor'])}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error if type(error) is ValueError else f"not the manifest of a benchmark (field {error})"
        raise InputError(f"{path}: {reason}") from None
    return 0


def _build_dialogues(options: argparse.Namespace) -> int:
    from flowbench_synth.dialogue.builder import build
    from flowbench_synth.dialogue.card import composition_table, mutants_table
    from flowbench_synth.instance import BuildError

    domains = _domains(options.limit_domains)
    require_folder("--out", options.out)
    try:
        manifest = build(options.seed, options.out, domains, options.quiet, **_isolation(options))
    except BuildError as error:
        print(f"flowbench_synth: {one_line(str(error))}", file=sys.stderr)
        return 1
    if not options.quiet:
        print(f"{composition_table(manifest['statistics'])}\n\n{mutants_table(manifest['audit'])}\n")
    for line in manifest["missing"]:
        print(f"flowbench_synth: incomplete: {line}", file=sys.stderr)
    counts = manifest["statistics"]["all"]
    print(
        f"{options.out}: {counts['roles']} roles, {counts['scenarios']} scenarios, {counts['single']} single and "
        f"{counts['cross']} cross sessions"
    )
    return 0


def _domains(text: str) -> list[str]:
    """The domains that a list of names or beginnings of names means; empty for all."""
    from flowbench_synth.dialogue.roles import COMPOSITION

    chosen: list[str] = []
    for name in (part.strip().casefold() for part in text.split(",") if part.strip()):
        meant = [domain for domain in COMPOSITION if domain.casefold().startswith(name)]
        if len(meant) != 1:
            raise InputError(f"--limit-domains: {name!r} means none or several of {', '.join(COMPOSITION)}")
        chosen += meant
    return chosen


def _check_dialogues(options: argparse.Namespace) -> int:
    from flowbench_synth.dialogue.card import mutants_table
    from flowbench_synth.dialogue.check import check

    problems, audits = check(options.folder, options.quiet, **_isolation(options))
    if not options.quiet and audits:
        print(mutants_table([audit.model_dump(mode="json") for audit in audits]), end="\n\n")
    for problem in problems:
        print(one_line(problem))
    print(f"{options.folder}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

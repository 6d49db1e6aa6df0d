"""The command `flowbench_synth`: build, check, certify, stats, and the same for dialogues and for WorFBench."""

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
    _add_worfbench(commands.add_parser("worfbench", help="make rows of WorFBench from traces, and check rows"))
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


def _add_worfbench(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="make rows of WorFBench from traces")
    build.add_argument(
        "--from", dest="sources", action="append", required=True, metavar="[NAME=]PATH",
        help="traces: a file that `flowmind traces` reads, or the folder of a benchmark, of a dialogue benchmark or of "
        "a run; can be repeated. The name of the source is by default that of the file or folder",
    )  # fmt: skip
    build.add_argument(
        "--tools", type=Path, metavar="FILE",
        help="tools of traces that do not describe them: a Python file, JSON definitions in the format of OpenAI, "
        "Anthropic or MCP, or the tools.jsonl of a benchmark; by default they are inferred from the calls",
    )  # fmt: skip
    build.add_argument(
        "--backend", choices=("rules", "llm"), default="rules",
        help="who writes steps and edges: rules, or a model (default rules)",
    )  # fmt: skip
    build.add_argument("--model", help="name of the model (with --backend llm)")
    build.add_argument("--base-url", help="URL of the model's server; by default OPENAI_BASE_URL")
    build.add_argument(
        "--concurrency", type=int, default=8, metavar="N",
        help="number of traces that the model works on at the same time (default 8)",
    )  # fmt: skip
    build.add_argument("--out", type=Path, default=Path("worfbench"), help="the folder to write (default worfbench)")
    build.add_argument("--seed", type=int, default=0, help="the same seed gives the same files (default 0)")
    build.add_argument(
        "--distractors", type=int, default=5, metavar="N",
        help="number of similar tools of other tasks that are mixed into the tools of a row (default 5)",
    )  # fmt: skip
    build.add_argument("--per-source", type=int, metavar="N", help="at most N rows of a source (default all)")
    build.add_argument(
        "--test-share", type=float, default=0.2, metavar="X",
        help="share of the rows of a source that are test rows, from 0 to 1 (default 0.2)",
    )  # fmt: skip
    build.add_argument(
        "--held-out", action="append", default=[], metavar="NAME",
        help="a source all of whose rows are test rows; can be repeated",
    )  # fmt: skip
    build.add_argument(
        "--unknown-effect", choices=("read", "write"), default="write",
        help="what a tool is taken for whose effect is not known; steps wait for writes before them (default write)",
    )  # fmt: skip
    build.add_argument(
        "--similarity", choices=("bow", "encoder"), default="bow",
        help="by what a step retrieves its tool: word counts, or a sentence encoder (default bow)",
    )  # fmt: skip
    build.add_argument("--encoder", metavar="NAME", help="the encoder (with --similarity encoder)")
    build.add_argument("--quiet", action="store_true", help="show no progress and no table")
    _add_requirement(build)
    build.set_defaults(run=_build_worfbench)
    check = commands.add_parser("check", help="check rows; exit code 1 if one is faulty")
    check.add_argument("path", type=Path, metavar="FILE|DIR", help="rows of WorFBench, or a folder that build wrote")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(run=_check_worfbench)
    stats = commands.add_parser("stats", help="print statistics of rows beside the paper's")
    stats.add_argument("path", type=Path, metavar="FILE|DIR", help="rows of WorFBench, or a folder that build wrote")
    stats.add_argument("--json", action="store_true", help="print JSON")
    stats.set_defaults(run=_stats_worfbench)


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


def _build_worfbench(options: argparse.Namespace) -> int:
    from flowbench_synth.instance import BuildError
    from flowbench_synth.worfbench.builder import build, filter_table
    from flowbench_synth.worfbench.sources import names_of, read_given_tools, read_source

    named = names_of(options.sources)
    settings = _worfbench_settings(options, [name for name, _ in named])
    require_folder("--out", options.out)
    model = _worfbench_model(options)
    similar = _similarity(options)
    tools = read_given_tools(options.tools)
    require = (
        _isolation(options)["require"] if any((path / "scenarios.jsonl").exists() for _, path in named) else "none"
    )
    sources = [read_source(name, path, tools, options.seed, require, options.quiet) for name, path in named]
    try:
        manifest = build(sources, settings, options.out, similar, model, options.concurrency, options.quiet)
    except BuildError as error:
        print(f"flowbench_synth: {error}", file=sys.stderr)
        return 1
    if not options.quiet:
        print(f"{filter_table(manifest['filters'])}\n")
    parts = {part: sum(about[part] for about in manifest["sources"].values()) for part in ("train", "test")}
    print(f"{options.out}: {parts['train']} training rows, {parts['test']} test rows")
    if manifest["unanswered"]:
        print(
            f"flowbench_synth: {manifest['unanswered']} traces have no reply of the model; the same command asks again",
            file=sys.stderr,
        )
    return 1 if manifest["unanswered"] else 0


def _worfbench_settings(options: argparse.Namespace, names: Sequence[str]) -> Any:
    from flowbench_synth.worfbench.builder import BuildOptions
    from flowmind.evaluation.encoder import DEFAULT

    if not options.distractors >= 0:
        raise InputError(f"--distractors {options.distractors}: give a number from 0 on")
    if options.per_source is not None and options.per_source < 1:
        raise InputError(f"--per-source {options.per_source}: give a number from 1 on")
    if not 0 <= options.test_share <= 1:
        raise InputError(f"--test-share {options.test_share}: give a number from 0 to 1")
    if options.concurrency < 1:
        raise InputError(f"--concurrency {options.concurrency}: give a number from 1 on")
    if unknown := [name for name in options.held_out if name not in names]:
        raise InputError(f"--held-out {unknown[0]}: it is none of the sources, which are {', '.join(names)}")
    if options.encoder is not None and options.similarity != "encoder":
        raise InputError("--encoder: it is used with --similarity encoder only")
    return BuildOptions(
        backend=options.backend,
        model=options.model or "",
        seed=options.seed,
        distractors=options.distractors,
        per_source=options.per_source,
        test_share=options.test_share,
        held_out=tuple(dict.fromkeys(options.held_out)),
        unknown_effect=options.unknown_effect,
        similarity="bow" if options.similarity == "bow" else options.encoder or DEFAULT,
    )


def _worfbench_model(options: argparse.Namespace) -> Any:
    """The model of the backend `llm`; None for rules."""
    from flowmind.llm.models import find, reach

    if options.backend == "rules":
        if unused := [flag for flag in ("model", "base_url") if getattr(options, flag) is not None]:
            raise InputError(f"--{unused[0].replace('_', '-')} needs --backend llm")
        return None
    if not options.model:
        raise InputError("--backend llm needs --model, the name of a model")
    if find(options.model).kind == "embedded":
        raise InputError(f"--model {options.model}: it is not a language model; name a model that is served")
    from flowmind.llm.openai_chat import OpenAIChat

    return OpenAIChat.at(reach(options.model, options.base_url), concurrency=options.concurrency)


def _similarity(options: argparse.Namespace) -> Any:
    from flowmind.evaluation.encoder import sentence_encoder
    from flowmind.evaluation.worfeval import bag_of_words

    return sentence_encoder(options.encoder) if options.similarity == "encoder" else bag_of_words


def _check_worfbench(options: argparse.Namespace) -> int:
    from flowbench_synth.worfbench.checking import check

    report = check(options.path)
    print(dump_json(report.document(), indent=1) if options.json else "\n".join(map(one_line, report.lines())))
    return 1 if report.faults else 0


def _stats_worfbench(options: argparse.Namespace) -> int:
    from flowbench_synth.worfbench.stats import stats, stats_tables

    found = stats(options.path)
    print(dump_json(found, indent=1) if options.json else stats_tables(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())

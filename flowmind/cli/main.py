"""The command `flowmind`. What a command needs is imported when it runs, so that `flowmind --help` answers at once.

Exit codes: 0 done; 1 the answer is "no"; 2 bad usage or bad input, one line; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flowmind.base.errors import FlowMindError, Terminated
from flowmind.cli.command import Command
from tools_registry.sandbox.errors import SandboxUnavailable

if TYPE_CHECKING:
    from flowmind.build.settings import Settings
    from flowmind.evaluation.record import Derivation
    from flowmind.protocols import ChatModel
    from flowmind.trace.task import Task
    from flowmind.workflow.document import Workflow
    from tools_registry.sandbox.environment import Environment
    from tools_registry.sandbox.environments import ToolSource
    from tools_registry.specs.spec import ToolSpec

MODES = [
    "react", "pe", "enhanced-react", "es-rr", "es-pr", "es-rp", "es-pp", "es-react", "es-pe",
    "es-react+verify", "es-pe+verify", "induction", "replay",
]  # fmt: skip
SUMMARIZERS = ["react", "plan", "induction", "guided", "replay"]
SANDBOXES = ["local", "monty", "both"]
ISOLATION = ["limits", "kernel", "full"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; whatever a user can mend is one line and exit code 2, never a traceback."""
    try:
        options = build_parser().parse_args(arguments)
        code = options.run(options)
        sys.stdout.flush()
        return code
    except (FlowMindError, SandboxUnavailable) as error:
        print(f"flowmind: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"flowmind: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("flowmind: interrupted", file=sys.stderr)
        return 130
    except Terminated:
        print("flowmind: terminated", file=sys.stderr)
        return 143


def commands() -> dict[str, Command]:
    """All commands: those of installed packages above this one, then our own."""
    above = {point.name: point.load() for point in entry_points(group="flowmind.commands")}
    return {**dict(sorted(above.items())), **COMMANDS}


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="flowmind",
        description="Turn one good agent run into a workflow that runs without a model.",
        epilog="Every flag can also be set in the environment: --base-url as FLOWMIND_BASE_URL.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in commands().items():
        sub = subparsers.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
        _from_environment(sub)
    return parser


def _from_environment(parser: argparse.ArgumentParser) -> None:
    """Takes the default of each flag from `FLOWMIND_<FLAG>`, where that is set."""
    for action in parser._actions:  # argparse has no public list of them
        value = os.environ.get(f"FLOWMIND_{action.dest.upper()}")
        if value is None or not action.option_strings or action.dest == "help":
            continue
        if isinstance(action.default, list):  # a flag that may be given again
            parser.set_defaults(**{action.dest: [Path(part) for part in value.split(os.pathsep) if part]})
        elif action.nargs == 0:
            parser.set_defaults(**{action.dest: value.lower() in ("1", "true", "yes", "on")})
        else:
            if action.choices is not None and value not in action.choices:
                parser.error(f"FLOWMIND_{action.dest.upper()}={value!r} is none of {', '.join(action.choices)}")
            parser.set_defaults(**{action.dest: value})
            action.required = False


def _workflow_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", type=Path, metavar="WORKFLOW", help="a workflow document, in a format that is read")
    parser.add_argument(
        "--from", dest="form", choices=_readable(), default=None, help="its format (default: by the file's name)"
    )


def _readable() -> list[str]:
    from flowmind.formats.catalog import FORMATS

    return [name for name, form in FORMATS.items() if form.reads]


def _tools_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tools", type=Path, metavar="FILE", help="Python file with the tools (default: the catalog)")


def derivation_arguments(parser: argparse.ArgumentParser) -> None:
    """Who summarizes, and how the workflow is verified."""
    parser.add_argument(
        "--summarizer", default=None, choices=SUMMARIZERS,
        help="who turns traces into a workflow: an agent that builds or plans and builds, induction without a model, "
        "induction that asks a model what is left open, or one trace's calls in a row (default: the mode's)",
    )  # fmt: skip
    parser.add_argument(
        "--verify", type=int, default=None, metavar="N",
        help="run the workflow on the examples and mend what fails, N rounds at most (default: 3 in modes with "
        "+verify, else 0)",
    )  # fmt: skip
    parser.add_argument(
        "--probe", type=int, default=0, metavar="N",
        help="execute up to N inputs of our own making, 200 at most, on which candidates differ or that show something "
        "new (default 0)",
    )  # fmt: skip


def sandbox_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--sandbox` and `--require-isolation`."""
    parser.add_argument(
        "--sandbox", default="local", choices=SANDBOXES,
        help="where tools run: in locked processes, in monty (extra monty), or in both to compare (default local)",
    )  # fmt: skip
    parser.add_argument(
        "--require-isolation", default=None, choices=ISOLATION, metavar="LEVEL",
        help="go on only where tools are locked in at least so: limits, kernel or full (see `flowmind doctor`)",
    )  # fmt: skip


def _read_workflow(options: argparse.Namespace) -> Workflow:
    from flowmind.cli.converting import read_workflow

    return read_workflow(options.workflow, options.form)


def _specs(path: Path | None) -> Mapping[str, ToolSpec]:
    """The specs of the tools of a file, or those of the catalog."""
    from tools_registry import catalog

    return {tool.spec.name: tool.spec for tool in _tools(path)} if path else catalog.specs()


def _tools(path: Path | None, names: Sequence[str] | None = None) -> list[ToolSource]:
    """The tools of a file, or those of the catalog."""
    from flowmind.base.errors import InputError
    from flowmind.base.files import read_text
    from tools_registry import catalog
    from tools_registry.sandbox.environments import ToolSource
    from tools_registry.specs.spec import SpecError

    if path is None:
        found = catalog.load()
        return [found[name] for name in (found if names is None else names) if name in found]
    try:
        return ToolSource.parse_all(read_text(path))
    except SpecError as error:
        raise InputError(f"{path}: {error}") from None


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    _workflow_argument(parser)
    _tools_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")


def _check(options: argparse.Namespace) -> int:
    from flowmind.base.files import dump_json
    from flowmind.workflow.checking import check

    workflow = _read_workflow(options)
    problems = check(workflow, _specs(options.tools))
    if options.json:
        print(dump_json([problem.model_dump() for problem in problems], indent=1))
    else:
        for problem in problems:
            print(problem)
        print(f"{options.workflow}: {'sound' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    _workflow_argument(parser)
    _tools_argument(parser)
    parser.add_argument("--input", required=True, metavar="JSON", help="the inputs: JSON, @FILE, or - for stdin")
    parser.add_argument("--trace", action="store_true", help="print the whole trace instead of the answer")
    sandbox_argument(parser)
    parser.add_argument("--model", default=None, help="the model of llm nodes")
    parser.add_argument("--base-url", default=None, help="where that model answers")


def _run(options: argparse.Namespace) -> int:
    import asyncio

    from flowmind.base.files import dump_json
    from flowmind.cli.sandboxes import Sandboxes
    from flowmind.run.compiler import needs_model
    from flowmind.run.running import arun, run

    workflow = _read_workflow(options)
    inputs = _input(options.input)
    names = [step.tool for node in workflow.nodes for step in getattr(node, "body", (node,)) if step.kind == "tool"]
    with Sandboxes(options.sandbox, least=options.require_isolation) as sandboxes:
        sandbox = sandboxes.of(_tools(options.tools, names))
        if needs_model(workflow):
            trace = asyncio.run(arun(workflow, inputs, sandbox, _model_of(options, sandbox)))
        else:
            trace = run(workflow, inputs, sandbox)
        sandboxes.tell()
    if options.trace:
        print(dump_json(trace.dump(), indent=1))
    elif trace.ok:
        print(dump_json(trace.answer))
    if trace.error is not None:
        print(f"flowmind: {trace.error.type}: {trace.error.message}", file=sys.stderr)
        return 1
    return 0


def _model_of(options: argparse.Namespace, sandbox: Environment) -> ChatModel:
    """The model of a workflow's llm nodes."""
    from flowmind.base.errors import InputError
    from flowmind.llm.choosing import model_named

    if options.model is None:
        raise InputError("the workflow has llm nodes: say which model with --model")
    return model_named(options.model, sandbox, options.base_url)


def _input(text: str) -> dict[str, Any]:
    from flowmind.base.errors import InputError
    from flowmind.base.files import parse_json, read_text

    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = read_text(Path(text[1:]))
        value = parse_json(text)
    except ValueError as error:
        raise InputError(f"--input: {error}") from None
    if not isinstance(value, dict):
        raise InputError('--input: a JSON object with the inputs, such as {"n": 1}')
    return cast(dict[str, Any], value)


def _solve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", type=Path, required=True, help="JSON file: query, examples, perhaps inputs")
    parser.add_argument("--tools", type=Path, required=True, help="Python file with the tools' functions")
    parser.add_argument("--model", default="search", help="see `flowmind models` (default search)")
    parser.add_argument("--mode", default="es-pe", choices=MODES, help="how to solve (default es-pe)")
    parser.add_argument("--base-url", default=None, help="where the model answers")
    parser.add_argument("--rollouts", type=int, default=1, help="executions (default 1)")
    derivation_arguments(parser)
    sandbox_argument(parser)
    parser.add_argument("--out", type=Path, default=None, help="also write the workflow to this file")


def _solve(options: argparse.Namespace) -> int:
    """Asks for the model before the imports that take seconds."""
    from flowmind.llm.models import find, reach

    if find(options.model).kind != "embedded":
        reach(options.model, options.base_url)
    return _solve_task(options)


def _solve_task(options: argparse.Namespace) -> int:
    from flowmind.api.solving import ExecuteSummarize
    from flowmind.base.files import write_text
    from flowmind.cli.sandboxes import Sandboxes
    from flowmind.llm.choosing import model_named

    task = _read_task(options.task)
    sources = _tools(options.tools)
    settings = _solve_settings(options)
    with Sandboxes(options.sandbox, least=options.require_isolation) as sandboxes:
        model = model_named(options.model, sandboxes.thinking(sources), options.base_url)
        solver = ExecuteSummarize(sources, model, options.mode, settings, sandboxes.of(sources))
        solution = solver.run(task).solution
    for trace in solution.traces:
        calls = " → ".join(step.call.tool for step in trace.calls) or "no calls"
        print(f"execute: {calls}; stopped by {trace.stop}", file=sys.stderr)
    for line in _derived(solution.derivation):
        print(line, file=sys.stderr)
    for problem in solution.problems:
        print(f"problem: {problem}", file=sys.stderr)
    sandboxes.tell()
    if solution.workflow is None:
        print("flowmind: no workflow was built", file=sys.stderr)
        return 1
    print(solution.workflow.to_json(), end="")
    if options.out is not None:
        write_text(options.out, solution.workflow.to_json())
    return 0 if solution.graph_valid else 1


def _solve_settings(options: argparse.Namespace) -> Settings:
    from flowmind.base.errors import InputError
    from flowmind.base.files import validate
    from flowmind.build.settings import Settings

    names = ("mode", "rollouts", "summarizer", "verify", "probe")
    try:
        return validate(Settings, {name: getattr(options, name) for name in names})
    except ValueError as error:
        raise InputError(f"--{error}") from None


def _derived(derivation: Derivation | None) -> list[str]:
    """What is said of a workflow that was derived and tried."""
    if derivation is None:
        return []
    mends = f" ({', '.join(derivation.mends)})" if derivation.mends else ""
    lines = [
        f"verify: {derivation.draft_right} of {derivation.examples} examples at first, {derivation.right} in the end"
        + mends
    ]
    lines += [f"question: {line}" for line in derivation.open]
    lines += [f"guess: {line} is taken for a constant, and is an input of an example" for line in derivation.leaked]
    return lines


def _read_task(path: Path) -> Task:
    from flowmind.api.tasks import make_task
    from flowmind.base.errors import InputError
    from flowmind.base.files import read_model
    from flowmind.trace.task import TaskFile

    given = read_model(path, TaskFile)
    try:
        return make_task(given.query, given.examples, given.inputs, given.id)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _summarize_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces", type=Path, metavar="TRACES", help="JSON or JSON Lines: traces, or conversations in OpenAI's form"
    )
    parser.add_argument(
        "--tools", type=Path, default=None, metavar="FILE",
        help="Python file with the tools' functions, which are run to check; or a JSON list of definitions in "
        "OpenAI's form (default: read off the traces)",
    )  # fmt: skip
    parser.add_argument("--query", default=None, metavar="TEXT|@FILE", help="the task in words; ranks what is open")
    parser.add_argument(
        "--task", type=Path, default=None, metavar="FILE", help="JSON file as of solve: query, examples, perhaps inputs"
    )
    parser.add_argument("--model", default=None, help="asked for conditions that are left open (default: nobody)")
    parser.add_argument("--base-url", default=None, help="where that model answers")
    sandbox_argument(parser)
    parser.add_argument("--out", type=Path, default=None, help="write the workflow to this file, not to the screen")


def _summarize(options: argparse.Namespace) -> int:
    """Asks for the model before the imports that take seconds."""
    from flowmind.llm.models import find, reach

    if options.model is not None and find(options.model).kind != "embedded":
        reach(options.model, options.base_url)
    return _summarize_traces(options)


def _summarize_traces(options: argparse.Namespace) -> int:
    from flowmind.api.summarizing import summarize
    from flowmind.base.files import read_model, read_text, write_text
    from flowmind.cli.sandboxes import Sandboxes
    from flowmind.llm.choosing import model_named
    from flowmind.trace.task import TaskFile

    task = TaskFile(id="workflow", query="", examples=())
    if options.task is not None:
        task = read_model(options.task, TaskFile)
    query = task.query if options.query is None else str(options.query)
    if query.startswith("@"):
        query = read_text(Path(query[1:]))
    defined = _definitions(options.tools) if options.tools is not None and options.tools.suffix == ".json" else None
    with Sandboxes(options.sandbox, least=options.require_isolation) as sandboxes:
        runs = options.tools is not None and defined is None
        sandbox = sandboxes.of(_tools(options.tools)) if runs else None
        thinking = sandboxes.thinking(_tools(options.tools) if runs else [])
        model = None if options.model is None else model_named(options.model, thinking, options.base_url)
        found = summarize(
            options.traces, defined, query=query, inputs=task.inputs, examples=task.examples, name=task.id,
            model=model, sandbox=sandbox,
        )  # fmt: skip
        sandboxes.tell()
    print(found.report(), file=sys.stderr)
    if not found.ok:
        print(f"flowmind: {found.problem}", file=sys.stderr)
        return 1
    if options.out is None:
        print(found.document.to_json(), end="")
    else:
        write_text(options.out, found.document.to_json())
    return 0


def _definitions(path: Path) -> list[dict[str, Any]]:
    """Definitions of tools in OpenAI's form."""
    from flowmind.base.errors import InputError
    from flowmind.base.files import parse_json, read_text

    try:
        found = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    listed = cast(list[Any], found) if isinstance(found, list) else []
    if not listed or not all(isinstance(one, dict) for one in listed):
        raise InputError(f"{path}: a list of definitions in OpenAI's form, or a Python file with the functions")
    return listed


def _convert_arguments(parser: argparse.ArgumentParser) -> None:
    from flowmind.formats.catalog import FORMATS

    width = max(map(len, FORMATS))
    listed = "\n".join(
        f"  {name:<{width}}  {form.about}{' (also read)' if form.reads else ''}" for name, form in FORMATS.items()
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"formats:\n{listed}"
    _workflow_argument(parser)
    _tools_argument(parser)
    parser.add_argument("--to", required=True, choices=list(FORMATS), metavar="FORMAT", help="one of those below")
    parser.add_argument("--out", type=Path, default=None, help="write to this file instead of the screen")
    parser.add_argument("--report", type=Path, default=None, metavar="FILE", help="write the fidelity report as JSON")


def _convert(options: argparse.Namespace) -> int:
    from flowmind.base.errors import InvalidWorkflow
    from flowmind.base.files import dump_json, write_text
    from flowmind.formats.catalog import FORMATS
    from flowmind.workflow.checking import check

    workflow = _read_workflow(options)
    specs = _specs(options.tools)
    problems = [problem for problem in check(workflow, specs) if options.tools or problem.code != "unknown_tool"]
    if problems and options.to not in ("json", "mermaid", "svg"):
        raise InvalidWorkflow(f"{options.workflow}: {problems[0]}; `flowmind check` lists all {len(problems)}")
    export = FORMATS[options.to].export(workflow, specs)
    if options.out is None:
        print(export.text, end="")
    else:
        write_text(options.out, export.text)
    if options.report is not None:
        write_text(options.report, dump_json(export.fidelity.model_dump(mode="json"), indent=1) + "\n")
    for line in [] if export.fidelity.exact else export.fidelity.lines()[1:]:
        print(line, file=sys.stderr)
    return 0


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    _workflow_argument(parser)
    parser.add_argument("--svg", type=Path, default=None, metavar="FILE", help="write a drawing to this file, too")
    parser.add_argument("--width", type=int, default=None, metavar="N", help="columns (default: the terminal's)")


def _show(options: argparse.Namespace) -> int:
    import shutil

    from flowmind.base.files import write_text
    from flowmind.formats.svg import to_svg
    from flowmind.formats.terminal import to_terminal

    workflow = _read_workflow(options)
    print(f"{workflow.name}: {workflow.description}" if workflow.description else workflow.name)
    width = options.width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else 160)
    print(to_terminal(workflow, width), end="")
    if options.svg is not None:
        write_text(options.svg, to_svg(workflow))
    return 0


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def _models(options: argparse.Namespace) -> int:
    from flowmind.llm.models import KNOWN

    for info in KNOWN.values():
        print(f"{info.name:<10} {info.kind:<9} {info.note}")
    print("any other name goes to OPENAI_BASE_URL as it is")
    return 0


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "flowmind serve MODEL [options] [-- FLAG ...]"
    parser.add_argument("model", metavar="MODEL", help="such as qwen3-8b, a folder, or a name of the hub")
    extra = parser.add_argument("extra", nargs="+", metavar="FLAG", default=(), help="after --: flags for vLLM")
    extra.required = False  # nargs="*" would take nothing before the options, and then refuse what stands after --
    parser.add_argument("--port", type=int, default=8000, help="of 127.0.0.1; 0 takes a free one (default 8000)")
    names = ("--served-name", "--served-model-name")
    parser.add_argument(*names, default=None, help="what requests call it (default MODEL, or MODEL-thinking)")
    parser.add_argument("--max-model-len", type=int, default=None, help="tokens of a request with its reply")
    parser.add_argument("--thinking", action=argparse.BooleanOptionalAction, default=False, help="think, then answer")
    parser.add_argument("--dtype", default=None, help="of weights and activations (default: as the model's config)")
    parser.add_argument("--gpu-memory-utilization", type=float, default=None, help="share of the GPU's memory")
    parser.add_argument(
        "--device", default="gpu", choices=("gpu", "cpu"), help="cpu: for checks, with vLLM built for it (default gpu)"
    )
    parser.add_argument("--wait", type=float, default=1800.0, help="seconds until it must be healthy (default 1800)")
    parser.add_argument("--log", type=Path, default=None, metavar="FILE", help="for what vLLM prints")
    parser.add_argument("--dry-run", action="store_true", help="print the command and do nothing")


def _serve(options: argparse.Namespace) -> int:
    """Serves until it is interrupted, which is how one stops it, or until the server ends by itself."""
    import shlex

    from flowmind.base.errors import InputError, ModelUnavailable
    from flowmind.llm import serving

    if options.extra and not options.extra[0].startswith("-"):
        raise InputError(f"serve takes one model; what is {options.extra[0]!r}? Flags for vLLM stand after --")
    names = ("port", "max_model_len", "thinking", "dtype", "gpu_memory_utilization", "device", "wait")
    settings = {name: getattr(options, name) for name in names}
    wanted = serving.ServeOptions.of(options.model, options.served_name, extra=tuple(options.extra), **settings)
    if options.dry_run:
        print(shlex.join(serving.command(wanted)))
        return 0
    if (lacks := serving.missing(options.model, wanted.device)) is not None:
        raise ModelUnavailable(lacks)

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with serving.Server(wanted, log=options.log, report=report) as server:
        print(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY=none", flush=True)
        use = f"OPENAI_BASE_URL={server.base_url} flowmind exp --model {wanted.served_name}"
        report(f"in another shell: {use}\nCtrl-C stops the server")
        return server.wait()


def _doctor(options: argparse.Namespace) -> int:
    from flowmind.cli.diagnosis import diagnose

    findings = diagnose()
    for finding in findings:
        print(
            f"{'ok     ' if finding.ok else 'MISSING' if finding.needed else 'absent '} {finding.what}: {finding.note}"
        )
    return 0 if all(finding.ok or not finding.needed for finding in findings) else 1


def _worfeval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pairs", type=Path, metavar="PAIRS.jsonl", help="rows with a gold and a predicted graph or text"
    )
    parser.add_argument(
        "--definition",
        default="paper",
        choices=("paper", "reference"),
        help="what the WorFBench paper defines, or what its published code computes (default paper)",
    )
    parser.add_argument(
        "--similarity",
        default="bow",
        choices=("stored", "bow", "encoder"),
        help="stored with each row, by common words, or by a sentence encoder (default bow)",
    )
    parser.add_argument("--encoder", default=None, help="model or folder (default the paper's, all-mpnet-base-v2)")


def _worfeval(options: argparse.Namespace) -> int:
    from flowmind.base.files import dump_json
    from flowmind.cli.scoring import score_file

    pairs = malformed = 0
    totals = {"chain": 0.0, "graph": 0.0}
    for scored in score_file(options.pairs, options.definition, options.similarity, options.encoder):
        print(dump_json({"id": scored.id, **scored.score.model_dump(mode="json")}))
        pairs += 1
        malformed += scored.malformed
        for name in totals:
            part = getattr(scored.score, name)
            totals[name] += part.f1 if part is not None else 0.0
    if pairs:
        means = ", ".join(f"mean {name} f1 {total / pairs:.4f}" for name, total in totals.items())
        print(f"{pairs} pairs, {means}; {malformed} malformed predictions count 0", file=sys.stderr)
    return 0


COMMANDS: dict[str, Command] = {
    "solve": Command("solve one task of your own: prints the workflow", _solve_arguments, _solve),
    "summarize": Command("turn traces into a workflow, without a model", _summarize_arguments, _summarize),
    "run": Command("run a workflow on inputs", _run_arguments, _run),
    "check": Command("list every problem of a workflow", _check_arguments, _check),
    "convert": Command("write a workflow in another format", _convert_arguments, _convert),
    "show": Command("draw a workflow in the terminal, or as SVG", _show_arguments, _show),
    "worfeval": Command("score predicted workflow graphs against gold ones", _worfeval_arguments, _worfeval),
    "models": Command("list the known models", _no_arguments, _models),
    "serve": Command("serve a model with vLLM until Ctrl-C", _serve_arguments, _serve),
    "doctor": Command("say what works on this machine", _no_arguments, _doctor),
}

if __name__ == "__main__":
    sys.exit(main())

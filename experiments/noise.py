"""How noise in traces affects induction: `python -m experiments.noise --bench DIR`.

Noise that agents leave in traces is added to the gold traces of a benchmark's examples, one kind at a time: failed
calls, a repeated call, a call whose result is not used, and a missing call (the agent computed its result itself).
Then the workflow is induced from the traces and run on the held-out tests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import tqdm

from experiments.golds import demonstration, read_golds
from experiments.tables import markdown
from experiments.testing import run_tests, score_of
from flowmind.api.solving import Solution, solve
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json, write_text
from flowmind.base.texts import shown_output
from flowmind.build.induction.induce import Inducer, Inducers, induce_in_thread
from flowmind.build.settings import Settings
from flowmind.evaluation.coverage import Unseen, outcomes
from flowmind.llm.testing import ScriptedChat
from flowmind.trace.events import Called, Event, Trace
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools, isolation_for
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec

Kind = Literal[
    "none", "failed calls", "duplicates", "useless call", "in the head: last, all", "in the head: last, one",
    "in the head: middle, all", "in the head: middle, one",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
SHARE = 0.4
"""The share of the calls before which `failed_calls` inserts a failed attempt."""
TRIES = 60
"""How many calls `useless_call` tries until one returns a value."""


def failed_calls(trace: Trace, random: Random) -> Trace | None:
    """The trace with failed attempts before some of its calls: an argument is missing or has another name.

    None if the trace has no call.
    """
    places = _successes(trace)
    if not places:
        return None
    chosen = [place for place in places if random.random() < SHARE] or [random.choice(places)]
    steps: list[Event] = []
    for place, step in enumerate(trace.events):
        steps += [_attempt(step, random)] if place in chosen and isinstance(step, Called) else []
        steps.append(step)
    return _with(trace, steps)


def duplicates(trace: Trace, random: Random) -> Trace | None:
    """The trace with one of its calls repeated directly after it; None if the trace has no call."""
    places = _successes(trace)
    if not places:
        return None
    place = random.choice(places)
    return _with(trace, [*trace.events[: place + 1], *trace.events[place:]])


async def useless_call(trace: Trace, random: Random, sandbox: Environment) -> Trace | None:
    """The trace with one more call, on values known at its place, whose result is not used.

    Tools that the trace does not call are tried first. None if no such call succeeds.

    Args:
        sandbox: The task's tools; it runs the call.
    """
    called = {step.call.tool for step in trace.calls}
    others = [spec for spec in sandbox.specs.values() if spec.name not in called]
    calls = [step.call for step in trace.calls]
    for specs in (others, list(sandbox.specs.values())):
        for _ in range(TRIES if specs else 0):
            place = random.randint(0, len(trace.events))
            call = _call_on(random.choice(specs), _at_hand(trace, place), random)
            if call is None or call in calls:
                continue
            seen = await sandbox.call(call)
            if seen.ok:
                step = Called(call=call, observation=seen)
                return _with(trace, [*trace.events[:place], step, *trace.events[place:]])
    return None


def in_the_head_last(trace: Trace) -> Trace | None:
    """The trace without its last call, with the same answer; None if the trace has no call."""
    places = _successes(trace)
    return _without(trace, places[-1]) if places else None


def in_the_head_middle(trace: Trace, random: Random) -> Trace | None:
    """The trace without a call between the first and the last; without the first of two; None if there are fewer."""
    places = _successes(trace)
    if len(places) < 2:
        return None
    return _without(trace, random.choice(places[1:-1] or places[:1]))


def _successes(trace: Trace) -> list[int]:
    """The places of the calls that returned a value."""
    return [place for place, step in enumerate(trace.events) if isinstance(step, Called) and step.observation.ok]


def _with(trace: Trace, steps: Iterable[Event]) -> Trace:
    return trace.model_copy(update={"events": tuple(steps)})


def _without(trace: Trace, place: int) -> Trace:
    return _with(trace, [*trace.events[:place], *trace.events[place + 1 :]])


def _attempt(step: Called, random: Random) -> Called:
    """A failed attempt at a call: an unknown tool, or a missing argument."""
    args = dict(step.call.args)
    if not args:
        wrong = f"{step.call.tool}_"
        seen = Observation.failed("unknown_tool", f"there is no tool {wrong!r}")
        return Called(call=ToolCall(tool=wrong), observation=seen)
    name = random.choice(sorted(args))
    value = args.pop(name)
    if random.random() < 0.5:
        args[f"{name}_"] = value
    seen = Observation.failed("invalid_arguments", f"{name!r} is a required property")
    return Called(call=ToolCall(tool=step.call.tool, args=args), observation=seen)


def _at_hand(trace: Trace, place: int) -> list[Any]:
    """The inputs, and the results of the calls before a place."""
    seen = [step.observation.value for step in trace.events[:place] if isinstance(step, Called)]
    return [*trace.inputs.values(), *seen]


def _call_on(spec: ToolSpec, values: Sequence[Any], random: Random) -> ToolCall | None:
    """A call of a tool on some of these values; None if they do not fit its parameters."""
    if not values:
        return None
    args = {name: random.choice(values) for name in spec.required}
    return ToolCall(tool=spec.name, args=args) if spec.check(args) is None else None


async def spoiled(kind: Kind, traces: Sequence[Trace], random: Random, sandbox: Environment) -> list[Trace] | None:
    """The traces of a task with noise of one kind, in all of them or in one; None if no trace can have it."""
    noisy = [await _spoiled(kind, trace, random, sandbox) for trace in traces]
    places = [place for place, trace in enumerate(noisy) if trace is not None]
    if not places:
        return None
    if kind.endswith(", one"):
        places = [random.choice(places)]
    return [noisy[place] or trace if place in places else trace for place, trace in enumerate(traces)]


async def _spoiled(kind: Kind, trace: Trace, random: Random, sandbox: Environment) -> Trace | None:
    match kind:
        case "none":
            return trace
        case "failed calls":
            return failed_calls(trace, random)
        case "duplicates":
            return duplicates(trace, random)
        case "useless call":
            return await useless_call(trace, random, sandbox)
        case "in the head: last, all" | "in the head: last, one":
            return in_the_head_last(trace)
        case "in the head: middle, all" | "in the head: middle, one":
            return in_the_head_middle(trace, random)


# The analysis


class Spoiled(Record):
    """The workflow that was induced from a task's traces with one kind of noise."""

    id: str
    control_flow: str
    kind: Kind
    solved: bool
    """The workflow passes all held-out tests, none of them in doubt."""
    tests: int = 0
    """The held-out tests of a workflow that was built."""
    wrong: int = 0
    """Those with a wrong answer, and no doubt or error that tells it."""
    doubts: int = 0
    """Those that ended in doubt, because rivals of the workflow disagree with it."""
    built: bool
    whole: bool
    """The workflow gives the answers of all examples."""
    unexplained: int = 0
    """Values that come from no input and no tool result."""
    open: int = 0
    """Open questions of the induction."""

    @property
    def detected(self) -> bool:
        """Whether induction reports an unexplained value or an open question."""
        return self.unexplained > 0 or self.open > 0

    @property
    def silent(self) -> bool:
        """Whether the workflow gives a wrong answer, and only a held-out test shows it."""
        return self.built and self.whole and self.wrong > 0 and not self.detected


async def outcome(
    kind: Kind,
    task: Task,
    traces: Sequence[Trace],
    tests: Sequence[Example],
    sandbox: Environment,
    inducer: Inducer = induce_in_thread,
) -> Spoiled:
    """Induces a task's workflow from the traces of its examples, and runs it on the tests.

    Args:
        kind: The noise in the traces.
        task: The task.
        traces: One for each example, in the order of the examples.
        tests: Held-out tests; induction does not see them.
        sandbox: The task's tools.
        inducer: Runs the induction.
    """
    known = {dump_json(example.input): trace for example, trace in zip(task.examples, traces, strict=True)}

    async def demonstrate(inputs: dict[str, Any], budget: int = 0) -> Trace:
        return known[dump_json(inputs)]

    settings = Settings(mode="induction", traces="gold")
    solution = await solve(task, sandbox, ScriptedChat([]), settings, demonstrate=demonstrate, inducer=inducer)
    derivation = solution.derivation
    assert derivation is not None
    counts = outcomes(await _unseen(solution, tests, sandbox))
    return Spoiled(
        id=task.id,
        control_flow=task.control_flow or "none",
        kind=kind,
        solved=solution.graph_valid and counts["right"] == len(tests),
        tests=sum(counts.values()),
        wrong=counts["wrong"],
        doubts=counts["doubt"],
        built=solution.graph_valid,
        whole=derivation.whole,
        unexplained=derivation.unexplained,
        open=len(derivation.open),
    )


async def _unseen(solution: Solution, tests: Sequence[Example], sandbox: Environment) -> list[Unseen]:
    if solution.workflow is None or not solution.graph_valid:
        return []
    runs = await run_tests(solution.workflow, [test.input for test in tests], sandbox)
    return [score_of(run, test).unseen for run, test in zip(runs, tests, strict=True)]


async def measured(
    task: Task,
    gold: Workflow,
    tests: Sequence[Example],
    sandbox: Environment,
    options: argparse.Namespace,
    inducer: Inducer = induce_in_thread,
) -> list[Spoiled]:
    """The outcomes of one task, for each kind of noise that its traces can have."""
    demonstrate = demonstration(gold, sandbox)
    clean = [await demonstrate(example.input) for example in task.examples]
    noisy: dict[Kind, list[Trace] | None] = {}
    for kind in options.kinds:
        noisy[kind] = await spoiled(kind, clean, Random(f"{options.seed}/{task.id}/{kind}"), sandbox)
    return await asyncio.gather(
        *(outcome(kind, task, traces, tests, sandbox, inducer) for kind, traces in noisy.items() if traces is not None)
    )


def analysis(options: argparse.Namespace) -> Iterator[tuple[int, list[Spoiled]]]:
    """Yields the number of tasks, and the outcomes of each task.

    Args:
        options: `bench`, `limit`, `control_flow`, `kinds` and `seed`, as the command line has them.

    Raises:
        InputError: If the benchmark cannot be read, or has no gold workflow of such a task.
    """
    bench: Path = options.bench
    benchmark = Benchmark.load(bench)
    golds, tools = read_golds(bench), benchmark_tools(bench)
    by_flow: dict[str, list[Task]] = {}
    for task in benchmark.tasks:
        if task.id in golds:
            by_flow.setdefault(task.control_flow, []).append(task)
    groups = [tasks for flow, tasks in by_flow.items() if flow in (options.control_flow or by_flow)]
    tasks = [task for row in zip_longest(*groups) for task in row if task is not None][: options.limit]
    if not tasks:
        flows = ", ".join(sorted(by_flow)) or "none"
        raise InputError(f"{bench / 'gold.jsonl'}: no gold workflow of such a task; control flows with one: {flows}")
    processes = min(os.cpu_count() or 1, len(options.kinds))
    with WorkerPool(1, isolation=isolation_for(tools)) as pool, Inducers(processes) as inducers:
        for task in tasks:
            if missing := [name for name in task.tools if name not in tools]:
                raise InputError(f"{bench}: task {task.id!r} has a tool {missing[0]!r} that is not there")
            sandbox = LocalSandbox([tools[name] for name in task.tools], pool)
            gold, tests = golds[task.id], benchmark.tests[task.id]
            if problems := check(gold, sandbox.specs):
                raise InputError(f"{bench / 'gold.jsonl'}: the workflow of {task.id!r}: {problems[0]}")
            yield len(tasks), asyncio.run(measured(task, gold, tests, sandbox, options, inducers.induce))


def tables(outcomes: Sequence[Spoiled]) -> str:
    """The rates by kind of noise and control flow, in Markdown."""
    parts = [
        _table("solved", outcomes, lambda result: result.solved),
        _table("detected", outcomes, lambda result: result.detected),
        _table("silently wrong", outcomes, lambda result: result.silent),
        _table("tests, silently wrong", outcomes, lambda result: result.wrong, lambda result: result.tests),
        _table("tests, in doubt", outcomes, lambda result: result.doubts, lambda result: result.tests),
        "solved: all held-out tests pass. detected: a value is unexplained or a question open. silently wrong: sound,\n"
        "right on all examples, nothing detected, and on a test a wrong answer without doubt. Percent (count/tasks\n"
        "that can have the noise). The last two tables count the tests of all workflows that were built.",
    ]
    return "\n\n".join(parts)


def _table(
    title: str,
    outcomes: Sequence[Spoiled],
    counts: Callable[[Spoiled], int],
    of: Callable[[Spoiled], int] = lambda result: 1,
) -> str:
    flows = sorted({result.control_flow for result in outcomes})
    rows: list[list[str]] = []
    for kind in KINDS:
        if results := [result for result in outcomes if result.kind == kind]:
            groups = [*([result for result in results if result.control_flow == flow] for flow in flows), results]
            rows.append([kind, *(_rate(sum(map(counts, group)), sum(map(of, group))) for group in groups)])
    return markdown([title, *flows, "all"], rows)


def _rate(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} ({count}/{of})" if of else "–"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured; 2 bad usage or input; 130 interrupted, with the tables of what was measured before."""
    options = _parser().parse_args(arguments)
    outcomes: list[Spoiled] = []
    code = 0
    try:
        with tqdm.tqdm(unit="task") as bar:
            for bar.total, rows in analysis(options):
                bar.update()
                outcomes += rows
    except (FlowMindError, SandboxUnavailable) as error:
        print(f"noise: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("noise: interrupted", file=sys.stderr)
        code = 130
    try:
        if options.out is not None:
            rows = [row.model_dump(mode="json") | {"detected": row.detected, "silent": row.silent} for row in outcomes]
            write_text(options.out, dump_json({"seed": options.seed, "rows": rows}, indent=1) + "\n")
    except OSError as error:
        print(f"noise: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(tables(outcomes))
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.noise", description="Measure how noise in gold traces affects induction."
    )
    add = parser.add_argument
    add("--bench", type=Path, required=True, metavar="DIR", help="folder of a built benchmark")
    add("--limit", type=_positive, metavar="N", help="at most N tasks, taken in turn from the control flows")
    add("--control-flow", nargs="+", default=[], metavar="FLOW", help="only tasks of these control flows")
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help="; ".join(KINDS))
    add("--seed", type=int, default=0, metavar="N", help="seed of the noise (default 0)")
    add("--out", type=Path, metavar="FILE", help="write the outcome of each task as JSON")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


if __name__ == "__main__":
    with shown_output():
        code = main()
    sys.exit(code)

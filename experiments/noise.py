"""How induction bears noise in traces: `python -m experiments.noise --bench DIR`.

The gold traces of a benchmark's examples are spoiled, one kind of noise at a time, as agents spoil theirs: failed
calls, a call made twice, a call that nobody needs, and a step that was worked out in the head. Then the workflow is
induced from them and judged by the held-out tests.
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
from flowmind.api.solving import Solution, solve
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json, write_text
from flowmind.build.induction.inducers import Inducers
from flowmind.build.induction.inducing import Inducer, drafts_in_thread
from flowmind.build.settings import Settings
from flowmind.llm.testing import ScriptedChat
from flowmind.run.running import run_many
from flowmind.trace.events import Called, Event, Trace
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import LocalSandbox, ToolSource, WorkerPool
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec

Kind = Literal[
    "none", "failed calls", "duplicates", "useless call", "in the head: last, all", "in the head: last, one",
    "in the head: middle, all", "in the head: middle, one",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
SHARE = 0.4
"""Of the calls before which `failed_calls` puts a failed attempt."""
TRIES = 60
"""Calls that `useless_call` tries until one gives a value."""


def failed_calls(trace: Trace, random: Random) -> Trace | None:
    """The trace with a failed attempt before some of its calls, at least one: an argument was forgotten or misspelt.

    None if it has no call.
    """
    places = _good(trace)
    if not places:
        return None
    chosen = [place for place in places if random.random() < SHARE] or [random.choice(places)]
    steps: list[Event] = []
    for place, step in enumerate(trace.events):
        if place in chosen and isinstance(step, Called):
            steps.append(_attempt(step, random))
        steps.append(step)
    return _with(trace, steps)


def duplicates(trace: Trace, random: Random) -> Trace | None:
    """The trace with one of its calls made once more right away; None if it has no call."""
    places = _good(trace)
    if not places:
        return None
    place = random.choice(places)
    return _with(trace, [*trace.events[: place + 1], *trace.events[place:]])


async def useless_call(trace: Trace, random: Random, sandbox: Environment) -> Trace | None:
    """The trace with one more call, on values at hand, whose result nobody reads; None if no such call succeeds.

    A tool that the trace does not call is preferred.

    Args:
        sandbox: Has the task's tools, and gives the result.
    """
    called = {step.call.tool for step in trace.calls}
    others = [spec for spec in sandbox.specs.values() if spec.name not in called]
    made = [step.call for step in trace.calls]
    for specs in (others, list(sandbox.specs.values())):
        for _ in range(TRIES if specs else 0):
            place = random.randint(0, len(trace.events))
            call = _call_on(random.choice(specs), _at_hand(trace, place), random)
            if call is None or call in made:
                continue
            seen = await sandbox.call(call)
            if seen.ok:
                step = Called(call=call, observation=seen)
                return _with(trace, [*trace.events[:place], step, *trace.events[place:]])
    return None


def in_the_head_last(trace: Trace) -> Trace | None:
    """The trace without its last call, while the answer stays; None if it has no call."""
    places = _good(trace)
    return _without(trace, places[-1]) if places else None


def in_the_head_middle(trace: Trace, random: Random) -> Trace | None:
    """The trace without a call between the first and the last; of two calls without the first, None of fewer."""
    places = _good(trace)
    if len(places) < 2:
        return None
    return _without(trace, random.choice(places[1:-1] or places[:1]))


def _good(trace: Trace) -> list[int]:
    """The places of the calls that gave a value."""
    return [place for place, step in enumerate(trace.events) if isinstance(step, Called) and step.observation.ok]


def _with(trace: Trace, steps: Iterable[Event]) -> Trace:
    return trace.model_copy(update={"events": tuple(steps)})


def _without(trace: Trace, place: int) -> Trace:
    return _with(trace, [*trace.events[:place], *trace.events[place + 1 :]])


def _attempt(step: Called, random: Random) -> Called:
    """A call that was meant to be this one."""
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
    """The inputs, and what the calls before a place gave."""
    seen = [step.observation.value for step in trace.events[:place] if isinstance(step, Called)]
    return [*trace.inputs.values(), *seen]


def _call_on(spec: ToolSpec, values: Sequence[Any], random: Random) -> ToolCall | None:
    """A call of a tool on some of these values; None if they do not fit it."""
    if not values:
        return None
    args = {name: random.choice(values) for name in spec.required}
    return ToolCall(tool=spec.name, args=args) if spec.check(args) is None else None


async def spoiled(kind: Kind, traces: Sequence[Trace], random: Random, sandbox: Environment) -> list[Trace] | None:
    """Traces of one task with noise of one kind, in all of them or in one; None if none of them can have it."""
    made = [await _spoiled(kind, trace, random, sandbox) for trace in traces]
    places = [place for place, trace in enumerate(made) if trace is not None]
    if not places:
        return None
    if kind.endswith(", one"):
        places = [random.choice(places)]
    return [made[place] or trace if place in places else trace for place, trace in enumerate(traces)]


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
    """What came of one task's traces with one kind of noise."""

    id: str
    control_flow: str
    kind: Kind
    solved: bool
    """The workflow passes all held-out tests."""
    built: bool
    whole: bool
    """It gives the answers of all examples."""
    unexplained: int = 0
    """Values that were worked out in the head, as provenance counts them."""
    open: int = 0
    """Questions that are left open."""

    @property
    def detected(self) -> bool:
        """Whether it was said that the traces leave something unexplained or open."""
        return self.unexplained > 0 or self.open > 0

    @property
    def silent(self) -> bool:
        """Whether the workflow is wrong, and nothing but a test shows it."""
        return self.built and self.whole and not self.solved and not self.detected


async def outcome(
    kind: Kind,
    task: Task,
    traces: Sequence[Trace],
    tests: Sequence[Example],
    sandbox: Environment,
    inducer: Inducer = drafts_in_thread,
) -> Spoiled:
    """Induces a task's workflow from the traces of its examples, and runs it on tests.

    Args:
        kind: What was done to the traces.
        task: The task.
        traces: One for each of its examples, in their order.
        tests: Which induction never sees.
        sandbox: The task's tools.
        inducer: Who induces.
    """
    known = {dump_json(example.input): trace for example, trace in zip(task.examples, traces, strict=True)}

    async def shown(inputs: dict[str, Any], budget: int = 0) -> Trace:
        return known[dump_json(inputs)]

    settings = Settings(mode="induction", traces="gold")
    solution = await solve(task, sandbox, ScriptedChat([]), settings, demonstrate=shown, inducer=inducer)
    derivation = solution.derivation
    assert derivation is not None
    return Spoiled(
        id=task.id,
        control_flow=task.control_flow or "none",
        kind=kind,
        solved=_passes(solution, tests, sandbox),
        built=solution.graph_valid,
        whole=derivation.whole,
        unexplained=derivation.unexplained,
        open=len(derivation.open),
    )


def _passes(solution: Solution, tests: Sequence[Example], sandbox: Environment) -> bool:
    if solution.workflow is None or not solution.graph_valid:
        return False
    runs = run_many(solution.workflow, [test.input for test in tests], sandbox)
    return all(ran.ok and json_equal(ran.answer, test.output) for ran, test in zip(runs, tests, strict=True))


async def measured(
    task: Task,
    gold: Workflow,
    tests: Sequence[Example],
    sandbox: Environment,
    kinds: Sequence[Kind],
    seed: int,
    inducer: Inducer = drafts_in_thread,
) -> list[Spoiled]:
    """What comes of one task with each kind of noise that its traces can have, in their order."""
    demonstrate = demonstration(gold, sandbox)
    clean = [await demonstrate(example.input) for example in task.examples]
    made: dict[Kind, list[Trace] | None] = {}
    for kind in kinds:
        made[kind] = await spoiled(kind, clean, Random(f"{seed}/{task.id}/{kind}"), sandbox)
    return await asyncio.gather(
        *(outcome(kind, task, traces, tests, sandbox, inducer) for kind, traces in made.items() if traces is not None)
    )


def in_turn(tasks: Sequence[Task], limit: int | None) -> list[Task]:
    """The first tasks, taken in turn from the control flows."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.control_flow, []).append(task)
    return [task for row in zip_longest(*groups.values()) for task in row if task is not None][:limit]


def analysis(
    bench: Path, limit: int | None, flows: Sequence[str], kinds: Sequence[Kind], seed: int
) -> Iterator[tuple[int, list[Spoiled]]]:
    """Gives the number of tasks, and what came of each, as it comes.

    Args:
        bench: The benchmark's folder.
        limit: How many tasks, if not all.
        flows: The control flows of the tasks; all if there is none.
        kinds, seed: The noise.

    Raises:
        InputError: If the benchmark cannot be read, or has no gold workflow of such a task.
    """
    benchmark = Benchmark.load(bench)
    golds, tools = read_golds(bench), benchmark_tools(bench)
    wanted = [task for task in benchmark.tasks if not flows or task.control_flow in flows]
    tasks = in_turn([task for task in wanted if task.id in golds], limit)
    if not tasks:
        have = ", ".join(sorted({task.control_flow for task in benchmark.tasks if task.id in golds})) or "none"
        raise InputError(f"{bench / 'gold.jsonl'}: no gold workflow of such a task; control flows with one: {have}")
    processes = min(os.cpu_count() or 1, len(kinds))
    with WorkerPool(1) as pool, Inducers(processes) as inducers:
        for task in tasks:
            sandbox = LocalSandbox(_tools(task, tools, bench), pool)
            gold, tests = golds[task.id], benchmark.tests[task.id]
            if problems := check(gold, sandbox.specs):
                raise InputError(f"{bench / 'gold.jsonl'}: the workflow of {task.id!r}: {problems[0]}")
            yield len(tasks), asyncio.run(measured(task, gold, tests, sandbox, kinds, seed, inducers.drafts))


def _tools(task: Task, tools: Any, bench: Path) -> list[ToolSource]:
    if missing := [name for name in task.tools if name not in tools]:
        raise InputError(f"{bench}: task {task.id!r} has a tool {missing[0]!r} that is not there")
    return [tools[name] for name in task.tools]


def tables(found: Sequence[Spoiled]) -> str:
    """The rates by kind of noise and control flow, as Markdown."""
    parts = [
        _table("solved", found, lambda one: one.solved),
        _table("detected", found, lambda one: one.detected),
        _table("silently wrong", found, lambda one: one.silent),
    ]
    notes = [
        "solved: all held-out tests pass. detected: a value is unexplained or a question open. silently wrong: sound,",
        "right on all examples, nothing detected, and wrong on a test. Percent (count/tasks that can have the noise).",
    ]
    return "\n\n".join([*parts, "\n".join(notes)])


def _table(title: str, found: Sequence[Spoiled], counts: Callable[[Spoiled], bool]) -> str:
    flows = sorted({one.control_flow for one in found})
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in found)]
    lines = [f"| {' | '.join([title, *flows, 'all'])} |", f"|{' --- |' * (len(flows) + 2)}"]
    for kind in kinds:
        row = [one for one in found if one.kind == kind]
        groups = [*([one for one in row if one.control_flow == flow] for flow in flows), row]
        lines.append(f"| {kind} | {' | '.join(_rate(sum(map(counts, group)), len(group)) for group in groups)} |")
    return "\n".join(lines)


def _rate(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} ({count}/{of})" if of else "–"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured; 2 bad usage or input; 130 interrupted, with the tables of what was measured before."""
    options = _parser().parse_args(arguments)
    found: list[Spoiled] = []
    code = 0
    try:
        with tqdm.tqdm(unit="task") as bar:
            for total, rows in analysis(
                options.bench, options.limit, options.control_flow, options.kinds, options.seed
            ):
                bar.total = total
                bar.update()
                found += rows
    except FlowMindError as error:
        print(f"noise: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("noise: interrupted", file=sys.stderr)
        code = 130
    try:
        if options.out is not None:
            told = [one.model_dump(mode="json") | {"detected": one.detected, "silent": one.silent} for one in found]
            write_text(options.out, dump_json({"seed": options.seed, "rows": told}, indent=1) + "\n")
    except OSError as error:
        print(f"noise: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(tables(found))
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.noise", description="Measure how induction bears noise in gold traces."
    )
    parser.add_argument("--bench", type=Path, required=True, metavar="DIR", help="a built benchmark")
    parser.add_argument(
        "--limit", type=_positive, default=None, metavar="N", help="only N tasks, in turn from the control flows"
    )
    parser.add_argument(
        "--control-flow", nargs="+", default=[], metavar="FLOW", help="only tasks of these control flows"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help="; ".join(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default 0)")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write what came of each task as JSON")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

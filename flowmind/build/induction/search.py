"""The search for the workflow behind traces: layouts are bound, the cheapest are planned, and ranked by cost."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.base.processes import HelperEnded, Helpers, answer_questions
from flowmind.build.induction.control_flow import UNSET, Call, Key, Layout, Run, layouts, run_of, walk, with_forms
from flowmind.build.induction.emission import Emitter
from flowmind.build.induction.evidence import guesses
from flowmind.build.induction.planning import Plan, decide, fill, outlay, simulate
from flowmind.build.induction.provenance import Bound, bind
from flowmind.build.induction.refinement import refined
from flowmind.build.induction.wording import Reading, read
from flowmind.trace.events import Trace
from flowmind.workflow.checking import Problem, check
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import ToolSpec

REPEATED = 0.5
"""Cost of leaving out repeated calls."""
STRAY = 0.75
"""Cost per tool of leaving out calls that only some traces make and whose results nothing needs."""
IDLE = 1.5
"""Cost per tool of leaving out calls whose results nothing reads."""
MARGIN = 16.0
"""A layout that exceeds the cheapest one by more than this is dropped."""
FILLED = 26
"""Layouts with loops that are explained completely, chosen by the cost before and in their loops."""
SURELY = 4
"""Number of these that are explained even if another one is already cheaper."""
SLACK = 4.0
"""Extra cost up to which the others are explained."""
REFINED = 3
"""Times that places without calls are added to the cheapest plans."""
PLACED = 8
"""Layouts with added places that are tried per plan."""
PLANNED = 8
"""Layouts whose conditions are searched, chosen by the cost of what they leave unexplained."""
ALWAYS = 3
"""Number of these that are searched even if another one is already cheaper."""
UNSOUND = 20.0
"""Cost of a workflow that may not be used."""
Loops = tuple[str, ...]
"""The names of a layout's loops."""


@dataclass
class Induced:
    """A workflow that was induced, and its plan."""

    workflow: Workflow
    plan: Plan
    emitter: Emitter
    problems: tuple[Problem, ...]
    """The problems that `check` finds."""
    guesses: tuple[str, ...] = ()
    """The values without a source that tools would get which may change something."""

    @property
    def sound(self) -> bool:
        """Whether the workflow passes `check`, and no tool that may change something gets a guess."""
        return not self.problems and not self.guesses

    def scope(self, place: Key) -> list[dict[str, Any]]:
        """The variables at every visit of a place with a decision."""
        _, rows = simulate(self.plan)
        return [rows[sample.run][sample.event] for sample in self.plan.decisions[place].samples]

    @property
    def cost(self) -> float:
        """The lower, the likelier."""
        return self.plan.cost + (0 if self.sound else UNSOUND)


def plans(
    runs: Sequence[Run], inputs: JSONSchema, reading: Reading, among: Collection[Loops] | None = None
) -> list[Plan]:
    """The plans of the likeliest layouts, the cheapest first.

    Args:
        runs: The traces.
        inputs: JSON Schema of the inputs.
        reading: The task's text.
        among: Layouts with other loops than these are left out.
    """
    names = list(inputs.get("properties", {}))
    runs = with_forms(runs)

    def bound_of(layout: Layout, most: float = math.inf, thorough: bool = True) -> Bound | None:
        return bind(walk(runs, layout, names), reading, most, thorough)

    every = [layout for layout in layouts(runs) if among is None or layout.loops in among]
    every.sort(key=lambda layout: len(layout.sites))
    filled = _looped(every, bound_of)
    # a straight layout has a site for every call: a long one is not worth it if a loop explains all calls
    most = min((plan.cost for plan in filled if not plan.open), default=math.inf) + MARGIN
    straight = [bound_of(layout, most) for layout in every if not layout.loops]
    filled = sorted([*filled, *(fill(bound) for bound in straight if bound is not None)], key=_cost)
    filled = _refined(filled, bound_of)
    decided: list[Plan] = []
    for plan in ([plan for plan in filled if not plan.open] or filled[:ALWAYS])[:PLANNED]:
        if len(decided) >= ALWAYS and plan.cost >= min(map(_cost, decided)):
            break  # conditions only add to the cost
        decide(plan, names)
        decided.append(plan)
    return sorted(decided, key=_cost)


def _cost(plan: Plan) -> float:
    return plan.cost


def _looped(every: Sequence[Layout], bound_of: Callable[..., Bound | None]) -> list[Plan]:
    """The plans of layouts with loops that are explained completely."""
    candidates: list[Bound] = []
    # what stands behind a loop is not explained yet, so that only layouts with equally many loops are compared
    least = defaultdict[int, float](lambda: math.inf)
    for layout in every:
        count = len(layout.loops)
        if count and (bound := bound_of(layout, least[count] + MARGIN, False)) is not None:
            candidates.append(bound)
            least[count] = min(least[count], bound.cost)
    candidates.sort(key=lambda bound: bound.cost + outlay(bound.walk.layout))
    thorough = [bound if bound.settled else bound_of(bound.walk.layout) for bound in candidates[:FILLED]]
    filled: list[Plan] = []
    for bound in sorted((bound for bound in thorough if bound is not None), key=lambda bound: bound.cost):
        if len(filled) < SURELY or bound.cost < min(map(_cost, filled)) + SLACK:
            filled.append(fill(bound))  # what stands behind loops only adds to the cost
    return filled


def _refined(filled: list[Plan], bound_of: Callable[..., Bound | None]) -> list[Plan]:
    """The plans, and those of layouts with added places that may explain what the cheapest plans leave open."""
    seen = {_shape(plan.bound.walk.layout) for plan in filled}
    for _ in range(REFINED):
        straight = [plan for plan in filled if not plan.loops][:1]
        new: list[Plan] = []
        for plan in [plan for plan in [*filled[:4], *straight] if not plan.refined]:
            plan.refined = True
            for layout in islice(refined(plan), PLACED):
                if (shape := _shape(layout)) not in seen:
                    seen.add(shape)
                    bound = bound_of(layout, plan.bound.cost + MARGIN)
                    new += [fill(bound)] if bound is not None else []
        if not new:
            break
        filled = sorted([*filled, *new], key=_cost)
    return filled


def _shape(layout: Layout) -> tuple[tuple[Key, ...], ...]:
    """The sites of all paths, which identify a layout of given runs."""
    return tuple(tuple(event.key for event in path) for path in layout.paths)


@dataclass(frozen=True)
class Request:
    """The input of induction."""

    runs: Sequence[Run]
    specs: Mapping[str, ToolSpec]
    inputs: JSONSchema
    """Of the workflow."""
    reading: Reading
    """Of the task's text."""
    name: str
    """Of the workflow."""
    among: Collection[Loops] | None = None
    """As for `plans`."""


def drafts(request: Request) -> list[Induced]:
    """The workflows of the likeliest plans, sound ones first, then the cheapest.

    The traces are read unchanged, then without calls that repeat the previous one. If something is still open, calls
    whose results nothing needs are left out too, first those of tools that only some traces call. This has a cost,
    because a call may serve a condition only.
    """
    runs, specs, inputs = request.runs, request.specs, request.inputs
    every = plans(runs, inputs, request.reading, request.among)
    writing = {spec.name for spec in specs.values() if spec.effect != "read"}
    readings = [list(runs)]
    for leave_out, price in ((without_repeats, REPEATED), (without_strays, STRAY), (without_idle, IDLE)):
        repeats = leave_out is without_repeats
        if not repeats and not _has_open_ends(every):
            break
        fewer = leave_out(runs, writing)
        if fewer in readings or not any(run.calls for run in fewer):
            continue
        readings.append(fewer)
        missing = () if repeats else _missing(runs, fewer)
        for plan in plans(fewer, inputs, request.reading, request.among):
            plan.cost += price * max(len(missing), 1)
            plan.left_out = missing
            every.append(plan)
    by_document: dict[str, Induced] = {}
    for plan in sorted(every, key=_cost)[: 2 * PLANNED]:
        emitter = Emitter(plan, inputs, request.name)
        workflow = emitter.write()
        problems = tuple(check(workflow, specs))
        by_document.setdefault(workflow.document, Induced(workflow, plan, emitter, problems, guesses(plan, writing)))
    return sorted(by_document.values(), key=lambda draft: draft.cost)


def _missing(runs: Sequence[Run], fewer: Sequence[Run]) -> tuple[str, ...]:
    """The tools that some run calls less often after calls were left out."""
    tools = [call.tool for run, other in zip(runs, fewer, strict=True) for call in run.calls if call not in other.calls]
    return tuple(dict.fromkeys(tools))


def _has_open_ends(candidates: Sequence[Plan]) -> bool:
    """Whether the cheapest plan has an open slot, an unsolved decision, or a result that nothing reads."""
    best = min(candidates, key=_cost, default=None)
    return best is None or bool(best.open or best.waiting) or not all(d.solved for d in best.decisions.values())


# Leaving out calls


def without_repeats(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls that repeat the previous call with the same arguments and result.

    Args:
        runs: The traces.
        writing: Tools that may change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        for call in run.calls:
            if call.tool in writing or not calls or not _same(calls[-1], call):
                calls.append(call)
        fewer.append(replace(run, calls=tuple(calls)))
    return fewer


def _same(first: Call, second: Call) -> bool:
    return first.tool == second.tool and json_equal(first.args, second.args) and json_equal(first.value, second.value)


def without_idle(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls whose results appear neither in a later call nor in the answer, whole or in part.

    Args:
        runs: The traces.
        writing: Tools that may change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        later = _inside(run.answer)
        for call in reversed(run.calls):
            parts = [part for part in _inside(call.value) if part not in _TRIVIAL]
            if call.tool in writing or not parts or any(part in later for part in parts):
                calls.append(call)
                later += _inside(call.args)
        fewer.append(replace(run, calls=tuple(reversed(calls))))
    return fewer


def without_strays(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls of tools that only some traces call, once, and whose results nothing needs.

    A result is needed if a later call or the answer contains it or a part of it, and nothing provided that before. The
    call may have served a condition, so a workflow without it is a guess.

    Args:
        runs: All traces of a task. A single trace stays as it is.
        writing: Tools that may change something: their calls stay.
    """
    fewer = list(runs)
    while True:
        strays = {tool for tool in _seldom(fewer) - set(writing) if not any(_needed(run, tool) for run in fewer)}
        if not strays:
            return fewer
        fewer = [replace(run, calls=tuple(call for call in run.calls if call.tool not in strays)) for run in fewer]


def _seldom(runs: Sequence[Run]) -> set[str]:
    """Tools that some traces call once and the others never."""
    counts = [Counter(call.tool for call in run.calls) for run in runs]
    called = {tool for count in counts for tool in count}
    return {tool for tool in called if {count[tool] for count in counts} == {0, 1}}


def _needed(run: Run, tool: str) -> bool:
    """Whether an argument or the answer contains a part of the tool's result that nothing before provided."""
    place = next((place for place, call in enumerate(run.calls) if call.tool == tool), None)
    if place is None:
        return False
    result = run.calls[place].value
    others = [*run.inputs.values(), *(call.value for call in run.calls[:place])]
    for call in run.calls[place + 1 :]:
        if any(_holds(value, result, others) for value in call.args.values()):
            return True
        others.append(call.value)
    return run.answer is not UNSET and _holds(run.answer, result, others)


def _holds(value: Any, result: Any, others: Sequence[Any]) -> bool:
    """Whether a value contains something that only this result provides. Whole values take precedence over parts."""
    key = dump_json(value)
    if key in _TRIVIAL or any(key == dump_json(other) for other in others):
        return False
    if key == dump_json(result):
        return True
    if any(key in _inside(other) for other in others):
        return False
    return key in _inside(result) or any(_holds(part, result, others) for part in _parts_of(value))


_TRIVIAL = frozenset(["true", "false", "null", "0", "1", '""', "[]", "{}"])


def _inside(value: Any) -> list[str]:
    """The keys of a value and its parts."""
    if value is UNSET:
        return []
    keys = [dump_json(value)]
    for part in _parts_of(value):
        keys += _inside(part)
    return keys


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).values())
    return cast(list[Any], value)[:200] if isinstance(value, list) else []


# Doors


def induce(
    traces: Sequence[Trace], specs: Mapping[str, ToolSpec], inputs: JSONSchema, query: str = "", name: str = "workflow"
) -> list[Induced]:
    """The workflows that may have produced the traces of a task, the likeliest first.

    Args:
        traces: Executions of the task on different inputs. Failed calls are ignored.
        specs: The tools.
        inputs: JSON Schema of the task's inputs.
        query: The task's text, which ranks constants and conditions.
        name: The workflows' name.
    """
    runs = [run_of(trace, number) for number, trace in enumerate(traces)]
    return drafts(Request(runs, specs, inputs, read(query), name)) if runs else []


def straight(run: Run, inputs: JSONSchema, name: str, query: str = "") -> Workflow:
    """The workflow that repeats the calls of one trace in order, with their data flow.

    It has no branches and no loops, and is the baseline for induction.

    Args:
        run: The trace.
        inputs: JSON Schema of the inputs.
        name: The workflow's name.
        query: The task's text, which distinguishes constants from inputs.
    """
    layout = next(layouts([run]))
    bound = bind(walk([run], layout, list(inputs.get("properties", {}))), read(query))
    assert bound is not None, "without a limit every layout is bound"
    return Emitter(fill(bound), inputs, name).write()


Inducer = Callable[[Request], Awaitable[list[Induced]]]
"""Does the same as `drafts` without blocking the event loop."""


async def drafts_in_thread(request: Request) -> list[Induced]:
    """Runs `drafts` in a thread. The event loop continues, but more slowly."""
    return await asyncio.to_thread(drafts, request)


class Inducers(Helpers):
    """Processes that induce workflows, because the search is pure Python and holds the interpreter lock.

    A process starts when it is first needed.

    Args:
        count: How many processes.
    """

    def __init__(self, count: int) -> None:
        super().__init__(__name__, None, count)
        # separate threads: a call that waits for a process must not keep the loop's other threads from running tools
        self._threads = ThreadPoolExecutor(count)

    async def drafts(self, request: Request) -> list[Induced]:
        """As the function `drafts`, in one of the processes.

        Raises:
            RuntimeError: If the process has ended, or the induction raised something.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.ask, request)
        except HelperEnded as ended:
            raise RuntimeError(f"induction: its process has ended ({ended})") from None

    def close(self) -> None:
        """Kills the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()
        self._threads.shutdown()


def main() -> None:
    """Runs the inductions that arrive on standard input until it is closed."""
    answer_questions(lambda _: nullcontext(lambda request, _: drafts(request)))

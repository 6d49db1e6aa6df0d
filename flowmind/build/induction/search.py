"""Searches for the workflow behind traces: binds layouts, plans the cheapest, and ranks the results by cost.

Replay: the calls of one trace, one after the other, with their data flow, as a trace compiler writes them.

The workflow has no branches and no loops. It is the baseline for induction.

Runs induction in separate processes, because the search is pure Python and holds the interpreter lock.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flowmind.base.processes import HelperEnded, Helpers, answer_questions
from flowmind.build.induction.control_flow import Key, Layout, layouts, walk
from flowmind.build.induction.emission import Emitter
from flowmind.build.induction.evidence import guesses
from flowmind.build.induction.planning import Plan, decide, fill, outlay, simulate
from flowmind.build.induction.provenance import Bound, bind
from flowmind.build.induction.refinement import refined
from flowmind.build.induction.runs import Run, run_of, with_forms, without_idle, without_repeats, without_strays
from flowmind.build.induction.wording import Reading, read
from flowmind.trace.events import Trace
from flowmind.workflow.checking import Problem, check
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema
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


@dataclass
class Induced:
    """A workflow that was induced, and its plan."""

    workflow: Workflow
    plan: Plan
    emitter: Emitter
    problems: tuple[Problem, ...]
    """The problems that `check` finds."""
    guesses: tuple[str, ...] = ()
    """The values that writing tools would be given without a source."""

    @property
    def sound(self) -> bool:
        """Whether the workflow passes `check`, and no tool writes a guessed value."""
        return not self.problems and not self.guesses

    def scope(self, place: Key) -> list[dict[str, Any]]:
        """The variables at every visit of a place with a decision."""
        _, rows = simulate(self.plan)
        return [rows[sample.run][sample.event] for sample in self.plan.decisions[place].samples]

    @property
    def cost(self) -> float:
        """The lower, the likelier."""
        return self.plan.cost + (0 if self.sound else 20)


Loops = tuple[str, ...]
"""The names of a layout's loops."""


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

    def bound(layout: Layout, most: float = math.inf, thorough: bool = True) -> Bound | None:
        return bind(walk(runs, layout, names), reading.said, reading.constants, most, thorough)

    every = [layout for layout in layouts(runs) if among is None or layout.loops in among]
    every.sort(key=lambda layout: len(layout.sites))
    looped: list[Bound] = []
    # with more loops more stands behind one, which is not explained yet: only equally many are held against each other
    least = defaultdict[int, float](lambda: math.inf)
    for layout in every:
        count = len(layout.loops)
        if count and (found := bound(layout, least[count] + MARGIN, False)) is not None:
            looped.append(found)
            least[count] = min(least[count], found.cost)
    looped.sort(key=lambda one: one.cost + outlay(one.walk.layout))
    again = [one if one.settled else bound(one.walk.layout) for one in looped[:FILLED]]
    made: list[Plan] = []
    for one in sorted((one for one in again if one is not None), key=lambda one: one.cost):
        if len(made) < SURELY or one.cost < min(plan.cost for plan in made) + SLACK:
            made.append(fill(one))  # what stands behind loops only adds to what it costs
    # a long trace laid out straight has a site for every call: not worth it where a loop explains them all
    most = min((one.cost for one in made if not one.open), default=math.inf) + MARGIN
    straight = [bound(layout, most) for layout in every if not layout.loops]
    made = sorted([*made, *[fill(one) for one in straight if one is not None]], key=lambda one: one.cost)
    seen = {_shape(one.bound.walk.layout) for one in made}
    for _ in range(REFINED):
        chosen = [one for one in [*made[:4], *[one for one in made if not one.loops][:1]] if not one.refined]
        new: list[Plan] = []
        for one in chosen:
            one.refined = True
            for layout in islice(refined(one), PLACED):
                if (shape := _shape(layout)) not in seen:
                    seen.add(shape)
                    found = bound(layout, one.bound.cost + MARGIN)
                    new += [fill(found)] if found is not None else []
        if not new:
            break
        made = sorted([*made, *new], key=lambda one: one.cost)
    decided: list[Plan] = []
    whole = [one for one in made if not one.open]
    for one in (whole or made[:ALWAYS])[:PLANNED]:
        if len(decided) >= ALWAYS and one.cost >= min(other.cost for other in decided):
            break  # conditions only add to what it costs
        decide(one, reading.agreement, reading.constants, reading.said, names)
        decided.append(one)
    return sorted(decided, key=lambda one: one.cost)


def _shape(layout: Layout) -> tuple[tuple[Key, ...], ...]:
    """The sites of all paths, which identify a layout of given runs."""
    return tuple(tuple(event.key for event in path) for path in layout.paths)


@dataclass(frozen=True)
class Given:
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


def drafts(given: Given) -> list[Induced]:
    """The workflows of the likeliest plans, sound ones first, then the cheapest.

    The traces are read unchanged, then without calls that repeat the previous one. If something is still open, calls
    whose results nothing needs are left out too, first those of tools that only some traces call. This has a cost,
    because a call may serve a condition only.
    """
    runs, specs, inputs = given.runs, given.specs, given.inputs
    every = plans(runs, inputs, given.reading, given.among)
    writing = {spec.name for spec in specs.values() if spec.effect == "write"}
    tried = [list(runs)]
    for leave_out, price in _WAYS:
        repeats = leave_out is _less_repeats
        if not repeats and not _loose(every):
            break
        less = leave_out(runs, writing)
        if less in tried or not any(run.calls for run in less):
            continue
        tried.append(less)
        gone = () if repeats else _missing(runs, less)
        for plan in plans(less, inputs, given.reading, given.among):
            plan.cost += price * max(len(gone), 1)
            plan.left_out = gone
            every.append(plan)
    by_document: dict[str, Induced] = {}
    for plan in sorted(every, key=lambda plan: plan.cost)[: 2 * PLANNED]:
        emitter = Emitter(plan, inputs, given.name)
        workflow = emitter.write()
        problems = tuple(check(workflow, specs))
        by_document.setdefault(workflow.document, Induced(workflow, plan, emitter, problems, guesses(plan, writing)))
    return sorted(by_document.values(), key=lambda draft: draft.cost)


Inducer = Callable[[Given], Awaitable[list[Induced]]]
"""Does the same as `drafts` without blocking the event loop."""


async def drafts_in_thread(given: Given) -> list[Induced]:
    """Runs `drafts` in a thread. The event loop continues, but more slowly."""
    return await asyncio.to_thread(drafts, given)


def _less_repeats(runs: Sequence[Run], writing: Collection[str]) -> list[Run]:
    return [without_repeats(run, writing) for run in runs]


def _less_idle(runs: Sequence[Run], writing: Collection[str]) -> list[Run]:
    return [without_idle(run, writing) for run in runs]


_WAYS = ((_less_repeats, REPEATED), (without_strays, STRAY), (_less_idle, IDLE))
"""The functions that leave out calls, with their cost: once for repeated calls, else per tool."""


def _missing(runs: Sequence[Run], less: Sequence[Run]) -> tuple[str, ...]:
    """The tools that some run calls less often after calls were left out."""
    tools = [call.tool for run, other in zip(runs, less, strict=True) for call in run.calls if call not in other.calls]
    return tuple(dict.fromkeys(tools))


def _loose(candidates: Sequence[Plan]) -> bool:
    """Whether the cheapest plan has an open slot, an unsolved decision, or a result that nothing reads."""
    best = min(candidates, key=lambda plan: plan.cost, default=None)
    return best is None or bool(best.open) or bool(best.waiting) or not all(d.solved for d in best.decisions.values())


def induce(
    traces: Sequence[Trace],
    specs: Mapping[str, ToolSpec],
    inputs: JSONSchema,
    query: str = "",
    name: str = "workflow",
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
    return drafts(Given(runs, specs, inputs, read(query), name)) if runs else []


def straight(run: Run, inputs: JSONSchema, name: str, query: str = "") -> Workflow:
    """The workflow that repeats the calls of a trace in order.

    Args:
        run: The trace.
        inputs: JSON Schema of the inputs.
        name: The workflow's name.
        query: The task's text, which distinguishes constants from inputs.
    """
    reading = read(query)
    layout = next(layouts([run]))
    bound = bind(walk([run], layout, list(inputs.get("properties", {}))), reading.said, reading.constants)
    assert bound is not None, "without a limit every layout is bound"
    return Emitter(fill(bound), inputs, name).write()


class Inducers(Helpers):
    """Processes that induce workflows. One starts when it is first needed.

    Args:
        count: How many processes.
    """

    def __init__(self, count: int) -> None:
        super().__init__(__name__, None, count)
        # threads of our own: who waits for a process must not keep the loop's others from running tools
        self._threads = ThreadPoolExecutor(count)

    async def drafts(self, given: Given) -> list[Induced]:
        """As `inducing.drafts`, in one of the processes.

        Raises:
            RuntimeError: If the process has ended, or the induction raised something.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.ask, given)
        except HelperEnded as ended:
            raise RuntimeError(f"induction: its process has ended ({ended})") from None

    def close(self) -> None:
        """Kills the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()
        self._threads.shutdown()


def main() -> None:
    """Runs the inductions that arrive on standard input until it is closed."""
    answer_questions(lambda _: nullcontext(drafts))

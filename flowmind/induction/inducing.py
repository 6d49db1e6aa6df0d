"""The search for the workflow that traces came from: layouts are bound and planned, the cheapest that holds wins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.checking import check
from flowmind.induction.binding import Bound, bind
from flowmind.induction.emitting import Emitter
from flowmind.induction.planning import Plan, decide, fill, simulate
from flowmind.induction.reading import Reading, read
from flowmind.induction.refining import refined
from flowmind.induction.runs import Run, run_of, with_forms, without_idle, without_repeats
from flowmind.induction.structure import Key, Layout, layouts
from flowmind.induction.walking import walk
from flowmind.trace import Trace
from flowmind.workflow import Workflow
from tools_registry.schema import JSONSchema
from tools_registry.spec import ToolSpec

MARGIN = 16.0
"""How much dearer than the cheapest a layout may become before it is given up."""
FILLED = 16
"""Layouts that are explained to the end: the cheapest by what stands before and in their loops."""
REFINED = 3
"""Times that places without calls are put into the cheapest plans."""
ALWAYS = 3
"""Of them those that are searched even if another one is cheaper already."""
PLANNED = 8
"""Layouts whose conditions are searched: the cheapest by what they leave unexplained."""


@dataclass
class Draft:
    """A workflow that was induced, and its plan."""

    workflow: Workflow
    plan: Plan
    emitter: Emitter
    sound: bool

    def scope(self, place: Key) -> list[dict[str, Any]]:
        """The variables at every visit of a place that decides."""
        _, rows = simulate(self.plan)
        return [rows[one.run][one.event] for one in self.plan.decisions[place].samples]

    @property
    def cost(self) -> float:
        """The less, the likelier."""
        return self.plan.cost + (0 if self.sound else 20)


def plans(runs: Sequence[Run], inputs: JSONSchema, reading: Reading) -> list[Plan]:
    """The plans of the likeliest layouts, the cheapest first."""
    names = list(inputs.get("properties", {}))
    runs = with_forms(runs)

    def bound(layout: Layout, most: float = math.inf) -> Bound | None:
        return bind(walk(runs, layout, names), reading.said, reading.constants, most)

    every = sorted(layouts(runs), key=lambda layout: len(layout.sites))
    looped: list[Bound] = []
    least = math.inf
    for layout in every:
        if layout.loops and (found := bound(layout, least + MARGIN)) is not None:
            looped.append(found)
            least = min(least, found.cost)
    looped.sort(key=lambda one: one.cost + 4.5 * len(one.walk.layout.loops))
    made = [fill(one) for one in looped[:FILLED]]
    # a long trace laid out straight has a site for every call: not worth it where a loop explains them all
    most = min((one.cost for one in made if not one.open), default=math.inf) + MARGIN
    straight = [bound(layout, most) for layout in every if not layout.loops]
    made = sorted([*made, *[fill(one) for one in straight if one is not None]], key=lambda one: one.cost)
    for _ in range(REFINED):
        chosen = [one for one in [*made[:4], *[one for one in made if not one.loops][:1]] if not one.refined]
        more = [bound(layout) for one in chosen for layout in refined(one)]
        new = [fill(one) for one in more if one is not None]
        for one in chosen:
            one.refined = True
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


def drafts(
    runs: Sequence[Run], specs: Mapping[str, ToolSpec], inputs: JSONSchema, reading: Reading, name: str
) -> list[Draft]:
    """The workflows of the likeliest plans, sound ones first, then the cheapest.

    The traces are read as they are; with calls left out that repeat the one before, if there are such; and with calls
    left out whose results nobody reads, if that leaves less open. What is left out costs as much as it explains: a
    call that feeds a condition only is missed there.
    """
    found = plans(runs, inputs, reading)
    writing = {spec.name for spec in specs.values() if spec.effect == "write"}
    for leave_out, price in ((without_repeats, 0.5), (without_idle, 1.5)):
        less = [leave_out(run, writing) for run in runs]
        if less != list(runs) and (leave_out is without_repeats or _loose(found)):
            more = plans(less, inputs, reading)
            for one in more:
                one.cost += price
            found += more
    made: list[Draft] = []
    for one in sorted(found, key=lambda one: one.cost)[: 2 * PLANNED]:
        emitter = Emitter(one, inputs, name)
        workflow = emitter.write()
        made.append(Draft(workflow, one, emitter, not check(workflow, specs)))
    return sorted(made, key=lambda one: one.cost)


def _loose(found: Sequence[Plan]) -> bool:
    """Whether the cheapest plan leaves something open, or reads a result nowhere."""
    best = min(found, key=lambda one: one.cost, default=None)
    return best is None or bool(best.open) or bool(best.waiting) or not all(d.solved for d in best.decisions.values())


def induce(
    traces: Sequence[Trace],
    specs: Mapping[str, ToolSpec],
    inputs: JSONSchema,
    query: str = "",
    name: str = "workflow",
) -> list[Draft]:
    """The workflows that traces of one task may come from, the likeliest first.

    Args:
        traces: Executions of the task on different inputs; failed calls are left out.
        specs: The tools.
        inputs: JSON Schema of the task's inputs.
        query: The task's text, which ranks constants and conditions.
        name: The workflows' name.
    """
    runs = [run_of(trace, number) for number, trace in enumerate(traces)]
    return drafts(runs, specs, inputs, read(query), name) if runs else []

"""Golds by execution: each goal runs on the state that the goals before it leave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from flowbench_synth.dialogue.blueprint import ScenarioBlueprint, Slot
from flowbench_synth.dialogue.world import World, place_of
from flowmind.dialogue.users.goals import StandingGoal, goals_after
from flowmind.trace.events import Evaluated, Trace
from flowmind.trace.scenario import CONFIRMED, OUTCOME, Goal, GoalGold, Gold, Session, SessionGold, state_changes
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import Workflow


class NoGold(Exception):
    """A goal has no gold: its workflow fails, or needs a value that the user does not have."""


class Path(NamedTuple):
    """What a goal takes, in the order of its workflow."""

    slots: tuple[str, ...]
    """The slots that its nodes read, without `confirmed`, in the order of the nodes."""
    calls: int
    consent: bool
    """Whether the user is asked for consent."""

    @property
    def turns(self) -> int:
        """The turns of an agent that asks one thing at a time and tells all facts at once."""
        return len(self.slots) + self.calls + self.consent + 1


class Run(NamedTuple):
    """The run of the goals of a session."""

    gold: Gold
    paths: tuple[Path | None, ...]
    """By goal; None for a goal that was given up."""
    states: tuple[dict[str, Any], ...]
    """The state before each goal, and after the last one."""


def session_golds(
    session: Session, workflows: Mapping[str, Workflow], start: Mapping[str, Any], world: World
) -> SessionGold:
    """The golds of a session, for each number of interventions.

    Raises:
        NoGold: With the reason.
    """
    numbers = range(len(session.interventions) + 1)
    runs = [run_goals(goals_after(session, fired), workflows, start, world) for fired in numbers]
    return SessionGold(id=session.id, golds=tuple(run.gold for run in runs))


def run_goals(
    goals: Sequence[StandingGoal], workflows: Mapping[str, Workflow], start: Mapping[str, Any], world: World
) -> Run:
    """Runs goals one after the other.

    Raises:
        NoGold: With the reason.
    """
    place = place_of(start)
    golds: list[GoalGold] = []
    paths: list[Path | None] = []
    states: list[dict[str, Any]] = [place.state]
    for standing in goals:
        goal = standing.goal
        if standing.dropped:
            golds.append(GoalGold(scenario=goal.scenario, calls=(), outcome="", facts={}, dropped=True))
            paths.append(None)
        else:
            workflow = workflows[goal.scenario]
            trace, place = world.run(workflow, goal.slots, place)
            golds.append(_goal_gold(goal, trace))
            paths.append(path_of(workflow, goal.slots, trace))
        states.append(place.state)
    gold = Gold(goals=tuple(golds), digest=place.digest, changes=state_changes(start, place.state))
    return Run(gold, tuple(paths), tuple(states))


def _goal_gold(goal: Goal, trace: Trace) -> GoalGold:
    if not trace.ok:
        assert trace.error is not None
        raise NoGold(f"{goal.scenario}: {trace.error.type}: {trace.error.message}")
    facts = {name: value for name, value in trace.answer.items() if name != OUTCOME}
    calls = tuple(event.call for event in trace.calls)
    return GoalGold(scenario=goal.scenario, calls=calls, outcome=trace.answer[OUTCOME], facts=facts)


def path_of(workflow: Workflow, slots: Mapping[str, Any], trace: Trace) -> Path:
    """What a run takes.

    Raises:
        NoGold: If a node reads a slot without a value.
    """
    read: dict[str, None] = {}
    consent = False
    for event in trace.events:
        node = getattr(event, "node", None)
        if node is None:
            continue
        consent = consent or (isinstance(event, Evaluated) and event.expr == CONFIRMED)
        reads = node_reads(workflow.by_id[node])
        for name in (name for name in workflow.input_names if name in reads and name != CONFIRMED):
            if slots[name] is None:
                raise NoGold(f"{workflow.name}: the user has no value for {name!r}, which node {node!r} needs")
            read[name] = None
    return Path(tuple(read), len(trace.calls), consent)


def drawn_goal(scenario: ScenarioBlueprint, end: str, state: Mapping[str, Any], random: Random) -> Goal:
    """A goal of a user who wants to arrive at an end.

    Raises:
        NoGold: If the state has no such user.
    """
    try:
        slots = scenario.ends[end](random, dict(state))
    except (IndexError, ValueError, KeyError) as error:
        raise NoGold(f"{scenario.id}: the sampler of {end!r} fails: {type(error).__name__}: {error}") from None
    consent = {CONFIRMED: end not in scenario.denied} if CONFIRMED in scenario.workflow.input_names else {}
    ordered = {name: slots[name] for name in scenario.slots}
    return Goal(scenario=scenario.id, slots={**ordered, **consent})


def as_before(scenarios: Mapping[str, ScenarioBlueprint], goal: Goal, earlier: Sequence[Goal]) -> Goal:
    """A goal with the names and numbers that the user gives for earlier goals."""
    words = scenarios[goal.scenario].slots
    given: dict[str, Any] = {}
    for other in earlier:
        for name, slot in scenarios[other.scenario].slots.items():
            if name in words and words[name].label == slot.label and _is_own(slot, other.slots[name]):
                given[name] = other.slots[name]
    slots = {name: given.get(name, value) if value is not None else None for name, value in goal.slots.items()}
    return goal.model_copy(update={"slots": slots})


def _is_own(slot: Slot, value: Any) -> bool:
    """Whether a value belongs to the user: a name or a number, no choice, day or time."""
    return isinstance(value, str) and "enum" not in slot.schema and not re.match(r"\d{4}-\d\d|\d\d:\d\d", value)

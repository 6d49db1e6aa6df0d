"""The goals of a session, as its interventions change them."""

from __future__ import annotations

from flowmind.trace.scenario import Goal, Intervention, Session
from tools_registry.specs.spec import Record


class StandingGoal(Record):
    """A goal after some interventions."""

    goal: Goal
    """With the values that hold now."""
    dropped: bool = False
    """Whether the user gave it up."""


def goals_after(session: Session, fired: int) -> tuple[StandingGoal, ...]:
    """The goals that hold after the first `fired` interventions, in the order in which the user takes them up.

    Goals that were given up stay in their place and are marked. Added goals come last.
    """
    goals = [StandingGoal(goal=goal) for goal in session.goals]
    for intervention in session.interventions[:fired]:
        _apply(goals, intervention)
    return tuple(goals)


def concerned(session: Session, number: int) -> int:
    """The index, in `goals_after(session, number)`, of the goal that the intervention with this number concerns.

    It is the first goal that was not given up and has every slot that the intervention asks about or changes; if no
    goal has them, the first one that was not given up. The user carries the intervention out while it works on this
    goal, so that the goals after a number of interventions do not depend on when they were carried out.
    """
    return _concerned(goals_after(session, number), session.interventions[number])


def _concerned(goals: tuple[StandingGoal, ...] | list[StandingGoal], intervention: Intervention) -> int:
    needed = set(intervention.change.slots) if intervention.change else set[str]()
    if intervention.trigger.on == "asked":
        needed.add(intervention.trigger.name)
    standing = [index for index, goal in enumerate(goals) if not goal.dropped]
    with_slots = [index for index in standing if needed <= goals[index].goal.slots.keys()]
    return (with_slots or standing or [0])[0]


def _apply(goals: list[StandingGoal], intervention: Intervention) -> None:
    change = intervention.change
    if change is None:
        return
    index = _concerned(goals, intervention)
    goal = goals[index].goal
    slots = {**goal.slots, **change.slots}
    goals[index] = StandingGoal(
        goal=goal.model_copy(update={"slots": slots}), dropped=goals[index].dropped or change.cancel
    )
    if change.add is not None:
        goals.append(StandingGoal(goal=change.add))

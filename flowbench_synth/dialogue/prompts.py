"""What an agent reads before a session, and whether facts can be told from it."""

from __future__ import annotations

from typing import Any

from flowbench_synth.dialogue.blueprint import RoleBlueprint, ScenarioBlueprint
from flowbench_synth.dialogue.conventions import specs_of
from flowmind.trace.scenario import GoalGold, Session
from flowmind.trace.telling import tells


def prompt_of(role: RoleBlueprint, scenario: ScenarioBlueprint) -> str:
    """All that an agent reads before a session: the role, the workflow, the tools."""
    parts = [role.title, role.background, role.time, scenario.title, scenario.workflow.document]
    return "\n".join([*parts, *(spec.document() for spec in specs_of(role).values())])


def said_values(session: Session) -> str:
    """All that the user of a session says: the values of slots, and the texts of interventions."""
    values: list[Any] = [value for goal in session.goals for value in goal.slots.values()]
    for intervention in session.interventions:
        values.append(intervention.text)
        if intervention.change is not None:
            values += intervention.change.slots.values()
            values += intervention.change.add.slots.values() if intervention.change.add else ()
    return " \n ".join(str(value) for value in values if value is not None)


def guessable(goal: GoalGold, session: Session, prompt: str) -> bool:
    """Whether the prompt and what the user says contain all facts of a goal."""
    known = f"{prompt}\n{said_values(session)}"
    return all(tells(known, value) for value in goal.facts.values())

"""Counts of a dialogue benchmark, by domain and role, and of what users do outside the procedure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flowmind.trace.scenario import OOW_TYPES, Scenario, Session, SessionGold


def statistics(
    scenarios: Sequence[Scenario], sessions: Sequence[Session], golds: Sequence[SessionGold]
) -> dict[str, Any]:
    """The counts: in all, by domain, by role, by type of intervention."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    pairs = list(zip(sessions, golds, strict=True))

    def count(mine: Sequence[Scenario]) -> dict[str, Any]:
        names = {scenario.id for scenario in mine}
        rows = [(session, gold) for session, gold in pairs if session.goals[0].scenario in names]
        calls = [len(goal.calls) for _, gold in rows for goal in gold.golds[0].goals]
        return {
            "roles": len({scenario.database for scenario in mine}),
            "scenarios": len(mine),
            "sessions": len(rows),
            "single": sum(session.scope == "single" for session, _ in rows),
            "cross": sum(session.scope == "cross" for session, _ in rows),
            "goals": len(calls),
            "calls_avg": round(sum(calls) / len(calls), 2) if calls else 0.0,
            "writing": sum(bool(gold.golds[0].changes) for _, gold in rows),
        }

    domains = dict.fromkeys(scenario.domain for scenario in scenarios)
    drawn = [item for session in sessions for item in session.interventions]
    subtypes = Counter(item.subtype for item in drawn)
    return {
        "all": count(scenarios),
        "by_domain": {name: count([item for item in scenarios if item.domain == name]) for name in domains},
        "by_role": {
            name: count([item for item in scenarios if item.database == name])
            for name in dict.fromkeys(scenario.database for scenario in scenarios)
        },
        "scenario_titles": {scenario.id: by_id[scenario.id].title for scenario in scenarios},
        "profiles": len({session.profile.model_dump_json() for session in sessions}),
        "personas": len({session.profile.persona for session in sessions}),
        "interventions": {kind: {subtype: subtypes[subtype] for subtype in names} for kind, names in OOW_TYPES.items()},
        "triggers": dict(sorted(Counter(item.trigger.on for item in drawn).items())),
        "interventions_a_session": {
            str(number): amount
            for number, amount in sorted(Counter(len(session.interventions) for session in sessions).items())
        },
    }

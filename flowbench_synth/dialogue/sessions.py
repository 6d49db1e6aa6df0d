"""Draws the sessions of a role: databases, goals and users, and the golds.

Each session has a database of its own, so that facts differ between sessions. Goals are drawn for each end in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from flowbench_synth.dialogue.blueprint import RoleBlueprint, ScenarioBlueprint
from flowbench_synth.dialogue.golds import NoGold, Run, as_before, drawn_goal, run_goals, session_golds
from flowbench_synth.dialogue.interventions import Drawing, with_interventions
from flowbench_synth.dialogue.profiles import profile
from flowbench_synth.dialogue.prompts import guessable, prompt_of
from flowbench_synth.dialogue.roles import COMPOSITION
from flowbench_synth.dialogue.world import World
from flowbench_synth.instance import BuildError
from flowmind.base.files import dump_json
from flowmind.dialogue.users.goals import StandingGoal
from flowmind.trace.scenario import Goal, Gold, Session, SessionGold
from flowmind.trace.telling import tells

MAX_TURNS = {"single": 15, "cross": 20}
"""The limits of FlowBench (appendix C.1)."""
_ATTEMPTS = 200
_ORDERLY = 8
"""The attempts that take ends in turn; later ones take any."""
_LONG = 60
"""The attempts that take three scenarios where they were planned; later ones take two."""
_SAME = 4
"""The draws of a goal for which the names and numbers of earlier goals are tried."""
_CROSS = (2, 3)
Scope = Literal["single", "cross"]


class Planned(NamedTuple):
    """A session to draw."""

    id: str
    role: str
    scope: Scope
    scenarios: tuple[str, ...]


class Drawn(NamedTuple):
    """A session with its database and its golds."""

    session: Session
    database: dict[str, Any]
    gold: SessionGold
    ends: tuple[str, ...]
    """The ends at which the goals arrive without interventions."""
    rejected: int
    """The attempts that were dropped."""


def plan(roles: Sequence[RoleBlueprint], seed: int) -> list[Planned]:
    """The sessions of a benchmark, by domain; fewer for a domain that lacks scenarios."""
    return [session for domain in COMPOSITION for session in _planned(domain, roles, seed)]


def _planned(domain: str, roles: Sequence[RoleBlueprint], seed: int) -> Iterator[Planned]:
    mine = [role for role in roles if role.domain == domain and role.scenarios]
    share = COMPOSITION[domain]
    scenarios = [(role, scenario) for role in mine for scenario in role.scenarios]
    part = min(1.0, len(scenarios) / share.scenarios)
    counts: Counter[str] = Counter()

    def named(role: RoleBlueprint, scope: Scope, chosen: Sequence[ScenarioBlueprint]) -> Planned:
        counts[role.id] += 1
        return Planned(f"{role.id}_{counts[role.id]:03}", role.id, scope, tuple(item.id for item in chosen))

    for number in range(round(part * share.single) if scenarios else 0):
        role, scenario = scenarios[number % len(scenarios)]
        yield named(role, "single", [scenario])
    random = Random(f"{seed}/{domain}")
    several = [role for role in mine if len(role.scenarios) > 1]
    for number in range(round(part * share.cross) if several else 0):
        role = several[number % len(several)]
        count = min(random.choice(_CROSS), len(role.scenarios))
        yield named(role, "cross", random.sample(list(role.scenarios), count))


class SessionMaker:
    """Draws the sessions of a role, one after the other.

    Args:
        role: The role.
        seed: The seed of the benchmark.
        world: Its tools.
    """

    def __init__(self, role: RoleBlueprint, seed: int, world: World) -> None:
        self._role = role
        self._seed = seed
        self._world = world
        self._scenarios = {scenario.id: scenario for scenario in role.scenarios}
        self._workflows = {scenario.id: scenario.workflow for scenario in role.scenarios}
        self._prompts = {scenario.id: prompt_of(role, scenario) for scenario in role.scenarios}
        self._told: dict[str, list[tuple[dict[str, Any], bool]]] = {}
        """The facts of other sessions, by scenario, and whether no intervention comes before them."""
        self._arrived: Counter[tuple[str, str]] = Counter()
        """How often a goal was drawn for an end."""
        self._types: Counter[str] = Counter()
        """How often a subtype of intervention was drawn."""

    def made(self, planned: Planned) -> Drawn:
        """The session; it is drawn again until it can be held within its turns and its facts cannot be guessed.

        Raises:
            BuildError: If no attempt succeeds.
        """
        reason = ""
        for attempt in range(_ATTEMPTS):
            random = Random(f"{self._seed}/{planned.id}/{attempt}")
            try:
                return self._attempt(planned, random, attempt)
            except NoGold as error:
                reason = str(error)
        raise BuildError(f"{planned.id}: none of {_ATTEMPTS} attempts gives a session; the last one: {reason}")

    def _attempt(self, planned: Planned, random: Random, attempt: int) -> Drawn:
        database = self._role.database(random)
        most = MAX_TURNS[planned.scope]
        scenarios = planned.scenarios if attempt < _LONG else planned.scenarios[:2]
        goals, ends = self._goals(scenarios, database, random, attempt)
        plain = Session(
            id=planned.id,
            profile=profile(random),
            goals=tuple(goals),
            max_turns=most,
            database=planned.id,
        )
        run = run_goals([StandingGoal(goal=goal) for goal in goals], self._workflows, database, self._world)
        self._require_fitting(run, most)
        drawing = Drawing(self._scenarios, database, self._world, self._types)
        session = with_interventions(plain, run, drawing, random)
        gold = session_golds(session, self._workflows, database, self._world)
        for fired, item in enumerate(gold.golds):
            self._require_unguessable(item, session, fired == 0)
        for fired, item in enumerate(gold.golds):
            for goal in item.goals:
                if not goal.dropped:
                    self._told.setdefault(goal.scenario, []).append((goal.facts, fired == 0))
        self._arrived.update(zip(scenarios, ends, strict=True))
        self._types.update(item.subtype for item in session.interventions)
        return Drawn(session, database, gold, tuple(ends), attempt)

    def _goals(
        self, scenarios: Sequence[str], database: Mapping[str, Any], random: Random, attempt: int
    ) -> tuple[list[Goal], list[str]]:
        """A goal for each scenario, each drawn on the state that those before leave."""
        goals: list[Goal] = []
        ends: list[str] = []
        state: dict[str, Any] = dict(database)
        for name in scenarios:
            scenario = self._scenarios[name]
            end = self._next_end(scenario, attempt, random)
            goal, state = self._arriving(scenario, end, state, goals, random)
            goals.append(goal)
            ends.append(end)
        return goals, ends

    def _arriving(
        self, scenario: ScenarioBlueprint, end: str, state: dict[str, Any], earlier: Sequence[Goal], random: Random
    ) -> tuple[Goal, dict[str, Any]]:
        """A goal that arrives at an end, and the state after it; names and numbers are those of earlier goals if one of
        some draws then arrives there.
        """
        drawn = [drawn_goal(scenario, end, state, random) for _ in range(_SAME if earlier else 1)]
        alike = [as_before(self._scenarios, goal, earlier) for goal in drawn]
        for goal in [*(goal for goal in alike if goal not in drawn), drawn[0]]:
            try:
                run = run_goals([StandingGoal(goal=goal)], self._workflows, state, self._world)
            except NoGold:
                continue
            if run.gold.goals[0].outcome == end:
                return goal, run.states[-1]
        raise NoGold(f"{scenario.id}: no goal for the end {end!r} arrives there")

    def _next_end(self, scenario: ScenarioBlueprint, attempt: int, random: Random) -> str:
        """The end that the fewest goals were drawn for; after some attempts any."""
        ends = list(scenario.ends)
        if attempt >= _ORDERLY:
            return random.choice(ends)
        return min(ends, key=lambda end: self._arrived[scenario.id, end])

    def _require_fitting(self, run: Run, most: int) -> None:
        turns = sum(path.turns for path in run.paths if path)
        if turns > most:
            raise NoGold(f"the goals take {turns} turns, at most {most} are allowed")

    def _require_unguessable(self, gold: Gold, session: Session, plain: bool) -> None:
        """Requires facts that nobody knows who has not made the calls: neither from texts nor from another session.

        Of two sessions with interventions, both may end with the same facts.
        """
        for goal in gold.goals:
            if goal.dropped:
                continue
            if guessable(goal, session, self._prompts[goal.scenario]):
                raise NoGold(f"{goal.scenario}: the facts stand in what the user says or the agent reads")
            others = [facts for told in self._told.values() for facts, too in told if plain or too]
            if any(same_facts(goal.facts, facts) for facts in others):
                raise NoGold(f"{goal.scenario}: another session is told {dump_json(goal.facts)}")


def same_facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether who is told the facts of one goal is told those of the other, too."""
    return _told_with(first, second) or _told_with(second, first)


def _told_with(wanted: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    text = " \n ".join(map(str, told.values()))
    return all(tells(text, value) for value in wanted.values())

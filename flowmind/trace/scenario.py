"""A dialogue benchmark: scenarios with a workflow and a database, sessions of users with goals, and their golds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field

from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, read_model
from flowmind.trace.events import Event
from flowmind.trace.task import benchmark_tools
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.stateful import without_state
from tools_registry.specs.spec import Record, ToolCall, ToolSource, ToolSpec

CONFIRMED = "confirmed"
"""The boolean slot of a user's consent to a write."""
OUTCOME = "outcome"
"""The field of an answer that has the id of its end."""
Id = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")


class SlotWords(Record):
    """How people speak of a slot."""

    label: str
    """A noun phrase: `check-in date`. An agent that asks for the slot, and `label: value`, use it."""
    spotted: tuple[str, ...] = ()
    """Other words by which a question is recognized as one for this slot: `arrive`, `arrival`."""
    says: tuple[str, ...] = ()
    """Sentences of a user that give the value, with `{value}`: `I would arrive on {value}.`"""


class FactWords(Record):
    """How people speak of a fact that an agent tells."""

    label: str
    """A noun phrase: `reference number`."""
    asks: tuple[str, ...] = ()
    """Questions of a user for it: `What is my reference number?`"""


class ScenarioRow(Record):
    """A line of `scenarios.jsonl`: a procedure that an agent follows for users, in a role.

    Its workflow is `workflows/<id>.json`.
    """

    id: str = Id
    domain: str
    role: str
    title: str
    background: str
    """The work of the role, for the agent."""
    opens: tuple[str, ...] = ()
    """First sentences of a user who has this goal."""
    cancels: tuple[str, ...] = ()
    """Sentences of a user who gives this goal up."""
    tools: tuple[str, ...]
    database: str
    """The id of the database; the scenarios of a role share one."""
    time: str
    """The time at which sessions take place, as `YYYY-MM-DD HH:MM`."""
    slots: dict[str, SlotWords]
    """By name; every slot but `confirmed`."""
    facts: dict[str, FactWords]
    """By name, for the fields of answers other than `outcome`."""


class Scenario(ScenarioRow):
    """A scenario with its workflow."""

    workflow: Workflow
    """Its inputs are the slots, its ends the answers."""


class Profile(Record):
    """A user."""

    persona: str
    """Who the user is, in a sentence or two."""
    style: Literal["brief", "plain", "talkative"] = "plain"
    """`brief`: one act a text. `plain`: up to two. `talkative`: up to three."""
    details: str = ""
    """What else a model that plays the user is told."""


class Goal(Record):
    """What a user wants: a scenario with values for its slots."""

    scenario: str
    slots: dict[str, Any]
    """By name, `confirmed` included; None for a value that the user does not have."""


class Change(Record):
    """What an intervention changes in the goals of a session."""

    slots: dict[str, Any] = Field(default_factory=dict)
    """New values in the goal that is worked on; `confirmed` can be among them."""
    cancel: bool = False
    """The goal that is worked on is given up."""
    add: Goal | None = None
    """A further goal, after the others."""


class Trigger(Record):
    """The moment of an intervention."""

    on: Literal["asked", "told", "consent", "turn"]
    """`asked`: the agent asks for the slot `name`. `told`: the agent tells a result while the goal is open. `consent`:
    the agent asks for consent. `turn`: the user's text number `turn`, from 1, is due."""
    name: str = ""
    turn: int = 0


OOW_TYPES: dict[str, tuple[str, ...]] = {
    "intent_switching": ("detail", "confirmation", "cancellation", "addition"),
    "procedure_jumping": ("skipping", "restructuring", "returning", "rule_ignoring"),
    "irrelevant_answering": ("topic_shift", "counterquestion", "vague", "partial", "wrong_value"),
}
"""The types and subtypes of out-of-workflow events (FlowAgent, section 5.2 and appendix)."""


class Intervention(Record):
    """An out-of-workflow event of a session: what a user does that the procedure does not expect."""

    trigger: Trigger
    type: Literal["intent_switching", "procedure_jumping", "irrelevant_answering"]
    subtype: str
    change: Change | None = None
    text: str
    """What the user says."""


class Session(Record):
    """A dialogue to hold: a user with goals. Without its interventions it is the in-workflow form."""

    id: str = Id
    profile: Profile
    goals: tuple[Goal, ...]
    interventions: tuple[Intervention, ...] = ()
    """In order; the next one can be carried out after the one before."""
    max_turns: int
    database: str = ""
    """The id of the database that it starts with; empty for that of its scenarios."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The ids of the scenarios of its goals, each once."""
        return tuple(dict.fromkeys(goal.scenario for goal in self.goals))

    @property
    def scope(self) -> Literal["single", "cross"]:
        """`cross` if it has more than one goal at the start."""
        return "single" if len(self.goals) == 1 else "cross"


class StateChange(Record):
    """A row of a database that differs between two states."""

    table: str
    key: str
    """Empty if the table is a plain value."""
    before: Any = None
    """None if the row is new."""
    after: Any = None
    """None if the row is gone."""


class GoalGold(Record):
    """What follows from a goal."""

    scenario: str
    calls: tuple[ToolCall, ...]
    outcome: str
    """The id of the end."""
    facts: dict[str, Any]
    """What the user must be told, by name."""
    dropped: bool = False
    """Whether the goal was given up; it then has no calls and no facts."""


class Gold(Record):
    """The right result of a session."""

    goals: tuple[GoalGold, ...]
    digest: str
    """The digest of the end state, as `state_digest` computes it."""
    changes: tuple[StateChange, ...]
    """The rows that differ between the start and the end."""


class SessionGold(Record):
    """The golds of a session, by the number of interventions that were carried out. For the evaluator only."""

    id: str
    golds: tuple[Gold, ...]
    """`golds[0]` is that of the in-workflow form."""


class Reference(Record):
    """A turn of an agent in a reference session, for turn-level evaluation."""

    id: str
    session: str
    oow: bool
    """Whether the session is in its out-of-workflow form."""
    fired: bool = False
    """Whether the user's last text carries out an intervention."""
    events: tuple[Event, ...]
    """The session before the turn."""
    call: ToolCall | None = None
    """The gold action, if it is a call."""
    text: str = ""
    """The gold action, if it is a text."""
    asks: tuple[str, ...] = ()
    """The slots that the gold text asks for."""
    tells: dict[str, Any] = Field(default_factory=dict)
    """The facts that the gold text tells, by name."""
    answer: str = ""
    """The end that the gold text answers with."""
    node: str = ""
    """The node of the workflow that is due."""


class DatabaseRow(Record):
    """A line of `databases.jsonl`."""

    id: str
    state: dict[str, Any]
    """Tables by name; a table is an object of rows by key, or a plain value such as a counter."""


def state_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[StateChange, ...]:
    """The rows that differ between two states, in the order of tables and keys."""
    changes: list[StateChange] = []
    for table in sorted({*before, *after}):
        old, new = _rows(before.get(table)), _rows(after.get(table))
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                changes.append(StateChange(table=table, key=key, before=old.get(key), after=new.get(key)))
    return tuple(changes)


def _rows(table: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", table) if isinstance(table, dict) else {"": table}


class DialogueData(Record):
    """A dialogue benchmark, without the golds."""

    name: str
    scenarios: dict[str, Scenario]
    sessions: dict[str, Session]
    databases: dict[str, dict[str, Any]]
    """The state at the start of a session, by id."""
    tools: dict[str, ToolSource]
    """Empty for recorded dialogues, whose tools cannot be called."""
    specs: dict[str, ToolSpec] = Field(default_factory=dict)
    """The tools of recorded dialogues."""
    recordings: dict[str, tuple[Event, ...]] = Field(default_factory=dict)
    """The recorded dialogues by session."""

    @classmethod
    def load(cls, folder: Path) -> DialogueData:
        """Reads the folder that `flowbench_synth dialogue build` writes.

        Raises:
            InputError: With file, line, field and reason.
        """
        scenarios = _scenarios(folder)
        sessions = {row.id: row for row in read_lines(folder / "sessions.jsonl", Session)}
        databases = {row.id: row.state for row in read_lines(folder / "databases.jsonl", DatabaseRow)}
        for session in sessions.values():
            for goal in session.goals:
                if goal.scenario not in scenarios:
                    raise InputError(
                        f"{folder / 'sessions.jsonl'}: {session.id!r} names the scenario {goal.scenario!r}, which is "
                        "not in scenarios.jsonl"
                    )
            database = session.database or scenarios[session.goals[0].scenario].database
            if database not in databases:
                raise InputError(
                    f"{folder / 'sessions.jsonl'}: {session.id!r} starts with the database {database!r}, which is not "
                    "in databases.jsonl"
                )
        tools = dict(benchmark_tools(folder))
        return cls(name=folder.name, scenarios=scenarios, sessions=sessions, databases=databases, tools=tools)

    def golds(self, folder: Path) -> dict[str, SessionGold]:
        """Reads `gold.jsonl`, for the evaluator.

        Raises:
            InputError: If it cannot be read, or a session has no gold.
        """
        golds = {row.id: row for row in read_lines(folder / "gold.jsonl", SessionGold)}
        if missing := [id for id in self.sessions if id not in golds]:
            raise InputError(f"{folder / 'gold.jsonl'}: no gold for {missing[0]!r}")
        return golds

    def specs_of(self, names: Iterable[str]) -> dict[str, ToolSpec]:
        """The specs of tools as agents see them."""
        return {
            name: self.specs[name] if name in self.specs else without_state(self.tools[name].spec) for name in names
        }

    def start(self, session: Session) -> dict[str, Any]:
        """The state at the start of a session. It must not be changed."""
        return self.databases[session.database or self.scenarios[session.goals[0].scenario].database]


def _scenarios(folder: Path) -> dict[str, Scenario]:
    scenarios: dict[str, Scenario] = {}
    for row in read_lines(folder / "scenarios.jsonl", ScenarioRow):
        workflow = read_model(folder / "workflows" / f"{row.id}.json", Workflow)
        fields = {name: getattr(row, name) for name in ScenarioRow.model_fields}
        scenarios[row.id] = Scenario(**fields, workflow=workflow)
    if not scenarios:
        raise InputError(f"{folder / 'scenarios.jsonl'}: no scenario in it")
    return scenarios

"""The records of sessions and turns. A record with an error has no scores, and the next run makes it again."""

from __future__ import annotations

from pydantic import Field

from experiments.record import Kept, ParseCounts
from flowmind.dialogue.licensing import Compliance
from flowmind.evaluation.dialogue import SessionScore
from flowmind.evaluation.failures import FailureClass
from flowmind.evaluation.turn_level import TurnScore
from tools_registry.specs.spec import Record


class Judgement(Record):
    """What a judge says of a session or a turn."""

    success: bool | None = None
    """Whether the user got what was wanted; None for a turn."""
    progress: float | None = None
    """In percent; None for a turn."""
    response: float | None = None
    """From 0 to 10; None for a session."""
    reason: str = ""


class Cost(Record):
    """What an agent used."""

    replies: int = 0
    parse: ParseCounts = Field(default_factory=ParseCounts)
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    """None if the server reported no count for some reply."""


class Held(Kept):
    """What the records of sessions and of turns share."""

    session: str
    scenario: str
    """The scenario of the session's first goal."""
    domain: str
    role: str
    scope: str
    oow: bool
    cost: Cost = Field(default_factory=Cost)
    judged: Judgement | None = None
    stop: str = ""
    started_at: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0


class SessionRecord(Held):
    """A session."""

    trial: int = 0
    persona: str = ""
    """Who the user is."""
    goals: int = 1
    """The user's goals at the start."""
    interventions: int = 0
    """The interventions that the session has."""
    fired_types: tuple[str, ...] = ()
    """The types of those that were carried out."""
    score: SessionScore | None = None
    compliance: Compliance | None = None
    failure: FailureClass | None = None
    recovered: tuple[bool, ...] = ()
    """For each intervention that was carried out, whether the agent came back to the goal within two turns."""
    refusals: dict[str, int] = Field(default_factory=dict)
    """The number of refused calls and texts by controller."""


class TurnRecord(Held):
    """A turn after the beginning of a reference session."""

    fired: bool = False
    """Whether the user's last text carries out an intervention."""
    is_call: bool = False
    """Whether the gold turn is a call."""
    score: TurnScore | None = None
    text: str = ""
    """The agent's reply as it was read: a call as JSON, or a text."""
    refused: int = 0
    """The actions that controllers refused before."""

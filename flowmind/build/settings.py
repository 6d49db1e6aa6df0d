"""The settings of one run of the two stages, and the modes, which are presets of them."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from flowmind.agents.turns import Budget
from flowmind.base.errors import InputError
from tools_registry.specs.spec import Record

Mode = Literal[
    "react", "pe", "enhanced-react", "es-rr", "es-pr", "es-rp", "es-pp", "es-react", "es-pe",
    "es-react+verify", "es-pe+verify", "induction", "replay",
]  # fmt: skip
MODES: tuple[Mode, ...] = get_args(Mode)
Summarizer = Literal["react", "plan", "induction", "guided", "replay"]
"""Who turns traces into a workflow: an agent with graph tools, induction without a model, induction that asks a model
what the traces leave open, or the calls of one trace in a row."""
TraceSource = Literal["agent", "gold"]
TraceSelection = Literal["all", "all_success", "random_success"]


SINGLE: tuple[Mode, ...] = ("react", "pe", "enhanced-react")
"""Modes of one stage: an agent executes and builds at once."""
VERIFY = 3
"""Rounds of mending of the modes with `+verify`."""


class Settings(Record):
    """How a task is solved."""

    mode: Mode = "es-pe"
    rollouts: int = Field(default=1, ge=1, le=100)
    """Executions of a task; rollout k works example k, cyclic."""
    trace_selection: TraceSelection = "all"
    """Which of them the summarizer reads."""
    summarizer: Summarizer | None = None
    """If not the one that the mode says."""
    verify: int | None = Field(default=None, ge=0, le=20)
    """Rounds of mending after the draft was run on the task's examples; modes with `+verify` have three."""
    probe: int = Field(default=0, ge=0, le=200)
    """Inputs of our own making that are executed where drafts disagree on them."""
    traces: TraceSource = "agent"
    """`gold`: the traces of the gold workflow on the examples stand for executions; tables say so."""
    seed: int = 0
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    execute_budget: Budget = Budget()
    summarize_budget: Budget = Budget()
    turn_limit: int | None = Field(default=None, ge=1)
    """Replies of the model in a case, over all its stages."""
    token_limit: int | None = Field(default=None, ge=1)
    """Output tokens of a case."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds that a case waits for the model."""


def letters_of(mode: Mode) -> tuple[str, str]:
    """The strategies of both stages: r for ReAct, p for Plan."""
    plain = mode.removesuffix("+verify")
    letters = {"es-react": "rr", "es-pe": "pp", "induction": "rr", "replay": "rr"}.get(plain, plain.removeprefix("es-"))
    return letters[0], letters[1]


def summarizer_of(settings: Settings) -> Summarizer:
    """Who summarizes."""
    if settings.summarizer is not None:
        return settings.summarizer
    if settings.mode in ("induction", "replay"):
        return "induction" if settings.mode == "induction" else "replay"
    if settings.mode.endswith("+verify"):
        return "guided"
    return "plan" if letters_of(settings.mode)[1] == "p" else "react"


def require_consistent(settings: Settings) -> None:
    """Refuses settings that do not go together.

    Raises:
        InputError: With what would be right.
    """
    if settings.mode in SINGLE:
        if settings.traces == "gold" or settings.summarizer is not None or settings.verify or settings.probe:
            raise InputError(
                f"mode {settings.mode!r} has one stage: no other traces, summarizer, verification or probes"
            )
        return
    who = summarizer_of(settings)
    if settings.probe and who not in ("induction", "guided"):
        raise InputError(f"probes are for induction: mode {settings.mode!r} summarizes by {who!r}; add --summarizer")
    if settings.verify and who == "replay":
        raise InputError("the calls of a trace in a row are not mended: no verification with replay")


def rounds_of(settings: Settings) -> int:
    """Rounds of mending after verification."""
    if settings.verify is not None:
        return settings.verify
    return VERIFY if settings.mode.endswith("+verify") else 0


def mode_of(text: str) -> Mode:
    """A mode by its name.

    Raises:
        InputError: If there is no such mode.
    """
    if text not in MODES:
        raise InputError(f"mode {text!r} is none of {', '.join(MODES)}")
    return text

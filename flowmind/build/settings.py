"""The settings of one run of the two stages, and the modes, which are presets of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from flowmind.agents.turns import Budget
from flowmind.base.errors import InputError
from tools_registry.specs.spec import Record

Summarizer = Literal["react", "plan", "induction", "guided", "replay"]
"""The way from traces to a workflow: an agent that builds, an agent that plans and builds, induction without a model,
induction that asks a model what the traces leave open, or the calls of one trace."""
TraceSource = Literal["agent", "gold"]
TraceSelection = Literal["all", "all_success", "random_success"]


class Preset(Record):
    """The settings of a mode."""

    execute: Literal["r", "p", "c"]
    """The agent of the execute stage: r for ReAct, p for Plan-and-Execute, c for one that works through the steps of a
    given workflow."""
    summarizer: Summarizer = "react"
    rounds: int = 0
    """Rounds of verification."""
    single: bool = False
    """Whether one stage executes and builds at once, without a summarizer."""
    must_build: bool = False
    """Whether a single stage that ends without a graph is asked for it."""
    references: bool = False
    """Whether the agent of the execute stage may pass values by name."""
    guided: bool = False
    """Whether the agent executes only, and may be given a workflow to work by; no workflow is built."""
    parallel: bool = False
    """Whether steps of the given workflow are worked on at the same time."""


MODES: dict[str, Preset] = {
    "react": Preset(execute="r", single=True),
    "pe": Preset(execute="p", single=True),
    "enhanced-react": Preset(execute="r", single=True, must_build=True),
    "es-rr": Preset(execute="r", summarizer="react"),
    "es-pr": Preset(execute="p", summarizer="react"),
    "es-rp": Preset(execute="r", summarizer="plan"),
    "es-pp": Preset(execute="p", summarizer="plan"),
    "es-react": Preset(execute="r", summarizer="react"),
    "es-pe": Preset(execute="p", summarizer="plan"),
    "es-react+verify": Preset(execute="r", summarizer="guided", rounds=3),
    "es-pe+verify": Preset(execute="p", summarizer="guided", rounds=3),
    "es-react+refs": Preset(execute="r", summarizer="react", references=True),
    "es-pe+refs": Preset(execute="p", summarizer="plan", references=True),
    "es-react+refs+verify": Preset(execute="r", summarizer="guided", rounds=3, references=True),
    "es-pe+refs+verify": Preset(execute="p", summarizer="guided", rounds=3, references=True),
    "induction": Preset(execute="r", summarizer="induction"),
    "replay": Preset(execute="r", summarizer="replay"),
    "react+workflow": Preset(execute="r", guided=True),
    "react+chain": Preset(execute="c", guided=True),
    "react+chain+parallel": Preset(execute="c", guided=True, parallel=True),
}
SINGLE = tuple(name for name, preset in MODES.items() if preset.single)
"""Modes of one stage that has business and graph tools."""
GUIDED = tuple(name for name, preset in MODES.items() if preset.guided)
"""Modes that execute only."""
BUILDING = tuple(name for name in MODES if name not in GUIDED)
"""Modes that build a workflow."""


def _known(name: str) -> str:
    if name not in MODES:
        raise ValueError(f"mode {name!r} is none of {', '.join(MODES)}")
    return name


Mode = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": [*MODES]})]
"""The name of a mode, a key of `MODES`."""


class Settings(Record):
    """How a task is solved. The docstrings of the fields are the help texts of the flags."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    mode: Mode = "es-pe"
    """how a task is solved"""
    rollouts: int = Field(default=1, ge=1, le=100)
    """executions of each task; rollout k works on example k, cyclic"""
    trace_selection: TraceSelection = "all"
    """the executions that the summarizer reads"""
    summarizer: Summarizer | None = None
    """overrides the mode's summarizer"""
    verify: int | None = Field(default=None, ge=0, le=20)
    """run the workflow on the examples and repair it, at most N rounds; modes with +verify do 3 rounds by default"""
    probe: int = Field(default=0, ge=0, le=200)
    """execute at most N generated inputs on which the candidate workflows differ"""
    predict: bool = False
    """predict each trace from the others if a workflow is induced; takes an induction for each trace"""
    traces: TraceSource = "agent"
    """gold: traces of the gold workflows are used instead of running the agent; tables are marked"""
    seed: int = 0
    """seed that is passed to the model"""
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    """sampling temperature of the model"""
    execute_budget: Budget = Budget()
    """limits of the execute stage"""
    summarize_budget: Budget = Budget()
    """limits of the summarize stage"""
    turn_limit: int | None = Field(default=None, ge=1)
    """replies of the model in one case, over all stages"""
    token_limit: int | None = Field(default=None, ge=1)
    """output tokens of one case"""
    time_limit: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """seconds that one case may wait for the model"""


def summarizer_of(settings: Settings) -> Summarizer:
    """The summarizer: the one that is set, else the mode's."""
    return settings.summarizer or MODES[settings.mode].summarizer


def rounds_of(settings: Settings) -> int:
    """The rounds of verification: those that are set, else the mode's."""
    return MODES[settings.mode].rounds if settings.verify is None else settings.verify


def require_consistent(settings: Settings) -> None:
    """Refuses settings that contradict each other.

    Raises:
        InputError: With what would be right.
    """
    if settings.mode in (*SINGLE, *GUIDED):
        if settings.traces == "gold" or settings.summarizer is not None or settings.verify or settings.probe:
            raise InputError(
                f"mode {settings.mode!r} has one stage: gold traces, a summarizer, verification and probes need a mode "
                "with two stages, such as es-react"
            )
        return
    summarizer = summarizer_of(settings)
    if settings.probe and summarizer not in ("induction", "guided"):
        raise InputError(
            f"--probe needs the summarizer induction or guided; mode {settings.mode!r} has {summarizer!r}; add "
            "--summarizer"
        )
    if settings.verify and summarizer == "replay":
        raise InputError("--verify does not work with summarizer 'replay'")


def mode_of(text: str) -> Mode:
    """A mode by its name.

    Raises:
        InputError: If there is no such mode.
    """
    try:
        return _known(text)
    except ValueError as error:
        raise InputError(str(error)) from None

"""The settings of a run. The docstrings of the fields are the help texts of the flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from flowmind.agents.turns import Budget
from flowmind.build.settings import Settings
from flowmind.cli.options import ModelOptions, SandboxOptions

M = TypeVar("M", bound=BaseModel)
MOST_AT_ONCE = 1_000


def read_concurrency(value: Any) -> Any:
    """`auto`, or a number of cases at once.

    Raises:
        ValueError: If it is neither.
    """
    text = str(value)
    if text == "auto":
        return text
    if not text.isdecimal() or not 1 <= int(text) <= MOST_AT_ONCE:
        raise ValueError(f"{text!r} is neither auto nor a number from 1 to {MOST_AT_ONCE}")
    return int(text)


class RunOptions(ModelOptions, SandboxOptions):
    """The model, the benchmark and the endpoints of a run."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    bench: Path = Path("bench")
    """folder of a built benchmark"""
    limit: int | None = Field(default=None, ge=1)
    """run at most N tasks, taken in turn from the categories"""
    pick: Literal["first", "spread"] = "first"
    """tasks that --limit takes: the first of each category, or of each kind of control flow in each category"""
    concurrency: Annotated[int | Literal["auto"], BeforeValidator(read_concurrency)] = "auto"
    """cases that run at the same time; auto adapts to the throughput"""
    execute_base_url: str | None = None
    """URL of the model's server in the execute stage"""
    summarize_base_url: str | None = None
    """URL of the model's server in the summarize stage"""
    json_mode: Literal["off", "object", "schema", "object-schema"] = "off"
    """let the server constrain replies to JSON; object-schema is the form of llama.cpp"""
    native_tools: bool = False
    """call tools through the API instead of by text"""
    timeout: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """seconds for one reply, retries included"""
    reuse: tuple[Path, ...] = ()
    """folder of another run whose recorded replies answer equal requests; may be given several times"""

    @property
    def urls(self) -> dict[str, str | None]:
        """The URL of the model's server in each stage; None for the default."""
        return {
            "execute": self.execute_base_url or self.base_url,
            "summarize": self.summarize_base_url or self.base_url,
        }

    def chosen(self) -> dict[str, Any]:
        """The settings that identify a run, without location and concurrency."""
        chosen = self.model_dump(mode="json", include={"model", "limit", "json_mode", "native_tools"})
        if self.pick == "spread":
            chosen["pick"] = self.pick
        return {**chosen, "sandbox": "monty"} if self.sandbox == "monty" else chosen


class Experiment(RunOptions, Settings):
    """All settings of one run, as flags and grid files name them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    max_turns: int = Field(default=Budget().turns, ge=1)
    """replies of the model in one stage"""
    reply_tokens: int = Field(default=Budget().reply_tokens, ge=1)
    """output tokens of one reply"""

    @property
    def run_options(self) -> RunOptions:
        """What is run and where."""
        return _part(self, RunOptions)

    @property
    def settings(self) -> Settings:
        """How tasks are solved."""
        stage = Budget(turns=self.max_turns, reply_tokens=self.reply_tokens)
        return _part(self, Settings).model_copy(update={"execute_budget": stage, "summarize_budget": stage})


BUDGETS = ("execute_budget", "summarize_budget")
"""Fields of `Settings` that an `Experiment` sets by `max_turns` and `reply_tokens`."""


def _part(experiment: Experiment, model: type[M]) -> M:
    return model(**{name: getattr(experiment, name) for name in model.model_fields})

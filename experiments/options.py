"""The settings of a run. The docstring of a field is the help text of its flag."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from experiments.picking import Pick
from experiments.shards import Shard, checked, shard_named
from flowmind.agents.turns import Budget
from flowmind.build.settings import Settings
from flowmind.cli.options import SandboxOptions
from flowmind.llm.models import Price

M = TypeVar("M", bound=BaseModel)
GOLD, NO_KNOWLEDGE = "gold", "none"
"""Values of `--knowledge` that are no folder."""
MOST_AT_ONCE = 1_000


_PLAIN: dict[str, Any] = {
    "wording": "precise", "split": "all", "shown": None, "knowledge_format": "node-edge", "similarity": "bow",
    "encoder": None,
}  # fmt: skip
"""Settings that a manifest has only if they differ from these."""
KnowledgeFormat = Literal["node-edge", "text", "python", "mermaid", "pdl", "flowbench-code", "flowbench-flowchart"]


def read_concurrency(value: Any) -> Any:
    """Reads `auto`, or the number of cases that run at the same time.

    Raises:
        ValueError: If the value is neither.
    """
    text = str(value)
    if text == "auto":
        return text
    if not text.isdecimal() or not 1 <= int(text) <= MOST_AT_ONCE:
        raise ValueError(f"{text!r} is neither auto nor a number from 1 to {MOST_AT_ONCE}")
    return int(text)


def read_urls(value: Any) -> Any:
    """Reads URLs: a list, or a text with commas in between."""
    parts = cast("list[Any] | tuple[Any, ...]", value) if isinstance(value, list | tuple) else [value]
    texts = [part.split(",") if isinstance(part, str) else [part] for part in parts if part is not None]
    return [part.strip() if isinstance(part, str) else part for text in texts for part in text]


Urls = Annotated[tuple[str, ...], BeforeValidator(read_urls)]


class RunOptions(SandboxOptions):
    """The model, the benchmark and the endpoints of a run."""

    model_config = ConfigDict(use_attribute_docstrings=True, protected_namespaces=())

    model: str = "search"
    """name of the model; `flowmind models` lists the known ones"""
    base_url: Urls = ()
    """URL of the model's server; by default OPENAI_BASE_URL. Can be repeated: each case has one of the servers"""
    bench: Path = Path("bench")
    """folder of a built benchmark"""
    wording: Literal["precise", "casual"] = "precise"
    """which text of the tasks is used, in the suite api: the precise one, or the one as a person would type it"""
    split: Literal["all", "tune", "report"] = "all"
    """which half of the suite api is run: the one for tuning, the one for reporting, or both"""
    shown: int | None = Field(default=None, ge=1)
    """show only the first N examples of each task (default all; 5 in the suite api)"""
    limit: int | None = Field(default=None, ge=1)
    """run at most N tasks; see --pick"""
    pick: Pick = "spread"
    """which tasks --limit takes: spread over categories, difficulties and control flow, or the first of a category"""
    shard: str | None = None
    """work on one part of the tasks only, K/N: the K-th of N parts, in a folder of its own; `flowmind merge` puts the
    parts together"""
    concurrency: Annotated[int | Literal["auto"], BeforeValidator(read_concurrency)] = "auto"
    """number of cases that run at the same time; auto adapts it to the throughput of the server"""
    map: Literal["auto", "local", "processes", "ray"] = "auto"
    """where cases are evaluated: in this process, in processes, or in a Ray cluster (needs the extra ray); auto takes
    processes for many cases that compute and ask no server"""
    ray_address: str | None = None
    """address of a Ray cluster, HOST:PORT or auto; by default RAY_ADDRESS, else a cluster on this machine"""
    knowledge: str = NO_KNOWLEDGE
    """workflows that the agents of react+workflow and react+chain are given: none, gold (the benchmark's own), or the
    folder of a run that has workflows of the same tasks"""
    knowledge_format: KnowledgeFormat = "node-edge"
    """how these workflows are written for the agent of react+workflow: steps in words with edges, or as `flowmind
    convert` writes them"""
    similarity: Literal["bow", "encoder"] = "bow"
    """how react+chain finds the tool of a step: by common words, or by a sentence encoder (extra worfeval)"""
    encoder: str | None = None
    """sentence encoder: a model of the Hugging Face hub, or its folder (with --similarity encoder)"""
    execute_base_url: Urls = ()
    """URL of the model's server in the execute stage; can be repeated"""
    summarize_base_url: Urls = ()
    """URL of the model's server in the summarize stage; can be repeated"""
    json_mode: Literal["off", "object", "schema", "object-schema"] = "off"
    """let the server constrain replies to JSON; object-schema is the request format of llama.cpp"""
    native_tools: bool = False
    """use the tool calls of the API instead of JSON in the reply"""
    timeout: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """most seconds that one reply may take, retries included"""
    price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """price of a million input tokens of the model in US dollars; by default its list price, where it is known"""
    price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False, validate_default=True)
    """price of a million output tokens"""
    reuse: tuple[Path, ...] = ()
    """folder of a run whose recorded replies answer equal requests; can be repeated"""

    @field_validator("shard")
    @classmethod
    def _of_a_shard(cls, shard: str | None) -> str | None:
        return checked(shard)

    @field_validator("price_out")
    @classmethod
    def _with_price_in(cls, price: float | None, info: ValidationInfo) -> float | None:
        if (price is None) != (info.data.get("price_in") is None):
            raise ValueError("set --price-in and --price-out, or neither")
        return price

    @field_validator("encoder")
    @classmethod
    def _of_the_similarity(cls, encoder: str | None, info: ValidationInfo) -> str | None:
        if encoder is not None and info.data.get("similarity") != "encoder":
            raise ValueError("it is used with --similarity encoder only")
        return encoder

    @property
    def urls(self) -> dict[str, tuple[str | None, ...]]:
        """The URLs of the model's servers in each stage; None for the default."""
        return {
            "execute": self.execute_base_url or self.base_url or (None,),
            "summarize": self.summarize_base_url or self.base_url or (None,),
        }

    @property
    def every_url(self) -> list[str | None]:
        """The URLs of all stages, each once."""
        return list(dict.fromkeys(url for urls in self.urls.values() for url in urls))

    @property
    def part(self) -> Shard | None:
        """The shard; None for the whole run."""
        return shard_named(self.shard)

    @property
    def price(self) -> Price | None:
        """The price that is set; None if none is."""
        if self.price_in is None or self.price_out is None:
            return None
        return Price(input=self.price_in, output=self.price_out)

    def chosen(self) -> dict[str, Any]:
        """The settings that a manifest has of these: no location, no concurrency."""
        chosen = self.model_dump(mode="json", include={"model", "limit", "pick", "json_mode", "native_tools"})
        chosen |= {name: getattr(self, name) for name, value in _PLAIN.items() if getattr(self, name) != value}
        if self.knowledge != NO_KNOWLEDGE:
            chosen["knowledge"] = Path(self.knowledge).resolve().name if self.knowledge != GOLD else GOLD
        return {**chosen, "sandbox": "monty"} if self.sandbox == "monty" else chosen


class Experiment(RunOptions, Settings):
    """All settings of one run, with the names that flags and grid files use."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    max_turns: int = Field(default=Budget().turns, ge=1)
    """most replies of the model in one stage"""
    reply_tokens: int = Field(default=Budget().reply_tokens, ge=1)
    """most output tokens of one reply"""

    @property
    def run_options(self) -> RunOptions:
        """The part about the model, the benchmark and the endpoints."""
        return _part(self, RunOptions)

    @property
    def settings(self) -> Settings:
        """The part about solving tasks."""
        stage = Budget(turns=self.max_turns, reply_tokens=self.reply_tokens)
        return _part(self, Settings).model_copy(update={"execute_budget": stage, "summarize_budget": stage})


BUDGETS = ("execute_budget", "summarize_budget")
"""Fields of `Settings` that are computed from `max_turns` and `reply_tokens`."""


def _part(experiment: Experiment, model: type[M]) -> M:
    """The fields of a model; those that were not set are not set in it either."""
    return model(
        **{name: getattr(experiment, name) for name in model.model_fields if name in experiment.model_fields_set}
    )

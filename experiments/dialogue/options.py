"""The settings of a run of dialogues. The docstring of a field is the help text of its flag."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from experiments.options import read_concurrency
from experiments.shards import checked
from flowmind.base.checksums import digest
from flowmind.base.errors import InputError
from flowmind.cli.options import SandboxOptions
from flowmind.dialogue.methods import METHODS, Method, method_named
from flowmind.dialogue.prompting import FORMATS

UserKind = Literal["agenda", "worded", "free"]


class DialogueOptions(SandboxOptions):
    """The agent, the users and the sessions of a run."""

    model_config = ConfigDict(use_attribute_docstrings=True, protected_namespaces=())

    data: str = "dialogues"
    """folder of a dialogue benchmark; star:DIR and sgd:DIR read recorded dialogues of STAR and SGD"""
    model: str = "follow"
    """name of the agent's model; follow and slips:R are no language models; `flowmind models` lists the known ones"""
    base_url: str | None = None
    """URL of the agent's server; by default OPENAI_BASE_URL"""
    method: str = "flowagent+"
    """how the agent is kept to the procedure: react, flowagent, flowagent-post, flowagent-post-pre or flowagent+"""
    format: str | None = None
    """format of the procedure in the prompt: none, names, text, code, flowchart, pdl or ensemble; by default the
    method's"""
    controllers: str | None = None
    """controllers instead of the method's, separated by commas: dependencies, repetition, length, path, consent,
    grounding"""
    stages: str | None = None
    """stages of the controllers instead of the method's: pre (they advise), post (they refuse), or pre,post"""
    level: Literal["session", "turn"] = "session"
    """session: whole sessions with a simulated user; turn: the next turn after the beginning of a reference session"""
    scope: Literal["single", "cross"] | None = None
    """only sessions with one goal, or only those with several (default all)"""
    oow: bool = False
    """users leave the workflow: sessions with their interventions"""
    user: UserKind = "agenda"
    """the simulated user: agenda needs no model; worded lets a model rephrase it; free is a model with a profile and
    goals"""
    user_model: str | None = Field(default=None, validate_default=True)
    """name of the model of a worded or free user"""
    user_base_url: str | None = None
    """URL of its server; by default OPENAI_BASE_URL"""
    judge: str | None = None
    """name of a model that also judges sessions or turns; success by state and facts is measured in any case"""
    judge_base_url: str | None = None
    """URL of its server; by default OPENAI_BASE_URL"""
    trials: int = Field(default=1, ge=1, le=100)
    """number of times that each session is held, for pass^k"""
    seed: int = 0
    """seed of the users' words and of failing tools; it is also passed to the models"""
    limit: int | None = Field(default=None, ge=1)
    """run at most N sessions, or N turns, spread over the scenarios"""
    shard: str | None = None
    """work on one part of the sessions or turns only, K/N: the K-th of N parts, in a folder of its own; `flowmind
    merge` puts the parts together"""
    fail_tools: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """share of tool calls that fail with the error unavailable"""
    handoff: bool = False
    """the agent may hand the user over to a person"""
    nodes: bool = False
    """ask the agent at turn level for the node of the procedure that it is at"""
    procedures: Path | None = None
    """folder of workflows, <scenario>.json, that the agent is given and kept to instead of the authors'"""
    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """sampling temperature of the models of agent and user"""
    json_mode: Literal["off", "object", "schema", "object-schema"] = "off"
    """let the server constrain replies to JSON; object-schema is the request format of llama.cpp"""
    timeout: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """most seconds that one reply may take, retries included"""
    concurrency: Annotated[int | Literal["auto"], BeforeValidator(read_concurrency)] = "auto"
    """number of sessions that are held at the same time; auto adapts it to the server, or to the cores"""
    reuse: tuple[Path, ...] = ()
    """folder of a run whose recorded replies answer equal requests; can be repeated"""

    @field_validator("shard")
    @classmethod
    def _of_a_shard(cls, shard: str | None) -> str | None:
        return checked(shard)

    @field_validator("method")
    @classmethod
    def _known_method(cls, name: str) -> str:
        if name not in METHODS:
            raise ValueError(f"{name!r} is none of {', '.join(METHODS)}")
        return name

    @field_validator("format")
    @classmethod
    def _known_format(cls, name: str | None) -> str | None:
        if name is not None and name not in FORMATS:
            raise ValueError(f"{name!r} is none of {', '.join(FORMATS)}")
        return name

    @field_validator("user_model")
    @classmethod
    def _with_user(cls, model: str | None, info: ValidationInfo) -> str | None:
        user = info.data.get("user")
        if (user == "agenda") != (model is None):
            raise ValueError(
                "an agenda user needs no model; take --user worded or --user free"
                if user == "agenda"
                else f"a {user} user needs a model"
            )
        return model

    @property
    def kept(self) -> Method:
        """The method with the chosen format, controllers and stages.

        Raises:
            InputError: If a controller or stage is unknown.
        """
        try:
            return method_named(self.method).changed(self.format or "", _names(self.controllers), _names(self.stages))
        except InputError as error:
            raise InputError(f"--{'stages' if 'stage' in str(error) else 'controllers'}: {error}") from None

    @property
    def simulator(self) -> str:
        """The name of the simulated user."""
        return f"{self.user} ({self.user_model})" if self.user_model else self.user

    def chosen(self) -> dict[str, Any]:
        """The settings that identify a run: no location, no concurrency."""
        plain = self.model_dump(
            mode="json",
            include={
                "model", "method", "level", "scope", "oow", "user", "user_model", "judge", "trials", "seed", "limit",
                "fail_tools", "handoff", "nodes", "temperature", "json_mode",
            },
        )  # fmt: skip
        kept = self.kept.model_dump(mode="json")
        return {**plain, "mode": f"dialogue-{self.level}", **kept, "procedures": self._digest()}

    def _digest(self) -> str | None:
        """The name of the folder of other procedures, and a digest of its files."""
        if self.procedures is None:
            return None
        files = sorted(self.procedures.glob("*.json"))
        whole = hashlib.sha256("".join(f"{path.name} {digest(path)}\n" for path in files).encode())
        return f"{self.procedures.resolve().name} {whole.hexdigest()[:16]}"


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())

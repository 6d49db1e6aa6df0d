"""The services that evaluate sessions and turns: models, users, controllers, tools, the oracle and the judge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from experiments.dialogue.options import DialogueOptions
from experiments.driver import at
from experiments.services import Silent
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.cli.sandboxes import Sandboxes
from flowmind.dialogue.embedded import embedded_model
from flowmind.dialogue.judging import Judge
from flowmind.dialogue.licensing import Oracle
from flowmind.dialogue.users.agenda import AgendaUser
from flowmind.dialogue.users.model_user import FreeUser, WordedUser
from flowmind.llm.fingerprints import fingerprint
from flowmind.llm.limiting import AdaptiveLimit, Limit
from flowmind.llm.models import Endpoint, find, reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import ChatModel, User
from flowmind.trace.scenario import DialogueData, Scenario, Session
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.stateful import Remembered
from tools_registry.specs.spec import ToolSpec

ROLES = ("agent", "user", "judge")
"""Who may be a model in a session."""


def is_embedded(model: str) -> bool:
    """Whether a model needs no server."""
    return find(model).kind == "embedded"


def models_of(options: DialogueOptions) -> dict[str, tuple[str, str | None]]:
    """The models of a run with their URLs, by who they are."""
    models = {
        "agent": (options.model, options.base_url),
        "user": (options.user_model, options.user_base_url),
        "judge": (options.judge, options.judge_base_url),
    }
    return {role: (model, url) for role, (model, url) in models.items() if model is not None}


class DialogueServices(Closing):
    """The services of a run. Each is opened when it is first used; services pickle, and the copy opens its own.

    Args:
        options: The settings of the run.
        data: The scenarios, sessions and tools.
        followed: The data with the workflows that the agent is given and kept to; by default the same.
        workers: The workers of the sandbox.
        silent: Whether no model is asked, as on replay.
        models: Models that replace those of the options, for tests.
    """

    def __init__(
        self,
        options: DialogueOptions,
        data: DialogueData,
        followed: DialogueData | None = None,
        workers: int = 1,
        silent: bool = False,
        models: Mapping[str, ChatModel] | None = None,
    ) -> None:
        self.options = options
        self.data = data
        self.followed = followed or data
        self.remembered = Remembered()
        self._workers = workers
        self._silent = silent
        self._given = dict(models or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return DialogueServices, (self.options, self.data, self.followed, 1, self._silent, self._given)

    @property
    def remote(self) -> bool:
        """Whether a model is asked over the network."""
        return bool(self._remote)

    @property
    def _remote(self) -> dict[str, tuple[str, str | None]]:
        models = {} if self._silent else models_of(self.options)
        return {role: place for role, place in models.items() if role not in self._given and not is_embedded(place[0])}

    @cached_property
    def limit(self) -> Limit:
        """The bound on requests, or on sessions if no model is asked over the network, at the same time."""
        concurrency = self.options.concurrency
        if isinstance(concurrency, int):
            return Limit(concurrency)
        return AdaptiveLimit() if self.remote else Limit(os.cpu_count() or 1)

    @cached_property
    def endpoints(self) -> dict[str, Endpoint]:
        """The endpoints of the models that are asked over the network.

        Raises:
            ModelUnavailable: If one cannot be reached.
        """
        reached = {place: reach(*place) for place in dict.fromkeys(self._remote.values())}
        return {role: reached[place] for role, place in self._remote.items()}

    @cached_property
    def servers(self) -> dict[str, Any]:
        """The fingerprints of the servers."""
        return {role: fingerprint(place.base_url, place.served_name) for role, place in self.endpoints.items()}

    @property
    def where(self) -> str:
        """The name of the agent's model with the addresses of the servers."""
        return at(self.options.model, (endpoint.base_url for endpoint in self.endpoints.values()))

    @cached_property
    def models(self) -> dict[str, ChatModel]:
        """The models of the run, by who they are.

        Raises:
            InputError: If one of them cannot take part in a conversation.
            ModelUnavailable: If one cannot be reached.
        """
        names = {role: name for role, (name, _) in models_of(self.options).items()}
        if self._silent:
            return {role: Silent(name) for role, name in names.items()}
        models: dict[str, ChatModel] = dict(self._given)
        clients: dict[str, ChatModel] = {}
        for role, name in names.items():
            if role in models:
                continue
            if (embedded := embedded_model(name)) is not None:
                models[role] = embedded
                continue
            place = dump_json(self.endpoints[role].model_dump(mode="json"))
            if place not in clients:
                clients[place] = self._client(self.endpoints[role])
            models[role] = clients[place]
        return models

    def _client(self, endpoint: Endpoint) -> ChatModel:
        options = self.options
        return OpenAIChat.at(
            endpoint,
            concurrency=self.limit,
            deadline=options.timeout,
            timeout=options.timeout,
            json_mode=options.json_mode,
        )

    def subject(self, role: str) -> str:
        """The settings that the replies of a model depend on, besides the requests."""
        return dump_json({"role": role, "json_mode": self.options.json_mode})

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of the tools."""
        return Sandboxes(self.options, self._workers, quiet=True)

    @cached_property
    def tools(self) -> Environment:
        """All tools, with the parameter `db`; none for recorded dialogues, which have worlds of their own."""
        return self.sandboxes.of(list(self.data.tools.values()))

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle of licensed calls."""
        return Oracle(self.data.scenarios, self.tools, self.remembered)

    @cached_property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, without the parameter `db`."""
        return self.data.specs_of([*self.data.tools, *self.data.specs])

    def judge(self, model: ChatModel) -> Judge:
        """A judge with a model."""
        return Judge(model, self.data.scenarios, self.specs, self.options.seed)

    def user(self, session: Session, scenarios: Sequence[Scenario], trial: int, model: ChatModel | None) -> User:
        """The simulated user of a session."""
        options, seed = self.options, self.options.seed + trial
        by_id = {scenario.id: scenario for scenario in scenarios}
        if options.user == "free":
            assert model is not None
            return FreeUser(session, by_id, model, options.oow, seed, options.temperature, trial)
        agenda = AgendaUser(session, by_id, seed, options.oow)
        if options.user == "agenda":
            return agenda
        assert model is not None
        return WordedUser(agenda, model, seed, options.temperature, trial)

    def open(self) -> None:
        """Opens the sandboxes, so that a missing one is reported before anything is written.

        Raises:
            InputError: If the sandbox is not available, or isolates less than the options require.
        """
        assert self.sandboxes.choice

    async def disconnect(self) -> None:
        """Closes the connections of the models; to be awaited on the event loop that used them."""
        await close_all(vars(self).get("models", {}).values())

    def close(self) -> None:
        """Stops the workers that were started."""
        if (sandboxes := vars(self).get("sandboxes")) is not None:
            sandboxes.close()


async def close_all(models: Iterable[ChatModel]) -> None:
    """Closes the connections of models, each once."""
    for model in {id(model): model for model in models}.values():
        await model.aclose()


def require_talkers(options: DialogueOptions) -> None:
    """Requires that the models of a run can take part in a conversation.

    Raises:
        InputError: If one cannot.
    """
    for role, (name, _) in models_of(options).items():
        flag = {"agent": "--model", "user": "--user-model", "judge": "--judge"}[role]
        if is_embedded(name) and (name == "search" or role != "agent"):
            raise InputError(f"{flag} {name}: it does not write text; name a model that is served")

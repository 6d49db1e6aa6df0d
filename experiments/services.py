"""The services that evaluate cases: the models, the sandboxes, and the processes for induction."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from experiments.driver import at
from experiments.options import RunOptions
from flowmind.base.errors import ModelUnavailable
from flowmind.base.files import dump_json
from flowmind.build.induction.induce import Inducer, Inducers, induce_in_thread
from flowmind.cli.sandboxes import Sandboxes
from flowmind.evaluation.encoder import sentence_encoder
from flowmind.evaluation.retrieval import Retriever
from flowmind.evaluation.worfeval import bag_of_words
from flowmind.llm.choosing import AWAITED_BUDGET, model_named
from flowmind.llm.fingerprints import fingerprint
from flowmind.llm.limiting import AdaptiveLimit, JointLimit, Limit
from flowmind.llm.models import Endpoint
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.replicas import Replicas, reach_all, require_equal
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import Thinker
from flowmind.llm.search.trials import Trials
from flowmind.protocols import ChatModel, ChatRequest, Reply
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.stateful import StatefulTrials
from tools_registry.specs.spec import ToolSource

STAGES = ("execute", "summarize")


class Silent:
    """The model of a replay. It is never asked, because the stored exchanges answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: ChatRequest) -> Reply:
        """Always fails.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable(f"{self.name}: a replay asks no model")

    async def aclose(self) -> None:
        """Does nothing; the model has no connection."""


class Services(Closing):
    """The models, the sandboxes and the processes of a run. Each is opened when it is first used.

    Services pickle: the copy opens its own, and has no processes for induction.

    Args:
        options: The model, the sandbox and the limits of the run.
        tools: All tools of the benchmark, by name.
        workers: The workers of each sandbox.
        inducers: The number of processes for induction; 0 for a thread of this process.
        silent: Whether no model is asked, as on replay.
    """

    def __init__(
        self,
        options: RunOptions,
        tools: Mapping[str, ToolSource],
        workers: int = 1,
        inducers: int = 0,
        silent: bool = False,
    ) -> None:
        self.options = options
        self.tools = tools
        self._workers = workers
        self._inducers = inducers
        self._silent = silent

    def __reduce__(self) -> tuple[Any, ...]:
        return Services, (self.options, dict(self.tools), 1, 0, self._silent)

    @property
    def subject(self) -> str:
        """The settings that the replies of the models depend on, besides the requests."""
        return dump_json({"json_mode": self.options.json_mode, "native_tools": self.options.native_tools})

    @cached_property
    def limit(self) -> Limit:
        """The bound on requests, or on cases if the model is embedded, at the same time."""
        concurrency = self.options.concurrency
        if isinstance(concurrency, int):
            return Limit(concurrency)
        if not self.remote:
            return Limit(2 * (os.cpu_count() or 1))
        own = [AdaptiveLimit() for _ in self.options.every_url]
        return own[0] if len(own) == 1 else JointLimit(own)

    @property
    def remote(self) -> bool:
        """Whether the model is asked over the network."""
        return self.options.model != "search" and not self._silent

    @cached_property
    def endpoints(self) -> dict[str, tuple[Endpoint, ...]]:
        """The endpoints of each stage; empty if the model is not asked over the network.

        Raises:
            ModelUnavailable: If one cannot be reached; of several servers of a stage, if none can be reached.
        """
        if not self.remote:
            return {}
        urls = self.options.urls
        reached = {chosen: tuple(reach_all(self.options.model, chosen)) for chosen in dict.fromkeys(urls.values())}
        return {stage: reached[chosen] for stage, chosen in urls.items()}

    @property
    def _places(self) -> dict[str, Endpoint]:
        """All endpoints by their URLs."""
        return {endpoint.base_url: endpoint for stage in self.endpoints.values() for endpoint in stage}

    @property
    def where(self) -> str:
        """The name of the model with the addresses of its servers."""
        return at(self.options.model, self._places)

    @cached_property
    def servers(self) -> dict[str, Any]:
        """The fingerprint of the server of each stage; of several servers, those of all as `replicas`.

        Raises:
            InputError: If servers of one stage have different models or versions.
        """
        known = {url: fingerprint(url, endpoint.served_name) for url, endpoint in self._places.items()}
        stages: dict[str, Any] = {}
        for stage, endpoints in self.endpoints.items():
            own = {endpoint.base_url: known[endpoint.base_url] for endpoint in endpoints}
            require_equal(own)
            stages[stage] = {"replicas": list(own.values())} if len(own) > 1 else known[endpoints[0].base_url]
        return stages

    @cached_property
    def models(self) -> dict[str, ChatModel | Replicas]:
        """The model of each stage.

        Raises:
            ModelUnavailable: If one cannot be reached.
        """
        if self._silent:
            return dict.fromkeys(STAGES, Silent(self.options.model))
        if not self.remote:
            return dict.fromkeys(STAGES, model_named("search", self.sandboxes.thinking(list(self.tools.values()))))
        limits = itertools.cycle(self.limit.limits if isinstance(self.limit, JointLimit) else [self.limit])
        clients = {url: self._client(place, next(limits)) for url, place in self._places.items()}
        shared: dict[tuple[str, ...], Replicas] = {}
        models: dict[str, ChatModel | Replicas] = {}
        for stage, places in self.endpoints.items():
            urls = tuple(dict.fromkeys(place.base_url for place in places))
            if len(urls) == 1:
                models[stage] = clients[urls[0]]
            else:
                models[stage] = shared.setdefault(urls, Replicas({url: clients[url] for url in urls}))
        return models

    def models_of(self, case: str, states: Sequence[Any] | None = None) -> dict[str, ChatModel]:
        """The model of each stage for a case; if the tools have a state, `search` tries a call in these states.

        Raises:
            ModelUnavailable: If one cannot be reached.
        """
        if states is not None and not self._silent and not self.remote:
            inner = self.sandboxes.thinking(list(self.tools.values()))
            return dict.fromkeys(STAGES, SearchModel(Thinker(Trials(StatefulTrials(inner, states)), AWAITED_BUDGET)))
        models = self.models.items()
        return {stage: model.of(case) if isinstance(model, Replicas) else model for stage, model in models}

    def _client(self, endpoint: Endpoint, limit: Limit) -> OpenAIChat:
        options = self.options
        return OpenAIChat.at(
            endpoint,
            concurrency=limit,
            deadline=options.timeout,
            timeout=options.timeout,
            json_mode=options.json_mode,
            native_tools=options.native_tools,
        )

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of the tools."""
        return Sandboxes(self.options, self._workers, quiet=True)

    @cached_property
    def inducer(self) -> Inducer:
        """Runs induction."""
        return self._processes.induce if self._inducers else induce_in_thread

    @cached_property
    def _processes(self) -> Inducers:
        return Inducers(self._inducers)

    @cached_property
    def retriever(self) -> Retriever:
        """Finds the tool of a step of a workflow.

        Raises:
            InputError: If the sentence encoder cannot be loaded.
        """
        encoder = self.options.similarity == "encoder"
        return Retriever(sentence_encoder(self.options.encoder) if encoder else bag_of_words)

    def open(self) -> None:
        """Opens the sandboxes and the sentence encoder, so that a missing one is reported before anything is written.

        Raises:
            InputError: If one is not available, or the sandbox isolates less than the options require.
        """
        assert self.sandboxes.choice
        assert self.retriever

    async def disconnect(self) -> None:
        """Closes the connections of the models; to be awaited on the event loop that used them."""
        for model in {id(model): model for model in self._opened("models", {}).values()}.values():
            await model.aclose()

    def close(self) -> None:
        """Stops the processes and the workers that were started."""
        for name in ("_processes", "sandboxes"):
            if (service := self._opened(name, None)) is not None:
                service.close()

    def _opened(self, name: str, default: Any) -> Any:
        """The value of a lazy property that was used; else the default."""
        return vars(self).get(name, default)

"""Several servers of one model: each case has its server, and another one while that does not serve."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowmind.base.errors import InputError, ModelUnavailable, ServerFailed
from flowmind.llm.models import Endpoint, NoAnswer, reach, shown_url
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import ChatRequest, Reply

LOG = logging.getLogger(__name__)
REST = (5.0, 300.0)
"""Seconds for which a server that failed gets no requests: at first, and at most. They double with each failure."""
ATTEMPTS = 3
"""Attempts of a request at a server while another one can take it."""
_IDENTITY = (
    "served_name", "model", "max_model_len", "server_version", "revision", "thinking", "chat_template_sha256",
)  # fmt: skip
"""Fields of a fingerprint that all servers of a model have in common, if they report them."""


def order_of(case: str, urls: Sequence[str]) -> list[str]:
    """The servers in the order in which a case asks them.

    This is rendezvous hashing (D. G. Thaler and C. V. Ravishankar, "Using name-based mappings to increase hit rates",
    1998): servers have equal shares of the cases, and of n servers a new one takes over only a share of 1/n.
    """
    return sorted(urls, key=lambda url: hashlib.sha256(f"{case}\n{url}".encode()).digest())


def reach_all(name: str, urls: Sequence[str | None]) -> list[Endpoint]:
    """Finds the servers of a model. If some do not answer now, a line on the log says so, and they are asked later.

    Raises:
        ModelUnavailable: If none answers, or one refuses the key or has other models.
    """
    reached: dict[str | None, Endpoint] = {}
    missing: dict[str, NoAnswer] = {}
    for url in dict.fromkeys(urls):
        try:
            reached[url] = reach(name, url)
        except NoAnswer as error:
            if url is None or len(urls) < 2:
                raise
            missing[url] = error
    if not reached:
        raise ModelUnavailable(f"{next(iter(missing.values()))}; nor does any of {len(missing)} servers answer")
    known = next(iter(reached.values()))
    for url, error in missing.items():
        LOG.warning("%s; the other servers work on its cases", error)
        reached[url] = known.model_copy(update={"base_url": url.rstrip("/")})
    return [reached[url] for url in dict.fromkeys(urls)]


def require_equal(fingerprints: Mapping[str, Mapping[str, Any]]) -> None:
    """Requires that servers have the same model and version, as far as they report them.

    Args:
        fingerprints: The fingerprints by the URLs of the servers.

    Raises:
        InputError: If two differ; with both values.
    """
    for name in _IDENTITY:
        values = {url: one[name] for url, one in fingerprints.items() if one.get(name) is not None}
        first = next(iter(values), "")
        for url, value in values.items():
            if value != values[first]:
                raise InputError(
                    f"--base-url: {shown_url(first)} has {name} {values[first]!r}, {shown_url(url)} has {value!r}; "
                    "give servers of one model and version"
                )


class _Server:
    """A server, and how it has served."""

    def __init__(self, chat: OpenAIChat) -> None:
        self.chat = chat
        self.failures = 0
        """The number of times that it failed since it served last."""
        self.rests_until = -math.inf


class Replicas:
    """The servers of a model.

    A request goes to the server that `order_of` puts first for its case, so that the cache of prefixes there is used.
    If three attempts fail there, the request goes to the next server. The first one then rests: requests of other cases
    go past it. After 5 seconds, then 10, 20 and so on up to 5 minutes, one request tries it again, and if it answers,
    its cases return to it. A request fails only if no server answers; at the last one it has as many attempts as with a
    single server.

    Args:
        chats: The clients of the servers by their URLs.
        clock: Monotonic seconds.
    """

    def __init__(self, chats: Mapping[str, OpenAIChat], clock: Callable[[], float] = time.monotonic) -> None:
        self._servers = {url: _Server(chat) for url, chat in chats.items()}
        self._clock = clock
        self.name = next(iter(chats.values())).name

    def of(self, case: str) -> Replica:
        """The model for the requests of a case."""
        return Replica(self, case)

    async def complete(self, case: str, request: ChatRequest) -> Reply:
        """Answers a request of a case.

        Raises:
            ModelFailure: If the request is invalid, or no server answered it.
            ModelUnavailable: If no server serves the model any more.
        """
        waiting = order_of(case, list(self._servers))
        while True:
            now = self._clock()
            url = next((url for url in waiting if self._servers[url].rests_until <= now), waiting[0])
            waiting.remove(url)
            server, again = self._servers[url], self._servers[url].failures > 0
            if again:  # one request tries it; meanwhile the others do not wait for it
                self._rest(server)
            attempts = (1 if again else ATTEMPTS) if waiting else None
            try:
                reply = await server.chat.complete(request, attempts)
            except (ServerFailed, ModelUnavailable) as error:
                rests = self._rest(server)
                if not waiting:
                    raise
                if rests:
                    wait = f"it rests for {rests:.0f} s, and others take its cases"
                    LOG.warning("%s: %s does not serve (%s); %s", self.name, shown_url(url), error, wait)
            else:
                if server.failures:
                    LOG.warning("%s: %s serves again", self.name, shown_url(url))
                server.failures, server.rests_until = 0, -math.inf
                return reply

    def _rest(self, server: _Server) -> float:
        """Lets a server rest, unless it rests already; returns the seconds."""
        now = self._clock()
        if server.rests_until > now:
            return 0.0
        rests = min(REST[0] * 2**server.failures, REST[1])
        server.failures += 1
        server.rests_until = now + rests
        return rests

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        for server in self._servers.values():
            await server.chat.aclose()


class Replica:
    """The model that one case asks: a `ChatModel`."""

    def __init__(self, replicas: Replicas, case: str) -> None:
        self.name = replicas.name
        self._replicas = replicas
        self._case = case

    async def complete(self, request: ChatRequest) -> Reply:
        """As `Replicas.complete`."""
        return await self._replicas.complete(self._case, request)

    async def aclose(self) -> None:
        """Closes the connections of all servers."""
        await self._replicas.aclose()

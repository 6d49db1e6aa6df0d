"""The cost of the model client: 64 concurrent episodes over HTTP, against a server that answers immediately."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast

from experiments.bench.measuring import Bench, Contender, Goal, Sample, loop
from experiments.bench.server import REPLY, instant_server
from flowmind.agents.react import ReActAgent
from flowmind.agents.replies import read_action
from flowmind.agents.turns import Budget
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import Brief, ChatRequest, Message
from tools_registry.sandbox.functions import FunctionEnvironment

EPISODES = 64
TURNS = 10
SYSTEM = "You work with tools, one call a turn, and answer each time with one JSON object. " * 20
TASK = "Double the number, again and again, until you are told that it is enough. " * 5
OBSERVATION = "Observation: 42"
OURS, REACT, AIOHTTP, HTTPX, OPENAI = (
    "FlowMind, OpenAIChat.complete", "FlowMind, whole ReAct episodes", "raw loop, aiohttp", "raw loop, httpx",
    "raw loop, openai",
)  # fmt: skip

Episode = Callable[[], Coroutine[Any, Any, int]]
"""Runs one episode and returns its number of turns."""
Serve = Callable[[str], AbstractAsyncContextManager[Episode]]
"""Connects a client to the server at a URL."""


def double(n: int) -> int:
    """Doubles a number.

    Args:
        n: The number.
    """
    return 2 * n


@asynccontextmanager
async def _ours(url: str) -> AsyncGenerator[Episode]:
    chat = OpenAIChat("m", url, "key", concurrency=EPISODES, attempts=1)

    async def episode() -> int:
        messages = [Message(role="system", content=SYSTEM), Message(role="user", content=TASK)]
        for _ in range(TURNS):
            reply = await chat.complete(ChatRequest(messages=tuple(messages), reply="action", max_tokens=1_024))
            action, _ = read_action(reply.text)
            assert action.call.args == {"n": 21}
            messages.append(Message(role="assistant", content=reply.text))
            messages.append(Message(role="user", content=OBSERVATION))
        return TURNS

    yield episode
    await chat.aclose()


@asynccontextmanager
async def _react(url: str) -> AsyncGenerator[Episode]:
    chat = OpenAIChat("m", url, "key", concurrency=EPISODES, attempts=1)
    agent = ReActAgent(chat, Budget(turns=TURNS, repeats=TURNS + 1))
    sandbox = FunctionEnvironment([double])

    async def episode() -> int:
        trace = await agent.execute(Brief(stage="execute", task=TASK), sandbox)
        assert trace.stop == "turns", trace.error
        return len(trace.turns)

    yield episode
    await chat.aclose()


def _talk(ask: Callable[[list[dict[str, str]]], Coroutine[Any, Any, str]]) -> Episode:
    """An episode without FlowMind: ask, read the action, answer with an observation."""

    async def episode() -> int:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
        for _ in range(TURNS):
            text = await ask(messages)
            assert json.loads(text)["action_input"] == {"n": 21}
            messages.append({"role": "assistant", "content": text})
            messages.append({"role": "user", "content": OBSERVATION})
        return TURNS

    return episode


def _body(messages: list[dict[str, str]]) -> dict[str, Any]:
    return {"model": "m", "messages": messages, "max_tokens": 1_024, "temperature": 0.0}


@asynccontextmanager
async def _aiohttp(url: str) -> AsyncGenerator[Episode]:
    import aiohttp

    headers = {"Authorization": "Bearer key"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=EPISODES)) as session:

        async def ask(messages: list[dict[str, str]]) -> str:
            async with session.post(f"{url}/chat/completions", json=_body(messages)) as response:
                return (await response.json())["choices"][0]["message"]["content"]

        yield _talk(ask)


@asynccontextmanager
async def _httpx(url: str) -> AsyncGenerator[Episode]:
    import httpx

    limits = httpx.Limits(max_connections=EPISODES, max_keepalive_connections=EPISODES)
    async with httpx.AsyncClient(headers={"Authorization": "Bearer key"}, limits=limits) as client:

        async def ask(messages: list[dict[str, str]]) -> str:
            response = await client.post(f"{url}/chat/completions", json=_body(messages))
            return response.json()["choices"][0]["message"]["content"]

        yield _talk(ask)


@asynccontextmanager
async def _openai(url: str) -> AsyncGenerator[Episode]:
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="key", max_retries=0) as client:

        async def ask(messages: list[dict[str, str]]) -> str:
            create = cast(Any, client.chat.completions.create)
            completion = await create(**_body(messages))
            return completion.choices[0].message.content

        yield _talk(ask)


@contextmanager
def over_http(serve: Serve, episodes: int) -> Generator[Sample]:
    """Samples concurrent episodes; the server and the connections exist before."""

    async def all_at_once(episode: Episode) -> None:
        turns = await asyncio.gather(*(episode() for _ in range(episodes)))
        assert turns == [TURNS] * episodes

    with instant_server() as url, asyncio.Runner() as runner:
        client = serve(url)
        episode = runner.run(client.__aenter__())

        def sample(times: int) -> float:
            begun = time.perf_counter()
            for _ in range(times):
                runner.run(all_at_once(episode))
            return time.perf_counter() - begun

        try:
            yield sample
        finally:
            runner.run(client.__aexit__(None, None, None))


def _repaired(text: str) -> Any:
    import json_repair

    return json_repair.loads(text, skip_json_loads=True)


def benches(episodes: int = EPISODES) -> tuple[Bench, ...]:
    """Turns over HTTP, and the reading of a reply."""
    clients = tuple(
        Contender(name, partial(over_http, serve, episodes), needs)
        for name, serve, needs in (
            (OURS, _ours, ()),
            (REACT, _react, ("langgraph",)),
            (AIOHTTP, _aiohttp, ("aiohttp",)),
            (HTTPX, _httpx, ("httpx",)),
            (OPENAI, _openai, ("openai",)),
        )
    )
    readers = (
        Contender("json.loads", partial(loop, partial(json.loads, REPLY), lambda value: value["action"] == "double")),
        Contender(
            "FlowMind, read_action", partial(loop, partial(read_action, REPLY), lambda action: action[1] == "clean")
        ),
        Contender(
            "json_repair, always", partial(loop, partial(_repaired, REPLY), lambda value: value["action"] == "double")
        ),
    )
    title = f"Turns of {episodes} episodes at once over HTTP, 10 turns each, against an instant server"
    goals = (Goal(OURS, OPENAI, "faster", 4.0), Goal(REACT, OPENAI, "faster", 1.0))
    return (
        Bench("turns", title, "per second", "turns", clients, goals, episodes * TURNS, rounds=7, least=0.3),
        Bench("replies", "Reading a clean reply", "µs", "a reply", readers),
    )

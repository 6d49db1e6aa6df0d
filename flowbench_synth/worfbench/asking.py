"""Steps and edges that a model writes (Qiao et al., sections 2.2 and A.7, with our own prompts)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from flowbench_synth.worfbench.cases import TracedCase
from flowbench_synth.worfbench.chains import Chain, in_words
from flowmind.agents.prompts import read_conversation
from flowmind.base.errors import ModelFailure, ModelUnavailable
from flowmind.base.files import dump_json
from flowmind.formats.node_edge import parse
from flowmind.formats.notation import shortened
from flowmind.llm.recorded import Exchanges, exchange_file, keep_exchange
from flowmind.protocols import ChatModel, ChatRequest, Message
from flowmind.trace.events import Called

EXCHANGES = "exchanges.jsonl"
"""The requests and replies of a build, in its folder."""
_PROMPTS = Path(__file__).parents[1] / "prompts"
_ATTEMPTS = 3
_IN_A_ROW = 5
"""Requests without a reply, one after the other, that end the work."""
_LAST_RESULT, _EARLIER_RESULT = 1_500, 300
_MOST_SENTENCE = 400
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_LEAD = re.compile(r"^(?:node|subtask|step)?\s*\d*\s*[:.)]\s*", re.IGNORECASE)
_PAIR = re.compile(r"\(\s*(?:START|\d+)\s*,\s*(?:END|\d+)\s*\)", re.IGNORECASE)


class Unusable(Exception):
    """The model's replies are of no use for a case; the message is the reason."""


class ChainWriter:
    """A model that writes steps and edges. Requests that the folder's exchanges answer are not sent again.

    Args:
        model: The model.
        folder: The folder of the build.
        seed: The seed that is passed to the model.
        at_once: The number of cases at the same time.
    """

    def __init__(self, model: ChatModel, folder: Path, seed: int, at_once: int) -> None:
        path = folder / EXCHANGES
        stored = exchange_file(path)
        exchanges = Exchanges(stored, emit=lambda line: keep_exchange(path, line), name=str(path))
        self._model = exchanges.of(model)
        self._seed = seed
        self._gate = asyncio.Semaphore(at_once)
        self._failures: list[str] = []
        """The messages of the latest requests, as far as all of them failed."""

    async def steps(self, case: TracedCase, done: Callable[[], None]) -> tuple[str, ...] | Unusable | ModelFailure:
        """A sentence for each call of a case, or why there is none."""
        async with self._gate:
            try:
                return tuple([await self._step(case, number) for number in range(1, len(case.trace.calls) + 1)])
            except (Unusable, ModelFailure) as error:
                return error
            finally:
                done()

    async def chain(
        self, case: TracedCase, steps: Sequence[str], done: Callable[[], None]
    ) -> Chain | Unusable | ModelFailure:
        """The steps of a case with their edges, or why there are none."""
        listed = "\n".join(f"{number}: {step}" for number, step in enumerate(steps, 1))
        asked = f"Task:\n{case.task}\n\nNode:\n{listed}\n\nWrite the edges of these {len(steps)} steps."
        async with self._gate:
            try:
                reply = await self._ask(_prompt("worfbench_edges"), asked)
                edges = " ".join(_PAIR.findall(reply))
                try:
                    graph = parse(f"Node:\n{listed}\nEdge: {edges}")
                except ValueError as error:
                    return Unusable(f"the edges cannot be read: {re.sub(r'^line [0-9]+: ', '', str(error))}")
                return Chain(tuple(steps), tuple(sorted(graph.edges)), {})
            except ModelFailure as error:
                return error
            finally:
                done()

    async def aclose(self) -> None:
        """Closes the connections of the model."""
        await self._model.aclose()

    async def _step(self, case: TracedCase, number: int) -> str:
        """The sentence for a call.

        Raises:
            Unusable: If no attempt gives a sentence without the name of a tool.
        """
        calls = case.trace.calls[:number]
        told = "\n\n".join(_told(place, call, place == number) for place, call in enumerate(calls, 1))
        question = f"Task:\n{case.task}\n\n{told}\n\nWrite the subtask of call {number}."
        asked: list[str] = [question]
        problem = ""
        for _ in range(_ATTEMPTS):
            reply = await self._ask(_prompt("worfbench_node"), *asked)
            sentence = _sentence(reply)
            problem = _problem(sentence, case.tools)
            if not problem:
                return sentence
            asked += [sentence or "…", f"This {problem}. Write the subtask of call {number} as one sentence."]
        raise Unusable(f"the sentence of a call {problem}")

    async def _ask(self, prompt: Sequence[Message], *turns: str) -> str:
        """The reply to a conversation whose last turns are given, beginning with the user's.

        Raises:
            ModelFailure: If the endpoint fails.
            ModelUnavailable: If it failed several times in a row.
        """
        if len(self._failures) >= _IN_A_ROW:
            raise ModelUnavailable(
                f"{self._model.name}: {_IN_A_ROW} requests in a row were not answered, the last one: "
                f"{self._failures[-1]}; what was answered is kept, and the same command goes on"
            )
        roles = ("user", "assistant")
        said = [Message.model_validate({"role": roles[place % 2], "content": text}) for place, text in enumerate(turns)]
        request = ChatRequest(messages=(*prompt, *said), max_tokens=1024, temperature=0.0, seed=self._seed)
        try:
            reply = await self._model.complete(request)
        except ModelFailure as error:
            self._failures.append(str(error))
            raise
        self._failures.clear()
        return _THOUGHT.sub("", reply.text).strip()


def _told(number: int, event: Called, is_last: bool) -> str:
    """A call for the prompt."""
    result = shortened(dump_json(event.observation.value), _LAST_RESULT if is_last else _EARLIER_RESULT)
    thought = f"Thought: {' '.join(event.reasoning.split())}\n" if event.reasoning.strip() else ""
    action = f"Action: {event.call.tool} {dump_json(event.call.args)}"
    return f"Call {number}\n{thought}{action}\nObservation: {result}"


def _sentence(reply: str) -> str:
    line = next((line.strip() for line in reply.splitlines() if line.strip()), "")
    return _LEAD.sub("", line).strip().strip("\"'`").strip()


def _problem(sentence: str, tools: Sequence[str]) -> str:
    """Why a reply is no sentence for a call; empty if it is one."""
    if not sentence:
        return "is empty"
    if len(sentence) > _MOST_SENTENCE:
        return f"is longer than {_MOST_SENTENCE} characters"
    named = [
        tool for tool in tools if in_words(tool) != tool and re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", sentence)
    ]
    return f"names the function {named[0]}" if named else ""


@cache
def _prompt(name: str) -> tuple[Message, ...]:
    return read_conversation((_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip())

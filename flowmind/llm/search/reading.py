"""Reads a conversation as `search` sees it: the task, its examples, what was called, the traces to summarize."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from flowmind.protocols import Message


@dataclass(frozen=True)
class Exchange:
    """An action of the assistant and the observation that answered it."""

    tool: str
    args: dict[str, Any]
    ok: bool
    value: Any


@dataclass(frozen=True)
class Reading:
    """What a conversation says."""

    opening: str
    """The message with the task."""
    text: str
    """The task's own words, without tools and examples."""
    examples: tuple[tuple[dict[str, Any], Any], ...]
    """The inputs with their answers."""
    working: dict[str, Any] | None
    """The input to work on."""
    trace: tuple[Exchange, ...]
    """The calls of the first trace that ended well, if there is one and all its arguments are shown whole."""
    traced: dict[str, Any] | None
    """The input of that trace."""
    answer: Any
    """The answer of that trace."""
    exchanges: tuple[Exchange, ...]
    """The episode so far."""
    phase: tuple[int, int] | None
    """The step of the plan to be done now, and how many there are."""


def read(messages: Sequence[Message]) -> Reading:
    """Reads the last task of a conversation and the episode after it."""
    last = max(
        index for index, message in enumerate(messages) if message.role == "user" and "Task:\n" in message.content
    )
    opening, _, planned = messages[last].content.partition("\n\nPlan:\n")
    query, heading, rest = opening.split("Task:\n", 1)[1].rpartition("\n\nInputs:")
    episode = messages[last + 1 :]
    prompted = "\n".join([planned, *(message.content for message in episode)])
    phases = re.findall(r"Now do step (\d+) of (\d+)", prompted)
    return Reading(
        opening=opening,
        text=query + heading + re.split(r"\n\n(?:Examples:|Work on this input:|Trace 1)", rest)[0],
        examples=_examples(rest.split("\n\nTrace 1")[0]),
        working=_after(rest, "Work on this input: "),
        trace=_trace(rest),
        traced=_after(_finished_trace(rest), "Input: "),
        answer=_answer(rest),
        exchanges=_exchanges(episode),
        phase=(int(phases[-1][0]), int(phases[-1][1])) if phases else None,
    )


def _examples(text: str) -> tuple[tuple[dict[str, Any], Any], ...]:
    found: list[tuple[dict[str, Any], Any]] = []
    for given, wanted in re.findall(r"^Input: (\{.*\})\nOutput: (.*)$", text, flags=re.MULTILINE):
        found.append((json.loads(given), json.loads(wanted)))
    return tuple(found)


def _after(text: str, label: str) -> dict[str, Any] | None:
    match = re.search(rf"^{re.escape(label)}(\{{.*\}})$", text, flags=re.MULTILINE)
    return cast(dict[str, Any], json.loads(match[1])) if match else None


def _finished_trace(text: str) -> str:
    """The text of the first trace that finished."""
    parts = re.split(r"^Trace \d+ ", text, flags=re.MULTILINE)[1:]
    return next((part for part in parts if part.startswith("(finished")), "")


def _trace(text: str) -> tuple[Exchange, ...]:
    calls: list[Exchange] = []
    for line in _finished_trace(text).splitlines():
        if match := re.match(r"\d+\. (\w+)\((\{.*)$", line):
            try:
                args, end = json.JSONDecoder().raw_decode(match[2])
            except ValueError:
                return ()
            rest = match[2][end:]
            if rest.startswith(") -> ") and not rest.startswith(") -> error"):
                calls.append(Exchange(match[1], args, True, _json(rest.removeprefix(") -> "))))
    return tuple(calls)


def _answer(text: str) -> Any:
    match = re.search(r"^Answer: (.*)$", _finished_trace(text), flags=re.MULTILINE)
    return _json(match[1]) if match else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _exchanges(messages: Sequence[Message]) -> tuple[Exchange, ...]:
    found: list[Exchange] = []
    for said, answered in pairwise(messages):
        if said.role != "assistant" or not answered.content.startswith("Observation: "):
            continue
        action = json.loads(said.content)
        text = answered.content.removeprefix("Observation: ").split("\n\nNow do step ")[0]
        ok = not text.startswith("error")
        found.append(Exchange(action["action"], action["action_input"], ok, _json(text) if ok else text))
    return tuple(found)

"""Reads a conversation as `search` sees it: the task, its examples, what was called, the traces to summarize."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from flowmind.protocols import Message

_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "once": 1, "twice": 2, "half": 0.5, "third": 3, "dozen": 12,
    "last": -1, "final": -1,
}  # fmt: skip
_SIGNS = {
    "comma": ",", "commas": ",", "hyphen": "-", "hyphens": "-", "dash": "-", "dashes": "-", "space": " ",
    "spaces": " ", "semicolon": ";", "semicolons": ";", "colon": ":", "slash": "/", "underscore": "_",
    "period": ".", "dot": ".", "dots": ".", "asterisk": "*", "asterisks": "*", "pipe": "|", "hash": "#",
    "zero": "0", "zeros": "0",
}  # fmt: skip
_USUAL: tuple[Any, ...] = (0, 1, 2, 10, 100, "", " ", ", ", ",", "-")


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
        text = answered.content.removeprefix("Observation: ")
        ok = not text.startswith("error")
        found.append(Exchange(action["action"], action["action_input"], ok, _json(text) if ok else text))
    return tuple(found)


_QUOTED = re.compile(r"'([^'\n]{0,40})'|\"([^\"\n]{0,40})\"|“([^”\n]{0,40})”")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")


def named(text: str) -> list[Any]:
    """The numbers and quoted texts of a task's own words, in their order, each once."""
    found: dict[str, Any] = {}
    for match in _QUOTED.finditer(text):
        value = next(part for part in match.groups() if part is not None)
        found.setdefault(repr(value), value)
    for match in _NUMBER.finditer(_QUOTED.sub(" ", text)):
        number = match[0].replace(",", "")
        value = float(number) if "." in number else int(number)
        found.setdefault(repr(value), value)
    return list(found.values())


def constants(reading: Reading) -> list[tuple[Any, float]]:
    """The values that the task's text names, each with a cost: plain ones cheap, usual ones dear."""
    text = reading.text
    found: dict[str, tuple[Any, float]] = {}

    def add(value: Any, cost: float) -> None:
        found.setdefault(repr(value), (value, cost))

    plain = named(text)
    for value in plain:
        add(value, 0.05)
    for match in re.finditer(r"(\d+(?:\.\d+)?)\s*(?:%|percent)", text):
        add(float(match[1]) / 100, 0.1)
    words = re.findall(r"[A-Za-z]+", text.lower())
    for word in words:
        if word in _WORDS:
            add(_WORDS[word], 0.1)
        if word in _SIGNS:
            add(_SIGNS[word], 0.1)
    for name in _field_names(reading):
        add(name, 0.05 if name.lower() in words else 0.2)
    for value in _lists(named(text.split("\n\nInputs:")[0])):
        add(value, 0.15)
    for value in _USUAL:
        add(value, 0.4)
    return list(found.values())


def _lists(plain: Sequence[Any]) -> list[list[Any]]:
    """Lists that a task may mean: its quoted texts, and its numbers in runs of two to four, also in order."""
    texts = [value for value in plain if isinstance(value, str)]
    numbers = [value for value in plain if not isinstance(value, str)][:8]
    found: list[list[Any]] = [texts] if len(texts) > 1 else []
    for length in (2, 3, 4):
        for start in range(len(numbers) - length + 1):
            run = numbers[start : start + length]
            found += [run] if run == sorted(run) else [run, sorted(run)]
    return found


def _field_names(reading: Reading) -> list[str]:
    """The keys of the objects in the inputs."""
    names: dict[str, None] = {}

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            for key, part in cast(dict[str, Any], value).items():
                names[key] = None
                visit(part)
        elif isinstance(value, list):
            for part in cast(list[Any], value)[:3]:
                visit(part)

    cases = [given for given, _ in reading.examples] + ([reading.working] if reading.working else [])
    for case in cases:
        for part in case.values():
            visit(part)
    return list(names)[:12]


def relevance(text: str, documents: dict[str, str]) -> dict[str, float]:
    """For each tool the share of its documentation's words that the task's text contains, rare words first.

    The sums are exact, because sets have another order in every process.
    """
    words = set(map(_stem, re.findall(r"[a-z]+", text.lower())))
    stems = {name: set(map(_stem, re.findall(r"[a-z]+", doc.lower()))) for name, doc in documents.items()}
    spread: dict[str, int] = {}
    for parts in stems.values():
        for part in parts:
            spread[part] = spread.get(part, 0) + 1
    return {
        name: math.fsum(1 / spread[part] for part in parts & words)
        / max(1e-9, math.fsum(1 / spread[part] for part in parts))
        for name, parts in stems.items()
    }


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word

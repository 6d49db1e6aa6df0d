"""A request of a dialogue read back: the knowledge of the procedures, the day, and what was said and called so far.

The layout of the prompt is that of `flowmind.dialogue.prompting`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple, cast

from flowmind.agents.replies import Unreadable, read_action
from flowmind.dialogue.session import RESPOND
from flowmind.protocols import ChatRequest, Message
from flowmind.trace.events import Called, Event, Refused, Said
from tools_registry.specs.spec import Observation, ToolCall

_OBSERVATION = "Observation: "
_ERROR = "Observation: error: "
_USER = "\n\nUser: "
_BLOCK = re.compile(r"^Procedure: ([^\n]+)\n((?:```\w+\n.*?\n```\n?)+)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"```(\w+)\n(.*?)\n```", re.DOTALL)
_TIME = re.compile(r"^Time: (\d{4})-(\d{2})-(\d{2})", re.MULTILINE)


class Knowledge(NamedTuple):
    """What a prompt tells about one procedure."""

    title: str
    texts: tuple[tuple[str, str], ...]
    """Formats and texts."""


class Conversation(NamedTuple):
    """What a request says."""

    knowledge: tuple[Knowledge, ...]
    today: date | None
    events: tuple[Event, ...]
    """What the user and the agent said, calls, and refusals, in order."""


def read_request(request: ChatRequest) -> Conversation:
    """Reads the messages of a request."""
    messages = request.messages
    begin = max((k for k, message in enumerate(messages) if _opens(message)), default=0)
    briefing, _, first = messages[begin].content.rpartition(_USER)
    first = _without_advice(first)
    events: list[Event] = [Said(role="user", text=first)] if first else []
    for said, heard in zip(messages[begin + 1 :: 2], messages[begin + 2 :: 2], strict=False):
        events += _exchange(said.content, heard.content)
    knowledge = tuple(
        Knowledge(match[1].strip(), tuple((form, text) for form, text in _FENCE.findall(match[2])))
        for match in _BLOCK.finditer(briefing)
    )
    day = _TIME.search(briefing)
    return Conversation(knowledge, date(int(day[1]), int(day[2]), int(day[3])) if day else None, tuple(events))


def _opens(message: Message) -> bool:
    """Whether a message is the task of a dialogue."""
    return message.role == "user" and _USER in message.content and not message.content.startswith(_OBSERVATION)


def _without_advice(text: str) -> str:
    return text.partition("\n\nAdvice: ")[0].strip()


def _exchange(said: str, heard: str) -> Iterable[Event]:
    """The events of a reply of the agent and the message that answers it."""
    try:
        call = read_action(said, says=True)[0].call
    except Unreadable:
        return
    if heard.startswith(_ERROR):
        yield Refused(call=call, by="controllers", reason=_without_advice(heard.removeprefix(_ERROR)))
        return
    if not heard.startswith(_OBSERVATION):
        yield Called(call=call, observation=Observation.failed("error", _without_advice(heard)))
        return
    value = _value(heard.removeprefix(_OBSERVATION))
    if call.tool != RESPOND:
        yield Called(call=call, observation=Observation(value=value))
        return
    yield Said(role="agent", text=str(call.args.get("text", "")), answer=str(call.args.get("answer") or ""))
    reply = cast("dict[str, Any]", value).get("user") if isinstance(value, dict) else value
    yield Said(role="user", text=str(reply or ""))


def _value(text: str) -> Any:
    """The JSON value that a text begins with; the text if it begins with none."""
    try:
        return json.JSONDecoder().raw_decode(text.lstrip())[0]
    except ValueError:
        return _without_advice(text)


def action_in(text: str) -> ToolCall | None:
    """The action that a text, such as the reason of a refusal, contains as JSON."""
    for match in re.finditer(r"\{", text):
        try:
            value = json.JSONDecoder().raw_decode(text, match.start())[0]
        except ValueError:
            continue
        try:
            return read_action(json.dumps(value))[0].call
        except Unreadable:
            continue
    return None

"""Whether a user was told the values of a write and has replied. It reads texts, not the acts of a simulated user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from flowmind.dialogue.procedures.mentions import mentioned, rivalled, tokens
from flowmind.dialogue.procedures.procedure import Procedure
from flowmind.trace.events import Called, Event, Refused, Said
from flowmind.workflow.document import Var
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

Consent = Literal["untold", "waiting", "replied", "agreed", "denied"]
"""`untold`: a value was not told. `waiting`: the user has not spoken since. `replied`: the user's words since then show
neither agreement nor denial. `agreed` and `denied`: the last words that show one of them."""
_YES = frozenset(("yes", "yeah", "yep", "sure", "ok", "okay", "fine", "correct", "right", "agreed", "ahead", "proceed"))
_NO = frozenset(("no", "nope", "not", "never", "stop", "cancel", "wait"))
_HARMLESS = re.compile(r"\bno (?:problem|problems|objection|objections|worries)\b|\bwhy not\b|\bnot mind\b")
_SENTENCE_END = re.compile(r"[.!?;](?:\s|$)")
_FIRST_WORDS = 12


def to_tell(procedures: Iterable[Procedure], call: ToolCall) -> dict[str, Any]:
    """The arguments of a write that the user must be told: those that come from slots, all if that is not known."""
    nodes = [(procedure, node) for procedure in procedures for node in procedure.nodes.get(call.tool, ())]
    if not nodes:
        return dict(call.args)
    slots = {
        name
        for procedure, node in nodes
        for name, binding in node.args.items()
        if isinstance(binding, Var) and not binding.path and binding.var in procedure.slots
    }
    return {name: value for name, value in call.args.items() if name in slots}


def untold(call: ToolCall, values: Mapping[str, Any], events: Sequence[Event], spec: ToolSpec | None) -> dict[str, Any]:
    """The values that the agent has not told since they changed and since the tool last succeeded."""
    others = {name: _others(name, value, events, spec) for name, value in values.items()}
    since = events[_last(call.tool, events) :]
    return {name: value for name, value in values.items() if _told(value, others[name], since) is None}


def consent(call: ToolCall, values: Mapping[str, Any], events: Sequence[Event], spec: ToolSpec | None) -> Consent:
    """How far the agreement to a write is, by the texts since its tool last succeeded."""
    since = events[_last(call.tool, events) :]
    told = [_told(value, _others(name, value, events, spec), since) for name, value in values.items()]
    if None in told:
        return "untold"
    spoken = (place for place, event in enumerate(since) if isinstance(event, Said) and event.role == "agent")
    last = max((place for place in told if place is not None), default=next(spoken, None))
    if last is None:
        return "untold"
    replies = [event.text for event in since[last:] if isinstance(event, Said) and event.role == "user"]
    if not replies:
        return "waiting"
    for text in reversed(replies):
        if (sign := _sign(text)) != "replied":
            return sign
    return "replied"


def made_before(call: ToolCall, events: Sequence[Event]) -> bool:
    """Whether the session has this call already, in any case of letters and with any blanks around its texts."""
    made = [event.call for event in events if isinstance(event, Called) and event.observation.ok]
    return any(other.tool == call.tool and _folded(other.args) == _folded(call.args) for other in made)


def _folded(args: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value).strip().casefold() for name, value in args.items() if value is not None}


def _sign(text: str) -> Consent:
    """Whether a reply agrees or denies, by its words; English only. Other replies say neither.

    The first sentence with such a word decides; in a sentence, a word that denies outweighs one that agrees.
    """
    plain = _HARMLESS.sub(" yes ", text.casefold().replace("’", "'").replace("n't", " not"))
    left = _FIRST_WORDS
    for sentence in _SENTENCE_END.split(plain):
        words = tokens(sentence)[:left]
        left -= len(words)
        if not _NO.isdisjoint(words):
            return "denied"
        if not _YES.isdisjoint(words):
            return "agreed"
    return "replied"


def _last(tool: str, events: Sequence[Event]) -> int:
    """The place after the last successful call of a tool."""
    places = [
        place
        for place, event in enumerate(events)
        if isinstance(event, Called) and event.call.tool == tool and event.observation.ok
    ]
    return places[-1] + 1 if places else 0


def _told(value: Any, others: Sequence[Any], events: Sequence[Event]) -> int | None:
    """The place of the text of the agent that first told a value since it last changed; None if there is none.

    A value changes when the agent tells another one for the same parameter, or the user says another one.
    """
    told: int | None = None
    for place, event in enumerate(events):
        if not isinstance(event, Said) or event.role == "system":
            continue
        if mentioned(value, event.text):
            told = place if told is None and event.role == "agent" else told
        elif any(mentioned(other, event.text) for other in others) or (
            event.role == "user" and rivalled(value, event.text)
        ):
            told = None
    return told


def _others(name: str, value: Any, events: Sequence[Event], spec: ToolSpec | None) -> list[Any]:
    """Other values of a parameter: those in the session's calls, and those that its schema allows."""
    field: dict[str, Any] = spec.parameters.get("properties", {}).get(name, {}) if spec is not None else {}
    used = [
        event.call.args[name] for event in events if isinstance(event, Called | Refused) and name in event.call.args
    ]
    others = [other for other in (*used, *field.get("enum", [])) if isinstance(other, str | int | float)]
    return [other for other in others if other != "" and not isinstance(other, bool) and not json_equal(other, value)]

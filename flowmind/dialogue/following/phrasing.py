"""What `follow` says: questions, proposals, results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.trace.scenario import OUTCOME

PROPOSAL = "Shall I go ahead?"
MORE = "Is there anything else that I can do for you?"
_CONSENT = re.compile(
    r"(?:shall|should|may|can|could) i (?:now )?"
    r"(?:go ahead|proceed|confirm|do|book|send|submit|place|make|register|cancel|order|carry)|"
    r"go ahead\?|do you (?:agree|confirm|want me to)|would you like me to|"
    r"is (?:that|this|everything|it all) (?:right|correct|ok|fine)",
    re.IGNORECASE,
)
_MOST_ITEMS = 12
_MOST_FIELDS = 4


def label_of(name: str) -> str:
    """A name in words: `free_times` gives `free times`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).strip().lower()


def shown(value: Any) -> str:
    """A value as a user reads it: lists with commas, booleans as yes and no."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(shown(item) for item in cast("list[Any]", value)) or "none"
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return " / ".join(f"{label_of(key)} {shown(item)}" for key, item in fields.items()) or "none"
    return dump_json(value)


def asks_consent(text: str) -> bool:
    """Whether a text asks for consent."""
    return bool(_CONSENT.search(text))


def question(name: str, description: str, schema: Mapping[str, Any]) -> str:
    """A question for a slot."""
    noun = re.sub(r"^(?:the|a|an)\s+", "", description)
    if noun.startswith(("one of", "such as")):
        noun = f"{label_of(name)} ({noun})"
    if noun.startswith(("whether", "if ")):
        return f"Could you tell me {noun}?"
    choices = [str(value) for value in schema.get("enum", ()) if value is not None]
    if choices and not all(choice.casefold() in noun.casefold() for choice in choices):
        return f"What is the {noun}: {listed(choices)}?"
    return f"What is {noun}?" if noun.startswith("your ") else f"What is the {noun}?"


def listed(words: Sequence[str]) -> str:
    """Alternatives: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def told(facts: Mapping[str, Any]) -> str:
    """Facts as `label: value` sentences; of an answer that is one object, its fields."""
    whole = facts.get("answer") if len(facts) == 1 else None
    if isinstance(whole, dict):
        fields = cast("dict[str, Any]", whole)
        facts = {name: value for name, value in fields.items() if name != OUTCOME}
    return " ".join(f"{label_of(name).capitalize()}: {shown(value)}." for name, value in facts.items())


def proposal(what: str, values: Mapping[str, Any]) -> str:
    """The values of a write, and a question whether to make it."""
    rows = told({name: value for name, value in values.items() if value is not None})
    return " ".join(part for part in (f"I would do this for you: {what}.", rows, PROPOSAL) if part)


def findings(value: Any, said: str) -> dict[str, Any]:
    """The fields of a result that a user may want to know: texts, numbers and short lists that were not said yet."""
    if not isinstance(value, dict):
        return {}
    fields = cast("dict[str, Any]", value)
    worth = {name: part for name, part in fields.items() if _worth(part) and shown(part).lower() not in said.lower()}
    return dict(list(worth.items())[:_MOST_FIELDS])


def _worth(part: Any) -> bool:
    if isinstance(part, list):
        items = cast("list[Any]", part)
        return 0 < len(items) <= _MOST_ITEMS and all(isinstance(item, str | int | float) for item in items)
    if isinstance(part, str):
        return re.fullmatch(r"[a-z_]*", part) is None  # a state such as `not_found` is for programs
    return isinstance(part, int | float) and not isinstance(part, bool)

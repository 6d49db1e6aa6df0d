"""What controllers tell an agent: the actions that are possible now, as the JSON of a reply, in at most 60 words.

Values come from the calls and results of the session only. Equal sessions get equal texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flowmind.dialogue.procedures.consent import Consent, consent, to_tell
from flowmind.dialogue.procedures.due import Due, State, Walk
from flowmind.dialogue.procedures.grounding import Sources
from flowmind.dialogue.procedures.procedure import RESPOND, Procedure
from flowmind.trace.events import Event
from flowmind.trace.scenario import CONFIRMED
from tools_registry.specs.spec import ToolCall, ToolSpec

MOST_WORDS = 60
"""The most words of a text for the agent."""
_SHORT = 40


@dataclass(frozen=True)
class Setting:
    """What controllers know from the start."""

    procedures: tuple[Procedure, ...]
    specs: Mapping[str, ToolSpec]
    knowledge: str
    max_turns: int
    names: tuple[str, ...] = ()
    """The names of all controllers of the session."""

    @cached_property
    def writes(self) -> frozenset[str]:
        """The tools that change the state."""
        marked = {name for name, spec in self.specs.items() if spec.effect == "write"}
        return frozenset(marked.union(*(procedure.writes for procedure in self.procedures)))

    @cached_property
    def given(self) -> str:
        """The knowledge and the documentation of the tools."""
        return "\n".join((self.knowledge, *(spec.document() for spec in self.specs.values())))

    def having(self, tool: str) -> list[Procedure]:
        """The procedures that have a tool."""
        return [procedure for procedure in self.procedures if tool in procedure.apis]


def action(tool: str, args: Mapping[str, Any]) -> str:
    """An action in the form of a reply."""
    return json.dumps({"action": tool, "action_input": dict(args)}, ensure_ascii=False)


def saying(text: str, answer: str = "") -> str:
    """The action that says a text."""
    return action(RESPOND, {"text": text, "answer": answer} if answer else {"text": text})


def proposal(values: Mapping[str, Any]) -> str:
    """The action that tells values and asks for consent."""
    told = ", ".join(f"{_label(name)}: {_shown(value)}" for name, value in values.items() if value is not None)
    return saying(f"{told}. Shall I go ahead?" if told else "Shall I go ahead?")


def fitted(head: str, items: Sequence[str], most: int = MOST_WORDS) -> str:
    """A sentence of a head and as many items as fit; empty if none fits."""
    kept: list[str] = []
    for item in items:
        if item not in kept and len(f"{head} {'; '.join((*kept, item))}".split()) <= most:
            kept.append(item)
    return f"{head} {'; '.join(kept)}." if kept else ""


def possible(setting: Setting, events: Sequence[Event], procedure: Procedure, walked: Walk) -> list[str]:
    """The actions that a walk allows now, in words around the JSON of a reply.

    A write that the user has not been asked about is replaced by the question. Once the user has agreed or denied, only
    that arm is left.
    """
    writing = any(state.writes for _, state in walked.steps)
    signs = [
        _consent(setting, events, step)
        for step, state in walked.steps
        if step.tool in setting.writes and dict(state.assumed).get(CONFIRMED)
    ]
    sign = "agreed" if writing else signs[0] if signs else "replied"
    items: list[str] = []
    sources = Sources(setting.given, events)
    for found, state in walked.steps:
        step = _with_given_values(setting, sources, found)
        given = dict(state.assumed).get(CONFIRMED)
        if (given is False and sign != "denied" and sign != "replied") or (given and sign == "denied"):
            continue
        asking = step.tool in setting.writes and _consent(setting, events, step) in ("untold", "waiting")
        item = _proposing(setting, step) if asking else _item(procedure, step)
        items.append(f"{_conditions(state, settled=asking or sign != 'replied')}{item}")
    return items


def _with_given_values(setting: Setting, sources: Sources, step: Due) -> Due:
    """A step without the values that only the agent has named: the user is asked for them."""
    spec = setting.specs.get(step.tool)
    given = {name: value for name, value in step.args.items() if sources.gives(value, spec, name)}
    lacking = [name for name in step.args if name not in given]
    return step.model_copy(update={"args": given, "missing": tuple(dict.fromkeys((*lacking, *step.missing)))})


def _consent(setting: Setting, events: Sequence[Event], step: Due) -> Consent:
    call = ToolCall(tool=step.tool, args=step.args)
    if step.missing:
        return "untold"
    return consent(call, to_tell(setting.procedures, call), events, setting.specs.get(step.tool))


def _proposing(setting: Setting, step: Due) -> str:
    if step.missing:
        needed = ", ".join(map(_label, step.missing))
        return f"{action(step.tool, step.args)} with {needed} from the user, after the user agreed to all values"
    return proposal(to_tell(setting.procedures, ToolCall(tool=step.tool, args=step.args)))


def _item(procedure: Procedure, step: Due) -> str:
    match step.kind:
        case "call" if step.missing:
            return f"{action(step.tool, step.args)} with {', '.join(map(_label, step.missing))} from the user"
        case "call":
            return action(step.tool, step.args)
        case "ask":
            return saying(question(procedure, step.missing))
        case "answer":
            facts = "; ".join(f"{_label(name)}: {_shown(value)}" for name, value in step.facts.items())
            if len(facts.split()) > _SHORT:
                return f"the answer {step.answer!r}, telling {', '.join(map(_label, step.facts))}"
            return saying(facts or _label(step.answer), step.answer)


def question(procedure: Procedure, slots: Sequence[str]) -> str:
    """A question for slots, in the words of the procedure."""
    if tuple(slots) == (CONFIRMED,):
        return "Shall I go ahead?"
    return f"What is the {' and the '.join(_described(procedure, slot) for slot in slots)}?"


def _described(procedure: Procedure, slot: str) -> str:
    if procedure.workflow is not None:
        field = procedure.workflow.inputs.get("properties", {}).get(slot, {})
        return str(field.get("description") or _label(slot))
    return _label(slot)


def _conditions(state: State, settled: bool) -> str:
    words = [_condition(expr, value) for expr, value in state.assumed if not (settled and expr.strip() == CONFIRMED)]
    return f"{' and '.join(words)}: " if words else ""


def _condition(expr: str, value: bool) -> str:
    if expr.strip() == CONFIRMED:
        return "if the user agreed" if value else "if the user did not agree"
    return f"if {expr}" if value else f"if not ({expr})"


def _label(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return json.dumps(value, ensure_ascii=False)

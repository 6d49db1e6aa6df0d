"""Dialogues as executions of a task: the slots as inputs, the business calls, and what was told as the answer.

An induced workflow then is the procedure that the dialogues followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from flowmind.dialogue.session import FREE_ANSWERS, HANDOFF, RESPOND
from flowmind.trace.events import Called, Said, Trace
from flowmind.trace.scenario import CONFIRMED, OUTCOME
from flowmind.trace.telling import tells
from flowmind.workflow.graph_tools import FINISH
from tools_registry.specs.schema import JSONSchema, json_equal, type_name
from tools_registry.specs.spec import ToolSpec

_OWN = (RESPOND, FINISH, HANDOFF)
_KEPT = ("type", "enum", "description")
"""The parts of a parameter's schema that its slot takes over."""
_REFUSALS = ("no", "not", "nope", "don't", "never", "stop", "cancel", "rather", "leave", "forget")


class Executions(NamedTuple):
    """Dialogues as executions of one task."""

    traces: list[Trace]
    inputs: JSONSchema
    """JSON Schema of the slots."""
    notes: list[str]
    """What was left out or assumed, in words."""


def as_execution(trace: Trace, slots: Mapping[str, Any], same: Mapping[tuple[str, str], str] | None = None) -> Trace:
    """A dialogue as the execution of a task.

    Only calls that agree with the slots count: a call with a value that the user changed later is left out. The answer
    has the `outcome` and the facts that the agent told after the last of these calls.

    Args:
        trace: The dialogue.
        slots: The values of the slots, by name.
        same: For a tool and its parameter, the slot that it takes; by default the one with the parameter's name.
    """
    calls = [event for event in business_calls(trace) if _agrees(event, slots, same or {})]
    bare = tuple(event.model_copy(update={"node": None, "verdicts": {}, "reasoning": ""}) for event in calls)
    return Trace(inputs=dict(slots), events=bare, stop="finish", answer=_answer(trace, calls, slots))


def business_calls(trace: Trace) -> list[Called]:
    """The successful calls of business tools."""
    return [event for event in trace.calls if event.observation.ok and event.call.tool not in _OWN]


def _agrees(event: Called, slots: Mapping[str, Any], same: Mapping[tuple[str, str], str]) -> bool:
    tool = event.call.tool
    pairs = [(same.get((tool, name), name), value) for name, value in event.call.args.items()]
    return all(slot not in slots or json_equal(slots[slot], value) for slot, value in pairs)


def _answer(trace: Trace, calls: Sequence[Called], slots: Mapping[str, Any]) -> dict[str, Any]:
    begin = max((place for place, event in enumerate(trace.events) if any(event is call for call in calls)), default=0)
    said = [event for event in trace.events[begin:] if isinstance(event, Said) and event.role == "agent"]
    facts = dict(_facts(calls, [event.text for event in said], slots))
    named = [event.answer for event in said if event.answer and event.answer not in FREE_ANSWERS]
    made = "_".join(["told", *facts]) if facts else f"after_{calls[-1].call.tool}" if calls else "nothing_done"
    return {OUTCOME: named[-1] if named else made, **facts}


def _facts(calls: Sequence[Called], texts: Sequence[str], slots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of results that texts tell and that are no slots; of equal names the latest."""
    for call in calls:
        value: Any = call.observation.value
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {call.call.tool: value}
        for name, field in fields.items():
            if field is None or isinstance(field, bool) or field in ([], {}, ""):
                continue
            if not any(json_equal(field, slot) for slot in slots.values()) and any(
                tells(text, field) for text in texts
            ):
                yield name, field


# Slots that nobody named


class Use(NamedTuple):
    """A parameter's value in a dialogue."""

    tool: str
    name: str
    value: Any
    said: bool
    """Whether the user said it."""


def executions_of(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> Executions:
    """Recorded dialogues as executions, with slots that are inferred from their calls.

    A parameter is a slot if a text of the user has its value, or if no earlier result has it and it differs between
    dialogues. Parameters with the same name are one slot unless they have different values in one dialogue. If a
    tool that is marked `write` was called, `confirmed` is a slot: true where it was called, and false
    where the user refused a proposal. A dialogue without a proposal becomes two executions, because it goes the same
    way with either value. For the same reason a slot that the dialogue did not reach has a value of another dialogue.

    Args:
        traces: Dialogues about one kind of request.
        specs: The tools.
    """
    uses = [list(uses_of(trace)) for trace in traces]
    names = slot_names(uses)
    writes = {call.call.tool for trace in traces for call in business_calls(trace) if _writes(call, specs)}
    values = [values_of(given, names) for given in uses]
    slots = list(dict.fromkeys(slot for given in values for slot in given))
    made: list[Trace] = []
    for place, (trace, given) in enumerate(zip(traces, values, strict=True)):
        whole = _filled(place, trace, values, slots, names)
        told = [value for value in given.values() if value is not None]
        for consent in _consents(trace, writes, told) if writes else ():
            made.append(as_execution(trace, {**whole, CONFIRMED: consent}, names))
        if not writes:
            made.append(as_execution(trace, whole, names))
    notes = [f"slots inferred from the calls: {', '.join(slots) or 'none'}"]
    if len(made) > len(traces):
        both = len(made) - len(traces)
        notes.append(f"{both} conversations propose nothing; each counts twice, with consent and without it")
    first = [as_execution(trace, given, names) for trace, given in zip(traces, values, strict=True)]
    outcomes = Counter(execution.answer[OUTCOME] for execution in first)
    notes.append("answers seen: " + ", ".join(f"{outcome} ({count})" for outcome, count in outcomes.most_common()))
    notes += list(_never_seen(first))
    return Executions(made, schema_of([execution.inputs for execution in made], specs, names), notes)


def _filled(
    place: int, trace: Trace, values: Sequence[Mapping[str, Any]], slots: Sequence[str], names: Mapping[Any, str]
) -> dict[str, Any]:
    """The slots of a dialogue: None if a call left one out, a value of another dialogue if no call could take it."""
    called = {call.call.tool for call in business_calls(trace)}
    open_slots = {slot for (tool, _), slot in names.items() if tool in called}
    found: dict[str, Any] = {}
    for slot in slots:
        others = [given[slot] for given in values if slot in given]
        reached = slot in values[place] or slot in open_slots
        found[slot] = values[place].get(slot) if reached else others[place % len(others)]
    return found


def _never_seen(executions: Sequence[Trace]) -> Iterator[str]:
    """Notes on yes-or-no results that were the same in all dialogues: what follows otherwise was never seen."""
    seen: dict[tuple[str, str], set[bool]] = {}
    for call in (call for execution in executions for call in execution.calls):
        value: Any = call.observation.value
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {"": value}
        for name, field in fields.items():
            if isinstance(field, bool):
                seen.setdefault((call.call.tool, name), set()).add(field)
    for (tool, name), values in seen.items():
        if len(values) == 1:
            place = f"{tool}.{name}" if name else tool
            yield f"never seen: what follows if {place} is {str(not values.pop()).lower()}"


def _writes(call: Called, specs: Mapping[str, ToolSpec]) -> bool:
    spec = specs.get(call.call.tool)
    return spec is not None and spec.effect == "write"


def uses_of(trace: Trace) -> Iterator[Use]:
    """The arguments that the user gave, or that no earlier result has."""
    texts: list[str] = []
    results: list[Any] = []
    for event in trace.events:
        if isinstance(event, Said) and event.role == "user":
            texts.append(event.text)
        elif isinstance(event, Called) and event.observation.ok and event.call.tool not in _OWN:
            for name, value in event.call.args.items():
                is_said = value is not None and any(tells(text, value) for text in texts)
                if is_said or not any(json_equal(value, leaf) for leaf in _leaves(results)):
                    yield Use(event.call.tool, name, value, is_said)
            results.append(event.observation.value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for part in cast("dict[str, Any]", value).values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _leaves(part)
    else:
        yield value


def slot_names(uses: Sequence[Sequence[Use]]) -> dict[tuple[str, str], str]:
    """The slot of each tool's parameter; one that no user said, and that never changes, is a constant and has none."""
    given: dict[tuple[str, str], list[Use]] = {}
    for of_trace in uses:
        for use in of_trace:
            given.setdefault((use.tool, use.name), []).append(use)
    varied = [key for key, each in given.items() if any(use.said or use.value != each[0].value for use in each)]
    clashing = {name for of_trace in uses for name in _clashes(of_trace)}
    return {(tool, name): f"{tool}_{name}" if name in clashing else name for tool, name in varied}


def _clashes(uses: Iterable[Use]) -> Iterator[str]:
    """The names of parameters to which two tools were given different values at last."""
    last = {(use.name, use.tool): use.value for use in uses}
    for (name, tool), value in last.items():
        if any(other == name and at != tool and not json_equal(value, theirs) for (other, at), theirs in last.items()):
            yield name


def values_of(uses: Sequence[Use], names: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The last value of each slot."""
    return {names[use.tool, use.name]: use.value for use in uses if (use.tool, use.name) in names}


def _consents(trace: Trace, writes: set[str], values: Sequence[Any]) -> tuple[bool, ...]:
    """The values of `confirmed` with which the dialogue goes as it did: both if nothing was proposed.

    A proposal is a question that tells most of the values that the user gave.
    """
    if any(call.call.tool in writes for call in business_calls(trace)):
        return (True,)
    texts = [event for event in trace.events if isinstance(event, Said)]
    for question, answer in pairwise(texts):
        if question.role == "agent" and "?" in question.text and answer.role == "user":
            if any(act.kind == "deny" for act in answer.acts):
                return (False,)
            words = answer.text.casefold().replace("’", "'").split()
            told = [value for value in values if tells(question.text, value)]
            if 2 * len(told) > len(values) and any(word.strip(",.!") in _REFUSALS for word in words[:3]):
                return (False,)
    return (True, False)


def schema_of(
    cases: Sequence[Mapping[str, Any]], specs: Mapping[str, ToolSpec], names: Mapping[tuple[str, str], str]
) -> JSONSchema:
    """JSON Schema of inputs; parameters with one of these names describe them."""
    known: dict[str, JSONSchema] = {}
    for (tool, parameter), slot in names.items():
        fields: dict[str, Any] = specs[tool].parameters.get("properties", {}) if tool in specs else {}
        known.setdefault(slot, {key: part for key, part in fields.get(parameter, {}).items() if key in _KEPT})
    properties: dict[str, JSONSchema] = {}
    for slot in cases[0] if cases else ():
        kinds = sorted({type_name(case[slot]) for case in cases})
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        schema = dict(known.get(slot, {}))
        if "enum" in schema and not all(case[slot] in (None, *schema["enum"]) for case in cases):
            del schema["enum"]
        if "enum" in schema and "null" in kinds:
            schema["enum"] = [*schema["enum"], None]
        if text := schema.get("description", "").rstrip("."):
            schema["description"] = text
        properties[slot] = {**schema, "type": kinds[0] if len(kinds) == 1 else kinds}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

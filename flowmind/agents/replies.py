"""Reads a model's reply, in stages: strict JSON, then the first valid object in mixed text, then repair.

What none of them can read is answered with a corrective prompt, by the agent. Each stage is counted.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, cast

import json_repair

from flowmind.base.files import bracket_depth, parse_json
from tools_registry.specs.spec import ToolCall
from tools_registry.specs.values import MAX_DEPTH, CaseError, clean

MAX_REPLY = 100_000
MAX_REPAIRED = 20_000
"""Repair goes over a text many times: what is longer, or nested deeper, is not repaired."""
How = Literal["clean", "recovered"]


class Action(NamedTuple):
    """A reply that asks for a tool."""

    call: ToolCall
    reasoning: str


class Plan(NamedTuple):
    """A reply that lays out steps."""

    analysis: str
    steps: tuple[str, ...]


class Unreadable(ValueError):
    """A reply holds no usable object; the message says what was missing."""


def read_action(text: str) -> tuple[Action, How]:
    """The action of a reply: `{"reasoning": …, "action": NAME, "action_input": {…}}`.

    Also understood, and counted as recovered: `{"name": …, "arguments": …}`, an action's input as a JSON string,
    and its fields beside `action` instead of in `action_input`.

    Raises:
        Unreadable: If no stage finds an action.
    """
    return _read(text, _as_action)


def read_plan(text: str) -> tuple[Plan, How]:
    """The plan of a reply: `{"analysis": …, "steps": [text, …]}`.

    Raises:
        Unreadable: If no stage finds a plan.
    """
    return _read(text, _as_plan)


def read_object(text: str, *fields: str) -> dict[str, Any]:
    """The first object of a reply that has all these fields.

    Raises:
        Unreadable: If no stage finds one.
    """
    return _read(text, lambda value: (value, True) if value.keys() >= set(fields) else None)[0]


def _read(text: str, accept: Callable[[dict[str, Any]], tuple[Any, bool] | None]) -> tuple[Any, How]:
    if len(text) > MAX_REPLY:
        raise Unreadable(f"the reply has {len(text)} characters, at most {MAX_REPLY} are read")
    try:
        whole = parse_json(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and (found := accept(cast(dict[str, Any], whole))):
        value, exact = found
        return value, "clean" if exact else "recovered"
    if isinstance(whole, str):  # the object as a JSON text: unpacked once
        text = whole
    bare = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL)
    bare = bare.rpartition("</think>")[2]  # some chat templates open the thoughts in the prompt
    for candidate in _candidates(bare):
        try:
            held = clean(candidate)
        except CaseError:  # a set, a key that is no text, half of a surrogate pair: no JSON, whatever else it is
            continue
        if found := accept(held):
            return found[0], "recovered"
    raise Unreadable("no JSON object of the asked form was found")


def _candidates(text: str) -> Iterator[dict[str, Any]]:
    """Objects in mixed text: as JSON at each brace, then as Python literals, then repaired."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at = text.find("{")
    starts: list[int] = []
    while at >= 0 and len(starts) < 50:
        starts.append(at)
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            yield cast(dict[str, Any], value)
        at = text.find("{", end)
    if not starts:
        return
    piece = text[starts[0] : text.rfind("}") + 1]
    try:
        value = ast.literal_eval(piece)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = None
    if isinstance(value, dict):
        yield cast(dict[str, Any], value)
    rest = text[starts[0] :]
    if len(rest) > MAX_REPAIRED or bracket_depth(rest) > MAX_DEPTH:
        return
    try:
        repaired = json_repair.loads(rest)
    except (ValueError, RecursionError):
        return
    if isinstance(repaired, dict):
        yield repaired
    if isinstance(repaired, list):
        yield from (cast(dict[str, Any], part) for part in repaired if isinstance(part, dict))


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _as_action(value: dict[str, Any]) -> tuple[Action, bool] | None:
    """The action in an object, and whether it has the asked form exactly."""
    name = value.get("action") or value.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    key = next((key for key in ("action_input", "arguments", "args", "input") if key in value), None)
    given: Any = value[key] if key else None
    exact = key == "action_input" and isinstance(given, dict) and "action" in value
    if isinstance(given, str):
        try:
            given = parse_json(given)
        except ValueError:
            return None
    if given is None:
        named = "action" if value.get("action") else "name"
        given = {field: part for field, part in value.items() if field not in (named, key, "reasoning", "thought")}
    try:
        given = clean(given)
    except CaseError:
        return None
    if not isinstance(given, dict):
        return None
    reasoning = value.get("reasoning", value.get("thought", ""))
    call = ToolCall(tool=name.strip(), args=cast(dict[str, Any], given))
    return Action(call, reasoning if isinstance(reasoning, str) else json.dumps(reasoning)), exact


def _as_plan(value: dict[str, Any]) -> tuple[Plan, bool] | None:
    steps = value.get("steps", value.get("plan"))
    if not isinstance(steps, list) or not steps:
        return None
    texts = [_step_text(step) for step in cast(list[Any], steps)]
    exact = "steps" in value and all(isinstance(step, str) for step in cast(list[Any], steps))
    return Plan(str(value.get("analysis") or ""), tuple(texts)), exact


def _step_text(step: Any) -> str:
    if isinstance(step, dict):
        fields = cast(dict[str, Any], step)
        for key in ("step", "description", "action", "task"):
            if isinstance(fields.get(key), str):
                return fields[key]
    return step if isinstance(step, str) else json.dumps(step, ensure_ascii=False)

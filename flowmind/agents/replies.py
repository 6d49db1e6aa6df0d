"""Reads a model's reply in stages: strict JSON, then the first valid object in other text, then repair.

The agent answers an unreadable reply with a corrective prompt. Traces record the stage that read each reply.
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
"""Longer texts are not repaired, because repair reads a text many times."""
How = Literal["clean", "recovered"]


class Action(NamedTuple):
    """A reply that asks for a tool."""

    call: ToolCall
    reasoning: str


class Plan(NamedTuple):
    """A reply that is a plan."""

    analysis: str
    steps: tuple[str, ...]


class Unreadable(ValueError):
    """The reply has no usable object. The message has the reason."""


def read_action(text: str, says: bool = False) -> tuple[Action, How]:
    """The action of a reply, `{"reasoning": …, "action": NAME, "action_input": {…}}`, and how it was read.

    These forms are read as well, as `recovered`: `{"name": …, "arguments": …}`, an action input as a JSON string, the
    fields of the input beside `action`, and the lines `Thought: …`, `Action: NAME`, `Action Input: {…}` of FlowBench
    and FlowAgent.

    Args:
        text: The reply.
        says: Whether the agent talks to a user. Then `Response: …` is also read, as a call of `respond`.

    Raises:
        Unreadable: If there is no action.
    """
    plain = _without_thinking(text[:MAX_REPLY])
    labelled = _labelled_call(plain)
    if labelled is not None:
        return labelled, "recovered"
    try:
        return _read(text, _as_action)
    except Unreadable:
        response = _labelled_response(plain) if says else None
        if response is None:
            raise
        return response, "recovered"


_THOUGHT = re.compile(
    r"^[ \t*]*Thought[ \t*]*:[ \t*]*(.*?)(?=^[ \t*]*(?:Action|Response)\b|\Z)", re.MULTILINE | re.DOTALL
)
_CALL = re.compile(
    r"^[ \t*]*Action[ \t*]*:[ \t*]*`?([\w.-]+)`?(?:\(\))?[ \t*]*$\s*^[ \t*]*Action[ _]Input[ \t*]*:(.*)",
    re.MULTILINE | re.DOTALL,
)
_RESPONSE = re.compile(
    r"^[ \t*]*Response[ \t*]*:[ \t*]*(.+?)\s*(?=^[ \t*]*(?:Thought|Action|Observation|User)[ \t*]*:|\Z)",
    re.MULTILINE | re.DOTALL,
)


def _labelled_call(text: str) -> Action | None:
    """The call in lines `Action: NAME` and `Action Input: {…}`."""
    match = _CALL.search(text)
    args = next(_candidates(match[2]), None) if match else None
    try:
        return (
            None if match is None or args is None else Action(ToolCall(tool=match[1], args=clean(args)), _thought(text))
        )
    except CaseError:
        return None


def _labelled_response(text: str) -> Action | None:
    """The text after `Response:` as a call of `respond`."""
    match = _RESPONSE.search(text)
    said = match[1].strip().strip("`").strip() if match else ""
    return Action(ToolCall(tool="respond", args={"text": said}), _thought(text)) if said else None


def _thought(text: str) -> str:
    match = _THOUGHT.search(text)
    return match[1].strip() if match else ""


def read_plan(text: str) -> tuple[Plan, How]:
    """The plan of a reply, `{"analysis": …, "steps": [text, …]}`, and how it was read.

    Raises:
        Unreadable: If there is no plan.
    """
    return _read(text, _as_plan)


def read_text(text: str) -> tuple[str, How]:
    """A reply in plain text, without the thinking of a reasoning model."""
    return _without_thinking(text[:MAX_REPLY]).strip(), "clean"


def read_object(text: str, *fields: str) -> dict[str, Any]:
    """The first object of a reply that has all these fields.

    Raises:
        Unreadable: If there is none.
    """
    return _read(text, lambda value: (value, True) if value.keys() >= set(fields) else None)[0]


def _read(text: str, accept: Callable[[dict[str, Any]], tuple[Any, bool] | None]) -> tuple[Any, How]:
    if len(text) > MAX_REPLY:
        raise Unreadable(f"the reply has {len(text)} characters, at most {MAX_REPLY} are read")
    try:
        whole = parse_json(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and (accepted := accept(cast(dict[str, Any], whole))):
        value, exact = accepted
        return value, "clean" if exact else "recovered"
    if isinstance(whole, str):  # a JSON string that contains the object
        text = whole
    for candidate in _candidates(_without_thinking(text)):
        try:
            value = clean(candidate)
        except CaseError:  # not JSON: a set, a key that is no string, a lone surrogate
            continue
        if accepted := accept(value):
            return accepted[0], "recovered"
    raise Unreadable("no JSON object of the asked form was found")


def _without_thinking(text: str) -> str:
    bare = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL)
    return bare.rpartition("</think>")[2]  # some chat templates open the thinking in the prompt


def _candidates(text: str) -> Iterator[dict[str, Any]]:
    """The objects in a text: as JSON at each brace, then as a Python literal, then repaired."""
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
    """The action in an object, and whether it has exactly the form of the prompt."""
    name = value.get("action") or value.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    key = next((key for key in ("action_input", "arguments", "args", "input") if key in value), None)
    args: Any = value[key] if key else None
    exact = key == "action_input" and isinstance(args, dict) and "action" in value
    if isinstance(args, str):
        try:
            args = parse_json(args)
        except ValueError:
            return None
    if args is None:
        named = "action" if value.get("action") else "name"
        args = {field: part for field, part in value.items() if field not in (named, key, "reasoning", "thought")}
    try:
        args = clean(args)
    except CaseError:
        return None
    if not isinstance(args, dict):
        return None
    reasoning = value.get("reasoning", value.get("thought", ""))
    call = ToolCall(tool=name.strip(), args=cast(dict[str, Any], args))
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

"""Steps and edges by rules: the words of the tools' specs, the origins of the values, and the order of writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast

from flowbench_synth.worfbench.graphs import Edge, reduced, with_ends
from flowmind.base.files import dump_json
from flowmind.formats.notation import escaped, shortened
from flowmind.formats.words import headline, listed
from flowmind.trace.events import Called, Origin, Trace
from flowmind.trace.origins import with_origins
from flowmind.trace.telling import tells
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolSpec

UnknownEffect = Literal["read", "write"]
"""What a tool whose effect is not known is taken for."""
_MOST_VALUE = 60
"""Characters of a value in a step."""
_IDENTIFIER = re.compile(r"`?(?<!\w)([A-Za-z][A-Za-z0-9]*_\w+|[a-z]+[a-z0-9]*[A-Z]\w*)(?:\(\))?`?")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Chain(NamedTuple):
    """The workflow of a trace."""

    steps: tuple[str, ...]
    edges: tuple[Edge, ...]
    """With those of START and END."""
    reasons: dict[str, str]
    """Why the second step of an edge waits for the first, by the edge as text; without START and END."""


def successful(trace: Trace, specs: Mapping[str, ToolSpec], unknown: UnknownEffect) -> tuple[Trace, int]:
    """The trace with its successful calls of business tools only, and the number of repeated calls that are left out.

    A call is repeated if an earlier one has the same tool, arguments and result, and no write stands between them.
    """
    kept: list[Called] = []
    repeated = 0
    fresh = 0  # the first call after the last write
    for event in trace.calls:
        if not event.observation.ok or event.call.tool in GRAPH_TOOLS:
            continue
        if writes(event.call.tool, specs, unknown):
            fresh = len(kept)
        elif any(_is_same(event, other) for other in kept[fresh:]):
            repeated += 1
            continue
        kept.append(event)
    return trace.model_copy(update={"events": tuple(kept)}), repeated


def _is_same(one: Called, other: Called) -> bool:
    return (
        one.call.tool == other.call.tool
        and json_equal(one.call.args, other.call.args)
        and json_equal(one.observation.value, other.observation.value)
    )


def writes(tool: str, specs: Mapping[str, ToolSpec], unknown: UnknownEffect) -> bool:
    """Whether a call of a tool may change something."""
    effect = specs[tool].effect if tool in specs else "unknown"
    return (unknown if effect == "unknown" else effect) == "write"


def chain_of(trace: Trace, task: str, specs: Mapping[str, ToolSpec], unknown: UnknownEffect) -> Chain:
    """The steps and edges of a trace.

    A step waits for another one if it reads its result, if one of the two writes, or if it has a value of unknown
    origin, which may come from any result before it. Edges that follow from others are left out.

    Args:
        trace: Successful calls only.
        task: The text of the task.
        specs: The tools.
        unknown: What a tool of unknown effect is taken for.
    """
    traced = with_origins([trace], task)[0]
    calls = traced.calls
    reasons: dict[Edge, str] = {}
    for place, event in enumerate(calls, 1):
        readings = [_Reading(origin, event.call.args.get(name), task) for name, origin in event.origins.items()]
        may_write = writes(event.call.tool, specs, unknown)
        for earlier in range(1, place):
            if any(earlier in reading.steps for reading in readings):
                reasons[earlier, place] = "reads"
            elif may_write or writes(calls[earlier - 1].call.tool, specs, unknown):
                reasons[earlier, place] = "write"
            elif any(reading.untraced for reading in readings):
                reasons[earlier, place] = "unknown origin"
    inner = reduced(len(calls), reasons)
    return Chain(
        steps=tuple(step_of(event, specs.get(event.call.tool), task) for event in calls),
        edges=tuple(with_ends(len(calls), inner)),
        reasons={f"{one},{other}": reasons[one, other] for one, other in inner},
    )


class _Reading:
    """Where a value comes from."""

    def __init__(self, origin: Origin, value: Any, task: str) -> None:
        leaves = list(_leaves(origin, value))
        self.steps = {leaf.step + 1 for leaf, _ in leaves if leaf.kind == "output" and leaf.step is not None}
        self.untraced = any(leaf.kind == "unexplained" and not tells(task, part) for leaf, part in leaves)


def _leaves(origin: Origin, value: Any) -> Iterator[tuple[Origin, Any]]:
    """The origins of the parts of a value, each with its part."""
    if origin.kind != "made":
        yield origin, value
    for key, part in origin.parts.items():
        yield from _leaves(part, _part(value, key))


def _part(value: Any, key: str) -> Any:
    if isinstance(value, list):
        return cast(list[Any], value)[int(key)]
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


# Sentences


def step_of(event: Called, spec: ToolSpec | None, task: str) -> str:
    """A call as a sentence without the tool's name: the tool's description, and the values of the arguments.

    A value that an earlier call returned is named by the number of its step.
    """
    about = without_names(headline(spec)) or in_words(event.call.tool).capitalize()
    given = [
        f"{in_words(key)} = {_said(event.origins.get(key), value, task)}" for key, value in event.call.args.items()
    ]
    return f"{about}, with {listed(given)}" if given else about


def in_words(name: str) -> str:
    """A name in words: `get_user`, `getUser` as `get user`."""
    return " ".join(_INNER_CAPITAL.sub(" ", name).replace("_", " ").split()).lower()


def without_names(text: str) -> str:
    """A text in which identifiers that are no words of English, such as names of tools, stand in words."""
    return _IDENTIFIER.sub(lambda match: in_words(match[1]), text)


def _said(origin: Origin | None, value: Any, task: str) -> str:
    kind = origin.kind if origin else "literal"
    if origin is not None and kind == "output" and origin.step is not None:
        path = " ".join(f"item {part + 1}" if isinstance(part, int) else in_words(part) for part in origin.path)
        return f"{path} from step {origin.step + 1}" if path else f"the result of step {origin.step + 1}"
    if origin is not None and kind == "made":
        steps = sorted(_Reading(origin, value, task).steps)
        if steps:
            numbers = listed([str(step) for step in steps])
            return f"values from step{'s' if len(steps) > 1 else ''} {numbers}"
    if origin is not None and kind == "unexplained" and not tells(task, value):
        return "a value that is worked out"
    return shortened(escaped(dump_json(value)), _MOST_VALUE)

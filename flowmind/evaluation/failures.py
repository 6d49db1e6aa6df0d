"""Why a session failed, as one of the five classes of FlowBench (table 7 and appendix)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from flowmind.evaluation.dialogue import NOT_MADE, SessionScore, call_key, gold_calls, standing
from flowmind.trace.events import Called, Said, Trace
from flowmind.trace.scenario import Gold
from tools_registry.specs.spec import ToolCall, ToolSpec

FailureClass = Literal["missing_step", "sequence", "transition", "tool_usage", "other"]
CLASSES: tuple[FailureClass, ...] = ("missing_step", "sequence", "transition", "tool_usage", "other")
"""In the order of the paper's table 7."""


def failure_class(
    trace: Trace,
    gold: Gold,
    score: SessionScore,
    specs: Mapping[str, ToolSpec],
    writes: Collection[str] = (),
) -> FailureClass | None:
    """The class of a failed session; None if it succeeded.

    The calls are aligned by a longest common subsequence, and the first gold call outside it decides:

    - `tool_usage`: the tool was called with other arguments, an unknown name or invalid arguments were used before the
      agent went on, or the agent's replies could not be read;
    - `sequence`: the call was made, but after a call that follows it;
    - `transition`: a call that the gold does not have was made in its place;
    - `missing_step`: nothing was done in its place.

    If no gold call is missing: a further write, or the answer of another end is a `transition`, a fact that was not
    told a `missing_step`, and replies that could not be read `tool_usage`.
    """
    if score.success:
        return None
    wanted = [call_key(call, specs.get(call.tool)) for call in gold_calls(gold)]
    done = [call_key(event.call, specs.get(event.call.tool)) for event in trace.calls]
    pairs = common_subsequence(wanted, done)
    matched = {one for one, _ in pairs}
    missing = next((place for place in range(len(wanted)) if place not in matched), None)
    if missing is None:
        return _without_missing(trace, gold, score, writes, {other for _, other in pairs})
    begin = max((other for one, other in pairs if one < missing), default=-1) + 1
    end = min((other for one, other in pairs if one > missing), default=len(done))
    return _of_missing(trace.calls, gold_calls(gold)[missing], wanted, done, missing, (begin, end), trace.stop)


def _of_missing(
    calls: Sequence[Called],
    call: ToolCall,
    wanted: Sequence[str],
    done: Sequence[str],
    missing: int,
    gap: tuple[int, int],
    stop: str,
) -> FailureClass:
    between = calls[slice(*gap)]
    keys = done[slice(*gap)]
    if done.count(wanted[missing]) >= wanted.count(wanted[missing]):
        return "sequence"
    if any(event.call.tool == call.tool and key not in wanted for event, key in zip(between, keys, strict=True)):
        return "tool_usage"
    if any(event.observation.error and event.observation.error.type in NOT_MADE for event in between):
        return "tool_usage"
    if any(key not in wanted for key in keys):
        return "transition"
    return "tool_usage" if stop == "unparsed" else "missing_step"


def _without_missing(
    trace: Trace, gold: Gold, score: SessionScore, writes: Collection[str], used: Collection[int]
) -> FailureClass:
    extra = [event for place, event in enumerate(trace.calls) if place not in used and event.observation.ok]
    if any(event.call.tool in writes for event in extra):
        return "transition"
    outcomes = {goal.outcome for goal in standing(gold)}
    answers = {event.answer for event in trace.events if isinstance(event, Said) and event.role == "agent"} - {""}
    if score.untold and answers - outcomes:
        return "transition"
    if trace.stop == "unparsed":
        return "tool_usage"
    return "missing_step" if score.untold else "other"


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence; of several, one that begins early in both."""
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for one in reversed(range(len(first))):
        for other in reversed(range(len(second))):
            if first[one] == second[other]:
                lengths[one][other] = lengths[one + 1][other + 1] + 1
            else:
                lengths[one][other] = max(lengths[one + 1][other], lengths[one][other + 1])
    pairs: list[tuple[int, int]] = []
    one = other = 0
    while one < len(first) and other < len(second):
        if first[one] == second[other]:
            pairs.append((one, other))
            one, other = one + 1, other + 1
        elif lengths[one + 1][other] >= lengths[one][other + 1]:
            one += 1
        else:
            other += 1
    return pairs

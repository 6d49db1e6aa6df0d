"""Calls that a task does not need: runs are read without them, at a price in bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from flowmind.base.files import dump_json
from flowmind.build.induction import prices
from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If
from flowmind.build.induction.runs import UNSET, Call, Run
from flowmind.build.induction.spelling import calls_in, reads_in_slot, slots
from tools_registry.specs.schema import json_equal

CALL = 8.0
"""The bits of a call beside its arguments, at most."""


class Fewer(NamedTuple):
    """Runs without some of their calls."""

    runs: tuple[Run, ...]
    left_out: tuple[str, ...]
    """The tools whose calls are left out; not of repeated calls."""
    bits: float
    """The price."""
    tools: tuple[str, ...] = ()
    """The tools of which calls are left out."""


def readings(runs: Sequence[Run], writing: Collection[str]) -> list[Fewer]:
    """The ways to read runs: unchanged, and without calls that nothing may need.

    Args:
        runs: All runs of a task.
        writing: Tools that may change something: their calls stay.
    """
    found = [Fewer(tuple(runs), (), 0.0)]
    for leave_out in (without_repeats, without_strays, without_idle):
        fewer = tuple(leave_out(runs, writing))
        if any(fewer == known.runs for known in found) or not any(run.calls for run in fewer):
            continue
        tools = _missing(runs, fewer)
        left_out = () if leave_out is without_repeats else tools
        fewer_calls = sum(len(run.calls) for run in runs) - sum(len(run.calls) for run in fewer)
        price = prices.LEFT_OUT * max(len(left_out), 1) + prices.LEFT_OUT_CALL * fewer_calls
        found.append(Fewer(fewer, left_out, price, tools))
    return found


def saved(block: Block, tools: Collection[str]) -> float:
    """The most bits that a program may lose with calls of some tools: those of the calls, of the loops around them, and
    of the conditions that read their results or decide about nothing else."""
    results = {call.output for call in calls_in(block) if call.tool in tools}
    bits = 0.0
    for step in block:
        match step:
            case CallStep(tool=tool) if tool in tools:
                bits += CALL + sum(slot.bits for slot in slots((step,)))
            case If(condition=condition, then=then, otherwise=otherwise):
                only = any(arm and _tools(arm) <= {*tools} for arm in (then, otherwise))
                bits += prices.BRANCH + condition.bits if only or results & reads_in_slot(condition) else 0.0
                bits += saved(then, tools) + saved(otherwise, tools)
            case ForEach(body=body) | DoWhile(body=body) if not _tools(body).isdisjoint(tools):
                own = sum(slot.bits for slot in slots((step,))) - sum(slot.bits for slot in slots(body))
                bits += prices.LOOP + prices.REPETITION + prices.UNTESTED + own + saved(body, tools)
            case _:
                pass
    return bits


def _tools(block: Block) -> set[str]:
    return {call.tool for call in calls_in(block)}


def _missing(runs: Sequence[Run], fewer: Sequence[Run]) -> tuple[str, ...]:
    """The tools that some run calls less often after calls were left out."""
    tools = [call.tool for run, other in zip(runs, fewer, strict=True) for call in run.calls if call not in other.calls]
    return tuple(dict.fromkeys(tools))


def without_repeats(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls that repeat the previous call with the same arguments and result.

    Args:
        runs: The runs.
        writing: Tools that may change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        for call in run.calls:
            if call.tool in writing or not calls or not _same(calls[-1], call):
                calls.append(call)
        fewer.append(replace(run, calls=tuple(calls)))
    return fewer


def _same(first: Call, second: Call) -> bool:
    return first.tool == second.tool and json_equal(first.args, second.args) and json_equal(first.value, second.value)


def without_idle(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls whose results appear neither in a later call nor in the answer, whole or in part.

    Args:
        runs: The runs.
        writing: Tools that may change something: their calls stay.
    """
    fewer: list[Run] = []
    for run in runs:
        calls: list[Call] = []
        later = set(_inside(run.answer))
        for call in reversed(run.calls):
            parts = [part for part in _inside(call.value) if part not in _TRIVIAL]
            if call.tool in writing or not parts or any(part in later for part in parts):
                calls.append(call)
                later.update(_inside(call.args))
        fewer.append(replace(run, calls=tuple(reversed(calls))))
    return fewer


def without_strays(runs: Sequence[Run], writing: Collection[str] = ()) -> list[Run]:
    """The runs without calls of tools that only some runs call, once, and whose results nothing needs.

    A result is needed if a later call or the answer contains it or a part of it, and nothing provided that before. The
    call may have served a condition, so a workflow without it is a guess.

    Args:
        runs: All runs of a task. A single run stays as it is.
        writing: Tools that may change something: their calls stay.
    """
    fewer = list(runs)
    while True:
        strays = {tool for tool in _seldom(fewer) - set(writing) if not any(_needed(run, tool) for run in fewer)}
        if not strays:
            return fewer
        fewer = [replace(run, calls=tuple(call for call in run.calls if call.tool not in strays)) for run in fewer]


def _seldom(runs: Sequence[Run]) -> set[str]:
    """Tools that some runs call once and the others never."""
    counts = [Counter(call.tool for call in run.calls) for run in runs]
    called = {tool for count in counts for tool in count}
    return {tool for tool in called if {count[tool] for count in counts} == {0, 1}}


def _needed(run: Run, tool: str) -> bool:
    """Whether an argument or the answer contains a part of the tool's result that nothing before provided."""
    place = next((place for place, call in enumerate(run.calls) if call.tool == tool), None)
    if place is None:
        return False
    result = run.calls[place].value
    others = [*run.inputs.values(), *(call.value for call in run.calls[:place])]
    for call in run.calls[place + 1 :]:
        if any(_holds(value, result, others) for value in call.args.values()):
            return True
        others.append(call.value)
    return run.answer is not UNSET and _holds(run.answer, result, others)


def _holds(value: Any, result: Any, others: Sequence[Any]) -> bool:
    """Whether a value contains something that only this result provides. Whole values take precedence over parts."""
    key = dump_json(value)
    if key in _TRIVIAL or any(key == dump_json(other) for other in others):
        return False
    if key == dump_json(result):
        return True
    if any(key in _inside(other) for other in others):
        return False
    return key in _inside(result) or any(_holds(part, result, others) for part in _parts_of(value))


_TRIVIAL = frozenset(["true", "false", "null", "0", "1", '""', "[]", "{}"])


def _inside(value: Any) -> list[str]:
    """The keys of a value and its parts."""
    if value is UNSET:
        return []
    keys = [dump_json(value)]
    for part in _parts_of(value):
        keys += _inside(part)
    return keys


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).values())
    return cast(list[Any], value)[:200] if isinstance(value, list) else []

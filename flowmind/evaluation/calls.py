"""The accuracy of the calls that an agent made, against the calls of the gold workflow on the same input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, cast

from flowmind.base.files import dump_json
from tools_registry.specs.spec import ToolCall


class CallAccuracy(NamedTuple):
    """Shares from 0 to 1."""

    calls: float
    """Right calls: the same tool with equal arguments."""
    tools: float
    """Right tools, whatever the arguments."""


def call_accuracy(made: Sequence[ToolCall], gold: Sequence[ToolCall]) -> CallAccuracy:
    """The share of right calls, after the function call accuracy of WorFBench, section 4.1.

    The calls are compared as multisets, so their order does not count. A call of the gold answers for one call that
    was made. The number of right calls is divided by the greater number of calls, so that both missing and additional
    calls count as wrong. Arguments are equal as JSON values: 1 equals 1.0, and the order of keys does not count.

    Args:
        made: All calls, failed ones included.
        gold: The calls of the gold workflow. Without any, only an agent that makes no call is right.
    """
    return CallAccuracy(
        _share([(call.tool, _key(call.args)) for call in made], [(call.tool, _key(call.args)) for call in gold]),
        _share([call.tool for call in made], [call.tool for call in gold]),
    )


def _share(made: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    most = max(len(made), len(gold))
    return sum((Counter(made) & Counter(gold)).values()) / most if most else 1.0


def _key(value: Any) -> str:
    """A text that equal JSON values have in common."""
    return dump_json(_plain(value))


def _plain(value: Any) -> Any:
    match value:
        case dict():
            fields = cast(dict[str, Any], value)
            return {name: _plain(fields[name]) for name in sorted(fields)}
        case list():
            return [_plain(item) for item in cast(list[Any], value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value

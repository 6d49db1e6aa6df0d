"""Values said in words: pure tools that read dates, times, durations and amounts from a text.

Every environment that runs a workflow knows these tools: a workflow may call them without being given them. They run in
this process, change nothing, and depend on their arguments only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from tools_registry.sandbox.functions import spec_of
from tools_registry.specs.spec import Observation, ToolSpec, admitted
from tools_registry.specs.values import CaseError, describe
from tools_registry.words.amounts import extract_id, read_amount
from tools_registry.words.dates import add_days, days_between, read_date, weekday
from tools_registry.words.times import add_minutes, read_duration, read_time

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        read_date, add_days, days_between, weekday, read_time, add_minutes, read_duration, read_amount, extract_id,
    )
}  # fmt: skip


@cache
def specs() -> Mapping[str, ToolSpec]:
    """The tools by name."""
    return {name: spec_of(function).model_copy(update={"effect": "read"}) for name, function in FUNCTIONS.items()}


def with_words(given: Mapping[str, ToolSpec], names: Iterable[str]) -> Mapping[str, ToolSpec]:
    """Specs, and those of the tools of this package that are called as well. A given tool of the same name counts."""
    more = {name: specs()[name] for name in names if name in FUNCTIONS and name not in given}
    return {**given, **more} if more else given


def value_of(name: str, args: Mapping[str, Any]) -> Any:
    """The result of a call.

    Raises:
        CaseError: If the arguments do not fit, or the text says no such value.
    """
    arguments = admitted(specs(), name, dict(args))
    try:
        return FUNCTIONS[name](**arguments)
    except (ValueError, OverflowError) as error:
        raise CaseError("tool_error", describe(error)) from None


def observed(name: str, args: Mapping[str, Any]) -> Observation:
    """The result of a call, or its error."""
    try:
        return Observation(value=value_of(name, args))
    except CaseError as error:
        return Observation.failed(error.type, error.message)

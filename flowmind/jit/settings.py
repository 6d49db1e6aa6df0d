"""The settings of a handle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from flowmind.base.errors import InputError
from flowmind.base.texts import did_you_mean
from flowmind.evaluation.statistics import wilson
from flowmind.jit.attempts import Rules
from flowmind.jit.guards import Limits, guard_names
from flowmind.run.wrappers import Ask

Mode = Literal["off", "record", "shadow", "live", "frozen"]
Derive = Literal["process", "now", "never"]
AfterWrite = Literal["stop", "handover"]


@dataclass(frozen=True)
class Promotion:
    """When a version goes live by itself.

    Raises:
        InputError: If a value makes no sense.
    """

    runs: int = 20
    """The rehearsals on distinct inputs that must have been finished."""
    lower: float = 0.8
    """The lower bound of the 95 % Wilson interval of the share that agreed."""
    by: str = ""
    """Who answers for versions that write. Without a name they go live by `flowmind jit promote` only."""

    def __post_init__(self) -> None:
        if not is_number(self.runs) or self.runs < 0:
            raise InputError(f"Promotion(runs={self.runs!r}): give a number of rehearsals, 0 or more")
        if not is_number(self.lower) or not 0 <= self.lower <= 1:
            raise InputError(f"Promotion(lower={self.lower!r}): give a share between 0 and 1")
        if not isinstance(cast(Any, self.by), str):
            raise InputError(f"Promotion(by={self.by!r}): give the name of a person or a team")

    def allows(self, agreed: int, count: int) -> bool:
        """Whether so many rehearsals, of which so many agreed, are enough."""
        return count >= self.runs and (count == 0 or wilson(agreed, count)[0] >= self.lower)


@dataclass(frozen=True)
class Settings:
    """The settings of a handle; see `jit`."""

    mode: Mode
    derive: Derive
    after_write: AfterWrite
    approve: Ask | Mapping[str, Ask] | None
    audit: float
    promotion: Promotion
    rules: Rules
    most_traces: int
    keep_days: float | None
    request: str = ""


def settings_of(
    mode: Any,
    derive: Any,
    after_write: Any,
    approve: Any,
    audit: Any,
    promotion: Any,
    guards: Any,
    limits: Any,
    max_age: Any,
    most_traces: Any,
    keep_days: Any,
    redact: Callable[[Any], Any],
    now: Callable[[], float],
    request: Any,
) -> Settings:
    """The settings of these arguments of `jit`.

    Raises:
        InputError: With the argument and what would be right.
    """
    _one_of("mode", mode, get_args(Mode))
    _one_of("derive", derive, get_args(Derive))
    _one_of("after_write", after_write, get_args(AfterWrite))
    if approve is not None and not callable(approve) and not isinstance(approve, Mapping):
        raise InputError("approve: give a function of a call and a spec, or such functions by tool")
    if not is_number(audit) or not 0 <= audit <= 1:
        raise InputError(f"audit: give a share between 0 and 1, not {audit!r}")
    if not isinstance(promotion, Promotion):
        raise InputError(f"promotion: give a flowmind.Promotion, not {type(promotion).__name__}")
    if not isinstance(limits, Limits):
        raise InputError(f"limits: give a flowmind.jit.Limits, not {type(limits).__name__}")
    for name, value in (("max_age", max_age), ("keep_days", keep_days)):
        if value is not None and (not is_number(value) or value <= 0):
            raise InputError(f"{name}: give a number above 0, not {value!r}")
    if not is_number(most_traces) or most_traces < 2:
        raise InputError(f"most_traces: give 2 or more, not {most_traces!r}")
    if after_write == "handover" and mode == "frozen":
        raise InputError('after_write: mode="frozen" does not ask the agent, so nothing can be handed over to it')
    if not isinstance(request, str):
        raise InputError(f"request: give the name of a parameter, not {request!r}")
    rules = Rules(guard_names(guards), limits, max_age, redact, now)
    return Settings(
        mode, derive, after_write, cast(Any, approve), audit, promotion, rules, int(most_traces), keep_days, request
    )


def _one_of(name: str, value: Any, names: Sequence[str]) -> None:
    if value not in names:
        raise InputError(f"{name}: {value!r} is none of {', '.join(names)}{did_you_mean(str(value), names)}")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

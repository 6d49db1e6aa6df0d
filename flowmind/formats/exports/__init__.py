"""Writes traces in the formats of other tools; `EXPORTS` has those of `flowmind traces convert`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowmind.formats.exports.atif import to_atif
from flowmind.formats.exports.otel import to_otlp
from flowmind.trace.events import Trace
from tools_registry.specs.spec import ToolSpec


def _otel(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> list[dict[str, Any]]:
    return [to_otlp(traces, content=True)]


def _atif(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> list[dict[str, Any]]:
    return [to_atif(trace, specs) for trace in traces]


EXPORTS: dict[str, Callable[[Sequence[Trace], Mapping[str, ToolSpec]], list[dict[str, Any]]]] = {
    "otel": _otel,
    "atif": _atif,
}
"""By the name of the format: writes traces, with the specs of their tools, as one or more JSON documents."""

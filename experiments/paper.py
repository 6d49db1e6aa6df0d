"""The paper's own figures, as data: what ours are put beside."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from flowmind.base.files import parse_json, read_text

_MODES = {
    "ReAct": "react", "ReAct (R)": "react", "P&E": "pe", "P&E (P)": "pe", "Plan-and-Execute": "pe",
    "ES-ReAct": "es-react", "ES-P&E": "es-pe", "ES-RR": "es-react", "ES-PP": "es-pe", "ES-PR": "es-pr",
    "ES-RP": "es-rp",
}  # fmt: skip
SOURCE = "Liu et al., FlowMind: Execute-Summarize for Structured Workflow Generation from LLM Reasoning"


@cache
def values() -> dict[str, Any]:
    """All tables and figures by their keys (`reference/flowmind.json`)."""
    return parse_json(read_text(Path(__file__).parent / "reference" / "flowmind.json"))


def rows(key: str) -> list[dict[str, Any]]:
    """The rows of a table, with models and modes under our names."""
    return [_ours(row) for row in values()[key]]


def _ours(row: dict[str, Any]) -> dict[str, Any]:
    found = dict(row)
    if "model" in found:
        found["model"] = str(found["model"]).lower()
    if "mode" in found:
        found["mode"] = _MODES.get(found["mode"], found["mode"])
    return found

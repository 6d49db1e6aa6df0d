"""The values that the paper reports, as data."""

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


MODELS = ("qwen3-8b", "qwen3-14b", "qwen3-32b", "gpt-4.1", "gpt-5")
"""The models of the paper."""


@cache
def values() -> dict[str, Any]:
    """All tables and figures by their keys (`reference/flowmind.json`)."""
    return parse_json(read_text(Path(__file__).parent / "reference" / "flowmind.json"))


def rows(key: str) -> list[dict[str, Any]]:
    """The rows of a table; models and modes have the names that FlowMind uses."""
    return [_renamed(row) for row in values()[key]]


def named(key: str, form: str = "{model} {mode}") -> list[tuple[str, dict[str, Any]]]:
    """The rows of a table, each with a name; the model of a row that names none is `qwen3-8b`."""
    return [(form.format(**{"model": "qwen3-8b", **row}), row) for row in rows(key)]


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    renamed = dict(row)
    if "model" in row:
        renamed["model"] = str(row["model"]).lower()
    if "mode" in row:
        renamed["mode"] = _MODES.get(row["mode"], row["mode"])
    return renamed

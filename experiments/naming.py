"""How runs are told apart: the settings in which a run is no plain one of its mode, in words and folders' names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowmind.build.settings import MODES, Settings, mode_of, rounds_of, summarizer_of

_PLAIN: dict[str, Any] = {
    "rollouts": 1, "trace_selection": "all", "json_mode": "off", "native_tools": False, "sandbox": "local",
}  # fmt: skip
"""Settings that make a variant where they differ from these."""
_WORDS = {
    "rollouts": "{} rollouts",
    "trace_selection": "{}",
    "json_mode": "JSON mode {}",
    "native_tools": "native tools",
    "sandbox": "tools in {}",
}
GOLD = "gold traces"
"""What a run is called whose traces are those of the gold workflows: it executed nothing."""


def variant_of(settings: Mapping[str, Any]) -> str:
    """The settings in which a run is no plain one of its mode, in words; empty for a plain one.

    Args:
        settings: As a manifest has them; what an old one lacks is as it is by default.
    """
    words = [words for words, _ in _derivation(settings)]
    for key, plain in _PLAIN.items():
        if (value := settings.get(key, plain)) != plain:
            words.append(_WORDS[key].format(value))
    return ", ".join(words)


def departs(settings: Mapping[str, Any]) -> bool:
    """Whether workflows are derived in another way than the mode says: nothing to be put beside the paper's modes."""
    return bool(_derivation(settings))


def is_gold(settings: Mapping[str, Any]) -> bool:
    """Whether traces of gold workflows stand for executions."""
    return settings.get("traces", "agent") == "gold"


def folder_part(settings: Mapping[str, Any]) -> str:
    """What a run's folder is called for settings in which it derives otherwise than its mode: `gold-probe8`."""
    return "-".join(part for _, part in _derivation(settings))


def label(model: str, mode: str, variant: str) -> str:
    """Model, mode and variant, as rows and legends show them."""
    return f"{shown_model(model)} {shown_mode(mode, variant)}"


def shown_model(model: str) -> str:
    """A model's name; of `search`, with what it is not."""
    return f"{model} (no LLM)" if model == "search" else model


def shown_mode(mode: str, variant: str) -> str:
    """A mode with its variant."""
    return f"{mode} ({variant})" if variant else mode


def _derivation(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How a workflow is derived other than the mode says: in words, and as a part of a name."""
    found: list[tuple[str, str]] = []
    if is_gold(settings):
        found.append((GOLD, "gold"))
    mode = str(settings["mode"])
    own = Settings(mode=mode_of(mode)) if mode in MODES else Settings()
    who, rounds, probes = (settings.get(name) for name in ("summarizer", "verify", "probe"))
    if who is not None and who != summarizer_of(own):
        found.append((f"summarizer {who}", str(who)))
    if rounds is not None and rounds != rounds_of(own):
        found.append((f"verify {rounds}", f"verify{rounds}"))
    if probes:
        found.append((f"probe {probes}", f"probe{probes}"))
    return found

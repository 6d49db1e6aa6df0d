"""Names of runs: their folders, and their variants, the settings that differ from those of the mode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.folders import require_name
from flowmind.build.settings import GUIDED, MODES, Settings, rounds_of, summarizer_of
from flowmind.llm.models import find

_PLAIN: dict[str, tuple[Any, str]] = {
    "rollouts": (1, "{} rollouts"),
    "trace_selection": ("all", "{}"),
    "json_mode": ("off", "JSON mode {}"),
    "native_tools": (False, "native tools"),
    "wording": ("precise", "{} texts"),
    "split": ("all", "half {}"),
    "shown": (None, "{} examples"),
    "sandbox": ("local", "tools in {}"),
}
"""Settings that make a variant: the default, and the words for another value."""
GOLD = "gold traces"
"""The words for a run on traces of gold workflows, in which no agent executes anything."""


def variant_of(settings: Mapping[str, Any]) -> str:
    """The settings that differ from those of the mode, in words; empty if there are none.

    Args:
        settings: The settings of a manifest; settings that an old manifest lacks have their defaults.
    """
    words = [words for words, _ in (*_derivation(settings), *_guidance(settings))]
    for key, (plain, form) in _PLAIN.items():
        if (value := settings.get(key, plain)) != plain:
            words.append(form.format(value))
    return ", ".join(words)


def departs(settings: Mapping[str, Any]) -> bool:
    """Whether workflows are derived in another way than the mode's; such a run has no counterpart in the paper."""
    return bool(_derivation(settings))


def is_gold(settings: Mapping[str, Any]) -> bool:
    """Whether traces of gold workflows are used instead of running the agent."""
    return settings.get("traces", "agent") == "gold"


def folder_name(settings: Mapping[str, Any], variant: str = "", tasks: str = "") -> str:
    """The name of a run's folder, such as `search-es-pe-gold-probe8-seed1`.

    Args:
        settings: All settings of the run.
        variant: The name of the grid's variant.
        tasks: The tasks that the grid selects, such as `first8`.

    Raises:
        InputError: If the name of the model or of the variant cannot be part of a folder's name.
    """
    derived = [part for _, part in (*_derivation(settings), *_guidance(settings))]
    seed = f"seed{settings['seed']}" if settings["seed"] else ""
    suite = [
        "api" if Path(settings.get("bench", "bench")).name == "api" else "",
        settings.get("split", "all").replace("all", ""),
        settings.get("wording", "precise").replace("precise", ""),
        f"shown{shown}" if (shown := settings.get("shown")) else "",
    ]
    parts = [settings["model"], settings["mode"], variant, *derived, *suite, seed, tasks]
    return named("-".join(filter(None, parts)))


def named(text: str) -> str:
    """The name of a run's folder: the text with `_` for `/`.

    Raises:
        InputError: If it cannot be the name of a folder.
    """
    try:
        return require_name(text.replace("/", "_"))
    except ValueError as error:
        raise InputError(f"the folder of the run: {error}") from None


def label(model: str, mode: str, variant: str) -> str:
    """Model, mode and variant, as tables and legends show them."""
    return f"{shown_model(model)} {shown_mode(mode, variant)}"


def shown_model(model: str) -> str:
    """A model's name; the name of an embedded model says that it is not a language model."""
    return f"{model} (no LLM)" if find(model).kind == "embedded" else model


def shown_mode(mode: str, variant: str) -> str:
    """A mode with its variant."""
    return f"{mode} ({variant})" if variant else mode


def _derivation(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings of the derivation that differ from those of the mode, in words and as part of a folder's name."""
    differences: list[tuple[str, str]] = []
    if is_gold(settings):
        differences.append((GOLD, "gold"))
    plain = Settings(mode=settings["mode"]) if settings["mode"] in MODES else Settings()
    summarizer, rounds, probes = (settings.get(name) for name in ("summarizer", "verify", "probe"))
    if summarizer is not None and summarizer != summarizer_of(plain):
        differences.append((f"summarizer {summarizer}", str(summarizer)))
    if rounds is not None and rounds != rounds_of(plain):
        differences.append((f"verify {rounds}", f"verify{rounds}"))
    if probes:
        differences.append((f"probe {probes}", f"probe{probes}"))
    return differences


def _guidance(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The workflow that agents are given, in words and as part of a folder's name; nothing for modes without one."""
    if settings["mode"] not in GUIDED:
        return []
    source = Path(settings.get("knowledge", "none")).name
    words = {"none": "no workflow", "gold": "gold workflows"}.get(source, f"workflows of {source}")
    parts = [(words, source)]
    if (form := settings.get("knowledge_format", "node-edge")) != "node-edge":
        parts.append((f"as {form}", form))
    if settings.get("similarity", "bow") != "bow":
        encoder = settings.get("encoder") or "the encoder"
        parts.append((f"tools by {encoder}", Path(encoder).name if settings.get("encoder") else "encoder"))
    return parts

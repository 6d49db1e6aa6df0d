"""The manifest of a run: its settings, the benchmark, the servers, and the versions of packages."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from flowmind.base.checksums import digest
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_text
from flowmind.base.folders import require_name
from flowmind.build.settings import Settings

PACKAGES = ("flowmind-es", "langgraph", "openai", "pydantic", "networkx", "RestrictedPython", "json-repair")


def manifest(
    chosen: Mapping[str, Any], settings: Settings, bench: Path, servers: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The manifest of a run.

    Args:
        chosen: `RunOptions.chosen()`: the settings that identify the run.
        settings: The settings for solving tasks.
        bench: The folder of the benchmark.
        servers: The fingerprint of each stage's server.

    Raises:
        InputError: If the benchmark has no manifest that can be read.
    """
    return {
        "settings": {**chosen, **settings.model_dump(mode="json")},
        "benchmark": benchmark_of(bench),
        "servers": dict(servers or {}),
        **surroundings(PACKAGES),
    }


def surroundings(packages: Iterable[str]) -> dict[str, Any]:
    """The versions of Python and of some packages, the platform, and the git revision."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in packages},
        "git": _revision(),
    }


def benchmark_of(bench: Path) -> dict[str, Any]:
    """The benchmark's name, and the current SHA-256 digests of its files."""
    path = bench / "manifest.json"
    try:
        built = parse_json(read_text(path))
        digests = {name: digest(bench / require_name(name)) for name in built["sha256"]}
        return {"name": f"{built['name']}, seed {built['seed']}", "sha256": digests}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The git revision of FlowMind; None if it does not run from a checkout."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None

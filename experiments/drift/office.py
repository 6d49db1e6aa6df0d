"""The WorkBench stream: recorded runs of GPT-4 as the agent, in the office of the tests."""

from __future__ import annotations

from pathlib import Path


def measured(folder: Path, out: Path) -> str:
    """Serves the WorkBench stream."""
    raise NotImplementedError((folder, out))

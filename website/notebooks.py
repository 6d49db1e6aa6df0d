"""The notebooks of the examples as pages: run, with what they print."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, out: Path) -> None:
    pass

"""`flowmind models`."""

from __future__ import annotations

import argparse

from flowmind.llm.models import KNOWN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds no flags."""


def run(options: argparse.Namespace) -> int:
    """Lists the known models."""
    for info in KNOWN.values():
        print(f"{info.name:<10} {info.kind:<9} {info.note}")
    print("any other name is sent to OPENAI_BASE_URL as it is")
    return 0

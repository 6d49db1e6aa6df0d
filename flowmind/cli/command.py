"""A command of the program `flowmind`. Other packages add commands by the entry point group `flowmind.commands`."""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple


class Command(NamedTuple):
    """A command. Its module is imported when the command is called, so that `flowmind --help` is fast."""

    help: str
    module: str
    """The module with the functions `add_arguments(parser)` and `run(options) -> int`."""
    example: str = ""
    """A command line that its help shows, without the program's name."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the flags of the command."""
        importlib.import_module(self.module).add_arguments(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Runs the command and returns its exit code."""
        return importlib.import_module(self.module).run(options)

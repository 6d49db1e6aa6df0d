"""A command of the `flowmind` program, as floors above this one offer theirs (entry points `flowmind.commands`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    """A command: importing it is cheap, what it needs is loaded when it runs."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

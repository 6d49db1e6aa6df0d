"""The program `flowmind`, also called `flowmind-es`, and `python -m flowmind`."""

from __future__ import annotations

import sys

from flowmind.base.packages import run_program


def main() -> int:
    """Runs the program and returns its exit code."""
    return run_program("flowmind", "flowmind.cli.main")


if __name__ == "__main__":
    sys.exit(main())

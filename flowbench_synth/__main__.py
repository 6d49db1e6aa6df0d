"""The program `flowbench_synth`, and `python -m flowbench_synth`."""

from __future__ import annotations

import sys

from flowmind.base.packages import run_program


def main() -> int:
    """Runs the program and returns its exit code."""
    return run_program("flowbench_synth", "flowbench_synth.cli")


if __name__ == "__main__":
    sys.exit(main())

"""`python -m flowmind`."""

from __future__ import annotations

import sys

from flowmind.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

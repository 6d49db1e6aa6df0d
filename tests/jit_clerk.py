"""A process that works for a shop and may be killed: `python jit_clerk.py STORE EFFECTS RUN SKU POINT`.

Effects are lines of a file. POINT is where the process kills itself: `before`, `in` or `after` the effect of `refund`,
`late` (in the read after it), or `none`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import flowmind
from flowmind import tool
from flowmind.jit import Handle


def handle_of(store: Path, effects: Path, point: str = "none", **options: Any) -> Handle:
    """The handle of the shop."""

    def reach(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(effect="read")
    def price(sku: str) -> int:
        """Find the price of an item in cents."""
        return 100 + len(sku) + int(sku[1:])

    @tool(effect="write")
    def refund(sku: str, cents: int) -> str:
        """Refund an item."""
        reach("before")
        with effects.open("a") as file:
            file.write(f"refund {sku} {cents}\n")
            file.flush()
            os.fsync(file.fileno())
        reach("in")
        return f"R-{sku}"

    @tool(effect="read")
    def receipt(number: str) -> str:
        """Find the text of a receipt."""
        reach("late")
        return f"receipt {number}"

    @tool(effect="write")
    def notify(sku: str, text: str) -> str:
        """Tell the customer of an item."""
        reach("after")
        with effects.open("a") as file:
            file.write(f"notify {sku}\n")
        return "told"

    find, pay, look, tell = flowmind.recorded([price, refund, receipt, notify])
    settings: dict[str, Any] = {"mode": "live", "derive": "now", "audit": 0, **options}

    @flowmind.jit(
        [find, pay, look, tell], query="Refund an item.", store=store, name="give_back",
        promotion=flowmind.Promotion(runs=0, by="the tests"), **settings,
    )  # fmt: skip
    def give_back(sku: str) -> str:
        text = look(pay(sku, find(sku)))
        return tell(sku, text)

    return give_back


def main() -> None:
    """Does one run."""
    store, effects, run, sku, point = sys.argv[1:6]
    mode = sys.argv[6] if len(sys.argv) > 6 else "live"
    print(handle_of(Path(store), Path(effects), point, mode=mode).once(run, sku))


if __name__ == "__main__":
    main()

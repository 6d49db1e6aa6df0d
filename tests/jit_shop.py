"""A shop with tools that are recorded, and agents that work in it, for the tests of guarded workflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flowmind
from flowmind import tool


class Shop:
    """Items in stock, and a ledger of what was shipped and refunded."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[Any, ...]] = []
        self.reads: list[tuple[Any, ...]] = []
        self.asked = 0
        """The times that the agent worked."""
        self.failing: set[str] = set()
        """The tools that raise, after their effect if they write."""
        for number in range(60):
            self.items[f"a{number}"] = {
                "count": (3, 7, 5, 4, 6)[number % 5],
                "warehouse": f"w{number}",
                "cents": cents(number),
            }

        @tool(effect="read")
        def stock(sku: str) -> dict[str, Any]:
            """Find the stock of an item."""
            self.reads.append(("stock", sku))
            return dict(self.items[sku])

        @tool(effect="write")
        def ship(sku: str, warehouse: str) -> str:
            """Ship an item."""
            self.writes.append(("ship", sku, warehouse))
            if "ship" in self.failing:
                raise RuntimeError("the connection broke")
            return f"S-{sku}"

        @tool(effect="write")
        def refund(sku: str, cents: int) -> str:
            """Refund an item."""
            self.writes.append(("refund", sku, cents))
            if "refund" in self.failing:
                raise RuntimeError("the connection broke")
            return f"R-{sku}"

        @tool(effect="read")
        def receipt(number: str) -> str:
            """Find the text of a receipt."""
            self.reads.append(("receipt", number))
            if "receipt" in self.failing:
                raise RuntimeError("no receipts today")
            return f"receipt {number}"

        @tool(effect="read")
        def price(sku: str) -> int:
            """Find the price of an item in cents."""
            self.reads.append(("price", sku))
            if "price" in self.failing:
                raise RuntimeError("no prices today")
            return self.items[sku]["cents"]

        self.stock, self.ship, self.refund, self.receipt, self.price = flowmind.recorded(
            [stock, ship, refund, receipt, price]
        )

    @property
    def tools(self) -> list[Callable[..., Any]]:
        """All tools."""
        return [self.stock, self.ship, self.refund, self.receipt, self.price]

    def deliver(self, sku: str) -> dict[str, Any]:
        """An agent that ships an item in stock."""
        self.asked += 1
        found = self.stock(sku)
        if found["count"] == 0:
            return {"status": "sold out"}
        return {"status": "shipped", "number": self.ship(sku, found["warehouse"])}

    def give_back(self, sku: str) -> dict[str, Any]:
        """An agent that refunds an item, then looks for the receipt. If there is none, it answers without it."""
        self.asked += 1
        number = self.refund(sku, self.price(sku))
        try:
            return {"receipt": self.receipt(number)}
        except RuntimeError:
            return {"receipt": None}

    def cost(self, sku: str) -> int:
        """An agent that only reads."""
        self.asked += 1
        return self.price(sku)


def cents(number: int) -> int:
    """The price of an item."""
    return 100 + (0, 90, 40, 60, 20)[number % 5] + number


NOW = flowmind.Promotion(runs=0, by="the tests")
"""Each version goes live at once."""

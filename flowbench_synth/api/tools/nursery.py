"""The tools of a plant nursery: orders of buyers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def orders_of_buyer(db: dict[str, Any], buyer_id: str) -> dict[str, Any]:
    """List the orders of a buyer, without their lines.

    Args:
        buyer_id: Id of the buyer.

    Returns:
        `orders` with `number`, `state` (open, delivered or cancelled) and `placed_on`.
    """
    rows = sorted(
        (row["placed_on"], number, row["state"]) for number, row in db["orders"].items() if row["buyer_id"] == buyer_id
    )
    orders = [{"number": number, "state": state, "placed_on": placed} for placed, number, state in rows]
    return {"db": db, "result": {"orders": orders}}


@tool(effect="read")
def order_lines(db: dict[str, Any], number: str) -> dict[str, Any]:
    """Get the lines of an order.

    Args:
        number: Number of the order.

    Returns:
        `number`, `lines` with `plant`, `pots`, `returned` (pots that were sent back) and `pot_price`, `discount` in
        percent (null if there is none).
    """
    row = db["orders"][number]
    return {"db": db, "result": {"number": number, "lines": row["lines"], "discount": row["discount"]}}


@tool(effect="write")
def cancel_plant_order(db: dict[str, Any], number: str) -> dict[str, Any]:
    """Cancel an order that is open.

    Args:
        number: Number of the order.

    Returns:
        `number`, `state`.
    """
    row = db["orders"][number]
    if row["state"] == "open":
        row["state"] = "cancelled"
    return {"db": db, "result": {"number": number, "state": row["state"]}}


@tool(effect="read")
def orders_with_plant(db: dict[str, Any], plant: str) -> dict[str, Any]:
    """List the numbers of the orders that have a plant.

    Args:
        plant: Name of the plant.

    Returns:
        `numbers`.
    """
    rows = sorted(db["orders"].items())
    numbers = [number for number, row in rows if plant in [line["plant"] for line in row["lines"]]]
    return {"db": db, "result": {"numbers": numbers}}

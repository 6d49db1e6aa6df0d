"""The tools of a wholesaler: stock in depots, quotes and bookings of couriers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_depots(db: dict[str, Any], region: str) -> dict[str, Any]:
    """List the depots that serve a region, the nearest first.

    Args:
        region: Code of the region.

    Returns:
        `depots` with `id`, `name` and `km`, the distance.
    """
    rows = [
        {"id": id, "name": row["name"], "km": row["km"]} for id, row in db["depots"].items() if row["region"] == region
    ]
    rows.sort(key=lambda row: (row["km"], row["id"]))
    return {"db": db, "result": {"depots": rows}}


@tool(effect="read")
def get_stock(db: dict[str, Any], depot_id: str, sku: str) -> dict[str, Any]:
    """Get the stock of an article in a depot.

    Args:
        depot_id: Id of the depot.
        sku: The article.

    Returns:
        `sku`, `on_hand`, `reserved`, `next_delivery` with `on` and `quantity` (null if none is planned).
    """
    stock = db["depots"][depot_id]["stock"]
    none = {"on_hand": 0, "reserved": 0, "next_delivery": None}
    return {"db": db, "result": {"sku": sku, **stock.get(sku, none)}}


@tool(effect="read")
def get_courier_quote(db: dict[str, Any], courier: str, parcel_id: str) -> dict[str, Any]:
    """Ask a courier what a parcel would cost.

    Args:
        courier: Code of the courier.
        parcel_id: Id of the parcel.

    Returns:
        `courier`, `offer` with `quote_id`, `amount` and `days` (null if it does not take the parcel).
    """
    parcel, row = db["parcels"][parcel_id], db["couriers"][courier]
    offer = None
    if parcel["kg"] <= row["most_kg"]:
        amount = round(row["base"] + row["per_kg"] * parcel["kg"], 2)
        offer = {"quote_id": f"{courier}/{parcel_id}", "amount": amount, "days": row["days"]}
    return {"db": db, "result": {"courier": courier, "offer": offer}}


@tool(effect="write")
def book_courier(db: dict[str, Any], quote_id: str) -> dict[str, Any]:
    """Book a courier for a parcel.

    Args:
        quote_id: Id of the quote.

    Returns:
        `booking_id`, `pickup`.
    """
    db["booking_number"] += 1
    booking_id = f"BK-{db['booking_number']}"
    db["bookings"][booking_id] = {"quote_id": quote_id}
    return {"db": db, "result": {"booking_id": booking_id, "pickup": "tomorrow"}}

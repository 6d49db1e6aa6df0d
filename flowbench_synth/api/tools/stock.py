"""The tools of a warehouse: items, batches, safety sheets, purchases."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_items(db: dict[str, Any], warehouse: str) -> dict[str, Any]:
    """List the items that a warehouse keeps.

    Args:
        warehouse: Code of the warehouse.

    Returns:
        `items` by number, each with `number`, `label`, `category`, `levels` with `on_hand`, `reorder_at` and `target`,
        `discontinued`.
    """
    shown = ("number", "label", "category", "levels", "discontinued")
    items = [
        {name: row[name] for name in shown} for _, row in sorted(db["items"].items()) if row["warehouse"] == warehouse
    ]
    return {"db": db, "result": {"items": items}}


@tool(effect="read")
def get_item_supplier(db: dict[str, Any], number: str) -> dict[str, Any]:
    """Get who supplies an item.

    Args:
        number: Number of the item.

    Returns:
        `supplier_id`, `minimum`: the least quantity of a purchase, `unit_cost`.
    """
    return {"db": db, "result": db["items"][number]["supply"]}


@tool(effect="read")
def list_batches(db: dict[str, Any], number: str) -> dict[str, Any]:
    """List the batches of an item.

    Args:
        number: Number of the item.

    Returns:
        `batches`, oldest first, each with `batch`, `quantity`, `expires_on` (null if it does not expire), `blocked`.
    """
    return {"db": db, "result": {"batches": db["items"][number]["batches"]}}


@tool(effect="read")
def get_safety_sheet(db: dict[str, Any], number: str) -> dict[str, Any]:
    """Get the safety data sheet of an item.

    Args:
        number: Number of the item.

    Returns:
        `number`, `revised_on` (null if there is no sheet), `storage` with `class` and `max_celsius` (may be null).
    """
    return {"db": db, "result": {"number": number, **db["items"][number]["sheet"]}}


@tool(effect="write")
def create_purchase(db: dict[str, Any], supplier_id: str, number: str, quantity: int) -> dict[str, Any]:
    """Order an item from a supplier.

    Args:
        supplier_id: Id of the supplier.
        number: Number of the item.
        quantity: How many.

    Returns:
        `purchase` with `id` and `cost`.
    """
    db["purchase_number"] += 11
    id = f"PO-{db['purchase_number']}"
    cost = round(quantity * db["items"][number]["supply"]["unit_cost"], 2)
    db["purchases"][id] = {"supplier_id": supplier_id, "number": number, "quantity": quantity}
    return {"db": db, "result": {"purchase": {"id": id, "cost": cost}}}


@tool(effect="write")
def block_batch(db: dict[str, Any], number: str, batch: str, reason: str) -> dict[str, Any]:
    """Block a batch, so that nobody ships it.

    Args:
        number: Number of the item.
        batch: The batch.
        reason: The reason.

    Returns:
        `batch`, `blocked`.
    """
    for row in db["items"][number]["batches"]:
        if row["batch"] == batch:
            row["blocked"] = True
    db["blocks"][batch] = {"number": number, "reason": reason}
    return {"db": db, "result": {"batch": batch, "blocked": True}}

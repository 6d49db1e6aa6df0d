"""The tools of a warehouse: pick slots, articles, top-ups, count sheets."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_slots(db: dict[str, Any], aisle: str) -> dict[str, Any]:
    """List the pick slots of an aisle.

    Args:
        aisle: The aisle, such as K204.

    Returns:
        The slots, each with `code`, `sku`, `state` (`active` or `blocked`), `on_hand`, `levels` with `min` and `max`,
        `open_topup` (id of a top-up that is under way, or null).
    """
    rows = [row for _, row in sorted(db["slots"].items()) if row["aisle"] == aisle]
    slots = [{name: value for name, value in row.items() if name != "aisle"} for row in rows]
    return {"db": db, "result": slots}


@tool(effect="read")
def get_stock_article(db: dict[str, Any], sku: str) -> dict[str, Any]:
    """Get an article of the warehouse.

    Args:
        sku: Number of the article.

    Returns:
        `sku`, `title`, `unit_cost`, `pack_price`, `case_size`: how many pieces a case holds.
    """
    return {"db": db, "result": db["articles"][sku]}


@tool(effect="read")
def get_count_sheet(db: dict[str, Any], sheet_id: str) -> dict[str, Any]:
    """Get a sheet on which the stock of an aisle was counted.

    Args:
        sheet_id: Id of the sheet, such as CS-20417.

    Returns:
        `id`, `aisle`, `counted_by`, `lines`, each with `slot` and `pieces`. A slot may have several lines or none.
    """
    return {"db": db, "result": db["sheets"][sheet_id]}


@tool(effect="write")
def create_topup(db: dict[str, Any], slot: str, units: int, worker: str) -> dict[str, Any]:
    """Have a pick slot filled from the reserve.

    Args:
        slot: Code of the slot.
        units: How many pieces are brought.
        worker: Who brings them.

    Returns:
        `topup_id`, `slot`, `units`.
    """
    db["topups_made"] += 1
    topup_id = f"TU{db['topups_made']}"
    db["topups"][topup_id] = {"slot": slot, "units": units, "worker": worker}
    db["slots"][slot]["open_topup"] = topup_id
    return {"db": db, "result": {"topup_id": topup_id, "slot": slot, "units": units}}


@tool(effect="write")
def block_slot(db: dict[str, Any], slot: str, note: str) -> dict[str, Any]:
    """Take a pick slot out of use.

    Args:
        slot: Code of the slot.
        note: Why.

    Returns:
        `slot`, `state`.
    """
    db["slots"][slot]["state"] = "blocked"
    db["slots"][slot]["note"] = note
    return {"db": db, "result": {"slot": slot, "state": "blocked"}}

"""The tools of a ticket office: seats of a performance."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="write")
def hold_seats(db: dict[str, Any], performance_id: str, seats: int) -> dict[str, Any]:
    """Try to hold seats for a while. It holds all of them or none.

    Args:
        performance_id: Id of the performance.
        seats: How many seats.

    Returns:
        `held`, whether it did; `hold` with `id`, `seats` and `row` (null if it did not); `reason` (null if it did).
    """
    row = db["performances"][performance_id]
    if row["cancelled"]:
        return {"db": db, "result": {"held": False, "hold": None, "reason": "cancelled"}}
    if seats > row["free"]:
        return {"db": db, "result": {"held": False, "hold": None, "reason": "too_many"}}
    row["free"] -= seats
    db["hold_number"] += 1
    hold_id = f"HLD-{db['hold_number']}"
    db["holds"][hold_id] = {"performance_id": performance_id, "seats": seats}
    hold = {"id": hold_id, "seats": seats, "row": "ABCDEFGH"[row["free"] % 8]}
    return {"db": db, "result": {"held": True, "hold": hold, "reason": None}}


@tool(effect="read")
def get_performance(db: dict[str, Any], performance_id: str) -> dict[str, Any]:
    """Get a performance by id.

    Args:
        performance_id: Id of the performance.

    Returns:
        `id`, `sold_out`.
    """
    row = db["performances"][performance_id]
    return {"db": db, "result": {"id": performance_id, "sold_out": row["free"] == 0}}


@tool(effect="write")
def release_hold(db: dict[str, Any], hold_id: str) -> dict[str, Any]:
    """Release held seats.

    Args:
        hold_id: Id of the hold.

    Returns:
        `hold_id`, `released`, the number of seats.
    """
    hold = db["holds"].pop(hold_id)
    db["performances"][hold["performance_id"]]["free"] += hold["seats"]
    return {"db": db, "result": {"hold_id": hold_id, "released": hold["seats"]}}

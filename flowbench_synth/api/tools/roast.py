"""The tools of a coffee subscription: members, their invoices and boxes, coffees, reward tiers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_subscriber(db: dict[str, Any], subscriber_id: str) -> dict[str, Any]:
    """Get a subscriber.

    Args:
        subscriber_id: Id of the subscriber, such as M2041.

    Returns:
        `id`, `name`, `tastes` with `likes` and `avoids` (a roast, or null), `since`.
    """
    return {"db": db, "result": db["subscribers"][subscriber_id]}


@tool(effect="read")
def list_subscriber_invoices(db: dict[str, Any], subscriber_id: str) -> dict[str, Any]:
    """List all invoices of a subscriber.

    Args:
        subscriber_id: Id of the subscriber.

    Returns:
        `count` and `invoices`, each with `number`, `issued_on`, `state` (`paid`, `open` or `void`), `amounts` with
        `gross`, `tax` and `refunded` (null if nothing was).
    """
    rows = [row for _, row in sorted(db["invoices"].items()) if row["subscriber_id"] == subscriber_id]
    invoices = [{name: value for name, value in row.items() if name != "subscriber_id"} for row in rows]
    return {"db": db, "result": {"count": len(invoices), "invoices": invoices}}


@tool(effect="read")
def get_reward_tier(db: dict[str, Any], tier: str) -> dict[str, Any]:
    """Get what a reward tier brings.

    Args:
        tier: `bean`, `cup` or `pot`.

    Returns:
        `tier`, `gift`, `discount_percent`.
    """
    return {"db": db, "result": db["tiers"][tier]}


@tool(effect="read")
def get_box(db: dict[str, Any], box_id: str) -> dict[str, Any]:
    """Get the next box of a subscriber.

    Args:
        box_id: Id of the box, such as BX20417.

    Returns:
        `id`, `subscriber_id`, `ships_on`, `coffee` with `sku` and `bags`.
    """
    return {"db": db, "result": db["boxes"][box_id]}


@tool(effect="read")
def get_coffee(db: dict[str, Any], sku: str) -> dict[str, Any]:
    """Get a coffee.

    Args:
        sku: Number of the coffee.

    Returns:
        `sku`, `name`, `roast` (`light`, `medium` or `dark`), `bag_price`, `bags_left`, `substitutes`: numbers of
        coffees that may take its place, the best one first.
    """
    return {"db": db, "result": db["coffees"][sku]}


@tool(effect="write")
def swap_coffee(db: dict[str, Any], box_id: str, sku: str) -> dict[str, Any]:
    """Put another coffee into a box, as many bags as before.

    Args:
        box_id: Id of the box.
        sku: Number of the coffee.

    Returns:
        `box_id`, `sku`, `bags`.
    """
    row = db["boxes"][box_id]
    row["coffee"]["sku"] = sku
    return {"db": db, "result": {"box_id": box_id, "sku": sku, "bags": row["coffee"]["bags"]}}


@tool(effect="write")
def postpone_box(db: dict[str, Any], box_id: str, weeks: int) -> dict[str, Any]:
    """Ship a box later.

    Args:
        box_id: Id of the box.
        weeks: By how many weeks.

    Returns:
        `box_id`, `weeks`.
    """
    db["boxes"][box_id]["postponed_weeks"] = weeks
    return {"db": db, "result": {"box_id": box_id, "weeks": weeks}}

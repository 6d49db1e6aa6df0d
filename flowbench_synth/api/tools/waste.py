"""The tools of a waste collection service: accounts, zones, depots, tours and the scans of their vehicles."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_waste_account(db: dict[str, Any], account_no: str) -> dict[str, Any]:
    """Get the account of a household.

    Args:
        account_no: Number of the account.

    Returns:
        The account: `account_no`, `address` with `street` and `house_no`, `zone_code`, `contact` with `name` and
        `phone`.
    """
    return {"db": db, "result": db["accounts"][account_no]}


@tool(effect="read")
def get_pickup_zone(db: dict[str, Any], zone_code: str) -> dict[str, Any]:
    """Get a zone of the collection.

    Args:
        zone_code: Code of the zone.

    Returns:
        The zone: `zone_code`, `depot_id`, `next_pickup` with `paper`, `organic` and `residual` (each YYYY-MM-DD).
    """
    return {"db": db, "result": db["zones"][zone_code]}


@tool(effect="read")
def get_waste_depot(db: dict[str, Any], depot_id: str) -> dict[str, Any]:
    """Get a depot.

    Args:
        depot_id: Id of the depot.

    Returns:
        The depot: `depot_id`, `manager`, `hotline`, `opens_at` (HH:MM).
    """
    return {"db": db, "result": db["depots"][depot_id]}


@tool(effect="read")
def get_collection_tour(db: dict[str, Any], tour_id: str) -> dict[str, Any]:
    """Get the plan of a tour.

    Args:
        tour_id: Id of the tour.

    Returns:
        The plan: `tour_id`, `vehicle`, `day` (YYYY-MM-DD), `stops` in their order: each with `account_no` and `bins`;
        a bin has `tag` and `stream`.
    """
    return {"db": db, "result": db["tours"][tour_id]}


@tool(effect="read")
def get_vehicle_scans(db: dict[str, Any], vehicle: str, day: str) -> dict[str, Any]:
    """Get what a vehicle scanned on a day. No bin is scanned twice on a day.

    Args:
        vehicle: The vehicle.
        day: The day, YYYY-MM-DD.

    Returns:
        `scans` by time: each with `tag` of the bin, `at` (HH:MM), `kg`, `problem` (null if it was emptied, otherwise
        why it was not).
    """
    row = db["scans"].get(f"{vehicle}/{day}", {"scans": []})
    return {"db": db, "result": {"scans": row["scans"]}}

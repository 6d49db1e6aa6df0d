"""The tools of a farmers' cooperative: milk from the farms, and boxes of vegetables for households."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_milk_runs(db: dict[str, Any], farm_id: str, month: str) -> dict[str, Any]:
    """List the milk that the tanker took from a farm in a month.

    Args:
        farm_id: Id of the farm.
        month: The month as YYYY-MM.

    Returns:
        `farm_id`, `month`, and `runs` by day: each with `run_id`, `day`, `litres`, `fat` in percent and `lab`, null
        until the sample was tested, else with `result` (`passed` or `failed`) and `cells`.
    """
    runs = [
        {name: row[name] for name in ("run_id", "day", "litres", "fat", "lab")}
        for row in db["runs"].values()
        if row["farm_id"] == farm_id and row["day"].startswith(month)
    ]
    runs.sort(key=lambda row: row["day"])
    return {"db": db, "result": {"farm_id": farm_id, "month": month, "runs": runs}}


@tool(effect="read")
def get_milk_tariff(db: dict[str, Any], month: str) -> dict[str, Any]:
    """Get what the cooperative pays for milk in a month.

    Args:
        month: The month as YYYY-MM.

    Returns:
        `month`, `per_litre`, `fat_bonus` with `from_fat` in percent and `extra_per_litre`, `failed_run_fee`.
    """
    return {"db": db, "result": db["tariffs"][month]}


@tool(effect="read")
def get_box_plan(db: dict[str, Any], week: str) -> dict[str, Any]:
    """Get the boxes that are packed in a week.

    Args:
        week: The week as YYYY-Www.

    Returns:
        `week`, `packing_day`, and `boxes`: each with `box`, `households` (how many get it) and `contents`, a list of
        `crop` (its code) and `kg` for one household.
    """
    return {"db": db, "result": db["plans"][week]}


@tool(effect="read")
def list_crop_store(db: dict[str, Any]) -> dict[str, Any]:
    """List the crops in the cold store.

    Returns:
        `crops`: each with `code`, `name`, `kg`, `reserved_kg` (promised to shops; a part of `kg`) and `grower_id`.
    """
    return {"db": db, "result": {"crops": list(db["crops"].values())}}


@tool(effect="read")
def get_grower(db: dict[str, Any], grower_id: str) -> dict[str, Any]:
    """Get a grower.

    Args:
        grower_id: Id of the grower.

    Returns:
        The grower: `grower_id`, `name`, `phone`, `village`.
    """
    return {"db": db, "result": db["growers"][grower_id]}

"""The tools of a plant: sensors with limits."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_sensors(db: dict[str, Any], hall: str) -> dict[str, Any]:
    """List the sensors of a hall, in the order of the inspection round.

    Args:
        hall: Code of the hall.

    Returns:
        `sensors` with `id` and `kind`.
    """
    rows = sorted((row["place"], id, row["kind"]) for id, row in db["sensors"].items() if row["hall"] == hall)
    return {"db": db, "result": {"sensors": [{"id": id, "kind": kind} for _, id, kind in rows]}}


@tool(effect="read")
def read_sensor(db: dict[str, Any], sensor_id: str) -> dict[str, Any]:
    """Read a sensor.

    Args:
        sensor_id: Id of the sensor.

    Returns:
        `id`, `value` (null while it is offline), `unit`, `limits` with `low` and `high`, which are normal values, too.
    """
    row = db["sensors"][sensor_id]
    reading = {"id": sensor_id, "value": row["value"], "unit": row["unit"], "limits": row["limits"]}
    return {"db": db, "result": reading}


@tool(effect="write")
def set_limits(db: dict[str, Any], sensor_id: str, low: int, high: int) -> dict[str, Any]:
    """Change the limits of a sensor.

    Args:
        sensor_id: Id of the sensor.
        low: The lowest normal value.
        high: The highest normal value.

    Returns:
        `id`, `limits`.
    """
    db["sensors"][sensor_id]["limits"] = {"low": low, "high": high}
    return {"db": db, "result": {"id": sensor_id, "limits": {"low": low, "high": high}}}


@tool(effect="read")
def list_halls(db: dict[str, Any]) -> dict[str, Any]:
    """List the halls of the plant.

    Returns:
        `halls`, their codes.
    """
    return {"db": db, "result": {"halls": sorted(db["halls"])}}

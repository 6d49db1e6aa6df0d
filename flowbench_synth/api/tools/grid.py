"""The tools of a grid operator: meters, their intervals, tariffs, readings by radio, visits."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_meter(db: dict[str, Any], meter_id: str) -> dict[str, Any]:
    """Get a meter.

    Args:
        meter_id: Id of the meter.

    Returns:
        The meter: `id`, `site`, `supply` with `tariff` (a code) and `daily_limit` in kWh.
    """
    row = db["meters"][meter_id]
    return {"db": db, "result": {"id": meter_id, "site": row["site"], "supply": row["supply"]}}


@tool(effect="read")
def get_tariff(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a tariff.

    Args:
        code: Code of the tariff.

    Returns:
        The tariff: `code`, `peak` with `from`, `to` (hours of the day, as HH:MM) and `price` of a kWh, `base_price`:
        the price of a kWh outside of the peak.
    """
    return {"db": db, "result": db["tariffs"][code]}


@tool(effect="read")
def get_intervals(db: dict[str, Any], meter_id: str, day: str) -> dict[str, Any]:
    """Get what a meter counted in the intervals of a day.

    Args:
        meter_id: Id of the meter.
        day: The day as YYYY-MM-DD.

    Returns:
        `intervals` with `start` (as HH:MM), `kwh` (null if nothing came in), `source` (measured or estimated).
    """
    return {"db": db, "result": {"intervals": db["meters"][meter_id]["days"].get(day, [])}}


@tool(effect="write")
def request_reading(db: dict[str, Any], meter_id: str) -> dict[str, Any]:
    """Ask a meter for its reading by radio; the answer comes later.

    Args:
        meter_id: Id of the meter.

    Returns:
        `request_id`, `channel`.
    """
    number = f"RQ{db['next_request']}"
    db["next_request"] += 7
    earlier = sum(row["meter_id"] == meter_id for row in db["requests"].values())
    db["requests"][number] = {"meter_id": meter_id, "attempt": earlier, "withdrawn": False}
    return {"db": db, "result": {"request_id": number, "channel": db["meters"][meter_id]["channel"]}}


@tool(effect="read")
def check_request(db: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Look whether the answer to a request for a reading has come.

    Args:
        request_id: Id of the request.

    Returns:
        `request_id`, `state` (waiting, answered, failed or withdrawn), `reading` with `value` and `taken_at` (null
        unless it is answered).
    """
    row = db["requests"][request_id]
    checks = db["clock"].get(request_id, 0) + 1
    db["clock"][request_id] = checks
    meter = db["meters"][row["meter_id"]]
    script = meter["radio"][min(row["attempt"], len(meter["radio"]) - 1)]
    state = "withdrawn" if row["withdrawn"] else script["outcome"] if checks >= script["checks"] else "waiting"
    reading = None
    if state == "answered":
        reading = {"value": meter["register"], "taken_at": db["now"]}
    return {"db": db, "result": {"request_id": request_id, "state": state, "reading": reading}}


@tool(effect="write")
def withdraw_request(db: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Withdraw a request for a reading that has not been answered.

    Args:
        request_id: Id of the request.

    Returns:
        `request_id`, `withdrawn`.
    """
    db["requests"][request_id]["withdrawn"] = True
    return {"db": db, "result": {"request_id": request_id, "withdrawn": True}}


@tool(effect="write")
def book_visit(db: dict[str, Any], meter_id: str, reason: str) -> dict[str, Any]:
    """Send a technician to a meter.

    Args:
        meter_id: Id of the meter.
        reason: The reason.

    Returns:
        `visit_no`, `technician`.
    """
    number = f"V{db['next_visit']}"
    db["visits"][number] = {"meter_id": meter_id, "reason": reason}
    return {"db": db, "result": {"visit_no": number, "technician": db["technician"]}}

"""The tools of a car sharing company: cars at stations, reservations, remote locks, rangers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_shared_cars(db: dict[str, Any], station_code: str) -> dict[str, Any]:
    """List the cars around a station, the preferred ones first.

    Args:
        station_code: Code of the station.

    Returns:
        `station_code`, `cars`: each with `plate`, `model` and `distance_m` (metres on foot from the station).
    """
    return {"db": db, "result": {"station_code": station_code, "cars": db["stations"][station_code]["cars"]}}


@tool(effect="read")
def get_shared_car(db: dict[str, Any], plate: str) -> dict[str, Any]:
    """Get a car.

    Args:
        plate: Its number plate.

    Returns:
        The car: `plate`, `bay`, `seats`, `charge_percent`, `mileage_km`, `damage` (null, or an object of `reported_on`
        and `part`).
    """
    row = db["cars"][plate]
    names = ("plate", "bay", "seats", "charge_percent", "mileage_km", "damage")
    return {"db": db, "result": {name: row[name] for name in names}}


@tool(effect="write")
def reserve_shared_car(db: dict[str, Any], plate: str, member_no: str) -> dict[str, Any]:
    """Try to reserve a car for a member. Somebody else may have been faster.

    Args:
        plate: Number plate of the car.
        member_no: Number of the member.

    Returns:
        `granted`, whether it was reserved; `reservation` with `number` and `until` (YYYY-MM-DDTHH:MM), null if it was
        not.
    """
    row = db["cars"][plate]
    if row["claimed"]:
        return {"db": db, "result": {"granted": False, "reservation": None}}
    row["claimed"] = True
    db["counter"] += 11
    number = f"RV{db['counter']}"
    db["reservations"][number] = {"plate": plate, "member_no": member_no}
    return {"db": db, "result": {"granted": True, "reservation": {"number": number, "until": row["hold_until"]}}}


@tool(effect="write")
def send_lock_command(db: dict[str, Any], plate: str) -> dict[str, Any]:
    """Tell a car to lock its doors. It takes a while until the car answers.

    Args:
        plate: Number plate of the car.

    Returns:
        `command_id`, `state` (queued).
    """
    db["counter"] += 1
    command_id = f"LK{db['counter']}"
    db["commands"][command_id] = {"plate": plate}
    return {"db": db, "result": {"command_id": command_id, "state": "queued"}}


@tool(effect="read")
def get_lock_command(db: dict[str, Any], command_id: str) -> dict[str, Any]:
    """Get a command that was sent to a car.

    Args:
        command_id: Id of the command.

    Returns:
        `command_id`, `state` (`queued`, `sent`, `done` or `failed`), `locked_at` (YYYY-MM-DDTHH:MM, null unless it is
        done), `fault` with `code` and `detail` (null unless it failed).
    """
    link = db["cars"][db["commands"][command_id]["plate"]]["link"]
    checks = db["clock"].get(command_id, 0) + 1
    db["clock"][command_id] = checks
    state, locked_at, fault = "queued" if checks <= link["queued_for"] else "sent", None, None
    if checks >= link["answers_at"]:
        fault = link["fault"]
        state = "done" if fault is None else "failed"
        locked_at = link["locks_at"] if fault is None else None
    return {
        "db": db,
        "result": {"command_id": command_id, "state": state, "locked_at": locked_at, "fault": fault},
    }


@tool(effect="write")
def send_ranger(db: dict[str, Any], plate: str, reason: str) -> dict[str, Any]:
    """Send a ranger to a car.

    Args:
        plate: Number plate of the car.
        reason: What is the matter.

    Returns:
        `job_no`, `ranger`.
    """
    db["counter"] += 2
    job_no = f"JB{db['counter']}"
    db["jobs"][job_no] = {"plate": plate, "reason": reason}
    return {"db": db, "result": {"job_no": job_no, "ranger": db["ranger"]}}

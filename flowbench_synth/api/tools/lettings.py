"""The tools of an agency for holiday flats: bookings, guests, flats, hosts, the calendar."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_flat_booking(db: dict[str, Any], booking_no: str) -> dict[str, Any]:
    """Get the booking of a flat.

    Args:
        booking_no: Number of the booking, such as HB20417.

    Returns:
        The booking: `no`, `guest` with `id`, `flat_id`, `arrival`, `departure`, `nights`, `party`: the number of
        people, `price` with `per_night`, `cleaning` (once) and `deposit` (paid already, may be 0), `state`.
    """
    return {"db": db, "result": db["bookings"][booking_no]}


@tool(effect="read")
def get_guest(db: dict[str, Any], guest_id: str) -> dict[str, Any]:
    """Get a guest.

    Args:
        guest_id: Id of the guest.

    Returns:
        The guest: `id`, `full_name`, `contact` with `email` and `phone` (may be null).
    """
    return {"db": db, "result": db["guests"][guest_id]}


@tool(effect="read")
def get_flat(db: dict[str, Any], flat_id: str) -> dict[str, Any]:
    """Get a flat.

    Args:
        flat_id: Id of the flat.

    Returns:
        The flat: `id`, `title`, `area`, `street`, `sleeps`, `per_night`, `open` (false during repairs), `access` with
        `door_code` and `keys_from` (a time of day), `host_id`.
    """
    row = db["flats"][flat_id]
    return {"db": db, "result": {key: row[key] for key in sorted(row) if key not in ("taken", "rank")}}


@tool(effect="read")
def get_host(db: dict[str, Any], host_id: str) -> dict[str, Any]:
    """Get a host, who looks after flats.

    Args:
        host_id: Id of the host.

    Returns:
        The host: `id`, `full_name`, `mobile`.
    """
    return {"db": db, "result": db["hosts"][host_id]}


@tool(effect="read")
def search_flats(db: dict[str, Any], area: str) -> dict[str, Any]:
    """List the flats of an area.

    Args:
        area: The area.

    Returns:
        `area`, `flats`: the best known first, each with `id`, `title`, `sleeps`, `per_night`, `open`.
    """
    found = [
        {
            "id": row["id"],
            "title": row["title"],
            "sleeps": row["sleeps"],
            "per_night": row["per_night"],
            "open": row["open"],
        }
        for row in db["flats"].values()
        if row["area"] == area
    ]
    found = sorted(found, key=lambda row: db["flats"][row["id"]]["rank"])
    return {"db": db, "result": {"area": area, "flats": found}}


@tool(effect="read")
def check_calendar(db: dict[str, Any], flat_id: str, arrival: str, departure: str) -> dict[str, Any]:
    """Look into the calendar of a flat.

    Args:
        flat_id: Id of the flat.
        arrival: The day of arrival, as YYYY-MM-DD.
        departure: The day of departure; another guest may arrive on it.

    Returns:
        `flat_id`, `free`, `taken_by`: a note on what takes the flat, null if it is free.
    """
    notes = [
        stay["note"] for stay in db["flats"][flat_id]["taken"] if stay["from"] < departure and arrival < stay["to"]
    ]
    result = {"flat_id": flat_id, "free": not notes, "taken_by": notes[0] if notes else None}
    return {"db": db, "result": result}


@tool(effect="write")
def move_flat_booking(db: dict[str, Any], booking_no: str, flat_id: str) -> dict[str, Any]:
    """Move a booking to another flat, for the same price.

    Args:
        booking_no: Number of the booking.
        flat_id: Id of the new flat.

    Returns:
        `booking_no`, `flat_id`, `voucher`: the number of the new voucher.
    """
    row = db["bookings"][booking_no]
    row["flat_id"] = flat_id
    return {"db": db, "result": {"booking_no": booking_no, "flat_id": flat_id, "voucher": f"V{booking_no[2:]}-2"}}


@tool(effect="write")
def open_desk_case(db: dict[str, Any], booking_no: str, note: str) -> dict[str, Any]:
    """Hand a booking to the service desk.

    Args:
        booking_no: Number of the booking.
        note: What it is about.

    Returns:
        `case_no`, `booking_no`.
    """
    case = f"SD{int(booking_no[2:]) % 9_000 + 1_000}"
    db["cases"][case] = {"booking_no": booking_no, "note": note}
    return {"db": db, "result": {"case_no": case, "booking_no": booking_no}}

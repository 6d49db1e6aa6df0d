"""The tools of the medical consultant."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_hospital(db: dict[str, Any], hospital: str) -> dict[str, Any]:
    """Look whether a hospital takes part in the booking service.

    Args:
        hospital: Name of the hospital.

    Returns:
        `listed`, and if it is not, `help_line`: the extension of the desk that knows other hospitals.
    """
    row = db["hospitals"].get(hospital)
    result = {"listed": row is not None, "help_line": None if row else db["help_line"]}
    return {"db": db, "result": result}


@tool(effect="read")
def find_slots(db: dict[str, Any], hospital: str, department: str, date: str) -> dict[str, Any]:
    """List the free appointments of a department on a day.

    Args:
        hospital: Name of a listed hospital.
        department: Name of the department.
        date: Day as YYYY-MM-DD.

    Returns:
        `free`: times as HH:MM; `next_opening`: the time and day of the next free appointment if there is none.
    """
    days = db["hospitals"].get(hospital, {}).get("departments", {}).get(department, {})
    free = days.get(date, [])
    later = sorted(day for day in days if day > date and days[day])
    opening = f"{later[0]} {days[later[0]][0]}" if later else db["help_line"]
    return {"db": db, "result": {"free": free, "next_opening": None if free else opening}}


@tool(effect="write")
def book_consultation(
    db: dict[str, Any], hospital: str, department: str, date: str, time: str, patient: str
) -> dict[str, Any]:
    """Book an appointment.

    Args:
        hospital: Name of the hospital.
        department: Name of the department.
        date: Day as YYYY-MM-DD.
        time: One of the free times, as HH:MM.
        patient: Patient number.

    Returns:
        `booked`; `reference` of the booking, or `waiting_number` if the time is not free.
    """
    free = db["hospitals"].get(hospital, {}).get("departments", {}).get(department, {}).get(date, [])
    serial = db["serial"] + 7
    if time not in free:
        return {
            "db": db,
            "result": {"booked": False, "reference": None, "waiting_number": f"W{serial * 13 % 9000 + 1000}"},
        }
    free.remove(time)
    reference = f"MC{serial * 37 % 90000 + 10000}"
    db["bookings"][reference] = {
        "hospital": hospital,
        "department": department,
        "date": date,
        "time": time,
        "patient": patient,
    }
    db["serial"] = serial
    return {"db": db, "result": {"booked": True, "reference": reference, "waiting_number": None}}


@tool(effect="read")
def find_results(db: dict[str, Any], patient: str, examination: str) -> dict[str, Any]:
    """Look up the result of an examination.

    Args:
        patient: Patient number.
        examination: Kind of examination, such as `blood count`.

    Returns:
        `state`: `ready`, `pending` or `unknown`; `report` number if it is ready, `due` day if it is pending,
        `archive` extension if it is unknown.
    """
    row = db["examinations"].get(f"{patient}/{examination}")
    result = {"state": "unknown", "report": None, "due": None, "archive": None}
    if row is None:
        result["archive"] = db["archive"]
    elif row["report"]:
        result["state"] = "ready"
        result["report"] = row["report"]
    else:
        result["state"] = "pending"
        result["due"] = row["due"]
    return {"db": db, "result": result}


@tool(effect="write")
def release_report(db: dict[str, Any], patient: str, examination: str, clinic: str) -> dict[str, Any]:
    """Send the report of a finished examination to a clinic.

    Args:
        patient: Patient number.
        examination: Kind of examination, such as `blood count`.
        clinic: Name of the clinic that receives it.

    Returns:
        `receipt` number of the release.
    """
    report = db["examinations"][f"{patient}/{examination}"]["report"]
    receipt = f"RR{sum(map(ord, report + clinic)) * 41 % 90000 + 10000}"
    db["releases"][receipt] = {"report": report, "clinic": clinic}
    return {"db": db, "result": {"receipt": receipt}}

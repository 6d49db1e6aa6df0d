"""The tools of the attendance arrangement."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_attendance(db: dict[str, Any], employee: str, date: str) -> dict[str, Any]:
    """Look up an employee's attendance on a day.

    Args:
        employee: Personnel number, such as K-204.
        date: Day as YYYY-MM-DD.

    Returns:
        `state`: `complete`, `missing_out` or `absent`; `hours` worked if complete, `clocked_in` if the clock-out is
        missing.
    """
    row = db["attendance"].get(f"{employee}/{date}")
    if row is None:
        return {"db": db, "result": {"state": "absent", "hours": None, "clocked_in": None}}
    state = "complete" if row["hours"] else "missing_out"
    return {"db": db, "result": {"state": state, "hours": row["hours"], "clocked_in": row["clocked_in"]}}


@tool(effect="read")
def find_leave(db: dict[str, Any], employee: str, date: str) -> dict[str, Any]:
    """Look whether an absence is covered by a leave.

    Args:
        employee: Personnel number.
        date: Day as YYYY-MM-DD.

    Returns:
        `covered`; `leave` number if it is, else the `supervisor` to talk to.
    """
    leave = db["leaves"].get(f"{employee}/{date}")
    supervisors = db["supervisors"]
    supervisor = supervisors[
        sum(place * ord(letter) for place, letter in enumerate(employee + date, 7)) % len(supervisors)
    ]
    return {
        "db": db,
        "result": {"covered": leave is not None, "leave": leave, "supervisor": None if leave else supervisor},
    }


@tool(effect="write")
def correct_attendance(db: dict[str, Any], employee: str, date: str, left_at: str) -> dict[str, Any]:
    """Enter a missing clock-out.

    Args:
        employee: Personnel number.
        date: Day as YYYY-MM-DD.
        left_at: Time at which the employee left, as HH:MM.

    Returns:
        `correction`: the number of the correction.
    """
    correction = (
        f"AC{sum(place * ord(letter) for place, letter in enumerate(employee + date + left_at, 7)) * 43 % 9000 + 1000}"
    )
    db["attendance"][f"{employee}/{date}"]["left_at"] = left_at
    db["corrections"][correction] = {"employee": employee, "date": date, "left_at": left_at}
    return {"db": db, "result": {"correction": correction}}


@tool(effect="read")
def find_shift(db: dict[str, Any], employee: str, date: str) -> dict[str, Any]:
    """Look up the shift that an employee has on a day.

    Args:
        employee: Personnel number.
        date: Day as YYYY-MM-DD.

    Returns:
        `planned`; `shift` code if there is one, else `roster`: the version of the roster that was read.
    """
    shift = db["shifts"].get(f"{employee}/{date}")
    roster = (
        None
        if shift
        else f"roster {sum(place * ord(letter) for place, letter in enumerate(employee + date, 7)) * 3 % 800 + 100}"
    )
    return {"db": db, "result": {"planned": shift is not None, "shift": shift, "roster": roster}}


@tool(effect="read")
def check_colleague(db: dict[str, Any], colleague: str, date: str) -> dict[str, Any]:
    """Look whether a colleague may take a shift on a day.

    Args:
        colleague: Personnel number of the colleague.
        date: Day as YYYY-MM-DD.

    Returns:
        `free`; `rest_until`: the time until which the colleague has to rest if not.
    """
    busy = db["shifts"].get(f"{colleague}/{date}")
    rest = (
        f"{date} {sum(place * ord(letter) for place, letter in enumerate(colleague + date, 7)) % 10 + 12:02}:30"
        if busy
        else None
    )
    return {"db": db, "result": {"free": busy is None, "rest_until": rest}}


@tool(effect="write")
def hand_shift_over(db: dict[str, Any], employee: str, date: str, colleague: str) -> dict[str, Any]:
    """Hand a shift over to a colleague.

    Args:
        employee: Personnel number of the employee who gives the shift away.
        date: Day as YYYY-MM-DD.
        colleague: Personnel number of the colleague who takes it.

    Returns:
        `handover`: the number of the handover.
    """
    shift = db["shifts"].pop(f"{employee}/{date}")
    db["shifts"][f"{colleague}/{date}"] = shift
    serial = db["serial"] + 1
    db["serial"] = serial
    return {"db": db, "result": {"handover": f"HO{serial * 59 % 9000 + 1000}"}}

"""The tools of the workstation desk."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_workstation(db: dict[str, Any], workstation: str) -> dict[str, Any]:
    """Look up a workstation.

    Args:
        workstation: Inventory number of the workstation, such as WS-3081.

    Returns:
        `known`; `years` it has been in use; `inventory` extension if it is not known.
    """
    row = db["workstations"].get(workstation)
    extension = (
        None
        if row
        else f"ext. {sum(place * ord(letter) for place, letter in enumerate(workstation, 7)) * 3 % 800 + 100}"
    )
    return {
        "db": db,
        "result": {"known": row is not None, "years": row["years"] if row else None, "inventory": extension},
    }


@tool(effect="read")
def check_stock(db: dict[str, Any], workstation: str, model: str) -> dict[str, Any]:
    """Look whether a model can replace a workstation: it must be old enough, and the model must be in stock.

    Args:
        workstation: Inventory number of the workstation.
        model: Model of the new workstation: desktop, laptop or tower.

    Returns:
        `state`: `available`, `too_young` or `sold_out`; `shelf` if available, `earliest` month if it is too young,
        `delivery` week if it is sold out.
    """
    row = db["workstations"].get(workstation)
    stock = db["stock"].get(model, [])
    code = sum(place * ord(letter) for place, letter in enumerate(workstation + model, 7))
    result: dict[str, Any] = {"state": "available", "shelf": None, "earliest": None, "delivery": None}
    if row is None or row["years"] < db["lifetime"]:
        result["state"] = "too_young"
        result["earliest"] = f"2027-{code % 12 + 1:02}"
    elif not stock:
        result["state"] = "sold_out"
        result["delivery"] = f"week {code % 20 + 40}"
    else:
        result["shelf"] = stock[code % len(stock)]
    return {"db": db, "result": result}


@tool(effect="write")
def replace_workstation(db: dict[str, Any], workstation: str, model: str, room: str) -> dict[str, Any]:
    """Order the replacement of a workstation.

    Args:
        workstation: Inventory number of the old workstation.
        model: Model of the new one.
        room: Room to which it is brought, such as B-214.

    Returns:
        `ticket` number; `technician` who comes.
    """
    serial = db["serial"] + 17
    ticket = f"WT{serial * 61 % 90000 + 10000}"
    db["serial"] = serial
    db["orders"][ticket] = {"workstation": workstation, "model": model, "room": room}
    technicians = db["technicians"]
    return {"db": db, "result": {"ticket": ticket, "technician": technicians[serial % len(technicians)]}}


@tool(effect="read")
def find_directive(db: dict[str, Any], team: str) -> dict[str, Any]:
    """Look up the directive for a team's change of workplaces.

    Args:
        team: Name of the team.

    Returns:
        `issued`; `floor` to which the team moves if a directive was issued, else the `planner` in charge.
    """
    row = db["directives"].get(team)
    planners = db["planners"]
    planner = (
        None if row else planners[sum(place * ord(letter) for place, letter in enumerate(team, 7)) % len(planners)]
    )
    return {"db": db, "result": {"issued": row is not None, "floor": row["floor"] if row else None, "planner": planner}}


@tool(effect="read")
def find_desks(db: dict[str, Any], team: str, date: str) -> dict[str, Any]:
    """Count the desks that are free for a team on the day of the change.

    Args:
        team: Name of the team.
        date: Day as YYYY-MM-DD.

    Returns:
        `enough`; `zone` of the desks if there are enough, else `other_day`.
    """
    row = db["directives"].get(team, {"days": {}})
    zone = row["days"].get(date)
    later = sorted(day for day in row["days"] if day > date) or sorted(row["days"])
    other = later[0] if later else None
    return {"db": db, "result": {"enough": zone is not None, "zone": zone, "other_day": None if zone else other}}


@tool(effect="write")
def schedule_change(db: dict[str, Any], team: str, date: str, people: int) -> dict[str, Any]:
    """Schedule a team's change of workplaces.

    Args:
        team: Name of the team.
        date: Day as YYYY-MM-DD.
        people: Number of people who move.

    Returns:
        `order` number for the movers; `labels`: number range of the labels for the boxes.
    """
    serial = db["serial"] + people
    order = f"CD{serial * 83 % 90000 + 10000}"
    db["serial"] = serial
    db["changes"][order] = {"team": team, "date": date, "people": people}
    return {"db": db, "result": {"order": order, "labels": f"{serial * 10}-{serial * 10 + people}"}}

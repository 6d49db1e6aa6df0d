"""The tools of the restaurant waiter."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


def _opening(db: dict[str, Any], restaurant: str, date: str, guests: int) -> str:
    """The first time after a day at which a table is free, or the booking line."""
    row = db["restaurants"].get(restaurant, {"tables": {}, "line": db["desk"]})
    for day in sorted(row["tables"]):
        for time in sorted(row["tables"][day]):
            if day > date and row["tables"][day][time] >= guests:
                return f"{day} {time}"
    return row["line"]


def _has_table(db: dict[str, Any], restaurant: str, date: str, time: str, guests: int) -> bool:
    """Whether a free table seats the guests."""
    seats = db["restaurants"].get(restaurant, {"tables": {}})["tables"].get(date, {}).get(time, 0)
    return seats >= max(guests, 1)


@tool(effect="read")
def find_restaurants(db: dict[str, Any], cuisine: str, area: str) -> dict[str, Any]:
    """Find the restaurants of a cuisine in a part of the town.

    Args:
        cuisine: Kind of kitchen, such as `italian`.
        area: Part of the town, such as `old town`.

    Returns:
        `count`; `best`: the restaurant with the best rating if there is one; `elsewhere` and `elsewhere_line`: a
        restaurant of that cuisine in another part and its phone number if there is none.
    """
    rows = [(-row["rating"], name, row) for name, row in db["restaurants"].items() if row["cuisine"] == cuisine]
    rows = sorted(rows, key=lambda entry: entry[:2])
    near = [name for _, name, row in rows if row["area"] == area]
    result: dict[str, Any] = {"count": len(near), "best": None, "elsewhere": None, "elsewhere_line": None}
    if near:
        result["best"] = near[0]
    elif rows:
        result["elsewhere"] = rows[0][1]
        result["elsewhere_line"] = rows[0][2]["line"]
    else:
        result["elsewhere_line"] = db["desk"]
    return {"db": db, "result": result}


@tool(effect="read")
def check_menu_for_diet(db: dict[str, Any], restaurant: str, diet: str) -> dict[str, Any]:
    """Look for a main dish that fits a diet.

    Args:
        restaurant: Name of the restaurant.
        diet: Diet, such as `vegan`.

    Returns:
        `suitable`; the `dish` and its `price` if there is one, else `kitchen_line`: the phone number of the kitchen.
    """
    row = db["restaurants"].get(restaurant, {"dishes": {}, "kitchen": db["desk"]})
    dish = row["dishes"].get(diet)
    result = {
        "suitable": dish is not None,
        "dish": dish["name"] if dish else None,
        "price": dish["price"] if dish else None,
        "kitchen_line": None if dish else row["kitchen"],
    }
    return {"db": db, "result": result}


@tool(effect="read")
def check_opening_day(db: dict[str, Any], restaurant: str, date: str) -> dict[str, Any]:
    """Look whether a restaurant is open on a day.

    Args:
        restaurant: Name of the restaurant.
        date: Day as YYYY-MM-DD.

    Returns:
        `open`; `last_orders` as HH:MM and the `line` of the restaurant if it is open, else `reopens`: the next day on
        which it is.
    """
    row = db["restaurants"].get(restaurant, {"tables": {}, "last_orders": None, "line": db["desk"]})
    is_open = date in row["tables"]
    later = sorted(day for day in row["tables"] if day > date)
    result = {
        "open": is_open,
        "last_orders": row["last_orders"] if is_open else None,
        "line": row["line"],
        "reopens": None if is_open else (later[0] if later else row["line"]),
    }
    return {"db": db, "result": result}


@tool(effect="read")
def check_table(db: dict[str, Any], restaurant: str, date: str, time: str, guests: int) -> dict[str, Any]:
    """Look for a table.

    Args:
        restaurant: Name of the restaurant.
        date: Day as YYYY-MM-DD.
        time: Time of arrival as HH:MM.
        guests: Number of guests.

    Returns:
        `state`: `free`, `full`, or `too_large` if no table of the restaurant seats so many; `line`: the phone number of
        the restaurant; `group_desk`: the extension for groups that are too large.
    """
    row = db["restaurants"].get(restaurant, {"largest": 0, "line": db["desk"], "groups": db["desk"]})
    state = "free" if _has_table(db, restaurant, date, time, guests) else "full"
    if guests > row["largest"]:
        state = "too_large"
    group_desk = row["groups"] if state == "too_large" else None
    return {"db": db, "result": {"state": state, "line": row["line"], "group_desk": group_desk}}


@tool(effect="read")
def check_second_time(db: dict[str, Any], restaurant: str, date: str, other_time: str, guests: int) -> dict[str, Any]:
    """Look for a table at the guest's second choice of time, after the first one was full.

    Args:
        restaurant: Name of the restaurant.
        date: Day as YYYY-MM-DD.
        other_time: The second choice of time, as HH:MM.
        guests: Number of guests.

    Returns:
        `free`; `next_free`: the first free table on a later day, as `YYYY-MM-DD HH:MM`.
    """
    free = _has_table(db, restaurant, date, other_time, guests)
    return {"db": db, "result": {"free": free, "next_free": _opening(db, restaurant, date, guests)}}


@tool(effect="write")
def reserve_table(
    db: dict[str, Any], restaurant: str, date: str, time: str, guests: int, name: str, phone: str
) -> dict[str, Any]:
    """Reserve a table.

    Args:
        restaurant: Name of the restaurant.
        date: Day as YYYY-MM-DD.
        time: Time of arrival as HH:MM.
        guests: Number of guests.
        name: Name for the reservation.
        phone: Phone number of the guest.

    Returns:
        `reserved`; `reservation`: its number.
    """
    if not _has_table(db, restaurant, date, time, guests):
        return {"db": db, "result": {"reserved": False, "reservation": None}}
    db["serial"] += 1
    reservation = _code("TR", db["serial"], restaurant, date, time, guests, name)
    del db["restaurants"][restaurant]["tables"][date][time]
    row = {"restaurant": restaurant, "date": date, "time": time, "guests": guests, "name": name, "phone": phone}
    db["reservations"][reservation] = row
    return {"db": db, "result": {"reserved": True, "reservation": reservation}}


@tool(effect="write")
def reserve_second_time(
    db: dict[str, Any],
    restaurant: str,
    date: str,
    time: str,
    other_time: str,
    guests: int,
    name: str,
    phone: str,
) -> dict[str, Any]:
    """Reserve a table at the second choice of time, and put the guest on the waiting list for the first one.

    Args:
        restaurant: Name of the restaurant.
        date: Day as YYYY-MM-DD.
        time: The first choice of time, as HH:MM, for the waiting list.
        other_time: The second choice of time, as HH:MM, for the reservation.
        guests: Number of guests.
        name: Name for the reservation.
        phone: Phone number of the guest.

    Returns:
        `reserved`; `reservation`: its number; `waiting_number` on the waiting list.
    """
    if not _has_table(db, restaurant, date, other_time, guests):
        return {"db": db, "result": {"reserved": False, "reservation": None, "waiting_number": None}}
    db["serial"] += 1
    reservation = _code("TR", db["serial"], restaurant, date, other_time, guests, name)
    waiting_number = _code("WL", db["serial"], restaurant, date, time, name)
    del db["restaurants"][restaurant]["tables"][date][other_time]
    row = {"restaurant": restaurant, "date": date, "guests": guests, "name": name, "phone": phone}
    db["reservations"][reservation] = {**row, "time": other_time}
    db["waiting"][waiting_number] = {**row, "time": time}
    result = {"reserved": True, "reservation": reservation, "waiting_number": waiting_number}
    return {"db": db, "result": result}

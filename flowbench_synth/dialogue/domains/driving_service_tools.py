"""The tools of the driving service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _desk(db: dict[str, Any], reservation: str) -> str:
    return db["desks"][_number(reservation) % len(db["desks"])]


def _free(db: dict[str, Any], driver: str, date: str, time: str) -> bool:
    return f"{date} {time[:2]}" not in db["drivers"][driver]["busy"]


def _other_driver(db: dict[str, Any], reservation: str, date: str, time: str) -> str | None:
    """Another driver who is free and knows the gearbox of the customer's car."""
    row = db["reservations"][reservation]
    others = [
        driver
        for driver, other in db["drivers"].items()
        if driver != row["driver"] and row["gearbox"] in other["gearboxes"] and _free(db, driver, date, time)
    ]
    return others[_number(reservation, date, time) % len(others)] if others else None


@tool(effect="read")
def price_driving_trip(db: dict[str, Any], city: str, distance: int) -> dict[str, Any]:
    """Compute what a driver costs for a trip.

    Args:
        city: City in which the trip begins.
        distance: Length of the trip in kilometres.

    Returns:
        `state`: `city_trip`, `long_trip` (above 60 kilometres) or `not_served`; `price` of a city trip in euros;
        `partner`: the phone number of a service in a city that is not served.
    """
    row = db["cities"].get(city)
    if row is None:
        partner = db["partners"][_number(city) % len(db["partners"])]
        return {"db": db, "result": {"state": "not_served", "price": None, "partner": partner}}
    if distance > 60:
        return {"db": db, "result": {"state": "long_trip", "price": None, "partner": None}}
    price = f"{(row['base'] + row['rate'] * distance) / 100:.2f}"
    return {"db": db, "result": {"state": "city_trip", "price": price, "partner": None}}


@tool(effect="read")
def count_drivers(db: dict[str, Any], city: str, gearbox: str, date: str) -> dict[str, Any]:
    """Look how many drivers of a city are on duty in a night.

    Args:
        city: City in which the trip begins.
        gearbox: `manual` or `automatic`.
        date: Night as YYYY-MM-DD.

    Returns:
        `drivers`: how many know the gearbox; `duty_phone` of the driver on duty if there is any; `next_night` with a
        driver, as YYYY-MM-DD, if there is none.
    """
    nights = db["cities"].get(city, {"nights": {}})["nights"]
    phones = nights.get(f"{date} {gearbox}", [])
    later = sorted(night[:10] for night, free in nights.items() if night.endswith(gearbox) and night > date and free)
    following = later[0] if later else f"2026-10-{1 + _number(city, gearbox) % 9:02}"
    result = {"drivers": len(phones), "duty_phone": None, "next_night": following}
    if phones:
        result = {"drivers": len(phones), "duty_phone": phones[0], "next_night": None}
    return {"db": db, "result": result}


@tool(effect="read")
def quote_long_trip(db: dict[str, Any], city: str, distance: int, gearbox: str) -> dict[str, Any]:
    """Make an offer for a trip of more than 60 kilometres, with the driver's way back.

    Args:
        city: City in which the trip begins.
        distance: Length of the trip in kilometres.
        gearbox: `manual` or `automatic`.

    Returns:
        `offer` number, and `flat_price` in euros.
    """
    row = db["cities"].get(city, {"base": 900, "rate": 150})
    flat = (row["base"] * 3 + row["rate"] * distance * 2) // 100 + (19 if gearbox == "manual" else 0)
    return {"db": db, "result": {"offer": f"LT{_number(city, distance, gearbox) + 10_000}", "flat_price": flat}}


@tool(effect="read")
def find_driving_reservation(db: dict[str, Any], reservation: str, phone: str) -> dict[str, Any]:
    """Look up the reservation of a driver.

    Args:
        reservation: Number of the reservation.
        phone: Phone number of the customer.

    Returns:
        `state`: `open`, `underway` (the driver has left already) or `unknown`; `driver` of an open reservation;
        `driver_phone` if the driver has left; `desk`: extension to ask if no reservation has the two numbers.
    """
    row = db["reservations"].get(reservation)
    result: dict[str, Any] = {"driver": None, "driver_phone": None, "desk": None}
    if row is None or row["phone"] != phone or row["state"] == "cancelled":
        return {"db": db, "result": {"state": "unknown", **result, "desk": _desk(db, reservation)}}
    if row["state"] == "underway":
        driver_phone = db["drivers"][row["driver"]]["phone"]
        return {"db": db, "result": {"state": "underway", **result, "driver_phone": driver_phone}}
    return {"db": db, "result": {"state": "open", **result, "driver": row["driver"]}}


@tool(effect="read")
def compute_cancellation_fee(db: dict[str, Any], reservation: str) -> dict[str, Any]:
    """Compute what it costs to cancel a reservation.

    Args:
        reservation: Number of the reservation.

    Returns:
        `fee` in euros, and `refund`: the part of the deposit that is paid back, in euros; 0 if there is nothing to pay
        back.
    """
    row = db["reservations"].get(reservation, {"fee": 0, "deposit": 0})
    return {"db": db, "result": {"fee": row["fee"], "refund": max(0, row["deposit"] - row["fee"])}}


@tool(effect="write")
def cancel_driving_reservation(db: dict[str, Any], reservation: str, phone: str, reason: str) -> dict[str, Any]:
    """Cancel the reservation of a driver.

    Args:
        reservation: Number of the reservation.
        phone: Phone number of the customer.
        reason: Why it is cancelled.

    Returns:
        `cancellation` number, null if there is no open reservation.
    """
    row = db["reservations"].get(reservation)
    if row is None or row["phone"] != phone or row["state"] != "open":
        return {"db": db, "result": {"cancellation": None}}
    row["state"] = "cancelled"
    cancellation = f"CX{_number(reservation, phone, reason) + 10_000}"
    db["cancellations"][cancellation] = {"reservation": reservation, "reason": reason, "fee": row["fee"]}
    return {"db": db, "result": {"cancellation": cancellation}}


@tool(effect="write")
def refund_driving_deposit(db: dict[str, Any], reservation: str, phone: str, reason: str) -> dict[str, Any]:
    """Pay back what remains of the deposit of a reservation after the fee.

    Args:
        reservation: Number of the reservation.
        phone: Phone number of the customer.
        reason: Why the reservation was cancelled.

    Returns:
        `transfer` number of the payment, null if there is nothing to pay back.
    """
    row = db["reservations"].get(reservation)
    if row is None or row["phone"] != phone or row["deposit"] <= row["fee"]:
        return {"db": db, "result": {"transfer": None}}
    transfer = f"TF{_number(reason, phone, reservation) + 10_000}"
    db["refunds"][transfer] = {"reservation": reservation, "euros": row["deposit"] - row["fee"]}
    row["deposit"] = row["fee"]
    return {"db": db, "result": {"transfer": transfer}}


@tool(effect="read")
def check_driver_calendar(db: dict[str, Any], reservation: str, date: str, time: str) -> dict[str, Any]:
    """Look who can drive if a reservation is moved.

    Args:
        reservation: Number of the reservation.
        date: New night as YYYY-MM-DD.
        time: New time as HH:MM.

    Returns:
        `state`: `same_driver`, `other_driver` or `nobody`; `driver`: the number of the other driver; `standby_list`:
        the number of the standby list for that hour if nobody can drive.
    """
    row = db["reservations"].get(reservation)
    if row is not None and _free(db, row["driver"], date, time):
        return {"db": db, "result": {"state": "same_driver", "driver": None, "standby_list": None}}
    other = None if row is None else _other_driver(db, reservation, date, time)
    if other is not None:
        return {"db": db, "result": {"state": "other_driver", "driver": other, "standby_list": None}}
    standby = f"SL{_number(reservation, date, time[:2]) + 10_000}"
    return {"db": db, "result": {"state": "nobody", "driver": None, "standby_list": standby}}


@tool(effect="write")
def move_driving_reservation(db: dict[str, Any], reservation: str, phone: str, date: str, time: str) -> dict[str, Any]:
    """Move a reservation to another time with the same driver.

    Args:
        reservation: Number of the reservation.
        phone: Phone number of the customer.
        date: New night as YYYY-MM-DD.
        time: New time as HH:MM.

    Returns:
        `confirmation` number, null if the driver is not free or there is no open reservation.
    """
    row = db["reservations"].get(reservation)
    if row is None or row["phone"] != phone or row["state"] != "open" or not _free(db, row["driver"], date, time):
        return {"db": db, "result": {"confirmation": None}}
    row["at"] = f"{date} {time}"
    db["drivers"][row["driver"]]["busy"].append(f"{date} {time[:2]}")
    return {"db": db, "result": {"confirmation": f"MV{_number(reservation, date, time) + 10_000}"}}


@tool(effect="write")
def reassign_driving_reservation(
    db: dict[str, Any], reservation: str, phone: str, date: str, time: str
) -> dict[str, Any]:
    """Move a reservation to another time with another driver.

    Args:
        reservation: Number of the reservation.
        phone: Phone number of the customer.
        date: New night as YYYY-MM-DD.
        time: New time as HH:MM.

    Returns:
        `confirmation` number, and `driver_phone` of the other driver; both null if nobody is free or there is no open
        reservation.
    """
    row = db["reservations"].get(reservation)
    known = row is not None and row["phone"] == phone and row["state"] == "open"
    driver = _other_driver(db, reservation, date, time) if known else None
    if row is None or driver is None:
        return {"db": db, "result": {"confirmation": None, "driver_phone": None}}
    row["at"], row["driver"] = f"{date} {time}", driver
    db["drivers"][driver]["busy"].append(f"{date} {time[:2]}")
    confirmation = f"RA{_number(reservation, date, time, driver) + 10_000}"
    return {"db": db, "result": {"confirmation": confirmation, "driver_phone": db["drivers"][driver]["phone"]}}

"""The tools of the ride service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _distance(db: dict[str, Any], pickup: str, destination: str) -> int:
    """Kilometres between two stops, at least two."""
    east, north = db["stops"].get(pickup, [0, 0])
    other_east, other_north = db["stops"].get(destination, [0, 0])
    return 2 + abs(east - other_east) + abs(north - other_north)


def _later(time: str, minutes: int) -> str:
    """A time of day, some minutes after another one."""
    hour, _, minute = time.partition(":")
    if not (hour.isdigit() and minute.isdigit()):
        return time
    total = (int(hour) * 60 + int(minute) + minutes) % 1_440
    return f"{total // 60:02}:{total % 60:02}"


@tool(effect="read")
def check_ride_area(db: dict[str, Any], pickup: str, destination: str) -> dict[str, Any]:
    """Look whether both ends of a ride lie in the area of the service.

    Args:
        pickup: Name of the stop at which the ride begins.
        destination: Name of the stop at which it ends.

    Returns:
        `served`; if not, `partner`: the phone number of a service that drives there.
    """
    served = pickup in db["stops"] and destination in db["stops"]
    partner = None if served else db["partners"][_number(pickup, destination) % len(db["partners"])]
    return {"db": db, "result": {"served": served, "partner": partner}}


@tool(effect="read")
def estimate_ride_fare(db: dict[str, Any], pickup: str, destination: str, passengers: int) -> dict[str, Any]:
    """Compute the fare of a ride.

    Args:
        pickup: Name of the stop at which the ride begins.
        destination: Name of the stop at which it ends.
        passengers: Number of passengers; more than four need a van, which costs more.

    Returns:
        `fare` in euros, and `minutes`: how long the ride takes.
    """
    distance = _distance(db, pickup, destination)
    cents = db["base_fare"] + distance * (db["van_rate"] if passengers > 4 else db["car_rate"])
    return {"db": db, "result": {"fare": f"{cents / 100:.2f}", "minutes": 3 + 2 * distance}}


@tool(effect="write")
def dispatch_ride(db: dict[str, Any], pickup: str, destination: str, passengers: int, time: str) -> dict[str, Any]:
    """Order a car for a ride; if none with enough seats is free, the ride is put on the standby list.

    Args:
        pickup: Name of the stop at which the ride begins.
        destination: Name of the stop at which it ends.
        passengers: Number of passengers.
        time: Time of the pickup today, as HH:MM.

    Returns:
        `ordered`; `ride`: the number of the ride, and `plate` of the car, if a car was ordered; `standby`: the number
        on the list if not.
    """
    free = sorted(
        (row["seats"], plate)
        for plate, row in db["cars"].items()
        if row["seats"] >= passengers and time[:2] not in row["hours"]
    )
    code = _number(pickup, destination, passengers, time) + 10_000
    ride = {"from": pickup, "to": destination, "passengers": passengers, "time": time}
    if not free or pickup not in db["stops"] or destination not in db["stops"]:
        db["standby"][f"SB{code}"] = ride
        return {"db": db, "result": {"ordered": False, "ride": None, "plate": None, "standby": f"SB{code}"}}
    plate = free[_number(pickup, time) % len(free)][1]
    db["cars"][plate]["hours"] = sorted([*db["cars"][plate]["hours"], time[:2]])
    db["orders"][f"RD{code}"] = {**ride, "plate": plate}
    return {"db": db, "result": {"ordered": True, "ride": f"RD{code}", "plate": plate, "standby": None}}


@tool(effect="read")
def look_up_ride(db: dict[str, Any], ride: str, phone: str) -> dict[str, Any]:
    """Look up a ride of a customer.

    Args:
        ride: Number of the ride.
        phone: Phone number with which it was booked.

    Returns:
        `state`: `coming`, `finished` or `unknown`; `desk`: extension to ask if no ride has the two numbers.
    """
    row = db["rides"].get(ride)
    if row is None or row["phone"] != phone:
        desk = db["desks"][_number(ride, phone) % len(db["desks"])]
        return {"db": db, "result": {"state": "unknown", "desk": desk}}
    return {"db": db, "result": {"state": row["state"], "desk": None}}


@tool(effect="read")
def locate_driver(db: dict[str, Any], ride: str) -> dict[str, Any]:
    """Locate the driver of a ride that is to come.

    Args:
        ride: Number of the ride.

    Returns:
        `late`: whether the driver is more than ten minutes late; `plate` of the car; `arrival`: the time of the pickup
        as HH:MM.
    """
    row = db["rides"].get(ride, {"delay": 0, "plate": None, "time": "00:00"})
    arrival = _later(row["time"], row["delay"])
    return {"db": db, "result": {"late": row["delay"] > 10, "plate": row["plate"], "arrival": arrival}}


@tool(effect="write")
def swap_driver(db: dict[str, Any], ride: str, phone: str) -> dict[str, Any]:
    """Send the reserve car that is nearest instead of a late one.

    Args:
        ride: Number of the ride.
        phone: Phone number with which it was booked.

    Returns:
        `plate` of the other car, and `arrival`: the time of its pickup as HH:MM; both null if there is no such ride.
    """
    row = db["rides"].get(ride)
    if row is None or row["phone"] != phone or row["state"] != "coming":
        return {"db": db, "result": {"plate": None, "arrival": None}}
    place = _number(ride) % len(db["reserve"])
    plate = db["reserve"][place]
    db["reserve"][place] = row["plate"]
    row["plate"], row["delay"] = plate, 2 + _number(plate, ride) % 8
    return {"db": db, "result": {"plate": plate, "arrival": _later(row["time"], row["delay"])}}


@tool(effect="read")
def read_ride_receipt(db: dict[str, Any], ride: str) -> dict[str, Any]:
    """Read the receipt of a finished ride.

    Args:
        ride: Number of the ride.

    Returns:
        `receipt` number and `paid`: the amount in euros; both null if the ride is not finished.
    """
    row = db["rides"].get(ride, {"state": "unknown"})
    if row["state"] != "finished":
        return {"db": db, "result": {"receipt": None, "paid": None}}
    return {"db": db, "result": {"receipt": row["receipt"], "paid": row["paid"]}}

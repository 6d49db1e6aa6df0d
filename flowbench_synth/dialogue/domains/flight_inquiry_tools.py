"""The tools of the flight inquiry."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


@tool(effect="read")
def search_direct_flight(db: dict[str, Any], origin: str, destination: str) -> dict[str, Any]:
    """Search the direct flight between two cities; there is at most one a day.

    Args:
        origin: City of departure.
        destination: City of arrival.

    Returns:
        `flight`: its number, or null if there is none.
    """
    numbers = [
        number for number, row in db["flights"].items() if row["origin"] == origin and row["destination"] == destination
    ]
    return {"db": db, "result": {"flight": numbers[0] if numbers else None}}


@tool(effect="read")
def search_connection(db: dict[str, Any], origin: str, destination: str, date: str) -> dict[str, Any]:
    """Search a connection with one change between two cities without a direct flight.

    Args:
        origin: City of departure.
        destination: City of arrival.
        date: Day as YYYY-MM-DD.

    Returns:
        `via`: the city of the change, and `flights`: the numbers of the two flights; if there is no connection, `via`
        is null and `rail` is the number of the train that is sold instead.
    """
    flights = db["flights"]
    first = [number for number, row in flights.items() if row["origin"] == origin]
    second = {row["origin"]: number for number, row in flights.items() if row["destination"] == destination}
    for number in first:
        via = flights[number]["destination"]
        if via in second:
            return {"db": db, "result": {"via": via, "flights": [number, second[via]], "rail": None}}
    rail = f"TGX{_number(origin, destination, date) % 9_000 + 1_000}"
    return {"db": db, "result": {"via": None, "flights": None, "rail": rail}}


@tool(effect="read")
def read_departure(db: dict[str, Any], flight: str, date: str) -> dict[str, Any]:
    """Read the departure of a flight on a day.

    Args:
        flight: Number of the flight.
        date: Day as YYYY-MM-DD.

    Returns:
        `state`: `on_time`, `delayed` or `cancelled`; `departure`: the time of departure as HH:MM, with the delay;
        `gate`; both null if the flight is cancelled.
    """
    row = db["flights"].get(flight)
    if row is None or date in row["cancelled"]:
        return {"db": db, "result": {"state": "cancelled", "departure": None, "gate": None}}
    delay = row["delays"].get(date, 0)
    hour, _, minute = row["departs"].partition(":")
    total = (int(hour) * 60 + int(minute) + delay) % 1_440
    gate = f"{'ABCD'[_number(flight, date) % 4]}{_number(date, flight) % 60 + 10}"
    departure = f"{total // 60:02}:{total % 60:02}"
    return {"db": db, "result": {"state": "delayed" if delay else "on_time", "departure": departure, "gate": gate}}


@tool(effect="read")
def find_replacement_flight(db: dict[str, Any], flight: str, date: str) -> dict[str, Any]:
    """Find the special flight that replaces a cancelled one.

    Args:
        flight: Number of the cancelled flight.
        date: Day as YYYY-MM-DD.

    Returns:
        `replacement`: the number of the special flight, and `departure` as HH:MM.
    """
    code = _number(flight, date)
    departure = f"{6 + code % 16:02}:{code % 12 * 5:02}"
    return {"db": db, "result": {"replacement": f"SX{code % 9_000 + 1_000}", "departure": departure}}


@tool(effect="read")
def check_flight_seats(db: dict[str, Any], flight: str, date: str, cabin: str) -> dict[str, Any]:
    """Look whether a flight has free seats in a cabin.

    Args:
        flight: Number of the flight.
        date: Day as YYYY-MM-DD.
        cabin: `economy`, `premium` or `business`.

    Returns:
        `state`: `free`, `full` or `no_flight`; `fare` in euros if there are seats; `next_seats`: the next day with a
        free seat if the cabin is full; `desk`: phone number of the desk that knows other flights if there is none.
    """
    row = db["flights"].get(flight)
    result: dict[str, Any] = {"fare": None, "next_seats": None, "desk": None}
    if row is None or date in row["cancelled"] or date not in db["days"]:
        desk = db["phones"][_number(flight, date) % len(db["phones"])]
        return {"db": db, "result": {"state": "no_flight", **result, "desk": desk}}
    full = row["full"].get(cabin, [])
    if date in full:
        later = [day for day in db["days"] if day > date and day not in full and day not in row["cancelled"]]
        following = later[0] if later else f"2026-10-{22 + _number(flight, cabin) % 9}"
        return {"db": db, "result": {"state": "full", **result, "next_seats": following}}
    fare = row["fares"].get(cabin, 0) + _number(flight, date, cabin) % 60
    return {"db": db, "result": {"state": "free", **result, "fare": fare}}


@tool(effect="read")
def check_passport(db: dict[str, Any], passport: str, date: str) -> dict[str, Any]:
    """Look whether a passport is valid on the day of a flight.

    Args:
        passport: Number of the passport.
        date: Day as YYYY-MM-DD.

    Returns:
        `valid`; `expires`: the last day on which it is valid, and `office`: the extension of the passport office, if
        it is not valid; for a passport that is not in the register `expires` is `not registered`.
    """
    expires = db["passports"].get(passport)
    if expires is not None and expires >= date:
        return {"db": db, "result": {"valid": True, "expires": None, "office": None}}
    office = str(_number(passport) % 9_000 + 1_000)
    return {"db": db, "result": {"valid": False, "expires": expires or "not registered", "office": office}}


@tool(effect="write")
def book_flight(db: dict[str, Any], flight: str, date: str, cabin: str, passport: str, bags: int) -> dict[str, Any]:
    """Book a seat on a flight.

    Args:
        flight: Number of the flight.
        date: Day as YYYY-MM-DD.
        cabin: `economy`, `premium` or `business`.
        passport: Number of the passport.
        bags: Number of bags to check in.

    Returns:
        `booking` reference, null if the flight has no seat.
    """
    row = db["flights"].get(flight)
    if row is None or date not in db["days"] or date in row["cancelled"] or date in row["full"].get(cabin, []):
        return {"db": db, "result": {"booking": None}}
    booking = f"FB{_number(flight, date, cabin, passport, bags) + 10_000}"
    db["bookings"][booking] = {"flight": flight, "date": date, "cabin": cabin, "passport": passport, "bags": bags}
    return {"db": db, "result": {"booking": booking}}


@tool(effect="read")
def read_check_in(db: dict[str, Any], booking: str) -> dict[str, Any]:
    """Read where and until when the passenger of a booking checks in.

    Args:
        booking: Reference of the booking.

    Returns:
        `counter` and `closes`: a time as HH:MM; both null if there is no such booking.
    """
    row = db["bookings"].get(booking)
    if row is None:
        return {"db": db, "result": {"counter": None, "closes": None}}
    hour, _, minute = db["flights"][row["flight"]]["departs"].partition(":")
    total = (int(hour) * 60 + int(minute) - (35 if row["bags"] == 0 else 50)) % 1_440
    counter = 100 + _number(booking, row["cabin"]) % 380
    return {"db": db, "result": {"counter": counter, "closes": f"{total // 60:02}:{total % 60:02}"}}

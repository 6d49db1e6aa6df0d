"""The tools of the hotel reception."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


def _nights(check_in: str, nights: int) -> list[str]:
    """The days whose nights belong to a stay; none if the day is no date, or the stay is not of 1 to 60 nights."""
    try:
        first = date.fromisoformat(check_in)
        return [(first + timedelta(days=step)).isoformat() for step in range(nights if nights <= 60 else 0)]
    except (OverflowError, ValueError):
        return []


def _room(db: dict[str, Any], hotel: str, room_type: str) -> dict[str, Any]:
    return db["hotels"].get(hotel, {"rooms": {}})["rooms"].get(room_type, {"rate": 0, "free": {}})


def _is_free(room: dict[str, Any], check_in: str, nights: int) -> bool:
    stay = _nights(check_in, nights)
    return bool(stay) and all(room["free"].get(day, 0) > 0 for day in stay)


def _free_from(db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int) -> str:
    """The first later day from which a room is free for as many nights, or the line of the hotel."""
    room = _room(db, hotel, room_type)
    later = sorted(day for day in room["free"] if day > check_in and _is_free(room, day, nights))
    return later[0] if later else db["hotels"].get(hotel, {"line": db["desk"]})["line"]


def _offer(db: dict[str, Any], city: str, amenity: str) -> tuple[str | None, str | None]:
    """The cheapest hotel of a city with an amenity, and the cheapest one at all."""
    rows = [(row["rooms"]["double"]["rate"], name, row) for name, row in db["hotels"].items() if row["city"] == city]
    rows = sorted(rows, key=lambda entry: entry[:2])
    fitting = [name for _, name, row in rows if amenity in row["amenities"]]
    return (fitting[0] if fitting else None), (rows[0][1] if rows else None)


@tool(effect="read")
def find_hotels(db: dict[str, Any], city: str, amenity: str) -> dict[str, Any]:
    """Find the cheapest hotel of a city that has an amenity.

    Args:
        city: Name of the city.
        amenity: What the hotel must have, such as `pool`.

    Returns:
        `available`; `hotel` if there is one, else `plain_hotel` and `plain_line`: the cheapest hotel without the
        amenity and its phone number.
    """
    hotel, plain = _offer(db, city, amenity)
    result: dict[str, Any] = {"available": hotel is not None, "hotel": hotel, "plain_hotel": None, "plain_line": None}
    if hotel is None:
        result["plain_hotel"] = plain
        result["plain_line"] = db["hotels"][plain]["line"] if plain else db["desk"]
    return {"db": db, "result": result}


@tool(effect="read")
def price_stay(db: dict[str, Any], hotel: str, check_in: str, nights: int) -> dict[str, Any]:
    """Look whether a double room of a hotel is free for a stay, and what it costs.

    Args:
        hotel: Name of the hotel.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.

    Returns:
        `state`: `free`, `partly` if some of the nights are full, or `full`; `total` price if it is free, `full_on`: the
        first full night if some are; `free_from`: the next day from which so many nights are free.
    """
    room = _room(db, hotel, "double")
    stay = _nights(check_in, nights)
    full = [day for day in stay if room["free"].get(day, 0) <= 0]
    state = "free" if stay and not full else ("partly" if len(full) < len(stay) else "full")
    result = {
        "state": state,
        "total": room["rate"] * len(stay) if state == "free" else None,
        "full_on": full[0] if state == "partly" else None,
        "free_from": None if state == "free" else _free_from(db, hotel, "double", check_in, nights),
    }
    return {"db": db, "result": result}


@tool(effect="write")
def email_stay_offer(
    db: dict[str, Any], city: str, amenity: str, check_in: str, nights: int, email: str
) -> dict[str, Any]:
    """Send an offer for a double room in the cheapest hotel that fits, and hold the price.

    Args:
        city: Name of the city.
        amenity: What the hotel must have, such as `pool`.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.
        email: E-mail address to which the offer goes.

    Returns:
        `offer`: its number; `held_until`: the time until which the price is held. None if no hotel fits.
    """
    hotel, _ = _offer(db, city, amenity)
    if hotel is None or not _is_free(_room(db, hotel, "double"), check_in, nights):
        return {"db": db, "result": {"offer": None, "held_until": None}}
    db["serial"] += 1
    offer = _code("OF", db["serial"], hotel, check_in, nights, email)
    db["offers"][offer] = {
        "hotel": hotel,
        "city": city,
        "amenity": amenity,
        "check_in": check_in,
        "nights": nights,
        "email": email,
    }
    held_until = f"2026-06-0{len(email) % 3 + 2} {int(offer[2:]) % 9 + 9:02}:30"
    return {"db": db, "result": {"offer": offer, "held_until": held_until}}


@tool(effect="read")
def check_room_free(db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int) -> dict[str, Any]:
    """Look whether a room of a type is free for a stay.

    Args:
        hotel: Name of the hotel.
        room_type: Type of the room: `single`, `double` or `family`.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.

    Returns:
        `free`; `free_from`: the next day from which so many nights are free, if it is not; `line`: the phone number of
        the hotel.
    """
    free = _is_free(_room(db, hotel, room_type), check_in, nights)
    free_from = None if free else _free_from(db, hotel, room_type, check_in, nights)
    line = db["hotels"].get(hotel, {"line": db["desk"]})["line"]
    return {"db": db, "result": {"free": free, "free_from": free_from, "line": line}}


@tool(effect="read")
def quote_room(db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int) -> dict[str, Any]:
    """Quote a stay. Stays from a certain price on need a deposit.

    Args:
        hotel: Name of the hotel.
        room_type: Type of the room: `single`, `double` or `family`.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.

    Returns:
        `quote`: its number; `total` price; `needs_deposit`; `deposit`: its amount, or 0.
    """
    total = _room(db, hotel, room_type)["rate"] * max(nights, 1)
    needs_deposit = total >= db["deposit_from"]
    result = {
        "quote": _code("QU", db["salt"], hotel, room_type, check_in, nights),
        "total": total,
        "needs_deposit": needs_deposit,
        "deposit": total * 3 // 10 if needs_deposit else 0,
    }
    return {"db": db, "result": result}


def _booked(
    db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int, guest: str, card: str | None
) -> str | None:
    """Books a room and returns the number of the booking, or None if the room is not free."""
    room = _room(db, hotel, room_type)
    if not _is_free(room, check_in, nights):
        return None
    for day in _nights(check_in, nights):
        room["free"][day] -= 1
    db["serial"] += 1
    booking = _code("HB", db["serial"], hotel, room_type, check_in, guest)
    db["bookings"][booking] = {
        "hotel": hotel,
        "room_type": room_type,
        "check_in": check_in,
        "nights": nights,
        "guest": guest,
        "card": card,
    }
    return booking


@tool(effect="write")
def book_room(db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int, guest: str) -> dict[str, Any]:
    """Book a stay that needs no deposit.

    Args:
        hotel: Name of the hotel.
        room_type: Type of the room: `single`, `double` or `family`.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.
        guest: Name of the guest.

    Returns:
        `booking`: its number, or None if the room is not free.
    """
    return {"db": db, "result": {"booking": _booked(db, hotel, room_type, check_in, nights, guest, None)}}


@tool(effect="write")
def book_room_with_deposit(
    db: dict[str, Any], hotel: str, room_type: str, check_in: str, nights: int, guest: str, card: str
) -> dict[str, Any]:
    """Book a stay and charge its deposit to a card.

    Args:
        hotel: Name of the hotel.
        room_type: Type of the room: `single`, `double` or `family`.
        check_in: Day of arrival as YYYY-MM-DD.
        nights: Number of nights.
        guest: Name of the guest.
        card: Token of the card that is charged.

    Returns:
        `booking`: its number, or None if the room is not free; `deposit_receipt`: the number of the charge.
    """
    booking = _booked(db, hotel, room_type, check_in, nights, guest, card)
    receipt = _code("DR", booking, card) if booking else None
    return {"db": db, "result": {"booking": booking, "deposit_receipt": receipt}}


@tool(effect="read")
def check_room_guest(db: dict[str, Any], room_number: int, surname: str) -> dict[str, Any]:
    """Look whether a guest stays in a room.

    Args:
        room_number: Number of the room.
        surname: Surname of the guest.

    Returns:
        `staying`; `desk`: the extension of the desk of the floor.
    """
    row = db["occupied"].get(str(room_number))
    desk = db["floors"].get(str(room_number // 100), db["desk"])
    return {"db": db, "result": {"staying": row is not None and row["surname"] == surname, "desk": desk}}


@tool(effect="read")
def check_kitchen(db: dict[str, Any], dish: str, serving_time: str) -> dict[str, Any]:
    """Look whether the kitchen makes a dish at a time.

    Args:
        dish: Dish of the room service menu, such as `club sandwich`.
        serving_time: Time at which it should be in the room, as HH:MM.

    Returns:
        `served`; the `price` of a portion and `last_orders` as HH:MM; `served_from`: the next time at which the kitchen
        makes the dish if it does not then.
    """
    row = db["menu"].get(dish, {"from": "00:00", "until": "00:00", "price": None})
    served = row["from"] <= serving_time <= row["until"]
    served_from = row["from"] if serving_time < row["from"] else f"{row['from']} tomorrow"
    result = {
        "served": served,
        "price": row["price"],
        "last_orders": row["until"],
        "served_from": None if served else served_from,
    }
    return {"db": db, "result": result}


@tool(effect="write")
def order_to_room(
    db: dict[str, Any], room_number: int, surname: str, dish: str, serving_time: str, portions: int
) -> dict[str, Any]:
    """Order a dish to a room. It is put on the bill of the room if the guest has credit there.

    Args:
        room_number: Number of the room.
        surname: Surname of the guest.
        dish: Dish of the room service menu, such as `club sandwich`.
        serving_time: Time at which it should be in the room, as HH:MM.
        portions: Number of portions.

    Returns:
        `order`: its number, or None if the guest or the dish is unknown; `on_bill`: whether it is on the bill of the
        room; `amount` of the order.
    """
    row = db["occupied"].get(str(room_number))
    if row is None or dish not in db["menu"]:
        return {"db": db, "result": {"order": None, "on_bill": False, "amount": None}}
    db["serial"] += 1
    order = _code("RS", db["serial"], room_number, dish, serving_time, portions)
    amount = db["menu"][dish]["price"] * portions + 4
    db["orders"][order] = {
        "room_number": room_number,
        "surname": surname,
        "dish": dish,
        "serving_time": serving_time,
        "portions": portions,
        "amount": amount,
    }
    return {"db": db, "result": {"order": order, "on_bill": row["credit"], "amount": amount}}

"""The tools of the computer store sale."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _best(db: dict[str, Any], use: str, screen: int, budget: int) -> str | None:
    """The dearest model for a use that is affordable and has a screen of the size or a larger one."""
    fitting = [
        (row["price"], model)
        for model, row in db["laptops"].items()
        if row["use"] == use and row["screen"] >= screen and row["price"] <= budget
    ]
    return max(fitting)[1] if fitting else None


@tool(effect="read")
def recommend_laptop(db: dict[str, Any], use: str, screen: int, budget: int) -> dict[str, Any]:
    """Find the best laptop for a use: the dearest that the customer can pay and whose screen is large enough.

    Args:
        use: What the laptop is for.
        screen: Smallest screen size in inches.
        budget: The most that the customer wants to pay, in euros.

    Returns:
        `model`, or null if there is none; `price` in euros; `needed`: the price of the cheapest laptop for that use if
        no model fits.
    """
    model = _best(db, use, screen, budget)
    if model is not None:
        return {"db": db, "result": {"model": model, "price": db["laptops"][model]["price"], "needed": None}}
    prices = [(row["screen"] < screen, row["price"]) for row in db["laptops"].values() if row["use"] == use]
    return {"db": db, "result": {"model": None, "price": None, "needed": min(prices)[1] if prices else None}}


@tool(effect="read")
def check_shop_shelf(db: dict[str, Any], model: str, shop: str) -> dict[str, Any]:
    """Look whether a shop has a laptop of a model on its shelf.

    Args:
        model: Name of the model.
        shop: Name of the shop.

    Returns:
        `here`; `shelf`: the number of the shelf; if the laptop is not there, `arrival`: the day on which it could be
        brought from the store house.
    """
    shelf = db["laptops"].get(model, {"shelves": {}})["shelves"].get(shop)
    arrival = None if shelf else f"2026-02-{18 + _number(model, shop) % 11}"
    return {"db": db, "result": {"here": shelf is not None, "shelf": shelf, "arrival": arrival}}


@tool(effect="write")
def reserve_laptop(db: dict[str, Any], use: str, screen: int, budget: int, shop: str, customer: str) -> dict[str, Any]:
    """Keep the best laptop for a use at a shop until the evening of the next day.

    Args:
        use: What the laptop is for.
        screen: Smallest screen size in inches.
        budget: The most that the customer wants to pay, in euros.
        shop: Name of the shop.
        customer: First and last name of the customer.

    Returns:
        `pickup_code`, null if the shop does not have the laptop.
    """
    model = _best(db, use, screen, budget)
    if model is None or shop not in db["laptops"][model]["shelves"]:
        return {"db": db, "result": {"pickup_code": None}}
    shelf = db["laptops"][model]["shelves"].pop(shop)
    code = f"PK{_number(model, shelf, customer) + 10_000}"
    db["reservations"][code] = {"model": model, "shop": shop, "shelf": shelf, "customer": customer}
    return {"db": db, "result": {"pickup_code": code}}


@tool(effect="write")
def order_laptop_transfer(
    db: dict[str, Any], use: str, screen: int, budget: int, shop: str, customer: str
) -> dict[str, Any]:
    """Have the best laptop for a use brought from the store house to a shop.

    Args:
        use: What the laptop is for.
        screen: Smallest screen size in inches.
        budget: The most that the customer wants to pay, in euros.
        shop: Name of the shop.
        customer: First and last name of the customer.

    Returns:
        `transfer` number, null if there is no such laptop.
    """
    model = _best(db, use, screen, budget)
    if model is None:
        return {"db": db, "result": {"transfer": None}}
    transfer = f"TR{_number(customer, shop, model) + 10_000}"
    db["transfers"][transfer] = {"model": model, "shop": shop, "customer": customer}
    return {"db": db, "result": {"transfer": transfer}}


@tool(effect="read")
def check_warranty(db: dict[str, Any], serial: str, problem: str) -> dict[str, Any]:
    """Look whether the warranty of a computer covers a problem.

    Args:
        serial: Serial number of the computer.
        problem: Kind of problem, such as `battery`.

    Returns:
        `state`: `covered`, `not_covered` or `unknown`; `warranty_end`: the day on which the warranty ends, as
        YYYY-MM-DD; `desk`: extension to ask about serial numbers that are unknown.
    """
    row = db["computers"].get(serial)
    if row is None:
        desk = db["desks"][_number(serial) % len(db["desks"])]
        return {"db": db, "result": {"state": "unknown", "warranty_end": None, "desk": desk}}
    state = "covered" if row["warranty_end"] > db["today"] and problem not in row["excluded"] else "not_covered"
    return {"db": db, "result": {"state": state, "warranty_end": row["warranty_end"], "desk": None}}


@tool(effect="read")
def find_workshop_time(db: dict[str, Any], date: str) -> dict[str, Any]:
    """Find the first time of a day at which the workshop can take a computer.

    Args:
        date: Day as YYYY-MM-DD.

    Returns:
        `time` as HH:MM, or null if the day is full; then `next_time` is the next day and time that is free.
    """
    times = db["workshop"].get(date, [])
    later = [f"{day} {db['workshop'][day][0]}" for day in sorted(db["workshop"]) if day > date and db["workshop"][day]]
    following = later[0] if later else f"2026-03-{16 + _number(date) % 5} 10:20"
    return {"db": db, "result": {"time": times[0] if times else None, "next_time": None if times else following}}


@tool(effect="read")
def estimate_repair(db: dict[str, Any], serial: str, problem: str) -> dict[str, Any]:
    """Estimate what a repair costs that the warranty does not cover.

    Args:
        serial: Serial number of the computer.
        problem: Kind of problem, such as `battery`.

    Returns:
        `price` in euros.
    """
    return {"db": db, "result": {"price": db["repairs"].get(problem, 90) + _number(serial, problem) % 83}}


@tool(effect="write")
def book_workshop(db: dict[str, Any], serial: str, problem: str, date: str, phone: str) -> dict[str, Any]:
    """Book the first free time of a day in the workshop.

    Args:
        serial: Serial number of the computer.
        problem: Kind of problem, such as `battery`.
        date: Day as YYYY-MM-DD.
        phone: Phone number of the customer.

    Returns:
        `ticket` number of the repair, null if the day is full or the computer unknown.
    """
    times = db["workshop"].get(date, [])
    if not times or serial not in db["computers"]:
        return {"db": db, "result": {"ticket": None}}
    time = times.pop(0)
    ticket = f"RT{_number(serial, problem, date, time, phone) + 10_000}"
    db["tickets"][ticket] = {"serial": serial, "problem": problem, "at": f"{date} {time}", "phone": phone}
    return {"db": db, "result": {"ticket": ticket}}

"""The tools of a bicycle workshop. Each takes the state as `db` and returns it with its result."""

from __future__ import annotations

from typing import Any, Literal

from flowmind import tool


@tool(effect="read")
def find_bike(db: dict[str, Any], bike: str) -> dict[str, Any]:
    """Look up a bicycle by the number of its frame.

    Args:
        bike: Frame number of the bicycle, such as FR-4410.

    Returns:
        `known`; `model` of a known bicycle; `desk`: the phone extension for a bicycle that is not known.
    """
    model = db["bikes"].get(bike)
    desk = None if model else f"extension {db['desk']}"
    return {"db": db, "result": {"known": model is not None, "model": model, "desk": desk}}


@tool(effect="read")
def find_times(db: dict[str, Any], service: Literal["brakes", "gears", "inspection"], date: str) -> dict[str, Any]:
    """List the free times of the workshop on a day.

    Args:
        service: Kind of service: brakes, gears or inspection.
        date: Day as YYYY-MM-DD.

    Returns:
        `free`: times as HH:MM; `next_day` with a free time if there is none.
    """
    days = db["times"][service]
    later = [day for day in sorted(days) if day > date and days[day]]
    free = days.get(date, [])
    return {"db": db, "result": {"free": free, "next_day": None if free or not later else later[0]}}


@tool(effect="write")
def book_repair(
    db: dict[str, Any], bike: str, service: Literal["brakes", "gears", "inspection"], date: str, time: str
) -> dict[str, Any]:
    """Book a repair.

    Args:
        bike: Frame number of the bicycle.
        service: Kind of service.
        date: Day as YYYY-MM-DD.
        time: One of the free times, as HH:MM.

    Returns:
        `reference` of the booking.
    """
    free = db["times"][service][date]
    free.remove(time)
    reference = f"BR-{len(db['bookings']) * 37 + 1204}"
    db["bookings"][reference] = {"bike": bike, "service": service, "date": date, "time": time}
    return {"db": db, "result": {"reference": reference}}

"""The tools of the travel assistant."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _office(db: dict[str, Any], city: str) -> str:
    return db["offices"][_number(city) % len(db["offices"])]


def _verdict(db: dict[str, Any], city: str, date: str, activity: str) -> str:
    """How well the weather suits an activity: `good`, `mixed`, `bad`, or `unknown`."""
    row, limit = db["forecasts"].get(f"{city} {date}"), db["limits"].get(activity)
    if row is None or limit is None:
        return "unknown"
    above = max(row["wind"] - limit["wind"], row["rain"] - limit["rain"])
    return "good" if above <= 0 else "mixed" if above <= 12 else "bad"


@tool(effect="read")
def recommend_sight(db: dict[str, Any], city: str, interest: str) -> dict[str, Any]:
    """Recommend the best sight of a city for an interest.

    Args:
        city: Name of the city.
        interest: `art`, `history`, `nature` or `food`.

    Returns:
        `state`: `here`, `elsewhere` (only another city has such a sight) or `unknown` (the city is not covered);
        `sight`: its name; `other_city` if the sight is elsewhere; `office`: the phone number of the tourist office of
        a city that is not covered.
    """
    if city not in db["cities"]:
        result = {"state": "unknown", "sight": None, "other_city": None, "office": _office(db, city)}
        return {"db": db, "result": result}
    sights = [(row["rank"], name) for name, row in db["sights"].items() if row["interest"] == interest]
    here = [(rank, name) for rank, name in sights if db["sights"][name]["city"] == city]
    result = {"state": "here" if here else "elsewhere", "sight": None, "other_city": None, "office": None}
    if sights:
        result["sight"] = min(here or sights)[1]
        result["other_city"] = None if here else db["sights"][min(sights)[1]]["city"]
    return {"db": db, "result": result}


@tool(effect="read")
def check_sight_opening(db: dict[str, Any], sight: str, date: str) -> dict[str, Any]:
    """Look whether a sight is open on a day.

    Args:
        sight: Name of the sight.
        date: Day as YYYY-MM-DD.

    Returns:
        `open`; `entry`: the entry in euros if it is open; `reopens`: the next day on which it is open if it is not.
    """
    row = db["sights"].get(sight, {"closed": [], "entry": None})
    if date not in row["closed"]:
        return {"db": db, "result": {"open": True, "entry": row["entry"], "reopens": None}}
    later = [day for day in db["days"] if day > date and day not in row["closed"]]
    reopens = later[0] if later else f"2026-05-{16 + _number(sight) % 9}"
    return {"db": db, "result": {"open": False, "entry": None, "reopens": reopens}}


@tool(effect="write")
def book_guided_tour(db: dict[str, Any], city: str, interest: str, date: str, people: int) -> dict[str, Any]:
    """Book a guide for the best sight of a city for an interest.

    Args:
        city: Name of the city.
        interest: `art`, `history`, `nature` or `food`.
        date: Day as YYYY-MM-DD.
        people: Number of people in the group.

    Returns:
        `tour` number, null if the city has no such sight or it is closed.
    """
    sights = [
        (row["rank"], name, row["closed"])
        for name, row in db["sights"].items()
        if row["city"] == city and row["interest"] == interest
    ]
    if not sights or date in min(sights)[2]:
        return {"db": db, "result": {"tour": None}}
    tour = f"GT{_number(city, interest, date, people) + 10_000}"
    db["tours"][tour] = {"sight": min(sights)[1], "date": date, "people": people}
    return {"db": db, "result": {"tour": tour}}


@tool(effect="read")
def read_tour_meeting(db: dict[str, Any], tour: str) -> dict[str, Any]:
    """Read where and when a guided tour begins.

    Args:
        tour: Number of the tour.

    Returns:
        `guide_phone`, and `begins`: a time as HH:MM; both null if there is no such tour.
    """
    row = db["tours"].get(tour)
    if row is None:
        return {"db": db, "result": {"guide_phone": None, "begins": None}}
    code = _number(tour, row["sight"])
    begins = f"{9 + code % 8:02}:{('05', '20', '35', '50')[code % 4]}"
    return {"db": db, "result": {"guide_phone": db["guides"][code % len(db["guides"])], "begins": begins}}


@tool(effect="read")
def read_forecast(db: dict[str, Any], city: str, date: str) -> dict[str, Any]:
    """Read the weather forecast of a city for a day.

    Args:
        city: Name of the city.
        date: Day as YYYY-MM-DD.

    Returns:
        `state`: `forecast`, `too_far` (the day is not forecast yet) or `unknown` (the city is not covered);
        `temperature`: the highest of the day in degrees Celsius, and `bulletin`: the number of the forecast;
        `published`: the day and time at which the forecast will be there if it is too far; `office`: the phone number
        of the tourist office of a city that is not covered.
    """
    result: dict[str, Any] = {"temperature": None, "bulletin": None, "published": None, "office": None}
    row = db["forecasts"].get(f"{city} {date}")
    if city not in db["cities"]:
        return {"db": db, "result": {"state": "unknown", **result, "office": _office(db, city)}}
    if row is None:
        code = _number(city, date)
        published = f"2026-05-{6 + code % 9:02} {6 + code % 13:02}:{code % 12 * 5:02}"
        return {"db": db, "result": {"state": "too_far", **result, "published": published}}
    result = {**result, "temperature": row["temperature"], "bulletin": row["bulletin"]}
    return {"db": db, "result": {"state": "forecast", **result}}


@tool(effect="read")
def rate_weather(db: dict[str, Any], city: str, date: str, activity: str) -> dict[str, Any]:
    """Rate how well the weather of a forecast day suits an activity.

    Args:
        city: Name of the city.
        date: Day as YYYY-MM-DD.
        activity: `hiking`, `sailing`, `cycling` or `sightseeing`.

    Returns:
        `verdict`: `good`, `mixed`, `bad` or `unknown`; `wind` in km/h, and `rain`: the chance of rain in percent.
    """
    row = db["forecasts"].get(f"{city} {date}", {"wind": None, "rain": None})
    verdict = _verdict(db, city, date, activity)
    return {"db": db, "result": {"verdict": verdict, "wind": row["wind"], "rain": row["rain"]}}


@tool(effect="read")
def find_better_day(db: dict[str, Any], city: str, date: str, activity: str) -> dict[str, Any]:
    """Find the day next to another one on which the weather of a city suits an activity.

    Args:
        city: Name of the city.
        date: Day as YYYY-MM-DD that does not suit it.
        activity: `hiking`, `sailing`, `cycling` or `sightseeing`.

    Returns:
        `better_day` as YYYY-MM-DD, and `bulletin`: the number of its forecast; if no forecast day is good,
        both are those of the long-range outlook.
    """
    later = [day for day in db["days"] if day > date and _verdict(db, city, day, activity) == "good"]
    earlier = [day for day in reversed(db["days"]) if day < date and _verdict(db, city, day, activity) == "good"]
    days = later or earlier
    if not days:
        code = _number(city, date, activity)
        outlook = {"better_day": f"2026-05-{14 + code % 14}", "bulletin": f"WX{code + 10_000}"}
        return {"db": db, "result": outlook}
    return {"db": db, "result": {"better_day": days[0], "bulletin": db["forecasts"][f"{city} {days[0]}"]["bulletin"]}}

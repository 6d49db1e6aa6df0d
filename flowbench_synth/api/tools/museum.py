"""The tools of a museum: works of art and their places, visits of groups, guides."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_artwork(db: dict[str, Any], artwork_id: str) -> dict[str, Any]:
    """Get a work of art.

    Args:
        artwork_id: Number in the inventory.

    Returns:
        The work: `artwork_id`, `title`, `year`, `technique`, `maker_id`, `place` with `hall_id` and `wall`.
    """
    return {"db": db, "result": db["artworks"][artwork_id]}


@tool(effect="read")
def get_maker(db: dict[str, Any], maker_id: str) -> dict[str, Any]:
    """Get the artist of works.

    Args:
        maker_id: Id of the artist.

    Returns:
        The artist: `maker_id`, `name`, `country`, `born`, `active_in` (a town).
    """
    return {"db": db, "result": db["makers"][maker_id]}


@tool(effect="read")
def get_hall(db: dict[str, Any], hall_id: str) -> dict[str, Any]:
    """Get a hall of the museum.

    Args:
        hall_id: Id of the hall.

    Returns:
        The hall: `hall_id`, `name`, `floor`, `seats`.
    """
    return {"db": db, "result": db["halls"][hall_id]}


@tool(effect="read")
def get_group_visit(db: dict[str, Any], visit_id: str) -> dict[str, Any]:
    """Get a visit that a group has asked for.

    Args:
        visit_id: Id of the visit.

    Returns:
        The visit: `visit_id`, `group`, `language`, `people`, `slot` with `day` and `start` (HH:MM).
    """
    return {"db": db, "result": db["visits"][visit_id]}


@tool(effect="read")
def list_guides(db: dict[str, Any], language: str) -> dict[str, Any]:
    """List the guides who speak a language, those who have been with the museum longest first.

    Args:
        language: The language.

    Returns:
        `guides`: each with `guide_id`, `name`, `since` (a day), `max_tours` a day.
    """
    rows = [row for row in db["guides"].values() if language in row["languages"]]
    rows.sort(key=lambda row: (row["since"], row["guide_id"]))
    guides = [{name: row[name] for name in ("guide_id", "name", "since", "max_tours")} for row in rows]
    return {"db": db, "result": {"guides": guides}}


@tool(effect="read")
def get_guide_day(db: dict[str, Any], guide_id: str, day: str) -> dict[str, Any]:
    """Get what a guide does on a day.

    Args:
        guide_id: Id of the guide.
        day: The day.

    Returns:
        `guide_id`, `day`, `away` (whether the guide has the day off), `tours`: each with `booking_id` and `start`.
    """
    away = day in db["guides"][guide_id]["days_off"]
    tours = [
        {"booking_id": booking_id, "start": row["start"]}
        for booking_id, row in db["bookings"].items()
        if row["guide_id"] == guide_id and row["day"] == day
    ]
    return {"db": db, "result": {"guide_id": guide_id, "day": day, "away": away, "tours": tours}}


@tool(effect="write")
def book_guide(db: dict[str, Any], guide_id: str, visit_id: str) -> dict[str, Any]:
    """Book a guide for a visit, at its time.

    Args:
        guide_id: Id of the guide.
        visit_id: Id of the visit.

    Returns:
        `booking_id`, `guide_id`, `visit_id`.
    """
    slot = db["visits"][visit_id]["slot"]
    db["last_booking"] += 7
    booking_id = f"GB{db['last_booking']}"
    db["bookings"][booking_id] = {"guide_id": guide_id, "day": slot["day"], "start": slot["start"]}
    return {"db": db, "result": {"booking_id": booking_id, "guide_id": guide_id, "visit_id": visit_id}}

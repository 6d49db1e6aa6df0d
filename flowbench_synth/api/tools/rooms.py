"""The tools of a calendar: people's events, guests, rooms and bookings."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_events(db: dict[str, Any], person: str, on: str) -> dict[str, Any]:
    """List the events in a person's calendar on a day.

    Args:
        person: User name of the person.
        on: The day, YYYY-MM-DD.

    Returns:
        `events` by start, each with `id`, `title`, `start` and `end` as HH:MM, `organizer`, `reply` of the person
        (`accepted`, `tentative`, `declined`, or null for none), `series_id` (null for a single event).
    """
    rows = [row for row in db["events"].values() if row["on"] == on and person in row["replies"]]
    rows.sort(key=lambda row: (row["start"], row["id"]))
    shown = ("id", "title", "start", "end", "organizer", "series_id")
    events = [{**{name: row[name] for name in shown}, "reply": row["replies"][person]} for row in rows]
    return {"db": db, "result": {"events": events}}


@tool(effect="read")
def get_event(db: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Get an event with its guests.

    Args:
        event_id: Id of the event.

    Returns:
        The event: `id`, `title`, `on`, `start`, `organizer`, `guests` with `person`, `email`, `optional` and `reply`
        (null for none) each.
    """
    row = db["events"][event_id]
    guests = [
        {"person": name, "email": f"{name}@corp.example", "optional": name in row["optional"], "reply": reply}
        for name, reply in row["replies"].items()
        if name != row["organizer"]
    ]
    shown = ("id", "title", "on", "start", "organizer")
    return {"db": db, "result": {**{name: row[name] for name in shown}, "guests": guests}}


@tool(effect="read")
def list_rooms(db: dict[str, Any], building: str) -> dict[str, Any]:
    """List the meeting rooms of a building.

    Args:
        building: Name of the building.

    Returns:
        `rooms` with `id`, `name`, `capacity`, `equipment` (`screen` and `phone`, true or false) each.
    """
    rooms = [{**row} for row in db["rooms"].values() if row["building"] == building]
    return {"db": db, "result": {"rooms": rooms}}


@tool(effect="read")
def get_bookings(db: dict[str, Any], room_id: str, on: str) -> dict[str, Any]:
    """Get the bookings of a room on a day.

    Args:
        room_id: Id of the room.
        on: The day, YYYY-MM-DD.

    Returns:
        `room_id`, `bookings` with `start` and `end` each, by start; `busy_hours`: the full hours with a booking.
    """
    rows = [row for row in db["bookings"].values() if row["room_id"] == room_id and row["on"] == on]
    rows.sort(key=lambda row: row["start"])
    bookings = [{"start": row["start"], "end": row["end"]} for row in rows]
    busy = [int(row["start"][:2]) for row in rows]
    return {"db": db, "result": {"room_id": room_id, "bookings": bookings, "busy_hours": busy}}


@tool(effect="write")
def answer_invitation(db: dict[str, Any], event_id: str, person: str, reply: str, comment: str) -> dict[str, Any]:
    """Answer an invitation for a person.

    Args:
        event_id: Id of the event.
        person: The person who answers.
        reply: `accepted`, `tentative` or `declined`.
        comment: A comment for the organizer.

    Returns:
        `event_id`, `reply`.
    """
    db["events"][event_id]["replies"][person] = reply
    db["comments"][f"{event_id}/{person}"] = {"comment": comment}
    return {"db": db, "result": {"event_id": event_id, "reply": reply}}


@tool(effect="write")
def send_reminder(db: dict[str, Any], to: str, event_id: str) -> dict[str, Any]:
    """Remind a guest of an invitation.

    Args:
        to: E-mail address of the guest.
        event_id: Id of the event.

    Returns:
        `reminder_id`.
    """
    db["reminders"] += 1
    db["sent"][f"RM{db['reminders']}"] = {"to": to, "event_id": event_id}
    return {"db": db, "result": {"reminder_id": f"RM{db['reminders']}"}}

"""The tools of a team that runs conferences: events, registrations, sessions, speakers, slides."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_conference(db: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Get an event.

    Args:
        event_id: Id of the event.

    Returns:
        `id`, `title`, `venue` with `name`, `capacity` (seats) and `tables`, `starts_on`.
    """
    return {"db": db, "result": db["events"][event_id]}


@tool(effect="read")
def list_registrations(db: dict[str, Any], event_id: str, cursor: str | None) -> dict[str, Any]:
    """List a page of the registrations for an event, in the order in which they came.

    Args:
        event_id: Id of the event.
        cursor: Where the page starts; null for the first page.

    Returns:
        `registrations`: for each `id`, `event_id`, `contact` with `name` and `email`, `party`: the number of people,
        `children`: how many of them are children, `status` (`confirmed`, `waitlisted` or `cancelled`); `next_cursor`,
        null on the last page.
    """
    rows = [row for row in db["registrations"].values() if row["event_id"] == event_id]
    start = 0 if cursor is None else int(cursor.removeprefix("cur-"))
    end = start + db["page_size"]
    following = f"cur-{end}" if end < len(rows) else None
    return {"db": db, "result": {"registrations": rows[start:end], "next_cursor": following}}


@tool(effect="write")
def confirm_registration(db: dict[str, Any], registration_id: str) -> dict[str, Any]:
    """Confirm a registration.

    Args:
        registration_id: Id of the registration.

    Returns:
        `registration_id`, `status`.
    """
    db["registrations"][registration_id]["status"] = "confirmed"
    return {"db": db, "result": {"registration_id": registration_id, "status": "confirmed"}}


@tool(effect="read")
def list_sessions(db: dict[str, Any], event_id: str) -> dict[str, Any]:
    """List the sessions of an event.

    Args:
        event_id: Id of the event.

    Returns:
        `sessions`: for each `id`, `title`, `hall`, `day`, `lineup`: for each person on stage `speaker_id` and `role`
        (`presenter`, `panelist` or `moderator`).
    """
    rows = [row for row in db["sessions"].values() if row["event_id"] == event_id]
    shown = [{key: row[key] for key in ("id", "title", "hall", "day", "lineup")} for row in rows]
    return {"db": db, "result": {"sessions": shown}}


@tool(effect="read")
def list_slide_uploads(db: dict[str, Any], event_id: str) -> dict[str, Any]:
    """List the slides that were uploaded for an event.

    Args:
        event_id: Id of the event.

    Returns:
        `uploads`: for each `id`, `session_id`, `speaker_id`, `review` (`draft`, `rejected` or `approved`).
    """
    rows = [row for row in db["uploads"].values() if db["sessions"][row["session_id"]]["event_id"] == event_id]
    return {"db": db, "result": {"uploads": rows}}


@tool(effect="read")
def get_speaker(db: dict[str, Any], speaker_id: str) -> dict[str, Any]:
    """Get a speaker.

    Args:
        speaker_id: Id of the speaker.

    Returns:
        `id`, `name`, `email`, `agent`: null, or an object of `name` and `email`.
    """
    return {"db": db, "result": db["speakers"][speaker_id]}

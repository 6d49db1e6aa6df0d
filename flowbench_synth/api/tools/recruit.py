"""The tools of a recruiting team: openings, applications, interviews, calendars, mail."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_interview(db: dict[str, Any], interview_id: str) -> dict[str, Any]:
    """Get a booked interview.

    Args:
        interview_id: Id of the interview.

    Returns:
        The interview: `id`, `application_id`, `interviewer_id`, `slot` with `day`, `starts_at` and `ends_at` (HH:MM),
        `medium` with `kind` (`video`, `office` or `phone`) and `where`: a link, a room or a number.
    """
    return {"db": db, "result": db["interviews"][interview_id]}


@tool(effect="read")
def get_application(db: dict[str, Any], application_id: str) -> dict[str, Any]:
    """Get the application of a candidate.

    Args:
        application_id: Id of the application.

    Returns:
        The application: `id`, `candidate` with `name`, `email` and `city`, `opening_id`, `stage`.
    """
    return {"db": db, "result": db["applications"][application_id]}


@tool(effect="read")
def get_opening(db: dict[str, Any], opening_id: str) -> dict[str, Any]:
    """Get an open position.

    Args:
        opening_id: Id of the opening.

    Returns:
        The opening: `id`, `title`, `team`, `recruiter` with `name` and `email`, `panel`: the ids of the colleagues who
        may interview, in the order in which they should be asked.
    """
    return {"db": db, "result": db["openings"][opening_id]}


@tool(effect="read")
def get_colleague(db: dict[str, Any], colleague_id: str) -> dict[str, Any]:
    """Get a colleague.

    Args:
        colleague_id: Id of the colleague.

    Returns:
        The colleague: `id`, `name`, `job_title`, `email`, `away_until`: the last day of an absence that has begun (null
        if there is none).
    """
    return {"db": db, "result": db["colleagues"][colleague_id]}


@tool(effect="read")
def read_calendar(db: dict[str, Any], colleague_id: str, day: str) -> dict[str, Any]:
    """Read what a colleague has in the calendar on a day.

    Args:
        colleague_id: Id of the colleague.
        day: The day as YYYY-MM-DD.

    Returns:
        `colleague_id`, `entries`: for each `from` and `to` (HH:MM), `title`, `tentative`.
    """
    entries = [
        {key: entry[key] for key in ("from", "to", "title", "tentative")}
        for entry in db["calendars"][colleague_id]["entries"]
        if entry["day"] == day
    ]
    return {"db": db, "result": {"colleague_id": colleague_id, "entries": entries}}


@tool(effect="write")
def book_interview(
    db: dict[str, Any], application_id: str, interviewer_id: str, day: str, starts_at: str, ends_at: str
) -> dict[str, Any]:
    """Book an interview.

    Args:
        application_id: Id of the application.
        interviewer_id: Id of the colleague who interviews.
        day: The day as YYYY-MM-DD.
        starts_at: HH:MM.
        ends_at: HH:MM.

    Returns:
        `interview_id`, `room`.
    """
    db["counter"] += 7
    id = f"IV-{db['counter']}"
    db["interviews"][id] = {
        "id": id,
        "application_id": application_id,
        "interviewer_id": interviewer_id,
        "slot": {"day": day, "starts_at": starts_at, "ends_at": ends_at},
        "medium": {"kind": "office", "where": f"Room {db['counter'] % 9 + 1}"},
    }
    return {"db": db, "result": {"interview_id": id, "room": f"Room {db['counter'] % 9 + 1}"}}


@tool(effect="write")
def send_invitation(db: dict[str, Any], to: str, cc: str, subject: str, body: str) -> dict[str, Any]:
    """Send a mail with a calendar invitation.

    Args:
        to: Address of the candidate.
        cc: Address of whoever gets a copy.
        subject: The subject.
        body: The text.

    Returns:
        `message_id`, `sent_to`.
    """
    db["counter"] += 3
    id = f"MSG{db['counter']}"
    db["mails"][id] = {"to": to, "cc": cc, "subject": subject, "body": body}
    return {"db": db, "result": {"message_id": id, "sent_to": to}}
